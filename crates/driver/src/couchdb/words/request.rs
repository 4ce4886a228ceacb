//! `request`: any request below the database.

use super::{CouchWord, Spelled, answer, query};
use crate::words::{OperationPlan, Word};

const EXAMPLE: &str = "GET _changes?limit=5";
const METHODS: [&str; 4] = ["GET", "POST", "PUT", "DELETE"];

pub(super) const WORD: CouchWord = CouchWord {
    word: Word {
        name: "request",
        help: "A method, a path below the database, and a body in JSON if there is one",
        example: EXAMPLE,
    },
    spell: |operation: &OperationPlan| {
        let text = operation.text(EXAMPLE)?;
        let wrong = |problem: String| (problem, format!("write it like {EXAMPLE}"));
        let (method, rest) = text.split_once(' ').unwrap_or((text, ""));
        if !METHODS.contains(&method) {
            return Err(wrong(format!("{method:?} is not one of {}", METHODS.join(", "))));
        }
        let (path, body) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
        if path.is_empty() || path.starts_with(['/', '?', '.']) {
            return Err(wrong(format!("{path:?} is not a path below the database")));
        }
        if path.contains(|c: char| c.is_control() || c.is_whitespace()) {
            return Err(wrong(format!("{path:?} has a space: write %20")));
        }
        let mut spelled = Spelled::reading(method, answer::any);
        spelled.reads = method == "GET";
        spelled.at(path)?;
        if !body.trim().is_empty() {
            let body: serde_json::Value = serde_json::from_str(body).map_err(|error| {
                let cure = "write it like POST _find {\"selector\":{}}".to_owned();
                (format!("the body {body:?} is not JSON: {error}"), cure)
            })?;
            query::body(&mut spelled, &body)?;
        }
        if !operation.params.is_empty() {
            if path.contains('?') {
                return Err(wrong("the path has parameters, and params has others".to_owned()));
            }
            query::append(&mut spelled, operation.params.clone())?;
        }
        Ok(spelled)
    },
};
