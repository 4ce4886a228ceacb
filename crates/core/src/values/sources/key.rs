//! `{{key}}`: the identifier of a stored document.

use super::{Draw, SourceCard, ValueSource, numbered};

pub(super) const CARD: SourceCard = SourceCard {
    form: "key",
    help: "The identifier of a stored document; {{key#2}} of a second one",
    parse: |hole, _| {
        let (name, place) = numbered(hole);
        (name == "key").then(|| Ok(Box::new(Stored(place?)) as Box<dyn ValueSource>))
    },
};

#[derive(Debug)]
struct Stored(usize);

impl ValueSource for Stored {
    fn documents(&self) -> usize {
        self.0 + 1
    }

    fn write(&self, draw: &mut Draw<'_>, out: &mut Vec<u8>) -> bool {
        if let Some((key, _)) = draw.stored.get(self.0) {
            draw.documents.write_id(*key, out);
        }
        true
    }
}
