//! The basis for drivers with their own wire protocol: server addresses, streams with or without
//! TLS, what the sessions of a shard share, the kernel's timestamps of answers, and a relay that
//! can be cut.
//!
//! Knows nothing about protocols.

mod any_certificate;
mod buffers;
mod certificates;
mod context;
mod endpoint;
mod endpoint_error;
mod given_certificates;
mod relay;
mod rest;
mod stream;
mod timestamps;
mod tls;
mod trouble;
mod unread;

pub use buffers::Buffers;
pub use certificates::{CertificateError, Identity, TlsOptions, server_config, tls_config};
pub use context::{Deadline, ShardContext};
pub use endpoint::{Endpoint, MAX_ANSWER, addresses};
pub use endpoint_error::EndpointError;
pub use relay::{Cutter, Relay};
pub use rest::rest_after;
pub use stream::{Found, Stream};
pub use timestamps::Timestamps;
pub use tls::Tls;
pub use trouble::{CLOSED, TLS_ALERT, TLS_SPOKEN, Trouble, mixed_up, reach};
