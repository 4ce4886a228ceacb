//! The tables of what ran beside the load: probes, followers, and a compaction.

use super::burst::Rows;
use super::number::{bytes, decimal};
use super::table::align;
use super::{followed, visible};
use crate::record::StageRecord;
use std::fmt::Write as _;

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
pub(super) fn tables(stage: &StageRecord) -> impl Iterator<Item = (&'static str, Rows)> {
    let all = [
        (visible::TITLE, visible::rows(stage)),
        (followed::TITLE, followed::rows(stage)),
        ("compaction", compaction(stage)),
    ];
    all.into_iter().filter_map(|(title, rows)| Some((title, rows?)))
}

/// Writes these tables as text; nothing if there are none.
pub(super) fn section(stage: &StageRecord, out: &mut String) {
    for (title, rows) in tables(stage) {
        let _ = write!(out, "\n{title}\n{}", align(&rows));
    }
}
