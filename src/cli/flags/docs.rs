//! The number of documents that a run stores before it measures.

use crate::clock::SECOND_NS;
use crate::mistake::BadValue;
use crate::plan;

/// The number of documents for `--docs auto`, unless time runs out first.
pub(in crate::cli) const DEFAULT_DOCS: u64 = 100_000;
/// How long a fill of `--docs auto` may take, in nanoseconds. Measuring then begins within 15 s of
/// the start, however slow the server is.
const WITHIN_NS: u64 = 10 * SECOND_NS;

/// The number of documents that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Docs {
    /// The default number, or as many as can be stored in a bounded time.
    Auto,
    Given(u64),
}

impl Docs {
    pub(in crate::cli) const fn most(self) -> u64 {
        match self {
            Self::Auto => DEFAULT_DOCS,
            Self::Given(count) => count,
        }
    }

    /// How long a fill before operations may take, in nanoseconds.
    pub(in crate::cli) const fn within_ns(self) -> Option<u64> {
        match self {
            Self::Auto => Some(WITHIN_NS),
            Self::Given(_) => None,
        }
    }
}

/// Parses `auto` or a count.
pub(in crate::cli) fn docs(text: &str) -> Result<Docs, BadValue> {
    if text == "auto" {
        return Ok(Docs::Auto);
    }
    let or_auto = |it: BadValue| BadValue { cure: format!("{}, or auto", it.cure), ..it };
    plan::count(text).map(Docs::Given).map_err(or_auto)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_a_number_or_as_many_as_there_is_time_for() {
        assert_eq!(docs("auto"), Ok(Docs::Auto));
        assert_eq!(docs("20k"), Ok(Docs::Given(20_000)));
        assert!(docs("many").unwrap_err().cure.ends_with(", or auto"));
        assert_eq!((Docs::Auto.most(), Docs::Auto.within_ns()), (100_000, Some(10_000_000_000)));
        assert_eq!((Docs::Given(7).most(), Docs::Given(7).within_ns()), (7, None));
    }
}
