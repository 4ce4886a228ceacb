//! How long acknowledged writes took to become visible, in a table.

use super::burst::Rows;
use super::followed;
use super::headline::share_words;
use super::number::{bytes, decimal, grouped, millis};
use super::table::align;
use crate::measure::{Latency, Shown, Statistic, VisibleBy};
use crate::record::StageRecord;
use std::fmt::Write as _;

/// The title of the table.
pub(super) const TITLE: &str = "visible after an acknowledged write";

/// The header and a row for each way; `None`: there were no probes.
pub(super) fn rows(stage: &StageRecord) -> Option<Rows> {
    let visibility = stage.visibility.as_ref()?;
    let heads = ["visible after, ms", "probes", "stale first", "unseen"];
    let mut rows = vec![with_times(heads)];
    rows.extend(visibility.by.iter().map(row));
    Some(rows)
}

fn row(by: &VisibleBy) -> Vec<String> {
    let stale = match by.stale_share() {
        None => "-".to_owned(),
        Some(0.0) => "none".to_owned(),
        Some(share) => share_words(share),
    };
    let counts = [grouped(by.probes), stale, grouped(by.unseen)];
    let name = named(by.way.name(), by.node.as_ref());
    std::iter::once(name).chain(counts).chain(times(&by.time)).collect()
}

/// What was asked, and at which node.
pub(super) fn named(what: &str, node: Option<&String>) -> String {
    node.map_or_else(|| what.to_owned(), |node| format!("{what} at {node}"))
}

/// These column names, followed by those of [`times`].
pub(super) fn with_times<const N: usize>(heads: [&'static str; N]) -> Vec<String> {
    let times = Statistic::shown(Shown::Always).map(Statistic::name);
    heads.into_iter().chain(times).map(str::to_owned).collect()
}

/// The statistics that every table has.
pub(super) fn times(times: &Latency) -> impl Iterator<Item = String> {
    let none = if times.samples == 0 { "-" } else { "too few" };
    let cell = move |it: Statistic| it.of(times).map_or_else(|| none.to_owned(), millis);
    Statistic::shown(Shown::Always).map(cell)
}

/// The compaction that the run requested; `None`: it requested none, or the server refused.
fn compaction(stage: &StageRecord) -> Option<Rows> {
    let found = stage.compaction.as_ref().filter(|it| it.refused.is_none())?;
    let heads = ["compaction", "began, s", "took, s", "before", "after"];
    let size = |size: Option<u64>| size.map_or_else(|| "-".to_owned(), bytes);
    let ended = if found.ended { "ended" } else { "not ended" };
    let times = [found.began_s, found.length_s].map(|seconds| decimal(seconds, 1));
    let sizes = [found.before_bytes, found.after_bytes].map(size);
    let row = std::iter::once(ended.to_owned()).chain(times).chain(sizes);
    Some(vec![heads.map(str::to_owned).to_vec(), row.collect()])
}

/// The tables of what ran beside the load, with their titles.
pub(super) fn beside(stage: &StageRecord) -> impl Iterator<Item = (&'static str, Rows)> {
    let all = [
        (TITLE, rows(stage)),
        (followed::TITLE, followed::rows(stage)),
        ("compaction", compaction(stage)),
    ];
    all.into_iter().filter_map(|(title, rows)| Some((title, rows?)))
}

/// Writes these tables as text; nothing if there are none.
pub(super) fn section(stage: &StageRecord, out: &mut String) {
    for (title, rows) in beside(stage) {
        let _ = write!(out, "\n{title}\n{}", align(&rows));
    }
}
