//! Before the first stage: the servers, credentials, and the collection.

use super::Mongo;
use super::plan::MongoPlan;
use crate::library::{Library, Trouble};
use crate::op::{Failure, Reason};
use crate::{DatabasePlan, Opening, ServerFacts, TargetError};
use ::mongodb::bson::{Bson, Document, doc};
use ::mongodb::options::{ClientOptions, ServerAddress, Tls};
use std::time::Duration;
use tokio::net::TcpStream;

/// How long the library looks for a usable server, at most.
const SELECTION: Duration = Duration::from_secs(10);

/// Finds the servers, authenticates, and finds or creates the collection.
pub(super) async fn open(
    plan: &MongoPlan,
    opening: &Opening,
) -> Result<(Library, ServerFacts), TargetError> {
    let timeout = Duration::from_nanos(opening.timeout_ns);
    let options = options(plan, timeout).await?;
    reach(&options.hosts, timeout)
        .await
        .map_err(|why| TargetError(format!("cannot reach {}: {why}", plan.server)))?;
    let same_machine = options.hosts.iter().all(is_here);
    let mongo = Mongo {
        options,
        database: plan.parent.clone(),
        collection: plan.database.name_or_new(opening),
        binary: plan.binary,
        upsert: plan.upsert,
        removed: plan.database.is_removed() && !opening.as_it_is,
        timeout,
    };
    let failed = |trouble: Trouble| unusable(plan, &trouble);
    let told = mongo.command(doc! {"buildInfo": 1}).await.map_err(failed)?;
    let created = !opening.as_it_is && make(&mongo, plan).await?;
    let (name, version) = brand(&told);
    let facts = ServerFacts {
        url: plan.server.clone(),
        name: name.to_owned(),
        version,
        same_machine,
        database: format!("{}.{}", mongo.database, mongo.collection),
        created,
    };
    Ok((Library::new(mongo), facts))
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

/// Whether one of the servers can be reached: the library would keep trying for long. The error
/// says why not.
async fn reach(hosts: &[ServerAddress], timeout: Duration) -> Result<(), String> {
    let mut why = "no server is named".to_owned();
    for host in hosts {
        let ServerAddress::Tcp { host, port } = host else { return Ok(()) };
        let host = host.trim_matches(['[', ']']);
        let connecting = TcpStream::connect((host, port.unwrap_or(27_017)));
        match tokio::time::timeout(timeout, connecting).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) => why = error.to_string(),
            Err(_) => "no answer in time".clone_into(&mut why),
        }
    }
    Err(why)
}

fn is_here(host: &ServerAddress) -> bool {
    let ServerAddress::Tcp { host, .. } = host else { return true };
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// The server's name for itself, and its version.
fn brand(told: &Document) -> (&'static str, String) {
    let version = |name| told.get_str(name).unwrap_or_default().to_owned();
    match told.get("ferretdb") {
        Some(Bson::Document(ferret)) => {
            ("ferretdb", ferret.get_str("version").unwrap_or_default().to_owned())
        }
        _ if told.contains_key("ferretdbVersion") => ("ferretdb", version("ferretdbVersion")),
        _ => ("mongodb", version("version")),
    }
}

/// Finds the collection or creates it. Returns whether it was created.
async fn make(mongo: &Mongo, plan: &MongoPlan) -> Result<bool, TargetError> {
    let Mongo { database, collection, .. } = mongo;
    let failed = |trouble: Trouble| unusable(plan, &trouble);
    let command = doc! {"listCollections": 1, "filter": {"name": collection}, "nameOnly": true};
    let listed = mongo.command(command).await.map_err(failed)?;
    let listed = listed.get_document("cursor").and_then(|it| it.get_array("firstBatch"));
    let there = listed.is_ok_and(|batch| !batch.is_empty());
    match (&plan.database, there) {
        (kind, true) if kind.must_be_new() => Err(TargetError(format!(
            "collection {database}.{collection} exists already; add --use-existing to use it (it \
             will not be dropped), or name another"
        ))),
        (DatabasePlan::Existing { .. }, false) => Err(TargetError(format!(
            "there is no collection {database}.{collection} on {}; create it first \
             (db.createCollection({collection:?}) in {database}), or leave out --use-existing",
            plan.server
        ))),
        (_, true) => Ok(false),
        (_, false) => {
            mongo.command(doc! {"create": collection}).await.map_err(failed)?;
            Ok(true)
        }
    }
}

/// Why servers that were reached cannot be used, and what to do about it.
fn unusable(plan: &MongoPlan, trouble: &Trouble) -> TargetError {
    let (server, reason) = (&plan.server, Reason::new(None, &trouble.reason).reason);
    TargetError(match trouble.failure {
        Failure::Authentication => format!(
            "{}; add the option authSource=NAME if the user is of another database than admin",
            plan.login.locked_out(server, &reason)
        ),
        failure if !failure.answered() => format!(
            "there is no usable MongoDB server at {server} ({reason}); name one that speaks its \
             protocol, with the option tls=true if it uses TLS, and directConnection=true for a \
             single member of a replica set"
        ),
        _ => format!("{server} cannot be used: {reason}"),
    })
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
        let here = |host: &str| is_here(&ServerAddress::parse(host).unwrap());
        assert!(here("localhost:1") && here("127.0.0.1") && !here("db.example:27017"));
    }
}
