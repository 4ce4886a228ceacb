//! Which noise explains a failure.

use super::*;

fn noise(stalls: u64, stall_ns: u64, others: Option<f64>) -> Noise {
    let mut noise = Noise { others, ..Noise::default() };
    noise.hiccups.late.record_many(100_000, 10_000 - stalls);
    noise.hiccups.late.record_many(stall_ns, stalls);
    noise
}

#[test]
fn each_claim_bears_stalls_of_another_length() {
    // One stall in 10,000 wake-ups, then enough to show at p99.9, at p99, and at the median.
    let explained = |stalls, stall_ns| {
        [PAUSE, SCHEDULE, TAIL, MEDIAN, MEAN, STARVED]
            .map(|bears| noise(stalls, stall_ns, Some(0.0)).explains(bears).is_some())
    };
    assert_eq!(explained(1, 4 * MS), [false; 6]);
    assert_eq!(explained(1, 6 * MS), [true, false, false, false, false, false]);
    assert_eq!(explained(11, 4 * MS / 10), [false; 6]);
    assert_eq!(explained(11, 7 * MS / 10), [false, false, true, false, false, false]);
    assert_eq!(explained(11, 2 * MS), [false, true, true, false, false, false]);
    assert_eq!(explained(11, 12 * MS), [true, true, true, false, true, false]);
    assert_eq!(explained(101, 4 * MS / 10), [false, true, false, false, false, false]);
    assert_eq!(explained(5_001, 4 * MS / 10), [false, true, false, true, false, false]);
}

#[test]
fn the_reason_has_figures() {
    let why = noise(20, 12 * MS, Some(0.34)).explains(TAIL);
    let says = "this machine stalled for 12.0 ms at p99.9, others used 34 % of a processor";
    assert_eq!(why.as_deref(), Some(says));
    assert_eq!(
        noise(1, 7 * MS, None).explains(PAUSE).as_deref(),
        Some("this machine stalled for 7.0 ms")
    );
    assert_eq!(noise(0, 0, Some(0.09)).explains(TAIL), None);
    let says =
        "hiccups p50 0.10 p99 0.10 p99.9 12.00 max 12.00 ms; others used 34 % of a processor";
    assert_eq!(noise(20, 12 * MS, Some(0.34)).to_string(), says);
    assert_eq!(Noise::default().to_string(), "hiccups not measured");
}
