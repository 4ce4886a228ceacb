//! Values that are known by name, each with what it is: help and completions list them.

use crate::report::{self, ChartKind, Format, Study, StudyFormat};
use crate::schema::Ids;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::Error;
use clap::{Arg, Command};
use std::ffi::OsStr;

fn named((name, help): (&'static str, &'static str)) -> PossibleValue {
    PossibleValue::new(name).help(help)
}

/// Formats by name.
pub(in crate::cli) fn formats() -> impl TypedValueParser<Value = Format> {
    let values = report::FORMATS.iter().map(|it| named((it.name, it.summary)));
    let parser: PossibleValuesParser = values.collect::<Vec<_>>().into();
    parser.map(|name| report::format(&name).expect("one of the names"))
}

/// The formats of a study by name.
pub(in crate::cli) fn study_formats<S>() -> impl TypedValueParser<Value = &'static StudyFormat<S>>
where
    S: Study,
    StudyFormat<S>: Send + Sync,
{
    let values = S::FORMATS.iter().map(|it| named((it.name, it.summary)));
    let parser: PossibleValuesParser = values.collect::<Vec<_>>().into();
    parser.map(|name| S::format(&name).expect("one of the names"))
}

/// Charts by name.
pub(in crate::cli) fn charts() -> impl TypedValueParser<Value = ChartKind> {
    let values = ChartKind::ALL.map(|kind| PossibleValue::new(kind.name()));
    let found = |name: String| ChartKind::ALL.into_iter().find(|kind| kind.name() == name);
    PossibleValuesParser::from(values).map(move |name| found(name).expect("one of the names"))
}

/// The names of ids, and what they are; there are other ids, too.
const IDS: [(&str, &str); 4] = [
    ("sequential", "0, 1, 2 and so on"),
    ("random", "16 hexadecimal digits"),
    ("uuid", "32 hexadecimal digits, as CouchDB itself makes them"),
    ("prefix:TEXT", "TEXT0, TEXT1 and so on"),
];

/// Ids of documents.
#[derive(Clone)]
pub(in crate::cli) struct IdsParser;

impl TypedValueParser for IdsParser {
    type Value = Ids;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Ids, Error> {
        let parse = |text: &str| text.parse::<Ids>();
        parse.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(IDS.into_iter().map(named)))
    }
}
