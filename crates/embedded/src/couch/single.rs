//! One document: `PUT`, `GET`, `HEAD` and `DELETE` of `/db/id`, and `POST /db`.

use std::borrow::Cow;

use hyper::Method;
use hyper::header::{HeaderName, IF_MATCH, IF_NONE_MATCH};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::document::NewDocument;
use super::json::write_string;
use super::reply::{Refusal, Reply, ReplyBody};
use super::revision::Rev;
use super::stand_in::Call;
use super::store::{Change, Database, Edit, write_document};
use crate::counters::{Tally, count};

const UNRESERVED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');

/// Refuses ids that CouchDB reserves.
///
/// # Errors
/// Returns an error if the id is reserved or empty.
pub(crate) fn check_id(id: &str) -> Result<(), Refusal> {
    if id.is_empty() {
        return Err(Refusal::ID_EMPTY);
    }
    let reserved = id.starts_with('_') && !id.starts_with("_design/") && !id.starts_with("_local/");
    if reserved { Err(Refusal::ID_RESERVED) } else { Ok(()) }
}

pub(crate) fn document(call: &Call<'_>, database: &Database, id: &str) -> Result<Reply, Refusal> {
    if call.reads() {
        read(call, database, id)
    } else if call.method == Method::PUT {
        let draft = NewDocument::parse(call.body)?;
        write(call, database, id, draft)
    } else {
        delete(call, database, id)
    }
}

/// `POST /db`
pub(crate) fn post(call: &Call<'_>, database: &Database) -> Result<Reply, Refusal> {
    let mut draft = NewDocument::parse(call.body)?;
    let id = draft.id.take().unwrap_or_else(|| call.shared.uuid());
    check_id(&id)?;
    write(call, database, &id, draft)
}

fn read(call: &Call<'_>, database: &Database, id: &str) -> Result<Reply, Refusal> {
    let wanted = query_rev(call)?;
    let mut state = database.lock();
    let other = state.other_than(id);
    let id = other.as_deref().unwrap_or(id);
    let lie = state.lie_about(id);
    let entry = lie.as_ref().or_else(|| state.get(id)).ok_or(Refusal::MISSING)?;
    match wanted {
        Some(rev) if rev != entry.rev => return Err(Refusal::MISSING),
        None if entry.deleted => return Err(Refusal::DELETED),
        _ => {}
    }
    let rev = entry.rev;
    let known =
        header_rev(call, &IF_NONE_MATCH).is_some_and(|known| Rev::parse(known) == Some(rev));
    let reply = if known {
        Reply::new(304, ReplyBody::Whole(None))
    } else {
        let mut body = Vec::new();
        write_document(id, entry, &mut body);
        body.push(b'\n');
        Reply::json(200, body)
    };
    drop(state);
    count(&call.shared.tally.documents_read);
    Ok(reply.etag(rev))
}

fn delete(call: &Call<'_>, database: &Database, id: &str) -> Result<Reply, Refusal> {
    let base = based_on(call, None)?;
    let mut state = database.lock();
    match state.get(id) {
        None => return Err(Refusal::MISSING),
        Some(entry) if entry.deleted => return Err(Refusal::DELETED),
        Some(_) => {}
    }
    let edit = Edit { base, deleted: true, body: Box::default() };
    let edited = state.edit(id, edit);
    let seq = state.seq();
    drop(state);
    database.announce(seq);
    let (rev, change) = edited.map_err(Refusal::from)?;
    tally(&call.shared.tally, change);
    Ok(written(call, 200, id, rev))
}

fn write(
    call: &Call<'_>,
    database: &Database,
    id: &str,
    draft: NewDocument,
) -> Result<Reply, Refusal> {
    let replicated = call.query.is("new_edits", "false");
    let base = based_on(call, draft.rev)?;
    let deleted = draft.deleted;
    let edit = Edit { base, deleted, body: draft.body };
    let mut state = database.lock();
    let edited = if replicated {
        let rev = base.ok_or(Refusal::BAD_REVISION)?;
        Ok((rev, state.replicate(id, rev, edit).unwrap_or(Change::Updated)))
    } else {
        state.edit(id, edit)
    };
    let seq = state.seq();
    drop(state);
    database.announce(seq);
    let (rev, change) = edited.map_err(Refusal::from)?;
    tally(&call.shared.tally, change);
    let path = if call.method == Method::PUT {
        Cow::Borrowed(call.path)
    } else {
        let parent = call.path.trim_end_matches('/');
        Cow::Owned(format!("{parent}/{}", utf8_percent_encode(id, UNRESERVED)))
    };
    let status = if call.method == Method::PUT && deleted { 200 } else { 201 };
    let reply = written(call, status, id, rev);
    // CouchDB has no sequence number for something that has not been written yet.
    Ok(if reply.status == 202 { reply } else { reply.location(call.url(&path)) })
}

/// The answer to a write. `?batch=ok` gets no revision, since CouchDB has none at that point.
fn written(call: &Call<'_>, status: u16, id: &str, rev: Rev) -> Reply {
    let mut body = Vec::with_capacity(id.len() + 80);
    body.extend_from_slice(b"{\"ok\":true,\"id\":");
    write_string(id, &mut body);
    if call.query.is("batch", "ok") {
        body.extend_from_slice(b"}\n");
        return Reply::json(202, body);
    }
    body.extend_from_slice(b",\"rev\":\"");
    rev.write(&mut body);
    body.extend_from_slice(b"\"}\n");
    let reply = Reply::json(status, body);
    // CouchDB sends no ETag for `POST /db`.
    if call.method == Method::POST { reply } else { reply.etag(rev) }
}

fn tally(tally: &Tally, change: Change) {
    count(match change {
        Change::Created => &tally.documents_created,
        Change::Updated => &tally.documents_updated,
        Change::Deleted => &tally.documents_deleted,
    });
}

/// The revision that an edit is based on, from its body, the query or `If-Match`, which must agree.
fn based_on(call: &Call<'_>, body: Option<Rev>) -> Result<Option<Rev>, Refusal> {
    let query = query_rev(call)?;
    let header = header_rev(call, &IF_MATCH)
        .map(|text| Rev::parse(text).ok_or(Refusal::BAD_REVISION))
        .transpose()?;
    if header.is_some() && query.is_some() && header != query {
        return Err(Refusal::ETAG_DIFFERS);
    }
    let outside = query.or(header);
    if outside.is_some() && body.is_some() && outside != body {
        return Err(Refusal::REVISIONS_DIFFER);
    }
    Ok(body.or(outside))
}

fn query_rev(call: &Call<'_>) -> Result<Option<Rev>, Refusal> {
    let text = call.query.get("rev");
    text.map(|text| Rev::parse(text).ok_or(Refusal::BAD_REVISION)).transpose()
}

fn header_rev<'a>(call: &Call<'a>, name: &HeaderName) -> Option<&'a str> {
    let value = call.headers.get(name)?.to_str().ok()?.trim();
    Some(value.strip_prefix("W/").unwrap_or(value).trim_matches('"'))
}
