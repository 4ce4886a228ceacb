//! One shard's measurements of one second: the unit that is merged and stored.

use super::histogram::Histogram;
use crate::op::{Failure, OpKind};
use std::collections::BTreeMap;

/// Counts and histograms of one kind of operation in one interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KindInterval {
    /// Requests that ended, however they ended.
    pub requests: u64,
    /// Documents that succeeded.
    pub ok: u64,
    /// Of these, documents answered with 202: accepted, not yet on a quorum.
    pub accepted: u64,
    /// Documents per failure class.
    pub failures: [u64; Failure::COUNT],
    /// Bytes of JSON sent: bodies only.
    pub bytes_sent: u64,
    /// Bytes of JSON received: bodies only.
    pub bytes_received: u64,
    /// Requests sent again on a fresh connection because the old one was found closed.
    pub resent: u64,
    /// Answers per status, where the driver tells them.
    pub statuses: BTreeMap<u16, u64>,
    /// From send to the last byte of the answer.
    pub service: Histogram,
    /// From the intended start to the last byte of the answer.
    pub response: Histogram,
    /// From the intended start to the real one.
    pub lag: Histogram,
}

impl KindInterval {
    /// Documents that failed, over all classes.
    pub fn failed(&self) -> u64 {
        self.failures.iter().sum()
    }

    /// Adds what another shard or second measured.
    pub fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.ok += other.ok;
        self.accepted += other.accepted;
        for (sum, part) in self.failures.iter_mut().zip(other.failures) {
            *sum += part;
        }
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.resent += other.resent;
        for (&status, count) in &other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        self.service.merge(&other.service);
        self.response.merge(&other.response);
        self.lag.merge(&other.lag);
    }
}

/// One second of one shard, or of all shards once merged. Kinds that did not occur are absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interval {
    /// The second of the stage, counted from 0.
    pub second: u32,
    kinds: [Option<Box<KindInterval>>; OpKind::COUNT],
}

impl Interval {
    /// An interval without measurements.
    pub fn new(second: u32) -> Self {
        Self { second, ..Self::default() }
    }

    /// The measurements of `kind`, if it occurred.
    pub fn kind(&self, kind: OpKind) -> Option<&KindInterval> {
        self.kinds[kind.index()].as_deref()
    }

    /// The measurements of `kind`, made empty on first use.
    #[inline]
    pub fn kind_mut(&mut self, kind: OpKind) -> &mut KindInterval {
        self.kinds[kind.index()].get_or_insert_with(Box::default)
    }

    /// The kinds that occurred, in report order.
    pub fn iter(&self) -> impl Iterator<Item = (OpKind, &KindInterval)> {
        OpKind::ALL.into_iter().filter_map(|kind| Some((kind, self.kind(kind)?)))
    }

    /// Whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.kinds.iter().all(Option::is_none)
    }

    /// Adds another shard's or second's measurements. The second stays this interval's.
    pub fn merge(&mut self, other: &Self) {
        for (kind, part) in other.iter() {
            self.kind_mut(kind).merge(part);
        }
    }
}
