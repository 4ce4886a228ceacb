//! Flags about the client, and the seeds that are drawn where none is given.

use crate::clock::wall_ns;
use crate::generate::mix;
use crate::plan;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;

/// The seed where none is given and the same run is wanted each time.
pub(in crate::cli) const DEFAULT_SEED: u64 = 42;

/// What every verb that measures says about the client.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ClientArgs {
    /// What everything random is drawn from: the same seed, the same run [default: 42; of http:
    /// another one each time]
    #[arg(long, value_name = "N")]
    pub(in crate::cli) seed: Option<u64>,
    /// How long one operation may take; in HTTP, redirects included
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = plan::duration_ns)]
    pub(in crate::cli) timeout: u64,
    /// The largest answer that is read, in bytes as they come
    #[arg(long, value_name = "SIZE", default_value = "64MB", value_parser = plan::size)]
    pub(in crate::cli) max_answer: u64,
    /// A PEM file with the authorities to trust, instead of the system's
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) tls_ca: Option<PathBuf>,
}

impl ClientArgs {
    /// The seed of a verb that does the same each time, unless another one is given.
    pub(in crate::cli) fn seed(&self) -> u64 {
        self.seed.unwrap_or(DEFAULT_SEED)
    }
}

/// A seed unlike that of any other run, on this machine or another one.
pub(in crate::cli) fn drawn_seed() -> u64 {
    // The keys of a hasher come from the operating system's own source of randomness.
    let drawn = RandomState::new().hash_one(std::process::id());
    mix(wall_ns(), u64::from(std::process::id()), drawn)
}
