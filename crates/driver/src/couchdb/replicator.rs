//! Replication by CouchDB's `_replicator`, and by servers with a similar one.

use super::{Admin, AdminError, CouchDb, Credentials, encode_segment};
use crate::{
    DocumentCount, Local, ReplicaEnd, Replicated, ReplicatedPage, ReplicationPhase,
    ReplicationState, Replicator, TargetError,
};
use serde_json::{Map, Value, json};

/// The database of replications.
pub(super) const REPLICATOR: &str = "/_replicator";
/// Documents in one page of changes, and in one request for several.
const PAGE: usize = 1_000;

/// A connection to one database.
#[derive(Debug)]
pub struct CouchReplicator {
    admin: Admin,
    /// The server's address, without credentials.
    server: String,
    /// `/name`, percent-encoded.
    path: String,
    /// The identifiers of the plan's design documents, once for each write.
    brought: Vec<String>,
}

impl CouchReplicator {
    /// A connection to this database, on its first node.
    pub(super) fn new(target: &CouchDb) -> Option<Self> {
        let admin = target.admins().next()?.kept_open();
        let path = target.database_path().to_owned();
        let brought = target.designs.iter().map(|it| format!("_design/{}", it.name())).collect();
        Some(Self { admin, server: target.server.to_string(), path, brought })
    }

    /// Sends one request, after a new log-in if the last one has expired.
    async fn ask(
        &mut self,
        statuses: &[u16],
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(u16, Value), AdminError> {
        let body = body.map(Value::to_string);
        let body = body.as_deref().map(str::as_bytes);
        let reply = self.admin.request(method, path, body).await?;
        if reply.0 != 401 {
            return self.admin.expect_reply(reply, statuses, method, path);
        }
        self.admin.log_in().await?;
        self.admin.expect(statuses, method, path, body).await
    }

    /// The same below this database.
    async fn ask_database(
        &mut self,
        statuses: &[u16],
        method: &str,
        rest: &str,
        body: Option<&Value>,
    ) -> Result<(u16, Value), AdminError> {
        let path = format!("{}{rest}", self.path);
        self.ask(statuses, method, &path, body).await
    }

    async fn put_job(
        &mut self,
        name: &str,
        source: &ReplicaEnd,
        target: &ReplicaEnd,
    ) -> Result<(), TargetError> {
        let job = json!({ "source": source.0, "target": target.0, "continuous": true });
        let path = format!("{REPLICATOR}/{}", encode_segment(name));
        match self.ask(&[201, 202], "PUT", &path, Some(&job)).await {
            Ok(_) => Ok(()),
            Err(AdminError::Unexpected { status: 404, .. }) => Err(self.lacks_replicator()),
            Err(error) => Err(error.into()),
        }
    }

    fn lacks_replicator(&self) -> TargetError {
        let server = &self.server;
        TargetError(format!(
            "{server} has no database _replicator, in which replications are asked for; create it \
             first (curl -X PUT {server}{REPLICATOR})"
        ))
    }

    async fn find_replicator(&mut self) -> Result<(), TargetError> {
        match self.ask(&[200], "GET", REPLICATOR, None).await {
            Ok(_) => Ok(()),
            Err(AdminError::Unexpected { status: 404, .. }) => Err(self.lacks_replicator()),
            Err(error) => Err(error.into()),
        }
    }

    /// Asks the scheduler or, if the server has none, reads the document.
    async fn ask_state(&mut self, name: &str) -> Result<ReplicationState, AdminError> {
        let name = encode_segment(name);
        let path = format!("/_scheduler/docs{REPLICATOR}/{name}");
        // 404: the scheduler has not looked at it yet, or there is no scheduler; other statuses:
        // there is none.
        let (status, answer) = self.ask(&[200, 400, 404, 405, 501], "GET", &path, None).await?;
        if status == 200 && answer.get("state").is_some() {
            return Ok(of_scheduler(&answer));
        }
        let path = format!("{REPLICATOR}/{name}");
        let (_, stored) = self.ask(&[200], "GET", &path, None).await?;
        Ok(of_document(&stored))
    }

    async fn drop_job(&mut self, name: &str) -> Result<(), AdminError> {
        drop_job(&mut self.admin, name).await
    }

    async fn rows_of(&mut self, ids: &[String]) -> Result<Vec<Option<Replicated>>, TargetError> {
        let mut found = Vec::with_capacity(ids.len());
        for keys in ids.chunks(PAGE) {
            let body = json!({ "keys": keys });
            let (_, answer) = self.ask_database(&[200], "POST", "/_all_docs", Some(&body)).await?;
            found.extend(of_rows(&answer, keys.len()).ok_or_else(|| {
                let (server, path) = (&self.server, &self.path);
                TargetError(format!("{server} answers POST {path}/_all_docs without rows for all"))
            })?);
        }
        Ok(found)
    }

    async fn unknown_of(&mut self, documents: &[Replicated]) -> Result<Vec<usize>, AdminError> {
        let mut unknown = Vec::new();
        for (chunk, documents) in documents.chunks(PAGE).enumerate() {
            let asked = documents.iter().map(|it| (it.id.clone(), json!([it.rev])));
            let asked = Value::Object(asked.collect::<Map<_, _>>());
            let (_, answer) =
                self.ask_database(&[200], "POST", "/_revs_diff", Some(&asked)).await?;
            let lacks = |it: &Replicated| answer.get(&it.id).is_some();
            let places = documents.iter().enumerate().filter(|(_, it)| lacks(it));
            unknown.extend(places.map(|(place, _)| chunk * PAGE + place));
        }
        Ok(unknown)
    }

    async fn page_after(&mut self, after: &str) -> Result<ReplicatedPage, TargetError> {
        let since = if after.is_empty() { "0" } else { after };
        let rest = format!("/_changes?limit={PAGE}&since={}", encode_segment(since));
        let (_, answer) = self.ask_database(&[200], "GET", &rest, None).await?;
        of_changes(&answer).ok_or_else(|| {
            let (server, path) = (&self.server, &self.path);
            TargetError(format!("{server} answers GET {path}/_changes without results"))
        })
    }

    async fn delete(&mut self, documents: &[(String, String)]) -> Result<u64, AdminError> {
        let mut deleted = 0;
        for chunk in documents.chunks(PAGE) {
            let docs =
                chunk.iter().map(|(id, rev)| json!({ "_id": id, "_rev": rev, "_deleted": true }));
            let body = json!({ "docs": docs.collect::<Vec<_>>() });
            let (_, answer) =
                self.ask_database(&[201, 202], "POST", "/_bulk_docs", Some(&body)).await?;
            let rows = answer.as_array().map(Vec::as_slice).unwrap_or_default();
            deleted += rows.iter().filter(|row| row.get("error").is_none()).count() as u64;
        }
        Ok(deleted)
    }

    async fn counted(&mut self) -> Result<DocumentCount, AdminError> {
        let (_, answer) = self.ask_database(&[200], "GET", "", None).await?;
        let count = |name: &str| answer[name].as_u64().unwrap_or(0);
        Ok(DocumentCount { documents: count("doc_count"), deleted: count("doc_del_count") })
    }
}

/// Has the server of `admin` forget a replication.
pub(super) async fn drop_job(admin: &mut Admin, name: &str) -> Result<(), AdminError> {
    let path = format!("{REPLICATOR}/{}", encode_segment(name));
    // The server may change the document between the two requests.
    for last in [false, false, true] {
        let mut reply = admin.request("GET", &path, None).await?;
        if reply.0 == 401 {
            admin.log_in().await?;
            reply = admin.request("GET", &path, None).await?;
        }
        let (status, stored) = admin.expect_reply(reply, &[200, 404], "GET", &path)?;
        if status == 404 {
            return Ok(());
        }
        let path = format!("{path}?rev={}", stored["_rev"].as_str().unwrap_or_default());
        let statuses: &[u16] = if last { &[200, 202, 404] } else { &[200, 202, 404, 409] };
        if admin.expect(statuses, "DELETE", &path, None).await?.0 != 409 {
            return Ok(());
        }
    }
    Ok(())
}

/// Reads the state from an answer of `_scheduler/docs`.
fn of_scheduler(answer: &Value) -> ReplicationState {
    use ReplicationPhase::{Failed, Failing, Running, Waiting};
    let name = answer["state"].as_str().unwrap_or_default();
    let phase = match name {
        "running" | "completed" => Running,
        "crashing" | "error" => Failing,
        "failed" => Failed,
        _ => Waiting,
    };
    let info = &answer["info"];
    let reason = match info {
        Value::String(reason) => Some(reason.clone()),
        _ => info["error"].as_str().map(str::to_owned),
    };
    ReplicationState {
        name: if name.is_empty() { "not begun".to_owned() } else { name.to_owned() },
        phase,
        reason: reason.filter(|_| matches!(phase, Failing | Failed)),
        written: info["docs_written"].as_u64(),
        write_failures: info["doc_write_failures"].as_u64(),
        through: Some(&info["through_seq"]).filter(|it| !it.is_null()).map(sequence),
    }
}

/// Reads the state from a document in `_replicator`, where servers without a scheduler write it.
fn of_document(stored: &Value) -> ReplicationState {
    use ReplicationPhase::{Failed, Running, Waiting};
    let name = stored["_replication_state"].as_str().unwrap_or_default();
    let phase = match name {
        "triggered" | "completed" => Running,
        "error" | "failed" => Failed,
        _ => Waiting,
    };
    let reason = &stored["_replication_state_reason"];
    let reason = reason.as_str().map(str::to_owned).or_else(|| match reason {
        Value::Object(members) => Some(Value::Object(members.clone()).to_string()),
        _ => None,
    });
    ReplicationState {
        name: if name.is_empty() { "not begun".to_owned() } else { name.to_owned() },
        phase,
        reason: reason.filter(|_| phase == Failed),
        written: stored["_replication_stats"]["docs_written"].as_u64(),
        write_failures: stored["_replication_stats"]["doc_write_failures"].as_u64(),
        through: None,
    }
}

/// A position in the changes of a database. Some servers write it as a number.
fn sequence(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Reads an answer of `_all_docs` for so many documents; `None` if it is something else.
fn of_rows(answer: &Value, count: usize) -> Option<Vec<Option<Replicated>>> {
    let rows = answer["rows"].as_array().filter(|rows| rows.len() == count)?;
    Some(rows.iter().map(of_row).collect())
}

/// Reads a row of `_all_docs`; `None` if the document does not exist.
fn of_row(row: &Value) -> Option<Replicated> {
    let value = &row["value"];
    Some(Replicated {
        id: row["id"].as_str()?.to_owned(),
        rev: value["rev"].as_str()?.to_owned(),
        deleted: value["deleted"] == true,
    })
}

/// Reads an answer of `_changes`; `None` if it is something else.
fn of_changes(answer: &Value) -> Option<ReplicatedPage> {
    let documents = answer["results"].as_array()?.iter().filter_map(of_change).collect();
    Some(ReplicatedPage { documents, next: sequence(&answer["last_seq"]) })
}

/// Reads a row of `_changes`.
fn of_change(row: &Value) -> Option<Replicated> {
    Some(Replicated {
        id: row["id"].as_str()?.to_owned(),
        rev: row["changes"][0]["rev"].as_str()?.to_owned(),
        deleted: row["deleted"] == true,
    })
}

impl Replicator for CouchReplicator {
    fn end(&self) -> ReplicaEnd {
        let url = format!("{}{}", self.server, self.path);
        let mut lines = Vec::new();
        match self.admin.credentials().clone() {
            // The server logs in by itself, with the password.
            Credentials::Cookie { name, password, .. } => {
                Credentials::Basic { name, password }.write_header(&mut lines);
            }
            other => other.write_header(&mut lines),
        }
        let lines = String::from_utf8_lossy(&lines);
        let headers = header_lines(&lines).chain(header_lines(self.admin.lines()));
        let headers: Map<_, _> = headers.filter(|(name, _)| name != "Host").collect();
        // Servers similar to CouchDB may only accept plain addresses.
        let plain = headers.is_empty();
        ReplicaEnd(if plain { url.into() } else { json!({ "url": url, "headers": headers }) })
    }

    fn brought(&self) -> Vec<String> {
        self.brought.clone()
    }

    fn ready(&mut self) -> Local<'_, Result<(), TargetError>> {
        Box::pin(self.find_replicator())
    }

    fn start<'a>(
        &'a mut self,
        name: &'a str,
        source: &'a ReplicaEnd,
        target: &'a ReplicaEnd,
    ) -> Local<'a, Result<(), TargetError>> {
        Box::pin(self.put_job(name, source, target))
    }

    fn state<'a>(&'a mut self, name: &'a str) -> Local<'a, Result<ReplicationState, TargetError>> {
        Box::pin(async { Ok(self.ask_state(name).await?) })
    }

    fn stop<'a>(&'a mut self, name: &'a str) -> Local<'a, Result<(), TargetError>> {
        Box::pin(async { Ok(self.drop_job(name).await?) })
    }

    fn store<'a>(&'a mut self, id: &'a str) -> Local<'a, Result<String, TargetError>> {
        Box::pin(async {
            let (rest, body) = (format!("/{}", encode_segment(id)), json!({ "marker": true }));
            let (_, answer) = self.ask_database(&[201, 202], "PUT", &rest, Some(&body)).await?;
            Ok(answer["rev"].as_str().unwrap_or_default().to_owned())
        })
    }

    fn remove<'a>(
        &'a mut self,
        documents: &'a [(String, String)],
    ) -> Local<'a, Result<u64, TargetError>> {
        Box::pin(async { Ok(self.delete(documents).await?) })
    }

    fn find<'a>(
        &'a mut self,
        ids: &'a [String],
    ) -> Local<'a, Result<Vec<Option<Replicated>>, TargetError>> {
        Box::pin(self.rows_of(ids))
    }

    fn unknown<'a>(
        &'a mut self,
        documents: &'a [Replicated],
    ) -> Local<'a, Result<Vec<usize>, TargetError>> {
        Box::pin(async { Ok(self.unknown_of(documents).await?) })
    }

    fn count(&mut self) -> Local<'_, Result<DocumentCount, TargetError>> {
        Box::pin(async { Ok(self.counted().await?) })
    }

    fn changed<'a>(&'a mut self, after: &'a str) -> Local<'a, Result<ReplicatedPage, TargetError>> {
        Box::pin(self.page_after(after))
    }
}

fn header_lines(lines: &str) -> impl Iterator<Item = (String, Value)> {
    let pairs = lines.lines().filter_map(|line| line.split_once(':'));
    pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_those_of_the_scheduler_or_of_the_document() {
        use ReplicationPhase::{Failed, Failing, Running, Waiting};
        for (state, phase) in [
            (json!(null), Waiting),
            (json!("initializing"), Waiting),
            (json!("pending"), Waiting),
            (json!("running"), Running),
            (json!("completed"), Running),
            (json!("crashing"), Failing),
            (json!("error"), Failing),
            (json!("failed"), Failed),
        ] {
            assert_eq!(of_scheduler(&json!({ "state": state })).phase, phase, "{state}");
        }
        let answer = json!({ "state": "crashing", "info": { "error": "db_not_found: x" } });
        assert_eq!(of_scheduler(&answer).reason.as_deref(), Some("db_not_found: x"));
        let answer = json!({ "state": "failed", "info": "Could not open it" });
        assert_eq!(of_scheduler(&answer).reason.as_deref(), Some("Could not open it"));
        let info = json!({ "docs_written": 7, "doc_write_failures": 1, "error": null });
        let state = of_scheduler(&json!({ "state": "running", "info": info }));
        assert_eq!((state.written, state.write_failures, state.reason), (Some(7), Some(1), None));
        for (through, wanted) in
            [(json!("9-g1A"), Some("9-g1A")), (json!(9), Some("9")), (json!(null), None)]
        {
            let info = json!({ "through_seq": through });
            let state = of_scheduler(&json!({ "state": "running", "info": info }));
            assert_eq!(state.through.as_deref(), wanted);
        }

        assert_eq!(of_document(&json!({ "_id": "a" })).phase, Waiting);
        let stored = json!({ "_replication_state": "triggered" });
        assert_eq!(of_document(&stored).phase, Running);
        let stored = json!({ "_replication_state": "error", "_replication_state_reason": "no" });
        assert_eq!(
            (of_document(&stored).phase, of_document(&stored).reason),
            (Failed, Some("no".to_owned()))
        );
        let why = json!({ "error": "x" });
        let stored = json!({ "_replication_state": "error", "_replication_state_reason": why });
        assert_eq!(of_document(&stored).reason, Some(why.to_string()));
    }

    #[test]
    fn documents_are_read_from_lists_and_changes_deleted_ones_too() {
        let row = json!({ "id": "a", "key": "a", "value": { "rev": "2-x", "deleted": true } });
        let deleted = Replicated { id: "a".to_owned(), rev: "2-x".to_owned(), deleted: true };
        assert_eq!(of_row(&row), Some(deleted.clone()));
        let absent = json!({ "key": "b", "error": "not_found" });
        assert_eq!(of_row(&absent), None);
        let rows = json!({ "rows": [row, absent] });
        assert_eq!(of_rows(&rows, 2), Some(vec![Some(deleted.clone()), None]));
        assert_eq!(of_rows(&rows, 3), None, "it says nothing about the third");
        assert_eq!(of_rows(&json!({}), 1), None);
        let change =
            json!({ "seq": "1-g", "id": "a", "changes": [{ "rev": "2-x" }], "deleted": true });
        assert_eq!(of_change(&change), Some(deleted.clone()));
        let page = ReplicatedPage { documents: vec![deleted], next: "7-g".to_owned() };
        assert_eq!(of_changes(&json!({ "results": [change], "last_seq": "7-g" })), Some(page));
        let end = ReplicatedPage { documents: Vec::new(), next: "9".to_owned() };
        assert_eq!(of_changes(&json!({ "results": [], "last_seq": 9 })), Some(end));
        assert_eq!(of_changes(&json!({ "last_seq": 9 })), None, "it does not say that it is empty");
    }
}
