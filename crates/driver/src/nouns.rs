//! What databases call the things that a run is about, for reports and messages.

/// A database's own words.
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
    /// The words of servers that are just asked.
    pub const REQUESTS: Self =
        Self { one: "request", many: "requests", short: "requests", place: "server" };
}
