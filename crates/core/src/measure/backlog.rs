//! The mean backlog of an open loop (operations waiting or in flight) in windows of its schedule.
//! If it grows, the server is not keeping up, no matter whether operations wait for a connection
//! or, with enough connections, for the server.

use crate::clock::{Nanos, SECOND_NS};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The number of windows in a schedule. Means over windows, rather than moments, give bursts of
/// arrivals and single slow answers little weight.
const WINDOWS: usize = 16;
/// Sums are kept for this many steps. Windows are made of steps, because those of a schedule that
/// was stopped are shorter.
const STEPS: usize = 16 * WINDOWS;
/// The windows that are compared: around the middle and at the end. The first ones belong to the
/// start of the run and are ignored.
const EARLY: Range<usize> = 6..10;
const LATE: Range<usize> = 12..16;
/// Growth within this many standard deviations of the windows' scatter is chance.
const CHANCE: f64 = 4.0;

/// Sums up the time that operations were waiting or in flight in each step of a schedule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Backlog {
    start: Nanos,
    /// The length of a step; 0 if the schedule is shorter than that.
    width: Nanos,
    sums_ns: Vec<u128>,
}

impl Backlog {
    /// The windows whose rates matter, as shares of the schedule.
    pub const WINDOWS: [(f64, f64); 2] = [share(EARLY), share(LATE)];

    /// The backlog of a schedule of `length_ns` that begins at `start`.
    pub fn new(start: Nanos, length_ns: Nanos) -> Self {
        Self { start, width: length_ns / STEPS as Nanos, sums_ns: vec![0; STEPS] }
    }

    /// Adds an operation by the times at which it became due and ended.
    #[inline]
    pub fn add(&mut self, due: Nanos, done: Nanos) {
        let (from, to) = (due.saturating_sub(self.start), done.saturating_sub(self.start));
        let Some(first) = from.checked_div(self.width).map(|at| at as usize) else { return };
        if to <= self.width.saturating_mul(first as Nanos + 1) {
            if let Some(sum) = self.sums_ns.get_mut(first) {
                *sum += u128::from(to - from.min(to));
            }
            return;
        }
        for (at, sum) in self.sums_ns.iter_mut().enumerate().skip(first) {
            let begin = self.width * at as Nanos;
            if begin >= to {
                break;
            }
            *sum += u128::from(to.min(begin + self.width) - from.max(begin));
        }
    }

    /// Adds another shard's backlog.
    pub fn merge(&mut self, other: &Self) {
        (self.start, self.width) = (other.start, other.width);
        self.sums_ns.resize(self.sums_ns.len().max(other.sums_ns.len()), 0);
        for (sum, part) in self.sums_ns.iter_mut().zip(&other.sums_ns) {
            *sum += *part;
        }
    }

    /// By how many operations the backlog has grown from the middle of the schedule to its end,
    /// `over_ns` after its start if it was stopped then, and the time in between, in seconds; 0 if
    /// that was too short. `rates` holds the mean rates of both windows: by Little's law,
    /// proportionally more is in flight at a higher rate. Growth that may be due to chance counts
    /// as 0: growth within the scatter of the windows around a straight line or, where arrivals are
    /// `random`, within two standard deviations of a Poisson count of that size.
    pub fn growth(&self, rates: [f64; 2], random: bool, over_ns: Nanos) -> (f64, f64) {
        let full = over_ns.checked_div(self.width).map_or(0, |steps| steps as usize);
        let full = full.min(self.sums_ns.len());
        let each = full / WINDOWS;
        if each == 0 {
            return (0.0, 0.0);
        }
        let width = self.width * each as Nanos;
        let steps = &self.sums_ns[full - each * WINDOWS..full];
        let in_window = |steps: &[u128]| steps.iter().sum::<u128>() as f64 / width as f64;
        let means: Vec<f64> = steps.chunks_exact(each).map(in_window).collect();
        let mean = |of: Range<usize>| means[of.clone()].iter().sum::<f64>() / of.len() as f64;
        let (early, late) = (mean(EARLY), mean(LATE));
        let rise = if rates[0] > 0.0 { (rates[1] / rates[0]).max(1.0) } else { 1.0 };
        let grown = late - early * rise;
        let arrivals = if random { 2.0 * (late + early).sqrt() } else { 0.0 };
        let chance = (CHANCE * scatter(&means[EARLY.start..LATE.end])).max(arrivals).max(1.0);
        let apart = (LATE.start - EARLY.start) as Nanos * width;
        (if grown > chance { grown } else { 0.0 }, apart as f64 / SECOND_NS as f64)
    }
}

/// The share of the schedule that these windows cover.
const fn share(of: Range<usize>) -> (f64, f64) {
    (of.start as f64 / WINDOWS as f64, of.end as f64 / WINDOWS as f64)
}

/// The standard deviation of `values` around the straight line through them (least squares).
fn scatter(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let middle = (count - 1.0) / 2.0;
    let mean = values.iter().sum::<f64>() / count;
    let at = |n: usize| n as f64 - middle;
    let squares: f64 = (0..values.len()).map(|n| at(n).powi(2)).sum();
    let slope = values.iter().enumerate().map(|(n, it)| at(n) * it).sum::<f64>() / squares;
    let rest = values.iter().enumerate().map(|(n, it)| (it - mean - slope * at(n)).powi(2));
    (rest.sum::<f64>() / (count - 2.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    /// 5 s at 1,000/s with operations that take this long, in milliseconds.
    fn growth(taken_ms: impl Fn(u64) -> u64) -> f64 {
        let mut backlog = Backlog::new(7, 5_000 * MS);
        for n in 0..5_000 {
            backlog.add(7 + n * MS, 7 + (n + taken_ms(n)) * MS);
        }
        let (grown, in_s) = backlog.growth([1_000.0; 2], false, Nanos::MAX);
        grown / in_s
    }

    #[test]
    fn what_is_under_way_does_not_grow_by_being_slow() {
        assert!(growth(|_| 1) < 1e-9);
        assert!(growth(|_| 900) < 1e-9, "900 are under way, from the first second on");
        assert!(growth(|n| if n == 2_000 { 400 } else { 5 }) < 1e-9);
    }

    #[test]
    fn a_server_that_serves_less_than_offered_is_seen() {
        // The nth operation ends at n / 800 s, so a fifth of what falls due is left over.
        let grown = growth(|n| n / 4 + 1);
        assert!((190.0..210.0).contains(&grown), "{grown}/s of 200/s");
    }

    /// 200/s, planned for 20 s and stopped after 4 s.
    #[test]
    fn a_schedule_that_was_stopped_is_judged_by_its_time_until_then() {
        let grown = |taken_ms: fn(u64) -> u64, over_ms: u64| {
            let mut backlog = Backlog::new(7, 20_000 * MS);
            for due_ms in (0..4_000).step_by(5) {
                backlog.add(7 + due_ms * MS, 7 + (due_ms + taken_ms(due_ms)) * MS);
            }
            backlog.growth([200.0; 2], false, over_ms * MS)
        };
        assert!(grown(|_| 500, 4_000).0 < 1e-9, "they are awaited after the stop");
        // The server does 100/s.
        let (more, in_s) = grown(|due_ms| due_ms, 4_000);
        assert!((95.0..105.0).contains(&(more / in_s)), "{more} in {in_s} s");
        assert!((1.3..1.5).contains(&in_s), "{in_s} s");
        let (more, in_s) = grown(|due_ms| due_ms, 1_200);
        assert!(more + in_s < 1e-9, "in less than a sixteenth of the schedule");
    }

    #[test]
    fn a_rate_that_doubles_may_double_what_is_under_way() {
        let mut backlog = Backlog::new(0, 8_000 * MS);
        for n in 0..8_000 {
            backlog.add(n * MS, (n + 400 + n.saturating_sub(3_000) * 2 / 25) * MS);
        }
        assert!(backlog.growth([1_000.0, 1_000.0], false, Nanos::MAX).0 > 0.0);
        assert!(backlog.growth([1_000.0, 2_000.0], false, Nanos::MAX).0 < 1e-9);
    }

    #[test]
    fn shards_add_up() {
        let half = |length_ms: u64| {
            let mut backlog = Backlog::new(9_000 * MS, 16_000 * MS);
            // One more in each window than in the one before.
            for window in 0..16 {
                let from = 9_000 + window * 1_000;
                (0..window).for_each(|_| backlog.add(from * MS, (from + length_ms) * MS));
            }
            backlog
        };
        let mut sum = Backlog::default();
        sum.merge(&half(1_000));
        sum.merge(&half(500));
        let (grown, in_s) = sum.growth([1.0; 2], false, Nanos::MAX);
        assert!((grown - 9.0).abs() < 1e-9 && (in_s - 6.0).abs() < 1e-9, "{grown} in {in_s} s");
    }

    /// A server with a single queue and a constant service time that serves 500/s, for 15 s.
    fn queue(rate: f64, random: bool, seed: u64) -> f64 {
        let mut backlog = Backlog::new(0, 15 * SECOND_NS);
        let (mut due, mut free, mut state) = (0.0_f64, 0.0_f64, seed);
        while due < 15.0 {
            free = free.max(due) + 0.002;
            backlog.add((due * 1e9) as Nanos, (free * 1e9) as Nanos);
            // xorshift64*: G. Marsaglia, "Xorshift RNGs", 2003, and S. Vigna, 2016.
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            let uniform = (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / 2f64.powi(53);
            due += if random { -(1.0 - uniform).ln() / rate } else { 1.0 / rate };
        }
        let (grown, in_s) = backlog.growth([rate; 2], random, Nanos::MAX);
        grown / in_s
    }

    #[test]
    fn two_percent_too_much_is_seen_at_a_constant_rate() {
        // 4·√ of the numbers in flight, 130 and 75, would be 57, which is as much as the growth.
        assert!((queue(510.0, false, 1) - 10.0).abs() < 0.5, "{}", queue(510.0, false, 1));
        assert!((queue(505.0, false, 1) - 5.0).abs() < 0.5, "{}", queue(505.0, false, 1));
        assert!(queue(500.0, false, 1) < 1e-9);
    }

    #[test]
    fn chance_is_seldom_taken_for_growth_nor_growth_for_chance() {
        let seen = |rate: f64| (1..=200).filter(|seed| queue(rate, true, *seed) > 2.5).count();
        assert!(seen(350.0) <= 2, "{} of 200", seen(350.0));
        assert!(seen(450.0) <= 10, "{} of 200 at 90 %", seen(450.0));
        assert!(seen(600.0) >= 198, "{} of 200 at 120 %", seen(600.0));
    }

    /// Windows of one second each: `early` are in flight, and `more` are added per window from the
    /// seventh on, so the two compared windows differ by six times `more`.
    fn line(early: f64, more: f64, scatter: f64) -> Backlog {
        // Orthogonal to a straight line, with a standard deviation of 1, and 0 on average both in
        // the middle and at the end.
        const AROUND: [f64; 10] = [1.0, -1.0, -1.0, 1.0, 0.0, 0.0, 1.0, -1.0, -1.0, 1.0];
        let mut backlog = Backlog::new(0, 16 * SECOND_NS);
        let windows = backlog.sums_ns.chunks_exact_mut(STEPS / WINDOWS).skip(6);
        for (n, (sums, around)) in windows.zip(AROUND).enumerate() {
            let mean = early + more * (n as f64 - 1.5) + scatter * around;
            sums.fill((mean * 1e9 / 16.0).round() as u128);
        }
        backlog
    }

    fn grows(backlog: &Backlog, random: bool) -> bool {
        backlog.growth([500.0; 2], random, Nanos::MAX).0 > 0.0
    }

    #[test]
    fn the_middle_and_the_last_quarter_are_compared() {
        for ((from, to), (begin, end)) in Backlog::WINDOWS.into_iter().zip([(3, 5), (6, 8)]) {
            let near = |share: f64, eighths: i32| (share * 8.0 - f64::from(eighths)).abs() < 1e-9;
            assert!(near(from, begin) && near(to, end), "{from} to {to}");
        }
    }

    #[test]
    fn four_standard_deviations_around_a_line_are_chance() {
        assert!(!grows(&line(900.0, 19.0, 30.0), false), "114 of 120");
        assert!(grows(&line(900.0, 21.0, 30.0), false), "126 of 120");
    }

    #[test]
    fn two_standard_deviations_of_a_count_are_chance_where_arrivals_are() {
        // 60 more, which is twice the square root of 420 + 480.
        let (few, many) = (line(410.0, 10.0, 0.0), line(430.0, 10.0, 0.0));
        assert!(grows(&few, true) && !grows(&many, true));
        assert!(grows(&few, false) && grows(&many, false), "nothing is random in them");
    }

    #[test]
    fn one_operation_more_is_no_growth() {
        let more = |more: f64| {
            let mut backlog = line(10.0, 0.0, 0.0);
            let windows = backlog.sums_ns.chunks_exact_mut(STEPS / WINDOWS).skip(10);
            for (n, sums) in windows.enumerate() {
                let added = ((n as f64 + 1.0) / 3.0).min(1.0) * more * 1e9 / 16.0;
                for sum in sums {
                    *sum += added.round() as u128;
                }
            }
            backlog.growth([500.0; 2], false, Nanos::MAX).0
        };
        assert!(more(1.0) < 1e-9 && (more(2.0) - 2.0).abs() < 1e-9, "{} {}", more(1.0), more(2.0));
    }

    #[test]
    fn where_nothing_was_due_no_rate_explains_growth() {
        let grown = line(400.0, 10.0, 0.0).growth([0.0, 500.0], false, Nanos::MAX).0;
        assert!((grown - 60.0).abs() < 1e-6, "{grown}");
    }

    #[test]
    fn what_touches_no_window_is_in_none() {
        let mut backlog = Backlog::new(16_000 * MS, 8_000 * MS);
        backlog.add(30_000 * MS, 40_000 * MS);
        backlog.add(9_000 * MS, 16_000 * MS);
        let windows = |backlog: &Backlog| {
            let windows = backlog.sums_ns.chunks_exact(STEPS / WINDOWS);
            windows.map(|steps| steps.iter().sum::<u128>()).collect::<Vec<_>>()
        };
        assert_eq!(windows(&backlog), [0; WINDOWS]);
        backlog.add(23_900 * MS, Nanos::MAX);
        backlog.add(15_000 * MS, 16_300 * MS);
        let mut sums = [0; WINDOWS];
        sums[15] = u128::from(100 * MS);
        sums[0] = u128::from(300 * MS);
        assert_eq!(windows(&backlog), sums);
        let mut endless = Backlog::new(0, Nanos::MAX - 5);
        endless.add(3, 9);
        Backlog::new(0, 3).add(1, 2);
    }
}
