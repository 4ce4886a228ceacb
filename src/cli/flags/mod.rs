//! Flags that several verbs share.

mod address;
pub(in crate::cli) mod agents;
pub(in crate::cli) mod batch;
mod bearer;
pub(in crate::cli) mod checks;
pub(in crate::cli) mod client;
pub(in crate::cli) mod credentials;
pub(in crate::cli) mod database;
pub(in crate::cli) mod designs;
pub(in crate::cli) mod docs;
pub(in crate::cli) mod gate;
pub(in crate::cli) mod give_up;
pub(in crate::cli) mod known;
pub(in crate::cli) mod listen;
pub(in crate::cli) mod load;
mod netrc;
pub(in crate::cli) mod observe;
pub(in crate::cli) mod output;
pub(in crate::cli) mod place;
pub(in crate::cli) mod push;
pub(in crate::cli) mod requesters;
pub(in crate::cli) mod schema_source;
pub(in crate::cli) mod study;
pub(in crate::cli) mod target;
pub(in crate::cli) mod tls;

/// The value of an environment variable; an empty one counts as unset.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
