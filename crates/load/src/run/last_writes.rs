//! What a stage waits for after its end: a server that is gone is asked for a while what became of
//! the last writes.

use super::bench::Bench;
use super::source::Source;
use super::{Observer, Progress};
use crate::clock::{Nanos, SECOND_NS};
use crate::fleet::Inquiries;

/// How long a stage may wait without a word, in seconds.
const PATIENCE_S: f64 = 1.0;

/// Tells the user once what a stage waits for.
#[derive(Debug, Default)]
pub(super) struct LastWrites {
    /// Since when it has been waiting, in seconds after its start.
    since_s: Option<f64>,
    told: bool,
}

impl LastWrites {
    /// Looks at the state of a stage at `now`, and tells the user if it is time.
    pub(super) fn tell(
        &mut self,
        bench: &Bench<'_>,
        source: &dyn Source,
        progress: &Progress,
        now: Nanos,
        observer: &mut dyn Observer,
    ) {
        let (own, agents) = (bench.target.unsettled(), source.inquiries());
        let asked = Inquiries {
            writes: own.writes.saturating_add(agents.writes),
            until: own.until.max(agents.until),
            stopped: agents.stopped || bench.stop.reason().is_some(),
        };
        // What an agent has reported holds until its next report, a second later.
        let patience_s = PATIENCE_S.max(source.settles_ns() as f64 / SECOND_NS as f64);
        if let Some(sentence) = self.look(progress, asked, patience_s, now) {
            observer.news(&sentence);
        }
    }

    fn look(
        &mut self,
        progress: &Progress,
        asked: Inquiries,
        patience_s: f64,
        now: Nanos,
    ) -> Option<String> {
        let Inquiries { writes, until, stopped } = asked;
        let Progress { elapsed_s, length_s, planned, .. } = *progress;
        let ended = (progress.ok + progress.failed).saturating_add(writes);
        let over = stopped
            || length_s.is_some_and(|length_s| elapsed_s >= length_s)
            || planned.is_some_and(|planned| ended >= planned);
        if !over || writes == 0 {
            self.since_s = None;
            return None;
        }
        let since_s = *self.since_s.get_or_insert(elapsed_s);
        if elapsed_s < since_s + patience_s || std::mem::replace(&mut self.told, true) {
            return None;
        }
        let s = if writes == 1 { "" } else { "s" };
        let left_s = until.saturating_sub(now).div_ceil(SECOND_NS).max(1);
        Some(format!(
            "waiting for the server to say what became of {writes} write{s}, for up to {left_s} s"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture_tests::{Plain, at_once, planned, spec};
    use super::*;
    use crate::measure::Interval;
    use std::sync::Arc;
    use std::sync::mpsc::RecvTimeoutError;
    use std::time::Duration;

    const NOW: Nanos = 100 * SECOND_NS;

    /// What is said at these times of a stage of 10 s, in seconds, if the server is asked about
    /// this many writes until 40 s.
    fn said(times_s: &[f64], writes: u64, stopped: bool) -> Vec<Option<String>> {
        let mut last = LastWrites::default();
        let look = |elapsed_s: &f64| {
            let progress =
                Progress { elapsed_s: *elapsed_s, length_s: Some(10.0), ..Progress::default() };
            let now = NOW + (*elapsed_s * 1e9) as Nanos;
            let until = NOW + 40 * SECOND_NS;
            last.look(&progress, Inquiries { writes, until, stopped }, PATIENCE_S, now)
        };
        times_s.iter().map(look).collect()
    }

    fn waiting(what: &str) -> String {
        format!("waiting for the server to say what became of {what}")
    }

    #[test]
    fn what_a_stage_waits_for_after_its_end_is_said_once() {
        let said_of = |writes| said(&[9.0, 10.0, 10.9, 11.5, 20.0], writes, false);
        let four = waiting("4 writes, for up to 29 s");
        assert_eq!(said_of(4), [None, None, None, Some(four), None]);
        let one = waiting("1 write, for up to 29 s");
        assert_eq!(said_of(1), [None, None, None, Some(one), None]);
        assert!(said_of(0).iter().all(Option::is_none));
    }

    #[test]
    fn a_stage_that_goes_on_has_other_news() {
        assert!(said(&[2.0, 5.0, 9.9], 4, false).iter().all(Option::is_none));
        let four = waiting("4 writes, for up to 37 s");
        assert_eq!(said(&[2.0, 3.0], 4, true), [None, Some(four)], "it is stopped");
    }

    #[test]
    fn what_is_settled_within_a_second_needs_no_words() {
        let mut last = LastWrites::default();
        let mut look = |elapsed_s, ok, writes| {
            let planned = Some(100);
            let progress = Progress { elapsed_s, ok, planned, ..Progress::default() };
            let until = NOW + 3 * SECOND_NS;
            let asked = Inquiries { writes, until, stopped: false };
            last.look(&progress, asked, PATIENCE_S, NOW)
        };
        assert_eq!(look(1.0, 95, 4), None);
        assert_eq!(look(3.0, 95, 4), None, "one has yet to be sent");
        assert_eq!(look(4.0, 96, 4), None);
        assert_eq!(look(4.9, 100, 0), None);
        assert_eq!(look(5.0, 96, 4), None, "it was not the same wait");
        assert_eq!(look(6.0, 96, 4), Some(waiting("4 writes, for up to 3 s")));
    }

    /// Agents that ask about this, and report once a second.
    struct Agents(Inquiries);

    impl Source for Agents {
        fn next(&mut self, _: Duration) -> Result<Interval, RecvTimeoutError> {
            Err(RecvTimeoutError::Timeout)
        }

        fn moment(&self) -> Option<Nanos> {
            None
        }

        fn news(&mut self) -> Option<String> {
            None
        }

        fn settles_ns(&self) -> Nanos {
            2 * SECOND_NS
        }

        fn inquiries(&self) -> Inquiries {
            self.0
        }
    }

    #[test]
    fn what_agents_ask_about_is_said_once_they_must_have_reported_it_again() {
        let (plan, target, stop) = (planned(&spec(60, Some(40))), at_once(), Arc::default());
        let bench = Bench::new(&plan, &target, &stop, [0; 2]);
        let heard = |times_s: &[f64], stopped| {
            let (mut last, mut heard) = (LastWrites::default(), Plain::default());
            let agents = Agents(Inquiries { writes: 4, until: NOW + 9 * SECOND_NS, stopped });
            for &elapsed_s in times_s {
                let length_s = Some(10.0);
                let progress = Progress { elapsed_s, length_s, ..Progress::default() };
                last.tell(&bench, &agents, &progress, NOW, &mut heard);
            }
            heard.news
        };
        let four = || vec![waiting("4 writes, for up to 9 s")];
        assert_eq!(heard(&[10.0, 11.9], false), Vec::<String>::new());
        assert_eq!(heard(&[10.0, 11.9, 12.0, 13.0], false), four());
        assert_eq!(heard(&[2.0, 4.0], false), Vec::<String>::new());
        assert_eq!(heard(&[2.0, 4.0], true), four(), "all of them are stopped");
    }
}
