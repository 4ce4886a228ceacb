//! Values restricted by a schema: whole numbers in a range, or texts from a list.

use super::words::STRING_WINDOW;
use crate::generate::below;

/// The longest text in a list, in bytes: a step has a fixed amount of room.
pub(super) const MOST_BYTES: usize = 100;

/// The values that may be drawn.
#[derive(Clone, Debug)]
pub(super) enum Bounded {
    /// A whole number between these two, inclusive.
    Range(i64, i64),
    /// One of these texts, each quoted as in JSON.
    OneOf(Vec<Box<[u8]>>),
}

/// A text as JSON: `Display` for a `Value` that holds a string quotes it.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl Bounded {
    /// One of these texts; there must be at least one.
    pub(super) fn one_of(texts: &[String]) -> Self {
        Self::OneOf(texts.iter().map(|text| quoted(text).into_bytes().into()).collect())
    }

    /// The longest text, in bytes.
    pub(super) fn max_len(&self) -> usize {
        match self {
            // -9223372036854775808
            Self::Range(..) => 20,
            Self::OneOf(texts) => texts.iter().map(|text| text.len()).max().unwrap_or_default(),
        }
    }

    /// Writes one of the values, all of them equally likely, according to `draw`, in the room that
    /// a string takes. Returns its length.
    #[cold]
    pub(super) fn write(&self, draw: u64, out: &mut [u8; STRING_WINDOW]) -> usize {
        let mut buffer = itoa::Buffer::new();
        let text = match self {
            Self::Range(least, most) => {
                let span = most.wrapping_sub(*least).cast_unsigned();
                // For the full 64-bit range, the draw is the value.
                let above = span.checked_add(1).map_or(draw, |count| below(draw, count));
                buffer.format(least.wrapping_add(above.cast_signed())).as_bytes()
            }
            Self::OneOf(texts) => &texts[below(draw, texts.len() as u64) as usize],
        };
        out[..text.len()].copy_from_slice(text);
        text.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Stream, statistics};

    fn drawn(bounded: &Bounded, draw: u64) -> String {
        let mut out = [0; STRING_WINDOW];
        let length = bounded.write(draw, &mut out);
        assert!(length <= bounded.max_len());
        String::from_utf8(out[..length].to_vec()).unwrap()
    }

    #[test]
    fn ranges_have_both_ends() {
        let ends = |least, most| {
            let range = Bounded::Range(least, most);
            [drawn(&range, 0), drawn(&range, u64::MAX)].map(|it| it.parse::<i64>().unwrap())
        };
        assert_eq!(ends(0, i64::MAX), [0, i64::MAX]);
        assert_eq!(ends(-3, 5), [-3, 5]);
        assert_eq!(ends(7, 7), [7, 7]);
        let all = Bounded::Range(i64::MIN, i64::MAX);
        assert_eq!(drawn(&all, 0), i64::MIN.to_string());
        assert_eq!(drawn(&all, u64::MAX), i64::MAX.to_string());
    }

    #[test]
    fn each_value_is_as_likely() {
        let mut stream = Stream::new(crate::generate::mix(1, 2, 3), 0);
        let range = Bounded::Range(-2, 4);
        let p = statistics::chi_square(&[1.0 / 7.0; 7], 70_000, || {
            (drawn(&range, stream.draw()).parse::<i64>().unwrap() + 2) as usize
        });
        assert!(p > 0.01, "p = {p}");
        let texts = ["a", "\"", "c"].map(str::to_owned);
        let list = Bounded::one_of(&texts);
        let p = statistics::chi_square(&[1.0 / 3.0; 3], 30_000, || {
            let text: String = serde_json::from_str(&drawn(&list, stream.draw())).unwrap();
            texts.iter().position(|it| *it == text).unwrap()
        });
        assert!(p > 0.01, "p = {p}");
    }
}
