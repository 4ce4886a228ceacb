//! One session: one operation at a time, on a connection that it may share.

use super::group::Group;
use super::pen::RedisPen;
use super::shape::Shape;
use super::worker::RedisWorker;
use crate::call::CallError;
use crate::clock::{Clock, Nanos};
use crate::measure::{BodyBytes, Probe};
use crate::net::{Deadline, rest_after};
use crate::op::{Answered, Failure, Op, OpKind, Reason};
use crate::{Outcome, Session};
use std::pin::pin;
use std::rc::Rc;

/// A session with Redis.
#[derive(Debug)]
pub struct RedisSession {
    pub(super) worker: RedisWorker,
    /// Consecutive operations that found the server not ready, at least for a part of them.
    unready: u32,
    deadline: Deadline,
    clock: Clock,
}

impl RedisSession {
    pub(super) fn new(group: Rc<Group>) -> Self {
        let (deadline, clock) = (group.hub.context.register(), group.hub.context.clock());
        Self { worker: RedisWorker::new(group), unready: 0, deadline, clock }
    }
}

impl Session for RedisSession {
    type Pen = RedisPen;

    fn pen(&self) -> RedisPen {
        RedisPen::new(self.worker.layout().shape)
    }

    async fn ready(&mut self) -> Option<Nanos> {
        if self.unready > 0 {
            tokio::time::sleep(rest_after(self.unready)).await;
        } else if self.worker.exchange.group.is_open() {
            return None;
        }
        // The timeout is for connecting, not for the pause before it.
        self.worker.exchange.group.pause().await;
        let since = self.clock.now();
        if self.worker.exchange.group.is_open() {
            return Some(since);
        }
        // Rare: kept out of the future of all operations.
        let opening = Box::pin(self.worker.exchange.group.open());
        Some(self.deadline.within(since, opening).await.unwrap_or(since))
    }

    fn is_open(&self) -> bool {
        self.worker.exchange.group.is_open()
    }

    fn prepare(&mut self, op: &Op, pen: &mut RedisPen) {
        self.worker.spell(op, pen);
    }

    /// A scan continues with the keys it has found, and a node of a cluster may redirect. On a
    /// shared connection, the kernel only reports when the last of several answers arrived.
    fn is_one_request(&self, op: &Op) -> bool {
        let text = op.kind == OpKind::Update && self.worker.layout().shape == Shape::String;
        let group = &self.worker.exchange.group;
        let alone = !group.is_clustered() && group.hub.keys.pipeline < 2;
        op.kind != OpKind::Scan && !text && alone
    }

    async fn execute(&mut self, op: &Op, pen: &mut RedisPen, probe: &mut Probe) -> Outcome {
        self.worker.clear();
        let began = probe.began();
        let ended = self.deadline.within(began, pin!(self.worker.work(op, pen, probe))).await;
        let late = || CallError::new(Failure::Timeout, "no answer in time");
        let result = ended.unwrap_or_else(|| Err(late()));
        let result = result.map_err(|trouble| self.worker.failed(op, trouble));
        if result.is_err_and(|failure| !failure.answered()) {
            probe.mark_failed();
        }
        let RedisWorker { exchange, received, unready, .. } = &self.worker;
        if *unready {
            self.unready += 1;
            exchange.group.hub.refresh();
        } else {
            self.unready = 0;
        }
        let mut wire = exchange.wire;
        wire.unsolicited += exchange.group.take_unsolicited();
        let sent = if exchange.is_sent { pen.bytes } else { 0 };
        wire.requests = wire.requests.filter(|_| exchange.is_sent).or(Some(0));
        Outcome { result, bytes: BodyBytes { sent, received: *received }, wire }
    }

    fn answered(&self) -> Answered<'_> {
        let document = Some(self.worker.document.as_slice()).filter(|text| !text.is_empty());
        Answered { rows: &self.worker.rows, document, ..Answered::default() }
    }

    fn scanned(&self) -> Option<Vec<&[u8]>> {
        Some(self.worker.scanned()?.iter().map(Vec::as_slice).collect())
    }

    fn reason(&self, failure: Failure) -> Option<Reason> {
        self.worker.reasons.of(failure).map(|text| Reason::new(None, text))
    }
}
