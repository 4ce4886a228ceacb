//! The rules for documents, and templates of any shape.

use super::*;
use proptest::prelude::*;
use serde_json::{Map, Value};

const EXAMPLE_JSON: &str = include_str!("../../../../examples/schemas/example.json");
const EXAMPLE_XML: &str = include_str!("../../../../examples/schemas/example.xml");
const BLOG_ENTRY: &str = include_str!("../../../../examples/schemas/blog-entry.json");

fn documents(seed: u64, schema: &str) -> Documents {
    Documents::new(seed, vec![(Template::parse(schema).unwrap(), 1)])
}

fn text(documents: &Documents, key: u64, version: u32) -> String {
    let mut out = Vec::new();
    documents.write(key, version, b"", &mut out);
    String::from_utf8(out).unwrap()
}

fn parsed(documents: &Documents, key: u64, version: u32) -> Map<String, Value> {
    serde_json::from_str(&text(documents, key, version)).unwrap()
}

/// Whether `made` has the names, order, lengths and types of `given`.
fn same_shape(given: &Value, made: &Value) -> bool {
    match (given, made) {
        (Value::Null, Value::Null)
        | (Value::Bool(_), Value::Bool(_))
        | (Value::String(_), Value::String(_)) => true,
        (Value::Number(a), Value::Number(b)) => a.is_f64() == b.is_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_shape(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((k, a), (l, b))| k == l && same_shape(a, b))
        }
        _ => false,
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |f| f.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

fn any_object() -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec((any::<String>(), any_value()), 0..80)
        .prop_map(|entries| entries.into_iter().collect())
}

/// Pearson's chi-square statistic against equal frequencies.
fn chi_square(counts: &[u64]) -> f64 {
    let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    counts.iter().map(|&count| (count as f64 - expected).powi(2) / expected).sum()
}

// Critical values at significance 0.001: NIST/SEMATECH e-Handbook of Statistical Methods,
// 1.3.6.7.4.
const CRITICAL_1: f64 = 10.828;
const CRITICAL_4: f64 = 18.467;
const CRITICAL_9: f64 = 27.877;
const CRITICAL_12: f64 = 32.910;
const CRITICAL_15: f64 = 37.697;
const CRITICAL_63: f64 = 103.442;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn documents_have_the_shape_of_the_schema(
        schema in any_object(), seed: u64, key: u64, version in 0u32..300,
    ) {
        let schema = Value::Object(schema);
        let documents = documents(seed, &schema.to_string());
        let made = Value::Object(parsed(&documents, key, version));
        let Value::Object(mut given) = schema else { unreachable!() };
        given.retain(|name, _| !name.starts_with('_'));
        let given = Value::Object(given);
        prop_assert!(same_shape(&given, &made), "{given}\n{made}");
        // Canonical: a store that parses and prints it again gives the same text.
        prop_assert_eq!(made.to_string(), text(&documents, key, version));
    }

    #[test]
    fn an_update_changes_at_most_one_entry(key: u64, version in 1u32..500) {
        let documents = documents(1, DEFAULT);
        let (old, new) = (parsed(&documents, key, version - 1), parsed(&documents, key, version));
        let changed = old.iter().zip(&new).filter(|(old, new)| old != new).count();
        prop_assert!(changed <= 1, "{} entries changed", changed);
    }

    #[test]
    fn documents_are_pure(seed: u64, key: u64, version: u32) {
        let (one, two) = (documents(seed, DEFAULT), documents(seed, DEFAULT));
        prop_assert_eq!(text(&one, key, version), text(&two, key, version));
        prop_assert_ne!(text(&one, key, version), text(&one, key.wrapping_add(1), version));
        let other = documents(seed.wrapping_add(1), DEFAULT);
        prop_assert_ne!(text(&one, key, version), text(&other, key, version));
    }

    #[test]
    fn no_text_makes_the_readers_panic(text: String) {
        let _ = Template::parse(&text);
        let _ = Template::parse(&format!("{{{text}"));
        let _ = Template::parse(&format!("<{text}"));
    }

    #[test]
    fn no_heap_of_tags_makes_the_reader_panic(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "<object>", "</object>", "<entry>", "</entry>", "<name>", "</name>", "<name/>", "é",
            "<value>", "</value>", "<array>", "</array>", "<element>", "</element>", "<string/>",
            "<null/>", "&amp;", "&x;", "<!-- -->", "<![CDATA[<]]>", "<?pi?>", "x", "\n", "<",
        ]), 0..30),
    ) {
        if let Err(error) = Template::parse(&format!("<object>{}", pieces.concat())) {
            prop_assert!(!error.to_string().contains('\n'), "{}", error);
        }
    }
}

#[test]
fn members_come_first_with_the_right_commas() {
    let cases = [
        (r#"{"a":null}"#, "", r#"{"a":null}"#),
        (r#"{"a":null}"#, r#""_id":"1""#, r#"{"_id":"1","a":null}"#),
        ("{}", "", "{}"),
        ("{}", r#""_id":"1""#, r#"{"_id":"1"}"#),
        (r#"{"_id":"x","a":{},"_rev":"1-x","b":[[]]}"#, "", r#"{"a":{},"b":[[]]}"#),
        (r#"{"b":{"_id":null}}"#, "", r#"{"b":{"_id":null}}"#),
    ];
    for (schema, members, expected) in cases {
        for version in [0, 1, 7] {
            let mut out = b"before".to_vec();
            documents(1, schema).write(1, version, members.as_bytes(), &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), format!("before{expected}"));
        }
    }
    let mut out = Vec::new();
    Documents::new(1, Vec::new()).write(1, 0, b"", &mut out);
    assert_eq!(out, b"{}");
}

#[test]
fn long_names_cross_the_steps() {
    for length in 20..100 {
        let schema = format!(r#"{{"{0}":"","{0}x":true,"n":null}}"#, "k".repeat(length));
        let made = Value::Object(parsed(&documents(3, &schema), 5, 2));
        assert!(same_shape(&serde_json::from_str(&schema).unwrap(), &made), "{made}");
    }
}

#[test]
fn the_examples_in_both_languages_are_one_template() {
    assert_eq!(Template::parse(EXAMPLE_JSON), Template::parse(EXAMPLE_XML));
    let bom = format!("\u{feff}\n{EXAMPLE_XML}");
    assert_eq!(Template::parse(&bom), Template::parse(EXAMPLE_XML));
    assert_eq!(Template::parse(EXAMPLE_JSON).unwrap().entries().len(), 5);
}

#[test]
fn the_default_makes_about_250_bytes() {
    for schema in [DEFAULT, BLOG_ENTRY] {
        let documents = documents(1, schema);
        let total: usize = (0..10_000).map(|key| text(&documents, key, 0).len()).sum();
        assert!((235..=300).contains(&(total / 10_000)), "{} bytes", total / 10_000);
    }
}

#[test]
fn every_update_is_a_uniform_choice_of_entry() {
    // Two entries whose values never repeat by chance show which one changed.
    let documents = documents(9, r#"{"a":["","","","",""],"b":["","","","",""]}"#);
    let mut counts = [0; 2];
    for key in 0..200 {
        for version in 1..50 {
            let (old, new) =
                (parsed(&documents, key, version - 1), parsed(&documents, key, version));
            assert_ne!(old["a"] == new["a"], old["b"] == new["b"]);
            counts[usize::from(old["a"] == new["a"])] += 1;
        }
    }
    assert!(chi_square(&counts) < CRITICAL_1, "{counts:?}");
}

#[test]
fn a_late_version_costs_no_more_than_an_early_one() {
    // If it went back to version 1, this would take minutes.
    let documents = documents(1, DEFAULT);
    for key in 0..2_000 {
        assert!(!text(&documents, key, u32::MAX).is_empty());
    }
}

#[test]
fn kinds_follow_their_weights() {
    let template = |name: &str| Template::parse(&format!(r#"{{"{name}":null}}"#)).unwrap();
    let templates = vec![(template("a"), 1), (template("never"), 0), (template("c"), 3)];
    let documents = Documents::new(5, templates);
    let mut counts = [0u64; 3];
    for key in 0..40_000 {
        let kind = documents.kind_of(key);
        counts[kind] += 1;
        assert!(text(&documents, key, 3).contains(["\"a\"", "\"never\"", "\"c\""][kind]));
    }
    assert_eq!(counts[1], 0);
    assert!(chi_square(&[counts[0] * 3, counts[2]]) < 4.0 * CRITICAL_1, "{counts:?}");
    let unweighted = Documents::new(5, vec![(template("a"), 0), (template("b"), 0)]);
    assert_eq!(unweighted.kind_of(17), 0);
}

#[test]
fn the_dictionary_is_uniform_in_lengths_and_symbols() {
    let dictionary = words::Dictionary::new(11);
    let (mut lengths, mut symbols) = ([0; 13], [0; 64]);
    let alphabet = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!?";
    for (index, word) in (0..words::WORDS).map(|index| (index, dictionary.word(index))) {
        lengths[word.len() - 3] += 1;
        // Neighboring words share symbols: taking every fourth word counts each symbol once.
        for symbol in word.iter().filter(|_| index % 4 == 0) {
            symbols[alphabet.iter().position(|s| s == symbol).unwrap()] += 1;
        }
    }
    assert!(chi_square(&lengths) < CRITICAL_12, "{lengths:?}");
    assert!(chi_square(&symbols) < CRITICAL_63, "{symbols:?}");
}

#[test]
fn words_overlap_with_the_next_three_and_no_others() {
    let dictionary = words::Dictionary::new(13);
    let mut agree = [0u32; 2];
    for index in 0..words::WORDS - 4 {
        let word = dictionary.word(index);
        for distance in 1..=3 {
            let (tail, next) =
                (&word[(4 * distance).min(word.len())..], dictionary.word(index + distance));
            let shared = tail.len().min(next.len());
            assert_eq!(tail[..shared], next[..shared], "{index} and {distance} on");
        }
        // Every word has at least three characters. The word four indices further on shares none of
        // them.
        for (place, agree) in agree.iter_mut().enumerate() {
            *agree += u32::from(word[place] == dictionary.word(index + 4)[place]);
        }
    }
    // Four standard deviations, with a probability of 1 in 64: 4 * sqrt(32,764 * 63) / 64 = 90.
    assert!(agree.iter().all(|count| count.abs_diff(512) < 90), "{agree:?}");
}

#[test]
fn which_words_stand_beside_each_other_is_drawn_independently() {
    let dictionary = words::Dictionary::new(17);
    let numbers: std::collections::HashMap<&[u8], usize> =
        (0..words::WORDS).map(|index| (dictionary.word(index), index)).collect();
    let (mut near, mut pairs) = (0u32, 0u32);
    let mut stream = crate::generate::Stream::new(crate::generate::mix(1, 2, 3), 0);
    let mut out = [0; words::STRING_WINDOW];
    for _ in 0..200_000 {
        let length = dictionary.string([stream.draw(), stream.draw()], &mut out);
        let drawn: Vec<usize> =
            out[..length].split(|&byte| byte == b' ').map(|word| numbers[word]).collect();
        for pair in drawn.windows(2) {
            pairs += 1;
            near += u32::from((1..=3).contains(&pair[0].abs_diff(pair[1])));
        }
    }
    // 6 of 32,768 of about 400,000 pairs are 73; four standard deviations are 34.
    let expected = f64::from(pairs) * 6.0 / words::WORDS as f64;
    assert!((f64::from(near) - expected).abs() < 4.0 * expected.sqrt(), "{near} of {pairs}");
}

#[test]
fn strings_have_one_to_five_words_from_all_the_dictionary() {
    let documents = documents(2, r#"{"s":""}"#);
    let (mut counts, mut lengths) = ([0; 5], [0; 13]);
    for key in 0..20_000 {
        let made = parsed(&documents, key, 0);
        let words: Vec<&str> = made["s"].as_str().unwrap().split(' ').collect();
        counts[words.len() - 1] += 1;
        for word in words {
            lengths[word.len() - 3] += 1;
        }
    }
    assert!(chi_square(&counts) < CRITICAL_4, "{counts:?}");
    // 60,000 words from a dictionary that is itself a sample of 32,768: 1 + 60/33 < 4 times the
    // spread.
    assert!(chi_square(&lengths) < 4.0 * CRITICAL_12, "{lengths:?}");
}

#[test]
fn numbers_and_booleans_are_uniform() {
    let documents = documents(3, r#"{"i":0,"f":0.5,"b":true}"#);
    let (mut integers, mut floats, mut booleans) = ([0; 16], [0; 10], [0; 2]);
    for key in 0..50_000 {
        let made = parsed(&documents, key, 0);
        let integer = made["i"].as_i64().unwrap();
        let float = made["f"].as_f64().unwrap();
        integers[usize::try_from((integer - i64::from(i32::MIN)) >> 28).unwrap()] += 1;
        floats[(0..10).rfind(|&i| float >= i as f64 / 10.0).unwrap()] += 1;
        booleans[usize::from(made["b"].as_bool().unwrap())] += 1;
    }
    assert!(chi_square(&integers) < CRITICAL_15, "{integers:?}");
    assert!(chi_square(&floats) < CRITICAL_9, "{floats:?}");
    assert!(chi_square(&booleans) < CRITICAL_1, "{booleans:?}");
}

#[test]
fn numbers_are_classed_by_their_spelling() {
    let schema = format!(r#"{{"a":-0,"b":1e400,"c":{},"d":1.0,"e":1E2}}"#, "9".repeat(400));
    let template = Template::parse(&schema).unwrap();
    let shapes: Vec<&Shape> = template.entries().iter().map(|(_, shape)| shape).collect();
    assert_eq!(
        shapes,
        [&Shape::Integer, &Shape::Float, &Shape::Integer, &Shape::Float, &Shape::Float]
    );
}

#[test]
fn a_repeated_name_means_the_later_one() {
    let json = Template::parse(r#"{"a":1,"b":"","a":true}"#).unwrap();
    let entry = |name, shape| format!("<entry><name>{name}</name><value>{shape}</value></entry>");
    let entries =
        entry("a", "<integer/>") + &entry(" b\n", "<string/>") + &entry("a", "<boolean/>");
    assert_eq!(Template::parse(&format!("<object>{entries}</object>")).unwrap(), json);
    let expected = [("a".to_owned(), Shape::Boolean), ("b".to_owned(), Shape::String)];
    assert_eq!(json.entries(), expected);
}

#[test]
fn xml_names_are_text() {
    let entry =
        "<entry><name> a&lt;<!-- c --><![CDATA[&]]>&#x41; </name><value><null/></value></entry>";
    let empty = "<entry><name/><value><null></null></value></entry>";
    let dropped = "<entry><name>_id</name><value><string/></value></entry>";
    let template = Template::parse(&format!("<object>{entry}{empty}{dropped}</object>")).unwrap();
    let names: Vec<&str> = template.entries().iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a<&A", ""]);
}

#[test]
fn mistakes_say_where_and_what_to_do() {
    let cases = [
        (" \n", "the schema is empty"),
        ("[1]", "root is an array"),
        ("17", "root is a number"),
        ("{\n \"a\": }", "not valid JSON at line 2 column 7: expected value"),
        ("{\n \"a\": {\n \"\\ud800\": 1}}", "not valid JSON at line 3"),
        ("{} x", "trailing characters"),
        ("<array/>", "line 1 column 1: the root is <array>: make it <object>"),
        ("<object>\n<name/></object>", "line 2 column 1: <name> instead of <entry>"),
        ("<object><entry><value/></entry></object>", "<value> instead of <name>"),
        ("<object><entry><name/></entry></object>", "<entry> ends too early"),
        ("<object><entry><name>a<b/></name></entry></object>", "<b> inside <name>"),
        ("<object>text</object>", "only a <name> holds text"),
        ("<object a='1'/>", "attributes on <object>"),
        ("<object/><object/>", "a schema has one root"),
        ("<object>", "the text ends inside <object>"),
        ("<object></array>", "the XML schema is wrong at line 1"),
        ("<object><entry><name>&x;</name></entry></object>", "&x; is unknown"),
        ("<!-- nothing -->", "nothing but comments"),
    ];
    for (schema, expected) in cases {
        let error = Template::parse(schema).unwrap_err().to_string();
        assert!(error.contains(expected), "{schema}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let value = |shape: &str| {
        let xml = format!("<object><entry><name>a</name><value>{shape}</value></entry></object>");
        Template::parse(&xml).map_err(|error| error.to_string())
    };
    for (shape, message) in [
        ("<integer min='0' least='1'/>", "attributes on <integer>: min and max are known"),
        ("<integer max='x'/>", "max=\"x\": give a whole number"),
        ("<integer min='5' max='4'/>", "min 5 is above max 4"),
        ("<string one-of=' '/>", "one-of has no word"),
        ("<float min='0'/>", "attributes on <float>: none is known"),
        ("<integer min=0/>", "line 1"),
    ] {
        let error = value(shape).unwrap_err();
        assert!(error.contains(message), "{shape}: {error}");
    }
    let long = format!("<string one-of='{}'/>", "x".repeat(99));
    assert!(value(&long).unwrap_err().contains("at most 100 bytes"));
    assert!(value("").unwrap_err().contains("<value> ends too early"));
    assert!(value("<number/>").unwrap_err().contains("<number> is not a type"));
    assert!(value("<null/><null/>").unwrap_err().contains("exactly one type"));
    assert!(value("<string>x</string>").unwrap_err().contains("text in"));
    assert!(value("<array><null/></array>").unwrap_err().contains("instead of <element>"));
}

#[test]
fn attributes_bound_what_is_drawn() {
    let entry = |name, shape| format!("<entry><name>{name}</name><value>{shape}</value></entry>");
    let entries = entry("a", "<integer min='-2' max='9223372036854775807'/>")
        + &entry("b", "<string/>")
        + &entry("c", "<array><element><string one-of='red  g&amp;b'/></element></array>")
        + &entry("d", "<integer max='-2147483647'/>");
    let made = documents(5, &format!("<object>{entries}</object>"));
    let (mut large, mut reds) = (0, 0);
    for key in 0..200 {
        let document = parsed(&made, key, (key % 4) as u32);
        let a = document["a"].as_i64().unwrap();
        assert!(a >= -2);
        large += u32::from(a > i64::MAX / 2);
        let c = document["c"][0].as_str().unwrap();
        assert!(["red", "g&b"].contains(&c), "{c}");
        reds += u32::from(c == "red");
        assert!(document["b"].is_string());
        assert!([-2_147_483_648, -2_147_483_647].contains(&document["d"].as_i64().unwrap()));
    }
    // Six standard deviations around a half of 200.
    assert!(large.abs_diff(100) < 43 && reds.abs_diff(100) < 43, "{large} {reds}");
}

#[test]
fn nesting_has_a_limit() {
    let json = |depth| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    let xml = |depth| {
        let (open, close) = ("<array><element>".repeat(depth), "</element></array>".repeat(depth));
        let value = format!("<value>{open}<null/>{close}</value>");
        format!("<object><entry><name>a</name>{value}</entry></object>")
    };
    for write in [&json as &dyn Fn(usize) -> String, &xml] {
        let deepest = write(MAX_DEPTH - 1);
        assert!(text(&documents(1, &deepest), 1, 1).contains("[[["));
        let error = Template::parse(&write(MAX_DEPTH)).unwrap_err();
        assert!(matches!(error, SchemaError::TooDeep { .. }), "{error}");
        assert!(Template::parse(&write(20_000)).is_err());
    }
}

#[test]
fn documents_are_shared_between_threads() {
    fn sync<T: Send + Sync>(_: &T) {}
    sync(&documents(1, DEFAULT));
}
