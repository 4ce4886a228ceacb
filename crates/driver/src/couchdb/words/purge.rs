//! `purge`: documents that are removed without a trace.

use super::conflict::{number, revisions};
use super::{CouchWord, SpelledRequest, answer, query};
use crate::words::{OperationPlan, Word};
use serde_json::{Map, Value};

const EXAMPLE: &str = "made 3";

pub(super) const WORD: CouchWord = CouchWord {
    word: Word {
        name: "purge",
        help: "Purges a document that the operation NAME, a conflict make N, has made, once for \
               each; N is 2 if it is left out",
        example: EXAMPLE,
    },
    spell: |operation: &OperationPlan| {
        let text = operation.text(EXAMPLE)?;
        let words: Vec<_> = text.split_whitespace().collect();
        let (of, count) = match words[..] {
            [of] => (of, 2),
            [of, count] => (of, number(count)?),
            _ => {
                let cure = format!("write it like {EXAMPLE}");
                return Err((format!("{text:?} is not the name of an operation"), cure));
            }
        };
        let revisions: Vec<Value> = revisions(count).map(Value::from).collect();
        let purged = Map::from_iter([(format!("{{{{taken {of}}}}}"), revisions.into())]);
        let mut spelled = SpelledRequest::changing("POST", answer::purged);
        spelled.path.literal("_purge");
        query::body(&mut spelled, &purged.into())?;
        Ok(spelled)
    },
};
