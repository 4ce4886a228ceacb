//! The totals of a running stage, once a second.

use super::source::Source;
use crate::clock::{Nanos, SECOND_NS};
use crate::engine::Pace;
use crate::measure::Totals;
use crate::plan::StagePlan;
use crate::record::Running;
use std::iter::Peekable;

/// Reads a running stage. Created only if there is a live view.
pub(super) struct LiveStage {
    name: String,
    /// The times at which requests are due, in an open loop, starting from the last look.
    due: Option<Peekable<Box<dyn Iterator<Item = Nanos>>>>,
    offered: u64,
    /// Requests that the plan asks for.
    most: u64,
    /// The second of the next look.
    next: u64,
}

impl LiveStage {
    pub(super) fn new(stage: &StagePlan, connections: usize) -> Self {
        let due = match &stage.pace {
            Pace::Open { schedule, .. } => {
                let due: Box<dyn Iterator<Item = Nanos>> = Box::new(schedule.steps((0, 1), 1));
                Some(due.peekable())
            }
            Pace::Closed { .. } | Pace::Thinking { .. } => None,
        };
        let most = stage.work.planned(connections).unwrap_or(u64::MAX);
        Self { name: stage.name.clone(), due, offered: 0, most, next: 0 }
    }

    /// Returns the totals up to the last full second, unless they were returned before.
    pub(super) fn look(
        &mut self,
        elapsed_ns: Nanos,
        totals: &Totals,
        source: &dyn Source,
    ) -> Option<Running> {
        let second = elapsed_ns / SECOND_NS;
        if second < self.next {
            return None;
        }
        self.next = second + 1;
        if let Some(due) = &mut self.due {
            while self.offered < self.most && due.next_if(|&due| due < second * SECOND_NS).is_some()
            {
                self.offered += 1;
            }
        }
        let elapsed_s = second as f64;
        Some(Running {
            name: self.name.clone(),
            elapsed_s,
            offered: self.due.is_some().then_some(self.offered),
            operations: totals.so_far(elapsed_s),
            agents: source.agents(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Arrivals, Schedule, Segment};
    use crate::measure::Interval;
    use crate::plan::Purpose;
    use crate::workload::BulkInsertPlan;
    use std::sync::mpsc::RecvTimeoutError;
    use std::time::Duration;

    struct Silent;

    impl Source for Silent {
        fn next(&mut self, _: Duration) -> Result<Interval, RecvTimeoutError> {
            Err(RecvTimeoutError::Timeout)
        }

        fn moment(&self) -> Option<Nanos> {
            None
        }

        fn news(&mut self) -> Option<String> {
            None
        }
    }

    fn stage(pace: Pace) -> StagePlan {
        let work = BulkInsertPlan { documents: 250, batch: 1, within_ns: None }.into();
        StagePlan {
            name: "crud".to_owned(),
            purpose: Some(Purpose::Main),
            work,
            pace,
            length_ns: None,
        }
    }

    #[test]
    fn it_looks_once_a_second_and_counts_what_fell_due() {
        let segments = vec![Segment { length_ns: 3 * SECOND_NS, from: 100.0, to: 100.0 }];
        let schedule = Schedule { segments, arrivals: Arrivals::Constant, seed: 1 };
        let pace = Pace::Open { schedule, max_in_flight: 10, slack_ns: 0 };
        let mut live = LiveStage::new(&stage(pace), 1);
        let totals = Totals::default();
        let mut offered = |elapsed_ns| live.look(elapsed_ns, &totals, &Silent).map(|it| it.offered);
        assert_eq!(offered(100_000_000), Some(Some(0)));
        assert_eq!(offered(900_000_000), None);
        assert_eq!(offered(SECOND_NS + 1), Some(Some(100)));
        assert_eq!(offered(SECOND_NS + 2), None);
        assert_eq!(offered(9 * SECOND_NS), Some(Some(250)), "no more than are planned");
    }

    #[test]
    fn a_closed_loop_offers_nothing() {
        let mut live = LiveStage::new(&stage(Pace::Closed { think_ns: 0 }), 1);
        let look = live.look(0, &Totals::default(), &Silent);
        assert_eq!(look.map(|it| it.offered), Some(None));
    }
}
