//! What a comparison keeps of a record.

use crate::op::OpKind;
use crate::plan::{Metric, Quantity};
use crate::record::{RunRecord, RunResult};
use crate::statistics::Bounds;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// One run of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedRun {
    /// Its name or path.
    pub name: String,
    /// The user's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// When it began, in UTC, as RFC 3339.
    pub started_at: String,
    /// Its result.
    pub result: RunResult,
    /// Which of its agents were lost, and why, if that made the load smaller than requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents_lost: Option<String>,
    /// The server's name and version.
    pub server: String,
    /// The processor, the number of cores and the system of the machine that measured.
    pub machine: String,
    /// springload's version.
    pub springload: String,
    /// The command line, without passwords.
    pub command: String,
    /// The plan, without the parts that do not affect what is measured.
    #[serde(skip)]
    pub(super) plan: BTreeMap<String, Value>,
    /// The server's settings, if they were observed.
    #[serde(skip)]
    pub(super) settings: BTreeMap<String, String>,
    /// The measured values in display order; those that are missing have the reason instead.
    #[serde(skip)]
    pub(super) values: Vec<(Quantity, Result<f64, String>)>,
    /// How certain the values are within the run, if known.
    #[serde(skip)]
    pub(super) within: Vec<(Quantity, Bounds)>,
}

impl ComparedRun {
    /// What a comparison keeps of `record`, called `name`: the quantities `wanted` or, if there are
    /// none, throughput, median, 99th percentile and failed share of all requests and of each kind.
    pub fn of(record: &RunRecord, name: &str, wanted: &[Quantity]) -> Self {
        let quantities = if wanted.is_empty() { usual(record) } else { wanted.to_vec() };
        let within = quantities.iter().filter_map(|it| Some((*it, record.within(*it)?))).collect();
        let values = quantities.into_iter().map(|it| (it, record.value_of(it)));
        Self {
            name: name.to_owned(),
            label: record.plan.label.clone(),
            started_at: record.started_at.clone(),
            result: record.result(),
            agents_lost: record.lost_words(),
            server: record.server_words(),
            machine: record.environment.words(),
            springload: record.environment.springload.clone(),
            command: record.plan.command.clone(),
            plan: as_stored(record),
            settings: record.observed.iter().flat_map(|it| it.settings.clone()).collect(),
            values: values.collect(),
            within,
        }
    }
}

/// The plan, without the parts that do not affect what is measured; if the time of its fill was
/// limited, with the number of documents actually stored.
fn as_stored(record: &RunRecord) -> BTreeMap<String, Value> {
    let mut plan = record.plan.essence();
    let stages = plan.get_mut("stages").and_then(Value::as_array_mut).into_iter().flatten();
    for stage in stages.filter_map(Value::as_object_mut) {
        if stage.remove("within_ns").is_some() {
            stage.insert("documents".to_owned(), record.filled().into());
        }
    }
    plan
}

/// The usual quantities of all requests, and of each kind, unless there is only one kind.
fn usual(record: &RunRecord) -> Vec<Quantity> {
    let only = record.only_kind();
    let own = record.kinds().into_iter().filter(|kind| only != Some(*kind)).map(Some);
    let kinds: Vec<Option<OpKind>> = std::iter::once(None).chain(own).collect();
    let of = |kind: Option<OpKind>| Metric::USUAL.map(|metric| Quantity { kind, metric });
    kinds.into_iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fixture;
    use serde_json::json;

    #[test]
    fn each_kind_has_figures_of_its_own_unless_it_is_the_only_one() {
        let kinds = |record: &RunRecord| -> Vec<Option<OpKind>> {
            let values = ComparedRun::of(record, "a", &[]).values;
            let figures = values.chunks(Metric::USUAL.len());
            figures.map(|of_one| of_one[0].0.kind).collect()
        };
        let mut record = fixture::record(&[]);
        let [bulk, read, update] = [OpKind::BulkInsert, OpKind::Read, OpKind::Update].map(Some);
        assert_eq!(kinds(&record), [None, bulk, read, update]);
        fixture::crud(&mut record).operations.retain(|it| it.kind == OpKind::Read);
        // The fill is not a part of what is measured with all requests.
        assert_eq!(kinds(&record), [None, bulk]);
        let one = Quantity { kind: read, metric: Metric::Throughput };
        let asked = ComparedRun::of(&record, "a", &[one]).values;
        assert_eq!(asked.iter().map(|it| it.0).collect::<Vec<_>>(), [one]);
    }

    #[test]
    fn a_fill_of_limited_time_is_known_by_the_documents_that_it_stored() {
        let stage = |documents: u64, within_ns: Option<u64>| {
            let plan = json!({
                "name": "bulk_insert", "workload": "bulk_insert", "documents": documents,
                "batch": 100, "within_ns": within_ns, "length_ns": null,
                "pace": { "loop": "closed", "think_ns": 0 },
            });
            serde_json::from_value(plan).expect("a stage")
        };
        let mut record = fixture::record(&[]);
        // The record has 2,000 documents.
        record.plan.stages = vec![stage(3_000, Some(9)), stage(500, None)];
        let plan = ComparedRun::of(&record, "a", &[]).plan;
        let stages = plan["stages"].as_array().expect("stages");
        let documents: Vec<_> = stages.iter().map(|it| it["documents"].as_u64()).collect();
        assert_eq!(documents, [Some(2_000), Some(500)]);
        assert_eq!((stages[0].get("within_ns"), &plan["connections"]), (None, &json!(4)));
    }
}
