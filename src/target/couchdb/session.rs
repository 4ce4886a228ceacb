//! One connection to a CouchDB database: how each operation is spelled and its answer judged.

use super::answer;
use super::credentials::{Credentials, Renewal};
use crate::clock::Clock;
use crate::measure::Probe;
use crate::op::{Failure, Op, OpKind, Reply, write_id};
use crate::target::wire::{Answer, Connection};
use crate::target::{Outcome, Payload, Session};
use std::sync::Arc;

/// A session with a CouchDB database.
#[derive(Debug)]
pub struct CouchSession {
    connection: Connection,
    clock: Clock,
    credentials: Credentials,
    renewal: Arc<Renewal>,
    /// `/name/`, percent-encoded.
    path: Vec<u8>,
    host: String,
    /// All of a head that follows the target: version, host, credentials.
    common: Vec<u8>,
    id: Vec<u8>,
    head: Vec<u8>,
}

impl CouchSession {
    /// A session on the database at `path`; see [`super::CouchDb`].
    pub(super) fn new(
        connection: Connection,
        clock: Clock,
        (credentials, renewal): (Credentials, Arc<Renewal>),
        path: &str,
        host: &str,
    ) -> Self {
        let mut session = Self {
            connection,
            clock,
            credentials,
            renewal,
            path: path.as_bytes().to_vec(),
            host: host.to_owned(),
            common: Vec::new(),
            id: Vec::new(),
            head: Vec::new(),
        };
        session.make_common();
        session
    }

    fn make_common(&mut self) {
        self.common.clear();
        self.common.extend_from_slice(b" HTTP/1.1\r\nHost: ");
        self.common.extend_from_slice(self.host.as_bytes());
        self.common.extend_from_slice(b"\r\n");
        self.credentials.write_header(&mut self.common);
    }

    /// Puts the head in front of the payload's body. Returns the body's length.
    fn encode(&mut self, op: &Op, payload: &mut Payload) -> u64 {
        let body_bytes = payload.body().len();
        self.id.clear();
        write_id(op.key, &mut self.id);
        self.head.clear();
        let verb: &[u8] = match op.kind {
            OpKind::BulkInsert => b"POST ",
            OpKind::Create | OpKind::Update => b"PUT ",
            OpKind::Read => b"GET ",
            OpKind::Delete => b"DELETE ",
        };
        self.head.extend_from_slice(verb);
        self.head.extend_from_slice(&self.path);
        if op.kind == OpKind::BulkInsert {
            self.head.extend_from_slice(b"_bulk_docs");
        } else {
            self.head.extend_from_slice(&self.id);
        }
        if let (OpKind::Delete, Some(revision)) = (op.kind, op.revision) {
            self.head.extend_from_slice(b"?rev=");
            revision.write(&mut self.head);
        }
        self.head.extend_from_slice(&self.common);
        if body_bytes > 0 {
            self.head.extend_from_slice(b"Content-Type: application/json\r\nContent-Length: ");
            self.head.extend_from_slice(itoa::Buffer::new().format(body_bytes).as_bytes());
            self.head.extend_from_slice(b"\r\n");
        }
        self.head.extend_from_slice(b"\r\n");
        payload.prepend(&self.head);
        body_bytes as u64
    }

    /// Sends what is encoded. An expired cookie is renewed once, on the same connection.
    async fn exchange(
        &mut self,
        op: &Op,
        payload: &mut Payload,
        probe: &mut Probe,
    ) -> Result<Answer, Failure> {
        let answer = self.connection.exchange(payload.bytes(), false, probe).await?;
        if let Some(cookie) = self.connection.set_cookie()
            && self.credentials.renew(cookie)
        {
            self.make_common();
        }
        let mut answer = answer;
        // Twice at most: the cookie that another session has got may have expired as well.
        for _ in 0..2 {
            if answer.status != 401 || !self.log_in().await {
                break;
            }
            payload.strip_head();
            self.encode(op, payload);
            answer = self.connection.exchange(payload.bytes(), false, probe).await?;
        }
        Ok(answer)
    }

    /// Asks for a new cookie. `false`: there are no cookie credentials, or they were refused.
    /// Only one session asks at a time, and none after a refusal: the server counts those.
    async fn log_in(&mut self) -> bool {
        let Some(request) = self.credentials.log_in_request(&self.host) else { return false };
        let renewal = self.renewal.clone();
        let mut shared = renewal.state.lock().await;
        if shared.refused || self.credentials.adopt(&shared.cookie) {
            self.make_common();
            return !shared.refused;
        }
        let now = self.clock.now();
        let mut probe = Probe::new(self.clock, now, now);
        let answer = self.connection.exchange(&request, false, &mut probe).await;
        let renewed = answer.is_ok_and(|answer| answer.status == 200)
            && self.connection.set_cookie().is_some_and(|cookie| self.credentials.renew(cookie));
        self.make_common();
        shared.refused = !renewed;
        self.credentials.cookie().clone_into(&mut shared.cookie);
        renewed
    }

    /// What the answer in the connection says about `op`.
    fn judge(&self, op: &Op, answer: Answer, payload: &mut Payload) -> Result<Reply, Failure> {
        let body = self.connection.body();
        let expected = match op.kind {
            OpKind::Read => answer.status == 200,
            OpKind::Delete => matches!(answer.status, 200 | 202),
            _ => matches!(answer.status, 201 | 202),
        };
        if !expected {
            return Err(answer::failure(answer.status, body));
        }
        let revision = match op.kind {
            OpKind::BulkInsert => {
                answer::rows(body, op.key, op.documents, payload.rows_mut())?;
                None
            }
            OpKind::Read => Some(answer::document(body, &self.id)?),
            OpKind::Create | OpKind::Update | OpKind::Delete => answer::written(body, &self.id)?,
        };
        Ok(Reply { revision, accepted: answer.status == 202 })
    }
}

impl Session for CouchSession {
    async fn ready(&mut self) {
        self.connection.ready(self.clock).await;
    }

    async fn execute(&mut self, op: &Op, payload: &mut Payload, probe: &mut Probe) -> Outcome {
        if op.kind == OpKind::BulkInsert {
            payload.prepend(b"{\"docs\":[");
            payload.body_mut().extend_from_slice(b"]}");
        }
        payload.mark_body();
        let bytes_sent = self.encode(op, payload);
        match self.exchange(op, payload, probe).await {
            Ok(answer) => Outcome {
                result: self.judge(op, answer, payload),
                bytes_sent,
                bytes_received: answer.body_bytes,
                resent: answer.resent,
            },
            Err(failure) => {
                Outcome { result: Err(failure), bytes_sent, bytes_received: 0, resent: false }
            }
        }
    }
}
