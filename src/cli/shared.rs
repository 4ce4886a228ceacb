//! Flags that have the same meaning in several native verbs.

use crate::plan::{self, Auth, Invalid};
use clap::ValueEnum;
use std::path::PathBuf;

/// What every verb that measures says about the client.
#[derive(Debug, clap::Args)]
pub(super) struct ClientArgs {
    /// What everything random is drawn from: the same seed, the same run
    #[arg(long, value_name = "N", default_value = "42")]
    pub(super) seed: u64,
    /// How long one operation may take; in HTTP, redirects included
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = plan::duration_ns)]
    pub(super) timeout: u64,
    /// A PEM file with the authorities to trust, instead of the system's
    #[arg(long, value_name = "FILE")]
    pub(super) tls_ca: Option<PathBuf>,
}

/// What verbs that work in a database of their own say about it.
#[derive(Debug, clap::Args)]
pub(super) struct DatabaseArgs {
    /// Use the database in TARGET although it exists; it will not be deleted
    #[arg(long)]
    pub(super) use_existing: bool,
    /// Leave the database that this run makes
    #[arg(long, conflicts_with = "use_existing")]
    pub(super) keep: bool,
    /// How user and password are presented
    #[arg(long, value_enum, default_value = "cookie")]
    pub(super) auth: AuthArg,
}

impl DatabaseArgs {
    /// What is wrong with these flags for the server that is named.
    pub(super) fn mistake(&self, target: Option<&String>) -> Option<Invalid> {
        let cure = "name the server and database, or leave the flag out";
        (target.is_none() && self.use_existing)
            .then(|| Invalid::new("--use-existing", "the stand-in starts empty", cure))
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum AuthArg {
    /// A session cookie
    Cookie,
    /// Basic authentication in every request
    Basic,
}

impl From<AuthArg> for Auth {
    fn from(auth: AuthArg) -> Self {
        match auth {
            AuthArg::Cookie => Self::Cookie,
            AuthArg::Basic => Self::Basic,
        }
    }
}
