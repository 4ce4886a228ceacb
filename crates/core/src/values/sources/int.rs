//! `{{int LOW HIGH}}`: whole numbers.

use super::{Draw, SourceCard, ValueSource};
use crate::generate::below;

pub(super) const CARD: SourceCard = SourceCard {
    form: "int LOW HIGH",
    help: "A whole number between these two, both included, all equally likely",
    parse: |hole, _| {
        let rest = hole.strip_prefix("int")?;
        (rest.is_empty() || rest.starts_with(' ')).then(|| range(rest))
    },
};

#[derive(Debug)]
struct Range(i64, i64);

fn range(text: &str) -> Result<Box<dyn ValueSource>, String> {
    let numbers: Vec<Option<i64>> = text.split_whitespace().map(|it| it.parse().ok()).collect();
    match numbers[..] {
        [Some(low), Some(high)] if low <= high => Ok(Box::new(Range(low, high))),
        [Some(_), Some(_)] => Err("the first number is the lower one".to_owned()),
        _ => Err("write it like {{int 0 1000}}".to_owned()),
    }
}

impl ValueSource for Range {
    fn write(&self, draw: &mut Draw<'_>, out: &mut Vec<u8>) -> bool {
        let choices = self.1.abs_diff(self.0).saturating_add(1);
        let number = self.0.saturating_add_unsigned(below(draw.stream.draw(), choices));
        out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
        false
    }
}
