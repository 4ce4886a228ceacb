//! The series as an `HdrHistogram` interval log (format 1.3 of its `HistogramLogWriter`), for tools
//! that read such logs.

use super::number::moment;
use super::threshold::threshold_lines;
use super::words::{trust_lines, warning_lines};
use super::{Format, Render};
use crate::measure::{Histogram, SeriesKind};
use crate::plan::Purpose;
use crate::record::{RunRecord, StageRecord};
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriter, IntervalLogWriterBuilder, Tag};

pub(super) const FORMAT: Format = Format {
    name: "hlog",
    summary: "an HdrHistogram interval log, one line per second, operation and time",
    endings: &["hlog"],
    render: Render::One(render),
};

/// Histograms hold nanoseconds; the maximum written next to each is in milliseconds, the original
/// writer's default.
const MAX_DIVISOR: f64 = 1e6;
/// The original's line of column names.
const LEGEND: &str = "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"HdrHistogram_CompressedHistogram\"\n";

type LogWriter<'a> = IntervalLogWriter<'a, 'a, Vec<u8>, V2DeflateSerializer>;

fn render(record: &RunRecord) -> String {
    let mut log = head(record);
    let mut serializer = V2DeflateSerializer::new();
    let mut body = Vec::new();
    let mut builder = IntervalLogWriterBuilder::new();
    builder.with_max_value_divisor(MAX_DIVISOR);
    let mut writer = builder
        .begin_log_with(&mut body, &mut serializer)
        .expect("writing to memory does not fail");
    record.stages.iter().for_each(|stage| self::stage(stage, &mut writer));
    // The legend belongs between the comment about the divisor and the intervals.
    let body = String::from_utf8(body).expect("a log is text");
    let (divisor, intervals) = body.split_once('\n').unwrap_or((&body, ""));
    log.extend([divisor, "\n", LEGEND, intervals]);
    log
}

/// The comments, and the time at which the run started.
fn head(record: &RunRecord) -> String {
    let mut builder = IntervalLogWriterBuilder::new();
    builder.add_comment("[Histogram log format version 1.3]");
    builder.add_comment(&format!("[springload {}]", record.environment.springload));
    builder.add_comment("[Values are nanoseconds; Interval_Max is in milliseconds]");
    for line in warning_lines(record) {
        builder.add_comment(&format!("[Warning: {line}]"));
    }
    for line in trust_lines(record) {
        builder.add_comment(&format!("[Trust: {line}]"));
    }
    for line in threshold_lines(record) {
        builder.add_comment(&format!("[Threshold: {line}]"));
    }
    builder.add_comment(&format!("[Result: {}]", record.result().words()));
    builder.with_start_time(record.began());
    let (mut head, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
    let written = builder.begin_log_with(&mut head, &mut serializer).map(drop);
    written.expect("writing to memory does not fail");
    String::from_utf8(head).expect("comments are text")
}

/// Every second of a stage. Tags of a warm-up have a prefix, so that merging by tag leaves it out.
fn stage(stage: &StageRecord, writer: &mut LogWriter<'_>) {
    let prefix = if stage.purpose() == Purpose::WarmUp { "warm_up." } else { "" };
    for row in &stage.series.rows {
        let second = f64::from(row.second);
        let begins = moment(stage.began_s + second);
        // The last second of a stage may be partial.
        let most_s = f64::from(row.seconds);
        let length = moment((stage.elapsed_s - second).min(most_s).max(0.001));
        for (kind, part) in &row.kinds {
            for (suffix, histogram) in times(part, stage.load.open) {
                let tag = format!("{prefix}{kind}{suffix}");
                writer
                    .write_histogram(histogram.inner(), begins, length, Tag::new(&tag))
                    .expect("writing to memory does not fail");
            }
        }
    }
}

/// The times of a kind with the suffixes of their tags. A closed loop has no lag.
fn times(part: &SeriesKind, open: bool) -> impl Iterator<Item = (&'static str, Histogram)> {
    let lag = open.then(|| (".lag", part.lag.get()));
    let failed = part.failed_latency();
    let failed = [(".failed", failed.response), (".failed.service", failed.service)];
    let succeeded = [("", part.response.get()), (".service", part.service.get())];
    succeeded.into_iter().chain(failed).filter(|(_, times)| !times.is_empty()).chain(lag)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fixture;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
    use std::collections::BTreeMap;

    #[test]
    fn merged_by_tag_it_holds_what_the_stages_hold() {
        let record = fixture::record(&["read.max > 1ms"]);
        let log = render(&record);
        let mut merged: BTreeMap<String, Histogram> = BTreeMap::new();
        let mut begins = Vec::new();
        for entry in IntervalLogIterator::new(log.as_bytes()) {
            match entry.expect("every line can be read") {
                LogEntry::StartTime(time) => assert_eq!(time.as_millis(), 1_767_323_045_250),
                LogEntry::BaseTime(_) => panic!("there is no base time"),
                LogEntry::Interval(line) => {
                    let histogram = Histogram::decode(line.encoded_histogram()).unwrap();
                    assert!((line.max() - histogram.max() as f64 / 1e6).abs() < 0.001);
                    let tag = line.tag().expect("a tag").as_str().to_owned();
                    begins.push((line.start_timestamp().as_millis(), line.duration().as_millis()));
                    merged.entry(tag).or_default().merge(&histogram);
                }
            }
        }
        let same = |tag: &str, whole: &Histogram| assert_eq!(merged[tag].encode(), whole.encode());
        let crud = &record.stages[2];
        same("read", &crud.operations[0].response.histogram);
        same("read.service", &crud.operations[0].service.histogram);
        same("update.lag", &crud.operations[1].lag.histogram);
        same("bulk_insert", &record.stages[0].operations[0].response.histogram);
        same("warm_up.read", &record.stages[1].operations[0].response.histogram);
        let failed = crud.operations[1].failed_latency().expect("some failed");
        same("update.failed", &failed.response.histogram);
        same("update.failed.service", &failed.service.histogram);
        assert_eq!(merged.len(), 16);
        assert_eq!((begins[0], *begins.last().unwrap()), ((250, 1000), (4_750, 500)));
    }

    #[test]
    fn its_head_is_the_original_writers() {
        let log = render(&fixture::record(&["read.max > 1ms"]));
        let head: Vec<_> = log.lines().take_while(|line| !line.starts_with("Tag=")).collect();
        assert_eq!(head[0], "#[Histogram log format version 1.3]");
        assert!(head.contains(&"#[Threshold: ✗ read max ≤ 1 ms: missed, 1.97 ms]"));
        let failed = "#[Warning: mixed: 30 of 3,000 read operations failed";
        assert!(head.iter().any(|line| line.starts_with(failed)));
        assert!(head.contains(&"#[StartTime: 1767323045.250 (seconds since epoch)]"));
        assert_eq!(head[head.len() - 2], "#[MaxValueDivisor: 1000000.000]");
        assert_eq!(head.last().map(|line| format!("{line}\n")).as_deref(), Some(LEGEND));
    }
}
