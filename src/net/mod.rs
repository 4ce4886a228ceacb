//! What the drivers of our own wire stand on: servers' addresses, streams with TLS or without it,
//! what the sessions of a shard share, and the kernel's notes of when answers came.
//!
//! Knows no protocol.

mod buffers;
mod context;
mod endpoint;
mod stream;
mod timestamps;

pub use buffers::Buffers;
pub use context::{Deadline, ShardContext};
pub use endpoint::{Endpoint, EndpointError, MAX_ANSWER, TlsOptions};
pub use stream::{Found, Stream};
pub use timestamps::Timestamps;
