//! Writes whose answers were lost: the driver looks up the stored documents.
//!
//! A write that may have been carried out is not resent. If the driver can tell that it was carried
//! out, the workload gets the revision, and the record counts such writes.

use super::answer::{self, each};
use super::pen::CouchPen;
use super::revision::Revision;
use super::session::CouchSession;
use crate::clock::Nanos;
use crate::http1::Request;
use crate::measure::Probe;
use crate::op::{Failure, Key, Op, OpKind, Pen, Reply, Token};
use crate::{Outcome, Session as _};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::time::Duration;

/// The pause after a lookup without a result, if the server answers.
const PAUSE: Duration = Duration::from_millis(50);
/// If a write may still arrive, the pause doubles up to this limit ...
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// ... and lookups continue for at most this long.
const STILL_COMING_NS: Nanos = 5_000_000_000;

/// What is known about a write whose answer was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Became {
    /// It was carried out, leaving this revision, if any.
    Done(Option<Revision>),
    /// It was not carried out.
    Nothing,
    /// The stored document is neither the old one nor the one written.
    Unknown,
}

/// What an answer to a read says about a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StoredState<'a> {
    Document(Revision, &'a [u8]),
    Deleted,
    Missing,
    /// Unclear: the database may have been removed.
    Unclear,
}

impl CouchSession {
    /// Finds out whether `op`, whose request has no answer, was carried out.
    pub(super) async fn look_after(
        &mut self,
        op: &Op,
        pen: &CouchPen,
        lost: Outcome,
        probe: &mut Probe,
    ) -> Outcome {
        self.settling.reply = None;
        // A batch that is resent until it is answered is settled only then.
        if op.settle {
            return lost;
        }
        // A server that was slow or stopped may read the request only after the client has given
        // up, and may answer a lookup before that.
        let may_come = self.connection.timed_out();
        let asked = self.at();
        let patience_ns = self.connection.timeout_ns().min(STILL_COMING_NS);
        let until = self.clock.now().saturating_add(self.connection.timeout_ns());
        let _inquiry = self.settling.ask(until);
        let mut last_look = None;
        let mut pause = PAUSE;
        loop {
            let mut found = self.look_once(op, pen, lost, probe).await;
            if asked != self.at() {
                // A write missing on another node may still arrive there from the original one.
                found.wire.not_carried_out = 0;
            }
            if !may_come || found.wire.not_carried_out == 0 {
                return found;
            }
            // Counted from the first answer: until then the server may have been stopped.
            let now = self.clock.now();
            if now >= *last_look.get_or_insert(now.saturating_add(patience_ns)) {
                found.wire.not_carried_out = 0;
                return found;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Looks up once whether `op` was carried out, as soon as the server answers.
    async fn look_once(
        &mut self,
        op: &Op,
        pen: &CouchPen,
        mut lost: Outcome,
        probe: &mut Probe,
    ) -> Outcome {
        let is_bulk = op.kind == OpKind::BulkInsert;
        let keys = is_bulk.then(|| keys(each(pen.names())));
        let asked = self.ask(op.key, pen.names(), keys.as_deref(), probe).await;
        let Some((status, received)) = asked else { return lost };
        lost.bytes.received += received;
        if is_bulk {
            return self.settle_bulk(pen, lost);
        }
        let (name, body) = (pen.names(), written(pen));
        match became(op, stored(status, self.connection.body(), name), body) {
            Became::Done(revision) => {
                let token = revision.map(Token::from);
                self.settling.reply = Some(Reply { token, ..Reply::default() });
                lost.wire.carried_out = 1;
            }
            Became::Nothing => lost.wire.not_carried_out = 1,
            Became::Unknown => {}
        }
        lost
    }

    /// Copies the results of a lookup to the rows of a bulk insert.
    fn settle_bulk(&mut self, pen: &CouchPen, mut lost: Outcome) -> Outcome {
        let rows = &mut self.rows;
        rows.clear();
        rows.resize(each(pen.names()).count(), Err(Failure::Unanswered));
        let Some(absent) = found(self.connection.body(), pen.names(), written(pen), rows) else {
            rows.clear();
            return lost;
        };
        lost.wire.carried_out = rows.iter().filter(|row| row.is_ok()).count() as u64;
        lost.wire.not_carried_out = absent.into();
        self.settling.reply = Some(Reply::default());
        lost
    }

    /// Looks up the documents of a bulk insert that are reported to exist: those in their first
    /// revision with the content of the insert were stored by an earlier request whose answer was
    /// lost.
    pub(super) async fn settle_conflicts(
        &mut self,
        op: &Op,
        mut outcome: Outcome,
        pen: &CouchPen,
        probe: &mut Probe,
    ) -> Outcome {
        let names = pen.names();
        let conflicts =
            |rows: &[_]| rows.iter().filter(|row| **row == Err(Failure::Conflict)).count();
        let before = conflicts(&self.rows);
        let body = answer::lookup(names, &self.rows);
        let request = self.look_request(op.key, names, Some(&body));
        outcome.bytes.sent += body.len() as u64;
        match self.connection.exchange(Request::reading(&request), probe).await {
            Ok(answer) => {
                if answer.status == 200 {
                    found(self.connection.body(), names, written(pen), &mut self.rows);
                }
                outcome.wire.carried_out = (before - conflicts(&self.rows)) as u64;
                outcome.bytes.received += answer.body_bytes;
            }
            // Treated as if the insert had no answer: it is sent and settled once more. Even if
            // there was no connection for the lookup, some of the documents may be stored.
            Err(failure) => {
                self.heed(failure);
                self.rows.clear();
                outcome.result = Err(Failure::Unanswered);
            }
        }
        outcome
    }

    /// Requests a document, or the revisions of the documents in the body `keys`, until an answer
    /// is conclusive, for at most the timeout of one operation. Returns the answer's status and
    /// length. Marks in `lost`, the probe of the operation, how long there was no answer.
    async fn ask(
        &mut self,
        key: Key,
        name: &[u8],
        keys: Option<&[u8]>,
        lost: &mut Probe,
    ) -> Option<(u16, u64)> {
        let until = self.clock.now().saturating_add(self.connection.timeout_ns());
        let mut silent = false;
        loop {
            self.ready().await;
            let request = self.look_request(key, name, keys);
            let now = self.clock.now();
            let mut probe = Probe::new(self.clock, now, now);
            let answer = self.connection.exchange(Request::reading(&request), &mut probe).await;
            silent |= answer.is_err();
            if silent {
                // Until now, even if this is the answer.
                lost.mark_silent();
            }
            match answer {
                Ok(answer) if matches!(answer.status, 200 | 404) => {
                    return Some((answer.status, answer.body_bytes));
                }
                Ok(answer) if answer.status == 401 => {
                    if self.log_in().await != Ok(true) {
                        return None;
                    }
                }
                Ok(_) => tokio::time::sleep(PAUSE).await,
                // If there are several nodes and this one is gone, the next request goes to another
                // one.
                Err(failure) => self.heed(failure),
            }
            if self.clock.now() >= until {
                return None;
            }
        }
    }

    fn look_request(&self, key: Key, name: &[u8], keys: Option<&[u8]>) -> Vec<u8> {
        let mut request = Vec::new();
        let Some(keys) = keys else {
            let op = Op::single(OpKind::Read, key, None);
            self.write_head(&op, name, 0, &mut request);
            return request;
        };
        let length = format!("Content-Length: {}\r\n\r\n", keys.len());
        request.extend_from_slice(b"POST ");
        self.paths.write(key, &mut request);
        for part in [
            &b"_all_docs?include_docs=true"[..],
            &*self.common,
            b"Content-Type: application/json\r\n",
            length.as_bytes(),
            keys,
        ] {
            request.extend_from_slice(part);
        }
        request
    }
}

/// The body of a request to look up these documents.
fn keys<'a>(names: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let keys: Vec<_> = names.map(String::from_utf8_lossy).collect();
    serde_json::json!({ "keys": keys }).to_string().into_bytes()
}

/// Reads the answer to a read of `id`.
fn stored<'a>(status: u16, body: &'a [u8], id: &[u8]) -> StoredState<'a> {
    if status == 200 {
        let read = answer::document(body, id);
        return read.map_or(StoredState::Unclear, |revision| StoredState::Document(revision, body));
    }
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    match (status, answer["reason"].as_str()) {
        (404, Some("deleted")) => StoredState::Deleted,
        (404, Some("missing")) => StoredState::Missing,
        _ => StoredState::Unclear,
    }
}

/// Whether two documents have the same members, apart from identifier and revision.
fn same(stored: &[u8], written: &[u8]) -> bool {
    let members = |text| {
        let mut members: Map<String, Value> = serde_json::from_slice(text).ok()?;
        members.retain(|name, _| name != "_id" && name != "_rev");
        Some(members.into())
    };
    members(stored).is_some_and(|stored| members(written).is_some_and(|it| alike(&stored, &it)))
}

/// Whether two values are the same. Not every server returns a number as it was spelled.
fn alike(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| alike(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let has = |(name, one)| other.get(name).is_some_and(|other| alike(one, other));
            one.len() == other.len() && one.iter().all(has)
        }
        _ => one == other,
    }
}

/// The body of a write, which may be preceded by its head.
fn written(pen: &CouchPen) -> &[u8] {
    let bytes = pen.payload.bytes();
    &bytes[bytes.len() - pen.payload.body_len()..]
}

/// Puts the revisions found by a lookup into those `rows`, one for each of `names`, that did not
/// succeed, if the document is in its first revision and has the content of the bulk insert `body`:
/// a document that another client inserted has a different content. Returns how many documents are
/// missing; `None` if this is not the answer to a lookup.
fn found(
    answer: &[u8],
    names: &[u8],
    body: &[u8],
    rows: &mut [Result<Token, Failure>],
) -> Option<u32> {
    #[derive(Deserialize)]
    struct LookupAnswer<'a> {
        #[serde(borrow)]
        rows: Vec<LookedUpRow<'a>>,
    }
    #[derive(Deserialize)]
    struct LookedUpRow<'a> {
        key: String,
        value: Option<LookedUpValue>,
        #[serde(borrow)]
        doc: Option<&'a RawValue>,
        error: Option<String>,
    }
    #[derive(Deserialize)]
    struct LookedUpValue {
        rev: String,
        #[serde(default)]
        deleted: bool,
    }
    #[derive(Deserialize)]
    struct InsertedDocs<'a> {
        #[serde(borrow)]
        docs: Vec<&'a RawValue>,
    }
    let answer: LookupAnswer<'_> = serde_json::from_slice(answer).ok()?;
    let insert: InsertedDocs<'_> = serde_json::from_slice(body).ok()?;
    let by_key: HashMap<&[u8], &LookedUpRow<'_>> =
        answer.rows.iter().map(|row| (row.key.as_bytes(), row)).collect();
    let mut absent = 0;
    let documents = each(names).zip(insert.docs).zip(rows);
    for ((name, document), result) in documents.filter(|(_, result)| result.is_err()) {
        let row = by_key.get(name);
        absent += u32::from(row.is_some_and(|row| row.error.as_deref() == Some("not_found")));
        let is_own = |it: &RawValue| same(it.get().as_bytes(), document.get().as_bytes());
        let revision = row
            .filter(|row| row.doc.is_some_and(is_own))
            .and_then(|row| row.value.as_ref())
            .filter(|value| !value.deleted)
            .and_then(|value| Revision::parse(value.rev.as_bytes()))
            .filter(|revision| revision.generation == 1);
        if let Some(revision) = revision {
            *result = Ok(revision.into());
        }
    }
    Some(absent)
}

/// Whether a write of `body` was carried out, judged by what is stored now.
fn became(op: &Op, stored: StoredState<'_>, body: &[u8]) -> Became {
    let known = op.token.map(Revision::from);
    let built_on = known.map_or(0, |revision| revision.generation);
    match (op.kind, stored) {
        (OpKind::Delete, StoredState::Deleted) => Became::Done(None),
        (OpKind::Create, StoredState::Missing | StoredState::Deleted) => Became::Nothing,
        (_, StoredState::Document(found, _)) if Some(found) == known => Became::Nothing,
        // Compares the content, too: another client may have written on the same revision.
        (OpKind::Create | OpKind::Update, StoredState::Document(found, document))
            if found.generation == built_on + 1 && same(document, body) =>
        {
            Became::Done(Some(found))
        }
        _ => Became::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revision(generation: u32, digit: u8) -> Revision {
        Revision { generation, hash: [digit; 16] }
    }

    #[test]
    fn what_is_stored_tells_what_became_of_a_write() {
        let body = br#"{"_id":"7","a":1.50,"b":[true],"c":{"d":2.0}}"#;
        let update = br#"{"_id":"7","_rev":"2-x","a":1.50,"b":[true],"c":{"d":2.0}}"#;
        let same = br#"{"_id":"7","_rev":"3-y","b":[true],"a":1.5,"c":{"d":2}}"#;
        let other = br#"{"_id":"7","_rev":"3-y","b":[true],"a":1.5,"c":{"d":3}}"#;
        let (old, new) = (revision(2, 1), revision(3, 2));
        let document = |revision, text| StoredState::Document(revision, text);
        let cases: [(OpKind, Option<Revision>, StoredState<'_>, Became); 15] = [
            (OpKind::Create, None, StoredState::Missing, Became::Nothing),
            (OpKind::Create, None, StoredState::Deleted, Became::Nothing),
            (OpKind::Create, None, StoredState::Unclear, Became::Unknown),
            (
                OpKind::Create,
                None,
                document(revision(1, 3), same),
                Became::Done(Some(revision(1, 3))),
            ),
            (OpKind::Create, None, document(revision(1, 3), other), Became::Unknown),
            (OpKind::Create, None, document(revision(2, 3), same), Became::Unknown),
            (OpKind::Update, Some(old), document(old, other), Became::Nothing),
            (OpKind::Update, Some(old), document(new, same), Became::Done(Some(new))),
            (OpKind::Update, Some(old), document(new, other), Became::Unknown),
            (OpKind::Update, Some(old), document(revision(4, 2), same), Became::Unknown),
            (OpKind::Update, Some(old), StoredState::Deleted, Became::Unknown),
            (OpKind::Delete, Some(old), StoredState::Deleted, Became::Done(None)),
            (OpKind::Delete, Some(old), StoredState::Missing, Became::Unknown),
            (OpKind::Delete, Some(old), document(old, same), Became::Nothing),
            (OpKind::Delete, Some(old), document(new, same), Became::Unknown),
        ];
        for (kind, built_on, stored, wanted) in cases {
            let op = Op::single(kind, 7, built_on.map(Token::from));
            let body = if kind == OpKind::Update { &update[..] } else { &body[..] };
            assert_eq!(became(&op, stored, body), wanted, "{kind} {stored:?}");
        }
    }

    #[test]
    fn lists_are_the_same_if_each_of_their_values_is() {
        let stored = |list: &str| format!("{{\"_id\":\"7\",\"a\":{list}}}");
        for (list, is_same) in [
            ("[1.50,{\"b\":2.0},[]]", true),
            ("[1.5,{\"b\":2},1]", false),
            ("[1.5,{\"b\":2}]", false),
            ("[1.5,{\"b\":2},[],1]", false),
            ("[{\"b\":2},1.5,[]]", false),
        ] {
            let written = br#"{"_id":"7","a":[1.5,{"b":2},[]]}"#;
            assert_eq!(same(stored(list).as_bytes(), written), is_same, "{list}");
        }
    }

    #[test]
    fn an_answer_tells_whether_a_document_is_there() {
        let rev = format!("1-{}", "ab".repeat(16));
        let body = format!("{{\"_id\":\"7\",\"_rev\":\"{rev}\"}}");
        let revision = Revision { generation: 1, hash: [0xab; 16] };
        let document = StoredState::Document(revision, body.as_bytes());
        assert_eq!(stored(200, body.as_bytes(), b"7"), document);
        assert_eq!(stored(200, body.as_bytes(), b"8"), StoredState::Unclear);
        let not_found =
            |reason: &str| format!("{{\"error\":\"not_found\",\"reason\":\"{reason}\"}}");
        for (reason, wanted) in [
            ("deleted", StoredState::Deleted),
            ("missing", StoredState::Missing),
            ("Database does not exist.", StoredState::Unclear),
        ] {
            assert_eq!(stored(404, not_found(reason).as_bytes(), b"7"), wanted);
        }
    }

    /// The answer to a lookup of `a` to `e`.
    fn looked_up() -> String {
        let row = |key: &str, value: &str, content: &str| {
            let document = format!("{{\"_id\":\"{key}\",\"_rev\":\"x\",{content}}}");
            format!(
                "{{\"id\":\"{key}\",\"key\":\"{key}\",\"value\":{{\"rev\":\"{value}\"}},\
                 \"doc\":{document}}}"
            )
        };
        let revision = |number| format!("{number}-{}", "ab".repeat(16));
        let rows = [
            row("a", &revision(1), "\"n\":1.0"),
            row("b", &revision(2), "\"n\":2"),
            "{\"key\":\"c\",\"error\":\"not_found\"}".to_owned(),
            row("d", &revision(1), "\"n\":5"),
            format!(
                "{{\"id\":\"e\",\"key\":\"e\",\"value\":{{\"rev\":\"{}\",\"deleted\":true}},\
                 \"doc\":null}}",
                revision(1)
            ),
        ];
        format!("{{\"rows\":[{}]}}", rows.join(","))
    }

    const INSERT: &[u8] = br#"{"docs":[{"_id":"a","n":1},{"_id":"b","n":2},{"_id":"c","n":3},
        {"_id":"d","n":4},{"_id":"e","n":5}]}"#;

    /// A document that another client stored under the same name, in its first revision or a later
    /// one, does not count as inserted by this request.
    #[test]
    fn a_lookup_tells_which_documents_of_a_batch_are_there() {
        let lost = Err(Failure::Unanswered);
        let mut rows = vec![lost; 5];
        assert_eq!(found(looked_up().as_bytes(), b"a\0b\0c\0d\0e", INSERT, &mut rows), Some(1));
        let there = Ok(Token::from(revision(1, 0xab)));
        assert_eq!(rows, [there, lost, lost, lost, lost]);
        assert_eq!(found(b"{}", b"a", INSERT, &mut rows), None);
        assert_eq!(keys(each(b"a\0b c")), br#"{"keys":["a","b c"]}"#);
    }

    #[test]
    fn conflicts_are_settled_and_successes_are_left() {
        let (conflict, own) = (Err(Failure::Conflict), Ok(Token::from(revision(1, 7))));
        let mut rows = [conflict, own, conflict, conflict, own];
        found(looked_up().as_bytes(), b"a\0b\0c\0d\0e", INSERT, &mut rows);
        let there = Ok(Token::from(revision(1, 0xab)));
        assert_eq!(rows, [there, own, conflict, conflict, own]);
    }
}
