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
    /// The facts that follow from the record alone. Of the operations that the client held up,
    /// it only has the account.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Span;
    use crate::record::fixture;

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9
    }

    #[test]
    fn the_facts_are_those_of_the_record() {
        let mut stage = fixture::record(&[]).stages.remove(2);
        (stage.elapsed_s, stage.measured_s) = (12.0, 10.0);
        let span = |from_s, length_s| Span { from_s, length_s };
        stage.outage.spans = vec![span(3.0, 0.5), span(7.0, 1.25)];
        let client = &mut stage.client;
        (client.busiest_thread, client.occupied_thread) = (0.5, 0.625);
        (client.waited_thread, client.late_p99_us) = (0.125, Some(70.0));
        let facts = stage.facts();
        assert!(close(facts.elapsed_s, 12.0) && close(facts.measured_s, 10.0), "{facts:?}");
        let mut away = Spans::default();
        away.add(3_000_000_000, 3_500_000_000);
        away.add(7_000_000_000, 8_250_000_000);
        assert_eq!(facts.away, away);
        let ThreadFacts { busiest, occupied, waited, late_p99_us, .. } = facts.threads;
        assert!(close(busiest, 0.5) && close(occupied, 0.625), "{busiest}, {occupied}");
        assert!(close(waited, 0.125) && close(late_p99_us, 70.0), "{waited}, {late_p99_us}");
        assert_eq!(facts.documents, (3_100, 0));
    }

    #[test]
    fn a_load_is_sustained_if_nearly_all_of_it_was_served() {
        let load = |unsent| LoadRecord { open: true, offered: 1_000, unsent, ..<_>::default() };
        assert!(load(5).is_sustained());
        assert!(!load(6).is_sustained());
        assert!(LoadRecord { unsent_by_client: 6, ..load(6) }.is_sustained());
    }
}
