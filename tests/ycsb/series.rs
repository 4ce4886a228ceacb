//! Time series compared with YCSB's.
//!
//! `series.txt` has the operations that `BasicTSDB` of YCSB's head (2026-04) received, on Java 17:
//! phase and threads, properties, lines. Random values are replaced by `*`, whole ones lack their
//! `E`; the fields of queries are sorted, and so are the lines.

use springload::driver::basic::BasicPen;
use springload::op::Pen as _;
use springload::properties::Properties;
use springload::workload::Workload;
use springload::workload::ycsb::series::{Asker, Series, SeriesConfig};
use std::collections::BTreeSet;
use std::sync::Arc;

const SERIES: &str = include_str!("series.txt");

/// The operations that all connections of a workload send together.
fn ours(phase: &str, threads: u64, properties: &Properties) -> Vec<String> {
    let asker = Asker { threads, now_ms: 0, queries: phase == "run" };
    let (core, config) = SeriesConfig::read(properties, asker).expect("they make sense");
    let series = Arc::new(Series::new(&core, &config, 3));
    let mut lines = Vec::new();
    for k in 0..threads {
        let share = |all: u64| all / threads + u64::from(k < all % threads);
        let mut lane = if phase == "load" {
            series.load(k, threads, share(core.insert_count), 1)
        } else {
            series.run(k, threads, Some(share(core.operations)))
        };
        let mut pen = BasicPen::showing();
        while lane.next(&mut pen).op().is_some() {
            lines.push(String::from_utf8(pen.shown().to_vec()).expect("text"));
            pen.clear();
        }
    }
    lines
}

/// A line with random values starred and the fields of queries sorted.
fn normal(line: &str, integrity: bool) -> String {
    let (head, fields) = line.split_once(" [ ").expect("fields");
    let mut fields: Vec<String> =
        fields.trim_end_matches(']').split_whitespace().map(str::to_owned).collect();
    if line.starts_with("INSERT") {
        let value = fields.last_mut().expect("a value");
        if !integrity {
            "YCSBV=*".clone_into(value);
        }
    } else {
        fields.sort();
    }
    format!("{head} [ {} ]", fields.join(" "))
}

#[test]
fn series_points_and_queries_are_those_of_ycsb() {
    for case in SERIES.split("# ").skip(1) {
        let (head, rest) = case.split_once('\n').expect("a first line");
        let (phase, threads) = head.split_once(' ').expect("phase and threads");
        let mut properties = Properties::default();
        let (said, theirs): (Vec<&str>, Vec<&str>) =
            rest.lines().partition(|line| line.starts_with("+ "));
        for pair in said.iter().flat_map(|line| line[2..].split(' ')) {
            let (name, value) = pair.split_once('=').expect("a value");
            properties.set(name, value);
        }
        let integrity = properties.get("dataintegrity").is_some();
        let lines = ours(phase, threads.parse().expect("a number"), &properties);
        let mut lines: Vec<String> = lines.iter().map(|line| normal(line, integrity)).collect();
        if phase == "run" {
            // There are so many queries that both sides made every possible one.
            lines = BTreeSet::from_iter(lines).into_iter().collect();
        }
        lines.sort();
        assert_eq!(lines, theirs, "{said:?}");
    }
}

#[test]
fn what_a_connection_asks_follows_from_the_seed() {
    let text = "recordcount=100\noperationcount=200\nreadproportion=1\nscanproportion=1\n\
                updateproportion=1\ninsertproportion=1\ndeleteproportion=1\nsparsity=0.5\n\
                randomwritetimestamporder=true\nfieldcount=4\ntagcardinality=2,3\ntagcount=2\n\
                valuetype=mixednumbers\ninsertstart=5000";
    let properties = Properties::parse(text.as_bytes()).expect("properties");
    let lines = ours("run", 2, &properties);
    assert_eq!(lines.len(), 200);
    assert_eq!(lines, ours("run", 2, &properties));
}
