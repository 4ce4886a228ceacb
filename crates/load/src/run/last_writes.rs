//! What a stage waits for after its end: a server that is gone is asked for a while what became of
//! the last writes.

use super::bench::Bench;
use super::{Observer, Progress};
use crate::clock::{Nanos, SECOND_NS};
use crate::driver::UnsettledWrites;

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
        progress: &Progress,
        now: Nanos,
        observer: &mut dyn Observer,
    ) {
        let stopped = bench.stop.reason().is_some();
        let sentence = self.look(progress, stopped, bench.target.unsettled(), now);
        if let Some(sentence) = sentence {
            observer.news(&sentence);
        }
    }

    fn look(
        &mut self,
        progress: &Progress,
        stopped: bool,
        unsettled: UnsettledWrites,
        now: Nanos,
    ) -> Option<String> {
        let UnsettledWrites { writes, until } = unsettled;
        let Progress { elapsed_s, length_s, planned, .. } = *progress;
        let ended = progress.ok + progress.failed + writes;
        let over = stopped
            || length_s.is_some_and(|length_s| elapsed_s >= length_s)
            || planned.is_some_and(|planned| ended >= planned);
        if !over || writes == 0 {
            self.since_s = None;
            return None;
        }
        let since_s = *self.since_s.get_or_insert(elapsed_s);
        if elapsed_s < since_s + PATIENCE_S || std::mem::replace(&mut self.told, true) {
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
    use super::*;

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
            last.look(&progress, stopped, UnsettledWrites { writes, until }, now)
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
            last.look(&progress, false, UnsettledWrites { writes, until }, NOW)
        };
        assert_eq!(look(1.0, 95, 4), None);
        assert_eq!(look(3.0, 95, 4), None, "one has yet to be sent");
        assert_eq!(look(4.0, 96, 4), None);
        assert_eq!(look(4.9, 100, 0), None);
        assert_eq!(look(5.0, 96, 4), None, "it was not the same wait");
        assert_eq!(look(6.0, 96, 4), Some(waiting("4 writes, for up to 3 s")));
    }
}
