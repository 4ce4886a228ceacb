//! `{{doc.MEMBER}}`: a value of a stored document, generated again from its key and version.

use super::value_source::numbered;
use super::{Draw, Problem, SourceCard, ValueSource};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

pub(super) const CARD: SourceCard = SourceCard {
    form: "doc.MEMBER",
    help: "What a stored document has at that member: {{doc.name}}, {{doc.address.city}}; of the \
           same document as {{key}}",
    parse: |hole, _| {
        let (name, place) = numbered(hole);
        let path = name.strip_prefix("doc.")?;
        let is_path = !path.is_empty() && path.split('.').all(|it| !it.is_empty());
        let path = is_path.then(|| path.to_owned());
        let path = path.ok_or_else(|| "write it like {{doc.MEMBER}}".to_owned());
        Some(path.and_then(|path| Ok(Box::new(Member(path, place?)) as Box<dyn ValueSource>)))
    },
};

/// The names leading to the member, separated by dots, and the index of the document.
#[derive(Debug)]
struct Member(String, usize);

impl ValueSource for Member {
    fn documents(&self) -> usize {
        self.1 + 1
    }

    fn problem(&self, draw: &mut Draw<'_>) -> Option<Problem> {
        let &(key, version) = draw.stored.get(self.1)?;
        draw.scratch.clear();
        draw.documents.write(key, version, b"", draw.scratch);
        json_at(draw.scratch, &self.0).is_none().then(|| {
            let cure = "give a member that the documents of every --schema have";
            (format!("documents have no member {:?}", self.0), cure.to_owned())
        })
    }

    fn write(&self, draw: &mut Draw<'_>, out: &mut Vec<u8>) -> bool {
        let Some(&(key, version)) = draw.stored.get(self.1) else { return true };
        draw.scratch.clear();
        draw.documents.write(key, version, b"", draw.scratch);
        let Some(found) = json_at(draw.scratch, &self.0) else { return true };
        let start = out.len();
        let is_text = found.starts_with(b"\"") && unquote(found, out).is_ok();
        if !is_text {
            out.truncate(start);
            out.extend_from_slice(found);
        }
        is_text
    }
}

/// The JSON at a path such as `address.city` or `rows.0.id`.
pub fn json_at<'a>(document: &'a [u8], path: &str) -> Option<&'a [u8]> {
    let mut found = document.trim_ascii_start();
    for name in path.split('.') {
        let mut reader = serde_json::Deserializer::from_slice(found);
        let inner = if found.starts_with(b"[") {
            reader.deserialize_seq(Nth(name.parse().ok()?)).ok()??
        } else {
            Find(name).deserialize(&mut reader).ok()??
        };
        found = inner.get().as_bytes();
    }
    Some(found)
}

/// Finds an element of an array.
struct Nth(usize);

impl<'de> Visitor<'de> for Nth {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let (mut found, mut place) = (None, 0);
        while let Some(element) = elements.next_element()? {
            if place == self.0 {
                found = Some(element);
            }
            place += 1;
        }
        Ok(found)
    }
}

/// Finds a member of an object.
struct Find<'n>(&'n str);

impl<'de> DeserializeSeed<'de> for Find<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Find<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(is_it) = members.next_key_seed(IsName(self.0))? {
            if is_it {
                found = Some(members.next_value()?);
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Checks whether a text equals this one.
struct IsName<'n>(&'n str);

impl<'de> DeserializeSeed<'de> for IsName<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<bool, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for IsName<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<bool, E> {
        Ok(text == self.0)
    }
}

/// Appends a JSON string without its quotation marks and escapes.
fn unquote(quoted: &[u8], out: &mut Vec<u8>) -> serde_json::Result<()> {
    struct Append<'o>(&'o mut Vec<u8>);
    impl Visitor<'_> for Append<'_> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
            self.0.extend_from_slice(text.as_bytes());
            Ok(())
        }
    }
    serde_json::Deserializer::from_slice(quoted).deserialize_str(Append(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_found_as_deep_as_it_is() {
        let document = br#"{"a":1,"b":{"c":"x\"y","d":[1,{"e":2}]},"\u0066":null}"#;
        let of =
            |path: &str| json_at(document, path).map(|it| String::from_utf8_lossy(it).into_owned());
        assert_eq!(of("a").as_deref(), Some("1"));
        assert_eq!(of("b.d").as_deref(), Some(r#"[1,{"e":2}]"#));
        assert_eq!(of("f").as_deref(), Some("null"));
        assert_eq!(of("b.d.1.e").as_deref(), Some("2"));
        assert_eq!((of("b.d.2"), of("b.d.x")), (None, None));
        assert_eq!(of("b.x"), None);
        assert_eq!(of("a.x"), None);
        let mut out = Vec::new();
        unquote(json_at(document, "b.c").unwrap(), &mut out).unwrap();
        assert_eq!(out, b"x\"y");
    }
}
