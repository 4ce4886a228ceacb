//! A TCP stream, with or without TLS.

use super::endpoint::{Endpoint, HTTP2};
use super::timestamps::Timestamps;
use crate::clock::Nanos;
use crate::op::Failure;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io;
use std::os::fd::AsRawFd as _;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// Writing to a closed connection is an error, not a signal.
const SEND: SendFlags = {
    #[cfg(target_os = "linux")]
    let flags = SendFlags::NOSIGNAL;
    #[cfg(not(target_os = "linux"))]
    let flags = SendFlags::empty();
    flags
};

/// A connection.
#[derive(Debug)]
pub enum Stream {
    /// Plain TCP.
    Plain(TcpStream),
    /// TLS over TCP.
    Tls(Box<TlsStream<TcpStream>>),
}

/// What was found on an idle connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// Unsolicited bytes.
    Bytes,
    /// The peer has closed or reset the connection.
    End,
}

impl Stream {
    /// Connects to the first of the endpoint's addresses that answers. After `failed` attempts it
    /// starts with a different one, in case the first never answers. With `noting`, the kernel
    /// timestamps answers on arrival.
    ///
    /// # Errors
    /// Returns an error if no address answers: that of the last address where the server was at
    /// fault, or else that of the last address.
    pub async fn connect(endpoint: &Endpoint, failed: u32, noting: bool) -> io::Result<Self> {
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        let mut known = false;
        let ways = endpoint.ways();
        for address in ways.iter().cycle().skip(failed as usize).take(ways.len()) {
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    if noting {
                        Timestamps::ask(&stream);
                    }
                    return Self::secure(stream, endpoint).await;
                }
                Err(error) => {
                    // A machine without IPv6 cannot use a server's IPv6 address, which is beside
                    // the point if the server refuses connections on the other one.
                    let by_server = Failure::of_connect(&error) == Failure::Connect;
                    if by_server || !known {
                        last = error;
                    }
                    known |= by_server;
                }
            }
        }
        Err(last)
    }

    async fn secure(stream: TcpStream, endpoint: &Endpoint) -> io::Result<Self> {
        let Some((config, server)) = &endpoint.tls else { return Ok(Self::Plain(stream)) };
        let connector = tokio_rustls::TlsConnector::from(config.clone());
        Ok(Self::Tls(Box::new(connector.connect(server.clone(), stream).await?)))
    }

    /// Whether HTTP/2 can be used on this stream: with TLS, only if both sides agreed on it.
    pub fn speaks_http2(&self) -> bool {
        match self {
            Self::Plain(_) => true,
            Self::Tls(stream) => stream.get_ref().1.alpn_protocol() == Some(HTTP2),
        }
    }

    /// Whether anything has arrived, as far as the runtime knows. Makes no system call, so it
    /// misses anything that arrived since the runtime last polled.
    #[inline]
    pub fn has_news(&self) -> bool {
        let stream = match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => stream.get_ref().0,
        };
        stream.try_io(Interest::READABLE, || Ok(())).is_ok()
    }

    /// Reads a byte, if there is one, before a request is sent. Without TLS it asks the operating
    /// system, regardless of what the runtime knows.
    pub fn look(&mut self) -> Found {
        let mut byte = [0];
        let read = match self {
            Self::Plain(stream) => {
                let mut receive = || Ok(recv(&*stream, &mut byte, RecvFlags::empty())?.0);
                let tried = match stream.try_io(Interest::READABLE, &mut receive) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => receive(),
                    tried => tried,
                };
                match tried {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        return Found::Nothing;
                    }
                    tried => tried,
                }
            }
            Self::Tls(stream) => {
                let mut context = Context::from_waker(Waker::noop());
                let mut buffer = ReadBuf::new(&mut byte);
                match Pin::new(stream).poll_read(&mut context, &mut buffer) {
                    Poll::Ready(read) => read.map(|()| buffer.filled().len()),
                    // The data was for TLS itself, such as a session ticket.
                    Poll::Pending => return Found::Nothing,
                }
            }
        };
        if matches!(read, Ok(1..)) { Found::Bytes } else { Found::End }
    }

    /// Reads into `buffer`, and returns when the last of the data arrived, if `timestamps` can
    /// tell. Zero bytes mean that the peer has closed the connection.
    #[inline]
    pub fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
        timestamps: Option<&Timestamps>,
    ) -> Poll<io::Result<(usize, Option<Nanos>)>> {
        match self {
            Self::Plain(stream) => match timestamps {
                Some(timestamps) => poll_noted(stream, context, buffer, timestamps),
                None => poll_plain(stream, context, buffer.len(), || {
                    Ok((recv(&*stream, &mut *buffer, RecvFlags::empty())?.0, None))
                }),
            },
            Self::Tls(stream) => {
                let mut buffer = ReadBuf::new(buffer);
                let poll = Pin::new(stream).poll_read(context, &mut buffer);
                poll.map_ok(|()| (buffer.filled().len(), None))
            }
        }
    }

    #[inline]
    /// Sends as much of `bytes` as possible, and returns how many bytes were sent.
    pub fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(stream) => loop {
                let write = || Ok(send(&*stream, bytes, SEND)?);
                match stream.try_io(Interest::WRITABLE, write) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        ready!(stream.poll_write_ready(context))?;
                    }
                    done => return Poll::Ready(done),
                }
            },
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    /// Passes everything still held by TLS to the operating system.
    pub fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(_) => Poll::Ready(Ok(())),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    /// Signals to the peer that nothing more will be sent.
    pub fn poll_shutdown(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

/// Reads into `buffer`, and returns when the last of the data arrived. A connection that was called
/// after a nap tries at once.
fn poll_noted(
    stream: &TcpStream,
    context: &mut Context<'_>,
    buffer: &mut [u8],
    timestamps: &Timestamps,
) -> Poll<io::Result<(usize, Option<Nanos>)>> {
    let socket = stream.as_raw_fd();
    if timestamps.unread.polled(socket) {
        match timestamps.receive(stream, buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            read => return Poll::Ready(read),
        }
    }
    let room = buffer.len();
    let poll = poll_plain(stream, context, room, || timestamps.receive(stream, buffer));
    if poll.is_pending() {
        timestamps.unread.wait(socket, context);
    }
    poll
}

/// Calls `receive`, which has room for `room` bytes, as soon as there is something to read.
#[inline]
fn poll_plain<T: Copy>(
    stream: &TcpStream,
    context: &mut Context<'_>,
    room: usize,
    mut receive: impl FnMut() -> io::Result<(usize, T)>,
) -> Poll<io::Result<(usize, T)>> {
    loop {
        let mut received = None;
        let tried = stream.try_io(Interest::READABLE, || {
            let (count, _) = *received.insert(receive()?);
            // A read that did not fill the buffer has emptied the socket. Noting that here saves a
            // read that would find nothing.
            let emptied = (1..room).contains(&count);
            if emptied { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
        });
        match (received, tried) {
            (Some(received), _) => return Poll::Ready(Ok(received)),
            (None, Err(error)) if error.kind() != io::ErrorKind::WouldBlock => {
                return Poll::Ready(Err(error));
            }
            (None, _) => ready!(stream.poll_read_ready(context))?,
        }
    }
}
