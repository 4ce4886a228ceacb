//! What servers report about themselves during a load: the numbers that they keep, what they were
//! busy with, and their settings. Knows nothing about databases, and sends no requests.

pub mod exposition;
pub mod host;
mod log;
mod meter;
pub mod series;

pub use log::ObservedLog;
pub use meter::{Meter, Reading, Task};

use crate::measure::Served;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What was observed of the servers during a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Observed {
    /// Those that were asked.
    pub sources: Vec<Source>,
    /// What they were busy with besides requests, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub activities: Vec<Activity>,
    /// How the server is set, by names of its own, without anything secret.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

/// One server, node or exporter that was asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Source {
    /// Its name: the host of a node, or the name that the user gave it.
    pub name: String,
    /// The URL of its metrics, without user and password, if it is one that the user gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Whether it is the machine that springload shares with a server.
    #[serde(default, skip_serializing_if = "super::measure::is_default")]
    pub machine: bool,
    /// How often it was asked.
    pub polls: u64,
    /// How often it gave no answer in time.
    #[serde(default, skip_serializing_if = "super::measure::is_default")]
    pub missed: u64,
    /// The first reason for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why it does not answer questions about itself, if that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// What to know about its numbers, such as that there were too many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// When its counters were seen to have begun anew, in seconds from the run's start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restarts_s: Vec<f64>,
    /// Its numbers over time: a table for each question that it was asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<Table>,
    /// The requests that it has counted between the first answer and the last, without those that
    /// asked it; `None`: it does not count them, or was started again meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<Served>,
}

/// The answers to one question over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Table {
    /// When each came, in seconds from the run's start. Of long runs, older rows stand for several
    /// answers, and have the time of the last of these.
    pub at_s: Vec<f64>,
    /// A column for each number. Those that were 0 throughout are left out.
    pub columns: Vec<Column>,
}

/// A number over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Column {
    /// Which number it is.
    #[serde(flatten)]
    pub meter: Meter,
    /// One value for each row of its table; `None`: there was no answer in time, or it is a rate
    /// and nothing is known about the time before. A row that stands for several answers has the
    /// mean of rates and the highest of everything else, if half of the answers came.
    pub values: Vec<Option<f64>>,
}

/// Something that a server was busy with besides requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Activity {
    /// What it was, in the server's words, such as `database_compaction`.
    pub kind: String,
    /// What it was about, such as a database.
    pub what: String,
    /// From when it was seen, in seconds from the run's start.
    pub from_s: f64,
    /// When it was no longer seen, in seconds from the run's start; `None`: it went on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_s: Option<f64>,
}

impl Observed {
    /// Whether nothing at all was observed.
    pub fn is_empty(&self) -> bool {
        let nothing = |it: &Source| {
            let is_noted = it.refused.is_some() || it.missed > 0 || it.note.is_some();
            it.tables.is_empty() && !is_noted
        };
        self.sources.iter().all(nothing) && self.activities.is_empty() && self.settings.is_empty()
    }
}
