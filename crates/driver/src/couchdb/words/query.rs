//! The query of an address: parameters, some of which are JSON.

use super::{SpelledRequest, malformed};
use crate::words::Wrong;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

/// The parameters whose values are JSON.
const JSON: [&str; 8] =
    ["key", "keys", "startkey", "start_key", "endkey", "end_key", "doc_ids", "selector"];

/// Reads `limit=20&startkey="a"`, percent-encoded or not.
///
/// # Errors
/// Fails if a value that must be JSON is not.
pub(super) fn parse(text: &str) -> Result<Map<String, Value>, Wrong> {
    let mut params = Map::new();
    for part in text.split('&').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').ok_or_else(|| {
            (format!("{part:?} has no value"), "write it like limit=20&descending=true".to_owned())
        })?;
        let value = percent_decode_str(value).decode_utf8_lossy().into_owned();
        // A hole stands for a whole JSON value, so {{key}} needs no quotes.
        let is_hole = value.starts_with("{{") && value.find("}}") == Some(value.len() - 2);
        let value = if JSON.contains(&name) && !is_hole {
            serde_json::from_str(&value).map_err(|error| {
                let cure = format!("write it like {name}=\"text\", {name}=17 or {name}=[\"a\",17]");
                (format!("{name}: {value:?} is not JSON: {error}"), cure)
            })?
        } else {
            Value::String(value)
        };
        params.insert(name.to_owned(), value);
    }
    Ok(params)
}

/// Appends parameters to the address of a request; `keys` become its body.
///
/// # Errors
/// Fails if a value is invalid.
pub(super) fn append(
    spelled: &mut SpelledRequest,
    mut params: Map<String, Value>,
) -> Result<(), Wrong> {
    if let Some(keys) = params.remove("keys") {
        if !keys.is_array() && !keys.is_string() {
            return Err((
                "keys is not a list".to_owned(),
                "write it like [\"a\", \"b\"]".to_owned(),
            ));
        }
        body(spelled, &json!({ "keys": keys }))?;
        "POST".clone_into(&mut spelled.method);
    }
    let is_old = |name: &String, value: &Value| match name.as_str() {
        "update" => *value == false || ["false", "lazy"].iter().any(|it| value == it),
        "stale" => ["ok", "update_after"].iter().any(|it| value == it),
        _ => false,
    };
    spelled.as_it_is |= params.iter().any(|(name, value)| is_old(name, value));
    for (place, (name, value)) in params.iter().enumerate() {
        spelled.path.literal(if place == 0 { "?" } else { "&" });
        let (path, holes) = (&mut spelled.path, &mut spelled.holes);
        path.plain(name, true, holes).map_err(|error| malformed(&error))?;
        path.literal("=");
        let written = match value {
            Value::String(text) if !JSON.contains(&name.as_str()) => path.plain(text, true, holes),
            value => path.json(value, true, holes),
        };
        written.map_err(|error| malformed(&error))?;
    }
    Ok(())
}

/// Makes JSON the body of a request.
///
/// # Errors
/// Fails if a hole in it is malformed.
pub(super) fn body(spelled: &mut SpelledRequest, value: &Value) -> Result<(), Wrong> {
    let mut body = std::mem::take(&mut spelled.body).unwrap_or_default();
    body.json(value, false, &mut spelled.holes).map_err(|error| malformed(&error))?;
    spelled.body = Some(body);
    "Content-Type: application/json\r\n".clone_into(&mut spelled.headers);
    Ok(())
}

/// Begins the path of a query of one partition, if that parameter is given.
///
/// # Errors
/// Fails if its value is invalid.
pub(super) fn partition(
    spelled: &mut SpelledRequest,
    params: &mut Map<String, Value>,
) -> Result<(), Wrong> {
    let Some(partition) = params.remove("partition") else { return Ok(()) };
    let partition = partition.as_str().ok_or_else(|| {
        let cure = "write it like partition = \"p1\", or partition={{partition}}";
        ("partition is not a text".to_owned(), cure.to_owned())
    })?;
    spelled.path.literal("_partition/");
    spelled.at(partition)?;
    spelled.path.literal("/");
    Ok(())
}
