//! A comparison as Markdown, for a comment on a pull request.

use super::text::verdict_words;
use super::{
    called, change, interval, interval_head, machine, notes, settings, value, verdict, which,
};
use crate::compare::Comparison;
use crate::record::Standing;
use std::fmt::Write as _;

/// The comparison as Markdown for GitHub.
pub fn comparison_markdown(it: &Comparison) -> String {
    let mark = match it.verdict {
        _ if it.data_wrong().contains(&true) => "🔴",
        _ if !it.trustworthy() => "🟡",
        Standing::Better => "🟢",
        Standing::Worse => "🔴",
        Standing::Same => "⚪",
        Standing::CannotTell => "🟡",
    };
    let mut out = format!("### {mark} {}\n\n", escaped(&verdict_words(it)));
    for (letter, side) in [('A', &it.a), ('B', &it.b)] {
        let _ = writeln!(out, "- {}: {}", escaped(&called(letter, side)), escaped(&which(side)));
    }
    for (what, sides) in settings(it) {
        let _ = writeln!(out, "- differs: {} {}", escaped(&what), escaped(&sides));
    }
    if let Some(machine) = machine(it) {
        let _ = writeln!(out, "- {}", escaped(&machine));
    }
    for note in notes(it) {
        let _ = writeln!(out, "- note: {}", escaped(&note));
    }
    let head = interval_head(it);
    let _ = writeln!(out, "\n| | A | B | change | {head} | verdict |");
    out.push_str("|---|--:|--:|--:|--:|---|\n");
    for of in it.comparisons.iter().filter(|it| it.is_known()) {
        let name = format!("{} {}", of.kind, of.metric);
        let cells = [value(of.a, of), value(of.b, of), change(of), interval(of), verdict(of)];
        let name = if of.gated { format!("**{name}**") } else { name };
        let cells = cells.map(|cell| escaped(&cell)).join(" | ");
        let _ = writeln!(out, "| {name} | {cells} |");
    }
    let gated = if it.comparisons.iter().any(|it| !it.gated) {
        ". The verdict rests on the figures in bold"
    } else {
        ""
    };
    let _ = writeln!(out, "\nChanges are those of B against A{gated}.");
    out
}

/// Escapes whatever in `text` Markdown or HTML would take for markup, or GitHub for a user's name.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            // A label must not notify any user.
            '@' => out.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}
