//! `find`: a Mango query.

use super::{CouchWord, SpelledRequest, answer, query};
use crate::words::{OperationPlan, Word};

const EXAMPLE: &str = "{\"selector\":{\"city\":\"{{doc.city}}\"},\"limit\":25}";

pub(super) const WORD: CouchWord = CouchWord {
    word: Word {
        name: "find",
        help: "A Mango query; answers with a warning, such as of no matching index, are counted",
        example: EXAMPLE,
    },
    spell: |operation: &OperationPlan| {
        let mut asked = operation.json(EXAMPLE)?;
        let wrong = |problem: &str| (problem.to_owned(), format!("write it like {EXAMPLE}"));
        let members = asked.as_object_mut().ok_or_else(|| wrong("it is not an object"))?;
        members.extend(operation.params.clone());
        if !members.get("selector").is_some_and(serde_json::Value::is_object) {
            return Err(wrong("it has no selector"));
        }
        let mut spelled = SpelledRequest::reading("POST", |body| answer::count(body, "docs"));
        query::partition(&mut spelled, members)?;
        spelled.path.literal("_find");
        query::body(&mut spelled, &asked)?;
        Ok(spelled)
    },
};
