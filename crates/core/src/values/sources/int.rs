//! `{{int LOW HIGH}}`: whole numbers. With zeros in front of one of the two, as in
//! `{{int 0001 9999}}`, all have as many digits.

use super::{Draw, SourceCard, ValueSource};
use crate::generate::below;

pub(super) const CARD: SourceCard = SourceCard {
    form: "int LOW HIGH",
    help: "A whole number between these two, both included, all equally likely; as \
           {{int 0001 9999}}, each has four digits",
    parse: |hole, _| {
        let rest = hole.strip_prefix("int")?;
        (rest.is_empty() || rest.starts_with(' ')).then(|| range(rest))
    },
};

#[derive(Debug)]
struct IntRange {
    low: i64,
    high: i64,
    /// How long a number is at least, filled with zeros.
    width: usize,
}

fn range(text: &str) -> Result<Box<dyn ValueSource>, String> {
    let is_padded = |it: &str| it.len() > 1 && it.starts_with('0');
    let padded = text.split_whitespace().any(is_padded);
    let longest = text.split_whitespace().map(str::len).max().unwrap_or_default();
    let width = if padded { longest } else { 0 };
    let numbers: Vec<Option<i64>> = text.split_whitespace().map(|it| it.parse().ok()).collect();
    match numbers[..] {
        [Some(low), Some(high)] if low <= high => Ok(Box::new(IntRange { low, high, width })),
        [Some(_), Some(_)] => Err("the first number is the lower one".to_owned()),
        _ => Err("write it like {{int 0 1000}}".to_owned()),
    }
}

impl ValueSource for IntRange {
    fn write(&self, draw: &mut Draw<'_>, out: &mut Vec<u8>) -> bool {
        let choices = self.high.abs_diff(self.low).saturating_add(1);
        let number = self.low.saturating_add_unsigned(below(draw.stream.draw(), choices));
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(number).as_bytes();
        out.resize(out.len() + self.width.saturating_sub(digits.len()), b'0');
        out.extend_from_slice(digits);
        // JSON has no numbers that begin with a zero.
        self.width > 0
    }
}
