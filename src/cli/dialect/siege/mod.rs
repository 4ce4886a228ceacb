//! `springload siege`: siege's command line, flag by flag.

mod args;
mod log;
mod rc;
mod show;
mod transcript;

pub(in crate::cli) use args::Siege;

/// The mistakes in the text of a siegerc.
#[cfg(feature = "internals")]
pub(in crate::cli) fn mistakes_of_rc(text: &str) -> Vec<Invalid> {
    rc::Rc::parse("siegerc", text).err().unwrap_or_default()
}

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, Trouble};
use crate::cli::flags::client::drawn_seed;
use crate::cli::flags::credentials::CredentialArgs;
use crate::cli::flags::requesters::Requesters;
use crate::cli::pipeline::dialect::{Dialect, deliver, render};
use crate::cli::pipeline::{Job, carry_out};
use crate::cli::verb::http::sources;
use crate::http1::Watcher;
use crate::plan::{
    self, HttpFlags, HttpLoad, HttpPlan, HttpSpec, Invalid, LoadSpec, UrlSource, check_http_as,
};
use crate::record::RunRecord;
use crate::report::{self, Format};
use crate::workload::UrlOrder;
use args::{Reps, delay, reps, time};
use log::SiegeLog;
use rc::Rc;
use std::ffi::OsString;
use std::path::PathBuf;
use transcript::{Detail, Transcript};

/// The default in siege's own configuration file.
const USERS: u64 = 25;

/// Rewrites `-lFILE`, siege's optional value, to `--log=FILE`.
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

impl Verb for Siege {
    const NAME: &'static str = "siege";
    const ABOUT: &'static str = "Siege's command line and figures";
    const FAMILY: Family = Family::Dialect;
    const BRIEF: &'static str =
        "urls concurrent reps time delay benchmark file header get log rc fail_if";
    const EXAMPLES: [Example; 3] = [
        (
            "Many users for 30 seconds, without think time",
            "siege -c 25 -t 30S -b http://localhost:5984/",
        ),
        ("A list of URLs, 10 requests per user", "siege -c 100 -r 10 -f urls.txt"),
        ("One request with its answer", "siege -g http://localhost:5984/"),
    ];

    fn spelled_out(arguments: Vec<OsString>) -> Result<Vec<OsString>, String> {
        Ok(spelled_out(arguments))
    }

    fn carry_out(self, call: &Call<'_>) -> Result<Exit, Trouble> {
        if self.version {
            return Ok(show::version());
        }
        let mut mistakes = Vec::new();
        let rc = self.rc.as_deref().map_or_else(|| Ok(Rc::default()), Rc::read);
        let rc = rc.unwrap_or_else(|wrong| {
            mistakes.extend(wrong);
            Rc::default()
        });
        let spec = spec(&self, &rc, call.line, &mut mistakes);
        if self.config {
            if !mistakes.is_empty() {
                return Err(mistakes.into());
            }
            return Ok(show::configuration(&spec, &self, &rc));
        }
        let own = CredentialArgs::default();
        let mut requesters = Requesters::new(&own, false);
        let plan = check_http_as(&spec, &mut |request| {
            let user = requesters.of_request(request)?;
            Ok(user.or_else(|| spec.user.clone()))
        });
        if self.get || self.print {
            return show::exchange(plan, mistakes, &self, &rc);
        }
        let mut output = self.output.clone();
        let json = self.json_output || rc.is_on("json_output") == Some(true);
        if json && output.format.is_none() {
            output.format = report::format("siege-json");
        }
        output.quiet |= json || rc.is_on("quiet") == Some(true);
        let wants_lines = self.verbose || rc.is_on("verbose") == Some(true);
        let show = Detail {
            heads: self.debug,
            lines: wants_lines && !self.debug,
            full_url: rc.is_on("fullurl") == Some(true),
        };
        let shows = (show.heads || show.lines) && !output.quiet;
        let marked = self.log.is_some() || self.mark.is_some();
        let logging = marked || rc.is_on("logging") == Some(true);
        let log = logging.then(|| self.log_name(&rc));
        carry_out(Job { plan, mistakes, noise: Self::FAMILY.noise(), output: &output }, |_| {
            let log = log.as_deref().map(SiegeLog::open).transpose()?;
            let transcript = if shows { Transcript::start(show).ok() } else { None };
            Ok(Figures { transcript, log, mark: self.mark.clone() })
        })
    }
}

/// Prints siege's line for each request and its summary, and writes its log.
struct Figures {
    transcript: Option<Transcript>,
    log: Option<SiegeLog>,
    mark: Option<String>,
}

impl Dialect for Figures {
    fn exchanges(&mut self) -> Option<Watcher> {
        self.transcript.as_mut().and_then(Transcript::watcher)
    }

    fn ended(&mut self) {
        if let Some(transcript) = self.transcript.take() {
            transcript.finish();
        }
    }

    fn report(&mut self, record: &RunRecord, format: Option<Format>) -> Result<(), String> {
        let printed = render(record, format, "siege").and_then(|figures| deliver(&figures));
        let log = self.log.take().map_or(Ok(()), |log| log.append(self.mark.as_deref(), record));
        printed.and(log.map_err(|error| format!("cannot write the log: {error}")))
    }
}

fn spec(args: &Siege, rc: &Rc, command: &str, mistakes: &mut Vec<Invalid>) -> HttpSpec {
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
        data: Vec::new(),
        literal: args.literal,
        order,
        tls: args.tls.options(),
        method: None,
        body: None,
        users,
        threads: args.threads,
        seed: args.seed.unwrap_or_else(drawn_seed),
        timeout_ns: timeout_ns.unwrap_or(30_000_000_000),
        give_up_ns: args.patience.give_up,
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

/// The URLs from the command line or, if it has none, from the configuration.
fn urls(args: &Siege, rc: &Rc) -> Vec<UrlSource> {
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

fn headers(args: &Siege, rc: &Rc) -> Vec<String> {
    let given = args.header.iter().cloned();
    let mut headers: Vec<String> =
        rc.list("header").iter().map(|(_, text)| text.clone()).chain(given).collect();
    let mut add = |name: &str, value: Option<&str>| {
        headers.extend(value.map(|value| format!("{name}: {value}")));
    };
    add("User-Agent", args.user_agent.as_deref().or_else(|| rc.get("user-agent")));
    // Printed bodies are not decoded.
    add("Accept-Encoding", if args.print { Some("identity") } else { rc.get("accept-encoding") });
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_files_name_follows_its_flag() {
        let words = |words: &[&str]| -> Vec<OsString> { words.iter().map(Into::into).collect() };
        let spelled = spelled_out(words(&["springload", "siege", "-l/tmp/x", "-l", "--log"]));
        assert_eq!(spelled, words(&["springload", "siege", "--log=/tmp/x", "-l", "--log"]));
        assert_eq!(spelled_out(words(&["springload", "run", "-lx"]))[2], "-lx");
    }
}
