//! Lays out charts: the position of everything, in pixels.

use super::axis::{LETTERS, Places};
use super::font;
use super::shapes::{Anchor, Box4, Color, Drawing, Shape};
use super::{LineTone, PictureSheet};
use crate::report::chart::{Band, Chart, CountGrid, Line, Map, Scale, Stroke, What};
use crate::report::number::{decimal, grouped};

const INK: Color = Color(27, 31, 36);
const DIM: Color = Color(92, 102, 112);
const GRID: Color = Color(223, 227, 232);
const WHITE: Color = Color(255, 255, 255);
const GOOD: Color = Color(26, 127, 55);
const FAIR: Color = Color(138, 83, 0);
const BAD: Color = Color(179, 32, 42);
/// The same as on the light page.
const TONES: [Color; 10] = [
    Color(37, 99, 201),
    Color(217, 115, 13),
    Color(180, 37, 154),
    Color(31, 138, 91),
    Color(109, 75, 208),
    Color(138, 109, 29),
    Color(11, 138, 156),
    Color(194, 51, 77),
    Color(91, 112, 131),
    Color(122, 154, 1),
];
/// Colors of cells, from few requests to many.
const SHADES: [[f64; 3]; 4] =
    [[219.0, 231.0, 245.0], [111.0, 168.0, 220.0], [42.0, 95.0, 165.0], [42.0, 15.0, 74.0]];
const SHADE_COUNT: u8 = 24;

/// The left and right edges of everything, and of what is drawn to a scale.
const EDGES: (f64, f64) = (24.0, 1_176.0);
const PLOT: (f64, f64) = (88.0, 1_176.0);
/// The height of a chart with one row of names.
const CHART_HEIGHT: f64 = 340.0;
const LINE_HEIGHT: f64 = 21.0;
/// The height of a row of the legend.
const LEGEND_HEIGHT: f64 = 19.0;
/// Lines with more points than this need no marks.
const MOST_MARKED: usize = 60;

/// Draws the whole picture.
pub(super) fn sheet(sheet: &PictureSheet) -> Drawing {
    let words = sheet.charts.iter().map(|chart| format!("{}.", chart.words));
    let words = std::iter::once(format!("{}.", sheet.title)).chain(words);
    let mut out = Drawing {
        width: EDGES.0 + EDGES.1,
        words: words.collect::<Vec<_>>().join(" "),
        ..Drawing::default()
    };
    let mut y = 36.0;
    for (at, line) in wrap(&sheet.title, 22.0).into_iter().enumerate() {
        y += if at > 0 { 26.0 } else { 0.0 };
        out.text((EDGES.0, y), 22.0, INK, Anchor::Start, line);
    }
    y += 6.0;
    for (tone, text) in &sheet.lines {
        let (size, color) = match tone {
            LineTone::Good => (17.0, GOOD),
            LineTone::Fair => (14.0, FAIR),
            LineTone::Bad => (14.0, BAD),
            LineTone::Worst => (17.0, BAD),
            LineTone::Plain => (14.0, INK),
            LineTone::Dim => (14.0, DIM),
        };
        for (at, line) in wrap(text, size).into_iter().enumerate() {
            y += LINE_HEIGHT + if size > 14.0 { 3.0 } else { 0.0 };
            let indent = if at > 0 { 20.0 } else { 0.0 };
            out.text((EDGES.0 + indent, y), size, color, Anchor::Start, line);
        }
    }
    y += 18.0;
    for chart in &sheet.charts {
        y = self::chart(chart, y, &mut out);
    }
    out.height = y.ceil();
    out
}

/// Breaks a text into lines that fit, between words; a word that is too long is broken, too.
fn wrap(text: &str, size: f64) -> Vec<String> {
    let most = EDGES.1 - EDGES.0 - 20.0;
    let fits = |text: &str| font::width(text, size) <= most;
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is one");
        let longer = if last.is_empty() { word.to_owned() } else { format!("{last} {word}") };
        if fits(&longer) {
            *last = longer;
            continue;
        }
        if !last.is_empty() {
            lines.push(String::new());
        }
        for sign in word.chars() {
            let last = lines.last_mut().expect("there is one");
            last.push(sign);
            if !fits(last) {
                last.pop();
                lines.push(sign.to_string());
            }
        }
    }
    lines
}

/// Draws one chart starting at `top`; returns where it ends.
fn chart(chart: &Chart, top: f64, out: &mut Drawing) -> f64 {
    let title = out.text((EDGES.0, top + 24.0), 17.0, INK, Anchor::Start, &chart.title);
    out.text((title + 14.0, top + 24.0), LETTERS, DIM, Anchor::Start, &chart.y.title);
    let below = legend(chart, top + 46.0, out);
    let rows = (below - top - 46.0) / LEGEND_HEIGHT;
    let bottom = top + CHART_HEIGHT - 60.0 + (rows - 1.0).max(0.0) * LEGEND_HEIGHT;
    let (x, y) = axes(chart, (bottom, below - 4.0));
    grid(chart, &x, &y, bottom, below - 4.0, out);
    if let Some(cells) = &chart.cells {
        self::cells(cells, &x, &y, out);
    }
    if let Some(map) = &chart.map {
        self::map(map, &x, &y, out);
    }
    let edges = (below - 4.0, bottom);
    for band in &chart.bands {
        let [from, to] = [band.from_s, band.to_s].map(|at| x.pixel(at).clamp(PLOT.0, PLOT.1));
        let rect = [from, edges.0, (to - from).max(2.0), edges.1 - edges.0];
        out.shapes.push(Shape::Boxes(of_band(band), 0.16, vec![rect]));
    }
    for line in shown(chart) {
        self::line(line, chart.x.scale, &x, &y, out);
    }
    captions(chart, &x, edges.0, out);
    bottom + 60.0
}

fn shown(chart: &Chart) -> impl Iterator<Item = &Line> {
    chart.lines.iter().filter(|line| !line.hidden)
}

/// The axes, with room for everything that is shown.
fn axes(chart: &Chart, pixels: (f64, f64)) -> (Places, Places) {
    let cells = chart.cells.iter();
    let cell_x = cells.clone().flat_map(|it| it.x.iter().copied());
    let cell_y = cells.flat_map(|it| it.y.iter().copied());
    let lines_x = shown(chart).flat_map(|it| it.x.iter().copied());
    let lines_y = shown(chart).flat_map(|it| it.y.iter().flatten().copied());
    let edges = chart.map.iter().flat_map(|it| it.edges.iter().copied());
    let x = Places::new(&chart.x, lines_x.chain(cell_x).chain(edges).chain(chart.x.end), PLOT);
    (x, Places::new(&chart.y, lines_y.chain(cell_y), pixels))
}

/// The lines and numbers behind a chart.
fn grid(chart: &Chart, x: &Places, y: &Places, bottom: f64, top: f64, out: &mut Drawing) {
    for (at, text) in &y.ticks {
        out.rule(GRID, (PLOT.0, at.round() + 0.5), (PLOT.1, at.round() + 0.5));
        let place = (PLOT.0 - 8.0, at + 4.5);
        out.text(place, LETTERS, INK, Anchor::End, text.clone());
    }
    for (at, text) in &x.ticks {
        out.rule(GRID, (at.round() + 0.5, top), (at.round() + 0.5, bottom + 4.0));
        out.text((*at, bottom + 18.0), LETTERS, INK, Anchor::Middle, text.clone());
    }
    let middle = (f64::midpoint(PLOT.0, PLOT.1), bottom + 38.0);
    out.text(middle, LETTERS, DIM, Anchor::Middle, chart.x.title.clone());
}

/// Draws the legend of the lines or the shades; returns where its rows end.
fn legend(chart: &Chart, top: f64, out: &mut Drawing) -> f64 {
    if let Some((few, many)) = scale(chart) {
        let mut at = out.text((PLOT.0, top), LETTERS, INK, Anchor::Start, few) + 8.0;
        for step in 0..SHADE_COUNT {
            let shade = shade(f64::from(step) / f64::from(SHADE_COUNT - 1));
            out.boxes(shade, vec![[at, top - 10.0, 7.0, 11.0]]);
            at += 7.0;
        }
        out.text((at + 8.0, top), LETTERS, INK, Anchor::Start, many);
        return top + LEGEND_HEIGHT;
    }
    let (mut at, mut y) = (PLOT.0, top);
    for line in shown(chart).filter(|_| chart.legend) {
        let width = 30.0 + font::width(&line.name, LETTERS);
        if at > PLOT.0 && at + width > PLOT.1 {
            (at, y) = (PLOT.0, y + LEGEND_HEIGHT);
        }
        let middle = y - 4.5;
        let sample = vec![vec![(at, middle), (at + 24.0, middle)]];
        out.shapes.push(stroke(line, sample));
        at = out.text((at + 30.0, y), LETTERS, INK, Anchor::Start, line.name.clone()) + 22.0;
    }
    y + LEGEND_HEIGHT
}

/// The meaning of the lightest and the darkest shade.
fn scale(chart: &Chart) -> Option<(String, String)> {
    if let Some(map) = &chart.map {
        return Some(("0".to_owned(), format!("{} {}", decimal(most(map), 0), map.unit)));
    }
    let counts = chart.cells.as_ref()?.counts.iter().flatten();
    let most = counts.copied().max().unwrap_or(1);
    Some(("1".to_owned(), format!("{} requests per cell", grouped(most))))
}

fn most(map: &Map) -> f64 {
    map.rates.iter().flatten().flatten().copied().fold(1e-9, f64::max)
}

const fn of_band(band: &Band) -> Color {
    match band.what {
        What::Outage | What::Silence => BAD,
        What::Pause => FAIR,
        What::Lost => TONES[8],
        What::Busy => TONES[5],
        What::Broken => TONES[6],
    }
}

/// The captions of bands, each in the first free row.
fn captions(chart: &Chart, x: &Places, top: f64, out: &mut Drawing) {
    let mut rows: Vec<f64> = Vec::new();
    let mut bands: Vec<&Band> = chart.bands.iter().collect();
    bands.sort_by(|one, two| one.from_s.total_cmp(&two.from_s));
    for band in bands {
        let width = font::width(&band.text, LETTERS);
        let from = (x.pixel(band.from_s) + 4.0).min(PLOT.1 - width - 4.0).max(PLOT.0);
        let free = rows.iter().position(|end| *end < from);
        let row = free.unwrap_or(rows.len());
        // More rows would hide the chart.
        if row > 3 {
            continue;
        }
        rows.resize(rows.len().max(row + 1), 0.0);
        rows[row] = from + width + 8.0;
        let y = top + 15.0 + 16.0 * row as f64;
        out.shapes.push(Shape::Boxes(WHITE, 0.7, vec![[from - 2.0, y - 12.0, width + 4.0, 16.0]]));
        out.text((from, y), LETTERS, of_band(band), Anchor::Start, band.text.clone());
    }
}

fn color(line: &Line) -> Color {
    TONES[line.tone % TONES.len()]
}

fn stroke(line: &Line, lines: Vec<Vec<(f64, f64)>>) -> Shape {
    let dash: &[f64] = match line.stroke {
        Stroke::Solid => &[],
        Stroke::Dash => &[7.0, 4.0],
        Stroke::Dot => &[2.0, 3.0],
    };
    let width = if line.stroke == Stroke::Solid { 2.0 } else { 1.5 };
    Shape::Lines { color: color(line), width, dash, lines }
}

/// One line, in pieces between its gaps, with marks at its points if there are few.
fn line(line: &Line, scale: Scale, x: &Places, y: &Places, out: &mut Drawing) {
    let points = line.x.iter().zip(&line.y);
    let points: Vec<_> = points.map(|(&a, b)| b.map(|b| (x.pixel(a), y.pixel(b)))).collect();
    let pieces: Vec<Vec<_>> = points
        .split(Option::is_none)
        .map(|piece| piece.iter().flatten().copied().collect())
        .filter(|piece: &Vec<_>| !piece.is_empty())
        .collect();
    let alone = pieces.iter().filter(|piece| piece.len() == 1).flatten().copied().collect();
    let marked = line.x.len() <= MOST_MARKED && scale != Scale::Nines;
    let marks = if marked { pieces.concat() } else { alone };
    if !pieces.is_empty() {
        out.shapes.push(stroke(line, pieces));
    }
    if !marks.is_empty() {
        out.shapes.push(Shape::Dots(color(line), 2.7, marks));
    }
}

/// The sides of a box, in pixels.
#[derive(Clone, Copy)]
struct Sides {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

/// Boxes by shade, between whole pixels, so that no seam shows.
#[derive(Default)]
struct Shaded(Vec<Vec<Box4>>);

impl Shaded {
    fn add(&mut self, share: f64, sides: Sides) {
        let level = (share.clamp(0.0, 1.0) * f64::from(SHADE_COUNT - 1)).round() as usize;
        self.0.resize(usize::from(SHADE_COUNT), Vec::new());
        let Sides { left, right, top, bottom } = sides;
        let [left, right, top, bottom] = [left, right, top, bottom].map(f64::round);
        self.0[level].push([left, top, (right - left).max(1.0), (bottom - top).max(1.0)]);
    }

    fn draw(self, out: &mut Drawing) {
        for (level, boxes) in self.0.into_iter().enumerate().filter(|(_, it)| !it.is_empty()) {
            let share = level as f64 / f64::from(SHADE_COUNT - 1);
            out.boxes(shade(share), boxes);
        }
    }
}

fn cells(cells: &CountGrid, x: &Places, y: &Places, out: &mut Drawing) {
    let most = cells.counts.iter().flatten().copied().max().unwrap_or(1).max(2) as f64;
    let mut shaded = Shaded::default();
    for (row, counts) in cells.counts.iter().enumerate() {
        let (top, bottom) = (y.pixel(cells.y[row + 1]), y.pixel(cells.y[row]));
        for (column, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let (left, right) = (x.pixel(cells.x[column]), x.pixel(cells.x[column + 1]));
            shaded.add((count as f64).ln() / most.ln(), Sides { left, right, top, bottom });
        }
    }
    shaded.draw(out);
}

/// Rates of rows over time, or for each pair of values of two settings, with the rates written in.
fn map(map: &Map, x: &Places, y: &Places, out: &mut Drawing) {
    let most = most(map);
    let (mut shaded, mut texts) = (Shaded::default(), Vec::new());
    for (row, rates) in (0u32..).zip(&map.rates) {
        let row = f64::from(row);
        let (top, bottom) = (y.pixel(row + 0.5), y.pixel(row - 0.5));
        for (column, rate) in rates.iter().enumerate() {
            let Some(rate) = rate else { continue };
            let (left, right) = if map.edges.is_empty() {
                (x.pixel(column as f64 - 0.5), x.pixel(column as f64 + 0.5) - 1.0)
            } else {
                (x.pixel(map.edges[column]), x.pixel(map.edges[column + 1]))
            };
            let gap = if bottom - top > 4.0 { 1.0 } else { 0.0 };
            shaded.add(rate / most, Sides { left, right, top, bottom: bottom - gap });
            if map.edges.is_empty() {
                let color = if rate / most > 0.45 { WHITE } else { INK };
                let at = (f64::midpoint(left, right), f64::midpoint(top, bottom) + 5.0);
                texts.push((at, color, decimal(*rate, 0)));
            }
        }
    }
    shaded.draw(out);
    for (at, color, text) in texts {
        out.text(at, LETTERS, color, Anchor::Middle, text);
    }
}

/// The color of a cell, from few requests (0) to the most (1).
fn shade(share: f64) -> Color {
    let at = share * (SHADES.len() - 1) as f64;
    let below = (at as usize).min(SHADES.len() - 2);
    let mix = |part: usize| {
        let (few, many) = (SHADES[below][part], SHADES[below + 1][part]);
        (few + (many - few) * (at - below as f64)).round() as u8
    };
    Color(mix(0), mix(1), mix(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut_between_words() {
        let line = format!("{} {}", "word ".repeat(60), "x".repeat(400));
        let pieces = wrap(&line, 14.0);
        assert!(pieces.iter().all(|piece| font::width(piece, 14.0) <= EDGES.1 - EDGES.0));
        let again: String = pieces.concat().split_whitespace().collect();
        assert_eq!(again, line.split_whitespace().collect::<String>());
    }
}
