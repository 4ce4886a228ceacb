//! Lies about data: what a stand-in acknowledges without doing it, or returns although it is not
//! what is stored.
//!
//! Knows neither HTTP nor documents; `couch::store` tells them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::counters::count;
use super::faults::chance;
use super::turnstile::Gate;
use crate::clock::Nanos;

/// A lie about a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// A create or update is acknowledged, but not carried out.
    DropAcknowledged,
    /// A deletion is acknowledged, but not carried out.
    DropDelete,
    /// A deletion is carried out, and undone a hundred writes later.
    UndoDelete,
    /// A read returns the right revision with other content.
    WrongBody,
    /// A read returns the revision before the current one.
    OldRevision,
}

impl Lie {
    /// All, with their names.
    pub const NAMES: [(&'static str, Self); 5] = [
        ("drop-acknowledged", Self::DropAcknowledged),
        ("drop-delete", Self::DropDelete),
        ("undo-delete", Self::UndoDelete),
        ("wrong-body", Self::WrongBody),
        ("old-revision", Self::OldRevision),
    ];
}

/// How often a lie is told, and when.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Telling {
    /// What is told.
    pub lie: Lie,
    /// The fraction of the operations that it can be told about, 0 to 1.
    pub fraction: f64,
    /// From when on, in nanoseconds after the first request.
    pub from_ns: Nanos,
    /// Until when; `None`: to the end.
    pub until_ns: Option<Nanos>,
}

/// How often each lie was told so far, in the order of [`Lie::NAMES`].
#[derive(Debug, Default)]
pub(super) struct Told([AtomicU64; Lie::NAMES.len()]);

impl Told {
    fn count(&self, lie: Lie) {
        let counts = Lie::NAMES.iter().zip(&self.0);
        counts.filter(|((_, it), _)| *it == lie).for_each(|(_, counter)| count(counter));
    }

    /// The counts of all lies, by name.
    pub(super) fn snapshot(&self) -> BTreeMap<&'static str, u64> {
        let counts = Lie::NAMES.iter().zip(&self.0);
        counts.map(|((name, _), count)| (*name, count.load(Ordering::Relaxed))).collect()
    }
}

/// Decides which lies are told about one database.
#[derive(Debug)]
pub(super) struct Liar {
    gate: Arc<Gate>,
    random: Xoshiro256PlusPlus,
}

impl Liar {
    /// One that tells the lies of the gate's faults.
    pub(super) fn new(gate: Arc<Gate>) -> Self {
        let random = Xoshiro256PlusPlus::seed_from_u64(gate.faults().seed);
        Self { gate, random }
    }

    /// Whether this lie is ever told.
    pub(super) fn knows(&self, lie: Lie) -> bool {
        self.gate.faults().lies.iter().any(|it| it.lie == lie)
    }

    /// Whether this lie is told now.
    pub(super) fn tells(&mut self, lie: Lie) -> bool {
        let gate = Arc::clone(&self.gate);
        let mut told = false;
        for it in gate.faults().lies.iter().filter(|it| it.lie == lie) {
            let now = gate.elapsed_ns();
            let due = now >= it.from_ns && it.until_ns.is_none_or(|until| now < until);
            told |= due && chance(&mut self.random, it.fraction);
        }
        // What is to be undone is counted when that happens.
        if told && lie != Lie::UndoDelete {
            self.count(lie);
        }
        told
    }

    /// Counts a lie that was told.
    pub(super) fn count(&self, lie: Lie) {
        self.gate.told.count(lie);
    }
}

/// The members of a document, without braces, with one value changed.
pub(super) fn altered(body: &str) -> String {
    let mut bytes = body.as_bytes().to_vec();
    let last = bytes.iter().rposition(|byte| !matches!(byte, b'}' | b']' | b'"'));
    match last.map(|at| (at, bytes[at])) {
        Some((at, digit @ b'0'..=b'9')) => bytes[at] = b'0' + (digit - b'0' + 1) % 10,
        Some((at, letter)) if letter.is_ascii_alphabetic() && bytes.get(at + 1) == Some(&b'"') => {
            bytes[at] = if letter == b'x' { b'y' } else { b'x' };
        }
        Some(_) => return format!("\"springload_wrong\":true,{body}"),
        None => return "\"springload_wrong\":true".to_owned(),
    }
    String::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_altered_is_still_json_and_something_else() {
        for body in [r#""a":1"#, r#""a":9"#, r#""a":"bc""#, r#""a":"x""#, r#""a":true"#, ""] {
            let text = |body: &str| format!("{{{body}}}");
            let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
            let altered = text(&altered(body));
            assert_ne!(value(&altered), value(&text(body)), "{altered}");
        }
        for body in [r#""a":[{"b":[1]}]"#, r#""a":{"b":"c"}"#, r#""a":"""#, r#""a":"ü""#] {
            let altered = format!("{{{}}}", altered(body));
            assert!(serde_json::from_str::<serde_json::Value>(&altered).is_ok(), "{altered}");
        }
    }
}
