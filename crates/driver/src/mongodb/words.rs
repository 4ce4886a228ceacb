//! `MongoDB`'s own words for the operations of a plan: each becomes a command of the database.

use super::documents::bson;
use super::{Mongo, trouble};
use crate::library::{CallError, Found, LibraryPen};
use crate::mistake::Invalid;
use crate::op::Failure;
use crate::values::{Holes, Pieces, Values};
use crate::words::{OperationPlan, Word, Wrong, flag_of, malformed, refused, word_of};
use crate::{TargetError, library::within};
use ::mongodb::Database;
use ::mongodb::bson::{Bson, Document, doc};
use serde_json::{Map, Value, json};

/// The words as the driver's card lists them.
pub(super) const CARDS: &[Word] = &[
    Word {
        name: "find",
        help: "Documents that this filter finds, with parameters such as sort, limit and \
               projection",
        example: "{\"city\":\"{{doc.address.city}}\"}",
    },
    Word {
        name: "aggregate",
        help: "Documents that these stages make of the collection",
        example: "[{\"$match\":{\"type\":\"account\"}},{\"$count\":\"all\"}]",
    },
    Word {
        name: "update",
        help: "Changes documents: q finds them, u is what becomes of them, and with multi of all",
        example: "{\"q\":{\"_id\":\"{{key}}\"},\"u\":{\"$inc\":{\"seen\":1}}}",
    },
    Word {
        name: "command",
        help: "Any command of the database; {{collection}} is the run's collection",
        example: "{\"count\":\"{{collection}}\",\"query\":{\"type\":\"account\"}}",
    },
];

/// The placeholder for the name of the collection.
const COLLECTION: &str = "{{collection}}";

/// A command, cut into pieces.
#[derive(Clone, Debug)]
pub(super) struct Command {
    pieces: Pieces,
    pub(super) holes: Holes,
}

pub(super) type Own = crate::words::Own<Command>;

/// Spells the command of an operation on a collection.
///
/// # Errors
/// Fails if the operation is invalid.
pub(super) fn spell(operation: &OperationPlan, collection: &str) -> Result<Command, Invalid> {
    let word = word_of(operation, CARDS, "MongoDB")?;
    command(operation, word, collection).map_err(|(problem, cure)| {
        let flag = flag_of(operation.name.name());
        Invalid::new(flag, format!("{}: {problem}", word.name), cure)
    })
}

fn command(operation: &OperationPlan, word: &Word, collection: &str) -> Result<Command, Wrong> {
    let wrong = |problem: &str| (problem.to_owned(), format!("write it like {}", word.example));
    let mut plain = operation.clone();
    plain.params = Map::new();
    plain.only_rows()?;
    let spelling = operation.json(word.example)?;
    let shape = |is_it: bool, problem: &str| if is_it { Ok(()) } else { Err(wrong(problem)) };
    let mut command = match word.name {
        "find" => {
            shape(spelling.is_object(), "the filter is not an object")?;
            json!({ "find": collection, "filter": spelling })
        }
        "aggregate" => {
            shape(spelling.is_array(), "the stages are not a list")?;
            json!({ "aggregate": collection, "pipeline": spelling, "cursor": {} })
        }
        "update" => {
            let both = spelling.get("q").is_some() && spelling.get("u").is_some();
            shape(both, "it has no q, or no u")?;
            json!({ "update": collection, "updates": [spelling] })
        }
        _ => {
            let is_command = spelling.as_object().is_some_and(|members| !members.is_empty());
            shape(is_command, "it is not an object with the name of a command first")?;
            with_collection(spelling, collection)
        }
    };
    if let Value::Object(members) = &mut command {
        members.extend(operation.params.clone());
    }
    let (mut pieces, mut holes) = (Pieces::default(), Holes::default());
    pieces.json(&command, false, &mut holes).map_err(|error| malformed(&error))?;
    Ok(Command { pieces, holes })
}

/// Replaces the placeholder by the name of the collection, wherever it occurs.
fn with_collection(value: Value, collection: &str) -> Value {
    let named = |value| with_collection(value, collection);
    match value {
        Value::String(text) => text.replace(COLLECTION, collection).into(),
        Value::Array(values) => values.into_iter().map(named).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(name, value)| (name, named(value))).collect()
        }
        other => other,
    }
}

impl Command {
    /// The command with these values.
    ///
    /// # Errors
    /// Fails if a value is not UTF-8.
    fn join(&self, values: &Values) -> Result<Document, CallError> {
        let (mut text, mut scratch) = (Vec::new(), Vec::new());
        self.pieces.join(values, &mut scratch, &mut text);
        match serde_json::from_slice(&text).map(bson) {
            Ok(Bson::Document(document)) => Ok(document),
            _ => Err(CallError::new(Failure::Rejected, "the command is not JSON")),
        }
    }

    /// The same for the operation in a pen.
    pub(super) fn of(&self, pen: &LibraryPen) -> Result<Document, CallError> {
        self.join(pen.values())
    }
}

/// Carries out a command, and fetches all results. Returns the number of rows: documents that were
/// found or changed.
pub(super) async fn carry_out(
    database: &Database,
    collection: &str,
    command: Document,
    found: &mut Found,
) -> Result<u64, CallError> {
    let run =
        async |command| database.run_command(command).await.map_err(|error| trouble::of(&error));
    let mut answer = run(command).await?;
    let Ok(cursor) = answer.get_document("cursor") else { return changed(&answer) };
    let batch = |cursor: &Document, name| cursor.get_array(name).map_or(0, Vec::len) as u64;
    let (mut rows, mut id) = (batch(cursor, "firstBatch"), cursor.get_i64("id").unwrap_or(0));
    while id != 0 {
        found.requests += 1;
        answer = run(doc! { "getMore": id, "collection": collection }).await?;
        let Ok(cursor) = answer.get_document("cursor") else {
            return Err(CallError::new(Failure::Protocol, "the answer has no cursor"));
        };
        rows += batch(cursor, "nextBatch");
        id = cursor.get_i64("id").unwrap_or(0);
    }
    Ok(rows)
}

/// How many documents a write found, according to its answer.
fn changed(answer: &Document) -> Result<u64, CallError> {
    let mut refused = answer.get_array("writeErrors").into_iter().flatten();
    if let Some(Bson::Document(refused)) = refused.next() {
        let (code, words) = (refused.get_i32("code"), refused.get_str("errmsg"));
        let failure = trouble::of_code(code.unwrap_or_default());
        return Err(CallError::new(failure, words.unwrap_or_default()));
    }
    Ok(match answer.get("n") {
        Some(Bson::Int32(number)) => u64::try_from(*number).unwrap_or(0),
        Some(Bson::Int64(number)) => u64::try_from(*number).unwrap_or(0),
        Some(Bson::Double(number)) => *number as u64,
        _ => 1,
    })
}

/// Has the server check each command without an effect: a command that reads is sent for an absent
/// collection, and one that would change something is only explained.
///
/// # Errors
/// Fails with the server's words about the first command that it refuses.
pub(super) async fn try_out(mongo: &Mongo) -> Result<(), TargetError> {
    for (kind, command) in mongo.own.iter() {
        let refused = |trouble: CallError| refused(kind, &trouble.reason);
        let mut command = command.join(&Values::samples(command.holes.0.len())).map_err(refused)?;
        let name = command.keys().next().cloned().unwrap_or_default();
        let finds = matches!(name.as_str(), "find" | "aggregate") && !stores(&command);
        let asked = if finds {
            command.insert(name, format!("{}{ABSENT}", mongo.collection));
            command
        } else {
            doc! { "explain": command, "verbosity": "queryPlanner" }
        };
        let database = mongo.client().map_err(refused)?.database(&mongo.database);
        let asked = within(mongo.timeout, database.run_command(asked).into_future(), trouble::of);
        match asked.await {
            // A command that cannot be explained may be fine: the load will show.
            Err(trouble) if finds || !is_about_explain(&trouble.reason) => {
                return Err(refused(trouble));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The suffix that turns the name of a collection into one that does not exist.
const ABSENT: &str = "_absent";

/// Whether a command stores its results in another collection.
fn stores(command: &Document) -> bool {
    let stages = command.get_array("pipeline").into_iter().flatten().filter_map(Bson::as_document);
    stages.flat_map(Document::keys).any(|stage| matches!(stage.as_str(), "$out" | "$merge"))
}

/// Whether a server refuses the explaining itself, rather than the command to be explained.
fn is_about_explain(words: &str) -> bool {
    let words = words.to_ascii_lowercase();
    words.contains("explain") || words.contains("not implemented") || words.contains("unsupported")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(text: &str) -> Result<String, String> {
        let plan = OperationPlan::parse(&format!("mongo-spelled={text}")).unwrap();
        let command = spell(&plan, "c").map_err(|mistake| mistake.to_string())?;
        let document = command.join(&Values::samples(command.holes.0.len())).unwrap();
        Ok(format!("{document} [{}]", command.holes.0.join(",")))
    }

    #[test]
    fn words_become_commands_of_the_collection() {
        for (text, wanted) in [
            (
                r#"{"find":{"a":"{{doc.a}}"},"params":{"limit":5}}"#,
                r#"{ "find": "c", "filter": { "a": 1 }, "limit": 5 } [doc.a]"#,
            ),
            (
                r#"aggregate [{"$match":{}}]"#,
                r#"{ "aggregate": "c", "pipeline": [{ "$match": {} }], "cursor": {} } []"#,
            ),
            (
                r#"update {"q":{"_id":"x{{key}}"},"u":{"$inc":{"n":1}}}"#,
                r#"{ "update": "c", "updates": [{ "q": { "_id": "x1" }, "u": { "$inc": { "n": 1 } } }] } [key]"#,
            ),
            (r#"command {"count":"{{collection}}"}"#, r#"{ "count": "c" } []"#),
        ] {
            assert_eq!(spelled(text).as_deref(), Ok(wanted), "{text}");
        }
        assert!(CARDS.iter().all(|it| spelled(&format!("{} {}", it.name, it.example)).is_ok()));
    }

    #[test]
    fn what_is_no_command_is_refused_in_words() {
        for (text, says) in [
            ("find [1]", "find: the filter is not an object; write it like {\"city\""),
            ("aggregate {}", "the stages are not a list"),
            ("update {\"q\":{}}", "it has no q, or no u"),
            ("command {}", "it is not an object with the name of a command first"),
            ("find {", "is not JSON"),
            ("count {}", "\"count\" is not a word of MongoDB; give one of find, aggregate"),
            (r#"{"find":{},"expect":{"status":200}}"#, "there is no status"),
        ] {
            let message = spelled(text).unwrap_err();
            assert!(message.contains(says), "{text}: {message}");
        }
    }

    #[test]
    fn only_what_stores_nothing_is_tried_out() {
        assert!(!stores(&doc! { "find": "c", "filter": {} }));
        assert!(!stores(&doc! { "aggregate": "c", "pipeline": [{ "$match": { "$out": 1 } }] }));
        for stage in ["$out", "$merge"] {
            assert!(stores(
                &doc! { "aggregate": "c", "pipeline": [{ "$limit": 1 }, { stage: "d" }] }
            ));
        }
    }

    #[test]
    fn what_a_write_found_is_in_its_answer() {
        assert_eq!(changed(&doc! { "n": 2, "nModified": 1, "ok": 1.0 }), Ok(2));
        assert_eq!(changed(&doc! { "ok": 1.0 }), Ok(1));
        let refused = doc! { "n": 0, "writeErrors": [{ "code": 11_000, "errmsg": "E11000" }] };
        assert_eq!(changed(&refused), Err(CallError::new(Failure::Conflict, "E11000")));
    }
}
