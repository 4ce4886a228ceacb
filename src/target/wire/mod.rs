//! The HTTP/1.1 client connection: one request at a time, every phase seen.

mod chunked;
mod connection;
mod decode;
mod endpoint;
mod stream;
mod timestamps;

pub use connection::{Answer, Connection};
pub use decode::{Decoder, Head, Malformed, Step, header_values};
pub use endpoint::{Endpoint, EndpointError, TlsOptions};
pub use timestamps::Timestamps;
