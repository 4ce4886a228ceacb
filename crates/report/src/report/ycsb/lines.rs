//! The lines of one section, for each measurement type. Does not know how sections are formed.

use super::NumberLine;
use super::sections::Section;
use super::value::Value;
use crate::measure::Histogram;
use crate::plan::{MeasurementPlan, MeasurementType};
use std::collections::BTreeMap;

/// Nanoseconds in a microsecond, to which YCSB truncates times.
const US: u64 = 1_000;
/// Microseconds in one bucket of the bucket histogram.
const BUCKET_US: u64 = 1_000;
const RAW_PERCENTILES: [f64; 8] = [1.0, 5.0, 50.0, 90.0, 95.0, 99.0, 99.9, 99.99];

/// Appends the lines of a section.
pub(super) fn of_section(plan: &MeasurementPlan, section: &Section, out: &mut Vec<NumberLine>) {
    let Some(times) = &section.times else {
        // Anything not measured is left out, rather than shown as 0.
        let counts: &[_] = match plan.measurement {
            MeasurementType::Raw => &[("", "Total Operations")],
            MeasurementType::HdrHistogramAndHistogram => {
                &[("Hdr", "Operations"), ("Bucket", "Operations")]
            }
            MeasurementType::HdrHistogramAndRaw => {
                &[("Hdr", "Operations"), ("Raw", "Total Operations")]
            }
            _ => &[("", "Operations")],
        };
        out.extend(counts.iter().map(|&(prefix, measure)| {
            NumberLine::new(&format!("{prefix}{}", section.name), measure, section.operations)
        }));
        return;
    };
    let mut lines = Lines { name: section.name.clone(), plan, section, times, out };
    match plan.measurement {
        MeasurementType::HdrHistogram => lines.hdr(),
        MeasurementType::Histogram => {
            let buckets = lines.buckets();
            lines.codes();
            lines.verbose_buckets(&buckets);
        }
        MeasurementType::TimeSeries => lines.series(),
        MeasurementType::Raw => {
            lines.raw();
            lines.codes();
        }
        MeasurementType::HdrHistogramAndHistogram => {
            lines.name = format!("Hdr{}", section.name);
            lines.hdr();
            lines.name = format!("Bucket{}", section.name);
            let buckets = lines.buckets();
            lines.verbose_buckets(&buckets);
        }
        MeasurementType::HdrHistogramAndRaw => {
            lines.name = format!("Hdr{}", section.name);
            lines.hdr();
            lines.name = format!("Raw{}", section.name);
            lines.raw();
        }
    }
}

/// The lines of a section under one name.
struct Lines<'a> {
    name: String,
    plan: &'a MeasurementPlan,
    section: &'a Section,
    times: &'a Histogram,
    out: &'a mut Vec<NumberLine>,
}

impl Lines<'_> {
    fn line(&mut self, measure: impl Into<String>, value: impl Into<Value>) {
        self.out.push(NumberLine::new(&self.name, measure, value));
    }

    /// Adds the first lines of every type except `raw`.
    fn average(&mut self) {
        self.line("Operations", self.section.operations);
        self.line("AverageLatency(us)", mean_us(self.times));
    }

    fn extremes(&mut self) {
        self.line("MinLatency(us)", min_us(self.times));
        self.line("MaxLatency(us)", self.times.max() / US);
    }

    fn codes(&mut self) {
        for &(code, count) in &self.section.codes {
            self.line(format!("Return={code}"), count);
        }
        if self.section.rows > 0 {
            self.line("Records", self.section.rows);
        }
        let [sent, retries] = self.section.wire;
        if retries > 0 {
            self.line("ConflictRetries", retries);
            self.line("HttpRequests", sent);
        }
    }

    fn hdr(&mut self) {
        self.average();
        self.extremes();
        for &percentile in &self.plan.percentiles {
            let value = percentile_us(self.times, percentile);
            self.line(format!("{}PercentileLatency(us)", ordinal(percentile)), value);
        }
        self.codes();
        if self.plan.verbose {
            let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
            for value in self.times.inner().iter_recorded() {
                *counts.entry(value.value_iterated_to() / US).or_default() +=
                    value.count_at_value();
            }
            for (us, count) in counts {
                self.line(us.to_string(), count as f64);
            }
        }
    }

    /// Counts per millisecond; the last bucket counts everything slower. The lines that follow the
    /// first ones in YCSB are left to the caller.
    fn buckets(&mut self) -> Vec<u64> {
        let last = self.plan.buckets as usize;
        let mut buckets = vec![0; last + 1];
        let (mean, mut squares) = (mean_us(self.times), 0.0);
        for value in self.times.inner().iter_recorded() {
            let (ns, count) = (value.value_iterated_to(), value.count_at_value());
            buckets[((ns / US / BUCKET_US) as usize).min(last)] += count;
            squares += count as f64 * (ns as f64 / US as f64 - mean).powi(2);
        }
        let count = self.times.len();
        self.average();
        self.line("LatencyVariance(us)", if count == 0 { 0.0 } else { squares / count as f64 });
        self.extremes();
        for percentile in [95, 99] {
            let mut sum = 0;
            let reached = buckets[..last].iter().position(|part| {
                sum += part;
                sum * 100 >= count * percentile
            });
            // If too many took longer, the line is left out.
            if let Some(bucket) = reached {
                let value = bucket as u64 * BUCKET_US;
                self.line(format!("{percentile}thPercentileLatency(us)"), value);
            }
        }
        buckets
    }

    fn verbose_buckets(&mut self, buckets: &[u64]) {
        let Some((longer, buckets)) = buckets.split_last().filter(|_| self.plan.verbose) else {
            return;
        };
        for (bucket, &count) in buckets.iter().enumerate() {
            self.line(bucket.to_string(), count);
        }
        self.line(format!(">{}", buckets.len()), *longer);
    }

    fn series(&mut self) {
        self.average();
        self.extremes();
        self.codes();
        if self.plan.slots_ms().is_some() {
            for (at_ms, (requests, us)) in &self.section.slots {
                self.line(at_ms.to_string(), us / *requests as f64);
            }
            return;
        }
        let mut rows: BTreeMap<u64, Histogram> = BTreeMap::new();
        for ((second, _), times) in &self.section.seconds {
            let row = u64::from(second / self.plan.granularity_s);
            let offset_ms = row * u64::from(self.plan.granularity_s) * 1000;
            rows.entry(offset_ms).or_default().merge(times);
        }
        for (offset_ms, times) in rows {
            self.line(offset_ms.to_string(), mean_us(&times));
        }
    }

    fn raw(&mut self) {
        self.line("Total Operations", self.section.operations);
        if !self.plan.raw_summary || self.times.is_empty() {
            return;
        }
        self.line("Below is a summary of latency in microseconds:", -1);
        self.line("Average", mean_us(self.times));
        self.line("Min", min_us(self.times));
        self.line("Max", self.times.max() / US);
        for percentile in RAW_PERCENTILES {
            self.line(format!("p{percentile}"), percentile_us(self.times, percentile));
        }
    }
}

pub(super) fn mean_us(times: &Histogram) -> f64 {
    if times.is_empty() { 0.0 } else { times.mean() / US as f64 }
}

pub(super) fn min_us(times: &Histogram) -> u64 {
    if times.is_empty() { 0 } else { times.min() / US }
}

pub(super) fn percentile_us(times: &Histogram, percentile: f64) -> u64 {
    if times.is_empty() { 0 } else { times.percentile(percentile) / US }
}

/// An ordinal such as `50th` or `91st`; `99.9` if it is not an integer.
fn ordinal(percentile: f64) -> String {
    if percentile.fract() > 0.0 {
        return format!("{}", Value::Decimal(percentile));
    }
    let whole = percentile as u64;
    let suffix = match (whole % 100, whole % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{whole}{suffix}")
}
