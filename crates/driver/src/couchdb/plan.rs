//! A CouchDB database as planned.

use super::Credentials;
use super::credentials::without_effect;
use super::design::{self, Design};
use super::making::Making;
use super::quorum::Quorum;
use super::view_name::ViewName;
use crate::address::{decoded, with_scheme};
use crate::http::masked;
use crate::mistake::Invalid;
use crate::net::TlsOptions;
use crate::op::{Feature, OpKind};
use crate::{
    Auth, Card, CompactionPlan, DatabasePlan, Existing, LogIn, Setting, Spread, TargetAsked,
};
use serde::{Deserialize, Serialize};
use url::Url;

/// The server and database of a run. Stored without the password.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CouchPlan {
    /// The server's address without path, user or password; `None` for the stand-in.
    pub server: Option<String>,
    /// Who logs in to it.
    #[serde(flatten)]
    pub login: LogIn,
    /// How the credentials are sent.
    pub auth: Auth,
    /// How the server's certificate is checked.
    #[serde(flatten)]
    pub tls: TlsOptions,
    /// The roles claimed in proxy authentication, separated by commas; `None` for `_admin`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roles: Option<String>,
    /// Headers sent with every request, as `Name: value`; stored without the values.
    #[serde(default, skip_serializing_if = "Vec::is_empty", serialize_with = "masked")]
    pub headers: Vec<String>,
    /// The database.
    pub database: DatabasePlan,
    /// How the database is created; only if this run creates it and not all is left to the server.
    #[serde(default, skip_serializing_if = "Making::is_default")]
    pub making: Making,
    /// How many copies must answer for a document.
    #[serde(default, skip_serializing_if = "Quorum::is_default")]
    pub quorum: Quorum,
    /// Whether an update without a revision is based on the version that its connection saw last.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached_updates: bool,
    /// The other nodes of the cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodePlan>,
    /// Whether each connection stays with its node.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pin: bool,
    /// Design documents that are stored before the load starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub designs: Vec<Design>,
    /// Views with one row per document; an audit checks every row.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audit_views: Vec<ViewName>,
    /// Whether the server decides when the indexes are built; otherwise a separate stage builds
    /// them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_build: bool,
    /// The many databases over which documents are spread, each with its number at the end of its
    /// name; absent for a single database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub databases: Option<Spread>,
    /// How compaction is handled during the run.
    #[serde(default, skip_serializing_if = "CompactionPlan::is_auto")]
    pub compaction: CompactionPlan,
}

/// Another node of a cluster. Stored without the password.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodePlan {
    /// Its address without path, user or password.
    pub server: String,
    /// Who logs in to it.
    #[serde(flatten)]
    pub login: LogIn,
}

/// The role that may create and remove databases.
const ADMIN: &str = "_admin";

/// Settings other than the address.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct CouchDbOptions {
    cached_updates: bool,
    roles: Option<String>,
    ddocs: Vec<Design>,
    no_build: bool,
    audit_view: Vec<ViewName>,
    databases: Option<Spread>,
    compaction: CompactionPlan,
}

impl CouchPlan {
    /// Whether a stage builds the indexes of the design documents.
    pub(super) fn builds(&self) -> bool {
        !self.no_build && !self.designs.is_empty()
    }

    /// All nodes, or the only server. `stand_in` is its address if none was given.
    pub(super) fn all(&self, stand_in: Option<&String>) -> Vec<NodePlan> {
        let server = self.server.as_ref().or(stand_in).cloned().unwrap_or_default();
        let first = NodePlan { server, login: self.login.clone() };
        std::iter::once(first).chain(self.nodes.iter().cloned()).collect()
    }

    pub(super) fn credentials(&self, node: &NodePlan) -> Credentials {
        let Some(name) = node.login.user.clone() else { return Credentials::None };
        let password = node.login.password().to_owned();
        match self.auth {
            Auth::Cookie => Credentials::Cookie { name, password, cookie: String::new() },
            Auth::Basic => Credentials::Basic { name, password },
            Auth::Proxy | Auth::ProxySha1 => {
                let roles = self.roles.as_deref().unwrap_or(ADMIN);
                Credentials::proxy(&name, roles, password, self.auth == Auth::ProxySha1)
            }
        }
    }

    fn stand_in(asked: &TargetAsked, options: CouchDbOptions) -> Self {
        Self {
            server: None,
            login: LogIn::default(),
            auth: asked.auth,
            tls: TlsOptions::default(),
            roles: None,
            headers: Vec::new(),
            database: DatabasePlan::Scratch { keep: asked.keep },
            making: Making::default(),
            quorum: Quorum::default(),
            cached_updates: options.cached_updates,
            nodes: Vec::new(),
            pin: false,
            designs: options.ddocs,
            no_build: options.no_build,
            audit_views: options.audit_view,
            databases: options.databases,
            compaction: CompactionPlan::Auto,
        }
    }
}

pub(super) const CARD: Card = Card {
    name: "couch_db",
    schemes: &["http", "https"],
    summary: "CouchDB and what speaks its protocol",
    address: "http://[user@]host:port[/database][?q=N&n=N&partitioned=true]",
    operations: OpKind::ON_DOCUMENTS
        .and(super::queries::KINDS)
        .with(OpKind::IndexBuild)
        .with(OpKind::IndexAudit)
        .with(OpKind::DatabaseCreate)
        .with(OpKind::DatabaseDelete),
    documents: true,
    databases: true,
    server: true,
    phases: true,
    nouns: crate::Nouns::DOCUMENTS,
    heeds: &Setting::ALL,
    can: &Feature::ALL,
    words: super::words::CARDS,
};

impl CouchPlan {
    /// Makes a plan from a request for a single server.
    fn of_one(asked: &TargetAsked) -> Result<Self, Invalid> {
        let options: CouchDbOptions = asked.options(&CARD)?;
        design::check(&options.ddocs, false, false)?;
        let Some(text) = &asked.address else {
            if options.compaction == CompactionPlan::Auto {
                return Ok(Self::stand_in(asked, options));
            }
            let cure = "give the address of a CouchDB, or leave it out";
            return Err(Invalid::new("--compaction", "the stand-in compacts nothing", cure));
        };
        let CouchDbOptions { cached_updates, roles, ddocs: designs, .. } = options;
        let wrong = |problem: &str| asked.wrong(&CARD, problem);
        let text = &with_scheme(text);
        let url = Url::parse(text).map_err(|error| match error {
            url::ParseError::RelativeUrlWithoutBase => wrong("no http:// and no port"),
            _ if text.contains(char::is_whitespace) => wrong("a space"),
            error => wrong(&error.to_string()),
        })?;
        if !matches!(url.scheme(), "http" | "https") {
            let problem = format!("no database has addresses that begin with {}://", url.scheme());
            let cure = "give http://host:port[/database], or another address that springload run \
                        --help lists";
            return Err(Invalid::new(asked.flag, problem, cure));
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(wrong("no host"));
        }
        if decoded(url.username()).contains(':') {
            // Not shown, since a password may follow it.
            let cure = "give USER:PASSWORD@ with the colon as it is";
            return Err(Invalid::new(asked.flag, "there is a : in the user", cure));
        }
        asked.check_tls(url.scheme() == "https", "write https://")?;
        if let Some(mistake) = without_effect(asked, &url) {
            return Err(mistake);
        }
        if url.fragment().is_some() {
            return Err(wrong("a fragment"));
        }
        if url.path().contains('@') {
            // Not shown, since it may be part of a password.
            let cure =
                "write / as %2F and \\ as %5C in a password, and @ as %40 in a database's name";
            return Err(Invalid::new(asked.flag, "there is an @ after the host", cure));
        }
        let (making, quorum) = parameters(asked, &url).map_err(|problem| wrong(&problem))?;
        design::check(&designs, !options.no_build, making.partitioned)?;
        let database = database(asked, &url).map_err(wrong)?;
        let mut server = url.clone();
        server.set_path("");
        server.set_query(None);
        let _ = server.set_username("");
        let _ = server.set_password(None);
        Ok(Self {
            server: Some(server.as_str().trim_end_matches('/').to_owned()),
            login: LogIn::of_url(&url),
            auth: asked.auth,
            tls: asked.tls.clone(),
            roles,
            headers: asked.headers.clone(),
            database,
            making,
            quorum,
            cached_updates,
            nodes: Vec::new(),
            pin: asked.pin,
            designs,
            no_build: options.no_build,
            audit_views: options.audit_view,
            databases: options.databases,
            compaction: options.compaction,
        })
    }

    /// Makes a plan from a request for a single server, or for the nodes of a cluster.
    pub(super) fn checked(asked: &TargetAsked) -> Result<Self, Invalid> {
        let mut plan = Self::of_one(asked)?;
        for address in &asked.nodes {
            let asked = TargetAsked {
                address: Some(address.clone()),
                existing: Existing::Maybe,
                ..asked.clone()
            };
            let other = Self::of_one(&asked)?;
            plan.add(other).map_err(|problem| {
                let cure = "give the nodes of one cluster, each once, with the same database";
                Invalid::new(asked.flag, problem, cure)
            })?;
        }
        Ok(plan)
    }

    /// Adds a node, which was planned as if it were the only one.
    fn add(&mut self, other: Self) -> Result<(), String> {
        let server = other.server.unwrap_or_default();
        if self.all(None).iter().any(|node| node.server == server) {
            return Err(format!("{server} is given twice"));
        }
        if let Some((one, two)) = self.database.name().zip(other.database.name())
            && one != two
        {
            return Err(format!("the databases {one:?} and {two:?} are not the same"));
        }
        if let (DatabasePlan::Scratch { .. }, Some(name)) = (&self.database, other.database.name())
        {
            return Err(format!(
                "only {server} names the database {name:?}; the first address has none"
            ));
        }
        if !other.making.is_default() && other.making != self.making {
            return Err(format!("{server} has other parameters for creating the database"));
        }
        if !other.quorum.is_default() && other.quorum != self.quorum {
            return Err(format!("{server} has other parameters for reading and writing"));
        }
        self.nodes.push(NodePlan { server, login: other.login });
        Ok(())
    }
}

/// What follows `?` in an address.
fn parameters(asked: &TargetAsked, url: &Url) -> Result<(Making, Quorum), String> {
    let (making, quorum) = (Making::read(url)?, Quorum::read(url)?);
    let makes = url.query_pairs().any(|(name, _)| !Quorum::is_own(&name));
    if makes && asked.existing == Existing::Yes {
        return Err(
            "parameters for creating a database, although it must exist already,".to_owned()
        );
    }
    match making.mistake(&asked.id_prefix) {
        Some(problem) => Err(problem.to_owned()),
        None => Ok((making, quorum)),
    }
}

/// The database named by `asked` or by the path of its address.
fn database(asked: &TargetAsked, url: &Url) -> Result<DatabasePlan, &'static str> {
    let path = url.path().trim_matches('/');
    if path.contains('/') {
        return Err("more than one path segment (write a / in a database's name as %2F)");
    }
    let database = DatabasePlan::of(asked, (!path.is_empty()).then(|| decoded(path)))?;
    if database.name().is_some_and(|name| name.starts_with('_')) {
        return Err("a database name that begins with _ and so belongs to the server,");
    }
    Ok(database)
}
