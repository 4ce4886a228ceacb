//! The basis of drivers with their own wire protocol: servers' addresses, streams with or without
//! TLS, what the sessions of a shard share, and the kernel's timestamps of answers.
//!
//! Knows nothing about protocols.

mod any_certificate;
mod buffers;
mod context;
mod endpoint;
mod given_certificates;
mod rest;
mod stream;
mod timestamps;
mod tls;
mod trouble;

pub use buffers::Buffers;
pub use context::{Deadline, ShardContext};
pub use endpoint::{
    Endpoint, EndpointError, Identity, MAX_ANSWER, TlsOptions, server_config, tls_config,
};
pub use rest::rest_after;
pub use stream::{Found, Stream};
pub use timestamps::Timestamps;
pub use tls::Tls;
pub use trouble::{Trouble, mixed_up, reach};
