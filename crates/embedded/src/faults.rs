//! Scripted faults: what happens to an answer, as pure functions of the time and a seed.
//!
//! Knows nothing about sockets or timers; `turnstile` applies them.

use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::catalogue::{Fault, Occurrence};
use crate::clock::Nanos;

/// How long an answer is held back.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Delay {
    /// Not at all.
    #[default]
    None,
    /// Always the same time.
    Constant {
        /// Nanoseconds.
        ns: Nanos,
    },
    /// Usually one time, sometimes another: for example 99 % 1 ms and 1 % 50 ms.
    Mix {
        /// The usual delay in nanoseconds.
        ns: Nanos,
        /// The rare delay in nanoseconds.
        rare_ns: Nanos,
        /// The probability of the rare delay, 0 to 1.
        rare_fraction: f64,
    },
    /// Log-normal, as latencies often are.
    LogNormal {
        /// The median in nanoseconds.
        median_ns: Nanos,
        /// The standard deviation of the logarithm.
        sigma: f64,
    },
    /// Changes steadily from one delay to another, and then stays there.
    Ramp {
        /// The delay of the first request, in nanoseconds.
        from_ns: Nanos,
        /// The final delay, in nanoseconds.
        to_ns: Nanos,
        /// How long after the first request the final delay is reached, in nanoseconds.
        over_ns: Nanos,
    },
}

impl Delay {
    /// Draws the delay of a request that was served at `served`, in nanoseconds after the first
    /// one.
    pub(super) fn draw(self, served: Nanos, random: &mut Xoshiro256PlusPlus) -> Nanos {
        match self {
            Self::None => 0,
            Self::Constant { ns } => ns,
            Self::Mix { ns, rare_ns, rare_fraction } => {
                if chance(random, rare_fraction) {
                    rare_ns
                } else {
                    ns
                }
            }
            Self::LogNormal { median_ns, sigma } => {
                // Box-Muller: turns two uniform numbers into a normal one.
                let radius = (-2.0 * (1.0 - uniform(random)).ln()).sqrt();
                let normal = radius * (std::f64::consts::TAU * uniform(random)).cos();
                to_ns(median_ns as f64 * (sigma * normal).exp())
            }
            Self::Ramp { to_ns, over_ns, .. } if served >= over_ns => to_ns,
            Self::Ramp { from_ns, to_ns: last_ns, over_ns } => {
                let done = served as f64 / over_ns as f64;
                to_ns(from_ns as f64 * (1.0 - done) + last_ns as f64 * done)
            }
        }
    }
}

/// A window in which the whole server stalls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_field_names, reason = "units come last in names")]
pub struct Stall {
    /// When it begins, in nanoseconds after the first request.
    pub at_ns: Nanos,
    /// How long it lasts, in nanoseconds.
    pub for_ns: Nanos,
    /// The interval at which it repeats, in nanoseconds; `None` means that it happens once.
    pub every_ns: Option<Nanos>,
}

impl Stall {
    /// When an answer due at `due` is sent, both in nanoseconds after the first request.
    pub(super) fn release(self, due: Nanos) -> Nanos {
        let Some(since) = due.checked_sub(self.at_ns) else { return due };
        let within = match self.every_ns {
            Some(every) if every > 0 => since % every,
            _ => since,
        };
        if within < self.for_ns { due + (self.for_ns - within) } else { due }
    }
}

/// When something due at `due` happens, given that the server may be stalling at that time.
pub(super) fn release(stalls: &[Stall], due: Nanos) -> Nanos {
    stalls.iter().fold(due, |due, stall| stall.release(due))
}

/// The faults applied to answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faults {
    /// How many requests are served per second, one after the other; `None` means any number at
    /// once.
    pub capacity: Option<f64>,
    /// How long each answer is held back.
    pub delay: Delay,
    /// When the whole server stalls.
    pub stalls: Vec<Stall>,
    /// Fraction of requests that are never answered; nor is any later request on the same
    /// connection.
    pub drop_fraction: f64,
    /// Fraction of requests whose answers are held back for another `slow_ns`.
    pub slow_fraction: f64,
    /// How much longer slow requests take, in nanoseconds.
    pub slow_ns: Nanos,
    /// The named faults.
    pub named: Vec<Occurrence>,
    /// The seed of all draws; a connection's draws depend on it and on the connection's number.
    pub seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Answered this many nanoseconds after the very first request.
    Answer(Nanos),
    /// Never answered.
    Drop,
}

impl Faults {
    /// Whether every answer is sent at once and unchanged.
    pub(super) fn is_prompt(&self) -> bool {
        self.capacity.is_none()
            && self.delay == Delay::None
            && self.stalls.is_empty()
            && self.drop_fraction <= 0.0
            && self.slow_fraction <= 0.0
            && !self.named.iter().any(|it| !matches!(it.fault, Fault::Lie(_)))
    }

    /// The fault of a request, if any, except for lies; `now` is in nanoseconds after the first
    /// request.
    pub(super) fn of_request(&self, now: Nanos, random: &mut Xoshiro256PlusPlus) -> Option<Fault> {
        let requests = self.named.iter().filter(|it| !matches!(it.fault, Fault::Lie(_)));
        let mut due = requests.filter(|it| it.is_due(now));
        due.find(|it| chance(random, it.fraction)).map(|it| it.fault)
    }

    /// Whether any faults are lies about documents.
    pub(super) fn lie(&self) -> bool {
        self.named.iter().any(|it| matches!(it.fault, Fault::Lie(_)))
    }

    /// The fate of a request that was served at `served`, in nanoseconds after the first request.
    pub(super) fn fate(&self, served: Nanos, random: &mut Xoshiro256PlusPlus) -> Fate {
        if chance(random, self.drop_fraction) {
            return Fate::Drop;
        }
        let slow = if chance(random, self.slow_fraction) { self.slow_ns } else { 0 };
        let due = served.saturating_add(self.delay.draw(served, random)).saturating_add(slow);
        Fate::Answer(release(&self.stalls, due))
    }
}

pub(super) fn chance(random: &mut Xoshiro256PlusPlus, fraction: f64) -> bool {
    fraction > 0.0 && uniform(random) < fraction
}

/// A number from 0 (inclusive) to 1 (exclusive).
pub(super) fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

#[allow(
    clippy::cast_sign_loss,
    reason = "an exponential is never negative, and the cast saturates"
)]
fn to_ns(value: f64) -> Nanos {
    value as Nanos
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;

    use super::*;

    fn random() -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(7)
    }

    #[test]
    fn a_stall_holds_back_what_is_due_in_it() {
        let once = Stall { at_ns: 100, for_ns: 50, every_ns: None };
        let cases = [(0, 0), (99, 99), (100, 150), (149, 150), (150, 150), (1100, 1100)];
        for (due, released) in cases {
            assert_eq!(once.release(due), released, "{due}");
        }
        let often = Stall { every_ns: Some(1000), ..once };
        assert_eq!(
            (often.release(1100), often.release(1149), often.release(1150)),
            (1150, 1150, 1150)
        );
    }

    #[test]
    fn a_mix_takes_its_shares() {
        let mix = Delay::Mix { ns: 1, rare_ns: 50, rare_fraction: 0.01 };
        let mut random = random();
        let rare = (0..100_000).filter(|_| mix.draw(0, &mut random) == 50).count();
        assert!((900..1100).contains(&rare), "{rare}");
    }

    #[test]
    fn a_log_normal_has_its_median_and_spread() {
        let law = Delay::LogNormal { median_ns: 1_000_000, sigma: 0.5 };
        let mut random = random();
        let mut drawn: Vec<Nanos> = (0..100_001).map(|_| law.draw(0, &mut random)).collect();
        drawn.sort_unstable();
        assert!((980_000..1_020_000).contains(&drawn[50_000]), "{}", drawn[50_000]);
        // One standard deviation up: e^0.5 times the median.
        assert!((1_610_000..1_690_000).contains(&drawn[84_134]), "{}", drawn[84_134]);
    }

    #[test]
    fn a_ramp_goes_evenly_from_one_delay_to_the_other_and_stays() {
        let drawn = |from_ns, to_ns, over_ns, served| {
            Delay::Ramp { from_ns, to_ns, over_ns }.draw(served, &mut random())
        };
        for (served, up, down) in
            [(0, 10, 100), (1, 10, 100), (300, 55, 55), (600, 100, 10), (Nanos::MAX, 100, 10)]
        {
            let own = (drawn(10, 100, 600, served), drawn(100, 10, 600, served));
            assert!(own.0.abs_diff(up) <= 1 && own.1.abs_diff(down) <= 1, "{served}: {own:?}");
        }
        assert_eq!((drawn(10, 100, 0, 0), drawn(7, 7, 600, 77)), (100, 7));
        let ramp = Delay::Ramp { from_ns: 0, to_ns: 100, over_ns: 100 };
        let faults = Faults { delay: ramp, ..Faults::default() };
        let fates = [0, 50, 200].map(|served| faults.fate(served, &mut random()));
        assert_eq!(fates, [0, 100, 300].map(Fate::Answer));
        assert!(!faults.is_prompt());
    }

    #[test]
    fn fates_are_drawn_in_their_shares() {
        let options =
            Faults { drop_fraction: 0.1, slow_fraction: 0.5, slow_ns: 10, ..Faults::default() };
        assert!(!options.is_prompt() && Faults::default().is_prompt());
        let mut random = random();
        let fates: Vec<Fate> = (0..10_000).map(|_| options.fate(5, &mut random)).collect();
        let share = |fate| fates.iter().filter(|it| **it == fate).count();
        assert!((900..1100).contains(&share(Fate::Drop)));
        assert!((4300..4700).contains(&share(Fate::Answer(15))));
    }
}
