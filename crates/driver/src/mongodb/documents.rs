//! Documents converted between JSON and BSON.

use crate::json::{quote, write_member};
use crate::library::{CallError, LibraryPen};
use crate::op::Failure;
use ::mongodb::bson::spec::BinarySubtype;
use ::mongodb::bson::{Binary, Bson, Document, RawBsonRef, RawDocument};
use serde_json::Value;

/// The members of document number `place`: real BSON, or binary fields as YCSB writes them.
pub(super) fn members(pen: &LibraryPen, place: usize, binary: bool) -> Result<Document, CallError> {
    if binary {
        let bytes = |value: &[u8]| {
            Bson::Binary(Binary { subtype: BinarySubtype::Generic, bytes: value.to_vec() })
        };
        return Ok(pen
            .fields(place)
            .map(|(name, value)| (name.to_owned(), bytes(value)))
            .collect());
    }
    match serde_json::from_slice(pen.json(place)) {
        Ok(Value::Object(members)) => {
            Ok(members.into_iter().map(|(name, value)| (name, bson(value))).collect())
        }
        _ => Err(CallError::new(Failure::Rejected, "the document is not a JSON object")),
    }
}

/// Converts a value: whole numbers take the shortest type that fits; everything else has a
/// counterpart.
pub(super) fn bson(value: Value) -> Bson {
    match value {
        Value::Null => Bson::Null,
        Value::Bool(value) => Bson::Boolean(value),
        Value::String(text) => Bson::String(text),
        Value::Array(values) => Bson::Array(values.into_iter().map(bson).collect()),
        Value::Object(members) => {
            Bson::Document(members.into_iter().map(|(name, value)| (name, bson(value))).collect())
        }
        Value::Number(number) => match number.as_i64() {
            Some(whole) => i32::try_from(whole).map_or(Bson::Int64(whole), Bson::Int32),
            None => Bson::Double(number.as_f64().unwrap_or(f64::NAN)),
        },
    }
}

/// Appends a document as a JSON object. Binary values become text, as YCSB treats them.
pub(super) fn write(document: &RawDocument, out: &mut Vec<u8>) {
    out.push(b'{');
    for (place, (name, value)) in document.iter().flatten().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        if let RawBsonRef::Binary(binary) = value {
            write_member(name.as_str(), binary.bytes, out);
        } else {
            quote(name.as_str(), out);
            out.push(b':');
            write_value(value, out);
        }
    }
    out.push(b'}');
}

fn write_value(value: RawBsonRef<'_>, out: &mut Vec<u8>) {
    let text = match value {
        RawBsonRef::String(text) | RawBsonRef::Symbol(text) => return quote(text, out),
        RawBsonRef::Binary(binary) => return quote(&String::from_utf8_lossy(binary.bytes), out),
        RawBsonRef::Document(document) => return write(document, out),
        RawBsonRef::Array(values) => {
            out.push(b'[');
            for (place, value) in values.into_iter().flatten().enumerate() {
                if place > 0 {
                    out.push(b',');
                }
                write_value(value, out);
            }
            return out.push(b']');
        }
        RawBsonRef::Int32(whole) => whole.to_string(),
        RawBsonRef::Int64(whole) => whole.to_string(),
        RawBsonRef::Double(number) => Value::from(number).to_string(),
        RawBsonRef::Boolean(value) => value.to_string(),
        RawBsonRef::Null | RawBsonRef::Undefined => "null".to_owned(),
        RawBsonRef::ObjectId(id) => return quote(&id.to_hex(), out),
        // Values without a counterpart in JSON are shown as text, and cannot be converted back.
        other => return quote(&format!("{other:?}"), out),
    };
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::Form;
    use crate::op::{Fields, Pen as _};
    use ::mongodb::bson::{RawDocumentBuf, doc, oid::ObjectId};

    struct Text(&'static str);

    impl Fields for Text {
        fn write(self, _: &[u8], out: &mut Vec<u8>) {
            out.extend_from_slice(self.0.as_bytes());
        }
    }

    const TEXT: &str =
        r#"{"a":"x\n","b":[1,2.5,null,true],"c":{"d":3000000000,"e":-1},"f":18446744073709551615}"#;

    fn pen(form: Form, text: &'static str) -> LibraryPen {
        let mut pen = LibraryPen::new(form);
        pen.name().push(b'k');
        pen.document(None, Text(text));
        pen
    }

    fn json(document: &Document) -> String {
        let mut out = Vec::new();
        write(&RawDocumentBuf::try_from(document).unwrap(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn documents_are_stored_with_their_types_and_read_back() {
        let document = members(&pen(Form::Json, TEXT), 0, false).unwrap();
        let wanted = doc! {
            "a": "x\n", "b": [1_i32, 2.5, Bson::Null, true],
            "c": {"d": 3_000_000_000_i64, "e": -1_i32}, "f": 18_446_744_073_709_551_615_f64,
        };
        assert_eq!(document, wanted);
        assert_eq!(json(&document), TEXT.replace("18446744073709551615", "1.8446744073709552e+19"));
        let none = members(&pen(Form::Json, "[1]"), 0, false).unwrap_err();
        assert_eq!(none.failure, Failure::Rejected);
    }

    #[test]
    fn fields_are_binary_as_ycsb_has_them_and_read_back_as_text() {
        let document = members(&pen(Form::Fields, r#"{"a":"x\"","b":[1]}"#), 0, true).unwrap();
        let Bson::Binary(binary) = &document["a"] else { panic!("{document:?}") };
        assert_eq!(
            (binary.subtype, binary.bytes.as_slice()),
            (BinarySubtype::Generic, &b"x\""[..])
        );
        assert_eq!(json(&document), r#"{"a":"x\"","b":"[1]"}"#);
    }

    #[test]
    fn what_json_has_not_is_shown() {
        let id = ObjectId::from_bytes([1; 12]);
        assert_eq!(json(&doc! {"_id": id}), r#"{"_id":"010101010101010101010101"}"#);
        let shown = json(&doc! {"n": f64::NAN, "m": Bson::MaxKey});
        assert!(serde_json::from_str::<Value>(&shown).is_ok(), "{shown}");
    }
}
