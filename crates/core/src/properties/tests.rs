//! The examples from Java's documentation, and escaped text that is read back.

use super::*;
use proptest::prelude::*;

fn pairs(text: &str) -> Vec<(String, String)> {
    let properties = Properties::parse(text.as_bytes()).unwrap();
    properties.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn pair(name: &str, value: &str) -> Vec<(String, String)> {
    vec![(name.to_owned(), value.to_owned())]
}

#[test]
fn examples_of_the_documentation() {
    // The examples of `Properties.load(Reader)`.
    for text in ["Truth = Beauty", " Truth:Beauty", "Truth                    :Beauty"] {
        assert_eq!(pairs(text), pair("Truth", "Beauty"));
    }
    let fruits = "fruits                           apple, banana, pear, \\\n                      \
                  cantaloupe, watermelon, \\\n                                  kiwi, mango";
    assert_eq!(
        pairs(fruits),
        pair("fruits", "apple, banana, pear, cantaloupe, watermelon, kiwi, mango")
    );
    assert_eq!(pairs("cheeses"), pair("cheeses", ""));
    assert_eq!(pairs("\\:\\=: x"), pair(":=", "x"));
}

#[test]
fn later_wins_and_space_is_forgiven() {
    let properties = Properties::parse(b"a=1 \nb = 2\na:3\t\r\n").unwrap();
    assert_eq!(properties.get("a"), Some("3"));
    assert_eq!(properties.iter().count(), 2);
    let mut under = Properties::parse(b"a=0\nc=4").unwrap();
    under.overlay(properties);
    assert_eq!(
        ["a", "b", "c", "d"].map(|name| under.get(name)),
        [Some("3"), Some("2"), Some("4"), None]
    );
}

#[test]
fn latin_1_where_it_is_no_utf_8() {
    let latin = Properties::parse(b"caf\xe9=\xfc").unwrap();
    assert_eq!(latin.get("café"), Some("ü"));
    assert_eq!(Properties::parse("café=ü".as_bytes()).unwrap(), latin);
}

#[test]
fn a_bad_escape_names_its_line() {
    for text in ["a=1\n\nb=\\u12g4", "a=1\n\nb=\\u12", "a\\\r\n=1\nb\\u=1"] {
        let error = Properties::parse(text.as_bytes()).unwrap_err();
        assert_eq!(error, "line 3: \\u needs four hexadecimal digits");
    }
}

/// Escapes a word so that no character ends it, in one of several styles.
fn escape(word: &str, style: usize) -> String {
    let mut out = String::new();
    for (i, c) in word.chars().enumerate() {
        match (c, (i + style) % 3) {
            ('\n', _) => out.push_str("\\n"),
            ('\r', _) => out.push_str("\\r"),
            ('\t', 0) => out.push_str("\\t"),
            ('\x0c', 0) => out.push_str("\\f"),
            (' ' | '\t' | '\x0c' | '=' | ':' | '#' | '!' | '\\', _) => out.extend(['\\', c]),
            (_, 1) => {
                let units = c.encode_utf16(&mut [0; 2]).to_vec();
                out.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
            }
            // A letter may be escaped as well, which has no effect.
            ('a', _) => out.push_str("\\\r\n \t\\a"),
            _ => out.push(c),
        }
    }
    out
}

proptest! {
    #[test]
    fn what_is_escaped_comes_back(
        name in "[a-c =:#!\\\\\t\n\r\x0cé𝄞]{1,8}",
        value in "[a-c =:#!\\\\\t\n\r\x0cé𝄞]{0,8}",
        separator in "[ \t]*[=:][ \t]*|[ \t]+",
        style in 0usize..3,
    ) {
        let text = format!(
            "# c\\\n  {}{separator}{}\n!end",
            escape(&name, style),
            escape(&value, style + 1),
        );
        prop_assert_eq!(pairs(&text), pair(&name, &value));
    }

    #[test]
    fn nothing_panics(text in "[ab =:#!\\\\\t\n\ru0]{0,40}") {
        let _ = Properties::parse(text.as_bytes());
    }
}
