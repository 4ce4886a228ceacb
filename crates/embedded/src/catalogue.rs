//! All named faults, how often each should happen, and how often it did.
//!
//! The effect of a fault is in the file for its kind: `lies` for documents, `wire` for the bytes of
//! an answer and the connection.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use super::counters::count;
use super::wire::Wire;
use crate::clock::Nanos;

/// A fault with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A lie about a document.
    Lie(Lie),
    /// A request is refused instead of carried out.
    Refuse(Refused),
    /// A fault of an answer in transit, or of the connection.
    Wire(Wire),
}

/// A lie about a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// A create or update is acknowledged but not carried out.
    DropAcknowledged,
    /// A create or update is acknowledged, but only carried out a hundred writes later.
    LateWrite,
    /// A deletion is acknowledged but not carried out.
    DropDelete,
    /// A deletion is carried out, and undone a hundred writes later.
    UndoDelete,
    /// A write is answered with a server error, and not carried out.
    FailDropped,
    /// A write is carried out, and answered with a server error.
    FailStored,
    /// A write is carried out, and answered with a conflict.
    RefuseStored,
    /// A read returns the right revision with the wrong content.
    WrongBody,
    /// A read returns the previous revision.
    OldRevision,
    /// A read returns another document.
    OtherDocument,
    /// A feed contains a change twice.
    DuplicateChange,
    /// A feed leaves out a change.
    SkipChange,
}

/// How a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The HTTP status.
    pub status: u16,
    /// The value of `error` that CouchDB uses with this status.
    pub error: &'static str,
    /// The value of `reason`.
    pub reason: &'static str,
}

const fn refuse(status: u16, error: &'static str, reason: &'static str) -> Fault {
    Fault::Refuse(Refused { status, error, reason })
}

/// What CouchDB says after five wrong passwords.
pub(super) const LOCKED_OUT: &str =
    "Account is temporarily locked due to multiple authentication failures";

impl Fault {
    /// All faults with their names.
    pub const NAMES: [(&'static str, Self); 26] = [
        ("drop-acknowledged", Self::Lie(Lie::DropAcknowledged)),
        ("late-write", Self::Lie(Lie::LateWrite)),
        ("drop-delete", Self::Lie(Lie::DropDelete)),
        ("undo-delete", Self::Lie(Lie::UndoDelete)),
        ("fail-dropped", Self::Lie(Lie::FailDropped)),
        ("fail-stored", Self::Lie(Lie::FailStored)),
        ("refuse-stored", Self::Lie(Lie::RefuseStored)),
        ("wrong-body", Self::Lie(Lie::WrongBody)),
        ("old-revision", Self::Lie(Lie::OldRevision)),
        ("other-document", Self::Lie(Lie::OtherDocument)),
        ("duplicate-change", Self::Lie(Lie::DuplicateChange)),
        ("skip-change", Self::Lie(Lie::SkipChange)),
        ("status-409", refuse(409, "conflict", "Document update conflict.")),
        ("status-429", refuse(429, "too_many_requests", "Too many requests")),
        ("status-500", refuse(500, "internal_server_error", "No DB shards could be opened.")),
        ("status-503", refuse(503, "service_unavailable", "Service unable to handle the request")),
        ("lock-out", refuse(403, "forbidden", LOCKED_OUT)),
        ("reset-before", Self::Wire(Wire::ResetBefore)),
        ("reset-during", Self::Wire(Wire::ResetDuring)),
        ("reset-after", Self::Wire(Wire::ResetAfter)),
        ("slow-bytes", Self::Wire(Wire::SlowBytes)),
        ("truncate-body", Self::Wire(Wire::TruncateBody)),
        ("early-close", Self::Wire(Wire::EarlyClose)),
        ("idle-close", Self::Wire(Wire::IdleClose)),
        ("duplicate-answer", Self::Wire(Wire::DuplicateAnswer)),
        ("unsolicited-answer", Self::Wire(Wire::UnsolicitedAnswer)),
    ];

    /// The fault with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, fault)| *fault)
    }
}

/// How often a fault happens, and when.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Occurrence {
    /// What happens.
    pub fault: Fault,
    /// The fraction of the requests or documents to which it happens, out of those it can happen
    /// to, 0 to 1.
    pub fraction: f64,
    /// The time from which it can happen, in nanoseconds after the first request.
    pub from_ns: Nanos,
    /// The time until which it can happen; `None` means to the end.
    pub until_ns: Option<Nanos>,
}

impl Occurrence {
    /// Whether it can happen at `now`, in nanoseconds after the first request.
    pub(super) fn is_due(&self, now: Nanos) -> bool {
        now >= self.from_ns && self.until_ns.is_none_or(|until| now < until)
    }
}

/// How often each fault has happened, in the order of [`Fault::NAMES`].
#[derive(Debug, Default)]
pub(super) struct Happened([AtomicU64; Fault::NAMES.len()]);

impl Happened {
    pub(super) fn count(&self, fault: Fault) {
        let counts = Fault::NAMES.iter().zip(&self.0);
        counts.filter(|((_, it), _)| *it == fault).for_each(|(_, counter)| count(counter));
    }

    /// The counts of all faults, by name.
    pub(super) fn snapshot(&self) -> BTreeMap<&'static str, u64> {
        let counts = Fault::NAMES.iter().zip(&self.0);
        counts.map(|((name, _), count)| (*name, count.load(Ordering::Relaxed))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_has_a_name_of_its_own() {
        for (name, fault) in Fault::NAMES {
            assert_eq!(Fault::named(name), Some(fault));
            let same = Fault::NAMES.iter().filter(|(_, it)| *it == fault).count();
            assert_eq!(same, 1, "{name}");
        }
        assert_eq!(Fault::named("status-418"), None);
    }

    #[test]
    fn a_fault_has_its_time() {
        let fault = Fault::Lie(Lie::WrongBody);
        let mut it = Occurrence { fault, fraction: 1.0, from_ns: 10, until_ns: Some(20) };
        assert_eq!([9, 10, 19, 20].map(|now| it.is_due(now)), [false, true, true, false]);
        it.until_ns = None;
        assert!(it.is_due(20));
    }
}
