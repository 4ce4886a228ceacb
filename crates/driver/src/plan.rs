//! Targets as requested and as planned, and what is known about a driver.

use super::address::redact;
use super::options::{Unread, read};
use super::secrets::LeftOut;
use super::{Binding, Target};
use crate::measure::{Copies, SizePoint};
use crate::mistake::Invalid;
use crate::net::{CertificateError, TlsOptions};
use crate::op::{Feature, Kinds, OpKind, Way};
use crate::words::{OperationPlan, Word};
use crate::{
    CompactionPlan, Databases, Nouns, Opening, Scratch, ServerFacts, Setting, TargetError,
    TargetPlan,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt::Debug;
use std::pin::Pin;

/// What is known about a driver before anything is planned.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own, read by name")]
pub struct Card {
    /// The name in plans and records.
    pub name: &'static str,
    /// The schemes of its addresses. The driver's name alone is an address, too: of no server, or
    /// of one that the driver starts itself.
    pub schemes: &'static [&'static str],
    /// What kind of server it speaks to, for help texts.
    pub summary: &'static str,
    /// What an address looks like, for messages.
    pub address: &'static str,
    /// The operations that it can do.
    pub operations: Kinds,
    /// Whether it returns the documents that are read, so that their content can be compared.
    pub documents: bool,
    /// Whether a server has named databases, one of which is the target.
    pub databases: bool,
    /// Whether there is a server. Without one, springload itself is what is measured.
    pub server: bool,
    /// Whether it marks when a request is sent and when its answer begins. Without these marks only
    /// the service time of an operation is known, not its phases.
    pub phases: bool,
    /// Which settings of a target it heeds; all others are refused.
    pub heeds: &'static [Setting],
    /// The terms for what it stores.
    pub nouns: Nouns,
    /// What its operations can do beyond their kinds; all else is refused.
    pub can: &'static [Feature],
    /// The words with which a plan can spell operations of its own.
    pub words: &'static [Word],
}

/// The name of the only table if a server has no databases: YCSB's default.
pub const ONLY_TABLE: &str = "usertable";

impl Card {
    /// Whether a table of this name is passed to the target. If there is only one table, any other
    /// name is passed on, so that the driver can refuse it.
    pub fn takes_table(&self, table: &str) -> bool {
        self.databases || self.server && table != ONLY_TABLE
    }

    /// Refuses operations that the driver does not support; `done` selects those that are planned.
    pub fn refusal(&self, flag: &str, done: impl Fn(OpKind) -> bool) -> Option<Invalid> {
        let refused = |kind: &OpKind| kind.is_request() && !self.operations.contains(*kind);
        let kinds: Vec<_> =
            OpKind::BUILT_IN.into_iter().filter(|kind| refused(kind) && done(*kind)).collect();
        let names: Vec<_> = kinds.iter().map(|kind| kind.name()).collect();
        (!names.is_empty()).then(|| {
            let problem = format!("{} does not support {}", self.summary, names.join(" or "));
            Invalid::new(flag, problem, "leave these operations out, or give another target")
        })
    }

    /// Refuses a needed feature that the driver's operations lack.
    pub fn lack(&self, flag: &str, feature: Feature) -> Option<Invalid> {
        const SERIES: &str = "give another target for time series";
        let (flag, problem, cure) = match feature {
            _ if self.can.contains(&feature) => return None,
            Feature::Ranges => (flag, "cannot read ranges of keys", SERIES),
            Feature::Overwriting => (flag, "cannot insert over a document that exists", SERIES),
            Feature::Conditions => {
                ("--conditional", "does not support conditional reads", "leave it out")
            }
            Feature::Settling => (
                "--wait-for-server",
                "cannot tell which documents of a lost request were stored",
                "leave it out, or give another target",
            ),
            Feature::Saving => (flag, "cannot save what is answered", "leave save out"),
            Feature::Changes => ("--follow", "has no changes to follow", "leave it out"),
            Feature::Replication => {
                (flag, "does not replicate single databases", "give CouchDB servers")
            }
            Feature::Designs => ("--ddocs", "has no design documents", "leave it out"),
            // Documents are handled one at a time instead.
            Feature::Several => return None,
        };
        Some(Invalid::new(flag, format!("{} {problem}", self.summary), cure))
    }
}

/// A target as requested by a dialect.
#[derive(Clone, Debug)]
pub struct TargetAsked {
    /// The address; `None` for the stand-in of the default driver.
    pub address: Option<String>,
    /// The flag that the address was given with.
    pub flag: &'static str,
    /// The addresses of the other nodes of the cluster, with the same database.
    pub nodes: Vec<String>,
    /// Whether each connection stays with its node.
    pub pin: bool,
    /// The database, if it is not part of the address.
    pub database: Option<String>,
    /// Whether the database exists already.
    pub existing: Existing,
    /// Whether to keep a database that springload created.
    pub keep: bool,
    /// How credentials are sent.
    pub auth: Auth,
    /// The flag that `auth` was given with.
    pub auth_flag: &'static str,
    /// How the server's certificate is checked.
    pub tls: TlsOptions,
    /// Headers of every request, `Name: value`, for drivers that speak HTTP.
    pub headers: Vec<String>,
    /// The prefix of all identifiers.
    pub id_prefix: String,
    /// Settings specific to the driver, named as in its plan.
    pub options: Map<String, Value>,
}

impl TargetAsked {
    /// The target at an address, without any other settings: a new database, to be removed at the
    /// end.
    pub fn at(address: &str) -> Self {
        Self {
            address: Some(address.to_owned()),
            flag: "TARGET",
            nodes: Vec::new(),
            pin: false,
            database: None,
            existing: Existing::No,
            keep: false,
            auth: Auth::default(),
            auth_flag: "TARGET",
            tls: TlsOptions::default(),
            headers: Vec::new(),
            id_prefix: String::new(),
            options: Map::new(),
        }
    }

    /// A mistake in the address, which is shown without its password.
    pub fn wrong(&self, card: &Card, problem: &str) -> Invalid {
        let shown = super::strike_secrets(&redact(self.address.as_deref().unwrap_or_default()));
        Invalid::new(self.flag, format!("{problem} in {shown:?}"), format!("give {}", card.address))
    }

    /// Refuses to check certificates where there are none.
    ///
    /// # Errors
    /// Fails with `cure` if TLS options would have no effect, or if a file cannot be used.
    pub fn check_tls(&self, uses_tls: bool, cure: &str) -> Result<(), Invalid> {
        if uses_tls || self.tls.is_default() {
            let unusable = self.tls.unusable().filter(|_| uses_tls);
            let wrong = |it: CertificateError| Invalid::new(it.flag, it.problem, it.cure);
            return unusable.map(wrong).map_or(Ok(()), Err);
        }
        let problem = "the target does not use TLS, so no certificate is checked";
        Err(Invalid::new(self.tls.flag(), problem, format!("{cure}, or leave it out")))
    }

    /// The settings specific to the driver.
    ///
    /// # Errors
    /// Fails if the driver does not have a setting, or its value is invalid.
    pub fn options<T: DeserializeOwned>(&self, card: &Card) -> Result<T, Invalid> {
        read(&self.options).map_err(|error| {
            let cure = format!("leave it out, or give an option of the driver {}", card.name);
            // If only one setting was given, it is the wrong one.
            let mut names = self.options.keys();
            let flag = match (names.next(), names.next()) {
                (Some(name), None) => format!("--{}", name.replace('_', "-")),
                _ => "options".to_owned(),
            };
            let problem = match error {
                Unread::Unknown => format!("{} has no such option", card.summary),
                Unread::Value(problem) => problem,
            };
            Invalid::new(flag, problem, cure)
        })
    }
}

/// Whether a named database exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It must not exist.
    No,
    /// It must exist.
    Yes,
    /// It may exist. It is created if it is missing, and kept.
    Maybe,
}

/// How credentials are sent to the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    /// A session cookie, which is cheap for the server to check.
    #[default]
    Cookie,
    /// Basic authentication in every request.
    Basic,
    /// CouchDB's proxy authentication: the user, the roles, and a token, which is the HMAC-SHA256
    /// of the user name. Its key is a secret that the server knows, given as the password.
    Proxy,
    /// The same with HMAC-SHA1.
    ProxySha1,
}

/// A target that has been checked. Serializes without any [`Secret`](crate::Secret).
pub trait DriverPlan: Planned + Clone + PartialEq + Serialize + DeserializeOwned {
    /// The database, ready for load.
    type Target: Target;

    /// What is known about the driver.
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

    /// How many indexes are built before the load; [`OpKind::IndexBuild`] builds the one whose
    /// number is the operation's key.
    fn indexes(&self) -> u64 {
        0
    }

    /// The names of the indexes whose rows an audit checks, every one; [`OpKind::IndexAudit`] lists
    /// the documents of the index whose number is the operation's key.
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
    use crate::op::{Feature, OpKind};
    use crate::{CARDS, TargetPlan};

    #[test]
    fn an_operation_that_a_driver_lacks_is_refused_by_name() {
        let http = CARDS.iter().find(|card| card.name == "http").unwrap();
        let message = http.refusal("TARGET", |kind| kind == OpKind::Scan).unwrap().to_string();
        assert!(message.starts_with("TARGET: ") && message.contains("scan"), "{message}");
        assert_eq!(http.refusal("TARGET", |kind| kind == OpKind::Read), None);
        // Operations that are derived from requests or their results are not up to the driver to
        // refuse.
        assert_eq!(http.refusal("TARGET", |kind| kind == OpKind::Verify), None);
    }

    #[test]
    fn every_driver_can_do_what_is_needed_or_refuses_it_by_its_flag() {
        for card in CARDS {
            for feature in Feature::ALL {
                let (can, refusal) = (card.can.contains(&feature), card.lack("TARGET", feature));
                assert_eq!(refusal.is_none(), can || feature == Feature::Several, "{}", card.name);
                let Some(message) = refusal.map(|it| it.to_string()) else { continue };
                let flags = ["TARGET", "--conditional", "--wait-for-server", "--ddocs", "--follow"];
                let named = flags.iter().any(|flag| message.starts_with(&format!("{flag}: ")));
                assert!(named && message.contains(card.summary), "{message}");
            }
        }
    }

    /// Drivers whose inserts overwrite have no conflict to settle; of the others, only CouchDB's
    /// checks who wrote the existing document.
    #[test]
    fn only_drivers_that_look_or_overwrite_settle_what_a_lost_request_stored() {
        for card in CARDS {
            let settles = card.can.contains(&Feature::Settling);
            let refusal = card.lack("TARGET", Feature::Settling).map(|it| it.to_string());
            assert_eq!(refusal.is_some(), !settles, "{}", card.name);
            let guesses = ["mongodb", "line", "ycsb_java", "http"].contains(&card.name);
            assert_eq!(settles, !guesses, "{}: {refusal:?}", card.name);
        }
    }

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
    fn the_readme_says_what_each_driver_can_do() {
        let readme = include_str!("../../../README.md");
        let head = readme.lines().find(|line| line.starts_with("| address | ")).unwrap();
        let cells = |line: &'static str| line.trim_matches('|').split('|').map(str::trim).skip(1);
        for card in CARDS.iter().filter(|card| !card.schemes.is_empty()) {
            let starts = ["://", ":"].map(|end| format!("| `{}{end}` ", card.schemes[0]));
            let is_its = |line: &&str| starts.iter().any(|start| line.starts_with(start));
            let row = readme.lines().find(is_its);
            let row = row.unwrap_or_else(|| panic!("README.md has no row {starts:?}"));
            for (name, cell) in cells(head).zip(cells(row)) {
                let kind = OpKind::BUILT_IN.into_iter().find(|kind| kind.name() == name).unwrap();
                let can = if card.operations.contains(kind) { "yes" } else { "no" };
                assert_eq!(cell, can, "{}: {kind}", card.name);
            }
        }
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
