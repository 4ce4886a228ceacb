//! The sources of values: a file for each, and a line in the list.

mod doc;
mod int;
mod key;
mod list;
mod now;
mod seq;
mod uuid;

pub use doc::has_member;

use super::Data;
use crate::generate::Stream;
use crate::op::Key;
use crate::schema::Documents;
use std::fmt::Debug;

/// What a value is drawn from, for one request.
#[derive(Debug)]
pub struct Draw<'a> {
    /// What documents look like.
    pub documents: &'a Documents,
    /// The stored documents that the request is about, by key and version: as many as its values
    /// ask for.
    pub stored: &'a [(Key, u32)],
    /// Random numbers.
    pub stream: &'a mut Stream,
    /// The number of the request among those of the run that the plan defines.
    pub number: u64,
    /// Room for anything.
    pub scratch: &'a mut Vec<u8>,
}

/// Where the value of a hole comes from.
pub trait ValueSource: Debug + Send + Sync {
    /// How many stored documents there have to be for it.
    fn documents(&self) -> usize {
        0
    }

    /// The member of stored documents that it takes, if it does.
    fn member(&self) -> Option<&str> {
        None
    }

    /// Appends a value, and returns whether it is text; otherwise it is JSON.
    fn write(&self, draw: &mut Draw<'_>, out: &mut Vec<u8>) -> bool;
}

/// A source, or what is wrong with how it is written.
type Made = Result<Box<dyn ValueSource>, String>;

/// What there is to know of a source.
#[derive(Clone, Copy, Debug)]
pub struct SourceCard {
    /// How it is written.
    pub form: &'static str,
    /// What it gives, in a line.
    pub help: &'static str,
    /// Makes one of what is written in a hole; `None`: that is another source.
    parse: fn(&str, &Data) -> Option<Made>,
}

/// Every source. Lists of the plan come last: no list can have the name of another source.
const CARDS: &[SourceCard] =
    &[key::CARD, doc::CARD, int::CARD, seq::CARD, uuid::CARD, now::CARD, list::CARD];

/// Every source, for documentation.
pub fn cards() -> &'static [SourceCard] {
    CARDS
}

/// The most stored documents of one request.
pub const MOST_DOCUMENTS: usize = 1_000;

/// The source of what is written in a hole.
///
/// # Errors
/// What is wrong with it, and the sources there are.
pub fn source(hole: &str, data: &Data) -> Result<Box<dyn ValueSource>, (String, String)> {
    let known = || {
        let forms = CARDS.iter().take(CARDS.len() - 1).map(|card| format!("{{{{{}}}}}", card.form));
        let lists = data.keys().map(|name| format!("{{{{{name}}}}}"));
        format!("give one of {}", forms.chain(lists).collect::<Vec<_>>().join(", "))
    };
    match CARDS.iter().find_map(|card| (card.parse)(hole, data)) {
        Some(Ok(source)) => Ok(source),
        Some(Err(problem)) => Err((format!("{{{{{hole}}}}}: {problem}"), known())),
        None => Err((format!("no value is called {{{{{hole}}}}}"), known())),
    }
}

/// Splits `key#2` into its name and the place of the document that it is about, 0 without one.
fn numbered(hole: &str) -> (&str, Result<usize, String>) {
    let Some((name, number)) = hole.split_once('#') else { return (hole, Ok(0)) };
    let place = number.parse::<usize>().ok().filter(|it| (1..=MOST_DOCUMENTS).contains(it));
    let place = place.map(|number| number - 1);
    (name, place.ok_or_else(|| format!("the number of a document is 1 to {MOST_DOCUMENTS}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{DEFAULT, Template};
    use crate::values::DataPlan;

    fn drawn(hole: &str, number: u64) -> (String, bool) {
        let documents = Documents::new(1, vec![(Template::parse(DEFAULT).unwrap(), 1)]);
        let list = DataPlan::parse(r#"{"one-of": ["a", 7], "order": "sequential"}"#).unwrap();
        let data = Data::from([("list".to_owned(), list)]);
        let source = source(hole, &data).unwrap();
        let (mut stream, mut scratch, mut out) = (Stream::new(1, number), Vec::new(), Vec::new());
        let is_text = source.write(
            &mut Draw {
                documents: &documents,
                stored: &[(17, 0), (18, 3)],
                stream: &mut stream,
                number,
                scratch: &mut scratch,
            },
            &mut out,
        );
        (String::from_utf8(out).unwrap(), is_text)
    }

    #[test]
    fn each_source_gives_what_it_says() {
        assert_eq!(drawn("key", 0), ("17".to_owned(), true));
        assert_eq!(drawn("key#2", 0), ("18".to_owned(), true));
        assert_eq!(drawn("seq", 5), ("5".to_owned(), false));
        assert_eq!(drawn("list", 4), ("a".to_owned(), true));
        assert_eq!(drawn("list", 5), ("7".to_owned(), false));
        for number in 0..100 {
            let (text, is_text) = drawn("int -2 2", number);
            assert!((-2..=2).contains(&text.parse::<i64>().unwrap()) && !is_text);
        }
        let (one, other) = (drawn("uuid", 1), drawn("uuid", 2));
        assert!(one.1 && one.0.len() == 32 && one != other && one == drawn("uuid", 1));
        assert!(drawn("now", 0).0.parse::<u64>().unwrap() > 1_600_000_000_000);
    }

    #[test]
    fn what_is_no_source_is_refused_with_those_there_are() {
        let refused = |hole: &str| {
            let data = Data::from([("city".to_owned(), DataPlan::parse("a,b").unwrap())]);
            let (problem, cure) = source(hole, &data).unwrap_err();
            format!("{problem}; {cure}")
        };
        let told = refused("kee");
        assert!(told.starts_with("no value is called {{kee}}; give one of {{key}}, "), "{told}");
        assert!(told.ends_with("{{city}}"), "{told}");
        for (hole, says) in [
            ("int 5", "write it like {{int 0 1000}}"),
            ("int 5 4", "the first number is the lower one"),
            ("key#0", "the number of a document is 1 to"),
            ("doc.", "write it like {{doc.MEMBER}}"),
        ] {
            assert!(refused(hole).contains(says), "{hole}: {}", refused(hole));
        }
    }
}
