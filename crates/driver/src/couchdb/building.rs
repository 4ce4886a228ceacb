//! Builds the indexes of a plan's design documents before the load, and waits for indexes.

use super::design::DESIGNS;
use super::pen::CouchPen;
use super::session::CouchSession;
use super::words::count_any;
use super::{answer, encode_segment};
use crate::Outcome;
use crate::clock::Nanos;
use crate::http1::{Answer, Request};
use crate::measure::{BodyBytes, Probe, Wire};
use crate::op::{Failure, Op, Reply};
use serde_json::Value;
use std::time::Duration;

/// How long to wait between two checks of an index that is being built.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A request below the database.
struct DatabaseRequest<'a> {
    method: &'static str,
    place: &'a str,
    body: &'a [u8],
}

impl CouchSession {
    /// Stores a design document and waits until its index is built.
    pub(super) async fn build_index(
        &mut self,
        op: &Op,
        pen: &mut CouchPen,
        probe: &mut Probe,
    ) -> Outcome {
        probe.mark_send_at_once();
        let result = self.built(op, pen).await;
        probe.mark_received();
        Outcome { result, bytes: BodyBytes::default(), wire: Wire::default() }
    }

    async fn built(&mut self, op: &Op, pen: &mut CouchPen) -> Result<Reply, Failure> {
        let designs = self.designs.clone();
        let design = designs.get(op.key as usize).ok_or(Failure::Protocol)?;
        let (method, place, body) = design.stored_by();
        let put = DatabaseRequest { method, place: &place, body: &body };
        let stored = self.send(&put, pen).await?;
        // The same design document existed before.
        if !matches!(stored.status, 200 | 201 | 202 | 409) {
            return Err(answer::failure(stored.status, self.connection.body()));
        }
        let Some((method, place, body)) = design.asked_by() else { return Ok(Reply::default()) };
        let info = format!("_design/{}/_info", encode_segment(design.name()));
        self.ask_patiently(method, &place, &body, &info, pen).await?;
        let rows = self.indexed(pen).await?;
        Ok(Reply { rows, ..Reply::default() })
    }

    /// Queries an index, and waits as long as the server makes progress with building it.
    pub(super) async fn ask_patiently(
        &mut self,
        method: &'static str,
        place: &str,
        body: &[u8],
        info: &str,
        pen: &mut CouchPen,
    ) -> Result<(), Failure> {
        loop {
            match self.send(&DatabaseRequest { method, place, body }, pen).await {
                Ok(Answer { status: 200, .. }) => return Ok(()),
                Ok(answer) => {
                    return Err(answer::failure(answer.status, self.connection.body()));
                }
                // The server goes on building the index.
                Err(Failure::Timeout | Failure::Unanswered) if self.connection.timed_out() => {
                    self.watch(info, pen).await?;
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    /// How many documents are stored, without design documents; 0 if the server does not say.
    async fn indexed(&mut self, pen: &mut CouchPen) -> Result<u32, Failure> {
        let database = DatabaseRequest { method: "GET", place: "", body: b"" };
        let all = match self.send(&database, pen).await?.status {
            200 => documents(self.connection.body()),
            _ => return Ok(0),
        };
        let asked = DatabaseRequest { method: "GET", place: DESIGNS, body: b"" };
        let designs = match self.send(&asked, pen).await?.status {
            200 => count_any(self.connection.body())?.rows,
            _ => 0,
        };
        Ok(all.saturating_sub(designs).try_into().unwrap_or(u32::MAX))
    }

    /// Waits until the server has indexed every document, as long as it makes progress.
    async fn watch(&mut self, info: &str, pen: &mut CouchPen) -> Result<(), Failure> {
        let (mut least, mut since) = (u64::MAX, self.clock.now());
        loop {
            let asked = DatabaseRequest { method: "GET", place: info, body: b"" };
            let answer = self.send(&asked, pen).await?;
            let left = if answer.status == 200 { pending(self.connection.body()) } else { None };
            // If the server does not report its progress, the index is queried again.
            let Some(left) = left.filter(|left| *left > 0) else { return Ok(()) };
            let now: Nanos = self.clock.now();
            if left < least {
                (least, since) = (left, now);
            } else if now.saturating_sub(since) > self.connection.timeout_ns() {
                return Err(Failure::Timeout);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Sends a request below the database, with its own timeout. If the cookie has expired, the
    /// request is sent again with a new one.
    async fn send(
        &mut self,
        asked: &DatabaseRequest<'_>,
        pen: &mut CouchPen,
    ) -> Result<Answer, Failure> {
        for _ in 0..2 {
            let now = self.clock.now();
            let mut probe = Probe::new(self.clock, now, now);
            let bytes = self.request_bytes(asked, pen);
            let answer = self.connection.exchange(Request::reading(bytes), &mut probe).await?;
            if answer.status != 401 || !self.log_in().await? {
                return Ok(answer);
            }
        }
        Err(Failure::Authentication)
    }

    fn request_bytes<'a>(&self, asked: &DatabaseRequest<'_>, pen: &'a mut CouchPen) -> &'a [u8] {
        let head = &mut pen.head;
        head.clear();
        head.extend_from_slice(asked.method.as_bytes());
        head.push(b' ');
        // The database itself has no slash at its end.
        let slash = usize::from(asked.place.is_empty());
        let path = self.paths.alone();
        head.extend_from_slice(&path[..path.len() - slash]);
        head.extend_from_slice(asked.place.as_bytes());
        head.extend_from_slice(&self.common);
        if asked.method != "GET" {
            head.extend_from_slice(b"Content-Type: application/json\r\nContent-Length: ");
            head.extend_from_slice(itoa::Buffer::new().format(asked.body.len()).as_bytes());
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(b"\r\n");
        head.extend_from_slice(asked.body);
        head
    }
}

/// How many changes an index has yet to process; `None` if the server does not say.
fn pending(body: &[u8]) -> Option<u64> {
    let info: Value = serde_json::from_slice(body).ok()?;
    let index = &info["view_index"];
    let left = index["updates_pending"]["total"].as_u64()?;
    // It may have processed all changes, and still be writing.
    Some(left.max(u64::from(index["updater_running"] == true)))
}

/// How many documents a database has, according to the server.
fn documents(body: &[u8]) -> u64 {
    let database: Value = serde_json::from_slice(body).unwrap_or_default();
    database["doc_count"].as_u64().unwrap_or(0)
}
