//! The null responder: stores nothing, answers at once or as scripted, as cheaply as possible.
//!
//! It implements HTTP/1.1 itself, because a client's limit is measured against its cost: one read,
//! one write and no allocation per request.

mod answers;
mod request;

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hdrhistogram::Histogram;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use self::answers::Answers;
use self::request::{Kind, parse};
use crate::catalogue::Fault;
use crate::clock::Nanos;
use crate::counters::{Tally, add, count};
use crate::turnstile::{Gate, Turnstile};
use crate::wire::{After, Wire, play};

/// The longest time in the histogram, in nanoseconds: an hour.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// The least and the most bytes that are requested from a socket at once. Connections with small
/// requests get small buffers, since there may be thousands of them.
const READ_BYTES: [usize; 2] = [2 * 1024, 32 * 1024];

/// State shared by the connections of all threads.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) tally: Tally,
    gate: Arc<Gate>,
    answers: Answers,
}

/// A histogram of times from reading a request to writing its answer, in nanoseconds.
pub(super) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("the bounds are constants and legal")
}

impl Script {
    /// A responder that answers through `gate`.
    pub(super) fn new(gate: Arc<Gate>) -> Self {
        Self { tally: Tally::default(), gate, answers: Answers::new() }
    }

    /// Counts a request; `rows` as returned by [`Answers::write`].
    fn tally(&self, kind: Kind<'_>, rows: u64) {
        let tally = &self.tally;
        match kind {
            Kind::Read(_) | Kind::Head => count(&tally.documents_read),
            Kind::Write(_) => count(&tally.documents_created),
            Kind::Update(_) => count(&tally.documents_updated),
            Kind::Delete(_) => count(&tally.documents_deleted),
            Kind::Bulk(_) => {
                count(&tally.bulk_requests);
                add(&tally.documents_bulk, rows);
            }
            Kind::Create => count(&tally.databases_created),
            Kind::Remove => count(&tally.databases_deleted),
            Kind::Welcome | Kind::Info | Kind::LogIn | Kind::Counters => {}
            Kind::Unknown | Kind::Unframed => count(&tally.errors_other),
        }
    }
}

struct NullConnection {
    script: Arc<Script>,
    served: Arc<Mutex<Histogram<u64>>>,
    stream: TcpStream,
    turnstile: Turnstile,
    out: Vec<u8>,
    /// The number of answers in `out`.
    waiting: u64,
}

/// Serves a connection until it ends; `number` gives it its own random draws.
///
/// # Errors
/// Returns an error if the other side closes the connection within a request or an answer.
pub(super) async fn serve(
    script: Arc<Script>,
    served: Arc<Mutex<Histogram<u64>>>,
    stream: TcpStream,
    number: u64,
) -> io::Result<()> {
    let turnstile = Turnstile::new(Arc::clone(&script.gate), number);
    let out = Vec::with_capacity(1024);
    NullConnection { script, served, stream, turnstile, out, waiting: 0 }.run().await
}

impl NullConnection {
    async fn run(mut self) -> io::Result<()> {
        let mut bytes = Vec::new();
        let clock = self.script.gate.clock();
        let open = self.script.gate.is_open();
        let patience = self.script.gate.patience();
        // When the first part of an incomplete request arrived.
        let mut since = None;
        loop {
            let [least, most] = READ_BYTES;
            bytes.reserve(bytes.len().clamp(least, most));
            let more = self.stream.read_buf(&mut bytes);
            let length = match since {
                None => more.await?,
                Some(since) => {
                    let waited = Duration::from_nanos(clock.now() - since);
                    tokio::time::timeout(patience.saturating_sub(waited), more).await??
                }
            };
            if length == 0 {
                return Ok(());
            }
            let read = clock.now();
            let mut start = 0;
            while let Some((kind, length)) = parse(&bytes[start..]) {
                start += length;
                if kind == Kind::Counters {
                    // Reading the counters must not change them.
                    let counters = self.script.gate.counters(&self.script.tally);
                    let counters = serde_json::to_vec(&counters)?;
                    self.script.answers.write_ok(&counters, &mut self.out);
                    continue;
                }
                count(&self.script.tally.requests);
                let fault = if open { None } else { self.turnstile.fault(read) };
                if !open && !self.turnstile.pass(read).await? {
                    count(&self.script.tally.dropped);
                    self.script.gate.log(read, false);
                    return self.ignore(bytes).await;
                }
                self.waiting += 1;
                self.answer(kind, fault);
                if kind == Kind::Unframed {
                    return self.flush(read).await;
                }
                if let Some(Fault::Wire(wire)) = fault {
                    let after = play(&self.stream, wire, &self.out).await?;
                    self.script.gate.log(read, after == After::Kept);
                    if after == After::Ended {
                        return Ok(());
                    }
                    self.out.clear();
                    self.waiting = 0;
                }
                if !open {
                    self.flush(read).await?;
                }
            }
            self.flush(read).await?;
            if start == bytes.len() {
                bytes.clear();
                since = None;
            } else {
                bytes.drain(..start);
                if start > 0 || since.is_none() {
                    since = Some(read);
                }
            }
        }
    }

    /// Appends the answer to a request, and counts it.
    fn answer(&mut self, kind: Kind<'_>, fault: Option<Fault>) {
        let script = &self.script;
        match fault {
            // A request that is not carried out is not counted.
            Some(Fault::Wire(Wire::ResetBefore)) => {}
            Some(Fault::Refuse(refused)) => {
                Answers::refuse(refused, kind != Kind::Head, &mut self.out);
                script.tally.refused(refused.status);
            }
            _ => {
                let rows = script.answers.write(kind, &mut self.out);
                script.tally(kind, rows);
            }
        }
    }

    async fn flush(&mut self, read: Nanos) -> io::Result<()> {
        if self.out.is_empty() {
            return Ok(());
        }
        self.stream.write_all(&self.out).await?;
        self.out.clear();
        let took = self.script.gate.clock().now() - read;
        let mut served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..self.waiting {
            served.saturating_record(took);
        }
        drop(served);
        for _ in 0..self.waiting {
            self.script.gate.log(read, true);
        }
        self.waiting = 0;
        Ok(())
    }

    /// Keeps reading without answering until the other side closes the connection.
    async fn ignore(&mut self, mut bytes: Vec<u8>) -> io::Result<()> {
        loop {
            bytes.clear();
            if self.stream.read_buf(&mut bytes).await? == 0 {
                return Ok(());
            }
        }
    }
}
