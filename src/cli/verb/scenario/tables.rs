//! Tables of a plan file: `[operation.NAME]` and `[data.NAME]`, as words of the command line.

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

/// The mistake, and the cure.
type Wrong = (String, String);

/// The definitions in a table: names, their places, and words of the command line.
///
/// # Errors
/// Fails if a value is invalid.
pub(super) fn definitions(
    table: &DeTable<'_>,
    flag: &str,
) -> Result<Vec<(String, Range<usize>, OsString)>, Wrong> {
    let mut members: Vec<_> = table.iter().collect();
    members.sort_by_key(|(name, _)| name.span().start);
    let define = |(name, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
        let text: &std::borrow::Cow<'_, str> = name.get_ref();
        let value = json(value.get_ref())
            .map_err(|(problem, cure)| (format!("{text}: {problem}"), cure))?;
        if !value.is_object() {
            let problem = format!("{text} is not a table");
            return Err((problem, "write it as in docs/operations.md".to_owned()));
        }
        Ok((text.clone().into_owned(), name.span(), format!("--{flag}={text}={value}").into()))
    };
    members.into_iter().map(define).collect()
}

fn json(value: &DeValue<'_>) -> Result<Value, Wrong> {
    Ok(match value {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Boolean(flag) => (*flag).into(),
        DeValue::Integer(number) => {
            let read = i64::from_str_radix(number.as_str(), number.radix());
            read.map_err(|_| ("too large a number".to_owned(), "give a smaller one".to_owned()))?
                .into()
        }
        DeValue::Float(number) => {
            let read = number.as_str().parse::<f64>();
            let wrong = |_| ("not a number".to_owned(), "write it like 0.5".to_owned());
            read.map_err(wrong)?.into()
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
            Value::Object(members.iter().map(member).collect::<Result<Map<_, _>, Wrong>>()?)
        }
    })
}
