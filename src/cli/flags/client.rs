//! Flags about the client, and the default seeds.

use crate::cli::flags::give_up::GiveUpArgs;
use crate::cli::flags::tls::TlsArgs;
use crate::clock::wall_ns;
use crate::generate::mix;
use crate::plan::{self, PlanSpec};
use std::hash::{BuildHasher, RandomState};

/// The default seed of verbs that repeat the same run each time.
pub(in crate::cli) const DEFAULT_SEED: u64 = 42;

/// Flags about the client, shared by all verbs that measure.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ClientArgs {
    /// Seed for everything random [default: 42]
    ///
    /// Seed for everything random: the same seed repeats the run [default: 42; http draws a new one
    /// each time]
    #[arg(long, value_name = "N")]
    pub(in crate::cli) seed: Option<u64>,
    /// Timeout for one operation, including redirects
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = plan::duration_ns)]
    pub(in crate::cli) timeout: u64,
    #[command(flatten)]
    pub(in crate::cli) patience: GiveUpArgs,
    /// The largest answer to accept, in bytes on the wire
    #[arg(long, value_name = "SIZE", default_value = "64MB", value_parser = plan::size)]
    pub(in crate::cli) max_answer: u64,
    #[command(flatten)]
    pub(in crate::cli) tls: TlsArgs,
    /// A header for every request; may be repeated
    ///
    /// A header to send with every HTTP request to the named servers, such as
    /// 'X-Forwarded-For: 10.0.0.1'; its value is not stored; may be repeated
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub(in crate::cli) header: Vec<String>,
}

impl ClientArgs {
    /// The seed of a verb that repeats the same run unless another seed is given.
    pub(in crate::cli) fn seed(&self) -> u64 {
        self.seed.unwrap_or(DEFAULT_SEED)
    }

    /// Adds these client settings to the request.
    pub(in crate::cli) fn complete(&self, spec: PlanSpec) -> PlanSpec {
        PlanSpec {
            tls: self.tls.options(),
            headers: self.header.clone(),
            seed: self.seed(),
            timeout_ns: self.timeout,
            give_up_ns: self.patience.give_up,
            max_answer: self.max_answer,
            ..spec
        }
    }
}

/// A seed that no other run has, on this machine or another.
pub(in crate::cli) fn drawn_seed() -> u64 {
    // The keys of a hasher come from the operating system's random number generator.
    let drawn = RandomState::new().hash_one(std::process::id());
    mix(wall_ns(), u64::from(std::process::id()), drawn)
}
