//! A burst second by second: the operations of all workers, and the average per worker.

use super::number::{decimal, grouped, millis};
use super::table::{Columns, align, in_ms};
use crate::measure::{Histogram, Merged, Statistic};
use crate::op::OpKind;
use crate::record::{RunRecord, StageRecord};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The most seconds to show in a table.
const MOST_SECONDS: usize = 60;

pub(super) type Rows = Vec<Vec<String>>;

/// One second of a burst.
#[derive(Clone, Debug, PartialEq)]
pub struct BurstSecond {
    /// The second, from 0.
    pub second: u32,
    /// Operations of all workers that succeeded in this second.
    pub sum: u64,
    /// The same per worker.
    pub average: f64,
    /// Operations that failed in this second.
    pub failed: u64,
    /// Not a whole second: the burst ended during it or before it.
    pub partial: bool,
    /// Percentiles of response times, in microseconds, without those of too few.
    pub times_us: BTreeMap<Statistic, f64>,
}

/// Whether a stage's figures include this kind. A worker that does not know what a failed write did
/// to its document reads it; in a burst of writes such reads do not count.
fn is_counted(stage: &StageRecord, kind: OpKind) -> bool {
    let writes = || stage.requests().any(|it| !it.kind.only_reads());
    kind.is_request() && !(stage.start.is_some() && kind.only_reads() && writes())
}

/// The requests that the figures of a stage are about, together.
pub(in crate::report) fn counted(stage: &StageRecord) -> Merged {
    Merged::of(stage.requests().filter(|it| is_counted(stage, it.kind)))
}

/// Every second of a burst, including those without operations.
pub fn burst_seconds(stage: &StageRecord, length_ns: Option<u64>) -> Vec<BurstSecond> {
    let workers = stage.start.map_or(0, |start| start.workers).max(1);
    let rows = &stage.series.rows;
    let last = rows.iter().map(|row| row.end() - 1).max();
    let length_s = length_ns.map_or(stage.elapsed_s, |ns| ns as f64 / 1e9);
    let whole_s = length_s.min(stage.elapsed_s).floor() as u32;
    let second = |second: u32| {
        let mut covering = rows.iter().filter(|row| (row.second..row.end()).contains(&second));
        let (mut sum, mut failed, mut response) = (0, 0, Histogram::default());
        if let Some(row) = covering.next() {
            // A row of several seconds is divided equally among them.
            let place = u64::from(second - row.second);
            let seconds = u64::from(row.seconds);
            let part = |all: u64| all * (place + 1) / seconds - all * place / seconds;
            for (_, kind) in row.kinds.iter().filter(|(kind, _)| is_counted(stage, **kind)) {
                sum += part(kind.ok);
                failed += part(kind.failed());
                response.merge(&kind.response.get());
            }
        }
        let times_us = Statistic::percentiles()
            .filter_map(|it| Some((it, it.of_histogram(&response)?)))
            .collect();
        let average = sum as f64 / workers as f64;
        let partial = second >= whole_s;
        BurstSecond { second, sum, average, failed, partial, times_us }
    };
    last.map_or_else(Vec::new, |last| (0..=last).map(second).collect())
}

/// The seconds of a stage, with its planned length.
fn planned(record: &RunRecord, stage: &StageRecord) -> Vec<BurstSecond> {
    let plan = record.plan_of(stage);
    burst_seconds(stage, plan.and_then(|plan| plan.length_ns))
}

/// The files of `couchdb_benchmark`: `interval_sec,num_actions`, one row per second from 0, counted
/// per worker or over all workers. The last row is a partial second.
pub fn burst_csv(seconds: &[BurstSecond], per_worker: bool) -> String {
    let mut out = "interval_sec,num_actions\n".to_owned();
    for second in seconds {
        let _ = if per_worker {
            // As Python prints a float: always with a fraction.
            writeln!(out, "{},{:?}", second.second, second.average)
        } else {
            writeln!(out, "{},{}", second.second, second.sum)
        };
    }
    out
}

/// What `couchdb_benchmark` prints at the end, followed by what it does not report.
pub fn burst_text(record: &RunRecord, actions: &str) -> String {
    let mut out = String::new();
    for stage in record.measured() {
        let seconds = planned(record, stage);
        out.push_str(&align(&table(&seconds)));
        let _ = writeln!(out, "Total {actions}: {}", seconds.iter().map(|it| it.sum).sum::<u64>());
        let statuses = stage.operations.iter().flat_map(|it| &it.statuses);
        for (status, count) in statuses {
            let what = if *status == 304 { ", not modified" } else { "" };
            let _ = writeln!(out, "status {status}{what}: {count}");
        }
        let _ = start_line(stage).map(|line| writeln!(out, "{line}"));
        super::agents::section(record, stage, &mut out);
    }
    for warning in &record.warnings {
        let _ = writeln!(out, "! {}", warning.message);
    }
    out
}

/// The section of the text report about bursts.
pub(super) fn section(record: &RunRecord, stage: &StageRecord, out: &mut String) {
    let Some((line, table)) = parts(record, stage) else { return };
    if let Some(table) = table {
        out.push('\n');
        out.push_str(&align(&table));
    }
    let _ = writeln!(out, "\n{line}");
}

/// How a burst started, and the table of its seconds unless there are too many.
pub(super) fn parts(record: &RunRecord, stage: &StageRecord) -> Option<(String, Option<Rows>)> {
    let line = start_line(stage).filter(|_| !stage.is_preparation())?;
    let seconds = planned(record, stage);
    Some((line, (seconds.len() <= MOST_SECONDS).then(|| table(&seconds))))
}

/// How the workers of a burst started; `None`: the stage is not a burst.
pub(super) fn start_line(stage: &StageRecord) -> Option<String> {
    let start = stage.start?;
    let late = if start.late == 0 {
        "none late".to_owned()
    } else {
        format!("{} did not connect in time", grouped(start.late))
    };
    Some(format!(
        "start: {} workers within {} ms; first requests {} ms (first), {} (p50), {} (p99), {} \
         (last) after the common start; {late}",
        grouped(start.workers),
        millis(start.spread_us()),
        millis(start.first_us),
        millis(start.p50_us),
        millis(start.p99_us),
        millis(start.last_us),
    ))
}

fn table(seconds: &[BurstSecond]) -> Rows {
    Columns::<'_, BurstSecond>::new()
        .and("second", |it| format!("{}{}", it.second, if it.partial { " (partial)" } else { "" }))
        .and("sum", |it| grouped(it.sum))
        .and("per worker", |it| decimal(it.average, 2))
        .and("failed", |it| grouped(it.failed))
        .each(Statistic::percentiles(), in_ms, |row, it| {
            row.times_us.get(&it).map_or_else(|| it.none().to_owned(), |us| millis(*us))
        })
        .table(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::StartRecord;
    use crate::record::fixture::{part, record, stage};

    fn burst() -> StageRecord {
        let parts = vec![
            (0, OpKind::Create, part(2, 0)),
            (0, OpKind::Update, part(40, 1)),
            (2, OpKind::Update, part(30, 0)),
        ];
        let start = StartRecord { workers: 2, last_us: 900.0, ..StartRecord::default() };
        StageRecord { start: Some(start), ..stage("burst_write", parts) }
    }

    #[test]
    fn seconds_that_were_joined_share_what_they_did() {
        let parts = vec![(0, OpKind::Update, part(40, 0)), (4, OpKind::Update, part(10, 0))];
        let mut stage = stage("burst_write", parts);
        stage.series.rows[0].seconds = 3;
        let sums = |of: fn(&BurstSecond) -> u64| -> Vec<u64> {
            burst_seconds(&stage, None).iter().map(of).collect()
        };
        assert_eq!(sums(|it| it.sum), [13, 13, 14, 0, 10]);
        assert_eq!(sums(|it| it.second.into()), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn every_second_has_its_row_and_one_that_is_not_whole_its_mark() {
        let seconds = burst_seconds(&burst(), Some(2_000_000_000));
        let rows: Vec<_> =
            seconds.iter().map(|it| (it.second, it.sum, it.failed, it.partial)).collect();
        assert_eq!(rows, [(0, 41, 1, false), (1, 0, 0, false), (2, 30, 0, true)]);
        let sums = "interval_sec,num_actions\n0,41\n1,0\n2,30\n";
        assert_eq!(burst_csv(&seconds, false), sums);
        assert_eq!(burst_csv(&seconds, true), "interval_sec,num_actions\n0,20.5\n1,0.0\n2,15.0\n");
    }

    /// With two reads after a failed write, which are in the record, but not among its writes.
    #[test]
    fn reads_count_only_where_a_burst_reads() {
        let read = |second| (second, OpKind::Read, part(2, 1));
        let [mut writes, mut reads] =
            [vec![(0, OpKind::Update, part(40, 1)), read(0)], vec![read(0)]]
                .map(|parts| stage("burst", parts));
        let figures = |stage: &StageRecord| {
            let seconds = burst_seconds(stage, None);
            let all = counted(stage);
            [seconds[0].sum, seconds[0].failed, all.ok, all.failed()]
        };
        assert_eq!(figures(&writes), [40, 2, 40, 2], "it is no burst");
        writes.start = burst().start;
        reads.start = burst().start;
        assert_eq!(figures(&writes), [39, 1, 39, 1]);
        assert_eq!(figures(&reads), [1, 1, 1, 1]);
    }

    #[test]
    fn the_spread_is_shown() {
        let mut out = String::new();
        section(&record(&[]), &burst(), &mut out);
        assert!(out.contains("2 (partial)") && out.contains("2 workers within 0.9"), "{out}");
        assert!(out.contains("none late"), "{out}");
    }
}
