//! Counts the rows of an answer, and refuses one that is cut short.

use crate::op::Failure;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// What an answer has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::couchdb) struct Counted {
    /// Rows, or documents.
    pub(in crate::couchdb) rows: u64,
    /// Whether the server added a warning.
    pub(in crate::couchdb) warned: bool,
}

/// Counts the elements of the member `rows` of an object.
///
/// # Errors
/// [`Failure::Protocol`] if it is not a whole object with that member; [`Failure::ServerError`] if
/// it reports an error instead of some of them.
pub(super) fn count(body: &[u8], rows: &str) -> Result<Counted, Failure> {
    let found = object(body, rows)?;
    let counted = found.rows.ok_or(Failure::Protocol);
    if found.failed { Err(Failure::ServerError) } else { counted.map(|rows| found.with(rows)) }
}

/// Counts the rows of any answer that has some.
///
/// # Errors
/// [`Failure::Protocol`] if it begins as JSON and is not whole.
pub(in crate::couchdb) fn any(body: &[u8]) -> Result<Counted, Failure> {
    let parsed = |_| Failure::Protocol;
    match body.trim_ascii_start().first() {
        Some(b'{') => {
            let found = object(body, "")?;
            Ok(found.with(found.rows.unwrap_or(0)))
        }
        Some(b'[') => {
            let mut reader = serde_json::Deserializer::from_slice(body);
            let rows = Elements.deserialize(&mut reader).map_err(parsed)?;
            reader.end().map_err(parsed)?;
            Ok(Counted { rows: rows.unwrap_or(0), warned: false })
        }
        _ => Ok(Counted::default()),
    }
}

/// What an object has.
#[derive(Default)]
struct Found {
    rows: Option<u64>,
    warned: bool,
    failed: bool,
}

impl Found {
    const fn with(&self, rows: u64) -> Counted {
        Counted { rows, warned: self.warned }
    }
}

fn object(body: &[u8], rows: &str) -> Result<Found, Failure> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let found = reader.deserialize_map(Object(rows)).map_err(|_| Failure::Protocol)?;
    reader.end().map_err(|_| Failure::Protocol)?;
    Ok(found)
}

/// Looks through an object for this member; without a name, for any that has rows.
struct Object<'n>(&'n str);

/// What a member is.
enum Member {
    Rows,
    Warning,
    Error,
    Other,
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = Found;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Found, A::Error> {
        let mut found = Found::default();
        while let Some(member) = members.next_key_seed(Name(self.0))? {
            match member {
                Member::Rows => found.rows = members.next_value_seed(Elements)?,
                member => {
                    found.warned |= matches!(member, Member::Warning);
                    found.failed |= matches!(member, Member::Error);
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }
}

/// The name of a member.
struct Name<'n>(&'n str);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Member;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Member, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Member;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Member, E> {
        Ok(match text {
            _ if text == self.0 => Member::Rows,
            "rows" | "docs" | "results" if self.0.is_empty() => Member::Rows,
            "warning" => Member::Warning,
            "error" | "errors" => Member::Error,
            _ => Member::Other,
        })
    }
}

/// The number of elements; `None` if it is not an array.
struct Elements;

impl<'de> DeserializeSeed<'de> for Elements {
    type Value = Option<u64>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Option<u64>, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Elements {
    type Value = Option<u64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Option<u64>, A::Error> {
        let mut count = 0;
        while elements.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(Some(count))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Option<u64>, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Option<u64>, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Option<u64>, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Option<u64>, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Option<u64>, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Option<u64>, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Option<u64>, E> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_only_if_the_answer_is_whole() {
        let body = "{\"total_rows\":9,\"rows\":[{\"id\":\"a\",\"value\":[1,2]},null]}\n";
        let told = Counted { rows: 2, warned: false };
        assert_eq!(count(body.as_bytes(), "rows"), Ok(told));
        for end in 0..body.len() - 2 {
            assert_eq!(count(&body.as_bytes()[..end], "rows"), Err(Failure::Protocol), "{end}");
        }
        assert_eq!(count(body.as_bytes(), "docs"), Err(Failure::Protocol), "of another request");
        assert_eq!(count(format!("{body}{{}}").as_bytes(), "rows"), Err(Failure::Protocol));
        let broken = b"{\"rows\":[1],\"error\":\"timeout\",\"reason\":\"x\"}";
        assert_eq!(count(broken, "rows"), Err(Failure::ServerError));
        assert_eq!(count(b"{\"rows\":17}", "rows"), Err(Failure::Protocol));
        let warned = b"{\"docs\":[],\r\n\"bookmark\": \"nil\",\"warning\":\"No matching index\"}";
        assert_eq!(count(warned, "docs"), Ok(Counted { rows: 0, warned: true }));
    }

    #[test]
    fn any_answer_is_counted_that_has_rows() {
        let rows = |body: &str| any(body.as_bytes()).map(|it| it.rows);
        assert_eq!(rows("{\"results\":[1,2,3],\"last_seq\":3}"), Ok(3));
        assert_eq!(rows("[{\"ok\":{}},{}]\n"), Ok(2));
        assert_eq!(rows("{\"error\":\"not_found\"}"), Ok(0), "the status says that");
        assert_eq!((rows("text"), rows("")), (Ok(0), Ok(0)));
        assert_eq!(rows("{\"rows\":\"none\"}"), Ok(0));
        assert_eq!(rows("[1,"), Err(Failure::Protocol));
        assert_eq!(rows("{\"a\":"), Err(Failure::Protocol));
    }
}
