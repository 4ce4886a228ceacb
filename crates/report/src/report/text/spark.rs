//! A stage over time in two lines: rate and response times, with a column per interval.

use super::sheet::Sheet;
use crate::measure::{Histogram, SeriesRow};
use crate::plan::Nouns;
use crate::record::StageRecord;
use crate::report::chart::Cuts;
use crate::report::headline::unit;
use crate::report::number::{decimal, grouped, millis};

/// Columns from the lowest to the highest.
pub(super) const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Fewer columns show nothing.
const LEAST_COLUMNS: usize = 3;
/// Columns of the name to the left, and of the scale to the right.
const NAME: usize = 9;
const SCALE: usize = 26;

/// Rate and times over a stage, if it lasted long enough.
pub(super) fn lines(stage: &StageRecord, nouns: Nouns, sheet: &mut Sheet) {
    let room = sheet.look.width.saturating_sub(NAME + SCALE).max(LEAST_COLUMNS);
    let Some((width_s, parts)) = parts(stage, room) else { return };
    let rates: Vec<f64> = parts.iter().map(|part| part.ok_per_s).collect();
    let most = rates.iter().copied().fold(0.0, f64::max);
    if most <= 0.0 {
        return;
    }
    let each = format!("{} s each", grouped(width_s.into()));
    let scale = format!("  max {}", decimal(most, usize::from(most < 100.0)));
    let name = format!("  {}/s", unit(stage, nouns));
    line(sheet, &name, &rates.into_iter().map(Some).collect::<Vec<_>>(), most, &scale);
    let (name, times) = times(&parts);
    let most = times.iter().flatten().copied().fold(0.0, f64::max);
    if most > 0.0 {
        let scale = format!("  max {} ms · {each}", millis(most));
        line(sheet, &format!("  {name}"), &times, most, &scale);
    }
}

fn line(sheet: &mut Sheet, name: &str, values: &[Option<f64>], most: f64, scale: &str) {
    let column = |value: &Option<f64>| match value {
        Some(value) if *value > 0.0 => BLOCKS[((value / most * 8.0) as usize).min(7)],
        _ => ' ',
    };
    let columns: String = values.iter().map(column).collect();
    let lead = format!("{name:NAME$}");
    sheet.curve(&lead, &columns, scale);
}

/// An interval of a stage.
struct SparkInterval {
    ok_per_s: f64,
    response: Histogram,
}

/// At most `most` intervals of equal length, and that length in seconds; `None`: too few.
fn parts(stage: &StageRecord, most: usize) -> Option<(u32, Vec<SparkInterval>)> {
    let rows = &stage.series.rows;
    let end_s = stage.elapsed_s.max(rows.last().map_or(0, |row| row.second).into());
    // No row may span two intervals.
    let longest = rows.iter().map(|row| row.seconds).max()?;
    let whole = SeriesRow::length_s(longest);
    let width_s = ((end_s / most as f64).ceil() as u32).max(1).next_multiple_of(whole);
    let cuts = Cuts::new(end_s, width_s);
    if cuts.count < LEAST_COLUMNS {
        return None;
    }
    let mut parts: Vec<(u64, Histogram)> = vec![(0, Histogram::default()); cuts.count];
    for row in rows {
        let (ok, response) = &mut parts[cuts.of(row.second)];
        for (_, kind) in row.kinds.iter().filter(|(kind, _)| kind.is_request()) {
            *ok += kind.ok;
            response.merge(&kind.response.get());
        }
    }
    let part = |(number, (ok, response)): (usize, (u64, Histogram))| {
        let (from_s, to_s) = cuts.span(number);
        SparkInterval { ok_per_s: ok as f64 / (to_s - from_s).max(1e-3), response }
    };
    Some((width_s, parts.into_iter().enumerate().map(part).collect()))
}

/// The highest percentile for which at least half of the intervals with samples have enough;
/// otherwise the maximum of each. In microseconds.
fn times(parts: &[SparkInterval]) -> (&'static str, Vec<Option<f64>>) {
    let busy = parts.iter().filter(|part| !part.response.is_empty()).count();
    for (name, percentile) in [("p99", 99.0), ("p90", 90.0), ("p50", 50.0)] {
        let earned = |part: &SparkInterval| {
            let response = &part.response;
            response.earns(percentile).then(|| response.percentile(percentile) as f64 / 1e3)
        };
        let times: Vec<Option<f64>> = parts.iter().map(earned).collect();
        if times.iter().flatten().count() * 2 >= busy.max(1) {
            return (name, times);
        }
    }
    let longest =
        |part: &SparkInterval| (!part.response.is_empty()).then(|| part.response.max() as f64);
    ("max", parts.iter().map(|part| longest(part).map(|ns| ns / 1e3)).collect())
}

#[cfg(test)]
#[path = "spark_tests.rs"]
mod tests;
