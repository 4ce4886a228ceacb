//! `conflict`: documents with conflicting revisions.

use super::{CouchWord, SpelledRequest, answer, query};
use crate::words::{OperationPlan, Word, Wrong};
use serde_json::{Value, json};

const EXAMPLE: &str = "make 3";
/// The most revisions of a document.
const MOST: u32 = 1_000;

pub(super) const WORD: CouchWord = CouchWord {
    word: Word {
        name: "conflict",
        help: "A new document with so many conflicting revisions, or 2; read NAME reads one of \
               those that the operation NAME has made, and resolve NAME N deletes all but one of \
               its N revisions, once for each",
        example: EXAMPLE,
    },
    spell: |operation: &OperationPlan| {
        let text = operation.text(EXAMPLE)?;
        let words: Vec<_> = text.split_whitespace().collect();
        match words[..] {
            ["make"] => make(2),
            ["make", count] => make(number(count)?),
            ["read", of] => {
                let mut spelled = SpelledRequest::reading("GET", answer::leaves);
                spelled.at(&format!("{{{{made {of}}}}}?conflicts=true"))?;
                Ok(spelled)
            }
            ["resolve", of] => resolve(of, 2),
            ["resolve", of, count] => resolve(of, number(count)?),
            _ => Err((
                format!("{text:?} is neither make, read nor resolve"),
                format!("write it like {EXAMPLE}, read NAME or resolve NAME"),
            )),
        }
    },
};

/// Reads a number of revisions.
pub(super) fn number(text: &str) -> Result<u32, Wrong> {
    text.parse().ok().filter(|number| (1..=MOST).contains(number)).ok_or_else(|| {
        let cure = format!("give a whole number from 1 to {MOST}");
        (format!("{text:?} is not a number of revisions"), cure)
    })
}

/// The revisions of a document. The last one is the winner.
pub(super) fn revisions(count: u32) -> impl Iterator<Item = String> {
    (1..=count).map(|number| format!("1-{number:032x}"))
}

fn make(count: u32) -> Result<SpelledRequest, Wrong> {
    let document = |rev| json!({ "_id": "{{new}}", "_rev": rev, "text": "{{text 100}}" });
    let documents: Vec<Value> = revisions(count).map(document).collect();
    // The answer lists only failures.
    let mut spelled = SpelledRequest::changing("POST", answer::stored);
    spelled.path.literal("_bulk_docs");
    query::body(&mut spelled, &json!({ "new_edits": false, "docs": documents }))?;
    Ok(spelled)
}

fn resolve(of: &str, count: u32) -> Result<SpelledRequest, Wrong> {
    let id = format!("{{{{taken {of}}}}}");
    let document = |rev| json!({ "_id": id, "_rev": rev, "_deleted": true });
    let losers: Vec<Value> = revisions(count - 1).map(document).collect();
    let mut spelled = SpelledRequest::changing("POST", answer::stored);
    spelled.path.literal("_bulk_docs");
    query::body(&mut spelled, &json!({ "docs": losers }))?;
    Ok(spelled)
}
