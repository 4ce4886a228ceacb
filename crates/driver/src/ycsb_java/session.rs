//! One connection: one frame goes out, and one frame comes back.

use super::frame::{Accepted, BindingAnswer, MOST, ROOM, whole};
use super::host::{Door, Host};
use super::{JavaPen, YcsbJava};
use crate::clock::Nanos;
use crate::link::Link;
use crate::measure::{BodyBytes, Probe};
use crate::net::{ShardContext, Trouble};
use crate::op::{Answered, Failure, Op, OpKind, Reason, Reply, Token};
use crate::{Outcome, Session};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

/// A connection to the Java process, and thus to a `DB` object.
#[derive(Debug)]
pub struct JavaSession {
    door: Door,
    host: Option<Arc<Host>>,
    pub(super) link: Link,
    frame: Vec<u8>,
    answer: BindingAnswer,
    rows: Vec<Result<Token, Failure>>,
}

impl JavaSession {
    pub(super) fn new(target: &YcsbJava, context: &Rc<ShardContext>) -> Self {
        Self {
            door: target.door.clone(),
            host: target.host.clone(),
            link: Link::new(context),
            frame: Vec::new(),
            answer: BindingAnswer::default(),
            rows: Vec::new(),
        }
    }

    fn judge(&mut self, op: &Op, looks: bool) -> Result<Reply, Failure> {
        let most = match op.kind {
            OpKind::Scan => u32::MAX,
            OpKind::Read => 1,
            _ => 0,
        };
        let read = self.answer.read(&self.frame[4..], op.documents, most, looks);
        read.ok_or(Failure::Protocol)?;
        let stored = |result: &Result<Accepted, Failure>| *result == Ok(Accepted::Batched);
        let accepted = self.answer.results.iter().any(|(result, _)| stored(result));
        let reply = Reply { accepted, rows: self.answer.count, ..Reply::default() };
        if op.kind == OpKind::BulkInsert {
            let results = self.answer.results.iter();
            self.rows.extend(results.map(|(result, _)| result.map(|_| Token::default())));
            return Ok(Reply { rows: 0, ..reply });
        }
        let rows = if op.kind == OpKind::Scan { reply.rows } else { 0 };
        let result = self.answer.results.first().ok_or(Failure::Protocol)?.0;
        result.map(|_| Reply { rows, ..reply })
    }
}

impl Session for JavaSession {
    type Pen = JavaPen;

    fn pen(&self) -> JavaPen {
        JavaPen::default()
    }

    async fn ready(&mut self) -> Option<Nanos> {
        let since = self.link.due().await?;
        let connected = match self.link.deadline.within(since, pin!(self.door.enter())).await {
            Some(Ok(Ok(stream))) => Ok(stream),
            Some(Ok(Err(why))) => {
                let why = format!("init of the binding failed: {why}");
                Err(Some((Failure::Connect, why)))
            }
            Some(Err(error)) => {
                // If the process is about to end, the reason will soon be known.
                let host = self.host.as_ref().filter(|_| self.link.failed == 0);
                let ended = match host {
                    Some(host) => host.end_of().await,
                    None => None,
                };
                Err(Some(match ended {
                    Some(how) => (Failure::Connect, how),
                    None => Trouble::refused(&error),
                }))
            }
            None => Err(None),
        };
        self.link.take(connected);
        Some(since)
    }

    fn prepare(&mut self, op: &Op, pen: &mut JavaPen) {
        pen.spell(op);
    }

    async fn execute(&mut self, op: &Op, pen: &mut JavaPen, probe: &mut Probe) -> Outcome {
        self.rows.clear();
        self.frame.clear();
        self.answer = BindingAnswer::default();
        if let Some(refused) = pen.refused {
            probe.mark_failed();
            return Outcome::of(Err(refused));
        }
        let arrived = |read: &[u8]| Ok(whole(read, MOST + ROOM)?.is_some());
        let exchange = self.link.exchange(&pen.frame, &mut self.frame, probe, arrived).await;
        let mut outside_ns = 0;
        let result = exchange.and_then(|()| {
            let result = self.judge(op, pen.looks);
            if result == Err(Failure::Protocol) {
                return result;
            }
            outside_ns = probe.mark_inside(self.answer.inside_ns).ok_or(Failure::Protocol)?;
            result
        });
        let bytes = BodyBytes { sent: pen.bytes, received: self.answer.bytes };
        let mut outcome = self.link.ended(op, result, bytes, probe);
        outcome.wire.outside_ns = outside_ns;
        if self.link.stream.is_none() {
            outcome.bytes.received = 0;
            self.answer = BindingAnswer::default();
            self.rows.clear();
        }
        outcome
    }

    fn answered(&self) -> Answered<'_> {
        let document = self.answer.rows.first().map(Vec::as_slice);
        Answered { rows: &self.rows, document, ..Answered::default() }
    }

    fn scanned(&self) -> Option<Vec<&[u8]>> {
        Some(self.answer.rows.iter().map(Vec::as_slice).collect())
    }

    /// The reason given by the binding, or how its process ended.
    fn reason(&self, failure: Failure) -> Option<Reason> {
        let of_class = |(result, _): &&(Result<Accepted, Failure>, _)| *result == Err(failure);
        let text = match self.answer.results.iter().find(of_class) {
            Some((_, place)) => {
                String::from_utf8_lossy(self.frame[4..].get(place.clone())?).into_owned()
            }
            None if failure.answered() => return None,
            None => {
                let ended = self.host.as_ref().and_then(|it| it.ended());
                ended.or_else(|| self.link.refused.clone().map(|it| it.1))?
            }
        };
        Some(Reason::new(None, &text))
    }
}
