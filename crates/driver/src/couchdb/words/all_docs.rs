//! `all_docs`: the list of all documents.

use super::{CouchWord, SpelledRequest, answer, query};
use crate::words::{OperationPlan, Word};

const EXAMPLE: &str = "limit=20&include_docs=true&startkey=\"{{key}}\"";

pub(super) const WORD: CouchWord = CouchWord {
    word: Word {
        name: "all_docs",
        help: "Documents in the order of their identifiers; keys are sent by POST",
        example: EXAMPLE,
    },
    spell: |operation: &OperationPlan| {
        let mut spelled = SpelledRequest::reading("GET", answer::listed);
        let mut params = query::parse(operation.text(EXAMPLE)?.trim_start_matches('?'))?;
        params.extend(operation.params.clone());
        query::partition(&mut spelled, &mut params)?;
        spelled.path.literal("_all_docs");
        query::append(&mut spelled, params)?;
        Ok(spelled)
    },
};
