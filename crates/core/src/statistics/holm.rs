//! Several hypotheses tested at once.

/// Which of the hypotheses with these p-values can be rejected, such that the probability of
/// rejecting any of them by chance is at most `alarms`: S. Holm, "A simple sequentially rejective
/// multiple test procedure", Scandinavian Journal of Statistics 6 (1979), 65–70.
pub fn holm(p: &[f64], alarms: f64) -> Vec<bool> {
    // A p-value that is NaN is never less.
    p.iter().zip(holm_levels(p, alarms)).map(|(p, level)| *p <= level).collect()
}

/// The level at which each of these hypotheses is tested: it is rejected if its p-value is not
/// above its level. All hypotheses after the first one that is not rejected get the same level as
/// that one, and are not rejected either.
pub fn holm_levels(p: &[f64], alarms: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&one, &other| p[one].total_cmp(&p[other]));
    let mut levels = vec![alarms; p.len()];
    let mut missed = None;
    for (rank, &at) in order.iter().enumerate() {
        levels[at] = missed.unwrap_or(alarms / (p.len() - rank) as f64);
        if missed.is_none() && (p[at] > levels[at] || p[at].is_nan()) {
            missed = Some(levels[at]);
        }
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0.005 ≤ 0.05 / 4 and 0.01 ≤ 0.05 / 3, but 0.03 > 0.05 / 2.
    #[test]
    fn each_rejection_makes_the_next_easier_and_the_first_miss_ends_it() {
        assert_eq!(holm(&[0.01, 0.04, 0.03, 0.005], 0.05), [true, false, false, true]);
        // 0.04 alone would pass, but 0.03 exceeds 0.05 / 2.
        assert_eq!(holm(&[0.04, 0.03], 0.05), [false, false]);
        assert_eq!(holm(&[0.04, 0.024], 0.05), [true, true]);
        assert_eq!(holm(&[0.05], 0.05), [true]);
        // Each is just at its level.
        assert_eq!(holm(&[0.03, 0.04, 0.06, 0.12], 0.12), [true; 4]);
        assert_eq!(holm(&[f64::NAN, 0.0], 0.05), [false, true]);
        assert!(holm(&[], 0.05).is_empty());
    }

    #[test]
    fn what_comes_after_a_miss_is_tested_as_strictly() {
        let of = |p: &[f64]| holm_levels(p, 0.12);
        assert_eq!(of(&[0.01, 0.9, 0.8, 0.005]), [0.04, 0.06, 0.06, 0.03]);
        assert_eq!(of(&[0.5, 0.4, 0.3]), [0.04; 3]);
        assert_eq!(of(&[0.001, 0.05]), [0.06, 0.12]);
        assert_eq!(of(&[f64::NAN, 0.0]), [0.12, 0.06]);
    }
}
