//! The control of a comparison: the machine alone, without either side, measured between the pairs.

use crate::statistics::{Slope, mean, median, successive_deviation};
use serde::{Deserialize, Serialize};

/// Changes smaller than this share mean nothing.
const MUCH: f64 = 0.05;
/// A point this many times as far off as usual stands out.
const FAR: f64 = 3.5;
/// If chance alone gives such an order more often than this, there is no drift.
const CHANCE: f64 = 0.1;
/// The median distance from the median, times this, is the standard deviation of the normal
/// distribution (P. J. Rousseeuw and C. Croux, "Alternatives to the median absolute deviation",
/// Journal of the American Statistical Association 88 (1993), 1273–1283).
const MEDIAN_TO_DEVIATION: f64 = 1.4826;

/// How the machine itself behaved during the comparison, measured with a server that does nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Control {
    /// Responses of the null responder per second, before each pair and after the last; `null`: not
    /// measured.
    pub rates_per_s: Vec<Option<f64>>,
    /// Their geometric mean.
    pub rate_per_s: f64,
    /// How far off a single rate typically is, in percent.
    pub variation_percent: Option<f64>,
    /// How much they drifted from the first to the last, in percent; `null`: no more than chance
    /// explains.
    pub drift_percent: Option<f64>,
    /// The reasons the machine may explain what the sides show; empty: it was steady.
    pub warnings: Vec<String>,
}

impl Control {
    /// Evaluates these rates. `None`: there are none.
    pub fn of(rates_per_s: &[Option<f64>]) -> Option<Self> {
        let known = rates_per_s.iter().enumerate().filter_map(|(at, rate)| Some((at, (*rate)?)));
        let points: Vec<(f64, f64)> = known
            .filter(|(_, rate)| *rate > 0.0)
            .map(|(at, rate)| (at as f64, rate.ln()))
            .collect();
        let (&(first, from), &(last, to)) = points.first().zip(points.last())?;
        // Robust against a single outlier, provided the order is hardly due to chance; with few
        // points, the difference between the first and the last.
        let slope = Slope::of(&points);
        let noise = slope.is_some_and(|it| it.chance > CHANCE);
        let slope = slope.map_or((to - from) / (last - first).max(1.0), |it| it.per_x);
        let slope = if noise { 0.0 } else { slope };
        let drift = slope * (last - first);
        let logs: Vec<f64> = points.iter().map(|point| point.1).collect();
        let variation = successive_deviation(&[&logs]);
        let percent = |log: f64| log.exp_m1() * 100.0;
        let mut warnings: Vec<String> = Vec::new();
        if drift.exp_m1().abs() > MUCH {
            warnings.push(drifted(percent(drift)));
        }
        warnings.extend(disturbed(&points, slope, rates_per_s.len()));
        if let Some(varied) = variation.filter(|it| warnings.is_empty() && it.exp_m1() > MUCH) {
            warnings.push(format!(
                "the machine itself is not steady: without either side, its rate varied by {:.1} % \
                 from pair to pair",
                percent(varied)
            ));
        }
        Some(Self {
            rates_per_s: rates_per_s.to_vec(),
            rate_per_s: mean(&logs).exp(),
            variation_percent: variation.map(percent),
            drift_percent: (points.len() > 1 && !noise).then(|| percent(drift)),
            warnings,
        })
    }
}

fn drifted(percent: f64) -> String {
    let less = if percent < 0.0 { "fewer" } else { "more" };
    format!(
        "the machine itself changed: without either side, it handled {:.1} % {less} requests at \
         the end than at the beginning",
        percent.abs()
    )
}

/// The points that stand out from the line; `count` includes those not measured.
fn disturbed(points: &[(f64, f64)], slope: f64, count: usize) -> Option<String> {
    let level = median(points.iter().map(|(x, y)| y - slope * x))?;
    let off: Vec<f64> = points.iter().map(|(x, y)| y - slope * x - level).collect();
    let usual = MEDIAN_TO_DEVIATION * median(off.iter().map(|it| it.abs()))?;
    let most = (FAR * usual).max(MUCH.ln_1p());
    let out = || points.iter().zip(&off).filter(|(_, off)| off.abs() > most);
    let worst =
        out().map(|(_, off)| *off).max_by(|one, other| one.abs().total_cmp(&other.abs()))?;
    // With two or three points, it is impossible to tell which one stands out.
    if points.len() < 4 {
        return None;
    }
    let place = |&((x, _), _): &(&(f64, f64), &f64)| {
        let at = *x as usize;
        if at + 1 == count {
            "after the last pair".to_owned()
        } else {
            format!("before pair {}", at + 1)
        }
    };
    let places: Vec<String> = out().map(|it| place(&it)).collect();
    Some(format!(
        "the machine itself was disturbed {}: without either side, it handled up to {:.1} % {} \
         requests than otherwise",
        places.join(", "),
        worst.exp_m1().abs() * 100.0,
        if worst < 0.0 { "fewer" } else { "more" }
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rates: &[f64]) -> Control {
        Control::of(&rates.iter().copied().map(Some).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn a_steady_machine_is_reported_without_a_warning() {
        let it = of(&[100.0, 101.0, 99.0, 100.0, 102.0, 99.5, 100.5, 101.0, 99.0]);
        assert_eq!(it.warnings, Vec::<String>::new());
        assert!((it.rate_per_s - 100.2).abs() < 0.1, "{it:?}");
        assert!((0.5..2.5).contains(&it.variation_percent.unwrap()), "{it:?}");
        assert_eq!(it.drift_percent, None, "{it:?}");
        let one = of(&[100.0]);
        assert_eq!((one.variation_percent, one.drift_percent), (None, None));
        assert_eq!(one.warnings, Vec::<String>::new());
        assert_eq!((Control::of(&[]), Control::of(&[None])), (None, None));
        assert_eq!(Control::of(&[Some(0.0)]), None);
    }

    #[test]
    fn a_drift_is_warned_of_by_its_sign() {
        let slower: Vec<f64> = (0..9).map(|at| 100.0 - f64::from(at)).collect();
        let it = of(&slower);
        assert!((it.drift_percent.unwrap() + 8.0).abs() < 0.3, "{it:?}");
        assert_eq!(it.warnings.len(), 1, "{it:?}");
        assert!(
            it.warnings[0].ends_with("8.0 % fewer requests at the end than at the beginning"),
            "{it:?}"
        );
        let faster: Vec<f64> = slower.into_iter().rev().collect();
        assert!(of(&faster).warnings[0].contains("% more requests at the end"));
        // Two rates give only their difference.
        assert!(of(&[100.0, 93.0]).warnings[0].contains("7.0 % fewer"));
        assert!(of(&[100.0, 96.0]).warnings.is_empty());
        // With three, it is impossible to tell which one stands out.
        assert_eq!(of(&[100.0, 100.0, 60.0]).warnings.len(), 1);
        // Half of them are at another level: the machine changed once.
        let step = of(&[100.0, 100.0, 100.0, 100.0, 90.0, 90.0, 90.0, 90.0, 90.0]);
        assert!(step.warnings[0].contains("fewer requests at the end"), "{step:?}");
    }

    #[test]
    fn what_stands_out_is_named_and_is_no_drift() {
        let mut rates = [Some(100.0); 9];
        (rates[4], rates[8]) = (Some(75.0), Some(110.0));
        (rates[1], rates[2]) = (Some(101.0), None);
        let it = Control::of(&rates).unwrap();
        assert_eq!(it.warnings.len(), 1, "{it:?}");
        let expected = "disturbed before pair 5, after the last pair: ";
        assert!(it.warnings[0].contains(expected), "{it:?}");
        assert!(it.warnings[0].contains("up to 25.0 % fewer requests"), "{it:?}");
        assert_eq!(it.rates_per_s.len(), 9);
        assert_eq!(of(&[100.0, 100.0, 96.0, 100.0, 100.0]).warnings, Vec::<String>::new());
    }

    #[test]
    fn what_was_not_measured_takes_its_place_in_time() {
        let it = Control::of(&[None, Some(100.0), None, Some(93.0)]).unwrap();
        assert!((it.drift_percent.unwrap() + 7.0).abs() < 1e-9, "{it:?}");
        assert!(it.warnings[0].contains("7.0 % fewer"), "{it:?}");
    }

    #[test]
    fn what_stands_out_from_a_drift_is_named_beside_it() {
        // Each rate is 2 % below the one before, 14.9 % in all; the fifth is lower by a quarter.
        let drifting = |at: i32| 100.0 * 0.98_f64.powi(at) * if at == 4 { 0.75 } else { 1.0 };
        let it = of(&(0..9).map(drifting).collect::<Vec<_>>());
        assert_eq!(it.warnings.len(), 2, "{it:?}");
        assert!(it.warnings[0].contains(" 14.9 % fewer requests at the end"), "{it:?}");
        assert!(it.warnings[1].contains("disturbed before pair 5: "), "{it:?}");
        assert!(it.warnings[1].contains("up to 25.0 % fewer"), "{it:?}");
        // Of four rates, one can stand out.
        let four = of(&[100.0, 100.0, 75.0, 100.0]);
        assert!(four.warnings[0].contains("disturbed before pair 3: "), "{four:?}");
    }

    #[test]
    fn what_goes_up_and_down_is_no_drift() {
        // The first is 98 and the last 86. Only a fitted line would call that a rise.
        let it = of(&[98.4, 101.6, 110.7, 119.4, 86.1]);
        assert_eq!((it.drift_percent, it.warnings.len()), (None, 1), "{it:?}");
        assert!(!it.warnings[0].contains("at the end than at the beginning"), "{it:?}");
        // Four in order are a drift.
        let it = of(&[100.0, 97.0, 94.0, 91.0]);
        assert!(it.warnings[0].contains("9.0 % fewer"), "{it:?}");
    }

    #[test]
    fn a_machine_that_is_never_steady_is_reported_once() {
        let rates = [100.0, 112.0, 98.0, 110.0, 101.0, 113.0, 99.0, 111.0, 100.0];
        let it = of(&rates);
        assert_eq!(it.warnings.len(), 1, "{it:?}");
        assert!(it.warnings[0].contains("is not steady: "), "{it:?}");
    }
}
