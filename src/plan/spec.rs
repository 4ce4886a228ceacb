//! What was asked, before it is known to make sense.

use super::burst::BurstSpec;
use super::schemas::SchemaSource;
use super::ycsb::YcsbSpec;
use super::{Auth, FillPlan};
use crate::clock::Nanos;
use crate::engine::{Arrivals, Segment};
use crate::schema::Ids;
use crate::workload::{CrudOrder, Mix};
use std::path::PathBuf;

/// When operations of the main stage are due, as asked.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadSpec {
    /// As fast as answers come, with a pause of so many nanoseconds between.
    Closed {
        /// The pause.
        think_ns: Nanos,
    },
    /// At a rate, or at one after the other.
    Open {
        /// The rates over time; the length of the last one may be left open with 0.
        segments: Vec<Segment>,
        /// The gaps.
        arrivals: Arrivals,
        /// The most that may be due and not done; `None`: a default that follows from the rate.
        max_in_flight: Option<u64>,
        /// Operations that fall due within this time of each other may be begun together.
        slack_ns: Nanos,
    },
}

/// What was asked. Flag names are those of the dialect it was asked in.
#[derive(Clone, Debug)]
pub struct PlanSpec {
    /// The command line that asks for the same.
    pub command: String,
    /// The server, and perhaps the database; `None`: the stand-in.
    pub target: Option<String>,
    /// The flag that the target is given with.
    pub target_flag: &'static str,
    /// The database, where it is not part of the target.
    pub database: Option<String>,
    /// A named database may, or must, exist.
    pub use_existing: bool,
    /// A database that springload made stays.
    pub keep: bool,
    /// How credentials are presented.
    pub auth: Auth,
    /// A PEM file with authorities.
    pub tls_ca: Option<PathBuf>,
    /// Connections.
    pub connections: u64,
    /// Threads; `None`: as many as make sense here.
    pub threads: Option<u64>,
    /// The seed.
    pub seed: u64,
    /// How documents are named.
    pub ids: Ids,
    /// How long one operation may take.
    pub timeout_ns: Nanos,
    /// The largest answer that is read, in bytes.
    pub max_answer: u64,
    /// Schemas with weights, and the flag each was given with; none: the built-in one.
    pub schemas: Vec<(&'static str, SchemaSource, u32)>,
    /// Documents to insert in bulk.
    pub documents: u64,
    /// Documents in one bulk request.
    pub batch: u64,
    /// Single-document operations; with `duration_ns` as well, whichever ends first.
    pub operations: Option<u64>,
    /// How long single-document operations are begun.
    pub duration_ns: Option<Nanos>,
    /// How long to warm up before they are measured.
    pub warmup_ns: Nanos,
    /// Their mix.
    pub mix: Mix,
    /// The documents they go to.
    pub order: CrudOrder,
    /// When they are due.
    pub load: LoadSpec,
    /// What is done about the fill.
    pub fill: FillPlan,
    /// Bursts, in the place of all that is asked of documents and operations.
    pub burst: Option<BurstSpec>,
    /// YCSB's workload, in the place of documents, operations, mix and order.
    pub ycsb: Option<YcsbSpec>,
    /// What makes the run fail, as written.
    pub thresholds: Vec<String>,
}
