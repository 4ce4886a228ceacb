//! The stream that `h2` reads from and writes to, which notes when data arrives.

use crate::clock::{Clock, Nanos};
use crate::net::{Buffers, ShardContext, Stream, Timestamps};
use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The length of a frame header (RFC 9113, 4.1), which is enough to recognize a protocol.
const BEGINNING: usize = 9;

#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// How many times something has arrived.
    count: Cell<u64>,
    /// When the last of it arrived, and whether that is the kernel's timestamp.
    at: Cell<Nanos>,
    noted: Cell<bool>,
    /// The first bytes, and how many of them have arrived.
    beginning: Cell<[u8; BEGINNING]>,
    begun: Cell<usize>,
    /// Whether the operating system could not take all that was written.
    blocked: Cell<bool>,
}

impl Arrivals {
    pub(super) const fn count(&self) -> u64 {
        self.count.get()
    }

    pub(super) const fn at(&self) -> Nanos {
        self.at.get()
    }

    pub(super) const fn noted(&self) -> bool {
        self.noted.get()
    }

    pub(super) const fn is_blocked(&self) -> bool {
        self.blocked.get()
    }

    /// Whether the first bytes that arrived are these.
    pub(super) fn begin_with(&self, bytes: &[u8]) -> bool {
        self.beginning.get()[..self.begun.get()].starts_with(bytes)
    }

    /// Whether enough has arrived to recognize a protocol.
    pub(super) const fn has_begun(&self) -> bool {
        self.begun.get() == BEGINNING
    }

    fn note(&self, bytes: &[u8], at: Nanos, noted: bool) {
        self.count.set(self.count.get() + 1);
        self.at.set(at);
        self.noted.set(noted);
        let begun = self.begun.get();
        if begun < BEGINNING {
            let more = bytes.len().min(BEGINNING - begun);
            let mut beginning = self.beginning.get();
            beginning[begun..begun + more].copy_from_slice(&bytes[..more]);
            self.beginning.set(beginning);
            self.begun.set(begun + more);
        }
    }
}

/// The stream for `h2`.
#[derive(Debug)]
pub(super) struct Tap {
    stream: Stream,
    arrivals: Rc<Arrivals>,
    buffers: Rc<Buffers>,
    timestamps: Option<Rc<Timestamps>>,
    clock: Clock,
}

impl Tap {
    pub(super) fn new(stream: Stream, context: &ShardContext) -> Self {
        Self {
            stream,
            arrivals: Rc::default(),
            buffers: context.buffers(),
            timestamps: context.timestamps(),
            clock: context.clock(),
        }
    }

    pub(super) fn arrivals(&self) -> Rc<Arrivals> {
        self.arrivals.clone()
    }
}

impl AsyncRead for Tap {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { stream, arrivals, buffers, timestamps, clock } = &mut *self;
        // The buffer from `h2` is uninitialized, and initializing it would cost more than copying
        // what arrives.
        let mut buffer = buffers.take();
        let room = into.remaining().min(buffer.len());
        let read = stream.poll_read(context, &mut buffer[..room], timestamps.as_deref());
        if let Poll::Ready(Ok((count @ 1.., noted))) = read {
            let at = noted.unwrap_or_else(|| clock.now());
            arrivals.note(&buffer[..count], at, noted.is_some());
            into.put_slice(&buffer[..count]);
        }
        buffers.give(buffer);
        read.map_ok(|_| ())
    }
}

impl AsyncWrite for Tap {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = self.stream.poll_write(context, bytes);
        self.arrivals.blocked.set(written.is_pending());
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.stream.poll_flush(context))?;
        self.stream.poll_shutdown(context)
    }
}
