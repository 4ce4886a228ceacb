//! The HTTP/1.1 client connection: one request at a time, with every phase observed.
//!
//! Knows nothing about databases: the drivers interpret requests and answers.

mod chunked;
mod coding;
mod connection;
mod decode;
mod exchange;
mod feed;
mod head;
mod malformed;
mod noted;
mod payload;
mod presence;
pub mod reason;
mod request;
mod status;

pub use coding::decoded;
pub use connection::Connection;
pub use decode::{Decoder, Step};
pub use exchange::{Exchange, Watcher};
pub use feed::Feed;
pub use head::{Head, Hints, header_values};
pub use malformed::Malformed;
pub use noted::Noted;
pub use payload::Payload;
pub use presence::answers;
#[cfg(feature = "http2")]
pub(crate) use presence::first_answer;
pub use request::{Answer, CONNECTION_HEADERS, Request};
pub use status::failure_of;
