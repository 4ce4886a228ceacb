//! What is reported about a run, and what is not.

use super::*;
use crate::measure::{
    KindInterval, NodeInterval, NodeLog, NodeSummary, Outage, Series, Unreachable,
};
use crate::op::{OpKind, Reason};
use crate::record::{Code, fixture};

/// A run with 100 reads in each second, this many of which failed.
fn run(failed: &[u64]) -> RunRecord {
    let second = |(second, failed): (usize, u64)| {
        let mut part = KindInterval { requests: 100, ok: 100 - failed, ..KindInterval::default() };
        part.failures[Failure::Connect.index()] = failed;
        let said = Reason::new(None, "Connection refused (os error 111)");
        part.reasons.extend((failed > 0).then_some((Failure::Connect, said)));
        (0..part.ok).for_each(|_| part.service.record(1_000_000));
        (second as u32, OpKind::Read, part)
    };
    let mut record = fixture::record(&[]);
    let each = failed.iter().copied().chain(std::iter::repeat(0)).take(10);
    let mut stage = fixture::stage("crud", each.enumerate().map(second).collect());
    (stage.elapsed_s, stage.measured_s) = (10.0, 10.0);
    record.stages = vec![stage];
    record
}

fn event_lines(record: &RunRecord) -> Vec<String> {
    story(record).iter().map(Event::line).collect()
}

fn captions(record: &RunRecord) -> Vec<String> {
    story(record).into_iter().map(|it| it.caption).collect()
}

fn span(from_s: f64, length_s: f64) -> Span {
    Span { from_s, length_s }
}

#[test]
fn a_silence_is_reported_if_it_stands_out() {
    let mut record = run(&[]);
    assert_eq!(event_lines(&record), [""; 0]);
    record.stages[0].silences = vec![span(2.01, 0.79), span(6.0, 0.12)];
    let lines = ["2.0 s: no answer for 0.79 s", "6.0 s: no answer for 0.12 s"];
    assert_eq!(event_lines(&record), lines);
    // A server that usually takes 100 ms is not silent after 0.12 s.
    let operation = &mut record.stages[0].operations[0];
    let mut slow = crate::measure::Histogram::default();
    slow.record_many(100_000_000, 1_000);
    operation.service = crate::measure::Latency::new(slow);
    assert_eq!(event_lines(&record), lines[..1]);
}

#[test]
fn an_outage_tells_of_its_silence_and_of_its_failures() {
    let mut record = run(&[0, 0, 0, 40, 100, 30]);
    let stage = &mut record.stages[0];
    stage.outage = Outage { total_s: 2.2, spans: vec![span(3.1, 2.2)], ..Outage::default() };
    stage.silences = vec![span(3.1, 2.2)];
    assert_eq!(event_lines(&record), ["3.1 s: no answer for 2.2 s: connection refused"]);
    // The first operation that succeeded began before the server answered again.
    record.stages[0].silences = vec![span(3.0, 2.6)];
    assert_eq!(event_lines(&record), ["3.0 s: no answer for 2.6 s: connection refused"]);
    // It did respond, if only with errors.
    (record.stages[0].outage.answered, record.stages[0].silences) = (true, Vec::new());
    assert_eq!(event_lines(&record), ["3.1 s: nothing succeeded for 2.2 s: connection refused"]);
    // A band has no room for the reason.
    assert_eq!(captions(&record), ["nothing succeeded for 2.2 s"]);
}

/// The lines, and the warning about the outages of the stage.
fn told(outages: &[Span], silences: &[Span]) -> (Vec<String>, String) {
    let mut record = run(&[]);
    let total_s = outages.iter().map(|it| it.length_s).sum();
    let spans = outages.to_vec();
    record.stages[0].outage = Outage { total_s, spans, answered: true, waits: None };
    record.stages[0].silences = silences.to_vec();
    record.conclude();
    let warned = record.warnings.iter().find(|it| it.code == Code::Outage).expect("a warning");
    (event_lines(&record), warned.message.clone())
}

#[test]
fn an_outage_and_the_silences_that_touch_it_are_one_line() {
    let (lines, warned) = told(&[span(1.0, 2.0), span(5.5, 0.05)], &[span(2.5, 3.3)]);
    assert_eq!(lines, ["1.0 s: no answer for 4.8 s"]);
    assert!(warned.starts_with("no answer for 4.8 s from 1.0 s on"), "{warned}");
    // It was answered late at last.
    let (lines, _) = told(&[span(1.0, 2.0)], &[span(3.0, 0.9)]);
    assert_eq!(lines, ["1.0 s: nothing succeeded for 2.9 s"]);
    // Something succeeded in between.
    let (lines, warned) =
        told(&[span(1.0, 2.0), span(4.0, 1.0)], &[span(4.5, 1.1), span(8.0, 0.5)]);
    let expected = [
        "1.0 s: nothing succeeded for 2.0 s",
        "4.0 s: no answer for 1.6 s",
        "8.0 s: no answer for 0.5 s",
    ];
    assert_eq!(lines, expected);
    let words = "nothing succeeded for 3.6 s in 2 outages, the longest 2.0 s from 1.0 s on";
    assert!(warned.starts_with(words), "{warned}");
}

#[test]
fn what_is_told_of_outages_in_all_is_the_sum_of_their_lines() {
    let mut record = run(&[]);
    // springload itself was held up for half a second of it.
    let (total_s, spans) = (5.7, vec![span(1.0, 3.8), span(6.0, 2.4)]);
    record.stages[0].outage = Outage { total_s, spans, answered: true, waits: None };
    record.conclude();
    let lines = ["1.0 s: nothing succeeded for 3.8 s", "6.0 s: nothing succeeded for 2.4 s"];
    assert_eq!(event_lines(&record), lines);
    let warned = record.warnings.iter().find(|it| it.code == Code::Outage).expect("a warning");
    let words = "nothing succeeded for 6.2 s in 2 outages, the longest 3.8 s from 1.0 s on";
    assert!(warned.message.starts_with(words), "{}", warned.message);
}

#[test]
fn failures_of_some_seconds_are_an_event_and_of_most_a_rate() {
    let burst = run(&[0, 0, 60, 0, 70, 4]);
    assert_eq!(
        event_lines(&burst),
        ["2.0 s: 134 operations failed (connection refused), until 6.0 s"]
    );
    let one = run(&[0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(event_lines(&one), ["6.0 s: 1 operation failed (connection refused)"]);
    assert_eq!(event_lines(&run(&[1, 1, 1, 1, 1, 1])), [""; 0]);
    let apart = run(&[5, 0, 0, 0, 6]);
    assert_eq!(event_lines(&apart).len(), 2);
}

#[test]
fn pauses_of_springload_and_losses_of_agents_are_reported() {
    let mut record = fixture::fleet(4);
    fixture::lose(&mut record, 1, 3);
    fixture::lose(&mut record, 2, 3);
    let crud = record.stages.last_mut().expect("a stage");
    crud.series = Series::default();
    crud.client.pauses = vec![span(0.5, 0.09), span(1.0, 0.4)];
    let lines = event_lines(&record);
    let lost = "6.0 s: agents 1 and 2 of 4 lost: nothing heard for 3 s";
    assert_eq!(lines, [lost, "1.0 s: springload itself stood still for 0.4 s"]);
    // If the agent is known, it is named.
    let pauses = |record: &mut RunRecord, agent: usize, pause| {
        let agents = &mut record.stages.last_mut().expect("a stage").agents;
        agents[agent].client.get_or_insert_default().pauses = vec![pause];
    };
    pauses(&mut record, 0, span(0.9, 0.35));
    pauses(&mut record, 3, span(1.3, 0.4));
    assert_eq!(event_lines(&record)[1], "1.0 s: agent 0 stood still for 0.4 s");
    pauses(&mut record, 3, span(1.1, 0.4));
    assert_eq!(event_lines(&record)[1], "1.0 s: agents 0 and 3 stood still for 0.4 s");
    pauses(&mut record, 1, span(1.0, 0.4));
    pauses(&mut record, 2, span(1.0, 0.4));
    assert_eq!(event_lines(&record)[1], "1.0 s: all agents stood still for 0.4 s");
}

#[test]
fn a_load_that_is_not_kept_up_is_reported_from_when_on() {
    let mut record = run(&[]);
    let stage = &mut record.stages[0];
    let plan = serde_json::json!({
        "name": "crud", "workload": "crud", "operations": null, "order": "uniform",
        "mix": { "create": 0, "read": 1, "update": 1, "delete": 0 }, "length_ns": 10_000_000_000u64,
        "pace": { "loop": "open", "max_in_flight": 9, "slack_ns": 0, "schedule": {
            "segments": [{ "length_ns": 4_000_000_000u64, "from": 100.0, "to": 100.0 },
                { "length_ns": 6_000_000_000u64, "from": 150.0, "to": 150.0 }],
            "arrivals": "constant", "seed": 1 } },
    });
    stage.plan = Some(serde_json::from_value(plan).expect("a plan"));
    stage.verdict =
        Verdict::NotSustained { offered_per_s: 130.0, served_per_s: 100.0, backlog_per_s: 30.0 };
    let words = "the server did not keep up from here on: 100/s of 150/s served";
    assert_eq!(event_lines(&record), [format!("4.0 s: {words}")]);
    // Stopped within the last second, which is not counted.
    record.stages[0].measured_s = 9.6;
    assert_eq!(event_lines(&record), [format!("4.0 s: {words}")]);
    record.stages[0].measured_s = 0.6;
    assert_eq!(event_lines(&record), [""; 0], "no whole second");
    record.stages[0].measured_s = 0.0;
    record.stages[0].load.dropped = 300;
    let mut lines_of = |requests: [u64; 10]| {
        for (row, requests) in record.stages[0].series.rows.iter_mut().zip(requests) {
            row.kinds.get_mut(&OpKind::Read).expect("reads").requests = requests;
        }
        event_lines(&record)
    };
    assert_eq!(lines_of([100; 10]), [format!("4.0 s: {words}")]);
    // A second in which more is served does not end it, nor does chance begin it.
    let words = "the server did not keep up from here on: 109/s of 150/s served";
    let uneven = [100, 91, 100, 100, 100, 100, 150, 100, 100, 105];
    assert_eq!(lines_of(uneven), [format!("4.0 s: {words}")]);
    // It keeps up again, whether or not it fell behind before.
    assert_eq!(lines_of([100, 100, 100, 100, 0, 60, 150, 150, 143, 140]), [""; 0]);
    let words = "the server did not keep up from here on: 45/s of 150/s served";
    let last = [100, 100, 100, 100, 150, 150, 150, 150, 60, 30];
    assert_eq!(lines_of(last), [format!("8.0 s: {words}")]);
    record.stages[0].verdict = Verdict::Sustained;
    assert_eq!(event_lines(&record), [""; 0]);
}

#[test]
fn many_of_a_kind_take_one_line() {
    let mut record = run(&[]);
    record.stages[0].silences = (0..8).map(|n| span(f64::from(n), 0.2)).collect();
    record.stages[0].client.pauses = vec![span(1.0, 0.4)];
    let events = story(&record);
    let events: Vec<&Event> = events.iter().collect();
    let expected = [
        "0.0 s: no answer for 0.2 s, and 7 times more, 1.6 s in total",
        "1.0 s: springload itself stood still for 0.4 s",
    ];
    assert_eq!(lines(&record, &events, false), expected);
    let all = lines(&record, &events, true);
    assert_eq!((all.len(), &all[2][..5]), (9, "1.0 s"), "all, in order of time");
}

/// A frozen node is silent, and gone once its timeout has expired: the same time, reported in two
/// ways.
#[test]
fn how_long_nodes_were_gone_and_how_long_they_were_silent_are_not_added_up() {
    let mut record = run(&[]);
    let node = |port: u16| NodeSummary {
        connections: 17,
        ..NodeSummary::new(
            format!("http://a:{port}"),
            &NodeInterval::default(),
            &NodeLog::default(),
            0,
            10.0,
        )
    };
    let (mut frozen, mut busy) = (node(1), node(2));
    frozen.silences = vec![span(2.0, 6.0)];
    frozen.unreachable =
        vec![Unreachable { from_s: 4.0, to_s: Some(8.0), moved: 17, returned: 17 }];
    busy.silences = vec![span(1.0, 0.5)];
    record.stages[0].nodes = vec![frozen, busy];
    let events = story(&record);
    let events: Vec<&Event> = events.iter().collect();
    let expected = [
        "4.0 s: node a:1 was gone for 4.0 s: 17 connections moved, 17 came back",
        "2.0 s: no answer from node a:1 on any of its connections for 6.0 s",
        "1.0 s: no answer from node a:2 on any of its connections for 0.5 s",
    ];
    assert_eq!(lines(&record, &events, false), expected);
    let gone = "node a:1 was gone for 4.0 s";
    assert_eq!(captions(&record)[0], gone);
    // Connections that were opened at another node from the start only came back.
    record.stages[0].nodes[0].unreachable[0].moved = 0;
    assert_eq!(event_lines(&record)[0], format!("4.0 s: {gone}, 17 came back"));
    assert_eq!(captions(&record)[0], gone);
}

/// Only the hundred longest are stored: their sum is not the total.
#[test]
fn the_total_of_outages_is_the_stored_one() {
    let mut record = run(&[]);
    let spans: Vec<Span> = (0..100).map(|n| span(f64::from(n) * 0.1, 0.02)).collect();
    record.stages[0].outage = Outage { total_s: 7.5, spans, answered: true, waits: None };
    record.conclude();
    let events = story(&record);
    let events: Vec<&Event> = events.iter().collect();
    let printed = lines(&record, &events, false);
    let line = "0.0 s: nothing succeeded for 20 ms, and at least 99 times more, 7.5 s in total";
    assert_eq!(printed, [line]);
    let warned = record.warnings.iter().find(|it| it.code == Code::Outage).expect("a warning");
    let words = "nothing succeeded for 7.5 s in 100 or more outages, the longest 20 ms from ";
    assert!(warned.message.starts_with(words), "{warned:?}");
    // No total is stored for silences, only the longest ones.
    record.stages[0].outage = Outage::default();
    record.stages[0].silences = (0..100).map(|n| span(f64::from(n) * 0.1, 0.08)).collect();
    let events = story(&record);
    let events: Vec<&Event> = events.iter().collect();
    let line = "0.0 s: no answer for 80 ms, and at least 99 times more, 8.0 s or more in total";
    assert_eq!(lines(&record, &events, false), [line]);
}

#[test]
fn lengths_and_times_are_short() {
    let words = [0.0381, 0.0999, 0.8, 0.7949, 12.34, 250_000.4].map(length);
    assert_eq!(words, ["38 ms", "0.1 s", "0.8 s", "0.79 s", "12.3 s", "250,000 s"]);
}
