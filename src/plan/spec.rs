//! What was asked, before it is known to make sense.

use super::planned::FillPlan;
use super::schemas::SchemaSource;
use super::ycsb_measurement::MeasurementPlan;
use crate::clock::{Nanos, SECOND_NS};
use crate::driver::{Auth, Existing, HttpPlan};
use crate::engine::{Arrivals, Segment};
use crate::mistake::Flagged;
use crate::net::MAX_ANSWER;
use crate::schema::Ids;
use crate::workload::Demand;
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::sync::Arc;

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

/// What was asked: what all runs have in common, and the work that a workload is to do.
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
    /// Whether a named database may, or must, exist.
    pub existing: Existing,
    /// A database that springload made stays.
    pub keep: bool,
    /// How credentials are presented.
    pub auth: Flagged<Auth>,
    /// A PEM file with authorities.
    pub tls_ca: Option<PathBuf>,
    /// Settings of the driver's own.
    pub options: Map<String, Value>,
    /// The requests of a list, where there is one; then the target is whoever they are for.
    pub http: Option<HttpPlan>,
    /// Connections.
    pub connections: Flagged<u64>,
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
    /// The work.
    pub work: Arc<dyn Demand>,
    /// How long the main stage begins operations; with a number of them as well, whichever ends
    /// first.
    pub duration_ns: Option<Nanos>,
    /// When they are due.
    pub load: LoadSpec,
    /// What is done about the fill.
    pub fill: FillPlan,
    /// How YCSB's reports tell the measurements, where its dialect is spoken.
    pub measurement: Option<MeasurementPlan>,
    /// What makes the run fail, as written.
    pub thresholds: Vec<String>,
}

impl PlanSpec {
    /// The work on so many connections to the stand-in, as fast as answers come; all else as it is
    /// by default.
    pub fn new(command: &str, connections: Flagged<u64>, work: Arc<dyn Demand>) -> Self {
        Self {
            command: command.to_owned(),
            target: None,
            target_flag: "TARGET",
            database: None,
            existing: Existing::No,
            keep: false,
            auth: Flagged::new("--auth", Auth::default()),
            tls_ca: None,
            options: Map::new(),
            http: None,
            connections,
            threads: None,
            seed: 1,
            ids: Ids::Sequential,
            timeout_ns: 30 * SECOND_NS,
            max_answer: MAX_ANSWER,
            schemas: Vec::new(),
            work,
            duration_ns: None,
            load: LoadSpec::Closed { think_ns: 0 },
            fill: FillPlan::default(),
            measurement: None,
            thresholds: Vec::new(),
        }
    }
}
