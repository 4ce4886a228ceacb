//! `{{NAME}}`: a value of one of the plan's lists.

use super::{Draw, SourceCard, ValueSource};
use crate::values::column::ValueColumn;
use crate::values::{DataPlan, Order};
use serde_json::Value;
use std::sync::Arc;

pub(super) const CARD: SourceCard = SourceCard {
    form: "NAME",
    help: "A value of the list [data.NAME]",
    parse: |hole, data| Some(made(data.get(hole)?)),
};

fn made(list: &DataPlan) -> Result<Box<dyn ValueSource>, String> {
    if let Some(problem) = list.problem() {
        return Err(format!("the list is of no use: {problem}"));
    }
    if let (Some(path), Some(name)) = (&list.csv, &list.column) {
        return Ok(Box::new(List(
            ListedValues::Column(ValueColumn::open(path, name)?),
            list.order,
        )));
    }
    let values = list.one_of.iter().map(|value| match value {
        Value::String(text) => (text.clone().into_bytes(), true),
        other => (other.to_string().into_bytes(), false),
    });
    Ok(Box::new(List(ListedValues::Few(values.collect()), list.order)))
}

#[derive(Debug)]
struct List(ListedValues, Order);

#[derive(Debug)]
enum ListedValues {
    /// The values in memory, each with whether it is text.
    Few(Vec<(Vec<u8>, bool)>),
    /// The values of a file, which are text.
    Column(Arc<ValueColumn>),
}

impl ListedValues {
    fn len(&self) -> u64 {
        match self {
            Self::Few(values) => values.len() as u64,
            Self::Column(column) => column.rows(),
        }
    }
}

impl ValueSource for List {
    fn rows(&self) -> Option<u64> {
        (self.1 == Order::Once).then(|| self.0.len())
    }

    fn write(&self, draw: &mut Draw<'_>, out: &mut Vec<u8>) -> bool {
        let place = self.1.place(self.0.len(), draw.turn, || draw.stream.draw());
        match &self.0 {
            ListedValues::Few(values) => {
                let (value, is_text) = &values[place as usize];
                out.extend_from_slice(value);
                *is_text
            }
            ListedValues::Column(column) => {
                column.write(place, out);
                true
            }
        }
    }
}
