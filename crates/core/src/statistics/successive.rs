//! How much values vary around a level that may change meanwhile.

/// The standard deviation of a single value, from the differences of neighbors: half of the mean
/// square successive difference (J. von Neumann, R. H. Kent, H. R. Bellinson and B. I. Hart, "The
/// mean square successive difference", Annals of Mathematical Statistics 12 (1941), 153–162). Slow
/// changes, such as a drift, add little to it. Each slice is a separate series. `None` if there are
/// no differences.
pub fn successive_deviation(series: &[&[f64]]) -> Option<f64> {
    let squares = series.iter().flat_map(|values| values.windows(2));
    let squares: Vec<f64> = squares.map(|pair| (pair[1] - pair[0]).powi(2)).collect();
    (!squares.is_empty()).then(|| (super::mean(&squares) / 2.0).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Stream, mix, unit};
    use statrs::distribution::{ContinuousCDF, Normal};

    #[test]
    fn neighbors_tell_how_much_values_vary() {
        // By hand: differences of 2, −1 and 3 have a mean square of 14 / 3.
        let found = successive_deviation(&[&[1.0, 3.0, 2.0, 5.0]]).unwrap();
        assert!((found - (7.0f64 / 3.0).sqrt()).abs() < 1e-12, "{found}");
        assert_eq!(successive_deviation(&[]), None);
        assert_eq!(successive_deviation(&[&[1.0], &[2.0]]), None);
    }

    #[test]
    fn a_drift_and_a_change_of_level_are_no_variation() {
        let mut draws = Stream::new(mix(29, 0, 0), 0);
        let mut normal = || Normal::standard().inverse_cdf(unit(draws.draw()).max(1e-12));
        let values: Vec<f64> = (0..400).map(|at| normal() + f64::from(at) / 20.0).collect();
        let drifting = successive_deviation(&[&values]).unwrap();
        assert!((drifting - 1.0).abs() < 0.1, "{drifting}");
        let (low, high) = (&values[..200], values[200..].iter().map(|it| it + 100.0));
        let high: Vec<f64> = high.collect();
        let apart = successive_deviation(&[low, &high]).unwrap();
        assert!((apart - drifting).abs() < 0.05, "{apart}");
    }
}
