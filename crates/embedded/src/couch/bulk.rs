//! Many documents at once: `_bulk_docs` and `_bulk_get`.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::document::NewDocument;
use super::json::write_string;
use super::reply::{Refusal, Reply};
use super::revision::Rev;
use super::single::check_id;
use super::stand_in::Call;
use super::store::{Database, Edit, State, Unwritten, write_document};
use crate::counters::{add, count};

#[derive(Deserialize)]
struct BulkDocs {
    docs: Option<Vec<NewDocument>>,
    new_edits: Option<bool>,
}

#[derive(Deserialize)]
struct BulkGet {
    docs: Option<Vec<Wanted>>,
}

#[derive(Deserialize)]
struct Wanted {
    id: String,
    rev: Option<String>,
}

/// Parses a body. If it is an object, any other type error means that `docs` is not an array.
fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    let object = body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    serde_json::from_slice(body).map_err(|error| match (error.is_data(), object) {
        (true, true) => Refusal::DOCS_NOT_ARRAY,
        (true, false) => Refusal::REQUEST_NOT_AN_OBJECT,
        (false, _) => Refusal::INVALID_JSON,
    })
}

/// `POST /db/_bulk_docs`. As in CouchDB, a single invalid document makes it refuse the whole
/// request, but a conflict only affects its own row. If the server fails on a document, the status
/// shows it, and the rows tell which one; other rows may still report that their document was
/// stored.
pub(crate) fn bulk_docs(call: &Call<'_>, database: &Database) -> Result<Reply, Refusal> {
    let request: BulkDocs = read(call.body)?;
    let drafts = request.docs.ok_or(Refusal::NO_DOCS)?;
    for draft in &drafts {
        if let Some(fault) = draft.fault {
            return Err(fault);
        }
        draft.id.as_deref().map_or(Ok(()), check_id)?;
    }
    let tally = &call.shared.tally;
    let new_edits = request.new_edits != Some(false);
    if !new_edits && drafts.iter().any(|draft| draft.rev.is_none()) {
        return Err(Refusal::BAD_REVISION);
    }
    let sent = drafts.len() as u64;
    let mut body = Vec::with_capacity(drafts.len() * 90 + 3);
    body.push(b'[');
    let (mut conflicts, mut failed) = (0, 0);
    let mut state = database.lock();
    for draft in drafts {
        let id = draft.id.map_or_else(|| Cow::Owned(call.shared.uuid()), Cow::Owned);
        let edit = Edit { base: draft.rev, deleted: draft.deleted, body: draft.body };
        match (new_edits, draft.rev) {
            (false, Some(rev)) => {
                state.replicate(&id, rev, edit);
            }
            _ => match row(&mut state, &id, edit, &mut body) {
                Ok(()) => {}
                Err(Unwritten::Conflict) => conflicts += 1,
                Err(Unwritten::Failed) => failed += 1,
            },
        }
    }
    let seq = state.seq();
    drop(state);
    database.announce(seq);
    body.extend_from_slice(b"]\n");
    count(&tally.bulk_requests);
    add(&tally.documents_bulk, sent - conflicts - failed);
    add(&tally.conflicts, conflicts);
    Ok(Reply::json(if failed > 0 { 500 } else { 201 }, body))
}

fn row(state: &mut State, id: &str, edit: Edit, body: &mut Vec<u8>) -> Result<(), Unwritten> {
    if body.len() > 1 {
        body.push(b',');
    }
    let edited = state.edit(id, edit);
    body.extend_from_slice(if edited.is_ok() { b"{\"ok\":true,\"id\":" } else { b"{\"id\":" });
    write_string(id, body);
    match edited {
        Ok((rev, _)) => {
            body.extend_from_slice(b",\"rev\":\"");
            rev.write(body);
            body.extend_from_slice(b"\"}");
            Ok(())
        }
        Err(why) => {
            body.push(b',');
            Refusal::from(why).write(body);
            body.push(b'}');
            Err(why)
        }
    }
}

/// `POST /db/_bulk_get`
pub(crate) fn bulk_get(call: &Call<'_>, database: &Database) -> Result<Reply, Refusal> {
    let request: BulkGet = read(call.body)?;
    let wanted = request.docs.ok_or(Refusal::NO_DOCS)?;
    let mut body = b"{\"results\":[".to_vec();
    let mut found = 0;
    let mut state = database.lock();
    for (index, wanted) in wanted.iter().enumerate() {
        if index > 0 {
            body.push(b',');
        }
        body.extend_from_slice(b"{\"id\":");
        write_string(&wanted.id, &mut body);
        body.extend_from_slice(b",\"docs\":[{");
        let rev = wanted.rev.as_deref().map(Rev::parse);
        let other = state.other_than(&wanted.id);
        let id = other.as_deref().unwrap_or(&wanted.id);
        let lie = state.lie_about(id);
        let entry = lie.as_ref().or_else(|| state.get(id));
        match entry.filter(|entry| rev.is_none_or(|rev| rev == Some(entry.rev))) {
            Some(entry) => {
                body.extend_from_slice(b"\"ok\":");
                write_document(id, entry, &mut body);
                found += 1;
            }
            None => write_missing(wanted, &mut body),
        }
        body.extend_from_slice(b"}]}");
    }
    drop(state);
    body.extend_from_slice(b"]}\n");
    add(&call.shared.tally.documents_bulk_read, found);
    Ok(Reply::json(200, body))
}

fn write_missing(wanted: &Wanted, body: &mut Vec<u8>) {
    body.extend_from_slice(b"\"error\":{\"id\":");
    write_string(&wanted.id, body);
    body.extend_from_slice(b",\"rev\":");
    write_string(wanted.rev.as_deref().unwrap_or("undefined"), body);
    body.push(b',');
    Refusal::MISSING.write(body);
    body.push(b'}');
}
