//! One session of any client: pauses, the timeout, and the meaning of failures.

use super::{Call, CallError, Client, Form, Found, LibraryPen, Outcome};
use crate::Session;
use crate::clock::{Clock, Nanos};
use crate::measure::{BodyBytes, Probe, Wire};
use crate::net::{Deadline, ShardContext, rest_after};
use crate::op::{Answered, Failure, Op, Reason, Reply};
use std::pin::pin;
use std::rc::Rc;

/// A session with a database, through its client.
pub struct LibrarySession {
    client: Box<dyn Client>,
    form: Form,
    /// Consecutive failed attempts to connect.
    failed: u32,
    /// Consecutive operations for which the server was not ready.
    unready: u32,
    /// The reason why the last attempt failed.
    refusal: Option<CallError>,
    found: Found,
    deadline: Deadline,
    clock: Clock,
}

impl LibrarySession {
    pub(super) fn new(client: Box<dyn Client>, form: Form, context: &Rc<ShardContext>) -> Self {
        Self {
            client,
            form,
            failed: 0,
            unready: 0,
            refusal: None,
            found: Found::default(),
            deadline: context.register(),
            clock: context.clock(),
        }
    }

    async fn connect(&mut self, since: Nanos) {
        let connected = self.deadline.within(since, pin!(self.client.connect())).await;
        match connected.unwrap_or(Err(Failure::Timeout.into())) {
            Ok(()) => (self.failed, self.refusal) = (0, None),
            Err(trouble) => {
                self.client.disconnect();
                self.failed += 1;
                self.refusal = Some(trouble);
            }
        }
    }

    /// The error of operations without a connection, for which nothing is sent. Refused credentials
    /// end a run, so they are reported.
    fn not_connected(&self) -> CallError {
        let refusal = self.refusal.clone().unwrap_or(Failure::Connect.into());
        match refusal.failure {
            Failure::Authentication => refusal,
            failure if failure.unconnected() => refusal,
            _ => CallError { failure: Failure::Connect, ..refusal },
        }
    }

    async fn call(
        &mut self,
        op: &Op,
        pen: &LibraryPen,
        probe: &mut Probe,
    ) -> Result<Reply, CallError> {
        if !self.client.is_connected() {
            return Err(self.not_connected());
        }
        self.found.requests = 1;
        let began = probe.began();
        let call = Call { op, pen, found: &mut self.found, probe };
        let ended = self.deadline.within(began, pin!(self.client.execute(call))).await;
        let changes = self.client.changes(op);
        ended.unwrap_or(Err(Failure::Timeout.into())).map_err(|trouble| match trouble.failure {
            // It is unknown whether it was carried out.
            Failure::Timeout | Failure::Reset if changes => {
                CallError { failure: Failure::Unanswered, ..trouble }
            }
            _ => trouble,
        })
    }
}

impl Session for LibrarySession {
    type Pen = LibraryPen;

    fn pen(&self) -> LibraryPen {
        LibraryPen::new(self.form)
    }

    fn node(&self) -> Option<usize> {
        self.found.node
    }

    fn row_nodes(&self) -> &[Option<usize>] {
        &self.found.nodes
    }

    async fn ready(&mut self) -> Option<Nanos> {
        if self.client.is_connected() {
            return None;
        }
        let failed = self.failed.max(self.unready);
        if failed > 0 {
            tokio::time::sleep(rest_after(failed)).await;
        }
        let since = self.clock.now();
        // Rare: kept out of the future of all operations.
        Box::pin(self.connect(since)).await;
        Some(since)
    }

    fn is_open(&self) -> bool {
        self.client.is_connected()
    }

    fn prepare(&mut self, op: &Op, pen: &mut LibraryPen) {
        self.client.prepare(op, pen);
    }

    fn is_one_request(&self, op: &Op) -> bool {
        self.client.is_one_request(op)
    }

    async fn execute(&mut self, op: &Op, pen: &mut LibraryPen, probe: &mut Probe) -> Outcome {
        self.found.clear();
        let result = self.call(op, pen, probe).await.map_err(|trouble| {
            let failure = trouble.failure;
            self.found.reasons.keep(trouble);
            failure
        });
        self.unready = if result == Err(Failure::NotReady) { self.unready + 1 } else { 0 };
        if result.is_err_and(|failure| !failure.answered()) {
            probe.mark_failed();
            self.client.disconnect();
        }
        let requests = self.found.requests;
        let unsolicited = self.client.take_unsolicited();
        let wire = Wire { requests: Some(requests), unsolicited, ..Wire::default() };
        let bytes = BodyBytes {
            sent: if requests > 0 { pen.bytes() } else { 0 },
            received: self.found.received,
        };
        Outcome { result, bytes, wire }
    }

    fn answered(&self) -> Answered<'_> {
        let document = Some(self.found.document.as_slice()).filter(|text| !text.is_empty());
        Answered { rows: &self.found.rows, document, ..Answered::default() }
    }

    fn scanned(&self) -> Option<Vec<&[u8]>> {
        self.found.spelled()
    }

    fn reason(&self, failure: Failure) -> Option<Reason> {
        self.found.reasons.of(failure).map(|text| Reason::new(None, text))
    }
}
