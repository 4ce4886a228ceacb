//! Redis's own word for the operations of a plan: any command.

use super::Keys;
use super::answer::Value;
use super::commands::{Commands, write_begin};
use super::log_in::ask;
use super::trouble::{NodeRedirect, checked};
use crate::call::CallError;
use crate::mistake::Invalid;
use crate::values::{Holes, Pieces, Values};
use crate::words::{OperationPlan, Word, Wrong, flag_of, malformed, refused, word_of};
use crate::{TargetError, words};

const EXAMPLE: &str = "ZRANGE {{prefix}}board 0 9";

/// The word as the driver's card lists it.
pub(crate) const CARDS: &[Word] = &[Word {
    name: "command",
    help: "Any command and its arguments, separated by spaces, or a list of them; {{prefix}} is \
           what all keys of the run begin with, and identifiers have it already",
    example: EXAMPLE,
}];

/// The placeholder for the prefix of all keys.
const PREFIX: &str = "{{prefix}}";
/// The placeholders whose values are keys.
const KEYS: [&str; 4] = ["{{key", "{{new", "{{made ", "{{taken "];

/// A command, cut into pieces.
#[derive(Clone, Debug)]
pub(super) struct SpelledCommand {
    /// The number of words and the name, as they are sent.
    begin: Vec<u8>,
    arguments: Vec<Pieces>,
    /// The index of the argument that is the key, which determines the node in a cluster; a node
    /// that does not have the key redirects.
    key: usize,
    pub(super) holes: Holes,
}

impl SpelledCommand {
    /// Adds the command with these values to others.
    pub(super) fn write(&self, values: &Values, commands: &mut Commands) {
        let [mut argument, mut scratch] = std::mem::take(&mut commands.scratch);
        let mut command = commands.begun(&self.begin);
        for (place, pieces) in self.arguments.iter().enumerate() {
            argument.clear();
            pieces.join(values, &mut scratch, &mut argument);
            if place == self.key {
                command.key("", &argument);
            } else {
                command.word(&argument);
            }
        }
        commands.scratch = [argument, scratch];
    }
}

/// Spells the command of an operation, where all keys begin with `prefix`.
///
/// # Errors
/// Fails if the operation is invalid.
pub(super) fn spell(operation: &OperationPlan, prefix: &str) -> Result<SpelledCommand, Invalid> {
    let word = word_of(operation, CARDS, "Redis")?;
    command(operation, prefix).map_err(|(problem, cure)| {
        let flag = flag_of(operation.name.name());
        Invalid::new(flag, format!("{}: {problem}", word.name), cure)
    })
}

fn command(operation: &OperationPlan, prefix: &str) -> Result<SpelledCommand, Wrong> {
    operation.only_rows()?;
    let words = match &operation.spelling {
        serde_json::Value::Array(words) => words.iter().map(word).collect(),
        _ => split(operation.text(EXAMPLE)?)?,
    };
    let wrong = |problem: String| (problem, format!("write it like {EXAMPLE}"));
    let (name, words) = words.split_first().ok_or_else(|| wrong("it is empty".to_owned()))?;
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "._".contains(c)) {
        return Err(wrong(format!("{name:?} is not the name of a command")));
    }
    let mut holes = Holes::default();
    let argument = |word: &String| {
        let word = KEYS
            .iter()
            .fold(word.clone(), |word, key| word.replace(key, &format!("{PREFIX}{key}")));
        let mut pieces = Pieces::default();
        for (place, part) in word.split(PREFIX).enumerate() {
            pieces.literal(if place > 0 { prefix } else { "" });
            pieces.raw(part, &mut holes).map_err(|error| malformed(&error))?;
        }
        Ok(pieces)
    };
    let arguments = words.iter().map(argument).collect::<Result<Vec<_>, Wrong>>()?;
    let is_key = |word: &String| KEYS.iter().chain([&PREFIX]).any(|it| word.contains(it));
    let key = words.iter().position(is_key).unwrap_or(0);
    let mut begin = Vec::new();
    write_begin(&name.to_ascii_uppercase(), 1 + arguments.len(), &mut begin);
    Ok(SpelledCommand { begin, arguments, key, holes })
}

fn word(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Splits a command at its spaces, except those in quotes and holes.
fn split(text: &str) -> Result<Vec<String>, Wrong> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let hole = rest.starts_with("{{").then(|| rest.find("}}")).flatten();
        let length = hole.map_or(c.len_utf8(), |end| end + 2);
        match quote {
            Some(end) if c == end => quote = None,
            None if matches!(c, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push_str(&rest[..length]),
        }
        rest = &rest[length..];
    }
    if let Some(quote) = quote {
        return Err((format!("{quote} is not closed"), format!("add another {quote}")));
    }
    words.extend(word);
    Ok(words)
}

/// How many rows an answer has: the elements of a list, one for any other value, none for null.
pub(super) const fn rows(answer: Value<'_>) -> u64 {
    match answer {
        Value::Null => 0,
        Value::List(values) if values.pairs => values.count / 2,
        Value::List(values) => values.count,
        _ => 1,
    }
}

impl Keys {
    /// Has the server check each command of the plan without carrying it out: it queues them in a
    /// transaction that is discarded.
    pub(super) async fn try_out(&self) -> Result<(), TargetError> {
        for (kind, command) in self.own.iter() {
            let values = Values::samples(command.holes.0.len());
            match self.within(self.queue(command, &values)).await {
                Ok(Some(words)) => return Err(refused(kind, &words)),
                Ok(None) => {}
                Err(trouble) => return Err(refused(kind, &trouble.reason)),
            }
        }
        Ok(())
    }

    /// Queues a command, and returns the server's reason if it refuses.
    async fn queue(
        &self,
        command: &SpelledCommand,
        values: &Values,
    ) -> Result<Option<String>, CallError> {
        let pipe = self.connect().await?;
        let mut commands = Commands::default();
        commands.add(&["MULTI"]);
        if checked(ask(&pipe, &commands).await?.get(0)?).is_err() {
            // The server has no transactions; the load will show whether it accepts the command.
            return Ok(None);
        }
        commands.clear();
        command.write(values, &mut commands);
        let answers = ask(&pipe, &commands).await?;
        let answer = answers.get(0)?;
        // A node that redirects the key to another node knows the command.
        let refusal = checked(answer).err().filter(|_| NodeRedirect::of(answer).is_none());
        Ok(refusal.map(|trouble| trouble.reason))
    }
}

pub(super) type Own = words::Own<SpelledCommand>;

#[cfg(test)]
mod tests {
    use super::*;

    /// The command as it is sent, with 1 for each value.
    fn sent(text: &str) -> Result<String, String> {
        let plan = OperationPlan::parse(&format!("redis-spelled={text}")).unwrap();
        let command = spell(&plan, "run:").map_err(|mistake| mistake.to_string())?;
        let mut commands = Commands::default();
        command.write(&Values::samples(command.holes.0.len()), &mut commands);
        let text = String::from_utf8(commands.bytes().to_vec()).unwrap();
        let words = text.split("\r\n").filter(|it| !it.is_empty() && !it.starts_with(['*', '$']));
        Ok(format!("{} [{}]", words.collect::<Vec<_>>().join("|"), command.holes.0.join(",")))
    }

    #[test]
    fn commands_are_split_and_keys_have_their_prefix() {
        for (text, wanted) in [
            ("command hget {{key}} name", "HGET|run:1|name [key]"),
            ("command ZRANGE {{prefix}}board 0 9", "ZRANGE|run:board|0|9 []"),
            (r#"command SET a "b  c" 'd"e' {{int 0 5}}"#, r#"SET|a|b  c|d"e|1 [int 0 5]"#),
            (r#"{"command":["LPUSH","{{prefix}}list",5,"a b"]}"#, "LPUSH|run:list|5|a b []"),
            ("command MGET {{made up}} x{{key#2}}y", "MGET|run:1|xrun:1y [made up,key#2]"),
            ("command JSON.GET {{taken up}}", "JSON.GET|run:1 [taken up]"),
        ] {
            assert_eq!(sent(text).as_deref(), Ok(wanted), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_split_or_refused(text in ".{0,60}") {
            let _ = split(&text);
        }

        #[test]
        fn words_come_back_as_they_were_quoted(
            words in proptest::collection::vec("[^\"\\\\{}]{0,12}", 1..6),
        ) {
            let quoted: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
            proptest::prop_assert_eq!(split(&quoted.join(" ")).unwrap(), words);
        }
    }

    #[test]
    fn what_is_no_command_is_refused_in_words() {
        for (text, says) in [
            ("command", "command: it is empty; write it like ZRANGE"),
            ("command \"GET a", "\" is not closed"),
            ("command {{key}} a", "is not the name of a command"),
            ("command GET {{key", "has no end"),
            ("comand GET a", "\"comand\" is not a word of Redis; give one of command"),
            (r#"{"command":"GET a","params":{"x":1}}"#, "there is no parameter \"x\""),
            (r#"{"command":"GET a","expect":{"status":200}}"#, "there is no status"),
        ] {
            let message = sent(text).unwrap_err();
            assert!(message.contains(says), "{text}: {message}");
        }
    }

    #[test]
    fn rows_are_elements_or_one_value() {
        for (answer, count) in [
            (":0\r\n", 1),
            ("$-1\r\n", 0),
            ("_\r\n", 0),
            ("*2\r\n:0\r\n_\r\n", 2),
            ("~1\r\n+a\r\n", 1),
            ("%1\r\n+a\r\n_\r\n", 1),
        ] {
            assert_eq!(rows(Value::of(answer.as_bytes())), count, "{answer}");
        }
    }
}
