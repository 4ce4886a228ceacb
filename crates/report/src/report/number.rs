//! Numbers for people: `.` before decimals, `,` between groups, in any locale.

pub use crate::op::grouped;

use std::time::Duration;

/// A number with `places` decimals, its whole part in groups. Infinity and NaN are shown as 0.
pub(super) fn decimal(value: f64, places: usize) -> String {
    // An empty sum is -0.0, and neither `max` nor formatting removes its sign.
    let value = if value.is_finite() && value > 0.0 { value } else { 0.0 };
    let text = format!("{value:.places$}");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), grouped);
    if fraction.is_empty() { whole } else { format!("{whole}.{fraction}") }
}

/// Converts a time from a record of any content: never below 0, never beyond three thousand years.
pub(super) fn moment(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.clamp(0.0, 1e11)).unwrap_or_default()
}

/// A time within a stage: `6.0 s`.
pub(super) fn at(seconds: f64) -> String {
    format!("{} s", decimal(seconds, usize::from(seconds < 1_000.0)))
}

/// A length of time: `0.8 s` or `38 ms`.
pub(super) fn length(seconds: f64) -> String {
    match seconds {
        it if it < 0.0995 => format!("{} ms", decimal(it * 1e3, 0)),
        it if it < 0.995 => format!("{} s", decimal(it, 2).trim_end_matches('0')),
        it => at(it),
    }
}

/// Microseconds as milliseconds, to three significant digits or a microsecond.
pub fn millis(us: f64) -> String {
    let ms = us / 1e3;
    let places = match ms {
        ms if ms >= 100.0 => 0,
        ms if ms >= 10.0 => 1,
        ms if ms >= 1.0 => 2,
        _ => 3,
    };
    decimal(ms, places)
}

/// Bytes, in the unit (a power of 1000) that leaves one to three digits before the point.
pub fn bytes(count: u64) -> String {
    let mut value = count as f64;
    for unit in ["B", "kB", "MB", "GB"] {
        if value < 1000.0 {
            return decimal(value, usize::from(unit != "B")) + " " + unit;
        }
        value /= 1000.0;
    }
    decimal(value, 1) + " TB"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_and_units() {
        assert_eq!(decimal(10_003.03, 3), "10,003.030");
        for nothing in [f64::NAN, -0.0, std::iter::empty::<f64>().sum()] {
            assert_eq!(decimal(nothing, 3), "0.000");
        }
        assert_eq!((millis(52.35), millis(249_182.0)), ("0.052".into(), "249".into()));
        assert_eq!((bytes(999), bytes(1_500_000)), ("999 B".into(), "1.5 MB".into()));
    }
}
