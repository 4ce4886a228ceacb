//! `get`: one document.

use super::{CouchWord, SpelledRequest, answer, query};
use crate::words::{OperationPlan, Word};

const EXAMPLE: &str = "{{key}}?conflicts=true";

pub(super) const WORD: CouchWord = CouchWord {
    word: Word {
        name: "get",
        help: "A document, with any of its parameters; several revisions or attachments come in \
               JSON",
        example: EXAMPLE,
    },
    spell: |operation: &OperationPlan| {
        let text = operation.text(EXAMPLE)?;
        let (id, params) = text.split_once('?').unwrap_or((text, ""));
        let mut spelled = SpelledRequest::reading("GET", answer::documents);
        // Otherwise the answer would consist of MIME parts.
        "Accept: application/json\r\n".clone_into(&mut spelled.headers);
        spelled.at(if id.is_empty() { "{{key}}" } else { id })?;
        let mut params = query::parse(params)?;
        params.extend(operation.params.clone());
        spelled.partial = ["rev", "open_revs", "r"].iter().any(|it| params.contains_key(*it));
        query::append(&mut spelled, params)?;
        Ok(spelled)
    },
};
