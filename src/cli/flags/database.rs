//! Flags of verbs that create a database.

use crate::cli::flags::client::drawn_seed;
use crate::cli::flags::known::{IdsParser, choice};
use crate::clock::{SECOND_NS, wall_ns};
use crate::plan::{Auth, Invalid};
use crate::schema::Ids;
use serde_json::{Map, Value};

/// A prefix that is unique to this run: the time in seconds, and 32 random bits.
fn drawn_prefix() -> String {
    format!("{:08x}{:08x}-", wall_ns() / SECOND_NS, drawn_seed() >> 32)
}

pub(in crate::cli) const AUTHS: [(&str, &str, Auth); 4] = [
    ("cookie", "A session cookie", Auth::Cookie),
    ("basic", "Basic authentication with every request", Auth::Basic),
    (
        "proxy",
        "CouchDB's proxy authentication: the password is the secret that it shares with proxies",
        Auth::Proxy,
    ),
    ("proxy-sha1", "The same with SHA-1, for CouchDB before 3.3.2", Auth::ProxySha1),
];

/// Flags about the database.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct DatabaseArgs {
    /// Use the database in TARGET even if it exists; it will not be deleted
    #[arg(long)]
    pub(in crate::cli) use_existing: bool,
    /// Keep the database that this run creates
    #[arg(long, conflicts_with = "use_existing")]
    pub(in crate::cli) keep: bool,
    /// How to authenticate
    #[arg(long, default_value = "cookie", value_parser = choice(&AUTHS))]
    pub(in crate::cli) auth: Auth,
    /// The roles to claim with --auth proxy, separated by commas [default: _admin]
    #[arg(long, value_name = "ROLES")]
    pub(in crate::cli) roles: Option<String>,
    /// Document ids [default: sequential; with --use-existing a prefix unique to this run]
    #[arg(long, value_name = "IDS", value_parser = IdsParser)]
    pub(in crate::cli) id: Option<Ids>,
}

impl DatabaseArgs {
    /// The options that only the driver uses.
    pub(in crate::cli) fn options(&self) -> Map<String, Value> {
        let roles = self.roles.as_ref().map(|roles| ("roles".to_owned(), roles.as_str().into()));
        roles.into_iter().collect()
    }

    /// The ids of documents. In an existing database they must not collide with those of an earlier
    /// run, unless a seed was given to repeat that run.
    pub(in crate::cli) fn ids(&self, seed: Option<u64>) -> Ids {
        let anew = self.use_existing && seed.is_none();
        match (&self.id, seed) {
            (None, Some(seed)) if self.use_existing => Ids::Prefix(format!("s{seed}-").into()),
            (None, None) if self.use_existing => Ids::Prefix(drawn_prefix().into()),
            (None, _) => Ids::Sequential,
            (Some(Ids::Random { salt: 0 }), _) if anew => Ids::Random { salt: drawn_seed() },
            (Some(Ids::Uuid { salt: 0 }), _) if anew => Ids::Uuid { salt: drawn_seed() },
            (Some(ids), _) => ids.clone(),
        }
    }

    /// Checks these flags against the server.
    pub(in crate::cli) fn mistake(&self, target: Option<&String>) -> Option<Invalid> {
        let cure = "give the server and database, or leave the flag out";
        let flag = match target {
            None if self.use_existing => ("--use-existing", "the stand-in starts empty"),
            None if self.keep => ("--keep", "the stand-in and its data are gone when the run ends"),
            _ => return None,
        };
        Some(Invalid::new(flag.0, flag.1, cure))
    }
}
