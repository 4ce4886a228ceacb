//! Several rows in one request to each server.

use super::joined;
use crate::hbase::HBasePen;
use crate::values::{Holes, MOST_DOCUMENTS, Pieces};
use crate::words::{OperationPlan, Word, Wrong, malformed};
use prost::bytes::Bytes;
use serde_json::Value;

const EXAMPLE: &str = "20";

pub(super) const WORD: Word = Word {
    name: "multi_get",
    help: "That many stored rows, or those with these keys, in one request to each server that \
           has some of them",
    example: EXAMPLE,
};

/// The keys of rows, cut into pieces.
#[derive(Clone, Debug)]
pub(in crate::hbase) struct MultiGet {
    keys: Vec<Pieces>,
    pub(super) holes: Holes,
}

pub(super) fn spell(operation: &OperationPlan) -> Result<MultiGet, Wrong> {
    operation.only_rows()?;
    let wrong = || {
        let problem = format!("it is not a number from 1 to {MOST_DOCUMENTS}, nor a list of keys");
        (problem, "write it like 20, or [\"{{key}}\", \"a\"]".to_owned())
    };
    let keys: Vec<String> = match operation.json(EXAMPLE)? {
        Value::Array(keys) => {
            let text = |key: &Value| key.as_str().map(str::to_owned).ok_or_else(wrong);
            keys.iter().map(text).collect::<Result<_, _>>()?
        }
        number => {
            let number = number.as_u64().filter(|it| *it <= MOST_DOCUMENTS as u64);
            let number = number.ok_or_else(wrong)?;
            (1..=number).map(|n| format!("{{{{key#{n}}}}}")).collect()
        }
    };
    if !(1..=MOST_DOCUMENTS).contains(&keys.len()) || keys.iter().any(String::is_empty) {
        return Err(wrong());
    }
    let mut holes = Holes::default();
    let cut = |key: String| {
        let mut pieces = Pieces::default();
        pieces.raw(&key, &mut holes).map_err(|error| malformed(&error))?;
        Ok(pieces)
    };
    let keys = keys.into_iter().map(cut).collect::<Result<_, Wrong>>()?;
    Ok(MultiGet { keys, holes })
}

impl MultiGet {
    /// The rows requested by the operation in a pen.
    pub(in crate::hbase) fn rows(&self, pen: &HBasePen) -> Vec<Bytes> {
        self.keys.iter().map(|key| joined(key, &pen.values)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{SpelledOperation, spell};
    use super::*;
    use crate::op::Pen as _;

    fn rows(text: &str) -> Result<Vec<String>, String> {
        let plan = OperationPlan::parse(&format!("hbase-several={text}")).unwrap();
        let spelled = spell(&plan).map_err(|mistake| mistake.to_string())?;
        let SpelledOperation::MultiGet(get) = spelled else { panic!("{spelled:?}") };
        let mut pen = HBasePen::new(b"f"[..].into());
        for hole in &get.holes.0 {
            pen.value(|out| {
                out.extend_from_slice(hole.as_bytes());
                true
            });
        }
        let text = |row: &Bytes| String::from_utf8(row.to_vec()).unwrap();
        Ok(get.rows(&pen).iter().map(text).collect())
    }

    #[test]
    fn rows_are_counted_or_named() {
        let found = |text: &str| rows(text).unwrap();
        assert_eq!(found("multi_get 3"), ["key#1", "key#2", "key#3"]);
        assert_eq!(found(r#"multi_get ["a{{key}}", "b"]"#), ["akey", "b"]);
        assert_eq!(found(r#"{"multi_get": 1}"#), ["key#1"]);
        assert_eq!(found("multi_get 1000").len(), 1_000);
    }

    #[test]
    fn what_is_no_list_of_rows_is_refused_in_words() {
        let no = "--op hbase-several: multi_get: it is not a number from 1 to 1000, nor a list of \
                  keys; write it like 20";
        for text in [
            "multi_get 0",
            "multi_get 1001",
            "multi_get -1",
            "multi_get []",
            "multi_get [1]",
            r#"multi_get [""]"#,
            r#"multi_get {"a":1}"#,
        ] {
            let message = rows(text).unwrap_err();
            assert!(message.starts_with(no), "{text}: {message}");
        }
        assert!(rows("multi_get a,b").unwrap_err().contains("\"a,b\" is not JSON"));
        assert!(rows(r#"multi_get ["{{key"]"#).unwrap_err().contains("close it with }}"));
        let status = rows(r#"{"multi_get":2,"expect":{"status":200}}"#).unwrap_err();
        assert!(status.contains("there is no status"), "{status}");
        let params = rows(r#"{"multi_get":2,"params":{"limit":200}}"#).unwrap_err();
        assert!(params.contains("there is no parameter \"limit\""), "{params}");
    }
}
