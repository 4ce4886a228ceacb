//! Merged histograms equal those of a single recorder.

use super::Length;
use super::Measured;
use super::harness::Broken;
use crate::generate::{Stream, below, mix};
use crate::measure::Histogram;

#[allow(clippy::unnecessary_wraps, reason = "every claim is measured by the same signature")]
pub(super) fn merge(length: Length) -> Result<Measured, Broken> {
    let samples: u64 = length.pick(1_000_000, 100_000);
    let mut draws = Stream::new(mix(8, 0, 0), 0);
    let (mut whole, mut parts) = (Histogram::default(), vec![Histogram::default(); 7]);
    for n in 0..samples {
        // Log-uniform from 1 µs to 17 s.
        let value = 1_000 << below(draws.draw(), 24);
        whole.record(value + below(draws.draw(), value));
        let mut again = Stream::new(mix(8, 0, 0), 2 * n);
        let value = 1_000 << below(again.draw(), 24);
        parts[(n % 7) as usize].record(value + below(again.draw(), value));
    }
    let mut merged = Histogram::default();
    for part in &parts {
        merged.merge(part);
    }
    let same = merged == whole;
    let percentiles: Vec<_> =
        [50.0, 90.0, 99.0, 99.9, 100.0].map(|p| merged.percentile(p)).to_vec();
    let ascends = percentiles.is_sorted() && merged.max() >= percentiles[4];
    Ok(Measured::new(same && ascends, words(samples, same, ascends)))
}

/// What was measured: whether the merged parts are the same as the whole, and whether percentiles
/// ascend.
fn words(samples: u64, same: bool, ascends: bool) -> String {
    let merged = if same { "the same histogram" } else { "another histogram" };
    let ascend = if ascends { "ascend" } else { "do not ascend" };
    format!("{samples} samples in 7 parts: merged, they are {merged}; percentiles {ascend}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_is_in_words() {
        let Measured { held, text } = merge(Length::Quick).unwrap();
        let says =
            "100000 samples in 7 parts: merged, they are the same histogram; percentiles ascend";
        assert_eq!((held, text.as_str()), (true, says));
        let says = "9 samples in 7 parts: merged, they are another histogram; percentiles ascend";
        assert_eq!(words(9, false, true), says);
        let says =
            "9 samples in 7 parts: merged, they are the same histogram; percentiles do not ascend";
        assert_eq!(words(9, true, false), says);
    }
}
