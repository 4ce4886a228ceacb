//! springload's own verbs, one file or folder each.

pub(in crate::cli) mod ab;
pub(in crate::cli) mod agent;
pub(in crate::cli) mod audit;
mod baseline;
pub(in crate::cli) mod burst;
pub(in crate::cli) mod clean;
pub(in crate::cli) mod compare;
pub(in crate::cli) mod completions;
mod found;
pub(in crate::cli) mod hbase;
pub(in crate::cli) mod http;
pub(in crate::cli) mod init;
pub(in crate::cli) mod k8s;
pub(in crate::cli) mod list;
mod named;
pub(in crate::cli) mod report;
pub(in crate::cli) mod run;
mod saved;
mod scenario;
pub(in crate::cli) mod schema;
pub(in crate::cli) mod selftest;
pub(in crate::cli) mod serve;
pub(in crate::cli) mod shell;
mod stored;
pub(in crate::cli) mod sweep;
pub(in crate::cli) mod trend;
mod trouble;
