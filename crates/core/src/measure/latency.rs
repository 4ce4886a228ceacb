//! Distributions of times, with their percentiles as a table that reports, metrics and thresholds
//! read; and the rank by which a table chooses its figures.

use super::histogram::Histogram;
use serde::{Deserialize, Serialize};

/// Which tables have a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shown {
    /// The one of all figures (`--verbose`).
    Detail,
    /// That one, and the report in text where it has room.
    Text,
    /// Every table; narrow ones only where they have room.
    Wide,
    /// Every table.
    Always,
}

/// A percentile of times.
#[derive(Clone, Copy, Debug)]
pub struct Percentile {
    /// Its name, such as `p99.9`.
    pub name: &'static str,
    /// The percentage of times that are no longer.
    pub percent: f64,
    /// Which tables have it.
    pub shown: Shown,
    /// Its value in microseconds; `None`: too few samples.
    pub of: fn(&Latency) -> Option<f64>,
}

impl Percentile {
    /// Those of tables of this rank.
    pub fn shown(rank: Shown) -> impl Iterator<Item = Self> + Clone {
        Latency::PERCENTILES.into_iter().filter(move |it| it.shown >= rank)
    }

    /// In tenths of a percent.
    pub const fn tenths(self) -> u16 {
        (self.percent * 10.0) as u16
    }

    /// As a quantile of a metric, such as `0.999`.
    pub fn quantile(self) -> String {
        (f64::from(self.tenths()) / 1_000.0).to_string()
    }
}

macro_rules! percentiles {
    ($($(#[$doc:meta])* $field:ident: $name:literal, $percent:literal, $shown:ident;)*) => {
        /// A distribution of times in microseconds, with the histogram it was read from.
        ///
        /// A percentile with fewer than ten samples beyond it is `null`.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct Latency {
            /// The number of samples: requests.
            pub samples: u64,
            /// The least time.
            pub min_us: f64,
            /// The mean.
            pub mean_us: f64,
            $($(#[$doc])* pub $field: Option<f64>,)*
            /// The greatest time.
            pub max_us: f64,
            /// `HdrHistogram`, V2, deflated, base64; values in nanoseconds.
            pub histogram: Histogram,
        }

        impl Latency {
            /// Every percentile, from the lowest to the highest.
            pub const PERCENTILES: [Percentile; [$($percent),*].len()] = [$(Percentile {
                name: $name,
                percent: $percent,
                shown: Shown::$shown,
                of: |times| times.$field,
            }),*];

            /// Computes the percentiles of a histogram.
            pub fn new(histogram: Histogram) -> Self {
                let earned =
                    |p: f64| histogram.earns(p).then(|| micros(histogram.percentile(p)));
                Self {
                    samples: histogram.len(),
                    min_us: micros(histogram.min()),
                    mean_us: (histogram.mean() / 10.0).round() / 100.0,
                    $($field: earned($percent),)*
                    max_us: micros(histogram.max()),
                    histogram,
                }
            }
        }
    };
}

// A percentile is its line here: its key in records, its name, and which tables have it.
percentiles! {
    /// The median.
    p50_us: "p50", 50.0, Always;
    /// The 90th percentile.
    p90_us: "p90", 90.0, Text;
    /// The 95th percentile.
    p95_us: "p95", 95.0, Detail;
    /// The 99th percentile.
    p99_us: "p99", 99.0, Always;
    /// The 99.9th percentile.
    p99_9_us: "p99.9", 99.9, Wide;
}

/// Nanoseconds as microseconds with two decimals.
fn micros(ns: u64) -> f64 {
    (ns as f64 / 10.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_what_its_name_says() {
        for percentile in Latency::PERCENTILES {
            assert_eq!(percentile.name, format!("p{}", percentile.percent));
            let percent = f64::from(percentile.tenths()) / 10.0;
            assert!((percent - percentile.percent).abs() < f64::EPSILON);
        }
        assert_eq!(Latency::PERCENTILES.map(Percentile::quantile)[4], "0.999");
    }
}
