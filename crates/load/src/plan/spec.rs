//! A specification before it is checked.

use super::drill::DrillSpec;
use super::observe::ObserveSpec;
use super::planned::{FillPlan, PlanRecord};
use super::probe::ProbePlan;
use super::replication::ReplicateSpec;
use super::schemas::SchemaSource;
use super::ycsb_measurement::MeasurementPlan;
use crate::clock::{Nanos, SECOND_NS};
use crate::driver::{Auth, Existing, FollowPlan, HttpPlan};
use crate::engine::{Arrivals, Segment};
use crate::mistake::Flagged;
use crate::net::{MAX_ANSWER, TlsOptions};
use crate::schema::Ids;
use crate::workload::Demand;
use serde_json::{Map, Value};
use std::sync::Arc;

/// When operations of the main stage are due, as requested.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadSpec {
    /// As fast as responses arrive, with a pause after each.
    Closed {
        /// The pause, in nanoseconds.
        think_ns: Nanos,
    },
    /// At one or more rates in turn.
    Open {
        /// The rates over time; the last one may have the length 0, which is open-ended.
        segments: Vec<Segment>,
        /// The gaps.
        arrivals: Arrivals,
        /// The most operations that may be due but unfinished; `None`: a default that depends on
        /// the rate.
        max_in_flight: Option<u64>,
        /// Operations due within this time of each other may start together.
        slack_ns: Nanos,
        /// How many connections may be opened as needed; `None`: no more than it starts with.
        most_connections: Option<u64>,
    },
}

/// A specification: what all runs have in common, and the work of a workload.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct PlanSpec {
    /// The command line that asks for the same run.
    pub command: String,
    /// The server, and optionally the database; `None` for the stand-in.
    pub target: Option<String>,
    /// The flag that the target was given with.
    pub target_flag: &'static str,
    /// The other nodes of the cluster.
    pub nodes: Vec<String>,
    /// Whether connections stay with their nodes.
    pub pin: bool,
    /// The database, if it is not part of the target.
    pub database: Option<String>,
    /// Whether a named database may, or must, exist.
    pub existing: Existing,
    /// Keep a database that springload created.
    pub keep: bool,
    /// How credentials are sent.
    pub auth: Flagged<Auth>,
    /// How the server's certificate is checked.
    pub tls: TlsOptions,
    /// Headers of every request, `Name: value`, with drivers that speak HTTP.
    pub headers: Vec<String>,
    /// Settings specific to the driver.
    pub options: Map<String, Value>,
    /// The requests of a list, if there is one; they determine the target.
    pub http: Option<HttpPlan>,
    /// Connections.
    pub connections: Flagged<u64>,
    /// Threads; `None` for the best number on this machine.
    pub threads: Option<u64>,
    /// The seed.
    pub seed: u64,
    /// How documents are named.
    pub ids: Ids,
    /// The timeout of one operation.
    pub timeout_ns: Nanos,
    /// How long the server may be silent; `None`: 30 s, or the timeout if that is longer.
    pub give_up_ns: Option<Nanos>,
    /// The largest response that is read, in bytes.
    pub max_answer: u64,
    /// Schemas with weights, and the flag each was given with; if empty, the built-in one.
    pub schemas: Vec<(&'static str, SchemaSource, u32)>,
    /// The work.
    pub work: Arc<dyn Demand>,
    /// The time during which the main stage starts operations; if their number is given as well, it
    /// ends at whichever limit comes first.
    pub duration_ns: Option<Nanos>,
    /// When operations are due.
    pub load: LoadSpec,
    /// Additional settings for the fill.
    pub fill: FillPlan,
    /// Compare what is read with what was written.
    pub verify: bool,
    /// Note every acknowledged write, and look for it at the end.
    pub audit: bool,
    /// The plan of the earlier run whose writes are looked for, if the work is an audit of one.
    pub audited: Option<PlanRecord>,
    /// Documents that are written beside the load and looked for.
    pub probe: Option<ProbePlan>,
    /// Followers of the changes beside the load.
    pub follow: Option<FollowPlan>,
    /// What is broken and mended in the middle of the main stage.
    pub drill: Option<DrillSpec>,
    /// Replication beside the load.
    pub replicate: Option<ReplicateSpec>,
    /// What is observed of the servers beside the load.
    pub observe: ObserveSpec,
    /// How YCSB's reports show the measurements, for runs in its dialect.
    pub measurement: Option<MeasurementPlan>,
    /// The operations that the plan defines, as written.
    pub operations: Vec<String>,
    /// The lists that these take values from, as written.
    pub data: Vec<String>,
    /// What makes the run fail, as written.
    pub thresholds: Vec<String>,
}

impl PlanSpec {
    /// Work on this many connections to the stand-in, as fast as responses arrive, with defaults
    /// for everything else.
    pub fn new(command: &str, connections: Flagged<u64>, work: Arc<dyn Demand>) -> Self {
        Self {
            command: command.to_owned(),
            target: None,
            target_flag: "TARGET",
            nodes: Vec::new(),
            pin: false,
            database: None,
            existing: Existing::No,
            keep: false,
            auth: Flagged::new("--auth", Auth::default()),
            tls: TlsOptions::default(),
            headers: Vec::new(),
            options: Map::new(),
            http: None,
            connections,
            threads: None,
            seed: 1,
            ids: Ids::Sequential,
            timeout_ns: 30 * SECOND_NS,
            give_up_ns: None,
            max_answer: MAX_ANSWER,
            schemas: Vec::new(),
            work,
            duration_ns: None,
            load: LoadSpec::Closed { think_ns: 0 },
            fill: FillPlan::default(),
            verify: false,
            audit: false,
            audited: None,
            probe: None,
            follow: None,
            drill: None,
            replicate: None,
            observe: ObserveSpec::NOTHING,
            measurement: None,
            operations: Vec::new(),
            data: Vec::new(),
            thresholds: Vec::new(),
        }
    }
}
