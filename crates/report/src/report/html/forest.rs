//! The forest plot: the change in each figure with its interval, on one scale.

use super::escape::Html;
use crate::compare::Compared;
use crate::record::Standing;
use crate::report::comparison::{change, interval};
use std::fmt::Write as _;

const WIDTH: f64 = 720.0;
const ROW: f64 = 26.0;
/// Where the names end and the scale begins, and where it ends.
const LEFT: f64 = 190.0;
const RIGHT: f64 = 540.0;
/// The scale reaches at least this far, as a logarithm: 10 %.
const LEAST: f64 = 0.1;
/// And no farther than this: intervals that reach beyond are cut off at the edge.
const MOST: f64 = 1.4;

/// The plot as SVG; none if no figure has a ratio.
pub(super) fn forest(figures: &[Compared], delta_percent: f64) -> Option<Html> {
    let rows: Vec<&Compared> = figures.iter().filter(|it| it.ratio.is_some()).collect();
    let ends = |it: &&Compared| {
        let ends = ends_of(it).map(|(low, high)| [low, high]);
        it.ratio.into_iter().chain(ends.into_iter().flatten()).map(f64::ln)
    };
    let far = rows.iter().flat_map(ends).map(f64::abs).filter(|it| it.is_finite());
    let far = far.fold(LEAST, f64::max).min(MOST) * 1.05;
    if rows.is_empty() {
        return None;
    }
    let at = |ratio: f64| {
        let middle = f64::midpoint(LEFT, RIGHT);
        middle + (ratio.max(1e-9).ln() / far).clamp(-1.0, 1.0) * (RIGHT - LEFT) / 2.0
    };
    let bottom = ROW * rows.len() as f64 + 8.0;
    let height = bottom + 24.0;
    let mut svg = format!(
        "<svg class=\"forest\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" role=\"img\" \
         aria-label=\"Changes of B against A with their intervals\">"
    );
    let same = delta_percent / 100.0;
    let (from, to) = (at(1.0 / (1.0 + same)), at(1.0 + same));
    let _ = write!(
        svg,
        "<rect class=\"same\" x=\"{from:.1}\" y=\"0\" width=\"{:.1}\" height=\"{bottom}\"/>\
         <line class=\"axis\" x1=\"{one:.1}\" x2=\"{one:.1}\" y1=\"0\" y2=\"{bottom}\"/>",
        to - from,
        one = at(1.0),
    );
    for (row, figure) in rows.iter().enumerate() {
        line(&mut svg, figure, ROW * row as f64 + ROW / 2.0 + 4.0, at);
    }
    for percent in ticks(far) {
        let x = at(1.0 + percent / 100.0);
        let sign = if percent > 0.0 { "+" } else { "" };
        let _ = write!(
            svg,
            "<text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\">{sign}{percent} %</text>",
            bottom + 16.0
        );
    }
    svg.push_str("</svg>");
    Some(Html::raw(svg))
}

/// The interval that is drawn, if there is one.
fn ends_of(figure: &Compared) -> Option<(f64, f64)> {
    figure.low.zip(figure.high).or(figure.within_low.zip(figure.within_high))
}

fn line(svg: &mut String, figure: &Compared, y: f64, at: impl Fn(f64) -> f64) {
    let class = match figure.verdict {
        Standing::Better => "better",
        Standing::Worse => "worse",
        Standing::Same => "same-as",
        Standing::CannotTell if figure.within_low.is_some() => "open within",
        Standing::CannotTell => "open",
    };
    let gated = if figure.gated { " gated" } else { "" };
    let name = Html::text(format!("{} {}", figure.kind, figure.metric));
    let ends = Some(interval(figure)).filter(|it| it != "-");
    let ends = ends.map(|it| format!(" ({it})")).unwrap_or_default();
    let text = Html::text(change(figure) + &ends);
    let _ = write!(
        svg,
        "<text class=\"name{gated}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\
         <text class=\"figure\" x=\"{:.1}\" y=\"{:.1}\">{}</text><g class=\"{class}\">",
        LEFT - 12.0,
        y + 4.0,
        name.as_str(),
        RIGHT + 12.0,
        y + 4.0,
        text.as_str(),
    );
    if let Some((low, high)) = ends_of(figure) {
        let (low, high) = (at(low), at(high));
        let _ = write!(
            svg,
            "<line x1=\"{low:.1}\" x2=\"{high:.1}\" y1=\"{y}\" y2=\"{y}\"/>\
             <line x1=\"{low:.1}\" x2=\"{low:.1}\" y1=\"{}\" y2=\"{}\"/>\
             <line x1=\"{high:.1}\" x2=\"{high:.1}\" y1=\"{}\" y2=\"{}\"/>",
            y - 4.0,
            y + 4.0,
            y - 4.0,
            y + 4.0
        );
    }
    if let Some(ratio) = figure.ratio {
        let _ = write!(svg, "<circle cx=\"{:.1}\" cy=\"{y}\" r=\"4\"/>", at(ratio));
    }
    svg.push_str("</g>");
}

/// Round changes in percent that lie on the scale, not too close to each other.
fn ticks(far: f64) -> Vec<f64> {
    let least = far * 0.25;
    let mut ticks = vec![0.0f64];
    for percent in [2.0f64, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0] {
        let place = (percent / 100.0).ln_1p();
        let last = ticks.last().map_or(0.0, |last| (last / 100.0).ln_1p());
        if place <= far * 0.95 && place - last >= least {
            ticks.push(percent);
        }
    }
    let down: Vec<f64> = ticks.iter().skip(1).map(|up| -*up).collect();
    ticks.extend(down.into_iter().filter(|down| (down / 100.0).ln_1p() >= -far * 0.95));
    ticks
}
