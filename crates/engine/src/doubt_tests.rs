//! A silent server is checked on paused time.

use super::fake::Server;
use super::fake::ShardOf;
use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::driver::Target;
use crate::net::ShardContext;
use crate::op::{Answered, Failure, Op, OpKind, Pen, Reply};
use crate::shard::run_lanes;
use crate::workload::{Check, Next, Workload};
use crate::{Lane, Patience, ShardPlan, StopReason};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::channel;

/// A server that serves no operation, but until this time answers when checked.
#[derive(Clone, Copy)]
struct Deaf(Clock, Nanos);

impl Target for Deaf {
    type Shard = ShardOf<Server>;

    async fn shard(&self, context: Rc<ShardContext>) -> io::Result<Self::Shard> {
        Ok(ShardOf { target: Server(|_| None), context })
    }

    async fn answers(&self, timeout_ns: Nanos) -> Option<Result<(), Failure>> {
        assert!(timeout_ns >= SECOND_NS);
        Some(if self.0.now() < self.1 { Ok(()) } else { Err(Failure::Timeout) })
    }
}

/// Endless reads.
struct Reads;

impl Workload for Reads {
    fn next<P: Pen>(&mut self, _: &mut P) -> Next {
        Next::Op(Op::single(OpKind::Read, 1, None))
    }

    fn observe(&mut self, _: &Op, _: Result<Reply, Failure>, _: &Answered<'_>) -> Check {
        Check::Unchecked
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_when_it_is_asked_is_not_given_up() {
    for (until_s, gone, over_s) in [(60, None, 10..11), (4, Some(StopReason::Unreachable), 5..8)] {
        let (sink, _source) = channel();
        let clock = Clock::virtual_time();
        let plan = ShardPlan {
            clock,
            length_ns: Some(10 * SECOND_NS),
            patience: Arc::new(Patience::new(2 * SECOND_NS)),
            timeout_ns: SECOND_NS / 2,
            ..ShardPlan::alone((0, 1), 1, sink)
        };
        let deaf = Deaf(clock, clock.now() + until_s * SECOND_NS);
        let lanes = vec![Lane { connection: 0, workload: Reads }];
        let load = run_lanes(&plan, &deaf, lanes, plan.start.place());
        let shard = tokio::task::LocalSet::new().run_until(load).await.expect("it runs");
        assert_eq!(plan.stop.reason(), gone);
        assert!(over_s.contains(&(shard.elapsed_ns / SECOND_NS)), "{} ns", shard.elapsed_ns);
    }
}
