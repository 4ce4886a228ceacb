//! `springload cushion`: the original's command line, and its two output blocks, character by
//! character.

use serde_json::Value;
use springload::embedded::Options;

use crate::servers::Server;
use crate::springload::{Finished, measure, number};

/// A stand-in with an empty database `db`.
fn stand_in() -> Server {
    let server = Server::stand_in(Options::default());
    ureq::put(format!("{}/db", server.url)).send_empty().expect("a database");
    server
}

fn cushion(server: &Server, flags: &str) -> Finished {
    let address = format!("--database_address={}", server.url);
    let schema = "--json_document_schema_filename=examples/schemas/example.json";
    let schema = schema.replace("examples", concat!(env!("CARGO_MANIFEST_DIR"), "/examples"));
    let fixed = ["cushion", &address, "--database_name=db", "--seed=7", &schema];
    measure(fixed.into_iter().chain(flags.split_whitespace()))
}

#[test]
fn schemas_in_other_encodings_of_xml_are_read() {
    let server = Server::stand_in(Options::default());
    ureq::put(format!("{}/db", server.url)).send_empty().expect("a database");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("schema.xml");
    let flags = [
        format!("--database_address={}", server.url),
        "--database_name=db".to_owned(),
        format!("--xml_document_schema_filename={}", file.display()),
        "--num_documents_per_bulk_insert=1".to_owned(),
        "--num_bulk_insert_operations=1".to_owned(),
    ];
    let object = "<object><entry><name>Größe</name><value><null/></value></entry></object>";
    let text = |name: &str| format!("<?xml version=\"1.0\" encoding=\"{name}\"?>\n{object}");
    let latin = text("ISO-8859-1").chars().map(|c| u32::from(c) as u8).collect();
    let wide: Vec<u8> =
        format!("\u{feff}{}", text("UTF-16")).encode_utf16().flat_map(u16::to_be_bytes).collect();
    for bytes in [latin, wide] {
        std::fs::write(&file, bytes).expect("a file");
        let run = measure(["cushion"].into_iter().chain(flags.iter().map(String::as_str)));
        assert_ne!(run.code, 2, "{}", run.stderr);
        let schema = run.record["plan"]["schemas"][0]["text"].as_str().expect("a schema");
        assert!(schema.contains("<name>Größe</name>"), "{schema}");
    }
    let mut answer = ureq::get(format!("{}/db/0", server.url)).call().expect("a document");
    assert!(answer.body_mut().read_to_string().expect("a body").contains("\"Größe\":null"));
}

/// The seed's example, scaled down.
const EXAMPLE: &str = "--num_connections=10 --num_documents_per_bulk_insert=100 \
    --num_bulk_insert_operations=5 --num_crud_operations=100 \
    --create_weight=2 --read_weight=2 --update_weight=3 --delete_weight=3";

const BULK: [(&str, Form); 9] = [
    ("timeTaken", Form::Seconds),
    ("totalJsonBytesSent", Form::Bytes),
    ("totalJsonBytesReceived", Form::Bytes),
    ("localProcessing", Form::Spread),
    ("sendData", Form::Spread),
    ("remoteProcessing", Form::Spread),
    ("receiveData", Form::Spread),
    ("remoteProcessingRate", Form::Rate),
    ("localInsertRate", Form::Rate),
];

const CRUD: [(&str, Form); 13] = [
    ("timeTaken", Form::Seconds),
    ("totalJsonBytesSent", Form::Bytes),
    ("totalJsonBytesReceived", Form::Bytes),
    ("localProcessing", Form::Spread),
    ("sendData", Form::Spread),
    ("remoteCreateProcessing", Form::Spread),
    ("remoteReadProcessing", Form::Spread),
    ("remoteUpdateProcessing", Form::Spread),
    ("remoteDeleteProcessing", Form::Spread),
    ("remoteCreateProcessingRate", Form::Rate),
    ("remoteReadProcessingRate", Form::Rate),
    ("remoteUpdateProcessingRate", Form::Rate),
    ("remoteDeleteProcessingRate", Form::Rate),
];

/// The forms that a value can have.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// `0.117 secs`
    Seconds,
    /// `21,871 bytes`
    Bytes,
    /// `{min=0.005 secs, max=0.009 secs, median=0.007 secs, sd=0.002 secs}`
    Spread,
    /// `1,333.992 docs/sec`
    Rate,
}

impl Form {
    /// The numbers in `text`, if it has this form and no other.
    fn numbers(self, text: &str) -> Option<Vec<f64>> {
        let one = |unit: &str| Some(vec![text.strip_suffix(unit).and_then(decimal)?]);
        match self {
            Self::Seconds => one(" secs"),
            Self::Rate => one(" docs/sec"),
            Self::Bytes => Some(vec![text.strip_suffix(" bytes").and_then(whole)?]),
            Self::Spread => {
                let inside = text.strip_prefix('{')?.strip_suffix('}')?;
                let parts: Vec<_> = inside.split(", ").collect();
                let names = ["min", "max", "median", "sd"];
                let numbers = names.iter().zip(&parts).map(|(name, part)| {
                    let value = part.strip_prefix(name)?.strip_prefix('=')?;
                    decimal(value.strip_suffix(" secs")?)
                });
                numbers.collect::<Option<Vec<_>>>().filter(|_| parts.len() == names.len())
            }
        }
    }
}

/// Digits in groups of three, the first of one to three, without leading zeros.
fn whole(text: &str) -> Option<f64> {
    let groups: Vec<_> = text.split(',').collect();
    let digits = groups.iter().all(|group| group.bytes().all(|b| b.is_ascii_digit()));
    let first = (1..=3).contains(&groups[0].len());
    let rest = groups[1..].iter().all(|group| group.len() == 3);
    let zeros = text.len() > 1 && text.starts_with('0');
    (digits && first && rest && !zeros).then(|| groups.concat().parse().ok())?
}

/// The same with a point and three digits.
fn decimal(text: &str) -> Option<f64> {
    let (before, after) = text.split_once('.')?;
    let good = after.len() == 3 && after.bytes().all(|b| b.is_ascii_digit());
    good.then(|| Some(whole(before)? + format!("0.{after}").parse::<f64>().ok()?))?
}

#[test]
fn the_grammar_of_numbers_is_strict() {
    for good in ["0", "7", "999", "1,000", "21,871", "374,240,177"] {
        assert!(whole(good).is_some(), "{good}");
    }
    for bad in ["", ",", "1000", "1,00", "01", "0,001", "1 000", "-1", "1.0", "1,0000", "a"] {
        assert!(whole(bad).is_none(), "{bad}");
    }
    assert_eq!(decimal("1,333.992"), Some(1333.992));
    for bad in ["1", "1.0", "1.0000", "1,5", ".500", "1333.992", "NaN", "1.-12"] {
        assert!(decimal(bad).is_none(), "{bad}");
    }
    let spread = "{min=0.005 secs, max=0.009 secs, median=0.007 secs, sd=0.002 secs}";
    assert_eq!(Form::Spread.numbers(spread).unwrap(), [0.005, 0.009, 0.007, 0.002]);
    assert!(Form::Spread.numbers(&spread.replace("max", "most")).is_none());
    assert!(Form::Spread.numbers(&spread.replace(", sd=0.002 secs", "")).is_none());
}

/// Takes one block off `lines`: its header, its labels in their order, and the empty line.
#[track_caller]
fn block(
    lines: &mut std::str::Lines<'_>,
    header: &str,
    labels: &[(&str, Form)],
) -> Vec<(String, Vec<f64>)> {
    assert_eq!(lines.next(), Some(header));
    let mut values = Vec::new();
    for (label, form) in labels {
        let line = lines.next().unwrap_or_else(|| panic!("the block ends before {label}"));
        let value = line.strip_prefix(&format!("  {label}="));
        let value = value.unwrap_or_else(|| panic!("{line:?} where {label} belongs"));
        let numbers = form.numbers(value);
        let numbers = numbers.unwrap_or_else(|| panic!("{value:?} is not of form {form:?}"));
        values.push(((*label).to_owned(), numbers));
    }
    assert_eq!(lines.next(), Some(""));
    values
}

/// The last blocks: one line per stage, and the result of the run.
fn trusts<'a>(lines: &mut impl Iterator<Item = &'a str>, stages: &[&str], result: &str) {
    assert_eq!(lines.next(), Some("TRUST:"));
    for stage in stages {
        let line = lines.next().expect("a line for the stage");
        assert!(line.starts_with(&format!("  {stage} · lag p99 ")), "{line}");
    }
    assert_eq!((lines.next(), lines.next()), (Some(""), Some("RESULT:")));
    assert_eq!(lines.next(), Some(format!("  {result}").as_str()));
    assert_eq!((lines.next(), lines.next()), (Some(""), None), "no further block");
}

/// Takes the lines that may follow a block off `lines`. Only messages about a busy machine are
/// allowed: nothing failed.
#[track_caller]
fn no_errors(lines: &mut std::str::Lines<'_>) {
    let mut rest = lines.clone();
    if rest.next() == Some("WARNINGS:") {
        for message in rest.by_ref().take_while(|line| !line.is_empty()) {
            let busy = ["  client-bound", "  disturbed", "  springload itself was paused"];
            assert!(busy.iter().any(|it| message.starts_with(it)), "{message}");
        }
        *lines = rest;
    }
}

fn close(printed: f64, exact: f64) -> bool {
    (printed - exact).abs() <= 0.000_500_001
}

/// The block's bytes, phases and rates match the record.
#[track_caller]
fn equals_record(values: &[(String, Vec<f64>)], stage: &Value) {
    let operations = stage["operations"].as_array().unwrap();
    let connections = &stage["connections"];
    let numbers =
        |value: &Value| value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
    let bytes = |key: &str| operations.iter().map(|o| number(&o[key])).sum::<u64>() as f64;
    for (label, printed) in values {
        let kind = ["Create", "Read", "Update", "Delete"].into_iter().find(|k| label.contains(k));
        let kind = kind.map_or("bulk_insert".to_owned(), str::to_lowercase);
        let columns: (Vec<f64>, Vec<f64>) = match &connections["answer_s"][&kind] {
            Value::Null => Default::default(),
            remote => (numbers(remote), numbers(&connections["ok"][&kind])),
        };
        let (remote, ok) = columns;
        let exact = match label.as_str() {
            "timeTaken" => {
                vec![numbers(&connections["ended_s"]).into_iter().fold(0.0, f64::max)]
            }
            "totalJsonBytesSent" => vec![bytes("bytes_sent")],
            "totalJsonBytesReceived" => vec![bytes("bytes_received")],
            "localProcessing" => spread(&numbers(&connections["local_s"])),
            "sendData" => spread(&numbers(&connections["send_s"])),
            "receiveData" => spread(&numbers(&connections["receive_s"])),
            "localInsertRate" => {
                let (send, receive): (Vec<f64>, Vec<f64>) =
                    (numbers(&connections["send_s"]), numbers(&connections["receive_s"]));
                let time = |i: usize| send[i] + remote[i] + receive[i];
                vec![(0..ok.len()).map(|i| ok[i] / time(i)).sum()]
            }
            label if label.ends_with("Rate") => {
                let rates = ok.iter().zip(&remote).filter(|(_, time)| **time > 0.0);
                vec![rates.map(|(ok, time)| ok / time).sum()]
            }
            _ => spread(&remote),
        };
        let same = printed.iter().zip(&exact).all(|(&printed, &exact)| close(printed, exact));
        assert!(same && printed.len() == exact.len(), "{label}: {printed:?}, record {exact:?}");
    }
}

/// Minimum, maximum, median and population standard deviation, computed again.
fn spread(values: &[f64]) -> Vec<f64> {
    if values.is_empty() {
        return vec![0.0; 4];
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let mean = values.iter().sum::<f64>() / n as f64;
    let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n as f64;
    let median = f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]);
    vec![sorted[0], sorted[n - 1], median, variance.sqrt()]
}

#[test]
fn the_example_does_exactly_what_it_says_and_prints_the_original_blocks() {
    let server = stand_in();
    let run = cushion(&server, EXAMPLE).passed();
    let counted = server.as_stand_in().unwrap().counters();
    assert_eq!((counted.documents_bulk, counted.bulk_requests), (5_000, 50));
    let crud = [
        counted.documents_created,
        counted.documents_read,
        counted.documents_updated,
        counted.documents_deleted,
    ];
    assert_eq!(crud, [200, 200, 300, 300]);
    assert_eq!((counted.conflicts, counted.not_found, counted.errors_other), (0, 0, 0));
    let kinds = ["create", "read", "update", "delete"];
    assert_eq!(kinds.map(|kind| run.sum(kind, "ok")), crud);
    for operation in run.stages().flat_map(|s| s["operations"].as_array().unwrap()) {
        assert_eq!(operation["failures"], serde_json::json!({}));
        assert_eq!(operation["unfinished"], 0);
    }
    let mut lines = run.stdout.lines();
    let bulk = block(&mut lines, "BULK INSERT BENCHMARK RESULTS:", &BULK);
    no_errors(&mut lines);
    let crud = block(&mut lines, "CRUD BENCHMARK RESULTS:", &CRUD);
    no_errors(&mut lines);
    trusts(&mut lines, &["bulk insert", "mixed"], "passed");
    equals_record(&bulk, run.stage("bulk_insert"));
    equals_record(&crud, run.stage("crud"));
}

#[test]
fn a_stage_that_is_not_asked_for_has_no_block() {
    let server = stand_in();
    let run = cushion(
        &server,
        "--num_connections=3 --num_documents_per_bulk_insert=20 --num_bulk_insert_operations=2",
    )
    .passed();
    let mut lines = run.stdout.lines();
    let bulk = block(&mut lines, "BULK INSERT BENCHMARK RESULTS:", &BULK);
    no_errors(&mut lines);
    trusts(&mut lines, &["bulk insert"], "passed");
    equals_record(&bulk, run.stage("bulk_insert"));
    assert_eq!(server.as_stand_in().unwrap().counters().documents_bulk, 120);
}

#[test]
fn weights_of_zero_are_legal() {
    for (weights, expected) in [
        ("--read_weight=1", [0, 120, 0, 0]),
        ("--create_weight=1 --read_weight=1 --update_weight=2", [30, 30, 60, 0]),
        ("--create_weight=1 --delete_weight=1", [60, 0, 0, 60]),
    ] {
        let server = stand_in();
        let run = cushion(
            &server,
            &format!(
                "--num_connections=3 --num_documents_per_bulk_insert=20 \
                 --num_bulk_insert_operations=2 --num_crud_operations=40 {weights}"
            ),
        )
        .passed();
        let counted = server.as_stand_in().unwrap().counters();
        let found = [
            counted.documents_created,
            counted.documents_read,
            counted.documents_updated,
            counted.documents_deleted,
        ];
        assert_eq!(found, expected, "{weights}");
        let mut lines = run.stdout.lines();
        block(&mut lines, "BULK INSERT BENCHMARK RESULTS:", &BULK);
        no_errors(&mut lines);
        equals_record(&block(&mut lines, "CRUD BENCHMARK RESULTS:", &CRUD), run.stage("crud"));
    }
}

#[test]
fn a_second_run_collides_and_says_so_below_the_block() {
    let server = stand_in();
    let flags = "--num_connections=2 --num_documents_per_bulk_insert=10 \
        --num_bulk_insert_operations=2";
    cushion(&server, flags).passed();
    let again = cushion(&server, flags);
    assert_eq!(again.code, 3, "nothing succeeded: {}", again.stderr);
    let operation = again.operation("bulk_insert", "bulk_insert");
    assert_eq!(operation["failures"], serde_json::json!({"conflict": 40}));
    assert_eq!(server.as_stand_in().unwrap().counters().conflicts, 40);
    let mut lines = again.stdout.lines();
    block(&mut lines, "BULK INSERT BENCHMARK RESULTS:", &BULK);
    assert_eq!(lines.next(), Some("ERRORS:"));
    let why = "40 conflict: conflict: Document update conflict. (status 201)";
    assert_eq!(
        lines.next(),
        Some(format!("  40 of 40 bulk_insert operations failed: {why}").as_str())
    );
    assert_eq!(lines.next(), Some(""));
    no_errors(&mut lines);
    let result = format!("failed: no operation of the bulk insert stage succeeded: {why}");
    trusts(&mut lines, &["bulk insert"], &result);
}
