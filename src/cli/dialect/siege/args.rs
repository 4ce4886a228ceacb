//! Siege's flags and its time syntax.

use super::rc::Rc;
use crate::cli::flags::give_up::GiveUpArgs;
use crate::cli::flags::output::OutputArgs;
use crate::cli::flags::tls::TlsArgs;
use crate::mistake::BadValue;
use crate::plan;
use std::path::PathBuf;

/// `springload siege`.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[allow(clippy::option_option, reason = "--log may have a value")]
pub(in crate::cli) struct Siege {
    /// Addresses, instead of a file
    ///
    /// 'http://[user:password@]host/path [METHOD [body | < FILE]]', instead of a file
    #[arg(value_name = "URL")]
    pub(super) urls: Vec<String>,
    /// Concurrent users [default: 25]
    #[arg(short, long, value_name = "NUM", value_parser = plan::count)]
    pub(super) concurrent: Option<u64>,
    /// Requests per user
    ///
    /// Requests per user; or once, to request each URL of the file once
    #[arg(short, long, value_name = "NUM", value_parser = reps)]
    pub(super) reps: Option<Reps>,
    /// How long to run, such as 30S or 2M
    ///
    /// How long to run: NUM followed by S, M or H for seconds, minutes or hours [default unit: M]
    #[arg(short, long, value_name = "NUMm", value_parser = time)]
    pub(super) time: Option<u64>,
    /// Think time: random, up to NUM seconds
    ///
    /// Think time of each user before each request: random, up to NUM seconds
    #[arg(short, long, value_name = "NUM", value_parser = delay)]
    pub(super) delay: Option<u64>,
    /// No think time, regardless of --delay
    #[arg(short, long)]
    pub(super) benchmark: bool,
    /// Pick URLs at random instead of in order
    #[arg(short, long)]
    pub(super) internet: bool,
    /// A file with one URL per line
    #[arg(short, long, value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    /// A siege configuration file
    ///
    /// A siege configuration file; without this flag none is read
    #[arg(short = 'R', long, value_name = "FILE")]
    pub(super) rc: Option<PathBuf>,
    /// A header to send with every request
    ///
    /// A header to send with every request, such as 'Accept: text/html'; may be repeated
    #[arg(short = 'H', long, value_name = "TEXT", action = clap::ArgAction::Append)]
    pub(super) header: Vec<String>,
    /// The content type of bodies that have none in the file
    #[arg(short = 'T', long, value_name = "TEXT")]
    pub(super) content_type: Option<String>,
    /// The User-Agent to send
    #[arg(short = 'A', long, value_name = "TEXT")]
    pub(super) user_agent: Option<String>,
    /// Send one request and print it with its answer
    ///
    /// Send one request; print it, the head of its answer and the figures
    #[arg(short, long)]
    pub(super) get: bool,
    /// Send one request; print it, the page and the figures
    #[arg(short, long)]
    pub(super) print: bool,
    /// Print the settings from the flags and the configuration file, and exit
    #[arg(short = 'C', long)]
    pub(super) config: bool,
    /// Print the version and exit
    #[arg(short = 'V', long)]
    pub(super) version: bool,
    /// Print one line per request
    #[arg(short, long)]
    pub(super) verbose: bool,
    /// Print each request and the head of its answer
    #[arg(short = 'D', long)]
    pub(super) debug: bool,
    /// Print the figures as JSON
    #[arg(short, long)]
    pub(super) json_output: bool,
    /// Append the figures to a log file [default: the configuration's, or siege.log]
    #[arg(short, long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub(super) log: Option<Option<PathBuf>>,
    /// Append this mark to the log file first
    #[arg(short, long, value_name = "TEXT")]
    pub(super) mark: Option<String>,
    /// Count redirects as answers instead of following them
    #[arg(long)]
    pub(super) no_follow: bool,
    /// Do not fetch the resources of a page: accepted for compatibility; springload never does
    #[arg(long)]
    pub(super) no_parser: bool,
    /// Send {{...}} literally
    #[arg(long)]
    pub(super) literal: bool,
    /// Seed for requests, think times and {{...}}: the same seed repeats the run [default: a new
    /// one each time]
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,
    /// Number of threads; they share the users [default: one per core]
    #[arg(long, value_name = "N", value_parser = plan::count)]
    pub(super) threads: Option<u64>,
    /// Timeout for one request [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = plan::duration_ns)]
    pub(super) timeout: Option<u64>,
    #[command(flatten)]
    pub(super) patience: GiveUpArgs,
    #[command(flatten)]
    pub(super) tls: TlsArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

impl Siege {
    /// The name of the log file.
    pub(super) fn log_name(&self, rc: &Rc) -> PathBuf {
        let named = self.log.clone().flatten();
        named.unwrap_or_else(|| rc.get("logfile").unwrap_or("siege.log").into())
    }
}

/// Number of requests per user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reps {
    Each(u64),
    Once,
}

pub(super) fn reps(text: &str) -> Result<Reps, BadValue> {
    if text.eq_ignore_ascii_case("once") {
        return Ok(Reps::Once);
    }
    plan::count(text).map(Reps::Each)
}

/// Parses siege's times, such as `30S`, `1m` or `2H`, to nanoseconds; a bare number is minutes.
pub(super) fn time(text: &str) -> Result<u64, BadValue> {
    let wrong = || {
        let problem = format!("{text:?} is not a time");
        BadValue::new(problem, "give a number with S, M or H, such as 30S")
    };
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit_s = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "s" => 1,
        "" | "m" => 60,
        "h" => 3600,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.trim().parse().map_err(|_| wrong())?;
    // A year is longer than any run; much more would overflow.
    let seconds = number.checked_mul(unit_s).filter(|&s| s <= 366 * 86_400).ok_or_else(wrong)?;
    Ok(seconds * 1_000_000_000)
}

/// Parses seconds to nanoseconds; a negative number is 0, as in siege.
pub(super) fn delay(text: &str) -> Result<u64, BadValue> {
    let wrong = || {
        let problem = format!("{text:?} is not a number of seconds");
        BadValue::new(problem, "give 1 or 0.5, for example")
    };
    let seconds: f64 = text.trim().parse().map_err(|_| wrong())?;
    if !seconds.is_finite() || seconds > 86_400.0 {
        return Err(wrong());
    }
    Ok((seconds.max(0.0) * 1e9) as u64)
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
}
