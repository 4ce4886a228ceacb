//! Charts as data: titles, axes, lines or cells. The page and the pictures draw them; nothing here
//! knows how.
//!
//! A new chart is a file with a function from [`View`] to [`Chart`], and an entry in `charts`.

mod agents;
mod bands;
mod errors;
mod heatmap;
mod lag;
mod latency;
mod max;
mod percentiles;
mod seconds;
mod series;
mod server;
mod sizing;
mod throughput;
mod timeline;
mod trend;
mod view;
mod words;

pub(in crate::report) use timeline::Cuts;

pub(super) use max::of_max;
pub(super) use series::{burst, by_size, of_sweep};
pub(super) use sizing::of_sizing;
pub(super) use trend::of_trend;
pub(super) use view::{MOST_RUNS, OfKind, Stage, foremost, label, stages};

use crate::op::with_all;
use serde::{Serialize, Serializer};
use std::fmt;
use view::View;

with_all! {
    /// The kinds of charts, with the names that `--chart` takes, in the order in which they are
    /// shown.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ChartKind {
        /// Offered and served load, over time.
        Throughput,
        /// Percentiles of response and service times, over time.
        Latency,
        /// Response and service time at each percentile.
        Percentiles,
        /// The distribution of response times over time.
        Heatmap,
        /// Failures over time.
        Errors,
        /// What each agent did, over time.
        Agents,
        /// The servers' own metrics, over time.
        Server,
        /// How far the targets of replication lagged behind, over time.
        Lag,
    }
}

impl ChartKind {
    /// The name used in flags and data.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Latency => "latency",
            Self::Percentiles => "percentiles",
            Self::Heatmap => "heatmap",
            Self::Errors => "errors",
            Self::Agents => "agents",
            Self::Server => "server",
            Self::Lag => "lag",
        }
    }
}

impl fmt::Display for ChartKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Chart {
    pub(super) kind: ChartKind,
    pub(super) title: String,
    /// Whether the title says that it is over time.
    #[serde(skip)]
    pub(super) says_time: bool,
    /// How to read it, in one sentence.
    pub(super) note: String,
    pub(super) words: String,
    /// Whether its lines need names; a single line is described by the title.
    pub(super) legend: bool,
    pub(super) x: ChartAxis,
    pub(super) y: ChartAxis,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) lines: Vec<Line>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cells: Option<CountGrid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) map: Option<Map>,
    /// Bands of time behind everything else.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) bands: Vec<Band>,
}

/// A band of time that explains the rest, such as an outage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Band {
    pub(super) from_s: f64,
    pub(super) to_s: f64,
    pub(super) what: What,
    /// The caption, with the length.
    pub(super) text: String,
}

/// The cause of a band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum What {
    /// Nothing succeeded, because of the server.
    Outage,
    /// The server did not respond.
    Silence,
    /// springload itself paused.
    Pause,
    /// An agent was lost.
    Lost,
    /// A server was busy with something besides requests.
    Busy,
    /// Something was broken on purpose.
    Broken,
}

/// An axis. Its title ends in its unit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct ChartAxis {
    pub(super) title: String,
    /// The unit, to follow a number in words; empty for none.
    #[serde(skip)]
    pub(super) unit: &'static str,
    pub(super) scale: Scale,
    /// The names of the values 0, 1 and so on, if they are not numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) names: Vec<String>,
    /// The end of the time axis, if this is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) end: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Scale {
    /// Seconds since the start of the stage: charts over time share this axis.
    Time,
    /// Linear from 0.
    Linear,
    Log,
    /// The logarithm of 1/(1 − q), labeled as the quantile q: 10 is 90 %, 100 is 99 %.
    Nines,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stroke {
    Solid,
    Dash,
    Dot,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Line {
    pub(super) name: String,
    /// The number of its color; related lines share one.
    pub(super) tone: usize,
    pub(super) stroke: Stroke,
    /// Hidden until the reader selects it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) hidden: bool,
    #[serde(serialize_with = "short")]
    pub(super) x: Vec<f64>,
    /// `None`: a gap in the data.
    #[serde(serialize_with = "short_or_null")]
    pub(super) y: Vec<Option<f64>>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct CountGrid {
    /// The columns' edges, one more than there are columns.
    #[serde(serialize_with = "short")]
    pub(super) x: Vec<f64>,
    /// The rows' edges, from below.
    #[serde(serialize_with = "short")]
    pub(super) y: Vec<f64>,
    /// Counts by row and column.
    pub(super) counts: Vec<Vec<u64>>,
}

/// A rate for each pair of values of two settings, which the axes name; or several rows over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Map {
    /// By the value on y, then by the one on x; `None`: not measured.
    pub(super) rates: Vec<Vec<Option<f64>>>,
    /// The unit of the rates, such as `documents per second`.
    pub(super) unit: String,
    /// The columns' edges, if x is time.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "short")]
    pub(super) edges: Vec<f64>,
    /// The full names of the rows, if x is time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) rows: Vec<String>,
}

/// Names of lines that add nothing to the title.
const PLAIN: [&str; 2] = ["served", "rate"];

impl Chart {
    fn new(kind: ChartKind, title: impl Into<String>, x: ChartAxis, y: ChartAxis) -> Self {
        Self {
            kind,
            title: title.into(),
            says_time: false,
            note: String::new(),
            words: String::new(),
            legend: false,
            x,
            y,
            lines: Vec::new(),
            cells: None,
            map: None,
            bands: Vec::new(),
        }
    }

    /// Fills in everything that follows from the chart's content.
    fn finished(mut self) -> Self {
        let shown = self.lines.iter().filter(|line| !line.hidden).count();
        let plain = |line: &Line| PLAIN.contains(&line.name.as_str());
        self.legend = self.lines.len() > shown.min(1) || self.lines.iter().any(|it| !plain(it));
        self.words = words::words(&self);
        self
    }

    /// Whether there is nothing to see: no points, no cells, no failures.
    pub(super) fn is_empty(&self) -> bool {
        let drawn = |value: &Option<f64>| match self.kind {
            ChartKind::Errors => value.is_some_and(|count| count > 0.0),
            _ => value.is_some(),
        };
        let lines = self.lines.iter().flat_map(|line| &line.y).any(drawn);
        let cells = self.cells.iter().flat_map(|cells| &cells.counts).flatten().any(|&it| it > 0);
        let map = self.map.iter().flat_map(|map| &map.rates).flatten().any(Option::is_some);
        !(lines || cells || map)
    }
}

impl Line {
    /// Whether another line is indistinguishable from this one: everywhere within a line's width of
    /// it on a logarithmic axis.
    fn covers(&self, other: &Self) -> bool {
        let near = |(one, other): (&Option<f64>, &Option<f64>)| match (one, other) {
            (Some(one), Some(other)) => (one - other).abs() <= one.abs().max(other.abs()) * SAME,
            (None, None) => true,
            _ => false,
        };
        self.y.len() == other.y.len() && self.y.iter().zip(&other.y).all(near)
    }
}

/// Values that differ by less than this share are drawn as one.
const SAME: f64 = 0.03;
/// The note if service times were left out for this reason.
const SERVICE_LEFT_OUT: &str = " Service times are the same to within 3 %, and left out.";

impl ChartAxis {
    fn new(title: impl Into<String>, scale: Scale) -> Self {
        Self { title: title.into(), unit: "", scale, names: Vec::new(), end: None }
    }

    /// Times of `what`, in milliseconds.
    fn in_ms(what: &str, scale: Scale) -> Self {
        Self { unit: " ms", ..Self::new(format!("{what}, ms"), scale) }
    }

    /// How many of `what` there are in a second.
    fn per_second(what: &str) -> Self {
        Self { unit: "/s", ..Self::new(format!("{what} per second"), Scale::Linear) }
    }

    fn time() -> Self {
        Self::new("time since the stage started, s", Scale::Time)
    }
}

/// Every chart of a view; one heat map for each of its runs.
fn charts(view: &View<'_>) -> Vec<Chart> {
    // The seconds of a burst are its throughput.
    let seconds = seconds::chart(view);
    let mut charts = vec![seconds.unwrap_or_else(|| throughput::chart(view))];
    charts.extend([latency::chart(view), percentiles::chart(view)]);
    charts.extend(heatmap::charts(view));
    charts.push(errors::chart(view));
    charts.extend(agents::charts(view));
    charts.extend(lag::charts(view));
    charts.extend(server::charts(view));
    let bands = bands::of(view);
    let ends = view.parts.iter().filter_map(|part| part.timeline.stretches.last());
    let end_s = ends.map(|stretch| stretch.span_s.1).fold(0.0, f64::max);
    for chart in charts.iter_mut().filter(|chart| chart.x.scale == Scale::Time) {
        chart.x.end = Some(rounded(end_s));
        // A chart of one run among several has its own bands.
        if chart.bands.is_empty() {
            chart.bands.clone_from(&bands);
        }
    }
    charts.into_iter().map(Chart::finished).collect()
}

/// Rounds to five significant digits, more than a chart can show.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = 10f64.powi(4 - value.abs().log10().floor() as i32);
    let rounded = (value * scale).round() / scale;
    // The division leaves meaningless digits.
    format!("{rounded:.9}").parse().unwrap_or(rounded)
}

fn short<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(|&value| Number(rounded(value))))
}

fn short_or_null<S: Serializer>(values: &[Option<f64>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(|value| value.map(|it| Number(rounded(it)))))
}

/// A number that is written without `.0` if it is an integer.
struct Number(f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.fract() == 0.0 && self.0.abs() < 1e15 {
            serializer.serialize_i64(self.0 as i64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

#[cfg(test)]
#[path = "chart_tests.rs"]
mod tests;
