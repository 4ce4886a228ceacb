//! springload: an honest benchmark and load tester for CouchDB and other document databases.
//!
//! ```text
//! argv ─ cli ─► PlanSpec ─ plan::check ─► Plan ─► run ─► RunRecord ─► report
//!                                                  │
//!        engine: shards ► tickets ► drive ► workload ► driver ► wire ► database
//!                                     └► probe ► recorder ► measure
//! ```
//!
//! Each room's head says what it knows and what it does not know; ARCHITECTURE.md has the laws.

pub mod cli;
pub mod clock;
pub mod cores;
pub mod driver;
pub mod embedded;
pub mod engine;
pub mod fleet;
pub mod generate;
pub mod http1;
pub mod measure;
pub mod mistake;
pub mod net;
pub mod op;
pub mod plan;
pub mod properties;
pub mod record;
pub mod report;
pub mod run;
pub mod schema;
pub mod selftest;
pub mod sweep;

pub mod workload;
