//! The columns of a curve.

use super::*;
use crate::measure::KindInterval;
use crate::op::OpKind;
use crate::record::fixture;
use crate::report::look::Look;

/// A stage with this many reads in each second: 1 ms each, but 8 ms in the last second.
fn stage(reads: &[u64]) -> StageRecord {
    let second = |(second, &count): (usize, &u64)| {
        let mut part = KindInterval { requests: count, ok: count, ..KindInterval::default() };
        let ms = if second + 1 == reads.len() { 8 } else { 1 };
        part.response.record_many(ms * 1_000_000, count);
        (second as u32, OpKind::Read, part)
    };
    let parts = reads.iter().enumerate().filter(|(_, count)| **count > 0).map(second).collect();
    let mut stage = fixture::stage("crud", parts);
    stage.elapsed_s = reads.len() as f64;
    stage
}

fn text_of(stage: &StageRecord, width: usize) -> String {
    let mut sheet = Sheet::new(Look { width, ..Look::default() });
    lines(stage, Nouns::DOCUMENTS, &mut sheet);
    sheet.finish()
}

#[test]
fn a_column_is_a_second_and_nothing_is_a_gap() {
    let stage = stage(&[2_000, 4_000, 8_000, 0, 8_000]);
    assert_eq!(
        text_of(&stage, 80),
        "  ops/s  ▃▅█ █  max 8,000\n  p99    ▁▁▁ █  max 8.00 ms · 1 s each\n"
    );
}

#[test]
fn with_few_samples_a_lower_percentile_or_the_maximum_is_drawn() {
    assert!(text_of(&stage(&[200; 5]), 80).contains("\n  p90    ▁▁▁▁█  max 8.00 ms"));
    assert!(text_of(&stage(&[30; 5]), 80).contains("\n  p50    ▁▁▁▁█  max 8.00 ms"));
    assert!(text_of(&stage(&[3; 5]), 80).contains("\n  max    ▁▁▁▁█  max 8.00 ms"));
}

#[test]
fn a_long_stage_fits_and_a_short_one_has_no_curve() {
    let text = text_of(&stage(&[100; 200]), 60);
    assert!(
        text.contains(" 8 s each") && text.lines().all(|it| it.chars().count() <= 60),
        "{text}"
    );
    assert_eq!(text_of(&stage(&[100, 100]), 80), "");
    assert_eq!(text_of(&stage(&[0; 9]), 80), "");
}
