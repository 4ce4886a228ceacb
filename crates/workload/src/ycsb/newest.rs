//! The newest record known to all connections, as in YCSB. Knows nothing about keys.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Assigns numbers to new records, and tracks the number below which all inserts have ended.
#[derive(Debug)]
pub(super) struct Newest {
    next: AtomicU64,
    stored: AtomicU64,
    /// Inserts that ended before an earlier one.
    ahead: Mutex<BTreeSet<u64>>,
}

impl Newest {
    pub(super) fn new(stored: u64) -> Self {
        let ahead = Mutex::default();
        Self { next: AtomicU64::new(stored), stored: AtomicU64::new(stored), ahead }
    }

    /// Takes the number for a new record.
    pub(super) fn take(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// The number of records: all inserts of lower numbers have ended.
    pub(super) fn stored(&self) -> u64 {
        self.stored.load(Ordering::Relaxed)
    }

    /// Notes that the insert of `number` has ended, successfully or not.
    pub(super) fn ended(&self, number: u64) {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stored = self.stored.load(Ordering::Relaxed);
        ahead.insert(number);
        while ahead.remove(&stored) {
            stored += 1;
        }
        self.stored.store(stored, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_out_of_turn_counts_once_the_turn_comes() {
        let newest = Newest::new(10);
        assert_eq!([newest.take(), newest.take(), newest.take()], [10, 11, 12]);
        newest.ended(12);
        newest.ended(11);
        assert_eq!(newest.stored(), 10);
        newest.ended(10);
        assert_eq!((newest.stored(), newest.take()), (13, 13));
    }
}
