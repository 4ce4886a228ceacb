//! The flags of `springload serve` that inject faults. Parses them; `embedded` carries them out.

use crate::embedded::{Delay, Fault, Faults, Occurrence, Stall};
use crate::plan::{duration_ns, rate};

/// Faults to inject.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Faults")]
#[group(id = "faults")]
pub(super) struct FaultArgs {
    /// Serve at most this many requests a second
    ///
    /// Serve at most this many requests a second, one at a time, such as 2000/s; the others wait in
    /// a queue
    #[arg(long, value_name = "RATE")]
    capacity: Option<String>,
    /// Delay each answer, such as 10ms
    ///
    /// Delay each answer: 10ms, or 1ms,50ms@1% (50 ms for 1 % of them), or lognormal:1ms,0.5
    /// (median, sigma), or 10ms..100ms/60s (from 10 to 100 ms within 60 s of the first request)
    #[arg(long, value_name = "LAW")]
    delay: Option<String>,
    /// Stall, such as 2s@5s: for 2 s, after 5 s
    ///
    /// Stall: 2s@5s (for 2 s, 5 s after the first request) or 500ms@2.5s/5s (and again every
    /// 5 s); may be repeated
    #[arg(long, value_name = "FOR@AT[/EVERY]")]
    stall: Vec<String>,
    /// Never answer this share of requests
    ///
    /// Never answer this share of requests, nor any later ones on the same connections
    #[arg(long, value_name = "PERCENT")]
    drop: Option<String>,
    /// Delay a share of the answers for longer: 5s@1%
    #[arg(long, value_name = "FOR@PERCENT")]
    slow: Option<String>,
    /// A named fault, such as reset-after=1%
    ///
    /// A named fault for this share of requests or documents. Lies about documents:
    /// drop-acknowledged=0.01%, late-write, drop-delete, undo-delete, fail-dropped, fail-stored,
    /// refuse-stored, wrong-body, old-revision, other-document, duplicate-change and skip-change.
    /// Refusals: status-409, status-429, status-500, status-503 and lock-out.
    /// Faults of the connection: reset-before, reset-during, reset-after, slow-bytes,
    /// truncate-body, early-close, idle-close, duplicate-answer and unsolicited-answer.
    /// reset-after=1%@10s..20s from 10 s to 20 s after the first request; may be repeated
    #[arg(long, value_name = "NAME=SHARE[@FROM[..TO]]")]
    fault: Vec<String>,
    /// Seed for everything random about the faults
    #[arg(long, value_name = "N", default_value = "0")]
    fault_seed: u64,
}

impl FaultArgs {
    /// Parses the flags.
    ///
    /// # Errors
    /// Fails if a value is invalid. The message is one line that names the flag and the cure.
    pub(super) fn read(&self) -> Result<Faults, String> {
        let mut faults = Faults { seed: self.fault_seed, ..Faults::default() };
        if let Some(text) = &self.capacity {
            let capacity = rate(text).ok().filter(|rate| *rate > 0.0).ok_or_else(|| {
                format!("--capacity: {text:?} is not a rate; give requests per second, 2000/s")
            })?;
            faults.capacity = Some(capacity);
        }
        if let Some(text) = &self.delay {
            faults.delay = delay(text).map_err(|error| {
                let laws = "10ms, 1ms,50ms@1%, lognormal:1ms,0.5 or 10ms..100ms/60s";
                format!("--delay: {error}; give {laws}")
            })?;
        }
        for text in &self.stall {
            faults.stalls.push(stall(text).map_err(|error| {
                format!("--stall: {error}; give FOR@AT or FOR@AT/EVERY, such as 500ms@2.5s/5s")
            })?);
        }
        if let Some(text) = &self.drop {
            faults.drop_fraction = fraction(text)
                .map_err(|error| format!("--drop: {error}; give a share such as 1%"))?;
        }
        if let Some(text) = &self.slow {
            (faults.slow_ns, faults.slow_fraction) = rare(text)
                .map_err(|error| format!("--slow: {error}; give FOR@PERCENT, such as 5s@1%"))?;
        }
        for text in &self.fault {
            faults.named.push(named(text).map_err(|error| {
                format!("--fault: {error}; give NAME=SHARE, such as wrong-body=1%")
            })?);
        }
        Ok(faults)
    }
}

/// `wrong-body=1%@10s..20s`
fn named(text: &str) -> Result<Occurrence, String> {
    let (name, rest) = text.split_once('=').ok_or_else(|| format!("{text:?} has no share"))?;
    let fault = Fault::named(name).ok_or_else(|| {
        let names: Vec<_> = Fault::NAMES.iter().map(|(name, _)| *name).collect();
        format!("{name:?} is not one of {}", names.join(", "))
    })?;
    let (share, time) = rest.split_once('@').unwrap_or((rest, "0s"));
    let (from, until) = match time.split_once("..") {
        Some((from, until)) => (from, Some(duration(until)?)),
        None => (time, None),
    };
    let from_ns = duration(from)?;
    if until.is_some_and(|until| until <= from_ns) {
        return Err(format!("{time:?} ends before it begins"));
    }
    Ok(Occurrence { fault, fraction: fraction(share)?, from_ns, until_ns: until })
}

fn delay(text: &str) -> Result<Delay, String> {
    if let Some(law) = text.strip_prefix("lognormal:") {
        let (median, sigma) =
            law.split_once(',').ok_or_else(|| format!("{text:?} has no sigma after a comma"))?;
        let sigma: f64 = sigma
            .parse()
            .ok()
            .filter(|sigma| (0.0..=5.0).contains(sigma))
            .ok_or_else(|| format!("{sigma:?} is not a sigma from 0 to 5"))?;
        return Ok(Delay::LogNormal { median_ns: duration(median)?, sigma });
    }
    if let Some((from, rest)) = text.split_once("..") {
        let (to, over) =
            rest.split_once('/').ok_or_else(|| format!("{text:?} has no time after a slash"))?;
        let over_ns = duration(over)?;
        return Ok(Delay::Ramp { from_ns: duration(from)?, to_ns: duration(to)?, over_ns });
    }
    let Some((usual, other)) = text.split_once(',') else {
        return Ok(Delay::Constant { ns: duration(text)? });
    };
    let (rare_ns, rare_fraction) = rare(other)?;
    Ok(Delay::Mix { ns: duration(usual)?, rare_ns, rare_fraction })
}

fn stall(text: &str) -> Result<Stall, String> {
    let (length, when) = text.split_once('@').ok_or_else(|| format!("{text:?} has no @TIME"))?;
    let (at, every) = match when.split_once('/') {
        Some((at, every)) => (at, Some(duration(every)?)),
        None => (when, None),
    };
    let for_ns = duration(length)?;
    if every.is_some_and(|every| every <= for_ns) {
        return Err(format!("{text:?} would stall forever"));
    }
    Ok(Stall { at_ns: duration(at)?, for_ns, every_ns: every })
}

/// `5s@1%`
fn rare(text: &str) -> Result<(u64, f64), String> {
    let (length, share) = text.split_once('@').ok_or_else(|| format!("{text:?} has no @SHARE"))?;
    Ok((duration(length)?, fraction(share)?))
}

/// `1%`
fn fraction(text: &str) -> Result<f64, String> {
    let number = text
        .strip_suffix('%')
        .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'));
    number
        .and_then(|number| number.parse().ok())
        .filter(|percent: &f64| *percent <= 100.0)
        .map(|percent| percent / 100.0)
        .ok_or_else(|| format!("{text:?} is not a share from 0% to 100%"))
}

/// A duration in nanoseconds. The flag's own message gives the hint.
fn duration(text: &str) -> Result<u64, String> {
    duration_ns(text).map_err(|_| format!("{text:?} is not a duration"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::Lie;
    use clap::{Args, Command};

    const MS: u64 = 1_000_000;

    fn none() -> FaultArgs {
        FaultArgs {
            capacity: None,
            delay: None,
            stall: Vec::new(),
            drop: None,
            slow: None,
            fault: Vec::new(),
            fault_seed: 7,
        }
    }

    #[test]
    fn every_spelling_is_read() {
        let delays = [
            ("10ms", Delay::Constant { ns: 10 * MS }),
            ("1ms,50ms@1%", Delay::Mix { ns: MS, rare_ns: 50 * MS, rare_fraction: 0.01 }),
            ("lognormal:1ms,0.5", Delay::LogNormal { median_ns: MS, sigma: 0.5 }),
            (
                "10ms..100ms/60s",
                Delay::Ramp { from_ns: 10 * MS, to_ns: 100 * MS, over_ns: 60_000 * MS },
            ),
        ];
        for (text, law) in delays {
            let args = FaultArgs { delay: Some(text.to_owned()), ..none() };
            assert_eq!(args.read(), Ok(Faults { delay: law, seed: 7, ..Faults::default() }));
        }
        for (text, rate) in [("2000/s", 2000.0), ("2k/s", 2000.0), ("0.5", 0.5)] {
            let args = FaultArgs { capacity: Some(text.to_owned()), ..none() };
            assert_eq!(args.read().unwrap().capacity, Some(rate));
        }
        let stall = vec!["2s@5s".to_owned(), "500ms@2.5s/5s".to_owned()];
        let (drop, slow) = (Some("0.5%".to_owned()), Some("5s@1%".to_owned()));
        let faults = FaultArgs { stall, drop, slow, ..none() }.read().unwrap();
        assert_eq!(
            faults.stalls,
            [
                Stall { at_ns: 5000 * MS, for_ns: 2000 * MS, every_ns: None },
                Stall { at_ns: 2500 * MS, for_ns: 500 * MS, every_ns: Some(5000 * MS) },
            ]
        );
        assert_eq!((faults.drop_fraction, faults.slow_fraction), (0.005, 0.01));
        assert_eq!(faults.slow_ns, 5000 * MS);
    }

    #[test]
    fn a_named_fault_has_a_share_and_a_time() {
        let read = |text: &str| {
            FaultArgs { fault: vec![text.to_owned()], ..none() }.read().map(|it| it.named[0])
        };
        let fault = Fault::Lie(Lie::WrongBody);
        let always = Occurrence { fault, fraction: 0.01, from_ns: 0, until_ns: None };
        assert_eq!(read("wrong-body=1%"), Ok(always));
        let fault = Fault::Lie(Lie::UndoDelete);
        let from = Occurrence { fault, from_ns: 10_000 * MS, ..always };
        assert_eq!(read("undo-delete=1%@10s"), Ok(from));
        let until_ns = Some(20_000 * MS);
        assert_eq!(read("undo-delete=1%@10s..20s"), Ok(Occurrence { until_ns, ..from }));
        for wrong in [
            "",
            "wrong-body",
            "wrong=1%",
            "wrong-body=1",
            "wrong-body=1%@x",
            "wrong-body=1%@2s..1s",
        ] {
            let error = read(wrong).unwrap_err();
            assert!(error.starts_with("--fault: ") && error.contains("; give "), "{error}");
        }
    }

    #[test]
    fn the_help_names_all_of_them() {
        let command = FaultArgs::augment_args(Command::new("serve"));
        let flag = command.get_arguments().find(|it| it.get_id() == "fault").unwrap();
        let help = flag.get_long_help().unwrap().to_string();
        for (name, _) in Fault::NAMES {
            assert!(help.contains(name), "{name}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_cure() {
        let give = |flag: &str, text: &str| {
            let text = text.to_owned();
            let args = match flag {
                "--capacity" => FaultArgs { capacity: Some(text), ..none() },
                "--delay" => FaultArgs { delay: Some(text), ..none() },
                "--stall" => FaultArgs { stall: vec![text], ..none() },
                "--drop" => FaultArgs { drop: Some(text), ..none() },
                _ => FaultArgs { slow: Some(text), ..none() },
            };
            args.read().expect_err("an error")
        };
        for (flag, texts) in [
            ("--capacity", &["", "0", "0/s", "-1", "1/m", "x"][..]),
            ("--delay", &["", "x", "1ms,", "1ms,2ms", "lognormal:1ms", "lognormal:1ms,-1"]),
            ("--delay", &["1ms..2ms", "1ms../1s", "..2ms/1s", "1ms..2ms/", "1ms..2ms/x"]),
            ("--stall", &["", "2s", "2s@", "5s@1s/5s", "@1s"]),
            ("--drop", &["", "1", "%", "101%", "-1%", "inf%", "nan%"]),
            ("--slow", &["", "5s", "5s@1", "1%@5s"]),
        ] {
            for text in texts {
                let error = give(flag, text);
                assert!(error.starts_with(flag) && error.contains("; give "), "{error}");
            }
        }
    }
}
