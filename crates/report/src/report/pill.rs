//! The outcome of a study, in one line.

/// How good the outcome is, which determines its color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// As wanted.
    Good,
    /// With reservations.
    Fair,
    /// Not as wanted.
    Bad,
    /// There is nothing to judge yet.
    Unknown,
}

/// The outcome of a study: how good it is, a mark that conveys the same without colors, and words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pill {
    /// How good it is.
    pub mood: Mood,
    /// The mark.
    pub mark: char,
    /// The words.
    pub words: String,
}

impl Mood {
    /// A line with the usual mark of this mood.
    pub fn pill(self, words: impl Into<String>) -> Pill {
        let mark = match self {
            Self::Good => '✓',
            Self::Fair => '!',
            Self::Bad => '✗',
            Self::Unknown => '?',
        };
        Pill { mood: self, mark, words: words.into() }
    }

    /// The class in a page's style sheet.
    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Fair => "fair",
            Self::Bad => "bad",
            Self::Unknown => "none",
        }
    }
}
