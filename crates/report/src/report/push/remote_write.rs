//! Prometheus' remote write 1.0, with native histograms: a message of Protocol Buffers, compressed
//! with Snappy. <https://prometheus.io/docs/specs/prw/remote_write_spec/>

use super::buckets::{Buckets, SCALE, ZERO_S};
use super::{Labels, Pushed};
use prost::Message;

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

    #[derive(Clone, PartialEq, Eq, prost::Message)]
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
        /// One of two kinds of counts, which therefore is sent if it is zero, too.
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

/// The body of a request.
pub fn encode(pushed: &Pushed<'_>) -> Vec<u8> {
    let timestamp = (pushed.at_ns / 1_000_000).cast_signed();
    let samples = pushed.samples().into_iter().map(|it| message::TimeSeries {
        labels: labels(&it.name, it.labels),
        samples: vec![message::Sample { value: it.value, timestamp }],
        histograms: Vec::new(),
    });
    let times = pushed.times().into_iter().map(|it| message::TimeSeries {
        labels: labels(it.name, it.labels),
        samples: Vec::new(),
        histograms: vec![histogram(&Buckets::of(it.histogram), timestamp)],
    });
    let request = message::WriteRequest { timeseries: samples.chain(times).collect() };
    let bytes = request.encode_to_vec();
    // Fails for more than 4 GiB only.
    snap::raw::Encoder::new().compress_vec(&bytes).unwrap_or_default()
}

/// The labels with the name of the metric, in the order of names.
fn labels(name: &str, labels: Labels) -> Vec<message::Label> {
    // The name comes first: an underscore comes before all letters that are used here.
    let name = ("__name__".to_owned(), name.to_owned());
    // As Prometheus names what it gets by OTLP.
    let run = labels.iter().find(|(name, _)| name == "run").map(|(_, run)| run.clone());
    let job = ("job".to_owned(), "springload".to_owned());
    let instance = ("instance".to_owned(), run.unwrap_or_default());
    let mut all: Labels = [name, job, instance].into_iter().chain(labels).collect();
    all.sort();
    all.into_iter().map(|(name, value)| message::Label { name, value }).collect()
}

/// A native histogram. Buckets are numbered by their upper bound there, so that they have a number
/// more than in OTLP.
fn histogram(buckets: &Buckets, timestamp: i64) -> message::Histogram {
    let (mut spans, mut deltas) = (Vec::<message::BucketSpan>::new(), Vec::new());
    // The bucket after the last one, and the count of that.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fixture;
    use std::collections::BTreeMap;

    #[test]
    fn spans_and_deltas_tell_the_buckets() {
        let counts = BTreeMap::from([(-3, 2), (-2, 5), (-1, 1), (4, 7), (9, 3)]);
        let buckets = Buckets { count: 20, zero: 2, counts, ..Buckets::default() };
        let it = histogram(&buckets, 1);
        let spans: Vec<_> = it.positive_spans.iter().map(|it| (it.offset, it.length)).collect();
        // From bucket -2 three; four are left out after 0; four more after 5.
        assert_eq!(spans, [(-2, 3), (4, 1), (4, 1)]);
        assert_eq!(it.positive_deltas, [2, 3, -4, 6, -4]);
        let read = it.positive_deltas.iter().scan(0, |sum, delta| {
            *sum += delta;
            Some(*sum)
        });
        assert_eq!(read.sum::<i64>() + 2, 20);
    }

    #[test]
    fn a_request_has_the_counts_of_the_record() {
        let record = fixture::record(&[]);
        let pushed = Pushed { run: "r", record: &record, running: None, at_ns: 7_000_000_000 };
        let bytes = snap::raw::Decoder::new().decompress_vec(&encode(&pushed)).expect("Snappy");
        let request = message::WriteRequest::decode(&*bytes).expect("a message");
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
