//! One shard's measurements of one second: the unit that is merged and stored.

use super::counts::{BodyBytes, Wire};
use super::following::Ack;
use super::histogram::{Histogram, Kept};
use super::is_default;
use super::node::NodeInterval;
use super::probe::Timing;
use crate::clock::Nanos;
use crate::op::{ByKind, Failure, Finding, OpKind, Reason};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Service and response times of requests of one failure class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailedTimes<H> {
    /// From sending the request to its end.
    pub service: H,
    /// From the intended start to the end.
    pub response: H,
}

/// A single request. Only kept if the plan asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawRow {
    /// The kind of operation.
    pub kind: OpKind,
    /// How it failed, if it did.
    pub failure: Option<Failure>,
    /// When it ended, on the clock of the run.
    pub done: Nanos,
    /// From send to the last byte of the answer, in nanoseconds.
    pub service_ns: Nanos,
    /// From the intended start to the last byte of the answer, in nanoseconds.
    pub response_ns: Nanos,
}

/// Response times of requests that the client held up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeldTimes {
    /// As they were measured.
    pub measured: Histogram,
    /// Without the time for which they were held up.
    pub without: Histogram,
}

impl FailedTimes<Kept> {
    /// Adds what was measured in another second, and encodes the sum.
    pub(super) fn join(&mut self, other: &Self) {
        self.service.join(&other.service);
        self.response.join(&other.response);
    }

    pub(super) fn merge(&mut self, part: &FailedTimes<Histogram>) {
        self.service.merge(&part.service);
        self.response.merge(&part.response);
    }

    pub(super) fn pack(&mut self) {
        self.service.pack();
        self.response.pack();
    }
}

/// Counts and histograms of one kind of operation in one interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KindInterval {
    /// Completed requests, successful or not.
    pub requests: u64,
    /// Documents that succeeded.
    pub ok: u64,
    /// Requests that ended after the last operation was due to start.
    #[serde(skip_serializing_if = "is_default")]
    pub drained: u64,
    /// Documents that succeeded in such requests.
    #[serde(skip_serializing_if = "is_default")]
    pub drained_ok: u64,
    /// Of the documents in `ok`, those that were accepted but not yet stored as they should be.
    #[serde(skip_serializing_if = "is_default")]
    pub accepted: u64,
    /// Documents per failure class.
    pub failures: [u64; Failure::COUNT],
    /// Bytes of bodies.
    #[serde(skip_serializing_if = "is_default")]
    pub bytes: BodyBytes,
    /// What happened on the wire.
    #[serde(skip_serializing_if = "is_default")]
    pub wire: Wire,
    /// Responses to which the server added a warning.
    #[serde(skip_serializing_if = "is_default")]
    pub warned: u64,
    /// Responses from an index that lacked the last write of the requested document.
    #[serde(skip_serializing_if = "is_default")]
    pub outdated: u64,
    /// Of those, how old the write was that the index did not have, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behind: Option<Box<Histogram>>,
    /// Documents returned by scans, and rows of queries.
    #[serde(skip_serializing_if = "is_default")]
    pub rows: u64,
    /// Service times of scans, divided by the documents that each returned.
    #[serde(skip_serializing_if = "is_default")]
    pub per_row: Option<Box<Histogram>>,
    /// Answers per status, if the driver provides them.
    #[serde(skip_serializing_if = "is_default")]
    pub statuses: BTreeMap<u16, u64>,
    /// The reason of the first failure of each class.
    #[serde(skip_serializing_if = "is_default")]
    pub reasons: BTreeMap<Failure, Reason>,
    /// The first few documents that were not as written.
    #[serde(skip_serializing_if = "is_default")]
    pub findings: Vec<Finding>,
    /// Documents in `ok` that were rightly never written: all of their writes were refused, or not
    /// sent after all.
    #[serde(skip_serializing_if = "is_default")]
    pub never_written: u64,
    /// From sending to the last byte of the response, for requests that succeeded at least in part.
    pub service: Histogram,
    /// From the intended start to the last byte of the response, for the same requests.
    pub response: Histogram,
    /// From the intended start to the actual start, for all requests.
    pub lag: Histogram,
    /// Times of requests that failed as a whole, per class.
    #[serde(skip_serializing_if = "is_default")]
    pub failed_times: BTreeMap<Failure, FailedTimes<Histogram>>,
    /// Times of successful requests that the client held up, if there are any.
    #[serde(skip_serializing_if = "is_default")]
    pub held: Option<Box<HeldTimes>>,
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
        self.drained += other.drained;
        self.drained_ok += other.drained_ok;
        self.accepted += other.accepted;
        for (sum, part) in self.failures.iter_mut().zip(other.failures) {
            *sum += part;
        }
        self.bytes += other.bytes;
        self.wire += other.wire;
        (self.rows, self.warned) = (self.rows + other.rows, self.warned + other.warned);
        self.outdated += other.outdated;
        self.never_written += other.never_written;
        if let Some(ages) = &other.behind {
            self.behind.get_or_insert_default().merge(ages);
        }
        for (&status, count) in &other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        for (&class, reason) in &other.reasons {
            self.reasons.entry(class).or_insert_with(|| reason.clone());
        }
        let room = Finding::MOST.saturating_sub(self.findings.len());
        self.findings.extend(other.findings.iter().take(room).cloned());
        if let Some(times) = &other.per_row {
            self.per_row.get_or_insert_default().merge(times);
        }
        self.service.merge(&other.service);
        self.response.merge(&other.response);
        self.lag.merge(&other.lag);
        for (&class, times) in &other.failed_times {
            let sum = self.failed_times.entry(class).or_default();
            sum.service.merge(&times.service);
            sum.response.merge(&times.response);
        }
        if let Some(held) = &other.held {
            let sum = self.held.get_or_insert_default();
            sum.measured.merge(&held.measured);
            sum.without.merge(&held.without);
        }
    }

    /// Notes that a request that succeeded after `response_ns` was held up by the client for
    /// `held_ns`.
    #[cold]
    pub(super) fn hold(&mut self, response_ns: Nanos, held_ns: Nanos) {
        let held = self.held.get_or_insert_default();
        held.measured.record(response_ns);
        held.without.record(response_ns.saturating_sub(held_ns));
    }

    /// Adds the times of a successful request. In a closed loop the response time equals the
    /// service time and the lag is zero. As long as this holds for all requests, only one histogram
    /// is kept, and [`KindInterval::complete`] derives the others.
    #[inline]
    pub(super) fn time(&mut self, timing: &Timing) {
        let alike = timing.lag_ns == 0 && timing.response_ns == timing.service_ns;
        if !alike || !self.response.is_empty() {
            self.complete();
            self.response.record(timing.response_ns);
            self.lag.record(timing.lag_ns);
        }
        self.service.record(timing.service_ns);
    }

    /// Derives response times and lags from service times, if only the latter were kept.
    fn complete(&mut self) {
        if self.response.is_empty() && !self.service.is_empty() {
            self.response.merge(&self.service);
            self.lag.record_many(0, self.service.len());
        }
    }

    /// Adds the documents that a scan returned, which must be at least one.
    pub(super) fn add_rows(&mut self, rows: u64, service_ns: Nanos) {
        self.rows += rows;
        self.per_row.get_or_insert_default().record(service_ns / rows);
    }

    /// Adds the times of a request that failed.
    #[cold]
    pub(super) fn fail(&mut self, class: Failure, timing: &Timing) {
        let times = self.failed_times.entry(class).or_default();
        times.service.record(timing.service_ns);
        times.response.record(timing.response_ns);
        self.lag.record(timing.lag_ns);
    }
}

/// One second of one shard, or of all shards once merged. Kinds that did not occur are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Interval {
    /// The second of the stage, counted from 0.
    pub second: u32,
    /// Every request in order of completion, if the plan asks for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub raw: Vec<RawRow>,
    /// Every write that was acknowledged, if changes are followed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub acks: Vec<Ack>,
    /// How long load threads waited for a processor, in nanoseconds, if the system provides it.
    pub waited_ns: Nanos,
    kinds: ByKind<Option<Box<KindInterval>>>,
    /// The requests to each node, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nodes: Vec<NodeInterval>,
}

impl Interval {
    /// An interval without measurements.
    pub fn new(second: u32) -> Self {
        Self { second, kinds: ByKind::new(), ..Self::default() }
    }

    /// The measurements of `kind`, if it occurred.
    pub fn kind(&self, kind: OpKind) -> Option<&KindInterval> {
        self.kinds.get(kind)?.as_deref()
    }

    /// The measurements of `kind`, created on first use.
    #[inline]
    pub fn kind_mut(&mut self, kind: OpKind) -> &mut KindInterval {
        self.kinds.of(kind).get_or_insert_with(Box::default)
    }

    /// The requests to each node; nodes after the last one that got a request are left out.
    pub fn nodes(&self) -> &[NodeInterval] {
        &self.nodes
    }

    /// The requests to one node, created on first use.
    pub(super) fn node_mut(&mut self, node: usize) -> &mut NodeInterval {
        if self.nodes.len() <= node {
            self.nodes.resize_with(node + 1, NodeInterval::default);
        }
        &mut self.nodes[node]
    }

    /// The kinds that occurred, in report order.
    pub fn iter(&self) -> impl Iterator<Item = (OpKind, &KindInterval)> {
        self.kinds.iter(Option::is_some).filter_map(|(kind, part)| Some((kind, part.as_deref()?)))
    }

    /// Whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.waited_ns == 0 && self.kinds.values().all(Option::is_none)
    }

    /// Converts times to another clock, which shows `to` when this one shows `from`.
    pub fn convert(&mut self, from: Nanos, to: Nanos) {
        let times = self.raw.iter_mut().map(|row| &mut row.done);
        for done in times.chain(self.acks.iter_mut().map(|ack| &mut ack.done)) {
            *done = to.saturating_add(*done).saturating_sub(from);
        }
    }

    /// Derives the histograms that were not recorded separately.
    pub(super) fn complete(&mut self) {
        self.kinds.values_mut().flatten().for_each(|kind| kind.complete());
    }

    /// Adds another shard's or second's measurements. The second's number stays as it is.
    pub fn merge(&mut self, other: &Self) {
        self.waited_ns += other.waited_ns;
        for (kind, part) in other.iter() {
            self.kind_mut(kind).merge(part);
        }
        for (node, part) in other.nodes.iter().enumerate() {
            self.node_mut(node).merge(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(values: &[Nanos]) -> Histogram {
        let mut times = Histogram::default();
        for &ns in values {
            times.record(ns);
        }
        times
    }

    fn reason(text: &str) -> Reason {
        Reason::new(Some(409), text)
    }

    fn finding(n: u64) -> Finding {
        Finding::new(Failure::Stale, n.to_string().as_bytes(), "version 2", "version 1")
    }

    /// A part in which every figure is different: `n` plus a distinct number.
    fn part(n: u64, requests: Option<u64>) -> KindInterval {
        let mut failures = [0; Failure::COUNT];
        failures[Failure::Conflict.index()] = n + 20;
        failures[Failure::Timeout.index()] = n + 21;
        let failed = FailedTimes { service: times(&[n + 1_000_000]), response: times(&[n]) };
        KindInterval {
            warned: n + 30,
            outdated: n + 31,
            never_written: n + 36,
            behind: Some(Box::new(times(&[n * 7_000]))),
            requests: n + 1,
            ok: n + 2,
            drained: n + 3,
            drained_ok: n + 4,
            accepted: n + 5,
            failures,
            bytes: BodyBytes { sent: n + 6, received: n + 7 },
            wire: Wire {
                resent: n + 9,
                unsolicited: n + 10,
                carried_out: n + 11,
                not_carried_out: n + 12,
                failed_carried_out: n + 32,
                failed_not_carried_out: n + 33,
                requests,
                retries: n + 13,
                relocated: n + 14,
                from_cache: n + 34,
                retry_after: n + 35,
                outside_ns: n + 16,
            },
            rows: n + 8,
            per_row: Some(Box::new(times(&[n * 1_000]))),
            statuses: BTreeMap::from([(200, n + 14), (500 + n as u16, n + 15)]),
            reasons: BTreeMap::from([(Failure::Conflict, reason(&n.to_string()))]),
            findings: vec![finding(n); 6],
            service: times(&[n * 2_000]),
            response: times(&[n * 3_000]),
            lag: times(&[n * 4_000]),
            failed_times: BTreeMap::from([(Failure::Timeout, failed)]),
            held: Some(Box::new(HeldTimes { measured: times(&[n * 9]), without: times(&[n]) })),
        }
    }

    #[test]
    fn what_travels_as_json_merges_to_what_one_recorder_has() {
        let value = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) % 3_000_000_000;
        let mut whole = Interval::new(3);
        let mut parts: Vec<_> = (0..4).map(|_| Interval::new(3)).collect();
        for i in 0..20_000 {
            let own = &mut parts[(i % 4) as usize];
            for kind in [whole.kind_mut(OpKind::Read), own.kind_mut(OpKind::Read)] {
                (kind.requests, kind.ok) = (kind.requests + 1, kind.ok + 1);
                kind.service.record(value(i));
                kind.response.record(value(i) + i);
                kind.lag.record(i);
            }
        }
        for (part, n) in parts.iter_mut().zip(1..) {
            part.kind_mut(OpKind::Update).merge(&super::tests::part(n, Some(n)));
            whole.kind_mut(OpKind::Update).merge(&super::tests::part(n, Some(n)));
        }
        let mut merged = Interval::new(3);
        for part in &parts {
            let text = serde_json::to_string(part).unwrap();
            let read: Interval = serde_json::from_str(&text).unwrap();
            assert_eq!(read, *part);
            merged.merge(&read);
        }
        assert_eq!(merged, whole);
        // The encoding also includes the bounds, which depend on the order of recording.
        let encoded = |it: &Interval| {
            let mut bounded = Histogram::default();
            bounded.merge(&it.kind(OpKind::Read).unwrap().response);
            bounded.encode()
        };
        assert!(encoded(&merged) == encoded(&whole), "bit for bit");
    }

    #[test]
    fn merging_adds_each_figure_to_its_own() {
        let mut sum = part(100, None);
        sum.merge(&part(1_000, Some(7)));
        let both = |factor: u64| times(&[100 * factor, 1_000 * factor]);
        let mut failures = [0; Failure::COUNT];
        failures[Failure::Conflict.index()] = 1_140;
        failures[Failure::Timeout.index()] = 1_142;
        assert_eq!(sum.failed(), 2_282);
        let failed =
            FailedTimes { service: times(&[1_000_100, 1_001_000]), response: times(&[100, 1_000]) };
        let expected = KindInterval {
            warned: 1_160,
            outdated: 1_162,
            never_written: 1_172,
            behind: Some(Box::new(both(7_000))),
            requests: 1_102,
            ok: 1_104,
            drained: 1_106,
            drained_ok: 1_108,
            accepted: 1_110,
            failures,
            bytes: BodyBytes { sent: 1_112, received: 1_114 },
            wire: Wire {
                resent: 1_118,
                unsolicited: 1_120,
                carried_out: 1_122,
                not_carried_out: 1_124,
                failed_carried_out: 1_164,
                failed_not_carried_out: 1_166,
                requests: Some(7),
                retries: 1_126,
                relocated: 1_128,
                from_cache: 1_168,
                retry_after: 1_170,
                outside_ns: 1_132,
            },
            rows: 1_116,
            per_row: Some(Box::new(both(1_000))),
            statuses: BTreeMap::from([(200, 1_128), (600, 115), (1_500, 1_015)]),
            // The first reason is kept.
            reasons: BTreeMap::from([(Failure::Conflict, reason("100"))]),
            // At most ten are kept.
            findings: [vec![finding(100); 6], vec![finding(1_000); 4]].concat(),
            service: both(2_000),
            response: both(3_000),
            lag: both(4_000),
            failed_times: BTreeMap::from([(Failure::Timeout, failed)]),
            held: Some(Box::new(HeldTimes { measured: both(9), without: both(1) })),
        };
        assert_eq!(sum, expected);
        let wire = Wire { requests: Some(5), ..Wire::default() };
        sum.merge(&KindInterval { wire, ..KindInterval::default() });
        let wire = Wire { requests: Some(12), ..expected.wire };
        assert_eq!(sum, KindInterval { wire, ..expected });
    }

    #[test]
    fn seconds_merge_kind_by_kind_and_keep_their_number() {
        let mut sum = Interval::new(3);
        assert!(sum.is_empty());
        sum.waited_ns = 20;
        assert!(!sum.is_empty(), "that a thread waited is worth telling");
        let mut other = Interval::new(9);
        *other.kind_mut(OpKind::Read) = part(100, None);
        assert!(!other.is_empty());
        other.waited_ns = 5;
        sum.merge(&other);
        sum.merge(&other);
        assert_eq!((sum.second, sum.waited_ns), (3, 30));
        let kinds: Vec<_> = sum.iter().map(|(kind, part)| (kind, part.requests)).collect();
        assert_eq!(kinds, [(OpKind::Read, 202)]);
        assert_eq!(sum.kind(OpKind::Update), None);
    }

    #[test]
    fn rows_share_the_time_of_their_request() {
        let mut kind = KindInterval::default();
        kind.add_rows(10, 5_000_000);
        kind.add_rows(3, 600_000);
        assert_eq!((kind.rows, kind.per_row), (13, Some(Box::new(times(&[500_000, 200_000])))));
    }

    #[test]
    fn times_of_failures_are_kept_packed_or_not() {
        let one = FailedTimes { service: times(&[5_000_000]), response: times(&[6_000_000]) };
        let mut kept = FailedTimes::<Kept>::default();
        kept.merge(&one);
        let mut other = FailedTimes::<Kept>::default();
        other.merge(&one);
        other.pack();
        assert!(matches!((&other.service, &other.response), (Kept::Packed(_), Kept::Packed(_))));
        kept.join(&other);
        let joined = |kept: &Kept| kept.get().counts();
        // To two digits, and as the highest value that has them.
        assert_eq!(joined(&kept.service), [(5_013_503, 2)]);
        assert_eq!(joined(&kept.response), [(6_029_311, 2)]);
    }
}
