//! Manifests as YAML: templates and their values. Text is written so that YAML 1.1 and 1.2 parsers
//! read it alike.

use std::fmt::Write as _;

/// Fills in a template, in which `{name}` stands for a value, once per line. A line with nothing
/// else is replaced by all lines of the value, or by none. The template's comments are left out.
pub(super) fn fill(template: &str, values: &[(&str, String)]) -> String {
    let mut out = String::new();
    for line in template.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let parts = line.split_once('{').and_then(|(before, rest)| {
            let (name, after) = rest.split_once('}')?;
            let (_, value) = values.iter().find(|(own, _)| *own == name)?;
            Some((before, value, after))
        });
        let Some((before, value, after)) = parts else {
            let _ = writeln!(out, "{line}");
            continue;
        };
        let alone = before.trim().is_empty() && after.is_empty();
        let lines: Vec<&str> = if alone { value.lines().collect() } else { vec![value] };
        for line in lines {
            let _ = writeln!(out, "{before}{line}{after}");
        }
    }
    out
}

/// A one-line comment.
pub(super) fn comment(text: &str) -> String {
    // A line break of any kind would end the comment.
    let shown = |c: char| if c.is_alphanumeric() || matches!(c, ' '..='~') { c } else { '?' };
    format!("# {}\n", text.chars().map(shown).collect::<String>())
}

/// Plain text if no parser can misread it, otherwise quoted text.
pub(super) fn text(it: &str) -> String {
    // YAML 1.1 parsers, including Kubernetes', read these as booleans or null.
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
            // Others may be control characters, or line breaks that are folded into a space.
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
    fn values_take_their_places_and_no_others() {
        let template = "a: {a}\n# for readers\n  {b}\n  {none}\n- {a}\n{c}\n";
        let values = [("a", "{b}"), ("b", "x\ny: {a}"), ("none", "")].map(|it| (it.0, it.1.into()));
        assert_eq!(fill(template, &values), "a: {b}\n  x\n  y: {a}\n- {b}\n{c}\n");
    }
}
