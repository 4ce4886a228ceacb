//! The target as planned: servers, a table, and how consistent requests are.

use super::consistency::{BatchKind, Consistency};
use super::frame::MOST_PAGE;
use super::schema;
use crate::address::{AddressParts, Parameter, decoded, has_port, is_host};
use crate::mistake::Invalid;
use crate::net::TlsOptions;
use crate::op::{Feature, OpKind};
use crate::secrets::LeftOut;
use crate::words::OperationPlan;
use crate::{Card, DatabasePlan, LogIn, Planned, Setting, TargetAsked};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// YCSB's keyspace and table.
pub(super) const YCSB: &str = "ycsb";
pub(super) const TABLE: &str = "usertable";
/// A higher number of copies, or of connections to a server, is a mistake.
const MOST: u32 = 1_000;

/// The cluster and table of a run. Stored without the password.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CassandraPlan {
    /// The servers' address without path, user or password.
    pub server: String,
    /// Who logs in to it.
    #[serde(flatten)]
    pub login: LogIn,
    /// How the servers' certificates are checked.
    #[serde(flatten)]
    pub tls: TlsOptions,
    /// The keyspace; empty for a scratch keyspace.
    pub parent: String,
    /// The table, or the scratch keyspace.
    pub database: DatabasePlan,
    /// How many servers must respond for a read to succeed.
    pub read_consistency: Consistency,
    /// How many servers must store a write for it to succeed.
    pub write_consistency: Consistency,
    /// The number of copies of each row, if this run creates the keyspace.
    pub replication: NonZeroU32,
    /// Connections per thread and server.
    pub pool: NonZeroU32,
    /// The kind of batch that the rows of a bulk insert form; absent if each row is a statement of
    /// its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchKind>,
    /// The maximum number of rows per response to a scan, or to a statement that the plan defines.
    #[serde(default = "usual_page", skip_serializing_if = "is_usual_page")]
    pub page_size: NonZeroU32,
    /// The statements that create the tables of a new keyspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schema: Vec<String>,
}

/// The default in the drivers for all languages.
const fn usual_page() -> NonZeroU32 {
    NonZeroU32::new(5_000).unwrap()
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_usual_page(rows: &NonZeroU32) -> bool {
    *rows == usual_page()
}

/// Settings other than the address, with the parameters of the address.
#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct CassandraOptions {
    read_consistency: Option<Consistency>,
    write_consistency: Option<Consistency>,
    replication: Option<NonZeroU32>,
    pool: Option<NonZeroU32>,
    batch: Option<BatchKind>,
    page_size: Option<NonZeroU32>,
    schema: Vec<String>,
}

impl CassandraOptions {
    /// Reads a parameter of the address; the error says what is wrong with it.
    fn read(&mut self, name: &str, value: &str) -> Result<(), String> {
        let level = || {
            let upper = serde_json::Value::from(value.to_ascii_uppercase());
            let wrong = |_| format!("{name}={value}, which is not a consistency level,");
            serde_json::from_value(upper).map_err(wrong)
        };
        let count = || {
            let count = value.parse::<NonZeroU32>().ok().filter(|count| count.get() <= MOST);
            count.ok_or_else(|| format!("{name}={value}, which is not a number from 1 to {MOST},"))
        };
        match name {
            "consistency" => {
                self.read_consistency = Some(level()?);
                self.write_consistency = self.read_consistency;
            }
            "read_consistency" => self.read_consistency = Some(level()?),
            "write_consistency" => self.write_consistency = Some(level()?),
            "replication" => self.replication = Some(count()?),
            "pool" => self.pool = Some(count()?),
            "page_size" => {
                let rows = value.parse().ok().filter(|rows| *rows <= MOST_PAGE);
                let wrong = || format!("{name}={value}, which is not from 1 to {MOST_PAGE},");
                self.page_size = Some(rows.ok_or_else(wrong)?);
            }
            "schema" => self.schema = schema::read(&decoded(value))?,
            "batch" => {
                let kind = serde_json::from_value(value.into());
                let wrong = |_| format!("batch={value}, which is neither unlogged nor logged,");
                self.batch = Some(kind.map_err(wrong)?);
            }
            _ => return Err(format!("unknown parameter {name}")),
        }
        Ok(())
    }
}

impl Planned for CassandraPlan {
    fn accepts_any_certificate(&self) -> bool {
        self.tls.insecure
    }

    fn spell(&self, operation: &OperationPlan) -> Result<Vec<String>, Invalid> {
        super::words::spell_beforehand(operation)
    }

    fn secrets(&self) -> LeftOut {
        self.login.secrets("")
    }

    fn address(&self) -> Option<String> {
        Some(self.server.clone())
    }

    fn place_of(&self, database: &str) -> Option<String> {
        let level = serde_json::to_value(self.read_consistency).ok()?;
        let level = level.as_str()?;
        Some(format!("/{}?read_consistency={level}", database.replace('.', "/")))
    }

    fn named_database(&self) -> Option<&str> {
        self.database.name()
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let level = |level: Consistency| {
            serde_json::to_value(level).ok().and_then(|it| it.as_str().map(str::to_owned))
        };
        let mut facts = vec![
            self.login.fact(),
            ("consistency of reads", level(self.read_consistency).unwrap_or_default()),
            ("consistency of writes", level(self.write_consistency).unwrap_or_default()),
            ("connections of a thread to a server", self.pool.to_string()),
        ];
        let kind = self.batch.map(|kind| match kind {
            BatchKind::Unlogged => "an unlogged batch",
            BatchKind::Logged => "a logged batch",
        });
        facts.extend(kind.map(|kind| ("bulk inserts", kind.to_owned())));
        if !is_usual_page(&self.page_size) {
            facts.push(("rows of an answer", format!("at most {}", self.page_size)));
        }
        if !self.schema.is_empty() {
            facts.push(("statements of schema=", self.schema.len().to_string()));
        }
        facts
    }
}

pub(super) const CARD: Card = Card {
    name: "cassandra",
    schemes: &["cassandra", "cassandras"],
    summary: "Cassandra and what speaks CQL's binary protocol",
    address: "cassandra[s]://[user:password@]host[:port][,host...][/keyspace[/table]]\
              [?consistency=LEVEL&replication=N&schema=FILE]",
    operations: OpKind::ON_DOCUMENTS,
    documents: true,
    databases: true,
    server: true,
    phases: true,
    nouns: crate::Nouns::ROWS,
    heeds: &[Setting::Certificates, Setting::ClientCertificate],
    can: &[Feature::Overwriting, Feature::Settling],
    words: super::words::CARDS,
};

impl CassandraPlan {
    pub(super) fn checked(asked: &TargetAsked) -> Result<Self, Invalid> {
        let wrong = |problem: &str| asked.wrong(&CARD, problem);
        let parts = AddressParts::of(asked, &CARD)?;
        let mut options: CassandraOptions = asked.options(&CARD)?;
        for Parameter { name, value, .. } in parts.parameters() {
            options.read(name, value).map_err(|problem| wrong(&problem))?;
        }
        if parts.hosts.split(',').any(|host| !is_host(host)) {
            return Err(wrong("no host, or an invalid port,"));
        }
        let login = LogIn::of_text(parts.login);
        if login.user.is_some() && login.password.is_none() {
            return Err(wrong("a user without a password"));
        }
        let (parent, database) = names(asked, parts.path).map_err(|problem| wrong(&problem))?;
        let scheme = parts.scheme;
        asked.check_tls(scheme != CARD.schemes[0], "write cassandras://")?;
        if !options.schema.is_empty() && matches!(database, DatabasePlan::Existing { .. }) {
            return Err(wrong("schema, which makes a new keyspace, and --use-existing,"));
        }
        Ok(Self {
            server: format!("{scheme}://{}", parts.hosts),
            login,
            tls: asked.tls.clone(),
            parent,
            database,
            read_consistency: options.read_consistency.unwrap_or(Consistency::Quorum),
            write_consistency: options.write_consistency.unwrap_or(Consistency::Quorum),
            replication: options.replication.unwrap_or(NonZeroU32::MIN),
            pool: options.pool.unwrap_or(NonZeroU32::MIN),
            batch: options.batch,
            page_size: options.page_size.unwrap_or(usual_page()),
            schema: options.schema,
        })
    }
}

impl CassandraPlan {
    /// How certificates are checked, if TLS is used.
    pub(super) fn secured(&self) -> Option<TlsOptions> {
        self.server.starts_with(CARD.schemes[1]).then(|| self.tls.clone())
    }

    /// The servers, each with its port.
    pub(super) fn hosts(&self) -> Vec<String> {
        let hosts = self.server.split_once("://").map_or("", |it| it.1).split(',');
        let with_port =
            |host: &str| if has_port(host) { host.to_owned() } else { format!("{host}:9042") };
        hosts.map(with_port).collect()
    }
}

/// The requested keyspace and table. As in CQL without quotes, case does not matter.
fn names(asked: &TargetAsked, path: &str) -> Result<(String, DatabasePlan), String> {
    let path = decoded(path).to_ascii_lowercase();
    let (keyspace, table) = path.split_once('/').unwrap_or((&path, ""));
    let default = if keyspace.is_empty() { None } else { Some(TABLE) };
    let table = Some(table).filter(|table| !table.is_empty()).or(default).map(str::to_owned);
    let database = asked.database.as_ref().map(|name| name.to_ascii_lowercase());
    let asked = TargetAsked { database, ..asked.clone() };
    let database = DatabasePlan::of(&asked, table)?;
    let known = |name: &str| {
        let letters = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        letters && (1..=48).contains(&name.len())
    };
    for name in database.name().into_iter().chain(Some(keyspace).filter(|it| !it.is_empty())) {
        if !known(name) {
            return Err(format!("{name:?}, which is not a valid keyspace or table name,"));
        }
    }
    let keyspace = match (keyspace, database.name()) {
        ("", Some(_)) => YCSB,
        (keyspace, _) => keyspace,
    };
    Ok((keyspace.to_owned(), database))
}
