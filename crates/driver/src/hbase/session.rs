//! One session: one operation at a time, on the connections that its thread shares.

use super::HBasePen;
use super::worker::{Cluster, HBaseWorker, Standing};
use crate::clock::{Clock, Nanos};
use crate::measure::Probe;
use crate::net::{Deadline, ShardContext, rest_after};
use crate::op::{Answered, Failure, Op, OpKind, Reason};
use crate::{Outcome, Session};
use std::pin::pin;
use std::rc::Rc;

/// A session on a table of HBase.
#[derive(Debug)]
pub struct HBaseSession {
    worker: HBaseWorker,
    deadline: Deadline,
    clock: Clock,
    /// Consecutive operations that found no connection.
    failed: u32,
}

impl HBaseSession {
    pub(super) fn new(shared: Rc<Cluster>, number: u32, context: &Rc<ShardContext>) -> Self {
        let worker = HBaseWorker::new(shared, number);
        Self { worker, deadline: context.register(), clock: context.clock(), failed: 0 }
    }

    /// The failure of an operation whose time is up.
    #[cold]
    fn timed_out(&self, op: &Op) -> Failure {
        // Rows that one server has accepted are stored, whatever another one answered.
        let in_doubt = op.kind == OpKind::BulkInsert && self.worker.standing != Standing::Unsent;
        match self.worker.standing {
            Standing::Unsent => Failure::Connect,
            _ if in_doubt => Failure::Unanswered,
            Standing::Refused => Failure::ServerError,
            Standing::Sent if changes(op) => Failure::Unanswered,
            Standing::Sent => Failure::Timeout,
        }
    }
}

impl Session for HBaseSession {
    type Pen = HBasePen;

    fn pen(&self) -> HBasePen {
        HBasePen::new(self.worker.shared.family.clone())
    }

    async fn ready(&mut self) -> Option<Nanos> {
        if self.failed == 0 {
            return None;
        }
        tokio::time::sleep(rest_after(self.failed)).await;
        Some(self.clock.now())
    }

    fn is_one_request(&self, op: &Op) -> bool {
        let several = matches!(op.kind, OpKind::BulkInsert | OpKind::Scan) || op.kind.is_own();
        !several && op.limit == 0
    }

    async fn execute(&mut self, op: &Op, pen: &mut HBasePen, probe: &mut Probe) -> Outcome {
        self.worker.clear();
        let began = probe.began();
        let ended = self.deadline.within(began, pin!(self.worker.work(op, pen, probe))).await;
        let result = match ended {
            Some(Err(Failure::Reset | Failure::Timeout)) if changes(op) => Err(Failure::Unanswered),
            Some(result) => result,
            None => Err(self.timed_out(op)),
        };
        let unanswered = |failure: Failure| !failure.answered();
        if result.err().is_some_and(unanswered) {
            probe.mark_failed();
        }
        self.failed = if result.is_err_and(Failure::unconnected) { self.failed + 1 } else { 0 };
        let HBaseWorker { wire, bytes, .. } = self.worker;
        Outcome { result, bytes, wire }
    }

    fn answered(&self) -> Answered<'_> {
        let document = self.worker.document.as_slice();
        let document = (!document.is_empty()).then_some(document);
        Answered { rows: &self.worker.rows, document, ..Answered::default() }
    }

    fn scanned(&self) -> Option<Vec<&[u8]>> {
        Some(self.worker.scanned_rows())
    }

    fn reason(&self, failure: Failure) -> Option<Reason> {
        let reasons = &self.worker.reasons;
        let reason_of = |class| reasons.iter().find(|(known, _)| *known == class);
        // The reason for a write in doubt is the reason why the connection was lost.
        let (_, text) = reason_of(failure).or_else(|| match failure {
            Failure::Unanswered => {
                reason_of(Failure::Reset).or_else(|| reason_of(Failure::Timeout))
            }
            _ => None,
        })?;
        Some(Reason::new(None, text))
    }
}

/// Plan-defined operations only read.
fn changes(op: &Op) -> bool {
    !op.kind.only_reads() && !op.kind.is_own()
}
