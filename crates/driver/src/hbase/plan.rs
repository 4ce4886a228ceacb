//! A table of HBase as planned.

use super::words;
use crate::address::{AddressParts, decoded, has_port, is_host};
use crate::mistake::Invalid;
use crate::net::TlsOptions;
use crate::op::{Feature, OpKind};
use crate::words::OperationPlan;
use crate::{Card, DatabasePlan, Existing, Planned, Setting, TargetAsked};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::form_urlencoded;

/// The ports of a master and of a region server if none is given.
pub(super) const PORTS: [u16; 2] = [16_000, 16_020];
/// The family of a table that springload creates, unless another one is named.
const FAMILY: &str = "cf";
/// The most split points that are all different: user1000 to user9999 without the first.
pub(super) const MOST_SPLITS: u32 = 8_999;
const MOST_CONNECTIONS: u32 = 1_000;

/// The flag of an address that a property of YCSB has led to.
pub(super) const QUORUM_FLAG: &str = "-p hbase.zookeeper.quorum";
/// The missing property if certificates are named, but TLS is not turned on.
const TLS_CURE: &str = "give -p hbase.client.netty.tls.enabled=true";

/// The cluster and the table of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HBasePlan {
    /// Masters or region servers, as `host` or `host:port`, asked in this order for the location of
    /// `hbase:meta`.
    #[serde(default)]
    pub servers: Vec<String>,
    /// Whether connections to them use TLS.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tls: bool,
    /// How the servers' certificates are checked.
    #[serde(flatten)]
    pub certificates: TlsOptions,
    /// The user name for HBase's access rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The table. A missing table is not created, since its splits determine the result.
    pub database: DatabasePlan,
    /// Settings.
    #[serde(flatten)]
    pub options: HBaseOptions,
}

/// Settings other than the address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct HBaseOptions {
    /// The column family; `None` for the only one of the table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column_family: Option<String>,
    /// When a write is acknowledged; `None` for the table's setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durability: Option<Durability>,
    /// Connections per thread and server; `None` for 1, as in HBase's own client.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub connections: Option<u32>,
    /// The number of split points, between `user1000` and `user9999`, of a table to be created.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub splits: Option<u32>,
}

/// What happens to the write-ahead log before a write is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Durability {
    /// Whatever the table specifies.
    UseDefault,
    /// The log is not written.
    SkipWal,
    /// The log is written later.
    AsyncWal,
    /// The log has been passed to the file system.
    SyncWal,
    /// The log has been forced to disk.
    FsyncWal,
}

impl Durability {
    /// Its number in the protocol.
    pub(super) const fn number(self) -> i32 {
        self as i32
    }
}

impl Planned for HBasePlan {
    fn spell(&self, operation: &OperationPlan) -> Result<Vec<String>, Invalid> {
        Ok(words::spell(operation)?.holes().0.clone())
    }

    fn accepts_any_certificate(&self) -> bool {
        self.certificates.insecure
    }

    fn address(&self) -> Option<String> {
        Some(self.url())
    }

    fn named_database(&self) -> Option<&str> {
        self.database.name()
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let HBaseOptions { column_family, durability, connections, splits } = &self.options;
        let durability = durability.and_then(|it| serde_json::to_value(it).ok());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let of_thread = connections.unwrap_or(1).to_string();
        [
            ("column family", column_family.clone()),
            ("durability", durability.as_ref().map(text)),
            ("connections of a thread to a server", Some(of_thread)),
            ("splits", splits.map(|count| count.to_string())),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
    }
}

pub(super) const CARD: Card = Card {
    name: "hbase",
    schemes: &["hbase", "hbases"],
    summary: "HBase",
    address: "hbase[s]://[user@]host[:port][,host[:port]...][/table][?cf=FAMILY&splits=N\
              &durability=SYNC_WAL&connections=N]",
    operations: OpKind::ON_DOCUMENTS,
    documents: true,
    databases: true,
    server: true,
    phases: true,
    nouns: crate::Nouns::ROWS,
    heeds: &[Setting::Certificates, Setting::ClientCertificate],
    can: &[Feature::Ranges, Feature::Overwriting, Feature::Settling],
    words: words::CARDS,
};

impl HBasePlan {
    pub(super) fn checked(asked: &TargetAsked) -> Result<Self, Invalid> {
        let wrong = |problem: &str| asked.wrong(&CARD, problem);
        let AddressParts { scheme, login, hosts, path, query } = AddressParts::of(asked, &CARD)?;
        let tls = scheme.eq_ignore_ascii_case("hbases");
        // YCSB's command line has properties instead of an address.
        let by_property = asked.flag == QUORUM_FLAG;
        asked.check_tls(tls, if by_property { TLS_CURE } else { "write hbases://" })?;
        let user = login.map(decoded);
        if user.as_deref().is_some_and(|user| user.is_empty() || user.contains(':')) {
            return Err(wrong("an empty user, or a password, which this driver does not send,"));
        }
        let servers: Vec<_> = hosts.split(',').map(str::to_owned).collect();
        if !servers.iter().all(|server| is_host(server)) {
            return Err(wrong("no host, or an invalid port,"));
        }
        let table = (!path.is_empty()).then(|| decoded(path));
        let database = DatabasePlan::of(asked, table).map_err(wrong)?;
        if database.name().is_some_and(|name| !is_table(name)) {
            return Err(wrong("a table name with characters that HBase does not allow"));
        }
        let options = options(asked, query).map_err(|problem| wrong(&problem))?;
        if options.splits.is_some() && asked.existing != Existing::No {
            return Err(wrong("splits, although the table must exist already,"));
        }
        let certificates = asked.tls.clone();
        Ok(Self { servers, tls, certificates, user, database, options })
    }
}

impl HBasePlan {
    /// The servers, as an address without user and table.
    pub(super) fn url(&self) -> String {
        self.url_of(&self.servers.join(","))
    }

    /// Some of the servers, as such an address.
    pub(super) fn url_of(&self, servers: &str) -> String {
        format!("{}://{servers}", if self.tls { "hbases" } else { "hbase" })
    }

    /// The family of a table to be created.
    pub(super) fn family_or_default(&self) -> &str {
        self.options.column_family.as_deref().unwrap_or(FAMILY)
    }

    /// The servers with their ports: if none is given, those of a master and a region server.
    pub(super) fn seeds(&self) -> Vec<String> {
        let with_ports = |server: &String| {
            if has_port(server) {
                return vec![server.clone()];
            }
            PORTS.map(|port| format!("{server}:{port}")).to_vec()
        };
        self.servers.iter().flat_map(with_ports).collect()
    }
}

/// Whether HBase allows it as the name of a table, with or without a namespace.
fn is_table(name: &str) -> bool {
    let allowed = |part: &str| {
        !part.is_empty()
            && !part.starts_with(['-', '.'])
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
    };
    let (namespace, table) = name.split_once(':').unwrap_or(("default", name));
    allowed(namespace) && allowed(table) && namespace != "hbase"
}

/// Settings from the address, and those named as in the plan, which take precedence.
fn options(asked: &TargetAsked, query: &str) -> Result<HBaseOptions, String> {
    let mut all = Map::new();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let (name, value) = match &*name {
            "cf" => ("column_family", Value::from(&*value)),
            "durability" => ("durability", Value::from(value.to_ascii_uppercase())),
            "connections" | "splits" => {
                let number = value.parse::<u32>();
                (&*name, number.map_err(|_| format!("{name} that is not a number"))?.into())
            }
            other => return Err(format!("an unknown setting {other:?}")),
        };
        all.insert(name.to_owned(), value);
    }
    all.extend(asked.options.clone());
    let options: HBaseOptions =
        serde_json::from_value(Value::Object(all)).map_err(|error| error.to_string())?;
    let within = |value: Option<u32>, most| value.is_none_or(|value| (1..=most).contains(&value));
    if !within(options.connections, MOST_CONNECTIONS) || !within(options.splits, MOST_SPLITS) {
        return Err(format!(
            "connections outside 1 to {MOST_CONNECTIONS}, or splits outside 1 to {MOST_SPLITS},"
        ));
    }
    let family = |name: &String| {
        !name.is_empty() && name.len() < 128 && !name.contains(['/', ':']) && !name.starts_with('.')
    };
    if !options.column_family.as_ref().is_none_or(family) {
        return Err("a column family whose name HBase does not allow".to_owned());
    }
    Ok(options)
}
