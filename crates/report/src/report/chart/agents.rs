//! What each agent did over time, as a heat map: one row per agent.

use super::timeline::{Cuts, WIDTHS_S};
use super::view::{Part, View};
use super::{Chart, ChartAxis, ChartKind, Map, Scale, rounded};
use crate::report::words::capital;

/// The most rows; beyond that, several agents share one.
const MOST_ROWS: usize = 200;
/// The most cells: more would only make the page large.
const MOST_CELLS: usize = 30_000;
/// The most and the fewest columns.
const COLUMNS: (usize, usize) = (300, 20);

/// One map for each run with agents, unless only one kind of operation is shown: agents do not
/// report kinds separately.
pub(super) fn charts(view: &View<'_>) -> Vec<Chart> {
    let with_agents = view.parts.iter().filter(|part| !part.stage.agents.is_empty());
    with_agents.filter(|_| view.kind.is_none()).map(|part| chart(view, part)).collect()
}

fn chart(view: &View<'_>, part: &Part<'_>) -> Chart {
    let agents: Vec<usize> = part.agents.iter().map(|agent| agent.index).collect();
    let groups: Vec<&[usize]> = agents.chunks(agents.len().div_ceil(MOST_ROWS).max(1)).collect();
    let cuts = cuts(part.stage.elapsed_s, groups.len());
    let rates = groups.iter().map(|group| mean(part, group, cuts)).collect();
    let number = |group: &&[usize]| match group {
        [first, .., last] => format!("{first}–{last}"),
        one => one.iter().map(ToString::to_string).collect(),
    };
    let name = |group: &&[usize]| match group {
        [_, _, ..] => format!("agents {}, mean", number(group)),
        one => {
            let agent = part.agents.iter().find(|agent| one.contains(&agent.index));
            agent.map_or_else(String::new, |it| format!("agent {} on {}", it.index, it.host))
        }
    };
    let names = groups.iter().map(number).collect();
    let y = ChartAxis { names, ..ChartAxis::new("agent", Scale::Linear) };
    let edges = (0..cuts.count).map(|column| cuts.span(column).0);
    Chart {
        note: format!(
            "{} of each agent that succeeded, over time. A row in a different shade is an agent \
            that did more or less than the others; one that ends early was lost.",
            capital(part.nouns.many)
        ),
        map: Some(Map {
            unit: format!("{} per second", part.nouns.many),
            rates,
            edges: edges.chain([cuts.span(cuts.count - 1).1]).collect(),
            rows: groups.iter().map(name).collect(),
        }),
        ..Chart::new(ChartKind::Agents, view.name(part, "Agents"), ChartAxis::time(), y)
    }
}

/// The narrowest columns possible with this many rows.
fn cuts(end_s: f64, rows: usize) -> Cuts {
    let most = (MOST_CELLS / rows.max(1)).clamp(COLUMNS.1, COLUMNS.0) as f64;
    let end_s = end_s.max(1e-3);
    let width_s = WIDTHS_S.into_iter().find(|width| end_s / f64::from(*width) <= most);
    Cuts::new(end_s, width_s.unwrap_or((end_s / most) as u32 + 1))
}

/// The mean rate of these agents in each column; `None`: all of them were lost before it.
fn mean(part: &Part<'_>, group: &[usize], cuts: Cuts) -> Vec<Option<f64>> {
    let rates: Vec<Vec<Option<f64>>> =
        group.iter().map(|agent| rates(part, *agent, cuts)).collect();
    let column = |at: usize| {
        let known: Vec<f64> = rates.iter().filter_map(|rates| rates[at]).collect();
        (!known.is_empty()).then(|| rounded(known.iter().sum::<f64>() / known.len() as f64))
    };
    (0..cuts.count).map(column).collect()
}

/// What an agent did per second in each column; `None` after its loss.
fn rates(part: &Part<'_>, agent: usize, cuts: Cuts) -> Vec<Option<f64>> {
    let Some(agent) = part.stage.agent(agent) else { return vec![None; cuts.count] };
    let mut sums = vec![0.0; cuts.count];
    for row in &agent.series {
        let share = row.ok as f64 / f64::from(row.seconds.max(1));
        for second in row.second..row.second.saturating_add(row.seconds) {
            sums[cuts.of(second)] += share;
        }
    }
    let end_s = if agent.lost { agent.reported_s() } else { f64::INFINITY };
    let rate = |(at, sum): (usize, f64)| {
        let (from, to) = cuts.span(at);
        let length_s = to.min(end_s) - from;
        (length_s > 0.0).then(|| sum / length_s)
    };
    sums.into_iter().enumerate().map(rate).collect()
}
