//! Goodness-of-fit tests, shared by the tests of the generators. Only compiled for tests.

use statrs::distribution::{ChiSquared, ContinuousCDF};

/// The p-value of Pearson's chi-square test that `draw` follows `shares`. Shares with fewer than
/// ten expected draws are combined. A draw outside all shares gives 0.
pub fn chi_square(shares: &[f64], draws: u32, mut draw: impl FnMut() -> usize) -> f64 {
    let mut seen = vec![0u32; shares.len()];
    for _ in 0..draws {
        seen[draw()] += 1;
    }
    let (mut statistic, mut cells) = (0.0, 0u32);
    let (mut wanted, mut got) = (0.0, 0.0);
    for (&share, &count) in shares.iter().zip(&seen) {
        if share <= 0.0 && count > 0 {
            return 0.0;
        }
        wanted += share * f64::from(draws);
        got += f64::from(count);
        if wanted >= 10.0 {
            statistic += (got - wanted) * (got - wanted) / wanted;
            (wanted, got, cells) = (0.0, 0.0, cells + 1);
        }
    }
    ChiSquared::new(f64::from(cells - 1)).unwrap().sf(statistic)
}

/// Like [`chi_square`], for draws from a continuous distribution, by the Kolmogorov-Smirnov test
/// with the asymptotic distribution (Marsaglia, Tsang and Wang, J. Stat. Softw. 8 (2003), formula
/// 1).
pub fn kolmogorov_smirnov(drawn: &mut [f64], cdf: impl Fn(f64) -> f64) -> f64 {
    drawn.sort_by(f64::total_cmp);
    let n = drawn.len() as f64;
    let distance = drawn.iter().enumerate().fold(0.0f64, |worst, (i, &x)| {
        let (below, above) = (cdf(x) - i as f64 / n, (i + 1) as f64 / n - cdf(x));
        worst.max(below).max(above)
    });
    let t = distance * n.sqrt();
    let sum: f64 = (1..100)
        .map(|i| if i % 2 == 1 { 1.0 } else { -1.0 } * (-2.0 * f64::from(i * i) * t * t).exp())
        .sum();
    (2.0 * sum).clamp(0.0, 1.0)
}

#[test]
fn departures_are_seen() {
    let mut i = 0;
    let p = chi_square(&[0.5, 0.5], 10_000, || {
        i += 1;
        usize::from(i % 100 < 53)
    });
    assert!(p < 0.001, "p = {p}");
    let mut even: Vec<f64> = (0..10_000).map(|i| f64::from(i) / 10_000.0).collect();
    assert!(kolmogorov_smirnov(&mut even, |x| x) > 0.99);
    assert!(kolmogorov_smirnov(&mut even, |x| x * 0.97) < 0.001);
}
