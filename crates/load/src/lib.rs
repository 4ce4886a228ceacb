//! A load test, from its plan through the hot loop to its record.
//!
//! Its modules are for springload's own crates, and may change with any version.

pub mod fleet;
pub mod plan;
pub mod record;
pub mod run;

use springload_core::{
    account, clock, files, generate, http1, journal, measure, mistake, net, observed, op,
    properties, redact, schema, statistics, values,
};
use springload_driver as driver;
use springload_engine as engine;
use springload_workload as workload;
