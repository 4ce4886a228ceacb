//! `attachment`: documents with an attachment.

use super::{CouchWord, SpelledRequest, answer, malformed};
use crate::words::{OperationPlan, Word};

const EXAMPLE: &str = "put 20k image/png";
const NAME: &str = "data";
const BINARY: &str = "application/octet-stream";

pub(super) const WORD: CouchWord = CouchWord {
    word: Word {
        name: "attachment",
        help: "Stores a new document with so many random bytes, of this type; get NAME FROM-TO \
               fetches what the operation NAME has stored, or these bytes of it",
        example: EXAMPLE,
    },
    spell: |operation: &OperationPlan| {
        let text = operation.text(EXAMPLE)?;
        let words: Vec<_> = text.split_whitespace().collect();
        match words[..] {
            ["put", size] => put(size, BINARY),
            ["put", size, kind] => put(size, kind),
            ["get", of] => get(of, None),
            ["get", of, range] => get(of, Some(range)),
            _ => Err((
                format!("{text:?} is neither put nor get"),
                format!("write it like {EXAMPLE}, or get NAME"),
            )),
        }
    },
};

fn put(size: &str, kind: &str) -> Result<SpelledRequest, (String, String)> {
    if kind.contains(|c: char| c.is_control()) || !kind.contains('/') {
        let cure = format!("write it like {BINARY}");
        return Err((format!("{kind:?} is not a type of contents"), cure));
    }
    let mut spelled = SpelledRequest::changing("PUT", answer::stored);
    spelled.at(&format!("{{{{new}}}}/{NAME}"))?;
    spelled.headers = format!("Content-Type: {kind}\r\n");
    let random = if kind.starts_with("text/") { "text" } else { "bytes" };
    let mut body = super::Pieces::default();
    body.raw(&format!("{{{{{random} {size}}}}}"), &mut spelled.holes)
        .map_err(|error| malformed(&error))?;
    spelled.body = Some(body);
    Ok(spelled)
}

fn get(of: &str, range: Option<&str>) -> Result<SpelledRequest, (String, String)> {
    let mut spelled = SpelledRequest::reading("GET", |_| Ok(super::Counted::of(1)));
    spelled.at(&format!("{{{{made {of}}}}}/{NAME}"))?;
    if let Some(range) = range {
        let bounds = range.split_once('-').and_then(|(from, to)| {
            let (from, to) = (from.parse::<u64>().ok()?, to.parse::<u64>().ok()?);
            (from <= to).then_some((from, to))
        });
        let (from, to) = bounds.ok_or_else(|| {
            let cure = "write it like 0-999: both are included";
            (format!("{range:?} is not a range of bytes"), cure.to_owned())
        })?;
        spelled.headers = format!("Range: bytes={from}-{to}\r\n");
    }
    Ok(spelled)
}
