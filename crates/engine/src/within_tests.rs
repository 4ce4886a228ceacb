//! A stage whose operations must end in time, as far as that can be predicted.

use super::*;

/// Operations of one document each, or of twice as many as the one before.
struct Batches {
    documents: u32,
    grows: bool,
}

impl Workload for Batches {
    fn next<P: Pen>(&mut self, _: &mut P) -> Next {
        let documents = self.documents;
        self.documents = if self.grows { documents * 2 } else { documents };
        Next::Op(Op { documents, ..Op::single(OpKind::BulkInsert, 0, None) })
    }

    fn observe(&mut self, _: &Op, _: Result<Reply, Failure>, _: &Answered<'_>) -> Check {
        Check::Unchecked
    }
}

/// How many operations are begun in a second, and when the last one has ended, in milliseconds.
async fn begun(server: Server, grows: bool, within: bool) -> (u64, u64) {
    let (sink, _source) = channel();
    let plan = ShardPlan {
        clock: Clock::virtual_time(),
        length_ns: Some(SECOND_NS),
        within,
        timeout_ns: 60 * SECOND_NS,
        ..ShardPlan::alone((0, 1), 1, sink)
    };
    let lanes = vec![Lane { connection: 0, workload: Batches { documents: 1, grows } }];
    let load = run_lanes(&plan, &server, lanes, plan.start.place());
    let shard = tokio::task::LocalSet::new().run_until(load).await.expect("it runs");
    (shard.load.begun, shard.elapsed_ns / MS)
}

#[tokio::test(start_paused = true)]
async fn what_would_end_too_late_is_not_begun() {
    let slow = Server(|sent| Some(sent + 300 * MS));
    assert_eq!(begun(slow, false, false).await, (4, 1_200));
    assert_eq!(begun(slow, false, true).await, (3, 900));
    // An operation of twice as many documents may take twice as long.
    let fast = Server(|sent| Some(sent + 99 * MS));
    assert_eq!(begun(fast, false, true).await, (10, 990));
    assert_eq!(begun(fast, true, true).await, (9, 891));
    // Nothing is known in advance about the first one.
    let silent = Server(|sent| Some(sent + 5_000 * MS));
    assert_eq!(begun(silent, false, true).await, (1, 5_000));
}
