//! Expositions against a strict reading of their grammar.

use super::*;
use crate::measure::Unreachable;
use crate::op::Failure;
use crate::record::fixture;
use std::collections::{BTreeMap, BTreeSet};

/// A sample: its name with its labels, and its value.
type Samples = BTreeMap<String, f64>;

/// Parses an exposition: names, types, units, one block per family, no duplicate samples.
fn parse(text: &str, dialect: Exposition) -> Samples {
    let (mut samples, mut seen) = (Samples::new(), BTreeSet::new());
    let (mut family, mut kind) = (String::new(), String::new());
    let open = dialect == Exposition::OpenMetrics;
    let body = if open { text.strip_suffix("# EOF\n").expect("an end") } else { text };
    assert!(body.ends_with('\n') && !body.contains("# EOF") && !body.contains("\n\n"));
    for line in body.lines() {
        if let Some(rest) = line.strip_prefix("# ") {
            let words: Vec<&str> = rest.splitn(3, ' ').collect();
            assert_eq!(words.len(), 3, "{line}");
            match words[0] {
                "TYPE" => {
                    (family, kind) = (words[1].to_owned(), words[2].to_owned());
                    assert!(seen.insert(family.clone()), "{family} comes twice");
                    assert!(["counter", "gauge", "summary", "info"].contains(&words[2]), "{line}");
                    assert!(!open || !family.ends_with("_total"), "{line}");
                }
                "UNIT" => {
                    assert!(open && words[1] == family && family.ends_with(words[2]), "{line}");
                }
                "HELP" => assert!(words[1] == family && words[2].ends_with('.'), "{line}"),
                other => panic!("{other} in {line}"),
            }
            continue;
        }
        let (key, value) = line.rsplit_once(' ').expect("a value");
        let name = key.split('{').next().unwrap();
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{name}");
        let suffix = name.strip_prefix(&family).unwrap_or_else(|| panic!("{name} in {family}"));
        let legal: &[&str] = match (kind.as_str(), open) {
            ("counter", true) => &["_total"],
            ("info", true) => &["_info"],
            ("summary", _) => &["", "_sum", "_count"],
            _ => &[""],
        };
        assert!(legal.contains(&suffix), "{line}");
        labels(key.strip_prefix(name).unwrap());
        let value: f64 = value.parse().expect("a number");
        assert!(value.is_finite() && value >= 0.0, "{line}");
        assert!(samples.insert(key.to_owned(), value).is_none(), "{key} comes twice");
    }
    samples
}

/// Checks `{name="value",…}`; values escape quotes, backslashes and line feeds.
fn labels(text: &str) {
    let Some(mut rest) = text.strip_prefix('{') else { return assert!(text.is_empty(), "{text}") };
    loop {
        let (name, after) = rest.split_once("=\"").expect("a label");
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{name}");
        let (mut end, bytes) = (0, after.as_bytes());
        while bytes[end] != b'"' {
            assert!(bytes[end] != b'\\' || b"\\\"n".contains(&bytes[end + 1]), "{after}");
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        match &after[end + 1..] {
            "}" => return,
            more => rest = more.strip_prefix(',').expect("a comma"),
        }
    }
}

#[test]
fn a_finished_run_in_both_dialects() {
    let mut record = fixture::record(&["read.max > 1ms", "read.err > 5%", "update.p99 > 1s"]);
    record.server.database = "a \"b\"\\c\nd".to_owned();
    let open = parse(&expose(&record, None, Exposition::OpenMetrics), Exposition::OpenMetrics);
    let plain = parse(&expose(&record, None, Exposition::Prometheus), Exposition::Prometheus);
    assert_eq!(open, plain);
    let is = |key: &str, value: f64| {
        let found = open.get(key).unwrap_or_else(|| panic!("no {key} in {open:#?}"));
        assert!((found - value).abs() <= value * 2e-3, "{key} is {found}");
    };
    is(
        "springload_operations_total{stage=\"bulk_insert\",kind=\"bulk_insert\",result=\"ok\"}",
        2e3,
    );
    is("springload_operations_total{stage=\"crud\",kind=\"update\",result=\"conflict\"}", 5.0);
    is("springload_operations_total{stage=\"crud\",kind=\"update\",result=\"unfinished\"}", 0.0);
    is("springload_requests_total{stage=\"crud\",kind=\"read\"}", 3_000.0);
    is("springload_response_seconds{stage=\"crud\",kind=\"read\",quantile=\"0.5\"}", 742.5e-6);
    is("springload_response_seconds_count{stage=\"crud\",kind=\"read\"}", 2_970.0);
    is("springload_response_seconds_sum{stage=\"crud\",kind=\"read\"}", 2.441_935);
    is("springload_service_max_seconds{stage=\"crud\",kind=\"read\"}", 985e-6);
    is("springload_failed_response_seconds_count{stage=\"crud\",kind=\"read\"}", 30.0);
    is("springload_failed_response_max_seconds{stage=\"crud\",kind=\"read\"}", 2e-3);
    let of_bulk = "springload_failed_response_seconds_count{stage=\"bulk_insert\"";
    assert!(!open.keys().any(|key| key.starts_with(of_bulk)), "none failed");
    is("springload_dropped_requests_total{stage=\"crud\"}", 100.0);
    is("springload_client_busy_ratio{stage=\"crud\"}", 0.2);
    is("springload_threshold_broken{threshold=\"read.max > 1ms\"}", 1.0);
    is("springload_threshold_value{threshold=\"read.err > 5%\"}", 0.01);
    assert!(!open.contains_key("springload_threshold_value{threshold=\"update.p99 > 1s\"}"));
    let unearned = "{stage=\"crud\",kind=\"update\",quantile=\"0.99\"}";
    assert!(!open.keys().any(|key| key.ends_with(unearned)), "100 samples earn no p99");
}

#[test]
fn a_running_stage_tells_only_what_is_known() {
    let mut record = fixture::record(&[]);
    let crud = record.stages.pop().expect("a stage");
    let fleet = fixture::fleet(2);
    record.agents.clone_from(&fleet.agents);
    let running = Running {
        name: "crud".to_owned(),
        elapsed_s: 1.0,
        offered: Some(40),
        operations: crud.operations,
        agents: fleet.stages[2].agents.clone(),
    };
    let text = expose(&record, Some(&running), Exposition::Prometheus);
    let samples = parse(&text, Exposition::Prometheus);
    let whole = |key: &str| samples[key] as u64;
    assert_eq!(whole("springload_offered_requests_total{stage=\"crud\"}"), 40);
    assert_eq!(whole("springload_requests_total{stage=\"crud\",kind=\"read\"}"), 3_000);
    assert_eq!(
        whole("springload_agent_requests_total{stage=\"crud\",agent=\"1\",host=\"load-0\"}"),
        1_010
    );
    assert_eq!(whole("springload_agent_response_seconds_count{stage=\"crud\",agent=\"1\"}"), 1_000);
    for absent in ["result=\"unfinished\"", "springload_client", "springload_trustworthy"] {
        let found = samples.keys().find(|key| key.contains(absent) && key.contains("\"crud\""));
        assert_eq!(found, None, "{absent}");
    }
}

#[test]
fn each_node_has_its_counts_and_times() {
    let mut record = fixture::record(&[]);
    let crud = record.stages.last_mut().expect("a stage");
    let (kind, response) = (crud.operations[0].kind, crud.operations[0].response.clone());
    let gone = [(1.0, Some(3.5)), (crud.elapsed_s - 0.5, None)].map(|(from_s, to_s)| Unreachable {
        from_s,
        to_s,
        moved: 2,
        returned: 2,
    });
    crud.nodes = vec![NodeSummary {
        url: "http://a:5984".to_owned(),
        connections: 2,
        requests: 10,
        ok: 8,
        accepted: 1,
        failures: BTreeMap::from([(Failure::Timeout, 2)]),
        throughput_per_s: 1.0,
        away_s: 0.0,
        unreachable: gone.to_vec(),
        silences: Vec::new(),
        service: Latency::default(),
        response,
    }];
    let samples = parse(&expose(&record, None, Exposition::OpenMetrics), Exposition::OpenMetrics);
    let of = |name: &str, more: &str| {
        samples[&format!("springload_node_{name}{{stage=\"crud\",node=\"http://a:5984\"{more}}}")]
    };
    let counts = [
        of("operations_total", ",result=\"ok\""),
        of("operations_total", ",result=\"timeout\""),
        of("requests_total", ""),
        of("accepted_total", ""),
        of("gone_seconds", ""),
    ];
    for (found, wanted) in counts.into_iter().zip([8.0, 2.0, 10.0, 1.0, 3.0]) {
        assert!((found - wanted).abs() < 1e-9, "{counts:?}");
    }
    // Its times are those of the kind they were taken from.
    for (name, more) in [("response_seconds", ",quantile=\"0.5\""), ("response_seconds_sum", "")] {
        let all = format!("springload_{name}{{stage=\"crud\",kind=\"{kind}\"{more}}}");
        assert_eq!(of(name, more).to_bits(), samples[&all].to_bits());
    }
}
