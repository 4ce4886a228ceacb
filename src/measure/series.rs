//! The stage second by second.

use super::histogram::{Histogram, Kept};
use super::interval::{FailedTimes, Interval, KindInterval};
use crate::op::{Failure, OpKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One kind's measurements in one second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeriesKind {
    /// Requests that ended in this second.
    pub requests: u64,
    /// Documents that succeeded.
    pub ok: u64,
    /// Documents that failed, per class.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failures: BTreeMap<Failure, u64>,
    /// Service times of requests that succeeded at least in part.
    pub service: Kept,
    /// Response times of the same.
    pub response: Kept,
    /// Lags of all requests.
    pub lag: Kept,
    /// Times of requests that failed as a whole, per class.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed_times: BTreeMap<Failure, FailedTimes<Kept>>,
}

/// One second of a stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeriesRow {
    /// The second, counted from the stage's start.
    pub second: u32,
    /// The kinds that occurred.
    pub kinds: BTreeMap<OpKind, SeriesKind>,
}

/// All seconds of a stage in order. A second in which nothing ended has no row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Series {
    /// The rows, by second.
    pub rows: Vec<SeriesRow>,
}

impl Series {
    /// Adds one shard's second.
    pub fn add(&mut self, interval: &Interval) {
        if interval.is_empty() {
            return;
        }
        let place = self.rows.binary_search_by_key(&interval.second, |row| row.second);
        let index = place.unwrap_or_else(|index| {
            self.rows.insert(index, SeriesRow { second: interval.second, kinds: BTreeMap::new() });
            index
        });
        // Shards hand in a second within a fraction of the next: older ones are complete.
        if let Some(old) = index.checked_sub(3) {
            self.rows[old].kinds.values_mut().for_each(SeriesKind::pack);
        }
        for (kind, part) in interval.iter() {
            self.rows[index].kinds.entry(kind).or_default().merge(part);
        }
    }
}

impl SeriesKind {
    fn merge(&mut self, part: &KindInterval) {
        self.requests += part.requests;
        self.ok += part.ok;
        for class in Failure::ALL {
            if part.failures[class.index()] > 0 {
                *self.failures.entry(class).or_default() += part.failures[class.index()];
            }
        }
        self.service.merge(&part.service);
        self.response.merge(&part.response);
        self.lag.merge(&part.lag);
        for (&class, times) in &part.failed_times {
            self.failed_times.entry(class).or_default().merge(times);
        }
    }

    fn pack(&mut self) {
        for kept in [&mut self.service, &mut self.response, &mut self.lag] {
            kept.pack();
        }
        self.failed_times.values_mut().for_each(FailedTimes::pack);
    }

    /// Documents that failed, over all classes.
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    /// Times of the requests that failed as a whole, of all classes together.
    pub fn failed_latency(&self) -> FailedTimes<Histogram> {
        let mut sum = FailedTimes::<Histogram>::default();
        for times in self.failed_times.values() {
            sum.service.merge(&times.service.get());
            sum.response.merge(&times.response.get());
        }
        sum
    }

    /// Takes failed requests out of the times of those that succeeded, where a record of layout 1
    /// counts them among these.
    pub fn leave_out_failed(&mut self) {
        if !self.failed_times.is_empty() {
            let failed = self.failed_latency();
            self.service = Kept::Open(self.service.get().without(&failed.service));
            self.response = Kept::Open(self.response.get().without(&failed.response));
            self.pack();
        }
    }
}
