//! What the table of kinds has about each of them: its names, its class, and its weight in a mix.
//! Knows no kind by name.

/// What an operation means to code that evaluates it, such as the journal, an audit or `--verify`.
/// Kinds of the same class are treated alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Stores many new documents in one request.
    Batch,
    /// Stores one new document.
    Create,
    /// Reads one document that is stored.
    Read,
    /// Stores a new version of one document.
    Update,
    /// Removes one document.
    Delete,
    /// Asks for any number of documents.
    Query,
    /// Consists of operations that are also counted on their own.
    Composite,
    /// Compares data; nothing is sent.
    Check,
    /// Any request; what it does is unknown.
    Request,
}

impl Class {
    /// Whether it changes documents whose versions are known afterwards.
    pub const fn writes(self) -> bool {
        matches!(self, Self::Batch | Self::Create | Self::Update | Self::Delete)
    }

    /// Whether it only asks the server and changes nothing. In a mix it is about a stored document,
    /// in whatever version.
    pub const fn only_reads(self) -> bool {
        matches!(self, Self::Read | Self::Query)
    }
}

/// The properties of a kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct KindRow {
    pub(super) name: &'static str,
    pub(super) class: Class,
    pub(super) ycsb: &'static str,
    pub(super) mix: Option<u64>,
}
