//! One connection: one frame goes out, and one frame comes back.

use super::frame::{Answer, MOST, ROOM, Stored, whole};
use super::host::{Door, Host};
use super::{JavaPen, YcsbJava};
use crate::clock::{Clock, Nanos};
use crate::measure::{BodyBytes, Probe, Wire};
use crate::net::{Deadline, ShardContext, Trouble, rest_after};
use crate::op::{Answered, Failure, Op, OpKind, Reason, Reply, Token};
use crate::{Outcome, Session};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A connection to the Java process, and thus to a `DB` object.
#[derive(Debug)]
pub struct JavaSession {
    door: Door,
    host: Option<Arc<Host>>,
    pub(super) stream: Option<TcpStream>,
    /// Consecutive failed attempts to connect.
    failed: u32,
    /// Why the last connection was not made, according to the binding or the system.
    refusal: Option<(Failure, String)>,
    frame: Vec<u8>,
    answer: Answer,
    rows: Vec<Result<Token, Failure>>,
    deadline: Deadline,
    clock: Clock,
    unsolicited: u64,
}

impl JavaSession {
    pub(super) fn new(target: &YcsbJava, context: &Rc<ShardContext>) -> Self {
        Self {
            door: target.door.clone(),
            host: target.host.clone(),
            stream: None,
            failed: 0,
            refusal: None,
            frame: Vec::new(),
            answer: Answer::default(),
            rows: Vec::new(),
            deadline: context.register(),
            clock: context.clock(),
            unsolicited: 0,
        }
    }

    /// Drops a connection that the peer has closed, or on which it sent something unsolicited.
    fn look(&mut self) {
        let Some(stream) = &self.stream else { return };
        match stream.try_read(&mut [0; 16]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            read => {
                self.unsolicited += u64::from(matches!(read, Ok(1..)));
                self.stream = None;
            }
        }
    }

    /// What the answer means.
    fn judge(&mut self, op: &Op, looks: bool) -> Result<Reply, Failure> {
        let most = match op.kind {
            OpKind::Scan => u32::MAX,
            OpKind::Read => 1,
            _ => 0,
        };
        let read = self.answer.read(&self.frame[4..], (op.documents, most), looks);
        read.ok_or(Failure::Protocol)?;
        let stored = |result: &Result<Stored, Failure>| *result == Ok(Stored::Batched);
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

/// Sends `frame`, and reads the answer.
async fn exchange(
    stream: &mut Option<TcpStream>,
    frame: &[u8],
    answer: &mut Vec<u8>,
    probe: &mut Probe,
) -> Result<(), Failure> {
    let stream = stream.as_mut().ok_or(Failure::Connect)?;
    probe.mark_send();
    stream.write_all(frame).await.map_err(|_| Failure::Reset)?;
    probe.mark_sent();
    loop {
        match stream.read_buf(answer).await {
            Ok(1..) => probe.mark_received(),
            Ok(0) | Err(_) => return Err(Failure::Reset),
        }
        if whole(answer, MOST + ROOM)?.is_some() {
            return Ok(());
        }
    }
}

impl Session for JavaSession {
    type Pen = JavaPen;

    fn pen(&self) -> JavaPen {
        JavaPen::default()
    }

    async fn ready(&mut self) -> Option<Nanos> {
        self.look();
        if self.stream.is_some() {
            return None;
        }
        if self.failed > 0 {
            tokio::time::sleep(rest_after(self.failed)).await;
        }
        let since = self.clock.now();
        let connected = self.deadline.within(since, self.door.enter()).await;
        self.refusal = None;
        self.stream = match connected {
            Some(Ok(Ok(stream))) => Some(stream),
            Some(Ok(Err(why))) => {
                let why = format!("init of the binding failed: {why}");
                self.refusal = Some((Failure::Connect, why));
                None
            }
            Some(Err(error)) => {
                // The process may be about to end, in which case it will soon be known how.
                let host = self.host.as_ref().filter(|_| self.failed == 0);
                let ended = match host {
                    Some(host) => host.end_of().await,
                    None => None,
                };
                self.refusal = Some(match ended {
                    Some(how) => (Failure::Connect, how),
                    None => Trouble::refused(&error),
                });
                None
            }
            None => None,
        };
        self.failed = if self.stream.is_some() { 0 } else { self.failed + 1 };
        Some(since)
    }

    fn prepare(&mut self, op: &Op, pen: &mut JavaPen) {
        pen.spell(op);
    }

    async fn execute(&mut self, op: &Op, pen: &mut JavaPen, probe: &mut Probe) -> Outcome {
        self.rows.clear();
        self.frame.clear();
        self.answer = Answer::default();
        if let Some(refused) = pen.refused {
            probe.mark_failed();
            return Outcome::of(Err(refused));
        }
        let began = probe.began();
        let exchange = exchange(&mut self.stream, &pen.frame, &mut self.frame, probe);
        let ended = self.deadline.within(began, exchange).await;
        let mut outside_ns = 0;
        let result = ended.unwrap_or(Err(Failure::Timeout)).and_then(|()| {
            let result = self.judge(op, pen.looks);
            if result == Err(Failure::Protocol) {
                return result;
            }
            outside_ns = probe.mark_inside(self.answer.inside_ns).ok_or(Failure::Protocol)?;
            result
        });
        let changes = !op.kind.only_reads();
        let result = result.map_err(|failure| match failure {
            // It is unknown whether it was carried out.
            Failure::Timeout | Failure::Reset if changes => Failure::Unanswered,
            Failure::Connect => self.refusal.as_ref().map_or(failure, |it| it.0),
            other => other,
        });
        if result.is_err_and(|failure| !failure.answered()) {
            probe.mark_failed();
            self.stream = None;
            self.answer = Answer::default();
            self.rows.clear();
        }
        // Without a connection nothing was sent.
        let sent = !result.is_err_and(Failure::unconnected);
        let wire = Wire {
            requests: Some(u64::from(sent)),
            unsolicited: std::mem::take(&mut self.unsolicited),
            outside_ns,
            ..Wire::default()
        };
        let bytes =
            BodyBytes { sent: if sent { pen.bytes } else { 0 }, received: self.answer.bytes };
        Outcome { result, bytes, wire }
    }

    fn answered(&self) -> Answered<'_> {
        let document = self.answer.rows.first().map(Vec::as_slice);
        Answered { rows: &self.rows, document, ..Answered::default() }
    }

    fn scanned(&self) -> Option<Vec<&[u8]>> {
        Some(self.answer.rows.iter().map(Vec::as_slice).collect())
    }

    /// What the binding said, or how its process ended.
    fn reason(&self, failure: Failure) -> Option<Reason> {
        let of_class = |(result, _): &&(Result<Stored, Failure>, _)| *result == Err(failure);
        let text = match self.answer.results.iter().find(of_class) {
            Some((_, place)) => {
                String::from_utf8_lossy(self.frame[4..].get(place.clone())?).into_owned()
            }
            None if failure.answered() => return None,
            None => {
                let ended = self.host.as_ref().and_then(|it| it.ended());
                ended.or_else(|| self.refusal.clone().map(|it| it.1))?
            }
        };
        Some(Reason::new(None, &text))
    }
}
