//! Documents in the order of their names, within a range of names: the view of all documents.

use super::Query;
use crate::couchdb::{answer, head::write_segment};
use crate::op::{Failure, Op, Reply};

pub(super) const QUERY: Query = Query { write, read };

/// The range is from the first name to the one after the zero byte, if there is one.
fn write(op: &Op, names: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"_all_docs?include_docs=true&limit=");
    out.extend_from_slice(itoa::Buffer::new().format(op.limit).as_bytes());
    for (parameter, name) in [b"&startkey=", &b"&endkey="[..]].iter().zip(names.split(|&b| b == 0))
    {
        out.extend_from_slice(parameter);
        let key = serde_json::Value::from(String::from_utf8_lossy(name)).to_string();
        write_segment(key.as_bytes(), out);
    }
}

fn read(op: &Op, body: &[u8]) -> Result<Reply, Failure> {
    Ok(Reply { rows: answer::scanned(body, op.limit)?, ..Reply::default() })
}
