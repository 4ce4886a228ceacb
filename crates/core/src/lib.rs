//! The foundation on which every other crate of springload is built.
//!
//! Its modules are meant for springload's own crates and may change with any version.

pub mod account;
pub mod clock;
pub mod cores;
pub mod files;
pub mod generate;
pub mod http1;
#[cfg(feature = "http2")]
pub mod http2;
pub mod journal;
pub mod measure;
pub mod mistake;
pub mod net;
pub mod observed;
pub mod op;
pub mod properties;
pub mod redact;
pub mod schema;
pub mod statistics;
pub mod values;
