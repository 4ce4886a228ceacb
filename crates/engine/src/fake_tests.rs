//! A server that is a function.

use crate::clock::{Clock, Nanos};
use crate::driver::{Outcome, Session, Shard, Target};
use crate::measure::{BodyBytes, Probe, Wire};
use crate::net::{Deadline, ShardContext};
use crate::op::{Draft, Failure, Op, Reply};
use std::io;
use std::rc::Rc;
use std::time::Duration;

/// Maps the time at which an operation is sent to the time of its answer; `None` if it is never
/// answered.
#[derive(Clone, Copy)]
pub(super) struct Server(pub(super) fn(Nanos) -> Option<Nanos>);

/// Creates sessions.
#[derive(Clone, Debug)]
pub(super) struct ShardOf<T> {
    pub(super) target: T,
    pub(super) context: Rc<ShardContext>,
}

pub(super) struct FakeSession {
    server: Server,
    pub(super) clock: Clock,
    origin: Nanos,
    deadline: Deadline,
    /// Whether the kernel claims to timestamp answers.
    noted: bool,
}

impl Target for Server {
    type Shard = ShardOf<Self>;

    async fn shard(&self, context: Rc<ShardContext>) -> io::Result<Self::Shard> {
        Ok(ShardOf { target: *self, context })
    }
}

impl Shard for ShardOf<Server> {
    type Session = FakeSession;

    fn session(&self) -> FakeSession {
        let clock = self.context.clock();
        let deadline = self.context.register();
        let noted = self.context.timestamps().is_some();
        FakeSession { server: self.target, clock, origin: clock.now(), deadline, noted }
    }
}

impl Session for FakeSession {
    type Pen = Draft;

    fn pen(&self) -> Draft {
        Draft::default()
    }

    async fn ready(&mut self) -> Option<Nanos> {
        None
    }

    async fn execute(&mut self, _: &Op, _: &mut Draft, probe: &mut Probe) -> Outcome {
        probe.mark_send();
        probe.mark_sent();
        let outcome = |result| {
            let wire = Wire { requests: Some(1), ..Wire::default() };
            Outcome { bytes: BodyBytes { sent: 2, received: 2 }, wire, ..Outcome::of(result) }
        };
        if let Some(answered) = (self.server.0)(self.clock.now() - self.origin) {
            let left = (self.origin + answered).saturating_sub(self.clock.now());
            if left > 0 {
                tokio::time::sleep(Duration::from_nanos(left)).await;
            }
            if self.noted {
                probe.mark_received_at(self.clock.now());
            } else {
                probe.mark_received();
            }
            return outcome(Ok(Reply::default()));
        }
        self.deadline.within(probe.began(), std::future::pending::<()>()).await;
        probe.mark_failed();
        outcome(Err(Failure::Timeout))
    }
}
