//! What YCSB writes into files of their own: rows of `raw`, logs of `HdrHistogram`.

use super::sections::{name, return_code, tells_failures};
use crate::measure::{Histogram, RawRow};
use crate::op::OpKind;
use crate::plan::{MeasuredInterval, MeasurementPlan, MeasurementType};
use crate::record::RunRecord;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;
use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

/// `OPERATION,when,how long` for each request: milliseconds since 1970 in which it was done, and
/// microseconds. `epoch_ns` and a row's `done` together are nanoseconds since 1970.
pub fn raw_rows(plan: &MeasurementPlan, rows: &[RawRow], epoch_ns: u64) -> String {
    let both = plan.measurement == MeasurementType::HdrHistogramAndRaw;
    let prefix = if both { "Raw" } else { "" };
    let mut out = String::new();
    for row in rows {
        let mut name = name(row.kind).to_owned();
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

/// Names and contents of the logs that the plan asks for: one for each operation, with one
/// histogram a second, in microseconds.
pub fn hdr_logs(record: &RunRecord) -> Vec<(String, String)> {
    let Some((plan, prefix)) =
        record.plan.ycsb.as_ref().and_then(|plan| Some((plan, plan.hdr_prefix.as_ref()?)))
    else {
        return Vec::new();
    };
    let mut files = Vec::new();
    for kind in OpKind::ALL {
        for (name, intended) in [
            (name(kind).to_owned(), plan.interval == MeasuredInterval::Intended),
            (format!("Intended-{}", name(kind)), true),
        ] {
            if name.starts_with("Intended-") && plan.interval != MeasuredInterval::Both {
                continue;
            }
            if let Some(log) = hdr_log(record, (kind, &name), intended) {
                files.push((format!("{prefix}{name}.hdr"), log));
            }
        }
    }
    files
}

/// The log of one kind. `None`: it did not occur.
fn hdr_log(record: &RunRecord, (kind, name): (OpKind, &str), intended: bool) -> Option<String> {
    let started: Option<jiff::Timestamp> = record.started_at.parse().ok();
    let started = started.map_or(SystemTime::UNIX_EPOCH, SystemTime::from);
    let mut builder = IntervalLogWriterBuilder::new();
    builder.add_comment(&format!("[Logging for: {name}]"));
    builder.add_comment("[Histogram log format version 1.3]");
    builder.with_start_time(started).with_max_value_divisor(1.0);
    let (mut log, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
    let mut any = false;
    let mut writer = builder.begin_log_with(&mut log, &mut serializer).ok()?;
    for stage in record.measured() {
        for row in &stage.series.rows {
            let Some(part) = row.kinds.get(&kind) else { continue };
            let times = if intended { part.response.get() } else { part.service.get() };
            let second = f64::from(row.second);
            let begins = Duration::from_secs_f64((stage.began_s + second).max(0.0));
            let length = Duration::from_secs_f64((stage.elapsed_s - second).clamp(0.001, 1.0));
            writer.write_histogram(&micros(&times), begins, length, None).ok()?;
            any = true;
        }
    }
    any.then(|| String::from_utf8_lossy(&log).into_owned())
}

/// The same in microseconds, which is what YCSB's histograms count.
fn micros(times: &Histogram) -> hdrhistogram::Histogram<u64> {
    let mut micros = hdrhistogram::Histogram::new(3).expect("three digits are allowed");
    for value in times.inner().iter_recorded() {
        let _ = micros.record_n(value.value_iterated_to() / 1_000, value.count_at_value());
    }
    micros
}
