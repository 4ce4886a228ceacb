//! Manifests as YAML: a value of JSON in block style. Only what manifests need: text is written so
//! that every reader, of YAML 1.1 or 1.2, reads it as the same text.

use serde_json::Value;
use std::fmt::Write as _;

/// The documents, one after the other.
pub(super) fn documents(all: &[Value]) -> String {
    let mut out = String::new();
    for one in all {
        out.push_str("---\n");
        block(&mut out, one, 0);
    }
    out
}

/// A comment of one line.
pub(super) fn comment(text: &str) -> String {
    // A line break in it, of which there are several kinds, would end it.
    let shown = |c: char| if c.is_alphanumeric() || matches!(c, ' '..='~') { c } else { '?' };
    format!("# {}\n", text.chars().map(shown).collect::<String>())
}

/// An object or a list, `indent` columns in; ends with a line break.
fn block(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                begin(out, indent);
                out.push_str(&text(name));
                out.push(':');
                match value {
                    Value::Object(inner) if !inner.is_empty() => {
                        out.push('\n');
                        block(out, value, indent + 2);
                    }
                    Value::Array(inner) if !inner.is_empty() => {
                        out.push('\n');
                        block(out, value, indent);
                    }
                    other => {
                        out.push(' ');
                        block(out, other, indent);
                    }
                }
            }
        }
        Value::Array(entries) if !entries.is_empty() => {
            for entry in entries {
                begin(out, indent);
                out.push_str("- ");
                block(out, entry, indent + 2);
            }
        }
        Value::String(it) => {
            out.push_str(&text(it));
            out.push('\n');
        }
        // Numbers and empty values are written as in JSON.
        other => {
            let _ = writeln!(out, "{other}");
        }
    }
}

/// Begins an entry; the first one in a list item goes beside its dash.
fn begin(out: &mut String, indent: usize) {
    if !out.ends_with("- ") {
        out.extend(std::iter::repeat_n(' ', indent));
    }
}

/// Text as it is if no reader can take it for anything else, otherwise in quotes.
fn text(it: &str) -> String {
    // YAML 1.1 reads these as booleans or null, which Kubernetes' reader does, too.
    const WORDS: [&str; 9] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    let plain = it.starts_with(|c: char| c.is_ascii_alphabetic())
        && it.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
        && !WORDS.iter().any(|word| it.eq_ignore_ascii_case(word));
    if plain { it.to_owned() } else { quoted(it) }
}

fn quoted(it: &str) -> String {
    let mut out = String::from("\"");
    for c in it.chars() {
        let code = u32::from(c);
        let _ = match c {
            '"' | '\\' => write!(out, "\\{c}"),
            ' '..='~' => write!(out, "{c}"),
            // Others may be control characters, or line breaks that are folded to a space.
            _ if c.is_alphanumeric() => write!(out, "{c}"),
            _ if code <= 0xff => write!(out, "\\x{code:02x}"),
            _ if code <= 0xffff => write!(out, "\\u{code:04x}"),
            _ => write!(out, "\\U{code:08x}"),
        };
    }
    out + "\""
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn text_is_quoted_where_it_could_be_taken_for_something_else() {
        for (it, written) in [
            ("batch/v1", "batch/v1"),
            ("app.kubernetes.io/name", "app.kubernetes.io/name"),
            ("NO", "\"NO\""),
            ("null", "\"null\""),
            ("", "\"\""),
            ("2", "\"2\""),
            ("1e3", "\"1e3\""),
            ("0x1f", "\"0x1f\""),
            ("-n", "\"-n\""),
            ("~", "\"~\""),
            ("http://h:1/a", "\"http://h:1/a\""),
            ("read.p99 > 20ms", "\"read.p99 > 20ms\""),
            ("a\"b\\c", "\"a\\\"b\\\\c\""),
            ("a\nb\u{85}\u{2028}\u{1f600}é", "\"a\\x0ab\\x85\\u2028\\U0001f600é\""),
        ] {
            assert_eq!(text(it), written);
        }
    }

    #[test]
    fn a_comment_is_one_line() {
        assert_eq!(comment("a 'b\r\nc\u{2028}\u{85}' é"), "# a 'b??c??' é\n");
    }

    #[test]
    fn blocks_are_nested_by_two_columns() {
        let all = [
            json!({"a": {"b": [{"c": 1, "d": {"e": true}}, {"f": [["g"], "2"]}]}, "h": {}}),
            json!({"i": []}),
        ];
        let expected = "---\na:\n  b:\n  - c: 1\n    d:\n      e: true\n  - f:\n    - - g\n    \
                        - \"2\"\nh: {}\n---\ni: []\n";
        assert_eq!(documents(&all), expected);
    }
}
