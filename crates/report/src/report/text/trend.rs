//! A trend as text: a curve per quantity with a column per run, and its changes below.

use super::sheet::{Sheet, Tone};
use super::spark::BLOCKS;
use crate::report::look::Look;
use crate::report::trend::{change, headline, mark, name, span, too_few, value};
use crate::trend::{Direction, Group, Series, Trend};
use unicode_width::UnicodeWidthStr as _;

/// The widest name of a quantity, in columns.
const MOST_NAME: usize = 26;
/// The columns of the last value.
const VALUE: usize = 10;
/// A curve spans at least this share of its highest value, so that noise looks like noise.
const LEAST_SPAN: f64 = 0.1;
/// Up to this many of the runs that are left out are listed one by one.
const MOST_LEFT_OUT: usize = 10;

/// A trend for people.
pub fn trend_text(trend: &Trend, look: Look) -> String {
    let mut sheet = Sheet::new(look);
    sheet.line("springload trend", Tone::Strong, &format!("  {}", headline(trend)));
    for (at, own) in trend.groups.iter().enumerate() {
        sheet.gap();
        let number = if trend.groups.len() > 1 { format!("{} · ", at + 1) } else { String::new() };
        sheet.paragraph(&number, Tone::Strong, &own.command, 2);
        group(own, &mut sheet);
    }
    let more = trend.left_out.len().saturating_sub(MOST_LEFT_OUT);
    if !trend.left_out.is_empty() {
        sheet.gap();
    }
    for out in trend.left_out.iter().take(MOST_LEFT_OUT) {
        sheet.paragraph("left out: ", Tone::Doubtful, &format!("{}: {}", out.name, out.reason), 2);
    }
    if more > 0 {
        sheet.line("left out: ", Tone::Doubtful, &format!("{more} more; --format json has all"));
    }
    sheet.finish()
}

fn group(group: &Group, sheet: &mut Sheet) {
    sheet.line("", Tone::Plain, &span(group));
    for it in &group.marks {
        sheet.paragraph("! ", Tone::Doubtful, &mark(group, it), 2);
    }
    let shown = |series: &&Series| !series.is_zero() || !series.changes.is_empty();
    let wide = group.series.iter().filter(shown).map(|it| name(it).width()).max().unwrap_or(0);
    let wide = wide.min(MOST_NAME);
    let room = sheet.look.width.saturating_sub(2 + wide + 2 + VALUE + 2);
    let curves = group.series.iter().filter(shown).map(|series| (series, curve(series, room)));
    let curves: Vec<(&Series, String)> = curves.collect();
    let columns = curves.iter().map(|(_, curve)| curve.width()).max().unwrap_or(0);
    for (series, curve) in &curves {
        let cut = sheet.cut(&name(series), wide);
        let lead = format!("  {cut}{}  ", " ".repeat(wide.saturating_sub(cut.width())));
        let pad = " ".repeat(columns.saturating_sub(curve.width()));
        let latest = series.latest().map_or_else(|| "–".to_owned(), |it| value(series, it));
        sheet.curve(&lead, curve, &format!("{pad}  {latest}"));
        for it in &series.changes {
            let tone = match it.verdict {
                Direction::Better => Tone::Good,
                Direction::Worse => Tone::Bad,
            };
            sheet.paragraph(&format!("    {} ", it.verdict.name()), tone, &change(series, it), 2);
        }
    }
    zeros(group, sheet);
    if let Some(why) = too_few(group) {
        sheet.line("  ", Tone::Plain, &why);
    } else if group.series.iter().all(|series| series.changes.is_empty()) {
        sheet.line("  ", Tone::Plain, "no change found");
    }
}

/// Names the quantities that are 0 throughout, or were never measured, one per line.
fn zeros(group: &Group, sheet: &mut Sheet) {
    let is_flat = |series: &&Series| series.is_zero() && series.changes.is_empty();
    for (measured, words) in [(true, "0 in every run: "), (false, "too little measured: ")] {
        let own = group.series.iter().filter(is_flat);
        let own = own.filter(|series| series.latest().is_some() == measured);
        let names: Vec<String> = own.map(name).collect();
        if !names.is_empty() {
            sheet.paragraph(&format!("  {words}"), Tone::Faint, &names.join(", "), 3);
        }
    }
}

/// A column per run, or per several runs if space is short, with a line before each change.
fn curve(series: &Series, room: usize) -> String {
    let known = || series.values.iter().flatten().copied();
    let (low, high) = known().fold((f64::INFINITY, 0.0f64), |(l, h), it| (l.min(it), h.max(it)));
    // Even the lowest value must be visible.
    let low = low.min(high * (1.0 - LEAST_SPAN));
    let low = low - (high - low) / BLOCKS.len() as f64;
    let room = room.saturating_sub(series.changes.len()).max(1);
    let each = series.values.len().div_ceil(room).max(1);
    let mut out = String::new();
    for (nth, values) in series.values.chunks(each).enumerate() {
        let within = |at: usize| at >= nth * each && at < (nth + 1) * each;
        if series.changes.iter().any(|change| within(change.at)) {
            out.push('│');
        }
        let own: Vec<f64> = values.iter().flatten().copied().collect();
        let share = (crate::statistics::mean(&own) - low) / (high - low);
        let step = (share * BLOCKS.len() as f64).ceil() as usize;
        out.push(if share.is_nan() { ' ' } else { BLOCKS[step.clamp(1, BLOCKS.len()) - 1] });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: &[f64]) -> Series {
        Series {
            metric: "read.p99".parse().unwrap(),
            unit: crate::record::Unit::Us,
            values: values.iter().map(|&value| (value > 0.0).then_some(value)).collect(),
            changes: Vec::new(),
        }
    }

    #[test]
    fn a_curve_shows_levels_and_not_noise() {
        assert_eq!(curve(&series(&[100.0, 100.0, 50.0]), 80), "██▁");
        assert_eq!(curve(&series(&[100.0, 99.0, 100.0]), 80), "███");
        assert_eq!(curve(&series(&[100.0, 0.0, 50.0]), 80), "█ ▁", "a gap is empty");
        assert_eq!(curve(&series(&[100.0; 200]), 60).chars().count(), 50);
    }
}
