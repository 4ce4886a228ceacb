//! What else the machine did while a claim was measured, and whether that could explain a failure.

use crate::clock::Machine;
use crate::measure::{HiccupMeter, Hiccups};
use std::fmt;

const MS: u64 = 1_000_000;

/// From this share of a processor on, other programs can be the reason a timed claim failed.
const OTHERS: f64 = 0.1;

pub(super) struct NoiseWatch {
    hiccups: Option<HiccupMeter>,
    before: Option<Machine>,
}

impl NoiseWatch {
    pub(super) fn start() -> Self {
        Self { hiccups: HiccupMeter::start().ok(), before: Machine::now() }
    }

    pub(super) fn finish(self) -> Noise {
        let others =
            Machine::now().zip(self.before).and_then(|(now, then)| now.others_since(&then));
        let hiccups = self.hiccups.map(HiccupMeter::finish).unwrap_or_default();
        Noise { hiccups, others }
    }
}

/// Observations of the machine.
#[derive(Clone, Debug, Default)]
pub struct Noise {
    /// How late a thread that only sleeps woke up.
    pub hiccups: Hiccups,
    /// The number of processors that other programs used, on average; `None`: unknown, as in less
    /// than 0.1 s.
    pub others: Option<f64>,
}

/// A percentile of hiccups, and the nanoseconds from which it can be the reason a claim failed.
pub(super) type Stall = (f64, u64);

/// The noise that can make a timed claim fail: any of these stalls, or other programs on the
/// processors. `docs/selftest.md` explains the values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bears(pub(super) &'static [Stall]);

/// The longest stall shifts T1's percentiles of a pause.
pub(super) const PAUSE: Bears = Bears(&[(100.0, 5 * MS)]);
/// Operations that were due during stalls began late.
pub(super) const SCHEDULE: Bears = Bears(&[(99.0, 3 * MS / 10), (99.9, MS)]);
/// Responses that arrived during stalls were seen late.
pub(super) const TAIL: Bears = Bears(&[(99.9, MS / 2)]);
/// Only constant noise shifts a median.
pub(super) const MEDIAN: Bears = Bears(&[(50.0, 3 * MS / 10)]);
/// Long stalls shift means and sums.
pub(super) const MEAN: Bears = Bears(&[(99.9, 10 * MS)]);
/// The claim itself stalls the machine.
pub(super) const STARVED: Bears = Bears(&[]);

impl Noise {
    /// The noise that could explain a failed claim; `None` if the machine was quiet.
    pub(super) fn explains(&self, Bears(stalls): Bears) -> Option<String> {
        let late = &self.hiccups.late;
        let stalled =
            stalls.iter().find(|&&(percentile, least)| late.percentile(percentile) >= least);
        let others = self.others.filter(|&others| others >= OTHERS);
        let stalled = stalled.map(|&(percentile, _)| {
            let ms = late.percentile(percentile) as f64 / 1e6;
            let at = if percentile < 100.0 { format!(" at p{percentile}") } else { String::new() };
            format!("this machine stalled for {ms:.1} ms{at}")
        });
        let others =
            others.map(|others| format!("others used {:.0} % of a processor", others * 100.0));
        let reasons: Vec<String> = stalled.into_iter().chain(others).collect();
        (!reasons.is_empty()).then(|| reasons.join(", "))
    }
}

impl fmt::Display for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let late = &self.hiccups.late;
        if late.is_empty() {
            f.write_str("hiccups not measured")?;
        } else {
            let ms = |percentile| late.percentile(percentile) as f64 / 1e6;
            let [p50, p99, p999, most] = [50.0, 99.0, 99.9, 100.0].map(ms);
            write!(f, "hiccups p50 {p50:.2} p99 {p99:.2} p99.9 {p999:.2} max {most:.2} ms")?;
        }
        match self.others {
            Some(others) => write!(f, "; others used {:.0} % of a processor", others * 100.0),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
#[path = "noise_tests.rs"]
mod tests;
