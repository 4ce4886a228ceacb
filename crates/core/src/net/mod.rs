//! The basis for drivers with their own wire protocol: server addresses, streams with or without
//! TLS, what the sessions of a shard share, the kernel's timestamps of answers, and a relay that
//! can be cut.
//!
//! Knows nothing about protocols.

mod any_certificate;
mod buffers;
mod context;
mod endpoint;
mod given_certificates;
mod relay;
mod rest;
mod stream;
mod timestamps;
mod tls;
mod trouble;
mod unread;

pub use buffers::Buffers;
pub use context::{Deadline, ShardContext};
pub use endpoint::{
    CertificateError, Endpoint, EndpointError, Identity, MAX_ANSWER, TlsOptions, addresses,
    server_config, tls_config,
};
pub use relay::{Cutter, Relay};
pub use rest::rest_after;
pub use stream::{Found, Stream};
pub use timestamps::Timestamps;
pub use tls::Tls;
pub use trouble::{CLOSED, TLS_ALERT, TLS_SPOKEN, Trouble, mixed_up, reach};
