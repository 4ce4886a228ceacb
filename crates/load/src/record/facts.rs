//! The facts about a stage in its record that its verdict is based on.

use super::{ClientRecord, LoadRecord, StageRecord};
use crate::account::{Facts, LoadFacts, ThreadFacts};
use crate::measure::Spans;

impl LoadRecord {
    /// What happened to the operations that were due.
    fn facts(&self) -> LoadFacts {
        LoadFacts {
            open: self.open,
            offered: self.offered,
            begun: self.begun,
            dropped: self.dropped,
            unsent: self.unsent,
            unsent_by_client: self.unsent_by_client,
            offered_per_s: self.offered_per_s,
            served_per_s: self.served_per_s,
            growth_per_s: self.backlog_growth_per_s,
            bound: self.pool.and_then(|pool| pool.bound()),
        }
    }

    /// Whether nearly everything that was due was served, or left unserved because of the client.
    pub fn is_sustained(&self) -> bool {
        self.facts().is_sustained()
    }
}

impl ClientRecord {
    /// What is known about the load threads, except what they held up.
    pub(crate) fn facts(&self) -> ThreadFacts {
        ThreadFacts {
            busiest: self.busiest_thread,
            occupied: self.occupied_thread,
            waited: self.waited_thread,
            late_p99_us: self.late_p99_us.unwrap_or(0.0),
            ..ThreadFacts::default()
        }
    }
}

impl StageRecord {
    /// What is known about the stage from its record alone: not which operations the client held
    /// up, of which a record has only the account.
    pub fn facts(&self) -> Facts {
        let (client, load) = (&self.client, self.load.facts());
        let mut away = Spans::default();
        for span in &self.outage.spans {
            let ns = |seconds: f64| (seconds * 1e9) as u64;
            away.add(ns(span.from_s), ns(span.from_s + span.length_s));
        }
        let threads = client.facts();
        let (elapsed_s, measured_s) = (self.elapsed_s, self.rates_over_s());
        let facts = Facts { elapsed_s, measured_s, away, load, threads, ..Facts::default() };
        facts.of_requests(self.requests())
    }
}
