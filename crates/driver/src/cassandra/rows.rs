//! Rows as documents, and as numbers.

use super::answer::{CqlColumn, CqlRows, Row, checked, malformed};
use super::cql::Table;
use super::frame::Framing;
use super::reader::Reader;
use crate::call::CallError;
use crate::json::quote;
use crate::library::Scanned;
use crate::op::Failure;
use crate::pipe::Protocol as _;
use std::rc::Rc;

/// The member with a document's identifier. Like all names that are the database's own, it begins
/// with an underscore.
const ID: &str = "_id";
/// The column that an answer to a conditional statement has.
const APPLIED: &str = "[applied]";

/// The names of the columns. Where whole rows are read, the key becomes the document's identifier:
/// it is not a member of what was written.
pub(super) fn names<'a>(columns: &'a [CqlColumn], table: &Table, whole: bool) -> Vec<&'a str> {
    let name = |it: &'a CqlColumn| if whole && table.is_key(&it.name) { ID } else { &it.name };
    columns.iter().map(name).collect()
}

/// The first row.
///
/// # Errors
/// Fails if the answer is cut short.
pub(super) fn first<'a>(rows: &CqlRows<'a>) -> Result<Row<'a>, CallError> {
    rows.next(&mut Reader(rows.bytes)).ok_or_else(malformed)
}

/// Checks that rows have these columns, with all of their values.
///
/// # Errors
/// Fails if they do not.
pub(super) fn has(rows: &CqlRows<'_>, columns: &[CqlColumn]) -> Result<(), CallError> {
    if rows.width() == columns.len() {
        return if rows.are_whole() { Ok(()) } else { Err(malformed()) };
    }
    let reason = "the table has other columns than when the statement was prepared";
    Err(CallError::new(Failure::Protocol, reason))
}

/// Whether a row has this key, if its key was read.
pub(super) fn is_of(key: &[u8], names: &[&str], row: &Row<'_>) -> bool {
    let at = names.iter().position(|name| *name == ID);
    at.is_none_or(|at| row[at] == Some(key))
}

/// Appends a row as a JSON object. Columns without a value are left out. `None` if a value is not
/// of its type.
pub(super) fn write(
    names: &[&str],
    columns: &[CqlColumn],
    row: &Row<'_>,
    out: &mut Vec<u8>,
) -> Option<()> {
    let begin = out.len();
    out.push(b'{');
    for ((name, column), value) in names.iter().zip(columns).zip(row) {
        let Some(value) = value else { continue };
        if out.len() > begin + 1 {
            out.push(b',');
        }
        quote(name, out);
        out.push(b':');
        column.of.spell(value, out)?;
    }
    out.push(b'}');
    Some(())
}

/// How many rows were found; none for a write. A write whose condition did not hold is a conflict:
/// the server then returns what is stored instead.
pub(super) fn counted(rows: &CqlRows<'_>, prepared: &[CqlColumn]) -> Result<u64, CallError> {
    let columns = rows.columns.as_deref().unwrap_or(prepared);
    if columns.first().is_none_or(|it| it.name != APPLIED) {
        has(rows, columns)?;
        return Ok(u64::from(rows.count));
    }
    let row = rows.next(&mut Reader(rows.bytes)).ok_or_else(malformed)?;
    match row.first() {
        Some(Some([1])) => Ok(0),
        _ => Err(CallError::new(Failure::Conflict, "the condition of the statement did not hold")),
    }
}

/// The rows in the answer at the beginning of `bytes`, as JSON objects; `None` if that is not an
/// answer, or a row has a value that is not of its type. For fuzzing.
pub fn of_bytes(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let length = Framing.step(bytes, bytes.len()).ok()??;
    let Ok(Some(rows)) = checked(&bytes[..length]) else { return None };
    let columns = rows.columns.clone()?;
    let names: Vec<_> = columns.iter().map(|it| it.name.as_str()).collect();
    let spelled = |row: Row<'_>| {
        let mut out = Vec::new();
        write(&names, &columns, &row, &mut out).map(|()| out)
    };
    rows.all()?.into_iter().map(spelled).collect()
}

/// The rows of some answers as JSON objects, formatted on demand.
pub(super) fn spelled_later(
    pages: Vec<Vec<u8>>,
    columns: Rc<[CqlColumn]>,
    table: &Table,
    whole: bool,
) -> Scanned {
    let names: Vec<_> = names(&columns, table, whole).into_iter().map(str::to_owned).collect();
    Box::new(move || {
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let mut out = Vec::new();
        for page in &pages {
            let Ok(Some(rows)) = checked(page) else { continue };
            for row in rows.all().unwrap_or_default() {
                let mut document = Vec::new();
                let own = rows.columns.as_deref().unwrap_or(&columns);
                if write(&names, own, &row, &mut document).is_some() {
                    out.push(document);
                }
            }
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::super::types::Type;
    use super::*;

    fn column(name: &str, of: Type) -> CqlColumn {
        CqlColumn { name: name.to_owned(), of }
    }

    #[test]
    fn rows_are_json_objects_without_what_is_null_and_have_their_keys() {
        let columns = [
            column("y_id", Type::Text),
            column("a", Type::Text),
            column("b", Type::Blob),
            column("c", Type::BigInt),
            column("d", Type::List(Box::new(Type::Int))),
        ];
        let table = Table::new("k", "t", "y_id", Vec::new());
        let names = names(&columns, &table, true);
        let list = [&[0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 1][..]].concat();
        let row: Row<'_> =
            vec![Some(b"k\""), None, Some(b"x{"), Some(&[0, 0, 0, 0, 0, 0, 0, 7]), Some(&list)];
        let mut out = Vec::new();
        assert_eq!(write(&names, &columns, &row, &mut out), Some(()));
        assert!(is_of(b"k\"", &names, &row) && !is_of(b"k", &names, &row));
        assert!(is_of(b"k", &names[1..], &row[1..].to_vec()), "its key was not read");
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, r#"{"_id":"k\"","b":"x{","c":7,"d":[1]}"#);
        let short: Row<'_> = vec![None, None, None, Some(&[7])];
        assert_eq!(write(&names, &columns, &short, &mut Vec::new()), None);
    }
}
