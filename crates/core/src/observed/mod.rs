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

/// What was observed on the servers during a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Observed {
    /// The servers, nodes and exporters that were polled.
    pub sources: Vec<Source>,
    /// What the servers were busy with besides requests, in chronological order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub activities: Vec<Activity>,
    /// The server's settings, under its own names, without secrets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

/// A server, node or exporter that was polled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Source {
    /// Its name: the host of a node, or the name given by the user.
    pub name: String,
    /// The URL of its metrics, without user and password, if the user gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Whether it stands for the machine that springload shares with a server.
    #[serde(default, skip_serializing_if = "super::measure::is_default")]
    pub machine: bool,
    /// How often it was polled.
    pub polls: u64,
    /// How often it gave no response in time.
    #[serde(default, skip_serializing_if = "super::measure::is_default")]
    pub missed: u64,
    /// The reason for the first time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The reason it refused to report metrics; absent if it did not refuse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// A remark about its numbers, such as that there were too many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// When its counters were found to have restarted, in seconds from the run's start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restarts_s: Vec<f64>,
    /// Its numbers over time, with a table for each kind of request for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<Table>,
    /// The requests that it counted between its first and last response, without springload's own
    /// polls and the administrative requests of a drill; `None` if it does not count requests, or
    /// was restarted in between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<Served>,
    /// What it evicted between its first and last response; absent if it evicted nothing, does not
    /// tell, or was restarted in between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evicted: Option<Evicted>,
}

/// Documents that a server removed by itself, because it had no memory left for them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evicted {
    /// Their number.
    pub documents: u64,
    /// The server's setting of how it chooses them, such as `maxmemory-policy allkeys-lru`.
    pub policy: String,
}

/// The responses to one kind of poll over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Table {
    /// When each response came, in seconds from the run's start. In long runs, older rows combine
    /// several responses, and have the time of the last of these.
    pub at_s: Vec<f64>,
    /// A column for each number. Numbers that were always 0 are left out.
    pub columns: Vec<Column>,
}

/// A number over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Column {
    /// Which number it is.
    #[serde(flatten)]
    pub meter: Meter,
    /// One value for each row of the table. `None` if there was no response in time or, for rates,
    /// if nothing is known about the time before. In a row that combines several responses, the
    /// mean for rates and the maximum for everything else, if at least half of the responses came.
    pub values: Vec<Option<f64>>,
}

/// Something that a server was busy with besides requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Activity {
    /// What the server calls it, such as `database_compaction`.
    pub kind: String,
    /// What it affected, such as a database.
    pub what: String,
    /// When it was first seen, in seconds from the run's start.
    pub from_s: f64,
    /// When it was no longer seen, in seconds from the run's start; `None` if it was still going on
    /// at the end.
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
