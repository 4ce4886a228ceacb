//! What databases call the things that a run is about, for reports and messages.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A database's own words. They are stored as the plural of what a run writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nouns {
    /// What a run writes, such as a document or a row.
    pub one: &'static str,
    /// Several of them.
    pub many: &'static str,
    /// The same where there is little room, as in `docs/s`.
    pub short: &'static str,
    /// Where they are, such as a database or a table.
    pub place: &'static str,
}

impl Nouns {
    /// The words of databases of documents.
    pub const DOCUMENTS: Self =
        Self { one: "document", many: "documents", short: "docs", place: "database" };
    /// The words of databases of tables.
    pub const ROWS: Self = Self { one: "row", many: "rows", short: "rows", place: "table" };
    /// The words of stores of keys and values.
    pub const KEYS: Self = Self { one: "key", many: "keys", short: "keys", place: "database" };
    /// The words of servers that only answer requests.
    pub const REQUESTS: Self =
        Self { one: "request", many: "requests", short: "requests", place: "server" };
    /// The words of anything else.
    pub const RECORDS: Self =
        Self { one: "record", many: "records", short: "records", place: "table" };

    /// Whether they are the words of documents.
    pub fn are_documents(&self) -> bool {
        self.many == Self::DOCUMENTS.many
    }

    /// The words that all of these have in common; those of documents if there are none.
    pub fn common(mut all: impl Iterator<Item = Self>) -> Self {
        let first = all.next().unwrap_or_default();
        if all.all(|it| it.many == first.many) { first } else { Self::RECORDS }
    }
}

impl Default for Nouns {
    fn default() -> Self {
        Self::DOCUMENTS
    }
}

impl Serialize for Nouns {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.many)
    }
}

impl<'de> Deserialize<'de> for Nouns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let many = String::deserialize(deserializer)?;
        let all = [Self::DOCUMENTS, Self::ROWS, Self::KEYS, Self::REQUESTS];
        Ok(all.into_iter().find(|it| it.many == many).unwrap_or(Self::RECORDS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_stored_by_their_plural() {
        for nouns in [Nouns::DOCUMENTS, Nouns::ROWS, Nouns::KEYS, Nouns::REQUESTS, Nouns::RECORDS] {
            let text = serde_json::to_string(&nouns).unwrap();
            assert_eq!(text, format!("{:?}", nouns.many));
            assert_eq!(serde_json::from_str::<Nouns>(&text).unwrap(), nouns);
        }
        assert_eq!(serde_json::from_str::<Nouns>("\"others\"").unwrap(), Nouns::RECORDS);
    }

    #[test]
    fn databases_of_two_kinds_have_records_in_common() {
        let common = |all: &[Nouns]| Nouns::common(all.iter().copied()).many;
        assert_eq!(common(&[]), "documents");
        assert_eq!(common(&[Nouns::ROWS, Nouns::ROWS]), "rows");
        assert_eq!(common(&[Nouns::ROWS, Nouns::KEYS]), "records");
    }
}
