//! The kinds of operations, as a table. Code that counts, evaluates or shows operations reads a
//! kind's row; only the driver that sends an operation and the workload that creates it know the
//! kind by name.

use super::own::{self, NameError};
use super::row::{Class, KindRow};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt;

/// The kind of an operation: the number of its row. The built-in kinds come first. They are
/// followed by the operations that plans define, which a process adds when it first sees their
/// names. A number means the same row for as long as the process lives, and nothing outside of it:
/// records and messages have names.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct OpKind(u16);

macro_rules! kinds {
    ($(
        #[doc = $doc:literal]
        $Kind:ident {
            name: $name:literal, class: $class:ident, ycsb: $ycsb:literal, mix: $mix:expr
        }
    )*) => {
        /// The indices of the built-in kinds.
        #[repr(u16)]
        enum BuiltIn {
            $($Kind,)*
        }

        #[allow(non_upper_case_globals, reason = "they are used like the variants of an enum")]
        impl OpKind {
            $(#[doc = $doc] pub const $Kind: Self = Self(BuiltIn::$Kind as u16);)*
            /// Every built-in kind, in the order of reports.
            pub const BUILT_IN: [Self; [$($name),*].len()] = [$(Self::$Kind),*];
            const ROWS: [KindRow; Self::BUILT_IN.len()] = [$(
                KindRow { name: $name, class: Class::$class, ycsb: $ycsb, mix: $mix }
            ),*];
            #[cfg(feature = "schema")]
            const DOCS: [&'static str; Self::BUILT_IN.len()] = [$($doc),*];
        }
    };
}

// Each kind is defined by its row here: the name in flags, JSON and reports; its class; the section
// of YCSB's report; and its weight in a mix of single-document operations, unless `--mix` sets
// another (`None`: it cannot be part of such a mix).
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
    /// Documents in the order of their IDs, from a given one on.
    Scan { name: "scan", class: Query, ycsb: "SCAN", mix: None }
    /// A read and an update of one document, timed as one. Its parts are also counted separately.
    ReadModifyWrite {
        name: "read_modify_write", class: Composite, ycsb: "READ-MODIFY-WRITE", mix: None
    }
    /// The comparison of what was read with what was written. Sends no request.
    Verify { name: "verify", class: Check, ycsb: "VERIFY", mix: None }
    /// Any HTTP request.
    Request { name: "request", class: Request, ycsb: "REQUEST", mix: None }
    /// The build of an index over all stored documents.
    IndexBuild { name: "index_build", class: Request, ycsb: "INDEX-BUILD", mix: None }
    /// All rows of an index, for an audit.
    IndexAudit { name: "index_audit", class: Request, ycsb: "INDEX-AUDIT", mix: None }
    /// The creation of one of the run's databases.
    DatabaseCreate { name: "database_create", class: Request, ycsb: "DATABASE-CREATE", mix: None }
    /// The deletion of one of the run's databases.
    DatabaseDelete { name: "database_delete", class: Request, ycsb: "DATABASE-DELETE", mix: None }
}

impl OpKind {
    /// What every database should support: everything that is done to stored documents.
    pub const ON_DOCUMENTS: Kinds = Kinds::of(&[
        Self::BulkInsert,
        Self::Create,
        Self::Read,
        Self::Update,
        Self::Delete,
        Self::Scan,
    ]);

    fn row(self) -> &'static KindRow {
        match Self::ROWS.get(self.index()) {
            Some(row) => row,
            None => own::row(self.index() - Self::BUILT_IN.len()),
        }
    }

    /// The name used in flags, JSON and reports.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The kind with this name, if this process has seen it.
    pub fn named(name: &str) -> Option<Self> {
        let built_in = Self::BUILT_IN.into_iter().find(|kind| kind.name() == name);
        built_in.or_else(|| Some(Self::behind(own::find(name)?)))
    }

    /// The kind with this name: a built-in one, or an operation that a plan defines.
    ///
    /// # Errors
    /// Returns an error if this cannot be the name of an operation, or this process has seen too
    /// many.
    pub fn of_name(name: &str) -> Result<Self, NameError> {
        match Self::named(name) {
            Some(kind) => Ok(kind),
            None => own::add(name).map(Self::behind),
        }
    }

    /// The kind with this index among the operations that plans define.
    const fn behind(place: u16) -> Self {
        Self(Self::BUILT_IN.len() as u16 + place)
    }

    /// Every kind that this process has seen: the built-in ones, followed by those that plans
    /// define, sorted by name.
    pub fn known() -> Vec<Self> {
        let own = (0..own::count()).map(Self::behind);
        let mut known: Vec<Self> = Self::BUILT_IN.into_iter().chain(own).collect();
        known.sort_unstable();
        known
    }

    /// The length of a table with an entry for every kind that this process has seen.
    pub fn table_len() -> usize {
        Self::BUILT_IN.len() + usize::from(own::count())
    }

    /// Whether a plan defines it.
    pub const fn is_own(self) -> bool {
        self.index() >= Self::BUILT_IN.len()
    }

    /// What it means to code that evaluates operations.
    #[inline]
    pub fn class(self) -> Class {
        match Self::ROWS.get(self.index()) {
            Some(row) => row.class,
            None => own::class(self.index() - Self::BUILT_IN.len()),
        }
    }

    /// Notes how the plan that defines this operation does so: whether it is a sequence of others.
    ///
    /// # Errors
    /// Returns an error if another plan that this process has seen defines it differently.
    pub fn define(self, is_sequence: bool) -> Result<(), String> {
        let place = self.index().checked_sub(Self::BUILT_IN.len());
        if place.is_none_or(|place| own::define(place, is_sequence)) {
            return Ok(());
        }
        Err(format!("{self} is a sequence in one plan, and a single request in another"))
    }

    /// The section of YCSB's report that it belongs to.
    pub fn ycsb(self) -> &'static str {
        self.row().ycsb
    }

    /// Its default weight in a mix of single-document operations; `None` if it cannot be in one.
    pub const fn weight(self) -> Option<u64> {
        if self.is_own() { None } else { Self::ROWS[self.index()].mix }
    }

    /// Whether an operation of this kind is one request to the server. Other kinds consist of such
    /// requests or process their answers, and must not be counted in addition.
    pub fn is_request(self) -> bool {
        !matches!(self.class(), Class::Composite | Class::Check)
    }

    /// Whether it only asks the server and changes nothing.
    pub fn only_reads(self) -> bool {
        self.class().only_reads()
    }

    /// The index into tables by kind. For kinds that plans define, it differs between processes.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The order of reports: the built-in kinds in the order of their table, then the others by name,
/// so that a report does not depend on which names the process saw first.
impl Ord for OpKind {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.is_own() && other.is_own() {
            self.name().cmp(other.name())
        } else {
            self.0.cmp(&other.0)
        }
    }
}

impl PartialOrd for OpKind {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Serialize for OpKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for OpKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::of_name(&name).map_err(D::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for OpKind {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "OpKind".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let one = |(kind, doc): (Self, &str)| {
            let (name, doc) = (kind.name(), doc.trim());
            serde_json::json!({ "description": doc, "type": "string", "const": name })
        };
        let mut all: Vec<_> = Self::BUILT_IN.into_iter().zip(Self::DOCS).map(one).collect();
        let names = Self::BUILT_IN.map(Self::name);
        all.push(serde_json::json!({
            "description": "An operation that the plan defines.",
            "type": "string",
            "pattern": own::PATTERN,
            "not": { "enum": names },
        }));
        schemars::json_schema!({ "description": "The kind of an operation.", "oneOf": all })
    }
}

/// A set of built-in kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds(u32);

impl Kinds {
    /// Every built-in kind.
    pub const ALL: Self = Self::of(&OpKind::BUILT_IN);

    /// The set of these kinds.
    pub const fn of(kinds: &[OpKind]) -> Self {
        const { assert!(OpKind::BUILT_IN.len() <= u32::BITS as usize, "a bit for each") };
        let (mut all, mut place) = (Self(0), 0);
        while place < kinds.len() {
            all = all.with(kinds[place]);
            place += 1;
        }
        all
    }

    /// The set with one kind added.
    pub const fn with(self, kind: OpKind) -> Self {
        Self(self.0 | Self::bit(kind))
    }

    /// The union of both sets.
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// The set with one kind removed.
    pub const fn without(self, kind: OpKind) -> Self {
        Self(self.0 & !Self::bit(kind))
    }

    /// Whether the set contains a built-in kind.
    pub const fn contains(self, kind: OpKind) -> bool {
        self.0 & Self::bit(kind) != 0
    }

    /// Operations that a plan defines have no bit: drivers know them by their text.
    const fn bit(kind: OpKind) -> u32 {
        if kind.is_own() { 0 } else { 1 << kind.index() }
    }
}

/// Shows the name, because a number means nothing to a reader.
impl fmt::Debug for OpKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
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
    fn a_kind_is_a_sequence_in_all_plans_or_in_none() {
        let [one, other] = ["kind-of-steps", "kind-alone"].map(|it| OpKind::of_name(it).unwrap());
        assert!(one.is_request(), "as long as nobody says otherwise");
        assert_eq!(
            [one.define(true), one.define(true), other.define(false)],
            [Ok(()), Ok(()), Ok(())]
        );
        assert!(!one.is_request() && other.is_request());
        assert_eq!((one.class(), other.class()), (Class::Composite, Class::Request));
        let refusals = [one.define(false), other.define(true)].map(Result::unwrap_err);
        assert_eq!(
            refusals[0],
            "kind-of-steps is a sequence in one plan, and a single request in another"
        );
        assert!(refusals[1].starts_with("kind-alone is a sequence in one plan"));
        assert_eq!(OpKind::ReadModifyWrite.define(true), Ok(()), "it is known already");
    }

    #[test]
    fn a_kind_is_stored_by_its_name() {
        for (place, kind) in OpKind::BUILT_IN.into_iter().enumerate() {
            assert_eq!(kind.index(), place);
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
            assert_eq!(OpKind::named(kind.name()), Some(kind));
        }
        assert_eq!(OpKind::named("kind-not-met"), None);
    }

    #[test]
    fn the_operation_of_a_plan_is_a_row_behind_the_built_in_ones() {
        let (late, early) =
            (OpKind::of_name("kind-z").unwrap(), OpKind::of_name("kind-a").unwrap());
        assert_eq!(OpKind::of_name("kind-z"), Ok(late));
        assert_eq!(OpKind::named("kind-a"), Some(early));
        assert!(late.is_own() && late != early && !OpKind::Request.is_own());
        assert!(early < late && OpKind::Request < early, "by name, behind the others");
        assert_eq!((late.class(), late.ycsb(), late.weight()), (Class::Request, "KIND-Z", None));
        assert!(late.is_request() && !late.only_reads() && late.index() < OpKind::table_len());
        assert!(OpKind::known().is_sorted() && OpKind::known().contains(&late));
        assert!(!Kinds::ALL.contains(late) && Kinds::ALL.with(late) == Kinds::ALL);
        assert_eq!(OpKind::of_name("read"), Ok(OpKind::Read));
    }

    #[test]
    fn a_stored_name_is_read_without_the_plan_that_defines_it() {
        let met: OpKind = serde_json::from_str("\"kind-stored\"").unwrap();
        assert_eq!(OpKind::named("kind-stored"), Some(met));
        assert_eq!(serde_json::to_string(&met).unwrap(), "\"kind-stored\"");
        for wrong in ["", "Read", "9a", "-a", "a b", "a.b", "ä", &"a".repeat(41)] {
            let text = serde_json::to_string(wrong).unwrap();
            let message = serde_json::from_str::<OpKind>(&text).unwrap_err().to_string();
            assert!(message.contains("is not the name of an operation: lower-case"), "{message}");
        }
        assert!(serde_json::from_str::<OpKind>("7").is_err());
    }

    #[test]
    fn some_of_the_kinds_are_these_and_no_others() {
        let some = Kinds::of(&[OpKind::Read, OpKind::Request]);
        for kind in OpKind::BUILT_IN {
            assert_eq!(some.contains(kind), matches!(kind, OpKind::Read | OpKind::Request));
            assert!(some.with(kind).contains(kind) && !some.without(kind).contains(kind));
            assert!(Kinds::ALL.contains(kind));
        }
        assert_eq!(some.with(OpKind::Scan).without(OpKind::Scan), some);
        assert_eq!(some.and(Kinds::of(&[OpKind::Scan])), some.with(OpKind::Scan));
    }

    #[test]
    fn a_mix_is_of_operations_on_one_document() {
        for kind in OpKind::BUILT_IN.into_iter().filter(|kind| kind.weight().is_some()) {
            let one = [Class::Create, Class::Read, Class::Update, Class::Delete];
            assert!(one.contains(&kind.class()), "{kind}");
        }
    }
}
