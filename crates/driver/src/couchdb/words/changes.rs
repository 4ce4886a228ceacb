//! `changes`: one page of changes.

use super::{CouchWord, SpelledRequest, answer, query};
use crate::words::{OperationPlan, Word};
use serde_json::{Map, json};

const EXAMPLE: &str = "since=now&feed=longpoll&timeout=1000";
/// The parameters that are the body of a request, and the filter that reads them.
const FILTERS: [(&str, &str); 2] = [("doc_ids", "_doc_ids"), ("selector", "_selector")];

pub(super) const WORD: CouchWord = CouchWord {
    word: Word {
        name: "changes",
        help: "One page of changes, or the next change with feed=longpoll; doc_ids and selector \
               are sent by POST",
        example: EXAMPLE,
    },
    spell: |operation: &OperationPlan| {
        let mut spelled = SpelledRequest::reading("GET", |body| answer::count(body, "results"));
        let mut params = query::parse(operation.text(EXAMPLE)?.trim_start_matches('?'))?;
        params.extend(operation.params.clone());
        if let Some(feed) = params.get("feed")
            && !["normal", "longpoll"].iter().any(|it| feed == it)
        {
            let cure = "give normal or longpoll, or leave it out";
            return Err((format!("feed={feed} has no end"), cure.to_owned()));
        }
        spelled.path.literal("_changes");
        for (name, filter) in FILTERS {
            if let Some(value) = params.remove(name) {
                query::body(&mut spelled, &Map::from_iter([(name.to_owned(), value)]).into())?;
                params.insert("filter".to_owned(), json!(filter));
                "POST".clone_into(&mut spelled.method);
            }
        }
        query::append(&mut spelled, params)?;
        Ok(spelled)
    },
};
