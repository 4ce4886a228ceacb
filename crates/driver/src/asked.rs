//! A target as requested, before its driver has checked it.

use super::options::{Unread, read};
use super::secrets::redact;
use crate::Card;
use crate::mistake::Invalid;
use crate::net::{CertificateError, TlsOptions};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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
