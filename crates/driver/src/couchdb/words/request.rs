//! `request`: any request below the database.

use super::{CouchWord, SpelledRequest, answer, query};
use crate::values::{MalformedHole, parts};
use crate::words::{OperationPlan, Word, malformed};

const EXAMPLE: &str = "GET _changes?limit=5";
const METHODS: [&str; 4] = ["GET", "POST", "PUT", "DELETE"];

pub(super) const WORD: CouchWord = CouchWord {
    word: Word {
        name: "request",
        help: "A method, a path below the database, or none for the database itself, and a body in \
               JSON if there is one",
        example: EXAMPLE,
    },
    spell: |operation: &OperationPlan| {
        let text = operation.text(EXAMPLE)?;
        let wrong = |problem: String| (problem, format!("write it like {EXAMPLE}"));
        let (method, rest) = text.split_once(' ').unwrap_or((text, ""));
        if !METHODS.contains(&method) {
            return Err(wrong(format!("{method:?} is not one of {}", METHODS.join(", "))));
        }
        let (path, body) = path_and_body(rest.trim()).map_err(|error| malformed(&error))?;
        if path.is_empty() && body.is_empty() || path.starts_with(['/', '?', '.']) {
            return Err(wrong(format!("{path:?} is not a path below the database")));
        }
        if path.contains(char::is_control) {
            return Err(wrong(format!("{path:?} has a control character")));
        }
        let mut spelled = SpelledRequest::reading(method, answer::any);
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

/// The path, up to the first space that is not in a hole, and the body.
fn path_and_body(text: &str) -> Result<(&str, &str), MalformedHole> {
    if text.starts_with('{') && !text.starts_with("{{") {
        return Ok(("", text));
    }
    let mut end = 0;
    for (is_hole, part) in parts(text)? {
        if let Some(space) = part.find(char::is_whitespace).filter(|_| !is_hole) {
            let (path, body) = text.split_at(end + space);
            return Ok((path, body.trim()));
        }
        end += part.len() + if is_hole { "{{}}".len() } else { 0 };
    }
    Ok((text, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_ends_with_the_first_space_outside_of_values() {
        for (text, path, body) in [
            ("_changes?limit=5", "_changes?limit=5", ""),
            (
                "{{saved id}}?rev={{saved rev}}  {\"a\":1}",
                "{{saved id}}?rev={{saved rev}}",
                "{\"a\":1}",
            ),
            ("{\"a\":\"{{text 50}}\"}", "", "{\"a\":\"{{text 50}}\"}"),
            ("", "", ""),
        ] {
            assert_eq!(path_and_body(text), Ok((path, body)), "{text}");
        }
        assert!(path_and_body("{{saved id").is_err());
    }
}
