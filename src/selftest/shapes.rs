//! Claims about runs: each against a server whose delays, stalls and losses are known.

use super::Length;
use super::Measured;
use super::harness::{Broken, Load, Seen};
use crate::embedded::{Delay, Faults, Stall};
use crate::engine::{Arrivals, Schedule, Segment};
use crate::measure::earned;
use crate::op::Failure;
use crate::record::Verdict;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

fn constant(ns: u64) -> Faults {
    Faults { delay: Delay::Constant { ns }, ..Faults::default() }
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// Whether `value` lies within `share` of `expected`.
fn near(value: f64, expected: f64, share: f64) -> bool {
    (value - expected).abs() <= expected * share
}

pub(super) fn pause(length: Length) -> Result<Measured, Broken> {
    let length_ns = length.pick(100 * SECOND, 6 * SECOND);
    let pause_ns = length_ns / 50;
    let stall = Stall { at_ns: length_ns / 2, for_ns: pause_ns, every_ns: None };
    let seen = Load {
        rate: Some((1_000.0, Arrivals::Constant)),
        length_ns,
        faults: Faults { stalls: vec![stall], ..Faults::default() },
        ..Load::default()
    }
    .run()?;
    let (pause, response) = (ms(pause_ns), seen.response());
    let [p98, p99, p995] = [98.0, 99.0, 99.5].map(|p| ms(response.percentile(p)));
    let (max, service) = (ms(response.max()), seen.reads().service.histogram.percentile(99.0));
    // A sleeping server wakes up a little late: the 5 ms matter only for a short pause.
    let right = |value: f64, expected: f64| (value - expected).abs() <= (expected * 0.02).max(5.0);
    let passed = p98 < 20.0
        && right(p99, pause / 2.0)
        && right(p995, pause * 0.75)
        && (max - pause).abs() <= 20.0
        && service < 5 * MS;
    let measured = format!(
        "pause {pause:.0} ms: p98 {p98:.1}, p99 {p99:.0}, p99.5 {p995:.0}, max {max:.0} ms; \
         service p99 {:.2} ms",
        ms(service)
    );
    Ok(Measured::new(passed, measured))
}

/// Measures up to three times until the claim holds, because other programs only ever add noise.
fn best_of_three(
    mut measure: impl FnMut() -> Result<(bool, String), Broken>,
) -> Result<(bool, String), Broken> {
    let mut last = measure()?;
    for attempt in 2..=3 {
        if last.0 {
            break;
        }
        last = measure()?;
        last.1 += " (attempt ";
        last.1 += &attempt.to_string();
        last.1.push(')');
    }
    Ok(last)
}

/// One rate of T2.
struct Rate {
    per_s: f64,
    quick_ns: u64,
    /// Whether p99.9 of the lateness is claimed, too: only where more than ten operations lie
    /// beyond it.
    tail: bool,
}

/// Each is long enough, even if a thousandth of it is not begun.
const RATES: [Rate; 3] = [
    Rate { per_s: 1_000.0, quick_ns: 3 * SECOND / 2, tail: false },
    Rate { per_s: 10_000.0, quick_ns: 3 * SECOND / 2, tail: true },
    Rate { per_s: 50_000.0, quick_ns: SECOND, tail: true },
];

/// Percentiles of the lateness, and the most that is claimed of each, in microseconds.
const LATE: &[(f64, f64)] = &[(99.0, 100.0), (99.9, 1_000.0)];

impl Rate {
    /// The percentiles that are claimed at this rate, with their bounds.
    fn claimed(&self) -> &'static [(f64, f64)] {
        if self.tail { LATE } else { &LATE[..1] }
    }

    /// Whether the claim holds if `begun` operations of the `planned` ones were begun, so late in
    /// microseconds at the percentiles of `LATE`; and what was measured, in words. A percentile
    /// with fewer than ten operations beyond it proves nothing.
    fn judge(&self, begun: u64, planned: f64, late: [Option<f64>; 2]) -> (bool, String) {
        let achieved = begun as f64 / planned;
        let mut held = near(achieved, 1.0, 0.001);
        let mut words = Vec::new();
        for (&(percentile, most), late) in self.claimed().iter().zip(late) {
            let late = late.filter(|_| earned(begun, percentile));
            held &= late.is_some_and(|late| late <= most);
            let late = late.map_or("n/a".to_owned(), |us| format!("{us:.0}"));
            words.push(format!("p{percentile} {late}"));
        }
        let (per_s, share, words) = (self.per_s, achieved * 100.0, words.join(" "));
        (held, format!("{per_s:.0}/s: {share:.2} %, late {words} µs"))
    }
}

pub(super) fn schedule(length: Length) -> Result<Measured, Broken> {
    let (mut passed, mut parts) = (true, Vec::new());
    for rate in RATES {
        let length_ns = length.pick(2 * SECOND, rate.quick_ns);
        let (held, part) = best_of_three(|| {
            let rate_of = Some((rate.per_s, Arrivals::Constant));
            let seen = Load { rate: rate_of, length_ns, ..Load::default() }.run()?;
            let planned = rate.per_s * length_ns as f64 / SECOND as f64;
            let (load, client) = (&seen.stage().load, &seen.stage().client);
            let late = [client.late_p99_us, client.late_p99_9_us];
            Ok(rate.judge(load.begun, planned, late))
        })?;
        passed &= held;
        parts.push(part);
    }
    let variation = poisson_variation();
    passed &= (variation - 1.0).abs() <= 0.02;
    parts.push(format!("Poisson CV {variation:.3}"));
    Ok(Measured::new(passed, parts.join("; ")))
}

/// The coefficient of variation of 100,000 Poisson gaps: 1 for an exponential.
fn poisson_variation() -> f64 {
    let segments = vec![Segment { length_ns: 1_000 * SECOND, from: 1_000.0, to: 1_000.0 }];
    let schedule = Schedule { segments, arrivals: Arrivals::Poisson, seed: 42 };
    let times: Vec<u64> = schedule.steps((0, 1), 1).take(100_001).collect();
    let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    variance.sqrt() / mean
}

pub(super) fn latency(length: Length) -> Result<Measured, Broken> {
    let laws = [
        ("10 ms", Delay::Constant { ns: 10 * MS }),
        ("1 ms, 1 % 50 ms", Delay::Mix { ns: MS, rare_ns: 50 * MS, rare_fraction: 0.01 }),
        ("log-normal 1 ms", Delay::LogNormal { median_ns: MS, sigma: 0.5 }),
    ];
    let run = |delay| {
        Load {
            rate: Some((4_000.0, Arrivals::Constant)),
            length_ns: length.pick(3 * SECOND, SECOND),
            faults: Faults { delay, ..Faults::default() },
            ..Load::default()
        }
        .run()
    };
    // The time of system calls, loopback and the rest of the machine, without any delay.
    let path = run(Delay::None)?.reads().service.histogram.clone();
    let (mut passed, mut parts) = (true, Vec::new());
    for (name, delay) in laws {
        let (held, part) = best_of_three(|| {
            let seen = run(delay)?;
            let service = &seen.reads().service.histogram;
            let worst = [50.0, 99.0, 99.9]
                .into_iter()
                .filter(|&p| service.earns(p))
                .map(|p| {
                    let truth = seen.served.value_at_percentile(p);
                    let off = service.percentile(p).abs_diff(truth);
                    let off = off.saturating_sub(path.percentile(p));
                    off as f64 / (truth as f64 / 100.0).max(100_000.0)
                })
                .fold(0.0, f64::max);
            let share = worst * 100.0;
            Ok((worst <= 1.0, format!("{name}: worst {share:.0} % of the tolerance")))
        })?;
        passed &= held;
        parts.push(part);
    }
    Ok(Measured::new(passed, parts.join("; ")))
}

pub(super) fn capacity(length: Length) -> Result<Measured, Broken> {
    let length_ns = length.pick(2 * SECOND, SECOND);
    let full = Load { length_ns, ..Load::default() }.run()?;
    let rate = Some((1_000.0, Arrivals::Constant));
    let alone = Load { connections: 1, rate, length_ns: SECOND / 2, ..Load::default() }.run()?;
    let ceiling = full.stage().load.served_per_s;
    let rate = Some((ceiling / 2.0, Arrivals::Constant));
    let half = Load { rate, length_ns, ..Load::default() }.run()?;
    let median = |seen: &Seen| seen.reads().service.histogram.percentile(50.0) as f64 / 1e3;
    let added = median(&half) - median(&alone);
    let measured = format!(
        "ceiling {ceiling:.0}/s at {:.2} µs of CPU; p50 {:.0} µs alone, {added:+.0} µs at half",
        full.stage().client.cpu_per_request_us,
        median(&alone),
    );
    Ok(Measured::new(added <= 50.0, measured))
}

pub(super) fn conservation(length: Length) -> Result<Measured, Broken> {
    let seen = Load {
        connections: 10,
        rate: Some((2_000.0, Arrivals::Poisson)),
        length_ns: length.pick(3 * SECOND, SECOND),
        timeout_ns: 500 * MS,
        faults: Faults { drop_fraction: 0.002, ..constant(MS) },
    }
    .run()?;
    let (load, reads) = (&seen.stage().load, seen.reads());
    let measured = format!(
        "offered {} = ok {} + failed {} + unfinished {} + dropped {} + unsent {}; server {}",
        load.offered,
        reads.ok,
        reads.failed(),
        reads.unfinished,
        load.dropped,
        load.unsent,
        seen.counted(),
    );
    Ok(Measured::new(seen.conserved(), measured))
}

pub(super) fn little(length: Length) -> Result<Measured, Broken> {
    let seen = Load {
        length_ns: length.pick(6 * SECOND, 2 * SECOND),
        faults: constant(50 * MS),
        ..Load::default()
    }
    .run()?;
    let stage = seen.stage();
    // In flight, integrated by the server: the total time for which it held the reads.
    let held_s = seen.served.mean() * seen.counters.documents_read as f64 / SECOND as f64;
    let in_flight = held_s / stage.elapsed_s;
    let reads = seen.reads();
    let law = reads.requests as f64 / stage.elapsed_s * reads.service.mean_us / 1e6;
    let measured = format!("server held {in_flight:.3}, by Little's law {law:.3}");
    Ok(Measured::new(near(in_flight, law, 0.01), measured))
}

pub(super) fn end_of_run(length: Length) -> Result<Measured, Broken> {
    let slow_ns = length.pick(5 * SECOND, SECOND / 2);
    let seen = Load {
        connections: 100,
        rate: Some((1_000.0, Arrivals::Constant)),
        length_ns: 2 * slow_ns,
        faults: Faults { slow_fraction: 0.01, slow_ns, ..Faults::default() },
        ..Load::default()
    }
    .run()?;
    let p995 = seen.response().percentile(99.5);
    let passed = p995 >= slow_ns && seen.reads().unfinished == 0 && seen.conserved();
    let measured = format!(
        "held back {:.0} ms: p99.5 {:.0} ms, {} unfinished",
        ms(slow_ns),
        ms(p995),
        seen.reads().unfinished
    );
    Ok(Measured::new(passed, measured))
}

pub(super) fn overload(length: Length) -> Result<Measured, Broken> {
    const CAPACITY: f64 = 1_000.0;
    const RATE: f64 = 2.0 * CAPACITY;
    let length_ns = length.pick(5 * SECOND, 2 * SECOND);
    let connections = 10;
    let seen = Load {
        connections,
        rate: Some((RATE, Arrivals::Constant)),
        length_ns,
        // Served one at a time: with 10 ms per request, more connections would carry more.
        faults: Faults { capacity: Some(CAPACITY), ..Faults::default() },
        ..Load::default()
    }
    .run()?;
    let stage = seen.stage();
    let Verdict::NotSustained { backlog_per_s, offered_per_s, served_per_s } = stage.verdict else {
        let measured = format!("offered {RATE:.0}/s, called {}", stage.verdict.name());
        return Ok(Measured::new(false, measured));
    };
    // Each connection's last request in flight was answered after the end.
    let answered = seen.counters.documents_read.saturating_sub(connections);
    let reported = [offered_per_s, served_per_s, backlog_per_s];
    let held = grew_by_the_rest(reported, RATE, answered as f64 * SECOND as f64 / length_ns as f64);
    let measured = format!(
        "offered {offered_per_s:.0}/s, served {served_per_s:.0}/s, backlog grew by \
         {backlog_per_s:.0}/s; the server had answered {answered} by the end"
    );
    Ok(Measured::new(held, measured))
}

/// Whether the `reported` offered rate, served rate and backlog growth, per second, match the
/// schedule, the server's count, and the difference of the two.
fn grew_by_the_rest(reported: [f64; 3], schedule: f64, server: f64) -> bool {
    let [offered, served, growth] = reported;
    near(offered, schedule, 0.001)
        && near(served, server, 0.02)
        && near(growth, schedule - server, 0.02)
}

pub(super) fn client_bound(length: Length) -> Result<Measured, Broken> {
    let over = Arc::new(AtomicBool::new(false));
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let burners: Vec<_> = (0..cores * 8)
        .map(|_| {
            let over = over.clone();
            std::thread::spawn(move || {
                // On the client's processor, so that the server keeps its own.
                crate::cores::pin_from_first(0);
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        })
        .collect();
    let length_ns = length.pick(4 * SECOND, SECOND);
    let rate = Some((5_000.0, Arrivals::Constant));
    let result = Load { rate, length_ns, ..Load::default() }.run();
    over.store(true, Ordering::Relaxed);
    for burner in burners {
        let _ = burner.join();
    }
    let seen = result?;
    let late = seen.stage().client.late_p99_us.unwrap_or(0.0) / 1e3;
    let passed = matches!(seen.stage().verdict, Verdict::ClientBound { .. });
    let verdict = seen.stage().verdict.name();
    let measured =
        format!("{} burning threads: begun late p99 {late:.1} ms, called {verdict}", cores * 8);
    Ok(Measured::new(passed, measured))
}

pub(super) fn timeouts(length: Length) -> Result<Measured, Broken> {
    let timeout_ns = length.pick(SECOND, SECOND / 2);
    let seen = Load {
        connections: 100,
        rate: Some((1_000.0, Arrivals::Constant)),
        length_ns: length.pick(4 * SECOND, 2 * SECOND),
        timeout_ns,
        faults: Faults { drop_fraction: 0.01, ..Faults::default() },
    }
    .run()?;
    let reads = seen.reads();
    let lost = reads.failures.get(&Failure::Timeout).copied().unwrap_or(0);
    let times = reads.failed_times.get(&Failure::Timeout).map(|times| times.response.clone());
    let times = times.unwrap_or_default();
    // A histogram keeps three digits: the largest value that the minimum may have had.
    let least = times.inner().highest_equivalent(times.min());
    let passed = lost > 0 && times.len() == lost && least >= timeout_ns && seen.conserved();
    let measured = format!(
        "{lost} of {} timed out after {:.0} ms: times of {} recorded, {:.0} ms or more",
        reads.issued,
        ms(timeout_ns),
        times.len(),
        ms(least)
    );
    Ok(Measured::new(passed, measured))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_judged_by_percentiles_with_enough_operations_beyond() {
        let [slow, fast, _] = RATES;
        let holds = |rate: &Rate, begun, planned, late: [Option<f64>; 2]| {
            rate.judge(begun, planned, late).0
        };
        let late = |p99, p999| [Some(p99), Some(p999)];
        // One of 2,000 operations may be late: nothing is claimed of it.
        assert!(holds(&slow, 2_000, 2_000.0, late(99.0, 5_000.0)));
        assert!(!holds(&slow, 2_000, 2_000.0, late(101.0, 900.0)));
        assert!(holds(&fast, 20_000, 20_000.0, late(99.0, 999.0)));
        assert!(!holds(&fast, 20_000, 20_000.0, late(99.0, 1_001.0)));
        assert!(!holds(&fast, 20_000, 20_000.0, late(101.0, 999.0)));
        assert!(!holds(&fast, 19_970, 20_000.0, late(9.0, 9.0)), "not all of it was begun");
        // What is claimed, but was not measured or has too little beyond it, does not hold.
        assert!(!holds(&fast, 20_000, 20_000.0, [Some(9.0), None]));
        assert!(!holds(&slow, 2_000, 2_000.0, [None, None]));
        assert!(!holds(&fast, 9_999, 9_999.0, late(9.0, 9.0)));
        let words = |rate: &Rate, begun: u64, late| rate.judge(begun, begun as f64, late).1;
        assert_eq!(words(&slow, 2_000, late(9.0, 50.0)), "1000/s: 100.00 %, late p99 9 µs");
        let both = "10000/s: 100.00 %, late p99 9 p99.9 50 µs";
        assert_eq!(words(&fast, 20_000, late(9.0, 50.0)), both);
        let few = "10000/s: 100.00 %, late p99 9 p99.9 n/a µs";
        assert_eq!(words(&fast, 9_999, late(9.0, 50.0)), few);
    }

    #[test]
    fn each_rate_lasts_long_enough_for_what_is_claimed_of_it() {
        for rate in RATES {
            let shortest_ns = rate.quick_ns.min(2 * SECOND) as f64;
            let begun = (rate.per_s * shortest_ns / SECOND as f64 * 0.999) as u64;
            for &(percentile, _) in rate.claimed() {
                assert!(earned(begun, percentile), "p{percentile} of {begun}");
            }
        }
    }

    #[test]
    fn an_overload_is_held_against_schedule_and_server() {
        let holds = |reported| grew_by_the_rest(reported, 2_000.0, 950.0);
        assert!(holds([2_000.0, 950.0, 1_050.0]) && holds([2_001.0, 960.0, 1_060.0]));
        // Each is consistent in itself, but not with the schedule or the server's count.
        assert!(!holds([1_500.0, 950.0, 550.0]), "offered is what was begun");
        assert!(!holds([2_000.0, 1_900.0, 100.0]), "served is more than was answered");
        assert!(!holds([2_000.0, 950.0, 900.0]), "the growth is too small");
        assert!(!holds([2_000.0, 950.0, 1_200.0]), "the growth is too large");
    }
}
