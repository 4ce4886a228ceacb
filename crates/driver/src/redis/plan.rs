//! The target as planned: a server, and which of its keys are used.

use super::binding::BINDING;
use super::cluster::NodeAccess;
use super::layout::Layout;
use super::log_in::LogInto;
use super::open::{Greeting, RedisTarget, lacks_tls};
use super::shape::Shape;
use super::{INDEX, Keys, words};
use crate::address::{decoded, encoded};
use crate::call::{CallError, in_scheme, told_apart, unusable, within};
use crate::mistake::Invalid;
use crate::net::{Endpoint, TlsOptions, Trouble};
use crate::op::{Failure, Feature, Kinds, OpKind};
use crate::pipe::Reach;
use crate::secrets::LeftOut;
use crate::words::OperationPlan;
use crate::{
    Binding, Card, DatabasePlan, DriverPlan, Existing, LogIn, Opening, Planned, ServerFacts,
    Setting, TargetAsked, TargetError,
};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// The differences between servers that speak RESP.
pub trait Flavor: Clone + Debug + PartialEq + 'static {
    /// The description of the driver.
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
        address: "redis[s]://[user:password@]host[:port][/number[/prefix]][?index=false&\
                  shape=string&pipeline=N&resp=3]",
        operations: OpKind::ON_DOCUMENTS,
        documents: true,
        databases: false,
        server: true,
        phases: true,
        nouns: crate::Nouns::KEYS,
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

/// A server that speaks RESP. Stored without the password.
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
    /// The prefix of all keys, which a colon follows, such as that of a run that has kept its keys;
    /// absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Which keys are used: those of an existing database as they are, or keys that begin with the
    /// name of a scratch database.
    pub database: DatabasePlan,
    /// Whether keys are also kept in a sorted set, which scans need.
    pub index: bool,
    /// How a record is stored.
    #[serde(default, skip_serializing_if = "Shape::is_default")]
    pub shape: Shape,
    /// How many of the run's connections share one connection to the server, without waiting for
    /// each other's responses.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub pipeline: NonZeroU32,
    /// Whether RESP3 is used instead of RESP2.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resp3: bool,
    #[serde(skip)]
    flavor: PhantomData<F>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
const fn is_first(number: &u32) -> bool {
    *number == 0
}

const fn one() -> NonZeroU32 {
    NonZeroU32::MIN
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
const fn is_one(count: &NonZeroU32) -> bool {
    count.get() == 1
}

/// The most connections of a run that share one.
const MOST_SHARED: u32 = 10_000;

/// Settings other than the address.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RedisOptions {
    index: Option<bool>,
    shape: Shape,
    pipeline: Option<NonZeroU32>,
    resp3: bool,
}

impl RedisOptions {
    /// Whether there is an index if the address does not say: strings are for comparisons with
    /// tools that keep none.
    const fn index_of(indexed: bool, shape: Shape) -> bool {
        indexed && matches!(shape, Shape::Hash)
    }

    /// Sets a parameter of the address. The error says what is wrong with it.
    fn take(&mut self, name: &str, value: &str, indexed: bool) -> Result<(), String> {
        match name {
            "index" if indexed => {
                let index = value.parse().map_err(|_| "index that is neither true nor false")?;
                self.index = Some(index);
            }
            "shape" => {
                self.shape = Shape::named(value).ok_or("shape that is neither hash nor string")?;
            }
            "pipeline" => {
                let count = value
                    .parse()
                    .ok()
                    .filter(|count: &NonZeroU32| (1..=MOST_SHARED).contains(&count.get()));
                let wrong = || format!("pipeline that is not a number from 1 to {MOST_SHARED}");
                self.pipeline = Some(count.ok_or_else(wrong)?);
            }
            "resp" => {
                self.resp3 = match value {
                    "2" => false,
                    "3" => true,
                    _ => return Err("resp that is neither 2 nor 3".to_owned()),
                }
            }
            _ => return Err(format!("unknown parameter {name}")),
        }
        Ok(())
    }
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
        let place = match (&self.database, prefix) {
            (DatabasePlan::Scratch { .. }, _) => format!("/{number}/{database}"),
            (_, Some(prefix)) => format!("/{number}/{}", encoded(prefix)),
            (_, None) => format!("/{number}"),
        };
        Some(place + &self.parameters())
    }

    /// Redis numbers its databases; a new run uses the keys with its own prefix.
    fn place_noun(&self) -> Option<&'static str> {
        let prefixed = self.database.name().is_none() || self.prefix.is_some();
        prefixed.then_some("prefix")
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
        if self.shape == Shape::String {
            facts.push(("records", "strings, in JSON".to_owned()));
        }
        if self.pipeline.get() > 1 {
            let shared = format!("up to {} connections share one to the server", self.pipeline);
            facts.push(("pipeline", shared));
        }
        if self.resp3 {
            facts.push(("protocol", "RESP 3".to_owned()));
        }
        facts
    }
}

impl<F: Flavor> DriverPlan for RespPlan<F> {
    type Target = RedisTarget;

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
        let mut options: RedisOptions = asked.options(&F::CARD)?;
        for (name, value) in url.query_pairs() {
            options.take(&name, &value, F::INDEXED).map_err(|problem| wrong(&problem))?;
        }
        let index = options.index.unwrap_or(RedisOptions::index_of(F::INDEXED, options.shape));
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
            index,
            shape: options.shape,
            pipeline: options.pipeline.unwrap_or(one()),
            resp3: options.resp3,
            flavor: PhantomData,
        })
    }

    async fn open(&self, opening: &Opening) -> Result<(RedisTarget, ServerFacts), TargetError> {
        let mut keys = self.keys(opening)?;
        let (timeout, endpoint) = (keys.timeout, keys.endpoint.clone());
        let greeted = tokio::select! {
            greeted = within(timeout, keys.greet(F::CARD.name), CallError::clone) => greeted,
            () = lacks_tls(&endpoint) => {
                let cure = format!("write http://{}", endpoint.host());
                let known = Trouble::new("the server does not use TLS", cure);
                return Err(in_scheme(&self.server, F::CARD.schemes[0], &known));
            }
        };
        let Greeting { name, version } = match greeted {
            Ok(greeting) => greeting,
            Err(trouble) => return Err(self.unusable(&trouble, &keys).await),
        };
        keys.try_out().await?;
        let facts = ServerFacts {
            url: self.server.clone(),
            name,
            version,
            same_machine: keys.endpoint.is_loopback(),
            database: match &self.database {
                DatabasePlan::Scratch { .. } => keys.layout.prefix.trim_end_matches(':').to_owned(),
                _ => self.prefix.clone().unwrap_or_else(|| self.number.to_string()),
            },
            created: matches!(self.database, DatabasePlan::Scratch { .. }) && !opening.as_it_is,
            ..ServerFacts::default()
        };
        Ok((RedisTarget::new(keys), facts))
    }
}

impl<F: Flavor> RespPlan<F> {
    /// The parameters of the address that differ from the defaults.
    fn parameters(&self) -> String {
        let usual = RedisOptions::index_of(F::INDEXED, self.shape);
        let parts = [
            (self.index != usual).then(|| format!("index={}", self.index)),
            (self.shape == Shape::String).then(|| "shape=string".to_owned()),
            (self.pipeline.get() > 1).then(|| format!("pipeline={}", self.pipeline)),
            self.resp3.then(|| "resp=3".to_owned()),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        if parts.is_empty() { String::new() } else { format!("?{}", parts.join("&")) }
    }

    pub(super) fn keys(&self, opening: &Opening) -> Result<Keys, TargetError> {
        let (scheme, place) = self.server.split_once("://").unwrap_or_default();
        let web = if scheme == F::CARD.schemes[0] { "http" } else { "https" };
        let url = Url::parse(&format!("{web}://{place}"));
        let url = url.map_err(|error| TargetError(format!("{}: {error}", self.server)))?;
        let own = || self.database.name_or_new(opening);
        let scratch = matches!(self.database, DatabasePlan::Scratch { .. }).then(own);
        let prefix = scratch.or_else(|| self.prefix.clone()).map(|it| it + ":").unwrap_or_default();
        let log_into = LogInto {
            user: self.login.user.clone(),
            password: self.login.password.clone(),
            number: self.number,
            resp3: self.resp3,
        };
        let max_answer = opening.max_answer;
        let endpoint = Endpoint::resolve(&url, &self.tls)?.with_max_answer(max_answer);
        let tls = (web == "https").then_some(&self.tls);
        Ok(Keys {
            endpoint: Arc::new(endpoint),
            nodes: NodeAccess { log_into, reach: Reach::new(tls, max_answer)? },
            map: None,
            pipeline: self.pipeline.get() as usize,
            removed: self.database.is_removed() && !opening.as_it_is && !prefix.is_empty(),
            timeout: Duration::from_nanos(opening.timeout_ns),
            own: words::Own::new(&opening.operations, |it| words::spell(it, &prefix))?,
            layout: Layout {
                shape: self.shape,
                index: self.index.then(|| format!("{prefix}{INDEX}")),
                prefix,
            },
        })
    }

    /// The error for a server that cannot be used, with what to do about it.
    async fn unusable(&self, trouble: &CallError, keys: &Keys) -> TargetError {
        let (server, scheme) = (&self.server, F::CARD.schemes[0]);
        if let Some(known) = told_apart(trouble, &keys.endpoint, keys.timeout).await {
            return in_scheme(server, scheme, &known);
        }
        unusable(server, &self.login, trouble, |reason| match trouble.failure {
            Failure::Protocol | Failure::Reset => format!(
                "the server at {server} does not speak Redis's protocol ({reason}); give a server \
                 that does, and {scheme}s:// if it uses TLS"
            ),
            _ => format!("cannot reach {server}: {reason}; give a longer --timeout, or check it"),
        })
    }
}
