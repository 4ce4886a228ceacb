//! `{{uuid}}`: random identifiers.

use super::{Draw, SourceCard, ValueSource};

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
        out.extend_from_slice(&digits(random(draw).to_be_bytes()));
        true
    }
}

/// RFC 9562, section 5.4.
#[derive(Debug)]
struct Version4;

impl ValueSource for Version4 {
    fn write(&self, draw: &mut Draw<'_>, out: &mut Vec<u8>) -> bool {
        let mut bytes = random(draw).to_be_bytes();
        // The version and the variant.
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        for (place, digit) in digits(bytes).into_iter().enumerate() {
            if matches!(place, 8 | 12 | 16 | 20) {
                out.push(b'-');
            }
            out.push(digit);
        }
        true
    }
}

fn digits(bytes: [u8; 16]) -> [u8; 32] {
    let mut digits = [0; 32];
    // There is room for them.
    let _ = const_hex::encode_to_slice(bytes, &mut digits);
    digits
}

fn random(draw: &mut Draw<'_>) -> u128 {
    u128::from(draw.stream.draw()) << 64 | u128::from(draw.stream.draw())
}
