//! Arrival times of answers, from the kernel's timestamp on each packet.
//!
//! A shard that reads an answer late still learns when it arrived. In an open loop it can thus
//! sleep until the next operation is due and then read all answers, with one wake-up instead of
//! two.

use super::unread::Unread;
use crate::clock::{Clock, Nanos, wall_ns};
use crate::measure::OLDEST_NOTE_NS;
use std::cell::{Cell, RefCell};
use tokio::net::TcpStream;

/// How far the wall clock may move against the monotonic one between two answers before its
/// timestamps are ignored. Clocks are slewed by at most 0.5 ms per second, and steps are larger
/// than this.
const MOST_MOVED_NS: u64 = 20_000;

/// Reads answers and their arrival times from the connections of one shard.
#[derive(Debug)]
pub struct Timestamps {
    clock: Clock,
    /// The buffer for the kernel's timestamp.
    note: RefCell<Vec<u8>>,
    /// The wall clock minus `clock`, as of the last answer.
    offset: Cell<i64>,
    /// The connections that wait for an answer.
    pub(super) unread: Unread,
}

impl Timestamps {
    /// Timestamps on `clock`; `None` if the operating system does not support them.
    #[cfg(target_os = "linux")]
    pub fn new(clock: Clock) -> Option<Self> {
        let note = RefCell::new(nix::cmsg_space!(nix::sys::time::TimeSpec));
        let (offset, unread) = (Cell::new(offset(clock).1), Unread::default());
        (!clock.is_virtual()).then_some(Self { clock, note, offset, unread })
    }

    /// Always `None`: not supported on this operating system.
    #[cfg(not(target_os = "linux"))]
    pub fn new(_: Clock) -> Option<Self> {
        None
    }

    /// Asks the kernel for timestamps on `stream`. If it refuses, answers will have none.
    pub(super) fn ask(stream: &TcpStream) {
        #[cfg(target_os = "linux")]
        {
            use nix::sys::socket::{setsockopt, sockopt::ReceiveTimestampns};
            let _ = setsockopt(stream, ReceiveTimestampns, &true);
        }
    }

    /// Reads what has arrived, and when the last of it arrived, if that was recorded.
    #[cfg(target_os = "linux")]
    pub(super) fn receive(
        &self,
        stream: &TcpStream,
        buffer: &mut [u8],
    ) -> std::io::Result<(usize, Option<Nanos>)> {
        use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
        use nix::sys::time::TimeValLike;
        use std::os::fd::AsRawFd;
        let mut note = self.note.borrow_mut();
        let mut parts = [std::io::IoSliceMut::new(buffer)];
        let flags = MsgFlags::empty();
        let message = recvmsg::<()>(stream.as_raw_fd(), &mut parts, Some(&mut note), flags)?;
        let noted = message.cmsgs()?.find_map(|note| match note {
            ControlMessageOwned::ScmTimestampns(time) => {
                Some(time.num_nanoseconds().unsigned_abs())
            }
            _ => None,
        });
        Ok((message.bytes, noted.and_then(|wall| self.place(wall))))
    }

    /// Reads what has arrived, without a timestamp.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn receive(
        &self,
        stream: &TcpStream,
        buffer: &mut [u8],
    ) -> std::io::Result<(usize, Option<Nanos>)> {
        Ok((rustix::net::recv(stream, buffer, rustix::net::RecvFlags::empty())?.0, None))
    }

    /// Converts the wall clock time `noted` to the run's clock. `None` if it is too old, if one of
    /// the two clocks was set since the last answer, or if this thread was interrupted between
    /// reading the two clocks.
    fn place(&self, noted: Nanos) -> Option<Nanos> {
        let before = self.offset.get();
        let (now, offset) = agreeing(before, || offset(self.clock));
        let moved = before.abs_diff(offset);
        self.offset.set(offset);
        let moment = noted.checked_add_signed(offset.checked_neg()?)?.min(now);
        (moved <= MOST_MOVED_NS && now - moment <= OLDEST_NOTE_NS).then_some(moment)
    }
}

/// The readings of both clocks, repeated if they disagree with the offset of `before`: an
/// interruption between the two readings makes the wall clock seem further ahead, never less far.
fn agreeing(before: i64, mut read: impl FnMut() -> (Nanos, i64)) -> (Nanos, i64) {
    let first = read();
    if before.abs_diff(first.1) <= MOST_MOVED_NS {
        return first;
    }
    let (now, offset) = read();
    (now, offset.min(first.1))
}

/// The time on `clock`, and how far the wall clock is ahead of it.
fn offset(clock: Clock) -> (Nanos, i64) {
    let now = clock.now();
    (now, wall_ns().cast_signed() - now.cast_signed())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{MOST_MOVED_NS, OLDEST_NOTE_NS, Timestamps, agreeing};
    use crate::clock::{Clock, SECOND_NS, wall_ns};
    use std::io::Write;
    use std::time::Duration;
    use tokio::net::TcpStream;

    #[tokio::test]
    async fn an_answer_read_late_came_when_it_came() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let clock = Clock::system();
        let timestamps = Timestamps::new(clock).unwrap();
        Timestamps::ask(&stream);
        // The kernel needs a moment to start timestamping, and a timestamp is ignored if this
        // thread was interrupted at the wrong moment. That may happen sometimes, but not every
        // time.
        for _ in 0..1_000 {
            let before = clock.now();
            server.write_all(b"answer").unwrap();
            let after = clock.now();
            std::thread::sleep(Duration::from_micros(500));
            stream.readable().await.unwrap();
            let (count, noted) = timestamps.receive(&stream, &mut [0; 64]).unwrap();
            assert_eq!(count, 6);
            if let Some(noted) = noted {
                let tolerance = MOST_MOVED_NS;
                assert!((before - tolerance..=after + tolerance).contains(&noted));
                return;
            }
        }
        panic!("the kernel notes no timestamps");
    }

    #[test]
    fn an_old_note_is_not_believed() {
        let timestamps = Timestamps::new(Clock::system()).unwrap();
        let placed = |age: u64| (0..100).any(|_| timestamps.place(wall_ns() - age).is_some());
        assert!(placed(OLDEST_NOTE_NS / 2));
        assert!(!placed(OLDEST_NOTE_NS + MOST_MOVED_NS));
    }

    /// The offset before, and the offsets read after it.
    #[test]
    fn an_interruption_between_two_readings_does_no_harm() {
        let moved = i64::try_from(MOST_MOVED_NS).unwrap() + 1;
        for (before, read, agreed) in [
            (7, vec![9], 9),
            (7, vec![7 + moved, 8], 8),
            (7, vec![7 + moved, 8 + moved], 7 + moved),
            (7, vec![7 - moved, 900], 7 - moved),
        ] {
            let mut readings = read.iter().copied();
            let mut nth = 0..;
            let found = agreeing(before, || (nth.next().unwrap(), readings.next().unwrap()));
            assert_eq!(found, (read.len() as u64 - 1, agreed), "{read:?}");
            assert_eq!(readings.next(), None, "each was needed");
        }
    }

    #[test]
    fn a_wall_clock_that_was_set_is_not_believed_once() {
        let timestamps = Timestamps::new(Clock::system()).unwrap();
        let place = || timestamps.place(wall_ns() - 1_000_000);
        let placed = |tries: usize| (0..tries).find_map(|_| place());
        assert!(placed(100).is_some());
        for set_by in [SECOND_NS.cast_signed(), -SECOND_NS.cast_signed()] {
            timestamps.offset.set(timestamps.offset.get() + set_by);
            assert_eq!(place(), None, "set by {set_by} ns");
            assert!(placed(100).is_some());
        }
    }
}
