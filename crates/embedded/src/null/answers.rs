//! The null responder's answers in their final form: prepared once, assembled by copying.

use super::request::{Kind, NO_ID, documents, ids};
use crate::catalogue::Refused;

pub(super) const REVISION: &str = "1-967a00dff5e02add41819138abb3284d";

/// Length of the document in the answer to every `GET`, in bytes; greater if the id is long.
const DOCUMENT_BYTES: usize = 250;

/// Digits reserved for a `Content-Length` that is only known at the end.
const LENGTH_DIGITS: usize = 12;

#[derive(Debug)]
pub(super) struct Answers {
    /// From the status line to `Content-Length: `, for each status.
    ok: Vec<u8>,
    created: Vec<u8>,
    /// The rest of a document after the id, with all of its filler.
    document: Vec<u8>,
    /// The rest of a row after the id.
    row: Vec<u8>,
    welcome: Vec<u8>,
    info: Vec<u8>,
    log_in: Vec<u8>,
}

const ROW: &[u8] = b"{\"ok\":true,\"id\":\"";
const DOCUMENT: &[u8] = b"{\"_id\":\"";
const DONE: &[u8] = b"{\"ok\":true}\n";

impl Answers {
    pub(super) fn new() -> Self {
        let version = env!("CARGO_PKG_VERSION");
        let head = |status: &str, more: &str| {
            format!(
                "HTTP/1.1 {status}\r\nServer: springload-stand-in/{version} (null)\r\n\
                 Cache-Control: must-revalidate\r\nContent-Type: application/json\r\n{more}\
                 Content-Length: "
            )
        };
        let whole = |more: &str, body: &str| {
            format!("{}{}\r\n\r\n{body}\n", head("200 OK", more), body.len() + 1).into_bytes()
        };
        let etag = format!("ETag: \"{REVISION}\"\r\n");
        let mut document = format!("\",\"_rev\":\"{REVISION}\",\"filler\":\"");
        let filler = DOCUMENT_BYTES - DOCUMENT.len() - document.len() - 3;
        document.push_str(&"x".repeat(filler));
        Self {
            ok: head("200 OK", &etag).into(),
            created: head("201 Created", &etag).into(),
            document: document.into(),
            row: format!("\",\"rev\":\"{REVISION}\"}}").into(),
            welcome: whole(
                "",
                &format!(
                    "{{\"couchdb\":\"Welcome\",\"version\":\"0.0.0-null\",\"vendor\":\
                     {{\"name\":\"springload null responder\",\"version\":\"{version}\"}}}}"
                ),
            ),
            info: whole("", "{\"db_name\":\"null\",\"doc_count\":0,\"doc_del_count\":0}"),
            log_in: whole(
                "Set-Cookie: AuthSession=null; Version=1; Max-Age=600; Path=/; HttpOnly\r\n",
                "{\"ok\":true,\"name\":null,\"roles\":[\"_admin\"]}",
            ),
        }
    }

    /// Appends an answer; returns its number of rows, if it answers a bulk request.
    pub(super) fn write(&self, kind: Kind<'_>, out: &mut Vec<u8>) -> u64 {
        match kind {
            Kind::Read(id) => self.document(id, true, out),
            Kind::Head => self.document(NO_ID, false, out),
            Kind::Write(id) | Kind::Update(id) => self.written(&self.created, id, out),
            Kind::Delete(id) => self.written(&self.ok, id, out),
            Kind::Bulk(body) => return self.rows(body, out),
            Kind::Welcome => out.extend_from_slice(&self.welcome),
            Kind::Info => out.extend_from_slice(&self.info),
            Kind::Create => whole(&self.created, DONE, out),
            Kind::Remove => whole(&self.ok, DONE, out),
            Kind::LogIn => out.extend_from_slice(&self.log_in),
            Kind::Counters | Kind::Unknown => {
                out.extend_from_slice(b"HTTP/1.1 501 Not Implemented\r\nContent-Length: 0\r\n\r\n");
            }
            Kind::Unframed => {
                out.extend_from_slice(
                    b"HTTP/1.1 501 Not Implemented\r\nConnection: close\r\n\
                      Content-Length: 0\r\n\r\n",
                );
            }
        }
        0
    }

    /// Appends an answer 200 with the given body.
    pub(super) fn write_ok(&self, body: &[u8], out: &mut Vec<u8>) {
        whole(&self.ok, body, out);
    }

    pub(super) fn refuse(refused: Refused, with_body: bool, out: &mut Vec<u8>) {
        let Refused { status, error, reason } = refused;
        let body = format!("{{\"error\":\"{error}\",\"reason\":\"{reason}\"}}\n");
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status} Refused\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n"
        );
        out.extend_from_slice(head.as_bytes());
        if with_body {
            out.extend_from_slice(body.as_bytes());
        }
    }

    fn document(&self, id: &[u8], with_body: bool, out: &mut Vec<u8>) {
        // A longer id replaces filler, as long as there is any.
        let filler = self.document.len() - id.len().min(DOCUMENT_BYTES / 2);
        let length = DOCUMENT.len() + id.len() + filler + 3;
        head(&self.ok, length, out);
        if with_body {
            out.extend_from_slice(DOCUMENT);
            out.extend_from_slice(id);
            out.extend_from_slice(&self.document[..filler]);
            out.extend_from_slice(b"\"}\n");
        }
    }

    fn written(&self, status: &[u8], id: &[u8], out: &mut Vec<u8>) {
        head(status, ROW.len() + id.len() + self.row.len() + 1, out);
        self.row(id, out);
        out.push(b'\n');
    }

    fn row(&self, id: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(ROW);
        out.extend_from_slice(id);
        out.extend_from_slice(&self.row);
    }

    /// Appends rows for the documents of a bulk request, in its order. Returns the number of rows.
    fn rows(&self, body: &[u8], out: &mut Vec<u8>) -> u64 {
        out.extend_from_slice(&self.created);
        // White space before a number is legal: the length is written last, right-aligned.
        let digits = out.len();
        out.extend_from_slice(&[b' '; LENGTH_DIGITS]);
        out.extend_from_slice(b"\r\n\r\n[");
        let begin = out.len() - 1;
        let mut rows = 0;
        for id in ids(body) {
            self.row(id, out);
            out.push(b',');
            rows += 1;
        }
        if rows == 0 {
            rows = documents(body);
            for _ in 0..rows {
                self.row(NO_ID, out);
                out.push(b',');
            }
        }
        if rows > 0 {
            out.pop();
        }
        out.extend_from_slice(b"]\n");
        let mut buffer = itoa::Buffer::new();
        let length = buffer.format(out.len() - begin).as_bytes();
        let end = digits + LENGTH_DIGITS;
        out[end - length.len()..end].copy_from_slice(length);
        rows as u64
    }
}

fn whole(status: &[u8], body: &[u8], out: &mut Vec<u8>) {
    head(status, body.len(), out);
    out.extend_from_slice(body);
}

fn head(status: &[u8], length: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(status);
    out.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
    out.extend_from_slice(b"\r\n\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn answer(kind: Kind<'_>) -> Value {
        let mut out = Vec::new();
        let rows = Answers::new().write(kind, &mut out);
        let text = String::from_utf8(out).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let length = head.rsplit_once("Content-Length: ").unwrap().1;
        assert_eq!(length.trim().parse(), Ok(body.len()), "{text}");
        let value: Value =
            serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(value.as_array().map_or(0, Vec::len) as u64, rows);
        value
    }

    #[test]
    fn answers_announce_their_true_length_and_name_the_id() {
        let long = "9".repeat(300);
        for id in ["7", "10020", &long] {
            let document = answer(Kind::Read(id.as_bytes()));
            assert_eq!((&document["_id"], &document["_rev"]), (&id.into(), &REVISION.into()));
            assert!(id == long || document.to_string().len() + 1 == DOCUMENT_BYTES, "{document}");
            for kind in [Kind::Write(id.as_bytes()), Kind::Delete(id.as_bytes())] {
                assert_eq!(answer(kind)["id"], id);
            }
        }
        for kind in [Kind::Welcome, Kind::Info, Kind::Create, Kind::Remove, Kind::LogIn] {
            assert!(answer(kind).is_object(), "{kind:?}");
        }
    }

    #[test]
    fn a_bulk_answer_has_a_row_for_each_document() {
        for (body, ids) in [
            (r#"{"docs":[{"_id":"1","a":2},{"_id":"2"}]}"#, vec!["1", "2"]),
            (r#"{"docs":[{"a":[]},{}]}"#, vec!["x", "x"]),
            (r#"{"docs":[]}"#, vec![]),
        ] {
            let rows = answer(Kind::Bulk(body.as_bytes()));
            let rows = rows.as_array().unwrap();
            assert_eq!(rows.iter().map(|row| &row["id"]).collect::<Vec<_>>(), ids);
        }
    }
}
