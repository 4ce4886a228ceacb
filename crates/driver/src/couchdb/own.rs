//! Operations that the plan defines: their requests are joined from pieces, and their answers
//! compared with what is expected.

use super::answer;
use super::pen::CouchPen;
use super::session::CouchSession;
use super::words::{Counted, SpelledRequest, lists, whole};
use crate::http1::{Answer, Request};
use crate::op::{Failure, Op, Reply};
use crate::words::{Expect, JudgedAnswer, save, with_sample};

impl CouchSession {
    fn spelled(&self, op: &Op) -> Option<&SpelledRequest> {
        self.own.get(op.kind)?.as_ref()
    }

    /// Joins a request from its pieces and its values.
    pub(super) fn encode_own(&self, op: &Op, pen: &mut CouchPen) {
        let Some(body) = self.spelled(op).map(|spelled| &spelled.body) else { return };
        if let Some(body) = body {
            body.join(&pen.values, &mut pen.scratch, pen.payload.body_mut());
        }
        self.add_head(op, pen);
    }

    /// Puts the head in front of the body.
    pub(super) fn add_head(&self, op: &Op, pen: &mut CouchPen) {
        let Some(SpelledRequest { method, path, headers, body, .. }) = self.spelled(op) else {
            return;
        };
        pen.payload.mark_body();
        let head = &mut pen.head;
        head.clear();
        head.extend_from_slice(method.as_bytes());
        head.push(b' ');
        head.extend_from_slice(self.paths.alone());
        path.join(&pen.values, &mut pen.scratch, head);
        head.extend_from_slice(&self.common);
        head.extend_from_slice(headers.as_bytes());
        if body.is_some() {
            head.extend_from_slice(b"Content-Length: ");
            head.extend_from_slice(itoa::Buffer::new().format(pen.payload.body_len()).as_bytes());
            head.extend_from_slice(b"\r\n");
        } else if method != "GET" {
            head.extend_from_slice(b"Content-Length: 0\r\n");
        }
        head.extend_from_slice(b"\r\n");
        pen.payload.prepend(head);
    }

    /// The request that was encoded. Only one that reads may be resent.
    pub(super) fn own_request<'a>(&self, op: &Op, pen: &'a CouchPen) -> Request<'a> {
        let bytes = pen.payload.bytes();
        let reads = self.spelled(op).is_some_and(|spelled| spelled.reads);
        if reads { Request::reading(bytes) } else { Request::changing(bytes) }
    }

    pub(super) fn judge_own(
        &mut self,
        op: &Op,
        pen: &CouchPen,
        answer: Answer,
    ) -> Result<Reply, Failure> {
        let Some(spelled) = self.spelled(op) else { return Err(Failure::Protocol) };
        let (status, body) = (answer.status, self.connection.body());
        let is_error = !(200..300).contains(&status);
        if is_error && !spelled.expect.takes(status) {
            return Err(answer::failure(status, body));
        }
        // The body of an error has no rows.
        let counted = if is_error { Counted::default() } else { (spelled.count)(body)? };
        let has = |place| lists(body, pen.values.get(place).0);
        let has_document = spelled.document.filter(|_| !is_error).map(has);
        let mut found = JudgedAnswer { status, rows: counted.rows, has_document, body };
        // An index that is queried without an update may lack the last write; that is not a
        // failure.
        let outdated = spelled.as_it_is && has_document == Some(false);
        if outdated {
            found.has_document = None;
        }
        if !spelled.expect.is_met(&found) {
            self.unmet = unmet(&spelled.expect, &found);
            return Err(Failure::Unexpected);
        }
        let looked = spelled.key.filter(|_| pen.looks && !spelled.partial && !is_error);
        let whole = looked.map(|place| whole(body, pen.values.get(place).0)).transpose()?;
        let head = self.connection.head();
        match save(&spelled.save, head, body) {
            Ok(saved) => self.saved = saved,
            Err(missing) => {
                self.unmet = Some(missing);
                return Err(Failure::Unexpected);
            }
        }
        if let Some((token, place)) = whole.flatten() {
            self.rows.push(Ok(token));
            self.places.push(place);
        }
        let rows = u32::try_from(found.rows).unwrap_or(u32::MAX);
        let (warned, accepted) = (counted.warned, status == 202);
        Ok(Reply { rows, warned, outdated, accepted, ..Reply::default() })
    }
}

/// What was expected of an answer and what was received, with the beginning of the body.
#[cold]
fn unmet(expect: &Expect, found: &JudgedAnswer<'_>) -> Option<String> {
    expect.unmet(found).map(|words| with_sample(words, found.body))
}
