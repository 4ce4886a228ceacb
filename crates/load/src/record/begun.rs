//! The reasons that fewer operations of a stage were started than planned.

use super::agent_words::named;
use super::{RunRecord, StageRecord};
use crate::op::grouped;
use crate::plan::StagePlan;

/// A stage that lasted less than this share of its planned time ended early.
pub(super) const LASTED: f64 = 0.95;

/// How many of the planned operations were started, and why not all; `None`: all were, or the plan
/// has no number.
pub(super) fn not_all_begun(record: &RunRecord, stage: &StageRecord) -> Option<String> {
    let begun = stage.load.begun;
    let planned = stage.load.planned.filter(|&planned| begun < planned)?;
    let plan = record.plan_of(stage);
    let reason = reason(record, stage, plan, planned - begun);
    let (begun, planned) = (grouped(begun), grouped(planned));
    Some(format!("{begun} of {planned} planned requests were begun: {reason}"))
}

fn reason(
    record: &RunRecord,
    stage: &StageRecord,
    plan: Option<&StagePlan>,
    missing: u64,
) -> String {
    let last = record.stages.last().is_some_and(|it| it.name == stage.name);
    if record.partial && last {
        let ended = record.ended.as_ref();
        return ended.map_or_else(|| "the run was stopped".to_owned(), |it| it.message.clone());
    }
    if let Some(lost) = named(&record.lost_by(stage)) {
        return format!("{lost} lost");
    }
    let length_s = plan.and_then(|plan| plan.length_ns).map(|ns| ns as f64 / 1e9);
    if let Some(length_s) = length_s.filter(|length_s| stage.elapsed_s >= length_s * LASTED) {
        return format!("the {length_s} s were over");
    }
    if stage.load.dropped >= missing {
        return "the others were dropped because too many were waiting or in flight".to_owned();
    }
    let why = plan.and_then(|plan| plan.work.traits().why_too_few);
    why.unwrap_or("there was nothing left to do").to_owned()
}

#[cfg(test)]
mod tests {
    use crate::record::{Code, RunRecord, fixture};

    /// The warning about the last stage of a run after this change.
    fn warning_after(change: impl FnOnce(&mut RunRecord)) -> Option<String> {
        let mut record = fixture::record(&[]);
        let stage = record.stages.last_mut().expect("a stage");
        (stage.load.planned, stage.load.dropped) = (Some(stage.load.begun + 69), 0);
        change(&mut record);
        record.refresh_warnings();
        let mut warnings = record.warnings.into_iter();
        warnings.find(|it| it.code == Code::NotAllBegun).map(|it| it.message)
    }

    #[test]
    fn what_was_not_begun_has_a_reason() {
        let plan = |record: &mut RunRecord, times: f64| {
            let stage = record.stages.last().expect("a stage");
            let length_ns = (stage.elapsed_s * times * 1e9) as u64;
            let plan = serde_json::json!({
                "name": stage.name, "workload": "crud", "operations": 10_000, "order": "uniform",
                "mix": { "create": 0, "read": 1, "update": 1, "delete": 0 },
                "pace": { "loop": "closed", "think_ns": 0 }, "length_ns": length_ns,
            });
            record.plan.stages.push(serde_json::from_value(plan).expect("a stage"));
        };
        let ends = |message: Option<String>, reason: &str| {
            let message = message.expect("a warning");
            assert!(
                message.contains(" planned requests were begun: ") && message.contains(reason),
                "{message}"
            );
        };
        ends(warning_after(|record| plan(record, 1.0)), "were over");
        ends(warning_after(|record| plan(record, 9.0)), "nothing left to work on");
        ends(warning_after(|record| record.partial = true), "stopped");
        let dropped = |record: &mut RunRecord| {
            plan(record, 9.0);
            record.stages.last_mut().expect("a stage").load.dropped = 69;
        };
        ends(warning_after(dropped), "dropped");
        assert_eq!(warning_after(|it| it.stages.last_mut().unwrap().load.planned = None), None);
        let all = |record: &mut RunRecord| {
            let load = &mut record.stages.last_mut().expect("a stage").load;
            load.planned = Some(load.begun);
        };
        assert_eq!(warning_after(all), None);
    }
}
