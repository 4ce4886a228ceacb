//! The difference between two sides with a few values each, and its interval.

use super::{mean, squares, t_quantile, two_sided};

/// How the values of two sides are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// The sides were measured independently of each other.
    Apart,
    /// They were measured alternately, so that a drift is not taken for a difference.
    Interleaved,
}

/// One value, its side, and its place in the order of measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// Whether it belongs to the second side.
    pub second: bool,
    /// Its place in order of time.
    pub place: f64,
    /// The value.
    pub value: f64,
}

/// The second side's mean less the first's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The difference.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
    /// The degrees of freedom of the error.
    pub freedom: f64,
    /// The standard deviation of a single value.
    pub deviation: f64,
    /// How much the values drifted from the first to the last, if they were interleaved.
    pub drift: Option<f64>,
}

/// If the sides explain more than this share of the variance of time, they do not alternate, and a
/// drift cannot be separated from their difference.
const MOST_SHARED: f64 = 0.2;

impl Layout {
    /// How these values were measured.
    pub fn of(samples: &[Observation]) -> Self {
        let sums = DistanceSums::of(samples);
        // Not a number if there is only one side, or one point in time.
        let shared = sums.side_place.powi(2) / (sums.sides * sums.places);
        let alternate = samples.len() > 3 && shared <= MOST_SHARED;
        if alternate { Self::Interleaved } else { Self::Apart }
    }
}

/// Sums of squares and products of distances from the means.
struct DistanceSums {
    sides: f64,
    places: f64,
    side_place: f64,
    side_value: f64,
    place_value: f64,
}

impl DistanceSums {
    fn of(samples: &[Observation]) -> Self {
        let of = |of: fn(&Observation) -> f64| {
            let values: Vec<f64> = samples.iter().map(of).collect();
            let mean = mean(&values);
            values.into_iter().map(|value| value - mean).collect::<Vec<f64>>()
        };
        let side = of(|it| f64::from(u8::from(it.second)));
        let (place, value) = (of(|it| it.place), of(|it| it.value));
        let product = |one: &[f64], other: &[f64]| {
            one.iter().zip(other).map(|(one, other)| one * other).sum()
        };
        Self {
            sides: product(&side, &side),
            places: product(&place, &place),
            side_place: product(&side, &place),
            side_value: product(&side, &value),
            place_value: product(&place, &value),
        }
    }
}

impl Difference {
    /// The difference of sides measured in this layout. `None` if a side has no values, or neither
    /// has two.
    pub fn of(samples: &[Observation], layout: Layout) -> Option<Self> {
        match layout {
            Layout::Interleaved => {
                Self::of_interleaved(samples).or_else(|| Self::of_apart(samples))
            }
            Layout::Apart => Self::of_apart(samples),
        }
    }

    /// Welch's t (B. L. Welch, "The generalization of 'Student's' problem when several different
    /// population variances are involved", Biometrika 34 (1947), 28–35; NIST/SEMATECH e-Handbook,
    /// 1.3.5.3). A single value has no variance of its own and is assumed to vary like the others.
    fn of_apart(samples: &[Observation]) -> Option<Self> {
        let side = |second: bool| -> Vec<f64> {
            samples.iter().filter(|it| it.second == second).map(|it| it.value).collect()
        };
        let (first, second) = (side(false), side(true));
        let variance = |of: &[f64]| squares(of) / (of.len() as f64 - 1.0);
        let (few, many) = (first.len().min(second.len()), first.len().max(second.len()));
        if few == 0 || many < 2 {
            return None;
        }
        let difference = mean(&second) - mean(&first);
        if few == 1 {
            let all = variance(if first.len() > 1 { &first } else { &second });
            let error = (all * (1.0 + 1.0 / many as f64)).sqrt();
            let freedom = many as f64 - 1.0;
            return Some(Self {
                mean: difference,
                error,
                freedom,
                deviation: all.sqrt(),
                drift: None,
            });
        }
        let parts = [&first, &second].map(|it| (variance(it) / it.len() as f64, it.len() as f64));
        let sum: f64 = parts.iter().map(|(part, _)| part).sum();
        let below: f64 = parts.iter().map(|(part, count)| part * part / (count - 1.0)).sum();
        let all = (first.len() + second.len()) as f64 - 2.0;
        Some(Self {
            mean: difference,
            error: sum.sqrt(),
            freedom: if below > 0.0 { sum * sum / below } else { all },
            deviation: ((squares(&first) + squares(&second)) / all).sqrt(),
            drift: None,
        })
    }

    /// Least squares with the side and a straight line over time (NIST/SEMATECH e-Handbook,
    /// 4.1.4.1; the analysis of covariance). Differences of pairs would be free of drift, too, but
    /// have half the degrees of freedom: for changes of 5 % at a variation of 3 %, eight pairs
    /// detect 80 to 83 %, the line 85 to 89 %. If the drift is not linear, the interval is too wide
    /// rather than too narrow, since alternating sides share all slow changes.
    fn of_interleaved(samples: &[Observation]) -> Option<Self> {
        let sums = DistanceSums::of(samples);
        let freedom = samples.len() as f64 - 3.0;
        // 0 if there is only one side, or one point in time.
        let all = sums.sides * sums.places - sums.side_place.powi(2);
        if freedom < 1.0 || all <= 0.0 {
            return None;
        }
        let side = (sums.side_value * sums.places - sums.place_value * sums.side_place) / all;
        let slope = (sums.place_value * sums.sides - sums.side_value * sums.side_place) / all;
        let values: Vec<f64> = samples.iter().map(|it| it.value).collect();
        let explained = side * sums.side_value + slope * sums.place_value;
        let variance = (squares(&values) - explained).max(0.0) / freedom;
        let places = samples.iter().map(|it| it.place);
        let first = places.clone().fold(f64::INFINITY, f64::min);
        Some(Self {
            mean: side,
            error: (variance * sums.places / all).sqrt(),
            freedom,
            deviation: variance.sqrt(),
            drift: Some(slope * (places.fold(first, f64::max) - first)),
        })
    }

    /// Half the width of the interval that misses the truth with probability `alarms`.
    pub fn half_width(&self, alarms: f64) -> f64 {
        // Equal values leave no uncertainty.
        if self.error == 0.0 { 0.0 } else { t_quantile(alarms, self.freedom) * self.error }
    }

    /// The probability of a difference at least this large if there is none.
    pub fn chance(&self) -> f64 {
        match (self.mean == 0.0, self.error == 0.0) {
            (true, _) => 1.0,
            (false, true) => 0.0,
            (false, false) => two_sided(self.mean / self.error, self.freedom),
        }
    }

    /// How many values per side are needed to detect a difference of `size`: see [`values_for`].
    pub fn values_for(&self, size: f64) -> f64 {
        values_for(self.deviation, size)
    }
}

/// 2 (1.96 + 0.84)².
const LEHR: f64 = 15.7;
/// Two more values, since the standard deviation is estimated rather than known.
const UNKNOWN: f64 = 2.0;

/// How many values per side, with this standard deviation, are needed to detect a difference of
/// `size` four times out of five: 2 (1.96 + 0.84)² (s / size)² (R. Lehr, "Sixteen S-squared over
/// D-squared", Statistics in Medicine 11 (1992), 1099–1102), plus two.
pub fn values_for(deviation: f64, size: f64) -> f64 {
    (LEHR * (deviation / size).powi(2) + UNKNOWN).ceil()
}

/// The difference that this many values per side detect four times out of five. `None` if they are
/// too few to detect any.
pub fn size_for(deviation: f64, values: f64) -> Option<f64> {
    (values > UNKNOWN).then(|| deviation * (LEHR / (values - UNKNOWN)).sqrt())
}

#[cfg(test)]
#[path = "difference_tests.rs"]
mod tests;
