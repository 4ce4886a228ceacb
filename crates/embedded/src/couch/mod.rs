//! The stand-in CouchDB: an HTTP service for documents in memory.
//!
//! Knows CouchDB's statuses, bodies and revision rules; shares no CouchDB code with the driver.

mod access;
mod all_docs;
mod auth;
mod bulk;
mod changes;
pub(crate) mod connection;
mod document;
mod itself;
mod json;
mod ordered;
mod query;
mod reply;
mod revision;
mod route;
mod service;
mod single;
mod stand_in;
mod store;

pub(crate) use auth::SESSION_NS;
pub(crate) use stand_in::SharedState;
