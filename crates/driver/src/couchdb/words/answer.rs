//! Counts the rows of an answer, and refuses one that is cut short.

use crate::op::Failure;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::couchdb) struct Counted {
    /// Rows, or documents.
    pub(in crate::couchdb) rows: u64,
    pub(in crate::couchdb) warned: bool,
}

impl Counted {
    /// This many rows, without a warning.
    pub(super) const fn of(rows: u64) -> Self {
        Self { rows, warned: false }
    }
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

/// A row, which may be an error.
#[derive(Deserialize)]
struct ErrorRow<'a> {
    #[serde(borrow, default)]
    error: Option<Cow<'a, str>>,
}

/// Counts the rows, except those for documents that do not exist.
///
/// # Errors
/// Fails with the meaning of the first other error in a row.
fn without_missing(rows: &[ErrorRow<'_>]) -> Result<Counted, Failure> {
    let mut found = 0;
    for row in rows {
        match row.error.as_deref() {
            None => found += 1,
            Some("not_found") => {}
            Some("conflict") => return Err(Failure::Conflict),
            Some(_) => return Err(Failure::ServerError),
        }
    }
    Ok(Counted::of(found))
}

/// Parses a complete answer.
///
/// # Errors
/// [`Failure::Protocol`] if it is truncated, or has another form.
fn parsed<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Failure> {
    serde_json::from_slice(body).map_err(|_| Failure::Protocol)
}

/// Counts the rows of a list of documents, except those for documents that do not exist.
///
/// # Errors
/// As [`count`].
pub(super) fn listed(body: &[u8]) -> Result<Counted, Failure> {
    #[derive(Deserialize)]
    struct ListedRows<'a> {
        #[serde(borrow)]
        rows: Vec<ErrorRow<'a>>,
        #[serde(default)]
        error: Option<IgnoredAny>,
    }
    let list: ListedRows<'_> = parsed(body)?;
    if list.error.is_some() { Err(Failure::ServerError) } else { without_missing(&list.rows) }
}

/// Counts the documents in an answer to `_bulk_get`, except those that do not exist.
///
/// # Errors
/// As [`count`].
pub(super) fn fetched(body: &[u8]) -> Result<Counted, Failure> {
    #[derive(Deserialize)]
    struct FetchedResults<'a> {
        #[serde(borrow)]
        results: Vec<FetchedDocs<'a>>,
    }
    #[derive(Deserialize)]
    struct FetchedDocs<'a> {
        #[serde(borrow)]
        docs: Vec<FetchedDoc<'a>>,
    }
    #[derive(Deserialize)]
    struct FetchedDoc<'a> {
        #[serde(borrow, default)]
        error: Option<ErrorRow<'a>>,
    }
    let fetched: FetchedResults<'_> = parsed(body)?;
    let documents = fetched.results.into_iter().flat_map(|asked| asked.docs);
    let rows: Vec<_> = documents.map(|it| it.error.unwrap_or(ErrorRow { error: None })).collect();
    without_missing(&rows)
}

/// Whether a document is among the rows of an answer.
pub(in crate::couchdb) fn lists(body: &[u8], id: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct RowsOrDocs<'a> {
        #[serde(borrow, default)]
        rows: Vec<OfRow<'a>>,
        #[serde(borrow, default)]
        docs: Vec<OfDocument<'a>>,
    }
    #[derive(Deserialize)]
    struct OfRow<'a> {
        #[serde(borrow, default)]
        id: Cow<'a, str>,
    }
    #[derive(Deserialize)]
    struct OfDocument<'a> {
        #[serde(borrow, rename = "_id")]
        id: Cow<'a, str>,
    }
    serde_json::from_slice::<RowsOrDocs<'_>>(body).is_ok_and(|RowsOrDocs { rows, docs }| {
        let mut ids = rows.iter().map(|row| &row.id).chain(docs.iter().map(|it| &it.id));
        ids.any(|it| it.as_bytes() == id)
    })
}

/// Counts a document, or the revisions of one.
///
/// # Errors
/// As [`count`].
pub(super) fn documents(body: &[u8]) -> Result<Counted, Failure> {
    let any = any(body)?;
    let is_one = body.trim_ascii_start().starts_with(b"{");
    Ok(Counted { rows: if is_one { 1 } else { any.rows }, ..any })
}

/// Counts the conflicting revisions of a document, including the winning one.
///
/// # Errors
/// As [`count`].
pub(super) fn leaves(body: &[u8]) -> Result<Counted, Failure> {
    Ok(Counted::of(1 + object(body, "_conflicts")?.rows.unwrap_or(0)))
}

/// Counts the documents stored, according to the answer to a write of one or several documents.
///
/// # Errors
/// As [`count`], and [`Failure::Conflict`].
pub(super) fn stored(body: &[u8]) -> Result<Counted, Failure> {
    if body.trim_ascii_start().starts_with(b"[") {
        return without_missing(&parsed::<Vec<ErrorRow<'_>>>(body)?);
    }
    object(body, "")?;
    Ok(Counted::of(1))
}

/// Counts the revisions that were purged.
///
/// # Errors
/// As [`count`].
pub(super) fn purged(body: &[u8]) -> Result<Counted, Failure> {
    #[derive(Deserialize)]
    struct Purged {
        purged: BTreeMap<String, Vec<IgnoredAny>>,
    }
    let purged: Purged = parsed(body)?;
    Ok(Counted::of(purged.purged.values().map(|revisions| revisions.len() as u64).sum()))
}

/// Counts the rows of any answer that has rows.
///
/// # Errors
/// [`Failure::Protocol`] if it begins as JSON but is not complete.
pub(in crate::couchdb) fn any(body: &[u8]) -> Result<Counted, Failure> {
    let parsed = |_| Failure::Protocol;
    match body.trim_ascii_start().first() {
        Some(b'{') => {
            let found = object(body, "")?;
            Ok(found.with(found.rows.unwrap_or(0)))
        }
        Some(b'[') => {
            let mut reader = serde_json::Deserializer::from_slice(body);
            let rows = ElementCount.deserialize(&mut reader).map_err(parsed)?;
            reader.end().map_err(parsed)?;
            Ok(Counted { rows: rows.unwrap_or(0), warned: false })
        }
        _ => Ok(Counted::default()),
    }
}

#[derive(Default)]
struct FoundMembers {
    rows: Option<u64>,
    warned: bool,
    failed: bool,
}

impl FoundMembers {
    const fn with(&self, rows: u64) -> Counted {
        Counted { rows, warned: self.warned }
    }
}

fn object(body: &[u8], rows: &str) -> Result<FoundMembers, Failure> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let found = reader.deserialize_map(Object(rows)).map_err(|_| Failure::Protocol)?;
    reader.end().map_err(|_| Failure::Protocol)?;
    Ok(found)
}

/// Searches an object for this member or, without a name, for any member that holds rows.
struct Object<'n>(&'n str);

/// The role of a member.
enum MemberRole {
    Rows,
    Warning,
    Error,
    Other,
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = FoundMembers;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<FoundMembers, A::Error> {
        let mut found = FoundMembers::default();
        while let Some(member) = members.next_key_seed(Name(self.0))? {
            match member {
                MemberRole::Rows => found.rows = members.next_value_seed(ElementCount)?,
                member => {
                    found.warned |= matches!(member, MemberRole::Warning);
                    found.failed |= matches!(member, MemberRole::Error);
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }
}

struct Name<'n>(&'n str);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = MemberRole;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<MemberRole, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = MemberRole;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<MemberRole, E> {
        Ok(match text {
            _ if text == self.0 => MemberRole::Rows,
            "rows" | "docs" | "results" if self.0.is_empty() => MemberRole::Rows,
            "warning" => MemberRole::Warning,
            "error" | "errors" => MemberRole::Error,
            _ => MemberRole::Other,
        })
    }
}

/// The number of elements; `None` if it is not an array.
struct ElementCount;

impl<'de> DeserializeSeed<'de> for ElementCount {
    type Value = Option<u64>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Option<u64>, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ElementCount {
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
        let counted = Counted { rows: 2, warned: false };
        assert_eq!(count(body.as_bytes(), "rows"), Ok(counted));
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

    /// An answer whose rows are no list has none, and is no answer where there must be some.
    #[test]
    fn what_is_no_list_has_no_rows() {
        for value in ["{}", "{\"a\":[1,2]}", "null", "true", "-1", "17", "1.5", "\"none\""] {
            let body = format!("{{\"rows\":{value},\"warning\":\"x\"}}");
            assert_eq!(count(body.as_bytes(), "rows"), Err(Failure::Protocol), "{value}");
            let none = Counted { rows: 0, warned: true };
            assert_eq!(any(body.as_bytes()), Ok(none), "{value}");
        }
    }

    #[test]
    fn what_is_not_there_is_no_row_and_what_failed_is_no_answer() {
        let rows = |it: Result<Counted, Failure>| it.map(|it| it.rows);
        let list = br#"{"rows":[{"id":"a","error":"not_found"},{"id":"b","doc":{"error":1}}]}"#;
        assert_eq!(rows(listed(list)), Ok(1));
        assert_eq!(rows(listed(br#"{"rows":[{"error":"x"}]}"#)), Err(Failure::ServerError));
        assert_eq!(rows(listed(br#"{"rows":[],"error":"x"}"#)), Err(Failure::ServerError));
        let of = |error: &str| {
            let missing =
                format!(r#"{{"error":{{"id":"a","rev":"undefined","error":"{error}"}}}}"#);
            format!(r#"{{"results":[{{"id":"a","docs":[{missing}]}},{{"docs":[{{"ok":{{}}}}]}}]}}"#)
        };
        assert_eq!(rows(fetched(of("not_found").as_bytes())), Ok(1));
        let failed = fetched(of("internal_fabric_error").as_bytes());
        assert_eq!(rows(failed), Err(Failure::ServerError));
        assert_eq!(rows(fetched(b"{\"results\":[{\"docs\":[{")), Err(Failure::Protocol));
    }

    #[test]
    fn writes_are_counted_unless_one_has_failed() {
        let rows = |it: Result<Counted, Failure>| it.map(|it| it.rows);
        assert_eq!(rows(stored(b"[]")), Ok(0));
        assert_eq!(rows(stored(br#"{"ok":true,"id":"a","rev":"1-a"}"#)), Ok(1));
        assert_eq!(rows(stored(br#"[{"ok":true,"id":"a"},{"ok":true}]"#)), Ok(2));
        let refused = br#"[{"ok":true},{"id":"a","error":"conflict"}]"#;
        assert_eq!(rows(stored(refused)), Err(Failure::Conflict));
        assert_eq!(rows(leaves(br#"{"_id":"a","_conflicts":["1-a","1-b"]}"#)), Ok(3));
        assert_eq!(rows(leaves(br#"{"_id":"a"}"#)), Ok(1));
        assert_eq!(rows(purged(br#"{"purge_seq":null,"purged":{"a":["1-a"],"b":[]}}"#)), Ok(1));
        assert_eq!(rows(documents(br#"[{"ok":{}},{"ok":{}}]"#)), Ok(2));
        assert_eq!(rows(documents(br#"{"_id":"a","docs":[1,2]}"#)), Ok(1));
    }

    #[test]
    fn a_document_is_among_the_rows_or_it_is_not() {
        let rows =
            br#"{"total_rows":9,"rows":[{"id":"a","key":"b"},{"id":"c","value":{"id":"d"}}]}"#;
        let docs = br#"{"docs":[{"_id":"a","id":1},{"_id":"c"}],"bookmark":"nil"}"#;
        for body in [&rows[..], docs] {
            assert!(lists(body, b"a") && lists(body, b"c"));
            assert!(!lists(body, b"b") && !lists(body, b"d") && !lists(body, b""));
        }
        assert!(!lists(b"{\"rows\":[{\"id\":\"a\"}", b"a"), "it is cut short");
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
