//! The pairs of a comparison so far, and their verdict: while they are measured, and later from
//! their records.

use super::kept::AbRecord;
use crate::compare::{CompareAsked, ComparedRun, Comparison, Control, Progress, compare};
use crate::record::{RunRecord, Standing};
use crate::statistics::{ALARMS, levels};
use std::cell::OnceCell;

/// No interim look before this many pairs.
const LEAST_LOOKED_AT: u64 = 4;

/// The results so far.
pub(super) struct Pairs {
    pub(super) definition: AbRecord,
    /// The runs of each side, as far as they were measured.
    runs: [Vec<ComparedRun>; 2],
    /// The latest record of each side.
    drawn: [Option<RunRecord>; 2],
    /// The level of each look, which takes some time to compute.
    levels: OnceCell<Vec<f64>>,
}

impl Pairs {
    /// The pairs before the first run.
    pub(super) const fn new(definition: AbRecord) -> Self {
        let runs = [Vec::new(), Vec::new()];
        Self { definition, runs, drawn: [None, None], levels: OnceCell::new() }
    }

    /// Takes the next run of a side, 0 or 1.
    pub(super) fn take(&mut self, at: usize, name: &str, record: RunRecord) {
        self.runs[at].push(ComparedRun::of(&record, name, &self.definition.metric));
        self.drawn[at] = Some(record);
    }

    pub(super) fn count(&self) -> usize {
        self.runs.iter().map(Vec::len).min().unwrap_or(0)
    }

    fn compare(&self, alarms: f64) -> Comparison {
        let pairs = self.count();
        let [a, b] = [0, 1].map(|at| self.runs[at][..pairs].to_vec());
        let AbRecord { delta, gate, .. } = &self.definition;
        compare(a, b, &CompareAsked { delta: *delta, alarms, gated: gate.clone() })
    }

    /// The verdict, if there is one after this many pairs.
    pub(super) fn verdict(&self) -> Option<Comparison> {
        let (done, pairs) = (self.count() as u64, self.definition.pairs);
        looks(pairs).contains(&done).then_some(())?;
        let verdict = self.compare(self.level());
        (is_clear(&verdict) || done == pairs).then_some(verdict)
    }

    /// The result so far, as an interim reading that decides nothing.
    pub(super) fn reading(&self, ended: bool) -> Comparison {
        let of = self.definition.pairs;
        let progress = Progress { pairs: self.count() as u64, of, looks: looks(of), ended };
        self.compare(self.level()).beside(self.control()).so_far(progress)
    }

    /// The level of this look or, between looks, of the next one.
    fn level(&self) -> f64 {
        let (done, looks) = (self.count() as u64, looks(self.definition.pairs));
        let place = looks.iter().position(|at| *at >= done).unwrap_or(looks.len() - 1);
        self.levels.get_or_init(|| levels_at(&looks))[place]
    }

    /// How the machine behaved so far.
    pub(super) fn control(&self) -> Option<Control> {
        Control::of(&self.definition.control_per_s)
    }

    /// A run of each side, for the charts.
    pub(super) fn drawn(&self) -> Vec<RunRecord> {
        self.drawn.iter().flatten().cloned().collect()
    }
}

/// The numbers of pairs after which to look.
fn looks(pairs: u64) -> Vec<u64> {
    if pairs < LEAST_LOOKED_AT {
        return vec![pairs];
    }
    vec![pairs.div_ceil(2), (pairs * 3).div_ceil(4), pairs]
}

/// The level of each of these looks; the last one is at the end.
fn levels_at(looks: &[u64]) -> Vec<f64> {
    let pairs = looks.last().copied().unwrap_or(1);
    let shares: Vec<f64> = looks.iter().map(|done| *done as f64 / pairs as f64).collect();
    levels(&shares, ALARMS)
}

/// Whether no figure is left undecided, so that more runs could not improve the verdict.
fn is_clear(it: &Comparison) -> bool {
    let open = it.gated().any(|of| of.verdict == Standing::CannotTell);
    match it.verdict {
        Standing::Worse => true,
        Standing::Better | Standing::Same => !open,
        Standing::CannotTell => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fixture;

    #[test]
    fn what_is_worse_or_leaves_nothing_open_is_clear() {
        let it = |verdict: &str, figures: &[(&str, bool)]| {
            let figure = |(verdict, gated): &(&str, bool)| {
                serde_json::json!({
                    "kind": "all", "metric": "p99", "unit": "us", "gated": gated, "a_values": [],
                    "b_values": [], "verdict": verdict,
                })
            };
            let none = compare(Vec::new(), Vec::new(), &CompareAsked::default());
            let mut json = serde_json::to_value(none).expect("plain data");
            json["verdict"] = verdict.into();
            json["comparisons"] = figures.iter().map(figure).collect();
            is_clear(&serde_json::from_value(json).expect("a comparison"))
        };
        assert!(it("worse", &[("worse", true), ("cannot_tell", true)]));
        assert!(it("better", &[("better", true), ("same", true), ("cannot_tell", false)]));
        assert!(it("same", &[("same", true)]));
        assert!(!it("better", &[("better", true), ("cannot_tell", true)]));
        assert!(!it("same", &[("same", true), ("cannot_tell", true)]));
        assert!(!it("cannot_tell", &[("cannot_tell", true)]));
    }

    #[test]
    fn a_reading_has_the_intervals_of_the_next_look() {
        let mut pairs = Pairs::new(AbRecord { pairs: 8, ..AbRecord::default() });
        let levels = levels_at(&looks(8));
        for (done, look) in [(1, 0), (2, 0), (3, 0), (4, 0), (5, 1), (6, 1), (7, 2), (8, 2)] {
            for side in 0..2 {
                pairs.take(side, &format!("{side}/{done}"), fixture::record(&[]));
            }
            let alarms = pairs.reading(false).alarms;
            assert!((alarms - levels[look]).abs() < 1e-12, "{done} pairs: {alarms}");
            if let Some(verdict) = pairs.verdict() {
                assert!((verdict.alarms - alarms).abs() < 1e-12, "{done} pairs: {verdict:?}");
            }
        }
    }

    #[test]
    fn looks_are_at_half_three_quarters_and_the_end() {
        assert_eq!((looks(8), looks(4), looks(3)), (vec![4, 6, 8], vec![2, 3, 4], vec![3]));
        assert!(levels_at(&looks(3))[0] > 0.0499 && levels_at(&looks(8))[0] < 0.004);
    }
}
