//! The HTTP/1.1 client connection: one request at a time, every phase seen.

mod chunked;
mod connection;
mod decode;
mod endpoint;
mod head;
mod stream;
mod timestamps;

pub use connection::{Answer, Connection, Request};
pub use decode::{Decoder, Malformed, Step};
pub use endpoint::{Endpoint, EndpointError, MAX_ANSWER, TlsOptions};
pub use head::{Head, header_values};
pub use timestamps::Timestamps;
