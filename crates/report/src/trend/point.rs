//! What a trend keeps of a record.

use super::TrendRun;
use crate::plan::{Metric, Nouns, PlanRecord, Quantity};
use crate::record::RunRecord;

/// One run in a trend.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The part of the run that is shown.
    pub run: TrendRun,
    pub(super) command: String,
    /// What its rates count.
    pub(super) counted: Nouns,
    /// What all comparable runs have in common.
    pub(super) key: String,
    /// The measured values, in display order.
    pub values: Vec<(Quantity, Option<f64>)>,
}

impl Point {
    /// Whether it can be compared with a run of this plan.
    pub fn is_of(&self, plan: &PlanRecord) -> bool {
        self.key == key(plan)
    }

    /// What a trend keeps of `record`, called `name`: the quantities `wanted` or, if there are
    /// none, throughput, median, 99th percentile and failed share of each kind of operation.
    ///
    /// # Errors
    /// Returns the reason the run does not belong in a trend.
    pub fn of(record: &RunRecord, name: &str, wanted: &[Quantity]) -> Result<Self, String> {
        if let Some(why) = record.unfit() {
            return Err(why);
        }
        let usual = || {
            record
                .kinds()
                .into_iter()
                .flat_map(|kind| Metric::USUAL.map(|metric| (Some(kind), metric)))
        };
        let quantities: Vec<Quantity> = if wanted.is_empty() {
            usual().map(|(kind, metric)| Quantity { kind, metric }).collect()
        } else {
            wanted.to_vec()
        };
        let values = quantities.into_iter().map(|it| (it, record.value_of(it).ok()));
        let run = TrendRun {
            name: name.to_owned(),
            label: record.plan.label.clone(),
            started_at: record.started_at.clone(),
            server: record.server_words(),
            machine: record.environment.words(),
            springload: record.environment.springload.clone(),
            settings: record.observed.iter().flat_map(|it| it.settings.clone()).collect(),
        };
        Ok(Self {
            run,
            command: record.plan.command.clone(),
            counted: record.nouns(),
            key: key(&record.plan),
            values: values.collect(),
        })
    }
}

/// What the plans of comparable runs have in common.
fn key(plan: &PlanRecord) -> String {
    serde_json::to_string(&plan.essence()).unwrap_or_default()
}
