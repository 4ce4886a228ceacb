//! Design documents and Mango indexes that come with a plan: how they are stored, and how their
//! indexes are built before the load.

use super::pen::CouchPen;
use super::session::CouchSession;
use super::words::count_any;
use super::{Admin, answer, encode_segment};
use crate::clock::Nanos;
use crate::http1::{Answer, Request};
use crate::measure::{BodyBytes, Probe, Wire};
use crate::mistake::Invalid;
use crate::op::{Failure, Op, Reply};
use crate::{Outcome, TargetError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// How long to wait between two checks of an index that is being built.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The list of design documents.
pub(super) const DESIGNS: &str = "_all_docs?startkey=%22_design%2F%22&endkey=%22_design0%22";

/// A design document, or the definition of a Mango index as sent to `_index`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Design(Map<String, Value>);

impl Design {
    /// What is wrong with it.
    pub(super) fn problem(&self) -> Option<String> {
        if self.is_index() {
            let named = |name: &str| self.0.get(name).is_some_and(Value::is_string);
            let fields = self.first_field().is_some();
            return (!named("ddoc") || !named("name") || !fields)
                .then(|| "an index has the members index.fields, ddoc and name".to_owned());
        }
        let id = self.0.get("_id").and_then(Value::as_str).unwrap_or_default();
        if id.strip_prefix("_design/").is_none_or(str::is_empty) {
            return Some(format!("its _id is {id:?}, not _design/NAME"));
        }
        let views = match self.0.get("views") {
            None => return None,
            Some(Value::Object(views)) => views,
            Some(_) => return Some("views is not an object".to_owned()),
        };
        let map = |view: &Value| view.get("map").is_some_and(|it| it.is_string() || it.is_object());
        let lacks = views.iter().find(|(name, view)| *name != "lib" && !map(view));
        lacks.map(|(name, _)| format!("the view {name} has no map"))
    }

    fn is_index(&self) -> bool {
        self.0.contains_key("index")
    }

    /// The name of the design document.
    pub(super) fn name(&self) -> &str {
        let text = |member: &str| self.0.get(member).and_then(Value::as_str);
        let id = if self.is_index() { text("ddoc") } else { text("_id") };
        let id = id.unwrap_or_default();
        id.strip_prefix("_design/").unwrap_or(id)
    }

    /// Whether it indexes each partition separately, in a database that has partitions.
    fn is_partitioned(&self) -> bool {
        let own = self.0.get("options").and_then(|it| it.get("partitioned"));
        let own = if self.is_index() { self.0.get("partitioned") } else { own };
        (self.is_index() || self.views().next().is_some()) && own != Some(&Value::Bool(false))
    }

    /// Its views.
    pub(super) fn views(&self) -> impl Iterator<Item = &String> {
        let views = self.0.get("views").and_then(Value::as_object);
        views.into_iter().flat_map(Map::keys).filter(|name| *name != "lib")
    }

    fn first_field(&self) -> Option<&str> {
        let first = self.0.get("index")?.get("fields")?.as_array()?.first()?;
        match first {
            Value::String(name) => Some(name),
            Value::Object(sorted) => sorted.keys().next().map(String::as_str),
            _ => None,
        }
    }

    /// The request that stores it: method, path below the database, and body.
    fn stored_by(&self) -> (&'static str, String, Vec<u8>) {
        let body = Value::Object(self.0.clone()).to_string().into_bytes();
        if self.is_index() {
            ("POST", "_index".to_owned(), body)
        } else {
            ("PUT", format!("_design/{}", encode_segment(self.name())), body)
        }
    }

    /// A request that is answered once its index is built; `None` if it has no index.
    fn asked_by(&self) -> Option<(&'static str, String, Vec<u8>)> {
        if self.is_index() {
            let (field, name) = (self.first_field()?, self.0.get("name")?);
            let asked = json!({
                "selector": { field: { "$gt": null } }, "use_index": [self.name(), name],
                "limit": 1,
            });
            return Some(("POST", "_find".to_owned(), asked.to_string().into_bytes()));
        }
        let view = self.views().next()?;
        let reduces = self.0.get("views")?.get(view)?.get("reduce").is_some();
        let plain = if reduces { "&reduce=false" } else { "" };
        let (name, view) = (encode_segment(self.name()), encode_segment(view));
        Some(("GET", format!("_design/{name}/_view/{view}?limit=0{plain}"), Vec::new()))
    }

    /// Whether a stored design document is the same except for its revision.
    fn is(&self, stored: &Value) -> bool {
        let own = self.0.iter().filter(|(name, _)| *name != "_rev");
        let others = stored.as_object().map_or(0, Map::len);
        let revision = usize::from(stored.get("_rev").is_some());
        own.clone().count() + revision == others
            && own.clone().all(|(name, value)| stored.get(name) == Some(value))
    }
}

/// What is wrong with the design documents of a plan, for a database that may be partitioned.
pub(super) fn check(designs: &[Design], builds: bool, partitioned: bool) -> Result<(), Invalid> {
    for (place, design) in designs.iter().enumerate() {
        let wrong = |problem| {
            let problem = format!("{}: {problem}", design.name());
            Invalid::new("--ddocs", problem, "write it as in docs/operations.md")
        };
        if let Some(problem) = design.problem() {
            return Err(wrong(problem));
        }
        if builds && partitioned && design.is_partitioned() {
            let problem = format!("{}: its indexes belong to partitions", design.name());
            let cure = "add \"options\": {\"partitioned\": false} to build them as a whole, or \
                        give --no-build";
            return Err(Invalid::new("--ddocs", problem, cure));
        }
        let same = |other: &Design| {
            !other.is_index() && !design.is_index() && other.name() == design.name()
        };
        if designs[..place].iter().any(same) {
            return Err(wrong("there are two of that name".to_owned()));
        }
    }
    Ok(())
}

/// Fails if a different design document of one of these names exists: it is never replaced. Stores
/// all of them if nothing builds their indexes later.
pub(super) async fn put(
    admin: &mut Admin,
    path: &str,
    designs: &[Design],
    builds: bool,
) -> Result<(), TargetError> {
    for design in designs {
        let (method, place, body) = design.stored_by();
        let place = format!("{path}/{place}");
        if !design.is_index() {
            let (status, stored) = admin.request("GET", &place, None).await?;
            if status == 200 && !design.is(&stored) {
                return Err(TargetError(format!(
                    "--ddocs: _design/{} of this database is another one; remove it first, or \
                     leave yours out",
                    design.name()
                )));
            }
            if status == 200 {
                continue;
            }
        }
        if !builds {
            admin.expect(&[200, 201, 202], method, &place, Some(&body)).await?;
        }
    }
    Ok(())
}

/// A request below the database.
struct Asked<'a> {
    method: &'static str,
    place: &'a str,
    body: &'a [u8],
}

impl CouchSession {
    /// Stores a design document and waits until its index is built.
    pub(super) async fn build_index(
        &mut self,
        op: &Op,
        pen: &mut CouchPen,
        probe: &mut Probe,
    ) -> Outcome {
        probe.mark_send_at_once();
        let result = self.built(op, pen).await;
        probe.mark_received();
        Outcome { result, bytes: BodyBytes::default(), wire: Wire::default() }
    }

    async fn built(&mut self, op: &Op, pen: &mut CouchPen) -> Result<Reply, Failure> {
        let designs = self.designs.clone();
        let design = designs.get(op.key as usize).ok_or(Failure::Protocol)?;
        let (method, place, body) = design.stored_by();
        let put = Asked { method, place: &place, body: &body };
        let stored = self.send(&put, pen).await?;
        // The same design document existed before.
        if !matches!(stored.status, 200 | 201 | 202 | 409) {
            return Err(answer::failure(stored.status, self.connection.body()));
        }
        let Some((method, place, body)) = design.asked_by() else { return Ok(Reply::default()) };
        let info = format!("_design/{}/_info", encode_segment(design.name()));
        self.ask_patiently(method, &place, &body, &info, pen).await?;
        let rows = self.indexed(pen).await?;
        Ok(Reply { rows, ..Reply::default() })
    }

    /// Queries an index, and waits as long as the server makes progress with building it.
    pub(super) async fn ask_patiently(
        &mut self,
        method: &'static str,
        place: &str,
        body: &[u8],
        info: &str,
        pen: &mut CouchPen,
    ) -> Result<(), Failure> {
        loop {
            match self.send(&Asked { method, place, body }, pen).await {
                Ok(Answer { status: 200, .. }) => return Ok(()),
                Ok(answer) => {
                    return Err(answer::failure(answer.status, self.connection.body()));
                }
                // The server goes on building the index.
                Err(Failure::Timeout | Failure::Unanswered) if self.connection.timed_out() => {
                    self.watch(info, pen).await?;
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    /// How many documents are stored, without design documents; 0 if the server does not say.
    async fn indexed(&mut self, pen: &mut CouchPen) -> Result<u32, Failure> {
        let database = Asked { method: "GET", place: "", body: b"" };
        let all = match self.send(&database, pen).await?.status {
            200 => documents(self.connection.body()),
            _ => return Ok(0),
        };
        let asked = Asked { method: "GET", place: DESIGNS, body: b"" };
        let designs = match self.send(&asked, pen).await?.status {
            200 => count_any(self.connection.body())?.rows,
            _ => 0,
        };
        Ok(all.saturating_sub(designs).try_into().unwrap_or(u32::MAX))
    }

    /// Waits until the server has indexed every document, as long as it makes progress.
    async fn watch(&mut self, info: &str, pen: &mut CouchPen) -> Result<(), Failure> {
        let (mut least, mut since) = (u64::MAX, self.clock.now());
        loop {
            let asked = Asked { method: "GET", place: info, body: b"" };
            let answer = self.send(&asked, pen).await?;
            let left = if answer.status == 200 { pending(self.connection.body()) } else { None };
            // If the server does not report its progress, the index is queried again.
            let Some(left) = left.filter(|left| *left > 0) else { return Ok(()) };
            let now: Nanos = self.clock.now();
            if left < least {
                (least, since) = (left, now);
            } else if now.saturating_sub(since) > self.connection.timeout_ns() {
                return Err(Failure::Timeout);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Sends a request below the database, with its own timeout. If the cookie has expired, the
    /// request is sent again with a new one.
    async fn send(&mut self, asked: &Asked<'_>, pen: &mut CouchPen) -> Result<Answer, Failure> {
        for _ in 0..2 {
            let now = self.clock.now();
            let mut probe = Probe::new(self.clock, now, now);
            let bytes = self.request_bytes(asked, pen);
            let answer = self.connection.exchange(Request::reading(bytes), &mut probe).await?;
            if answer.status != 401 || !self.log_in().await? {
                return Ok(answer);
            }
        }
        Err(Failure::Authentication)
    }

    fn request_bytes<'a>(&self, asked: &Asked<'_>, pen: &'a mut CouchPen) -> &'a [u8] {
        let head = &mut pen.head;
        head.clear();
        head.extend_from_slice(asked.method.as_bytes());
        head.push(b' ');
        // The database itself has no slash at its end.
        let slash = usize::from(asked.place.is_empty());
        let path = self.paths.alone();
        head.extend_from_slice(&path[..path.len() - slash]);
        head.extend_from_slice(asked.place.as_bytes());
        head.extend_from_slice(&self.common);
        if asked.method != "GET" {
            head.extend_from_slice(b"Content-Type: application/json\r\nContent-Length: ");
            head.extend_from_slice(itoa::Buffer::new().format(asked.body.len()).as_bytes());
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(b"\r\n");
        head.extend_from_slice(asked.body);
        head
    }
}

/// How many changes an index has yet to process; `None` if the server does not say.
fn pending(body: &[u8]) -> Option<u64> {
    let info: Value = serde_json::from_slice(body).ok()?;
    let index = &info["view_index"];
    let left = index["updates_pending"]["total"].as_u64()?;
    // It may have processed all changes, and still be writing.
    Some(left.max(u64::from(index["updater_running"] == true)))
}

/// How many documents a database has, according to the server.
fn documents(body: &[u8]) -> u64 {
    let database: Value = serde_json::from_slice(body).unwrap_or_default();
    database["doc_count"].as_u64().unwrap_or(0)
}
