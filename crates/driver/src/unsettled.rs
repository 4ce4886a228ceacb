//! Writes that got no answer, while a driver asks the server what became of them. Does not know how
//! it asks.

use crate::clock::Nanos;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts such writes, over all sessions of a target.
#[derive(Debug, Default)]
pub struct Unsettled {
    writes: AtomicU64,
    until: AtomicU64,
}

/// The writes of a target that the server is asked about now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnsettledWrites {
    /// How many there are.
    pub writes: u64,
    /// Until when it is asked, if it answers nothing.
    pub until: Nanos,
}

/// A write that the server is asked about, until this is dropped.
#[derive(Debug)]
pub struct Inquiry(Arc<Unsettled>);

impl Unsettled {
    /// The server is asked about one more write, until `until` if it answers nothing.
    pub fn ask(self: &Arc<Self>, until: Nanos) -> Inquiry {
        self.writes.fetch_add(1, Ordering::Relaxed);
        self.until.fetch_max(until, Ordering::Relaxed);
        Inquiry(self.clone())
    }

    /// The writes that it is asked about now.
    pub fn writes(&self) -> UnsettledWrites {
        let [writes, until] = [&self.writes, &self.until].map(|it| it.load(Ordering::Relaxed));
        UnsettledWrites { writes, until }
    }
}

impl Drop for Inquiry {
    fn drop(&mut self) {
        self.0.writes.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_counts_while_it_is_asked_about() {
        let unsettled = Arc::new(Unsettled::default());
        assert_eq!(unsettled.writes(), UnsettledWrites::default());
        let (one, two) = (unsettled.ask(70), unsettled.ask(50));
        assert_eq!(unsettled.writes(), UnsettledWrites { writes: 2, until: 70 });
        drop(one);
        assert_eq!(unsettled.writes().writes, 1);
        drop(two);
        assert_eq!(unsettled.writes().writes, 0);
    }
}
