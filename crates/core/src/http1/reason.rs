//! A server's own explanation of a refusal.

use crate::http1::Connection;
use crate::net::Trouble;
use crate::op::Reason;
use serde::Deserialize;
use std::borrow::Cow;

/// How many bytes of an answer are examined.
const MOST: usize = 64 << 10;

/// The explanation from a connection's last exchange: from its answer, or from the error that
/// prevented one.
pub fn of(connection: &Connection) -> Option<Reason> {
    let (head, body) = (connection.head(), connection.body());
    explanation(connection.status(), head, body, connection.trouble())
}

/// The explanation in an answer with this status, or in the error that prevented one.
pub fn explanation(
    status: Option<u16>,
    head: &[u8],
    body: &[u8],
    trouble: Option<&Trouble>,
) -> Option<Reason> {
    match status {
        Some(status) => Some(Reason::new(Some(status), &said(head, body))),
        None => trouble.map(|trouble| Reason::new(None, &trouble.reason())),
    }
}

/// The explanation in an answer: `error` and `reason` of its JSON, the title of its page, or the
/// start of its text; failing these, the phrase after its status.
fn said<'a>(head: &'a [u8], body: &'a [u8]) -> Cow<'a, str> {
    let body = &body[..body.len().min(MOST)];
    if let Some(words) = json(body) {
        return words.into();
    }
    let text = String::from_utf8_lossy(body);
    let text = if text.trim_start().starts_with('<') { page(&text).into() } else { text };
    if text.trim().is_empty() || text.contains('\0') || text.contains('\u{fffd}') {
        let line = head.split(|&byte| byte == b'\r' || byte == b'\n').next().unwrap_or_default();
        // The version, the status and the phrase.
        let phrase = line.splitn(3, |&byte| byte == b' ').nth(2).unwrap_or_default();
        return String::from_utf8_lossy(phrase);
    }
    text
}

/// `error: reason` from a JSON object.
fn json(body: &[u8]) -> Option<String> {
    let error: ErrorBody<'_> = serde_json::from_slice(body).ok()?;
    error.words()
}

/// CouchDB's description of a failure.
#[derive(Deserialize)]
pub struct ErrorBody<'a> {
    #[serde(borrow)]
    /// CouchDB's name for the failure.
    pub error: Option<Cow<'a, str>>,
    #[serde(borrow)]
    /// CouchDB's explanation.
    pub reason: Option<Cow<'a, str>>,
}

impl ErrorBody<'_> {
    /// `error: reason`, or whichever of the two says anything.
    pub fn words(&self) -> Option<String> {
        let said = |text: Option<&str>| {
            text.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        match (said(self.error.as_deref()), said(self.reason.as_deref())) {
            (Some(error), Some(reason)) => Some(format!("{error}: {reason}")),
            (one, other) => one.or(other),
        }
    }
}

/// The title of a page, or its text.
fn page(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let title = lower.find("<title>").and_then(|start| {
        let end = lower[start..].find("</title>")?;
        Some(text[start + "<title>".len()..start + end].trim())
    });
    if let Some(title) = title.filter(|title| !title.is_empty()) {
        return title.to_owned();
    }
    let parts = text.split('<').map(|part| part.split_once('>').map_or("", |(_, text)| text));
    parts.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_quoted_whatever_it_sends() {
        let head = b"HTTP/1.1 400 Bad Request\r\nServer: x\r\n\r\n";
        for (body, words) in [
            (
                &b"{\"error\":\"illegal_docid\",\"reason\":\"no colon\"}\n"[..],
                "illegal_docid: no colon",
            ),
            (b"{\"reason\":\"only that\"}", "only that"),
            (b"{\"error\":\"badmatch\",\"reason\":\"\"}", "badmatch"),
            (b"{\"error\":\" \",\"reason\":\"only that\"}", "only that"),
            (b"{\"error\":\"\",\"reason\":\"\"}", "{\"error\":\"\",\"reason\":\"\"}"),
            (b"{\"message\":1}", "{\"message\":1}"),
            (b"no such thing\n", "no such thing\n"),
            (b"<html><HEAD><title>400 No</title></head><p>x", "400 No"),
            (b"<p>try <b>later</b>", " try  later "),
            (b"", "Bad Request"),
            (b"\x00\x01\x02", "Bad Request"),
            (b"\xff\xfe", "Bad Request"),
        ] {
            assert_eq!(said(head, body), words);
        }
        assert_eq!(said(b"HTTP/1.1 500\r\n\r\n", b""), "");
    }
}
