//! How long acknowledged writes took to be visible, in a table.

use super::burst::Rows;
use super::headline::share_words;
use super::number::{grouped, millis};
use super::table::align;
use crate::measure::VisibleBy;
use crate::record::StageRecord;
use std::fmt::Write as _;

/// What the table is about.
pub(super) const TITLE: &str = "visible after an acknowledged write";

/// The heads and a row for each way; `None`: there were no probes.
pub(super) fn rows(stage: &StageRecord) -> Option<Rows> {
    let visibility = stage.visibility.as_ref()?;
    let heads = ["visible after, ms", "probes", "stale first", "unseen", "p50", "p99", "max"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    rows.extend(visibility.by.iter().map(row));
    Some(rows)
}

fn row(by: &VisibleBy) -> Vec<String> {
    let times = &by.time;
    let time = |us: Option<f64>| match us {
        _ if times.samples == 0 => "-".to_owned(),
        None => "too few".to_owned(),
        Some(us) => millis(us),
    };
    let stale = match by.stale_share() {
        None => "-".to_owned(),
        Some(0.0) => "none".to_owned(),
        Some(share) => share_words(share),
    };
    let counts = [grouped(by.probes), stale, grouped(by.unseen)];
    let times = [time(times.p50_us), time(times.p99_us), time(Some(times.max_us))];
    let name = match &by.node {
        Some(node) => format!("{} at {node}", by.way),
        None => by.way.to_string(),
    };
    std::iter::once(name).chain(counts).chain(times).collect()
}

/// The table in text; nothing without probes.
pub(super) fn section(stage: &StageRecord, out: &mut String) {
    if let Some(rows) = rows(stage) {
        let _ = write!(out, "\n{TITLE}\n{}", align(&rows));
    }
}
