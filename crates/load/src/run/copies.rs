//! Compares the copies of the database with each other after a drill, until all could be read and
//! match, or it takes too long.

use super::{Observer, block_on};
use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::driver::Opening;
use crate::engine::Stop;
use crate::measure::{Copies, NodeCopies};
use crate::plan::Plan;
use crate::record::RunRecord;
use std::time::Duration;

/// How long copies may take to match.
pub(super) const PATIENCE_NS: Nanos = 30 * SECOND_NS;
/// How often they are compared in that time.
const LOOKS: u64 = 30;

/// Compares the copies if something was broken and everything acknowledged was looked for. `None`:
/// there is nothing to compare. `patience_ns`: how long they may take to match.
pub(super) fn compare(
    plan: &Plan,
    record: &RunRecord,
    stop: &Stop,
    observer: &mut dyn Observer,
    patience_ns: Nanos,
) -> Option<Copies> {
    let was_broken = record.stages.iter().any(|stage| stage.drilled().is_some());
    if !plan.audit || !was_broken || stop.reason().is_some() {
        return None;
    }
    let (timeout_ns, max_answer) = (plan.timeout_ns, plan.max_answer);
    let opening = Opening { timeout_ns, max_answer, ..Opening::default() };
    let clock = Clock::system();
    let began = clock.now();
    let looking = async {
        loop {
            let found = plan.target.copies(&opening, &record.server.database).await;
            let looked_ns = clock.now().saturating_sub(began);
            let looked_s = looked_ns as f64 / SECOND_NS as f64;
            let copies = match found {
                Ok(None) => return Ok(None),
                Ok(Some(copies)) => Copies { looked_s, ..copies },
                Err(error) => {
                    let problem = Some(error.to_string());
                    Copies { looked_s, problem, ..Copies::default() }
                }
            };
            let given_up = looked_ns >= patience_ns || stop.reason().is_some();
            if !may_change(&copies) || given_up {
                return Ok(Some(copies));
            }
            tokio::time::sleep(Duration::from_nanos(patience_ns / LOOKS)).await;
        }
    };
    observer.news("comparing the copies on each node");
    // A comparison that is impossible must not keep the run from its end.
    block_on(stop, looking).unwrap_or_else(|error| {
        Some(Copies { problem: Some(error.to_string()), ..Copies::default() })
    })
}

/// Whether another look may find something else: copies differ, or could not be read. A node that
/// was just started may not answer yet.
fn may_change(copies: &Copies) -> bool {
    let passing = |it: &NodeCopies| it.problem.is_some() && !it.are_refused();
    copies.differ() || copies.problem.is_some() || copies.nodes.iter().any(passing)
}

#[cfg(test)]
#[path = "copies_tests.rs"]
mod tests;
