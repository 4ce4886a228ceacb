//! The immutable result of one stage, per kind of operation.

use super::counts::{BodyBytes, Wire};
use super::histogram::Histogram;
use super::interval::{FailedTimes, Interval, KindInterval};
use super::latency::Latency;
use crate::op::{ByKind, Failure, Finding, OpKind, Reason, grouped};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One kind of operation in one stage. Counts are documents; except in bulk operations, each
/// request is for one document. issued = ok + failures + unfinished, exactly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OperationSummary {
    /// The kind.
    pub kind: OpKind,
    /// Completed requests.
    pub requests: u64,
    /// Documents for which an operation was started.
    pub issued: u64,
    /// Documents that succeeded.
    pub ok: u64,
    /// Requests that ended after the stage's time; they are not counted in rates.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub drained: u64,
    /// Documents that succeeded in such requests.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub drained_ok: u64,
    /// Of the documents in `ok`, those that were accepted but not yet stored as they should be: the
    /// status was 202, so there was no quorum yet, or a binding only added them to a batch.
    pub accepted: u64,
    /// Documents that failed, per class.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::op::keyed::<Failure, u64>"))]
    pub failures: BTreeMap<Failure, u64>,
    /// Documents without a response when the run ended.
    pub unfinished: u64,
    /// What happened on the wire.
    #[serde(flatten)]
    pub wire: Wire,
    /// Documents that succeeded during the stage's time, per second.
    pub throughput_per_s: f64,
    /// Bytes of bodies.
    #[serde(flatten)]
    pub bytes: BodyBytes,
    /// Responses per HTTP status, including redirects, if the driver provides them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub statuses: BTreeMap<u16, u64>,
    /// The reason for the first failure of each class.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::op::keyed::<Failure, Reason>"))]
    pub reasons: BTreeMap<Failure, Reason>,
    /// The first documents that were not as written, at most ten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = Finding::MOST)))]
    pub findings: Vec<Finding>,
    /// Documents that an audit counts as `ok` because they were rightly never written: all of their
    /// writes were refused, or not sent after all. Reports do not count them as acknowledged.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub never_written: u64,
    /// From sending to the last byte of the response, for requests that succeeded at least in part.
    pub service: Latency,
    /// From the intended start to the last byte of the response, for the same requests.
    pub response: Latency,
    /// The same without the time by which springload itself delayed requests, where that was a
    /// millisecond or more: the true times lie in between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_without_client: Option<Latency>,
    /// From the intended start to the actual start, for all requests.
    pub lag: Latency,
    /// Responses to which the server added a warning.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub warned: u64,
    /// Responses from an index that lacked the last write of the requested document.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub outdated: u64,
    /// How old the writes that such responses lacked were at the time of the query: the index was
    /// behind by at least that much. Only counts writes of this stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<Latency>,
    /// Documents returned by scans, and rows of queries.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub rows: u64,
    /// Service times of scans, divided by the number of documents returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_row: Option<Latency>,
    /// Times of requests that failed as a whole, per class.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::op::keyed::<Failure, FailedTimes<Histogram>>")
    )]
    pub failed_times: BTreeMap<Failure, FailedTimes<Histogram>>,
}

impl OperationSummary {
    /// Documents that failed, over all classes.
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    /// Documents that were or may have been written. Of an audit, the number that reports give: it
    /// also asks for others, which are rightly not there.
    pub const fn looked_for(&self) -> u64 {
        self.issued.saturating_sub(self.never_written)
    }

    /// The classes of failures, with their counts and the reason of the first.
    pub fn failure_words(&self) -> String {
        failure_words([self])
    }

    /// Times of the requests that failed as a whole, over all classes. `None` if there were none.
    ///
    /// All other percentiles that springload reports are those of successful requests.
    pub fn failed_latency(&self) -> Option<FailedTimes<Latency>> {
        let mut sum = FailedTimes::<Histogram>::default();
        for times in self.failed_times.values() {
            sum.service.merge(&times.service);
            sum.response.merge(&times.response);
        }
        let FailedTimes { service, response } = sum;
        (!service.is_empty()).then(|| FailedTimes {
            service: Latency::new(service),
            response: Latency::new(response),
        })
    }

    /// Requests that failed without a complete answer, so that it is unknown how long they would
    /// have taken.
    pub fn unanswered(&self) -> u64 {
        let lost = self.failed_times.iter().filter(|(class, _)| !class.answered());
        lost.map(|(_, times)| times.response.len()).sum()
    }

    /// Removes failed requests from the times of successful ones, which include them in records of
    /// layout 1.
    pub fn leave_out_failed(&mut self) {
        if let Some(failed) = self.failed_latency() {
            let rest = |all: &Latency, part: &Latency| {
                Latency::new(all.histogram.without(&part.histogram))
            };
            self.service = rest(&self.service, &failed.service);
            self.response = rest(&self.response, &failed.response);
        }
    }

    fn new(kind: OpKind, part: &KindInterval, issued: u64, measured_s: f64) -> Self {
        let failures: BTreeMap<_, _> = Failure::ALL
            .into_iter()
            .map(|class| (class, part.failures[class.index()]))
            .filter(|&(_, count)| count > 0)
            .collect();
        Self {
            kind,
            requests: part.requests,
            issued,
            ok: part.ok,
            drained: part.drained,
            drained_ok: part.drained_ok,
            accepted: part.accepted,
            unfinished: issued.saturating_sub(part.ok + part.failed()),
            failures,
            wire: part.wire,
            throughput_per_s: if measured_s > 0.0 {
                (part.ok - part.drained_ok) as f64 / measured_s
            } else {
                0.0
            },
            bytes: part.bytes,
            statuses: part.statuses.clone(),
            reasons: part.reasons.clone(),
            findings: part.findings.clone(),
            service: Latency::new(part.service.clone()),
            response: Latency::new(part.response.clone()),
            response_without_client: part.held.as_deref().map(|held| {
                let mut without = part.response.without(&held.measured);
                without.merge(&held.without);
                Latency::new(without)
            }),
            lag: Latency::new(part.lag.clone()),
            warned: part.warned,
            outdated: part.outdated,
            never_written: part.never_written,
            behind: part.behind.as_deref().map(|ages| Latency::new(ages.clone())),
            rows: part.rows,
            per_row: part.per_row.as_deref().map(|times| Latency::new(times.clone())),
            failed_times: part.failed_times.clone(),
        }
    }
}

/// The classes of failures over `operations`, with their counts and the reason of the first.
pub fn failure_words<'a>(operations: impl IntoIterator<Item = &'a OperationSummary>) -> String {
    failure_words_of(operations, |_| true)
}

/// The same of the classes that `told` selects.
pub fn failure_words_of<'a>(
    operations: impl IntoIterator<Item = &'a OperationSummary>,
    told: impl Fn(Failure) -> bool,
) -> String {
    let mut classes = BTreeMap::<Failure, (u64, Option<&Reason>)>::new();
    for operation in operations {
        for (&class, &count) in operation.failures.iter().filter(|(class, _)| told(**class)) {
            let (sum, reason) = classes.entry(class).or_default();
            *sum += count;
            *reason = reason.or_else(|| operation.reasons.get(&class));
        }
    }
    let explained = classes.values().any(|(_, reason)| reason.is_some());
    let words = classes.into_iter().map(|(class, (count, reason))| match reason {
        None => format!("{} {class}", grouped(count)),
        Some(Reason { status, reason }) => {
            let status = status.map_or(String::new(), |status| format!(" (status {status})"));
            let reason = if reason.is_empty() { reason } else { &format!(": {reason}") };
            format!("{} {class}{reason}{status}", grouped(count))
        }
    });
    words.collect::<Vec<_>>().join(if explained { "; " } else { ", " })
}

/// The sum of all intervals of a stage.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    sum: Interval,
    /// Documents for which an operation was begun, per kind.
    pub issued: ByKind<u64>,
}

impl Totals {
    /// Adds one shard's second.
    pub fn add(&mut self, interval: &Interval) {
        self.sum.merge(interval);
    }

    /// The sums so far.
    pub const fn sum(&self) -> &Interval {
        &self.sum
    }

    /// The kinds that were issued, in report order.
    pub fn kinds(&self) -> Vec<OpKind> {
        self.issued.iter(|issued| *issued > 0).map(|(kind, _)| kind).collect()
    }

    /// The summaries of a running stage, from what has ended so far.
    pub fn so_far(&self, elapsed_s: f64) -> Vec<OperationSummary> {
        let summary = |(kind, part): (OpKind, &KindInterval)| {
            OperationSummary::new(kind, part, part.ok + part.failed(), elapsed_s)
        };
        self.sum.iter().map(summary).collect()
    }

    /// The summaries of all kinds that were issued in a stage in which operations were begun for
    /// `measured_s` seconds.
    pub fn summarize(&self, measured_s: f64) -> Vec<OperationSummary> {
        let none = KindInterval::default();
        let summary = |kind: OpKind| {
            let part = self.sum.kind(kind).unwrap_or(&none);
            let issued = self.issued.get(kind).copied().unwrap_or(0);
            OperationSummary::new(kind, part, issued, measured_s)
        };
        self.kinds().into_iter().map(summary).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_of_each_class_is_kept_and_shown() {
        let part = |class: Failure, reason: Option<&str>| {
            let mut interval = Interval::new(0);
            let part = interval.kind_mut(OpKind::Create);
            part.failures[class.index()] = 2;
            part.reasons.extend(reason.map(|text| (class, Reason::new(Some(400), text))));
            interval
        };
        let mut totals = Totals::default();
        *totals.issued.of(OpKind::Create) = 6;
        totals.add(&part(Failure::Rejected, Some("illegal_docid: no colon")));
        totals.add(&part(Failure::Rejected, Some("something else")));
        let words = |totals: &Totals| failure_words(&totals.summarize(1.0));
        assert_eq!(words(&totals), "4 rejected: illegal_docid: no colon (status 400)");
        totals.add(&part(Failure::Timeout, None));
        let both = "4 rejected: illegal_docid: no colon (status 400); 2 timeout";
        assert_eq!(words(&totals), both);
        assert_eq!(totals.summarize(1.0)[0].failure_words(), both, "there is only one kind");
        // A server may give a status and say nothing.
        let mut silent = Totals::default();
        *silent.issued.of(OpKind::Create) = 2;
        silent.add(&part(Failure::ServerError, Some("")));
        assert_eq!(words(&silent), "2 server_error (status 400)");
        let mut many = part(Failure::Timeout, None);
        many.kind_mut(OpKind::Create).failures[Failure::Timeout.index()] = 191_685;
        totals.add(&many);
        assert!(words(&totals).ends_with("; 191,687 timeout"), "{}", words(&totals));
    }

    #[test]
    fn of_a_stage_that_goes_on_all_that_ended_was_begun() {
        let mut interval = Interval::new(0);
        let part = interval.kind_mut(OpKind::Update);
        (part.requests, part.ok, part.failures[Failure::Conflict.index()]) = (10, 7, 3);
        let mut totals = Totals::default();
        totals.add(&interval);
        let summary = &totals.so_far(2.0)[0];
        assert_eq!((summary.issued, summary.ok, summary.unfinished), (10, 7, 0));
        assert!((summary.throughput_per_s - 3.5).abs() < f64::EPSILON);
    }

    #[test]
    fn what_did_not_end_is_unfinished() {
        let mut interval = Interval::new(0);
        let part = interval.kind_mut(OpKind::Update);
        (part.requests, part.ok, part.failures[Failure::Conflict.index()]) = (10, 7, 3);
        let mut totals = Totals::default();
        totals.add(&interval);
        *totals.issued.of(OpKind::Update) = 12;
        let summary = &totals.summarize(2.0)[0];
        assert_eq!(
            (summary.issued, summary.ok, summary.failed(), summary.unfinished),
            (12, 7, 3, 2)
        );
        assert!((summary.throughput_per_s - 3.5).abs() < f64::EPSILON);
    }

    #[test]
    fn failed_requests_are_taken_out_of_the_times_of_successful_ones() {
        let mut interval = Interval::new(0);
        let part = interval.kind_mut(OpKind::Read);
        part.requests = 3;
        for ns in [1_000, 2_000, 9_000] {
            part.service.record(ns);
            part.response.record(ns);
        }
        let failed = part.failed_times.entry(Failure::Timeout).or_default();
        failed.service.record(9_000);
        failed.response.record(9_000);
        let mut totals = Totals::default();
        totals.add(&interval);
        let mut summary = totals.so_far(1.0).remove(0);
        summary.leave_out_failed();
        assert_eq!((summary.service.samples, summary.response.samples), (2, 2));
    }
}
