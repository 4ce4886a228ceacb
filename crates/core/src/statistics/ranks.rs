//! Correlation of ranks.

use super::{mean, squares};

/// Spearman's rank correlation of pairs of values, from -1 to 1: Pearson's correlation of their
/// ranks, where equal values share the mean of their ranks (C. Spearman, "The proof and measurement
/// of association between two things", American Journal of Psychology 15, 1904). `None` if there
/// are fewer than three pairs, or all values of one side are equal.
pub fn rank_correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.len() < 3 {
        return None;
    }
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (a, b) = (ranks(&a), ranks(&b));
    // One side less its mean is enough: the products of that with the other's mean add up to 0.
    let mean = mean(&a);
    let together: f64 = a.iter().zip(&b).map(|(a, b)| (a - mean) * b).sum();
    let apart = (squares(&a) * squares(&b)).sqrt();
    (apart > 0.0).then(|| together / apart)
}

/// The rank of each value, from 1 on.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    for equal in order.chunk_by(|&a, &b| values[a].total_cmp(&values[b]).is_eq()) {
        // The ranks `first + 1` to `first + equal.len()` have this mean.
        let rank = first as f64 + f64::midpoint(equal.len() as f64, 1.0);
        for &place in equal {
            ranks[place] = rank;
        }
        first += equal.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IQ and hours of television per week, the worked example of many textbooks: -29/165.
    #[test]
    fn a_published_example() {
        let pairs = [
            (106.0, 7.0),
            (100.0, 27.0),
            (86.0, 2.0),
            (101.0, 50.0),
            (99.0, 28.0),
            (103.0, 29.0),
            (97.0, 20.0),
            (113.0, 12.0),
            (112.0, 6.0),
            (110.0, 17.0),
        ];
        let found = rank_correlation(&pairs).unwrap();
        assert!((found + 29.0 / 165.0).abs() < 1e-12, "{found}");
    }

    #[test]
    fn only_the_order_counts_and_equal_values_share_a_rank() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 9.0]), [2.5, 1.0, 2.5, 4.0]);
        let rising: Vec<_> = (1..9).map(|x| (f64::from(x), f64::from(x).exp())).collect();
        let falling: Vec<_> = rising.iter().map(|(x, y)| (*x, -y)).collect();
        assert!((rank_correlation(&rising).unwrap() - 1.0).abs() < 1e-12);
        assert!((rank_correlation(&falling).unwrap() + 1.0).abs() < 1e-12);
        assert_eq!(rank_correlation(&[(1.0, 5.0), (2.0, 5.0), (3.0, 5.0)]), None);
        assert_eq!(rank_correlation(&rising[..2]), None);
        assert!((rank_correlation(&falling[..3]).unwrap() + 1.0).abs() < 1e-12);
    }
}
