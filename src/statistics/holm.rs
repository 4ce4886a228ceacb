//! Several tests at once.

/// Which of the hypotheses with these p-values can be rejected, so that with probability
/// `1 − alarms` or more none of them is rejected by chance: S. Holm, "A simple sequentially
/// rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979), 65–70.
pub fn holm(p: &[f64], alarms: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&one, &other| p[one].total_cmp(&p[other]));
    let mut rejected = vec![false; p.len()];
    for (rank, &at) in order.iter().enumerate() {
        // What is not a number is not less either.
        rejected[at] = p[at] <= alarms / (p.len() - rank) as f64;
        if !rejected[at] {
            break;
        }
    }
    rejected
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0.005 ≤ 0.05 / 4 and 0.01 ≤ 0.05 / 3, but 0.03 > 0.05 / 2.
    #[test]
    fn each_rejection_makes_the_next_easier_and_the_first_miss_ends_it() {
        assert_eq!(holm(&[0.01, 0.04, 0.03, 0.005], 0.05), [true, false, false, true]);
        // 0.04 alone would pass, but 0.03 misses 0.05 / 2.
        assert_eq!(holm(&[0.04, 0.03], 0.05), [false, false]);
        assert_eq!(holm(&[0.04, 0.024], 0.05), [true, true]);
        assert_eq!(holm(&[0.05], 0.05), [true]);
        assert_eq!(holm(&[f64::NAN, 0.0], 0.05), [false, true]);
        assert!(holm(&[], 0.05).is_empty());
    }
}
