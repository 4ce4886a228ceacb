//! The kinds of operations there are, as a table. Whatever counts, judges or shows operations reads
//! a kind's row; only the driver that sends it and the workload that asks for it know it by name.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What an operation is to those who judge it, such as the journal, an audit or `--verify`: kinds
/// of the same class are judged alike.
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
    /// Is made of operations that count as themselves.
    Composite,
    /// Compares data; nothing is sent.
    Check,
    /// Any request. Nothing is known of what it does.
    Request,
}

/// What is known of a kind.
#[derive(Clone, Copy, Debug)]
struct Row {
    name: &'static str,
    class: Class,
    ycsb: &'static str,
    mix: Option<u64>,
}

macro_rules! kinds {
    ($(
        $(#[$doc:meta])*
        $Kind:ident {
            name: $name:literal, class: $class:ident, ycsb: $ycsb:literal, mix: $mix:expr
        }
    )*) => {
        /// The kind of an operation.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize
        )]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[repr(u8)]
        pub enum OpKind {
            $($(#[$doc])* #[serde(rename = $name)] $Kind,)*
        }

        impl OpKind {
            /// Every kind, in the order of reports.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$Kind),*];
            /// The number of kinds: the length of every table by kind.
            pub const COUNT: usize = [$($name),*].len();
            const ROWS: [Row; Self::COUNT] = [$(
                Row { name: $name, class: Class::$class, ycsb: $ycsb, mix: $mix }
            ),*];
        }
    };
}

// A kind is its row here: the name in flags, JSON and reports; what it is to those who judge it;
// the section of YCSB's report; and its weight in a mix of single-document operations, unless
// `--mix` says otherwise (`None`: such a mix cannot have it).
kinds! {
    /// Many documents in one request.
    BulkInsert { name: "bulk_insert", class: Batch, ycsb: "INSERT", mix: None }
    /// One new document.
    Create { name: "create", class: Create, ycsb: "INSERT", mix: Some(2) }
    /// One document by its key.
    Read { name: "read", class: Read, ycsb: "READ", mix: Some(3) }
    /// A new version of one document.
    Update { name: "update", class: Update, ycsb: "UPDATE", mix: Some(2) }
    /// The removal of one document.
    Delete { name: "delete", class: Delete, ycsb: "DELETE", mix: Some(1) }
    /// Documents in the order of their identifiers, from one on.
    Scan { name: "scan", class: Query, ycsb: "SCAN", mix: None }
    /// A read and an update of the same document, timed as one. Its parts count as themselves.
    ReadModifyWrite {
        name: "read_modify_write", class: Composite, ycsb: "READ-MODIFY-WRITE", mix: None
    }
    /// The comparison of what was read with what was written. Nothing is sent for it.
    Verify { name: "verify", class: Check, ycsb: "VERIFY", mix: None }
    /// Any HTTP request.
    Request { name: "request", class: Request, ycsb: "REQUEST", mix: None }
}

impl OpKind {
    /// What every database should have: everything that is done to stored documents.
    pub const ON_DOCUMENTS: Kinds = Kinds::of(&[
        Self::BulkInsert,
        Self::Create,
        Self::Read,
        Self::Update,
        Self::Delete,
        Self::Scan,
    ]);

    const fn row(self) -> &'static Row {
        &Self::ROWS[self.index()]
    }

    /// The name used in flags, JSON and reports.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// The kind of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// What it is to those who judge it.
    #[inline]
    pub const fn class(self) -> Class {
        self.row().class
    }

    /// The section of YCSB's report that it belongs to.
    pub const fn ycsb(self) -> &'static str {
        self.row().ycsb
    }

    /// Its usual weight in a mix of single-document operations; `None`: it cannot be in one.
    pub const fn weight(self) -> Option<u64> {
        self.row().mix
    }

    /// Whether an operation of this kind is one request to the server. The others are made of
    /// such requests or of what they brought, and must not be counted with them.
    pub const fn is_request(self) -> bool {
        !matches!(self.class(), Class::Composite | Class::Check)
    }

    /// Whether the server is only asked, and nothing is changed by it.
    pub const fn only_reads(self) -> bool {
        matches!(self.class(), Class::Read | Class::Query)
    }

    /// The index into tables by kind.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Some of the kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds(u32);

impl Kinds {
    /// Every kind.
    pub const ALL: Self = Self::of(&OpKind::ALL);

    /// These.
    pub const fn of(kinds: &[OpKind]) -> Self {
        const { assert!(OpKind::COUNT <= u32::BITS as usize, "a bit for each") };
        let (mut all, mut place) = (Self(0), 0);
        while place < kinds.len() {
            all = all.with(kinds[place]);
            place += 1;
        }
        all
    }

    /// These and another one.
    pub const fn with(self, kind: OpKind) -> Self {
        Self(self.0 | 1 << kind.index())
    }

    /// These but one.
    pub const fn without(self, kind: OpKind) -> Self {
        Self(self.0 & !(1 << kind.index()))
    }

    /// Whether a kind is among them.
    pub const fn contains(self, kind: OpKind) -> bool {
        self.0 & (1 << kind.index()) != 0
    }
}

impl fmt::Display for OpKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_stored_by_its_name() {
        for (place, kind) in OpKind::ALL.into_iter().enumerate() {
            assert_eq!(kind.index(), place);
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
            assert_eq!(OpKind::named(kind.name()), Some(kind));
        }
        assert_eq!(OpKind::named("reed"), None);
    }

    #[test]
    fn some_of_the_kinds_are_these_and_no_others() {
        let some = Kinds::of(&[OpKind::Read, OpKind::Request]);
        for kind in OpKind::ALL {
            assert_eq!(some.contains(kind), matches!(kind, OpKind::Read | OpKind::Request));
            assert!(some.with(kind).contains(kind) && !some.without(kind).contains(kind));
            assert!(Kinds::ALL.contains(kind));
        }
        assert_eq!(some.with(OpKind::Scan).without(OpKind::Scan), some);
    }

    #[test]
    fn a_mix_is_of_operations_on_one_document() {
        for kind in OpKind::ALL.into_iter().filter(|kind| kind.weight().is_some()) {
            let one = [Class::Create, Class::Read, Class::Update, Class::Delete];
            assert!(one.contains(&kind.class()), "{kind}");
        }
    }
}
