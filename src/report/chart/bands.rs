//! Outages of the server, pauses of springload itself, and losses of agents.

use super::view::{Part, View};
use super::{Band, What};
use crate::measure::Span;
use crate::record::agent_numbers;
use crate::report::number::decimal;
use std::collections::BTreeMap;

/// The shortest pause to show, in seconds: a shorter one is no wider than a line.
const LEAST_PAUSE_S: f64 = 0.05;

/// The bands of all runs of a view.
pub(super) fn of(view: &View<'_>) -> Vec<Band> {
    view.parts.iter().flat_map(|part| of_part(view, part)).collect()
}

fn of_part(view: &View<'_>, part: &Part<'_>) -> Vec<Band> {
    let band = |span: &Span, what, words: &str| Band {
        from_s: span.from_s,
        to_s: span.from_s + span.length_s,
        what,
        text: format!("{} {} s", view.name(part, words), decimal(span.length_s, 1)),
    };
    let outage = &part.stage.outage;
    let words = if outage.answered { "nothing succeeded for" } else { "no answer for" };
    let mut bands: Vec<Band> =
        outage.spans.iter().map(|span| band(span, What::Outage, words)).collect();
    let pauses = part.stage.client.pauses.iter().filter(|span| span.length_s >= LEAST_PAUSE_S);
    bands.extend(pauses.map(|span| band(span, What::Pause, "springload paused for")));
    bands.extend(losses(view, part));
    bands
}

/// From when agents were last heard until they were known to be lost, those of one second together.
fn losses(view: &View<'_>, part: &Part<'_>) -> Vec<Band> {
    let mut losses: BTreeMap<u32, (f64, Vec<usize>)> = BTreeMap::new();
    for agent in part.agents {
        let Some(lost) = &agent.lost else { continue };
        let Some(done) = part.stage.agent(agent.index).filter(|it| it.lost) else { continue };
        let loss = losses.entry(done.reported_s() as u32).or_default();
        loss.0 = loss.0.max(lost.at_s - part.stage.began_s);
        loss.1.push(agent.index);
    }
    let band = |(from_s, (to_s, agents)): (u32, (f64, Vec<usize>))| {
        let s = if agents.len() == 1 { "" } else { "s" };
        let words = format!("agent{s} {} lost", agent_numbers(&agents));
        let from_s = f64::from(from_s);
        let to_s = to_s.clamp(from_s, part.stage.elapsed_s.max(from_s));
        Band { from_s, to_s, what: What::Lost, text: view.name(part, &words) }
    };
    losses.into_iter().map(band).collect()
}
