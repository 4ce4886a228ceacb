//! Finds requests in a buffer at the lowest cost: only method, target and `Content-Length`.

use memchr::{memchr, memchr_iter, memmem};

/// The kind of answer that a request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind<'a> {
    /// `GET` of the document with this id, as written in the path
    Read(&'a [u8]),
    /// `HEAD` of anything
    Head,
    /// `PUT` of the document with this id, or `POST` of one
    Write(&'a [u8]),
    /// `PUT` of the document with this id whose body begins with its revision
    Update(&'a [u8]),
    /// `DELETE` of the document with this id
    Delete(&'a [u8]),
    /// `POST` to `_bulk_docs` with this body
    Bulk(&'a [u8]),
    /// `GET /`
    Welcome,
    /// `GET /db`
    Info,
    /// `PUT /db`
    Create,
    /// `DELETE /db`
    Remove,
    /// `POST /_session`
    LogIn,
    /// `GET /_springload/counters`
    Counters,
    /// A request that the null responder does not support
    Unknown,
    /// A request whose end the null responder cannot find
    Unframed,
}

const MAX_HEAD_BYTES: usize = 64 * 1024;

const MAX_BODY_BYTES: usize = 1 << 30;

/// How far into a body its revision is searched for, in bytes.
const REVISION_WITHIN: usize = 64;

/// The id that is used for a document without one.
pub(super) const NO_ID: &[u8] = b"x";

/// The text before an id in a document.
const ID_MEMBER: &[u8] = b"\"_id\":\"";

/// The first request in `bytes` and its length, or `None` if it is incomplete.
pub(super) fn parse(bytes: &[u8]) -> Option<(Kind<'_>, usize)> {
    let Some(end) = memmem::find(bytes, b"\r\n\r\n") else {
        return (bytes.len() > MAX_HEAD_BYTES).then_some((Kind::Unframed, bytes.len()));
    };
    let head = &bytes[..end + 2];
    let Some(length) = body_length(head) else { return Some((Kind::Unframed, bytes.len())) };
    if length > MAX_BODY_BYTES {
        return Some((Kind::Unframed, bytes.len()));
    }
    let whole = end + 4 + length;
    if bytes.len() < whole {
        return None;
    }
    Some((kind(head, &bytes[end + 4..whole]), whole))
}

fn kind<'a>(head: &'a [u8], body: &'a [u8]) -> Kind<'a> {
    let (method, rest) = head.split_at(memchr(b' ', head).unwrap_or(head.len()));
    let Some(rest) = rest.strip_prefix(b" /") else { return Kind::Unknown };
    let target = &rest[..memchr(b' ', rest).unwrap_or(rest.len())];
    let path = &target[..memchr(b'?', target).unwrap_or(target.len())];
    if method == b"HEAD" {
        return Kind::Head;
    }
    let Some(slash) = memchr(b'/', path).filter(|slash| slash + 1 < path.len()) else {
        return whole(method, path.strip_suffix(b"/").unwrap_or(path), body);
    };
    let (database, id) = (&path[..slash], &path[slash + 1..]);
    match (method, id) {
        (b"GET", b"counters") if database == b"_springload" => Kind::Counters,
        (b"POST", b"_bulk_docs") => Kind::Bulk(body),
        (_, [b'_', ..]) if !id.starts_with(b"_local/") && !id.starts_with(b"_design/") => {
            Kind::Unknown
        }
        // Neither character is allowed in a path, and both would break the answer's JSON.
        _ if id.iter().any(|byte| matches!(byte, b'"' | b'\\')) => Kind::Unknown,
        (b"GET", _) => Kind::Read(id),
        (b"PUT", _) if is_update(body) => Kind::Update(id),
        (b"PUT", _) => Kind::Write(id),
        (b"DELETE", _) => Kind::Delete(id),
        _ => Kind::Unknown,
    }
}

/// Requests to the server or to a database as a whole.
fn whole<'a>(method: &[u8], name: &[u8], body: &'a [u8]) -> Kind<'a> {
    match (method, name) {
        (b"GET", b"") => Kind::Welcome,
        (b"POST", b"_session") => Kind::LogIn,
        (_, [] | [b'_', ..]) => Kind::Unknown,
        (b"GET", _) => Kind::Info,
        (b"PUT", _) => Kind::Create,
        (b"DELETE", _) => Kind::Remove,
        (b"POST", _) => Kind::Write(ids(body).next().unwrap_or(NO_ID)),
        _ => Kind::Unknown,
    }
}

/// Only looks where a driver would put the revision.
fn is_update(body: &[u8]) -> bool {
    memmem::find(&body[..body.len().min(REVISION_WITHIN)], b"\"_rev\":").is_some()
}

/// `None` for a chunked body, or a length that is not a number.
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

/// The text of every `"_id":"..."` in a body, at any depth, as written.
pub(super) fn ids(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    memmem::find_iter(body, ID_MEMBER).map(|at| {
        let rest = &body[at + ID_MEMBER.len()..];
        let mut end = 0;
        while let Some(byte) = rest.get(end) {
            match byte {
                b'"' => break,
                b'\\' => end += 2,
                _ => end += 1,
            }
        }
        &rest[..end.min(rest.len())]
    })
}

/// The number of elements in the array of `"docs"`: counts everything that opens at depth two.
pub(super) fn documents(body: &[u8]) -> usize {
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
            b"GET /d/a HTTP/1.1\r\nHost: x\r\n\r\nPUT /d/b?x=/ HTTP/1.1\r\ncontent-LENGTH: 3\r\n\r\n{ }";
        let (kind, length) = parse(two).unwrap();
        assert_eq!((kind, length), (Kind::Read(b"a"), 30));
        assert_eq!(parse(&two[length..]), Some((Kind::Write(b"b"), two.len() - length)));
        for cut in length..two.len() {
            assert_eq!(parse(&two[length..cut]), None);
        }
    }

    #[test]
    fn bulk_documents_are_found_and_counted() {
        let body = br#"{"new_edits":true,"docs":[{"a":{"b":[1]}},{"c":"}{\"["},{}]}"#;
        let head =
            format!("POST /d/_bulk_docs?x=1 HTTP/1.1\r\nContent-Length: {}\r\n\r\n", body.len());
        let request = [head.as_bytes(), body].concat();
        assert_eq!(parse(&request), Some((Kind::Bulk(body), request.len())));
        assert_eq!((documents(body), ids(body).count()), (3, 0));
        let named = br#"{"docs":[{"_id":"7","a":1},{"_id":"a\"\\"},{"_id":"open"#;
        assert_eq!(ids(named).collect::<Vec<_>>(), [&b"7"[..], br#"a\"\\"#, b"open"]);
    }

    #[test]
    fn every_request_has_its_kind() {
        for (line, kind) in [
            ("HEAD /", Kind::Head),
            ("GET /", Kind::Welcome),
            ("GET /_session", Kind::Unknown),
            ("POST /_session", Kind::LogIn),
            ("GET /_springload/counters", Kind::Counters),
            ("GET /_all_dbs", Kind::Unknown),
            ("PUT /d", Kind::Create),
            ("PUT /d/", Kind::Create),
            ("GET /d?x=1", Kind::Info),
            ("DELETE /d", Kind::Remove),
            ("POST /d", Kind::Write(NO_ID)),
            ("GET /d/_all_docs", Kind::Unknown),
            ("GET /d/_local/b", Kind::Read(b"_local/b")),
            ("DELETE /a/b?rev=1-x", Kind::Delete(b"b")),
            ("PUT /a/\"", Kind::Unknown),
            ("POST /a/b", Kind::Unknown),
            ("BREW /", Kind::Unknown),
            ("GET", Kind::Unknown),
        ] {
            let request = format!("{line} HTTP/1.1\r\n\r\n");
            assert_eq!(parse(request.as_bytes()), Some((kind, request.len())), "{line}");
        }
        let chunked = b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(parse(chunked), Some((Kind::Unframed, chunked.len())));
        let update =
            b"PUT /d/7 HTTP/1.1\r\nContent-Length: 24\r\n\r\n{\"_id\":\"7\",\"_rev\":\"1-x\"}";
        assert_eq!(parse(update), Some((Kind::Update(b"7"), update.len())));
        let posted = b"POST /d HTTP/1.1\r\nContent-Length: 11\r\n\r\n{\"_id\":\"7\"}";
        assert_eq!(parse(posted), Some((Kind::Write(b"7"), posted.len())));
    }
}
