//! The validated configuration of a time series workload, in addition to that of a core workload.
//!
//! Defaults and checks are those of YCSB's `TimeSeriesWorkload`; `docs/ycsb.md` lists the
//! differences.

use super::super::config::{CoreConfig, RequestSpec};
use super::names;
use crate::properties::{Properties, PropertyError, PropertyReader};
use serde::{Deserialize, Serialize};

/// More points in time than this cannot be shuffled; this is YCSB's limit.
const MOST_SHUFFLED: u64 = 1 << 24;
/// More series than this make no sense in one client.
const MOST_SERIES: u64 = 1 << 40;
/// The most values of one tag, which are kept in memory.
const MOST_VALUES: u64 = 10_000_000;

/// The time series of a workload, and the queries on them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(clippy::struct_excessive_bools, reason = "each is a property of its own")]
pub struct SeriesConfig {
    /// The number of keys.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub keys: u64,
    /// The number of letters in a key, in a tag's key and in a tag's value.
    #[cfg_attr(feature = "schema", schemars(inner(range(min = 1))))]
    pub lengths: [u64; 3],
    /// The number of values of each tag.
    #[cfg_attr(feature = "schema", schemars(length(min = 1), inner(range(min = 1))))]
    pub tags: Vec<u64>,
    /// The separator between the key and the value of a tag.
    pub pair_delimiter: String,
    /// The separator between the parts of a delete.
    pub delete_delimiter: String,
    /// The name of the field for points in time.
    pub timestamp_key: String,
    /// The name of the field for values.
    pub value_key: String,
    /// The first point in time, in seconds or milliseconds since 1970.
    pub start: i64,
    /// The time between two points, in `unit`.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub interval: i64,
    /// The unit of `interval`.
    pub unit: Unit,
    /// The number of points in time, plus one.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub offsets: u64,
    /// Whether points in time are written in random order.
    pub random_timestamps: bool,
    /// Whether keys and values of tags are in random order.
    pub random_series: bool,
    /// The type of values.
    pub values: ValueKind,
    /// The share of the series that is randomly omitted, 0 to 1.
    pub sparsity: f64,
    /// The share of the series that lags behind, 0 to 1.
    pub delayed: f64,
    /// The maximum lag of these series, in intervals, plus one.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub delayed_intervals: i64,
    /// The time span of a query; 0 means a single point.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub span: i64,
    /// Whether the span is instead a random whole number of intervals below that.
    pub random_span: bool,
    /// The separator between the two ends of a span.
    pub span_delimiter: String,
    /// The function that combines the series of all values of some tags; `None` if there is none.
    pub group_by: Option<GroupBy>,
    /// The function that combines consecutive points; `None` if there is none.
    pub downsampling: Option<Downsampling>,
    /// Whether values are computed from the rest of the point, and verified when they are read.
    pub integrity: bool,
}

/// The unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TimeUnit"))]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names say it")]
pub enum Unit {
    Milliseconds,
    Seconds,
    Minutes,
    Hours,
    Days,
}

impl Unit {
    /// The length of a unit, in the unit in which points in time are given: milliseconds for the
    /// first unit, otherwise seconds.
    pub const fn length(self) -> i64 {
        match self {
            Self::Milliseconds | Self::Seconds => 1,
            Self::Minutes => 60,
            Self::Hours => 60 * 60,
            Self::Days => 60 * 60 * 24,
        }
    }
}

/// The type of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ValueKind {
    /// Signed 32-bit integers.
    Integers,
    /// Numbers from 0 to 100,000.
    Floats,
    /// Both, equally likely.
    Mixed,
}

/// Grouping, as written in queries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupBy {
    /// The name that introduces the function in queries.
    pub key: String,
    /// The function.
    pub function: String,
    /// Which tags are grouped.
    pub tags: Vec<bool>,
}

/// Downsampling, as written in queries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Downsampling {
    /// The name that introduces the function in queries.
    pub key: String,
    /// The function.
    pub function: String,
    /// The time between two points of the result.
    pub interval: u64,
}

/// Properties that have another meaning here, or none.
const OTHERS: [&str; 8] = [
    "core_workload_insertion_retry_interval",
    "core_workload_insertion_retry_limit",
    "dataintegrity",
    "fieldcount",
    "fieldlength",
    "fieldlengthdistribution",
    "insertstart",
    "minscanlength",
];

/// The context in which a workload is requested.
#[derive(Clone, Copy, Debug)]
pub struct Asker {
    /// The number of connections among which the keys are divided.
    pub threads: u64,
    /// Now, in milliseconds since 1970: the default for the first point in time.
    pub now_ms: i64,
    /// Whether points are queried, rather than only written.
    pub queries: bool,
}

impl SeriesConfig {
    /// The properties read here but not by a core workload.
    pub const PROPERTIES: [&str; 25] = [
        "deletedelimiter",
        "delayedintervals",
        "delayedseries",
        "downsamplingfunction",
        "downsamplinginterval",
        "downsamplingkey",
        "groupbyfunction",
        "groupbykey",
        "groupbykeys",
        "queryrandomtimespan",
        "querytimespan",
        "querytimespandelimiter",
        "randomtimeseriesorder",
        "randomwritetimestamporder",
        "sparsity",
        "tagcardinality",
        "tagcount",
        "tagkeylength",
        "tagpairdelimiter",
        "tagvaluelength",
        "timestampinterval",
        "timestampkey",
        "timestampunits",
        "valuekey",
        "valuetype",
    ];

    /// Checks all properties and reports all mistakes at once.
    ///
    /// # Errors
    /// Returns one for each property whose value is invalid, alone or in combination with others.
    pub fn read(
        properties: &Properties,
        asker: Asker,
    ) -> Result<(CoreConfig, Self), Vec<PropertyError>> {
        let mut others = Properties::default();
        for (name, value) in properties.iter().filter(|(name, _)| !OTHERS.contains(name)) {
            others.set(name, value);
        }
        let core = CoreConfig::read(&others, false, &|_| Err("is not read".to_owned()));
        let mut read = PropertyReader::new(properties);
        let (config, threads) = (config(&mut read, asker.now_ms), asker.threads);
        if config.keys < threads {
            let problem = format!("{} keys for {threads} threads", config.keys);
            read.wrong(
                "fieldcount",
                problem,
                "each thread needs a key: give more, or fewer threads",
            );
        }
        check_lengths(&mut read, &config);
        check_integrity(&mut read, &config);
        let series = read.end(config);
        let (mut core, mut series) = match (core, series) {
            (Ok(core), Ok(series)) => (core, series),
            (core, series) => {
                let mut errors = core.err().unwrap_or_default();
                errors.extend(series.err().unwrap_or_default());
                return Err(errors);
            }
        };
        core.fields.integrity = series.integrity;
        let mut read = PropertyReader::new(properties);
        check_operations(&mut read, &core);
        let all: Option<u64> =
            series.tags.iter().try_fold(series.keys, |all, &tag| all.checked_mul(tag));
        match all.filter(|&all| all <= MOST_SERIES) {
            None => read.wrong("tagcardinality", "makes too many series", "give fewer values"),
            Some(all) => {
                series.offsets = core.records / all + 1;
                check_offsets(&mut read, &core, &series, asker.queries);
            }
        }
        read.end((core, series))
    }

    /// The mistakes in a stored configuration, by property. `threads` share its keys, and `queries`
    /// says whether points are queried.
    pub(in crate::ycsb) fn check_again(
        &self,
        core: &CoreConfig,
        threads: u64,
        queries: bool,
    ) -> Vec<PropertyError> {
        let none = Properties::default();
        let mut read = PropertyReader::new(&none);
        let most = i64::from(i32::MAX);
        let year_30000 = 1i64 << 50;
        let all = self.tags.iter().try_fold(self.keys, |all, &tag| all.checked_mul(tag));
        let grouped = self.group_by.as_ref().is_none_or(|it| it.tags.len() == self.tags.len());
        for (name, right) in [
            ("fieldcount", (threads..=1_000_000).contains(&self.keys)),
            ("fieldlength", self.lengths.iter().all(|it| (1..=1 << 16).contains(it))),
            ("tagcount", (1..=1_000).contains(&self.tags.len())),
            ("tagcardinality", self.tags.iter().all(|it| (1..=MOST_VALUES).contains(it))),
            ("tagcardinality", all.is_some_and(|all| (1..=MOST_SERIES).contains(&all))),
            ("offsets", all.is_some_and(|all| self.offsets == core.records / all.max(1) + 1)),
            ("insertstart", (-year_30000..=year_30000).contains(&self.start)),
            ("timestampinterval", (1..=most).contains(&self.interval)),
            ("querytimespan", (0..=most).contains(&self.span)),
            ("querytimespan", !self.random_span || self.span == 0 || self.span >= self.interval),
            ("delayedintervals", (0..=most).contains(&self.delayed_intervals)),
            ("delayedseries", (0.0..=1e15).contains(&self.delayed)),
            ("sparsity", (0.0..=1.0).contains(&self.sparsity)),
            ("groupbykeys", grouped),
        ] {
            if !right {
                read.wrong(name, "out of range", "make the plan again, from its command line");
            }
        }
        if let Err(errors) = read.end(()) {
            return errors;
        }
        let mut read = PropertyReader::new(&none);
        check_lengths(&mut read, self);
        check_operations(&mut read, core);
        check_offsets(&mut read, core, self, queries);
        read.end(()).err().unwrap_or_default()
    }

    /// The number of series per key.
    pub fn series_of_key(&self) -> u64 {
        self.tags.iter().product()
    }

    /// The interval, in the unit in which points in time are given.
    pub const fn step(&self) -> i64 {
        self.interval * self.unit.length()
    }
}

fn config(read: &mut PropertyReader<'_>, now_ms: i64) -> SeriesConfig {
    let unit = unit(read);
    let interval = read.within("timestampinterval", 60, 1..=i32::MAX as u64).cast_signed();
    let now = if unit == Unit::Milliseconds { now_ms } else { now_ms / 1_000 };
    let cure = "give a point in time: seconds since 1970, or milliseconds as timestampunits says";
    let start = read.parsed("insertstart", cure, |text| text.parse().ok());
    let span = read.within("querytimespan", 0, 0..=i32::MAX as u64).cast_signed();
    let random_span = read.flag("queryrandomtimespan", false);
    if random_span && span > 0 && span < interval {
        let problem = format!("{span} is less than timestampinterval ({interval})");
        read.wrong("querytimespan", problem, "give as much, or queryrandomtimespan=false");
    }
    let tags = tags(read);
    SeriesConfig {
        keys: read.within("fieldcount", 10, 1..=1_000_000),
        lengths: [("fieldlength", 100), ("tagkeylength", 8), ("tagvaluelength", 8)]
            .map(|(name, default)| read.within(name, default, 1..=1 << 16)),
        pair_delimiter: read.text("tagpairdelimiter", "="),
        delete_delimiter: read.text("deletedelimiter", ":"),
        timestamp_key: read.text("timestampkey", "YCSBTS"),
        value_key: read.text("valuekey", "YCSBV"),
        // As in YCSB, timestamps begin one interval before now.
        start: start.unwrap_or(now - interval * unit.length()),
        interval,
        unit,
        offsets: 1,
        random_timestamps: read.flag("randomwritetimestamporder", false),
        random_series: read.flag("randomtimeseriesorder", true),
        values: values(read),
        sparsity: read.fraction("sparsity", 0.0),
        delayed: read.number("delayedseries", 0.1),
        delayed_intervals: read.within("delayedintervals", 5, 0..=i32::MAX as u64).cast_signed(),
        span,
        random_span,
        span_delimiter: read.text("querytimespandelimiter", ","),
        group_by: group_by(read, tags.len()),
        downsampling: downsampling(read),
        integrity: read.flag("dataintegrity", false),
        tags,
    }
}

fn unit(read: &mut PropertyReader<'_>) -> Unit {
    let cure = "give milliseconds, seconds, minutes, hours or days";
    let word = |text: &str| match text.to_ascii_lowercase().as_str() {
        "milliseconds" => Some(Unit::Milliseconds),
        "seconds" => Some(Unit::Seconds),
        "minutes" => Some(Unit::Minutes),
        "hours" => Some(Unit::Hours),
        "days" => Some(Unit::Days),
        _ => None,
    };
    read.parsed("timestampunits", cure, word).unwrap_or(Unit::Seconds)
}

fn values(read: &mut PropertyReader<'_>) -> ValueKind {
    let word = |text: &str| match text.to_ascii_lowercase().as_str() {
        "integers" => Some(ValueKind::Integers),
        "floats" => Some(ValueKind::Floats),
        "mixednumbers" => Some(ValueKind::Mixed),
        _ => None,
    };
    let cure = "give integers, floats or mixednumbers";
    read.parsed("valuetype", cure, word).unwrap_or(ValueKind::Floats)
}

/// The number of values of each tag; 1 if the list is too short.
fn tags(read: &mut PropertyReader<'_>) -> Vec<u64> {
    let count = read.within("tagcount", 4, 1..=1_000) as usize;
    let one = |text: &str| text.trim().parse().ok().filter(|it| (1..=MOST_VALUES).contains(it));
    let cure = "give a whole number, 1 or more, for each tag, separated by commas";
    let list = |text: &str| text.split(',').take(count).map(one).collect::<Option<Vec<u64>>>();
    let given = read.parsed("tagcardinality", cure, list);
    let mut tags = given.unwrap_or_else(|| vec![1, 2, 4, 8]);
    tags.resize(count, 1);
    tags
}

fn group_by(read: &mut PropertyReader<'_>, tags: usize) -> Option<GroupBy> {
    let function = read.text("groupbyfunction", "");
    if function.is_empty() {
        return None;
    }
    let keys = read.text("groupbykeys", "");
    let grouped: Option<Vec<bool>> =
        keys.split(',').map(|key| Some(key.trim().parse::<i64>().ok()? != 0)).collect();
    let grouped = grouped.filter(|grouped| grouped.len() == tags).unwrap_or_else(|| {
        let problem = format!("{keys:?} does not have a 0 or 1 for each of {tags} tags");
        read.wrong("groupbykeys", problem, "give 0 or 1 for each tag, separated by commas");
        vec![false; tags]
    });
    Some(GroupBy { key: read.text("groupbykey", "YCSBGB"), function, tags: grouped })
}

fn downsampling(read: &mut PropertyReader<'_>) -> Option<Downsampling> {
    let function = read.text("downsamplingfunction", "");
    if function.is_empty() {
        return None;
    }
    let interval = read.optional("downsamplinginterval").unwrap_or_else(|| {
        read.wrong("downsamplinginterval", "is missing", "downsamplingfunction needs it");
        1
    });
    Some(Downsampling { key: read.text("downsamplingkey", "YCSBDS"), function, interval })
}

/// Refuses lengths that would make names repeat.
fn check_lengths(read: &mut PropertyReader<'_>, config: &SeriesConfig) {
    let values = config.tags.iter().copied().max().unwrap_or(1);
    for (i, (name, count)) in [
        ("fieldlength", config.keys),
        ("tagkeylength", config.tags.len() as u64),
        ("tagvaluelength", values),
    ]
    .into_iter()
    .enumerate()
    {
        if names::different(config.lengths[i]) < count {
            let problem = format!("{} letters are not enough for {count} names", config.lengths[i]);
            read.wrong(name, problem, "give more");
        }
    }
    if config.delayed > 0.0 && config.delayed_intervals == 0 {
        let cure = "give 1 or more, or delayedseries=0";
        read.wrong("delayedintervals", "0 intervals is not a delay", cure);
    }
}

fn check_integrity(read: &mut PropertyReader<'_>, config: &SeriesConfig) {
    if !config.integrity {
        return;
    }
    let given = read.text("insertstart", "");
    for (name, wrong, cure) in [
        ("valuetype", config.values != ValueKind::Integers, "give valuetype=integers"),
        ("groupbyfunction", config.group_by.is_some(), "leave it out"),
        ("downsamplingfunction", config.downsampling.is_some(), "leave it out"),
        ("querytimespan", config.span > 0, "leave it out"),
        ("randomtimeseriesorder", config.random_series, "give false"),
        ("insertstart", given.is_empty(), "give the first point in time, the same for all phases"),
    ] {
        if wrong {
            read.wrong(name, "cannot be combined with dataintegrity", cure);
        }
    }
}

fn check_operations(read: &mut PropertyReader<'_>, core: &CoreConfig) {
    if core.proportions.read_modify_write > 0.0 {
        let problem = "there is no read-modify-write of a time series";
        read.wrong("readmodifywriteproportion", problem, "give 0");
    }
    if matches!(core.requests, RequestSpec::Latest { .. } | RequestSpec::Exponential { .. }) {
        let cure = "give uniform, zipfian, hotspot or sequential";
        read.wrong("requestdistribution", "is not available for time series", cure);
    }
}

fn check_offsets(
    read: &mut PropertyReader<'_>,
    core: &CoreConfig,
    series: &SeriesConfig,
    queries: bool,
) {
    if series.random_timestamps && series.offsets > MOST_SHUFFLED {
        let problem = format!("{} points in time are too many to shuffle", series.offsets);
        let cure = "give fewer records, or randomwritetimestamporder=false";
        read.wrong("recordcount", problem, cure);
    }
    let (p, all) = (&core.proportions, series.keys * series.series_of_key());
    if queries && series.offsets < 2 && p.read + p.scan + p.delete > 0.0 {
        let problem =
            format!("{} records are less than one for each of {all} series", core.records);
        read.wrong("recordcount", problem, "give more, or fewer series");
    }
}
