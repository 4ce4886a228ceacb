//! `{{partition}}`: the partition of a stored document.

use super::value_source::numbered;
use super::{Draw, SourceCard, ValueSource};

pub(super) const CARD: SourceCard = SourceCard {
    form: "partition",
    help: "The partition of a stored document, which is its identifier up to the colon; of the \
           same document as {{key}}",
    parse: |hole, _| {
        let (name, place) = numbered(hole);
        (name == "partition").then(|| Ok(Box::new(Partition(place?)) as Box<dyn ValueSource>))
    },
};

#[derive(Debug)]
struct Partition(usize);

impl ValueSource for Partition {
    fn documents(&self) -> usize {
        self.0 + 1
    }

    fn problem(&self, draw: &mut Draw<'_>) -> Option<super::Problem> {
        let mut id = Vec::new();
        draw.documents.write_id(draw.stored.get(self.0)?.0, &mut id);
        (!id.contains(&b':')).then(|| {
            let cure = "give --id partitions:N";
            ("the identifiers have no partitions".to_owned(), cure.to_owned())
        })
    }

    fn write(&self, draw: &mut Draw<'_>, out: &mut Vec<u8>) -> bool {
        let (start, (key, _)) = (out.len(), *draw.stored.get(self.0).unwrap_or(&(0, 0)));
        draw.documents.write_id(key, out);
        let length = out[start..].iter().position(|byte| *byte == b':').unwrap_or(0);
        out.truncate(start + length);
        true
    }
}
