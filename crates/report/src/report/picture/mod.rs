//! The charts as pictures, SVG and PNG, one below the other, below what must be read first. Both
//! formats are made of the same shapes. A picture is not interactive, so it shows the last measured
//! stage, with all kinds together.

mod axis;
mod draw;
mod font;
mod png;
mod shapes;
mod svg;

use super::chart::{Chart, ChartKind, foremost, stages};
use super::headline::headline;
use super::pill::{Mood, Pill};
use super::story::{Event, lines, story};
use super::threshold::requirements;
use super::title::{mark, names, title};
use super::words::{place, verdict_words, warning_lines};
use super::{Format, Render};
use crate::record::{ResultKind, RunRecord};

pub(super) const SVG: Format = Format {
    name: "svg",
    summary: "the charts as SVG",
    endings: &["svg"],
    render: Render::Picture(svg),
};
pub(super) const PNG: Format = Format {
    name: "png",
    summary: "the charts as PNG",
    endings: &["png"],
    render: Render::Picture(png),
};

/// The style of a line above the charts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineTone {
    /// A result that is good, larger than the rest.
    Good,
    /// A result that is not good.
    Worst,
    Bad,
    /// A warning.
    Fair,
    Plain,
    Dim,
}

/// The content of a picture.
struct PictureSheet {
    title: String,
    /// Results, requirements and warnings, then the subject of the charts.
    lines: Vec<(LineTone, String)>,
    charts: Vec<Chart>,
}

impl PictureSheet {
    fn new(runs: &[RunRecord], wanted: Option<ChartKind>) -> Self {
        let stages = stages(runs, false);
        let foremost = foremost(&stages);
        let charts =
            foremost.and_then(|stage| stage.views.first()).map_or(&[][..], |it| &it.charts);
        // A requested chart is shown, even if all it shows is that nothing failed.
        let is_wanted =
            |it: &&Chart| wanted.map_or_else(|| !it.is_empty(), |wanted| wanted == it.kind);
        let names = names(runs);
        let mut lines: Vec<_> = (0..runs.len()).flat_map(|run| head(runs, run)).collect();
        if let (Some(stage), true) = (foremost, runs.len() > 1 || stages.len() > 1) {
            lines.push((LineTone::Dim, format!("Charts of the {} stage", stage.title)));
        }
        Self {
            title: match runs {
                [run] => title(run),
                _ => names.join(" · "),
            },
            lines,
            charts: charts.iter().filter(is_wanted).cloned().collect(),
        }
    }
}

/// What to read first about a run.
fn head(runs: &[RunRecord], run: usize) -> Vec<(LineTone, String)> {
    let record = &runs[run];
    let name = match mark(runs, run) {
        letter if letter.is_empty() => letter,
        letter => format!("{letter} · {} · ", names(runs)[run]),
    };
    let headline = headline(record);
    let tone = match headline.kind {
        ResultKind::Passed => LineTone::Good,
        ResultKind::Running => LineTone::Plain,
        _ => LineTone::Worst,
    };
    let mut lines = vec![(tone, format!("{name}{}", headline.line()))];
    let time = record.started_at.get(..16).unwrap_or(&record.started_at).replace('T', " ");
    lines.push((LineTone::Dim, format!("{} · {time} UTC", place(&record.server))));
    let story = story(record);
    lines.extend(
        self::lines(record, &story.iter().collect::<Vec<&Event>>(), false)
            .into_iter()
            .map(|line| (LineTone::Plain, line)),
    );
    lines.extend(requirements(record).map(|it| {
        let tone = if it.met { LineTone::Plain } else { LineTone::Bad };
        (tone, format!("{} {}", it.mark(), it.words()))
    }));
    lines.extend(record.measured().map(|stage| {
        (LineTone::Dim, format!("{}: {}", stage.title(), verdict_words(record, stage)))
    }));
    lines.extend(warning_lines(record).map(|line| (LineTone::Fair, format!("! {line}"))));
    lines
}

/// A picture format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picture {
    /// SVG.
    Svg,
    /// PNG.
    Png,
}

/// The text above charts that do not belong to a single run.
#[derive(Default)]
pub(super) struct Head {
    pub(super) title: String,
    pub(super) verdict: Option<Pill>,
    pub(super) warnings: Vec<String>,
}

pub(super) fn draw_charts(head: Head, charts: Vec<Chart>, picture: Picture) -> Vec<u8> {
    let Head { title, verdict, warnings } = head;
    let verdict = verdict.map(|Pill { mood, mark, words }| {
        let tone = match mood {
            Mood::Good => LineTone::Good,
            Mood::Bad => LineTone::Worst,
            Mood::Fair | Mood::Unknown => LineTone::Fair,
        };
        (tone, format!("{mark} {words}"))
    });
    let lines = warnings.into_iter().map(|line| (LineTone::Fair, line));
    let lines = verdict.into_iter().chain(lines).collect();
    render(&PictureSheet { title, lines, charts }, picture)
}

fn svg(runs: &[RunRecord], wanted: Option<ChartKind>) -> Vec<u8> {
    render(&PictureSheet::new(runs, wanted), Picture::Svg)
}

fn png(runs: &[RunRecord], wanted: Option<ChartKind>) -> Vec<u8> {
    render(&PictureSheet::new(runs, wanted), Picture::Png)
}

fn render(sheet: &PictureSheet, picture: Picture) -> Vec<u8> {
    let drawing = draw::sheet(sheet);
    match picture {
        Picture::Svg => svg::write(&drawing).into_bytes(),
        Picture::Png => png::write(&drawing),
    }
}

#[cfg(test)]
#[path = "picture_tests.rs"]
mod tests;
