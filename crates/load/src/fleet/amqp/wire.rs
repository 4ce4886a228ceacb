//! The streams that the AMQP library reads and writes: TCP, or TLS over it as the rest of
//! springload speaks it. The library's own TLS would add two dozen crates for key stores. A
//! [`Guard`] checks everything that is read.

use crate::fleet::{Guard, Weight};
use async_rs::traits::Reactor;
use async_rs::util::RuntimeParts;
use async_rs::{Runtime, Tokio};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The runtime of this thread, in the form that the library needs.
pub(super) fn runtime() -> Runtime<RuntimeParts<Tokio, Wires>> {
    Runtime::new(RuntimeParts::new(Tokio::current(), Wires(Tokio::current())))
}

/// How many bytes are read at once.
const CHUNK: usize = 16 << 10;

/// Bytes in both directions.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A stream to a broker.
pub(super) struct BrokerWire {
    stream: Box<dyn Stream>,
    guard: Guard,
}

impl BrokerWire {
    /// A stream whose reader takes what it has read off `unread`.
    pub(super) fn new(stream: impl Stream + 'static, unread: Weight) -> Self {
        Self { stream: Box::new(stream), guard: Guard::new(unread) }
    }
}

/// Tokio, with these streams.
#[derive(Clone, Debug)]
pub(super) struct Wires(Tokio);

impl Reactor for Wires {
    type TcpStream = BrokerWire;
    type Sleep = <Tokio as Reactor>::Sleep;

    // The library is given its one stream, and opens none.

    fn register<H: Send + 'static>(
        &self,
        _: H,
    ) -> io::Result<impl futures_io::AsyncRead + futures_io::AsyncWrite + Send + Unpin + 'static>
    {
        Err::<BrokerWire, _>(io::ErrorKind::Unsupported.into())
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        self.0.sleep(duration)
    }

    fn interval(
        &self,
        duration: Duration,
    ) -> impl futures_core::Stream<Item = Instant> + Send + 'static {
        self.0.interval(duration)
    }

    fn tcp_connect_addr(
        &self,
        _: SocketAddr,
    ) -> impl Future<Output = io::Result<BrokerWire>> + Send + 'static {
        std::future::ready(Err(io::ErrorKind::Unsupported.into()))
    }
}

impl futures_io::AsyncRead for BrokerWire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            let bytes = self.guard.hand_over(buffer);
            if bytes > 0 || buffer.is_empty() {
                return Poll::Ready(Ok(bytes));
            }
            let mut chunk = [0; CHUNK];
            let mut chunk = ReadBuf::new(&mut chunk);
            ready!(Pin::new(&mut self.stream).poll_read(context, &mut chunk))?;
            if chunk.filled().is_empty() {
                return Poll::Ready(Ok(0));
            }
            let looked = self.guard.look(chunk.filled());
            looked.map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))?;
        }
    }
}

impl futures_io::AsyncWrite for BrokerWire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
