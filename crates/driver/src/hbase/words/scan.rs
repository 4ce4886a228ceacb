//! A range of rows.

use super::joined;
use crate::hbase::HBasePen;
use crate::values::{Holes, Pieces};
use crate::words::{OperationPlan, Word, Wrong, malformed};
use prost::bytes::Bytes;
use serde_json::{Map, Value};

const EXAMPLE: &str = "from={{key}}&limit=20";

pub(super) const WORD: Word = Word {
    name: "scan",
    help: "Rows in the order of their keys: from and to, both included, or those that begin with \
           prefix; at most limit, or 100; with columns=a,b those that have one of these columns, \
           and with column_prefix those with a column that begins so",
    example: EXAMPLE,
};

/// The number of rows of a scan without a limit.
const LIMIT: u32 = 100;
/// The highest limit.
const MOST: u32 = 1_000_000;

/// A scan, cut into pieces.
#[derive(Clone, Debug)]
pub(in crate::hbase) struct SpelledScan {
    from: Pieces,
    to: Option<Pieces>,
    prefix: Option<Pieces>,
    limit: u32,
    columns: Vec<Pieces>,
    column_prefix: Option<Pieces>,
    pub(super) holes: Holes,
}

/// The rows that a scan requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::hbase) struct Range {
    pub(in crate::hbase) from: Bytes,
    /// Where it ends, if not at the end of the table.
    pub(in crate::hbase) stop: Option<Bytes>,
    pub(in crate::hbase) includes_stop: bool,
    pub(in crate::hbase) limit: u32,
    /// The columns that are read; empty means all.
    pub(in crate::hbase) columns: Vec<Bytes>,
    /// The prefix of the columns that are read.
    pub(in crate::hbase) column_prefix: Option<Bytes>,
}

impl Range {
    pub(in crate::hbase) fn has_column(&self, name: &[u8]) -> bool {
        (self.columns.is_empty() || self.columns.iter().any(|column| *column == name))
            && self.column_prefix.as_ref().is_none_or(|prefix| name.starts_with(prefix))
    }
}

pub(super) fn spell(operation: &OperationPlan) -> Result<SpelledScan, Wrong> {
    let wrong = |problem: String| (problem, format!("write it like {EXAMPLE}"));
    let mut given = Map::new();
    for part in operation.text(EXAMPLE)?.split('&').filter(|part| !part.is_empty()) {
        let (name, value) =
            part.split_once('=').ok_or_else(|| wrong(format!("{part:?} has no value")))?;
        given.insert(name.to_owned(), value.into());
    }
    given.extend(operation.params.clone());
    OperationPlan { params: Map::new(), ..operation.clone() }.only_rows()?;
    let limit = given.remove("limit").map_or(Ok(LIMIT), |limit| {
        let number = limit.as_u64().or_else(|| limit.as_str()?.parse().ok());
        let number = number.and_then(|number| u32::try_from(number).ok());
        let number = number.filter(|number| (1..=MOST).contains(number));
        number.ok_or_else(|| wrong(format!("limit is not a number from 1 to {MOST}")))
    })?;
    let mut holes = Holes::default();
    let mut cut = |text: &str| {
        let mut pieces = Pieces::default();
        pieces.raw(text, &mut holes).map_err(|error| malformed(&error))?;
        Ok::<_, Wrong>(pieces)
    };
    let columns = given.remove("columns").map_or(Ok(Vec::new()), |value| names(&value))?;
    let columns = columns.iter().map(|name| cut(name)).collect::<Result<_, _>>()?;
    let mut pieces = |name: &str| {
        let Some(value) = given.remove(name) else { return Ok(None) };
        let text = value.as_str().ok_or_else(|| wrong(format!("{name} is not a text")))?;
        cut(text).map(Some)
    };
    let (from, to, prefix) = (pieces("from")?, pieces("to")?, pieces("prefix")?);
    let column_prefix = pieces("column_prefix")?;
    if let Some(name) = given.keys().next() {
        return Err(wrong(format!("there is no parameter {name:?}")));
    }
    if prefix.is_some() && (from.is_some() || to.is_some()) {
        return Err(("a prefix is a range of its own".to_owned(), "leave from and to out".into()));
    }
    let from = from.unwrap_or_default();
    Ok(SpelledScan { from, to, prefix, limit, columns, column_prefix, holes })
}

/// The names in a list, or in a text with commas between them.
fn names(value: &Value) -> Result<Vec<String>, Wrong> {
    let names: Option<Vec<_>> = match value {
        Value::String(text) => Some(text.split(',').map(str::to_owned).collect()),
        Value::Array(names) => names.iter().map(|it| it.as_str().map(str::to_owned)).collect(),
        _ => None,
    };
    names.filter(|names| !names.is_empty() && !names.iter().any(String::is_empty)).ok_or_else(
        || {
            let cure = "write it like columns=name,city, without the column family".to_owned();
            ("columns are not names with commas between".to_owned(), cure)
        },
    )
}

impl SpelledScan {
    /// The rows requested by the operation in a pen.
    pub(in crate::hbase) fn range(&self, pen: &HBasePen) -> Range {
        let join = |pieces: &Pieces| joined(pieces, &pen.values);
        let whole = Range {
            limit: self.limit,
            columns: self.columns.iter().map(join).collect(),
            column_prefix: self.column_prefix.as_ref().map(join),
            ..Range::default()
        };
        let Some(prefix) = &self.prefix else {
            let stop = self.to.as_ref().map(join);
            return Range { from: join(&self.from), stop, includes_stop: true, ..whole };
        };
        let from = join(prefix);
        Range { stop: after(&from).map(Bytes::from), from, includes_stop: false, ..whole }
    }
}

/// The first possible row after all that begin with `prefix`; `None` if there is none.
fn after(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut after = prefix[..=last].to_vec();
    after[last] += 1;
    Some(after)
}

#[cfg(test)]
mod tests {
    use super::super::{SpelledOperation, spell};
    use super::*;
    use crate::op::Pen as _;

    fn range(text: &str) -> Result<Range, String> {
        let plan = OperationPlan::parse(&format!("hbase-spelled={text}")).unwrap();
        let spelled = spell(&plan).map_err(|mistake| mistake.to_string())?;
        let SpelledOperation::Scan(scan) = spelled else { panic!("{spelled:?}") };
        let mut pen = HBasePen::new(b"f"[..].into());
        scan.holes.0.iter().for_each(|_| {
            pen.value(|out| {
                out.extend_from_slice(b"user1");
                true
            });
        });
        Ok(scan.range(&pen))
    }

    #[test]
    fn a_range_has_its_end_or_that_of_its_prefix() {
        let wanted = |from: &[u8], stop: Option<&[u8]>, includes_stop, limit| Range {
            from: Bytes::copy_from_slice(from),
            stop: stop.map(Bytes::copy_from_slice),
            includes_stop,
            limit,
            ..Range::default()
        };
        for (text, range_of) in [
            ("scan from={{key}}&limit=20", wanted(b"user1", None, true, 20)),
            ("scan", wanted(b"", None, true, 100)),
            ("scan from=a&to={{key}}", wanted(b"a", Some(b"user1"), true, 100)),
            ("scan prefix={{key}}", wanted(b"user1", Some(b"user2"), false, 100)),
            (
                r#"{"scan":"","params":{"limit":5,"prefix":"b"}}"#,
                wanted(b"b", Some(b"c"), false, 5),
            ),
        ] {
            assert_eq!(range(text), Ok(range_of), "{text}");
        }
        for (text, columns, column_prefix) in [
            ("scan columns=a,{{key}}", vec!["a", "user1"], None),
            (r#"{"scan":"","params":{"columns":["a,b"]}}"#, vec!["a,b"], None),
            ("scan column_prefix=tag:&columns=a", vec!["a"], Some("tag:")),
        ] {
            let bytes = |text: &str| Bytes::copy_from_slice(text.as_bytes());
            let range = range(text).unwrap();
            assert_eq!(range.columns, columns.into_iter().map(bytes).collect::<Vec<_>>(), "{text}");
            assert_eq!(range.column_prefix, column_prefix.map(bytes), "{text}");
        }
        assert_eq!(after(b"a\xff"), Some(b"b".to_vec()));
        assert_eq!(after(b"\xff"), None);
    }

    #[test]
    fn a_column_is_one_that_was_asked_for() {
        let all = Range::default();
        let named = Range { columns: vec![Bytes::from_static(b"a")], ..Range::default() };
        let begins = Range { column_prefix: Some(Bytes::from_static(b"a")), ..Range::default() };
        for (name, is_named, has_prefix) in
            [("a", true, true), ("ab", false, true), ("b", false, false)]
        {
            assert!(all.has_column(name.as_bytes()));
            assert_eq!(named.has_column(name.as_bytes()), is_named, "{name}");
            assert_eq!(begins.has_column(name.as_bytes()), has_prefix, "{name}");
        }
    }

    #[test]
    fn what_is_no_scan_is_refused_in_words() {
        for (text, says) in [
            ("scan limit=0", "limit is not a number from 1 to"),
            ("scan from", "\"from\" has no value; write it like from={{key}}"),
            ("scan form=a", "there is no parameter \"form\""),
            ("scan prefix=a&from=b", "a prefix is a range of its own; leave from and to out"),
            ("get a", "\"get\" is not a word of HBase; give one of multi_get, scan"),
            ("scan columns=a,,b", "columns are not names with commas between; write it like"),
            ("scan columns=", "columns are not names"),
            (r#"{"scan":"","params":{"columns":[1]}}"#, "columns are not names"),
            (r#"{"scan":"","params":{"column_prefix":1}}"#, "column_prefix is not a text"),
            (r#"{"scan":"","expect":{"status":200}}"#, "there is no status"),
        ] {
            let message = range(text).unwrap_err();
            assert!(message.contains(says), "{text}: {message}");
        }
    }
}
