//! `springload siege`: siege's command line, flag by flag.

mod log;
mod rc;
mod show;
mod transcript;

use crate::cli::call::{Call, Verb};
use crate::cli::exit::Exit;
use crate::cli::flags::client::drawn_seed;
use crate::cli::flags::output::OutputArgs;
use crate::cli::pipeline::dialect::{Dialect, deliver, render};
use crate::cli::pipeline::{Job, carry_out};
use crate::cli::verb::http::sources;
use crate::driver::http::Watcher;
use crate::plan::{
    self, HttpFlags, HttpLoad, HttpPlan, HttpSpec, Invalid, LoadSpec, UrlSource, check_http,
};
use crate::record::RunRecord;
use crate::report::{self, Format};
use crate::workload::UrlOrder;
use log::Log;
use rc::Rc;
use std::ffi::OsString;
use std::path::PathBuf;
use transcript::{Show, Transcript};

/// As many users as siege's configuration has when it is installed.
const USERS: u64 = 25;

/// `springload siege`.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(args_override_self = true)]
pub(in crate::cli) struct Args {
    /// 'http://[user:password@]host/path [METHOD [body | < FILE]]', instead of a file
    #[arg(value_name = "URL")]
    urls: Vec<String>,
    /// Users at once [default: 25]
    #[arg(short, long, value_name = "NUM", value_parser = plan::count)]
    concurrent: Option<u64>,
    /// Requests of each user, or once: as many as the file has URLs
    #[arg(short, long, value_name = "NUM", value_parser = reps)]
    reps: Option<Reps>,
    /// How long: NUM with S, M or H for seconds, minutes or hours; minutes without
    #[arg(short, long, value_name = "NUMm", value_parser = time)]
    time: Option<u64>,
    /// Think time of each user before each request: random, up to so many seconds
    #[arg(short, long, value_name = "NUM", value_parser = delay)]
    delay: Option<u64>,
    /// No think time, whatever --delay says
    #[arg(short, long)]
    benchmark: bool,
    /// Pick URLs at random instead of one after the other
    #[arg(short, long)]
    internet: bool,
    /// A file with a URL on each line
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// A configuration file of siege's; none is read unless it is named
    #[arg(short = 'R', long, value_name = "FILE")]
    rc: Option<PathBuf>,
    /// A header of every request, such as 'Accept: text/html'; may be repeated
    #[arg(short = 'H', long, value_name = "TEXT", action = clap::ArgAction::Append)]
    header: Vec<String>,
    /// The content type of bodies that have none of their own in the file
    #[arg(short = 'T', long, value_name = "TEXT")]
    content_type: Option<String>,
    /// What to send as User-Agent
    #[arg(short = 'A', long, value_name = "TEXT")]
    user_agent: Option<String>,
    /// Make one request and print it and the head of its answer, then the figures
    #[arg(short, long)]
    get: bool,
    /// Make one request and print it and the page, then the figures
    #[arg(short, long)]
    print: bool,
    /// Print what the flags and the configuration file come to, and do nothing
    #[arg(short = 'C', long)]
    config: bool,
    /// Print the version, and do nothing
    #[arg(short = 'V', long)]
    version: bool,
    /// Print a line for each request
    #[arg(short, long)]
    verbose: bool,
    /// Print each request and the head of its answer
    #[arg(short = 'D', long)]
    debug: bool,
    /// Print the figures as JSON
    #[arg(short, long)]
    json_output: bool,
    /// Append the figures to a log file [default file: siege.log]
    #[arg(short, long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "siege.log")]
    log: Option<PathBuf>,
    /// Append a mark to the log file first
    #[arg(short, long, value_name = "TEXT")]
    mark: Option<String>,
    /// Count redirects as answers and do not follow them
    #[arg(long)]
    no_follow: bool,
    /// Do not fetch what a page refers to: springload never does
    #[arg(long)]
    no_parser: bool,
    /// Send {{...}} as it stands
    #[arg(long)]
    literal: bool,
    /// What requests, think times and {{...}} are drawn from: the same seed, the same run
    /// [default: another one each time]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Threads to share the users [default: one per core]
    #[arg(long, value_name = "N", value_parser = plan::count)]
    threads: Option<u64>,
    /// How long one request may take [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = plan::duration_ns)]
    timeout: Option<u64>,
    /// A PEM file with the authorities to trust, instead of the system's
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// How often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reps {
    Each(u64),
    Once,
}

fn reps(text: &str) -> Result<Reps, String> {
    if text.eq_ignore_ascii_case("once") {
        return Ok(Reps::Once);
    }
    plan::count(text).map(Reps::Each)
}

/// Reads siege's times: `30S`, `1m`, `2H`, in nanoseconds; a bare number is minutes.
fn time(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is no time; give a number with S, M or H, such as 30S");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit_s = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "s" => 1,
        "" | "m" => 60,
        "h" => 3600,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.trim().parse().map_err(|_| wrong())?;
    // A year is more than any run; beyond it lies overflow.
    let seconds = number.checked_mul(unit_s).filter(|&s| s <= 366 * 86_400).ok_or_else(wrong)?;
    Ok(seconds * 1_000_000_000)
}

/// Reads seconds, in nanoseconds; less than nothing is nothing, as siege has it.
fn delay(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is no number of seconds; give for example 1 or 0.5");
    let seconds: f64 = text.trim().parse().map_err(|_| wrong())?;
    if !seconds.is_finite() || seconds > 86_400.0 {
        return Err(wrong());
    }
    Ok((seconds.max(0.0) * 1e9) as u64)
}

/// The arguments with `-lFILE` as `--log=FILE`: siege's optional value.
fn spelled_out(mut arguments: Vec<OsString>) -> Vec<OsString> {
    if arguments.get(1).is_some_and(|verb| verb == "siege") {
        for argument in arguments.iter_mut().skip(2) {
            let file = argument.to_str().and_then(|it| it.strip_prefix("-l"));
            if let Some(file) = file.filter(|file| !file.is_empty()) {
                *argument = format!("--log={}", file.trim_start_matches('=')).into();
            }
        }
    }
    arguments
}

impl Verb for Args {
    const NAME: &'static str = "siege";
    const ABOUT: &'static str = "Siege's command line and figures";

    fn spelled_out(arguments: Vec<OsString>) -> Result<Vec<OsString>, String> {
        Ok(spelled_out(arguments))
    }

    fn carry_out(self, call: &Call<'_>) -> Exit {
        main(&self, call.line)
    }
}

/// Carries out `springload siege`.
fn main(args: &Args, command: &str) -> Exit {
    if args.version {
        return show::version();
    }
    let mut mistakes = Vec::new();
    let rc = args.rc.as_deref().map_or_else(|| Ok(Rc::default()), Rc::read);
    let rc = rc.unwrap_or_else(|wrong| {
        mistakes.extend(wrong);
        Rc::default()
    });
    let spec = spec(args, &rc, command, &mut mistakes);
    if args.config {
        return show::configuration(&spec, (args, &rc), &mistakes);
    }
    let plan = check_http(&spec);
    if args.get || args.print {
        return show::exchange(plan, mistakes, args, &rc);
    }
    let mut output = args.output.clone();
    let json = args.json_output || rc.is_on("json_output") == Some(true);
    if json && output.format.is_none() {
        output.format = report::format("siege-json");
    }
    output.quiet |= json || rc.is_on("quiet") == Some(true);
    let wants_lines = args.verbose || rc.is_on("verbose") == Some(true);
    let show = Show {
        heads: args.debug,
        lines: wants_lines && !args.debug,
        full_url: rc.is_on("fullurl") == Some(true),
    };
    let shows = (show.heads || show.lines) && !output.quiet;
    let logging = rc.is_on("logging") == Some(true) || args.mark.is_some();
    let log = args
        .log
        .clone()
        .or_else(|| logging.then(|| PathBuf::from(rc.get("logfile").unwrap_or("siege.log"))));
    carry_out(Job { plan, mistakes, output: &output }, |_| {
        let log = log.as_deref().map(Log::open).transpose()?;
        let transcript = if shows { Transcript::start(show).ok() } else { None };
        Ok(Siege { transcript, log, mark: args.mark.clone() })
    })
}

/// Siege's lines for each request, its figures and its log.
struct Siege {
    transcript: Option<Transcript>,
    log: Option<Log>,
    mark: Option<String>,
}

impl Dialect for Siege {
    fn exchanges(&mut self) -> Option<Watcher> {
        self.transcript.as_mut().and_then(Transcript::watcher)
    }

    fn ended(&mut self) {
        if let Some(transcript) = self.transcript.take() {
            transcript.finish();
        }
    }

    fn report(&mut self, record: &RunRecord, format: Option<Format>) -> Result<(), String> {
        let told = render(record, format, "siege").and_then(|figures| deliver(&figures));
        let log = self.log.take().map_or(Ok(()), |log| log.append(self.mark.as_deref(), record));
        told.and(log.map_err(|error| format!("the log could not be written: {error}")))
    }
}

fn spec(args: &Args, rc: &Rc, command: &str, mistakes: &mut Vec<Invalid>) -> HttpSpec {
    let mut keep = |result: Result<Option<u64>, Invalid>| {
        result.unwrap_or_else(|mistake| {
            mistakes.push(mistake);
            None
        })
    };
    let shows = args.get || args.print;
    let concurrent = args.concurrent.or_else(|| keep(rc.read_value("concurrent", plan::count)));
    let users = if shows { 1 } else { concurrent.unwrap_or(USERS) };
    let limit_ns = args.time.or_else(|| keep(rc.read_value("time", time)));
    let timeout_ns = args.timeout.or_else(|| keep(rc.read_value("timeout", plan::duration_ns)));
    let delay_ns = args.delay.or_else(|| keep(rc.read_value("delay", delay)));
    let no_delay = args.benchmark || rc.is_on("benchmark") == Some(true);
    let rc_reps = rc.read_value("reps", reps).unwrap_or_else(|mistake| {
        mistakes.push(mistake);
        None
    });
    let reps = if shows { Some(Reps::Each(1)) } else { args.reps.or(rc_reps) };
    let random = args.internet || rc.is_on("internet") == Some(true);
    let once = reps == Some(Reps::Once);
    let order = match (random, once) {
        (true, _) => UrlOrder::Random,
        (false, true) => UrlOrder::Once,
        (false, false) => UrlOrder::Sequential,
    };
    let pair = |(_, text): &(String, String)| {
        let mut parts = text.splitn(3, ':').map(str::to_owned);
        Some((parts.next()?, parts.next()?))
    };
    HttpSpec {
        command: command.to_owned(),
        urls: urls(args, rc),
        flags: HttpFlags::SIEGE,
        log_in: lines(rc.list("login-url")),
        user: rc.list("login").iter().find_map(pair),
        settings: HttpPlan {
            headers: headers(args, rc),
            follow: !args.no_follow && rc.is_on("follow-location") != Some(false),
            keep_alive: rc
                .get("connection")
                .is_some_and(|it| it.eq_ignore_ascii_case("keep-alive")),
            cookies: rc.is_on("cookies") != Some(false),
            ..HttpPlan::default()
        },
        content_type: args.content_type.clone(),
        literal: args.literal,
        order,
        tls_ca: args.tls_ca.clone(),
        users,
        threads: args.threads,
        seed: args.seed.unwrap_or_else(drawn_seed),
        timeout_ns: timeout_ns.unwrap_or(30_000_000_000),
        max_answer: plan::MAX_ANSWER,
        once,
        operations: match reps {
            Some(Reps::Each(reps)) => Some(reps.saturating_mul(users.max(1))),
            _ => None,
        },
        duration_ns: if shows { None } else { limit_ns },
        warmup_ns: 0,
        load: match delay_ns.filter(|&ns| ns > 0 && !no_delay && !shows) {
            Some(most_ns) => HttpLoad::Thinking(most_ns),
            None => HttpLoad::Steady(LoadSpec::Closed { think_ns: 0 }),
        },
        thresholds: args.output.fail_if.clone(),
    }
}

/// The URLs of the command line, or else those of the configuration.
fn urls(args: &Args, rc: &Rc) -> Vec<UrlSource> {
    if args.get || args.print {
        return sources(None, args.urls.clone());
    }
    if args.file.is_some() || !args.urls.is_empty() {
        return sources(args.file.clone(), args.urls.clone());
    }
    let urls = lines(rc.list("url"));
    if !urls.is_empty() {
        return urls;
    }
    sources(rc.get("file").map(PathBuf::from), Vec::new())
}

fn lines(list: &[(String, String)]) -> Vec<UrlSource> {
    let line = |(place, text): &(String, String)| {
        let place = place.clone();
        UrlSource::Line { place, text: text.clone() }
    };
    list.iter().map(line).collect()
}

fn headers(args: &Args, rc: &Rc) -> Vec<String> {
    let given = args.header.iter().cloned();
    let mut headers: Vec<String> =
        rc.list("header").iter().map(|(_, text)| text.clone()).chain(given).collect();
    let mut add = |name: &str, value: Option<&str>| {
        headers.extend(value.map(|value| format!("{name}: {value}")));
    };
    add("User-Agent", args.user_agent.as_deref().or_else(|| rc.get("user-agent")));
    // What is printed is not decoded.
    add("Accept-Encoding", if args.print { Some("identity") } else { rc.get("accept-encoding") });
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_sieges() {
        let seconds = |text| time(text).map(|ns| ns / 1_000_000_000).ok();
        assert_eq!(
            (seconds("30S"), seconds("2m"), seconds("1H")),
            (Some(30), Some(120), Some(3600))
        );
        assert_eq!((seconds("10"), seconds("5D"), seconds("S")), (Some(600), None, None));
        assert_eq!((delay("-1"), delay("0.5")), (Ok(0), Ok(500_000_000)));
        assert!(delay("x").is_err() && delay("inf").is_err());
    }

    #[test]
    fn the_log_files_name_follows_its_flag() {
        let words = |words: &[&str]| -> Vec<OsString> { words.iter().map(Into::into).collect() };
        let spelled = spelled_out(words(&["springload", "siege", "-l/tmp/x", "-l", "--log"]));
        assert_eq!(spelled, words(&["springload", "siege", "--log=/tmp/x", "-l", "--log"]));
        assert_eq!(spelled_out(words(&["springload", "run", "-lx"]))[2], "-lx");
    }
}
