//! Trends: what successive runs of the same plan measured, and where that changed.
//!
//! Knows which runs are comparable, and reads figures from records. Knows neither files nor
//! formats.

mod group;
mod point;

pub use point::Point;

use crate::plan::{Nouns, Quantity};
use crate::record::Unit;
use crate::statistics::{LEAST_AT_LEVEL, successive_deviation};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The fewest runs in which a change can be found.
pub const LEAST_RUNS: usize = 2 * LEAST_AT_LEVEL;

/// The fewest runs that show how much runs vary.
pub const LEAST_TO_VARY: usize = 4;

/// Runs in chronological order, by plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trend {
    /// The runs of each plan; the plan with the latest run comes first.
    pub groups: Vec<Group>,
    /// The runs that belong to no group.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
}

/// Runs of one plan: they may differ only in the seed, the label and the thresholds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// The command line of the last run, without passwords.
    pub command: String,
    /// What its rates count, such as `rows`; documents if this is missing.
    #[serde(default, skip_serializing_if = "Nouns::are_documents")]
    pub counted: Nouns,
    /// The runs, in the order of their start.
    pub runs: Vec<TrendRun>,
    /// Where something other than the plan changed.
    pub marks: Vec<Mark>,
    /// The measurements, by quantity.
    pub series: Vec<Series>,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrendRun {
    /// Its name or path.
    pub name: String,
    /// The user's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// When it began, in UTC, as RFC 3339.
    pub started_at: String,
    /// The server's name and version.
    pub server: String,
    /// The processor, the number of cores and the system of the machine that measured.
    pub machine: String,
    /// springload's version.
    pub springload: String,
    /// The server's settings, by the server's own names, if they were observed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

/// Something other than the plan that differs from the previous run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The position of the first run with it, from 0.
    pub at: usize,
    /// What changed: `server`, `machine`, `springload`, or a setting of the server by its name.
    pub what: String,
    /// The value before.
    pub before: String,
    /// The value from then on.
    pub after: String,
}

/// A quantity over all runs of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The quantity.
    pub metric: Quantity,
    /// The unit of the values.
    pub unit: Unit,
    /// A value for each run; `None`: too little was measured.
    pub values: Vec<Option<f64>>,
    /// Where its level changed.
    pub changes: Vec<Change>,
}

/// A change of level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The position of the first run at the new level, from 0.
    pub at: usize,
    /// That run's name.
    pub run: String,
    /// When that run began.
    pub started_at: String,
    /// The mean of the runs from the previous change to this one.
    pub before: f64,
    /// The mean of the runs from this one to the next change.
    pub after: f64,
    /// The change in percent of the value before; `None`: that was 0.
    pub percent: Option<f64>,
    /// The probability of such a difference by chance, 0 to 1.
    pub chance: f64,
    /// Whether the change is an improvement.
    pub verdict: Direction,
}

/// Whether a change is an improvement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// More throughput, or less of anything else.
    Better,
    /// Less throughput, or more of anything else.
    Worse,
}

/// A run that is not part of any group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its name or path.
    pub name: String,
    /// The reason it was left out.
    pub reason: String,
}

impl Trend {
    /// The trend of these runs, in any order.
    pub fn of(points: Vec<Point>, left_out: Vec<LeftOut>) -> Self {
        Self { groups: group::groups(points), left_out }
    }

    /// The number of runs.
    pub fn runs(&self) -> usize {
        self.groups.iter().map(|group| group.runs.len()).sum()
    }
}

impl Group {
    /// How much runs vary, as the standard deviation of the logarithms, for each quantity for which
    /// it can be estimated. Changes of the quantity's level, the server and its settings, the
    /// machine or springload do not count as variation.
    pub fn variations(&self) -> Vec<(Quantity, f64)> {
        let one = |series: &Series| Some((series.metric, self.variation(series)?));
        self.series.iter().filter_map(one).collect()
    }

    fn variation(&self, series: &Series) -> Option<f64> {
        let breaks = series.changes.iter().map(|change| change.at);
        let breaks: Vec<usize> = breaks.chain(self.marks.iter().map(|mark| mark.at)).collect();
        let mut parts: Vec<Vec<f64>> = vec![Vec::new()];
        for (at, value) in series.values.iter().enumerate() {
            if breaks.contains(&at) {
                parts.push(Vec::new());
            }
            parts.last_mut()?.extend(value.filter(|value| *value > 0.0).map(f64::ln));
        }
        let differences: usize = parts.iter().map(|part| part.len().saturating_sub(1)).sum();
        let parts: Vec<&[f64]> = parts.iter().map(Vec::as_slice).collect();
        (differences + 1 >= LEAST_TO_VARY && series.unit != Unit::Percent)
            .then(|| successive_deviation(&parts))?
    }
}

impl Direction {
    /// The direction in one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
        }
    }
}

impl Series {
    /// The last value that was measured.
    pub fn latest(&self) -> Option<f64> {
        self.values.iter().rev().find_map(|value| *value)
    }

    /// Whether there is nothing to see: all values are 0.
    pub fn is_zero(&self) -> bool {
        self.values.iter().flatten().all(|value| *value == 0.0)
    }

    /// The mean of each level, with the positions of its first run and of the one after its last.
    pub fn levels(&self) -> Vec<(usize, usize, f64)> {
        let mut from = 0;
        let ends = self.changes.iter().map(|change| change.at).chain([self.values.len()]);
        let level = |to: usize| {
            let own: Vec<f64> = self.values[from..to].iter().flatten().copied().collect();
            let level = (from, to, crate::statistics::mean(&own));
            from = to;
            level
        };
        ends.map(level).filter(|level| level.2.is_finite()).collect()
    }
}
