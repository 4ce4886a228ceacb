//! Updates and deletes of whatever revision is stored.

use super::answer;
use super::pen::CouchPen;
use super::session::CouchSession;
use crate::Outcome;
use crate::measure::Probe;
use crate::op::{Failure, Op, OpKind, Pen, Reply};

/// How often an update or delete without a revision is tried while other clients write the
/// document. With 50 connections and a record that got every 25th request, 32 tries were not always
/// enough.
const TRIES: u32 = 256;

impl CouchSession {
    /// Updates or deletes whatever revision is stored: reads it first, and reads it again each time
    /// another client was faster.
    pub(super) async fn on_stored(
        &mut self,
        op: &Op,
        pen: &CouchPen,
        probe: &mut Probe,
    ) -> Outcome {
        let mut inner = self.inner.take().unwrap_or_default();
        let mut sum = self.try_on_seen_or_stored(op, pen, &mut inner, probe).await;
        for _ in 1..TRIES {
            if sum.result != Err(Failure::Conflict) {
                break;
            }
            let again = self.try_on_stored(op, pen, &mut inner, probe).await;
            sum = again.after(&sum);
            sum.wire.retries += 1;
        }
        self.inner = Some(inner);
        sum
    }

    /// Overwrites a document that turned out to exist already.
    pub(super) async fn overwrite(
        &mut self,
        op: &Op,
        pen: &mut CouchPen,
        first: Outcome,
        probe: &mut Probe,
    ) -> Outcome {
        pen.payload.strip_head();
        let update = Op { kind: OpKind::Update, ..*op };
        let mut outcome = self.on_stored(&update, pen, probe).await.after(&first);
        outcome.wire.retries += 1;
        outcome
    }

    /// Tries with the document seen last, if it is kept; otherwise with the stored one.
    async fn try_on_seen_or_stored(
        &mut self,
        op: &Op,
        pen: &CouchPen,
        inner: &mut CouchPen,
        probe: &mut Probe,
    ) -> Outcome {
        let seen = self.seen.as_ref().and_then(|seen| seen.get(pen.names()));
        if let (OpKind::Update, Some(seen)) = (op.kind, seen) {
            inner.begin(pen.names());
            let body = inner.payload.body_mut();
            let merged = answer::merge(seen, pen.names(), pen.payload.body(), body);
            if let Ok(revision) = merged {
                let write = Op { token: Some(revision.into()), ..*op };
                return self.write(&write, inner, probe).await;
            }
        }
        self.try_on_stored(op, pen, inner, probe).await
    }

    /// Sends a write that names its revision, and keeps the new document.
    async fn write(&mut self, op: &Op, inner: &mut CouchPen, probe: &mut Probe) -> Outcome {
        self.encode(op, inner);
        let mut written = self.request(op, inner, probe).await;
        if written.result == Err(Failure::Unanswered) {
            written = Box::pin(self.look_after(op, inner, written, probe)).await;
        }
        if let Some(seen) = &mut self.seen {
            let token = written.result.ok().and_then(|reply| reply.token);
            inner.payload.strip_head();
            match (op.kind, op.token, token) {
                (OpKind::Update, Some(old), Some(new)) => {
                    seen.replace(inner.names(), inner.payload.body(), old.into(), new.into());
                }
                _ => seen.forget(inner.names()),
            }
        }
        written
    }

    async fn try_on_stored(
        &mut self,
        op: &Op,
        pen: &CouchPen,
        inner: &mut CouchPen,
        probe: &mut Probe,
    ) -> Outcome {
        inner.begin(pen.names());
        let read = Op::single(OpKind::Read, op.key, None);
        self.encode(&read, inner);
        let found = self.request(&read, inner, probe).await;
        let Ok(Reply { token, .. }) = found.result else { return found };
        inner.begin(pen.names());
        if op.kind == OpKind::Update {
            let (stored, body) = (self.connection.body(), inner.payload.body_mut());
            let changes = pen.payload.body();
            if let Err(failure) = answer::merge(stored, pen.names(), changes, body) {
                return Outcome { result: Err(failure), ..found };
            }
        }
        self.write(&Op { token, ..*op }, inner, probe).await.after(&found)
    }
}
