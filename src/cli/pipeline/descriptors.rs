//! The limit on open files and sockets, and whether a plan stays within it.

use crate::cli::flags::load::MOST_CONNECTIONS;
use crate::plan::{Invalid, Plan};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What each thread opens for itself: epoll, its waker, signals and timers.
const OF_A_THREAD: u64 = 8;
/// Standard streams, the terminal, the record and its reports, logs, the listener of `--metrics`,
/// requests outside the load, and what a stand-in opens besides its connections.
const OF_ALL: u64 = 40;

/// Descriptors for which the kernel has room from the start.
const READY: u64 = 4096;

/// Raises the soft limit to the hard one, and has the kernel make room for many descriptors.
///
/// Linux makes room when the 128th, 256th and so on is opened. In a process with several threads,
/// it then waits until every processor has let go of the old table. On a busy machine that takes
/// from milliseconds to seconds, and meanwhile everything that opens connections stalls. At this
/// point there is only one thread, so there is no wait.
pub(in crate::cli) fn raise() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let ready = limit.maximum.map_or(READY, |most| most.min(READY));
    if let Some(last) = i32::try_from(ready).ok().and_then(|ready| ready.checked_sub(1)) {
        // Closed at once; the larger table stays.
        let _ = fcntl_dupfd_cloexec(std::io::stderr(), last);
    }
}

/// Refuses a plan that needs more than the limit. The number of connections that `-c auto` may open
/// by default is lowered to what the limit allows.
pub(in crate::cli) fn fit(plan: &mut Plan) -> Result<(), Invalid> {
    let Some(limit) = getrlimit(Resource::Nofile).current else { return Ok(()) };
    if plan.most_connections.is_some_and(|most| most as u64 <= MOST_CONNECTIONS) {
        let left = limit.saturating_sub(of_others(plan)) / of_a_connection(plan);
        let left = SharedConnections::of(plan).sessions(left);
        plan.open_at_most(usize::try_from(left).unwrap_or(usize::MAX));
    }
    let all = plan.most_connections.unwrap_or(plan.connections);
    let connections = SharedConnections::of(plan).connections(all as u64);
    let needed = connections * of_a_connection(plan) + of_others(plan);
    if limit >= needed {
        return Ok(());
    }
    let problem = format!("{all} of them need {needed} open files, but the limit is {limit}");
    let cure = format!("use fewer, or raise the hard limit: ulimit -n {needed}");
    Err(Invalid::new("connections", problem, cure))
}

/// How sessions share connections: the last connection of each thread may not be full.
#[derive(Clone, Copy, Debug)]
struct SharedConnections {
    /// The number of sessions that share a connection.
    by: u64,
    threads: u64,
}

impl SharedConnections {
    fn of(plan: &Plan) -> Self {
        Self { by: plan.target.sharing(), threads: plan.threads as u64 }
    }

    /// The most connections for this many sessions.
    fn connections(self, sessions: u64) -> u64 {
        sessions.min(sessions.div_ceil(self.by) + self.threads - 1)
    }

    /// The most sessions that never have more than this many connections.
    fn sessions(self, connections: u64) -> u64 {
        let full = (connections + 1).saturating_sub(self.threads);
        connections.max(full.saturating_mul(self.by))
    }
}

/// The files and sockets that `plan` needs per connection, including those of a relay: all
/// connections may have moved to the node behind it.
fn of_a_connection(plan: &Plan) -> u64 {
    let relayed = plan.drill.as_ref().is_some_and(|it| it.breaks.needs_relay());
    plan.target.descriptors().max(1) + if relayed { 2 } else { 0 }
}

/// The most files and sockets that `plan` needs at once besides its connections.
fn of_others(plan: &Plan) -> u64 {
    plan.threads as u64 * OF_A_THREAD + OF_ALL
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_sessions_share_connections_as_never_have_too_many() {
        for (by, threads) in [(1, 1), (1, 8), (2, 1), (10, 2), (100, 16)] {
            let shared = SharedConnections { by, threads };
            for left in 0..300 {
                let most = shared.sessions(left);
                assert!(shared.connections(most) <= left, "{shared:?}: {left}");
                assert!(shared.connections(most + 1) > left, "{shared:?}: {left}");
            }
        }
    }
}
