//! Reads several documents in one request: `_bulk_get`.

use super::leaf::LeafRank;
use super::{answer, leaf};
use crate::op::{Failure, Token};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::ops::Range;

/// Appends the body of the request for `names`, which are separated by zero bytes.
pub(super) fn write(names: &[u8], body: &mut Vec<u8>) {
    body.extend_from_slice(b"{\"docs\":[");
    for (number, name) in answer::each(names).enumerate() {
        if number > 0 {
            body.push(b',');
        }
        body.extend_from_slice(b"{\"id\":");
        let quoted = serde_json::Value::from(String::from_utf8_lossy(name)).to_string();
        body.extend_from_slice(quoted.as_bytes());
        body.push(b'}');
    }
    body.extend_from_slice(b"]}");
}

#[derive(Deserialize)]
struct Several<'a> {
    #[serde(borrow)]
    results: Vec<One<'a>>,
}

#[derive(Deserialize)]
struct One<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    docs: Vec<FoundDoc<'a>>,
}

/// A leaf of a document, or why there is none.
#[derive(Deserialize)]
pub(super) struct FoundDoc<'a> {
    #[serde(borrow)]
    pub(super) ok: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<Why<'a>>,
}

#[derive(Deserialize)]
struct Why<'a> {
    #[serde(borrow)]
    error: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Deleted {
    #[serde(rename = "_deleted", default)]
    deleted: bool,
}

/// What decides which leaf of a document is read, from the weakest on.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum LeafClaim {
    Missing,
    Ranked(LeafRank),
    /// It could not be read, so it may be the winner.
    Unknown,
}

impl FoundDoc<'_> {
    fn claim(&self) -> LeafClaim {
        match self.ok {
            Some(text) => leaf::rank(text.get()).map_or(LeafClaim::Unknown, LeafClaim::Ranked),
            None if self.failure() == Failure::NotFound => LeafClaim::Missing,
            None => LeafClaim::Unknown,
        }
    }

    /// Why it has no text.
    pub(super) fn failure(&self) -> Failure {
        let why = self.error.as_ref().and_then(|why| why.error.as_deref());
        if why == Some("not_found") { Failure::NotFound } else { Failure::ServerError }
    }
}

/// Reads the revision of each document in `names`, and where its text is in `body`. A document that
/// is missing or deleted counts as not found. Of a document with conflicts, the answer has all
/// leaves, deleted ones too, in any order: the winner is read, as with `GET`.
///
/// # Errors
/// [`Failure::Protocol`] if it is not an answer about these documents, in their order.
pub(super) fn read(
    body: &[u8],
    names: &[u8],
    rows: &mut Vec<Result<Token, Failure>>,
    places: &mut Vec<Range<usize>>,
) -> Result<(), Failure> {
    let Several { results } = serde_json::from_slice(body).map_err(|_| Failure::Protocol)?;
    let ids = results.iter().map(|one| one.id.as_bytes());
    if !answer::each(names).eq(ids) {
        return Err(Failure::Protocol);
    }
    for One { id, docs } in &results {
        let found = winner(docs).ok_or(Failure::Protocol)?;
        rows.push(judge(found, id.as_bytes()));
        let text = found.ok.map_or(&b""[..], |text| text.get().as_bytes());
        let at = if text.is_empty() { 0 } else { text.as_ptr().addr() - body.as_ptr().addr() };
        places.push(at..at + text.len());
    }
    Ok(())
}

/// The leaf that is read: the winner, or one that could not be read, which may be the winner.
pub(super) fn winner<'d, 'a>(leaves: &'d [FoundDoc<'a>]) -> Option<&'d FoundDoc<'a>> {
    match leaves {
        // Nearly always: no rank is needed.
        [only] => Some(only),
        several => several.iter().max_by_key(|leaf| leaf.claim()),
    }
}

fn judge(found: &FoundDoc<'_>, id: &[u8]) -> Result<Token, Failure> {
    let Some(text) = found.ok.map(|text| text.get().as_bytes()) else {
        return Err(found.failure());
    };
    let revision = answer::document(text, id)?;
    let deleted = memchr::memmem::find(text, b"\"_deleted\"").is_some()
        && serde_json::from_slice(text).is_ok_and(|Deleted { deleted }| deleted);
    if deleted { Err(Failure::NotFound) } else { Ok(revision.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REV: &str = "1-967a00dff5e02add41819138abb3284d";

    type Read = (Result<u64, Failure>, String);

    fn answered(text: &str) -> Result<Vec<Read>, Failure> {
        let (mut rows, mut places) = (Vec::new(), Vec::new());
        read(text.as_bytes(), "a\0\"".as_bytes(), &mut rows, &mut places)?;
        let found = rows.into_iter().zip(places);
        Ok(found.map(|(row, at)| (row.map(|it| it.number.into()), text[at].to_owned())).collect())
    }

    #[test]
    fn each_document_is_judged_by_itself() {
        let mut body = Vec::new();
        write("a\0\"".as_bytes(), &mut body);
        assert_eq!(body, br#"{"docs":[{"id":"a"},{"id":"\""}]}"#);
        let a = format!(r#"{{"_id":"a","_rev":"{REV}","x":"_deleted"}}"#);
        let gone = format!(r#"{{"_id":"\"","_rev":"{REV}","_deleted":true}}"#);
        let text = |second: &str| {
            let (a, id) = (&a, r#""\"""#);
            format!(
                r#"{{"results":[{{"id":"a","docs":[{{"ok":{a}}}]}},{{"id":{id},"docs":[{second}]}}]}}"#
            )
        };
        let missing = r#"{"error":{"id":"\"","rev":"undefined","error":"not_found","reason":"x"}}"#;
        let found = answered(&text(missing)).unwrap();
        assert_eq!(found[0], (Ok(1), a.clone()));
        assert_eq!(found[1], (Err(Failure::NotFound), String::new()));
        let found = answered(&text(&format!(r#"{{"ok":{gone}}}"#))).unwrap();
        assert_eq!(found[1].0, Err(Failure::NotFound));
        let failed = answered(&text(r#"{"error":{"error":"timeout"}}"#)).unwrap();
        assert_eq!(failed[1].0, Err(Failure::ServerError));
        // A document that does not belong to its row.
        let other = answered(&text(&format!(r#"{{"ok":{a}}}"#))).unwrap();
        assert_eq!(other[1].0, Err(Failure::WrongDocument));
        for wrong in [r#"{"results":[]}"#, "{}", r#"{"results":[{"id":"b","docs":[]}]}"#] {
            assert_eq!(answered(wrong), Err(Failure::Protocol), "{wrong}");
        }
    }

    /// Reads the document `a` with these entries, in this order and in the opposite one.
    fn read_both_ways(entries: [&str; 2]) -> Read {
        let read = |[first, second]: [&str; 2]| {
            let gone = r#"{"id":"\"","docs":[{"error":{"error":"not_found"}}]}"#;
            let a = format!(r#"{{"id":"a","docs":[{first},{second}]}}"#);
            answered(&format!(r#"{{"results":[{a},{gone}]}}"#)).unwrap().swap_remove(0)
        };
        let [first, second] = entries;
        let found = read([first, second]);
        assert_eq!(read([second, first]), found, "{entries:?}");
        found
    }

    fn leaf_of(rev: &str, more: &str) -> String {
        format!(r#"{{"_id":"a","_rev":"{rev}"{more}}}"#)
    }

    #[test]
    fn of_a_document_with_conflicts_the_winner_is_read() {
        let (low, high, deleted) = ("0a".repeat(16), "b0".repeat(16), r#","_deleted":true"#);
        let own = leaf_of(&format!("2-{low}"), "");
        for (other, row, other_wins) in [
            (leaf_of(&format!("10-{low}"), ""), Ok(10), true),
            (leaf_of(&format!("2-{high}"), ""), Ok(2), true),
            (leaf_of(&format!("1-{high}"), ""), Ok(2), false),
            (leaf_of(&format!("2-{high}"), deleted), Ok(2), false),
            (leaf_of(&format!("10-{high}"), deleted), Ok(2), false),
            (leaf_of("1-abc", ""), Ok(2), false),
            // It is the winner, but no revision that a run could have written.
            (leaf_of("3-abc", ""), Err(Failure::Protocol), true),
        ] {
            let entries = [&own, &other].map(|it| format!(r#"{{"ok":{it}}}"#));
            let found = read_both_ways([&entries[0], &entries[1]]);
            let shown = if other_wins { &other } else { &own };
            assert_eq!(found, (row, shown.clone()));
        }
        let gone = [1, 2].map(|n| leaf_of(&format!("{n}-{low}"), deleted));
        let entries = gone.each_ref().map(|it| format!(r#"{{"ok":{it}}}"#));
        let found = read_both_ways([&entries[0], &entries[1]]);
        assert_eq!(found, (Err(Failure::NotFound), gone[1].clone()), "all leaves are deleted");
    }

    #[test]
    fn a_leaf_that_cannot_be_read_may_be_the_winner() {
        let own = leaf_of(REV, "");
        let entry = format!(r#"{{"ok":{own}}}"#);
        let missing = r#"{"error":{"error":"not_found"}}"#;
        assert_eq!(read_both_ways([&entry, missing]), (Ok(1), own));
        let failed = (Err(Failure::ServerError), String::new());
        for unread in [&*entry, missing] {
            assert_eq!(read_both_ways([unread, r#"{"error":{"error":"timeout"}}"#]), failed);
        }
    }
}
