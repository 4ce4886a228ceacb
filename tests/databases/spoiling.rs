//! A relay in front of a server that spoils some of the first writes: both stored and unstored
//! writes are reported as failed, or have no response.

use std::collections::HashMap;
use std::io::{BufReader, Read, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// The half of a write that is spoiled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Half {
    /// The write is carried out, and its response is replaced or dropped.
    Answer,
    /// The write is not passed on.
    Request,
}

/// The client's view of a spoiled write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Reply {
    /// An error.
    Failed,
    /// No response, nor any later one on its connection.
    Nothing,
}

/// The bytes from one side.
pub(crate) type Stream = BufReader<TcpStream>;

/// The messages of a protocol.
pub(crate) trait Speech: Send + Sync + 'static {
    /// The next message of a client; its connection had `before` messages so far.
    fn request(&self, from: &mut Stream, before: u64) -> Option<Vec<u8>>;

    /// The next message of the server.
    fn answer(&self, from: &mut Stream) -> Option<Vec<u8>>;

    fn is_write(&self, request: &[u8]) -> bool;

    /// The number that a response shares with its request; `None` if responses come in order.
    fn number(&self, message: &[u8]) -> Option<u64>;

    /// A response that reports this request as failed.
    fn failed(&self, request: &[u8], half: Half) -> Vec<u8>;

    /// If responses come in order: a request without effect, to replace another.
    fn nothing(&self) -> Option<Vec<u8>> {
        None
    }
}

/// What a relay spoils, and where.
#[derive(Clone, Copy)]
pub(crate) struct Spoils {
    pub(crate) half: Half,
    pub(crate) reply: Reply,
    /// Of this many first writes, every fifth is spoiled.
    pub(crate) writes: u64,
}

/// A running relay. It ends with this program.
pub(crate) struct Relay<S> {
    node: u16,
    speech: Arc<S>,
    spoils: Spoils,
    seen: Arc<AtomicU64>,
    spoiled: Arc<AtomicU64>,
}

impl<S> Clone for Relay<S> {
    fn clone(&self) -> Self {
        let Self { node, spoils, .. } = *self;
        let (speech, seen) = (self.speech.clone(), self.seen.clone());
        Self { node, speech, spoils, seen, spoiled: self.spoiled.clone() }
    }
}

/// A port for a relay, and its listener.
pub(crate) fn listener() -> (u16, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    (listener.local_addr().expect("an address").port(), listener)
}

impl<S: Speech> Relay<S> {
    /// Passes on connections to `listener` to the server at this port.
    pub(crate) fn start(listener: TcpListener, node: u16, speech: S, spoils: Spoils) -> Self {
        let (seen, spoiled) = Default::default();
        let relay = Self { node, speech: Arc::new(speech), spoils, seen, spoiled };
        let own = relay.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                own.connect(client);
            }
        });
        relay
    }

    /// The number of writes that it has spoiled.
    pub(crate) fn spoiled(&self) -> u64 {
        self.spoiled.load(Ordering::Relaxed)
    }

    fn is_spoiled(&self, request: &[u8]) -> bool {
        if !self.speech.is_write(request) {
            return false;
        }
        let at = self.seen.fetch_add(1, Ordering::Relaxed);
        let is_spoiled = at < self.spoils.writes && at.is_multiple_of(5);
        self.spoiled.fetch_add(u64::from(is_spoiled), Ordering::Relaxed);
        is_spoiled
    }

    /// Passes on both directions of a connection.
    fn connect(&self, client: TcpStream) {
        // The server may be down.
        let Ok(server) = TcpStream::connect(("127.0.0.1", self.node)) else { return };
        let ends = [&client, &server].map(|it| it.try_clone().expect("a socket"));
        let [back, on] = ends;
        let line = Arc::new(Line { back: Mutex::new(back), spoiled: Mutex::default() });
        let (relay, of_client) = (self.clone(), line.clone());
        std::thread::spawn(move || {
            let ended = relay.forth(client, &on, &of_client);
            // Unless it has fallen silent.
            let _ = ended.map_or(Ok(()), |()| on.shutdown(Shutdown::Both));
        });
        let relay = self.clone();
        std::thread::spawn(move || {
            let _ = relay.back(server, &line);
            let _ = line.client().shutdown(Shutdown::Both);
        });
    }

    /// Passes on requests until there are no more; `None` if it falls silent before.
    fn forth(&self, client: TcpStream, mut on: &TcpStream, line: &Line) -> Option<()> {
        let mut client = Stream::new(client);
        let Spoils { half, reply, .. } = self.spoils;
        for before in 0.. {
            let Some(request) = self.speech.request(&mut client, before) else { break };
            let number = self.speech.number(&request).unwrap_or(before);
            if !self.is_spoiled(&request) {
                let _ = on.write_all(&request);
                continue;
            }
            match (half, reply) {
                (Half::Request, Reply::Nothing) => return silent(client),
                (Half::Request, Reply::Failed) => match self.speech.nothing() {
                    Some(nothing) => {
                        line.spoil(number, self.speech.failed(&request, half));
                        let _ = on.write_all(&nothing);
                    }
                    None => {
                        let _ = line.client().write_all(&self.speech.failed(&request, half));
                    }
                },
                (Half::Answer, _) => {
                    line.spoil(number, self.speech.failed(&request, half));
                    let _ = on.write_all(&request);
                    if reply == Reply::Nothing {
                        return silent(client);
                    }
                }
            }
        }
        Some(())
    }

    /// Passes on responses.
    fn back(&self, server: TcpStream, line: &Line) -> Option<()> {
        let mut server = Stream::new(server);
        for before in 0.. {
            let answer = self.speech.answer(&mut server)?;
            let number = self.speech.number(&answer).unwrap_or(before);
            let spoiled = line.spoiled().remove(&number);
            if spoiled.is_some() && self.spoils.reply == Reply::Nothing {
                return silent(server);
            }
            let _ = line.client().write_all(spoiled.as_ref().unwrap_or(&answer));
        }
        Some(())
    }
}

/// Only reads, until the connection ends.
fn silent(mut from: Stream) -> Option<()> {
    let _ = std::io::copy(&mut from, &mut std::io::sink());
    None
}

/// A connection of a relay.
struct Line {
    back: Mutex<TcpStream>,
    /// The replacements for responses, by number.
    spoiled: Mutex<HashMap<u64, Vec<u8>>>,
}

impl Line {
    fn client(&self) -> MutexGuard<'_, TcpStream> {
        self.back.lock().expect("a socket")
    }

    fn spoiled(&self) -> MutexGuard<'_, HashMap<u64, Vec<u8>>> {
        self.spoiled.lock().expect("answers")
    }

    fn spoil(&self, number: u64, answer: Vec<u8>) {
        self.spoiled().insert(number, answer);
    }
}

/// Reads `more` bytes, and appends them to `before`.
pub(crate) fn read_on(from: &mut Stream, mut before: Vec<u8>, more: usize) -> Option<Vec<u8>> {
    let begun = before.len();
    before.resize(begun + more, 0);
    from.read_exact(&mut before[begun..]).ok()?;
    Some(before)
}
