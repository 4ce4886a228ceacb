//! Texts in the formats of real exporters, and arbitrary texts.

use super::*;
use proptest::prelude::*;

fn kinds(text: &str) -> Vec<(String, f64, Kind)> {
    let read = Exposition::read(text);
    assert_eq!(read.unread, None, "{text}");
    let one = |it: ExportedSample<'_>| (format!("{}{}", it.name, it.labels), it.value, it.kind);
    read.samples.into_iter().map(one).collect()
}

fn expect(text: &str, wanted: &[(&str, f64, Kind)]) {
    let wanted: Vec<_> =
        wanted.iter().map(|(name, value, kind)| ((*name).to_owned(), *value, *kind)).collect();
    assert_eq!(kinds(text), wanted);
}

#[test]
fn node_exporter_is_read() {
    expect(
        "# HELP node_cpu_seconds_total Seconds the CPUs spent in each mode.\n\
         # TYPE node_cpu_seconds_total counter\n\
         node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 55318.37\n\
         # HELP node_load1 1m load average.\n# TYPE node_load1 gauge\nnode_load1 0.27\n\
         # TYPE node_memory_MemFree_bytes gauge\nnode_memory_MemFree_bytes 3.5409e+09\n\
         # TYPE node_uname_info gauge\nnode_uname_info{sysname=\"Linux\"} 1\n\
         # TYPE go_gc_duration_seconds summary\n\
         go_gc_duration_seconds{quantile=\"0.5\"} 3.1e-05\n\
         go_gc_duration_seconds{quantile=\"1\"} NaN\n\
         go_gc_duration_seconds_sum 0.01\ngo_gc_duration_seconds_count 12\n",
        &[
            ("node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"}", 55_318.37, Kind::Count),
            ("node_load1", 0.27, Kind::Gauge),
            ("node_memory_MemFree_bytes", 3.540_9e9, Kind::Gauge),
            ("node_uname_info{sysname=\"Linux\"}", 1.0, Kind::Constant),
            ("go_gc_duration_seconds{quantile=\"0.5\"}", 3.1e-5, Kind::Quantile),
            ("go_gc_duration_seconds_sum", 0.01, Kind::Count),
            ("go_gc_duration_seconds_count", 12.0, Kind::Count),
        ],
    );
}

#[test]
fn jmx_exporter_is_read() {
    expect(
        "# HELP jvm_gc_collection_seconds Time spent in a given JVM garbage collector.\n\
         # TYPE jvm_gc_collection_seconds summary\n\
         jvm_gc_collection_seconds_count{gc=\"G1 Young Generation\",} 8.0\n\
         # TYPE java_lang_Memory_HeapMemoryUsage_used untyped\n\
         java_lang_Memory_HeapMemoryUsage_used 1.3E8 1395066363000\n\
         # TYPE cassandra_clientrequest_latency_total untyped\n\
         cassandra_clientrequest_latency_total{path = \"C:\\\\a \\\"b\\\"\\n\" , x=\"}\"} 2\r\n\
         no_type_count 3\nno_type_total 4\n",
        &[
            ("jvm_gc_collection_seconds_count{gc=\"G1 Young Generation\"}", 8.0, Kind::Count),
            ("java_lang_Memory_HeapMemoryUsage_used", 1.3e8, Kind::Gauge),
            (
                "cassandra_clientrequest_latency_total{path=\"C:\\\\a \\\"b\\\"\\n\",x=\"}\"}",
                2.0,
                Kind::Count,
            ),
            ("no_type_count", 3.0, Kind::Gauge),
            ("no_type_total", 4.0, Kind::Count),
        ],
    );
}

#[test]
fn couchdb_is_read_though_a_carriage_return_separates_help_and_type() {
    expect(
        "\n# HELP couchdb_open_databases number of open databases\r\
         # TYPE couchdb_open_databases counter\ncouchdb_open_databases 24\n\n\
         # HELP couchdb_request_time_seconds length of a request\r\
         # TYPE couchdb_request_time_seconds summary\n\
         couchdb_request_time_seconds{quantile=\"0.5\"} 0.002\n\
         couchdb_request_time_seconds_sum 1.5\ncouchdb_request_time_seconds_count 700\n\
         # TYPE couchdb_erlang_memory_bytes gauge\n\
         couchdb_erlang_memory_bytes{memory_type=\"total\"} 46000000\n",
        &[
            ("couchdb_open_databases", 24.0, Kind::Count),
            ("couchdb_request_time_seconds{quantile=\"0.5\"}", 0.002, Kind::Quantile),
            ("couchdb_request_time_seconds_sum", 1.5, Kind::Count),
            ("couchdb_request_time_seconds_count", 700.0, Kind::Count),
            ("couchdb_erlang_memory_bytes{memory_type=\"total\"}", 46_000_000.0, Kind::Gauge),
        ],
    );
}

#[test]
fn openmetrics_is_read() {
    expect(
        "# TYPE http_requests counter\n# UNIT http_requests requests\n\
         http_requests_total{code=\"200\"} 17 1520879607.789 # {trace=\"a # b\"} 0.67 1.5\n\
         http_requests_created{code=\"200\"} 1.5e9\n\
         # TYPE took_seconds histogram\ntook_seconds_bucket{le=\"0.1\"} 8 # {} 0.05\n\
         took_seconds_bucket{le=\"+Inf\"} 9\ntook_seconds_count 9\ntook_seconds_sum 3.5\n\
         # TYPE build info\nbuild_info{version=\"1\"} 1\n\
         # TYPE waiting gaugehistogram\nwaiting_bucket{le=\"1\"} 2\nwaiting_gcount 2\n\
         broken +Inf\nbroken -Inf\n# EOF\n",
        &[
            ("http_requests_total{code=\"200\"}", 17.0, Kind::Count),
            ("http_requests_created{code=\"200\"}", 1.5e9, Kind::Constant),
            ("took_seconds_bucket{le=\"0.1\"}", 8.0, Kind::Bucket),
            ("took_seconds_bucket{le=\"+Inf\"}", 9.0, Kind::Bucket),
            ("took_seconds_count", 9.0, Kind::Count),
            ("took_seconds_sum", 3.5, Kind::Count),
            ("build_info{version=\"1\"}", 1.0, Kind::Constant),
            ("waiting_bucket{le=\"1\"}", 2.0, Kind::Bucket),
            ("waiting_gcount", 2.0, Kind::Gauge),
        ],
    );
}

#[test]
fn what_is_no_sample_is_counted_and_what_follows_is_read() {
    let wrong = [
        "<html>",
        "a",
        "a b",
        "1a 2",
        "a{b} 1",
        "a{b=\"c} 1",
        "a{b=\"c\" d=\"e\"} 1",
        "a{,} 1",
        "a{b=\"c\"}",
        "a 1 x",
        "a 1 2 3",
        "{\"a\": 1}",
        "ä 1",
        "a{b=\"c\"",
        "a{",
    ];
    for line in wrong {
        let text = format!("{line}\nafter 1");
        let read = Exposition::read(&text);
        assert_eq!(read.unread, Some((1, line)));
        assert_eq!(read.samples.len(), 1, "{line}");
    }
}

proptest! {
    #[test]
    fn nothing_that_is_read_panics(text in any::<String>(), lines in prop::collection::vec(
        "[ab_:{}\"\\\\=,# \t\r0-9.e+é-]{0,40}|# TYPE a (counter|summary|histogram)", 0..8,
    )) {
        for text in [text, lines.join("\n")] {
            for sample in Exposition::read(&text).samples {
                prop_assert!(sample.value.is_finite() && !sample.name.is_empty());
            }
        }
    }
}
