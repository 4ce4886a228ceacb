//! What followers of the changes received, in a table.

use super::burst::Rows;
use super::number::grouped;
use super::visible::{named, times, with_times};
use crate::measure::FollowedBy;
use crate::record::StageRecord;

pub(super) const TITLE: &str = "changes followed";

/// The header and a row for each node; `None`: there were no followers.
pub(super) fn rows(stage: &StageRecord) -> Option<Rows> {
    let following = stage.following.as_ref()?;
    let heads = ["changes, ms", "followers", "came", "repeated", "missing", "resumed"];
    let mut rows = vec![with_times(heads)];
    rows.extend(following.by.iter().map(row));
    Some(rows)
}

fn row(by: &FollowedBy) -> Vec<String> {
    let missing = by.missing.map_or_else(|| "?".to_owned(), grouped);
    let counts = [by.followers, by.changes, by.repeated].map(grouped);
    let name = named("_changes", by.node.as_ref());
    let row = std::iter::once(name).chain(counts).chain([missing, grouped(by.resumed)]);
    row.chain(times(&by.lag)).collect()
}
