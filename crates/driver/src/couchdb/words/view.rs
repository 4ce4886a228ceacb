//! `view`: a view of a design document.

use super::{CouchWord, SpelledRequest, answer, query};
use crate::couchdb::encode_segment;
use crate::couchdb::view_name::ViewName;
use crate::words::{OperationPlan, Word};

const EXAMPLE: &str = "app/by_date?limit=20&descending=true";

pub(super) const WORD: CouchWord = CouchWord {
    word: Word {
        name: "view",
        help: "Rows of a view, with any of its parameters; keys are sent by POST",
        example: EXAMPLE,
    },
    spell: |operation: &OperationPlan| {
        let text = operation.text(EXAMPLE)?;
        let (place, params) = text.split_once('?').unwrap_or((text, ""));
        let (design, view) =
            place.trim_start_matches("_design/").split_once('/').ok_or_else(|| {
                let problem = format!("{place:?} is not a design document and its view");
                (problem, format!("write it like {EXAMPLE}"))
            })?;
        let view = view.trim_start_matches("_view/");
        let mut spelled = SpelledRequest::reading("GET", |body| answer::count(body, "rows"));
        let (of, name) = (encode_segment(design), encode_segment(view));
        let mut params = query::parse(params)?;
        params.extend(operation.params.clone());
        query::partition(&mut spelled, &mut params)?;
        spelled.path.literal(&format!("_design/{of}/_view/{name}"));
        query::append(&mut spelled, params)?;
        spelled.view = Some(ViewName { design: design.to_owned(), view: view.to_owned() });
        Ok(spelled)
    },
};
