//! Values that are known by name, with descriptions for help and completions.

use crate::report::{self, ChartKind, Format, Study, StudyFormat};
use crate::schema::Ids;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::Error;
use clap::{Arg, Command};
use std::ffi::OsStr;

fn named(name: &'static str, help: &'static str) -> PossibleValue {
    PossibleValue::new(name).help(help)
}

/// Values by name, each with its name and help.
fn one_of<T: Clone + Send + Sync + 'static>(
    all: impl Iterator<Item = (&'static str, &'static str, T)>,
) -> impl TypedValueParser<Value = T> {
    let all: Vec<_> = all.collect();
    let values: Vec<_> = all.iter().map(|it| named(it.0, it.1)).collect();
    let found = move |name: String| all.iter().find(|it| it.0 == name).map(|it| it.2.clone());
    PossibleValuesParser::from(values).map(move |name| found(name).expect("one of the names"))
}

/// A choice among these, each with its name and help.
pub(in crate::cli) fn choice<T: Copy + Send + Sync + 'static>(
    all: &'static [(&'static str, &'static str, T)],
) -> impl TypedValueParser<Value = T> {
    one_of(all.iter().copied())
}

pub(in crate::cli) fn formats() -> impl TypedValueParser<Value = Format> {
    one_of(report::FORMATS.iter().map(|it| (it.name, it.summary, *it)))
}

/// The formats of a study by name.
pub(in crate::cli) fn study_formats<S: Study>()
-> impl TypedValueParser<Value = &'static StudyFormat<S>> {
    one_of(S::FORMATS.iter().map(|it| (it.name, it.summary, it)))
}

pub(in crate::cli) fn charts() -> impl TypedValueParser<Value = ChartKind> {
    let values = ChartKind::ALL.map(|kind| PossibleValue::new(kind.name()));
    let found = |name: String| ChartKind::ALL.into_iter().find(|kind| kind.name() == name);
    PossibleValuesParser::from(values).map(move |name| found(name).expect("one of the names"))
}

/// The names of ids, with descriptions; there are other ids as well.
const IDS: [(&str, &str); 5] = [
    ("sequential", "0, 1, 2 and so on"),
    ("random", "16 hexadecimal digits"),
    ("uuid", "32 hexadecimal digits, like those that CouchDB generates"),
    ("prefix:TEXT", "TEXT0, TEXT1 and so on"),
    ("partitions:N", "p3:0, p1:1 and so on, in N partitions"),
];

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
        Some(Box::new(IDS.into_iter().map(|(name, help)| named(name, help))))
    }
}
