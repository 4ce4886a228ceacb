//! How long acknowledged writes took to become visible, in a table.

use super::burst::Rows;
use super::headline::share_words;
use super::number::{grouped, millis};
use crate::measure::{Latency, Shown, Statistic, VisibleBy};
use crate::record::StageRecord;

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
