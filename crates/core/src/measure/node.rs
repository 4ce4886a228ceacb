//! The nodes of a cluster, one by one: the requests to each, and when it was unreachable.

use super::histogram::Histogram;
use super::latency::Latency;
use super::probe::Sample;
use super::silence::Silences;
use super::spans::Span;
use crate::clock::{Nanos, SECOND_NS};
use crate::op::Failure;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most absences that are kept per node. Later ones extend the last one.
const MOST_ABSENCES: usize = 1_000;

/// The requests to one node in one interval, over all kinds of operations. Counts are documents.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeInterval {
    /// Completed requests, successful or not.
    pub requests: u64,
    /// Documents that succeeded.
    pub ok: u64,
    /// Documents that succeeded in requests that ended after the last operation was due to start.
    pub drained_ok: u64,
    /// Of those that succeeded, documents that have not yet reached a quorum of nodes.
    pub accepted: u64,
    /// Documents per failure class.
    pub failures: [u64; Failure::COUNT],
    /// Service times of requests that succeeded at least in part.
    pub service: Histogram,
    /// Response times of the same requests.
    pub response: Histogram,
}

impl NodeInterval {
    /// Adds one finished request; `drained` if it ended after the last operation was due to start.
    pub(super) fn add(&mut self, sample: &Sample<'_>, drained: bool) {
        self.requests += 1;
        let ok = sample.divide(&mut self.failures);
        if let Ok(reply) = sample.result {
            self.ok += ok;
            self.drained_ok += if drained { ok } else { 0 };
            self.accepted += if reply.accepted { ok } else { 0 };
            self.service.record(sample.timing.service_ns);
            self.response.record(sample.timing.response_ns);
        }
    }

    /// Adds what another shard or second measured.
    pub(super) fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.ok += other.ok;
        self.drained_ok += other.drained_ok;
        self.accepted += other.accepted;
        for (sum, part) in self.failures.iter_mut().zip(other.failures) {
            *sum += part;
        }
        self.service.merge(&other.service);
        self.response.merge(&other.response);
    }
}

/// A time in which a node was considered gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absence {
    /// When a connection first found it unreachable.
    pub from: Nanos,
    /// When it responded again; `None` if it did not before the stage ended.
    pub to: Option<Nanos>,
    /// The number of connections that moved to other nodes.
    pub moved: u64,
    /// The number of connections that came back.
    pub returned: u64,
}

/// What a shard knows about one node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeLog {
    /// Its address, without credentials, if only the driver knows it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// The connections that belong to it.
    pub connections: u64,
    /// How long these connections were connected to other nodes, in nanoseconds summed over all of
    /// them.
    pub away_ns: Nanos,
    /// When it was considered gone, in order of time.
    pub absences: Vec<Absence>,
    /// When it answered nothing on any connection; `None` if it was not sent anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silences: Option<Silences>,
}

impl NodeLog {
    /// Notes that the node is considered gone.
    pub fn lose(&mut self, now: Nanos) {
        if self.absences.len() < MOST_ABSENCES {
            self.absences.push(Absence { from: now, to: None, moved: 0, returned: 0 });
        } else if let Some(last) = self.absences.last_mut() {
            last.to = None;
        }
    }

    /// Notes that it answers again.
    pub fn find(&mut self, now: Nanos) {
        if let Some(last) = self.absences.last_mut() {
            last.to = Some(now);
        }
    }

    /// Counts a connection that moved to another node.
    pub fn moved(&mut self) {
        if let Some(last) = self.absences.last_mut() {
            last.moved += 1;
        }
    }

    /// Counts a connection that came back after `away_ns`.
    pub fn returned(&mut self, away_ns: Nanos) {
        self.away_ns += away_ns;
        if let Some(last) = self.absences.last_mut() {
            last.returned += 1;
        }
    }

    /// Converts times to another clock, which shows `to` when this one shows `from`.
    pub fn convert(&mut self, from: Nanos, to: Nanos) {
        let converted = |time: Nanos| to.saturating_add(time).saturating_sub(from);
        for absence in &mut self.absences {
            absence.from = converted(absence.from);
            absence.to = absence.to.map(converted);
        }
        if let Some(silences) = &mut self.silences {
            silences.convert(from, to);
        }
    }

    /// Adds what another shard knows about the same node. Overlapping absences become one, which
    /// ends when the first shard found the node again: it was back from then on.
    pub fn merge(&mut self, other: &Self) {
        if self.url.is_empty() {
            self.url.clone_from(&other.url);
        }
        self.connections += other.connections;
        self.away_ns += other.away_ns;
        let mut all = std::mem::take(&mut self.absences);
        all.extend(&other.absences);
        all.sort_unstable_by_key(|absence| absence.from);
        for next in all {
            let last = self.absences.last_mut();
            match last.filter(|last| last.to.is_none_or(|to| next.from <= to)) {
                Some(last) => {
                    last.to = last.to.into_iter().chain(next.to).min();
                    last.moved += next.moved;
                    last.returned += next.returned;
                }
                None => self.absences.push(next),
            }
        }
        if let Some(theirs) = &other.silences {
            let common = |ours: Silences| ours.common(theirs);
            self.silences = Some(self.silences.take().map_or_else(|| theirs.clone(), common));
        }
    }

    /// The silences of a stage that began at `start`. If a mere check reached the node again during
    /// a silence, the silence ended then.
    fn silences(&self, start: Nanos) -> Vec<Span> {
        let seconds = |ns: Nanos| ns as f64 / SECOND_NS as f64;
        let mut spans =
            self.silences.as_ref().map_or_else(Vec::new, |silences| silences.finish(start));
        for span in &mut spans {
            let found = self.absences.iter().filter_map(|it| it.to);
            let found = found.map(|at| seconds(at.saturating_sub(start)) - span.from_s);
            span.length_s = found.filter(|&it| it > 0.0).fold(span.length_s, f64::min);
        }
        spans
    }
}

/// A time in which a node was considered unreachable, in seconds from the stage's start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unreachable {
    /// When a connection first found it unreachable.
    pub from_s: f64,
    /// When it responded again; `None` if it did not before the stage ended.
    pub to_s: Option<f64>,
    /// The number of connections that moved to other nodes.
    pub moved: u64,
    /// The number of connections that came back.
    pub returned: u64,
}

/// One node in one stage. Counts are documents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeSummary {
    /// Its address, without credentials.
    pub url: String,
    /// The number of connections that belong to it, or that the load threads have to it.
    pub connections: u64,
    /// Completed requests, on its own connections and on those that had moved to it.
    pub requests: u64,
    /// Documents that succeeded.
    pub ok: u64,
    /// Of the documents in `ok`, those with the status 202, which had not yet reached a quorum of
    /// nodes.
    pub accepted: u64,
    /// Documents that failed, per class.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::op::keyed::<Failure, u64>"))]
    pub failures: BTreeMap<Failure, u64>,
    /// Documents that succeeded during the stage's time, per second.
    pub throughput_per_s: f64,
    /// How long its connections were connected to other nodes, in seconds summed over all of them.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub away_s: f64,
    /// The times in which it was considered unreachable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreachable: Vec<Unreachable>,
    /// When operations were in flight to it but it gave no response on any of its connections, for
    /// 0.1 s or more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = Span::MOST_LISTED)))]
    pub silences: Vec<Span>,
    /// From sending to the last byte of the response, for requests that succeeded at least in part.
    pub service: Latency,
    /// From the intended start to the last byte of the response, for the same requests.
    pub response: Latency,
}

impl NodeSummary {
    /// The node at `url`, from what was measured and logged; rates are over `measured_s` from
    /// `start` on.
    pub fn new(
        url: String,
        part: &NodeInterval,
        log: &NodeLog,
        start: Nanos,
        measured_s: f64,
    ) -> Self {
        let seconds = |ns: Nanos| ns as f64 / SECOND_NS as f64;
        let since = |at: Nanos| seconds(at.saturating_sub(start));
        let failures = Failure::ALL.into_iter().map(|class| (class, part.failures[class.index()]));
        let during = part.ok.saturating_sub(part.drained_ok) as f64;
        Self {
            url,
            connections: log.connections,
            requests: part.requests,
            ok: part.ok,
            accepted: part.accepted,
            failures: failures.filter(|&(_, count)| count > 0).collect(),
            throughput_per_s: if measured_s > 0.0 { during / measured_s } else { 0.0 },
            away_s: seconds(log.away_ns),
            unreachable: log
                .absences
                .iter()
                .map(|it| Unreachable {
                    from_s: since(it.from),
                    to_s: it.to.map(since),
                    moved: it.moved,
                    returned: it.returned,
                })
                .collect(),
            silences: log.silences(start),
            service: Latency::new(part.service.clone()),
            response: Latency::new(part.response.clone()),
        }
    }

    /// Documents that failed, over all classes.
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Interval, NodeAnswers, Recorder, Spans, Timing};
    use crate::op::{OpKind, Reply};

    fn absence(from: Nanos, to: Option<Nanos>, moved: u64) -> Absence {
        Absence { from, to, moved, returned: moved / 2 }
    }

    #[test]
    fn each_request_is_counted_for_its_node_and_for_all() {
        let (sink, source) = std::sync::mpsc::channel();
        let mut recorder = Recorder::new(0, 1_000, false, sink);
        let accepted = Ok(Reply { accepted: true, ..Reply::default() });
        let mut rows = [0; Failure::COUNT];
        rows[Failure::Conflict.index()] = 3;
        for (node, done, result) in [
            // The last moment of the stage.
            (0, 1_000, Ok(Reply::default())),
            (2, 6, accepted),
            (2, 2_000, Ok(Reply::default())),
            (2, 7, Err(Failure::Reset)),
        ] {
            let timing = Timing::between(0, done);
            let sample = Sample {
                documents: 10,
                row_failures: result.is_ok().then_some(&rows),
                ..Sample::single(OpKind::BulkInsert, &timing, result)
            };
            recorder.record(&sample);
            recorder.record_node(node, &sample);
        }
        recorder.finish();
        let mut sum = Interval::new(0);
        for interval in source.try_iter() {
            sum.merge(&interval);
        }
        let nodes = sum.nodes();
        let counts = |node: usize| {
            let it = &nodes[node];
            (it.requests, it.ok, it.drained_ok, it.accepted, it.failures.iter().sum::<u64>())
        };
        assert_eq!(nodes.len(), 3);
        assert_eq!([counts(0), counts(1)], [(1, 7, 0, 0, 3), (0, 0, 0, 0, 0)]);
        assert_eq!(counts(2), (3, 14, 7, 7, 16));
        let all = sum.kind(OpKind::BulkInsert).unwrap();
        assert_eq!(all.requests, nodes.iter().map(|it| it.requests).sum::<u64>());
        assert_eq!(all.ok, nodes.iter().map(|it| it.ok).sum::<u64>());
        let log = NodeLog { connections: 4, ..NodeLog::default() };
        let summary = NodeSummary::new("http://c".to_owned(), &nodes[2], &log, 0, 2.0);
        assert!((summary.throughput_per_s - 3.5).abs() < 1e-9, "without what was drained");
        assert_eq!(summary.failures, [(Failure::Conflict, 6), (Failure::Reset, 10)].into());
        assert_eq!(summary.failed(), 16);
    }

    #[test]
    fn absences_that_overlap_are_one() {
        let log = |absences: &[Absence]| NodeLog {
            url: String::new(),
            connections: 2,
            away_ns: 5,
            absences: absences.to_vec(),
            silences: None,
        };
        let mut one = log(&[absence(10, Some(20), 2), absence(40, Some(50), 2)]);
        one.merge(&log(&[absence(12, Some(25), 4), absence(60, None, 2)]));
        assert_eq!(
            one.absences,
            [absence(10, Some(20), 6), absence(40, Some(50), 2), absence(60, None, 2)]
        );
        assert_eq!((one.connections, one.away_ns), (4, 10));
        one.merge(&log(&[absence(45, None, 2)]));
        // One connection did not check again before the end, but the node was back nevertheless.
        assert_eq!(
            one.absences[1..],
            [absence(40, Some(50), 4), absence(60, None, 2)],
            "{:?}",
            one.absences
        );
        one.merge(&log(&[absence(70, None, 2)]));
        assert_eq!(one.absences.len(), 3, "nobody has found it");
        assert_eq!(one.absences[2], absence(60, None, 4));
    }

    /// Operations of a node, as sent and answered in milliseconds; `false`: never answered.
    fn silent(operations: &[(u64, u64, bool)]) -> NodeLog {
        const MS: Nanos = 1_000_000;
        let answers = NodeAnswers::new(0);
        for &(sent, done, answered) in operations {
            answers.add(&Timing::between(sent * MS, done * MS), answered);
        }
        let silences = Some(answers.finish(&Spans::default()));
        NodeLog { silences, ..NodeLog::default() }
    }

    /// Start and length of its silences, in milliseconds.
    fn listed(log: &NodeLog) -> Vec<(u64, u64)> {
        let ms = |s: f64| (s * 1e3).round() as u64;
        log.silences(0).iter().map(|it| (ms(it.from_s), ms(it.length_s))).collect()
    }

    #[test]
    fn a_node_is_silent_while_what_was_sent_to_it_waits() {
        let frozen = silent(&[(0, 10, true), (11, 4_000, true), (12, 4_001, true)]);
        assert_eq!(listed(&frozen), [(11, 3_989)]);
        // Nothing was sent to it.
        assert_eq!(listed(&silent(&[(0, 10, true), (4_000, 4_010, true)])), []);
        // Requests that it never answered also count as waiting.
        let lost = silent(&[(0, 10, true), (11, 2_011, false), (4_000, 4_010, true)]);
        assert_eq!(listed(&lost), [(11, 3_999)]);
        let dead = silent(&[(0, 10, true), (11, 2_011, false)]);
        assert_eq!(listed(&dead), [(11, 2_000)], "as far as is known");
        assert_eq!(listed(&silent(&[(0, 10, true), (11, 12, false), (900, 901, true)])), []);
        // One connection hung while others were served.
        let hung: Vec<_> = (0..200).map(|n| (n * 10, n * 10 + 10, true)).collect();
        let hung = [hung, vec![(5, 2_005, false), (2_500, 2_501, true)]].concat();
        assert_eq!(listed(&silent(&hung)), []);
    }

    #[test]
    fn a_node_is_silent_when_it_is_to_all_shards_and_until_it_is_found() {
        let mut one = silent(&[(0, 10, true), (11, 2_011, false), (4_500, 4_510, true)]);
        one.merge(&silent(&[(0, 100, true), (101, 2_101, false), (4_000, 4_100, true)]));
        assert_eq!(listed(&one), [(100, 4_000)]);
        let found = Absence { from: 2_011_000_000, to: Some(3_000_000_000), moved: 1, returned: 1 };
        one.absences = vec![found];
        assert_eq!(listed(&one), [(100, 2_900)]);
        one.absences[0].to = Some(50_000_000);
        assert_eq!(listed(&one), [(100, 4_000)], "that was another time");
        one.absences[0].to = Some(100_000_000);
        assert_eq!(listed(&one), [(100, 4_000)], "it was silent from then on");
        let mut none = NodeLog::default();
        none.merge(&one);
        assert_eq!(none.silences, one.silences, "a shard that did not ask knows nothing");
        one.merge(&NodeLog::default());
        assert_eq!(none.silences, one.silences);
        let busy: Vec<_> = (0..500).map(|n| (n * 10, n * 10 + 10, true)).collect();
        one.merge(&silent(&busy));
        assert_eq!(listed(&one), [], "it answered another shard");
    }

    #[test]
    fn another_clock_changes_when_a_node_was_away_and_silent() {
        let mut log = silent(&[(0, 10, true), (11, 2_011, true)]);
        let mut silences = log.silences.clone().unwrap();
        log.absences = vec![absence(20, Some(30), 2), absence(40, None, 0)];
        log.convert(5, 105);
        assert_eq!(log.absences, [absence(120, Some(130), 2), absence(140, None, 0)]);
        silences.convert(5, 105);
        assert_eq!(log.silences, Some(silences));
    }

    #[test]
    fn a_node_that_comes_and_goes_takes_no_more_memory_for_it() {
        let mut log = NodeLog::default();
        for at in 0..3_000 {
            log.lose(at * 10);
            log.moved();
            log.find(at * 10 + 5);
            log.returned(5);
        }
        assert_eq!(log.absences.len(), MOST_ABSENCES);
        assert_eq!(log.absences.iter().map(|it| it.moved).sum::<u64>(), 3_000);
        assert_eq!(log.away_ns, 15_000);
        assert_eq!(log.absences.last().unwrap().to, Some(29_995));
    }
}
