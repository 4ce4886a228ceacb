//! Targets as planned, for any driver.

use super::secrets::LeftOut;
use super::{Binding, Target};
use crate::measure::{Copies, SizePoint};
use crate::mistake::Invalid;
use crate::op::{Kinds, Way};
use crate::words::OperationPlan;
use crate::{
    Card, CompactionPlan, Databases, Opening, Scratch, ServerFacts, TargetAsked, TargetError,
    TargetPlan,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::pin::Pin;

/// A target that has been checked. Serializes without any [`Secret`](crate::Secret).
pub trait DriverPlan: Planned + Clone + PartialEq + Serialize + DeserializeOwned {
    /// The database, ready for load.
    type Target: Target;

    /// The description of the driver.
    const CARD: Card;

    /// How YCSB's command line asks for it; `None` means by its name, with the address in the
    /// property `NAME.url`.
    const BINDING: Option<Binding> = None;

    /// Makes a plan from a request.
    ///
    /// # Errors
    /// Fails if the request is invalid.
    fn check(asked: &TargetAsked) -> Result<Self, Invalid>;

    /// Finds the server, authenticates, finds or creates the database.
    fn open(
        &self,
        opening: &Opening,
    ) -> impl Future<Output = Result<(Self::Target, ServerFacts), TargetError>>;
}

/// What other rooms need to know about the plan of a target, whatever its driver.
pub trait Planned: Debug {
    /// The address of the server without credentials, or of several, separated by commas; `None`
    /// for the stand-in, or if there is no server.
    fn address(&self) -> Option<String> {
        None
    }

    /// The addresses of all nodes, without credentials, if there are several.
    fn nodes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether the server is the stand-in, which the program starts for the run.
    fn is_stand_in(&self) -> bool {
        false
    }

    /// The database that was requested by name.
    fn named_database(&self) -> Option<&str> {
        None
    }

    /// The part of an address, after the servers, that leads to a run's database again, which is
    /// named as in [`ServerFacts`]; `None` if the name itself is enough.
    fn place_of(&self, _database: &str) -> Option<String> {
        None
    }

    /// The noun for the part of the database that a run uses, if it differs from the driver's own.
    fn place_noun(&self) -> Option<&'static str> {
        None
    }

    /// Whether any server that answers is accepted, without checking its certificate.
    fn accepts_any_certificate(&self) -> bool {
        false
    }

    /// Whether its user cannot log in, because the password is not stored.
    fn lacks_password(&self) -> bool {
        false
    }

    /// The secrets that it is stored without, for the agents of a run.
    fn secrets(&self) -> LeftOut {
        LeftOut::new()
    }

    /// What is wrong with a stored plan that may have been edited since; checking an address finds
    /// the same problems.
    fn problem(&self) -> Option<String> {
        None
    }

    /// Whether each request is authenticated separately, which costs the server time.
    fn proves_each_request(&self) -> bool {
        false
    }

    /// The same target, reached through only one of its nodes (numbered from 0), with the database
    /// of that name, which exists and is kept; `None` unless there are several nodes.
    fn through(&self, _node: usize, _database: &str) -> Option<TargetPlan> {
        None
    }

    /// Whether the load can take a [`Detour`](crate::Detour) to one of the nodes.
    fn has_detours(&self) -> bool {
        false
    }

    /// Whether a node can be put into maintenance mode, in which it serves no documents.
    fn has_maintenance(&self) -> bool {
        false
    }

    /// The maintenance mode of a node (numbered from 0); `None` if it is not set.
    ///
    /// # Errors
    /// Fails if the mode cannot be read.
    fn maintained<'a>(
        &'a self,
        _: &'a Opening,
        _node: usize,
    ) -> Local<'a, Result<Option<String>, TargetError>> {
        Box::pin(async { Err(TargetError("there is no maintenance mode".to_owned())) })
    }

    /// Sets the maintenance mode of a node (numbered from 0); `None` resets it, as if it had never
    /// been set.
    ///
    /// # Errors
    /// Fails if it could not be set.
    fn maintain<'a>(
        &'a self,
        _: &'a Opening,
        _node: usize,
        _mode: Option<&'a str>,
    ) -> Local<'a, Result<(), TargetError>> {
        Box::pin(async { Err(TargetError("there is no maintenance mode".to_owned())) })
    }

    /// Compares the copies of a database on the nodes of a cluster. `None` if there is only one
    /// copy of each document, or the server cannot be asked for them.
    ///
    /// # Errors
    /// Fails if they could not be compared.
    fn copies<'a>(
        &'a self,
        _: &'a Opening,
        _database: &'a str,
    ) -> Local<'a, Result<Option<Copies>, TargetError>> {
        Box::pin(async { Ok(None) })
    }

    /// Whether operations are printed as lines of text.
    fn shows(&self) -> bool {
        false
    }

    /// The operations that it can do, if the plan leaves fewer than the driver has.
    fn operations(&self) -> Option<Kinds> {
        None
    }

    /// Checks an operation that the plan defines. Returns the contents of its holes.
    ///
    /// # Errors
    /// Fails if the operation is invalid.
    fn spell(&self, operation: &OperationPlan) -> Result<Vec<String>, Invalid> {
        let flag = super::words::flag_of(operation.name.name());
        let problem = "this driver has no words for operations of your own";
        Err(Invalid::new(flag, problem, super::words::drivers_words()))
    }

    /// The databases over which the load is spread, if there are many.
    fn databases(&self) -> Option<Databases> {
        None
    }

    /// Whether the run's database will be partitioned, if the run creates it and the database has
    /// partitions at all.
    fn partitioned(&self) -> Option<bool> {
        None
    }

    /// How compaction is handled.
    fn compaction(&self) -> CompactionPlan {
        CompactionPlan::Auto
    }

    /// How many indexes are built before the load;
    /// [`OpKind::IndexBuild`](crate::op::OpKind::IndexBuild) builds the one whose number is the
    /// operation's key.
    fn indexes(&self) -> u64 {
        0
    }

    /// The names of the indexes whose rows an audit checks, every one;
    /// [`OpKind::IndexAudit`](crate::op::OpKind::IndexAudit) lists the documents of the index whose
    /// number is the operation's key.
    fn audited(&self) -> Vec<String> {
        Vec::new()
    }

    /// The ways in which it can look for a document that was just stored.
    fn ways(&self) -> &'static [Way] {
        &[]
    }

    /// File descriptors that each connection needs.
    fn descriptors(&self) -> u64 {
        1
    }

    /// How many sessions of a thread share a connection.
    fn sharing(&self) -> u64 {
        1
    }

    /// The warning about writes that were accepted but not yet stored as they should be; it follows
    /// their number and kind.
    fn accepted_words(&self) -> &'static str {
        "were answered 202: not yet on a quorum of nodes"
    }

    /// YCSB's return code for such writes.
    fn accepted_code(&self) -> &'static str {
        "OK"
    }

    /// The scratch databases on the server, sorted by name, whichever run made them; `None` if the
    /// driver does not look for them.
    ///
    /// # Errors
    /// Fails if the target cannot be used.
    fn scratches<'a>(
        &'a self,
        _: &'a Opening,
    ) -> Local<'a, Result<Option<Vec<Scratch>>, TargetError>> {
        Box::pin(async { Ok(None) })
    }

    /// Removes some of the scratch databases.
    ///
    /// # Errors
    /// Fails if one of them could not be removed.
    fn remove_scratches<'a>(
        &'a self,
        _: &'a Opening,
        _: &'a [Scratch],
    ) -> Local<'a, Result<(), TargetError>> {
        Box::pin(async { Ok(()) })
    }

    /// Facts about it for reports: names and values.
    fn facts(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

/// A future on the caller's thread, in a box.
pub type Local<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// The size of a database at one time; the caller fills in the time.
pub type Size = SizePoint;

/// Whether a header, `Name: value`, has that name.
pub(super) fn is_named(header: &str, name: &str) -> bool {
    header.split(':').next().is_some_and(|own| own.trim().eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use crate::{CARDS, TargetPlan};

    #[test]
    fn cards_have_the_names_that_plans_are_stored_with() {
        for card in CARDS {
            let stored = serde_json::json!({
                "driver": card.name, "server": null, "user": null, "auth": "cookie", "tls_ca": null,
                "database": {"kind": "scratch", "keep": false}
            });
            let stored = match card.name {
                "http" => serde_json::json!({"driver": "http", "server": "http://h"}),
                "mongodb" => serde_json::json!({
                    "driver": "mongodb", "server": "mongodb://h", "user": null, "tls_ca": null,
                    "parent": "ycsb", "database": {"kind": "scratch", "keep": false}
                }),
                "cassandra" => serde_json::json!({
                    "driver": "cassandra", "server": "cassandra://h", "user": null, "parent": "ycsb",
                    "database": {"kind": "scratch", "keep": false}, "replication": 1, "pool": 1,
                    "read_consistency": "ONE", "write_consistency": "LOCAL_QUORUM"
                }),
                name @ ("redis" | "infinispan") => serde_json::json!({
                    "driver": name, "server": "redis://h:1", "user": null, "tls_ca": null,
                    "database": {"kind": "existing", "name": "0"}, "index": true
                }),
                "ycsb_java" => serde_json::json!({
                    "driver": "ycsb_java", "class": "a.B", "table": "t", "binding_properties": {"a": "b"}
                }),
                _ => stored,
            };
            let plan: TargetPlan = serde_json::from_value(stored).unwrap();
            assert_eq!(plan.card().name, card.name);
            let again = serde_json::to_value(&plan).unwrap();
            let named = again.get("driver").and_then(|name| name.as_str());
            assert_eq!(named.unwrap_or("couch_db"), card.name);
            assert_eq!(serde_json::from_value::<TargetPlan>(again).unwrap(), plan);
        }
        let unknown = serde_json::from_value::<TargetPlan>(serde_json::json!({"driver": "x"}));
        assert!(unknown.unwrap_err().to_string().contains("no driver \"x\""));
    }

    #[test]
    fn records_of_before_there_were_other_drivers_are_read() {
        let stored = serde_json::json!({
            "server": "http://h:1", "user": "ann", "auth": "basic", "tls_ca": null,
            "database": {"kind": "existing", "name": "db"}
        });
        let plan: TargetPlan = serde_json::from_value(stored).unwrap();
        assert_eq!(plan.card().name, "couch_db");
        assert_eq!(plan.address().as_deref(), Some("http://h:1"));
        assert_eq!(plan.named_database(), Some("db"));
        assert!(plan.proves_each_request());
    }
}
