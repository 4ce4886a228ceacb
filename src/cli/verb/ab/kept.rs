//! `ab.json`: the definition of a comparison, saved next to its runs, so that it can be continued.

use crate::cli::verb::kept::Kept as _;
use crate::cli::verb::study::as_stored;
use crate::compare::CompareAsked;
use crate::generate::mix;
use crate::plan::Quantity;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// More pairs than anyone would wait for.
pub(super) const MOST_PAIRS: u64 = 1_000;

/// The definition of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::cli::verb) struct AbRecord {
    pub(super) schema_version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) label: Option<String>,
    /// The command of a run of each side, without passwords.
    pub(super) a: String,
    pub(super) b: String,
    /// The commands before each run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) before_a: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) before_b: Option<String>,
    pub(super) pairs: u64,
    pub(super) seed: u64,
    /// The figures to compare; empty: the default ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) metric: Vec<Quantity>,
    /// The figures that decide the verdict; empty: those of all requests together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) gate: Vec<Quantity>,
    /// Changes smaller than this share count as no change.
    #[serde(default = "delta")]
    pub(super) delta: f64,
    /// The rate of the null responder on this machine before each pair, and after the last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) control_per_s: Vec<Option<f64>>,
}

/// The delta of comparisons that do not set one.
fn delta() -> f64 {
    CompareAsked::default().delta
}

impl AbRecord {
    /// Whether `other` continues this comparison, with the same runs.
    pub(super) fn continues(&self, other: &Self) -> bool {
        let Self { label, metric, gate, delta, control_per_s, .. } = self.clone();
        let same = Self { label, metric, gate, delta, control_per_s, ..other.clone() };
        // One of them is stored without its secrets.
        as_stored(self) == as_stored(&same)
    }

    /// The side of run `number`, counted from 0: A B B A, or B A A B, repeatedly. The first is
    /// chosen at random, so that no habit of the machine favors one.
    pub(super) fn side(&self, number: u64) -> usize {
        let first = mix(self.seed, 0xAB, 0) & 1;
        ((first + number / 2 + number % 2) % 2) as usize
    }
}

/// Whether a record belongs to side B of a comparison. It may have A's plan and yet be of a
/// different server, changed by the command before its runs.
pub(super) fn is_of_b(record: &Path) -> bool {
    let mut around = record.ancestors().skip(2);
    let is_b = around.next().is_some_and(|side| side.file_name().is_some_and(|name| name == "b"));
    is_b && around.next().is_some_and(|folder| folder.join(AbRecord::FILE).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_take_turns_and_either_may_be_first() {
        let order = |seed: u64| {
            let it = AbRecord { seed, pairs: 4, ..AbRecord::default() };
            (0..8).map(|number| ["A", "B"][it.side(number)]).collect::<String>()
        };
        let orders: std::collections::BTreeSet<String> = (0..20).map(order).collect();
        assert_eq!(orders.into_iter().collect::<Vec<_>>(), ["ABBAABBA", "BAABBAAB"]);
    }
}
