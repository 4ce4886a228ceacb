//! Mistakes in what was asked, as they are reported: which flag, what is wrong, how to mend it.

use std::fmt;

/// A mistake in what was asked: which flag, what is wrong, how to mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    flag: String,
    problem: String,
    cure: String,
}

impl Invalid {
    /// A mistake in `flag`.
    pub fn new(
        flag: impl Into<String>,
        problem: impl Into<String>,
        cure: impl Into<String>,
    ) -> Self {
        Self { flag: flag.into(), problem: problem.into(), cure: cure.into() }
    }
}

impl std::error::Error for Invalid {}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { flag, problem, cure } = self;
        // A parser's message may span lines; an error is one.
        let problem = problem.split_whitespace().collect::<Vec<_>>().join(" ");
        write!(f, "{flag}: {problem}; {cure}")
    }
}
