//! Distributions of times. Their statistics are defined in a table that reports, metrics and
//! thresholds read, with the rank by which tables choose what to show.

use super::histogram::Histogram;
use serde::{Deserialize, Serialize};

/// Which tables show a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shown {
    /// No table: records and thresholds only.
    Never,
    /// The table of all figures (`--verbose`).
    Detail,
    /// That table, and the text report where it has room.
    Text,
    /// Every table, but narrow ones only where they have room.
    Wide,
    /// Every table.
    Always,
}

/// How a statistic is computed from the times.
#[derive(Clone, Copy, Debug)]
enum Rule {
    /// The time that this percentage of the times do not exceed.
    Percentile(f64),
    /// A single time, in nanoseconds.
    Extreme(fn(&Histogram) -> f64),
    /// Computed from all times, in nanoseconds.
    Average(fn(&Histogram) -> f64),
}

/// The properties of a statistic.
struct StatisticRow {
    name: &'static str,
    shown: Shown,
    gauge: Option<&'static str>,
    rule: Rule,
    of: fn(&Latency) -> Option<f64>,
}

/// A number in microseconds, as stored in records.
trait StoredNumber {
    fn store(us: Option<f64>) -> Self;
}

impl StoredNumber for f64 {
    fn store(us: Option<f64>) -> Self {
        us.unwrap_or(0.0)
    }
}

impl StoredNumber for Option<f64> {
    fn store(us: Option<f64>) -> Self {
        us
    }
}

macro_rules! statistics {
    (@gauge) => { None };
    (@gauge $gauge:literal) => { Some($gauge) };
    ($(
        #[doc = $doc:literal] $(#[$more:meta])*
        $Statistic:ident $field:ident: $type:ty =
            $name:literal, $shown:ident, $Rule:ident($rule:expr) $(, $gauge:literal)?;
    )*) => {
        /// A distribution of times in microseconds, with the histogram it was read from.
        ///
        /// A percentile with fewer than ten samples beyond it is `null`.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct Latency {
            /// The number of samples: requests.
            pub samples: u64,
            /// The minimum.
            pub min_us: f64,
            $(#[doc = $doc] $(#[$more])* pub $field: $type,)*
            /// `HdrHistogram`, V2, deflated, base64; values in nanoseconds.
            pub histogram: Histogram,
        }

        impl Latency {
            /// Computes the statistics of a histogram.
            pub fn new(histogram: Histogram) -> Self {
                let read = |it: Statistic| it.known_ns(&histogram).map(rounded);
                Self {
                    samples: histogram.len(),
                    min_us: rounded(histogram.min() as f64),
                    $($field: StoredNumber::store(read(Statistic::$Statistic)),)*
                    histogram,
                }
            }
        }

        /// A statistic of times, such as a percentile.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Statistic {
            $(#[doc = $doc] $Statistic,)*
        }

        impl Statistic {
            /// Every statistic, in the order of reports.
            pub const ALL: &[Self] = &[$(Self::$Statistic),*];
            const ROWS: &[StatisticRow] = &[$(StatisticRow {
                name: $name,
                shown: Shown::$shown,
                gauge: statistics!(@gauge $($gauge)?),
                rule: Rule::$Rule($rule),
                of: |times| times.$field.into(),
            }),*];
        }
    };
}

// Each statistic is defined by its line here: its key in records, its name, the tables that show
// it, how it is computed, and the help text of its own family of metrics if it is in tables and no
// quantile. A new one must be an `Option` with `#[serde(default)]`, since older records do not have
// it.
statistics! {
    /// The mean.
    Mean mean_us: f64 = "mean", Never, Average(Histogram::mean);
    /// The median.
    P50 p50_us: Option<f64> = "p50", Always, Percentile(50.0);
    /// The 90th percentile.
    P90 p90_us: Option<f64> = "p90", Text, Percentile(90.0);
    /// The 95th percentile.
    P95 p95_us: Option<f64> = "p95", Detail, Percentile(95.0);
    /// The 99th percentile.
    P99 p99_us: Option<f64> = "p99", Always, Percentile(99.0);
    /// The 99.9th percentile.
    P99_9 p99_9_us: Option<f64> = "p99.9", Wide, Percentile(99.9);
    /// The maximum.
    Max max_us: f64 = "max", Always, Extreme(|it| it.max() as f64), "The maximum of these times.";
}

impl Statistic {
    const fn row(self) -> &'static StatisticRow {
        &Self::ROWS[self as usize]
    }

    /// The statistic with this name in thresholds.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.name() == name)
    }

    /// Its name, such as `p99.9`.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// The percentage of times that are no longer, if it is a percentile.
    pub const fn percent(self) -> Option<f64> {
        match self.row().rule {
            Rule::Percentile(percent) => Some(percent),
            Rule::Extreme(_) | Rule::Average(_) => None,
        }
    }

    /// The percentage in tenths of a percent.
    pub fn tenths(self) -> Option<u16> {
        self.percent().map(|percent| (percent * 10.0) as u16)
    }

    /// The percentage as a quantile of a metric, such as `0.999`.
    pub fn quantile(self) -> Option<String> {
        Some((f64::from(self.tenths()?) / 1_000.0).to_string())
    }

    /// The percentage of requests whose times must be known for it to be true of all requests;
    /// `None` if the known ones are taken to represent the others.
    pub const fn covers(self) -> Option<f64> {
        match self.row().rule {
            Rule::Percentile(percent) => Some(percent),
            Rule::Extreme(_) => Some(100.0),
            Rule::Average(_) => None,
        }
    }

    /// The help text of its own family of metrics, if it has one.
    pub const fn gauge(self) -> Option<&'static str> {
        self.row().gauge
    }

    /// Its value, in microseconds; `None` if there are too few samples.
    pub fn of(self, times: &Latency) -> Option<f64> {
        if times.samples == 0 { None } else { (self.row().of)(times) }
    }

    /// Its value in a histogram, in microseconds; `None` if there are too few samples.
    pub fn of_histogram(self, times: &Histogram) -> Option<f64> {
        self.known_ns(times).map(|ns| ns / 1e3)
    }

    fn known_ns(self, times: &Histogram) -> Option<f64> {
        let earned = self.percent().is_none_or(|percent| times.earns(percent));
        (earned && !times.is_empty()).then(|| self.in_ns(times))
    }

    /// Its value in a histogram, in nanoseconds, however few samples there are.
    pub fn in_ns(self, times: &Histogram) -> f64 {
        match self.row().rule {
            Rule::Percentile(percent) => times.percentile(percent) as f64,
            Rule::Extreme(of) | Rule::Average(of) => of(times),
        }
    }

    /// The one that the headline of a run shows, and that its times are judged by: the highest
    /// percentile that is `known`, or else the maximum, with its value.
    pub fn leading(known: impl Fn(Self) -> Option<f64>) -> Option<(Self, f64)> {
        let order = [Self::P99, Self::P90, Self::P50, Self::Max];
        order.into_iter().find_map(|it| Some((it, known(it)?)))
    }

    /// The statistics that tables of this rank show.
    pub fn shown(rank: Shown) -> impl Iterator<Item = Self> + Clone {
        Self::ALL.iter().copied().filter(move |it| it.row().shown >= rank)
    }

    /// The percentiles that every table shows.
    pub fn percentiles() -> impl Iterator<Item = Self> + Clone {
        Self::shown(Shown::Always).filter(|it| it.percent().is_some())
    }

    /// Whether a narrow table may leave it out.
    pub fn is_wide(self) -> bool {
        self.row().shown < Shown::Always
    }

    /// What a table shows if there is no value: percentiles need more samples than there are.
    pub const fn none(self) -> &'static str {
        if self.percent().is_some() { "too few" } else { "-" }
    }
}

/// Nanoseconds as microseconds with two decimals.
fn rounded(ns: f64) -> f64 {
    (ns / 10.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_what_its_name_says() {
        let percentiles = Statistic::ALL.iter().filter_map(|it| Some((it, it.percent()?)));
        for (percentile, percent) in percentiles {
            assert_eq!(percentile.name(), format!("p{percent}"));
            let tenths = f64::from(percentile.tenths().unwrap());
            assert!((tenths / 10.0 - percent).abs() < f64::EPSILON);
        }
        assert_eq!(Statistic::P99_9.quantile().as_deref(), Some("0.999"));
        assert_eq!(Statistic::Max.quantile(), None);
    }

    #[test]
    fn the_highest_percentile_with_enough_samples_leads() {
        let leading = |count: u64| {
            let mut times = Histogram::default();
            times.record_many(7_000, count);
            let read = Statistic::leading(|it| it.of_histogram(&times));
            let stored = Latency::new(times);
            let stored = Statistic::leading(|it| it.of(&stored));
            assert_eq!(read.map(|it| it.0), stored.map(|it| it.0), "{count}");
            stored.map(|(it, _)| it.name())
        };
        assert_eq!(leading(0), None);
        for (counts, name) in
            [([1, 19], "max"), ([20, 99], "p50"), ([100, 999], "p90"), ([1_000, 20_000], "p99")]
        {
            assert_eq!(counts.map(leading), [Some(name); 2]);
        }
    }

    #[test]
    fn a_statistic_is_the_same_in_a_record_and_in_its_histogram() {
        let mut histogram = Histogram::default();
        (1..=10_000).for_each(|n| histogram.record(n * 1_000));
        let times = Latency::new(histogram.clone());
        for (place, it) in Statistic::ALL.iter().enumerate() {
            assert_eq!((*it as usize, Statistic::named(it.name())), (place, Some(*it)));
            let (kept, read) = (it.of(&times).unwrap(), it.of_histogram(&histogram).unwrap());
            // Records are precise to tens of nanoseconds.
            assert!((kept - read).abs() < 0.006, "{}: {kept} {read}", it.name());
            let none = it.of_histogram(&Histogram::default());
            assert_eq!((it.of(&Latency::default()), none), (None, None));
        }
        // Statistics that tables show are either percentiles, or have a family of their own.
        let shown = Statistic::shown(Shown::Detail);
        assert!(shown.clone().all(|it| it.gauge().is_some() == it.percent().is_none()));
        assert_eq!(shown.last(), Some(Statistic::Max));
    }

    #[test]
    fn narrow_tables_have_what_every_table_has() {
        let narrow: Vec<_> = Statistic::ALL.iter().filter(|it| !it.is_wide()).collect();
        let always: Vec<_> = Statistic::shown(Shown::Always).collect();
        assert_eq!(narrow, always.iter().collect::<Vec<_>>());
        assert!(!always.is_empty() && always.len() < Statistic::ALL.len());
    }
}
