//! Operations that plans define: the drivers' words with which they are spelled, and what is
//! expected of their answers.

mod expect;
mod own;
mod saved;

pub use expect::{Expect, Expectation, JudgedAnswer};
pub use own::Own;
pub use own::refused;
pub use saved::{SavedFrom, save, with_sample};

use crate::mistake::Invalid;
use crate::op::{NameError, OpKind};
use crate::values::MalformedHole;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A word of a driver: a kind of request that a plan can spell.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    /// The word.
    pub name: &'static str,
    /// What it requests, in one line.
    pub help: &'static str,
    /// What may follow it on a command line.
    pub example: &'static str,
}

impl AsRef<Self> for Word {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// Finds the word of an operation among those of a driver.
///
/// # Errors
/// Fails if the driver has no such word.
pub fn word_of<'w, W: AsRef<Word>>(
    operation: &OperationPlan,
    words: &'w [W],
    driver: &str,
) -> Result<&'w W, Invalid> {
    let found = words.iter().find(|word| word.as_ref().name == operation.word);
    found.ok_or_else(|| {
        let names: Vec<_> = words.iter().map(|word| word.as_ref().name).collect();
        let problem = format!("{:?} is not a word of {driver}", operation.word);
        let cure = format!("give one of {}", names.join(", "));
        Invalid::new(flag_of(operation.name.name()), problem, cure)
    })
}

/// The error for a hole without an end.
pub fn malformed(error: &MalformedHole) -> Wrong {
    (error.to_string(), "close it with }}".to_owned())
}

/// The drivers that have words, for messages.
pub(super) fn drivers_words() -> String {
    let with_words = crate::CARDS.iter().filter(|card| !card.words.is_empty());
    let each = with_words.map(|card| {
        let words: Vec<_> = card.words.iter().map(|word| word.name).collect();
        format!("{} ({})", card.summary, words.join(", "))
    });
    format!("leave it out, or give the address of {}", each.collect::<Vec<_>>().join(" or "))
}

/// The word of a sequence, which every driver with words has.
const STEPS: &str = "steps";
/// The most operations of a sequence.
pub const MOST_STEPS: usize = 100;

/// What is wrong with a spelling, and the cure.
pub type Wrong = (String, String);

/// An operation that a plan defines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OperationPlan {
    /// Its name.
    pub name: OpKind,
    /// The driver's keyword that defines it.
    pub word: String,
    /// The value of the keyword: text or JSON.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub spelling: Value,
    /// Additional parameters.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, Value>,
    /// What is expected of its responses.
    #[serde(default, skip_serializing_if = "Expect::is_empty")]
    pub expect: Expect,
    /// Values that are saved from its responses for later steps, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub save: BTreeMap<String, SavedFrom>,
}

/// The flag that a mistake in an operation is reported under.
pub fn flag_of(name: &str) -> String {
    format!("--op {name}")
}

const FORM: &str = "write it like --op 'recent=view app/by_date?limit=20'";

impl OperationPlan {
    /// Reads `NAME=WORD SPELLING`, or `NAME={...}` with the members of a plan file's table.
    ///
    /// # Errors
    /// Fails if the text is invalid.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let Some((name, rest)) = text.split_once('=') else {
            return Err(Invalid::new("--op", format!("{text:?} has no ="), FORM));
        };
        let (name, rest) = (name.trim(), rest.trim());
        let flag = flag_of(name);
        let kind = OpKind::of_name(name).map_err(|error| {
            let cure = match error {
                NameError::Spelling(_) => "give another name",
                NameError::TooMany(_) => "define fewer operations",
            };
            Invalid::new("--op", error.to_string(), cure)
        })?;
        if rest.starts_with('{') {
            let wrong = |error: serde_json::Error| Invalid::new(&flag, error.to_string(), FORM);
            return Self::of_table(kind, serde_json::from_str(rest).map_err(wrong)?);
        }
        let (word, spelling) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        if word.is_empty() {
            return Err(Invalid::new(flag, "it has no word", FORM));
        }
        let spelling = match spelling.trim() {
            "" => Value::Null,
            text => text.into(),
        };
        let (params, expect, save) = (Map::new(), Expect::default(), BTreeMap::new());
        Ok(Self { name: kind, word: word.to_owned(), spelling, params, expect, save })
    }

    /// Reads the table of a plan file: `params`, `expect`, `save`, and a word.
    fn of_table(name: OpKind, mut table: Map<String, Value>) -> Result<Self, Invalid> {
        let flag = flag_of(name.name());
        let params = match table.remove("params") {
            None => Map::new(),
            Some(Value::Object(params)) => params,
            Some(_) => {
                let cure = "write it like params = { limit = 20 }";
                return Err(Invalid::new(flag, "params is not a table", cure));
            }
        };
        let expect = table.remove("expect").map_or(Ok(Expect::default()), |expect| {
            serde_json::from_value(expect).map_err(|error| {
                let cure = "write it like expect = { rows = \"1..20\", status = 200 }";
                Invalid::new(&flag, format!("expect: {error}"), cure)
            })
        })?;
        let save = table.remove("save").map_or(Ok(BTreeMap::new()), |save| {
            serde_json::from_value(save).map_err(|error| {
                let cure = "write it like save = { id = \"id\", etag = \"header ETag\" }";
                Invalid::new(&flag, format!("save: {error}"), cure)
            })
        })?;
        let mut words = table.into_iter();
        match (words.next(), words.next()) {
            (Some((word, spelling)), None) => {
                Ok(Self { name, word, spelling, params, expect, save })
            }
            (None, _) => {
                let cure = "write it like view = \"app/by_date\"";
                Err(Invalid::new(flag, "it has no word", cure))
            }
            (Some((one, _)), Some((other, _))) => {
                let problem = format!(
                    "{one:?} and {other:?}: there is one word, and besides it params, expect and \
                     save"
                );
                Err(Invalid::new(flag, problem, "leave one of them out"))
            }
        }
    }

    /// Whether it is a sequence of others.
    pub fn is_sequence(&self) -> bool {
        self.word == STEPS
    }

    /// The operations of a sequence; `None` if it is not one.
    ///
    /// # Errors
    /// Fails if they are fewer than two or more than a hundred, or if there are parameters without
    /// meaning.
    pub fn steps(&self) -> Result<Option<Vec<OpKind>>, Invalid> {
        if !self.is_sequence() {
            return Ok(None);
        }
        let wrong = |problem: String| {
            let cure = "write it like steps = [\"login\", \"order\", \"pay\"]";
            Invalid::new(flag_of(self.name.name()), format!("{STEPS}: {problem}"), cure)
        };
        let names: Vec<&str> = match &self.spelling {
            Value::String(text) => text.split_whitespace().collect(),
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        if !(2..=MOST_STEPS).contains(&names.len()) {
            return Err(wrong(format!("a sequence has 2 to {MOST_STEPS} operations")));
        }
        if !self.params.is_empty() || !self.expect.is_empty() || !self.save.is_empty() {
            return Err(wrong("params, expect and save belong to its operations".to_owned()));
        }
        let kind = |name| OpKind::of_name(name).map_err(|error| wrong(error.to_string()));
        names.into_iter().map(kind).collect::<Result<_, _>>().map(Some)
    }

    /// Refuses parameters, and expectations other than the number of rows, for a driver that has
    /// none of these.
    ///
    /// # Errors
    /// Fails if there are any.
    pub fn only_rows(&self) -> Result<(), Wrong> {
        let other = self.expect.names().into_iter().find(|name| *name != "rows");
        if let Some(name) = other {
            let problem = format!("expect: there is no {name} in the answers of this database");
            return Err((problem, "leave it out, or expect rows".to_owned()));
        }
        match self.params.keys().next() {
            Some(name) => {
                let problem = format!("there is no parameter {name:?}");
                Err((problem, "leave params out".to_owned()))
            }
            None => Ok(()),
        }
    }

    /// The spelling as JSON, which may also be written as text.
    ///
    /// # Errors
    /// Fails if it is not JSON; the message shows `example`.
    pub fn json(&self, example: &str) -> Result<Value, Wrong> {
        match &self.spelling {
            Value::String(text) => serde_json::from_str(text).map_err(|error| {
                (format!("{text:?} is not JSON: {error}"), format!("write it like {example}"))
            }),
            other => Ok(other.clone()),
        }
    }

    /// The spelling as text.
    ///
    /// # Errors
    /// Fails if it is not text; the message shows `example`.
    pub fn text(&self, example: &str) -> Result<&str, Wrong> {
        match &self.spelling {
            Value::String(text) => Ok(text),
            Value::Null => Ok(""),
            _ => {
                let problem = "what follows the word is not a text".to_owned();
                Err((problem, format!("write it like {example}")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_and_a_table_spell_the_same() {
        let line = OperationPlan::parse("recent = view  app/by_date?limit=20 ").unwrap();
        let table = OperationPlan::parse(r#"recent={"view": "app/by_date?limit=20"}"#).unwrap();
        assert_eq!(line, table);
        assert_eq!((line.word.as_str(), line.spelling), ("view", json!("app/by_date?limit=20")));
        let more = r#"recent={"find": {"selector": {}}, "params": {"a": 1},
            "expect": {"rows": "1..20", "status": 200}}"#;
        let more = OperationPlan::parse(more).unwrap();
        assert_eq!(more.params["a"], 1);
        let again = serde_json::to_value(&more).unwrap();
        assert_eq!(again["expect"], json!({"rows": "1..20", "status": 200}));
        assert_eq!(serde_json::from_value::<OperationPlan>(again).unwrap(), more);
    }

    #[test]
    fn the_documentation_has_every_word_with_its_example() {
        let page = include_str!("../../../../docs/operations.md");
        for card in crate::CARDS {
            for Word { name, example, help } in card.words {
                let row = format!("| `{}` | `{name}` | `{example}` | {help} |\n", card.name);
                assert!(page.contains(&row), "docs/operations.md has no\n{row}");
            }
        }
        for card in crate::values::cards() {
            let row = format!("| `{{{{{}}}}}` | ", card.form);
            let row = page.lines().find_map(|line| line.strip_prefix(&row));
            let shown = row.map(|row| row.trim_end_matches(" |").replace('`', ""));
            assert_eq!(shown.as_deref(), Some(card.help), "{}", card.form);
        }
    }

    #[test]
    fn each_mistake_names_the_operation_and_the_cure() {
        for (text, says) in [
            ("recent", "--op: \"recent\" has no =; write it like"),
            ("Recent=view x", "--op: \"Recent\" is not the name of an operation"),
            ("recent=", "--op recent: it has no word; write it like"),
            ("recent={\"view\":\"a/b\"", "--op recent: EOF while parsing"),
            ("recent={\"params\":{}}", "--op recent: it has no word; write it like view = "),
            ("recent={\"view\":\"a/b\",\"find\":{}}", "\"view\" and \"find\": there is one word"),
            ("recent={\"view\":\"a/b\",\"params\":1}", "params is not a table"),
            ("recent={\"view\":\"a/b\",\"expect\":{\"rows\":\"x\"}}", "expect: \"x\" is not a num"),
            ("recent={\"view\":\"a/b\",\"expect\":{\"rowz\":1}}", "expect: unknown field `rowz`"),
        ] {
            let message = OperationPlan::parse(text).unwrap_err().to_string();
            assert!(message.contains(says), "{text}: {message}");
        }
    }
}
