//! What an operation can ask for beyond its kind.

/// Something that an [`Op`](super::Op) can ask for, and that not every driver can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// A read of a range of documents, in the order of their names: the `limit` of a read.
    Ranges,
    /// A create that changes the document if it exists: `overwrite`.
    Overwriting,
    /// A read that need not be answered if nothing has changed: `conditional`.
    Conditions,
    /// A bulk insert after one that had no answer: `settle`.
    Settling,
    /// A read of several documents: the `documents` of a read. Without it, they are read one at a
    /// time.
    Several,
    /// Design documents, and indexes that are built before the load.
    Designs,
    /// Changes that can be followed beside the load.
    Changes,
    /// Values that are taken from the answers to operations of one's own.
    Saving,
    /// Servers that copy a database to another one, continuously.
    Replication,
}

impl Feature {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Ranges,
        Self::Overwriting,
        Self::Conditions,
        Self::Settling,
        Self::Several,
        Self::Designs,
        Self::Changes,
        Self::Saving,
        Self::Replication,
    ];
}
