//! Siege's twelve figures, with its labels, order, units and number formats; then what siege does
//! not report.
//!
//! The formats are those of siege 4.0.7. `docs/siege.md` says where the meaning of a figure
//! differs.

use super::detail::{threshold_block, times, trust, warnings};
use super::number::{decimal, grouped};
use super::table::align;
use super::{Format, Render};
use crate::measure::OperationSummary;
use crate::plan::StagePlan;
use crate::record::{RunRecord, StageRecord};
use std::collections::BTreeMap;
use std::fmt::Write as _;

pub(super) const FORMAT: Format = Format {
    name: "siege",
    summary: "siege's twelve figures, statuses and percentiles",
    endings: &[],
    render: Render::One(render),
};

pub(super) const JSON: Format = Format {
    name: "siege-json",
    summary: "siege's twelve figures as siege's JSON",
    endings: &[],
    render: Render::One(json),
};

/// Siege's megabyte.
const MEGABYTE: f64 = 1_048_576.0;

/// The first line of siege's log file.
pub const SIEGE_LOG_HEAD: &str = "      Date & Time,  Trans,  Elap Time,  Data Trans,  \
    Resp Time,  Trans Rate,  Throughput,  Concurrent,    OKAY,   Failed";

/// Siege's summary of a run. Times in seconds, data in megabytes.
#[derive(Debug, Default)]
struct SiegeFigures {
    transactions: u64,
    failed: u64,
    elapsed_s: f64,
    megabytes: f64,
    /// Completed requests, and the sum of their times.
    requests: u64,
    inside_s: f64,
    longest_s: f64,
    shortest_s: f64,
}

impl SiegeFigures {
    fn of<'a>(stages: impl IntoIterator<Item = &'a StageRecord>) -> Self {
        let mut sum = Self { shortest_s: f64::INFINITY, ..Self::default() };
        for stage in stages {
            sum.elapsed_s += stage.elapsed_s;
            stage.requests().for_each(|operation| sum.add(operation));
        }
        if sum.requests == 0 {
            sum.shortest_s = 0.0;
        }
        sum
    }

    fn add(&mut self, operation: &OperationSummary) {
        let good = operation.statuses.range(..400).map(|(_, count)| count).sum();
        let has_statuses = !operation.statuses.is_empty();
        let ended = operation.requests.saturating_sub(operation.failed());
        self.transactions += if has_statuses { good } else { ended };
        self.failed += operation.failed();
        self.megabytes += operation.bytes.received as f64 / MEGABYTE;
        // Siege counts the times of all requests, failed or not.
        let failed = operation.failed_latency().map(|failed| failed.response);
        for times in [Some(&operation.response), failed.as_ref()].into_iter().flatten() {
            self.requests += times.samples;
            self.inside_s += times.samples as f64 * times.mean_us / 1e6;
            if times.samples > 0 {
                self.longest_s = self.longest_s.max(times.max_us / 1e6);
                self.shortest_s = self.shortest_s.min(times.min_us / 1e6);
            }
        }
    }

    fn availability(&self) -> f64 {
        100.0 * ratio(self.transactions as f64, (self.transactions + self.failed) as f64)
    }

    fn response_s(&self) -> f64 {
        ratio(self.inside_s, self.requests as f64)
    }

    fn rate(&self) -> f64 {
        ratio(self.transactions as f64, self.elapsed_s)
    }

    fn throughput(&self) -> f64 {
        ratio(self.megabytes, self.elapsed_s)
    }

    fn concurrency(&self) -> f64 {
        ratio(self.inside_s, self.elapsed_s)
    }

    fn text(&self) -> String {
        format!(
            "\nTransactions:\t\t{:12} hits\n\
         Availability:\t\t{:12.2} %\n\
         Elapsed time:\t\t{:12.2} secs\n\
         Data transferred:\t{:12.2} MB\n\
         Response time:\t\t{:12.2} secs\n\
         Transaction rate:\t{:12.2} trans/sec\n\
         Throughput:\t\t{:12.2} MB/sec\n\
         Concurrency:\t\t{:12.2}\n\
         Successful transactions:{:12}\n\
         Failed transactions:\t{:12}\n\
         Longest transaction:\t{:12.2}\n\
         Shortest transaction:\t{:12.2}\n \n",
            self.transactions,
            self.availability(),
            self.elapsed_s,
            self.megabytes,
            self.response_s(),
            self.rate(),
            self.throughput(),
            self.concurrency(),
            self.transactions,
            self.failed,
            self.longest_s,
            self.shortest_s,
        )
    }

    /// Siege's `--json-output`, with its keys in its order. Times have microseconds.
    fn json(&self) -> String {
        format!(
            "{{\t\"transactions\":\t\t\t{:12},\n\
         \t\"availability\":\t\t\t{:12.2},\n\
         \t\"elapsed_time\":\t\t\t{:12.6},\n\
         \t\"data_transferred\":\t\t{:12.6},\n\
         \t\"response_time\":\t\t{:12.6},\n\
         \t\"transaction_rate\":\t\t{:12.2},\n\
         \t\"throughput\":\t\t\t{:12.6},\n\
         \t\"concurrency\":\t\t\t{:12.2},\n\
         \t\"successful_transactions\":\t{:12},\n\
         \t\"failed_transactions\":\t\t{:12},\n\
         \t\"longest_transaction\":\t\t{:12.6},\n\
         \t\"shortest_transaction\":\t\t{:12.6}\n}}\n",
            self.transactions,
            self.availability(),
            self.elapsed_s,
            self.megabytes,
            self.response_s(),
            self.rate(),
            self.throughput(),
            self.concurrency(),
            self.transactions,
            self.failed,
            self.longest_s,
            self.shortest_s,
        )
    }
}

/// One request and its outcome, for [`siege_figures`].
#[derive(Clone, Copy, Debug)]
pub struct SiegeHit {
    /// The status of its response; `None` if there was none.
    pub status: Option<u16>,
    /// From its start to the last byte, in nanoseconds.
    pub response_ns: u64,
    /// The size of the response's body, in bytes.
    pub bytes: u64,
}

/// The twelve figures of a few requests outside a run, as text or as siege's JSON.
pub fn siege_figures(hits: &[SiegeHit], elapsed_ns: u64, as_json: bool) -> String {
    let mut sum = SiegeFigures { elapsed_s: elapsed_ns as f64 / 1e9, ..SiegeFigures::default() };
    for (i, hit) in hits.iter().enumerate() {
        let good = hit.status.is_some_and(|status| status < 400);
        sum.transactions += u64::from(good);
        sum.failed += u64::from(!good);
        sum.megabytes += hit.bytes as f64 / MEGABYTE;
        let response_s = hit.response_ns as f64 / 1e9;
        sum.requests += 1;
        sum.inside_s += response_s;
        sum.longest_s = sum.longest_s.max(response_s);
        sum.shortest_s = if i == 0 { response_s } else { sum.shortest_s.min(response_s) };
    }
    if as_json { sum.json() } else { sum.text() }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn render(record: &RunRecord) -> String {
    let mut out = SiegeFigures::of(record.measured()).text();
    answers(record, &mut out);
    for (i, stage) in record.measured().enumerate() {
        out.push_str(if i > 0 { "\n" } else { "" });
        out.push_str(&align(&times(stage)));
        out.push('\n');
        load(record, stage, &mut out);
    }
    warnings(record, &mut out);
    threshold_block(record, &mut out);
    out.push('\n');
    trust(record, &mut out);
    out
}

/// The number of responses by status, and of failures without a response.
fn answers(record: &RunRecord, out: &mut String) {
    let (mut statuses, mut without) = (BTreeMap::new(), BTreeMap::new());
    for operation in record.measured().flat_map(StageRecord::requests) {
        for (&status, count) in &operation.statuses {
            *statuses.entry(status).or_insert(0) += count;
        }
        for (&class, count) in &operation.failures {
            if !class.answered() || operation.statuses.is_empty() {
                *without.entry(class).or_insert(0) += count;
            }
        }
    }
    let row = |name: String, count: &u64, kind: &str| vec![name, grouped(*count), kind.to_owned()];
    let mut rows = vec![vec!["status".to_owned(), "answers".to_owned()]];
    rows.extend(statuses.iter().map(|(status, count)| {
        row(status.to_string(), count, if *status < 400 { "" } else { "failed" })
    }));
    rows.extend(without.iter().map(|(class, count)| row(class.to_string(), count, "failed")));
    if rows.len() > 1 {
        out.push_str(&align(&rows));
        out.push('\n');
    }
}

/// Offered load, think time and the limit set by the server.
fn load(record: &RunRecord, stage: &StageRecord, out: &mut String) {
    let figures = SiegeFigures::of([stage]);
    let plan = record.plan_of(stage);
    let per_s = |rate: f64| format!("{}/s", decimal(rate, 2));
    let Some(think_s) = plan.and_then(StagePlan::mean_pause_ns).map(|ns| ns as f64 / 1e9) else {
        let rows = [
            ("offered", per_s(stage.load.offered_per_s)),
            ("served", per_s(stage.load.served_per_s)),
        ];
        out.push_str(&align(&rows.map(|(name, value)| vec![name.to_owned(), value])));
        return;
    };
    let users = record.plan.connections as f64;
    let (response_s, requests) = (figures.response_s(), figures.requests as f64);
    let served = stage.load.served_per_s;
    let between_s = ratio(users * stage.elapsed_s - figures.inside_s, requests).max(0.0);
    let seconds = |value: f64| format!("{} s", decimal(value, 4));
    let most = ratio(users, think_s + response_s);
    let mut rows = vec![
        ("users", grouped(record.plan.connections as u64)),
        ("think time, mean planned", seconds(think_s)),
        ("time between requests, mean measured", seconds(between_s)),
        ("response time, mean", seconds(response_s)),
        ("offered load: users / (think + response)", per_s(most)),
        ("served", per_s(served)),
        ("users waiting for the server, mean", decimal(figures.concurrency(), 2)),
    ];
    if think_s > 0.0 {
        let bound = per_s(ratio(users, response_s));
        rows.push(("server-bound, at most: users / response", bound));
    }
    let rows: Vec<_> = rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
    out.push_str(&align(&rows));
    let verdict = if think_s <= 0.0 {
        "no think time: the server or this client set the pace".to_owned()
    } else if think_s > response_s {
        format!(
            "think time set the pace, not the server: users waited for the server {:.1} % of their \
             time. To find the server's limit, run again with -b",
            100.0 * ratio(response_s, response_s + between_s)
        )
    } else {
        "the server set the pace more than think time; -b leaves think time out".to_owned()
    };
    let _ = writeln!(out, "  {verdict}");
}

fn json(record: &RunRecord) -> String {
    SiegeFigures::of(record.measured()).json()
}

/// The line of a run in siege's log file, below [`SIEGE_LOG_HEAD`].
pub fn siege_log_line(record: &RunRecord) -> String {
    let figures = SiegeFigures::of(record.measured());
    // 2026-11-21T05:20:03.123Z in siege's form, but in UTC.
    let time = record.started_at.get(..19).unwrap_or_default().replace('T', " ");
    format!(
        "{time},{:7},{:11.2},{:12.2},{:11.2},{:12.2},{:12.2},{:12.2},{:8},{:8}\n",
        figures.transactions,
        figures.elapsed_s,
        figures.megabytes,
        figures.response_s(),
        figures.rate(),
        figures.throughput(),
        figures.concurrency(),
        figures.transactions,
        figures.failed,
    )
}
