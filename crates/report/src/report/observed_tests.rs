//! What is reported about servers, for records whose contents are known.

use super::*;
use crate::measure::Served;
use crate::observed::{Meter, Observed};
use crate::op::OpKind;
use crate::record::fixture::{part, record, stage};
use crate::report::chart::{foremost, stages};

const QUEUE: Meter = Meter::gauge("run_queue", "run queue", "", "queues");
const MEMORY: Meter = Meter::gauge("memory_bytes", "memory", "bytes", "memory");

/// A minute of reads: 500 per second, but 2,000 in the seconds `slow`, with response times four
/// times as long.
fn run(slow: std::ops::Range<u32>) -> RunRecord {
    let count = |second| if slow.contains(&second) { 2_000 } else { 500 };
    let parts = (0..60).map(|second| (second, OpKind::Read, part(count(second), 0)));
    let mut record = record(&[]);
    let mut main = stage("crud", parts.collect());
    (main.began_s, main.elapsed_s) = (10.0, 60.0);
    *record.stages.last_mut().unwrap() = main;
    record.observed = Some(Observed::default());
    record
}

fn activity(kind: &str, what: &str, from_s: f64, to_s: Option<f64>) -> Activity {
    Activity { kind: kind.to_owned(), what: what.to_owned(), from_s, to_s }
}

fn observed(record: &mut RunRecord) -> &mut Observed {
    record.observed.as_mut().unwrap()
}

/// A source whose queue follows `value`, once a second.
fn source(name: &str, value: impl Fn(u32) -> f64) -> Source {
    let at_s: Vec<f64> = (0..60).map(|second| 11.0 + f64::from(second)).collect();
    let column = |meter, values: Vec<Option<f64>>| Column { meter, values };
    let columns = vec![
        column(QUEUE, (0..60).map(|second| Some(value(second))).collect()),
        column(MEMORY, (0..60).map(|second| (second != 7).then_some(1e6)).collect()),
    ];
    Source { name: name.to_owned(), tables: vec![Table { at_s, columns }], ..Source::default() }
}

#[test]
fn activities_of_one_kind_are_one_and_lie_within_the_stage() {
    let mut record = run(0..0);
    observed(&mut record).activities = vec![
        activity("database_compaction", "a 0-7", 5.0, Some(12.0)),
        activity("database_compaction", "a 8-f", 13.0, Some(15.0)),
        activity("indexer", "a 0-7 _design/v", 40.0, None),
        activity("database_compaction", "b 0-f", 50.0, Some(51.0)),
        activity("replication", "before", 1.0, Some(9.0)),
        activity("replication", "after", 71.0, None),
    ];
    let mut again = source("n1", f64::from);
    again.restarts_s = vec![30.0, 5.0];
    observed(&mut record).sources = vec![again];
    let stage = record.stages.last().unwrap();
    let found: Vec<_> =
        busy(&record, stage).into_iter().map(|it| (it.words, it.from_s, it.to_s)).collect();
    let expected = [
        ("compaction of 2 shards", 0.0, 5.0),
        ("n1 started again", 20.0, 20.0),
        ("building of indexes in a 0-7 _design/v", 30.0, 60.0),
        ("compaction of b 0-f", 40.0, 41.0),
    ];
    let expected = expected.map(|(words, from_s, to_s)| (words.to_owned(), from_s, to_s));
    assert_eq!(found, expected);
}

#[test]
fn an_activity_is_mentioned_if_response_times_were_worse_meanwhile() {
    let compaction = activity("database_compaction", "a 0-7", 30.0, Some(40.0));
    let mut slow = run(20..30);
    observed(&mut slow).activities = vec![compaction.clone()];
    let sentences = lines(&slow);
    assert_eq!(sentences.len(), 1, "{sentences:?}");
    assert!(sentences[0].starts_with("p99 was 1.9"), "{sentences:?}");
    assert!(
        sentences[0].contains("during compaction of a 0-7 (20.0–30.0 s), and 0.49"),
        "{sentences:?}"
    );
    // The same if nothing was slower, and if the slow seconds were others.
    for seconds in [0..0, 40..50] {
        let mut record = run(seconds);
        observed(&mut record).activities = vec![compaction.clone()];
        assert_eq!(lines(&record), Vec::<String>::new());
    }
}

#[test]
fn numbers_that_follow_the_response_times_are_named_if_something_went_wrong() {
    let mut record = run(20..40);
    let follows = |second: u32| if (20..40).contains(&second) { 9.0 } else { 1.0 };
    let sources = vec![source("n1", follows), source("n2", |second| f64::from(second % 7))];
    observed(&mut record).sources = sources;
    record.result = None;
    let stage = record.stages.last().unwrap().clone();
    let found = together(&record, &stage);
    let names: Vec<_> = found.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["n1 run queue"], "{found:?}");
    let sentence = together_words(&record, &stage);
    let failed = record.result().exit_status != 0;
    assert_eq!(sentence.is_some(), failed, "{sentence:?}");
    // The stand-in's record passes; one with an outage need not.
    record
        .stages
        .last_mut()
        .unwrap()
        .outage
        .spans
        .push(crate::measure::Span { from_s: 1.0, length_s: 1.0 });
    let sentence = together_words(&record, record.stages.last().unwrap()).unwrap();
    assert!(sentence.starts_with("p99 changed together with n1 run queue ("), "{sentence}");
}

#[test]
fn charts_have_a_line_for_each_node_and_a_gap_where_nothing_was_answered() {
    let mut record = run(0..0);
    observed(&mut record).sources = vec![source("n1", f64::from), source("n2", f64::from)];
    let stages = stages(&[record.clone()], true);
    let charts = &foremost(&stages).unwrap().views[0].charts;
    let server: Vec<_> = charts.iter().filter(|it| it.title.starts_with("Server: ")).collect();
    let titles: Vec<_> = server.iter().map(|it| it.title.as_str()).collect();
    assert_eq!(titles, ["Server: queues", "Server: memory"]);
    let names: Vec<_> = server[1].lines.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["n1 memory", "n2 memory"]);
    let line = &server[1].lines[0];
    assert_eq!((line.y[6], line.y[7]), (Some(1.0), None), "in MB");
    assert!((line.x[0] - 1.0).abs() < 1e-9, "times count from the stage's start");
}

#[test]
fn requests_of_others_and_lost_answers_are_reported_and_a_few_are_not() {
    let counted = |served: u64, sent, unanswered| Counted {
        served: Served { methods: [("GET".to_owned(), served)].into(), ..Served::default() },
        sent,
        by: None,
        unanswered,
    };
    let others = counted_words(&counted(12_340, 9_502, 0)).unwrap();
    assert_eq!(others, "23 % of this server's requests were not this run's: 2,838 of 12,340");
    for few in [counted(9_502, 9_502, 0), counted(9_510, 9_502, 0), counted(9_490, 9_502, 12)] {
        assert_eq!(counted_words(&few), None);
    }
    // Others send as many requests as the run lost responses.
    let sent = Served {
        methods: [("PUT".to_owned(), 2_838)].into(),
        statuses: [("201".to_owned(), 2_838)].into(),
    };
    let by = Counted { by: Some(sent), ..counted(2_838, 2_838, 0) };
    assert_eq!(by.not_counted(), Some(2_838));
    let served = Served { statuses: [("200".to_owned(), 2_838)].into(), ..by.served.clone() };
    // One of the run's own may have been answered with that, too late.
    let mut late = Counted { served: served.clone(), ..by.clone() };
    late.by.as_mut().unwrap().statuses.insert("201".to_owned(), 2_837);
    let words = counted_words(&late).unwrap();
    assert!(words.ends_with("(2,838 GET; answered at least 2,837 × 200)"), "{words}");
    assert_eq!(
        counted_words(&Counted { served, ..by }).unwrap(),
        "100 % of this server's requests were not this run's: 2,838 of 2,838 (2,838 GET; \
         answered 2,838 × 200)"
    );
    let lost = counted_words(&counted(9_490, 9_502, 2)).unwrap();
    assert!(lost.contains("10 requests fewer than were answered"), "{lost}");
    assert_eq!(
        count_words(&counted(9_502, 9_502, 0)),
        "the server has counted the same requests: 9,502"
    );
}
