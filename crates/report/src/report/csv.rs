//! The per-second series as comma-separated values (RFC 4180).

use super::replicated::named;
use super::{Format, Render};
use crate::measure::{Count, Histogram, KindInterval, LagPoint, Percentile, Replication, Shown};
use crate::plan::REPLICATED;
use crate::record::{RunRecord, StageRecord};
use std::fmt::Write as _;

pub(super) const FORMAT: Format = Format {
    name: "csv",
    summary: "the per-second series, one row per second and kind",
    render: Render::One(render),
};

/// The columns of these times.
fn names(times: &[&str]) -> String {
    let statistics = Percentile::shown(Shown::Wide).map(|it| it.name.replace('.', "_"));
    let statistics: Vec<String> = statistics.chain(["max".to_owned()]).collect();
    let of = |time| statistics.iter().map(move |it| format!("{time}_{it}_us,"));
    times.iter().flat_map(of).collect()
}

fn header() -> String {
    let (times, failed) =
        (names(&["response", "service", "lag"]), names(&["failed_response", "failed_service"]));
    let counts: Vec<&str> = others().map(Count::name).collect();
    let counts = counts.join(",");
    format!("stage,second,kind,requests,ok,failed,{times}verdict,{failed}seconds,result,{counts}")
}

/// The counts of a second but the three that come first.
fn others() -> impl Iterator<Item = Count> {
    let first = [Count::Requests, Count::Ok, Count::Failed];
    let part = KindInterval::default();
    let known = Count::ALL.iter().copied().filter(move |it| it.in_interval(&part).is_some());
    known.filter(move |it| !first.contains(it))
}

fn render(record: &RunRecord) -> String {
    let mut out = format!("{}\n", header());
    let result = record.result().kind;
    for stage in &record.stages {
        let name = quoted(&stage.name);
        for row in &stage.series.rows {
            for (kind, part) in &row.kinds {
                let (requests, ok, failed) = (part.requests, part.ok, part.failed());
                let _ = write!(out, "{name},{},{kind},{requests},{ok},{failed}", row.second);
                for histogram in [&part.response, &part.service, &part.lag] {
                    write_times(&mut out, &histogram.get());
                }
                let _ = write!(out, ",{}", stage.verdict.name());
                let failed = part.failed_latency();
                for histogram in [&failed.response, &failed.service] {
                    write_times(&mut out, histogram);
                }
                let _ = write!(out, ",{},{}", row.seconds, result.words());
                for count in others() {
                    out.push(',');
                    if knows(stage, count) {
                        let _ = write!(out, "{}", part.count(count));
                    }
                }
                out.push('\n');
            }
        }
        if stage.name == REPLICATED {
            record
                .replication
                .iter()
                .for_each(|it| write_lags(stage, it, result.words(), &mut out));
        }
    }
    out
}

/// The longest lag of each second: markers that were seen, and the longest time, as that of a
/// response; everything else is empty.
fn write_lags(stage: &StageRecord, found: &Replication, result: &str, out: &mut String) {
    let statistics = Percentile::shown(Shown::Wide).count();
    let (before, after) = (",".repeat(statistics), ",".repeat(2 * (statistics + 1)));
    let (failed, counts) = (",".repeat(2 * (statistics + 1)), ",".repeat(others().count()));
    for (link, markers) in named(found) {
        let (stage_name, kind) = (quoted(&stage.name), quoted(&format!("replication {link}")));
        for point in &markers.over_time {
            let LagPoint { at_s, seconds, markers: seen, longest_us } = point;
            let _ = writeln!(
                out,
                "{stage_name},{at_s},{kind},{seen},{seen},0{before},{longest_us:.2}{after},{}\
                 {failed},{seconds},{result}{counts}",
                stage.verdict.name(),
            );
        }
    }
}

/// Whether the seconds of a stage have a count. Those of older records do not.
fn knows(stage: &StageRecord, count: Count) -> bool {
    let mut parts = stage.series.rows.iter().flat_map(|row| row.kinds.values());
    parts.any(|part| part.count(count) > 0) || count.sum(&stage.operations) == 0
}

/// A cell, quoted if it has to be.
pub(super) fn quoted(cell: &str) -> String {
    if cell.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

/// Percentiles in microseconds, empty if too few samples lie beyond; then the maximum, empty if
/// there are no samples.
fn write_times(out: &mut String, histogram: &Histogram) {
    for Percentile { percent, .. } in Percentile::shown(Shown::Wide) {
        out.push(',');
        if histogram.earns(percent) {
            let _ = write!(out, "{:.2}", histogram.percentile(percent) as f64 / 1e3);
        }
    }
    out.push(',');
    if !histogram.is_empty() {
        let _ = write!(out, "{:.2}", histogram.max() as f64 / 1e3);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fixture;

    #[test]
    fn the_header_stands_and_rows_follow_it() {
        let mut record = fixture::record(&[]);
        for operation in record.stages.iter_mut().flat_map(|it| &mut it.operations) {
            operation.bytes.received = 9;
        }
        for row in record.stages.iter_mut().flat_map(|it| &mut it.series.rows) {
            row.kinds.values_mut().for_each(|part| part.counts.extend([(Count::Sent, 4_096)]));
        }
        let csv = render(&record);
        let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
        assert_eq!(
            rows[0].join(","),
            "stage,second,kind,requests,ok,failed,\
             response_p50_us,response_p99_us,response_p99_9_us,response_max_us,\
             service_p50_us,service_p99_us,service_p99_9_us,service_max_us,\
             lag_p50_us,lag_p99_us,lag_p99_9_us,lag_max_us,verdict,\
             failed_response_p50_us,failed_response_p99_us,failed_response_p99_9_us,\
             failed_response_max_us,failed_service_p50_us,failed_service_p99_us,\
             failed_service_p99_9_us,failed_service_max_us,seconds,result,\
             accepted,resent,rows,sent_bytes,received_bytes,warned,outdated"
        );
        assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{csv}");
        let cell = |row: usize, name: &str| {
            let column = rows[0].iter().position(|head| *head == name);
            rows[row][column.unwrap_or_else(|| panic!("no column {name}"))]
        };
        assert_eq!(rows.len(), 1 + 1 + 1 + 4);
        let update = rows.iter().position(|row| row[0] == "crud" && row[2] == "update").unwrap();
        let counts = ["second", "requests", "ok", "failed"].map(|name| cell(update, name));
        assert_eq!(counts, ["0", "50", "47", "3"]);
        assert_eq!(cell(update, "response_max_us"), "47.04");
        assert_eq!(cell(update, "failed_response_max_us"), "50.05");
        assert_eq!(cell(update, "failed_service_p50_us"), "");
        assert_eq!((cell(update, "service_p99_us"), cell(update, "lag_max_us")), ("", "0.00"));
        // No second has what the stage received, as in older records.
        let counts = ["sent_bytes", "rows", "received_bytes"].map(|name| cell(update, name));
        assert_eq!(counts, ["4096", "0", ""]);
    }

    #[test]
    fn a_record_that_was_stored_renders_to_the_same_bytes() {
        let record = fixture::record(&["read.p99 > 1ms"]);
        let json = serde_json::to_string(&record).unwrap();
        let again = crate::report::read_json(&json).unwrap();
        for format in crate::report::FORMATS {
            let [one, two] =
                [&record, &again].map(|it| format.render(std::slice::from_ref(it), None));
            assert_eq!(one, two, "{}", format.name);
        }
    }
}
