//! Before the first stage: the servers, credentials, and the collection.

use super::binding::BINDING;
use super::plan::{CARD, MongoPlan};
use super::{Mongo, indexes, words};
use crate::library::{CallError, Database as _, Library, is_here, reach, unusable};
use crate::mistake::Invalid;
use crate::net::{Endpoint, TlsOptions};
use crate::op::Failure;
use crate::{
    Binding, Card, DatabasePlan, DriverPlan, Nouns, Opening, ServerFacts, TargetAsked, TargetError,
};
use ::mongodb::bson::{Bson, Document, doc};
use ::mongodb::options::{ClientOptions, ServerAddress, Tls};
use std::time::Duration;
use url::Url;

/// How long the library looks for a usable server, at most.
const SELECTION: Duration = Duration::from_secs(10);

impl DriverPlan for MongoPlan {
    type Target = Library;

    const CARD: Card = CARD;

    const BINDING: Option<Binding> = Some(BINDING);

    fn check(asked: &TargetAsked) -> Result<Self, Invalid> {
        Self::checked(asked)
    }

    /// Finds the servers, authenticates, and finds or creates the collection.
    async fn open(&self, opening: &Opening) -> Result<(Library, ServerFacts), TargetError> {
        let timeout = Duration::from_nanos(opening.timeout_ns);
        let options = options(self, timeout).await?;
        // None if a server is a socket in the file system.
        let hosts: Vec<_> =
            options.hosts.iter().map(with_port).collect::<Option<_>>().unwrap_or_default();
        if !hosts.is_empty() {
            reach(&self.server, &hosts, timeout).await?;
        }
        let encrypted = matches!(options.tls, Some(Tls::Enabled(_)));
        let same_machine = hosts.iter().all(|host| is_here(host));
        let collection = self.database.name_or_new(opening);
        let own = words::Own::new(&opening.operations, |it| words::spell(it, &collection))?;
        let mongo = Mongo {
            own,
            options,
            database: self.parent.clone(),
            collection,
            binary: self.binary,
            upsert: self.upsert,
            order: self.order,
            removed: self.database.is_removed() && !opening.as_it_is,
            timeout,
        };
        let failed = |trouble: CallError| unusable_servers(self, &trouble);
        let build = match mongo.command(doc! {"buildInfo": 1}).await {
            Ok(build) => build,
            Err(trouble) => {
                if encrypted && !self.options.contains("tlsCAFile") {
                    self.trusts(&hosts, opening.timeout_ns).await?;
                }
                return Err(failed(trouble));
            }
        };
        let created = !opening.as_it_is && make(&mongo, self, opening).await?;
        let indexed = if opening.as_it_is { Ok(()) } else { self.index(&mongo, created).await };
        let usable = match indexed {
            Ok(()) => words::try_out(&mongo).await,
            refused => refused,
        };
        if let Err(refused) = usable {
            // A run that does not begin leaves nothing behind.
            let _ = Mongo { removed: created, ..mongo }.tear_down().await;
            return Err(refused);
        }
        let (name, version) = brand(&build);
        let facts = ServerFacts {
            url: self.server.clone(),
            name: name.to_owned(),
            version,
            same_machine,
            database: format!("{}.{}", mongo.database, mongo.collection),
            created,
            ..ServerFacts::default()
        };
        Ok((Library::new(mongo), facts))
    }
}

impl MongoPlan {
    /// Creates the indexes if the collection was `created`; an existing collection must have them.
    async fn index(&self, mongo: &Mongo, created: bool) -> Result<(), TargetError> {
        if self.indexes.is_empty() {
            return Ok(());
        }
        if created {
            indexes::create(mongo, &self.indexes).await.map_err(|trouble| {
                let (all, reason) = (self.indexes.join("; "), trouble.reason);
                TargetError(format!("{} cannot index {all}: {reason}", self.server))
            })?;
        }
        indexes::there(mongo, &self.indexes).await
    }

    /// Checks that the certificates of these hosts are trusted, since the library's own message is
    /// not meant for users.
    async fn trusts(&self, hosts: &[String], timeout_ns: u64) -> Result<(), TargetError> {
        let (authorities, insecure) = (self.tls_ca.clone(), self.insecure);
        let tls = TlsOptions { authorities, insecure, identity: None };
        for host in hosts {
            let Ok(url) = Url::parse(&format!("https://{host}")) else { continue };
            let endpoint = Endpoint::resolve(&url, &tls)?;
            // Other problems will be reported by the library.
            let trouble = crate::net::reach(&endpoint, timeout_ns).await.err();
            if let Some(trouble) = trouble.filter(|it| it.problem.contains("certificate")) {
                let problem = trouble.with_cure();
                return Err(TargetError(format!("cannot reach {}: {problem}", self.server)));
            }
        }
        Ok(())
    }
}

async fn options(plan: &MongoPlan, timeout: Duration) -> Result<ClientOptions, TargetError> {
    let parsing = tokio::time::timeout(timeout, ClientOptions::parse(plan.connection_string()));
    let mut options = match parsing.await {
        Ok(Ok(options)) => options,
        Ok(Err(error)) => return Err(TargetError(format!("{}: {}", plan.server, error.kind))),
        Err(_) => return Err(TargetError(format!("cannot find the address of {}", plan.server))),
    };
    options.app_name.get_or_insert_with(|| "springload".to_owned());
    options.connect_timeout.get_or_insert(timeout);
    options.server_selection_timeout = Some(timeout.min(SELECTION));
    (options.retry_reads, options.retry_writes) = (Some(false), Some(false));
    options.max_adaptive_retries = Some(0);
    if let Some(Tls::Enabled(tls)) = &mut options.tls {
        if let Some(file) = &plan.tls_ca {
            tls.ca_file_path = Some(file.clone());
        }
        if plan.insecure {
            tls.allow_invalid_certificates = Some(true);
        }
    }
    Ok(options)
}

/// `host:port`; `None` for a socket in the file system.
fn with_port(host: &ServerAddress) -> Option<String> {
    let ServerAddress::Tcp { host, port } = host else { return None };
    let (host, port) = (host.trim_matches(['[', ']']), port.unwrap_or(27_017));
    Some(if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") })
}

/// The server's name for itself, and its version.
fn brand(build: &Document) -> (&'static str, String) {
    let version = |name| build.get_str(name).unwrap_or_default().to_owned();
    match build.get("ferretdb") {
        Some(Bson::Document(ferret)) => {
            ("ferretdb", ferret.get_str("version").unwrap_or_default().to_owned())
        }
        _ if build.contains_key("ferretdbVersion") => ("ferretdb", version("ferretdbVersion")),
        _ => ("mongodb", version("version")),
    }
}

/// Finds the collection or creates it. Returns whether it was created.
async fn make(mongo: &Mongo, plan: &MongoPlan, opening: &Opening) -> Result<bool, TargetError> {
    let Mongo { database, collection, .. } = mongo;
    let failed = |trouble: CallError| unusable_servers(plan, &trouble);
    let command = doc! {"listCollections": 1, "filter": {"name": collection}, "nameOnly": true};
    let listed = mongo.command(command).await.map_err(failed)?;
    let listed = listed.get_document("cursor").and_then(|it| it.get_array("firstBatch"));
    // mongo-java-server lists all collections, whatever the filter.
    let is_it =
        |it: &Bson| it.as_document().and_then(|it| it.get_str("name").ok()) == Some(collection);
    let there = listed.is_ok_and(|batch| batch.iter().any(is_it));
    match (&plan.database, there) {
        (kind, true) if kind.must_be_new() => Err(TargetError(format!(
            "collection {database}.{collection} exists already; add --use-existing to use it (it \
             will not be dropped), or choose another"
        ))),
        (DatabasePlan::Existing { .. }, false) => {
            let what = format!("collection {database}.{collection} on {}", plan.server);
            let cure = format!(
                "create it first (db.createCollection({collection:?}) in {database}), or leave \
                 out --use-existing"
            );
            Err(opening.missing(&what, &cure, Nouns::DOCUMENTS))
        }
        (_, true) => Ok(false),
        (_, false) => {
            mongo.command(doc! {"create": collection}).await.map_err(failed)?;
            Ok(true)
        }
    }
}

/// The error for servers that were reached but cannot be used, with what to do about it.
fn unusable_servers(plan: &MongoPlan, trouble: &CallError) -> TargetError {
    let server = &plan.server;
    let TargetError(mut why) = unusable(server, &plan.login, trouble, |reason| {
        format!(
            "there is no usable MongoDB server at {server} ({reason}); give one that speaks its \
             protocol, with the option tls=true if it uses TLS, and directConnection=true for a \
             single member of a replica set"
        )
    });
    if trouble.failure == Failure::Authentication {
        why += "; add the option authSource=NAME if the user is of another database than admin";
    }
    TargetError(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_known_by_what_they_say() {
        let mongo = doc! {"version": "8.0.1"};
        assert_eq!(brand(&mongo), ("mongodb", "8.0.1".to_owned()));
        let ferret = doc! {"version": "7.0.42", "ferretdb": {"version": "v2.0"}};
        assert_eq!(brand(&ferret), ("ferretdb", "v2.0".to_owned()));
        let older = doc! {"version": "7.0.42", "ferretdbVersion": "v1.24.0"};
        assert_eq!(brand(&older), ("ferretdb", "v1.24.0".to_owned()));
    }

    #[test]
    fn this_machine_is_known_by_its_addresses() {
        let here = |host: &str| is_here(&with_port(&ServerAddress::parse(host).unwrap()).unwrap());
        assert!(here("localhost:1") && here("127.0.0.1") && here("[::1]:7"));
        assert!(!here("db.example:27017"));
    }
}
