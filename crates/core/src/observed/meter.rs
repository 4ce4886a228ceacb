//! One number that a server keeps about itself, and one answer with several of them.

use super::Evicted;
use crate::measure::Served;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A number that a server keeps about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Meter {
    /// Its name, which ends in its unit, such as `fsyncs_per_s`.
    pub name: Cow<'static, str>,
    /// Its name for display, such as `fsyncs`.
    pub title: Cow<'static, str>,
    /// Its unit, such as `per second`; empty for a plain number.
    pub unit: Cow<'static, str>,
    /// Its subject, such as `disk`; numbers with the same subject are plotted together.
    pub about: Cow<'static, str>,
    /// Whether the server counts it from its start. It is then given as a rate since the previous
    /// response.
    #[serde(default, skip_serializing_if = "crate::measure::is_default")]
    pub counted: bool,
    /// The name of the counter that this one is divided by: the time of all calls becomes the time
    /// per call.
    #[serde(skip)]
    pub per: Option<&'static str>,
}

impl Meter {
    /// A number that rises and falls.
    pub const fn gauge(
        name: &'static str,
        title: &'static str,
        unit: &'static str,
        about: &'static str,
    ) -> Self {
        Self {
            name: Cow::Borrowed(name),
            title: Cow::Borrowed(title),
            unit: Cow::Borrowed(unit),
            about: Cow::Borrowed(about),
            counted: false,
            per: None,
        }
    }

    /// A number that the server counts from its start; the rate per second is shown.
    pub const fn rate(name: &'static str, title: &'static str, about: &'static str) -> Self {
        Self::counted(name, title, "per second", about)
    }

    /// Like [`rate`](Self::rate), but the rate has another unit.
    pub const fn counted(
        name: &'static str,
        title: &'static str,
        unit: &'static str,
        about: &'static str,
    ) -> Self {
        let mut meter = Self::gauge(name, title, unit, about);
        meter.counted = true;
        meter
    }

    /// A number that the server counts from its start, shown per unit of the counted number `per`.
    pub const fn each(
        name: &'static str,
        title: &'static str,
        unit: &'static str,
        about: &'static str,
        per: &'static str,
    ) -> Self {
        let mut meter = Self::counted(name, title, unit, about);
        meter.per = Some(per);
        meter
    }
}

/// One answer of a server about itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Its numbers; for counted ones, the count.
    pub values: Vec<(Meter, f64)>,
    /// How long the server has been up, in seconds.
    pub uptime_s: Option<f64>,
    /// The tasks it is busy with; `None` if that was not asked.
    pub tasks: Option<Vec<Task>>,
    /// Whether these are the tasks of all nodes, no matter which node was asked.
    pub of_all: bool,
    /// What it has served since its start, without the requests of this connection.
    pub served: Option<Served>,
    /// What it has evicted since its start.
    pub evicted: Option<Evicted>,
    /// Whether a falling count is no evidence that the others started again: some exporters call
    /// numbers counters that rise and fall.
    pub lone_counts: bool,
    /// A note about these numbers, such as that there are more.
    pub note: Option<String>,
}

/// Something that a server is busy with besides requests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Task {
    /// Its kind, in the server's words.
    pub kind: String,
    /// What it is about.
    pub what: String,
}
