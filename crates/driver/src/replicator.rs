//! Replication: servers copy documents from one database to another.

use super::{Local, TargetError};
use serde_json::Value;
use std::fmt;

/// A database as the replicating server reaches it: its address, with credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct ReplicaEnd(pub(crate) Value);

impl fmt::Debug for ReplicaEnd {
    /// Shows nothing: there may be a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReplicaEnd")
    }
}

/// The state of a replication, as reported by a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplicationState {
    /// Its state, as the server names it.
    pub name: String,
    /// What that means.
    pub phase: ReplicationPhase,
    /// What went wrong, in the server's words.
    pub reason: Option<String>,
    /// Documents that it has written to the target, if the server says so.
    pub written: Option<u64>,
    /// Writes that the target refused, if the server says so: one for each revision.
    pub write_failures: Option<u64>,
    /// How far it has got in the changes of its source, if the server says so: everything up to
    /// there was written or refused.
    pub through: Option<String>,
}

/// How far a replication has got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplicationPhase {
    /// It has not begun.
    #[default]
    Waiting,
    /// It is running, or has finished.
    Running,
    /// It failed, and the server will try again.
    Failing,
    /// It failed for good.
    Failed,
}

/// How many documents a database has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DocumentCount {
    /// Documents.
    pub documents: u64,
    /// Deleted documents that are still on record.
    pub deleted: u64,
}

impl DocumentCount {
    /// Whether these counts are enough to include all of `others`. They may be higher: what is
    /// written further along a chain does not come back.
    pub const fn covers(self, others: Self) -> bool {
        self.documents >= others.documents && self.deleted >= others.deleted
    }

    /// Both together.
    pub const fn all(self) -> u64 {
        self.documents.saturating_add(self.deleted)
    }
}

/// A document as its database shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replicated {
    /// Its identifier.
    pub id: String,
    /// The revision that it is shown in.
    pub rev: String,
    /// Whether it is deleted.
    pub deleted: bool,
}

/// A page of changed documents, and where the next page begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplicatedPage {
    /// Each with its last revision.
    pub documents: Vec<Replicated>,
    /// Where the next page begins.
    pub next: String,
}

/// One connection to a database that takes part in a replication, and to its server.
///
/// # Errors
/// All methods fail if the server does not answer as it should, in words for the user.
pub trait Replicator {
    /// The database as the servers reach it.
    fn end(&self) -> ReplicaEnd;

    /// The identifiers of the documents that come with the plan, such as design documents. One that
    /// takes several writes is there once for each.
    fn brought(&self) -> Vec<String> {
        Vec::new()
    }

    /// Checks that this server can be asked to replicate.
    fn ready(&mut self) -> Local<'_, Result<(), TargetError>>;

    /// Has this server replicate continuously from `source` to `target`. The replication is called
    /// `name`, as from [`scratch_name`](crate::scratch_name).
    fn start<'a>(
        &'a mut self,
        name: &'a str,
        source: &'a ReplicaEnd,
        target: &'a ReplicaEnd,
    ) -> Local<'a, Result<(), TargetError>>;

    /// The state of the replication.
    fn state<'a>(&'a mut self, name: &'a str) -> Local<'a, Result<ReplicationState, TargetError>>;

    /// Ends the replication, and has the server forget it.
    fn stop<'a>(&'a mut self, name: &'a str) -> Local<'a, Result<(), TargetError>>;

    /// Stores a document. Returns its revision once the server has acknowledged it.
    fn store<'a>(&'a mut self, id: &'a str) -> Local<'a, Result<String, TargetError>>;

    /// Deletes documents with these identifiers and revisions. Returns how many were deleted.
    fn remove<'a>(
        &'a mut self,
        documents: &'a [(String, String)],
    ) -> Local<'a, Result<u64, TargetError>>;

    /// Looks up documents. Returns one entry per identifier, in order; `None` for a document that
    /// does not exist.
    fn find<'a>(
        &'a mut self,
        ids: &'a [String],
    ) -> Local<'a, Result<Vec<Option<Replicated>>, TargetError>>;

    /// The indexes of those documents that the database does not have in that revision.
    fn unknown<'a>(
        &'a mut self,
        documents: &'a [Replicated],
    ) -> Local<'a, Result<Vec<usize>, TargetError>>;

    /// How many documents it has.
    fn count(&mut self) -> Local<'_, Result<DocumentCount, TargetError>>;

    /// The documents that have changed since `after`; an empty `after` means from the beginning. An
    /// empty page means that there are no more.
    fn changed<'a>(&'a mut self, after: &'a str) -> Local<'a, Result<ReplicatedPage, TargetError>>;
}

#[cfg(test)]
mod tests {
    use super::DocumentCount;

    #[test]
    fn a_target_with_markers_of_its_own_may_have_everything_and_one_with_fewer_may_not() {
        let count = |documents, deleted| DocumentCount { documents, deleted };
        assert!(count(9, 3).covers(count(9, 3)));
        assert!(count(14, 3).covers(count(9, 3)));
        assert!(!count(8, 3).covers(count(9, 3)));
        assert!(!count(14, 2).covers(count(9, 3)));
    }
}
