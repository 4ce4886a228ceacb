//! `{{NAME}}`: a value of one of the plan's lists.

use super::{Draw, SourceCard, ValueSource};
use crate::values::Order;
use serde_json::Value;

pub(super) const CARD: SourceCard = SourceCard {
    form: "NAME",
    help: "A value of the list [data.NAME]",
    parse: |hole, data| {
        let list = data.get(hole)?;
        let values = list.one_of.iter().map(|value| match value {
            Value::String(text) => (text.clone().into_bytes(), true),
            other => (other.to_string().into_bytes(), false),
        });
        let values: Vec<_> = values.collect();
        if values.is_empty() {
            return Some(Err("the list is empty".to_owned()));
        }
        Some(Ok(Box::new(List(values, list.order))))
    },
};

/// The values, each with whether it is text, and their order.
#[derive(Debug)]
struct List(Vec<(Vec<u8>, bool)>, Order);

impl ValueSource for List {
    fn write(&self, draw: &mut Draw<'_>, out: &mut Vec<u8>) -> bool {
        let place = self.1.place(self.0.len(), draw.number, || draw.stream.draw());
        let (value, is_text) = &self.0[place];
        out.extend_from_slice(value);
        *is_text
    }
}
