//! What CouchDB's answers say. Each has a fast path for the exact text that CouchDB sends, and
//! a JSON parser for everything else that means the same.

use crate::op::{Failure, Key, Revision, write_id};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::HashMap;

/// The failure class of a status that is not the one asked for. A 403 is a refusal of the user
/// when it tells of a lock-out, and of this one document otherwise: validation functions of a
/// design document answer so.
pub fn failure(status: u16, body: &[u8]) -> Failure {
    match status {
        403 if memchr::memmem::find(body, b"locked").is_none() => Failure::Rejected,
        401 | 403 => Failure::Authentication,
        404 => Failure::NotFound,
        409 => Failure::Conflict,
        412 => Failure::PreconditionFailed,
        413 => Failure::TooLarge,
        429 => Failure::TooManyRequests,
        400..=499 => Failure::Rejected,
        500..=599 => Failure::ServerError,
        _ => Failure::Protocol,
    }
}

/// The answer to a write, or one row of a bulk answer.
#[derive(Deserialize)]
struct Written<'a> {
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    rev: Option<Cow<'a, str>>,
    #[serde(borrow)]
    error: Option<Cow<'a, str>>,
}

/// Reads the answer to a single write of `id`. With `batch=ok` there is no revision.
///
/// # Errors
/// [`Failure::Protocol`] when it is not the answer to a write of `id`.
pub fn written(body: &[u8], id: &[u8]) -> Result<Option<Revision>, Failure> {
    if let Some((revision, [])) = exact_row(body, id) {
        return Ok(Some(revision));
    }
    let row: Written<'_> = serde_json::from_slice(body).map_err(|_| Failure::Protocol)?;
    if row.id.as_deref().map(str::as_bytes) != Some(id) {
        return Err(Failure::Protocol);
    }
    row.rev.map(|rev| Revision::parse(rev.as_bytes()).ok_or(Failure::Protocol)).transpose()
}

/// Reads a stored document's revision and checks that it is the one asked for.
///
/// # Errors
/// [`Failure::Protocol`] when it is not.
pub fn document(body: &[u8], id: &[u8]) -> Result<Revision, Failure> {
    #[derive(Deserialize)]
    struct Stored<'a> {
        #[serde(borrow, rename = "_id")]
        id: Cow<'a, str>,
        #[serde(borrow, rename = "_rev")]
        rev: Cow<'a, str>,
    }
    let exact = body
        .strip_prefix(b"{\"_id\":\"")
        .and_then(|rest| rest.strip_prefix(id))
        .and_then(|rest| rest.strip_prefix(b"\",\"_rev\":\""));
    if let Some(rest) = exact
        && let Some((revision, rest)) = revision_until_quote(rest)
        && rest.trim_ascii_end().ends_with(b"}")
    {
        return Ok(revision);
    }
    let stored: Stored<'_> = serde_json::from_slice(body).map_err(|_| Failure::Protocol)?;
    if stored.id.as_bytes() != id {
        return Err(Failure::Protocol);
    }
    Revision::parse(stored.rev.as_bytes()).ok_or(Failure::Protocol)
}

/// Reads the rows of a bulk answer for the `count` documents from `first` on into `rows`.
///
/// # Errors
/// [`Failure::Protocol`] when it is no array of rows.
pub fn rows(
    body: &[u8],
    first: Key,
    count: u32,
    rows: &mut Vec<Result<Revision, Failure>>,
) -> Result<(), Failure> {
    rows.clear();
    rows.reserve(count as usize);
    if exact_rows(body, first, count, rows).is_some() {
        return Ok(());
    }
    rows.clear();
    let parsed: Vec<Written<'_>> = serde_json::from_slice(body).map_err(|_| Failure::Protocol)?;
    let by_id: HashMap<&[u8], &Written<'_>> =
        parsed.iter().filter_map(|row| Some((row.id.as_deref()?.as_bytes(), row))).collect();
    let mut id = Vec::new();
    for key in first..first + Key::from(count) {
        id.clear();
        write_id(key, &mut id);
        rows.push(by_id.get(&id[..]).map_or(Err(Failure::Protocol), |row| row_result(row)));
    }
    Ok(())
}

fn row_result(row: &Written<'_>) -> Result<Revision, Failure> {
    match row.error.as_deref() {
        Some("conflict") => Err(Failure::Conflict),
        Some("not_found") => Err(Failure::NotFound),
        Some("too_large" | "document_too_large" | "max_document_size_exceeded") => {
            Err(Failure::TooLarge)
        }
        Some("internal_server_error" | "unknown_error" | "timeout") => Err(Failure::ServerError),
        Some(_) => Err(Failure::Rejected),
        None => row
            .rev
            .as_deref()
            .and_then(|rev| Revision::parse(rev.as_bytes()))
            .ok_or(Failure::Protocol),
    }
}

/// Rows without an error, in request order, as CouchDB writes them. `None`: look closer.
fn exact_rows(
    body: &[u8],
    first: Key,
    count: u32,
    rows: &mut Vec<Result<Revision, Failure>>,
) -> Option<()> {
    let mut rest = body.trim_ascii().strip_prefix(b"[")?.strip_suffix(b"]")?;
    let mut id = Vec::with_capacity(20);
    for key in first..first + Key::from(count) {
        if key > first {
            rest = rest.strip_prefix(b",")?.trim_ascii_start();
        }
        id.clear();
        write_id(key, &mut id);
        let (revision, after) = exact_row(rest, &id)?;
        rows.push(Ok(revision));
        rest = after;
    }
    rest.is_empty().then_some(())
}

/// `{"ok":true,"id":"...","rev":"..."}` and what follows it.
#[inline]
fn exact_row<'a>(body: &'a [u8], id: &[u8]) -> Option<(Revision, &'a [u8])> {
    let rest = body.strip_prefix(b"{\"ok\":true,\"id\":\"")?.strip_prefix(id)?;
    let (revision, rest) = revision_until_quote(rest.strip_prefix(b"\",\"rev\":\"")?)?;
    Some((revision, rest.strip_prefix(b"}")?.trim_ascii_start()))
}

#[inline]
fn revision_until_quote(text: &[u8]) -> Option<(Revision, &[u8])> {
    let end = memchr::memchr(b'"', &text[..text.len().min(64)])?;
    Some((Revision::parse(&text[..end])?, &text[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REV: &str = "1-967a00dff5e02add41819138abb3284d";

    #[test]
    fn a_write_is_read_in_any_spelling_and_checked() {
        let revision = Revision::parse(REV.as_bytes());
        for body in [
            format!("{{\"ok\":true,\"id\":\"7\",\"rev\":\"{REV}\"}}\n"),
            format!("{{ \"rev\": \"{REV}\", \"id\": \"\\u0037\", \"ok\": true }}"),
        ] {
            assert_eq!(written(body.as_bytes(), b"7"), Ok(revision));
            assert_eq!(written(body.as_bytes(), b"8"), Err(Failure::Protocol));
        }
        assert_eq!(written(b"{\"ok\":true,\"id\":\"7\"}", b"7"), Ok(None));
        assert_eq!(written(b"<html>", b"7"), Err(Failure::Protocol));
        let more = format!("{{\"ok\":true,\"id\":\"7\",\"rev\":\"{REV}\"}}{{}}");
        assert_eq!(written(more.as_bytes(), b"7"), Err(Failure::Protocol));
    }

    #[test]
    fn a_document_is_read_in_any_order_and_checked() {
        let revision = Revision::parse(REV.as_bytes()).unwrap();
        for body in [
            format!("{{\"_id\":\"7\",\"_rev\":\"{REV}\",\"a\":{{\"_rev\":\"no\"}}}}\n"),
            format!("{{\"a\":{{\"_rev\":\"no\"}},\"_rev\":\"{REV}\",\"_id\":\"7\"}}"),
        ] {
            assert_eq!(document(body.as_bytes(), b"7"), Ok(revision));
            assert_eq!(document(body.as_bytes(), b"70"), Err(Failure::Protocol));
            assert_eq!(document(&body.as_bytes()[..60], b"7"), Err(Failure::Protocol));
        }
    }

    #[test]
    fn rows_are_matched_by_id_whatever_their_order() {
        let ok = Ok(Revision::parse(REV.as_bytes()).unwrap());
        let row = |id: u32| format!("{{\"ok\":true,\"id\":\"{id}\",\"rev\":\"{REV}\"}}");
        let conflict =
            "{\"id\":\"11\",\"error\":\"conflict\",\"reason\":\"Document update conflict.\"}";
        let mut out = Vec::new();
        let exact = format!("[{},{},\r\n{}]\n", row(10), row(11), row(12));
        rows(exact.as_bytes(), 10, 3, &mut out).unwrap();
        assert_eq!(out, [ok, ok, ok]);
        let mixed = format!("[{},{conflict},{}]", row(12), row(10));
        rows(mixed.as_bytes(), 10, 3, &mut out).unwrap();
        assert_eq!(out, [ok, Err(Failure::Conflict), ok]);
        rows(format!("[{}]", row(10)).as_bytes(), 10, 2, &mut out).unwrap();
        assert_eq!(out, [ok, Err(Failure::Protocol)]);
        assert_eq!(rows(b"{}", 10, 1, &mut out), Err(Failure::Protocol));
    }
}
