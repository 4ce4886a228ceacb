//! Before the first stage and after the last: server, credentials, database.

use super::RunError;
use super::sizes::Inspect;
use crate::clock::{SECOND_NS, wall_ns};
use crate::driver::Driver;
use crate::driver::basic::{Basic, Delay, Echo};
use crate::driver::couchdb::{Admin, AdminError, CouchDb, Credentials, encode_segment};
use crate::driver::http::Watcher;
use crate::engine::{Stop, StopReason};
use crate::net::{Endpoint, TlsOptions};
use crate::plan::{Auth, DatabasePlan, DriverName, Plan, TargetPlan};
use crate::record::ServerRecord;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// A server and database that are ready for load.
pub(super) struct Prepared {
    pub(super) target: Driver,
    pub(super) server: ServerRecord,
    /// What its size is asked for with, where that was asked for.
    pub(super) inspect: Option<Inspect>,
    /// What the database is removed with, where this run has made one.
    made: Option<(Arc<Endpoint>, Credentials)>,
}

fn credentials(target: &TargetPlan) -> Credentials {
    let Some(name) = target.user.clone() else { return Credentials::None };
    let password = target.password.clone().unwrap_or_default();
    match target.auth {
        Auth::Cookie => Credentials::Cookie { name, password, cookie: String::new() },
        Auth::Basic => Credentials::Basic { name, password },
    }
}

/// Drives administration on the calling thread, until it is done or the user asks twice to leave.
fn block_on<T>(
    stop: &Stop,
    work: impl Future<Output = Result<T, AdminError>>,
) -> Result<T, RunError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let aborted = async {
            while stop.reason() != Some(StopReason::Aborted) {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::select! {
            result = work => Ok(result?),
            () = aborted => Err(RunError::Aborted),
        }
    })
}

/// Who is shown what is sent, where somebody wants to see it.
pub(super) struct Shown {
    pub(super) exchanges: Option<Watcher>,
    pub(super) echo: Option<Echo>,
}

/// Makes the target of a plan ready. `server` is its address, or that of the stand-in; `echo` shows
/// operations where there is no server.
pub(super) fn prepare(
    plan: &Plan,
    (server, stand_in): (&str, bool),
    stop: &Stop,
    Shown { exchanges, echo }: Shown,
) -> Result<Prepared, RunError> {
    match plan.target.driver {
        DriverName::CouchDb => prepare_couchdb(plan, server, stand_in, stop),
        DriverName::Http => {
            let (target, server) = super::http::prepare(plan, exchanges)?;
            Ok(Prepared { target: Driver::Http(target), server, inspect: None, made: None })
        }
        DriverName::Basic => {
            let name = "basic".to_owned();
            let server = ServerRecord { name, ..ServerRecord::default() };
            let delay = plan.target.basic.filter(|basic| basic.delay_ms > 0).map(|basic| Delay {
                ms: basic.delay_ms,
                seed: basic.randomized.then_some(plan.seed),
            });
            let target = Driver::Basic(Basic { echo, delay });
            Ok(Prepared { target, server, inspect: None, made: None })
        }
    }
}

/// Finds the server, proves who asks, and makes or finds the database.
fn prepare_couchdb(
    plan: &Plan,
    server: &str,
    stand_in: bool,
    stop: &Stop,
) -> Result<Prepared, RunError> {
    let url = Url::parse(server).map_err(|error| RunError::Database(error.to_string()))?;
    let tls = TlsOptions { authorities: plan.target.tls_ca.clone() };
    let endpoint = Endpoint::resolve(&url, &tls)?.with_max_answer(plan.max_answer);
    let endpoint = Arc::new(endpoint);
    let mut admin = Admin::new(&endpoint, credentials(&plan.target), plan.timeout_ns);
    let name = database_name(&plan.target.database);
    let welcome = block_on(stop, async {
        admin.log_in().await?;
        let (_, welcome) = admin.expect(&[200], "GET", "/", None).await?;
        Ok(welcome)
    })?;
    if !speaks_couchdb(&welcome) {
        return Err(RunError::Database(format!(
            "what answers at {server} is not CouchDB (its welcome names no couchdb or pouchdb); \
             name a CouchDB server"
        )));
    }
    let path = format!("/{}", encode_segment(&name));
    let made = format!("{path}{}", plan.target.making.query());
    let created = match plan.target.database {
        DatabasePlan::New { .. } | DatabasePlan::Scratch { .. } => {
            make(&mut admin, (&made, &name), stop)?;
            true
        }
        DatabasePlan::Kept { .. } => make_if_missing(&mut admin, (&path, &made), stop)?,
        DatabasePlan::Existing { .. } | DatabasePlan::None => {
            find(&mut admin, (server, &path, &name), stop)?;
            false
        }
    };
    let credentials = admin.credentials().clone();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let brand = welcome.as_object().and_then(|members| members.keys().next().cloned());
    Ok(Prepared {
        target: Driver::CouchDb(
            CouchDb::new(endpoint.clone(), credentials.clone(), &name)
                .with_cached_updates(plan.target.cached_updates),
        ),
        server: ServerRecord {
            url: server.to_owned(),
            name: brand.unwrap_or_default(),
            version: text(&welcome["version"]),
            stand_in,
            same_machine: endpoint.is_loopback(),
            database: name.clone(),
            created,
            deleted: false,
            left: None,
        },
        inspect: plan.fill.growth.then(|| Inspect {
            endpoint: endpoint.clone(),
            credentials: credentials.clone(),
            path: format!("/{}", encode_segment(&name)),
            timeout_ns: plan.timeout_ns,
        }),
        made: created.then_some((endpoint, credentials)),
    })
}

/// Makes a database that must not exist.
fn make(admin: &mut Admin, (path, name): (&str, &str), stop: &Stop) -> Result<(), RunError> {
    let (status, body) = block_on(stop, admin.request("PUT", path, None))?;
    match status {
        201 | 202 => {}
        412 => {
            return Err(RunError::Database(format!(
                "database {name:?} exists already; add --use-existing to use it (it will not \
                 be deleted), or name another"
            )));
        }
        _ => {
            admin.expect_reply((status, body), &[201], "PUT", path)?;
        }
    }
    Ok(())
}

/// Makes a database where there is none; tells whether it did. Another client may be faster.
fn make_if_missing(
    admin: &mut Admin,
    (path, made): (&str, &str),
    stop: &Stop,
) -> Result<bool, RunError> {
    let (status, body) = block_on(stop, admin.request("GET", path, None))?;
    if status != 404 {
        admin.expect_reply((status, body), &[200], "GET", path)?;
        return Ok(false);
    }
    let (status, body) = block_on(stop, admin.request("PUT", made, None))?;
    admin.expect_reply((status, body), &[201, 202, 412], "PUT", made)?;
    Ok(status != 412)
}

/// Looks for a database that must exist.
fn find(
    admin: &mut Admin,
    (server, path, name): (&str, &str, &str),
    stop: &Stop,
) -> Result<(), RunError> {
    let (status, body) = block_on(stop, admin.request("GET", path, None))?;
    if status == 404 {
        return Err(RunError::Database(format!(
            "there is no database {name:?} on {server}; create it first (curl -X PUT \
             {server}{path})"
        )));
    }
    admin.expect_reply((status, body), &[200], "GET", path)?;
    Ok(())
}

impl Prepared {
    /// Removes the database if this run made it and is not to keep it. Tells whether it did.
    pub(super) fn tear_down(&mut self, plan: &Plan, stop: &Stop) -> Result<bool, RunError> {
        let keep = match plan.target.database {
            DatabasePlan::Scratch { keep } | DatabasePlan::New { keep, .. } => keep,
            DatabasePlan::Kept { .. } | DatabasePlan::Existing { .. } | DatabasePlan::None => true,
        };
        let Some((endpoint, credentials)) = self.made.take().filter(|_| !keep) else {
            return Ok(false);
        };
        let mut admin = Admin::new(&endpoint, credentials, plan.timeout_ns);
        let path = format!("/{}", encode_segment(&self.server.database));
        block_on(stop, remove(&mut admin, &path))?;
        Ok(true)
    }
}

/// Removes a database. A server that is busy for a moment, as after much load, is asked again.
async fn remove(admin: &mut Admin, path: &str) -> Result<(), AdminError> {
    let mut pauses = [Duration::from_millis(200), Duration::from_secs(1)].into_iter();
    loop {
        let removed = match admin.log_in().await {
            Ok(()) => admin.expect(&[200, 202, 404], "DELETE", path, None).await.map(|_| ()),
            Err(error) => Err(error),
        };
        let busy = matches!(removed, Err(AdminError::Unexpected { status: 429 | 503, .. }));
        match pauses.next() {
            Some(pause) if busy => tokio::time::sleep(pause).await,
            _ => return removed,
        }
    }
}

/// Whether a server's welcome is that of CouchDB or of what speaks its protocol. Databases are
/// made and deleted on no other.
fn speaks_couchdb(welcome: &Value) -> bool {
    let names = |name: &String| name.contains("couchdb") || name.contains("pouchdb");
    welcome.as_object().is_some_and(|members| members.keys().any(names))
}

/// The name of the database; a scratch one is named after the moment and this process.
fn database_name(database: &DatabasePlan) -> String {
    match database {
        DatabasePlan::New { name, .. }
        | DatabasePlan::Kept { name }
        | DatabasePlan::Existing { name } => name.clone(),
        DatabasePlan::None => String::new(),
        DatabasePlan::Scratch { .. } => {
            let now = wall_ns();
            let (seconds, fraction) = (now / SECOND_NS, now % SECOND_NS);
            format!("springload_{seconds}_{fraction}_{}", std::process::id())
        }
    }
}
