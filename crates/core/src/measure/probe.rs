//! One operation: the marks taken while it runs, the times between them, and everything that is
//! recorded about it.
//!
//! Order of the marks: intended ≤ began ≤ send ≤ sent ≤ first byte ≤ last byte.

use super::counts::{BodyBytes, Wire};
use crate::clock::{Clock, Nanos};
use crate::op::{Failure, OpKind, Reply};

/// A kernel timestamp older than this is not used. The timestamp is that of the last segment
/// received, which may have arrived before another one that was lost and resent; an older timestamp
/// then does not say when the answer was complete.
pub const OLDEST_NOTE_NS: Nanos = 2_000_000;

/// The tolerance of the kernel's timestamp: it is on the wall clock and is converted by two
/// readings, which must agree to within 20 µs.
const NOTE_OFF_NS: Nanos = 40_000;

/// Takes the marks of one operation. A mark that was not taken equals the one before it.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    clock: Clock,
    intended: Nanos,
    began: Nanos,
    send: Nanos,
    sent: Nanos,
    first_byte: Nanos,
    last_byte: Nanos,
    /// How often data arrived, and how often with a timestamp from the kernel.
    arrivals: u32,
    noted: u32,
    /// Until when the server was asked in vain what became of the operation; 0 if it was not.
    silent_until: Nanos,
}

impl Probe {
    /// Starts an operation that was due at `intended` and is begun at `began`.
    pub const fn new(clock: Clock, intended: Nanos, began: Nanos) -> Self {
        let (send, sent, first_byte, last_byte) = (0, 0, 0, 0);
        let (arrivals, noted, silent_until) = (0, 0, 0);
        Self {
            clock,
            intended,
            began,
            send,
            sent,
            first_byte,
            last_byte,
            arrivals,
            noted,
            silent_until,
        }
    }

    /// When the operation was begun.
    pub const fn began(&self) -> Nanos {
        self.began
    }

    /// The clock that the marks are read from.
    pub const fn clock(&self) -> Clock {
        self.clock
    }

    /// Makes the request count as being written from the moment the operation begins.
    pub const fn mark_send_at_once(&mut self) {
        if self.send == 0 {
            self.send = self.began;
        }
    }

    /// Marks that the request is about to be written. If it is resent, the first attempt counts.
    pub fn mark_send(&mut self) {
        if self.send == 0 {
            self.send = self.clock.now();
        }
    }

    /// Marks that the operating system has accepted the request's last byte.
    pub fn mark_sent(&mut self) {
        self.sent = self.clock.now();
        self.first_byte = 0;
    }

    /// Marks that bytes of the answer have arrived. Called at every arrival; the first is kept
    /// separately.
    pub fn mark_received(&mut self) {
        self.mark_arrival(self.clock.now());
    }

    /// Marks a request as written at `moment`, by a task that serves several sessions.
    pub const fn mark_sent_at(&mut self, moment: Nanos) {
        self.sent = moment;
        self.first_byte = 0;
    }

    /// Marks bytes of the answer as read at `moment`, by a task that serves several sessions.
    pub const fn mark_read_at(&mut self, moment: Nanos) {
        self.mark_arrival(moment);
    }

    /// Marks bytes of the answer as having arrived at the kernel's timestamp `moment`.
    pub const fn mark_received_at(&mut self, moment: Nanos) {
        self.noted += 1;
        self.mark_arrival(moment);
    }

    /// Whether data with the kernel's timestamp `moment` arrived before the request was sent, so
    /// that it cannot belong to the answer.
    pub const fn before_send(&self, moment: Nanos) -> bool {
        moment.saturating_add(NOTE_OFF_NS) < self.send
    }

    const fn mark_arrival(&mut self, moment: Nanos) {
        self.arrivals += 1;
        self.last_byte = moment;
        if self.first_byte == 0 {
            self.first_byte = moment;
        }
    }

    /// Whether the kernel timestamped every part of the answer.
    pub const fn noted(&self) -> bool {
        self.arrivals > 0 && self.noted == self.arrivals
    }

    /// Whether the answer arrived in one piece.
    pub const fn in_one_piece(&self) -> bool {
        self.arrivals == 1
    }

    /// Whether the kernel timestamped an answer that arrived in one piece: then nothing would have
    /// been lost by reading it later.
    pub const fn can_wait(&self) -> bool {
        self.in_one_piece() && self.noted()
    }

    /// Marks a request that was answered at once: one clock reading serves for all marks after the
    /// start.
    pub fn mark_answered_at_once(&mut self) {
        (self.send, self.sent) = (self.began, self.began);
        self.mark_received();
    }

    /// Marks an answer from a host process, which measured that the database took `inside_ns` of
    /// the time since the request was sent. Only that counts as service time, and it ends with the
    /// answer. Returns the rest, which counts as local; `None` if less time than `inside_ns` has
    /// passed.
    pub const fn mark_inside(&mut self, inside_ns: Nanos) -> Option<Nanos> {
        let taken_ns = self.last_byte.saturating_sub(self.send);
        let Some(outside_ns) = taken_ns.checked_sub(inside_ns) else { return None };
        self.send = self.last_byte - inside_ns;
        self.sent = self.send;
        self.first_byte = self.last_byte;
        Some(outside_ns)
    }

    /// Ends the operation without a complete answer: a timeout or a lost connection.
    pub fn mark_failed(&mut self) {
        self.last_byte = self.clock.now();
    }

    /// Marks that the server, asked what became of the operation, did not answer either.
    pub fn mark_silent(&mut self) {
        self.silent_until = self.clock.now();
    }

    /// Until when the server was asked in vain what became of the operation; 0 if it was not.
    pub const fn silent_until(&self) -> Nanos {
        self.silent_until
    }

    /// The operation's times. An operation without a last byte ends now.
    pub fn finish(&self) -> Timing {
        let send = self.send.max(self.began);
        let sent = self.sent.max(send);
        let last_byte =
            if self.last_byte == 0 { self.clock.now() } else { self.last_byte }.max(sent);
        let first_byte =
            if self.first_byte == 0 { last_byte } else { self.first_byte }.clamp(sent, last_byte);
        Timing {
            lag_ns: self.began.saturating_sub(self.intended),
            send_ns: sent - send,
            remote_ns: first_byte - sent,
            receive_ns: last_byte - first_byte,
            service_ns: last_byte - send,
            response_ns: last_byte.saturating_sub(self.intended),
            done: last_byte,
        }
    }
}

/// The times of one operation, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How late the operation was begun: began − intended.
    pub lag_ns: Nanos,
    /// Writing the request: sent − send.
    pub send_ns: Nanos,
    /// Waiting for the answer: first byte − sent.
    pub remote_ns: Nanos,
    /// Reading the answer: last byte − first byte.
    pub receive_ns: Nanos,
    /// The service time: last byte − send.
    pub service_ns: Nanos,
    /// The response time: last byte − intended.
    pub response_ns: Nanos,
    /// When the operation ended: its last byte, on the clock of the run.
    pub done: Nanos,
}

impl Timing {
    /// Writing the request, waiting for the answer and reading it.
    pub const fn phases_ns(&self) -> Nanos {
        self.send_ns + self.remote_ns + self.receive_ns
    }

    /// The times of purely local work, from `began` to `done`.
    pub const fn between(began: Nanos, done: Nanos) -> Self {
        let spent_ns = done.saturating_sub(began);
        Self {
            lag_ns: 0,
            send_ns: 0,
            remote_ns: 0,
            receive_ns: 0,
            service_ns: spent_ns,
            response_ns: spent_ns,
            done,
        }
    }

    /// The times of an operation that began with this request and ended with the request `last`.
    pub const fn until(&self, last: &Self) -> Self {
        let more_ns = last.done.saturating_sub(self.done);
        Self {
            service_ns: self.service_ns + more_ns,
            response_ns: self.response_ns + more_ns,
            ..Self { lag_ns: self.lag_ns, ..*last }
        }
    }
}

/// Everything that is recorded about one finished request.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// The kind of operation.
    pub kind: OpKind,
    /// When, and how long it took.
    pub timing: &'a Timing,
    /// How the request as a whole ended.
    pub result: Result<Reply, Failure>,
    /// The number of documents.
    pub documents: u32,
    /// Failures of single documents inside a request that succeeded, per class.
    pub row_failures: Option<&'a [u32; Failure::COUNT]>,
    /// Bytes of its bodies.
    pub bytes: BodyBytes,
    /// What happened on the wire.
    pub wire: Wire,
    /// The status of each answer, if the driver provides them.
    pub statuses: &'a [u16],
}

impl<'a> Sample<'a> {
    /// An operation on one document, without bytes.
    pub fn single(kind: OpKind, timing: &'a Timing, result: Result<Reply, Failure>) -> Self {
        Self {
            kind,
            timing,
            result,
            documents: 1,
            row_failures: None,
            bytes: BodyBytes::default(),
            wire: Wire::default(),
            statuses: &[],
        }
    }

    /// Adds the documents that failed, by class, to `failures`; returns how many succeeded.
    #[inline]
    pub(super) fn divide(&self, failures: &mut [u64; Failure::COUNT]) -> u64 {
        let mut ok = u64::from(self.documents);
        if let Err(failure) = self.result {
            failures[failure.index()] += std::mem::take(&mut ok);
        } else if let Some(rows) = self.row_failures {
            for (sum, &part) in failures.iter_mut().zip(rows) {
                *sum += u64::from(part);
                ok -= u64::from(part);
            }
        }
        ok
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn times_are_the_differences_of_the_marks() {
        let clock = Clock::virtual_time();
        let step = |ms| tokio::time::advance(std::time::Duration::from_millis(ms));
        let intended = clock.now();
        step(5).await;
        let mut probe = Probe::new(clock, intended, clock.now());
        step(1).await;
        probe.mark_send();
        step(2).await;
        probe.mark_sent();
        step(10).await;
        probe.mark_received();
        step(3).await;
        probe.mark_received();
        step(1).await;
        let timing = probe.finish();
        let ms = |n: u64| n * 1_000_000;
        assert_eq!(
            (timing.lag_ns, timing.send_ns, timing.remote_ns, timing.receive_ns),
            (ms(5), ms(2), ms(10), ms(3))
        );
        assert_eq!((timing.service_ns, timing.response_ns), (ms(15), ms(21)));
    }

    #[tokio::test(start_paused = true)]
    async fn only_what_the_database_took_is_service_and_it_cannot_have_taken_more_than_there_was() {
        let clock = Clock::virtual_time();
        let step = |ms| tokio::time::advance(std::time::Duration::from_millis(ms));
        let intended = clock.now();
        step(5).await;
        let mut probe = Probe::new(clock, intended, clock.now());
        probe.mark_send();
        step(1).await;
        probe.mark_sent();
        step(10).await;
        probe.mark_received();
        step(1).await;
        probe.mark_received();
        let ms = |n: u64| n * 1_000_000;
        assert_eq!(probe.mark_inside(ms(12) + 1), None);
        assert_eq!(probe.finish().service_ns, ms(12), "as if it had told nothing");
        assert_eq!(probe.mark_inside(ms(9)), Some(ms(3)));
        let timing = probe.finish();
        assert_eq!((timing.service_ns, timing.remote_ns), (ms(9), ms(9)));
        assert_eq!((timing.lag_ns, timing.response_ns), (ms(5), ms(17)));
        assert_eq!(timing.done, intended + ms(17));
    }

    #[test]
    fn only_a_noted_answer_in_one_piece_can_wait() {
        let clock = Clock::system();
        let began = clock.now();
        let probe = |notes: &[bool]| {
            let mut probe = Probe::new(clock, began, began);
            for &noted in notes {
                if noted { probe.mark_received_at(began + 5) } else { probe.mark_received() }
            }
            probe
        };
        let can_wait = |notes: &[bool]| probe(notes).can_wait();
        assert!(can_wait(&[true]));
        assert!(![&[][..], &[false], &[true, true], &[true, false]].into_iter().any(can_wait));
        assert!(probe(&[true, true]).noted() && !probe(&[true, false]).noted());
        assert_eq!(probe(&[true]).finish().service_ns, 5);
    }

    #[tokio::test(start_paused = true)]
    async fn what_came_before_the_request_was_sent_is_no_answer() {
        let clock = Clock::virtual_time();
        tokio::time::advance(std::time::Duration::from_millis(30)).await;
        let mut probe = Probe::new(clock, clock.now(), clock.now());
        probe.mark_send_at_once();
        let began = probe.began();
        assert!(probe.before_send(began - NOTE_OFF_NS - 1));
        assert!(!probe.before_send(began - NOTE_OFF_NS));
        assert!(!probe.before_send(began + 1));
    }

    #[tokio::test(start_paused = true)]
    async fn an_operation_that_never_connected_still_has_a_response_time() {
        let clock = Clock::virtual_time();
        let mut probe = Probe::new(clock, clock.now(), clock.now());
        tokio::time::advance(std::time::Duration::from_millis(30)).await;
        probe.mark_failed();
        let timing = probe.finish();
        assert_eq!(timing.response_ns, 30_000_000);
    }
}
