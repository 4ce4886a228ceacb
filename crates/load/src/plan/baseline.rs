//! Earlier runs of the same kind that a run is compared with. Their figures are part of the plan,
//! so that the record can be judged on its own.

use super::quantity::{Metric, Quantity, Span};
use crate::measure::Statistic;
use crate::mistake::BadValue;
use serde::{Deserialize, Serialize};

/// The largest `--max-regression`, in percent.
const MOST_PERCENT: f64 = 1_000.0;

/// What a run and its baseline must have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BaselineBy {
    /// The same work on the same kind of server, wherever that is: in CI, it has a new address or
    /// port each time.
    #[default]
    Work,
    /// The whole plan, with the addresses of its servers.
    Plan,
}

/// Earlier runs that a run is compared with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Baseline {
    /// The runs, by the time they started.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub runs: Vec<BaselineRun>,
    /// The figures that they measured.
    pub figures: Vec<BaselineFigure>,
    /// How much worse than these runs the run may be, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_regression_percent: Option<f64>,
    /// In what ways the plan differs from theirs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<String>,
}

/// One run of a baseline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BaselineRun {
    /// Its name or path.
    pub name: String,
    /// When it began, in UTC, as RFC 3339.
    pub started_at: String,
    /// The server's name and version.
    pub server: String,
    /// The processor, the number of cores and the operating system of the machine that measured.
    pub machine: String,
}

/// One figure, with its values in all runs of a baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BaselineFigure {
    /// What was measured.
    pub metric: Quantity,
    /// Its value in each run, in the unit of the metric; `None` where too little was measured.
    pub values: Vec<Option<f64>>,
}

impl Baseline {
    /// What `--max-regression` judges: the throughput, the median and the 99th percentile of
    /// response times, and the failed share, all of them for all requests together.
    pub const GATED: [Quantity; 4] = {
        const fn all(metric: Metric) -> Quantity {
            Quantity { kind: None, metric }
        }
        const fn time(percentile: Statistic) -> Quantity {
            all(Metric::Time(Span::Response, percentile))
        }
        [all(Metric::Throughput), time(Statistic::P50), time(Statistic::P99), all(Metric::ERRORS)]
    };

    /// The values of a figure that are known.
    pub fn values(&self, metric: Quantity) -> Vec<f64> {
        let own = self.figures.iter().filter(|figure| figure.metric == metric);
        own.flat_map(|figure| &figure.values).filter_map(|value| *value).collect()
    }

    /// The median of a figure.
    pub fn level(&self, metric: Quantity) -> Option<f64> {
        let mut values = self.values(metric);
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        match values.len() {
            0 => None,
            count if count % 2 == 0 => Some(f64::midpoint(values[middle - 1], values[middle])),
            _ => Some(values[middle]),
        }
    }

    /// Describes what is wrong with a stored baseline, if anything.
    pub(super) fn mistake(&self) -> Option<&'static str> {
        let impossible = |value: &f64| !value.is_finite() || *value < 0.0;
        let mut values = self.figures.iter().flat_map(|it| &it.values).flatten();
        if self.runs.is_empty() {
            Some("it has no runs")
        } else if values.any(impossible) {
            Some("it has impossible figures")
        } else if self.max_regression_percent.is_some_and(|it| impossible(&it) || it > MOST_PERCENT)
        {
            Some("max_regression_percent is out of range")
        } else {
            None
        }
    }
}

/// Reads `--max-regression`: a percentage such as `5%`.
///
/// # Errors
/// Returns an error if it is not a percentage, or out of range.
pub fn max_regression(text: &str) -> Result<f64, BadValue> {
    let number = text.trim().trim_end_matches('%').trim_end();
    let percent = number.parse::<f64>().ok().filter(|it| (0.0..=MOST_PERCENT).contains(it));
    let problem = || format!("{text:?} is not a share");
    percent.ok_or_else(|| BadValue::new(problem(), "give a percentage such as 5%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_the_median_of_what_is_known() {
        let metric: Quantity = "read.p99".parse().unwrap();
        let of = |values: &[Option<f64>]| {
            let figures = vec![BaselineFigure { metric, values: values.to_vec() }];
            Baseline { figures, ..Baseline::default() }.level(metric)
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[None]), None);
        assert_eq!(of(&[Some(5.0), None, Some(1.0), Some(2.0)]), Some(2.0));
        assert_eq!(of(&[Some(4.0), Some(1.0), Some(2.0), Some(900.0)]), Some(3.0));
        let other = Baseline::default();
        assert_eq!(other.level("read.p50".parse().unwrap()), None);
    }

    #[test]
    fn percent_of_max_regression() {
        assert_eq!(max_regression("5%"), Ok(5.0));
        assert_eq!(max_regression(" 2.5 %"), Ok(2.5));
        assert_eq!(max_regression("0"), Ok(0.0));
        for wrong in ["", "%", "-1%", "x", "1e9", "NaN", "5ms"] {
            let error = max_regression(wrong).unwrap_err();
            assert_eq!(error.cure, "give a percentage such as 5%", "{error}");
        }
    }

    #[test]
    fn what_is_stored_may_be_wrong() {
        let run = BaselineRun::default();
        let good = Baseline { runs: vec![run], ..Baseline::default() };
        assert_eq!(good.mistake(), None);
        assert_eq!(Baseline::default().mistake(), Some("it has no runs"));
        let wild = Baseline { max_regression_percent: Some(-1.0), ..good.clone() };
        assert!(wild.mistake().is_some());
        let metric = Baseline::GATED[0];
        let figures = vec![BaselineFigure { metric, values: vec![Some(f64::INFINITY)] }];
        assert!(Baseline { figures, ..good }.mistake().is_some());
    }
}
