//! A stage, second by second.

mod log;
mod second;
mod shelf;

pub use log::SeriesLog;
pub use second::{Second, Seconds};

use super::figure::Count;
use super::histogram::{Histogram, Kept};
use super::interval::{FailedTimes, KindInterval};
use super::node::NodeInterval;
use crate::op::{Failure, OpKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One kind's measurements in one second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeriesKind {
    /// Requests that ended in this second.
    pub requests: u64,
    /// Documents that succeeded.
    pub ok: u64,
    /// Of the documents in `ok`, those that were accepted but not yet stored as they should be.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub accepted: u64,
    /// Documents that failed, per class.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::op::keyed::<Failure, u64>"))]
    pub failures: BTreeMap<Failure, u64>,
    /// The other counts that are recorded per second, by their names in thresholds; those that are
    /// zero are left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::op::keyed::<Count, u64>"))]
    pub counts: BTreeMap<Count, u64>,
    /// Service times of requests that succeeded at least in part.
    pub service: Kept,
    /// Response times of the same requests.
    pub response: Kept,
    /// Lags of all requests.
    pub lag: Kept,
    /// Times of requests that failed as a whole, per class.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::op::keyed::<Failure, FailedTimes<Kept>>")
    )]
    pub failed_times: BTreeMap<Failure, FailedTimes<Kept>>,
}

/// What one of several nodes answered in one second, over all kinds of operations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeriesNode {
    /// Requests that ended in this second.
    pub requests: u64,
    /// Documents that succeeded.
    pub ok: u64,
    /// Of the documents in `ok`, those that were accepted but not yet stored as they should be.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub accepted: u64,
    /// Documents that failed, per class.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::op::keyed::<Failure, u64>"))]
    pub failures: BTreeMap<Failure, u64>,
    /// Response times of requests that succeeded at least in part.
    pub response: Kept,
}

/// One second of a stage, or several if the stage is long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeriesRow {
    /// The second, or the first of several, counted from the stage's start.
    pub second: u32,
    /// How many seconds it covers; absent if one.
    #[serde(default = "one_second", skip_serializing_if = "is_one_second")]
    pub seconds: u32,
    /// How long load threads waited for a processor, in seconds summed over all threads.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub waited_s: f64,
    /// The kinds that occurred.
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::op::keyed::<OpKind, SeriesKind>")
    )]
    pub kinds: BTreeMap<OpKind, SeriesKind>,
    /// What each node answered, in the order of the nodes; only in a drill with several nodes.
    /// Those after the last one that answered are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<SeriesNode>,
}

const fn one_second() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_one_second(seconds: &u32) -> bool {
    *seconds == 1
}

/// All seconds of a stage in order. A second in which nothing ended has no row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Series {
    /// The rows, by second.
    pub rows: Vec<SeriesRow>,
}

impl SeriesRow {
    /// An empty row of `seconds` seconds from `second` on.
    pub(super) const fn new(second: u32, seconds: u32) -> Self {
        Self { second, seconds, waited_s: 0.0, kinds: BTreeMap::new(), nodes: Vec::new() }
    }

    /// A length such that no row of up to `seconds` seconds crosses a multiple of it.
    pub fn length_s(seconds: u32) -> u32 {
        let longer = || log::lengths_s().find(|&it| seconds <= it).unwrap_or(seconds);
        if seconds <= 1 { 1 } else { longer() }
    }

    /// The second after the last one.
    pub const fn end(&self) -> u32 {
        self.second.saturating_add(self.seconds)
    }

    /// Appends the next row, including the gap in between.
    fn join(&mut self, next: Self) {
        self.seconds = next.end() - self.second;
        self.waited_s += next.waited_s;
        for (kind, part) in next.kinds {
            self.kinds.entry(kind).or_default().join(&part);
        }
        for (place, part) in next.nodes.iter().enumerate() {
            self.node_mut(place).join(part);
        }
    }

    fn node_mut(&mut self, place: usize) -> &mut SeriesNode {
        if self.nodes.len() <= place {
            self.nodes.resize_with(place + 1, SeriesNode::default);
        }
        &mut self.nodes[place]
    }

    /// Encodes its times.
    fn pack(&mut self) {
        self.kinds.values_mut().for_each(SeriesKind::pack);
        self.nodes.iter_mut().for_each(|it| it.response.pack());
    }
}

impl SeriesNode {
    fn merge(&mut self, part: &NodeInterval) {
        self.requests += part.requests;
        self.ok += part.ok;
        self.accepted += part.accepted;
        for class in Failure::ALL {
            if part.failures[class.index()] > 0 {
                *self.failures.entry(class).or_default() += part.failures[class.index()];
            }
        }
        self.response.merge(&part.response);
    }

    fn join(&mut self, next: &Self) {
        self.requests += next.requests;
        self.ok += next.ok;
        self.accepted += next.accepted;
        for (&class, count) in &next.failures {
            *self.failures.entry(class).or_default() += count;
        }
        self.response.join(&next.response);
    }
}

impl SeriesKind {
    fn merge(&mut self, part: &KindInterval) {
        self.requests += part.requests;
        self.ok += part.ok;
        self.accepted += part.accepted;
        for class in Failure::ALL {
            if part.failures[class.index()] > 0 {
                *self.failures.entry(class).or_default() += part.failures[class.index()];
            }
        }
        for &count in Count::ALL {
            if self.field(count).is_some() {
                continue;
            }
            if let Some(more) = count.in_interval(part).filter(|more| *more > 0) {
                *self.counts.entry(count).or_default() += more;
            }
        }
        self.service.merge(&part.service);
        self.response.merge(&part.response);
        self.lag.merge(&part.lag);
        for (&class, times) in &part.failed_times {
            self.failed_times.entry(class).or_default().merge(times);
        }
    }

    fn join(&mut self, next: &Self) {
        self.requests += next.requests;
        self.ok += next.ok;
        self.accepted += next.accepted;
        for (&class, count) in &next.failures {
            *self.failures.entry(class).or_default() += count;
        }
        for (&count, more) in &next.counts {
            *self.counts.entry(count).or_default() += more;
        }
        self.service.join(&next.service);
        self.response.join(&next.response);
        self.lag.join(&next.lag);
        for (&class, times) in &next.failed_times {
            self.failed_times.entry(class).or_default().join(times);
        }
    }

    fn pack(&mut self) {
        for kept in [&mut self.service, &mut self.response, &mut self.lag] {
            kept.pack();
        }
        self.failed_times.values_mut().for_each(FailedTimes::pack);
    }

    /// A count. Zero if it is known for whole stages only.
    pub fn count(&self, count: Count) -> u64 {
        self.field(count).unwrap_or_else(|| self.counts.get(&count).copied().unwrap_or_default())
    }

    /// A count that has a field of its own.
    fn field(&self, count: Count) -> Option<u64> {
        match count {
            Count::Requests => Some(self.requests),
            Count::Ok => Some(self.ok),
            Count::Accepted => Some(self.accepted),
            Count::Failed => Some(self.failed()),
            _ => None,
        }
    }

    /// Documents that failed, over all classes.
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    /// Times of the requests that failed as a whole, over all classes.
    pub fn failed_latency(&self) -> FailedTimes<Histogram> {
        let mut sum = FailedTimes::<Histogram>::default();
        for times in self.failed_times.values() {
            sum.service.merge(&times.service.get());
            sum.response.merge(&times.response.get());
        }
        sum
    }

    /// Removes failed requests from the times of successful ones, which include them in records of
    /// layout 1.
    pub fn leave_out_failed(&mut self) {
        if !self.failed_times.is_empty() {
            let failed = self.failed_latency();
            self.service = Kept::Open(self.service.get().without(&failed.service));
            self.response = Kept::Open(self.response.get().without(&failed.response));
            self.pack();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Interval;

    #[test]
    fn each_count_of_a_second_adds_up() {
        let mut interval = Interval::new(0);
        let part = interval.kind_mut(OpKind::Create);
        (part.requests, part.ok, part.accepted, part.rows) = (5, 3, 2, 7);
        part.failures[Failure::Conflict.index()] = 1;
        let counts = |row: &SeriesKind| {
            let counts = [Count::Requests, Count::Ok, Count::Accepted, Count::Failed, Count::Rows];
            counts.map(|count| row.count(count))
        };
        let mut row = SeriesKind::default();
        for _ in 0..2 {
            row.merge(interval.kind(OpKind::Create).unwrap());
        }
        assert_eq!(counts(&row), [10, 6, 4, 2, 14]);
        assert_eq!(row.counts, [(Count::Rows, 14)].into(), "neither fields nor zeros");
        let next = row.clone();
        row.join(&next);
        assert_eq!(counts(&row), [20, 12, 8, 4, 28]);
    }

    #[test]
    fn failed_requests_are_taken_out_of_the_times_of_successful_ones() {
        let times = |all: &[u64]| {
            let mut times = Histogram::default();
            for &ns in all {
                times.record(ns);
            }
            Kept::Open(times)
        };
        let failed = FailedTimes { service: times(&[9_000]), response: times(&[9_500]) };
        let mut row = SeriesKind {
            service: times(&[1_000, 2_000, 9_000]),
            response: times(&[1_500, 2_500, 9_500]),
            failed_times: [(Failure::Timeout, failed)].into(),
            ..SeriesKind::default()
        };
        row.leave_out_failed();
        assert_eq!([row.service.get(), row.response.get()].map(|it| it.len()), [2, 2]);
    }
}
