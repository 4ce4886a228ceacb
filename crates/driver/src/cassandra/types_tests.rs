//! Values of every type, written and read back.

use super::*;
use proptest::prelude::*;

/// Writes a text as a value and reads it back.
fn back(of: &Type, text: &str) -> Option<String> {
    let (mut bytes, mut out) = (Vec::new(), Vec::new());
    of.write(text.as_bytes(), &mut bytes)?;
    of.spell(&bytes, &mut out)?;
    String::from_utf8(out).ok()
}

#[test]
fn values_come_back_as_json() {
    let list = Type::List(Box::new(Type::Int));
    let map = Type::Map(Box::new(Type::Text), Box::new(list.clone()));
    let own = Type::Members(vec![("a".into(), Type::Int), ("b".into(), Type::Text)]);
    let tuple = Type::Tuple(vec![Type::Boolean, Type::Double]);
    for (of, text, json) in [
        (Type::Int, "-17", "-17"),
        (Type::TinyInt, "300", ""),
        (Type::BigInt, "x", ""),
        (Type::SmallInt, "-32768", "-32768"),
        (Type::Text, "a\"b", "\"a\\\"b\""),
        (Type::Ascii, "\u{e9}", ""),
        (Type::Boolean, "true", "true"),
        (Type::Double, "1.5", "1.5"),
        (Type::Double, "NaN", "\"NaN\""),
        (Type::Float, "0.1", "0.1"),
        (Type::Date, "1969-12-31", "\"1969-12-31\""),
        (Type::Time, "13:30:54.234", "\"13:30:54.234000000\""),
        (Type::Timestamp, "1", "\"1970-01-01T00:00:00.001Z\""),
        (Type::Timestamp, "2026-01-02T03:04:05.678Z", "\"2026-01-02T03:04:05.678Z\""),
        (Type::Inet, "::1", "\"::1\""),
        (Type::Inet, "10.0.0.1", "\"10.0.0.1\""),
        (Type::Decimal, "-0.05", "\"-0.05\""),
        (Type::Decimal, "12", "\"12\""),
        (Type::Float, "inf", "\"inf\""),
        (list, "[1,null,3]", "[1,null,3]"),
        (map.clone(), "{\"a\":[1]}", "{\"a\":[1]}"),
        (map, "[]", ""),
        (own.clone(), "{\"a\":1}", "{\"a\":1,\"b\":null}"),
        (own, "7", ""),
        (tuple.clone(), "[false,2.5]", "[false,2.5]"),
        (tuple, "[false]", ""),
        (Type::Other, "x", ""),
    ] {
        let wanted = Some(json.to_owned()).filter(|json| !json.is_empty());
        assert_eq!(back(&of, text), wanted, "{of:?} {text}");
    }
    let uuid = "01234567-89ab-cdef-0123-456789abcdef";
    assert_eq!(back(&Type::Uuid, uuid), Some(format!("\"{uuid}\"")));
    assert_eq!(back(&Type::Uuid, &uuid.replace('-', "")), Some(format!("\"{uuid}\"")));
}

/// The examples of the protocol's specification, section 6.
#[test]
fn numbers_of_any_length_are_as_the_specification_says() {
    for (number, bytes) in [
        (0, &[0][..]),
        (1, &[1]),
        (127, &[0x7f]),
        (128, &[0, 0x80]),
        (129, &[0, 0x81]),
        (-1, &[0xff]),
        (-128, &[0x80]),
        (-129, &[0xff, 0x7f]),
    ] {
        let mut out = Vec::new();
        write_varint(number, &mut out);
        assert_eq!((&out[..], read_varint(bytes)), (bytes, Some(number)));
    }
    assert_eq!(read_varint(&[1; 17]), None);
    assert_eq!(decimal(7, i32::MIN), "7e2147483648");
    assert_eq!((decimal(-7, 3), decimal(7, 101)), ("-0.007".into(), "7e-101".into()));
}

proptest! {
    #[test]
    fn any_bytes_are_a_value_or_none(bytes: Vec<u8>) {
        let int = || Box::new(Type::Int);
        for of in [
            Type::Date, Type::Decimal, Type::Time, Type::Timestamp, Type::Varint, Type::Inet,
            Type::List(int()), Type::Map(int(), int()), Type::Tuple(vec![Type::Text; 3]),
        ] {
            let mut out = Vec::new();
            if of.spell(&bytes, &mut out).is_some() {
                prop_assert!(serde_json::from_slice::<Value>(&out).is_ok(), "{of:?}");
            }
        }
    }

    #[test]
    fn exact_types_return_what_was_written(number: i64, double: f64, text: String) {
        prop_assert_eq!(back(&Type::BigInt, &number.to_string()), Some(number.to_string()));
        prop_assert_eq!(back(&Type::Varint, &number.to_string()), Some(number.to_string()));
        if double.is_finite() {
            let found: f64 = back(&Type::Double, &double.to_string()).unwrap().parse().unwrap();
            prop_assert_eq!(found.to_bits(), double.to_bits());
        }
        let found: String = serde_json::from_str(&back(&Type::Text, &text).unwrap()).unwrap();
        prop_assert_eq!(found, text);
    }
}
