//! What an agent has sent, kept for a while: messages are lost when a broker is restarted or a
//! connection breaks.

use super::channel::{Outbox, To};
use crate::clock::Nanos;
use std::collections::VecDeque;

/// The most bytes that are kept.
const MOST: usize = 64 << 20;

/// An agent's outbox, and the messages that went through it.
pub(super) struct Sent {
    outbox: Box<dyn Outbox>,
    /// The number of the last numbered message.
    last: u64,
    lossy: bool,
    /// Messages with their numbers, and when they were sent.
    kept: VecDeque<(u64, Nanos, Vec<u8>)>,
    bytes: usize,
}

impl Sent {
    /// Starts with nothing sent.
    pub(super) const fn new(outbox: Box<dyn Outbox>, lossy: bool) -> Self {
        Self { outbox, last: 0, lossy, kept: VecDeque::new(), bytes: 0 }
    }

    /// The number of the last numbered message.
    pub(super) const fn last(&self) -> u64 {
        self.last
    }

    /// Sends a message that may be lost. Returns whether there was room.
    pub(super) fn say(&mut self, message: Vec<u8>) -> bool {
        self.outbox.send(To::All, message).is_ok()
    }

    /// Sends the message with the next number at `now`, and keeps it. Messages sent before `since`
    /// are no longer kept. Returns whether there was room.
    pub(super) fn count(&mut self, message: Vec<u8>, now: Nanos, since: Nanos) -> bool {
        if !self.lossy {
            let sent = self.say(message);
            self.last += u64::from(sent);
            return sent;
        }
        if !self.say(message.clone()) {
            return false;
        }
        self.last += 1;
        self.bytes += message.len();
        self.kept.push_back((self.last, now, message));
        while let Some((_, at, message)) = self.kept.front()
            && (*at < since || self.bytes > MOST)
        {
            self.bytes -= message.len();
            self.kept.pop_front();
        }
        true
    }

    /// Resends the messages after number `after`, as far as there is room. Returns the number of
    /// the last message that is missing for good, if any is.
    pub(super) fn resend(&mut self, after: u64) -> Option<u64> {
        let first = self.kept.front().map_or(self.last + 1, |(number, ..)| *number);
        if first > after + 1 {
            return Some(first - 1);
        }
        for (_, _, message) in self.kept.iter().filter(|(number, ..)| *number > after) {
            if self.outbox.send(To::All, message.clone()).is_err() {
                break;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::Full;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// An outbox with room for this many messages.
    struct Room(usize, Sender<Vec<u8>>);

    impl Outbox for Room {
        fn send(&mut self, _: To, message: Vec<u8>) -> Result<(), Full> {
            self.0 = self.0.checked_sub(1).ok_or(Full::Channel)?;
            self.1.send(message).map_err(|_| Full::Channel)
        }
    }

    fn sent(room: usize, lossy: bool) -> (Sent, Receiver<Vec<u8>>) {
        let (sender, heard) = channel();
        (Sent::new(Box::new(Room(room, sender)), lossy), heard)
    }

    #[test]
    fn what_is_missing_is_sent_again_in_order() {
        let (mut sent, heard) = sent(100, true);
        for number in 1..=5 {
            assert!(sent.count(vec![number], 7, 0));
        }
        assert_eq!((sent.last(), heard.try_iter().count()), (5, 5));
        assert_eq!(sent.resend(2), None);
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [[3], [4], [5]]);
        assert_eq!(sent.resend(5), None);
        assert_eq!(heard.try_iter().count(), 0);
    }

    #[test]
    fn what_did_not_leave_has_no_number() {
        let (mut sent, _heard) = sent(1, true);
        assert!(sent.count(vec![1], 0, 0));
        assert!(!sent.count(vec![2], 0, 0) && !sent.say(vec![3]));
        assert_eq!(sent.last(), 1);
    }

    #[test]
    fn what_is_old_or_too_much_is_forgotten_and_that_is_said() {
        let (mut old, heard) = sent(100, true);
        for at in 1..=5 {
            assert!(old.count(vec![1], at, at.saturating_sub(1)));
        }
        assert_eq!(old.kept.len(), 2, "those sent since the last but one");
        assert_eq!(old.resend(2), Some(3));
        assert_eq!(old.resend(3), None);
        drop(heard);
        let (mut much, _heard) = sent(100, true);
        for _ in 0..5 {
            assert!(much.count(vec![0; MOST / 2], 0, 0));
        }
        assert_eq!((much.kept.len(), much.bytes), (2, MOST));
    }

    #[test]
    fn nothing_is_kept_where_nothing_gets_lost() {
        let (mut sent, _heard) = sent(100, false);
        assert!(sent.count(vec![1], 0, 0));
        assert_eq!((sent.last(), sent.kept.len()), (1, 0));
        assert_eq!(sent.resend(0), Some(1));
    }
}
