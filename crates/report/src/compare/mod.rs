//! Two sides of runs compared: for each figure a ratio with its interval, and a verdict.
//!
//! The unit is the run: how much the requests or seconds of one run vary says little about the next
//! run. Knows neither files nor formats.

mod control;
mod differs;
mod judge;
mod run;

pub use control::Control;
pub use judge::{CompareAsked, compare};
pub use run::ComparedRun;

use crate::record::{RunResult, Standing, Unit};
use crate::statistics::Layout;
use serde::{Deserialize, Serialize};

/// The version of the layout of a comparison as JSON.
pub const SCHEMA_VERSION: u32 = 1;

/// Side A, which is the baseline, and side B.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The verdict on B, by all gated figures.
    pub verdict: Standing,
    /// The runs of A.
    pub a: Vec<ComparedRun>,
    /// The runs of B.
    pub b: Vec<ComparedRun>,
    /// How the runs of the two sides are ordered in time.
    pub layout: Layout,
    /// Changes smaller than this count as the same, in percent.
    pub delta_percent: f64,
    /// The highest probability with which an interval misses the true value.
    pub alarms: f64,
    /// What differs between the two sides.
    pub differs: Vec<Differs>,
    /// What to know before reading the figures.
    pub notes: Vec<String>,
    /// How the machine itself behaved during the comparison, if that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Control>,
    /// The progress of the comparison, if it is not complete; nothing is decided until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// The figures.
    pub comparisons: Vec<Compared>,
}

/// The progress of a comparison that is measured pair by pair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The number of complete pairs of runs.
    pub pairs: u64,
    /// The most pairs there will be.
    pub of: u64,
    /// The numbers of pairs after which there may be a verdict.
    pub looks: Vec<u64>,
    /// Whether it was ended: nothing is running anymore.
    pub ended: bool,
}

/// Something that differs between the two sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Differs {
    /// What differs, such as the server.
    pub what: String,
    /// On side A; empty: nothing.
    pub a: String,
    /// On side B; empty: nothing.
    pub b: String,
}

/// One figure of both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// The kind of operations, or `all`.
    pub kind: String,
    /// The metric as named in thresholds, such as `p99`.
    pub metric: String,
    /// The unit of the values.
    pub unit: Unit,
    /// Whether it is one of the figures that decide the overall verdict.
    pub gated: bool,
    /// A's value in each run; `null` if there is none.
    pub a_values: Vec<Option<f64>>,
    /// B's value in each run, likewise.
    pub b_values: Vec<Option<f64>>,
    /// A's mean: geometric, or arithmetic for shares.
    pub a: Option<f64>,
    /// B's mean.
    pub b: Option<f64>,
    /// B over A; `null` if a ratio is meaningless, as for shares.
    pub ratio: Option<f64>,
    /// The lower end of the ratio's interval.
    pub low: Option<f64>,
    /// Its upper end.
    pub high: Option<f64>,
    /// The probability that this interval misses the true value: less than requested if a verdict
    /// on several figures needs a wider one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alarms: Option<f64>,
    /// The lower end of the ratio's interval within the runs, if there is one run on each side: how
    /// certain the ratio of these two is. It does not show how much runs differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_low: Option<f64>,
    /// Its upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_high: Option<f64>,
    /// For shares, B minus A, in percentage points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub points: Option<Points>,
    /// The probability of such a difference by chance alone.
    pub chance: Option<f64>,
    /// How far off a single run typically is, in percent of its value; for shares, in percentage
    /// points.
    pub variation_percent: Option<f64>,
    /// How much the figure drifted from the first to the last run, in the same unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift_percent: Option<f64>,
    /// The verdict.
    pub verdict: Standing,
    /// About how many more runs of each side would decide it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_runs: Option<u64>,
    /// The reason there is no interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A difference of shares, in percentage points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Points {
    /// B minus A.
    pub difference: f64,
    /// The lower end of its interval.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

impl Compared {
    /// Whether any run has it.
    pub fn is_known(&self) -> bool {
        self.a_values.iter().chain(&self.b_values).any(Option::is_some)
    }
}

impl Comparison {
    /// The figures that decide the verdict.
    pub fn gated(&self) -> impl Iterator<Item = &Compared> {
        self.comparisons.iter().filter(|it| it.gated)
    }

    /// Turns this comparison into an interim reading. Reading after every pair far too often finds
    /// differences where there are none (P. Armitage, C. K. `McPherson` and B. C. Rowe, Journal of
    /// the Royal Statistical Society A 132 (1969), 235–244: at a level of 5 %, 14 % after five
    /// readings), so nothing counts as decided.
    #[must_use]
    pub fn so_far(mut self, progress: Progress) -> Self {
        for figure in &mut self.comparisons {
            (figure.verdict, figure.more_runs) = (Standing::CannotTell, None);
        }
        self.verdict = Standing::CannotTell;
        self.progress = Some(progress);
        self
    }

    /// Adds how the machine behaved during the comparison, and a note if it may explain the result.
    #[must_use]
    pub fn beside(mut self, control: Option<Control>) -> Self {
        self.notes.extend(control.iter().flat_map(|it| it.warnings.clone()));
        self.control = control;
        self
    }

    /// Whether there is one run on each side, and no interval other than those within the runs.
    pub fn is_within(&self) -> bool {
        self.comparisons.iter().any(|it| it.within_low.is_some())
    }

    /// About how many more runs of each side would decide every gated figure.
    pub fn more_runs(&self) -> Option<u64> {
        self.gated().filter_map(|it| it.more_runs).max()
    }

    /// Whether all runs can be trusted, had all their load, and found the data right.
    pub fn trustworthy(&self) -> bool {
        let bad = [RunResult::UNTRUSTWORTHY, RunResult::DATA_WRONG];
        let is_bad =
            |run: &ComparedRun| bad.contains(&run.result.exit_status) || run.agents_lost.is_some();
        !self.a.iter().chain(&self.b).any(is_bad)
    }

    /// Whether any run of A, and any run of B, found wrong data.
    pub fn data_wrong(&self) -> [bool; 2] {
        let wrong = |run: &ComparedRun| run.result.exit_status == RunResult::DATA_WRONG;
        [&self.a, &self.b].map(|side| side.iter().any(wrong))
    }
}
