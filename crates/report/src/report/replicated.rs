//! Replication in tables: the load without and with it, how far targets lagged behind, and what
//! they had in the end.

use super::burst::Rows;
use super::number::{decimal, grouped, length, millis};
use super::table::align;
use super::visible::{times, with_times};
use crate::measure::{Comparison, Latency, LinkEnd, Markers, Replication, ReplicationLink};
use crate::record::{RunRecord, link_name, place_name};
use std::fmt::Write as _;

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The most columns of a curve.
const MOST_COLUMNS: usize = 60;

/// The replication of a run in a few words: which database replicates to which, and when it was
/// running.
pub(super) fn facts(record: &RunRecord) -> Vec<String> {
    let (Some(plan), Some(found)) = (&record.plan.replication, &record.replication) else {
        return Vec::new();
    };
    let how = if plan.push { "pushed by the source" } else { "pulled by the target" };
    let mut facts = vec![format!("replication {}", plan.topology.name()), how.to_owned()];
    if let Some(running_s) = found.running_s {
        facts.push(format!("running after {}", length(running_s)));
    }
    facts
}

/// The tables of a run, each with its header; empty if there was no replication.
pub(super) fn tables(record: &RunRecord) -> Vec<Rows> {
    let Some(found) = &record.replication else { return Vec::new() };
    let sides = sides(record);
    [lags(found), arrivals(found)].into_iter().chain(sides).collect()
}

/// The markers of each link, and of the path along a chain, by name.
pub(super) fn named(found: &Replication) -> Vec<(String, &Markers)> {
    let links = found.links.iter().map(|link| (link_name(found, link), &link.markers));
    let chain = found.end_to_end.iter().map(|it| {
        let name = |place| place_name(found, place);
        let words = format!("{} → … → {}", name(it.source), name(it.target));
        (words, &it.markers)
    });
    links.chain(chain).collect()
}

fn lags(found: &Replication) -> Rows {
    let row = |(name, markers): (String, &Markers)| {
        let counts = [grouped(markers.written), grouped(markers.unseen)];
        std::iter::once(name).chain(counts).chain(times(&markers.lag)).collect()
    };
    let heads = std::iter::once(with_times(["lag of replication, ms", "markers", "unseen"]));
    heads.chain(named(found).into_iter().map(row)).collect()
}

/// When each target had caught up, and what it had in the end.
fn arrivals(found: &Replication) -> Rows {
    let heads = ["everything there", "before the load", "after it", "compared"];
    let row = |link: &ReplicationLink| {
        let filled = match link.filled_s {
            Some(s) => format!("{} in {}", grouped(link.filled_documents), length(s)),
            None => "-".to_owned(),
        };
        let converged = match (link.end, link.converged_s) {
            (LinkEnd::Converged, Some(s)) => length(s),
            (LinkEnd::Behind, _) => "incomplete".to_owned(),
            (LinkEnd::Lost, _) => "never".to_owned(),
            (LinkEnd::Gone, _) => "no answer".to_owned(),
            _ => "-".to_owned(),
        };
        let compared = link.comparison.as_ref().map_or_else(|| "-".to_owned(), compared);
        vec![link_name(found, link), filled, converged, compared]
    };
    let heads = std::iter::once(heads.map(str::to_owned).to_vec());
    heads.chain(found.links.iter().map(row)).collect()
}

/// What a comparison found.
fn compared(found: &Comparison) -> String {
    let documents = grouped(found.documents);
    let overruled = match found.overruled {
        0 => String::new(),
        count => format!(", {} overruled", grouped(count)),
    };
    match found.wrong() {
        0 => format!("{documents}, all right{overruled}"),
        wrong => format!("{documents}, {} wrong{overruled}", grouped(wrong)),
    }
}

/// The response times without and with replication, and the ratio of the latter to the former.
fn sides(record: &RunRecord) -> Option<Rows> {
    let (without, with) = record.replicated_pair()?;
    let heads = [
        "response, ms",
        "p50 without",
        "with",
        "ratio",
        "p99 without",
        "with",
        "ratio",
        "ok/s without",
        "ok/s with",
    ];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    let (one, two) = (without.merged(), with.merged());
    let mut add = |name: &str, times: [&Latency; 2], rates: [f64; 2]| {
        let mut row = vec![name.to_owned()];
        row.extend(pair(times.map(|it| it.p50_us)));
        row.extend(pair(times.map(|it| it.p99_us)));
        row.extend(rates.map(|rate| decimal(rate, usize::from(rate < 100.0))));
        rows.push(row);
    };
    if without.requests().count() > 1 {
        let rates = [one.throughput_per_s, two.throughput_per_s];
        add("all", [&one.response, &two.response], rates);
    }
    for before in without.requests() {
        let Some(after) = with.requests().find(|it| it.kind == before.kind) else { continue };
        let rates = [before.throughput_per_s, after.throughput_per_s];
        add(before.kind.name(), [&before.response, &after.response], rates);
    }
    Some(rows)
}

/// Two times in milliseconds, and their ratio.
fn pair(us: [Option<f64>; 2]) -> [String; 3] {
    let words = |us: Option<f64>| us.map_or_else(|| "too few".to_owned(), millis);
    let ratio = match us {
        [Some(one), Some(two)] if one > 0.0 => format!("× {}", decimal(two / one, 2)),
        _ => "-".to_owned(),
    };
    [words(us[0]), words(us[1]), ratio]
}

/// The longest lag over time as a curve of blocks, with its scale; `None`: there is none.
fn curve(markers: &Markers) -> Option<(String, String)> {
    let points = &markers.over_time;
    let each = points.len().div_ceil(MOST_COLUMNS).max(1);
    let longest = |part: &[crate::measure::LagPoint]| {
        part.iter().map(|point| point.longest_us).filter(|us| us.is_finite()).fold(0.0, f64::max)
    };
    let columns: Vec<f64> = points.chunks(each).map(longest).collect();
    let most = columns.iter().copied().fold(0.0, f64::max);
    if columns.len() < 2 || most <= 0.0 {
        return None;
    }
    let block = |us: &f64| BLOCKS[((us / most * 8.0) as usize).min(7)];
    let curve = columns.iter().map(block).collect();
    Some((curve, format!("max {} ms", millis(most))))
}

/// Writes all of this as text; nothing if there was no replication.
pub(super) fn section(record: &RunRecord, out: &mut String) {
    let Some(found) = &record.replication else { return };
    let _ = writeln!(out, "{}", facts(record).join(" · "));
    for rows in tables(record) {
        let _ = write!(out, "\n{}", align(&rows));
    }
    let curves = named(found).into_iter().filter_map(|(name, markers)| {
        let (curve, scale) = curve(markers)?;
        Some(format!("  lag {name}  {curve}  {scale}\n"))
    });
    let curves: String = curves.collect();
    if !curves.is_empty() {
        let _ = write!(out, "\n{curves}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_excused_is_counted_beside_the_result() {
        for (different, overruled, words) in [
            (0, 0, "1,942, all right"),
            (0, 5, "1,942, all right, 5 overruled"),
            (3, 0, "1,942, 3 wrong"),
            (3, 5, "1,942, 3 wrong, 5 overruled"),
        ] {
            let found =
                Comparison { documents: 1_942, different, overruled, ..Comparison::default() };
            assert_eq!(compared(&found), words);
        }
    }
}
