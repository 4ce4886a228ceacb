//! Checks whether two documents have the same content, however a database formats it.

use serde_json::{Map, Value};

/// The most characters of a value that are shown.
const MOST_SHOWN: usize = 40;

/// Whether `found`, as a database returned it, has the content of `expected`, a JSON object
/// without white space. Members whose names begin with an underscore are the database's own.
///
/// Numbers are compared by value, since CouchDB and others reformat them. If `found` has a string
/// where `expected` has another type, both are compared as text, since some databases store nothing
/// else.
#[inline]
pub(super) fn content(expected: &[u8], found: &[u8]) -> bool {
    // CouchDB ends its answers with a newline.
    is_exact(expected, found.trim_ascii_end()) || is_equal(expected, found)
}

/// Whether `found` equals `expected` byte for byte, except for a leading `_id` and `_rev`.
#[inline]
fn is_exact(expected: &[u8], found: &[u8]) -> bool {
    let Some(rest) = expected.strip_prefix(b"{").filter(|rest| rest.len() > 1) else {
        return false;
    };
    let Some(own) = found.strip_suffix(rest) else { return false };
    // Four strings (`_id`, `_rev` and their values), none of which contains a quote.
    let quotes = || memchr::memchr_iter(b'"', own).count();
    own == b"{"
        || own.starts_with(b"{\"_id\":\"")
            && own.ends_with(b"\",")
            && quotes() == 8
            && memchr::memmem::find(own, b"\",\"_rev\":\"").is_some()
}

#[cold]
fn is_equal(expected: &[u8], found: &[u8]) -> bool {
    let object = |text| serde_json::from_slice::<Map<String, Value>>(text);
    let (Ok(expected), Ok(mut found)) = (object(expected), object(found)) else { return false };
    found.retain(|name, _| !name.starts_with('_'));
    is_same_object(&expected, &found)
}

/// Describes the first difference between two documents that are not the same.
pub(super) fn difference(expected: &[u8], found: &[u8]) -> String {
    let object = |text| serde_json::from_slice::<Map<String, Value>>(text);
    let (Ok(expected), Ok(found)) = (object(expected), object(found)) else {
        return "other content, which is not a JSON object".to_owned();
    };
    let short = |value: &Value| value.to_string().chars().take(MOST_SHOWN).collect::<String>();
    for (name, value) in &expected {
        match found.get(name) {
            None => return format!("without {name}"),
            Some(found) if !is_same(value, found) => {
                return format!("{name} {} instead of {}", short(found), short(value));
            }
            Some(_) => {}
        }
    }
    let other = found.keys().find(|name| !name.starts_with('_') && !expected.contains_key(*name));
    other.map_or_else(|| "other content".to_owned(), |name| format!("with an extra {name}"))
}

fn is_same_object(expected: &Map<String, Value>, found: &Map<String, Value>) -> bool {
    expected.len() == found.len()
        && expected
            .iter()
            .all(|(name, value)| found.get(name).is_some_and(|found| is_same(value, found)))
}

fn is_same(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => is_same_object(expected, found),
        (Value::Array(expected), Value::Array(found)) => {
            expected.len() == found.len()
                && expected.iter().zip(found).all(|(expected, found)| is_same(expected, found))
        }
        (Value::Number(expected), Value::Number(found)) => {
            expected == found || expected.as_f64() == found.as_f64()
        }
        (Value::String(expected), Value::String(found)) => expected == found,
        (expected, Value::String(text)) => serde_json::from_str(text)
            .is_ok_and(|found: Value| !found.is_string() && is_same(expected, &found)),
        _ => expected == found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPECTED: &str = r#"{"a":"x","n":1.0,"o":{"p":[1,true]}}"#;

    fn holds(found: &str) -> bool {
        content(EXPECTED.as_bytes(), found.as_bytes())
    }

    #[test]
    fn the_text_that_couchdb_sends_is_compared_as_it_is() {
        let exact = |found: &str| is_exact(EXPECTED.as_bytes(), found.as_bytes());
        let rest = &EXPECTED[1..];
        assert!(exact(EXPECTED));
        let sent = format!("{{\"_id\":\"1\",\"_rev\":\"1-a\",{rest}");
        assert!(exact(&sent));
        assert!(holds(&format!("{sent}\n")));
        // A matching end does not count after a member that is not the database's own, or alone.
        assert!(!exact(&format!(r#"{{"_id":"1","_rev":"1-a","b":"c",{rest}"#)));
        assert!(!exact(&format!(r#"{{"_id":"1","_rev":"1-a","b":2,{rest}"#)));
        assert!(!exact(&format!(r#"{{"b":2,{rest}"#)));
        assert!(!exact(rest));
    }

    #[test]
    fn spelling_does_not_matter_and_content_does() {
        assert!(holds(r#"{"_id":"1","n":1,"o":{"p":[1.0,true]},"a":"x"}"#));
        assert!(holds(r#"{"_id":"1", "a":"x", "n":"1.0", "o":"{\"p\":[1,true]}"}"#));
        for wrong in [
            r#"{"_id":"1","_rev":"1-a","b":2,"a":"x","n":1.0,"o":{"p":[1,true]}}"#,
            r#"{"a":"y","n":1.0,"o":{"p":[1,true]}}"#,
            r#"{"a":"x","n":1.5,"o":{"p":[1,true]}}"#,
            r#"{"a":"x","n":1.0,"o":{"p":[1]}}"#,
            r#"{"a":"x","n":1.0,"o":{"p":[true,1]}}"#,
            r#"{"a":"x","n":1.0}"#,
            r#"{"a":"x","n":1.0,"o":{"p":[1,true]}"#,
            "[]",
            "",
        ] {
            assert!(!holds(wrong), "{wrong}");
        }
    }

    #[test]
    fn the_first_difference_is_shown() {
        let shown = |found: &str| difference(EXPECTED.as_bytes(), found.as_bytes());
        assert_eq!(shown(r#"{"_id":"1","a":"y","n":1}"#), r#"a "y" instead of "x""#);
        assert_eq!(shown(r#"{"_id":"1","a":"x","n":1}"#), "without o");
        let more = r#"{"_id":"1","a":"x","n":1,"o":{"p":[1,true]},"z":1}"#;
        assert_eq!(shown(more), "with an extra z");
        assert_eq!(shown("x"), "other content, which is not a JSON object");
        let long = shown(&format!(r#"{{"a":"{}"}}"#, "y".repeat(1_000)));
        assert!(long.len() < 80, "{long}");
    }

    #[test]
    fn an_empty_document_has_only_what_is_the_databases() {
        assert!(content(b"{}", br#"{"_id":"1","_rev":"1-a"}"#));
        assert!(!content(b"{}", br#"{"_id":"1","_rev":"1-a","a":1}"#));
    }
}
