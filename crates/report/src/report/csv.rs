//! The per-second series as comma-separated values (RFC 4180).

use super::replicated::named;
use super::{Format, Render};
use crate::measure::{
    Count, Histogram, Kept, KindInterval, LagPoint, Replication, Shown, Statistic,
};
use crate::record::{RunRecord, StageRecord};
use std::fmt::Write as _;

pub(super) const FORMAT: Format = Format {
    name: "csv",
    summary: "the per-second series, one row per second and kind",
    endings: &["csv"],
    render: Render::One(render),
};

/// The statistics whose columns are in the middle. The columns of the others come last, as the
/// order of columns does not change.
const FIRST: [Statistic; 4] = [Statistic::P50, Statistic::P99, Statistic::P99_9, Statistic::Max];

fn later() -> Vec<Statistic> {
    Statistic::shown(Shown::Wide).filter(|it| !FIRST.contains(it)).collect()
}

/// A statistic in the name of a column.
pub(super) fn key(it: Statistic) -> String {
    it.name().replace('.', "_")
}

/// The names of the columns of these times.
fn names(times: &[&str], of: &[Statistic]) -> Vec<String> {
    let name = |time: &str, it: &Statistic| format!("{time}_{}_us", key(*it));
    times.iter().flat_map(|time| of.iter().map(move |it| name(time, it))).collect()
}

fn header() -> String {
    let (times, failed) = (["response", "service", "lag"], ["failed_response", "failed_service"]);
    let first = ["stage", "second", "kind", "requests", "ok", "failed"].map(str::to_owned);
    let columns = [
        first.to_vec(),
        names(&times, &FIRST),
        vec!["verdict".to_owned()],
        names(&failed, &FIRST),
        vec!["seconds".to_owned(), "result".to_owned()],
        others().map(|it| it.name().to_owned()).collect(),
        names(&[&times[..], &failed].concat(), &later()),
    ];
    columns.concat().join(",")
}

/// The counts of a second except the three that come first.
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
                let times = [&part.response, &part.service, &part.lag].map(Kept::get);
                write_times(&mut out, &times, &FIRST);
                let _ = write!(out, ",{}", stage.verdict.name());
                let failed = part.failed_latency();
                let failed = [failed.response, failed.service];
                write_times(&mut out, &failed, &FIRST);
                let _ = write!(out, ",{},{}", row.seconds, result.words());
                for count in others() {
                    out.push(',');
                    if knows(stage, count) {
                        let _ = write!(out, "{}", part.count(count));
                    }
                }
                write_times(&mut out, &times, &later());
                write_times(&mut out, &failed, &later());
                out.push('\n');
            }
        }
        if stage.is_replicated() {
            record
                .replication
                .iter()
                .for_each(|it| write_lags(stage, it, result.words(), &mut out));
        }
    }
    out
}

/// Writes the longest lag of each second: the number of markers seen, and the longest time in the
/// column of response times; all other cells are empty.
fn write_lags(stage: &StageRecord, found: &Replication, result: &str, out: &mut String) {
    let [before, after] = [FIRST.len() - 1, 2 * FIRST.len()].map(|count| ",".repeat(count));
    let counts = ",".repeat(others().count() + 5 * later().len());
    for (link, markers) in named(found) {
        let (stage_name, kind) = (quoted(&stage.name), quoted(&format!("replication {link}")));
        for point in &markers.over_time {
            let LagPoint { at_s, seconds, markers: seen, longest_us } = point;
            let _ = writeln!(
                out,
                "{stage_name},{at_s},{kind},{seen},{seen},0{before},{longest_us:.2}{after},{}\
                 {after},{seconds},{result}{counts}",
                stage.verdict.name(),
            );
        }
    }
}

/// Whether the seconds of a stage have a count. Those of older records may not.
fn knows(stage: &StageRecord, count: Count) -> bool {
    let mut parts = stage.series.rows.iter().flat_map(|row| row.kinds.values());
    parts.any(|part| part.count(count) > 0) || count.sum(&stage.operations) == 0
}

/// A cell, quoted if necessary.
pub(super) fn quoted(cell: &str) -> String {
    if cell.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

/// Rows of cells, each quoted already.
pub(super) fn separated(rows: &[Vec<String>]) -> String {
    rows.iter().map(|row| row.join(",") + "\n").collect()
}

/// Writes these statistics of each histogram in microseconds, empty if there are too few samples.
fn write_times(out: &mut String, times: &[Histogram], of: &[Statistic]) {
    for histogram in times {
        for it in of {
            out.push(',');
            if let Some(us) = it.of_histogram(histogram) {
                let _ = write!(out, "{us:.2}");
            }
        }
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
             accepted,resent,rows,sent_bytes,received_bytes,warned,outdated,from_cache,retry_after"
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
