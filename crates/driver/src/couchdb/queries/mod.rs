//! The kinds of operations that request any number of documents at once, without a body: a file for
//! each, and a line in the list.

use crate::op::{Failure, Kinds, Op, OpKind, Reply};

/// How such a kind is spelled, and what its answer means.
#[derive(Clone, Copy, Debug)]
pub(super) struct Query {
    /// Appends what follows the database in the path, for these names.
    pub(super) write: fn(op: &Op, names: &[u8], head: &mut Vec<u8>),
    /// Reads the body of an answer with the status 200.
    pub(super) read: fn(op: &Op, body: &[u8]) -> Result<Reply, Failure>,
}

macro_rules! queries {
    ($($module:ident: $Kind:ident,)*) => {
        $(mod $module;)*

        /// The kinds that are spelled here.
        pub(super) const KINDS: Kinds = Kinds::of(&[$(OpKind::$Kind),*]);

        /// The query of a kind.
        #[inline]
        const fn of_kind(kind: OpKind) -> Option<&'static Query> {
            match kind {
                $(OpKind::$Kind => Some(&$module::QUERY),)*
                _ => None,
            }
        }
    };
}

// A kind is its file and its line here.
queries! {
    scan: Scan,
}

/// The query for `op`, if it has one. A read of a range is a query, too.
#[inline]
pub(super) const fn of(op: &Op) -> Option<&'static Query> {
    if matches!(op.kind, OpKind::Read) && op.limit > 0 {
        return Some(&scan::QUERY);
    }
    of_kind(op.kind)
}
