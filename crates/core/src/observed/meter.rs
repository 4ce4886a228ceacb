//! One number that a server keeps about itself, and one answer with several of them.

use super::Served;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A number that a server keeps about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Meter {
    /// Its name, which ends in its unit, such as `fsyncs_per_s`.
    pub name: Cow<'static, str>,
    /// What people read, such as `fsyncs`.
    pub title: Cow<'static, str>,
    /// Its unit, such as `per second`; empty: it is a plain number.
    pub unit: Cow<'static, str>,
    /// What it is about, such as `disk`: numbers about the same are drawn together.
    pub about: Cow<'static, str>,
    /// Whether the server counts it from its start, so that only differences say something.
    #[serde(skip)]
    pub counted: bool,
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
        }
    }

    /// A number that the server counts from its start; its rate per second is of interest.
    pub const fn rate(name: &'static str, title: &'static str, about: &'static str) -> Self {
        Self {
            name: Cow::Borrowed(name),
            title: Cow::Borrowed(title),
            unit: Cow::Borrowed("per second"),
            about: Cow::Borrowed(about),
            counted: true,
        }
    }
}

/// One answer of a server about itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Its numbers; of those that are counted, the count.
    pub values: Vec<(Meter, f64)>,
    /// How long the server has been up, in seconds.
    pub uptime_s: Option<f64>,
    /// What it is busy with; `None`: that was not asked.
    pub tasks: Option<Vec<Task>>,
    /// Whether these are the tasks of all nodes, whichever was asked.
    pub of_all: bool,
    /// What it has served since it was started, without what this connection has asked of it.
    pub served: Option<Served>,
}

/// Something that a server is busy with besides requests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Task {
    /// What it is, in the server's words.
    pub kind: String,
    /// What it is about.
    pub what: String,
}
