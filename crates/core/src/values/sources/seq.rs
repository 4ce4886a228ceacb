//! `{{seq}}`: numbers that count requests.

use super::{Draw, SourceCard, ValueSource};

pub(super) const CARD: SourceCard = SourceCard {
    form: "seq",
    help: "A number that no other request of the run has",
    parse: |hole, _| (hole == "seq").then(|| Ok(Box::new(Number) as Box<dyn ValueSource>)),
};

#[derive(Debug)]
struct Number;

impl ValueSource for Number {
    fn write(&self, draw: &mut Draw<'_>, out: &mut Vec<u8>) -> bool {
        out.extend_from_slice(itoa::Buffer::new().format(draw.number).as_bytes());
        false
    }
}
