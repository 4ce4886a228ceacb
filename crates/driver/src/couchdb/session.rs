//! One connection to a CouchDB database: how each operation is encoded and its answer judged.

use super::credentials::{Credentials, Renewal};
use super::design::Design;
use super::head::{is_of_database, is_of_index, looks_up, request, write_condition, write_segment};
use super::many::Paths;
use super::nodes::Place;
use super::pen::CouchPen;
use super::quorum::Quorum;
use super::revision::Revision;
use super::seen::Seen;
use super::settling::Settling;
use super::view_name::ViewName;
use super::words::Operations;
use super::{CouchDb, answer, queries, several};
use crate::clock::Clock;
use crate::http1::{Answer, Connection, reason};
use crate::measure::{BodyBytes, Probe, Wire};
use crate::net::ShardContext;
use crate::op::{
    Answered, Class, Failure, Key, Op, OpKind, Pen, ReadCopies, Reason, Reply, Saved, Token,
};
use crate::{Outcome, SentAs, Session};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

/// A session with a CouchDB database.
#[derive(Debug)]
pub struct CouchSession {
    pub(super) connection: Connection,
    pub(super) clock: Clock,
    pub(super) credentials: Credentials,
    pub(super) renewal: Arc<Renewal>,
    /// Its place among the nodes, if there are several.
    pub(super) place: Option<Box<Place>>,
    pub(super) paths: Paths,
    /// The rest of a request head after the target, from [`Credentials::common_head`]. Shared with
    /// the other sessions until the credentials change.
    pub(super) common: Arc<[u8]>,
    /// Header lines of every request.
    pub(super) lines: Arc<str>,
    /// The requests that make up an operation without a revision.
    pub(super) inner: Option<Box<CouchPen>>,
    /// The documents that updates are based on, if they are kept.
    pub(super) seen: Option<Box<Seen>>,
    /// The status of the current operation's answer, if statuses are reported.
    reported_status: Option<u16>,
    /// What is known about writes whose answers were lost.
    pub(super) settling: Settling,
    /// The result for each document of the last request for several.
    pub(super) rows: Vec<Result<Token, Failure>>,
    /// Where each document is in the answer, if they were read.
    pub(super) places: Vec<Range<usize>>,
    /// How many copies answer for a document.
    quorum: Quorum,
    pub(super) own: Arc<Operations>,
    /// The design documents that come with the plan.
    pub(super) designs: Arc<[Design]>,
    pub(super) audit_views: Arc<[ViewName]>,
    /// The documents in the rows of one of these views, in JSON.
    pub(super) listed: Vec<u8>,
    /// Explains the first unexpected answer.
    pub(super) unmet: Option<String>,
    /// What was saved of the last answer to an operation that the plan defines.
    pub(super) saved: Vec<Saved>,
}

impl CouchSession {
    /// A session on `target`, not yet connected. `place` is its place among several nodes.
    pub(super) fn new(target: &CouchDb, context: &Rc<ShardContext>, place: Option<Place>) -> Self {
        let node = place.as_ref().map_or(&target.nodes[0], Place::node).clone();
        Self {
            connection: Connection::new(node.way, context),
            clock: context.clock(),
            credentials: node.credentials,
            renewal: node.renewal,
            place: place.map(Box::new),
            paths: target.paths.clone(),
            common: node.common,
            lines: node.lines,
            inner: None,
            seen: target.cached_updates.then(Box::default),
            reported_status: None,
            settling: Settling::of(&target.unsettled),
            rows: Vec::new(),
            places: Vec::new(),
            quorum: target.quorum,
            own: target.own.clone(),
            designs: target.designs.clone(),
            audit_views: target.audit_views.clone(),
            listed: Vec::new(),
            unmet: None,
            saved: Vec::new(),
        }
    }

    pub(super) fn make_common(&mut self) {
        self.common = self.credentials.common_head(&self.lines);
    }

    /// Puts the head in front of the body.
    pub(super) fn encode(&self, op: &Op, pen: &mut CouchPen) {
        pen.payload.mark_body();
        let body_bytes = pen.payload.body_len();
        self.connection.buffers().with_head(|head| {
            self.write_head(op, pen.names(), body_bytes, head);
            pen.payload.prepend(head);
        });
    }

    #[inline]
    pub(super) fn write_head(&self, op: &Op, name: &[u8], body_bytes: usize, head: &mut Vec<u8>) {
        let verb: &[u8] = match op.kind {
            _ if op.documents > 1 => b"POST ",
            OpKind::BulkInsert => b"POST ",
            OpKind::Create | OpKind::Update | OpKind::DatabaseCreate => b"PUT ",
            OpKind::Delete | OpKind::DatabaseDelete => b"DELETE ",
            _ => b"GET ",
        };
        head.extend_from_slice(verb);
        if is_of_database(op) {
            self.paths.write_database(op.kind, op.key, head);
            head.extend_from_slice(&self.common);
            head.extend_from_slice(b"Content-Length: 0\r\n\r\n");
            return;
        }
        self.paths.write(op.key, head);
        let query = queries::of(op);
        match (op.kind, query) {
            (OpKind::BulkInsert, _) => head.extend_from_slice(b"_bulk_docs"),
            (OpKind::Read, _) if op.documents > 1 => head.extend_from_slice(b"_bulk_get"),
            (_, Some(query)) => (query.write)(op, name, head),
            _ => write_segment(name, head),
        }
        let mut first = true;
        if let (OpKind::Delete, Some(token)) = (op.kind, op.token) {
            head.extend_from_slice(b"?rev=");
            Revision::from(token).write(head);
            first = false;
        }
        if query.is_none() && op.copies == ReadCopies::Asked {
            self.quorum.write(op.kind, first, head);
        }
        head.extend_from_slice(&self.common);
        if op.conditional {
            write_condition(op, head);
        }
        if body_bytes > 0 {
            head.extend_from_slice(b"Content-Type: application/json\r\nContent-Length: ");
            head.extend_from_slice(itoa::Buffer::new().format(body_bytes).as_bytes());
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(b"\r\n");
    }

    /// What the connection's answer means for `op`.
    fn judge(&mut self, op: &Op, answer: Answer, pen: &CouchPen) -> Result<Reply, Failure> {
        if op.kind.is_own() {
            return self.judge_own(op, pen, answer);
        }
        let names = pen.names();
        let body = self.connection.body();
        let expected = match op.kind.class() {
            Class::Read | Class::Query => answer.status == 200,
            Class::Delete => matches!(answer.status, 200 | 202),
            _ if op.kind == OpKind::DatabaseDelete => matches!(answer.status, 200 | 202),
            _ => matches!(answer.status, 201 | 202),
        };
        if !expected {
            let rows = &mut self.rows;
            if op.kind == OpKind::BulkInsert
                && answer::failed_rows(answer.status, body, names, rows)
            {
                return Ok(Reply::default());
            }
            if op.conditional && answer.status == 304 && op.token.is_some() {
                return Ok(Reply { token: op.token, ..Reply::default() });
            }
            return Err(answer::failure(answer.status, body));
        }
        if let Some(query) = queries::of(op) {
            return (query.read)(op, body);
        }
        let mut reply = Reply { accepted: answer.status == 202, ..Reply::default() };
        match op.kind {
            OpKind::BulkInsert => answer::rows(body, names, &mut self.rows)?,
            OpKind::DatabaseCreate | OpKind::DatabaseDelete => {}
            OpKind::Read if op.documents > 1 => {
                several::read(body, names, &mut self.rows, &mut self.places)?;
            }
            OpKind::Read => reply.token = Some(answer::document(body, names)?.into()),
            _ => reply.token = Some(answer::written(body, names)?.into()),
        }
        Ok(reply)
    }

    /// Sends one request and reads its answer. If the answer is lost, the caller has to find out
    /// what happened: doing so here would enlarge the future of every operation.
    pub(super) fn request(
        &mut self,
        op: &Op,
        pen: &mut CouchPen,
        probe: &mut Probe,
    ) -> impl Future<Output = Outcome> {
        async move {
            let sent = pen.payload.body_len() as u64;
            let asked = if op.kind.is_own() { self.own_request(op, pen) } else { request(op, pen) };
            let mut answer = self.connection.exchange(asked, probe).await;
            if let Ok(first) = answer
                && (first.status == 401 || self.connection.set_cookie().is_some())
            {
                // Rare: kept out of the future of all other operations.
                answer = Box::pin(self.renew(op, pen, first, probe)).await;
            }
            if op.conditional {
                self.reported_status = answer.ok().map(|answer| answer.status);
            }
            let (result, received, resent) = match answer {
                Ok(answer) => (self.judge(op, answer, pen), answer.body_bytes, answer.resent),
                Err(failure) => {
                    self.heed(failure);
                    (Err(failure), 0, false)
                }
            };
            let strange = matches!(result, Err(Failure::Protocol | Failure::WrongDocument));
            if strange || self.bulk_failed(Failure::Protocol) {
                // An answer that does not fit this request may belong to another one.
                self.connection.close();
            }
            let noted = self.connection.take_noted();
            let wire = Wire { resent: resent.into(), ..noted.into() };
            Outcome { result, bytes: BodyBytes { sent, received }, wire }
        }
    }

    /// Notes that a request to the current node had no answer.
    #[cold]
    pub(super) fn heed(&self, failure: Failure) {
        if let Some(place) = &self.place {
            place.heed(failure, self.connection.timed_out());
        }
    }

    /// Whether a document of a bulk insert failed this way.
    #[inline]
    fn bulk_failed(&self, failure: Failure) -> bool {
        self.rows.contains(&Err(failure))
    }
}

impl Session for CouchSession {
    type Pen = CouchPen;

    fn pen(&self) -> CouchPen {
        CouchPen::default()
    }

    #[inline]
    fn node(&self) -> Option<usize> {
        self.place.as_ref().map(|place| place.asked)
    }

    async fn ready(&mut self) -> Option<crate::clock::Nanos> {
        let is_open = self.connection.is_open();
        if self.place.as_ref().is_some_and(|place| place.is_restless(is_open)) {
            return Box::pin(self.settle_down()).await;
        }
        self.connection.ready().await
    }

    fn is_open(&self) -> bool {
        self.connection.is_open()
    }

    fn prepare(&mut self, op: &Op, pen: &mut CouchPen) {
        if op.kind.is_own() {
            self.encode_own(op, pen);
            return;
        }
        if is_of_index(op) {
            return;
        }
        if op.kind == OpKind::BulkInsert {
            pen.payload.prepend(b"{\"docs\":[");
            pen.payload.body_mut().extend_from_slice(b"]}");
        }
        if op.kind == OpKind::Read && op.documents > 1 {
            pen.ask_for_several();
        }
        if !looks_up(op) {
            self.encode(op, pen);
        }
    }

    fn is_one_request(&self, op: &Op) -> bool {
        !looks_up(op) && !op.overwrite && !op.settle && !is_of_index(op)
    }

    fn execute(
        &mut self,
        op: &Op,
        pen: &mut CouchPen,
        probe: &mut Probe,
    ) -> impl Future<Output = Outcome> {
        async move {
            let before = self.connection.sent();
            self.reported_status = None;
            self.rows.clear();
            self.places.clear();
            self.listed.clear();
            if self.place.is_some() && self.connection.has_news() {
                Box::pin(self.leave_closed(op, pen, probe)).await;
            }
            if let Some(place) = &mut self.place {
                place.asked = place.at;
            }
            let mut outcome;
            if looks_up(op) {
                // Rare and large: boxed, like the other rare cases below.
                outcome = Box::pin(self.on_stored(op, pen, probe)).await;
            } else if op.kind == OpKind::IndexBuild {
                outcome = Box::pin(self.build_index(op, pen, probe)).await;
            } else if op.kind == OpKind::IndexAudit {
                outcome = Box::pin(self.list_view(op, pen, probe)).await;
            } else if is_of_database(op) {
                outcome = Box::pin(self.on_database(op, pen, probe)).await;
            } else {
                outcome = self.request(op, pen, probe).await;
                if matches!(outcome.result, Err(Failure::Unanswered)) && !op.kind.is_own() {
                    outcome = Box::pin(self.look_after(op, pen, outcome, probe)).await;
                }
            }
            if op.overwrite && matches!(outcome.result, Err(Failure::Conflict)) {
                outcome = Box::pin(self.overwrite(op, pen, outcome, probe)).await;
            }
            if op.settle && self.bulk_failed(Failure::Conflict) {
                outcome = Box::pin(self.settle_conflicts(op, outcome, pen, probe)).await;
            }
            if let (OpKind::Read, 0, Some(seen), Ok(_)) =
                (op.kind, op.limit, &mut self.seen, outcome.result)
                && op.documents == 1
            {
                seen.keep(pen.names(), self.connection.body());
            }
            outcome.wire.requests = Some(self.connection.sent() - before);
            outcome
        }
    }

    fn settled(&self) -> Option<Reply> {
        self.settling.reply
    }

    fn place_of(&self, key: Key) -> Option<String> {
        let many = self.paths.many.as_ref()?;
        Some(many.name(many.spread.database(key)))
    }

    #[inline]
    fn answered(&self) -> Answered<'_> {
        // A document that was not modified is not sent again.
        let document = (self.reported_status != Some(304)).then(|| self.connection.body());
        let document = if self.listed.is_empty() { document } else { Some(&self.listed[..]) };
        Answered { rows: &self.rows, document, places: &self.places, saved: &self.saved }
    }

    fn scanned(&self) -> Option<Vec<&[u8]>> {
        answer::documents(self.connection.body())
    }

    fn shown(&self, pen: &CouchPen) -> Option<SentAs> {
        let bytes = pen.payload.bytes();
        let line = bytes.split(|&byte| byte == b'\r').next()?;
        let line = line.strip_suffix(b" HTTP/1.1").unwrap_or(line);
        let body = &bytes[memchr::memmem::find(bytes, b"\r\n\r\n")? + 4..];
        let request = [line, b"\n", body].concat().trim_ascii_end().to_vec();
        Some(SentAs { request, status: self.connection.status() })
    }

    fn statuses(&self) -> &[u16] {
        self.reported_status.as_slice()
    }

    fn reason(&self, failure: Failure) -> Option<Reason> {
        let status = self.connection.status();
        if let (Failure::Unexpected, Some(words)) = (failure, &self.unmet) {
            return Some(self.credentials.hide(Reason::new(status, words)));
        }
        let row = match (status, failure) {
            // The last answer may be the one to a lookup of the stored document.
            (_, Failure::Unanswered) | (Some(200), Failure::Conflict) => return None,
            (Some(201 | 202 | 500..), _) => answer::row_reason(self.connection.body(), failure),
            _ => None,
        };
        let said = match row {
            Some(text) => Reason::new(status, &text),
            None => reason::of(&self.connection)?,
        };
        Some(self.credentials.hide(said))
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
