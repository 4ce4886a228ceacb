//! Probes beside the load: what they look for, and how often.

use crate::clock::{Nanos, SECOND_NS};
use crate::mistake::Invalid;
use crate::op::Way;
use serde::{Deserialize, Serialize};

/// The shortest interval between probes, in nanoseconds.
const LEAST_EVERY_NS: Nanos = SECOND_NS / 1_000;

/// Documents that are written alongside the load to see when they become visible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProbePlan {
    /// The ways in which probes are looked up.
    pub visible: Vec<Way>,
    /// The interval between probes, in nanoseconds.
    pub every_ns: Nanos,
}

/// Parses `--probe`: `visible`, or `visible=WAY,WAY`.
///
/// # Errors
/// Returns an error if the kind of probe or a way is unknown.
pub fn probe(text: &str) -> Result<Vec<Way>, String> {
    let (what, ways) = text.split_once('=').map_or((text, None), |(it, ways)| (it, Some(ways)));
    if what != "visible" {
        return Err("the only kind of probe is visible".to_owned());
    }
    let Some(ways) = ways else { return Ok(Way::ALL.to_vec()) };
    let known = |name: &str| Way::ALL.into_iter().find(|way| way.name() == name);
    let named = |name: &str| {
        let names = Way::ALL.map(Way::name).join(", ");
        known(name.trim()).ok_or_else(|| format!("{name:?} is not one of {names}"))
    };
    let mut ways = ways.split(',').map(named).collect::<Result<Vec<_>, _>>()?;
    ways.sort_unstable();
    ways.dedup();
    Ok(ways)
}

/// Refuses probes in ways that the database does not support, or without an interval.
pub(super) fn check(plan: Option<&ProbePlan>, ways: Option<&[Way]>, mistakes: &mut Vec<Invalid>) {
    let Some(plan) = plan else { return };
    if plan.every_ns < LEAST_EVERY_NS {
        mistakes.push(Invalid::new("--probe-every", "is below 1ms", "give a time such as 100ms"));
    }
    let Some(ways) = ways else { return };
    if !plan.visible.iter().all(|way| ways.contains(way)) {
        let problem = "this database does not support probes";
        mistakes.push(Invalid::new("--probe", problem, "leave it out, or give a CouchDB"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_all_or_those_that_are_named() {
        assert_eq!(probe("visible"), Ok(Way::ALL.to_vec()));
        assert_eq!(probe("visible=view,get,view"), Ok(vec![Way::Get, Way::View]));
        for wrong in ["", "invisible", "visible=", "visible=get,", "visible=GET"] {
            assert!(probe(wrong).is_err(), "{wrong}");
        }
    }
}
