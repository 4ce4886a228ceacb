//! One connection: sends lines and reads lines.

use super::LinePen;
use super::words::Own;
use crate::clock::Nanos;
use crate::link::Link;
use crate::measure::{BodyBytes, Probe};
use crate::net::{ShardContext, Trouble};
use crate::op::{Answered, Failure, Op, OpKind, Reason, Reply, Token};
use crate::{Outcome, Session};
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use tokio::net::TcpStream;

/// The longest answer that is read, in bytes.
const MOST: usize = 64 << 20;

/// A connection to a server of this protocol.
#[derive(Debug)]
pub struct LineSession {
    address: SocketAddr,
    pub(super) link: Link,
    answer: Vec<u8>,
    rows: Vec<Result<Token, Failure>>,
    own: Own,
    /// The expectation that the last answer did not meet, if any.
    unmet: Option<String>,
}

impl LineSession {
    pub(super) fn new(address: SocketAddr, own: Own, context: &Rc<ShardContext>) -> Self {
        let (answer, rows) = (Vec::new(), Vec::new());
        Self { address, link: Link::new(context), answer, rows, own, unmet: None }
    }

    fn judge(&mut self, op: &Op) -> Result<Reply, Failure> {
        let mut lines = self.answer.split(|&byte| byte == b'\n');
        if op.kind == OpKind::BulkInsert {
            let stored = |line| said(line).map(|_| Token::default());
            self.rows.extend(lines.take(op.documents as usize).map(stored));
            return Ok(Reply::default());
        }
        let document = said(lines.next().unwrap_or_default())?;
        if op.kind.is_own() {
            return self.own.reply(op.kind, 1).map_err(|words| {
                self.unmet = Some(words);
                Failure::Unexpected
            });
        }
        let whole = op.kind != OpKind::Read
            || serde_json::from_slice::<serde::de::IgnoredAny>(document).is_ok();
        if whole { Ok(Reply::default()) } else { Err(Failure::Protocol) }
    }
}

/// Whether as many lines have arrived as were sent.
fn arrived(sent: &[u8]) -> impl FnMut(&[u8]) -> Result<bool, Failure> {
    let mut left = memchr::memchr_iter(b'\n', sent).count();
    let mut seen = 0;
    move |answer| {
        let came = memchr::memchr_iter(b'\n', &answer[seen..]).count();
        seen = answer.len();
        left = left.checked_sub(came).ok_or(Failure::Protocol)?;
        let fits = seen <= MOST && (left > 0 || answer.ends_with(b"\n"));
        if fits { Ok(left == 0) } else { Err(Failure::Protocol) }
    }
}

/// The text after `OK`.
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
        let since = self.link.due().await?;
        let connecting = TcpStream::connect(self.address);
        let connected = self.link.deadline.within(since, pin!(connecting)).await;
        let connected = connected.ok_or(None).and_then(|connected| {
            let connected = connected.and_then(|stream| stream.set_nodelay(true).map(|()| stream));
            connected.map_err(|error| Some(Trouble::refused(&error)))
        });
        self.link.take(connected);
        Some(since)
    }

    fn prepare(&mut self, op: &Op, pen: &mut LinePen) {
        match self.own.get(op.kind) {
            Some(own) => pen.spell_own(&own.line),
            None => pen.spell(op),
        }
    }

    async fn execute(&mut self, op: &Op, pen: &mut LinePen, probe: &mut Probe) -> Outcome {
        self.rows.clear();
        self.answer.clear();
        let exchange =
            self.link.exchange(&pen.lines, &mut self.answer, probe, arrived(&pen.lines)).await;
        let result = exchange.and_then(|()| self.judge(op));
        let bytes = BodyBytes { sent: pen.lines.len() as u64, received: self.answer.len() as u64 };
        let outcome = self.link.ended(op, result, bytes, probe);
        if outcome.result.is_ok() && self.rows.contains(&Err(Failure::Protocol)) {
            probe.mark_failed();
            self.link.stream = None;
        }
        outcome
    }

    fn answered(&self) -> Answered<'_> {
        let line = self.answer.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let document = line.strip_prefix(b"OK ");
        Answered { rows: &self.rows, document, ..Answered::default() }
    }

    fn reason(&self, failure: Failure) -> Option<Reason> {
        if let (Failure::Unexpected, Some(words)) = (failure, &self.unmet) {
            return Some(Reason::new(None, words));
        }
        if failure.unconnected() {
            return self.link.refused.as_ref().map(|(_, why)| Reason::new(None, why));
        }
        let line = self.answer.split(|&byte| byte == b'\n').find(|it| said(it) == Err(failure))?;
        Some(Reason::new(None, &String::from_utf8_lossy(line)))
    }
}
