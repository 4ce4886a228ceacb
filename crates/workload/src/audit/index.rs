//! Compares the rows of an index with the documents: each has one row, and there are no others.

use super::ledger::Ledger;
use super::owed::{Last, Owed};
use crate::journal::Act;
use crate::op::{Failure, Finding, Key};
use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

/// An index whose rows are known, and the documents that remain to be checked.
#[derive(Debug)]
pub(super) struct IndexRows {
    name: String,
    /// The number of rows by the hash of the document's identifier: among ten million documents,
    /// two share a hash with a probability of 1 in 370,000.
    rows: HashMap<u64, u32>,
    hasher: RandomState,
    keys: KeysOf,
}

impl IndexRows {
    /// Reads the rows that a driver has listed: the identifiers of their documents, in JSON.
    pub(super) fn read(name: &str, listed: &[u8], keys: KeysOf) -> Option<Self> {
        let ids: Vec<std::borrow::Cow<'_, str>> = serde_json::from_slice(listed).ok()?;
        let (mut rows, hasher) = (HashMap::new(), RandomState::new());
        for id in ids {
            *rows.entry(hasher.hash_one(id.as_bytes())).or_default() += 1;
        }
        Some(Self { name: name.to_owned(), rows, hasher, keys })
    }

    pub(super) fn next(&mut self) -> Option<Key> {
        self.keys.next()
    }

    /// Checks the rows of a document, and returns what is wrong with them.
    pub(super) fn judge(&self, id: &[u8], owed: &Owed) -> Result<(), (Failure, Finding)> {
        let rows = self.rows.get(&self.hasher.hash_one(id)).copied().unwrap_or(0);
        let doubts = &owed.doubts;
        let (least, most) = match owed.last {
            Last::Written { .. } => (u32::from(!doubts.any(Act::Delete)), 1),
            Last::Deleted { .. } => (0, u32::from(doubts.any(Act::Write))),
            Last::Nothing | Last::Unknown => (0, 1),
        };
        let class = match (rows, most) {
            _ if (least..=most).contains(&rows) => return Ok(()),
            (0, _) => Failure::Lost,
            (_, 0) => Failure::Resurrected,
            _ => Failure::Extra,
        };
        let name = &self.name;
        let expected = match (least, most) {
            (0, 0) => format!("no row in {name}: it was deleted"),
            (0, _) => format!("at most one row in {name}"),
            _ => format!("one row in {name}"),
        };
        let found = match rows {
            0 => "none".to_owned(),
            1 => "a row".to_owned(),
            rows => format!("{rows} rows"),
        };
        Err((class, Finding::new(class, id, &expected, &found)))
    }
}

#[derive(Debug)]
pub(super) struct KeysOf {
    ledger: Arc<Ledger>,
    pages: Vec<u64>,
    /// The keys of the current page, in reverse.
    keys: Vec<Key>,
}

impl KeysOf {
    pub(super) fn new(ledger: Arc<Ledger>) -> Self {
        let pages = ledger.part(0, 1);
        Self { ledger, pages, keys: Vec::new() }
    }
}

impl Iterator for KeysOf {
    type Item = Key;

    fn next(&mut self) -> Option<Key> {
        while self.keys.is_empty() {
            self.keys.extend(self.ledger.keys(self.pages.pop()?));
            self.keys.reverse();
        }
        self.keys.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::owed::{DoubtfulWrite, Doubts};
    use crate::journal::Fate;
    use crate::op::Token;

    fn judged(listed: &str, last: Last, doubts: Doubts) -> Result<(), (Failure, String)> {
        let keys = KeysOf::new(Arc::default());
        let rows = IndexRows::read("app/by", listed.as_bytes(), keys).unwrap();
        let judged = rows.judge(b"a", &Owed { last, doubts });
        judged
            .map_err(|(class, finding)| (class, format!("{}; {}", finding.expected, finding.found)))
    }

    #[test]
    fn each_document_has_one_row_and_one_that_was_deleted_none() {
        let token = Token::default();
        let written = Last::Written { version: 0, token };
        let deleted = Last::Deleted { token };
        let sure = Doubts::default;
        assert_eq!(judged(r#"["b","a"]"#, written, sure()), Ok(()));
        let finding = |class, words: &str| Err((class, words.to_owned()));
        let lost = finding(Failure::Lost, "one row in app/by; none");
        assert_eq!(judged(r#"["b"]"#, written, sure()), lost);
        let doubled = finding(Failure::Extra, "one row in app/by; 2 rows");
        assert_eq!(judged(r#"["a","a"]"#, written, sure()), doubled);
        assert_eq!(judged("[]", deleted, sure()), Ok(()));
        let left = finding(Failure::Resurrected, "no row in app/by: it was deleted; a row");
        assert_eq!(judged(r#"["a"]"#, deleted, sure()), left);
        assert_eq!(judged(r#"["a"]"#, Last::Nothing, sure()), Ok(()));
        assert_eq!(judged("[]", Last::Nothing, sure()), Ok(()));
        let doubled = finding(Failure::Extra, "at most one row in app/by; 2 rows");
        assert_eq!(judged(r#"["a","a"]"#, Last::Nothing, sure()), doubled);
    }

    #[test]
    fn what_had_no_answer_may_have_been_done_or_not() {
        let token = Token::default();
        let maybe = |act| {
            let maybe = vec![DoubtfulWrite { act, version: 1, fate: Fate::Sent }];
            Doubts { maybe, ..Doubts::default() }
        };
        let (maybe_deleted, maybe_written) = (|| maybe(Act::Delete), || maybe(Act::Write));
        for listed in ["[]", r#"["a"]"#] {
            let written = Last::Written { version: 0, token };
            assert_eq!(judged(listed, written, maybe_deleted()), Ok(()), "{listed}");
            assert_eq!(
                judged(listed, Last::Deleted { token }, maybe_written()),
                Ok(()),
                "{listed}"
            );
        }
        let twice = judged(r#"["a","a"]"#, Last::Deleted { token }, maybe_written());
        assert_eq!(twice.unwrap_err().0, Failure::Extra);
    }
}
