//! Saved comparisons: each is computed again from the records of its pairs.

use super::kept::{AbRecord, MOST_PAIRS};
use super::name_of;
use super::pairs::Pairs;
use crate::cli::verb::kept::{Kept, Several, began, host};
use crate::cli::verb::reading::record;
use crate::record::Standing;
use crate::report::{ComparisonReport, Mood, Pill, verdict_words};
use serde_json::{Map, json};
use std::path::{Path, PathBuf};

/// The file of a run of side A (0) or B (1).
fn file_of(ab: &Path, at: usize, pair: u64) -> PathBuf {
    ab.with_file_name(name_of(at, pair)).join("run.json")
}

impl Kept for AbRecord {
    const FILE: &'static str = "ab.json";
    const NAME: &'static str = "comparison";
    const PLURAL: &'static str = "comparisons";

    type Shown = ComparisonReport;

    fn check(&self) -> Result<(), &'static str> {
        if !(1..=MOST_PAIRS).contains(&self.pairs) {
            return Err("it has no pairs, or too many");
        }
        let proper = |rate: &f64| *rate >= 0.0 && rate.is_finite();
        if !(0.0..=1.0).contains(&self.delta) || !self.control_per_s.iter().flatten().all(proper) {
            return Err("it has an impossible number");
        }
        Ok(())
    }

    fn label(&mut self) -> &mut Option<String> {
        &mut self.label
    }

    fn outline(&self, file: &Path) -> Several {
        let all = (1..=self.pairs).flat_map(|pair| [0, 1].map(|at| file_of(file, at, pair)));
        let first = [0, 1].map(|at| began(&file_of(file, at, 1)));
        // Either side can be the first.
        let first = first.into_iter().filter(|began| !began.is_empty()).min();
        let mut words = self.a.split_whitespace().skip_while(|word| *word != "run").skip(1);
        let place = words.next().filter(|word| !word.starts_with('-')).map_or("stand-in", host);
        Several {
            started_at: first.unwrap_or_default(),
            runs: self.pairs as usize * 2,
            measured: all.filter(|file| file.is_file()).count(),
            subject: format!("ab {place}"),
            label: self.label.clone(),
            about: Map::from_iter([("ab".to_owned(), json!(self))]),
            kind: Self::KIND,
        }
    }

    fn pill(self, file: &Path) -> Result<Pill, String> {
        let pairs = self.pairs(file)?;
        let Some(verdict) = pairs.verdict() else {
            let words = format!("A/B: {} of {} pairs", pairs.count(), pairs.definition.pairs);
            return Ok(Mood::Fair.pill(words));
        };
        let mood = match verdict.verdict {
            _ if verdict.data_wrong().contains(&true) => Mood::Bad,
            _ if !verdict.trustworthy() => Mood::Unknown,
            Standing::Better | Standing::Same => Mood::Good,
            Standing::Worse => Mood::Bad,
            Standing::CannotTell => Mood::Unknown,
        };
        Ok(mood.pill(verdict_words(&verdict)))
    }

    fn shown(self, file: &Path) -> Result<ComparisonReport, String> {
        let pairs = self.pairs(file)?;
        if pairs.count() == 0 {
            return Err("it has no pair of runs yet".to_owned());
        }
        let verdict = pairs.verdict().map(|it| it.beside(pairs.control()));
        let comparison = verdict.unwrap_or_else(|| pairs.reading(true));
        Ok(ComparisonReport { comparison, drawn: pairs.drawn() })
    }
}

impl AbRecord {
    /// The pairs that exist, up to the first verdict.
    fn pairs(self, file: &Path) -> Result<Pairs, String> {
        let mut pairs = Pairs::new(self);
        for pair in 1..=pairs.definition.pairs {
            let both = [0, 1].map(|at| file_of(file, at, pair));
            if !both.iter().all(|file| file.is_file()) {
                break;
            }
            let mut records = Vec::new();
            for file in &both {
                let read =
                    record(file).map_err(|problem| format!("{}: {problem}", file.display()))?;
                records.push(read);
            }
            if records.iter().any(|it| it.partial) {
                break;
            }
            for (at, record) in records.into_iter().enumerate() {
                pairs.take(at, &name_of(at, pair), record);
            }
            if pairs.verdict().is_some() {
                break;
            }
        }
        Ok(pairs)
    }
}
