//! A TCP stream, with TLS or without, that one thread reads while another writes.

use crate::clock::{Clock, Nanos, SECOND_NS};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio_rustls::rustls::Connection;

/// A receiver that takes nothing for this long counts as gone.
const UNTAKEN: Duration = Duration::from_secs(30);
/// The most that rustls takes in at once.
const PIECE: usize = 4096;

/// A stream. Until it is [released](Self::release), one thread reads and writes.
pub(super) struct Wire {
    socket: TcpStream,
    tls: Option<Mutex<Secure>>,
    /// The deadline for what is being read.
    until: AtomicU64,
}

struct Secure {
    connection: Connection,
    /// What was read from the socket and not yet decrypted.
    raw: Vec<u8>,
}

/// The end that reads, and the one that writes.
pub(super) struct Reading(Arc<Wire>);
pub(super) struct Writing(Arc<Wire>);

impl Wire {
    /// Creates a stream over `socket`, with this many nanoseconds for everything read before it is
    /// released.
    pub(super) fn new(
        socket: TcpStream,
        tls: Option<Connection>,
        patience_ns: Nanos,
    ) -> io::Result<Arc<Self>> {
        socket.set_nonblocking(false)?;
        socket.set_nodelay(true)?;
        socket.set_write_timeout(Some(UNTAKEN))?;
        let secure = |connection| Mutex::new(Secure { connection, raw: Vec::new() });
        let until = AtomicU64::new(Clock::system().now() + patience_ns);
        let wire = Arc::new(Self { socket, tls: tls.map(secure), until });
        // Sends a client's greeting.
        wire.flush_tls()?;
        Ok(wire)
    }

    /// Both ends. There must be no more than one of each.
    pub(super) fn ends(self: &Arc<Self>) -> (Reading, Writing) {
        (Reading(self.clone()), Writing(self.clone()))
    }

    /// From now on, reading may take any time, and reading and writing may happen at once.
    pub(super) fn release(&self) -> io::Result<()> {
        self.until.store(Nanos::MAX, Ordering::Relaxed);
        self.socket.set_read_timeout(None)
    }

    fn read_socket(&self, into: &mut [u8]) -> io::Result<usize> {
        let until = self.until.load(Ordering::Relaxed);
        if until != Nanos::MAX {
            let left = until.saturating_sub(Clock::system().now());
            if left == 0 {
                return Err(io::ErrorKind::TimedOut.into());
            }
            // A socket's shortest timeout is a microsecond.
            self.socket.set_read_timeout(Some(Duration::from_nanos(left.max(SECOND_NS / 1000))))?;
        }
        loop {
            match (&self.socket).read(into) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                other => return other,
            }
        }
    }

    /// Sends the pending TLS records. They must leave in the order in which they were made, so only
    /// the thread that writes may do this.
    fn flush_tls(&self) -> io::Result<()> {
        let Some(tls) = &self.tls else { return Ok(()) };
        let mut out = Vec::new();
        let mut secure = held(tls);
        while secure.connection.wants_write() {
            secure.connection.write_tls(&mut out)?;
        }
        // The reader must not have to wait while the other side takes nothing.
        drop(secure);
        (&self.socket).write_all(&out)
    }
}

fn held(tls: &Mutex<Secure>) -> MutexGuard<'_, Secure> {
    tls.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Read for Reading {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Some(tls) = &self.0.tls else { return self.0.read_socket(into) };
        loop {
            let mut secure = held(tls);
            match secure.connection.reader().read(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return other,
            }
            if secure.raw.is_empty() {
                drop(secure);
                let mut piece = [0; PIECE];
                let length = self.0.read_socket(&mut piece)?;
                if length == 0 {
                    return Ok(0);
                }
                secure = held(tls);
                secure.raw.extend_from_slice(&piece[..length]);
            }
            let Secure { connection, raw } = &mut *secure;
            let taken = connection.read_tls(&mut &raw[..])?;
            raw.drain(..taken);
            let shaking = connection.is_handshaking();
            let read = connection.process_new_packets();
            drop(secure);
            if shaking {
                // Nothing else writes yet. After a failure, the other side learns the reason.
                let flushed = self.0.flush_tls();
                read.map_err(invalid)?;
                flushed?;
            } else {
                read.map_err(invalid)?;
            }
        }
    }
}

fn invalid(error: tokio_rustls::rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

impl Write for Writing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(tls) = &self.0.tls else { return (&self.0.socket).write(bytes) };
        let taken = held(tls).connection.writer().write(bytes)?;
        self.0.flush_tls()?;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush_tls()
    }
}

impl Drop for Writing {
    /// Tells the other side that nothing more will come after what was written.
    fn drop(&mut self) {
        let _ = self.0.socket.shutdown(Shutdown::Write);
    }
}
