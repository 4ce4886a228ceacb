//! How YCSB's properties want measurements reported. Knows nothing about what is measured.

use crate::properties::{Properties, PropertyError, PropertyReader};
use serde::{Deserialize, Serialize};

/// The percentiles in YCSB's head; releases up to 0.17 had only 95 and 99.
const PERCENTILES: [f64; 3] = [50.0, 95.0, 99.0];

/// How reports and status lines in YCSB's dialect show what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeasurementPlan {
    /// The content of each operation's section.
    pub measurement: MeasurementType,
    /// The percentiles of histograms, in the requested order.
    #[cfg_attr(feature = "schema", schemars(inner(range(min = 0, max = 100))))]
    pub percentiles: Vec<f64>,
    /// The prefix of the names of `HdrHistogram` logs; `None` if none are written.
    pub hdr_prefix: Option<String>,
    /// The number of buckets of `histogram`, one millisecond each.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub buckets: u64,
    /// Whether every bucket is printed.
    pub verbose: bool,
    /// The length of one row of `timeseries`, in seconds.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub granularity_s: u32,
    /// The same in milliseconds; only if it is not a whole number of seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub granularity_ms: Option<u32>,
    /// Which latency is reported.
    pub interval: MeasuredInterval,
    /// The file for rows of `raw`; empty for stdout.
    pub raw_file: String,
    /// Whether a summary follows the rows of `raw`.
    pub raw_summary: bool,
    /// The form of the report.
    pub exporter: Exporter,
    /// The file for the report; empty for stdout.
    pub export_file: String,
    /// The time between two status lines, in seconds; `None` if there are none.
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = null, "exclusiveMinimum" = 0)))]
    pub status_s: Option<f64>,
    /// The label at the beginning of status lines.
    pub label: String,
    /// How the latencies of failures are divided into sections.
    pub errors: ErrorLatency,
    /// Whether the lines about Java's garbage collection are printed, with all values zero.
    pub gc: bool,
}

/// What an operation's section consists of: YCSB's property `measurementtype`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are the values of the property")]
pub enum MeasurementType {
    HdrHistogram,
    Histogram,
    TimeSeries,
    Raw,
    HdrHistogramAndHistogram,
    HdrHistogramAndRaw,
}

impl MeasurementType {
    const NAMES: [(&'static str, Self); 6] = [
        ("hdrhistogram", Self::HdrHistogram),
        ("histogram", Self::Histogram),
        ("timeseries", Self::TimeSeries),
        ("raw", Self::Raw),
        ("hdrhistogram+histogram", Self::HdrHistogramAndHistogram),
        ("hdrhistogram+raw", Self::HdrHistogramAndRaw),
    ];

    /// Whether each operation is reported separately.
    pub const fn is_raw(self) -> bool {
        matches!(self, Self::Raw | Self::HdrHistogramAndRaw)
    }
}

/// Which latency is reported: YCSB's property `measurement.interval`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MeasuredInterval {
    /// From the actual start: service times.
    Op,
    /// From the intended start: response times, under the plain names.
    Intended,
    /// Both; the second in separate sections.
    Both,
}

/// The form of a report: YCSB's property `exporter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Exporter {
    /// `[SECTION], measure, value`.
    Text,
    /// One JSON object per line.
    Json,
    /// One JSON array of objects.
    JsonArray,
}

impl Exporter {
    /// The name of the report format.
    pub const fn format(self) -> &'static str {
        match self {
            Self::Text => "ycsb",
            Self::Json => "ycsb-json",
            Self::JsonArray => "ycsb-json-array",
        }
    }
}

/// How the latencies of failures are divided into sections: YCSB's properties
/// `reportlatencyforeacherror` and `latencytrackederrors`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ErrorLatency {
    /// All failures of an operation in one section.
    Together,
    /// A section for each return code.
    Each,
    /// A section for each of these return codes, and one for all others.
    These(Vec<String>),
}

impl ErrorLatency {
    /// Whether failures with this return code have their own section.
    pub fn tracks(&self, code: &str) -> bool {
        match self {
            Self::Together => false,
            Self::Each => true,
            Self::These(codes) => codes.iter().any(|it| it == code),
        }
    }
}

impl Default for MeasurementPlan {
    /// The settings if no property is given.
    fn default() -> Self {
        Self {
            measurement: MeasurementType::HdrHistogram,
            percentiles: PERCENTILES.to_vec(),
            hdr_prefix: None,
            buckets: 1000,
            verbose: false,
            granularity_s: 1,
            granularity_ms: None,
            interval: MeasuredInterval::Op,
            raw_file: String::new(),
            raw_summary: true,
            exporter: Exporter::Text,
            export_file: String::new(),
            status_s: None,
            label: String::new(),
            errors: ErrorLatency::Together,
            gc: false,
        }
    }
}

impl MeasurementPlan {
    /// The properties read here. `measurement.gc` is springload's own.
    pub const PROPERTIES: [&str; 18] = [
        "exporter",
        "exportfile",
        "hdrhistogram.fileoutput",
        "hdrhistogram.output.path",
        "hdrhistogram.percentiles",
        "histogram.buckets",
        "label",
        "latencytrackederrors",
        "measurement.gc",
        "measurement.histogram.verbose",
        "measurement.interval",
        "measurement.raw.no_summary",
        "measurement.raw.output_file",
        "measurementtype",
        "reportlatencyforeacherror",
        "status",
        "status.interval",
        "timeseries.granularity",
    ];

    /// The length in milliseconds of the intervals over which requests are summed, in addition to
    /// seconds.
    pub fn slots_ms(&self) -> Option<u32> {
        self.granularity_ms.filter(|_| self.measurement == MeasurementType::TimeSeries)
    }

    /// Checks all properties and reports all mistakes at once.
    ///
    /// # Errors
    /// Returns an error for each property whose value is invalid.
    pub fn read(properties: &Properties) -> Result<Self, Vec<PropertyError>> {
        let mut read = PropertyReader::new(properties);
        let plain = Self::default();
        let hdr_files = read.flag("hdrhistogram.fileoutput", false);
        let status = read.flag("status", false);
        let status_s = read.number("status.interval", 10.0);
        if status_s <= 0.0 {
            read.wrong("status.interval", "must be above 0", "give the seconds between two lines");
        }
        let (granularity_s, granularity_ms) = granularity(&mut read);
        let plan = Self {
            measurement: word(&mut read, "measurementtype", &MeasurementType::NAMES)
                .unwrap_or(plain.measurement),
            percentiles: percentiles(&mut read).unwrap_or(plain.percentiles),
            hdr_prefix: hdr_files.then(|| read.text("hdrhistogram.output.path", "")),
            buckets: read.within("histogram.buckets", plain.buckets, 1..=1_000_000),
            verbose: read.flag("measurement.histogram.verbose", plain.verbose),
            granularity_s,
            granularity_ms,
            interval: word(
                &mut read,
                "measurement.interval",
                &[
                    ("op", MeasuredInterval::Op),
                    ("intended", MeasuredInterval::Intended),
                    ("both", MeasuredInterval::Both),
                ],
            )
            .unwrap_or(plain.interval),
            raw_file: read.text("measurement.raw.output_file", ""),
            raw_summary: !read.flag("measurement.raw.no_summary", false),
            exporter: exporter(&mut read),
            export_file: read.text("exportfile", ""),
            status_s: status.then_some(status_s),
            label: read.text("label", ""),
            errors: errors(&mut read),
            gc: read.flag("measurement.gc", plain.gc),
        };
        read.end(plan)
    }
}

/// Reads one of a few words, ignoring case.
fn word<T: Copy>(read: &mut PropertyReader<'_>, name: &str, words: &[(&str, T)]) -> Option<T> {
    let names: Vec<_> = words.iter().map(|(word, _)| *word).collect();
    let cure = format!("give one of {}", names.join(", "));
    let find = |text: &str| {
        words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text)).map(|&(_, value)| value)
    };
    read.parsed(name, &cure, find)
}

fn percentiles(read: &mut PropertyReader<'_>) -> Option<Vec<f64>> {
    let one = |text: &str| text.trim().parse().ok().filter(|it| (0.0..=100.0).contains(it));
    let cure = "give numbers from 0 to 100, separated by commas";
    read.parsed("hdrhistogram.percentiles", cure, |text| text.split(',').map(one).collect())
}

/// The granularity in seconds, which are always recorded, or else in milliseconds.
fn granularity(read: &mut PropertyReader<'_>) -> (u32, Option<u32>) {
    let ms = read.within("timeseries.granularity", 1_000, 1..=u32::MAX.into()) as u32;
    if ms.is_multiple_of(1_000) { (ms / 1_000, None) } else { (1, Some(ms)) }
}

/// Only the class name counts, not its package: YCSB once renamed its packages.
fn exporter(read: &mut PropertyReader<'_>) -> Exporter {
    let class = |text: &str| {
        let name = text.rsplit('.').next()?.strip_suffix("MeasurementsExporter")?;
        match name {
            "Text" => Some(Exporter::Text),
            "JSON" => Some(Exporter::Json),
            "JSONArray" => Some(Exporter::JsonArray),
            _ => None,
        }
    };
    let cure = "give site.ycsb.measurements.exporter. and one of TextMeasurementsExporter, \
                JSONMeasurementsExporter, JSONArrayMeasurementsExporter";
    read.parsed("exporter", cure, class).unwrap_or(Exporter::Text)
}

fn errors(read: &mut PropertyReader<'_>) -> ErrorLatency {
    if read.flag("reportlatencyforeacherror", false) {
        return ErrorLatency::Each;
    }
    let codes: Vec<_> = read
        .text("latencytrackederrors", "")
        .split(',')
        .map(|code| code.trim().to_owned())
        .filter(|code| !code.is_empty())
        .collect();
    if codes.is_empty() { ErrorLatency::Together } else { ErrorLatency::These(codes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &str) -> Result<MeasurementPlan, Vec<PropertyError>> {
        MeasurementPlan::read(&Properties::parse(lines.as_bytes()).unwrap())
    }

    #[test]
    fn nothing_said_is_what_ycsb_does() {
        let plan = read("").unwrap();
        assert_eq!(plan, MeasurementPlan::default());
        assert_eq!(plan.percentiles, [50.0, 95.0, 99.0]);
    }

    #[test]
    fn every_property_is_read_and_listed() {
        let values = [
            ("exporter", "site.ycsb.measurements.exporter.JSONArrayMeasurementsExporter"),
            ("exportfile", "out.json"),
            ("hdrhistogram.percentiles", "50, 99.9"),
            ("histogram.buckets", "5"),
            ("label", "a"),
            ("latencytrackederrors", "NOT_FOUND,ERROR"),
            ("measurement.gc", "true"),
            ("measurement.histogram.verbose", "true"),
            ("measurement.interval", "both"),
            ("measurement.raw.no_summary", "true"),
            ("measurement.raw.output_file", "raw.csv"),
            ("measurementtype", "HdrHistogram+Raw"),
            ("reportlatencyforeacherror", "true"),
            ("status", "true"),
            ("timeseries.granularity", "2000"),
        ];
        for (name, value) in values {
            assert!(MeasurementPlan::PROPERTIES.contains(&name), "{name}");
            let plan = read(&format!("{name}={value}")).unwrap();
            assert_ne!(plan, MeasurementPlan::default(), "{name}");
        }
        let plan = read("status=true\nstatus.interval=0.5").unwrap();
        assert_eq!(plan.status_s, Some(0.5));
        let plan = read("timeseries.granularity=50").unwrap();
        assert_eq!(plan.granularity_ms, Some(50));
        let plan = read("hdrhistogram.fileoutput=true\nhdrhistogram.output.path=x/").unwrap();
        assert_eq!(plan.hdr_prefix.as_deref(), Some("x/"));
    }

    #[test]
    fn mistakes_are_reported_all_at_once() {
        let lines = "measurementtype=csv\nhdrhistogram.percentiles=101\nhistogram.buckets=0\n\
                     timeseries.granularity=0\nmeasurement.interval=10\nexporter=Xml\n\
                     status.interval=0\nstatus=maybe";
        let errors = read(lines).unwrap_err();
        assert_eq!(errors.len(), 8, "{errors:?}");
    }
}
