//! Two sides of runs against each other: for each figure a ratio with its interval, and a verdict.
//!
//! The run is the unit: what varies between the requests or seconds of one run says little about
//! how the next run will be. Knows neither files nor formats.

mod differs;
mod judge;
mod run;

pub use judge::{Asked, compare};
pub use run::Run;

use crate::record::{Standing, Unit};
use crate::statistics::Layout;
use serde::{Deserialize, Serialize};

/// The version of the layout of a comparison as JSON.
pub const SCHEMA_VERSION: u32 = 1;

/// Side A, which is the baseline, and side B.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// What became of B, by all that is gated.
    pub verdict: Standing,
    /// The runs of A.
    pub a: Vec<Run>,
    /// The runs of B.
    pub b: Vec<Run>,
    /// How the runs of both sides lie in time.
    pub layout: Layout,
    /// Changes of less than this count as the same, in percent.
    pub delta_percent: f64,
    /// The probability that an interval misses the truth.
    pub alarms: f64,
    /// What is not the same on both sides.
    pub differs: Vec<Differs>,
    /// What a reader must know before the figures.
    pub notes: Vec<String>,
    /// The figures.
    pub comparisons: Vec<Compared>,
}

/// Something that is not the same on both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Differs {
    /// What, such as the server.
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
    /// What of them, as thresholds call it, such as `p99`.
    pub metric: String,
    /// The unit of the values.
    pub unit: Unit,
    /// The verdict on all rests on it.
    pub gated: bool,
    /// A's value in each run; `null` where there is none.
    pub a_values: Vec<Option<f64>>,
    /// B's.
    pub b_values: Vec<Option<f64>>,
    /// A's mean: the geometric one, of shares the arithmetic.
    pub a: Option<f64>,
    /// B's.
    pub b: Option<f64>,
    /// B over A; `null` where that says nothing, as of shares.
    pub ratio: Option<f64>,
    /// The lower end of the ratio's interval.
    pub low: Option<f64>,
    /// Its upper end.
    pub high: Option<f64>,
    /// B less A, of shares, in percentage points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub points: Option<Points>,
    /// How likely such a difference is without any.
    pub chance: Option<f64>,
    /// How far a single run is off, in percent of its value; of shares, in percentage points.
    pub variation_percent: Option<f64>,
    /// How much the figure drifted from the first to the last run, in the same unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift_percent: Option<f64>,
    /// The verdict.
    pub verdict: Standing,
    /// About how many more runs of each side would decide it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_runs: Option<u64>,
    /// Why there is no interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A difference of shares, in percentage points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Points {
    /// B less A.
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
    /// The figures that the verdict rests on.
    pub fn gated(&self) -> impl Iterator<Item = &Compared> {
        self.comparisons.iter().filter(|it| it.gated)
    }

    /// About how many more runs of each side would decide all that is gated.
    pub fn more_runs(&self) -> Option<u64> {
        self.gated().filter_map(|it| it.more_runs).max()
    }

    /// Whether all runs can be trusted.
    pub fn trustworthy(&self) -> bool {
        self.a.iter().chain(&self.b).all(|run| run.result.exit_status != 5)
    }
}
