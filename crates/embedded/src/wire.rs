//! Faults of the connection: what happens to the bytes of an answer in transit.
//!
//! Knows just enough HTTP to find the end of a head.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use memchr::memmem;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::timer::Timer;
use crate::clock::Nanos;

/// What happens to an answer, or to its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// The connection is reset before the request is carried out.
    ResetBefore,
    /// The connection is reset in the middle of the answer.
    ResetDuring,
    /// The request is carried out, and the connection is reset in place of an answer.
    ResetAfter,
    /// The answer is sent byte by byte.
    SlowBytes,
    /// The connection is closed in the middle of the body.
    TruncateBody,
    /// The connection is closed after the head.
    EarlyClose,
    /// The connection is closed after the answer, which does not announce it.
    IdleClose,
    /// The answer is sent twice.
    DuplicateAnswer,
    /// The answer is followed by another one, to a request that was never sent.
    UnsolicitedAnswer,
}

/// The time between two bytes of a slow answer, in nanoseconds.
const BETWEEN_BYTES_NS: Nanos = 1_000_000;

/// An answer to a request that was never sent.
const UNSOLICITED: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\
    Content-Length: 12\r\n\r\n{\"ok\":true}\n";

/// What happens to a connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// It is kept.
    Kept,
    /// It is to be dropped, which closes or resets it.
    Ended,
}

/// The pieces in which an answer is sent, and what happens to the connection after them.
fn pieces(wire: Wire, answer: &[u8]) -> (Vec<&[u8]>, After) {
    let head = memmem::find(answer, b"\r\n\r\n").map_or(answer.len(), |end| end + 4);
    let (kept, ended) = (After::Kept, After::Ended);
    match wire {
        Wire::ResetBefore | Wire::ResetAfter => (vec![], ended),
        Wire::ResetDuring => (vec![&answer[..answer.len() / 2]], ended),
        Wire::SlowBytes => (answer.chunks(1).collect(), kept),
        Wire::TruncateBody => (vec![&answer[..head.midpoint(answer.len())]], ended),
        Wire::EarlyClose => (vec![&answer[..head]], ended),
        Wire::IdleClose => (vec![answer], ended),
        Wire::DuplicateAnswer => (vec![answer, answer], kept),
        Wire::UnsolicitedAnswer => (vec![answer, UNSOLICITED], kept),
    }
}

/// Sends an answer with a fault.
///
/// # Errors
/// Returns an error if the other side has closed the connection, or the process has no file
/// descriptors left.
pub(super) async fn play(stream: &TcpStream, wire: Wire, answer: &[u8]) -> io::Result<After> {
    let (pieces, after) = pieces(wire, answer);
    if wire == Wire::SlowBytes {
        let timer = Timer::new()?;
        for piece in pieces {
            write(stream, piece).await?;
            timer.sleep(BETWEEN_BYTES_NS).await?;
        }
        return Ok(after);
    }
    // All at once, as far as the system allows: any excess arrives together with the right answer.
    write(stream, &pieces.concat()).await?;
    if matches!(wire, Wire::ResetBefore | Wire::ResetDuring | Wire::ResetAfter) {
        // Without lingering, closing is a reset.
        SockRef::from(stream).set_linger(Some(Duration::ZERO))?;
    }
    Ok(after)
}

async fn write(stream: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.writable().await?;
        match stream.try_write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A stream that a server reads and writes, and on which other code may write in its place.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    stream: Arc<TcpStream>,
    /// Whether the server's output is discarded, because the answer has been sent already.
    muted: Arc<AtomicBool>,
}

impl Shared {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { stream: Arc::new(stream), muted: Arc::default() }
    }

    /// Sets whether the server's output is discarded from now on.
    pub(super) fn mute(&self, muted: bool) {
        // Everything about a connection happens on one thread.
        self.muted.store(muted, Ordering::Relaxed);
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }
}

impl AsyncRead for Shared {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.stream.poll_read_ready(context))?;
            match self.stream.try_read(buffer.initialize_unfilled()) {
                Ok(count) => {
                    buffer.advance(count);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Shared {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.muted.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(bytes.len()));
        }
        loop {
            ready!(self.stream.poll_write_ready(context))?;
            match self.stream.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from(&*self.stream).shutdown(std::net::Shutdown::Write))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_goes_out_in_the_pieces_of_its_fault() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody";
        let sent = |wire| {
            let (pieces, after) = pieces(wire, answer);
            (pieces.concat(), after == After::Kept)
        };
        let whole = answer.to_vec();
        let head = whole.len() - 4;
        for (wire, bytes, kept) in [
            (Wire::ResetBefore, vec![], false),
            (Wire::ResetDuring, whole[..whole.len() / 2].to_vec(), false),
            (Wire::ResetAfter, vec![], false),
            (Wire::SlowBytes, whole.clone(), true),
            (Wire::TruncateBody, whole[..head + 2].to_vec(), false),
            (Wire::EarlyClose, whole[..head].to_vec(), false),
            (Wire::IdleClose, whole.clone(), false),
            (Wire::DuplicateAnswer, whole.repeat(2), true),
            (Wire::UnsolicitedAnswer, [&whole, UNSOLICITED].concat(), true),
        ] {
            assert_eq!(sent(wire), (bytes, kept), "{wire:?}");
        }
    }
}
