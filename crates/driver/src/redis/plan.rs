//! The target as planned: a server, and which of its keys are used.

use super::binding::BINDING;
use super::{Keys, words};
use crate::address::{decoded, encoded};
use crate::library::{CallError, Library, unusable};
use crate::mistake::Invalid;
use crate::net::{Endpoint, TlsOptions};
use crate::op::{Failure, Feature, Kinds, OpKind};
use crate::secrets::LeftOut;
use crate::words::OperationPlan;
use crate::{
    Binding, Card, DatabasePlan, DriverPlan, Existing, LogIn, Opening, Planned, ServerFacts,
    Setting, TargetAsked, TargetError,
};
use ::redis::RedisConnectionInfo;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// The differences between servers that speak RESP.
pub trait Flavor: Clone + Debug + PartialEq + 'static {
    /// What is known about the driver.
    const CARD: Card;
    /// How YCSB's command line asks for it.
    const BINDING: Binding;
    /// The port to use if an address has none.
    const PORT: u16;
    /// Whether keys are also members of a sorted set, unless the address says otherwise.
    const INDEXED: bool;
}

/// Redis itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redis;

/// The plan for Redis.
pub type RedisPlan = RespPlan<Redis>;

impl Flavor for Redis {
    const CARD: Card = Card {
        name: "redis",
        schemes: &["redis", "rediss"],
        summary: "Redis and what speaks its protocol",
        address: "redis[s]://[user:password@]host[:port][/number[/prefix]][?index=false]",
        operations: OpKind::ON_DOCUMENTS,
        documents: true,
        databases: false,
        server: true,
        phases: false,
        heeds: &[Setting::Certificates, Setting::ClientCertificate],
        can: &[Feature::Overwriting, Feature::Settling],
        words: words::CARDS,
    };
    const BINDING: Binding = BINDING;
    const PORT: u16 = 6379;
    const INDEXED: bool = true;
}

/// Without the index there is nothing to scan along.
const WITHOUT_INDEX: Kinds = OpKind::ON_DOCUMENTS.without(OpKind::Scan);

/// A server that speaks RESP. Stored without its password.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(bound = ""))]
#[serde(bound = "")]
pub struct RespPlan<F> {
    /// The server's address without database number, user or password.
    pub server: String,
    /// Who logs in to it.
    #[serde(flatten)]
    pub login: LogIn,
    /// How the server's certificate is checked.
    #[serde(flatten)]
    pub tls: TlsOptions,
    /// The number of the database.
    #[serde(default, skip_serializing_if = "is_first")]
    pub number: u32,
    /// The name with which all keys begin, before a colon, as those of a run do that has kept them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Which keys are used: those of an existing database as they are, or those that begin with the
    /// name of a scratch database.
    pub database: DatabasePlan,
    /// Whether keys are also members of a sorted set, which scans need.
    pub index: bool,
    #[serde(skip)]
    flavor: PhantomData<F>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
const fn is_first(number: &u32) -> bool {
    *number == 0
}

/// Settings other than the address.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Options {
    index: Option<bool>,
}

impl<F: Flavor> Planned for RespPlan<F> {
    fn accepts_any_certificate(&self) -> bool {
        self.tls.insecure
    }

    fn secrets(&self) -> LeftOut {
        self.login.secrets("")
    }

    fn address(&self) -> Option<String> {
        Some(self.server.clone())
    }

    fn place_of(&self, database: &str) -> Option<String> {
        let Self { number, prefix, .. } = self;
        Some(match (&self.database, prefix) {
            (DatabasePlan::Scratch { .. }, _) => format!("/{number}/{database}"),
            (_, Some(prefix)) => format!("/{number}/{}", encoded(prefix)),
            (_, None) => format!("/{number}"),
        })
    }

    fn operations(&self) -> Option<Kinds> {
        (!self.index).then_some(WITHOUT_INDEX)
    }

    fn spell(&self, operation: &OperationPlan) -> Result<Vec<String>, Invalid> {
        Ok(words::spell(operation, "")?.holes.0)
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let index = if self.index { "a sorted set, _indices" } else { "none" };
        let mut facts = vec![self.login.fact()];
        facts.extend(F::INDEXED.then(|| ("index of keys", index.to_owned())));
        facts
    }
}

impl<F: Flavor> DriverPlan for RespPlan<F> {
    type Target = Library;

    const CARD: Card = F::CARD;

    const BINDING: Option<Binding> = Some(F::BINDING);

    fn check(asked: &TargetAsked) -> Result<Self, Invalid> {
        let wrong = |problem: &str| asked.wrong(&F::CARD, problem);
        let text = asked.address.as_deref().unwrap_or_default();
        let url = Url::parse(text).map_err(|error| wrong(&error.to_string()))?;
        let host = url.host_str().filter(|host| !host.is_empty());
        let host = host.ok_or_else(|| wrong("no host"))?;
        if url.fragment().is_some() {
            return Err(wrong("a fragment"));
        }
        let scheme = F::CARD.schemes[0];
        asked.check_tls(url.scheme() != scheme, &format!("write {scheme}s://"))?;
        if asked.database.is_some() {
            return Err(wrong("a table other than usertable"));
        }
        let path = url.path().trim_matches('/');
        let (path, prefix) = path.split_once('/').unwrap_or((path, ""));
        let prefix = Some(decoded(prefix)).filter(|prefix| !prefix.is_empty());
        if prefix.is_some() && asked.existing == Existing::No {
            return Err(wrong("a prefix of keys, but no --use-existing,"));
        }
        let number = if path.is_empty() { Ok(0) } else { path.parse() };
        let number = number.map_err(|_| wrong("a path that is not a database number"))?;
        let Options { mut index } = asked.options(&F::CARD)?;
        let known = |name: &str| F::INDEXED && name == "index";
        for (name, value) in url.query_pairs() {
            match value.parse() {
                _ if !known(&name) => {
                    return Err(wrong(&format!("unknown parameter {name}")));
                }
                Ok(value) => index = Some(value),
                Err(_) => return Err(wrong(&format!("{name} that is neither true nor false"))),
            }
        }
        let name = number.to_string();
        Ok(Self {
            server: format!("{}://{host}:{}", url.scheme(), url.port().unwrap_or(F::PORT)),
            login: LogIn::of_url(&url),
            tls: asked.tls.clone(),
            number,
            prefix,
            database: match asked.existing {
                Existing::No => DatabasePlan::Scratch { keep: asked.keep },
                Existing::Yes => DatabasePlan::Existing { name },
                Existing::Maybe => DatabasePlan::Kept { name },
            },
            index: index.unwrap_or(F::INDEXED),
            flavor: PhantomData,
        })
    }

    async fn open(&self, opening: &Opening) -> Result<(Library, ServerFacts), TargetError> {
        let keys = self.keys(opening)?;
        let greeted = keys.within(keys.greet(F::CARD.name)).await;
        let Greeting { name, version } = greeted.map_err(|trouble| self.unusable(&trouble))?;
        keys.try_out().await?;
        let facts = ServerFacts {
            url: self.server.clone(),
            name,
            version,
            same_machine: keys.endpoint.is_loopback(),
            database: match &self.database {
                DatabasePlan::Scratch { .. } => keys.prefix.trim_end_matches(':').to_owned(),
                _ => self.prefix.clone().unwrap_or_else(|| self.number.to_string()),
            },
            created: matches!(self.database, DatabasePlan::Scratch { .. }) && !opening.as_it_is,
        };
        Ok((Library::new(keys), facts))
    }
}

impl<F: Flavor> RespPlan<F> {
    pub(super) fn keys(&self, opening: &Opening) -> Result<Keys, TargetError> {
        let (scheme, place) = self.server.split_once("://").unwrap_or_default();
        let web = if scheme == F::CARD.schemes[0] { "http" } else { "https" };
        let url = Url::parse(&format!("{web}://{place}"));
        let url = url.map_err(|error| TargetError(format!("{}: {error}", self.server)))?;
        let mut info = RedisConnectionInfo::default().set_skip_set_lib_name();
        info = info.set_db(i64::from(self.number));
        if let Some(user) = &self.login.user {
            info = info.set_username(user);
        }
        if let Some(password) = &self.login.password {
            info = info.set_password(password.reveal());
        }
        let own = || self.database.name_or_new(opening);
        let scratch = matches!(self.database, DatabasePlan::Scratch { .. }).then(own);
        let prefix = scratch.or_else(|| self.prefix.clone()).map(|it| it + ":").unwrap_or_default();
        Ok(Keys {
            endpoint: Arc::new(Endpoint::resolve(&url, &self.tls)?),
            info,
            removed: self.database.is_removed() && !opening.as_it_is && !prefix.is_empty(),
            indexed: self.index,
            timeout: Duration::from_nanos(opening.timeout_ns),
            own: words::Own::new(&opening.operations, |it| words::spell(it, &prefix))?,
            prefix,
        })
    }

    /// Why the server cannot be used, and what to do about it.
    fn unusable(&self, trouble: &CallError) -> TargetError {
        let (server, scheme) = (&self.server, F::CARD.schemes[0]);
        unusable(server, &self.login, trouble, |reason| match trouble.failure {
            Failure::Protocol | Failure::Reset => format!(
                "the server at {server} does not speak Redis's protocol ({reason}); give a server \
                 that does, and {scheme}s:// if it uses TLS"
            ),
            _ => format!("cannot reach {server}: {reason}"),
        })
    }
}

/// A server's information about itself.
struct Greeting {
    name: String,
    version: String,
}

impl Keys {
    async fn greet(&self, own: &str) -> Result<Greeting, CallError> {
        let mut connection = self.connect(0).await?;
        let pong = connection.ask(&["PING"]).await?;
        let told: Result<String, _> = ::redis::from_redis_value(pong);
        if told.as_deref().ok() != Some("PONG") {
            return Err(CallError::new(Failure::Protocol, "no PONG to PING"));
        }
        // Not every server of this protocol supports it.
        let info = connection.ask(&["INFO"]).await.unwrap_or_default();
        let info: String = ::redis::from_redis_value(info).unwrap_or_default();
        let line = |name: &str| {
            let mut lines = info.lines().filter_map(|line| line.split_once(':'));
            lines.find(|(key, _)| *key == name).map(|(_, value)| value.trim().to_owned())
        };
        if line("redis_mode").as_deref() == Some("cluster") {
            let reason = "it is a node of a cluster, and redirections are not followed";
            return Err(CallError::new(Failure::Rejected, reason));
        }
        let valkey = line("valkey_version").map(|version| ("valkey", version));
        let (name, version) = valkey.unwrap_or((own, line("redis_version").unwrap_or_default()));
        Ok(Greeting { name: name.to_owned(), version })
    }
}
