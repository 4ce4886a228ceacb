//! The charts as pictures (SVG and PNG), one below the other, after what must be read first. A
//! picture is not interactive, so it shows the last measured stage, all kinds together.

mod axis;
mod draw;

use super::chart::{Chart, ChartKind, foremost, label, stages};
use super::threshold::threshold_lines;
use super::words::{place, result_line, trust_lines, warning_lines};
use super::{Format, Render};
use crate::record::RunRecord;
use plotters::backend::{BitMapBackend, SVGBackend};
use plotters::style::{FontStyle, register_font};
use std::sync::Once;

pub(super) const SVG: Format =
    Format { name: "svg", summary: "the charts as SVG", render: Render::Picture(svg) };
pub(super) const PNG: Format =
    Format { name: "png", summary: "the charts as PNG", render: Render::Picture(png) };

/// Pixels.
const WIDTH: u32 = 1200;
const CHART_HEIGHT: u32 = 340;
const LINE_HEIGHT: u32 = 21;
/// The number of characters that fit the width.
const LINE_LENGTH: usize = 150;
const FONT: &[u8] = include_bytes!("../../../assets/dejavu/DejaVuSans-subset.ttf");

/// The content of a picture.
struct Sheet {
    title: String,
    /// Trust, warnings and thresholds, then the subject of the charts.
    lines: Vec<String>,
    charts: Vec<Chart>,
    /// The end of the charts' time axis.
    end_s: f64,
}

impl Sheet {
    fn new(runs: &[RunRecord], wanted: Option<ChartKind>) -> Self {
        let stages = stages(runs, false);
        let foremost = foremost(&stages);
        let charts =
            foremost.and_then(|stage| stage.views.first()).map_or(&[][..], |it| &it.charts);
        let is_wanted = |chart: &&Chart| wanted.is_none_or(|wanted| wanted == chart.kind);
        let title = runs.first().map_or_else(String::new, |run| place(&run.server));
        let mut lines = Vec::new();
        for (run, record) in runs.iter().enumerate() {
            let name = if runs.len() > 1 { label(run) + " · " } else { String::new() };
            lines.push(format!("{name}{} · {}", record.started_at, record.plan.command));
            let result = result_line(record);
            let sign = if record.result().exit_status == 0 { "" } else { "✗ " };
            lines.push(format!("{sign}{result}"));
            lines.extend(trust_lines(record).map(|line| format!("trust: {line}")));
            lines.extend(warning_lines(record).map(|line| format!("! {line}")));
            lines.extend(threshold_lines(record));
        }
        lines.extend(foremost.map(|stage| format!("Charts of the {} stage", stage.title)));
        let ends = charts.iter().flat_map(|chart| &chart.cells).filter_map(|cells| cells.x.last());
        Self {
            end_s: ends.copied().fold(0.0, f64::max),
            title: format!("springload · {title}"),
            lines: lines.iter().flat_map(|line| wrap(line)).collect(),
            charts: charts.iter().filter(is_wanted).cloned().collect(),
        }
    }

    fn size(&self) -> (u32, u32) {
        (WIDTH, self.head_height() + CHART_HEIGHT * self.charts.len() as u32)
    }

    fn head_height(&self) -> u32 {
        56 + LINE_HEIGHT * self.lines.len() as u32
    }
}

/// A picture format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picture {
    /// SVG.
    Svg,
    /// PNG.
    Png,
}

/// Draws charts below a title and lines of text.
pub(super) fn draw_charts(
    (title, lines): (String, Vec<String>),
    charts: Vec<Chart>,
    picture: Picture,
) -> Vec<u8> {
    let lines = lines.iter().flat_map(|line| wrap(line)).collect();
    render(&Sheet { title, lines, charts, end_s: 0.0 }, picture)
}

fn svg(runs: &[RunRecord], wanted: Option<ChartKind>) -> Vec<u8> {
    render(&Sheet::new(runs, wanted), Picture::Svg)
}

fn png(runs: &[RunRecord], wanted: Option<ChartKind>) -> Vec<u8> {
    render(&Sheet::new(runs, wanted), Picture::Png)
}

fn render(sheet: &Sheet, picture: Picture) -> Vec<u8> {
    // Fonts are registered for the whole process.
    static FONTS: Once = Once::new();
    FONTS.call_once(|| {
        let known = register_font("sans-serif", FontStyle::Normal, FONT);
        assert!(known.is_ok(), "the font is one of our own files");
    });
    let (width, height) = sheet.size();
    if picture == Picture::Svg {
        let mut text = String::new();
        draw::sheet(sheet, SVGBackend::with_string(&mut text, (width, height)));
        return text.into_bytes();
    }
    let mut pixels = vec![0; (width * height * 3) as usize];
    draw::sheet(sheet, BitMapBackend::with_buffer(&mut pixels, (width, height)));
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    let written = encoder.write_header().and_then(|mut it| it.write_image_data(&pixels));
    written.expect("writing to memory does not fail");
    bytes
}

/// Wraps a line between words; a word that is too long is cut.
fn wrap(line: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for word in line.split_whitespace() {
        let word: Vec<char> = word.chars().collect();
        for part in word.chunks(LINE_LENGTH) {
            let last = pieces.last_mut().expect("there is one");
            let space = usize::from(!last.is_empty());
            if last.chars().count() + space + part.len() <= LINE_LENGTH {
                last.push_str(if space == 1 { " " } else { "" });
                last.extend(part);
            } else {
                pieces.push("    ".chars().chain(part.iter().copied()).collect());
            }
        }
    }
    pieces
}

#[cfg(test)]
#[path = "picture_tests.rs"]
mod tests;
