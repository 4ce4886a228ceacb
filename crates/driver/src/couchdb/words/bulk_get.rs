//! `bulk_get`: several documents in one request.

use super::{CouchWord, SpelledRequest, answer, query};
use crate::values::MOST_DOCUMENTS;
use crate::words::{OperationPlan, Word};
use serde_json::{Value, json};

const EXAMPLE: &str = "20";

pub(super) const WORD: CouchWord = CouchWord {
    word: Word {
        name: "bulk_get",
        help: "That many stored documents in one request, or those with these identifiers",
        example: EXAMPLE,
    },
    spell: |operation: &OperationPlan| {
        let ids: Vec<Value> = match operation.json(EXAMPLE)? {
            Value::Array(ids) => ids,
            number => {
                let most = MOST_DOCUMENTS as u64;
                let number = number.as_u64().filter(|it| (1..=most).contains(it));
                let number = number.ok_or_else(|| {
                    let problem = format!("it is not a number from 1 to {most}, nor a list");
                    (problem, "write it like 20, or [\"{{key}}\", \"a\"]".to_owned())
                })?;
                (1..=number).map(|n| format!("{{{{key#{n}}}}}").into()).collect()
            }
        };
        let docs: Vec<Value> = ids.into_iter().map(|id| json!({ "id": id })).collect();
        let mut spelled = SpelledRequest::reading("POST", answer::fetched);
        spelled.partial = operation.params.contains_key("r");
        spelled.path.literal("_bulk_get");
        query::append(&mut spelled, operation.params.clone())?;
        query::body(&mut spelled, &json!({ "docs": docs }))?;
        Ok(spelled)
    },
};
