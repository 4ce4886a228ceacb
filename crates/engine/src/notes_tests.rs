//! What is noted about writes, case by case.

use super::*;
use crate::clock::{Clock, SECOND_NS};
use crate::journal::Journal;
use crate::measure::{Histogram, NodeInterval, Pulse, Silences};
use crate::op::{OpKind, Reply};
use std::sync::Arc;
use std::sync::mpsc::channel;

const MS: Nanos = 1_000_000;

#[test]
fn every_document_of_a_write_is_noted_and_what_only_reads_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::create(folder.path()).unwrap();
    let rows = [Ok(Token::default()), Err(Failure::Conflict), Err(Failure::Timeout)];
    let (none, all) = (&rows[..0], &rows[..]);
    let single = |kind| Op::single(kind, 5, None);
    let batch = Op { documents: 3, ..Op::single(OpKind::BulkInsert, 7, None) };
    let done: Option<OpResult> = Some(Ok(Reply::default()));
    let mut writer = journal.writer(0, 0);
    for (op, result, rows) in [
        (batch, None, none),
        (batch, done, all),
        (single(OpKind::Create), done, none),
        (single(OpKind::Update), Some(Err(Failure::ServerError)), none),
        (single(OpKind::Delete), done, none),
        (single(OpKind::Read), done, none),
        (single(OpKind::Scan), None, none),
    ] {
        note(&mut writer, &op, result, rows);
    }
    drop(writer);
    let mut notes = Vec::new();
    journal.read(false, |it| notes.push((it.key, it.act, it.fate))).unwrap();
    let expected = [
        (7, Act::Write, Fate::Sent),
        (8, Act::Write, Fate::Sent),
        (9, Act::Write, Fate::Sent),
        (7, Act::Write, Fate::Acknowledged),
        // The third may have been stored: it stays as it was sent.
        (8, Act::Write, Fate::Refused),
        (5, Act::Write, Fate::Acknowledged),
        (5, Act::Write, Fate::Failed),
        (5, Act::Delete, Fate::Acknowledged),
    ];
    assert_eq!(notes, expected);
}

#[test]
fn an_answer_that_lacks_a_write_is_behind_by_its_age_when_it_was_asked_for() {
    let (sink, source) = channel();
    let mut recorder = Recorder::new(0, Nanos::MAX, false, sink);
    let mut written = HashMap::new();
    let (update, scan) = (OpKind::Update, OpKind::Scan);
    for (kind, key, from_ms, done_ms, outdated) in [
        (update, 5, 10, 20, false),
        (scan, 5, 300, 340, true),
        (scan, 5, 400, 440, false),
        // Written before the stage: its age is unknown.
        (scan, 6, 500, 540, true),
    ] {
        let (op, reply) = (Op::single(kind, key, None), Reply { outdated, ..Reply::default() });
        let timing = Timing::between(from_ms * MS, done_ms * MS);
        compare_age(&op, Ok(reply), &timing, &mut written, &mut recorder);
    }
    recorder.finish();
    let interval = source.recv().unwrap();
    let mut ages = Histogram::default();
    ages.record(280 * MS);
    assert_eq!(interval.kind(scan).and_then(|it| it.behind.as_deref()), Some(&ages));
    assert!(interval.kind(update).is_none());
}

#[test]
fn each_node_has_its_documents_of_a_batch_and_one_that_stored_none_is_silent() {
    let (sink, source) = channel();
    let mut recorder = Recorder::new(0, Nanos::MAX, false, sink);
    let watch = Watch::new(0, 8 * SECOND_NS, false, Arc::new(Pulse::new(1)), 0);
    let stored = Ok(Token::default());
    let (lost, conflict) = (Err(Failure::Timeout), Err(Failure::Conflict));
    // The fourth was not sent to any.
    let nodes = [Some(0), Some(1), Some(1), None];
    for (from_ms, done_ms, rows) in [
        (0, 10, [stored; 4]),
        (11, 2_000, [stored, lost, lost, lost]),
        (3_990, 4_000, [conflict, stored, conflict, stored]),
    ] {
        let timing = Timing::between(from_ms * MS, done_ms * MS);
        let single = Sample::single(OpKind::BulkInsert, &timing, Ok(Reply::default()));
        divide(&watch, &nodes, &rows, &Sample { documents: 4, ..single }, &mut recorder);
    }
    recorder.finish();
    let interval = source.recv().unwrap();
    let count = |it: &NodeInterval| {
        let failed = |failure: Failure| it.failures[failure.index()];
        [it.requests, it.ok, failed(Failure::Conflict), failed(Failure::Timeout)]
    };
    let counts: Vec<_> = interval.nodes().iter().map(count).collect();
    assert_eq!(counts, [[3, 2, 1, 0], [3, 3, 1, 2]]);
    let silent_ms = |node: &Silences| -> Vec<u64> {
        node.finish(0).iter().map(|it| (it.length_s * 1e3).round() as u64).collect()
    };
    let silences: Vec<_> = watch.finish(Clock::system()).nodes.iter().map(silent_ms).collect();
    assert_eq!(silences, [[1_989], [3_989]]);
}
