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

impl Invalid {
    /// The flag.
    pub fn flag(&self) -> &str {
        &self.flag
    }

    /// The same mistake, under another name of what it is in.
    pub fn under(self, flag: &str) -> Self {
        Self { flag: flag.to_owned(), ..self }
    }

    /// The same mistake in the file and line `place`, where the flag is the key `key`.
    pub fn within(self, place: &str, key: &str) -> Self {
        Self { flag: format!("{place}: {key}"), ..self }
    }
}

impl std::error::Error for Invalid {}

/// A value, and the flag that it was given with, as the dialect calls it: mistakes name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flagged<T> {
    /// The flag.
    pub flag: &'static str,
    /// The value.
    pub value: T,
}

impl<T> Flagged<T> {
    /// A value given with `flag`.
    pub const fn new(flag: &'static str, value: T) -> Self {
        Self { flag, value }
    }

    /// Another value, under the same flag.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Flagged<U> {
        Flagged { flag: self.flag, value: change(self.value) }
    }
}

impl Flagged<u64> {
    /// Refuses a number out of its range.
    pub fn out_of_range(self, least: u64, most: u64) -> Option<Invalid> {
        let Self { flag, value } = self;
        (value < least || value > most).then(|| {
            let cure = format!("give a number from {least} to {most}");
            Invalid::new(flag, format!("{value} is out of range"), cure)
        })
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { flag, problem, cure } = self;
        // A parser's message may span lines; an error is one.
        let problem = problem.split_whitespace().collect::<Vec<_>>().join(" ");
        write!(f, "{flag}: {problem}; {cure}")
    }
}
