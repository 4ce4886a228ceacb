//! The nodes of a cluster in a stage: a row for each.

use super::number::length;
use super::number::{decimal, grouped, millis};
use super::table::align;
use crate::measure::{NodeSummary, Shown, Statistic, Unreachable};
use crate::record::StageRecord;
use std::fmt::Write as _;

/// A row of the table of nodes, and whether something was wrong with that node.
pub(super) type NodeRow = (bool, Vec<String>);

/// The nodes of a stage, below the names of the columns; `None`: there is only one node or none.
pub(super) fn rows(stage: &StageRecord) -> Option<Vec<NodeRow>> {
    let nodes = &stage.nodes;
    if nodes.is_empty() || stage.operations.is_empty() {
        return None;
    }
    let accepted = nodes.iter().any(|node| node.accepted > 0);
    let away = nodes.iter().any(|node| !node.unreachable.is_empty());
    let statistics = Statistic::shown(Shown::Always);
    let mut head = vec!["node", "connections", "ok/s", "failed"];
    head.extend(statistics.clone().map(Statistic::name));
    head.extend(accepted.then_some("202"));
    head.extend(away.then_some("gone"));
    let mut rows = vec![(false, head.into_iter().map(str::to_owned).collect())];
    rows.extend(nodes.iter().map(|node| {
        let time = |it: Statistic| it.of(&node.response).map_or_else(|| "-".to_owned(), millis);
        let per_s = node.throughput_per_s;
        let mut row = vec![
            host(&node.url).to_owned(),
            grouped(node.connections),
            decimal(per_s, usize::from(per_s < 10.0)),
            grouped(node.failed()),
        ];
        row.extend(statistics.clone().map(time));
        row.extend(accepted.then(|| grouped(node.accepted)));
        row.extend(away.then(|| gone(node, stage)));
        (node.failed() > 0 || !node.unreachable.is_empty(), row)
    }));
    Some(rows)
}

/// How long a node was gone, in words.
fn gone(node: &NodeSummary, stage: &StageRecord) -> String {
    if node.unreachable.is_empty() { "-".to_owned() } else { length(gone_s(node, stage)) }
}

/// How long it lasted within the stage, in seconds.
pub(super) fn lasted_s(it: &Unreachable, stage: &StageRecord) -> f64 {
    (it.to_s.unwrap_or(stage.elapsed_s) - it.from_s).max(0.0)
}

/// The address of a node without its scheme.
pub(super) fn host(url: &str) -> &str {
    url.split_once("://").map_or(url, |(_, host)| host)
}

/// How long a node was gone, in seconds.
pub(super) fn gone_s(node: &NodeSummary, stage: &StageRecord) -> f64 {
    node.unreachable.iter().map(|it| lasted_s(it, stage)).sum()
}

/// What happened to the connections of a node that was gone.
pub(super) fn words(node: &NodeSummary, it: &Unreachable, stage: &StageRecord) -> String {
    let mut words = caption(node, it, stage);
    if it.moved > 0 {
        let s = if it.moved == 1 { "" } else { "s" };
        let _ = write!(words, ": {} connection{s} moved", grouped(it.moved));
    }
    if it.returned > 0 {
        let _ = write!(words, ", {} came back", grouped(it.returned));
    }
    words
}

/// The same without what became of its connections.
pub(super) fn caption(node: &NodeSummary, it: &Unreachable, stage: &StageRecord) -> String {
    let host = host(&node.url);
    match it.to_s {
        Some(_) => format!("node {host} was gone for {}", length(lasted_s(it, stage))),
        None => format!("node {host} was gone until the end"),
    }
}

/// The section of the text report with all figures about the nodes of a stage.
pub(super) fn section(stage: &StageRecord, out: &mut String) {
    let Some(rows) = rows(stage) else { return };
    out.push('\n');
    let rows: Vec<Vec<String>> = rows.into_iter().map(|(_, row)| row).collect();
    out.push_str(&align(&rows));
    for node in stage.nodes.iter().filter(|node| node.away_s > 0.0) {
        let away = length(node.away_s);
        let _ = writeln!(
            out,
            "  {}: its connections spent {away} on other nodes, all of them together",
            host(&node.url)
        );
    }
}
