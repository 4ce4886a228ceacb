//! What a request sends, split at its values, and where these come from.

use super::{Wrong, wrong};
use crate::driver::{BodyPlan, RequestPlan, RequestText};
use crate::values::{Data, Holes, Pieces, ValueSource, Values, Written, is_value, source};
use percent_encoding::{AsciiSet, CONTROLS, percent_encode};
use std::path::Path;

/// Content types by file name extension.
const EXTENSIONS: [(&str, &str); 8] = [
    ("json", "application/json"),
    ("xml", "application/xml"),
    ("txt", "text/plain"),
    ("csv", "text/csv"),
    ("html", "text/html"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("pdf", "application/pdf"),
];

/// The default type of a body, that of HTML forms.
pub(super) const FORM: &str = "application/x-www-form-urlencoded";

/// Characters that must be encoded in a path and query (RFC 3986); a `%` is assumed to start an
/// encoded one.
const TARGET: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Splits what a request sends at its values.
pub(super) fn spell(request: &mut RequestPlan, literal: bool, data: &Data) {
    let mut holes = Holes::default();
    let mut cut = |text: &[u8], written| cut(text, written, literal, data, &mut holes);
    let encode = |text: &[u8]| percent_encode(text, TARGET).to_string().into_bytes();
    let target = cut(request.path.as_bytes(), Written::Encoded).map_text(encode);
    let lines = request.headers.iter().map(|header| format!("{}\r\n", header.trim()));
    let headers = cut(lines.collect::<String>().as_bytes(), Written::Line);
    let body = request.body.as_ref().map_or_else(Pieces::default, |body| {
        let written = match request.content_type.as_deref() {
            _ if !literal && is_json(&body.text, data) => Written::Json,
            Some(FORM) => Written::Encoded,
            _ => Written::Plain,
        };
        cut(&body.text, written)
    });
    request.text = RequestText { target, headers, body, holes };
}

/// Splits a text at its values. `literal`: it has none.
fn cut(text: &[u8], written: Written, literal: bool, data: &Data, holes: &mut Holes) -> Pieces {
    if literal {
        let mut pieces = Pieces::default();
        pieces.bytes(text);
        return pieces;
    }
    Pieces::written(text, written, |hole| is_value(hole, data), holes)
}

/// A text with numbers in its holes, and whether it has any.
fn sample(text: &[u8], data: &Data) -> (Vec<u8>, bool) {
    let (mut holes, mut filled) = (Holes::default(), Vec::new());
    let pieces = cut(text, Written::Plain, false, data, &mut holes);
    pieces.join(&Values::samples(holes.0.len()), &mut Vec::new(), &mut filled);
    (filled, !holes.0.is_empty())
}

/// Whether anything in a line or its body would be filled in.
pub(super) fn has_holes(line: &[u8], body: Option<&BodyPlan>, data: &Data) -> bool {
    sample(line, data).1 || body.is_some_and(|body| sample(&body.text, data).1)
}

fn is_json(text: &[u8], data: &Data) -> bool {
    let opens = |text: &[u8]| matches!(text.trim_ascii_start().first(), Some(b'{' | b'['));
    let is_whole =
        |text: &[u8]| opens(text) && serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok();
    opens(text) && is_whole(&sample(text, data).0)
}

/// The content type of a body without one: guessed from the file's name, or JSON if it parses as
/// such.
pub(super) fn guess_type(body: &BodyPlan, data: &Data) -> &'static str {
    if body.schema.is_some() {
        return "application/json";
    }
    let extension = Path::new(&body.source).extension().and_then(|it| it.to_str());
    let by_name = EXTENSIONS
        .iter()
        .find(|(known, _)| extension.is_some_and(|it| it.eq_ignore_ascii_case(known)));
    if let Some((_, content_type)) = by_name.filter(|_| body.source != "inline") {
        return content_type;
    }
    if is_json(&body.text, data) { "application/json" } else { FORM }
}

/// The sources of a request's values, in the order of its holes.
///
/// # Errors
/// Returns an error if a list of requests has no such value.
pub(in crate::plan) fn values(
    request: &RequestPlan,
    data: &Data,
) -> Result<Vec<Box<dyn ValueSource>>, Wrong> {
    request.text.holes.0.iter().map(|hole| value(hole, data)).collect()
}

fn value(hole: &str, data: &Data) -> Result<Box<dyn ValueSource>, Wrong> {
    let cure = || {
        let known = ["seq", "uuid", "int LOW HIGH", "now", "text SIZE", "saved NAME"].into_iter();
        let known = known.chain(data.keys().map(String::as_str));
        let known: Vec<_> = known.map(|name| format!("{{{{{name}}}}}")).collect();
        format!("give one of {}, or --literal to send it as it is", known.join(", "))
    };
    let found = match hole {
        "uuid" => source("uuid v4", data),
        "random.int" => source("int 0 2147483647", data),
        hole => source(hole, data),
    };
    let found = found.map_err(|(problem, _)| wrong(problem, cure()))?;
    if found.documents() > 0 || found.after().is_some() || found.makes() {
        let problem = format!("{{{{{hole}}}}} is of documents that a run has stored");
        return Err(wrong(problem, cure()));
    }
    Ok(found)
}
