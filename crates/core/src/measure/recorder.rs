//! The recorder of one shard: fills the interval of the current second and sends completed ones.

use super::following::Ack;
use super::interval::{Interval, RawRow};
use super::probe::{Sample, Timing};
use crate::clock::{Nanos, SECOND_NS};
use crate::op::{ByKind, Failure, Finding, OpKind, Reason};
use std::sync::mpsc::Sender;

/// Records the operations of one shard, second by second.
#[derive(Debug)]
pub struct Recorder {
    start: Nanos,
    /// When the last operation is due to start.
    end: Nanos,
    boundary: Nanos,
    interval: Interval,
    raw: bool,
    /// For each kind, a bit for each class of failure whose reason is known.
    explained: ByKind<u32>,
    /// How many findings were kept.
    found: usize,
    sink: Sender<Interval>,
}

// There is one bit per class.
const _: () = assert!(Failure::COUNT <= u32::BITS as usize);

impl Recorder {
    /// A recorder for a stage from `start` to `end`. Completed intervals are sent to `sink`, with
    /// every single request if `raw`.
    pub fn new(start: Nanos, end: Nanos, raw: bool, sink: Sender<Interval>) -> Self {
        Self {
            start,
            end,
            boundary: start + SECOND_NS,
            interval: Interval::new(0),
            raw,
            explained: ByKind::new(),
            found: 0,
            sink,
        }
    }

    /// Notes that the last operation was due to start at `end`, if that is earlier than planned:
    /// the stage was stopped.
    pub fn end_at(&mut self, end: Nanos) {
        self.end = self.end.min(end);
    }

    /// Records one finished request in the second in which it was done.
    #[inline]
    pub fn record(&mut self, sample: &Sample<'_>) {
        if sample.timing.done >= self.boundary {
            self.rotate(sample.timing.done);
        }
        if self.raw {
            self.keep_raw(sample);
        }
        let kind = self.interval.kind_mut(sample.kind);
        kind.requests += 1;
        kind.drained += u64::from(sample.timing.done > self.end);
        kind.bytes += sample.bytes;
        kind.wire += sample.wire;
        for &status in sample.statuses {
            *kind.statuses.entry(status).or_default() += 1;
        }
        let ok = sample.divide(&mut kind.failures);
        match sample.result {
            Ok(reply) => {
                kind.time(sample.timing);
                kind.ok += ok;
                if sample.timing.done > self.end {
                    kind.drained_ok += ok;
                }
                if reply.rows > 0 {
                    kind.add_rows(u64::from(reply.rows), sample.timing.service_ns);
                }
                kind.warned += u64::from(reply.warned);
                kind.outdated += u64::from(reply.outdated);
                kind.accepted += if reply.accepted { ok } else { 0 };
            }
            Err(failure) => kind.fail(failure, sample.timing),
        }
    }

    /// Also records a request that was just recorded for the node that it was sent to.
    pub fn record_node(&mut self, node: usize, sample: &Sample<'_>) {
        let drained = sample.timing.done > self.end;
        self.interval.node_mut(node).add(sample, drained);
    }

    /// Notes that the request just recorded was held up by the client for `held_ns`.
    #[cold]
    pub fn hold(&mut self, kind: OpKind, timing: &Timing, held_ns: Nanos) {
        self.interval.kind_mut(kind).hold(timing.response_ns, held_ns);
    }

    /// Keeps an acknowledged write, for comparison with the changes that followers receive.
    pub fn acknowledge(&mut self, ack: Ack) {
        self.interval.acks.push(ack);
    }

    /// Notes that the answer just recorded did not reflect a write of this age.
    #[cold]
    pub fn behind(&mut self, kind: OpKind, age_ns: Nanos) {
        self.interval.kind_mut(kind).behind.get_or_insert_default().record(age_ns);
    }

    /// Keeps the reason of the first failure of a kind and class; `reason` is only called if none
    /// is known yet.
    #[cold]
    pub fn tell(&mut self, kind: OpKind, class: Failure, reason: impl FnOnce() -> Option<Reason>) {
        let (explained, class_bit) = (self.explained.of(kind), 1 << class.index());
        if *explained & class_bit == 0
            && let Some(reason) = reason().filter(|it| it.status.is_some() || !it.reason.is_empty())
        {
            *explained |= class_bit;
            self.interval.kind_mut(kind).reasons.insert(class, reason);
        }
    }

    /// Keeps what was wrong with a document, for the first few.
    #[cold]
    pub fn find(&mut self, finding: Finding) {
        if self.found < Finding::MOST {
            self.found += 1;
            self.interval.kind_mut(OpKind::Verify).findings.push(finding);
        }
    }

    /// Counts a document that was checked and rightly never written.
    #[cold]
    pub fn never_written(&mut self) {
        self.interval.kind_mut(OpKind::Verify).never_written += 1;
    }

    #[cold]
    fn keep_raw(&mut self, sample: &Sample<'_>) {
        let timing = sample.timing;
        self.interval.raw.push(RawRow {
            kind: sample.kind,
            failure: sample.result.err(),
            done: timing.done,
            service_ns: timing.service_ns,
            response_ns: timing.response_ns,
        });
    }

    /// Sends the current second if `now` is beyond it.
    pub fn rotate(&mut self, now: Nanos) {
        if now < self.boundary {
            return;
        }
        let second = ((now - self.start) / SECOND_NS) as u32;
        let mut full = std::mem::replace(&mut self.interval, Interval::new(second));
        full.complete();
        self.boundary = self.start + (Nanos::from(second) + 1) * SECOND_NS;
        // The receiver only disappears while the whole run is being torn down.
        let _ = self.sink.send(full);
    }

    /// Sends how long the thread waited for a processor in a past second.
    pub fn waited(&self, second: u32, waited_ns: Nanos) {
        if waited_ns > 0 {
            let mut interval = Interval::new(second);
            interval.waited_ns = waited_ns;
            let _ = self.sink.send(interval);
        }
    }

    /// Sends what is left.
    pub fn finish(&mut self) {
        let mut left = std::mem::take(&mut self.interval);
        left.complete();
        let _ = self.sink.send(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{BodyBytes, Histogram, Wire};
    use crate::op::Reply;

    fn timing(done: Nanos) -> Timing {
        Timing {
            lag_ns: 0,
            send_ns: 1_000,
            remote_ns: 50_000,
            receive_ns: 0,
            service_ns: 51_000,
            response_ns: 52_000,
            done,
        }
    }

    fn sample(timing: &Timing) -> Sample<'_> {
        Sample::single(OpKind::Read, timing, Ok(Reply::default()))
    }

    #[test]
    fn an_operation_belongs_to_the_second_in_which_it_was_done() {
        let (sink, source) = std::sync::mpsc::channel();
        let mut recorder = Recorder::new(100, Nanos::MAX, false, sink);
        for done in [101, SECOND_NS + 99, SECOND_NS + 100, 3 * SECOND_NS + 100] {
            recorder.record(&sample(&timing(done)));
        }
        recorder.finish();
        drop(recorder);
        let seconds: Vec<_> =
            source.iter().map(|i| (i.second, i.kind(OpKind::Read).unwrap().requests)).collect();
        assert_eq!(seconds, [(0, 2), (1, 1), (3, 1)]);
    }

    #[test]
    fn a_second_is_sent_off_once_it_is_over_and_not_before() {
        let (sink, source) = std::sync::mpsc::channel();
        let mut recorder = Recorder::new(100, Nanos::MAX, false, sink);
        recorder.rotate(SECOND_NS + 99);
        assert!(source.try_recv().is_err(), "it lasts until then");
        recorder.rotate(SECOND_NS + 100);
        assert_eq!(source.try_recv().map(|it| it.second), Ok(0));
        recorder.rotate(2 * SECOND_NS + 99);
        assert!(source.try_recv().is_err());
        recorder.rotate(5 * SECOND_NS + 100);
        assert_eq!(source.try_recv().map(|it| it.second), Ok(1));
        recorder.rotate(6 * SECOND_NS + 99);
        assert!(source.try_recv().is_err(), "seconds without an operation are left out");
        recorder.finish();
        assert_eq!(source.try_recv().map(|it| it.second), Ok(5));
    }

    #[test]
    fn the_first_findings_are_kept() {
        let (sink, source) = std::sync::mpsc::channel();
        let mut recorder = Recorder::new(0, Nanos::MAX, false, sink);
        let most = Finding::MOST;
        let finding = |id| Finding {
            class: Failure::NotFound,
            id,
            expected: String::new(),
            found: String::new(),
        };
        for n in 0..=most {
            recorder.find(finding(n.to_string()));
        }
        // A second later, there is still no room for another.
        recorder.rotate(SECOND_NS);
        recorder.find(finding("later".to_owned()));
        recorder.finish();
        drop(recorder);
        let kept: Vec<String> = source
            .iter()
            .filter_map(|it| it.kind(OpKind::Verify).map(|kind| kind.findings.clone()))
            .flatten()
            .map(|it| it.id)
            .collect();
        assert_eq!(kept, (0..most).map(|n| n.to_string()).collect::<Vec<_>>());
    }

    #[test]
    fn times_are_the_same_however_many_were_kept() {
        let prompt = Timing { response_ns: 51_000, ..timing(5) };
        let late = Timing { lag_ns: 9_000, response_ns: 60_000, ..timing(6) };
        // One that was prepared before it was sent; and one that was late, but took no longer in
        // total than the request itself.
        let slow = Timing { response_ns: 70_000, ..prompt };
        let odd = Timing { lag_ns: 9_000, ..prompt };
        for timings in [
            vec![prompt; 3],
            vec![prompt, late, prompt],
            vec![late, prompt],
            vec![slow, prompt],
            vec![prompt, odd],
        ] {
            let (sink, source) = std::sync::mpsc::channel();
            let mut recorder = Recorder::new(0, Nanos::MAX, false, sink);
            for timing in &timings {
                recorder.record(&sample(timing));
            }
            recorder.finish();
            let interval = source.recv().unwrap();
            let kind = interval.kind(OpKind::Read).unwrap();
            let recorded = |time: fn(&Timing) -> Nanos| {
                let mut histogram = Histogram::default();
                for timing in &timings {
                    histogram.record(time(timing));
                }
                histogram
            };
            assert_eq!(kind.service, recorded(|timing| timing.service_ns));
            assert_eq!(kind.response, recorded(|timing| timing.response_ns));
            assert_eq!(kind.lag, recorded(|timing| timing.lag_ns));
        }
    }

    #[test]
    fn what_ends_after_the_end_is_drained_in_whichever_way_it_ends() {
        let (sink, source) = std::sync::mpsc::channel();
        let mut recorder = Recorder::new(0, 1_000, false, sink);
        let mut rows = [0; Failure::COUNT];
        rows[Failure::Conflict.index()] = 3;
        for done in [999, 1_000, 1_001, 2_000] {
            let timing = timing(done);
            let batch = Sample { documents: 10, row_failures: Some(&rows), ..sample(&timing) };
            recorder.record(&batch);
            recorder.record(&Sample { result: Err(Failure::Timeout), row_failures: None, ..batch });
        }
        recorder.finish();
        let interval = source.recv().unwrap();
        let kind = interval.kind(OpKind::Read).unwrap();
        assert_eq!((kind.requests, kind.drained), (8, 4));
        assert_eq!((kind.ok, kind.drained_ok), (28, 14), "documents that succeeded");
        assert_eq!((kind.failures[Failure::Timeout.index()], kind.accepted), (40, 0));
    }

    #[test]
    fn each_figure_of_a_request_is_counted_as_what_it_is() {
        let (sink, source) = std::sync::mpsc::channel();
        let mut recorder = Recorder::new(0, Nanos::MAX, false, sink);
        let timing = timing(5);
        let rows = |accepted, rows| {
            let (warned, outdated) = (true, accepted);
            Ok(Reply { accepted, rows, warned, outdated, ..Reply::default() })
        };
        let one = Sample {
            bytes: BodyBytes { sent: 11, received: 13 },
            wire: Wire { resent: 1, requests: Some(3), retries: 2, ..Wire::default() },
            statuses: &[302, 200],
            ..Sample::single(OpKind::Scan, &timing, rows(true, 4))
        };
        recorder.record(&one);
        let wire = Wire { resent: 0, ..one.wire };
        recorder.record(&Sample { wire, result: rows(false, 0), ..one });
        recorder.finish();
        let interval = source.recv().unwrap();
        let kind = interval.kind(OpKind::Scan).unwrap();
        assert_eq!(kind.bytes, BodyBytes { sent: 22, received: 26 });
        assert_eq!(kind.wire, Wire { resent: 1, requests: Some(6), retries: 4, ..Wire::default() });
        assert_eq!(kind.statuses, [(200, 2), (302, 2)].into());
        assert_eq!((kind.ok, kind.accepted, kind.rows), (2, 1, 4));
        assert_eq!((kind.warned, kind.outdated), (2, 1));
        assert_eq!(kind.per_row.as_ref().map(|it| it.len()), Some(1), "a scan that brought some");
    }

    #[test]
    fn waiting_is_reported_of_the_second_that_is_over_and_not_of_none() {
        let (sink, source) = std::sync::mpsc::channel();
        let recorder = Recorder::new(100, Nanos::MAX, false, sink);
        recorder.waited(2, 7_000);
        recorder.waited(3, 0);
        recorder.waited(4, 1);
        drop(recorder);
        let seconds: Vec<_> = source.iter().map(|it| (it.second, it.waited_ns)).collect();
        assert_eq!(seconds, [(2, 7_000), (4, 1)]);
    }

    #[test]
    fn the_first_reason_of_each_class_and_kind_is_kept() {
        let (sink, source) = std::sync::mpsc::channel();
        let mut recorder = Recorder::new(0, Nanos::MAX, false, sink);
        let (conflict, timeout) =
            ((OpKind::Read, Failure::Conflict), (OpKind::Read, Failure::Timeout));
        recorder.tell(conflict.0, conflict.1, || None);
        recorder.tell(conflict.0, conflict.1, || Some(Reason::new(None, "")));
        recorder.tell(conflict.0, conflict.1, || Some(Reason::new(Some(409), "first")));
        recorder.tell(conflict.0, conflict.1, || panic!("it is known"));
        recorder.tell(timeout.0, timeout.1, || Some(Reason::new(None, "said")));
        recorder.tell(timeout.0, timeout.1, || panic!("that, too"));
        let other = (OpKind::Update, Failure::Conflict);
        recorder.tell(other.0, other.1, || Some(Reason::new(Some(412), "")));
        recorder.finish();
        let interval = source.recv().unwrap();
        let of = |(kind, class)| interval.kind(kind).unwrap().reasons.get(&class).cloned();
        assert_eq!(of(conflict), Some(Reason::new(Some(409), "first")));
        assert_eq!(of(timeout), Some(Reason::new(None, "said")));
        assert_eq!(of(other), Some(Reason::new(Some(412), "")));
    }

    #[test]
    fn what_befell_requests_on_the_wire_adds_up_over_shards_and_seconds() {
        let mut whole = crate::measure::Interval::new(0);
        for _ in 0..2 {
            let (sink, source) = std::sync::mpsc::channel();
            let mut recorder = Recorder::new(0, Nanos::MAX, false, sink);
            for done in [5, SECOND_NS + 5] {
                let timing = timing(done);
                let (unsolicited, carried_out, not_carried_out) = (3, 4, 5);
                let lost = Sample {
                    result: Err(Failure::Unanswered),
                    documents: 10,
                    wire: Wire { unsolicited, carried_out, not_carried_out, ..Wire::default() },
                    ..sample(&timing)
                };
                recorder.record(&lost);
            }
            recorder.finish();
            drop(recorder);
            for interval in &source {
                whole.merge(&interval);
            }
        }
        let kind = whole.kind(OpKind::Read).unwrap();
        let (unsolicited, carried_out, not_carried_out) = (12, 16, 20);
        let wire = Wire { unsolicited, carried_out, not_carried_out, ..Wire::default() };
        assert_eq!(kind.wire, wire);
        assert_eq!((kind.ok, kind.failures[Failure::Unanswered.index()]), (0, 40));
    }

    #[test]
    fn rows_that_failed_are_taken_from_the_documents_that_succeeded() {
        let (sink, source) = std::sync::mpsc::channel();
        let mut recorder = Recorder::new(0, Nanos::MAX, true, sink);
        let mut rows = [0; Failure::COUNT];
        rows[Failure::Conflict.index()] = 3;
        let timing = timing(5);
        let sample = Sample {
            kind: OpKind::BulkInsert,
            documents: 10,
            row_failures: Some(&rows),
            ..sample(&timing)
        };
        recorder.record(&sample);
        recorder.record(&Sample { result: Err(Failure::Timeout), row_failures: None, ..sample });
        recorder.finish();
        let interval = source.recv().unwrap();
        let bulk = interval.kind(OpKind::BulkInsert).unwrap();
        assert_eq!((bulk.requests, bulk.ok, bulk.failed()), (2, 7, 13));
        assert_eq!(bulk.failures[Failure::Timeout.index()], 10);
        let classes: Vec<_> =
            bulk.failed_times.iter().map(|(&class, times)| (class, times.service.len())).collect();
        assert_eq!(classes, [(Failure::Timeout, 1)]);
        // Times are those of successful requests; how late a request began is recorded for all.
        assert_eq!([&bulk.service, &bulk.response, &bulk.lag].map(Histogram::len), [1, 1, 2]);
        let raw: Vec<_> = interval.raw.iter().map(|row| (row.failure, row.response_ns)).collect();
        assert_eq!(raw, [(None, 52_000), (Some(Failure::Timeout), 52_000)]);
    }
}
