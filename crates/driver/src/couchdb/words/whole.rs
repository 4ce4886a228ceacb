//! Complete documents in the answer to an operation that the plan defines.
//!
//! Only documents on which several copies agree count, as `GET` and `_bulk_get` return them: those
//! in the rows of an index or a query come from one copy, which may lag behind an acknowledged
//! write.

use crate::couchdb::Revision;
use crate::couchdb::several::{FoundDoc, winner};
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
    docs: Vec<FoundDoc<'a>>,
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
/// [`Failure::WrongDocument`] if another one is where it should be, [`Failure::ServerError`] if the
/// server could not read it, or not all of its leaves: any of them may be the winner.
pub(in crate::couchdb) fn whole(body: &[u8], id: &[u8]) -> Result<Option<PlacedDocument>, Failure> {
    let Ok(text) = std::str::from_utf8(body) else { return Ok(None) };
    if let Some(document) = document(body, text) {
        return document.of(id).map(Some).ok_or(Failure::WrongDocument);
    }
    let Ok(BulkGetAnswer { results }) = serde_json::from_str(text) else { return Ok(None) };
    let of = |text: &RawValue| document(body, text.get())?.of(id);
    for AskedDocument { id: asked, docs } in &results {
        let Some(leaf) = winner(docs) else { continue };
        let is_asked = asked.as_bytes() == id;
        match leaf.ok.map(of) {
            Some(Some(found)) => return Ok(Some(found)),
            Some(None) if is_asked => return Err(Failure::WrongDocument),
            None if is_asked && leaf.failure() != Failure::NotFound => return Err(leaf.failure()),
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

    /// As in an audit: a leaf that was not read may be the winner, and one that is missing or
    /// deleted is none.
    #[test]
    fn a_document_of_which_a_leaf_could_not_be_read_is_not_read() {
        let rev = |number: u32| format!("{number}-{}", "0a".repeat(16));
        let own = format!(r#"{{"ok":{{"_id":"b","_rev":"{}"}}}}"#, rev(2));
        let gone = format!(r#"{{"ok":{{"_id":"b","_rev":"{}","_deleted":true}}}}"#, rev(3));
        let [timeout, missing] = ["timeout", "not_found"]
            .map(|error| format!(r#"{{"error":{{"id":"b","rev":"2-x","error":"{error}"}}}}"#));
        let unnamed = r#"{"error":{"id":"b"}}"#.to_owned();
        let found = |asked: &str, docs: &[&String]| {
            let docs: Vec<&str> = docs.iter().map(|it| it.as_str()).collect();
            let docs = docs.join(",");
            let answer = format!(r#"{{"results":[{{"id":"{asked}","docs":[{docs}]}}]}}"#);
            whole(answer.as_bytes(), b"b").map(|it| it.map(|(token, _)| token.number))
        };
        for unread in [&timeout, &unnamed] {
            let docs: [&[&String]; 4] =
                [&[&own, unread], &[unread, &own], &[unread], &[&missing, unread, &gone]];
            for docs in docs {
                assert_eq!(found("b", docs), Err(Failure::ServerError), "{docs:?}");
            }
            assert_eq!(found("a", &[unread]), Ok(None), "it is another document");
        }
        for docs in [[&own, &gone], [&gone, &own], [&own, &missing], [&missing, &own]] {
            assert_eq!(found("b", &docs), Ok(Some(2)), "{docs:?}");
        }
        assert_eq!(found("b", &[&missing]), Ok(None));
        assert_eq!(found("b", &[]), Ok(None));
    }
}
