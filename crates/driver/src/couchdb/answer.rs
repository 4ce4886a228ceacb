//! Reads CouchDB's answers: a fast path for the exact text that CouchDB sends, and a JSON parser
//! for anything else with the same meaning.

use super::revision::Revision;
use super::whole::ends_object;
use crate::http1::failure_of;
use crate::http1::reason::ErrorBody;
use crate::op::{Failure, Token};
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;

/// The failure class of an unexpected status. A 403 refuses the user if it reports a lock-out;
/// otherwise it refuses just this document, as validation functions in design documents do.
pub fn failure(status: u16, body: &[u8]) -> Failure {
    match status {
        403 if memchr::memmem::find(body, b"locked").is_none() => Failure::Rejected,
        401 | 403 => Failure::Authentication,
        status => failure_of(status),
    }
}

/// The answer to a write, or one row of a bulk answer.
#[derive(Deserialize)]
struct WriteAnswer<'a> {
    ok: Option<bool>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    rev: Option<Cow<'a, str>>,
    #[serde(borrow)]
    error: Option<Cow<'a, str>>,
}

impl WriteAnswer<'_> {
    fn id(&self) -> Option<&[u8]> {
        self.id.as_deref().map(str::as_bytes)
    }
}

/// Reads the answer to a single write of `id`.
///
/// # Errors
/// The error that the answer reports; [`Failure::Protocol`] if it is not the answer to a write of
/// `id`, or has no revision.
pub fn written(body: &[u8], id: &[u8]) -> Result<Revision, Failure> {
    if let Some((revision, [])) = exact_row(body, id) {
        return Ok(revision);
    }
    let row: WriteAnswer<'_> = serde_json::from_slice(body).map_err(|_| Failure::Protocol)?;
    let revision = row_result(&row)?;
    if row.id() == Some(id) { Ok(revision) } else { Err(Failure::Protocol) }
}

/// Reads a stored document's revision and checks that the document is complete and the one
/// requested.
///
/// # Errors
/// [`Failure::WrongDocument`] if it is another, [`Failure::Protocol`] if it is not complete.
pub fn document(body: &[u8], id: &[u8]) -> Result<Revision, Failure> {
    match exact_head(body, id) {
        Some((revision, rest)) if ends_object(rest) => Ok(revision),
        _ => parsed_document(body, id),
    }
}

fn parsed_document(body: &[u8], id: &[u8]) -> Result<Revision, Failure> {
    #[derive(Deserialize)]
    struct StoredHead<'a> {
        #[serde(borrow, rename = "_id")]
        id: Cow<'a, str>,
        #[serde(borrow, rename = "_rev")]
        rev: Cow<'a, str>,
    }
    let stored: StoredHead<'_> = serde_json::from_slice(body).map_err(|_| Failure::Protocol)?;
    let revision = Revision::parse(stored.rev.as_bytes()).ok_or(Failure::Protocol)?;
    if stored.id.as_bytes() == id { Ok(revision) } else { Err(Failure::WrongDocument) }
}

/// Reads the rows of a bulk answer into `rows`, in the order of `names`: the identifiers, separated
/// by zero bytes. A document without a row has failed.
///
/// # Errors
/// [`Failure::Protocol`] if it is not an array of rows, has more rows than were requested, or rows
/// for other documents; the error of a row that has no identifier.
pub fn rows(
    body: &[u8],
    names: &[u8],
    rows: &mut Vec<Result<Token, Failure>>,
) -> Result<(), Failure> {
    rows.clear();
    if exact_rows(body, names, rows).is_some() {
        return Ok(());
    }
    rows.clear();
    let parsed: Vec<WriteAnswer<'_>> =
        serde_json::from_slice(body).map_err(|_| Failure::Protocol)?;
    let in_order = each(names).map(Some).eq(parsed.iter().map(WriteAnswer::id));
    if in_order {
        rows.extend(parsed.iter().map(row_token));
        return Ok(());
    }
    let mut by_id: HashMap<&[u8], Vec<&WriteAnswer<'_>>> = HashMap::with_capacity(parsed.len());
    for row in &parsed {
        let Some(id) = row.id() else {
            return Err(row_result(row).err().unwrap_or(Failure::Protocol));
        };
        by_id.entry(id).or_default().push(row);
    }
    let take = |id| by_id.get_mut(id).and_then(Vec::pop).map_or(Err(Failure::Protocol), row_token);
    rows.extend(each(names).map(take));
    if by_id.values().all(Vec::is_empty) {
        Ok(())
    } else {
        rows.clear();
        Err(Failure::Protocol)
    }
}

/// Whether a bulk insert that failed with this status has an answer with rows, not all of which
/// failed that way: CouchDB answers like this if it could not store everything, for example because
/// the disk is full.
#[cold]
pub(super) fn failed_rows(
    status: u16,
    body: &[u8],
    names: &[u8],
    found: &mut Vec<Result<Token, Failure>>,
) -> bool {
    let by_row = failure_of(status) == Failure::ServerError && body.starts_with(b"[");
    let parsed = by_row && rows(body, names, found).is_ok();
    let differs = found.iter().any(|row| *row != Err(Failure::ServerError));
    if !(parsed && differs) {
        found.clear();
    }
    parsed && differs
}

/// What a bulk answer says about the first document that failed this way.
pub(super) fn row_reason(body: &[u8], failure: Failure) -> Option<String> {
    #[derive(Deserialize)]
    struct RefusedRow<'a> {
        #[serde(borrow, flatten)]
        written: WriteAnswer<'a>,
        #[serde(borrow)]
        reason: Option<Cow<'a, str>>,
    }
    let rows: Vec<RefusedRow<'_>> = serde_json::from_slice(body).ok()?;
    let row = rows.into_iter().find(|row| row_result(&row.written) == Err(failure))?;
    ErrorBody { error: row.written.error, reason: row.reason }.words()
}

/// The body of a request that looks up the documents in `names` whose rows are conflicts.
pub(super) fn lookup(names: &[u8], rows: &[Result<Token, Failure>]) -> Vec<u8> {
    let conflicts = each(names).zip(rows).filter(|(_, row)| **row == Err(Failure::Conflict));
    let keys: Vec<_> = conflicts.map(|(name, _)| String::from_utf8_lossy(name)).collect();
    serde_json::json!({ "keys": keys }).to_string().into_bytes()
}

pub(super) fn each(names: &[u8]) -> impl Iterator<Item = &[u8]> {
    names.split(|&byte| byte == 0)
}

#[derive(Deserialize)]
struct ScanAnswer<'a> {
    #[serde(borrow)]
    rows: Vec<ScannedRow<'a>>,
}

#[derive(Deserialize)]
struct ScannedRow<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    doc: &'a RawValue,
}

/// The documents in an answer to a scan; `None` if it is not such an answer.
pub(super) fn documents(body: &[u8]) -> Option<Vec<&[u8]>> {
    let ScanAnswer { rows } = serde_json::from_slice(body).ok()?;
    Some(rows.iter().map(|row| row.doc.get().as_bytes()).collect())
}

/// Counts the rows of an answer to a scan for at most `limit` documents. Each row must contain its
/// own document.
///
/// # Errors
/// [`Failure::Protocol`] if it is not an answer to a scan.
pub fn scanned(body: &[u8], limit: u32) -> Result<u32, Failure> {
    let ScanAnswer { rows } = serde_json::from_slice(body).map_err(|_| Failure::Protocol)?;
    let whole = |row: &ScannedRow<'_>| {
        let (document, id) = (row.doc.get().as_bytes(), row.id.as_bytes());
        exact_head(document, id).is_some() || parsed_document(document, id).is_ok()
    };
    let fits = rows.len() <= limit as usize && rows.iter().all(whole);
    if fits { Ok(rows.len() as u32) } else { Err(Failure::Protocol) }
}

/// Appends the stored document `stored` to `out`, with the members of `changes` replacing its own
/// or added to them. Returns the revision of the stored document.
///
/// # Errors
/// [`Failure::Protocol`] if either is not a JSON object, [`Failure::WrongDocument`] if the stored
/// one is not the document `id`.
pub fn merge(
    stored: &[u8],
    id: &[u8],
    changes: &[u8],
    out: &mut Vec<u8>,
) -> Result<Revision, Failure> {
    type Members<'a> = IndexMap<Cow<'a, str>, &'a RawValue>;
    let revision = document(stored, id)?;
    let mut members: Members<'_> = serde_json::from_slice(stored).map_err(|_| Failure::Protocol)?;
    let changes: Members<'_> = serde_json::from_slice(changes).map_err(|_| Failure::Protocol)?;
    members.extend(changes);
    serde_json::to_writer(out, &members).map_err(|_| Failure::Protocol)?;
    Ok(revision)
}

fn row_token(row: &WriteAnswer<'_>) -> Result<Token, Failure> {
    row_result(row).map(Token::from)
}

fn row_result(row: &WriteAnswer<'_>) -> Result<Revision, Failure> {
    match row.error.as_deref() {
        Some("conflict") => Err(Failure::Conflict),
        Some("not_found") => Err(Failure::NotFound),
        Some("too_large" | "document_too_large" | "max_document_size_exceeded") => {
            Err(Failure::TooLarge)
        }
        Some(
            "attachment_too_large"
            | "bad_request"
            | "doc_validation"
            | "forbidden"
            | "illegal_docid"
            | "missing_stub"
            | "not_implemented"
            | "unauthorized",
        ) => Err(Failure::Rejected),
        // Everything else is what CouchDB answers with status 500, in whatever words: `error` on a
        // full disk. The document may be stored.
        Some(_) => Err(Failure::ServerError),
        None if row.ok == Some(false) => Err(Failure::Protocol),
        None => row
            .rev
            .as_deref()
            .and_then(|rev| Revision::parse(rev.as_bytes()))
            .ok_or(Failure::Protocol),
    }
}

/// Rows without an error, in request order, exactly as CouchDB writes them. `None` if anything
/// differs.
fn exact_rows(body: &[u8], names: &[u8], rows: &mut Vec<Result<Token, Failure>>) -> Option<()> {
    let mut rest = body.trim_ascii().strip_prefix(b"[")?.strip_suffix(b"]")?;
    for (place, id) in each(names).enumerate() {
        if place > 0 {
            rest = rest.strip_prefix(b",")?.trim_ascii_start();
        }
        let (revision, after) = exact_row(rest, id)?;
        rows.push(Ok(revision.into()));
        rest = after;
    }
    rest.is_empty().then_some(())
}

/// `{"ok":true,"id":"...","rev":"..."}` and whatever follows it.
#[inline]
fn exact_row<'a>(body: &'a [u8], id: &[u8]) -> Option<(Revision, &'a [u8])> {
    let rest = body.strip_prefix(b"{\"ok\":true,\"id\":\"")?.strip_prefix(id)?;
    let (revision, rest) = revision_until_quote(rest.strip_prefix(b"\",\"rev\":\"")?)?;
    Some((revision, rest.strip_prefix(b"}")?.trim_ascii_start()))
}

/// `{"_id":"...","_rev":"..."` and whatever follows it.
#[allow(clippy::inline_always, reason = "on the path of each read; a scan's call would forbid it")]
#[inline(always)]
fn exact_head<'a>(body: &'a [u8], id: &[u8]) -> Option<(Revision, &'a [u8])> {
    let rest = body.strip_prefix(b"{\"_id\":\"")?.strip_prefix(id)?;
    revision_until_quote(rest.strip_prefix(b"\",\"_rev\":\"")?)
}

#[inline]
fn revision_until_quote(text: &[u8]) -> Option<(Revision, &[u8])> {
    // The generation nearly always has one digit.
    if let Some(([digit @ b'0'..=b'9', b'-', hex @ .., b'"'], rest)) =
        text.split_first_chunk::<35>()
        && let Ok(hash) = const_hex::decode_to_array(hex)
    {
        return Some((Revision { generation: u32::from(digit - b'0'), hash }, rest));
    }
    longer_revision_until_quote(text)
}

#[inline(never)]
fn longer_revision_until_quote(text: &[u8]) -> Option<(Revision, &[u8])> {
    let end = memchr::memchr(b'"', &text[..text.len().min(64)])?;
    Some((Revision::parse(&text[..end])?, &text[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REV: &str = "1-967a00dff5e02add41819138abb3284d";

    #[test]
    fn a_write_is_read_in_any_spelling_and_checked() {
        let revision = Revision::parse(REV.as_bytes()).unwrap();
        for body in [
            format!("{{\"ok\":true,\"id\":\"7\",\"rev\":\"{REV}\"}}\n"),
            format!("{{ \"rev\": \"{REV}\", \"id\": \"\\u0037\", \"ok\": true }}"),
        ] {
            assert_eq!(written(body.as_bytes(), b"7"), Ok(revision));
            assert_eq!(written(body.as_bytes(), b"8"), Err(Failure::Protocol));
        }
        assert_eq!(written(b"<html>", b"7"), Err(Failure::Protocol));
        let more = format!("{{\"ok\":true,\"id\":\"7\",\"rev\":\"{REV}\"}}{{}}");
        assert_eq!(written(more.as_bytes(), b"7"), Err(Failure::Protocol));
    }

    #[test]
    fn a_write_succeeds_by_what_its_answer_says() {
        let answer = |ok: &str, rest: &str| {
            let rev = format!("{{\"ok\":{ok},\"id\":\"7\",\"rev\":\"{REV}\"{rest}}}\n");
            written(rev.as_bytes(), b"7")
        };
        assert!(answer("true", "").is_ok() && answer("true", ",\"more\":1").is_ok());
        assert_eq!(answer("false", ""), Err(Failure::Protocol));
        assert_eq!(answer("\"yes\"", ""), Err(Failure::Protocol));
        assert_eq!(answer("true", ",\"error\":\"conflict\""), Err(Failure::Conflict));
        assert_eq!(answer("true", ",\"error\":\"forbidden\""), Err(Failure::Rejected));
        assert_eq!(answer("true", ",\"error\":\"whatever\""), Err(Failure::ServerError));
        assert_eq!(written(b"{\"ok\":true,\"id\":\"7\"}", b"7"), Err(Failure::Protocol));
        let failed = b"{\"error\":\"unknown_error\",\"reason\":\"undefined\"}";
        assert_eq!(written(failed, b"7"), Err(Failure::ServerError));
    }

    #[test]
    fn a_document_is_read_in_any_order_and_checked() {
        let revision = Revision::parse(REV.as_bytes()).unwrap();
        for body in [
            format!("{{\"_id\":\"7\",\"_rev\":\"{REV}\",\"a\":{{\"_rev\":\"no\"}}}}\n"),
            format!("{{\"a\":{{\"_rev\":\"no\"}},\"_rev\":\"{REV}\",\"_id\":\"7\"}}"),
        ] {
            assert_eq!(document(body.as_bytes(), b"7"), Ok(revision));
            assert_eq!(document(body.as_bytes(), b"70"), Err(Failure::WrongDocument));
            // Truncated and closed again: in the middle of a value, and inside a string.
            for end in [body.len() - 12, body.len() - 5] {
                let cut = format!("{}}}", &body[..end]);
                assert_eq!(document(cut.as_bytes(), b"7"), Err(Failure::Protocol), "{cut}");
            }
        }
    }

    #[test]
    fn revisions_of_every_length_are_read_alike() {
        let hash = &REV[2..];
        for (generation, good) in [("1", true), ("0", true), ("10", true), ("123456789", true)]
            .into_iter()
            .chain([("1234567890", false), ("", false), ("x", false), ("/", false)])
        {
            for (hash, good) in [(hash, good), (&hash.to_uppercase(), good), (&hash[1..], false)]
                .into_iter()
                .chain([(&*format!("{}g", &hash[1..]), false), (&*format!("{hash}0"), false)])
            {
                let rev = format!("{generation}-{hash}");
                let revision = Revision::parse(rev.as_bytes());
                assert_eq!(revision.is_some(), good, "{rev}");
                let row = format!("{{\"ok\":true,\"id\":\"7\",\"rev\":\"{rev}\"}}");
                assert_eq!(written(row.as_bytes(), b"7").ok(), revision, "{rev}");
            }
        }
    }

    #[test]
    fn changes_take_the_place_of_stored_members() {
        let stored = format!("{{\"_id\":\"7\",\"_rev\":\"{REV}\",\"a\":1,\"b\":{{\"c\":2}}}}");
        let mut out = Vec::new();
        let revision = merge(stored.as_bytes(), b"7", b"{\"d\":\"\\u0041\",\"a\":9}", &mut out);
        assert_eq!(revision, Revision::parse(REV.as_bytes()).ok_or(Failure::Protocol));
        let merged: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let wanted = serde_json::json!({"_id": "7", "_rev": REV, "a": 9, "b": {"c": 2}, "d": "A"});
        assert_eq!(merged, wanted);
        let other = merge(stored.as_bytes(), b"8", b"{}", &mut out);
        assert_eq!(other, Err(Failure::WrongDocument));
        assert_eq!(merge(stored.as_bytes(), b"7", b"[]", &mut out), Err(Failure::Protocol));
    }

    #[test]
    fn a_scan_counts_the_documents_that_came() {
        let rows = |docs: &str| format!("{{\"total_rows\":9,\"offset\":2,\"rows\":[{docs}]}}");
        let doc = format!("{{\"_id\":\"a\",\"_rev\":\"{REV}\",\"b\":1}}");
        let row = format!("{{\"id\":\"a\",\"key\":\"a\",\"value\":{{}},\"doc\":{doc}}}");
        assert_eq!(scanned(rows("").as_bytes(), 3), Ok(0));
        assert_eq!(scanned(rows(&format!("{row},{row}")).as_bytes(), 3), Ok(2));
        assert_eq!(scanned(rows(&format!("{row},{row}")).as_bytes(), 1), Err(Failure::Protocol));
        let spaced = row.replace("\"_rev\":", "\"_rev\": ");
        assert_eq!(scanned(rows(&spaced).as_bytes(), 3), Ok(1));
        for other in ["null", "{}", &doc.replace("\"a\"", "\"b\"")] {
            let without = row.replace(&doc, other);
            assert_eq!(scanned(rows(&without).as_bytes(), 3), Err(Failure::Protocol));
        }
        assert_eq!(scanned(b"{\"rows\":[", 3), Err(Failure::Protocol));
    }

    #[test]
    fn a_user_who_is_locked_out_is_refused_and_not_the_document() {
        let forbidden = br#"{"error":"forbidden","reason":"Not with this owner."}"#;
        let locked = br#"{"error":"forbidden","reason":"Account is temporarily locked."}"#;
        assert_eq!(failure(403, forbidden), Failure::Rejected);
        assert_eq!(failure(403, locked), Failure::Authentication);
        assert_eq!(failure(401, forbidden), Failure::Authentication);
    }

    #[test]
    fn what_couchdb_writes_needs_no_parser() {
        for rev in [REV, "12-967a00dff5e02add41819138abb3284d"] {
            let revision = Revision::parse(rev.as_bytes()).unwrap();
            let row = |id: u32| format!("{{\"ok\":true,\"id\":\"{id}\",\"rev\":\"{rev}\"}}");
            let body = format!("{}\n", row(10));
            assert_eq!(exact_row(body.as_bytes(), b"10"), Some((revision, &b""[..])));
            let head = format!("{{\"_id\":\"10\",\"_rev\":\"{rev}\",\"a\":1}}");
            assert_eq!(exact_head(head.as_bytes(), b"10"), Some((revision, &b",\"a\":1}"[..])));
            let (body, mut found) = (format!("[{},\n{}]\n", row(10), row(11)), Vec::new());
            assert_eq!(exact_rows(body.as_bytes(), b"10\x0011", &mut found), Some(()));
            let stored: Result<Token, Failure> = Ok(revision.into());
            assert_eq!(found, [stored; 2]);
        }
    }

    /// As CouchDB 3.5.0 answers when its disk is full; no other answer is treated that way.
    #[test]
    fn of_a_bulk_insert_that_failed_some_rows_may_be_stored() {
        let failed = r#"{"id":"11","error":"error","reason":"internal_server_error"}"#;
        let stored = format!(r#"{{"ok":true,"id":"10","rev":"{REV}"}}"#);
        let rows_of = |status, body: &str| {
            let mut found = vec![Err(Failure::Protocol)];
            failed_rows(status, body.as_bytes(), b"10\x0011", &mut found).then_some(found)
        };
        let body = format!("[{stored},{failed}]");
        let rows = rows_of(500, &body).expect("rows");
        assert!(rows[0].is_ok() && rows[1] == Err(Failure::ServerError), "{rows:?}");
        assert_eq!(rows_of(400, &body), None, "it was refused as a whole");
        assert_eq!(rows_of(500, &format!("[{failed},{failed}]").replacen("11", "10", 1)), None);
        assert_eq!(rows_of(500, r#"{"error":"error","reason":"internal_server_error"}"#), None);
        assert_eq!(rows_of(500, &body[..body.len() - 1]), None, "cut short");
    }

    #[test]
    fn only_conflicts_are_looked_up() {
        let revision = Revision::parse(REV.as_bytes()).unwrap();
        let rows = [Ok(revision.into()), Err(Failure::Conflict), Err(Failure::TooLarge)];
        assert_eq!(lookup(b"10\x0011\x0012", &rows), br#"{"keys":["11"]}"#);
    }

    #[test]
    fn rows_are_matched_by_id_whatever_their_order() {
        let ok = Ok(Token::from(Revision::parse(REV.as_bytes()).unwrap()));
        let row = |id: u32| format!("{{\"ok\":true,\"id\":\"{id}\",\"rev\":\"{REV}\"}}");
        let conflict =
            "{\"id\":\"11\",\"error\":\"conflict\",\"reason\":\"Document update conflict.\"}";
        let mut out = Vec::new();
        let exact = format!("[{},{},\r\n{}]\n", row(10), row(11), row(12));
        rows(exact.as_bytes(), b"10\x0011\x0012", &mut out).unwrap();
        assert_eq!(out, [ok, ok, ok]);
        let mixed = format!("[{},{conflict},{}]", row(12), row(10));
        rows(mixed.as_bytes(), b"10\x0011\x0012", &mut out).unwrap();
        assert_eq!(out, [ok, Err(Failure::Conflict), ok]);
        rows(format!("[{}]", row(10)).as_bytes(), b"10\x0011", &mut out).unwrap();
        assert_eq!(out, [ok, Err(Failure::Protocol)]);
        assert_eq!(rows(b"{}", b"10", &mut out), Err(Failure::Protocol));
        let asked_twice = format!("[{},{}]", row(10), row(10));
        rows(asked_twice.as_bytes(), b"10\x0010", &mut out).unwrap();
        assert_eq!(out, [ok, ok]);
    }

    #[test]
    fn a_row_tells_why_it_failed() {
        let body = "[{\"ok\":true,\"id\":\"1\",\"rev\":\"1-x\"},\
            {\"id\":\"2\",\"error\":\"conflict\",\"reason\":\"Document update conflict.\"},\
            {\"id\":\"3\",\"error\":\"forbidden\",\"reason\":\"no\"}]";
        let reason = |failure| row_reason(body.as_bytes(), failure);
        let conflict = "conflict: Document update conflict.";
        assert_eq!(reason(Failure::Conflict).as_deref(), Some(conflict));
        assert_eq!(reason(Failure::Rejected).as_deref(), Some("forbidden: no"));
        assert_eq!(reason(Failure::TooLarge), None);
        assert_eq!(row_reason(b"{}", Failure::Conflict), None);
    }

    #[test]
    fn a_row_fails_by_the_name_of_its_error() {
        let mut out = Vec::new();
        for (error, failure) in [
            ("conflict", Failure::Conflict),
            ("not_found", Failure::NotFound),
            ("too_large", Failure::TooLarge),
            ("document_too_large", Failure::TooLarge),
            ("max_document_size_exceeded", Failure::TooLarge),
            ("attachment_too_large", Failure::Rejected),
            ("bad_request", Failure::Rejected),
            ("doc_validation", Failure::Rejected),
            ("forbidden", Failure::Rejected),
            ("illegal_docid", Failure::Rejected),
            ("missing_stub", Failure::Rejected),
            ("not_implemented", Failure::Rejected),
            ("unauthorized", Failure::Rejected),
            ("error", Failure::ServerError),
            ("larger", Failure::ServerError),
        ] {
            let body = format!("[{{\"id\":\"10\",\"error\":\"{error}\",\"reason\":\"no\"}}]");
            rows(body.as_bytes(), b"10", &mut out).unwrap();
            assert_eq!((out.len(), out[0]), (1, Err(failure)), "{error}");
            let reason = row_reason(body.as_bytes(), failure);
            assert_eq!(reason, Some(format!("{error}: no")));
        }
    }

    #[test]
    fn rows_that_nobody_asked_for_make_the_answer_worthless() {
        let row = |id: u32| format!("{{\"ok\":true,\"id\":\"{id}\",\"rev\":\"{REV}\"}}");
        let nameless = "{\"error\":\"forbidden\",\"reason\":\"no\"}".to_owned();
        let mut out = Vec::new();
        for (answer, failure) in [
            (vec![row(10), row(11), row(11)], Failure::Protocol),
            (vec![row(10), row(10), row(11)], Failure::Protocol),
            (vec![row(10), row(10)], Failure::Protocol),
            (vec![row(10), row(11), row(12)], Failure::Protocol),
            (vec![row(10), row(12)], Failure::Protocol),
            (vec![row(10), nameless], Failure::Rejected),
        ] {
            let body = format!("[{}]", answer.join(","));
            assert_eq!(rows(body.as_bytes(), b"10\x0011", &mut out), Err(failure), "{body}");
            assert!(out.is_empty());
        }
        let not_ok = row(11).replace("true", "false");
        rows(format!("[{},{not_ok}]", row(10)).as_bytes(), b"10\x0011", &mut out).unwrap();
        assert_eq!(out[1], Err(Failure::Protocol));
    }
}
