//! Presents runs: reports, comparisons, trends, searches and sizes.
//!
//! Its modules are for springload's own crates, and may change with any version.

pub mod compare;
pub mod report;
pub mod search;
pub mod sizing;
pub mod sweep;
pub mod trend;

use springload_core::{generate, measure, observed, op, redact, statistics};
use springload_load::{plan, record};
