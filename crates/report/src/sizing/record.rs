//! A sizing as data.

use crate::plan::{Nouns, Threshold};
use crate::search::middle_rate;
use crate::statistics::Usl;
use serde::{Deserialize, Serialize};

/// Increased when readers of the previous layout would misread it.
pub(super) const SCHEMA_VERSION: u32 = 1;

/// What the sizes count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Servers of a cluster.
    Nodes,
    /// Shards of a database.
    Shards,
}

/// Whether there is an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SizingVerdict {
    /// Some number is enough.
    Enough,
    /// No number carries the rate together with the spare ones.
    TooMuch,
    /// The measurements do not follow any law.
    PoorFit,
}

/// The law by which the rate grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LawName {
    /// Proportional to the size, if there are no other sizes.
    Linear,
    /// Amdahl's law, if there is no third size.
    Amdahl,
    /// The Universal Scalability Law.
    Universal,
}

/// How the rate grows with the size N: λ N / (1 + σ (N − 1) + κ N (N − 1)).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Law {
    /// Which law it is.
    pub name: LawName,
    /// λ: documents per second of size 1.
    pub single_per_s: f64,
    /// σ: contention, a share of 1.
    pub contention: f64,
    /// κ: coherency, a share of 1.
    pub coherency: f64,
    /// The size beyond which the rate falls.
    pub peak: Option<f64>,
    /// The rate at the better of the two whole sizes next to it, in documents per second.
    pub most_per_s: Option<f64>,
    /// Whether there are more sizes than the law has parameters, so that they test it.
    pub checked: bool,
}

/// What one search found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Nodes or shards.
    pub size: u64,
    /// The sustained rate, in documents per second: the median of all searches, as in `max`.
    pub sustained_per_s: f64,
    /// What each search found.
    pub found_per_s: Vec<f64>,
    /// The rate of this size according to the law.
    pub law_per_s: f64,
    /// The client was the limit: the size may carry more.
    pub client_bound: bool,
    /// No higher level was tried: the size may carry more.
    pub open_ended: bool,
    /// The path of the search.
    pub from: String,
}

/// The rate that a size carries according to the law.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Nodes or shards.
    pub size: u64,
    /// Documents per second.
    pub per_s: f64,
}

/// How many are needed, and the basis for that.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sizing {
    /// Increased when readers of the previous layout would misread it.
    pub schema_version: u32,
    /// The command line.
    pub command: String,
    /// What its rates count, such as `rows`; documents if this is missing.
    #[serde(default, skip_serializing_if = "Nouns::are_documents")]
    pub counted: Nouns,
    /// The requested rate, in documents per second.
    pub rate_per_s: f64,
    /// The limits that the server must meet at that rate.
    pub slo: Vec<Threshold>,
    /// What the sizes count.
    pub unit: Unit,
    /// How many of those needed may be lost.
    pub spare: u64,
    /// Whether there is an answer.
    pub verdict: SizingVerdict,
    /// How many are needed, including the spare ones.
    pub needed: Option<u64>,
    /// The lower end of the range with the answers of nineteen of twenty draws from the searches.
    pub low: Option<u64>,
    /// The upper end; `None` with a `low`: some draws have no answer.
    pub high: Option<u64>,
    /// The answer, or the peak if there is none, is more than twice the largest size measured.
    pub extrapolated: bool,
    /// How the rate grows with the size.
    pub law: Law,
    /// The measurements, by size.
    pub measured: Vec<Measured>,
    /// The sizes around the answer: one less, enough, and with the spare ones.
    pub steps: Vec<Step>,
    /// Further remarks, such as searches that differ.
    pub notes: Vec<String>,
}

impl Law {
    /// The rate that `size` carries, in documents per second.
    pub fn rate(&self, size: f64) -> f64 {
        let Self { single_per_s: single, contention, coherency, .. } = *self;
        Usl { single, contention, coherency }.rate(size)
    }
}

impl LawName {
    /// How many sizes are needed to determine it.
    pub(super) const fn parts(self) -> usize {
        match self {
            Self::Linear => 1,
            Self::Amdahl => 2,
            Self::Universal => 3,
        }
    }
}

impl Unit {
    /// The word for `count` of them.
    pub const fn word(self, count: u64) -> &'static str {
        match (self, count) {
            (Self::Nodes, 1) => "node",
            (Self::Nodes, _) => "nodes",
            (Self::Shards, 1) => "shard",
            (Self::Shards, _) => "shards",
        }
    }
}

impl Measured {
    /// A search over `size` nodes or shards.
    pub fn new(size: u64, found_per_s: Vec<f64>, from: String) -> Self {
        let sustained_per_s = middle_rate(&found_per_s).unwrap_or_default();
        Self { size, sustained_per_s, found_per_s, from, ..Self::default() }
    }

    /// By how much the law misses the measured rate, as a share of it.
    pub fn off(&self) -> f64 {
        self.law_per_s / self.sustained_per_s - 1.0
    }
}
