//! Whether anything more may arrive at a target: for how long nothing has, and whether the target
//! has refused what it lacks.

use crate::clock::{Nanos, SECOND_NS};
use crate::driver::{DocumentCount, ReplicationPhase, Replicator};
use crate::op::grouped;

/// How long nothing may have arrived before it matters what a target has refused: the answer of a
/// cluster may come from a copy that lags behind.
const STUCK_NS: Nanos = if cfg!(test) { SECOND_NS / 10 } else { 2 * SECOND_NS };
/// How long nothing more may arrive before what is missing counts as lost, in nanoseconds: CouchDB
/// waits up to 30 s for an answer before it sends a request of a replication again, ...
const QUIET_NS: Nanos = 60 * SECOND_NS;
/// ... or this part of the time allowed, ...
const QUIET_SHARE: u64 = 3;
/// ... but not less, since a replication pauses for seconds between several attempts.
const LEAST_QUIET_NS: Nanos = 10 * SECOND_NS;

/// How long nothing more may arrive if a target may take so long to catch up.
pub(super) fn quiet_ns(converge_ns: Nanos) -> Nanos {
    (converge_ns / QUIET_SHARE).clamp(LEAST_QUIET_NS, QUIET_NS)
}

/// Tracks how long nothing more has arrived.
#[derive(Debug, Default)]
pub(super) struct Quiet {
    counts: Option<DocumentCount>,
    wrong: u64,
    /// Whether something was found wrong: from then on only that counts.
    pub(super) has_wrong: bool,
    since: Nanos,
}

impl Quiet {
    pub(super) fn counts(&mut self, counts: DocumentCount, now: Nanos) {
        if self.counts.replace(counts) != Some(counts) {
            self.since = now;
        }
    }

    pub(super) fn note(&mut self, wrong: u64, now: Nanos) {
        if !std::mem::replace(&mut self.has_wrong, true) || self.wrong != wrong {
            (self.wrong, self.since) = (wrong, now);
        }
    }

    pub(super) const fn lasted(&self, now: Nanos) -> Nanos {
        now.saturating_sub(self.since)
    }

    /// Notes that so many documents are missing. Returns whether it was the same number for long
    /// enough to ask whether they were refused.
    pub(super) fn is_stuck(&mut self, missing: u64, now: Nanos) -> bool {
        self.note(missing, now);
        missing > 0 && self.lasted(now) >= STUCK_NS
    }
}

/// Where to ask what the target of a link has refused.
#[derive(Clone)]
pub(super) struct RefusalsTold {
    /// The place whose server replicates.
    pub(super) place: usize,
    /// The name of the replication.
    pub(super) job: String,
}

/// A replication whose server tells what its target has refused in this run.
pub(super) struct Refusals {
    /// A connection to the server that replicates.
    pub(super) runner: Box<dyn Replicator>,
    /// The name of the replication.
    pub(super) job: String,
}

impl Refusals {
    /// How many writes the target has refused, once the replication has come to the end of the
    /// changes of `source`. 0 before that, and if it is not known: more may come then.
    pub(super) async fn final_count(&mut self, source: &mut dyn Replicator) -> u64 {
        let Ok(state) = self.runner.state(&self.job).await else { return 0 };
        let refused = state.write_failures.unwrap_or(0);
        // A replication that failed is tried again, and so may be what it was about to write.
        let (Some(through), ReplicationPhase::Running, 1..) = (state.through, state.phase, refused)
        else {
            return 0;
        };
        let rest = source.changed(&through).await;
        if rest.is_ok_and(|page| page.documents.is_empty()) { refused } else { 0 }
    }
}

/// Why nothing more is waited for.
pub(super) fn nothing_more(refused: u64) -> String {
    let (count, s) = (grouped(refused), if refused == 1 { "" } else { "s" });
    format!("the target refused {count} write{s}, and nothing more will come")
}
