//! Complete documents in the answer to an operation that the plan defines.
//!
//! Only documents on which several copies agree count, as `GET` and `_bulk_get` return them: those
//! in the rows of an index or a query come from one copy, which may lag behind an acknowledged
//! write.

use crate::couchdb::{Revision, leaf};
use crate::op::{Failure, Token};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::ops::Range;

#[derive(Deserialize)]
struct BulkGetAnswer<'a> {
    #[serde(borrow)]
    results: Vec<AskedDocument<'a>>,
}

#[derive(Deserialize)]
struct AskedDocument<'a> {
    #[serde(borrow, default)]
    id: Cow<'a, str>,
    #[serde(borrow, default)]
    docs: Vec<Fetched<'a>>,
}

#[derive(Deserialize)]
struct Fetched<'a> {
    #[serde(borrow, default)]
    ok: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow, rename = "_id")]
    id: Cow<'a, str>,
    #[serde(borrow, rename = "_rev")]
    rev: Cow<'a, str>,
}

/// A document: its version, and where it is in an answer.
type PlacedDocument = (Token, Range<usize>);

/// Finds the document of this name in an answer, which is either the document itself or an answer
/// of `_bulk_get`, which has all leaves of a document with conflicts: of these, it is the winner.
///
/// # Errors
/// [`Failure::WrongDocument`] if another one is where it should be.
pub(in crate::couchdb) fn whole(body: &[u8], id: &[u8]) -> Result<Option<PlacedDocument>, Failure> {
    let Ok(text) = std::str::from_utf8(body) else { return Ok(None) };
    if let Some(document) = document(body, text) {
        return document.of(id).map(Some).ok_or(Failure::WrongDocument);
    }
    let Ok(BulkGetAnswer { results }) = serde_json::from_str(text) else { return Ok(None) };
    let of = |text: &RawValue| document(body, text.get())?.of(id);
    for AskedDocument { id: asked, docs } in &results {
        let found = match &docs[..] {
            [only] => only.ok,
            leaves => leaves.iter().filter_map(|it| it.ok).max_by_key(|it| leaf::rank(it.get())),
        };
        match found.map(of) {
            Some(Some(found)) => return Ok(Some(found)),
            Some(None) if asked.as_bytes() == id => return Err(Failure::WrongDocument),
            _ => {}
        }
    }
    Ok(None)
}

struct NamedDocument<'a> {
    id: Cow<'a, str>,
    found: PlacedDocument,
}

impl NamedDocument<'_> {
    /// Where it is, if this is its name.
    fn of(self, id: &[u8]) -> Option<PlacedDocument> {
        (self.id.as_bytes() == id).then_some(self.found)
    }
}

/// Parses the text at this place of an answer, if it is a document.
fn document<'a>(body: &[u8], text: &'a str) -> Option<NamedDocument<'a>> {
    let Named { id, rev } = serde_json::from_str(text).ok()?;
    let token = Token::from(Revision::parse(rev.as_bytes())?);
    let start = text.as_ptr().addr() - body.as_ptr().addr();
    Some(NamedDocument { id, found: (token, start..start + text.len()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_on_which_copies_agree_is_found() {
        let rev = format!("2-{}", "0a".repeat(16));
        let one = |id: &str| format!(r#"{{"_id":"{id}","_rev":"{rev}","n":{{"_id":"x"}}}}"#);
        let (a, b) = (one("a"), one("b"));
        for answer in [
            format!("{b}\n"),
            format!(
                r#"{{"results":[{{"id":"c","docs":[{{"error":{{"id":"c"}}}}]}},
                {{"id":"b","docs":[{{"ok":{b}}}]}}]}}"#
            ),
            format!(
                r#"{{"results":[{{"id":"a","docs":[{{"ok":{a}}}]}},
                {{"id":"b","docs":[{{"ok":{b}}}]}}]}}"#
            ),
        ] {
            let (token, place) = whole(answer.as_bytes(), b"b").unwrap().expect(&answer);
            assert_eq!((token.number, answer[place].trim_end()), (2, b.as_str()), "{answer}");
        }
        let changes = r#"{"results":[{"seq":"1","id":"b","changes":[]}]}"#;
        let others = format!(r#"{{"docs":[{a}],"rows":[{{"id":"b","doc":{a}}}]}}"#);
        for none in ["", "[]", "{\"rows\":1}", changes, r#"{"_id":"b"}"#, "\u{0}", &others] {
            assert_eq!(whole(none.as_bytes(), b"b"), Ok(None), "{none}");
        }
        let fetched = format!(r#"{{"results":[{{"id":"b","docs":[{{"ok":{a}}}]}}]}}"#);
        for other in [a, fetched] {
            assert_eq!(whole(other.as_bytes(), b"b"), Err(Failure::WrongDocument), "{other}");
        }
    }

    #[test]
    fn of_a_document_with_conflicts_the_winner_is_found() {
        let leaf = |rev: &str, more: &str| {
            let hash = "0a".repeat(16);
            format!(r#"{{"_id":"b","_rev":"{rev}-{hash}"{more}}}"#)
        };
        let own = leaf("2", "");
        for (other, other_wins) in [
            (leaf("3", ""), true),
            (leaf("1", ""), false),
            (leaf("3", r#","_deleted":true"#), false),
        ] {
            let wanted = if other_wins { &other } else { &own };
            for [first, second] in [[&own, &other], [&other, &own]] {
                let docs = format!(r#"[{{"ok":{first}}},{{"ok":{second}}}]"#);
                let answer = format!(r#"{{"results":[{{"id":"b","docs":{docs}}}]}}"#);
                let (_, place) = whole(answer.as_bytes(), b"b").unwrap().expect(&answer);
                assert_eq!(&answer[place], wanted, "{answer}");
            }
        }
    }
}
