//! Compares the fast check with the parser.

use super::super::answer::document;
use super::super::revision::Revision;
use super::{after_short_key, ends_object, stops};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

const HEAD: &str = r#"{"_id":"7","_rev":"1-967a00dff5e02add41819138abb3284d""#;

/// Bytes that are put into documents to corrupt them.
const SPOILS: &[u8] = b"{}[],:\"\\0123456789-.eEtrufalsn\n \x01\xc3\xa9_idv";

/// A document as a server stores it, with any number of members.
fn stored() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e6..1e6).prop_map(|number: f64| Value::from(number)),
        "[ -~]{0,40}".prop_map(Value::from),
        "\\PC{0,10}".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[a-z_]{0,9}", inner, 0..5)
                .prop_map(|members| members.into_iter().collect()),
        ]
    });
    prop::collection::btree_map("[a-z]{1,12}", value, 0..6).prop_map(|members| {
        let members: Value = members.into_iter().collect();
        let rest = members.to_string();
        let comma = if rest == "{}" { "" } else { "," };
        format!("{HEAD}{comma}{}\n", &rest[1..])
    })
}

/// The parser's verdict: whether the document is complete and number 7.
fn parses(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Stored {
        #[serde(rename = "_id")]
        id: String,
        #[serde(rename = "_rev")]
        rev: String,
    }
    serde_json::from_slice::<Stored>(body)
        .is_ok_and(|it| it.id == "7" && Revision::parse(it.rev.as_bytes()).is_some())
}

proptest! {
    #[test]
    fn what_a_server_sends_is_whole(body in stored()) {
        prop_assert!(document(body.as_bytes(), b"7").is_ok());
    }

    #[test]
    fn the_parser_agrees_on_what_a_relay_has_spoilt(
        body in stored(),
        (at, count) in (any::<prop::sample::Index>(), 0..12_usize),
        put in prop_oneof![
            Just(Vec::new()),
            prop::collection::vec(prop::sample::select(SPOILS), 0..6),
            Just(br#","_id":"7""#.to_vec()),
            Just(br#","\u005frev":"1-0""#.to_vec()),
        ],
        cut in prop_oneof![Just(false), any::<bool>()],
    ) {
        let mut bytes = body.into_bytes();
        let at = at.index(bytes.len());
        let end = if cut { bytes.len() } else { (at + count).min(bytes.len()) };
        bytes.splice(at..end, put);
        if cut {
            bytes.push(b'}');
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        prop_assert_eq!(document(&bytes, b"7").is_ok(), parses(&bytes), "{}", text);
    }
}

#[test]
fn what_is_common_needs_no_parser() {
    let long = "x".repeat(100);
    let value = json!({
        "a": [1, -2.5, true, false, null, [], {}, {"b": ["c", {"d": {}}]}],
        "text": "a \"quoted\" line\n", "count": 1_234_567_890, "ünïcode": 0,
        "e": "ä", "long": long,
    });
    let text = format!(",{}\n", &value.to_string()[1..]);
    assert!(!ends_object(text.as_bytes()), "a key that is not ASCII is left to the parser");
    let text = text.replace("ünï", "uni");
    assert!(ends_object(text.as_bytes()), "{text}");
    assert!(ends_object(b"}") && ends_object(b"} \r\n"));
    // However the text is truncated and closed again, it is incomplete, unless it was cut where a
    // member ends.
    let whole = |end: usize| {
        let cut = format!("{HEAD}{}}}", &text[..end]);
        serde_json::from_str::<Value>(&cut).is_ok()
    };
    for end in (0..text.len()).filter(|&end| text.is_char_boundary(end)) {
        let cut = format!("{}}}", &text[..end]);
        assert_eq!(ends_object(cut.as_bytes()), whole(end), "{cut}");
    }
}

#[test]
fn what_contradicts_itself_is_left_to_the_parser() {
    for rest in [
        r#","_id":"8"}"#,
        r#","_rev":"1-0"}"#,
        r#","a":01}"#,
        r#","a":1e5}"#,
        r#","a":1.}"#,
        r#","a":-}"#,
        r#","a":[}"#,
        r#","a":{]}"#,
        r#","a":1]"#,
        r#","a":[1,"b":2,"text":"long enough for a short key"]}"#,
        r#","a":tru}"#,
        r#","a""#,
        r#","a":"\x"}"#,
        r"}}",
        r"},",
        r",}",
        r"",
        ",\"a\":\"\u{1}\"}",
        &format!(",\"a\":\"{}\"}}", "\u{1}".repeat(32)),
        &format!(",\"a\":{}{}}}", "[".repeat(70), "]".repeat(70)),
    ] {
        assert!(!ends_object(rest.as_bytes()), "{rest}");
    }
    assert!(!ends_object(b",\"a\":1\xb5}"), "that is no digit");
    assert!(ends_object(br#","a":{"_id":1,"_rev":2}}"#));
}

/// However deep it is, an object ends with as many braces as it began with.
#[test]
fn what_is_too_deep_is_left_to_the_parser() {
    for depth in [10, 60, 70, 200] {
        let text = format!(",\"a\":{}1", "{\"a\":".repeat(depth));
        for closed in 0..depth + 3 {
            let whole = ends_object(format!("{text}{}", "}".repeat(closed)).as_bytes());
            assert_eq!(whole, closed == depth + 1 && depth < 62, "{closed} of {depth}");
        }
    }
}

/// Most keys are read in one step, and most text in large ones.
#[test]
fn what_is_short_or_plain_is_read_at_once() {
    let rest = |key: &str, top| {
        let text = format!(",\"{key}\":123456789");
        after_short_key(text.as_bytes(), top).map(<[u8]>::to_vec)
    };
    for key in ["", "a", "seven_7"] {
        assert_eq!(rest(key, true).as_deref(), Some(&b"123456789"[..]), "{key}");
    }
    assert_eq!(rest("_id", true), None, "it may contradict what was read");
    assert!(rest("_id", false).is_some());
    assert_eq!(rest("eight__8", true), None);
    for byte in 0..=0xff {
        let mut block = [b'x'; 16];
        block[9] = byte;
        assert_eq!(stops(&block), matches!(byte, b'"' | b'\\' | ..0x20), "{byte:#x}");
    }
}

/// Text is read in blocks and words: a bad byte must be found at every position in them.
#[test]
fn a_spoilt_byte_is_seen_wherever_it_stands() {
    let mut proved = 0;
    let mut agree = |text: &str, at: usize| {
        let start = text.find(|it| "x7".contains(it)).unwrap_or(1);
        for put in *b"\"\\\x1f }:,.-e/0[{\xc3" {
            let mut bytes = format!("{HEAD}{text}").into_bytes();
            bytes[HEAD.len() + start + at] = put;
            let whole = ends_object(&bytes[HEAD.len()..]);
            let spoilt = String::from_utf8_lossy(&bytes).into_owned();
            assert!(!whole || parses(&bytes), "{spoilt}");
            assert_eq!(document(&bytes, b"7").is_ok(), parses(&bytes), "{spoilt}");
            proved += u32::from(whole);
        }
    };
    for len in 1..70 {
        let (long, digits) = ("x".repeat(len), "7".repeat(len));
        for at in 0..len {
            agree(&format!(",\"\":\"{long}\"}}"), at);
            if len < 20 {
                agree(&format!(",\"{long}\":1}}"), at);
                agree(&format!(",\"{long}\":\"long enough for a block\"}}\n"), at);
                agree(&format!(",\"\":{digits}}}"), at);
                agree(&format!(",\"\":0.{digits},\"\":\"long enough for a block\"}}\n"), at);
                agree(&format!(",\"\":[{digits},0]}}\n"), at);
            }
        }
    }
    assert!(proved > 10_000, "{proved}");
}

#[test]
fn each_byte_of_a_document_counts() {
    let text =
        ",\"short\":\"a\",\"a longer key\":{\"a\":[1,-2.5,{}],\"b\":true},\"c\":null,\"d\":\"\"}\n";
    let body = format!("{HEAD}{text}");
    assert!(ends_object(text.as_bytes()));
    for at in 0..body.len() {
        for put in 0..=0x7f {
            let mut bytes = body.clone().into_bytes();
            bytes[at] = put;
            let spoilt = String::from_utf8_lossy(&bytes).into_owned();
            assert_eq!(document(&bytes, b"7").is_ok(), parses(&bytes), "{spoilt}");
        }
        let mut bytes = body.clone().into_bytes();
        bytes.remove(at);
        let spoilt = String::from_utf8_lossy(&bytes).into_owned();
        assert_eq!(document(&bytes, b"7").is_ok(), parses(&bytes), "{spoilt}");
    }
}
