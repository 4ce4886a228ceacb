//! The text report, as people see it, of good and bad runs, on terminals of any size.

use super::{closed, fleet, judged, not_sustained, with_failures};
use springload::measure::{Outage, Span};
use springload::op::{Failure, Reason};
use springload::record::{Ended, EndedBy, RunRecord, Verdict};
use springload::report::{Look, format, one_line};

fn shown(record: &RunRecord, look: Look) -> String {
    let format = format("text").expect("a format");
    let bytes = format.render_as(std::slice::from_ref(record), None, look).expect("of one run");
    String::from_utf8(bytes).expect("text")
}

fn wide(record: &RunRecord, width: usize) -> String {
    shown(record, Look { width, ..Look::default() })
}

/// The report with all details.
pub(crate) fn verbose(record: &RunRecord) -> String {
    shown(record, Look { verbose: true, ..Look::default() })
}

/// A text without its line breaks.
pub(crate) fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A run as `springload run` makes it: a fill, then fifteen seconds of all kinds of operations.
fn usual() -> RunRecord {
    let mut record = closed();
    record.stages.retain(|stage| stage.name != "warm_up");
    record.environment.debug_build = false;
    let crud = record.stages.last_mut().expect("a stage");
    (crud.elapsed_s, crud.measured_s) = (15.0, 15.0);
    let row = crud.series.rows[0].clone();
    let second = |second| {
        let mut row = row.clone();
        row.second = second;
        for part in row.kinds.values_mut() {
            // The server needs a few seconds to warm up.
            part.ok = part.ok * u64::from(second.min(4) + 4) / 8;
        }
        row
    };
    crud.series.rows = (0..15).map(second).collect();
    record.conclude();
    record
}

/// The same with a stall of 0.8 s in its second second, and two thresholds, one of them missed.
fn stalled() -> RunRecord {
    let mut record = usual();
    let limits = ["read.p99 > 50us", "err > 1%"];
    record.plan.thresholds = limits.map(|it| it.parse().expect("a threshold")).to_vec();
    let crud = record.stages.last_mut().expect("a stage");
    crud.silences = vec![Span { from_s: 2.03, length_s: 0.79 }];
    crud.series.rows.retain(|row| row.second != 2);
    record.conclude();
    record
}

/// All requests failed with this error.
fn failing(class: Failure, reason: &Reason) -> RunRecord {
    let mut record = usual();
    let crud = record.stages.last_mut().expect("a stage");
    for operation in &mut crud.operations {
        operation.failures.insert(class, operation.issued);
        operation.reasons.insert(class, reason.clone());
        (operation.ok, operation.throughput_per_s) = (0, 0.0);
        operation.response = springload::measure::Latency::default();
        operation.service = operation.response.clone();
    }
    crud.series.rows.clear();
    crud.verdict = judged(crud);
    record.conclude();
    record
}

fn refused() -> RunRecord {
    failing(Failure::Connect, &Reason::new(None, "Connection refused (os error 111)"))
}

/// The server is gone from the sixth second on.
fn gone() -> RunRecord {
    let mut record = usual();
    let message = "the server no longer answers; gave up after 14.2 s".to_owned();
    record.partial = true;
    record.ended = Some(Ended { by: EndedBy::Unreachable, at_s: 14.2, message });
    let crud = record.stages.last_mut().expect("a stage");
    let spans = vec![Span { from_s: 6.1, length_s: 8.1 }];
    crud.outage = Outage { total_s: 8.1, spans, ..Outage::default() };
    crud.series.rows.retain(|row| row.second < 7);
    crud.verdict = judged(crud);
    record.conclude();
    record
}

/// Nothing was measured in its only stage.
fn empty() -> RunRecord {
    let mut record = usual();
    record.stages.remove(0);
    record.stages[0].operations.clear();
    record.stages[0].series.rows.clear();
    record.stages[0].verdict = Verdict::Empty;
    record.conclude();
    record
}

/// One kind only, over more than two days.
fn long() -> RunRecord {
    let mut record = usual();
    let crud = record.stages.last_mut().expect("a stage");
    (crud.elapsed_s, crud.measured_s) = (200_000.0, 200_000.0);
    crud.operations.truncate(1);
    let row = crud.series.rows[0].clone();
    let hour = |hour: u32| {
        let mut row = row.clone();
        (row.second, row.seconds) = (hour * 3_600, 3_600);
        row
    };
    crud.series.rows = (0..56).map(hour).collect();
    record.conclude();
    record
}

/// Long names and texts, which try to control the terminal.
fn hostile() -> RunRecord {
    let mut record = usual();
    let evil = "\u{1b}]0;pwned\u{7}\u{1b}[2J\u{202e}".to_owned() + &"x".repeat(300);
    record.server.database.clone_from(&evil);
    record.server.url.clone_from(&evil);
    record.server.name.clone_from(&evil);
    (record.server.stand_in, record.server.deleted) = (false, false);
    let crud = record.stages.last_mut().expect("a stage");
    crud.name.clone_from(&evil);
    for operation in &mut crud.operations {
        operation.failures.insert(Failure::Rejected, operation.ok / 2);
        operation.ok -= operation.ok / 2;
        let reason = Reason { status: Some(400), reason: evil.clone() };
        operation.reasons.insert(Failure::Rejected, reason);
    }
    record.conclude();
    record
}

fn not_found() -> RunRecord {
    failing(Failure::NotFound, &Reason::new(Some(404), "not_found: Database does not exist."))
}

/// Every record of this file, by name.
fn all() -> Vec<(&'static str, RunRecord)> {
    vec![
        ("usual", usual()),
        ("stalled", stalled()),
        ("refused", refused()),
        ("not_found", not_found()),
        ("gone", gone()),
        ("empty", empty()),
        ("long", long()),
        ("hostile", hostile()),
        ("short", closed()),
        ("with_failures", with_failures()),
        ("not_sustained", not_sustained()),
        ("agents_lost", fleet::lost()),
    ]
}

#[test]
fn at_80_columns() {
    for (name, record) in all() {
        insta::assert_snapshot!(format!("text_{name}"), wide(&record, 80));
    }
}

#[test]
fn at_120_columns() {
    for (name, record) in [("usual", usual()), ("stalled", stalled()), ("refused", refused())] {
        insta::assert_snapshot!(format!("text_{name}_120"), wide(&record, 120));
    }
}

#[test]
fn with_all_figures() {
    insta::assert_snapshot!("text_verbose", verbose(&with_failures()));
}

#[test]
fn a_usual_run_fits_a_terminal_and_begins_with_the_result() {
    for (name, record) in all() {
        let text = wide(&record, 80);
        let lines: Vec<&str> = text.lines().collect();
        // Two more lines tell where it is saved.
        let room = match name {
            "usual" => 22,
            // Long reasons are shown in full at the end.
            "agents_lost" => 30,
            "hostile" => 31,
            _ => 24,
        };
        assert!(lines.len() <= room, "{name}: {} lines\n{text}", lines.len());
        let marks = ["✓ PASSED  ", "✗ FAILED  ", "! NOT TRUSTWORTHY  ", "■ STOPPED  "];
        assert!(marks.iter().any(|mark| text.starts_with(mark)), "{name}: {text}");
    }
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for (name, record) in all() {
        for width in [40, 57, 80, 120] {
            for ascii in [false, true] {
                let text = shown(&record, Look { width, ascii, ..Look::default() });
                for line in text.lines() {
                    assert!(line.chars().count() <= width, "{name}, {width}: {line}");
                }
                assert!(!ascii || text.is_ascii(), "{name}: {text}");
            }
        }
    }
}

#[test]
fn nothing_of_others_reaches_the_terminal_as_it_is() {
    let record = hostile();
    let looks = [false, true].map(|verbose| Look { verbose, ..Look::default() });
    for text in looks.map(|look| shown(&record, look)) {
        let steers = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!text.contains(steers), "{text:?}");
    }
    let line = one_line(&record, "runs/\u{1b}[31m", Look::default());
    assert!(!line.contains('\u{1b}') && line.matches('\n').count() == 1, "{line:?}");
}

#[test]
fn colors_change_nothing_else() {
    for (name, record) in all() {
        let colored = shown(&record, Look { color: true, ..Look::default() });
        assert!(colored.contains("\u{1b}["), "{name}");
        let mut plain = String::new();
        let mut rest = colored.as_str();
        while let Some((before, after)) = rest.split_once("\u{1b}[") {
            plain.push_str(before);
            rest = after.split_once('m').expect("a color").1;
        }
        assert_eq!(plain + rest, wide(&record, 80), "{name}");
    }
}

#[test]
fn one_line_has_the_result_and_where_it_is() {
    let line = one_line(&stalled(), "springload-runs/20260102T030405Z", Look::default());
    let said = "✗ FAILED  read p99 3.09 ms, limit 50 µs · springload-runs/20260102T030405Z\n";
    assert_eq!(line, said);
    let ascii = Look { ascii: true, ..Look::default() };
    assert_eq!(one_line(&stalled(), "x", ascii), "x FAILED  read p99 3.09 ms, limit 50 us - x\n");
    // Long, but not wrapped: it is for other programs.
    let line = one_line(&refused(), &"y".repeat(200), Look::default());
    assert!(line.ends_with("yy\n") && line.lines().count() == 1, "{line}");
}

#[test]
fn each_time_has_a_line_of_its_own() {
    let mut record = usual();
    for operation in &mut record.stages.last_mut().expect("a stage").operations {
        // As if the rest of the time were spent waiting for a connection.
        let mut fast = springload::measure::Histogram::default();
        fast.record_many(1_000, 2_000);
        operation.service = springload::measure::Latency::new(fast);
    }
    for width in [60, 80, 120] {
        let text = wide(&record, width);
        let times: Vec<_> = text.lines().filter(|line| line.contains(" ms · max ")).collect();
        let [response, service] = times[..] else { panic!("{width}: {text}") };
        assert!(response.trim_start().starts_with("response p50 "), "{text}");
        assert!(service.trim_start().starts_with("service p50 "), "{text}");
    }
}
