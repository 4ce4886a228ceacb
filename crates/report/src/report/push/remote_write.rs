//! Prometheus' remote write 1.0, with native histograms: a message of Protocol Buffers, compressed
//! with Snappy. <https://prometheus.io/docs/specs/prw/remote_write_spec/>

use super::buckets::{Buckets, SCALE, ZERO_S};
use super::{Labels, Pushed};
use prost::Message;
use std::collections::BTreeSet;

/// The messages, with the numbers of their fields in `prompb/remote.proto` and `types.proto` of
/// <https://github.com/prometheus/prometheus>, as far as they are used here.
mod message {
    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct WriteRequest {
        #[prost(message, repeated, tag = "1")]
        pub(super) timeseries: Vec<TimeSeries>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct TimeSeries {
        #[prost(message, repeated, tag = "1")]
        pub(super) labels: Vec<Label>,
        #[prost(message, repeated, tag = "2")]
        pub(super) samples: Vec<Sample>,
        #[prost(message, repeated, tag = "4")]
        pub(super) histograms: Vec<Histogram>,
    }

    #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, prost::Message)]
    pub(super) struct Label {
        #[prost(string, tag = "1")]
        pub(super) name: String,
        #[prost(string, tag = "2")]
        pub(super) value: String,
    }

    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub(super) struct Sample {
        #[prost(double, tag = "1")]
        pub(super) value: f64,
        #[prost(int64, tag = "2")]
        pub(super) timestamp: i64,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Histogram {
        /// One of two kinds of counts: it must be sent even if it is zero.
        #[prost(uint64, optional, tag = "1")]
        pub(super) count_int: Option<u64>,
        #[prost(double, tag = "3")]
        pub(super) sum: f64,
        #[prost(sint32, tag = "4")]
        pub(super) schema: i32,
        #[prost(double, tag = "5")]
        pub(super) zero_threshold: f64,
        #[prost(uint64, optional, tag = "6")]
        pub(super) zero_count_int: Option<u64>,
        #[prost(message, repeated, tag = "11")]
        pub(super) positive_spans: Vec<BucketSpan>,
        #[prost(sint64, repeated, tag = "12")]
        pub(super) positive_deltas: Vec<i64>,
        #[prost(int64, tag = "15")]
        pub(super) timestamp: i64,
    }

    #[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
    pub(super) struct BucketSpan {
        #[prost(sint32, tag = "1")]
        pub(super) offset: i32,
        #[prost(uint32, tag = "2")]
        pub(super) length: u32,
    }
}

/// The value that ends a series, `StaleNaN` of Prometheus' `model/value`: without it, graphs would
/// continue for five minutes.
const STALE: f64 = f64::from_bits(0x7ff0_0000_0000_0002);

/// What has been sent to one receiver.
#[derive(Debug, Default)]
pub struct RemoteWrite {
    /// The series of numbers in the last message.
    open: BTreeSet<Vec<message::Label>>,
}

impl RemoteWrite {
    /// The body of a request. It ends the series that no longer exist, such as those of warnings;
    /// the last request ends all of them.
    pub fn encode(&mut self, pushed: &Pushed<'_>) -> Vec<u8> {
        let timestamp = (pushed.at_ns / 1_000_000).cast_signed();
        // A series has one value at a time.
        let end = pushed.over.then_some(timestamp + 1);
        let mut timeseries = Vec::new();
        let mut gone = std::mem::take(&mut self.open);
        for it in pushed.samples() {
            let labels = labels(&it.name, it.labels);
            gone.remove(&labels);
            self.open.insert(labels.clone());
            let last = end.map(|timestamp| message::Sample { value: STALE, timestamp });
            let sample = message::Sample { value: it.value, timestamp };
            let samples = [sample].into_iter().chain(last).collect();
            timeseries.push(message::TimeSeries { labels, samples, histograms: Vec::new() });
        }
        for it in pushed.times() {
            let histogram = histogram(&Buckets::of(it.histogram), timestamp);
            let (labels, last) = (labels(it.name, it.labels), end.map(stale));
            let histograms = [histogram].into_iter().chain(last).collect();
            timeseries.push(message::TimeSeries { labels, samples: Vec::new(), histograms });
        }
        for labels in gone {
            let samples = vec![message::Sample { value: STALE, timestamp }];
            timeseries.push(message::TimeSeries { labels, samples, histograms: Vec::new() });
        }
        let bytes = message::WriteRequest { timeseries }.encode_to_vec();
        // Fails only above 4 GiB.
        snap::raw::Encoder::new().compress_vec(&bytes).unwrap_or_default()
    }
}

/// The labels with the name of the metric, in the order of names.
fn labels(name: &str, labels: Labels) -> Vec<message::Label> {
    // The name comes first: an underscore sorts before all letters used here.
    let name = ("__name__".to_owned(), name.to_owned());
    // As Prometheus names what it receives by OTLP.
    let run = labels.iter().find(|(name, _)| name == "run").map(|(_, run)| run.clone());
    let job = ("job".to_owned(), "springload".to_owned());
    let instance = ("instance".to_owned(), run.unwrap_or_default());
    let mut all: Labels = [name, job, instance].into_iter().chain(labels).collect();
    all.sort();
    all.into_iter().map(|(name, value)| message::Label { name, value }).collect()
}

/// A native histogram. Its buckets are numbered by their upper bound, so the numbers are one higher
/// than in OTLP.
fn histogram(buckets: &Buckets, timestamp: i64) -> message::Histogram {
    let (mut spans, mut deltas) = (Vec::<message::BucketSpan>::new(), Vec::new());
    // The index after the last bucket, and the last bucket's count.
    let (mut next, mut before) = (None, 0);
    for (&index, &count) in &buckets.counts {
        let index = index + 1;
        let gap = index - next.unwrap_or(0);
        match spans.last_mut() {
            Some(span) if gap == 0 => span.length += 1,
            _ => spans.push(message::BucketSpan { offset: gap, length: 1 }),
        }
        deltas.push(count.cast_signed() - before);
        (next, before) = (Some(index + 1), count.cast_signed());
    }
    message::Histogram {
        count_int: Some(buckets.count),
        sum: buckets.sum_s,
        schema: SCALE,
        zero_threshold: ZERO_S,
        zero_count_int: Some(buckets.zero),
        positive_spans: spans,
        positive_deltas: deltas,
        timestamp,
    }
}

/// The end of a series of histograms, which is marked by its sum.
fn stale(timestamp: i64) -> message::Histogram {
    let some = message::Histogram { sum: STALE, ..histogram(&Buckets::default(), timestamp) };
    message::Histogram { positive_spans: Vec::new(), positive_deltas: Vec::new(), ..some }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Code, RunRecord, Warning, fixture};
    use std::collections::BTreeMap;

    #[test]
    fn spans_and_deltas_tell_the_buckets() {
        let counts = BTreeMap::from([(-3, 2), (-2, 5), (-1, 1), (4, 7), (9, 3)]);
        let buckets = Buckets { count: 20, zero: 2, counts, ..Buckets::default() };
        let it = histogram(&buckets, 1);
        let spans: Vec<_> = it.positive_spans.iter().map(|it| (it.offset, it.length)).collect();
        // Three from bucket -2 on; one after a gap of four; one more after another four.
        assert_eq!(spans, [(-2, 3), (4, 1), (4, 1)]);
        assert_eq!(it.positive_deltas, [2, 3, -4, 6, -4]);
        let read = it.positive_deltas.iter().scan(0, |sum, delta| {
            *sum += delta;
            Some(*sum)
        });
        assert_eq!(read.sum::<i64>() + 2, 20);
    }

    /// A message sent after earlier ones, as its receiver reads it.
    fn sent_by(to: &mut RemoteWrite, record: &RunRecord, over: bool) -> message::WriteRequest {
        let pushed = Pushed { run: "r", record, running: None, at_ns: 7_000_000_000, over };
        let bytes = snap::raw::Decoder::new().decompress_vec(&to.encode(&pushed)).expect("Snappy");
        message::WriteRequest::decode(&*bytes).expect("a message")
    }

    fn sent(record: &RunRecord, over: bool) -> message::WriteRequest {
        sent_by(&mut RemoteWrite::default(), record, over)
    }

    /// The values of a series: whether each is the end, and its time. Not every NaN is the end:
    /// Prometheus recognizes it by its bits.
    fn values(series: &message::TimeSeries) -> Vec<(bool, i64)> {
        let is_end = |value: f64| value.to_bits() == 0x7ff0_0000_0000_0002;
        let samples = series.samples.iter().map(|it| (is_end(it.value), it.timestamp));
        let times = series.histograms.iter().map(|it| (is_end(it.sum), it.timestamp));
        samples.chain(times).collect()
    }

    #[test]
    fn a_series_that_is_no_longer_there_ends_once() {
        let mut to = RemoteWrite::default();
        let mut record = fixture::record(&[]);
        let ended = |request: &message::WriteRequest| {
            let ended = request.timeseries.iter().filter(|it| values(it) == [(true, 7_000)]);
            let labels = ended.flat_map(|it| &it.labels).map(|it| it.value.clone());
            labels.collect::<Vec<_>>()
        };
        let warning = |message: &str| {
            let message = message.to_owned();
            vec![Warning { code: Code::SameMachine, stage: None, message }]
        };
        record.warnings = warning("one");
        assert_eq!(ended(&sent_by(&mut to, &record, false)), [""; 0]);
        record.warnings = warning("another");
        let messages = ended(&sent_by(&mut to, &record, false));
        assert!(messages.contains(&"one".to_owned()) && !messages.contains(&"another".to_owned()));
        assert_eq!(ended(&sent_by(&mut to, &record, false)), [""; 0]);
    }

    #[test]
    fn every_series_ends_with_the_run_and_none_before() {
        let record = fixture::record(&[]);
        for (over, wanted) in
            [(false, &[(false, 7_000)][..]), (true, &[(false, 7_000), (true, 7_001)])]
        {
            let request = sent(&record, over);
            assert!(request.timeseries.iter().any(|it| !it.samples.is_empty()));
            assert!(request.timeseries.iter().any(|it| !it.histograms.is_empty()));
            for series in &request.timeseries {
                assert_eq!(values(series), wanted, "{series:?}");
            }
        }
        let request = sent(&record, true);
        let ends = request.timeseries.iter().filter_map(|it| it.histograms.get(1));
        assert!(ends.map(|it| it.count_int).all(|count| count == Some(0)));
    }

    #[test]
    fn a_request_has_the_counts_of_the_record() {
        let record = fixture::record(&[]);
        let request = sent(&record, false);
        let mut seen = 0;
        for series in &request.timeseries {
            let names: Vec<_> = series.labels.iter().map(|it| &*it.name).collect();
            assert!(names.is_sorted() && names[0] == "__name__", "{names:?}");
            let value = |name: &str| {
                let found = series.labels.iter().find(|it| it.name == name);
                found.map_or("", |it| &*it.value)
            };
            assert_eq!((value("run"), value("job")), ("r", "springload"));
            if value("__name__") != "springload_response_seconds" {
                continue;
            }
            let stage = record.stages.iter().find(|it| it.name == value("stage")).expect("a stage");
            let operation = stage.operations.iter().find(|it| it.kind.name() == value("kind"));
            let times = &operation.expect("a kind").response;
            let [it] = &series.histograms[..] else { panic!("{series:?}") };
            assert_eq!((it.count_int, it.timestamp), (Some(times.samples), 7_000));
            seen += 1;
        }
        assert_eq!(seen, record.stages.iter().map(|it| it.operations.len()).sum::<usize>());
        let quantile = |series: &message::TimeSeries| {
            series.labels.iter().any(|it| it.value.starts_with("springload_response_seconds_"))
        };
        assert!(!request.timeseries.iter().any(quantile), "no summary beside a histogram");
    }
}
