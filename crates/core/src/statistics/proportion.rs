//! Intervals for a counted share.

use statrs::distribution::{Beta, ContinuousCDF};

/// The interval for a share, given that `hits` of `of` independent cases were hits, at the level 1
/// − `alarms` (C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits
/// illustrated in the case of the binomial", Biometrika 26, 1934). Without any cases, it is 0 to 1.
pub fn share_interval(hits: u64, of: u64, alarms: f64) -> (f64, f64) {
    let quantile = |a: u64, b: u64, p: f64| {
        Beta::new(a as f64, b as f64).map_or(f64::NAN, |law| law.inverse_cdf(p))
    };
    let misses = of.saturating_sub(hits);
    let low = if hits == 0 { 0.0 } else { quantile(hits, misses + 1, alarms / 2.0) };
    let high = if misses == 0 { 1.0 } else { quantile(hits + 1, misses, 1.0 - alarms / 2.0) };
    (low, high)
}

/// The smallest number of cases that, without a single hit, show that the share of hits is below
/// `share`: they bring the upper end of [`share_interval`], 1 − (alarms / 2)^(1 / n), down to it.
pub fn least_to_show(share: f64, alarms: f64) -> f64 {
    ((alarms / 2.0).ln() / (-share).ln_1p()).ceil()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::ALARMS;

    /// R. G. Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in
    /// Medicine 17 (1998), 857–872, table I, method 5.
    #[test]
    fn the_intervals_of_a_table() {
        for (hits, of, low, high) in [
            (81, 263, 0.2527, 0.3676),
            (15, 148, 0.0578, 0.1617),
            (0, 20, 0.0, 0.1684),
            (1, 29, 0.0009, 0.1776),
            (20, 20, 0.8316, 1.0),
        ] {
            let (a, b) = share_interval(hits, of, ALARMS);
            assert!((a - low).abs() < 6e-5 && (b - high).abs() < 6e-5, "{hits}/{of}: {a} to {b}");
        }
        assert_eq!(share_interval(0, 0, ALARMS), (0.0, 1.0));
    }

    #[test]
    fn as_many_as_it_takes_and_no_fewer() {
        for share in [0.5, 0.1, 0.01, 0.001] {
            let least = least_to_show(share, ALARMS);
            let high = |of: f64| share_interval(0, of as u64, ALARMS).1;
            assert!(high(least) <= share && high(least - 1.0) > share, "{share}: {least}");
        }
        assert_eq!(least_to_show(0.01, ALARMS) as u64, 368);
        // Few hits in many cases are still informative.
        let (low, high) = share_interval(1_000, 1_000_000, ALARMS);
        assert!(low > 0.0009 && high < 0.0011, "{low} to {high}");
    }
}
