//! Pauses of a closed loop, and workloads that wait.

use super::*;
use crate::op::OpKind;

/// A read after each wait; the first wait comes before the first read.
struct Waits {
    each_ns: Nanos,
    waited: bool,
    /// Reads to do; after them, it waits for ever.
    left: u64,
}

impl Workload for Waits {
    fn next<P: Pen>(&mut self, _: &mut P) -> Next {
        self.waited = !self.waited && self.left > 0;
        if self.waited || self.left == 0 {
            return Next::Wait(self.each_ns);
        }
        self.left -= 1;
        Next::Op(Op::single(OpKind::Read, self.left, None))
    }

    fn observe(&mut self, _: &Op, _: Result<Reply, Failure>, _: &Answered<'_>) -> Check {
        Check::Unchecked
    }
}

#[tokio::test(start_paused = true)]
async fn a_workload_may_wait_before_each_operation_but_not_beyond_the_end() {
    let waits = |each_ns, left| {
        vec![Lane { connection: 0, workload: Waits { each_ns, left, waited: false } }]
    };
    // At 320, 640, ... 1,920 ms; in an open loop, the reads that became due meanwhile wait for it.
    for pace in [Pace::Closed { think_ns: 0 }, rate(100.0, 2, 1_000)] {
        let closed = matches!(pace, Pace::Closed { .. });
        let work = (waits(320 * MS, u64::MAX), u64::MAX);
        let run = run_workloads((Server(Some), pace), work, Some(2), Arc::default()).await;
        assert_eq!(run.load.begun, 6);
        assert!((2.0..2.005).contains(&run.elapsed_s), "{} s", run.elapsed_s);
        assert!(run.starts[0].1.is_some_and(|first| (320 * MS..330 * MS).contains(&first)));
        let due_ns = if closed { 320 * MS } else { 0 };
        assert!(run.first_late_ns.is_some_and(|late| late.abs_diff(320 * MS - due_ns) < 10 * MS));
        assert!((1.99..=2.005).contains(&(run.idle_ns as f64 / 1e9)), "{} ns", run.idle_ns);
    }
    // With nothing left to do, it waits until the stage ends, or until nothing more will become
    // due.
    for (pace, seconds, ended_s) in
        [(Pace::Closed { think_ns: 0 }, Some(2), 2.0..2.005), (rate(10.0, 60, 100), None, 0.2..1.0)]
    {
        let work = (waits(SECOND_NS / 10, 2), 2);
        let run = run_workloads((Server(Some), pace), work, seconds, Arc::default()).await;
        assert_eq!(run.load.begun, 2);
        assert!(ended_s.contains(&run.elapsed_s), "{} s", run.elapsed_s);
    }
}

#[tokio::test(start_paused = true)]
async fn connections_pause_each_by_itself_until_the_end() {
    let at_once = Server(Some);
    let pace = Pace::Closed { think_ns: 300 * MS };
    let run = run(at_once, pace, (3, u64::MAX), Some(2), Arc::default()).await;
    assert_eq!(run.load.begun, 3 * 6);
    assert!((2.0..2.01).contains(&run.elapsed_s), "{} s", run.elapsed_s);
}

#[tokio::test]
async fn a_pause_is_as_short_as_asked() {
    // A timer with steps of a millisecond takes at least 4 ms on any machine. Occasionally, a few
    // pauses in a row are undisturbed, also on any machine.
    let mut shortest_s = f64::MAX;
    for _ in 0..500 {
        let lanes = vec![Lane { connection: 0, workload: Reads(5) }];
        let load = (Server(Some), Pace::Closed { think_ns: 100_000 });
        let run = run_on(Clock::system(), load, (lanes, 5), None, Arc::default()).await;
        assert!(run.elapsed_s >= 0.000_5, "5 pauses of 100 µs in {} s", run.elapsed_s);
        shortest_s = shortest_s.min(run.elapsed_s);
        if shortest_s < 0.002_5 {
            return;
        }
    }
    panic!("5 pauses of 100 µs took {shortest_s} s");
}
