//! Writes a recorded request as a line of a list, so that it means exactly the same request.

use super::har::{PostData, Request};
use crate::plan::METHODS;
use url::{Url, form_urlencoded};

/// The parts of a line after the server.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LineParts {
    /// Path and query.
    pub(super) target: String,
    /// Method, type and body.
    pub(super) rest: String,
}

/// # Errors
/// Fails if a list cannot express the request.
pub(super) fn spelled(request: &Request) -> Result<LineParts, &'static str> {
    let url = Url::parse(&request.url).map_err(|_| "it has no address")?;
    let query = url.query().map_or_else(String::new, |query| format!("?{query}"));
    // Values and variables of a list must not be recognized in it.
    let target = escaped(&format!("{}{query}", url.path())).replace('{', "%7B");
    let method = &*request.method;
    if !METHODS.contains(&method) {
        return Err("it has another method than lists have");
    }
    let body = request.post_data.as_ref().map_or_else(|| Ok(String::new()), body)?;
    match method {
        "GET" | "HEAD" if !body.is_empty() => Err("a GET or HEAD of a list has no body"),
        "GET" => Ok(LineParts { target, rest: String::new() }),
        _ => Ok(LineParts { target, rest: format!(" {method}{body}") }),
    }
}

const FORM: &str = "application/x-www-form-urlencoded";

/// Type and body, each after a space; nothing if there is none.
fn body(data: &PostData) -> Result<String, &'static str> {
    // In a list, the type ends at a space.
    let mut kind: String = data.mime_type.split_whitespace().collect();
    let mut text = data.text.clone();
    if text.is_empty() {
        if !data.params.is_empty() && kind.to_ascii_lowercase().starts_with("multipart/") {
            return Err("the text of its body is not in the recording");
        }
        let fields = data.params.iter().map(|pair| (&pair.name, &pair.value));
        text = form_urlencoded::Serializer::new(text).extend_pairs(fields).finish();
        if kind.is_empty() {
            FORM.clone_into(&mut kind);
        }
    }
    if text.is_empty() {
        return Ok(String::new());
    }
    let json = || serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
    if kind.is_empty() {
        return Err("its body has no type, and would be sent with one");
    }
    if kind.contains("json") && json() {
        // Line breaks occur only between JSON tokens; in its strings, a brace may be written as a
        // number.
        text = text.trim().replace(['\n', '\r'], " ").replace("{{", "\\u007b\\u007b");
    } else if kind.starts_with(FORM) {
        text = text.trim().replace('{', "%7B");
    }
    if text.contains(['\n', '\r']) || text.trim() != text || text.starts_with('<') {
        return Err("its body does not fit into a line: save it, and write < FILE");
    }
    if text.contains("{{") {
        return Err("its body has {{: save it, and write < FILE");
    }
    Ok(format!(" -T {}; {}", escaped(&kind), escaped(&text)))
}

/// Escapes a text so that a list finds no variables in it.
fn escaped(text: &str) -> String {
    text.replace('$', "\\$")
}
