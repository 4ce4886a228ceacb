//! One connection: sends lines and reads lines.

use super::LinePen;
use crate::clock::{Clock, Nanos};
use crate::measure::{BodyBytes, Probe, Wire};
use crate::net::{Deadline, ShardContext, Trouble, rest_after};
use crate::op::{Answered, Failure, Op, OpKind, Reason, Reply, Token};
use crate::{Outcome, Session};
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The longest answer that is read, in bytes.
const MOST: usize = 64 << 20;

/// A connection to a server of this protocol.
#[derive(Debug)]
pub struct LineSession {
    address: SocketAddr,
    pub(super) stream: Option<TcpStream>,
    /// Consecutive failed attempts to connect.
    failed: u32,
    /// Why the last attempt failed, if the system said so.
    refusal: Option<(Failure, String)>,
    answer: Vec<u8>,
    rows: Vec<Result<Token, Failure>>,
    deadline: Deadline,
    clock: Clock,
    unsolicited: u64,
}

impl LineSession {
    pub(super) fn new(address: SocketAddr, context: &Rc<ShardContext>) -> Self {
        Self {
            address,
            stream: None,
            failed: 0,
            refusal: None,
            answer: Vec::new(),
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
    fn judge(&mut self, op: &Op) -> Result<Reply, Failure> {
        let mut lines = self.answer.split(|&byte| byte == b'\n');
        if op.kind == OpKind::BulkInsert {
            let stored = |line| match said(line) {
                // It was stored by an earlier request, whose answer was lost.
                Err(Failure::Conflict) if op.settle => Ok(Token::default()),
                ended => ended.map(|_| Token::default()),
            };
            self.rows.extend(lines.take(op.documents as usize).map(stored));
            return Ok(Reply::default());
        }
        let document = said(lines.next().unwrap_or_default())?;
        let whole = op.kind != OpKind::Read
            || serde_json::from_slice::<serde::de::IgnoredAny>(document).is_ok();
        if whole { Ok(Reply::default()) } else { Err(Failure::Protocol) }
    }
}

/// Sends `lines`, and reads as many answers into `answer`.
async fn exchange(
    stream: &mut Option<TcpStream>,
    lines: &[u8],
    answer: &mut Vec<u8>,
    probe: &mut Probe,
) -> Result<(), Failure> {
    let stream = stream.as_mut().ok_or(Failure::Connect)?;
    let mut left = memchr::memchr_iter(b'\n', lines).count();
    probe.mark_send();
    stream.write_all(lines).await.map_err(|_| Failure::Reset)?;
    probe.mark_sent();
    while left > 0 {
        let before = answer.len();
        match stream.read_buf(answer).await {
            Ok(1..) if answer.len() <= MOST => probe.mark_received(),
            Ok(1..) => return Err(Failure::Protocol),
            Ok(0) | Err(_) => return Err(Failure::Reset),
        }
        let came = memchr::memchr_iter(b'\n', &answer[before..]).count();
        left = left.checked_sub(came).ok_or(Failure::Protocol)?;
    }
    if answer.ends_with(b"\n") { Ok(()) } else { Err(Failure::Protocol) }
}

/// What follows `OK`.
fn said(line: &[u8]) -> Result<&[u8], Failure> {
    match line {
        b"OK" => Ok(b""),
        b"EXISTS" => Err(Failure::Conflict),
        b"MISSING" => Err(Failure::NotFound),
        _ if line.starts_with(b"ERROR") => Err(Failure::Rejected),
        _ => line.strip_prefix(b"OK ").ok_or(Failure::Protocol),
    }
}

impl Session for LineSession {
    type Pen = LinePen;

    fn pen(&self) -> LinePen {
        LinePen::default()
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
        let connecting = TcpStream::connect(self.address);
        let connected = self.deadline.within(since, connecting).await;
        self.refusal = connected.as_ref().and_then(|it| it.as_ref().err()).map(Trouble::refused);
        let stream = connected.and_then(Result::ok);
        self.failed = if stream.is_some() { 0 } else { self.failed + 1 };
        self.stream = stream.filter(|stream| stream.set_nodelay(true).is_ok());
        Some(since)
    }

    fn prepare(&mut self, op: &Op, pen: &mut LinePen) {
        pen.spell(op);
    }

    async fn execute(&mut self, op: &Op, pen: &mut LinePen, probe: &mut Probe) -> Outcome {
        self.rows.clear();
        self.answer.clear();
        let began = probe.began();
        let exchange = exchange(&mut self.stream, &pen.lines, &mut self.answer, probe);
        let ended = self.deadline.within(began, exchange).await;
        let result = match ended.unwrap_or(Err(Failure::Timeout)) {
            Ok(()) => self.judge(op),
            Err(failure) => Err(failure),
        };
        let changes = op.kind != OpKind::Read;
        let result = result.map_err(|failure| match failure {
            // It is unknown whether it was carried out.
            Failure::Timeout | Failure::Reset if changes => Failure::Unanswered,
            Failure::Connect => self.refusal.as_ref().map_or(failure, |it| it.0),
            other => other,
        });
        let broken = |failure: &Failure| !failure.answered();
        if result.as_ref().err().is_some_and(broken) || self.rows.contains(&Err(Failure::Protocol))
        {
            probe.mark_failed();
            self.stream = None;
        }
        // Without a connection nothing was sent.
        let sent = !result.is_err_and(Failure::unconnected);
        let wire = Wire {
            requests: Some(u64::from(sent)),
            unsolicited: std::mem::take(&mut self.unsolicited),
            ..Wire::default()
        };
        let bytes = BodyBytes {
            sent: if sent { pen.lines.len() as u64 } else { 0 },
            received: self.answer.len() as u64,
        };
        Outcome { result, bytes, wire }
    }

    fn answered(&self) -> Answered<'_> {
        let line = self.answer.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let document = line.strip_prefix(b"OK ");
        Answered { rows: &self.rows, document, ..Answered::default() }
    }

    fn reason(&self, failure: Failure) -> Option<Reason> {
        if failure.unconnected() {
            return self.refusal.as_ref().map(|(_, why)| Reason::new(None, why));
        }
        let line = self.answer.split(|&byte| byte == b'\n').find(|it| said(it) == Err(failure))?;
        Some(Reason::new(None, &String::from_utf8_lossy(line)))
    }
}
