//! `{{uuid}}`: random identifiers.

use super::{Draw, SourceCard, ValueSource};
use uuid::Builder;
use uuid::fmt::Hyphenated;

pub(super) const CARD: SourceCard = SourceCard {
    form: "uuid",
    help: "32 random hexadecimal digits; as {{uuid v4}}, a UUID of version 4, with hyphens",
    parse: |hole, _| {
        let source: Box<dyn ValueSource> = match hole {
            "uuid" => Box::new(Digits),
            "uuid v4" => Box::new(Version4),
            _ => return None,
        };
        Some(Ok(source))
    },
};

#[derive(Debug)]
struct Digits;

impl ValueSource for Digits {
    fn write(&self, draw: &mut Draw<'_>, out: &mut Vec<u8>) -> bool {
        let number = random(draw);
        let mut digits = [0; 32];
        if const_hex::encode_to_slice(number.to_be_bytes(), &mut digits).is_ok() {
            out.extend_from_slice(&digits);
        }
        true
    }
}

/// RFC 9562.
#[derive(Debug)]
struct Version4;

impl ValueSource for Version4 {
    fn write(&self, draw: &mut Draw<'_>, out: &mut Vec<u8>) -> bool {
        let uuid = Builder::from_random_bytes(random(draw).to_be_bytes()).into_uuid();
        let mut text = [0; Hyphenated::LENGTH];
        out.extend_from_slice(uuid.hyphenated().encode_lower(&mut text).as_bytes());
        true
    }
}

fn random(draw: &mut Draw<'_>) -> u128 {
    u128::from(draw.stream.draw()) << 64 | u128::from(draw.stream.draw())
}
