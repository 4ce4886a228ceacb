//! Design documents and Mango indexes that come with a plan: what is wrong with them, how they are
//! stored, and what is asked of them.

use super::{Admin, encode_segment};
use crate::TargetError;
use crate::mistake::Invalid;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub(super) const DESIGNS: &str = "_all_docs?startkey=%22_design%2F%22&endkey=%22_design0%22";

/// A design document, or the definition of a Mango index as sent to `_index`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Design(Map<String, Value>);

impl Design {
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
    pub(super) fn stored_by(&self) -> (&'static str, String, Vec<u8>) {
        let body = Value::Object(self.0.clone()).to_string().into_bytes();
        if self.is_index() {
            ("POST", "_index".to_owned(), body)
        } else {
            ("PUT", format!("_design/{}", encode_segment(self.name())), body)
        }
    }

    /// A request that is answered once its index is built; `None` if it has no index.
    pub(super) fn asked_by(&self) -> Option<(&'static str, String, Vec<u8>)> {
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
