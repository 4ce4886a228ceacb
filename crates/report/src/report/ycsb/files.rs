//! What YCSB writes to separate files: rows of `raw`, logs of `HdrHistogram`.

use super::sections::{return_code, sections, tells_failures};
use crate::measure::{Histogram, RawRow};
use crate::plan::{MeasuredInterval, MeasurementPlan, MeasurementType};
use crate::record::RunRecord;
use crate::report::number::moment;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;
use indexmap::IndexMap;
use std::fmt::Write as _;
use std::time::Duration;

/// `OPERATION,when,how long` for each request: the end in milliseconds since 1970, and the time in
/// microseconds. `epoch_ns` plus a row's `done` are nanoseconds since 1970.
pub fn raw_rows(plan: &MeasurementPlan, rows: &[RawRow], epoch_ns: u64) -> String {
    let both = plan.measurement == MeasurementType::HdrHistogramAndRaw;
    let prefix = if both { "Raw" } else { "" };
    let mut out = String::new();
    for row in rows {
        let mut name = row.kind.ycsb().to_owned();
        if let Some(class) = row.failure.filter(|_| tells_failures(row.kind)) {
            let code = return_code(class);
            name = format!("{name}-{}", if plan.errors.tracks(code) { code } else { "FAILED" });
        }
        let done_ms = row.done.saturating_add(epoch_ns) / 1_000_000;
        let mut line = |name: &str, ns: u64| {
            let _ = writeln!(out, "{prefix}{name},{done_ms},{}", ns / 1_000);
        };
        match plan.interval {
            MeasuredInterval::Op => line(&name, row.service_ns),
            MeasuredInterval::Intended => line(&name, row.response_ns),
            MeasuredInterval::Both => {
                line(&name, row.service_ns);
                line(&format!("Intended-{name}"), row.response_ns);
            }
        }
    }
    out
}

/// One second of a log: its start, counted from the run's start, its length, and its times.
type Second = (Duration, Duration, Histogram);

/// Names and contents of the logs that the plan asks for: one per section of the report, with one
/// histogram per second, in microseconds.
pub fn hdr_logs(record: &RunRecord) -> Vec<(String, String)> {
    let plan = record.plan.ycsb.as_ref();
    let Some((plan, prefix)) = plan.and_then(|plan| Some((plan, plan.hdr_prefix.as_ref()?))) else {
        return Vec::new();
    };
    let mut logs: IndexMap<String, Vec<Second>> = IndexMap::new();
    for stage in record.measured() {
        for section in sections(plan, stage, &record.plan) {
            let seconds = section.seconds.into_iter().map(|((second, seconds), times)| {
                let (second, most_s) = (f64::from(second), f64::from(seconds));
                let begins = moment(stage.began_s + second);
                let length = (stage.elapsed_s - second).min(most_s).max(0.001);
                (begins, moment(length), times)
            });
            logs.entry(section.name).or_default().extend(seconds);
        }
    }
    logs.retain(|_, seconds| !seconds.is_empty());
    let log = |(name, seconds): (String, Vec<Second>)| {
        (format!("{prefix}{name}.hdr"), hdr_log(record, &name, &seconds))
    };
    logs.into_iter().map(log).collect()
}

fn hdr_log(record: &RunRecord, name: &str, seconds: &[Second]) -> String {
    let mut builder = IntervalLogWriterBuilder::new();
    builder.add_comment(&format!("[Logging for: {name}]"));
    builder.add_comment("[Histogram log format version 1.3]");
    builder.with_start_time(record.began()).with_max_value_divisor(1.0);
    let (mut log, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
    let mut writer =
        builder.begin_log_with(&mut log, &mut serializer).expect("writing to memory does not fail");
    for (begins, length, times) in seconds {
        writer
            .write_histogram(&micros(times), *begins, *length, None)
            .expect("writing to memory does not fail");
    }
    String::from_utf8(log).expect("a log is text")
}

/// Converts times to microseconds, the unit of YCSB's histograms.
fn micros(times: &Histogram) -> hdrhistogram::Histogram<u64> {
    let mut micros = hdrhistogram::Histogram::new(3).expect("three digits are allowed");
    for value in times.inner().iter_recorded() {
        let _ = micros.record_n(value.value_iterated_to() / 1_000, value.count_at_value());
    }
    micros
}
