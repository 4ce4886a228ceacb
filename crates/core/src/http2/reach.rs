//! Checks whether a server speaks HTTP/2 and allows enough concurrent streams.

use super::line::builder;
use super::tap::Tap;
use super::trouble::{Broken, not_http2};
use crate::clock::Clock;
use crate::net::{Endpoint, ShardContext, Stream, Trouble, mixed_up};
use bytes::Bytes;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

/// Connects to a server that should allow `streams` concurrent requests, and closes the connection
/// again.
///
/// # Errors
/// Returns an error if the server does not, or does not answer within `timeout_ns`.
pub async fn reach(endpoint: &Endpoint, streams: usize, timeout_ns: u64) -> Result<(), Trouble> {
    let asking = allowed(endpoint, timeout_ns);
    let allowed = match tokio::time::timeout(Duration::from_nanos(timeout_ns), asking).await {
        Ok(allowed) => allowed,
        Err(_) => Err(Trouble::timed_out()),
    };
    match allowed {
        Ok(most) if most < streams => {
            let problem =
                format!("the server allows {most} streams on a connection, not {streams}");
            Err(Trouble::new(problem, format!("give --streams {most} or less")))
        }
        Ok(_) => Ok(()),
        Err(trouble) => Err(mixed_up(endpoint).await.unwrap_or(trouble)),
    }
}

/// How many streams the server allows on a connection.
async fn allowed(endpoint: &Endpoint, timeout_ns: u64) -> Result<usize, Trouble> {
    let stream = Stream::connect(endpoint, 0, false).await.map_err(|it| Trouble::of(&it))?;
    if !stream.speaks_http2() {
        return Err(not_http2());
    }
    let tap = Tap::new(stream, &ShardContext::new(Clock::system(), timeout_ns));
    let arrivals = tap.arrivals();
    let closed = || {
        Trouble::new(
            "the server closed the connection when it was spoken to in HTTP/2",
            "leave --http2 out, or give the address at which it speaks HTTP/2",
        )
    };
    let ended = |error: h2::Error| {
        let broken = Broken::of(&error, &arrivals);
        match broken.trouble {
            _ if error.is_io() && !arrivals.has_begun() => closed(),
            Some(trouble) if arrivals.begin_with(b"HTTP/1.") => trouble,
            // The server's first frame, its settings, leaves nothing to dispute.
            _ => not_http2(),
        }
    };
    // No streams are allowed until the server's settings have arrived.
    let handshake = builder(0).handshake::<_, Bytes>(tap).await;
    let (sender, mut driver) = handshake.map_err(ended)?;
    poll_fn(|context| {
        if let Poll::Ready(result) = Pin::new(&mut driver).poll(context) {
            return Poll::Ready(Err(result.map_or_else(ended, |()| closed())));
        }
        match sender.current_max_send_streams() {
            0 => Poll::Pending,
            most => Poll::Ready(Ok(most)),
        }
    })
    .await
}
