//! YCSB's core workload and its pieces: properties, keys, texts, choices.
//!
//! Follows YCSB 0.17.0 and its later head, so that data loaded by one are found by the other.
//! Knows nothing of databases, threads or clocks.

pub mod builtin;
mod choose;
mod config;
mod core;
mod keys;
mod lengths;
pub mod occupancy;
mod properties;
mod read;
mod record;
pub mod values;

pub use choose::{Action, Actions, Chooser};
pub use config::{CoreConfig, FieldsSpec, Proportions, ReadFields, RequestSpec, RetrySpec};
pub use core::{Bodies, Core, CoreLane};
pub use keys::{KeyNames, KeyOrder};
pub use lengths::{LengthSpec, Lengths};
pub use properties::Properties;
pub use read::{PropertyError, Reader};
