//! Parts of request heads.

use super::SEGMENT;
use super::revision::Revision;
use crate::op::Op;
use percent_encoding::percent_encode;

/// Appends the header of a read that requests the document only if it has changed. The entity tag
/// of a document is its revision in quotes.
#[cold]
pub(super) fn write_condition(op: &Op, head: &mut Vec<u8>) {
    let Some(token) = op.token else { return };
    head.extend_from_slice(b"If-None-Match: \"");
    Revision::from(token).write(head);
    head.extend_from_slice(b"\"\r\n");
}

/// Appends a path segment, percent-encoded where necessary.
pub(super) fn write_segment(segment: &[u8], out: &mut Vec<u8>) {
    if segment.iter().all(u8::is_ascii_alphanumeric) {
        out.extend_from_slice(segment);
    } else {
        for part in percent_encode(segment, SEGMENT) {
            out.extend_from_slice(part.as_bytes());
        }
    }
}

/// Appends the view of all documents in the range of `names`, `limit` of them: from the first name
/// to the one after the zero byte, if there is one.
pub(super) fn write_scan(names: &[u8], limit: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(b"_all_docs?include_docs=true&limit=");
    out.extend_from_slice(itoa::Buffer::new().format(limit).as_bytes());
    for (parameter, name) in [b"&startkey=", &b"&endkey="[..]].iter().zip(names.split(|&b| b == 0))
    {
        out.extend_from_slice(parameter);
        let key = serde_json::Value::from(String::from_utf8_lossy(name)).to_string();
        write_segment(key.as_bytes(), out);
    }
}
