//! Parts of request heads, and what kind of request an operation is.

use super::SEGMENT;
use super::pen::CouchPen;
use super::revision::Revision;
use crate::http1::Request;
use crate::op::{Op, OpKind};
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

/// The request for `op` as written with `pen`. A write is never sent twice.
pub(super) fn request<'a>(op: &Op, pen: &'a CouchPen) -> Request<'a> {
    let bytes = pen.payload.bytes();
    if op.kind.only_reads() { Request::reading(bytes) } else { Request::changing(bytes) }
}

/// Whether an operation is about an index, and makes its requests itself.
pub(super) fn is_of_index(op: &Op) -> bool {
    matches!(op.kind, OpKind::IndexBuild | OpKind::IndexAudit)
}

/// Whether an operation creates or deletes a whole database, whose number is its key.
pub(super) fn is_of_database(op: &Op) -> bool {
    matches!(op.kind, OpKind::DatabaseCreate | OpKind::DatabaseDelete)
}

/// Whether the revision that `op` is based on must be looked up first.
pub(super) const fn looks_up(op: &Op) -> bool {
    matches!((op.kind, op.token), (OpKind::Update | OpKind::Delete, None))
}
