//! `{{uuid}}`: 32 random hexadecimal digits.

use super::{Draw, SourceCard, ValueSource};

pub(super) const CARD: SourceCard = SourceCard {
    form: "uuid",
    help: "32 random hexadecimal digits",
    parse: |hole, _| (hole == "uuid").then(|| Ok(Box::new(Digits) as Box<dyn ValueSource>)),
};

#[derive(Debug)]
struct Digits;

impl ValueSource for Digits {
    fn write(&self, draw: &mut Draw<'_>, out: &mut Vec<u8>) -> bool {
        let number = u128::from(draw.stream.draw()) << 64 | u128::from(draw.stream.draw());
        let mut digits = [0; 32];
        if const_hex::encode_to_slice(number.to_be_bytes(), &mut digits).is_ok() {
            out.extend_from_slice(&digits);
        }
        true
    }
}
