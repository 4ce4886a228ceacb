//! What followers of a database's changes received, and how long after each write.
//!
//! A feed need not contain every change of a document: of several in a row, it may contain only the
//! last. So a change only counts as missing if neither it nor a later change of the same document
//! arrived.

use super::histogram::Histogram;
use super::is_default;
use super::latency::Latency;
use crate::clock::{Nanos, SECOND_NS};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher as _};

/// How long before the acknowledgement of its write is known a change may arrive: acknowledgements
/// are reported once a second, those of agents a little later.
const REPORTED_WITHIN_NS: Nanos = 10 * SECOND_NS;
/// The most acknowledged writes whose changes are awaited; about 100 MB.
const MOST_AWAITED: usize = 2_000_000;

/// What followers of the changes feed received in a stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Following {
    /// Writes that were acknowledged.
    pub acknowledged: u64,
    /// The number of different documents that these writes changed.
    pub documents: u64,
    /// The results for each node's followers.
    pub by: Vec<FollowedBy>,
    /// How late the followers' own thread woke up from sleeps of ten milliseconds: measured times
    /// may be too long by this much.
    pub own_delay: Latency,
}

/// What the followers of one node, or all followers, received.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FollowedBy {
    /// The node, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The number of followers.
    pub followers: u64,
    /// Changes received, including those made by other clients.
    pub changes: u64,
    /// Changes received again, or after a newer change of the same document.
    pub repeated: u64,
    /// Changes received before their write was acknowledged. Their time counts as zero.
    pub early: u64,
    /// Changes that a feed had still not delivered ten seconds after the end, but that the follower
    /// got when it requested all remaining changes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub undelivered: u64,
    /// The number of documents, summed over followers, whose last acknowledged change the follower
    /// did not receive, nor any later one; with a filter, only those that another follower
    /// received. `None` if unknown: some followers could not read to the end and the others missed
    /// none, or there is only one follower, with a filter.
    pub missing: Option<u64>,
    /// How often a feed was interrupted, or could not be opened, and was resumed after the last
    /// change received.
    #[serde(default, skip_serializing_if = "is_default")]
    pub resumed: u64,
    /// The first error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The time from the acknowledgement of a write to the arrival of its change.
    pub lag: Latency,
}

impl Following {
    /// Documents with a missing change, over all followers.
    pub fn missing(&self) -> u64 {
        self.by.iter().filter_map(|by| by.missing).sum()
    }
}

/// An acknowledged write, with what is needed to match changes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ack {
    /// The document: the [`document_hash`] of its identifier.
    pub document: u64,
    /// Which of the document's changes it was: an increasing number.
    pub number: u32,
    /// When it was acknowledged.
    pub done: Nanos,
}

/// A hash of an identifier, the same in every process of one version of springload.
pub fn document_hash(id: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(id);
    hasher.finish()
}

/// A change as received: the document, the number of its [`Ack`], and the time of its arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The document, as in [`Ack`].
    pub document: u64,
    /// Which of the document's changes it is.
    pub number: u32,
    /// When it arrived; `None` if it came not from the feed, but when the rest was requested at the
    /// end.
    pub at: Option<Nanos>,
}

/// A change, as the document's index in the tables and the number of the change.
type NumberedChange = (u32, u32);

/// The changes that one follower received.
#[derive(Debug, Default)]
struct ReceivedChanges {
    /// For each document, the highest number that arrived.
    last: Vec<u32>,
    /// Changes whose write may still be acknowledged.
    waiting: Vec<(NumberedChange, Nanos)>,
    changes: u64,
    repeated: u64,
    early: u64,
    undelivered: u64,
    lag: Histogram,
}

impl ReceivedChanges {
    fn last(&self, document: u32) -> u32 {
        self.last.get(document as usize).copied().unwrap_or(0)
    }
}

/// Compares what the followers receive with what was acknowledged.
#[derive(Debug)]
pub struct Follows {
    filtered: bool,
    documents: HashMap<u64, u32>,
    /// For each document, the highest number that was acknowledged.
    due: Vec<u32>,
    awaited: HashMap<NumberedChange, Nanos>,
    /// The size of `awaited` at which writes that no follower is waiting for are next removed.
    prune_at: usize,
    acknowledged: u64,
    followers: Vec<ReceivedChanges>,
}

impl Follows {
    /// A comparison for this many followers; `filtered` if they receive only some of the changes.
    pub fn new(followers: usize, filtered: bool) -> Self {
        Self {
            filtered,
            documents: HashMap::new(),
            due: Vec::new(),
            awaited: HashMap::new(),
            prune_at: 10_000,
            acknowledged: 0,
            followers: std::iter::repeat_with(ReceivedChanges::default).take(followers).collect(),
        }
    }

    fn place(&mut self, document: u64) -> u32 {
        let next = self.documents.len() as u32;
        *self.documents.entry(document).or_insert(next)
    }

    /// Notes acknowledged writes.
    pub fn acknowledge(&mut self, acks: &[Ack]) {
        for ack in acks {
            let document = self.place(ack.document);
            let at = document as usize;
            if self.due.len() <= at {
                self.due.resize(at + 1, 0);
            }
            self.due[at] = self.due[at].max(ack.number);
            self.acknowledged += 1;
            if self.awaited.len() < MOST_AWAITED {
                self.awaited.insert((document, ack.number), ack.done);
            }
        }
    }

    /// Notes a change that a follower received.
    pub fn receive(&mut self, follower: usize, change: Change) {
        let document = self.place(change.document);
        let seen = &mut self.followers[follower];
        let at = document as usize;
        if seen.last.len() <= at {
            seen.last.resize(at + 1, 0);
        }
        seen.changes += 1;
        if seen.last[at] >= change.number {
            seen.repeated += 1;
            return;
        }
        seen.last[at] = change.number;
        match change.at {
            Some(at) => seen.waiting.push(((document, change.number), at)),
            None => seen.undelivered += 1,
        }
    }

    /// Times the changes whose write is known to be acknowledged.
    pub fn compare(&mut self, now: Nanos) {
        for seen in &mut self.followers {
            let ReceivedChanges { waiting, lag, early, .. } = seen;
            waiting.retain(|(place, at)| match self.awaited.get(place) {
                Some(done) => {
                    *early += u64::from(at < done);
                    lag.record(at.saturating_sub(*done));
                    false
                }
                None => at + REPORTED_WITHIN_NS > now,
            });
        }
        if self.awaited.len() >= self.prune_at {
            let Self { followers, awaited, .. } = self;
            awaited.retain(|&(document, number), done| {
                // A filter may withhold it for ever.
                let young = *done + REPORTED_WITHIN_NS > now;
                young || !self.filtered && followers.iter().any(|seen| seen.last(document) < number)
            });
            self.prune_at = (2 * self.awaited.len()).max(10_000);
        }
    }

    /// Whether everything that was acknowledged has reached every follower.
    pub fn is_complete(&self) -> bool {
        (0..self.followers.len()).all(|follower| self.missing(follower).next().is_none())
    }

    /// The documents with a change that has not reached this follower.
    fn missing(&self, follower: usize) -> impl Iterator<Item = u32> {
        let missing = (0u32..).zip(&self.due).filter(move |(document, due)| {
            let came = |seen: &ReceivedChanges| seen.last(*document) >= **due;
            !came(&self.followers[follower]) && (!self.filtered || self.followers.iter().any(came))
        });
        missing.map(|(document, _)| document)
    }

    /// The number of acknowledged writes, and of the documents that they wrote.
    pub fn acknowledged(&self) -> (u64, u64) {
        let documents = self.due.iter().filter(|due| **due > 0).count();
        (self.acknowledged, documents as u64)
    }

    /// Adds what a follower received to the sum of its node; `to_the_end` if the follower has read
    /// everything that was left.
    pub fn sum(&self, follower: usize, to_the_end: bool, sum: &mut FollowedSum) {
        let seen = &self.followers[follower];
        sum.by.followers += 1;
        sum.by.changes += seen.changes;
        sum.by.repeated += seen.repeated;
        sum.by.early += seen.early;
        sum.by.undelivered += seen.undelivered;
        sum.lag.merge(&seen.lag);
        if to_the_end && !(self.filtered && self.followers.len() == 1) {
            sum.missing += self.missing(follower).count() as u64;
        } else {
            sum.unknown = true;
        }
    }
}

/// The sum of several followers.
#[derive(Debug, Default)]
pub struct FollowedSum {
    by: FollowedBy,
    lag: Histogram,
    missing: u64,
    unknown: bool,
}

impl FollowedSum {
    /// Adds how often a feed was resumed, and the reason for the first time.
    pub fn resumed(&mut self, times: u64, reason: Option<&String>) {
        self.by.resumed += times;
        if self.by.reason.is_none() {
            self.by.reason = reason.cloned();
        }
    }

    /// The sum, for this node.
    pub fn finish(self, node: Option<String>) -> FollowedBy {
        let known = !self.unknown || self.missing > 0;
        let missing = known.then_some(self.missing);
        FollowedBy { node, missing, lag: Latency::new(self.lag), ..self.by }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    const fn ack(document: u64, number: u32, done: Nanos) -> Ack {
        Ack { document, number, done }
    }

    fn came(follows: &mut Follows, follower: usize, (document, number): (u64, u32), at: Nanos) {
        follows.receive(follower, Change { document, number, at: Some(at) });
    }

    fn summed(follows: &Follows, follower: usize) -> FollowedBy {
        let mut sum = FollowedSum::default();
        follows.sum(follower, true, &mut sum);
        sum.finish(None)
    }

    #[test]
    fn times_are_from_the_acknowledgement_whichever_is_known_first() {
        let mut follows = Follows::new(1, false);
        came(&mut follows, 0, (1, 1), 30 * MS);
        follows.compare(40 * MS);
        follows.acknowledge(&[ack(1, 1, 10 * MS), ack(2, 1, 50 * MS)]);
        came(&mut follows, 0, (2, 1), 49 * MS);
        follows.compare(60 * MS);
        let by = summed(&follows, 0);
        assert_eq!((by.changes, by.early, by.missing), (2, 1, Some(0)));
        assert_eq!((by.lag.samples, by.lag.min_us), (2, 0.0));
        assert!((by.lag.max_us - 20_000.0).abs() < 100.0, "{}", by.lag.max_us);
    }

    #[test]
    fn a_later_change_stands_for_those_before_it_and_what_never_came_is_missing() {
        let mut follows = Follows::new(2, false);
        follows.acknowledge(&[ack(1, 1, 1), ack(1, 2, 2), ack(2, 1, 3), ack(3, 1, 4)]);
        assert_eq!(follows.acknowledged(), (4, 3));
        for change in [(1, 2), (2, 1), (3, 1)] {
            came(&mut follows, 0, change, 5);
        }
        // The other follower lacks the last change of document 1, and gets that of document 3 three
        // times.
        for change in [(1, 1), (2, 1), (3, 1), (3, 1), (3, 1)] {
            came(&mut follows, 1, change, 5);
        }
        assert!(!follows.is_complete());
        follows.compare(6);
        let [first, second] = [0, 1].map(|follower| summed(&follows, follower));
        assert_eq!((first.missing, first.repeated, first.lag.samples), (Some(0), 0, 3));
        assert_eq!((second.missing, second.repeated), (Some(1), 2));
        // The change arrives when the rest is requested.
        follows.receive(1, Change { document: 1, number: 2, at: None });
        assert!(follows.is_complete());
        let second = summed(&follows, 1);
        assert_eq!((second.missing, second.undelivered), (Some(0), 1));
    }

    #[test]
    fn a_change_that_comes_with_its_acknowledgement_is_not_early() {
        let mut follows = Follows::new(1, false);
        follows.acknowledge(&[ack(1, 1, 10 * MS)]);
        came(&mut follows, 0, (1, 1), 10 * MS);
        follows.compare(20 * MS);
        let by = summed(&follows, 0);
        assert_eq!((by.early, by.lag.samples, by.lag.min_us), (0, 1, 0.0));
    }

    #[test]
    fn documents_of_others_are_neither_acknowledged_nor_missing() {
        let mut follows = Follows::new(2, false);
        came(&mut follows, 0, (7, 3), 5);
        follows.acknowledge(&[ack(1, 1, 1)]);
        assert_eq!(follows.acknowledged(), (1, 1));
        assert_eq!([0, 1].map(|it| summed(&follows, it).missing), [Some(1), Some(1)]);
        assert_ne!(document_hash(b"7"), document_hash(b"1"));
        assert_eq!(document_hash(b"7"), document_hash(b"7"));
    }

    #[test]
    fn an_older_change_after_a_newer_one_is_a_repetition() {
        let mut follows = Follows::new(1, false);
        for change in [(1, 2), (1, 1), (1, 3)] {
            came(&mut follows, 0, change, 5);
        }
        assert_eq!(summed(&follows, 0).repeated, 1);
    }

    #[test]
    fn of_filtered_changes_only_those_are_missing_that_another_follower_received() {
        let mut follows = Follows::new(2, true);
        follows.acknowledge(&[ack(1, 1, 1), ack(2, 1, 1), ack(3, 2, 1)]);
        came(&mut follows, 0, (1, 1), 5);
        // It is not known whether the filter passes the last change of document 3.
        came(&mut follows, 0, (3, 1), 5);
        assert_eq!([0, 1].map(|it| summed(&follows, it).missing), [Some(0), Some(1)]);
        came(&mut follows, 1, (1, 1), 6);
        assert!(follows.is_complete());
        // A single follower has no other to be compared with.
        let alone = Follows::new(1, true);
        assert_eq!(summed(&alone, 0).missing, None);
    }

    #[test]
    fn what_could_not_be_read_to_the_end_is_not_judged_unless_something_is_missing() {
        let mut follows = Follows::new(2, false);
        follows.acknowledge(&[ack(1, 1, 1)]);
        came(&mut follows, 0, (1, 1), 5);
        let sum = |ends: [bool; 2]| {
            let mut sum = FollowedSum::default();
            follows.sum(0, ends[0], &mut sum);
            follows.sum(1, ends[1], &mut sum);
            sum.finish(Some("a".to_owned()))
        };
        assert_eq!(sum([true, false]).missing, None);
        assert_eq!(sum([false, true]).missing, Some(1));
    }

    #[test]
    fn what_nobody_waits_for_is_forgotten() {
        let mut follows = Follows::new(1, false);
        let writes = |from: u64| (from..from + 10_000).map(|it| ack(it, 1, it));
        follows.acknowledge(&writes(0).collect::<Vec<_>>());
        for document in 0..9_000 {
            came(&mut follows, 0, (document, 1), 1);
        }
        follows.compare(REPORTED_WITHIN_NS - 1);
        assert_eq!(follows.awaited.len(), 10_000, "agents may tell of them yet");
        follows.prune_at = 0;
        follows.compare(2 * REPORTED_WITHIN_NS);
        assert_eq!(follows.awaited.len(), 1_000, "those that have not come");
        assert_eq!(summed(&follows, 0).lag.samples, 9_000);
        // A change without an acknowledged write is not kept for ever.
        came(&mut follows, 0, (77_777, 1), 2 * REPORTED_WITHIN_NS);
        follows.compare(4 * REPORTED_WITHIN_NS);
        assert!(follows.followers[0].waiting.is_empty());
    }
}
