//! The target as planned: servers, a collection, and the options of the connection string.

use super::indexes;
use crate::address::{AddressParts, Parameter, decoded, encoded};
use crate::mistake::Invalid;
use crate::op::{Feature, OpKind};
use crate::secrets::LeftOut;
use crate::words::OperationPlan;
use crate::{Card, DatabasePlan, LogIn, Planned, Setting, TargetAsked};
use ::mongodb::options::ConnectionString;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The database for scratch collections, and YCSB's.
const SCRATCH: &str = "springload";
const YCSB: &str = "ycsb";
/// YCSB's default table.
const TABLE: &str = "usertable";

/// The servers and collection of a run. Stored without the password.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MongoPlan {
    /// The servers' address without path, options, user or password.
    pub server: String,
    /// Who logs in to it.
    #[serde(flatten)]
    pub login: LogIn,
    /// The certificate authorities trusted to sign the servers' certificates; `None` for the
    /// built-in ones.
    pub tls_ca: Option<PathBuf>,
    /// Whether every certificate is accepted, without any check.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
    /// The options of the connection string, as given.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub options: String,
    /// The database that contains the collection.
    pub parent: String,
    /// The collection.
    pub database: DatabasePlan,
    /// Whether fields are stored as binary data, as YCSB does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub binary: bool,
    /// Whether create operations replace existing documents.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub upsert: bool,
    /// The order in which the documents of a bulk insert are inserted.
    #[serde(default, skip_serializing_if = "BulkOrder::is_default")]
    pub order: BulkOrder,
    /// The collection's indexes other than that of `_id`, each a list of fields; a `-` precedes
    /// those in descending order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indexes: Vec<String>,
}

/// The order in which the documents of a bulk insert are inserted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum BulkOrder {
    /// Any order.
    #[default]
    Any,
    /// The given order, up to the first document that is rejected.
    Ordered,
}

impl BulkOrder {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
    const fn is_default(&self) -> bool {
        matches!(self, Self::Any)
    }

    /// Whether the server stops at the first document that it refuses.
    pub(super) const fn stops(self) -> bool {
        matches!(self, Self::Ordered)
    }
}

/// Settings other than the address.
#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct MongoDbOptions {
    binary: bool,
    upsert: bool,
    ordered: bool,
    #[serde(skip)]
    indexes: Vec<String>,
}

impl Planned for MongoPlan {
    fn spell(&self, operation: &OperationPlan) -> Result<Vec<String>, Invalid> {
        Ok(super::words::spell(operation, "")?.holes.0)
    }

    fn accepts_any_certificate(&self) -> bool {
        self.insecure
    }

    fn secrets(&self) -> LeftOut {
        self.login.secrets("")
    }

    fn address(&self) -> Option<String> {
        Some(self.server.clone())
    }

    fn place_of(&self, database: &str) -> Option<String> {
        let collection = database.strip_prefix(&self.parent)?.strip_prefix('.')?;
        let options = if self.options.is_empty() { "" } else { "?" };
        let path = format!("/{}/{}", encoded(&self.parent), encoded(collection));
        Some(format!("{path}{options}{}", self.options))
    }

    fn named_database(&self) -> Option<&str> {
        self.database.name()
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let values = if self.binary { "binary, as YCSB has them" } else { "as in JSON" };
        let mut facts = vec![self.login.fact(), ("values", values.to_owned())];
        if self.upsert {
            facts.push(("creates", "replace what is there".to_owned()));
        }
        if self.order.stops() {
            facts.push(("bulk inserts", "ordered: they end with the first refusal".to_owned()));
        }
        if !self.indexes.is_empty() {
            facts.push(("indexes", self.indexes.join("; ")));
        }
        if !self.options.is_empty() {
            facts.push(("options", self.options.clone()));
        }
        facts
    }
}

pub(super) const CARD: Card = Card {
    name: "mongodb",
    schemes: &["mongodb", "mongodb+srv"],
    summary: "MongoDB and what speaks its protocol",
    address: "mongodb://[user:password@]host[:port][,host...][/database[/collection]][?options]",
    operations: OpKind::ON_DOCUMENTS,
    documents: true,
    databases: true,
    server: true,
    phases: false,
    nouns: crate::Nouns { place: "collection", ..crate::Nouns::DOCUMENTS },
    heeds: &[Setting::Certificates],
    can: &[Feature::Ranges, Feature::Overwriting],
    words: super::words::CARDS,
};

impl MongoPlan {
    pub(super) fn checked(asked: &TargetAsked) -> Result<Self, Invalid> {
        let wrong = |problem: &str| asked.wrong(&CARD, problem);
        let parts = AddressParts::of(asked, &CARD)?;
        let scheme = asked.address.iter().flat_map(|it| it.split("://")).next().unwrap_or_default();
        if parts.hosts.is_empty() {
            return Err(wrong("no host"));
        }
        let mut own: MongoDbOptions = asked.options(&CARD)?;
        let options = own.read(&parts).map_err(|problem| wrong(&problem))?;
        let (parent, collection) = parts.path.split_once('/').unwrap_or((parts.path, ""));
        if collection.contains('/') {
            return Err(wrong("more than a database and a collection"));
        }
        let (parent, collection) = (decoded(parent), decoded(collection));
        let named = match (parent.is_empty(), collection.is_empty()) {
            (true, _) => None,
            (false, true) => Some(TABLE.to_owned()),
            (false, false) => Some(collection),
        };
        let database = DatabasePlan::of(asked, named).map_err(wrong)?;
        let default = if database.name().is_some() { YCSB } else { SCRATCH };
        let plan = Self {
            server: format!("{scheme}://{}", parts.hosts),
            login: LogIn::of_text(parts.login),
            tls_ca: asked.tls.authorities.clone(),
            insecure: asked.tls.insecure,
            options,
            parent: if parent.is_empty() { default.to_owned() } else { parent },
            database,
            binary: own.binary,
            upsert: own.upsert,
            order: if own.ordered { BulkOrder::Ordered } else { BulkOrder::Any },
            indexes: own.indexes,
        };
        let string = ConnectionString::parse(plan.connection_string());
        let string = string.map_err(|error| wrong(&error.kind.to_string()))?;
        if let Some(concern) = &string.write_concern
            && matches!(concern.w, Some(::mongodb::options::Acknowledgment::Nodes(0)))
        {
            return Err(wrong("w=0, with which writes are not acknowledged,"));
        }
        let tls = string.tls.is_some_and(|tls| matches!(tls, ::mongodb::options::Tls::Enabled(_)));
        asked.check_tls(tls, "add the option tls=true")?;
        Ok(plan)
    }
}

impl MongoPlan {
    /// The library's connection string, with credentials.
    pub(super) fn connection_string(&self) -> String {
        let (scheme, hosts) = self.server.split_once("://").unwrap_or_default();
        let login = match (&self.login.user, &self.login.password) {
            (Some(user), Some(password)) => {
                format!("{}:{}@", encoded(user), encoded(password.reveal()))
            }
            (Some(user), None) => format!("{}@", encoded(user)),
            (None, _) => String::new(),
        };
        let options = if self.options.is_empty() { "" } else { "?" };
        format!("{scheme}://{login}{hosts}/{options}{}", self.options)
    }
}

impl MongoDbOptions {
    /// Reads the driver's own options in the address, and returns the others, which are for the
    /// library.
    fn read(&mut self, address: &AddressParts<'_>) -> Result<String, String> {
        let mut kept = Vec::new();
        for Parameter { text, name, value } in address.parameters() {
            let flag =
                || value.parse().map_err(|_| format!("{name} that is neither true nor false"));
            match name.to_ascii_lowercase().as_str() {
                "binary" => self.binary = flag()?,
                "upsert" => self.upsert = flag()?,
                "ordered" => self.ordered = flag()?,
                "index" => self.indexes.push(indexes::read(value, &self.indexes)?),
                "transaction" | "transactions" => {
                    let problem = "which this driver does not have: a bulk insert is one command,";
                    return Err(format!("{name}, {problem}"));
                }
                // These would be stored with the plan.
                "authmechanismproperties" | "tlscertificatekeyfilepassword" => {
                    return Err(format!("{name}, which this driver does not support,"));
                }
                "retryreads" | "retrywrites" if value != "false" => {
                    return Err(format!("{name}, although nothing is ever retried,"));
                }
                _ => kept.push(text),
            }
        }
        Ok(kept.join("&"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DriverPlan as _, Existing};

    fn asked(address: &str, existing: Existing) -> TargetAsked {
        TargetAsked { existing, ..TargetAsked::at(address) }
    }

    fn plan(address: &str) -> Result<MongoPlan, String> {
        MongoPlan::check(&asked(address, Existing::No)).map_err(|mistake| mistake.to_string())
    }

    #[test]
    fn addresses_name_servers_a_database_and_a_collection() {
        let scratch = plan("mongodb://h").unwrap();
        assert_eq!(
            (scratch.server.as_str(), scratch.parent.as_str()),
            ("mongodb://h", "springload")
        );
        assert_eq!(scratch.database, DatabasePlan::Scratch { keep: false });
        let named =
            plan("mongodb://h1:1,h2:2/bench?w=majority&binary=true&upsert=true&ordered=true&index=a,-b&index=c")
                .unwrap();
        assert_eq!(
            (named.server.as_str(), named.parent.as_str()),
            ("mongodb://h1:1,h2:2", "bench")
        );
        assert_eq!(
            (named.named_database(), named.options.as_str()),
            (Some("usertable"), "w=majority")
        );
        assert!(named.binary && named.upsert && named.order.stops());
        assert_eq!(named.indexes, ["a,-b", "c"]);
        let full = plan("mongodb://ann:p%40w@[::1]:7/bench/things").unwrap();
        assert_eq!((full.login.user.as_deref(), full.login.password()), (Some("ann"), "p@w"));
        assert_eq!(full.named_database(), Some("things"));
        assert_eq!(full.place_of("bench.things").unwrap(), "/bench/things");
        assert_eq!(named.place_of("bench.a.b").unwrap(), "/bench/a%2Eb?w=majority");
        assert_eq!(full.connection_string(), "mongodb://ann:p%40w@[::1]:7/");
        let table =
            TargetAsked { database: Some("t".into()), ..asked("mongodb://h", Existing::Maybe) };
        let ycsb = MongoPlan::check(&table).unwrap();
        assert_eq!((ycsb.parent.as_str(), ycsb.named_database()), ("ycsb", Some("t")));
    }

    #[test]
    fn wrong_addresses_are_refused_without_their_password() {
        for (address, says) in [
            ("mongodb://", "no host"),
            ("mongodb://u:pw@h/a/b/c", "more than a database and a collection"),
            ("mongodb://u:pw@h?w=0", "w=0, with which"),
            ("mongodb://u:pw@h?retryWrites=true", "nothing is ever retried"),
            ("mongodb://u:pw@h?tlsCertificateKeyFilePassword=x", "does not support"),
            ("mongodb://u:pw@h?index=", "no field to be indexed"),
            ("mongodb://u:pw@h?index=a&index=a", "index twice"),
            ("mongodb://u:pw@h?transaction=true", "does not have: a bulk insert is one command"),
            ("mongodb://u:pw@h?upsert=1", "upsert that is neither true nor false"),
            ("mongodb://u:pw@h?readPreference=x", ""),
            ("mongodb://u:pw@h:x", ""),
        ] {
            let found = plan(address).unwrap_err();
            assert!(found.starts_with("TARGET: ") && found.contains(says), "{found}");
            assert!(!found.contains("pw"), "{found}");
        }
        let existing = MongoPlan::check(&asked("mongodb://h", Existing::Yes)).unwrap_err();
        assert!(existing.to_string().contains("--use-existing but no database"), "{existing}");
        let authority = TargetAsked {
            tls: crate::net::TlsOptions {
                authorities: Some("ca.pem".into()),
                ..crate::net::TlsOptions::default()
            },
            ..asked("mongodb://h", Existing::No)
        };
        let message = MongoPlan::check(&authority).unwrap_err().to_string();
        assert!(message.starts_with("--tls-ca: ") && message.contains("tls=true"), "{message}");
    }

    #[test]
    fn a_plan_is_stored_without_its_password() {
        let plan = plan("mongodb://ann:secret@h/bench?w=1").unwrap();
        let stored = serde_json::to_string(&plan).unwrap();
        assert!(stored.contains("ann") && !stored.contains("secret"), "{stored}");
        let again: MongoPlan = serde_json::from_str(&stored).unwrap();
        let login = LogIn { password: None, ..plan.login };
        assert_eq!(again, MongoPlan { login, ..plan });
    }
}
