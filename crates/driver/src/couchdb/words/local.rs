//! `local`: documents that are not replicated.

use super::{CouchWord, SpelledRequest, answer, query};
use crate::words::{OperationPlan, Word};
use serde_json::json;

const EXAMPLE: &str = "put 500";

pub(super) const WORD: CouchWord = CouchWord {
    word: Word {
        name: "local",
        help: "Stores a new local document with so many random letters; get NAME reads one that \
               the operation NAME has stored",
        example: EXAMPLE,
    },
    spell: |operation: &OperationPlan| {
        let text = operation.text(EXAMPLE)?;
        let words: Vec<_> = text.split_whitespace().collect();
        match words[..] {
            ["put", size] => {
                let mut spelled = SpelledRequest::changing("PUT", answer::stored);
                spelled.at("_local/{{new}}")?;
                let text = format!("{{{{text {size}}}}}");
                query::body(&mut spelled, &json!({ "text": text }))?;
                Ok(spelled)
            }
            ["get", of] => {
                let mut spelled = SpelledRequest::reading("GET", answer::documents);
                spelled.at(&format!("_local/{{{{made {of}}}}}"))?;
                Ok(spelled)
            }
            _ => Err((
                format!("{text:?} is neither put nor get"),
                format!("write it like {EXAMPLE}, or get NAME"),
            )),
        }
    },
};
