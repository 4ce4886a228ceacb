//! The per-second series as comma-separated values (RFC 4180; no cell needs quotes).

use super::Format;
use crate::measure::Histogram;
use crate::record::RunRecord;
use std::fmt::Write as _;

pub(super) const FORMAT: Format =
    Format { name: "csv", summary: "the per-second series, one row per second and kind", render };

const HEADER: &str = "stage,second,kind,requests,ok,failed,\
    response_p50_us,response_p99_us,response_p99_9_us,response_max_us,\
    service_p50_us,service_p99_us,service_p99_9_us,service_max_us,\
    lag_p50_us,lag_p99_us,lag_p99_9_us,lag_max_us";

fn render(record: &RunRecord) -> String {
    let mut out = format!("{HEADER}\n");
    for stage in &record.stages {
        for row in &stage.series.rows {
            for (kind, part) in &row.kinds {
                let (requests, ok, failed) = (part.requests, part.ok, part.failed());
                let _ =
                    write!(out, "{},{},{kind},{requests},{ok},{failed}", stage.name, row.second);
                for histogram in [&part.response, &part.service, &part.lag] {
                    write_times(&mut out, histogram);
                }
                out.push('\n');
            }
        }
    }
    out
}

/// Percentiles in microseconds; empty where too few samples lie beyond.
fn write_times(out: &mut String, histogram: &Histogram) {
    for percentile in [50.0, 99.0, 99.9] {
        out.push(',');
        if histogram.earns(percentile) {
            let _ = write!(out, "{:.2}", histogram.percentile(percentile) as f64 / 1e3);
        }
    }
    let _ = write!(out, ",{:.2}", histogram.max() as f64 / 1e3);
}
