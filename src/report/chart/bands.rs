//! Outages of the server, and pauses of springload itself.

use super::view::{Part, View};
use super::{Band, What};
use crate::measure::Span;
use crate::report::number::decimal;

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
    bands
}
