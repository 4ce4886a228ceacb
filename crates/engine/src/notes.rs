//! Notes about writes: for the journal, for followed changes, for answers of an index that may lack
//! them, and for the nodes among which a batch was divided.

use super::watch::Watch;
use crate::clock::Nanos;
use crate::journal::{Act, Fate, JournalEntry, Writer};
use crate::measure::{Ack, Recorder, Sample, Timing, document_hash};
use crate::op::{Certainty, Class, Failure, Key, Op, Reply, Token};
use std::collections::{BTreeMap, HashMap};

pub(super) type OpResult = Result<Reply, Failure>;

/// Notes that a write is about to be sent, or what became of it. If there was no answer, nothing is
/// added to the first note: the write may have been carried out.
pub(super) fn note(
    journal: &mut Writer,
    op: &Op,
    result: Option<OpResult>,
    rows: &[Result<Token, Failure>],
) {
    let act = match op.kind.class() {
        Class::Batch | Class::Create | Class::Update => Act::Write,
        Class::Delete => Act::Delete,
        _ => return,
    };
    for (place, key) in (op.key..op.key + u64::from(op.documents)).enumerate() {
        // If the request as a whole succeeded, each of several documents has its own row.
        let row = rows.get(place).map(|row| row.map(Some));
        let of_document = result.map(|it| it.and_then(|it| row.unwrap_or(Ok(it.token))));
        let (fate, token) = match of_document {
            None => (Fate::Sent, None),
            Some(Ok(token)) => (Fate::Acknowledged, token),
            Some(Err(failure)) => match failure.certainty() {
                Certainty::NotDone => (Fate::Refused, None),
                Certainty::Failed => (Fate::Failed, None),
                Certainty::Unknown => continue,
            },
        };
        let token = token.unwrap_or_default();
        journal.add(&JournalEntry { key, act, fate, version: op.version, token });
    }
}

/// Reports acknowledged writes, for comparison with followed changes.
#[cold]
pub(super) fn acknowledge(
    op: &Op,
    names: &[u8],
    result: OpResult,
    rows: &[Result<Token, Failure>],
    recorder: &mut Recorder,
    done: Nanos,
) {
    let Ok(reply) = result else { return };
    if !op.kind.class().writes() {
        return;
    }
    for (place, name) in names.split(|&byte| byte == 0).enumerate() {
        let row = rows.get(place).map(|row| row.ok());
        if let Some(token) = row.unwrap_or(reply.token) {
            let document = document_hash(name);
            recorder.acknowledge(Ack { document, number: token.number, done });
        }
    }
}

/// Notes when a document was written, or the age of the write that an answer lacks.
#[cold]
pub(super) fn compare_age(
    op: &Op,
    result: OpResult,
    timing: &Timing,
    written: &mut HashMap<Key, Nanos>,
    recorder: &mut Recorder,
) {
    let Ok(reply) = result else { return };
    if op.kind.class().writes() {
        written.insert(op.key, timing.done);
    } else if reply.outdated
        && let Some(done) = written.get(&op.key)
    {
        let asked = timing.done - timing.service_ns;
        recorder.behind(op.kind, asked.saturating_sub(*done));
    }
}

/// Records a batch whose documents went to several nodes, for each of these nodes. If there was no
/// answer to the batch, there are no `rows`.
#[cold]
pub(super) fn divide(
    watch: &Watch,
    nodes: &[Option<usize>],
    rows: &[Result<Token, Failure>],
    batch: &Sample<'_>,
    recorder: &mut Recorder,
) {
    let mut parts = BTreeMap::<usize, (u32, [u32; Failure::COUNT])>::new();
    for (row, node) in nodes.iter().enumerate() {
        let Some(node) = *node else { continue };
        let (documents, failures) = parts.entry(node).or_insert((0, [0; Failure::COUNT]));
        *documents += 1;
        if let Some(Err(failure)) = rows.get(row) {
            failures[failure.index()] += 1;
        }
    }
    for (node, (documents, failures)) in parts {
        let row_failures = (!rows.is_empty()).then_some(&failures);
        recorder.record_node(node, &Sample { documents, row_failures, ..*batch });
        // A node that does not answer has stored none of its documents, even if other nodes have.
        let lost = [Failure::Unanswered, Failure::Timeout, Failure::Reset];
        let lost = lost.into_iter().find(|it| failures[it.index()] == documents);
        watch.ended_at(node, batch.result.err().or(lost), batch.timing);
    }
}

#[cfg(test)]
#[path = "notes_tests.rs"]
mod tests;
