//! Flags that have the same meaning in several verbs.

pub(in crate::cli) mod load;
pub(in crate::cli) mod schema_source;
pub(in crate::cli) mod shared;
