//! A comparison as text for people.

use super::{
    called, change, change_words, interval, interval_head, machine, notes, settings, value,
    verdict, which,
};
use crate::compare::{Comparison, Progress};
use crate::record::Standing;
use crate::report::number::decimal;
use crate::report::table::{align, wrapped};
use std::fmt::Write as _;

/// The comparison as text of 80 columns.
pub fn comparison_text(it: &Comparison) -> String {
    let mut out = String::new();
    for (letter, side) in [('A', &it.a), ('B', &it.b)] {
        let _ = writeln!(out, "{}  {}", called(letter, side), which(side));
    }
    for (what, sides) in settings(it) {
        wrapped(&mut out, &format!("differs: {what} {sides}"));
    }
    if let Some(machine) = machine(it) {
        wrapped(&mut out, &machine);
    }
    for note in notes(it) {
        wrapped(&mut out, &format!("note: {note}"));
    }
    out.push('\n');
    out.push_str(&align(&rows(it)));
    let rest: Vec<String> = it.gated().map(|of| format!("{} {}", of.kind, of.metric)).collect();
    if it.comparisons.iter().any(|of| !of.gated && of.is_known()) && !rest.is_empty() {
        out.push('\n');
        wrapped(&mut out, &format!("the verdict rests on {}", rest.join(", ")));
    }
    out.push('\n');
    wrapped(&mut out, &verdict_words(it));
    out
}

fn rows(it: &Comparison) -> Vec<Vec<String>> {
    let head = ["", "A", "B", "change", &interval_head(it), "verdict"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let mut kind = "";
    for of in it.comparisons.iter().filter(|it| it.is_known()) {
        if of.kind != kind {
            kind = &of.kind;
            rows.push(vec![kind.to_owned()]);
        }
        rows.push(vec![
            format!("  {}", of.metric),
            value(of.a, of),
            value(of.b, of),
            change(of),
            interval(of),
            verdict(of),
        ]);
    }
    rows
}

/// The progress of a comparison.
pub fn how_far(progress: &Progress) -> String {
    format!("after {} of {} pairs, no verdict yet", progress.pairs, progress.of)
}

/// [`how_far`], and the figures so far.
fn reading_words(it: &Comparison, progress: &Progress) -> String {
    let figures: Vec<String> = it.gated().take(3).map(change_words).collect();
    let figures = if figures.is_empty() { "nothing yet".to_owned() } else { figures.join(", ") };
    format!("{}: {figures}", how_far(progress))
}

/// The overall verdict in one sentence, after any reason it may be worthless.
pub fn verdict_words(it: &Comparison) -> String {
    format!("{}{}", doubt(it), figures_words(it))
}

/// The reason the figures may be worthless, as a prefix to the verdict.
pub fn doubt(it: &Comparison) -> &'static str {
    match it.data_wrong() {
        [true, true] => "data was wrong on both sides; ",
        [true, false] => "data was wrong in A; ",
        [false, true] => "data was wrong in B; ",
        [false, false] if !it.trustworthy() => "not trustworthy: ",
        [false, false] => "",
    }
}

fn figures_words(it: &Comparison) -> String {
    if let Some(progress) = &it.progress {
        return reading_words(it, progress);
    }
    let of = |wanted: Standing| {
        let such: Vec<String> =
            it.gated().filter(|it| it.verdict == wanted).map(change_words).collect();
        such.join(", ")
    };
    let delta = decimal(it.delta_percent, 1);
    let delta = delta.trim_end_matches(".0");
    let open = || {
        let open = it.gated().filter(|it| it.verdict == Standing::CannotTell);
        let names: Vec<String> = open.map(|it| format!("{} {}", it.kind, it.metric)).collect();
        names.join(", ")
    };
    match it.verdict {
        Standing::Worse => {
            let better = of(Standing::Better);
            let but = if better.is_empty() { String::new() } else { format!("; but {better}") };
            format!("B is worse: {}{but}", of(Standing::Worse))
        }
        Standing::Better => {
            let open = open();
            let rest = if open.is_empty() { String::new() } else { format!("; open: {open}") };
            format!("B is better: {}{rest}", of(Standing::Better))
        }
        Standing::Same => format!("B is the same: nothing differs by more than {delta} %"),
        Standing::CannotTell => {
            let cure = match it.more_runs() {
                _ if it.a.len() < 2 && it.b.len() < 2 => {
                    "measure each side four times or more, alternately: springload ab".to_owned()
                }
                Some(1) => "about one more run of each side would decide".to_owned(),
                Some(more) if more > 999 => "more than 999 more runs of each side".to_owned(),
                Some(more) => format!("about {more} more runs of each side would decide"),
                None => "some figures are missing".to_owned(),
            };
            let open = open();
            let open = if open.is_empty() { open } else { format!("{open} open; ") };
            format!("can't tell: {open}{cure}")
        }
    }
}
