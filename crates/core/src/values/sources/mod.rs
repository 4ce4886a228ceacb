//! The sources of values: one file for each, and one line in the list.

mod bytes;
mod doc;
mod int;
mod key;
mod list;
mod made;
mod new;
mod now;
mod offset;
mod partition;
mod saved;
mod seq;
mod uuid;
mod value_source;

pub use doc::json_at;
pub use value_source::{After, Draw, MOST_DOCUMENTS, Problem, SourceCard, ValueSource};

use super::Data;
use crate::generate::Stream;
use crate::schema::Documents;
use std::collections::BTreeMap;

/// Every source. Lists of the plan come last: no list can have the name of another source.
const CARDS: &[SourceCard] = &[
    key::CARD,
    partition::CARD,
    doc::CARD,
    new::CARD,
    made::CARD,
    saved::CARD,
    int::CARD,
    seq::CARD,
    uuid::CARD,
    now::CARD,
    bytes::CARD,
    list::CARD,
];

/// Every source, for documentation.
pub fn cards() -> &'static [SourceCard] {
    CARDS
}

/// The source for the text in a hole.
///
/// # Errors
/// Returns what is wrong with the text, with a list of all sources.
pub fn source(hole: &str, data: &Data) -> Result<Box<dyn ValueSource>, Problem> {
    if let Some((of, number)) = offset::split(hole) {
        let number = number.map_err(|cure| (format!("{{{{{hole}}}}} adds no number"), cure))?;
        return Ok(Box::new(offset::Offset(source(of, data)?, number)));
    }
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

/// Whether this text denotes a value, correctly or not.
pub fn is_value(hole: &str, data: &Data) -> bool {
    let hole = offset::split(hole).map_or(hole, |(of, _)| of);
    CARDS.iter().any(|card| (card.parse)(hole, data).is_some())
}

/// What is wrong with a source if documents look like these.
pub fn problem(value: &dyn ValueSource, documents: &Documents) -> Option<Problem> {
    value.problem(&mut Draw {
        documents,
        stored: &vec![(0, 0); value.documents()],
        stream: &mut Stream::new(0, 0),
        number: 0,
        turn: 0,
        earlier: 0,
        saved: &BTreeMap::new(),
        scratch: &mut Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Saved;
    use crate::schema::{DEFAULT, Template};
    use crate::values::DataPlan;

    fn documents() -> Documents {
        Documents::new(1, vec![(Template::parse(DEFAULT).unwrap(), 1)])
    }

    fn drawn(hole: &str, number: u64) -> (String, bool) {
        let (bytes, is_text) = drawn_bytes(hole, number);
        (String::from_utf8(bytes).unwrap(), is_text)
    }

    fn drawn_bytes(hole: &str, number: u64) -> (Vec<u8>, bool) {
        let documents = documents();
        let list = DataPlan::parse(r#"{"one-of": ["a", 7], "order": "sequential"}"#).unwrap();
        let data = Data::from([("list".to_owned(), list)]);
        let source = source(hole, &data).unwrap();
        let (mut stream, mut scratch, mut out) = (Stream::new(1, number), Vec::new(), Vec::new());
        let token = Saved { bytes: b"a b".to_vec(), is_text: true };
        let saved = BTreeMap::from([("token".to_owned(), token)]);
        let is_text = source.write(
            &mut Draw {
                documents: &documents,
                stored: &[(17, 0), (18, 3)],
                stream: &mut stream,
                number,
                turn: number,
                earlier: 7,
                saved: &saved,
                scratch: &mut scratch,
            },
            &mut out,
        );
        (out, is_text)
    }

    #[test]
    fn each_source_gives_what_it_says() {
        assert_eq!(drawn("key", 0), ("17".to_owned(), true));
        assert_eq!(drawn("key#2", 0), ("18".to_owned(), true));
        assert_eq!(drawn("seq", 5), ("5".to_owned(), false));
        assert_eq!(drawn("list", 4), ("a".to_owned(), true));
        assert_eq!(drawn("list", 5), ("7".to_owned(), false));
        assert_eq!(drawn("key#2 zipfian", 0), ("18".to_owned(), true));
        let (one, other) = (drawn("new", 0), drawn("new", 1));
        assert!(one.1 && one != other && one.0.len() > 15, "{one:?}");
        assert_eq!(
            (drawn("made upload", 0), drawn("taken upload", 0)),
            (drawn("new", 7), drawn("new", 7))
        );
        let (text, bytes) = (drawn("text 1k", 1).0, drawn_bytes("bytes 20", 1).0);
        assert!(text.len() == 1_000 && text.is_ascii() && bytes.len() == 20, "{text}");
        assert_eq!(drawn("saved token", 0), ("a b".to_owned(), true));
        assert_eq!(drawn("seq + 3", 5), ("8".to_owned(), false));
        assert_eq!(drawn("seq - 1h", 0), ("-3600000".to_owned(), false));
        assert_eq!(drawn("int 4 4 + 1 - 2", 0), ("3".to_owned(), false));
        assert_eq!(drawn("list + 1", 5), ("8".to_owned(), false));
        for number in 0..100 {
            let (text, is_text) = drawn("int -2 2", number);
            assert!((-2..=2).contains(&text.parse::<i64>().unwrap()) && !is_text);
        }
        assert_eq!(drawn("int 0 0", 0), ("0".to_owned(), false));
        assert_eq!(drawn("int 0007 7", 0), ("0007".to_owned(), true));
        assert_eq!(drawn("int 10 0012 + 3", 3).0.len(), 2, "a sum has the digits it needs");
        let padded: Vec<String> = (0..100).map(|number| drawn("int 000 120", number).0).collect();
        assert!(padded.iter().all(|it| it.len() == 3 && it.parse::<u8>().unwrap() <= 120));
        assert!(padded.iter().any(|it| it.starts_with('0')), "{padded:?}");
        let (one, other) = (drawn("uuid", 1), drawn("uuid", 2));
        assert!(one.1 && one.0.len() == 32 && one != other && one == drawn("uuid", 1));
        for number in 0..100 {
            let random = u128::from_str_radix(&drawn("uuid", number).0, 16).unwrap();
            let wanted = ::uuid::Builder::from_random_bytes(random.to_be_bytes()).into_uuid();
            assert_eq!(drawn("uuid v4", number), (wanted.hyphenated().to_string(), true));
        }
        assert!(drawn("now", 0).0.parse::<u64>().unwrap() > 1_600_000_000_000);
    }

    /// What is wrong with a hole if documents follow the default schema.
    fn problem_of(hole: &str) -> Option<String> {
        let source = source(hole, &Data::default()).unwrap();
        problem(&*source, &documents()).map(|(problem, _)| problem)
    }

    #[test]
    fn a_value_that_documents_do_not_have_or_that_is_no_number_is_found_beforehand() {
        for fine in ["doc.name", "doc.born", "doc.born + 5", "key", "now - 1h"] {
            assert_eq!(problem_of(fine), None, "{fine}");
        }
        for member in ["doc.nme", "doc.nme + 1"] {
            assert_eq!(problem_of(member).as_deref(), Some("documents have no member \"nme\""));
        }
        for text in ["doc.name + 1", "uuid - 2"] {
            assert!(problem_of(text).is_some_and(|it| it.contains("is not a number")), "{text}");
        }
    }

    #[test]
    fn a_list_that_is_used_once_has_an_end_and_others_have_none() {
        let rows = |json: &str| {
            let data = Data::from([("list".to_owned(), DataPlan::parse(json).unwrap())]);
            source("list + 1", &data).unwrap().rows()
        };
        assert_eq!(rows(r#"{"one-of": [1, 2, 3], "order": "once"}"#), Some(3));
        assert_eq!(rows(r#"{"one-of": [1, 2, 3], "order": "sequential"}"#), None);
        for (json, says) in [
            ("{}", "it is empty"),
            (r#"{"csv": "a.csv"}"#, "it has no column"),
            (r#"{"column": "a"}"#, "it has a column, but no CSV file"),
            (r#"{"csv": "a.csv", "column": "a", "one-of": [1]}"#, "it has one-of, and a CSV"),
            (r#"{"csv": "/no/such.csv", "column": "a"}"#, "cannot read /no/such.csv"),
        ] {
            let data = Data::from([("list".to_owned(), DataPlan::parse(json).unwrap())]);
            let (problem, _) = source("list", &data).unwrap_err();
            assert!(problem.contains(says), "{json}: {problem}");
        }
    }

    #[test]
    fn what_is_no_source_is_refused_with_those_there_are() {
        let refused = |hole: &str| {
            let data = Data::from([("city".to_owned(), DataPlan::parse("a,b").unwrap())]);
            let (problem, cure) = source(hole, &data).unwrap_err();
            format!("{problem}; {cure}")
        };
        let message = refused("kee");
        assert!(
            message.starts_with("no value is called {{kee}}; give one of {{key}}, "),
            "{message}"
        );
        assert!(message.ends_with("{{city}}"), "{message}");
        for (hole, says) in [
            ("int 5", "write it like {{int 0 1000}}"),
            ("int 5 4", "the first number is the lower one"),
            ("key#0", "the number of a document is 1 to"),
            ("doc.", "write it like {{doc.MEMBER}}"),
            ("key zipfain", "\"zipfain\" is not a distribution: uniform, zipfian, latest"),
            ("now - 1y", "adds no number; write it like {{int 0 100 + 5}}, or {{now - 1h}}"),
            ("text many", "write it like {{text 20k}}, up to 1G"),
            ("bytes 2G", "write it like {{bytes 20k}}, up to 1G"),
            ("made Upload", "\"Upload\" is not the name of an operation"),
            ("kee + 1", "no value is called {{kee}}"),
        ] {
            assert!(refused(hole).contains(says), "{hole}: {}", refused(hole));
        }
    }
}
