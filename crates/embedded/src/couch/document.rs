//! Parses a document: separates the special members from the rest, which is kept as sent.
//!
//! A single pass over the bytes, without a tree of values: the stand-in spends most of its time
//! here.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::json::write_string;
use super::reply::Refusal;
use super::revision::Rev;

/// CouchDB's default `max_document_size`, in bytes.
pub(crate) const MAX_DOCUMENT_BYTES: usize = 8_000_000;

/// A document as a client sent it.
#[derive(Debug, Default)]
pub(crate) struct NewDocument {
    pub(crate) id: Option<String>,
    pub(crate) rev: Option<Rev>,
    pub(crate) deleted: bool,
    /// All other members, `"name":value` separated by commas, without the braces.
    pub(crate) body: Box<str>,
    /// Why the document cannot be stored, if so.
    pub(crate) fault: Option<Refusal>,
}

thread_local! {
    /// Bodies are collected here, so that each is allocated once, with its exact size.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl NewDocument {
    /// Parses one document.
    ///
    /// # Errors
    /// Returns the error that CouchDB would give for these bytes.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Refusal> {
        let draft: Self = serde_json::from_slice(bytes).map_err(|_| Refusal::INVALID_JSON)?;
        draft.sound()
    }

    /// The document, unless it cannot be stored.
    ///
    /// # Errors
    /// Returns the reason if it cannot be stored.
    pub(crate) fn sound(self) -> Result<Self, Refusal> {
        match self.fault {
            Some(fault) => Err(fault),
            None => Ok(self),
        }
    }

    fn special(&mut self, key: &str, value: &RawValue) {
        let text = value.get();
        let fault = match key {
            "_id" => match string(text) {
                Some(id) => {
                    self.id = Some(id.into_owned());
                    None
                }
                None => Some(Refusal::ID_NOT_A_STRING),
            },
            "_rev" => {
                self.rev = string(text).and_then(|rev| Rev::parse(&rev));
                self.rev.is_none().then_some(Refusal::BAD_REVISION)
            }
            "_deleted" => {
                self.deleted = text == "true";
                None
            }
            "_revisions" | "_revs_info" | "_conflicts" | "_deleted_conflicts" | "_local_seq" => {
                None
            }
            "_attachments" if text == "{}" => None,
            "_attachments" => Some(Refusal::NO_ATTACHMENTS),
            _ => Some(Refusal::BAD_MEMBER),
        };
        self.fault = self.fault.or(fault);
    }

    fn of_another_kind() -> Self {
        Self { fault: Some(Refusal::NOT_AN_OBJECT), ..Self::default() }
    }
}

fn string(text: &str) -> Option<Cow<'_, str>> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        return serde_json::from_str(text).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(inner))
}

impl<'de> Deserialize<'de> for NewDocument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DraftVisitor)
    }
}

struct DraftVisitor;

impl<'de> Visitor<'de> for DraftVisitor {
    type Value = NewDocument;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a document")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<NewDocument, A::Error> {
        SCRATCH.with_borrow_mut(|body| {
            body.clear();
            let mut draft = NewDocument::default();
            let mut bytes = 2;
            while let Some(Name(key)) = map.next_key::<Name<'de>>()? {
                let value: &RawValue = map.next_value()?;
                bytes += key.len() + value.get().len() + 4;
                if key.starts_with('_') {
                    draft.special(&key, value);
                    continue;
                }
                if !body.is_empty() {
                    body.push(b',');
                }
                write_string(&key, body);
                body.push(b':');
                body.extend_from_slice(value.get().as_bytes());
            }
            if bytes > MAX_DOCUMENT_BYTES {
                draft.fault = Some(Refusal::DOCUMENT_TOO_LARGE);
            }
            // Only complete strings were added, so this check never fails. It is cheap.
            draft.body = std::str::from_utf8(body).map_err(serde::de::Error::custom)?.into();
            Ok(draft)
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<NewDocument, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(NewDocument::of_another_kind())
    }

    fn visit_bool<E>(self, _: bool) -> Result<NewDocument, E> {
        Ok(NewDocument::of_another_kind())
    }

    fn visit_i64<E>(self, _: i64) -> Result<NewDocument, E> {
        Ok(NewDocument::of_another_kind())
    }

    fn visit_u64<E>(self, _: u64) -> Result<NewDocument, E> {
        Ok(NewDocument::of_another_kind())
    }

    fn visit_f64<E>(self, _: f64) -> Result<NewDocument, E> {
        Ok(NewDocument::of_another_kind())
    }

    fn visit_str<E>(self, _: &str) -> Result<NewDocument, E> {
        Ok(NewDocument::of_another_kind())
    }

    fn visit_unit<E>(self) -> Result<NewDocument, E> {
        Ok(NewDocument::of_another_kind())
    }
}

/// A member's name, borrowed unless it has escapes.
struct Name<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(NameVisitor)
    }
}

struct NameVisitor;

impl<'de> Visitor<'de> for NameVisitor {
    type Value = Name<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a member's name")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Name<'de>, E> {
        Ok(Name(Cow::Borrowed(name)))
    }

    fn visit_str<E>(self, name: &str) -> Result<Name<'de>, E> {
        Ok(Name(Cow::Owned(name.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_members_leave_the_rest_as_sent() {
        let sent =
            br#" {"_id":"a\u0062","x": [1, {"_id":2}],"_rev":"3-aa","y\n":1.50,"_deleted":true} "#;
        let draft = NewDocument::parse(sent).unwrap();
        assert_eq!(draft.id.as_deref(), Some("ab"));
        assert_eq!(draft.rev, Rev::parse("3-aa"));
        assert!(draft.deleted);
        assert_eq!(&*draft.body, r#""x":[1, {"_id":2}],"y\n":1.50"#);
    }

    #[test]
    fn each_fault_has_its_refusal() {
        let cases: [(&[u8], Refusal); 9] = [
            (b"{", Refusal::INVALID_JSON),
            (b"{\"a\":\"\xff\"}", Refusal::INVALID_JSON),
            (b"{} x", Refusal::INVALID_JSON),
            (b"[1]", Refusal::NOT_AN_OBJECT),
            (b"\"x\"", Refusal::NOT_AN_OBJECT),
            (br#"{"_id":1}"#, Refusal::ID_NOT_A_STRING),
            (br#"{"_rev":"x"}"#, Refusal::BAD_REVISION),
            (br#"{"_foo":1}"#, Refusal::BAD_MEMBER),
            (br#"{"_attachments":{"a":{}}}"#, Refusal::NO_ATTACHMENTS),
        ];
        for (bytes, refusal) in cases {
            assert_eq!(NewDocument::parse(bytes).unwrap_err(), refusal, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn a_document_over_the_limit_is_refused() {
        let sent = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_DOCUMENT_BYTES));
        assert_eq!(NewDocument::parse(sent.as_bytes()).unwrap_err(), Refusal::DOCUMENT_TOO_LARGE);
    }
}
