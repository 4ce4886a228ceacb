//! `{{key}}`: the identifier of a stored document.

use super::value_source::numbered;
use super::{Draw, SourceCard, ValueSource};
use crate::values::Skew;

pub(super) const CARD: SourceCard = SourceCard {
    form: "key",
    help: "The identifier of a stored document; {{key#2}} of a second one; {{key zipfian}} prefers \
           some documents, as do latest, hotspot, exponential and sequential",
    parse: |hole, _| {
        let (name, skew) = hole.split_once(' ').unwrap_or((hole, ""));
        let (name, place) = numbered(name);
        (name == "key").then(|| {
            let skew = Some(skew.trim()).filter(|name| !name.is_empty()).map(Skew::parse);
            Ok(Box::new(StoredKey(place?, skew.transpose()?)) as Box<dyn ValueSource>)
        })
    },
};

/// The index of the document, and how it is chosen if that is given.
#[derive(Debug)]
struct StoredKey(usize, Option<Skew>);

impl ValueSource for StoredKey {
    fn documents(&self) -> usize {
        self.0 + 1
    }

    fn skew(&self) -> Option<Skew> {
        self.1
    }

    fn write(&self, draw: &mut Draw<'_>, out: &mut Vec<u8>) -> bool {
        if let Some((key, _)) = draw.stored.get(self.0) {
            draw.documents.write_id(*key, out);
        }
        true
    }
}
