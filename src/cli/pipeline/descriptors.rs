//! The limit on open files and sockets, and whether a plan stays within it.

use crate::plan::{Invalid, Plan};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What each thread opens for itself: epoll, its waker, signals and timers.
const OF_A_THREAD: u64 = 8;
/// Standard streams, the terminal, the record and its reports, logs, the listener of `--metrics`,
/// requests outside the load, and what a stand-in opens besides its connections.
const OF_ALL: u64 = 40;

/// Raises the soft limit to the hard one.
pub(in crate::cli) fn raise() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Refuses a plan that needs more than the limit.
pub(in crate::cli) fn suffice(plan: &Plan) -> Result<(), Invalid> {
    let needed = needed(plan);
    match getrlimit(Resource::Nofile).current {
        Some(limit) if limit < needed => {
            let problem = format!(
                "{} of them need {needed} open files, but the limit is {limit}",
                plan.connections
            );
            let cure = format!("use fewer, or raise the hard limit: ulimit -n {needed}");
            Err(Invalid::new("connections", problem, cure))
        }
        _ => Ok(()),
    }
}

/// The most files and sockets that `plan` needs at once.
fn needed(plan: &Plan) -> u64 {
    let each = plan.target.descriptors();
    plan.connections as u64 * each + plan.threads as u64 * OF_A_THREAD + OF_ALL
}
