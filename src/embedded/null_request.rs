//! Finds requests in a buffer at the least cost: method, target, `Content-Length`, no more.

use memchr::{memchr, memchr_iter, memmem};

/// What kind of answer a request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `GET`
    Read,
    /// `HEAD`
    Head,
    /// `PUT`, and `POST` of anything but `_bulk_docs`
    Write,
    /// `POST` to `_bulk_docs` with that many documents
    Bulk(usize),
    /// `DELETE`
    Delete,
    /// What the null responder can not frame
    Unsupported,
}

/// The longest head taken, in bytes.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// The first request in `bytes` and its length, or `None` when it is not whole yet.
pub(super) fn parse(bytes: &[u8]) -> Option<(Kind, usize)> {
    let Some(end) = memmem::find(bytes, b"\r\n\r\n") else {
        return (bytes.len() > MAX_HEAD_BYTES).then_some((Kind::Unsupported, bytes.len()));
    };
    let head = &bytes[..end + 2];
    let Some(length) = body_length(head) else { return Some((Kind::Unsupported, bytes.len())) };
    let whole = (end + 4).checked_add(length)?;
    if bytes.len() < whole {
        return None;
    }
    let body = &bytes[end + 4..whole];
    let kind = match head {
        [b'G', b'E', b'T', b' ', ..] => Kind::Read,
        [b'H', b'E', b'A', b'D', b' ', ..] => Kind::Head,
        [b'P', b'O', b'S', b'T', b' ', rest @ ..] if is_bulk(rest) => Kind::Bulk(documents(body)),
        [b'P', b'U', b'T', b' ', ..] | [b'P', b'O', b'S', b'T', b' ', ..] => Kind::Write,
        [b'D', b'E', b'L', b'E', b'T', b'E', b' ', ..] => Kind::Delete,
        _ => Kind::Unsupported,
    };
    Some((kind, whole))
}

/// `None` for a body in chunks or a length which is no number.
fn body_length(head: &[u8]) -> Option<usize> {
    const LENGTH: &[u8] = b"content-length:";
    const ENCODING: &[u8] = b"transfer-encoding:";
    let mut length = 0;
    for feed in memchr_iter(b'\n', head) {
        let line = &head[feed + 1..];
        match line.first() {
            Some(b'c' | b'C') if starts_with(line, LENGTH) => {
                let value = &line[LENGTH.len()..memchr(b'\r', line)?];
                length = std::str::from_utf8(value).ok()?.trim().parse().ok()?;
            }
            Some(b't' | b'T') if starts_with(line, ENCODING) => return None,
            _ => {}
        }
    }
    Some(length)
}

fn starts_with(line: &[u8], name: &[u8]) -> bool {
    line.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
}

fn is_bulk(rest: &[u8]) -> bool {
    let target = &rest[..memchr(b' ', rest).unwrap_or(rest.len())];
    let path = &target[..memchr(b'?', target).unwrap_or(target.len())];
    path.ends_with(b"/_bulk_docs")
}

/// How many elements the array of `"docs"` has: counts what opens at depth two.
fn documents(body: &[u8]) -> usize {
    let (mut depth, mut count, mut at) = (0_usize, 0, 0);
    while let Some(byte) = body.get(at) {
        match byte {
            b'"' => {
                at += 1;
                while let Some(byte) = body.get(at) {
                    match byte {
                        b'"' => break,
                        b'\\' => at += 1,
                        _ => {}
                    }
                    at += 1;
                }
            }
            b'{' | b'[' => {
                count += usize::from(depth == 2);
                depth += 1;
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_found_whole_or_not_at_all() {
        let two =
            b"GET /a HTTP/1.1\r\nHost: x\r\n\r\nPUT /b HTTP/1.1\r\ncontent-LENGTH: 3\r\n\r\n{ }";
        let (kind, length) = parse(two).unwrap();
        assert_eq!((kind, length), (Kind::Read, 28));
        assert_eq!(parse(&two[length..]), Some((Kind::Write, two.len() - length)));
        for cut in length..two.len() {
            assert_eq!(parse(&two[length..cut]), None);
        }
    }

    #[test]
    fn bulk_documents_are_counted() {
        let body = br#"{"new_edits":true,"docs":[{"a":{"b":[1]}},{"c":"}{\"["},{}]}"#;
        let head =
            format!("POST /d/_bulk_docs?x=1 HTTP/1.1\r\nContent-Length: {}\r\n\r\n", body.len());
        let request = [head.as_bytes(), body].concat();
        assert_eq!(parse(&request), Some((Kind::Bulk(3), request.len())));
    }

    #[test]
    fn other_kinds_have_their_names() {
        let kind = |text: &str| parse(text.as_bytes()).map(|(kind, _)| kind);
        assert_eq!(kind("HEAD / HTTP/1.1\r\n\r\n"), Some(Kind::Head));
        assert_eq!(kind("DELETE /a/b HTTP/1.1\r\n\r\n"), Some(Kind::Delete));
        assert_eq!(kind("POST /a HTTP/1.1\r\n\r\n"), Some(Kind::Write));
        assert_eq!(kind("BREW / HTTP/1.1\r\n\r\n"), Some(Kind::Unsupported));
        let chunked = "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(kind(chunked), Some(Kind::Unsupported));
    }
}
