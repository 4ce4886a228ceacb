//! The numbers of records inserted while others are asked for. Knows nothing of requests.
//!
//! Of all that connections share this is the only thing they all write: which record is the newest
//! that may be asked for is a fact about all of them. It takes an atomic load for each draw, and
//! two atomic additions for each insert; nobody ever waits.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The most inserts that may be under way between the oldest and the newest: YCSB's number.
pub const WINDOW: u64 = 1 << 20;

/// Hands out numbers of records to insert, and knows up to where all of them are stored.
#[derive(Debug)]
pub struct Inserts {
    next: AtomicU64,
    /// All numbers below are stored, or their insert has failed.
    stored: AtomicU64,
    /// One bit for each number of the window: stored, and some number below it not yet.
    window: Box<[AtomicU64]>,
    /// Somebody moves `stored` on.
    moving: AtomicBool,
}

impl Inserts {
    /// The first number handed out is `first`; all below count as stored.
    pub fn new(first: u64) -> Self {
        let window = (0..WINDOW / 64).map(|_| AtomicU64::new(0)).collect();
        Self {
            next: AtomicU64::new(first),
            stored: AtomicU64::new(first),
            window,
            moving: AtomicBool::new(false),
        }
    }

    /// A number for a new record. `None`: too many are under way; YCSB ends with an exception here.
    pub fn take(&self) -> Option<u64> {
        let number = self.next.load(Ordering::Relaxed);
        if number >= self.stored.load(Ordering::Acquire) + WINDOW / 2 {
            return None;
        }
        // The other half of the window is for those that passed the check at the same time.
        Some(self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// The number of records that may be asked for: all below this number are stored.
    #[inline]
    pub fn stored(&self) -> u64 {
        self.stored.load(Ordering::Acquire)
    }

    /// Tells that an insert has ended, well or not; once for each number that was taken.
    pub fn acknowledge(&self, number: u64) {
        let (word, bit) = self.place(number);
        word.fetch_or(bit, Ordering::SeqCst);
        // Whoever moves on may have looked at this number before it was marked, so after each
        // move somebody looks again. YCSB does not, and lags until the next insert.
        while self.is_marked(self.stored.load(Ordering::SeqCst)) {
            if self.moving.swap(true, Ordering::SeqCst) {
                return;
            }
            self.move_on();
            self.moving.store(false, Ordering::SeqCst);
        }
    }

    fn move_on(&self) {
        let mut stored = self.stored.load(Ordering::SeqCst);
        while self.is_marked(stored) {
            let (word, bit) = self.place(stored);
            word.fetch_and(!bit, Ordering::SeqCst);
            stored += 1;
            self.stored.store(stored, Ordering::SeqCst);
        }
    }

    fn is_marked(&self, number: u64) -> bool {
        let (word, bit) = self.place(number);
        word.load(Ordering::SeqCst) & bit != 0
    }

    fn place(&self, number: u64) -> (&AtomicU64, u64) {
        (&self.window[(number % WINDOW / 64) as usize], 1 << (number % 64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_a_gapless_row_counts() {
        let inserts = Inserts::new(1000);
        let taken: Vec<u64> = (0..4).filter_map(|_| inserts.take()).collect();
        assert_eq!(taken, [1000, 1001, 1002, 1003]);
        let mut stored = Vec::new();
        for number in [1001, 1000, 1003, 1002] {
            inserts.acknowledge(number);
            stored.push(inserts.stored());
        }
        assert_eq!(stored, [1000, 1002, 1002, 1004]);
    }

    #[test]
    fn the_window_is_used_again_and_has_an_end() {
        let inserts = Inserts::new(WINDOW - 3);
        for _ in 0..WINDOW + 10 {
            inserts.acknowledge(inserts.take().unwrap());
        }
        assert_eq!(inserts.stored(), 2 * WINDOW + 7);
        let under_way = (0..WINDOW).map_while(|_| inserts.take()).count() as u64;
        assert_eq!(under_way, WINDOW / 2);
        inserts.acknowledge(inserts.stored());
        assert!(inserts.take().is_some());
    }

    #[test]
    fn threads_lose_nothing() {
        let inserts = Inserts::new(5);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut held = None;
                    for _ in 0..20_000 {
                        // Two are under way at a time, so that rows have gaps.
                        let number = inserts.take().unwrap();
                        assert!(inserts.stored() <= number);
                        if let Some(before) = held.replace(number) {
                            inserts.acknowledge(before);
                        }
                    }
                    inserts.acknowledge(held.unwrap());
                });
            }
        });
        assert_eq!(inserts.stored(), 5 + 80_000);
    }

    proptest! {
        #[test]
        fn any_order_ends_at_the_same_place(order in Just((0..200u64).collect::<Vec<_>>())
            .prop_shuffle())
        {
            let inserts = Inserts::new(0);
            (0..200).for_each(|_| assert!(inserts.take().is_some()));
            let mut ended = std::collections::BTreeSet::new();
            for number in order {
                inserts.acknowledge(number);
                ended.insert(number);
                let row = (0..=200).find(|number| !ended.contains(number)).unwrap();
                prop_assert_eq!(inserts.stored(), row);
            }
        }
    }
}
