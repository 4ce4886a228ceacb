//! The command lines of other programs, each turned into a plan.

pub(in crate::cli) mod bm_couchdb;
pub(in crate::cli) mod bulk_perf;
pub(in crate::cli) mod cushion;
pub(in crate::cli) mod siege;
pub(in crate::cli) mod ycsb;
