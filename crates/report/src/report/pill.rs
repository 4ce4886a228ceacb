//! What a study came to, in one line.

/// How good that is: the colour it is shown in.
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

/// What a study came to: how good that is, a mark that says the same without colours, and words.
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
    /// A line with the usual mark.
    pub fn pill(self, words: impl Into<String>) -> Pill {
        let mark = match self {
            Self::Good => '✓',
            Self::Fair => '!',
            Self::Bad => '✗',
            Self::Unknown => '?',
        };
        Pill { mood: self, mark, words: words.into() }
    }

    /// The class of a page's style sheet.
    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Fair => "fair",
            Self::Bad => "bad",
            Self::Unknown => "none",
        }
    }
}
