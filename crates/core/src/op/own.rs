//! The operations that plans define: their valid names, and a table of those that this process has
//! seen. The table only grows, but is bounded; an index always refers to the same name.

use super::row::{Class, KindRow};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The most names that a process remembers: more than any plan has, and few enough to keep in
/// memory.
pub(super) const MOST: usize = 1_000;
/// The longest name, in characters.
const MOST_CHARACTERS: usize = 40;
/// The names as a regular expression.
#[cfg(feature = "schema")]
pub(super) const PATTERN: &str = "^[a-z][a-z0-9_-]{0,39}$";

static ROWS: [OnceLock<KindRow>; MOST] = [const { OnceLock::new() }; MOST];
/// Whether each is a request or a sequence in its plan, if that is known.
static DEFINED: [AtomicU8; MOST] = [const { AtomicU8::new(UNKNOWN) }; MOST];
const UNKNOWN: u8 = 0;
const REQUEST: u8 = 1;
const SEQUENCE: u8 = 2;
static PLACES: Mutex<BTreeMap<&'static str, u16>> = Mutex::new(BTreeMap::new());

/// Why a text cannot be the name of an operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It is not a valid name.
    #[error(
        "{0:?} is not the name of an operation: lower-case letters, digits, _ and -, the first a \
         letter, at most {MOST_CHARACTERS}"
    )]
    Spelling(String),
    /// This process has seen too many names.
    #[error("more than {MOST} names of operations: {0:?} is one too many")]
    TooMany(String),
}

/// The index of an operation that this process has seen.
pub(super) fn find(name: &str) -> Option<u16> {
    PLACES.lock().unwrap_or_else(PoisonError::into_inner).get(name).copied()
}

/// How many operations this process has seen.
pub(super) fn count() -> u16 {
    PLACES.lock().unwrap_or_else(PoisonError::into_inner).len() as u16
}

/// Adds an operation, unless it is already there. Returns its index.
///
/// # Errors
/// Returns an error if the name is not valid, or there are too many.
pub(super) fn add(name: &str) -> Result<u16, NameError> {
    if !is_name(name) {
        return Err(NameError::Spelling(name.chars().take(2 * MOST_CHARACTERS).collect()));
    }
    let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(place) = places.get(name) {
        return Ok(*place);
    }
    let place = places.len();
    let Some(slot) = ROWS.get(place) else { return Err(NameError::TooMany(name.to_owned())) };
    let row = slot.get_or_init(|| KindRow {
        name: name.to_owned().leak(),
        // The actual class is returned by `class`.
        class: Class::Request,
        ycsb: name.to_ascii_uppercase().replace('_', "-").leak(),
        mix: None,
    });
    places.insert(row.name, place as u16);
    Ok(place as u16)
}

/// The row at an index that [`add`] or [`find`] returned.
pub(super) fn row(place: usize) -> &'static KindRow {
    static NONE: KindRow = KindRow { name: "?", class: Class::Request, ycsb: "?", mix: None };
    ROWS.get(place).and_then(OnceLock::get).unwrap_or(&NONE)
}

/// The class of the operation at an index.
pub(super) fn class(place: usize) -> Class {
    let defined = DEFINED.get(place).map_or(UNKNOWN, |it| it.load(Ordering::Relaxed));
    if defined == SEQUENCE { Class::Composite } else { Class::Request }
}

/// Notes how a plan defines the operation at an index. Returns `false` if another plan that this
/// process has seen defines it differently.
pub(super) fn define(place: usize, is_sequence: bool) -> bool {
    let is = if is_sequence { SEQUENCE } else { REQUEST };
    let Some(defined) = DEFINED.get(place) else { return false };
    let (set, seen) = (Ordering::Relaxed, Ordering::Relaxed);
    defined.compare_exchange(UNKNOWN, is, set, seen).is_ok_and(|_| true)
        || defined.load(Ordering::Relaxed) == is
}

fn is_name(name: &str) -> bool {
    let first = name.starts_with(|c: char| c.is_ascii_lowercase());
    let rest = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
    first && name.len() <= MOST_CHARACTERS && name.chars().all(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_too_many_is_refused_in_words() {
        let message = NameError::TooMany("recent".to_owned()).to_string();
        assert_eq!(message, "more than 1000 names of operations: \"recent\" is one too many");
        assert_eq!((row(MOST).name, row(usize::MAX).name), ("?", "?"));
    }

    #[test]
    fn the_longest_name_has_40_characters() {
        assert!(is_name(&"a".repeat(MOST_CHARACTERS)) && is_name("a") && is_name("a-b_9"));
        assert!(!is_name(&"a".repeat(MOST_CHARACTERS + 1)) && !is_name(""));
    }
}
