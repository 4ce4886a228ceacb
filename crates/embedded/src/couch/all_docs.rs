//! `_all_docs`: documents by id, in ranges or by a list of keys.

use std::collections::BTreeMap;

use serde_json::Value;

use super::json::{write_number, write_string};
use super::query::Query;
use super::reply::{Refusal, Reply, ReplyBody};
use super::stand_in::Call;
use super::store::{Database, Entry, State, name, write_document};
use crate::counters::{add, count};

/// A bound of a range. Ids are strings; in CouchDB's order, other values sort before or after all
/// strings.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Bound {
    Before,
    At(String),
    After,
}

impl From<&Value> for Bound {
    fn from(value: &Value) -> Self {
        match value {
            Value::String(key) => Self::At(key.clone()),
            Value::Null | Value::Bool(_) | Value::Number(_) => Self::Before,
            Value::Array(_) | Value::Object(_) => Self::After,
        }
    }
}

/// The parameters whose values are JSON.
const KEYS: [&str; 6] = ["key", "keys", "startkey", "start_key", "endkey", "end_key"];

#[derive(Debug, Default)]
struct Listing {
    keys: Option<Vec<Value>>,
    start: Option<Bound>,
    end: Option<Bound>,
    exclusive_end: bool,
    limit: Option<usize>,
    skip: usize,
    descending: bool,
    include_docs: bool,
}

impl Listing {
    fn parse(query: &Query, body: &[u8]) -> Result<Self, Refusal> {
        let mut parameters: BTreeMap<String, Value> = BTreeMap::new();
        for (name, text) in query.pairs() {
            let value = match serde_json::from_str(text) {
                Ok(value) => value,
                Err(_) if KEYS.contains(&name) => return Err(Refusal::INVALID_JSON),
                // Refused below if this should be a number or a flag.
                Err(_) => Value::Null,
            };
            parameters.insert(name.to_owned(), value);
        }
        if body.iter().any(|byte| !byte.is_ascii_whitespace()) {
            let body: Value = serde_json::from_slice(body).map_err(|_| Refusal::INVALID_JSON)?;
            let Value::Object(members) = body else { return Err(Refusal::REQUEST_NOT_AN_OBJECT) };
            parameters.extend(members);
        }
        let mut listing = Self::default();
        for (name, value) in &parameters {
            listing.set(name, value)?;
        }
        Ok(listing)
    }

    fn set(&mut self, name: &str, value: &Value) -> Result<(), Refusal> {
        let flag = || value.as_bool().ok_or(Refusal::BAD_PARAMETER);
        let number = || value.as_u64().map(|it| it as usize).ok_or(Refusal::BAD_PARAMETER);
        match name {
            "keys" => match value {
                Value::Array(keys) => self.keys = Some(keys.clone()),
                _ => return Err(Refusal::KEYS_NOT_ARRAY),
            },
            "key" => {
                self.start = Some(value.into());
                self.end = Some(value.into());
            }
            "startkey" | "start_key" => self.start = Some(value.into()),
            "endkey" | "end_key" => self.end = Some(value.into()),
            "inclusive_end" => self.exclusive_end = !flag()?,
            "limit" => self.limit = Some(number()?),
            "skip" => self.skip = number()?,
            "descending" => self.descending = flag()?,
            "include_docs" => self.include_docs = flag()?,
            _ => {}
        }
        Ok(())
    }

    /// The ranks `from..to` in ascending order, before `skip` and `limit`.
    fn ranks(&self, state: &mut State) -> (usize, usize) {
        let (ordered, docs) = state.ordered();
        let rank = |bound: &Bound, past: bool| match bound {
            Bound::Before => 0,
            Bound::After => ordered.len(),
            Bound::At(key) => {
                let rank = ordered.rank(key, |it| name(docs, it));
                let there = past && docs.get(key.as_str()).is_some_and(|entry| !entry.deleted);
                rank + usize::from(there)
            }
        };
        let (low, high) =
            if self.descending { (&self.end, &self.start) } else { (&self.start, &self.end) };
        let from = low.as_ref().map_or(0, |low| rank(low, self.descending && self.exclusive_end));
        let to = high
            .as_ref()
            .map_or(ordered.len(), |high| rank(high, self.descending || !self.exclusive_end));
        (from, to.max(from))
    }
}

/// `GET` and `POST /db/_all_docs`
pub(crate) fn all_docs(call: &Call<'_>, database: &Database) -> Result<Reply, Refusal> {
    let listing = Listing::parse(call.query, call.body)?;
    let mut body = Vec::new();
    let rows = write(&listing, &mut database.lock(), &mut body);
    count(&call.shared.tally.listings);
    add(&call.shared.tally.listing_rows, rows);
    Ok(Reply::new(200, ReplyBody::chunked(body)))
}

fn write(listing: &Listing, state: &mut State, body: &mut Vec<u8>) -> u64 {
    body.extend_from_slice(b"{\"total_rows\":");
    write_number(state.live(), body);
    body.extend_from_slice(b",\"offset\":");
    let rows = match &listing.keys {
        Some(keys) => {
            body.extend_from_slice(b"null,\"rows\":[\r\n");
            write_keys(listing, keys, state, body)
        }
        None => write_range(listing, state, body),
    };
    body.extend_from_slice(b"\r\n]}\n");
    rows
}

fn write_range(listing: &Listing, state: &mut State, body: &mut Vec<u8>) -> u64 {
    let (mut from, mut to) = listing.ranks(state);
    let (ordered, docs) = state.ordered();
    let limit = listing.limit.unwrap_or(usize::MAX);
    let offset = if listing.descending {
        let offset = (ordered.len() - to).saturating_add(listing.skip).min(ordered.len());
        to = to.saturating_sub(listing.skip).max(from);
        from = from.max(to.saturating_sub(limit));
        offset
    } else {
        from = from.saturating_add(listing.skip).min(to);
        to = to.min(from.saturating_add(limit));
        from
    };
    write_number(offset as u64, body);
    body.extend_from_slice(b",\"rows\":[\r\n");
    let mut rows = 0;
    let mut put = |ordinal: u32| {
        let Some((id, entry)) = docs.get_index(ordinal as usize) else { return };
        separate(rows, body);
        write_row(id, entry, listing.include_docs, body);
        rows += 1;
    };
    if listing.descending {
        ordered.range(from, to).rev().for_each(&mut put);
    } else {
        ordered.range(from, to).for_each(&mut put);
    }
    rows
}

fn write_keys(listing: &Listing, keys: &[Value], state: &State, body: &mut Vec<u8>) -> u64 {
    let limit = listing.limit.unwrap_or(usize::MAX);
    let forward = keys.iter().skip(if listing.descending { 0 } else { listing.skip });
    let backward = keys.iter().rev().skip(listing.skip);
    let keys: Vec<&Value> = if listing.descending {
        backward.take(limit).collect()
    } else {
        forward.take(limit).collect()
    };
    let mut rows = 0;
    for key in keys {
        separate(rows, body);
        rows += 1;
        if let Some((id, entry)) = key.as_str().and_then(|id| Some((id, state.get(id)?))) {
            write_row(id, entry, listing.include_docs, body);
        } else {
            let row = format!("{{\"key\":{key},\"error\":\"not_found\"}}");
            body.extend_from_slice(row.as_bytes());
        }
    }
    rows
}

fn separate(rows: u64, body: &mut Vec<u8>) {
    if rows > 0 {
        body.extend_from_slice(b",\r\n");
    }
}

fn write_row(id: &str, entry: &Entry, include_docs: bool, body: &mut Vec<u8>) {
    body.extend_from_slice(b"{\"id\":");
    write_string(id, body);
    body.extend_from_slice(b",\"key\":");
    write_string(id, body);
    body.extend_from_slice(b",\"value\":{\"rev\":\"");
    entry.rev.write(body);
    body.extend_from_slice(if entry.deleted { b"\",\"deleted\":true}" } else { b"\"}" });
    if include_docs {
        body.extend_from_slice(b",\"doc\":");
        if entry.deleted {
            body.extend_from_slice(b"null");
        } else {
            write_document(id, entry, body);
        }
    }
    body.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::couch::store::Edit;

    fn state() -> State {
        let mut state = State::default();
        for id in ["d", "b", "a", "c", "e"] {
            let edit = Edit { base: None, deleted: false, body: Box::default() };
            state.edit(id, edit).unwrap();
        }
        let base = Some(state.get("c").unwrap().rev);
        state.edit("c", Edit { base, deleted: true, body: Box::default() }).unwrap();
        state
    }

    /// The offset and the keys of a listing.
    fn list(query: &str, body: &str) -> (Value, String) {
        let listing = Listing::parse(&Query::parse(Some(query)), body.as_bytes()).unwrap();
        let mut out = Vec::new();
        let rows = write(&listing, &mut state(), &mut out);
        let answer: Value = serde_json::from_slice(&out).unwrap();
        let keys: Vec<&str> = answer["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["key"].as_str().unwrap())
            .collect();
        assert_eq!(keys.len() as u64, rows);
        assert_eq!(answer["total_rows"], 4);
        (answer["offset"].clone(), keys.concat())
    }

    #[test]
    fn ranges_follow_couchdb() {
        let cases = [
            ("", 0, "abde"),
            ("limit=2", 0, "ab"),
            ("skip=1&limit=2", 1, "bd"),
            ("skip=9", 4, ""),
            ("startkey=\"b\"", 1, "bde"),
            ("start_key=\"c\"", 2, "de"),
            ("endkey=\"d\"", 0, "abd"),
            ("end_key=\"d\"&inclusive_end=false", 0, "ab"),
            ("startkey=\"b\"&endkey=\"c\"", 1, "b"),
            ("startkey=\"d\"&endkey=\"a\"", 2, ""),
            ("startkey=\"c\"&endkey={}", 2, "de"),
            ("startkey=null&endkey=\"a\"", 0, "a"),
            ("key=\"d\"", 2, "d"),
            ("key=\"c\"", 2, ""),
            ("descending=true", 0, "edba"),
            ("descending=true&limit=1&skip=1", 1, "d"),
            ("descending=true&startkey=\"d\"", 1, "dba"),
            ("descending=true&startkey=\"d\"&endkey=\"b\"", 1, "db"),
            ("descending=true&startkey=\"d\"&endkey=\"b\"&inclusive_end=false", 1, "d"),
        ];
        for (query, offset, keys) in cases {
            assert_eq!(list(query, ""), (offset.into(), keys.to_owned()), "{query}");
        }
    }

    #[test]
    fn keys_keep_their_order_and_their_gaps() {
        let keys = r#"{"keys":["d","x","c","a"]}"#;
        assert_eq!(list("", keys), (Value::Null, "dxca".to_owned()));
        assert_eq!(list("skip=1&limit=2", keys), (Value::Null, "xc".to_owned()));
        assert_eq!(list("descending=true&limit=1", keys), (Value::Null, "a".to_owned()));
    }

    #[test]
    fn rows_of_keys_tell_the_missing_from_the_deleted() {
        let listing =
            Listing::parse(&Query::parse(Some("include_docs=true")), br#"{"keys":["x","c","a"]}"#);
        let mut out = Vec::new();
        write(&listing.unwrap(), &mut state(), &mut out);
        let answer: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(answer["rows"][0], serde_json::json!({"key": "x", "error": "not_found"}));
        assert_eq!(answer["rows"][1]["value"]["deleted"], true);
        assert_eq!(answer["rows"][1]["doc"], Value::Null);
        assert_eq!(answer["rows"][2]["doc"]["_id"], "a");
    }

    #[test]
    fn bad_parameters_are_refused() {
        for (query, refusal) in [
            ("limit=x", Refusal::BAD_PARAMETER),
            ("descending=7", Refusal::BAD_PARAMETER),
            ("keys=7", Refusal::KEYS_NOT_ARRAY),
            ("startkey=c", Refusal::INVALID_JSON),
        ] {
            let parsed = Listing::parse(&Query::parse(Some(query)), b"");
            assert_eq!(parsed.unwrap_err(), refusal, "{query}");
        }
    }
}
