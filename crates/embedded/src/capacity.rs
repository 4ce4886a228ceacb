//! A server with a single queue, which serves requests one after the other, each taking the same
//! time.
//!
//! Pure: knows nothing about sockets or clocks; `turnstile` applies it.

use std::sync::atomic::{AtomicU64, Ordering};

use super::faults::{Stall, release};
use crate::clock::{Nanos, SECOND_NS};

/// A queue shared by all connections. With random arrivals it is M/D/1 in Kendall's notation.
#[derive(Debug)]
pub(super) struct Queue {
    /// The time that one request takes, in nanoseconds.
    service_ns: Nanos,
    /// When everything so far has been served, in nanoseconds after the first request.
    free: AtomicU64,
}

impl Queue {
    /// A queue that serves this many requests per second, and never more.
    #[allow(clippy::cast_sign_loss, reason = "a rate is positive, and the cast saturates")]
    pub(super) fn new(rate: f64) -> Self {
        let service_ns = (SECOND_NS as f64 / rate).ceil() as Nanos;
        Self { service_ns, free: AtomicU64::new(0) }
    }

    /// Queues a request read at `read`; returns when it has been served. Both are in nanoseconds
    /// after the first request.
    pub(super) fn take(&self, read: Nanos, stalls: &[Stall]) -> Nanos {
        let next = |free| {
            let begin = release(stalls, read.max(free));
            Some(release(stalls, begin.saturating_add(self.service_ns)))
        };
        // The counter protects no other data.
        let before = self.free.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        next(before.unwrap_or_else(|free| free)).unwrap_or(read)
    }
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::faults::uniform;

    const MS: Nanos = 1_000_000;

    #[test]
    fn an_idle_server_adds_its_service_time_and_a_busy_one_keeps_the_order() {
        let queue = Queue::new(1000.0);
        let served = |read| queue.take(read, &[]);
        assert_eq!((served(0), served(10 * MS)), (MS, 11 * MS));
        // Three at once, and one that arrives in between.
        assert_eq!([20, 20, 20, 21].map(|at| served(at * MS) / MS), [21, 22, 23, 24]);
        assert_eq!(served(40 * MS), 41 * MS);
    }

    #[test]
    fn a_rate_that_does_not_divide_a_second_is_never_exceeded() {
        for rate in [3.0, 700.0, 2000.0, 30_000.0, 1e8] {
            let queue = Queue::new(rate);
            let last = (0..10_000).map(|_| queue.take(0, &[])).last().unwrap();
            let taken = 10_000.0 / rate * SECOND_NS as f64;
            assert!((taken..taken * 1.001).contains(&(last as f64 + 0.5)), "{rate}: {last}");
        }
    }

    #[test]
    fn a_closed_loop_gets_the_capacity() {
        // Each connection sends the next request 0.2 ms after its answer, which arrives up to 0.3
        // ms late.
        for connections in [2_usize, 3, 16, 64] {
            let queue = Queue::new(1000.0);
            let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
            let mut asks = vec![0; connections];
            let mut last = 0;
            for _ in 0..20_000 {
                let next = asks.iter_mut().min().unwrap();
                last = queue.take(*next, &[]);
                *next = last + 200_000 + (uniform(&mut random) * 3e5) as Nanos;
            }
            let rate = 20_000.0 / (last as f64 / SECOND_NS as f64);
            assert!((999.0..=1000.0).contains(&rate), "{connections}: {rate}");
        }
    }

    #[test]
    fn random_arrivals_wait_as_queueing_theory_says() {
        let (queue, mut random) = (Queue::new(1000.0), Xoshiro256PlusPlus::seed_from_u64(7));
        let (load, count) = (0.8, 400_000);
        let (mut now, mut waited) = (0.0, 0.0);
        for _ in 0..count {
            now -= (1.0 - uniform(&mut random)).ln() * 1e6 / load;
            waited += queue.take(now as Nanos, &[]) as f64 - now - 1e6;
        }
        // Pollaczek-Khinchine: with equal service times, the wait is half of that with random ones.
        let mean = load / (2.0 * (1.0 - load));
        let found = waited / f64::from(count) / 1e6;
        assert!((found / mean - 1.0).abs() < 0.03, "{found} instead of {mean}");
    }

    #[test]
    fn nothing_is_served_while_the_server_stalls() {
        let stalls = [Stall { at_ns: 10 * MS, for_ns: 50 * MS, every_ns: None }];
        let queue = Queue::new(1000.0);
        let served = [8, 8, 8, 8, 70].map(|at| queue.take(at * MS, &stalls) / MS);
        assert_eq!(served, [9, 60, 61, 62, 71]);
    }

    #[test]
    fn threads_share_it() {
        let queue = Queue::new(1e6);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert!((0..10_000).all(|_| queue.take(0, &[]) > 0)));
            }
        });
        assert_eq!(queue.take(0, &[]), 40_001 * 1000);
    }
}
