//! The null responder: keeps nothing, answers at once or as scripted, as cheaply as it can.
//!
//! It speaks HTTP/1.1 by hand, since its cost is what a client's ceiling is measured against.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hdrhistogram::Histogram;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::counters::{Tally, add, count};
use super::faults::{Fate, NullOptions};
use super::null_request::{Kind, parse};
use super::timer::Timer;
use crate::clock::{Clock, Nanos};

/// The revision in every answer.
const REVISION: &str = "1-967a00dff5e02add41819138abb3284d";

/// Length of the document which every `GET` is answered with, in bytes.
const DOCUMENT_BYTES: usize = 250;

/// The longest time the histogram tells apart, in nanoseconds: an hour.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Bytes asked for at once from a socket.
const READ_BYTES: usize = 64 * 1024;

/// What the connections of all threads share.
#[derive(Debug)]
pub(super) struct Script {
    /// What was counted.
    pub(super) tally: Tally,
    options: NullOptions,
    clock: Clock,
    /// When the first request was read; 0 before.
    first: AtomicU64,
    answers: Answers,
}

/// The answers as they go over the wire.
#[derive(Debug)]
struct Answers {
    read: Vec<u8>,
    head: Vec<u8>,
    write: Vec<u8>,
    delete: Vec<u8>,
    row: String,
}

impl Answers {
    fn new() -> Self {
        let head = format!(
            "Server: springload-stand-in/{} (null)\r\nCache-Control: must-revalidate\r\nContent-Type: application/json\r\nETag: \"{REVISION}\"\r\n",
            env!("CARGO_PKG_VERSION")
        );
        let answer = |status: &str, body: &str| {
            let length = body.len();
            format!("HTTP/1.1 {status}\r\n{head}Content-Length: {length}\r\n\r\n{body}")
        };
        let open = format!("{{\"_id\":\"x\",\"_rev\":\"{REVISION}\",\"filler\":\"");
        let filler = "x".repeat(DOCUMENT_BYTES - open.len() - 3);
        let read = answer("200 OK", &format!("{open}{filler}\"}}\n"));
        let row = format!("{{\"ok\":true,\"id\":\"x\",\"rev\":\"{REVISION}\"}}");
        let done = format!("{row}\n");
        Self {
            head: read[..read.len() - DOCUMENT_BYTES].into(),
            read: read.into(),
            write: answer("201 Created", &done).into(),
            delete: answer("200 OK", &done).into(),
            row,
        }
    }

    /// Appends an answer; tells whether the connection goes on.
    fn write(&self, kind: Kind, out: &mut Vec<u8>) -> bool {
        match kind {
            Kind::Read => out.extend_from_slice(&self.read),
            Kind::Head => out.extend_from_slice(&self.head),
            Kind::Write => out.extend_from_slice(&self.write),
            Kind::Delete => out.extend_from_slice(&self.delete),
            Kind::Bulk(documents) => {
                let length = (documents * (self.row.len() + 1)).max(1) + 2;
                let head = format!(
                    "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n["
                );
                out.reserve(head.len() + length);
                out.extend_from_slice(head.as_bytes());
                for row in 0..documents {
                    if row > 0 {
                        out.push(b',');
                    }
                    out.extend_from_slice(self.row.as_bytes());
                }
                out.extend_from_slice(b"]\n");
            }
            Kind::Unsupported => {
                out.extend_from_slice(
                    b"HTTP/1.1 501 Not Implemented\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
                );
                return false;
            }
        }
        true
    }
}

/// A histogram of times from a request read to its answer written, in nanoseconds.
pub(super) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("the bounds are constants and legal")
}

impl Script {
    /// Plays `options`.
    pub(super) fn new(options: NullOptions) -> Self {
        Self {
            tally: Tally::default(),
            options,
            clock: Clock::system(),
            first: AtomicU64::new(0),
            answers: Answers::new(),
        }
    }

    /// When the first request of all was read, which is `now` if none was.
    fn first(&self, now: Nanos) -> Nanos {
        match self.first.load(Ordering::Relaxed) {
            0 => match self.first.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => now,
                Err(first) => first,
            },
            first => first,
        }
    }
}

/// One connection while it is served.
struct Connection {
    script: Arc<Script>,
    served: Arc<Mutex<Histogram<u64>>>,
    stream: TcpStream,
    random: Xoshiro256PlusPlus,
    timer: Option<Timer>,
    out: Vec<u8>,
    /// Answers in `out`.
    waiting: u64,
}

/// Serves a connection to its end; `number` tells its draws from those of others.
///
/// # Errors
/// When the other side hangs up in the midst of something.
pub(super) async fn serve(
    script: Arc<Script>,
    served: Arc<Mutex<Histogram<u64>>>,
    stream: TcpStream,
    number: u64,
) -> io::Result<()> {
    let seed = script.options.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (timer, out) = (None, Vec::with_capacity(1024));
    Connection { script, served, stream, random, timer, out, waiting: 0 }.run().await
}

impl Connection {
    async fn run(mut self) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(READ_BYTES);
        let prompt = self.script.options.is_prompt();
        loop {
            bytes.reserve(READ_BYTES / 2);
            if self.stream.read_buf(&mut bytes).await? == 0 {
                return Ok(());
            }
            let read = self.script.clock.now();
            let mut start = 0;
            while let Some((kind, length)) = parse(&bytes[start..]) {
                start += length;
                count(&self.script.tally.requests);
                if !prompt && !self.hold_back(read).await? {
                    count(&self.script.tally.dropped);
                    return self.ignore(bytes).await;
                }
                self.waiting += 1;
                self.tally(kind);
                if !self.script.answers.write(kind, &mut self.out) {
                    return self.flush(read).await;
                }
                if !prompt {
                    self.flush(read).await?;
                }
            }
            self.flush(read).await?;
            if start == bytes.len() {
                bytes.clear();
            } else {
                bytes.drain(..start);
            }
        }
    }

    /// Waits until the answer is due; `false` when it never is.
    async fn hold_back(&mut self, read: Nanos) -> io::Result<bool> {
        let script = Arc::clone(&self.script);
        let first = script.first(read);
        match script.options.fate(read.saturating_sub(first), &mut self.random) {
            Fate::Drop => Ok(false),
            Fate::Answer(due) => {
                let ns = (first + due).saturating_sub(script.clock.now());
                if ns > 0 {
                    let timer = match self.timer.take() {
                        Some(timer) => timer,
                        None => Timer::new()?,
                    };
                    timer.sleep(ns).await?;
                    self.timer = Some(timer);
                }
                Ok(true)
            }
        }
    }

    async fn flush(&mut self, read: Nanos) -> io::Result<()> {
        if self.waiting == 0 {
            return Ok(());
        }
        self.stream.write_all(&self.out).await?;
        let took = self.script.clock.now() - read;
        let mut served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        served.saturating_record(took);
        for _ in 1..self.waiting {
            served.saturating_record(took);
        }
        drop(served);
        self.waiting = 0;
        self.out.clear();
        Ok(())
    }

    /// Reads on without an answer until the other side hangs up.
    async fn ignore(&mut self, mut bytes: Vec<u8>) -> io::Result<()> {
        loop {
            bytes.clear();
            if self.stream.read_buf(&mut bytes).await? == 0 {
                return Ok(());
            }
        }
    }

    fn tally(&self, kind: Kind) {
        let tally = &self.script.tally;
        match kind {
            Kind::Read | Kind::Head => count(&tally.documents_read),
            Kind::Write => count(&tally.documents_created),
            Kind::Delete => count(&tally.documents_deleted),
            Kind::Bulk(documents) => {
                count(&tally.bulk_requests);
                add(&tally.documents_bulk, documents as u64);
            }
            Kind::Unsupported => count(&tally.errors_other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_announce_their_true_length() {
        let answers = Answers::new();
        let kinds = [Kind::Read, Kind::Write, Kind::Delete, Kind::Bulk(0), Kind::Bulk(3)];
        for kind in kinds {
            let mut out = Vec::new();
            assert!(answers.write(kind, &mut out));
            let text = String::from_utf8(out).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(head.contains(&format!("Content-Length: {}", body.len())), "{kind:?} {text}");
            assert!(serde_json::from_str::<serde_json::Value>(body).is_ok(), "{text}");
            assert!(kind != Kind::Read || body.len() == DOCUMENT_BYTES);
        }
    }
}
