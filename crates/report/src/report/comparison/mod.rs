//! Comparisons in each format.

mod beforehand;
mod junit;
mod markdown;
mod text;

pub use beforehand::beforehand_text;
pub use junit::comparison_junit;
pub use markdown::comparison_markdown;
pub use text::{comparison_text, verdict_words};
pub(super) use text::{doubt, how_far};

use super::number::decimal;
use super::threshold::number;
use crate::compare::{Compared, ComparedRun, Comparison, Progress};

/// The name of a side: the label that all of its runs share, or only its letter.
pub(super) fn called(letter: char, side: &[ComparedRun]) -> String {
    let label = side.first().and_then(|run| run.label.clone());
    match label.filter(|label| side.iter().all(|run| run.label.as_ref() == Some(label))) {
        Some(label) => format!("{letter} ({label})"),
        None => letter.to_string(),
    }
}

/// The number of runs, and the name of the only one or of the first and the last.
pub(super) fn which(side: &[ComparedRun]) -> String {
    match side {
        [] => "no run".to_owned(),
        [one] => format!("1 run: {}", one.name),
        [first, .., last] => format!("{} runs: {} to {}", side.len(), first.name, last.name),
    }
}

pub(super) fn value(it: Option<f64>, of: &Compared) -> String {
    it.map_or_else(|| "-".to_owned(), |it| number(it, of.unit))
}

/// A figure with its change and interval, such as `all p99 +5.3 % (+2.1 to +8.6)`.
fn change_words(of: &Compared) -> String {
    let interval = Some(interval(of)).filter(|it| it != "-");
    let interval = interval.map(|it| format!(" ({it})")).unwrap_or_default();
    format!("{} {} {}{interval}", of.kind, of.metric, change(of))
}

/// A change in percent, such as `+5.3 %`, or in percentage points.
pub(super) fn change(of: &Compared) -> String {
    match (of.points, of.ratio) {
        (Some(points), _) => format!("{} pt", signed(points.difference)),
        (None, Some(ratio)) => format!("{} %", signed((ratio - 1.0) * 100.0)),
        (None, None) => "-".to_owned(),
    }
}

/// The interval of the change; for one run each, the one within the runs, which the report points
/// out.
pub(super) fn interval(of: &Compared) -> String {
    let ratio = of.low.zip(of.high).or(of.within_low.zip(of.within_high));
    let ends = match of.points {
        Some(points) => points.low.zip(points.high),
        None => ratio.map(|(low, high)| ((low - 1.0) * 100.0, (high - 1.0) * 100.0)),
    };
    ends.map_or_else(
        || "-".to_owned(),
        |(low, high)| format!("{} to {}", signed(low), signed(high)),
    )
}

/// The heading of the intervals, such as `95 % interval`.
pub(super) fn interval_head(it: &Comparison) -> String {
    if it.is_within() {
        return "within the runs".to_owned();
    }
    let percent = decimal((1.0 - it.alarms) * 100.0, 1);
    let wider = it.comparisons.iter().any(|of| of.alarms.is_some_and(|own| own < it.alarms));
    let or_more = if wider { "≥ " } else { "" };
    format!("{or_more}{} % interval", percent.trim_end_matches(".0"))
}

/// The differences between the two sides, as `(what, A → B)`.
pub(super) fn settings(it: &Comparison) -> Vec<(String, String)> {
    let or_nothing = |text: &String| if text.is_empty() { "-".to_owned() } else { text.clone() };
    let row = |it: &crate::compare::Differs| {
        let none = it.a.is_empty() && it.b.is_empty();
        let sides = format!("{} → {}", or_nothing(&it.a), or_nothing(&it.b));
        (it.what.clone(), if none { String::new() } else { sides })
    };
    it.differs.iter().map(row).collect()
}

/// A number with a sign, and no more digits than necessary.
fn signed(value: f64) -> String {
    let size = value.abs();
    if size > 999.0 {
        return if value < 0.0 { "<−999" } else { ">+999" }.to_owned();
    }
    let text = decimal(size, usize::from(size < 10.0));
    let sign = match (text.chars().all(|c| "0.".contains(c)), value < 0.0) {
        (true, _) => "±",
        (false, true) => "−",
        (false, false) => "+",
    };
    format!("{sign}{text}")
}

/// The verdict on a figure, and how many more runs of each side would decide it.
pub(super) fn verdict(of: &Compared) -> String {
    let more = of.more_runs.map(|more| format!(", {}", runs(more)));
    format!("{}{}", of.verdict.words(), more.unwrap_or_default())
}

/// How the machine behaved without either side, if that was measured.
pub(super) fn machine(it: &Comparison) -> Option<String> {
    let control = it.control.as_ref()?;
    let varied = control.variation_percent.map(|it| format!(" ± {} %", decimal(it, 1)));
    let drifted = control.drift_percent.map(|it| format!(", drifted by {} %", signed(it)));
    Some(format!(
        "the machine itself: null responder {}/s{}{}",
        decimal(control.rate_per_s, 0),
        varied.unwrap_or_default(),
        drifted.unwrap_or_default()
    ))
}

/// What to know before reading the figures, and why some are missing.
pub(super) fn notes(it: &Comparison) -> Vec<String> {
    let missing = |known: bool| {
        let such = it.comparisons.iter().filter(move |of| of.is_known() == known);
        such.filter_map(|of| Some((format!("{} {}", of.kind, of.metric), of.problem.clone()?)))
    };
    let some = missing(true).map(|(name, why)| format!("{name} cannot be compared: {why}"));
    let none = left_out(missing(false));
    let early = it.progress.as_ref().map(early);
    early.into_iter().chain(it.notes.iter().cloned()).chain(some).chain(none).collect()
}

/// A line for each reason to leave figures out, with their names.
fn left_out(missing: impl Iterator<Item = (String, String)>) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for (name, why) in missing {
        match reasons.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, names)) => names.push(name),
            None => reasons.push((why, vec![name])),
        }
    }
    let line =
        |(why, names): &(String, Vec<String>)| format!("left out, {why}: {}", names.join(", "));
    reasons.iter().map(line).collect()
}

/// What to know about an interim reading.
fn early(progress: &Progress) -> String {
    let ended = if progress.ended {
        "the comparison was ended early; the same command with -o and this folder continues it"
    } else {
        "this was written while the comparison was under way; it is updated after each pair"
    };
    let (last, first) = progress.looks.split_last().map_or((0, &[][..]), |(last, it)| (*last, it));
    let first: Vec<String> = first.iter().map(u64::to_string).collect();
    let looks = if first.is_empty() { String::new() } else { format!("{} or ", first.join(", ")) };
    format!(
        "{ended}. There may be a verdict after {looks}{last} pairs, not before: these intervals \
         are for a single look, and looking after every pair finds differences where there are none"
    )
}

fn runs(more: u64) -> String {
    if more > 999 { ">+999".to_owned() } else { format!("+{more}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_left_out_each_for_its_own_reason() {
        let of = |missing: &[[&str; 2]]| {
            left_out(missing.iter().map(|[name, why]| ((*name).to_owned(), (*why).to_owned())))
        };
        let missing = [
            ["create throughput", "too short"],
            ["read p99", "too few"],
            ["all throughput", "too short"],
        ];
        let expected = [
            "left out, too short: create throughput, all throughput",
            "left out, too few: read p99",
        ];
        assert_eq!(of(&missing), expected);
        assert_eq!(of(&[]), [""; 0]);
    }
}
