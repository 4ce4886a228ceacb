//! `{{new}}`: the identifier of a document that does not exist yet.

use super::{Draw, SourceCard, ValueSource};
use crate::schema::Documents;

/// The keys of documents that workloads create are far below this.
const FIRST: u64 = 1 << 60;

pub(super) const CARD: SourceCard = SourceCard {
    form: "new",
    help: "An identifier that no document has, and no other request of the run",
    parse: |hole, _| (hole == "new").then(|| Ok(Box::new(New) as Box<dyn ValueSource>)),
};

#[derive(Debug)]
struct New;

impl ValueSource for New {
    fn makes(&self) -> bool {
        true
    }

    fn write(&self, draw: &mut Draw<'_>, out: &mut Vec<u8>) -> bool {
        write_new(draw.documents, draw.number, out);
        true
    }
}

/// Appends the identifier made by the request with this number.
pub(super) fn write_new(documents: &Documents, number: u64, out: &mut Vec<u8>) {
    documents.write_id(FIRST + number, out);
}
