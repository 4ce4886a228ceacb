//! Stores documents alongside the load, and looks for them in each of CouchDB's ways.

use super::{Admin, AdminError, CouchDb, encode_segment};
use crate::op::Way;
use crate::{Prober, Stored, TargetError};
use serde_json::{Value, json};

/// The member of a probe that is indexed; its value is the document's identifier.
const FIELD: &str = "springload_probe";
/// The name of the view and of the index within their design documents.
const NAME: &str = "probe";

/// A separate connection to one database.
#[derive(Debug)]
pub struct CouchProber {
    admin: Admin,
    /// `/name`, percent-encoded.
    path: String,
    /// The prefix of the names of everything it creates.
    mark: String,
    node: Option<String>,
}

/// A request that looks for a document.
struct Lookup {
    method: &'static str,
    /// Within the database.
    path: String,
    body: Option<Value>,
}

impl Lookup {
    fn get(path: String) -> Self {
        Self { method: "GET", path, body: None }
    }

    fn post(path: String, body: Value) -> Self {
        Self { method: "POST", path, body: Some(body) }
    }
}

impl CouchProber {
    /// One for each node of this database.
    pub(super) fn each(target: &CouchDb, mark: &str) -> Vec<Self> {
        let several = target.nodes.len() > 1;
        let prober = |admin: Admin| Self {
            node: several.then(|| admin.endpoint().host().to_owned()),
            admin: admin.kept_open(),
            path: target.database_path().to_owned(),
            mark: mark.to_owned(),
        };
        target.admins().map(prober).collect()
    }

    /// Sends one request, after a new log-in if the last one has expired.
    async fn ask(
        &mut self,
        statuses: &[u16],
        method: &str,
        rest: &str,
        body: Option<&Value>,
    ) -> Result<(u16, Value), AdminError> {
        let path = format!("{}{rest}", self.path);
        let body = body.map(Value::to_string);
        let body = body.as_deref().map(str::as_bytes);
        let reply = self.admin.request(method, &path, body).await?;
        if reply.0 != 401 {
            return self.admin.expect_reply(reply, statuses, method, &path);
        }
        self.admin.log_in().await?;
        self.admin.expect(statuses, method, &path, body).await
    }

    /// The path of the design document for this way, within the database.
    fn design(&self, way: Way) -> String {
        format!("/_design/{}_{way}", self.mark)
    }

    /// The request that looks for a document in this way.
    fn lookup(&self, way: Way, it: &Stored) -> Lookup {
        let Stored { id, since, .. } = it;
        let key = encode_segment(&json!(id).to_string());
        match way {
            Way::Get => Lookup::get(format!("/{}", encode_segment(id))),
            Way::AllDocs => Lookup::get(format!("/_all_docs?key={key}")),
            Way::Changes => {
                let since = encode_segment(since);
                let path = format!("/_changes?filter=_doc_ids&since={since}");
                Lookup::post(path, json!({ "doc_ids": [id] }))
            }
            Way::Find => {
                let body = json!({ "selector": { FIELD: id }, "fields": ["_id"], "limit": 1 });
                Lookup::post("/_find".to_owned(), body)
            }
            Way::View => Lookup::get(format!("{}/_view/{NAME}?key={key}", self.design(way))),
        }
    }

    /// Creates the index of a way, if it has one.
    async fn index(&mut self, way: Way) -> Result<(), AdminError> {
        let design = self.design(way);
        match way {
            Way::Get | Way::AllDocs | Way::Changes => {}
            Way::Find => {
                let ddoc = design.trim_start_matches("/_design/");
                let index = json!({ "index": { "fields": [FIELD] }, "ddoc": ddoc, "name": NAME });
                self.ask(&[200, 201], "POST", "/_index", Some(&index)).await?;
            }
            Way::View => {
                let map =
                    format!("function (doc) {{ if (doc.{FIELD}) {{ emit(doc.{FIELD}, null); }} }}");
                let design_doc = json!({ "views": { NAME: { "map": map } } });
                // It exists already if it was requested before and took too long.
                self.ask(&[201, 202, 409], "PUT", &design, Some(&design_doc)).await?;
            }
        }
        // The first query builds it.
        let (id, since) = (format!("{}_", self.mark), "now".to_owned());
        self.look(way, &Stored { id, rev: String::new(), since }).await?;
        Ok(())
    }

    /// Looks in this way; returns the body, `Null` if there is no such document.
    async fn look(&mut self, way: Way, it: &Stored) -> Result<Value, AdminError> {
        let Lookup { method, path, body } = self.lookup(way, it);
        let statuses: &[u16] = if way == Way::Get { &[200, 404] } else { &[200] };
        let (status, value) = self.ask(statuses, method, &path, body.as_ref()).await?;
        Ok(if status == 200 { value } else { Value::Null })
    }
}

/// Whether an answer has rows, under any of their names.
fn has_rows(answer: &Value) -> bool {
    let rows = ["rows", "results", "docs"].into_iter().find_map(|name| answer[name].as_array());
    // A deletion is a change, too; for a missing document, `_all_docs` returns a row with an error.
    rows.is_some_and(|rows| rows.iter().any(|row| row.get("error").is_none()))
}

impl Prober for CouchProber {
    fn node(&self) -> Option<String> {
        self.node.clone()
    }

    async fn prepare(&mut self, way: Way) -> Result<(), TargetError> {
        self.index(way).await.map_err(|error| match error {
            AdminError::Unexpected { status: status @ (404 | 405 | 501), .. } => {
                TargetError(format!("this server does not support that ({status})"))
            }
            error => error.into(),
        })
    }

    async fn store(&mut self, n: u64) -> Result<Stored, TargetError> {
        let (_, changes) = self.ask(&[200], "GET", "/_changes?since=now&limit=1", None).await?;
        let since = match &changes["last_seq"] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let id = format!("{}_{n}", self.mark);
        let path = format!("/{}", encode_segment(&id));
        let (_, answer) = self.ask(&[201, 202], "PUT", &path, Some(&json!({ FIELD: id }))).await?;
        let rev = answer["rev"].as_str().unwrap_or_default().to_owned();
        Ok(Stored { id, rev, since })
    }

    async fn sees(&mut self, way: Way, it: &Stored) -> Result<bool, TargetError> {
        let answer = self.look(way, it).await?;
        Ok(match way {
            Way::Get => answer["_id"] == it.id.as_str(),
            _ => has_rows(&answer),
        })
    }

    async fn remove(&mut self, it: &Stored) -> Result<(), TargetError> {
        let path = format!("/{}?rev={}", encode_segment(&it.id), it.rev);
        self.ask(&[200, 202], "DELETE", &path, None).await?;
        Ok(())
    }

    async fn clear(&mut self, way: Way) -> Result<(), TargetError> {
        if !matches!(way, Way::Find | Way::View) {
            return Ok(());
        }
        let design = self.design(way);
        let (status, stored) = self.ask(&[200, 404], "GET", &design, None).await?;
        if status == 200 {
            let rev = stored["_rev"].as_str().unwrap_or_default();
            self.ask(&[200, 202], "DELETE", &format!("{design}?rev={rev}"), None).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_in_place_of_a_document_is_none() {
        let rows = |text: &str| has_rows(&serde_json::from_str(text).unwrap());
        assert!(rows(r#"{"total_rows":3,"rows":[{"id":"a","value":{"rev":"1-a"}}]}"#));
        assert!(rows(r#"{"results":[{"id":"a"}],"last_seq":1}"#));
        assert!(!rows(r#"{"rows":[{"key":"a","error":"not_found"}]}"#));
        assert!(!rows(r#"{"docs":[],"bookmark":"nil"}"#));
        assert!(!rows("{}"));
    }
}
