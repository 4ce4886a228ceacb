//! Events as bands of time: silences and outages of the server, pauses of springload itself, and
//! losses of agents.

use super::view::{Part, View};
use super::{Band, What};
use crate::record::agent_numbers;
use crate::report::drill::broken;
use crate::report::story::EventKind;
use std::collections::BTreeMap;

/// The bands of a chart over time, if it shows a single run. Where the lines of several runs
/// overlap, a band would seem to apply to all of them; their events are described in words.
pub(super) fn of(view: &View<'_>) -> Vec<Band> {
    match &view.parts[..] {
        [part] if !view.overlay => of_part(part),
        _ => Vec::new(),
    }
}

pub(super) fn of_part(part: &Part<'_>) -> Vec<Band> {
    let mut bands = Vec::new();
    for event in &part.events {
        let what = match event.kind {
            EventKind::Outage => What::Outage,
            EventKind::Silence => What::Silence,
            EventKind::Pause => What::Pause,
            EventKind::NodeGone | EventKind::NodeSilence => What::Lost,
            // The other charts show failures and the backlog; losses are handled below.
            EventKind::Failures | EventKind::Behind | EventKind::AgentsLost => continue,
        };
        bands.push(Band {
            from_s: event.at_s,
            to_s: event.at_s + event.length_s.unwrap_or(0.0),
            what,
            text: event.caption.clone(),
        });
    }
    bands.extend(part.busy.iter().map(|it| Band {
        from_s: it.from_s,
        to_s: it.to_s,
        what: What::Busy,
        text: it.words.clone(),
    }));
    bands.extend(broken(part.stage).map(|(text, from_s, to_s)| {
        let what = What::Broken;
        Band { from_s, to_s, what, text }
    }));
    bands.sort_by(|one, two| one.from_s.total_cmp(&two.from_s));
    bands.extend(losses(part));
    bands
}

/// From the time agents were last heard from until they counted as lost; losses in the same second
/// are combined.
fn losses(part: &Part<'_>) -> Vec<Band> {
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
        let text = format!("agent{s} {} lost", agent_numbers(&agents));
        let from_s = f64::from(from_s);
        let to_s = to_s.clamp(from_s, part.stage.elapsed_s.max(from_s));
        Band { from_s, to_s, what: What::Lost, text }
    };
    losses.into_iter().map(band).collect()
}
