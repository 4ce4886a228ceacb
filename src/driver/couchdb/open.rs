//! Before the first stage and after the last: server, credentials, the database and its size.

use super::plan::CouchPlan;
use super::{Admin, AdminError, CouchDb, Credentials, encode_segment};
use crate::driver::{DatabasePlan, Opening, ServerFacts, Size, TargetError};
use crate::net::Endpoint;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

impl From<AdminError> for TargetError {
    fn from(error: AdminError) -> Self {
        Self(error.to_string())
    }
}

/// Finds the server, authenticates, and creates or finds the database.
pub(super) async fn open(
    plan: &CouchPlan,
    opening: &Opening,
) -> Result<(CouchDb, ServerFacts), TargetError> {
    let (server, mut admin, welcome) = enter(plan, opening).await?;
    let endpoint = admin.endpoint().clone();
    let name = plan.database.name_or_new(opening);
    let path = format!("/{}", encode_segment(&name));
    let made = format!("{path}{}", plan.making.query());
    let created = match plan.database {
        _ if opening.as_it_is => false,
        DatabasePlan::New { .. } | DatabasePlan::Scratch { .. } => {
            make(&mut admin, &made, &name).await?;
            true
        }
        DatabasePlan::Kept { .. } => make_if_missing(&mut admin, &path, &made).await?,
        DatabasePlan::Existing { .. } => {
            find(&mut admin, &server, &path, &name).await?;
            false
        }
    };
    let removed = plan.database.is_removed() && !opening.as_it_is;
    let brand = welcome.as_object().and_then(|members| members.keys().next().cloned());
    let facts = ServerFacts {
        url: server,
        name: brand.unwrap_or_default(),
        version: welcome["version"].as_str().unwrap_or_default().to_owned(),
        same_machine: endpoint.is_loopback(),
        database: name.clone(),
        created,
    };
    let target = CouchDb::new(endpoint, admin.credentials().clone(), &name)
        .with_headers(&plan.headers)
        .with_cached_updates(plan.cached_updates)
        .with_administration(opening.timeout_ns, removed);
    Ok((target, facts))
}

/// Finds the server and authenticates: its address, its administration and its welcome.
pub(super) async fn enter(
    plan: &CouchPlan,
    opening: &Opening,
) -> Result<(String, Admin, Value), TargetError> {
    let server = plan.server.clone().or_else(|| opening.stand_in.clone()).unwrap_or_default();
    let url = Url::parse(&server).map_err(|error| TargetError(error.to_string()))?;
    let endpoint =
        Arc::new(Endpoint::resolve(&url, &plan.tls())?.with_max_answer(opening.max_answer));
    let bare = CouchDb::new(endpoint.clone(), Credentials::None, "").with_headers(&plan.headers);
    let mut admin = Admin::new(&endpoint, plan.credentials(), opening.timeout_ns);
    admin = admin.with_lines(&bare.lines);
    let welcome = match admin.welcome().await {
        Ok(welcome) => welcome,
        Err(error) => return Err(admin.unless_tls(error).await.into()),
    };
    if !speaks_couchdb(&welcome) {
        return Err(TargetError(format!(
            "what answers at {server} is not CouchDB (its welcome names no couchdb or pouchdb); \
             name a CouchDB server, or use springload http"
        )));
    }
    Ok((server, admin, welcome))
}

/// Creates a database that must not exist.
async fn make(admin: &mut Admin, path: &str, name: &str) -> Result<(), TargetError> {
    let (status, body) = admin.request("PUT", path, None).await?;
    match status {
        201 | 202 => {}
        412 => {
            return Err(TargetError(format!(
                "database {name:?} exists already; add --use-existing to use it (it will not \
                 be deleted), or name another"
            )));
        }
        400 => {
            let reason = body["reason"].as_str().unwrap_or("it is no name").trim_end_matches('.');
            let problem = format!("the server refuses the database name {name:?}: {reason}");
            return Err(TargetError(format!("{problem}; give another")));
        }
        _ => {
            admin.expect_reply((status, body), &[201], "PUT", path)?;
        }
    }
    Ok(())
}

/// Creates a database if it is missing; returns whether it did. Another client may create it first.
async fn make_if_missing(admin: &mut Admin, path: &str, made: &str) -> Result<bool, TargetError> {
    let (status, body) = admin.request("GET", path, None).await?;
    if status != 404 {
        admin.expect_reply((status, body), &[200], "GET", path)?;
        return Ok(false);
    }
    let (status, body) = admin.request("PUT", made, None).await?;
    admin.expect_reply((status, body), &[201, 202, 412], "PUT", made)?;
    Ok(status != 412)
}

/// Looks for a database that must exist.
async fn find(admin: &mut Admin, server: &str, path: &str, name: &str) -> Result<(), TargetError> {
    let (status, body) = admin.request("GET", path, None).await?;
    if status == 404 {
        return Err(TargetError(format!(
            "there is no database {name:?} on {server}; create it first (curl -X PUT \
             {server}{path})"
        )));
    }
    admin.expect_reply((status, body), &[200], "GET", path)?;
    Ok(())
}

/// Removes a database. Retries if the server is busy for a moment, as it may be after heavy load.
pub(super) async fn remove(admin: &mut Admin, path: &str) -> Result<(), AdminError> {
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

/// Whether a server's welcome is that of CouchDB or of a compatible database. On other servers no
/// database is created or deleted.
fn speaks_couchdb(welcome: &Value) -> bool {
    let names = |name: &String| name.contains("couchdb") || name.contains("pouchdb");
    welcome.as_object().is_some_and(|members| members.keys().any(names))
}

impl Admin {
    /// Logs in, and returns what the server says of itself.
    async fn welcome(&mut self) -> Result<Value, AdminError> {
        self.log_in().await?;
        Ok(self.expect(&[200], "GET", "/", None).await?.1)
    }
}

impl CouchDb {
    /// Its administration, on a connection of its own.
    pub(super) fn admin(&self) -> Admin {
        let admin = Admin::new(&self.endpoint, self.credentials.clone(), self.timeout_ns);
        admin.with_lines(&self.lines)
    }

    /// `/name`, percent-encoded.
    pub(super) fn database_path(&self) -> &str {
        // It is percent-encoded, and ends with a slash.
        std::str::from_utf8(&self.path).unwrap_or_default().trim_end_matches('/')
    }

    /// Removes the database if the plan says so. Returns whether it did.
    pub(super) async fn remove(&self) -> Result<bool, TargetError> {
        if self.removed {
            remove(&mut self.admin(), self.database_path()).await?;
        }
        Ok(self.removed)
    }

    /// What the server says about the database, if it answers. An expired cookie is renewed.
    pub(super) async fn ask_size(&self) -> Option<Size> {
        let mut admin = self.admin();
        let mut answer = admin.request("GET", self.database_path(), None).await.ok()?;
        if answer.0 == 401 {
            admin.log_in().await.ok()?;
            answer = admin.request("GET", self.database_path(), None).await.ok()?;
        }
        (answer.0 == 200).then(|| size(&answer.1))
    }
}

/// Reads the server's answer. Before CouchDB 2 the sizes had other names.
fn size(told: &Value) -> Size {
    let either = |new: &Value, old: &Value| new.as_u64().or_else(|| old.as_u64());
    let sizes = &told["sizes"];
    Size {
        at_s: 0.0,
        documents: told["doc_count"].as_u64(),
        file_bytes: either(&sizes["file"], &told["disk_size"]),
        active_bytes: either(&sizes["active"], &told["data_size"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sizes_by_their_names_of_all_times() {
        let of = |documents, file_bytes, active_bytes| Size {
            at_s: 0.0,
            documents: Some(documents),
            file_bytes,
            active_bytes,
        };
        let told = json!({"doc_count": 5, "sizes": {"file": 100, "active": 50, "external": 9}});
        assert_eq!(size(&told), of(5, Some(100), Some(50)));
        let told = json!({"doc_count": 5, "disk_size": 100, "data_size": 50});
        assert_eq!(size(&told), of(5, Some(100), Some(50)));
        assert_eq!(size(&json!({"doc_count": 7})), of(7, None, None));
    }
}
