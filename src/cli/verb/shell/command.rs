//! Parses the shell's commands, without knowing what they do.

use crate::op::OpKind;
use crate::plan::words;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ShellCommand {
    Read { key: String, fields: Vec<String> },
    Scan { key: String, count: u32, fields: Vec<String> },
    Insert { key: String, values: Vec<(String, String)> },
    Update { key: String, values: Vec<(String, String)> },
    Delete { key: String },
    Table { name: Option<String> },
    Do { operation: String, values: Vec<(String, String)> },
    Help,
    Quit,
}

/// What `help` prints: YCSB's text, and the quoting rules that YCSB lacks.
pub(super) const HELP: &str = "\
Commands:
  read key [field1 field2 ...] - Read a record
  scan key recordcount [field1 field2 ...] - Scan starting at key
  insert key name1=value1 [name2=value2 ...] - Insert a new record
  update key name1=value1 [name2=value2 ...] - Update a record
  delete key - Delete a record
  table [tablename] - Get or [set] the name of the table
  do operation [name=value ...] - Do an operation of --plan or --op
  quit - Quit
Quotes keep spaces together: insert user1 \"field0=two words\"
";

impl ShellCommand {
    /// Parses one line. `None`: the line is empty.
    ///
    /// # Errors
    /// Returns the message to print after `Error: `.
    pub(super) fn parse(line: &str) -> Result<Option<Self>, String> {
        let words = words(line)?;
        let Some((verb, rest)) = words.split_first() else { return Ok(None) };
        let syntax = |syntax: &str| format!("syntax is \"{syntax}\"");
        Ok(Some(match (verb.as_str(), rest) {
            ("read", [key, fields @ ..]) => {
                Self::Read { key: known_key(key)?, fields: fields.to_vec() }
            }
            ("read", []) => return Err(syntax("read keyname [field1 field2 ...]")),
            ("scan", [key, count, fields @ ..]) if count.parse::<u32>().is_ok_and(|n| n > 0) => {
                let count = count.parse().unwrap_or_default();
                Self::Scan { key: key.clone(), count, fields: fields.to_vec() }
            }
            ("scan", _) => return Err(syntax("scan keyname scanlength [field1 field2 ...]")),
            ("insert" | "update", rest) => {
                let wrong = || syntax(&format!("{verb} keyname name1=value1 [name2=value2 ...]"));
                let [key, pairs @ ..] = rest else { return Err(wrong()) };
                let values: Option<Vec<_>> =
                    pairs.iter().map(|pair| name_and_value(pair)).collect();
                let values = values.filter(|values| !values.is_empty()).ok_or_else(wrong)?;
                let key = known_key(key)?;
                if verb == "insert" {
                    Self::Insert { key, values }
                } else {
                    Self::Update { key, values }
                }
            }
            ("delete", [key]) => Self::Delete { key: known_key(key)? },
            ("delete", _) => return Err(syntax("delete keyname")),
            ("table", []) => Self::Table { name: None },
            ("table", [name]) => Self::Table { name: Some(name.clone()) },
            ("table", _) => return Err(syntax("table [tablename]")),
            ("do", [operation, pairs @ ..]) => {
                let values: Option<Vec<_>> =
                    pairs.iter().map(|pair| name_and_value(pair)).collect();
                let values =
                    values.ok_or_else(|| syntax("do operation [name1=value1 name2=value2 ...]"))?;
                Self::Do { operation: operation.clone(), values }
            }
            ("do", []) => return Err(syntax("do operation [name1=value1 name2=value2 ...]")),
            ("help", _) => Self::Help,
            ("quit", _) => Self::Quit,
            (verb, _) => return Err(format!("unknown command \"{verb}\"")),
        }))
    }
}

impl ShellCommand {
    /// The operation that carries it out; `None` for commands of the shell itself.
    pub(super) const fn kind(&self) -> Option<OpKind> {
        Some(match self {
            Self::Read { .. } => OpKind::Read,
            Self::Scan { .. } => OpKind::Scan,
            Self::Insert { .. } => OpKind::Create,
            Self::Update { .. } => OpKind::Update,
            Self::Delete { .. } => OpKind::Delete,
            Self::Table { .. } | Self::Do { .. } | Self::Help | Self::Quit => return None,
        })
    }

    /// The line that YCSB's `BasicDB` prints for this command.
    pub(super) fn shown(&self, table: &str) -> String {
        let all = |fields: &[String]| match fields {
            [] => "<all fields>".to_owned(),
            fields => fields.join(" ") + " ",
        };
        let pairs = |values: &[(String, String)]| -> String {
            let pairs: Vec<_> =
                values.iter().map(|(name, value)| format!("{name}={value}")).collect();
            pairs.join(" ") + " "
        };
        match self {
            Self::Read { key, fields } => format!("READ {table} {key} [ {}]", all(fields)),
            Self::Scan { key, count, fields } => {
                format!("SCAN {table} {key} {count} [ {}]", all(fields))
            }
            Self::Insert { key, values } => format!("INSERT {table} {key} [ {}]", pairs(values)),
            Self::Update { key, values } => format!("UPDATE {table} {key} [ {}]", pairs(values)),
            Self::Delete { key } => format!("DELETE {table} {key}"),
            Self::Table { .. } | Self::Do { .. } | Self::Help | Self::Quit => String::new(),
        }
    }
}

/// Refuses keys that begin with `_`: CouchDB reserves them.
fn known_key(key: &str) -> Result<String, String> {
    if key.is_empty() || key.starts_with('_') {
        return Err(format!("\"{key}\" cannot be a key: keys must not begin with _"));
    }
    Ok(key.to_owned())
}

/// `name=value`. The value may contain `=`; names that CouchDB reserves are refused.
fn name_and_value(pair: &str) -> Option<(String, String)> {
    let (name, value) = pair.split_once('=')?;
    let field = !name.is_empty() && !name.starts_with('_');
    field.then(|| (name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_hold_what_quotes_keep_together() {
        let line = r#"insert k a=b=c "field0=two words" f1='a "b"' f2=x\ y f3="""#;
        let Ok(Some(ShellCommand::Insert { key, values })) = ShellCommand::parse(line) else {
            panic!()
        };
        assert_eq!(key, "k");
        let values: Vec<_> = values.iter().map(|(name, value)| (&name[..], &value[..])).collect();
        let wanted =
            [("a", "b=c"), ("field0", "two words"), ("f1", "a \"b\""), ("f2", "x y"), ("f3", "")];
        assert_eq!(values, wanted);
    }

    #[test]
    fn mistakes_are_reported_in_the_words_of_ycsb() {
        for (line, error) in [
            ("foo", "unknown command \"foo\""),
            ("read", "syntax is \"read keyname [field1 field2 ...]\""),
            ("scan a b", "syntax is \"scan keyname scanlength [field1 field2 ...]\""),
            ("insert k", "syntax is \"insert keyname name1=value1 [name2=value2 ...]\""),
            ("update k a", "syntax is \"update keyname name1=value1 [name2=value2 ...]\""),
            ("insert k _id=7", "syntax is \"insert keyname name1=value1 [name2=value2 ...]\""),
            ("delete", "syntax is \"delete keyname\""),
            ("read \"a", "a quote is not closed"),
            ("read _all_docs", "\"_all_docs\" cannot be a key: keys must not begin with _"),
        ] {
            assert_eq!(ShellCommand::parse(line), Err(error.to_owned()), "{line}");
        }
        assert_eq!(ShellCommand::parse("  "), Ok(None));
    }
}
