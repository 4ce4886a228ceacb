//! HBase's own word for the operations of a plan: a range of rows.

use super::HBasePen;
use crate::mistake::Invalid;
use crate::values::{Holes, Pieces};
use crate::words::{self, OperationPlan, Word, Wrong, flag_of, malformed, word_of};
use prost::bytes::Bytes;
use serde_json::Map;

const EXAMPLE: &str = "from={{key}}&limit=20";

/// What the driver's card says about it.
pub(super) const CARDS: &[Word] = &[Word {
    name: "scan",
    help: "Rows in the order of their keys: from and to, both included, or those that begin with \
           prefix; at most limit, or 100",
    example: EXAMPLE,
}];

/// The rows of a scan without a limit.
const LIMIT: u32 = 100;
/// The most that can be asked for.
const MOST: u32 = 1_000_000;

/// A scan, cut into pieces.
#[derive(Clone, Debug)]
pub(super) struct Spelled {
    from: Pieces,
    to: Option<Pieces>,
    prefix: Option<Pieces>,
    limit: u32,
    /// The values that it needs.
    pub(super) holes: Holes,
}

/// The rows that a scan asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) from: Bytes,
    /// Where it ends, if not at the end of the table.
    pub(super) stop: Option<Bytes>,
    /// Whether the row there belongs to it.
    pub(super) includes_stop: bool,
    /// How many of them.
    pub(super) limit: u32,
}

/// The scans of a plan.
pub(super) type Own = words::Own<Spelled>;

/// The scan of an operation.
///
/// # Errors
/// What is wrong with it.
pub(super) fn spell(operation: &OperationPlan) -> Result<Spelled, Invalid> {
    let word = word_of(operation, CARDS, "HBase")?;
    scan(operation).map_err(|(problem, cure)| {
        let flag = flag_of(operation.name.name());
        Invalid::new(flag, format!("{}: {problem}", word.name), cure)
    })
}

fn scan(operation: &OperationPlan) -> Result<Spelled, Wrong> {
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
    let mut pieces = |name: &str| {
        let Some(value) = given.remove(name) else { return Ok(None) };
        let text = value.as_str().ok_or_else(|| wrong(format!("{name} is not a text")))?;
        let mut pieces = Pieces::default();
        pieces.raw(text, &mut holes).map_err(|error| malformed(&error))?;
        Ok::<_, Wrong>(Some(pieces))
    };
    let (from, to, prefix) = (pieces("from")?, pieces("to")?, pieces("prefix")?);
    if let Some(name) = given.keys().next() {
        return Err(wrong(format!("there is no parameter {name:?}")));
    }
    if prefix.is_some() && (from.is_some() || to.is_some()) {
        return Err(("a prefix is a range of its own".to_owned(), "leave from and to out".into()));
    }
    Ok(Spelled { from: from.unwrap_or_default(), to, prefix, limit, holes })
}

impl Spelled {
    /// The rows that the operation in a pen asks for.
    pub(super) fn range(&self, pen: &HBasePen) -> Range {
        let join = |pieces: &Pieces| {
            let (mut out, mut scratch) = (Vec::new(), Vec::new());
            pieces.join(&pen.values, &mut scratch, &mut out);
            out
        };
        let limit = self.limit;
        let Some(prefix) = &self.prefix else {
            let stop = self.to.as_ref().map(|to| join(to).into());
            return Range { from: join(&self.from).into(), stop, includes_stop: true, limit };
        };
        let from = join(prefix);
        Range {
            stop: after(&from).map(Bytes::from),
            from: from.into(),
            includes_stop: false,
            limit,
        }
    }
}

/// The first row after all that begin with `prefix`; `None`: there is none.
fn after(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut after = prefix[..=last].to_vec();
    after[last] += 1;
    Some(after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Pen as _;

    fn range(text: &str) -> Result<Range, String> {
        let plan = OperationPlan::parse(&format!("hbase-spelled={text}")).unwrap();
        let spelled = spell(&plan).map_err(|mistake| mistake.to_string())?;
        let mut pen = HBasePen::new(b"f"[..].into());
        spelled.holes.0.iter().for_each(|_| {
            pen.value(|out| {
                out.extend_from_slice(b"user1");
                true
            });
        });
        Ok(spelled.range(&pen))
    }

    #[test]
    fn a_range_has_its_end_or_that_of_its_prefix() {
        let wanted = |from: &[u8], stop: Option<&[u8]>, includes_stop, limit| Range {
            from: Bytes::copy_from_slice(from),
            stop: stop.map(Bytes::copy_from_slice),
            includes_stop,
            limit,
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
        assert_eq!(after(b"a\xff"), Some(b"b".to_vec()));
        assert_eq!(after(b"\xff"), None);
    }

    #[test]
    fn what_is_no_scan_is_refused_in_words() {
        for (text, says) in [
            ("scan limit=0", "limit is not a number from 1 to"),
            ("scan from", "\"from\" has no value; write it like from={{key}}"),
            ("scan form=a", "there is no parameter \"form\""),
            ("scan prefix=a&from=b", "a prefix is a range of its own; leave from and to out"),
            ("get a", "\"get\" is not a word of HBase; give one of scan"),
            (r#"{"scan":"","expect":{"status":200}}"#, "there is no status"),
        ] {
            let told = range(text).unwrap_err();
            assert!(told.contains(says), "{text}: {told}");
        }
    }
}
