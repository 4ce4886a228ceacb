//! The sections of YCSB's report: which operations appear under which name.

use crate::measure::{Histogram, OperationSummary};
use crate::op::{Class, Failure, OpKind};
use crate::plan::{MeasuredInterval, MeasurementPlan, MeasurementType, PlanRecord};
use crate::record::StageRecord;
use std::collections::BTreeMap;

/// A row of a stage's series: its first second, the number of seconds it covers, and its times.
type TimesRow = ((u32, u32), Histogram);

pub(super) struct Section {
    pub(super) name: String,
    /// The number of operations; for bulk requests, the number of documents.
    pub(super) operations: u64,
    /// Their times. `None`: not measured.
    pub(super) times: Option<Histogram>,
    /// Return codes with their counts.
    pub(super) codes: Vec<(&'static str, u64)>,
    /// Documents returned by scans.
    pub(super) rows: u64,
    /// Requests that were sent, and how often operations were retried after a conflict.
    pub(super) wire: [u64; 2],
    /// The times of each second.
    pub(super) seconds: Vec<TimesRow>,
    /// Steps other than a second, by milliseconds: requests and the sum of their times in
    /// microseconds.
    pub(super) slots: BTreeMap<u64, (u64, f64)>,
}

/// The sections in the order in which YCSB prints them; others follow.
const ORDER: [&str; 6] = ["READ", "READ-MODIFY-WRITE", "INSERT", "UPDATE", "SCAN", "DELETE"];

/// A section's position in the report.
fn place(name: &str) -> usize {
    ORDER.iter().position(|it| *it == name).unwrap_or(ORDER.len())
}

/// YCSB's return code of success.
const OK: &str = "OK";

/// YCSB's return code of a failure; `CONFLICT` is an addition.
pub const fn return_code(class: Failure) -> &'static str {
    match class {
        Failure::Conflict => "CONFLICT",
        Failure::NotFound => "NOT_FOUND",
        Failure::Authentication => "FORBIDDEN",
        Failure::PreconditionFailed | Failure::TooLarge | Failure::Rejected => "BAD_REQUEST",
        Failure::TooManyRequests | Failure::Connect | Failure::Unreachable | Failure::NotReady => {
            "SERVICE_UNAVAILABLE"
        }
        Failure::ServerError
        | Failure::Local
        | Failure::Timeout
        | Failure::Reset
        | Failure::Unanswered
        | Failure::Protocol => "ERROR",
        Failure::UnexpectedState
        | Failure::Lost
        | Failure::Resurrected
        | Failure::Stale
        | Failure::UnknownRevision
        | Failure::WrongBody
        | Failure::WrongDocument
        | Failure::Unexpected
        | Failure::Extra => "UNEXPECTED_STATE",
    }
}

/// Whether failures of this kind have their own section. In YCSB, operations that are more or less
/// than one call of the binding have none.
pub(super) fn tells_failures(kind: OpKind) -> bool {
    kind.is_request()
}

/// Completed operations of a workload: a read-modify-write counts as one, as does each document of
/// a bulk request; a check of the data does not count.
pub(super) fn operations(operations: &[OperationSummary]) -> u64 {
    let ended = |it: &OperationSummary| it.ok + it.failed();
    let requests: u64 = operations.iter().filter(|it| it.kind.is_request()).map(ended).sum();
    let composite = operations.iter().filter(|it| it.kind.class() == Class::Composite);
    let more: u64 = composite.map(|it| it.wire.more_requests(ended(it))).sum();
    requests.saturating_sub(more)
}

/// The operations that succeeded. A read-modify-write whose parts both failed is subtracted twice,
/// so the result may be too low if some failed, but never too high.
pub(super) fn succeeded(operations: &[OperationSummary]) -> u64 {
    let failed = |it: &&OperationSummary| it.kind.is_request();
    let failed: u64 = operations.iter().filter(failed).map(OperationSummary::failed).sum();
    self::operations(operations).saturating_sub(failed)
}

/// The sections of a stage, in YCSB's order.
pub(super) fn sections(
    plan: &MeasurementPlan,
    stage: &StageRecord,
    run: &PlanRecord,
) -> Vec<Section> {
    let accepted = run.target.accepted_code();
    let sections = |intended| {
        let mut sections = of_interval(plan, stage, intended, accepted);
        let place = sections.iter().position(|it| !it.name.starts_with("READ"));
        sections.insert(place.unwrap_or(sections.len()), cleanup(run.connections));
        sections
    };
    let mut all = sections(plan.interval == MeasuredInterval::Intended);
    if plan.interval == MeasuredInterval::Both {
        all.extend(sections(true).into_iter().map(|section| Section {
            name: format!("Intended-{}", section.name),
            codes: Vec::new(),
            rows: 0,
            wire: [0; 2],
            ..section
        }));
    }
    all
}

/// The section of closed connections. The time to close one is not measured.
fn cleanup(connections: usize) -> Section {
    Section {
        name: "CLEANUP".to_owned(),
        operations: connections as u64,
        times: None,
        codes: Vec::new(),
        rows: 0,
        wire: [0; 2],
        seconds: Vec::new(),
        slots: BTreeMap::new(),
    }
}

/// The sections of service times, or of response times if `intended`. Writes that were accepted but
/// not yet stored have the code `accepted`.
fn of_interval(
    plan: &MeasurementPlan,
    stage: &StageRecord,
    intended: bool,
    accepted: &'static str,
) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut operations: Vec<&OperationSummary> = stage.operations.iter().collect();
    operations.sort_by_key(|it| place(it.kind.ycsb()));
    for operation in operations {
        let (kind, name) = (operation.kind, operation.kind.ycsb());
        let split = Split { plan, apart: tells_failures(kind) };
        let succeeded = if intended { &operation.response } else { &operation.service };
        let failed = operation.failed_times.iter().map(|(&class, times)| {
            (class, if intended { times.response.clone() } else { times.service.clone() })
        });
        let mut times = split.times(succeeded.histogram.clone(), failed);
        let mut seconds = split.seconds(stage, kind, intended);
        let mut slots = split.slots(stage, kind, intended);
        let mut counts: BTreeMap<&str, u64> = BTreeMap::from([("", operation.ok)]);
        let mut codes: BTreeMap<&str, u64> = BTreeMap::new();
        let batched = if accepted == OK { 0 } else { operation.accepted };
        if batched > 0 {
            codes.insert(accepted, batched);
        }
        for (&class, &count) in &operation.failures {
            *counts.entry(split.section(class)).or_default() += count;
            *codes.entry(return_code(class)).or_default() += count;
        }
        let wire = [operation.wire.requests.unwrap_or(0), operation.wire.retries];
        let stored = operation.ok - batched.min(operation.ok);
        let ok = (stored > 0).then_some((OK, stored));
        for (own, operations) in counts {
            let plain = own.is_empty();
            let name = if plain { name.to_owned() } else { format!("{name}-{own}") };
            let codes = std::mem::take(&mut codes);
            let codes = if plain { ok.into_iter().chain(codes).collect() } else { Vec::new() };
            let section = Section {
                name,
                operations,
                times: Some(times.remove(own).unwrap_or_default()),
                codes: if kind.class() == Class::Composite { Vec::new() } else { codes },
                rows: if plain { operation.rows } else { 0 },
                wire: if plain { wire } else { [0; 2] },
                seconds: seconds.remove(own).unwrap_or_default(),
                slots: slots.remove(own).unwrap_or_default(),
            };
            add(&mut sections, section);
        }
        if let Some(times) = operation.per_row.as_ref().filter(|_| !intended) {
            sections.push(per_record(name, &times.histogram));
        }
    }
    sections
}

/// The section for the time of scans per returned record.
fn per_record(name: &str, times: &Histogram) -> Section {
    Section {
        name: format!("{name}-LATENCY-PER-RECORD"),
        operations: times.len(),
        times: Some(times.clone()),
        codes: Vec::new(),
        rows: 0,
        wire: [0; 2],
        seconds: Vec::new(),
        slots: BTreeMap::new(),
    }
}

/// Appends a section, or merges it into the one of the same name.
fn add(sections: &mut Vec<Section>, section: Section) {
    let Some(there) = sections.iter_mut().find(|it| it.name == section.name) else {
        sections.push(section);
        return;
    };
    there.operations += section.operations;
    there.wire = std::array::from_fn(|i| there.wire[i] + section.wire[i]);
    if let (Some(times), Some(more)) = (&mut there.times, &section.times) {
        times.merge(more);
    }
    for (code, count) in section.codes {
        match there.codes.iter_mut().find(|(there, _)| *there == code) {
            Some((_, sum)) => *sum += count,
            None => there.codes.push((code, count)),
        }
    }
    for (at_ms, (requests, us)) in section.slots {
        let sum = there.slots.entry(at_ms).or_default();
        *sum = (sum.0 + requests, sum.1 + us);
    }
    for (second, times) in section.seconds {
        match there.seconds.binary_search_by_key(&second, |(second, _)| *second) {
            Ok(place) => there.seconds[place].1.merge(&times),
            Err(place) => there.seconds.insert(place, (second, times)),
        }
    }
}

/// Successes, whose section has no suffix, or failures.
struct Split<'a> {
    plan: &'a MeasurementPlan,
    apart: bool,
}

impl Split<'_> {
    /// The suffix that follows the operation's name.
    fn section(&self, class: Failure) -> &'static str {
        match return_code(class) {
            _ if !self.apart => "",
            code if self.plan.errors.tracks(code) => code,
            _ => "FAILED",
        }
    }

    /// The times of each section, for successes and for failures.
    fn times(
        &self,
        succeeded: Histogram,
        failed: impl Iterator<Item = (Failure, Histogram)>,
    ) -> BTreeMap<&'static str, Histogram> {
        let mut times = BTreeMap::from([("", succeeded)]);
        for (class, part) in failed {
            times.entry(self.section(class)).or_default().merge(&part);
        }
        times
    }

    /// The requests of each section in each step other than a second, and the sums of their times
    /// in microseconds.
    fn slots(
        &self,
        stage: &StageRecord,
        kind: OpKind,
        intended: bool,
    ) -> BTreeMap<&'static str, BTreeMap<u64, (u64, f64)>> {
        let mut slots: BTreeMap<_, BTreeMap<u64, (u64, f64)>> = BTreeMap::new();
        for slot in stage.slots.iter().filter(|slot| slot.kind == kind) {
            let own = slot.failure.map_or("", |class| self.section(class));
            let mean_us = if intended { slot.response_us } else { slot.service_us };
            let sum = slots.entry(own).or_default().entry(slot.at_ms).or_default();
            *sum = (sum.0 + slot.requests, mean_us.mul_add(slot.requests as f64, sum.1));
        }
        slots
    }

    /// The times of each section in each second, if wanted.
    fn seconds(
        &self,
        stage: &StageRecord,
        kind: OpKind,
        intended: bool,
    ) -> BTreeMap<&'static str, Vec<TimesRow>> {
        let mut seconds: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let series = self.plan.measurement == MeasurementType::TimeSeries;
        if !series && self.plan.hdr_prefix.is_none() {
            return seconds;
        }
        for row in &stage.series.rows {
            let Some(part) = row.kinds.get(&kind) else { continue };
            let failed = part.failed_times.iter().map(|(&class, times)| {
                (class, if intended { times.response.get() } else { times.service.get() })
            });
            let succeeded = if intended { part.response.get() } else { part.service.get() };
            let times = self.times(succeeded, failed).into_iter();
            for (own, times) in times.filter(|it| !it.1.is_empty()) {
                seconds.entry(own).or_default().push(((row.second, row.seconds), times));
            }
        }
        seconds
    }
}
