//! When the server was away, as readers are told: outages, and the silences that are part of them.

use super::{StageRecord, silence_ns};
use crate::measure::Span;

/// Times that are no further apart than this, in seconds, touch, and so do those that have no more
/// in common.
const CLOSE_S: f64 = 0.001;

/// A time in which the server was away: an outage together with the silences that touch it, and
/// with the outages that these touch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Away {
    /// From when on, and for how long.
    pub span: Span,
    /// Whether there was no answer; otherwise there were some, but nothing succeeded.
    pub silent: bool,
}

impl Away {
    /// What was missing.
    pub const fn what(&self) -> &'static str {
        if self.silent { "no answer" } else { "nothing succeeded" }
    }
}

impl StageRecord {
    /// When the server was away, in order. No two of these times overlap.
    pub fn away(&self) -> Vec<Away> {
        let mut spans: Vec<Span> = Vec::new();
        for outage in &self.outage.spans {
            let joined = self.silences.iter().filter(|it| self.is_part(it, outage));
            let span = joined.fold(*outage, |all, silence| union(all, *silence));
            match spans.last_mut() {
                // They share a silence.
                Some(last) if common_s(last, &span) > CLOSE_S => *last = union(*last, span),
                _ => spans.push(span),
            }
        }
        spans.into_iter().map(|span| Away { span, silent: self.is_silent(&span) }).collect()
    }

    /// How long the server was away in all, if its outages alone lasted `outages_s`; no less than
    /// what is told one by one, so that readers find the sum of the lines that they read.
    pub fn away_in_all_s(&self, outages_s: f64) -> f64 {
        let told_s: f64 = self.away().iter().map(|it| it.span.length_s).sum();
        let listed_s: f64 = self.outage.spans.iter().map(|it| it.length_s).sum();
        (outages_s + (told_s - listed_s).max(0.0)).max(told_s)
    }

    /// The silences that stand out and are no part of an outage.
    pub fn silences_apart(&self) -> impl Iterator<Item = &Span> {
        let usual_s = self.usual_silence_s();
        let apart =
            move |it: &&Span| !self.outage.spans.iter().any(|outage| self.is_part(it, outage));
        self.silences.iter().filter(move |it| it.length_s > usual_s).filter(apart)
    }

    /// Whether a silence is part of an outage. A server may answer just before an outage or after
    /// it as slowly as it always does, but what lasts half as long as the outage belongs to it:
    /// with it, all answers become slow.
    fn is_part(&self, silence: &Span, outage: &Span) -> bool {
        let is_long = || silence.length_s > self.usual_silence_s().min(outage.length_s / 2.0);
        let common_s = common_s(silence, outage);
        common_s > CLOSE_S || common_s >= -CLOSE_S && is_long()
    }

    /// Silences that are no longer than this, in seconds, are nothing unusual.
    fn usual_silence_s(&self) -> f64 {
        let connections = self.connections.ended_s.len();
        silence_ns(&self.merged().service.histogram, connections) as f64 / 1e9
    }

    /// Whether there was no answer for at least half of the time that the server was away.
    fn is_silent(&self, away: &Span) -> bool {
        let silent_s: f64 = self.silences.iter().map(|it| common_s(it, away).max(0.0)).sum();
        !self.outage.answered || silent_s >= away.length_s / 2.0
    }
}

/// How much of an outage lies before something was broken at `broken_s`, in seconds. The outage of
/// the break itself begins with the last success before it: of one that goes on, up to `harmless_s`
/// do not count.
pub(super) fn before_break_s(outage: &Span, broken_s: f64, harmless_s: f64) -> f64 {
    let before_s = (end_s(outage).min(broken_s) - outage.from_s).max(0.0);
    let goes_on = end_s(outage) >= broken_s;
    if goes_on && before_s <= harmless_s { 0.0 } else { before_s }
}

fn end_s(span: &Span) -> f64 {
    span.from_s + span.length_s
}

/// How long both last at the same time; negative: how far apart they are.
fn common_s(one: &Span, two: &Span) -> f64 {
    end_s(one).min(end_s(two)) - one.from_s.max(two.from_s)
}

/// From the beginning of the first to the end of the last.
fn union(one: Span, two: Span) -> Span {
    let from_s = one.from_s.min(two.from_s);
    let length_s = (end_s(&one).max(end_s(&two)) - from_s).max(one.length_s).max(two.length_s);
    Span { from_s, length_s }
}
