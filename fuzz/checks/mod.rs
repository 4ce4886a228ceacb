//! The checks that fuzz targets and their short pass in the tests apply to any input: reading it
//! ends, does not panic or exhaust memory, and the result can be displayed.

use springload::cli::read;
use springload::driver::cassandra::of_bytes as rows_of;
use springload::driver::couchdb::feed::Lines;
use springload::driver::redis::answer::{Scan, Value};
use springload::fleet::{FRAME_MAX, Guard, Weight};
use springload::observed::series::{Choice, Glob, MOST_SERIES};
use springload::plan::{
    self, HttpFlags, HttpLoad, HttpPlan, HttpSpec, MeasurementPlan, TlsOptions, UrlSource,
    check_http,
};
use springload::properties::Properties;
use springload::workload::UrlOrder;
use springload::workload::ycsb::CoreConfig;
use std::ffi::OsString;

/// Checks that no report contains terminal control sequences.
fn plain(what: &str, bytes: &[u8]) {
    assert!(!bytes.contains(&0x1b), "{what} has an escape character");
}

/// A `run.json`: rendered in every format except images, and unchanged when it is read again.
pub fn run_json(text: &str) {
    let Ok(record) = springload::read_record(text) else { return };
    for format in springload::formats().filter(|&format| format != "png") {
        if let Ok(report) = springload::render(format, std::slice::from_ref(&record)) {
            plain(format, &report);
        }
    }
}

/// A `sweep.json`: rendered in every format.
pub fn sweep_json(text: &str) {
    for report in read::sweep(text) {
        plain("a sweep", &report);
    }
}

/// A `max.json`: rendered in every format, and turned into a number of nodes.
pub fn max_json(text: &str) {
    for report in read::max(text) {
        plain("a search", &report);
    }
}

/// A line in shell syntax: quoting its words and reading them again gives the same words.
pub fn words(text: &str) {
    let Ok(all) = plan::words(text) else { return };
    assert_eq!(plan::words(&plan::command_line(&all)).as_ref(), Ok(&all));
    plan::flags(text);
}

/// A file of URLs. Lines that name other files are skipped, because those would be read.
pub fn url_file(text: &str) {
    let file = std::env::temp_dir().join(format!("springload-urls-{}", std::process::id()));
    if text.contains('<') || std::fs::write(&file, text).is_err() {
        return;
    }
    let spec = HttpSpec {
        command: String::new(),
        urls: vec![UrlSource::File { flag: "--file", path: file.clone() }],
        flags: HttpFlags::NATIVE,
        log_in: Vec::new(),
        user: None,
        settings: HttpPlan::default(),
        method: None,
        body: None,
        content_type: None,
        data: vec!["user=ann,bob".to_owned()],
        literal: false,
        order: UrlOrder::Sequential,
        tls: TlsOptions::default(),
        users: 1,
        threads: Some(1),
        seed: 1,
        timeout_ns: 1_000_000_000,
        give_up_ns: None,
        max_answer: 1_000_000,
        once: false,
        operations: Some(1),
        duration_ns: None,
        warmup_ns: 0,
        load: HttpLoad::Thinking(0),
        thresholds: Vec::new(),
    };
    let read = check_http(&spec);
    let _ = std::fs::remove_file(file);
    match read {
        Ok(plan) => plain("a plan", serde_json::to_string(&plan).expect("a plan").as_bytes()),
        Err(mistakes) => {
            for mistake in mistakes {
                plain("a mistake", mistake.to_string().as_bytes());
            }
        }
    }
}

/// A siegerc.
pub fn siegerc(text: &str) {
    for mistake in read::siegerc(text) {
        plain("a mistake", mistake.as_bytes());
    }
}

/// The response of an exporter: all metrics, and some of them.
pub fn exposition(bytes: &[u8]) {
    for asked in [vec![], vec![Glob::new("*_b?cket*")]] {
        let Ok(reading) = Choice::new("it", asked).read(bytes) else { return };
        assert!(reading.values.len() <= MOST_SERIES);
        for (meter, value) in reading.values {
            plain("a name", meter.name.as_bytes());
            assert!(value.is_finite(), "{value} of {}", meter.name);
        }
        plain("a note", reading.note.unwrap_or_default().as_bytes());
    }
}

/// A file of properties, and the workload that they define.
pub fn properties(bytes: &[u8]) {
    let Ok(properties) = Properties::parse(bytes) else { return };
    let _ = CoreConfig::read(&properties, false, &|name| Err(name.to_owned()));
    let _ = MeasurementPlan::read(&properties);
}

/// A command line, one word per line.
pub fn command_line(text: &str) {
    let words = text.lines().map(OsString::from).collect();
    plain("a message", read::command_line(words).as_bytes());
}

/// The bytes from a broker that a guard lets through if they arrive in pieces of this size.
fn let_through(bytes: &[u8], at_a_time: usize) -> Option<Vec<u8>> {
    let mut guard = Guard::new(Weight::up_to(1 << 30));
    let mut all = Vec::new();
    let mut buffer = [0; 1 << 10];
    for bytes in bytes.chunks(at_a_time) {
        guard.look(bytes).ok()?;
        while let length @ 1.. = guard.hand_over(&mut buffer) {
            all.extend_from_slice(&buffer[..length]);
        }
    }
    Some(all)
}

/// The bytes from a server that poses as a broker: the guard lets through no more than it received,
/// independently of how the bytes are split, and filtering the result again changes nothing.
pub fn broker_frames(bytes: &[u8]) {
    let all = let_through(bytes, bytes.len().max(1));
    assert_eq!(let_through(bytes, 1 + bytes.len() % 11), all);
    let Some(all) = all else { return };
    assert!(all.len() <= bytes.len());
    assert_eq!(let_through(&all, FRAME_MAX as usize).as_ref(), Some(&all));
}

/// The changes in a feed that arrives in pieces of this size, and whether it broke off.
fn followed(bytes: &[u8], at_a_time: usize) -> (Vec<(u64, u32)>, Option<String>, bool) {
    let (mut lines, mut changes, mut since) = (Lines::default(), Vec::new(), None);
    for piece in bytes.chunks(at_a_time) {
        lines.add(piece);
        let read = lines.read(0, &mut |change| changes.push((change.document, change.number)));
        since = lines.take_since().or(since);
        if read.is_err() {
            return (changes, since, false);
        }
    }
    (changes, since, true)
}

/// The result of reading a feed of changes does not depend on how it is split.
pub fn changes_feed(bytes: &[u8]) {
    let all = followed(bytes, bytes.len().max(1));
    assert_eq!(followed(bytes, 1 + bytes.len() % 7), all);
}

/// Cassandra's rows, if the bytes are that, are JSON objects.
pub fn cassandra_answer(bytes: &[u8]) {
    for row in rows_of(bytes).unwrap_or_default() {
        assert!(serde_json::from_slice::<serde_json::Map<_, _>>(&row).is_ok(), "{row:?}");
    }
}

/// The number of values in a value, down to a limited depth.
fn values(value: Value<'_>, depth: u32) -> u64 {
    if depth == 0 { 1 } else { 1 + value.list().map(|it| values(it, depth - 1)).sum::<u64>() }
}

/// A response in Redis' protocol has the same end however it is split, and can be read.
pub fn redis_answer(bytes: &[u8]) {
    const MOST: usize = 1 << 20;
    let all = Scan::default().step(bytes, MOST);
    let mut scan = Scan::default();
    let pieces = (0..=bytes.len()).map(|end| scan.step(&bytes[..end], MOST));
    let ended = pieces.take(1_000).find(|it| *it != Ok(None)).unwrap_or(Ok(None));
    if bytes.len() < 1_000 {
        assert_eq!(ended, all);
    }
    if let Ok(Some(length)) = all {
        values(Value::of(&bytes[..length]), 3);
    }
}
