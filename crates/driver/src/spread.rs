//! A load that is spread over many databases: which of them a document is in.

use crate::Scratch;
use crate::generate::{below, mix};
use crate::op::{Key, grouped};
use serde::{Deserialize, Serialize};

/// Keeps the draws apart from other uses of a seed.
const ROUNDS: u64 = u64::from_be_bytes(*b"database");

/// The databases over which the documents of a run are spread. A document's number alone determines
/// its database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spread {
    /// The number of databases.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = Self::MOST)))]
    pub count: u32,
    /// The number of documents that are stored first.
    pub documents: u64,
    /// How many of these documents one request stores, all in the same database.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub batch: u32,
}

impl Spread {
    /// The most databases: their numbers have five digits, from 0 on, and one more is tried first.
    pub const MOST: u32 = 99_999;

    /// The number of the database that has the document with this number.
    ///
    /// Requests of the fill, and later documents one by one, go through all databases in turn, so
    /// that each gets as much as any other. Each turn begins at a different database: otherwise
    /// connections whose positions differ by a multiple of the number of databases would all be at
    /// the same one.
    #[inline]
    pub fn database(&self, key: Key) -> u32 {
        let count = u64::from(self.count.max(1));
        let turn = if key < self.documents { key / u64::from(self.batch.max(1)) } else { key };
        let (round, place) = (turn / count, turn % count);
        let number = place + below(mix(ROUNDS, round, 0), count);
        (if number < count { number } else { number - count }) as u32
    }

    /// What is wrong with it.
    pub fn problem(&self) -> Option<String> {
        let Self { count, documents, batch } = *self;
        if count == 0 || count > Self::MOST {
            return Some(format!("{count} databases; there can be 1 to {}", Self::MOST));
        }
        (batch == 0).then(|| format!("{documents} documents in requests of none"))
    }
}

/// The databases of a run with many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Databases {
    /// How documents are spread over them.
    pub spread: Spread,
    /// Whether the run creates them.
    pub made: bool,
    /// Whether it removes them at the end.
    pub removed: bool,
    /// Whether their names are springload's own, which no other program gives.
    pub own_names: bool,
}

/// The separator between a name and the number of each database: springload's own names have no
/// other separators.
pub(crate) fn joint(name: &str) -> char {
    if Scratch::of_name(name).is_some() { '_' } else { '-' }
}

impl Databases {
    /// All of them in words, if they are called `name`.
    pub fn called(&self, name: &str) -> String {
        format!("{name}{}*, {} in all", joint(name), self.spread.count)
    }
}

/// The number of shards of many databases on a node, and how many of them it keeps open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpenShards {
    /// The number of shards of all databases on one node.
    pub needed: u64,
    /// The maximum number of shards that the node keeps open at once.
    pub limit: u64,
    /// The number of shards of one database.
    pub q: u64,
}

impl OpenShards {
    /// The warning to give if there are too many of these; `None` if there are not.
    pub fn warning(&self) -> Option<String> {
        let Self { needed, limit, q } = *self;
        if needed <= limit {
            return None;
        }
        let fewer = if q > 1 { ", or create databases of fewer shards with ?q=1" } else { "" };
        Some(format!(
            "the databases have {} shards on each node, which keeps at most {} open: it will \
             close and open files all the time, and may answer 500; raise [couchdb] \
             max_dbs_open{fewer}",
            grouped(needed),
            grouped(limit),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn a_request_of_the_fill_has_one_database_and_each_database_its_share() {
        let spread = Spread { count: 30, documents: 30 * 4 * 7, batch: 7 };
        let mut documents = BTreeMap::<u32, u64>::new();
        for first in (0..spread.documents).step_by(7) {
            let of_request: BTreeSet<_> =
                (first..first + 7).map(|key| spread.database(key)).collect();
            assert_eq!(of_request.len(), 1, "from {first} on");
            *documents.entry(spread.database(first)).or_default() += 7;
        }
        assert!((0..30).all(|number| documents[&number] == 28), "{documents:?}");
        // Later documents come one by one.
        let later: BTreeSet<_> = (900..930).map(|key| spread.database(key)).collect();
        assert_eq!(later.len(), 30);
    }

    /// 50 connections, each with 20 requests of its own: 20 is a multiple of 10 databases.
    #[test]
    fn connections_are_not_all_at_the_same_database() {
        let spread = Spread { count: 10, documents: 100_000, batch: 100 };
        for step in 0..20 {
            let at: BTreeSet<_> = (0..50).map(|k| spread.database((k * 20 + step) * 100)).collect();
            assert!(at.len() >= 8, "{at:?}");
        }
    }

    /// Documents of stored runs are found later by the same rule.
    #[test]
    fn the_rule_never_changes() {
        let spread = Spread { count: 300, documents: 9_000, batch: 10 };
        let found =
            [0, 10, 2_990, 3_000, 8_999, 9_000, 123_456_789].map(|key| spread.database(key));
        assert_eq!(found, [161, 162, 160, 16, 48, 78, 138]);
    }

    #[test]
    fn too_many_shards_are_reported_with_their_cure_and_others_are_not() {
        let warning = |needed, q| OpenShards { needed, limit: 500, q }.warning();
        assert_eq!(warning(500, 2), None);
        let message = warning(501, 2).unwrap();
        assert!(message.contains("501 shards") && message.contains("at most 500"), "{message}");
        assert!(message.ends_with("max_dbs_open, or create databases of fewer shards with ?q=1"));
        assert!(warning(501, 1).unwrap().ends_with("max_dbs_open"), "there are no fewer");
    }

    #[test]
    fn what_no_run_can_have_is_reported() {
        let spread = |count, batch| Spread { count, documents: 1, batch };
        assert_eq!(spread(99_999, 1).problem(), None);
        assert!(spread(0, 1).problem().is_some() && spread(100_000, 1).problem().is_some());
        assert!(spread(1, 0).problem().is_some());
        assert_eq!(spread(1, 1).database(u64::MAX), 0);
    }
}
