//! Tables of a plan file: `[operation.NAME]` and `[data.NAME]`, as words of the command line.

use crate::mistake::BadValue;
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// The flag that defines what a table of this name defines.
pub(super) fn flag(name: &str) -> Option<&'static str> {
    match name {
        "operation" => Some("op"),
        "data" => Some("data"),
        _ => None,
    }
}

/// What one entry of a table defines.
pub(super) struct Definition {
    pub(super) name: String,
    /// Its place in the file, in bytes.
    pub(super) at: Range<usize>,
    /// The word of the command line for it.
    pub(super) word: OsString,
}

/// The definitions in a table, in order.
///
/// # Errors
/// Fails if a value is invalid.
pub(super) fn definitions(table: &DeTable<'_>, flag: &str) -> Result<Vec<Definition>, BadValue> {
    let mut members: Vec<_> = table.iter().collect();
    members.sort_by_key(|(name, _)| name.span().start);
    let define = |(name, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
        let text: &std::borrow::Cow<'_, str> = name.get_ref();
        let value = json(value.get_ref())
            .map_err(|wrong| BadValue::new(format!("{text}: {}", wrong.problem), wrong.cure))?;
        if !value.is_object() {
            let problem = format!("{text} is not a table");
            return Err(BadValue::new(problem, "write it as in docs/operations.md"));
        }
        let word = format!("--{flag}={text}={value}").into();
        Ok(Definition { name: text.clone().into_owned(), at: name.span(), word })
    };
    members.into_iter().map(define).collect()
}

fn json(value: &DeValue<'_>) -> Result<Value, BadValue> {
    Ok(match value {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Boolean(flag) => (*flag).into(),
        DeValue::Integer(number) => {
            let read = i64::from_str_radix(number.as_str(), number.radix());
            read.map_err(|_| BadValue::new("too large a number", "give a smaller one"))?.into()
        }
        DeValue::Float(number) => {
            let read = number.as_str().parse::<f64>();
            read.map_err(|_| BadValue::new("not a number", "write it like 0.5"))?.into()
        }
        DeValue::Datetime(time) => time.to_string().into(),
        DeValue::Array(values) => {
            let values = values.iter().map(|value| json(value.get_ref()));
            Value::Array(values.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => {
            let mut members: Vec<_> = table.iter().collect();
            members.sort_by_key(|(name, _)| name.span().start);
            let member = |(name, value): &(
                &toml::Spanned<std::borrow::Cow<'_, str>>,
                &toml::Spanned<DeValue<'_>>,
            )| {
                Ok((name.get_ref().clone().into_owned(), json(value.get_ref())?))
            };
            Value::Object(members.iter().map(member).collect::<Result<Map<_, _>, BadValue>>()?)
        }
    })
}
