//! Abilities that an operation can require beyond its kind.

use super::with_all::with_all;

with_all! {
    /// Something that an [`Op`](super::Op) can ask for, but that not every driver supports.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Feature {
        /// A read of a range of documents, in the order of their names: the `limit` of a read.
        Ranges,
        /// A create that changes the document if it exists: `overwrite`.
        Overwriting,
        /// A read that the server need not answer in full if nothing has changed: `conditional`.
        Conditions,
        /// A bulk insert that repeats one without an answer: `settle`.
        Settling,
        /// A read of several documents: the `documents` of a read. Without it, they are read one at
        /// a time.
        Several,
        /// Design documents, and indexes that are built before the load.
        Designs,
        /// A feed of changes that can be followed during the load.
        Changes,
        /// Values taken from the answers to operations that the plan defines.
        Saving,
        /// Servers that copy a database to another one, continuously.
        Replication,
    }
}
