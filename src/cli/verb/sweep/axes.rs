//! Checks that each varied setting can affect the results that the sweep shows.

use crate::plan::{FillPlan, Invalid, Plan, PlanRecord, Purpose, StagePlan, stage_title};
use crate::sweep::{Axis, Setting};
use serde_json::Value;
use std::collections::HashMap;

/// Refuses a setting if two of its values result in the same plan for the shown stage: the table
/// would present noise as an effect.
pub(super) fn check(
    axes: &[Axis],
    cells: &[(Vec<Setting>, &Plan)],
    by_size: bool,
) -> Result<(), Vec<Invalid>> {
    let shown: Vec<String> = cells.iter().map(|(_, plan)| shown(plan, by_size)).collect();
    let mut mistakes = Vec::new();
    for axis in axes {
        let mut seen: HashMap<(Vec<&str>, &str), &Setting> = HashMap::new();
        for ((settings, plan), shown) in cells.iter().zip(&shown) {
            let Some(own) = settings.iter().find(|it| it.name == axis.name) else { continue };
            let others = settings.iter().filter(|it| it.name != axis.name);
            let others: Vec<&str> = others.map(|it| it.value.as_str()).collect();
            if let Some(same) = seen.insert((others, shown), own) {
                mistakes.push(mistake(same, own, stage(plan, by_size)));
                break;
            }
        }
    }
    if mistakes.is_empty() { Ok(()) } else { Err(mistakes) }
}

fn mistake(one: &Setting, other: &Setting, stage: Option<&StagePlan>) -> Invalid {
    let problem = format!(
        "{name}={} and {name}={} make no difference in the stage that is shown ({})",
        one.value,
        other.value,
        stage.map_or_else(String::new, |stage| stage_title(&stage.name)),
        name = one.name,
    );
    let cure = if stage.is_some_and(|stage| stage.purpose() == Purpose::Fill) {
        "leave it out, or ask for operations after the fill with --ops or --duration"
    } else {
        "leave it out, or measure the fill with --ops 0"
    };
    Invalid::new("-L", problem, cure)
}

/// The stage that the sweep shows: the fill, or the last one.
fn stage(plan: &Plan, by_size: bool) -> Option<&StagePlan> {
    if by_size { plan.stages.first() } else { plan.stages.last() }
}

/// The parts of a plan that affect that stage.
fn shown(plan: &Plan, by_size: bool) -> String {
    let plan = PlanRecord::clone(plan);
    let mut plan = PlanRecord { command: String::new(), thresholds: Vec::new(), ..plan };
    if by_size {
        plan.stages.truncate(1);
    }
    let several = plan.stages.len() > 1;
    if several {
        plan.fill = FillPlan::default();
    }
    let mut plan = serde_json::to_value(&plan).expect("a plan is plain data");
    let stages = plan["stages"].as_array_mut().into_iter().flatten();
    for fill in stages.filter(|stage| several && stage["purpose"] == "fill") {
        // After the fill, only the documents matter, not the number per request.
        fill["batch"] = Value::Null;
    }
    plan.to_string()
}
