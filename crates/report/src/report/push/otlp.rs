//! OpenTelemetry's protocol, with exponential histograms: a message of Protocol Buffers.
//! <https://opentelemetry.io/docs/specs/otlp/>

use super::buckets::{Buckets, SCALE, ZERO_S};
use super::{Labels, Pushed};
use message::{Attribute, Data, Metric, NumberPoints};
use prost::Message;
use std::time::UNIX_EPOCH;

/// The messages, with the numbers of their fields in `collector/metrics/v1/metrics_service.proto`,
/// `metrics/v1/metrics.proto`, `common/v1/common.proto` and `resource/v1/resource.proto` of
/// <https://github.com/open-telemetry/opentelemetry-proto>, as far as they are used here.
mod message {
    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Request {
        #[prost(message, repeated, tag = "1")]
        pub(super) resource_metrics: Vec<ResourceMetrics>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct ResourceMetrics {
        #[prost(message, optional, tag = "1")]
        pub(super) resource: Option<Resource>,
        #[prost(message, repeated, tag = "2")]
        pub(super) scope_metrics: Vec<ScopeMetrics>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Resource {
        #[prost(message, repeated, tag = "1")]
        pub(super) attributes: Vec<Attribute>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct ScopeMetrics {
        #[prost(message, optional, tag = "1")]
        pub(super) scope: Option<Scope>,
        #[prost(message, repeated, tag = "2")]
        pub(super) metrics: Vec<Metric>,
    }

    #[derive(Clone, PartialEq, Eq, prost::Message)]
    pub(super) struct Scope {
        #[prost(string, tag = "1")]
        pub(super) name: String,
        #[prost(string, tag = "2")]
        pub(super) version: String,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Metric {
        #[prost(string, tag = "1")]
        pub(super) name: String,
        #[prost(string, tag = "2")]
        pub(super) description: String,
        #[prost(string, tag = "3")]
        pub(super) unit: String,
        #[prost(oneof = "Data", tags = "5, 7, 10")]
        pub(super) data: Option<Data>,
    }

    #[derive(Clone, PartialEq, prost::Oneof)]
    pub(super) enum Data {
        #[prost(message, tag = "5")]
        Gauge(NumberPoints),
        #[prost(message, tag = "7")]
        Sum(NumberPoints),
        #[prost(message, tag = "10")]
        Histogram(Histograms),
    }

    /// A gauge, which leaves out the other fields, or a sum.
    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct NumberPoints {
        #[prost(message, repeated, tag = "1")]
        pub(super) all: Vec<NumberPoint>,
        #[prost(int32, tag = "2")]
        pub(super) temporality: i32,
        #[prost(bool, tag = "3")]
        pub(super) is_monotonic: bool,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct NumberPoint {
        #[prost(fixed64, tag = "2")]
        pub(super) start_ns: u64,
        #[prost(fixed64, tag = "3")]
        pub(super) at_ns: u64,
        /// One of two kinds of numbers: it must be sent even if it is zero.
        #[prost(double, optional, tag = "4")]
        pub(super) value: Option<f64>,
        #[prost(message, repeated, tag = "7")]
        pub(super) attributes: Vec<Attribute>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Histograms {
        #[prost(message, repeated, tag = "1")]
        pub(super) data_points: Vec<HistogramPoint>,
        #[prost(int32, tag = "2")]
        pub(super) temporality: i32,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct HistogramPoint {
        #[prost(message, repeated, tag = "1")]
        pub(super) attributes: Vec<Attribute>,
        #[prost(fixed64, tag = "2")]
        pub(super) start_ns: u64,
        #[prost(fixed64, tag = "3")]
        pub(super) at_ns: u64,
        #[prost(fixed64, tag = "4")]
        pub(super) count: u64,
        #[prost(double, optional, tag = "5")]
        pub(super) sum: Option<f64>,
        #[prost(sint32, tag = "6")]
        pub(super) scale: i32,
        #[prost(fixed64, tag = "7")]
        pub(super) zero_count: u64,
        #[prost(message, optional, tag = "8")]
        pub(super) positive: Option<Side>,
        #[prost(double, optional, tag = "12")]
        pub(super) min: Option<f64>,
        #[prost(double, optional, tag = "13")]
        pub(super) max: Option<f64>,
        #[prost(double, tag = "14")]
        pub(super) zero_threshold: f64,
    }

    #[derive(Clone, PartialEq, Eq, prost::Message)]
    pub(super) struct Side {
        #[prost(sint32, tag = "1")]
        pub(super) offset: i32,
        #[prost(uint64, repeated, tag = "2")]
        pub(super) counts: Vec<u64>,
    }

    #[derive(Clone, PartialEq, Eq, prost::Message)]
    pub(super) struct Attribute {
        #[prost(string, tag = "1")]
        pub(super) key: String,
        #[prost(message, optional, tag = "2")]
        pub(super) value: Option<TextValue>,
    }

    #[derive(Clone, PartialEq, Eq, prost::Message)]
    pub(super) struct TextValue {
        #[prost(string, optional, tag = "1")]
        pub(super) text: Option<String>,
    }

    #[derive(Clone, PartialEq, Eq, prost::Message)]
    pub(super) struct Response {
        #[prost(message, optional, tag = "1")]
        pub(super) partial: Option<Partial>,
    }

    #[derive(Clone, PartialEq, Eq, prost::Message)]
    pub(super) struct Partial {
        #[prost(int64, tag = "1")]
        pub(super) rejected: i64,
        #[prost(string, tag = "2")]
        pub(super) message: String,
    }
}

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`: each message covers everything since the start.
const CUMULATIVE: i32 = 2;

/// The body of a request.
pub fn encode(pushed: &Pushed<'_>) -> Vec<u8> {
    let began = pushed.record.began().duration_since(UNIX_EPOCH);
    let start_ns = began.map_or(0, |since| since.as_nanos() as u64);
    let version = &pushed.record.environment.springload;
    let resource = [
        ("service.name", "springload"),
        ("service.version", version),
        ("service.instance.id", pushed.run),
    ];
    let resource = resource.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let metrics = [numbers(pushed, start_ns), times(pushed, start_ns)].concat();
    let scope = message::Scope { name: "springload".to_owned(), version: version.clone() };
    let request = message::Request {
        resource_metrics: vec![message::ResourceMetrics {
            resource: Some(message::Resource { attributes: attributes(resource.into()) }),
            scope_metrics: vec![message::ScopeMetrics { scope: Some(scope), metrics }],
        }],
    };
    request.encode_to_vec()
}

/// What a response of status 200 says was rejected of a request: the number of points, and the
/// reason.
pub fn rejected(body: &[u8]) -> Option<(i64, String)> {
    let partial = message::Response::decode(body).ok()?.partial?;
    (partial.rejected > 0).then_some((partial.rejected, partial.message))
}

fn numbers(pushed: &Pushed<'_>, start_ns: u64) -> Vec<Metric> {
    let mut metrics: Vec<Metric> = Vec::new();
    for it in pushed.samples() {
        // In OTLP, the type makes a sum a sum, not the name.
        let name = it.name.strip_suffix("_total").filter(|_| it.counts).unwrap_or(&it.name);
        let point = message::NumberPoint {
            start_ns: if it.counts { start_ns } else { 0 },
            at_ns: pushed.at_ns,
            value: Some(it.value),
            attributes: attributes(it.labels),
        };
        match metrics.last_mut() {
            Some(Metric {
                name: last,
                data: Some(Data::Gauge(points) | Data::Sum(points)),
                ..
            }) if last == name => {
                points.all.push(point);
            }
            _ => {
                let temporality = if it.counts { CUMULATIVE } else { 0 };
                let all = NumberPoints { all: vec![point], temporality, is_monotonic: it.counts };
                metrics.push(Metric {
                    name: name.to_owned(),
                    unit: unit(name).to_owned(),
                    description: String::new(),
                    data: Some(if it.counts { Data::Sum(all) } else { Data::Gauge(all) }),
                });
            }
        }
    }
    metrics
}

/// The unit at the end of a name, in UCUM's notation.
fn unit(name: &str) -> &'static str {
    match name.rsplit('_').next() {
        Some("seconds") => "s",
        Some("bytes") => "By",
        _ => "",
    }
}

fn times(pushed: &Pushed<'_>, start_ns: u64) -> Vec<Metric> {
    let mut metrics: Vec<Metric> = Vec::new();
    let mut all = pushed.times();
    all.sort_by_key(|it| it.name);
    for it in all {
        let point = histogram(&Buckets::of(it.histogram), attributes(it.labels));
        let point = message::HistogramPoint { start_ns, at_ns: pushed.at_ns, ..point };
        match metrics.last_mut() {
            Some(Metric { name, data: Some(Data::Histogram(all)), .. }) if name == it.name => {
                all.data_points.push(point);
            }
            _ => metrics.push(Metric {
                name: it.name.to_owned(),
                description: it.help.to_owned(),
                unit: "s".to_owned(),
                data: Some(Data::Histogram(message::Histograms {
                    data_points: vec![point],
                    temporality: CUMULATIVE,
                })),
            }),
        }
    }
    metrics
}

fn histogram(buckets: &Buckets, attributes: Vec<Attribute>) -> message::HistogramPoint {
    let some = buckets.count > 0;
    let ends = buckets.counts.keys().next().zip(buckets.counts.keys().next_back());
    let positive = ends.map(|(&first, &last)| message::Side {
        offset: first,
        counts: (first..=last).map(|it| buckets.counts.get(&it).copied().unwrap_or(0)).collect(),
    });
    message::HistogramPoint {
        attributes,
        count: buckets.count,
        sum: Some(buckets.sum_s),
        scale: SCALE,
        zero_count: buckets.zero,
        positive,
        min: some.then_some(buckets.min_s),
        max: some.then_some(buckets.max_s),
        zero_threshold: ZERO_S,
        ..message::HistogramPoint::default()
    }
}

fn attributes(labels: Labels) -> Vec<Attribute> {
    let attribute =
        |(key, value)| Attribute { key, value: Some(message::TextValue { text: Some(value) }) };
    labels.into_iter().map(attribute).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fixture;

    #[test]
    fn a_request_has_the_counts_of_the_record() {
        let record = fixture::record(&[]);
        let at_ns = 7_000_000_000;
        let pushed = Pushed { run: "r", record: &record, running: None, at_ns, over: false };
        let request = message::Request::decode(&*encode(&pushed)).expect("a message");
        let metrics = &request.resource_metrics[0].scope_metrics[0].metrics;
        let data =
            |name: &str| metrics.iter().find(|it| it.name == name).and_then(|it| it.data.clone());
        let Some(Data::Histogram(times)) = data("springload_response_seconds") else {
            panic!("no histogram")
        };
        let samples =
            record.stages.iter().flat_map(|it| &it.operations).map(|it| it.response.samples);
        assert_eq!(times.data_points.iter().map(|it| it.count).sum::<u64>(), samples.sum::<u64>());
        for point in &times.data_points {
            let inside = point.positive.iter().flat_map(|it| &it.counts).sum::<u64>();
            assert_eq!(inside + point.zero_count, point.count);
            assert!(point.start_ns > 0 && point.at_ns == 7_000_000_000);
        }
        let Some(Data::Sum(requests)) = data("springload_requests") else { panic!("no sum") };
        assert!(requests.is_monotonic && requests.temporality == CUMULATIVE);
        let sum: f64 = requests.all.iter().filter_map(|it| it.value).sum();
        let all = record.stages.iter().flat_map(|it| &it.operations).map(|it| it.requests);
        assert!((sum - all.sum::<u64>() as f64).abs() < 0.5, "{sum}");
        assert_eq!(metrics.iter().filter(|it| it.name == "springload_requests").count(), 1);
    }

    #[test]
    fn what_an_answer_rejects_is_read() {
        let answer = |rejected| message::Response {
            partial: Some(message::Partial { rejected, message: "too old".to_owned() }),
        };
        assert_eq!(rejected(&answer(3).encode_to_vec()), Some((3, "too old".to_owned())));
        assert_eq!(rejected(&answer(0).encode_to_vec()), None);
        assert_eq!(rejected(b""), None);
        assert_eq!(rejected(b"<html>"), None);
    }
}
