//! What a connection has seen besides answers.

use super::head::Hints;
use crate::measure::Wire;
use std::ops::AddAssign;

/// What a connection has noted since the notes were last taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Noted {
    /// How often unsolicited data arrived.
    pub unsolicited: u32,
    /// Answers served by a cache on the way.
    pub from_cache: u32,
    /// Answers in which the server asked the client to wait.
    pub retry_after: u32,
}

impl Noted {
    pub(crate) fn answer(&mut self, hints: Hints) {
        self.from_cache += u32::from(hints.from_cache);
        self.retry_after += u32::from(hints.retry_after);
    }
}

impl AddAssign for Noted {
    fn add_assign(&mut self, other: Self) {
        self.unsolicited += other.unsolicited;
        self.from_cache += other.from_cache;
        self.retry_after += other.retry_after;
    }
}

impl From<Noted> for Wire {
    fn from(noted: Noted) -> Self {
        let Noted { unsolicited, from_cache, retry_after } = noted;
        let [unsolicited, from_cache, retry_after] =
            [unsolicited, from_cache, retry_after].map(u64::from);
        Self { unsolicited, from_cache, retry_after, ..Self::default() }
    }
}
