//! Load on any HTTP server: the traffic as seen by a server that shares no code with springload's
//! client, and siege's figures compared with siege's own.

mod answers;
mod blog;
mod exchanges;
mod figures;
#[cfg(feature = "http2")]
mod http2;
mod import;
mod limits;
mod long;
mod named;
mod refusals;
mod sequences;
mod server;
#[path = "../servers/mod.rs"]
mod servers;
mod siege;
#[allow(dead_code, reason = "each test binary uses its own part of it")]
#[path = "../cli/springload.rs"]
mod springload;
mod traces;
