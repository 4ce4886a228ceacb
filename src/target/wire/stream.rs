//! A TCP stream, with TLS on it or not.

use super::endpoint::Endpoint;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

#[derive(Debug)]
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// Connects to the first of the endpoint's addresses that answers. After `failed` attempts
    /// it begins with another: the first may be one that nobody answers at.
    pub(super) async fn connect(endpoint: &Endpoint, failed: u32) -> io::Result<Self> {
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        let count = endpoint.addresses.len();
        for address in endpoint.addresses.iter().cycle().skip(failed as usize).take(count) {
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Self::secure(stream, endpoint).await;
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    async fn secure(stream: TcpStream, endpoint: &Endpoint) -> io::Result<Self> {
        let Some((config, server)) = &endpoint.tls else { return Ok(Self::Plain(stream)) };
        let connector = tokio_rustls::TlsConnector::from(config.clone());
        Ok(Self::Tls(Box::new(connector.connect(server.clone(), stream).await?)))
    }

    /// Reads into `buffer`; zero bytes mean that the peer has closed.
    #[inline]
    pub(super) fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(buffer);
        let poll = match self {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, &mut buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, &mut buffer),
        };
        poll.map(|result| result.map(|()| buffer.filled().len()))
    }

    #[inline]
    pub(super) fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    /// Hands everything that TLS still holds to the operating system.
    pub(super) fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(_) => Poll::Ready(Ok(())),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }
}
