//! `{{doc.MEMBER}}`: a value that a stored document has, made again from its key and version.

use super::{Draw, SourceCard, ValueSource, numbered};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
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

/// The names of the member, with dots between them, and which document.
#[derive(Debug)]
struct Member(String, usize);

impl ValueSource for Member {
    fn documents(&self) -> usize {
        self.1 + 1
    }

    fn member(&self) -> Option<&str> {
        Some(&self.0)
    }

    fn write(&self, draw: &mut Draw<'_>, out: &mut Vec<u8>) -> bool {
        let Some(&(key, version)) = draw.stored.get(self.1) else { return true };
        draw.scratch.clear();
        draw.documents.write(key, version, b"", draw.scratch);
        let Some(found) = find(draw.scratch, &self.0) else { return true };
        let start = out.len();
        let is_text = found.starts_with(b"\"") && unquote(found, out).is_ok();
        if !is_text {
            out.truncate(start);
            out.extend_from_slice(found);
        }
        is_text
    }
}

/// Whether a document has a member, whose names have dots between them.
pub fn has_member(document: &[u8], path: &str) -> bool {
    find(document, path).is_some()
}

/// The JSON at a member.
fn find<'a>(document: &'a [u8], path: &str) -> Option<&'a [u8]> {
    let mut found = document;
    for name in path.split('.') {
        let mut reader = serde_json::Deserializer::from_slice(found);
        found = Find(name).deserialize(&mut reader).ok()??.get().as_bytes();
    }
    Some(found)
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

/// Whether a text is this one.
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

/// Appends a string of JSON without its quotation marks and escapes.
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
            |path: &str| find(document, path).map(|it| String::from_utf8_lossy(it).into_owned());
        assert_eq!(of("a").as_deref(), Some("1"));
        assert_eq!(of("b.d").as_deref(), Some(r#"[1,{"e":2}]"#));
        assert_eq!(of("f").as_deref(), Some("null"));
        assert_eq!(of("b.x"), None);
        assert_eq!(of("a.x"), None);
        let mut out = Vec::new();
        unquote(find(document, "b.c").unwrap(), &mut out).unwrap();
        assert_eq!(out, b"x\"y");
    }
}
