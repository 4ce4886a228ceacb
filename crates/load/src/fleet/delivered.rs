//! Which of an agent's messages a coordinator has, which are missing, and how long it waits for
//! what a lost agent has measured.

use crate::clock::{Nanos, SECOND_NS};

/// How soon missing messages are requested again.
const AGAIN_NS: Nanos = SECOND_NS / 2;

/// The messages of an agent that have arrived.
#[derive(Clone, Debug, Default)]
pub(super) struct Delivered {
    /// The number of the last one with none missing before it.
    number: u64,
    /// When those after it were last requested.
    asked: Option<Nanos>,
    /// Until when a lost agent may hand in what it has measured.
    awaited: Option<Nanos>,
}

/// What to do with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It is the next one, or is not numbered.
    Take,
    /// It has arrived before, or too early.
    Leave,
    /// The same, and those after this number must be resent.
    Ask(u64),
}

impl Delivered {
    /// Notes a message with this number, at `now`; `counts`: the number is its own, not that of the
    /// message before it.
    pub(super) fn turn(&mut self, number: u64, counts: bool, now: Nanos) -> Turn {
        if counts && number == self.number + 1 {
            self.number = number;
            return Turn::Take;
        }
        if number <= self.number {
            return if counts { Turn::Leave } else { Turn::Take };
        }
        if self.asked.is_some_and(|at| now.saturating_sub(at) < AGAIN_NS) {
            return Turn::Leave;
        }
        self.asked = Some(now);
        Turn::Ask(self.number)
    }

    /// Waits until this time for what the agent has measured.
    pub(super) const fn expect_until(&mut self, until: Nanos) {
        self.awaited = Some(until);
    }

    pub(super) const fn expect_nothing(&mut self) {
        self.awaited = None;
    }

    /// Whether it may still hand in what it has measured.
    pub(super) fn awaited(&self, now: Nanos) -> bool {
        self.awaited.is_some_and(|until| now < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_is_taken_once_and_in_order() {
        let mut delivered = Delivered::default();
        assert_eq!(delivered.turn(0, false, 0), Turn::Take, "before anything counts");
        assert_eq!(delivered.turn(1, true, 0), Turn::Take);
        assert_eq!(delivered.turn(1, true, 0), Turn::Leave, "again");
        assert_eq!(delivered.turn(1, false, 0), Turn::Take, "nothing is missing");
        assert_eq!(delivered.turn(3, true, 0), Turn::Ask(1), "too early");
        assert_eq!(delivered.turn(4, true, AGAIN_NS - 1), Turn::Leave, "it is on its way");
        assert_eq!(delivered.turn(2, true, AGAIN_NS - 1), Turn::Take);
        assert_eq!(delivered.turn(3, false, AGAIN_NS), Turn::Ask(2), "the last one is missing");
        assert_eq!(delivered.turn(3, true, AGAIN_NS), Turn::Take);
    }

    #[test]
    fn a_lost_agent_has_some_time() {
        let mut delivered = Delivered::default();
        assert!(!delivered.awaited(0));
        delivered.expect_until(9);
        assert!(delivered.awaited(8) && !delivered.awaited(9));
        delivered.expect_nothing();
        assert!(!delivered.awaited(0));
    }
}
