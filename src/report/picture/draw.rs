//! Draws charts with plotters.

use super::axis::{Places, place};
use super::{CHART_HEIGHT, LINE_HEIGHT, Sheet, WIDTH};
use crate::report::chart::{Cells, Chart, Line, Map, Scale, Stroke, What};
use crate::report::number::decimal;
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{EmptyElement, PathElement, Rectangle, Text};
use plotters::prelude::DrawingBackend;
use plotters::series::{DashedLineSeries, LineSeries};
use plotters::style::{Color, IntoFont, RGBColor, ShapeStyle, WHITE};

const INK: RGBColor = RGBColor(27, 31, 36);
const GRID: RGBColor = RGBColor(223, 227, 232);
/// The same as on the light page.
const TONES: [RGBColor; 10] = [
    RGBColor(37, 99, 201),
    RGBColor(217, 115, 13),
    RGBColor(180, 37, 154),
    RGBColor(31, 138, 91),
    RGBColor(109, 75, 208),
    RGBColor(138, 109, 29),
    RGBColor(11, 138, 156),
    RGBColor(194, 51, 77),
    RGBColor(91, 112, 131),
    RGBColor(122, 154, 1),
];
/// Colours of cells, from few requests to many.
const SHADES: [[f64; 3]; 4] =
    [[219.0, 231.0, 245.0], [111.0, 168.0, 220.0], [42.0, 95.0, 165.0], [42.0, 15.0, 74.0]];
/// Pixels to the right of a chart, for its legend.
const SIDE: u32 = 200;

type Area<DB> = DrawingArea<DB, Shift>;
type Coordinates = Cartesian2d<Places, Places>;
type Context<'a, DB> = ChartContext<'a, DB, Coordinates>;
type Drawn<DB> = Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

/// Draws the whole picture. The backends write to memory, which does not fail.
pub(super) fn sheet<DB: DrawingBackend>(sheet: &Sheet, backend: DB) {
    let root = backend.into_drawing_area();
    let drawn = all(sheet, &root);
    drawn.expect("drawing in memory does not fail");
}

fn all<DB: DrawingBackend>(sheet: &Sheet, root: &Area<DB>) -> Drawn<DB> {
    root.fill(&WHITE)?;
    let (head, rest) = root.split_vertically(sheet.head_height());
    let font = ("sans-serif", 22).into_font().color(&INK);
    head.draw(&Text::new(sheet.title.as_str(), (20, 16), font))?;
    for (y, line) in rows(48).zip(&sheet.lines) {
        let colour = if line.starts_with(['!', '✗']) { RGBColor(179, 32, 42) } else { INK };
        let font = ("sans-serif", 14).into_font().color(&colour);
        head.draw(&Text::new(line.as_str(), (20, y), font))?;
    }
    let mut rest = rest;
    for chart in &sheet.charts {
        let (area, below) = rest.split_vertically(CHART_HEIGHT);
        self::chart(chart, sheet.end_s, &area)?;
        rest = below;
    }
    root.present()
}

/// The positions of lines of text, from `top` on.
fn rows(top: i32) -> impl Iterator<Item = i32> {
    (top..).step_by(LINE_HEIGHT as usize)
}

fn chart<DB: DrawingBackend>(chart: &Chart, end_s: f64, area: &Area<DB>) -> Drawn<DB> {
    let (area, side) = area.split_horizontally(WIDTH - SIDE);
    let cells = chart.cells.iter();
    let cell_x = cells.clone().flat_map(|it| it.x.iter().copied());
    let cell_y = cells.flat_map(|it| it.y.iter().copied());
    let lines_x = chart.lines.iter().flat_map(|it| it.x.clone());
    let end = (chart.x.scale == Scale::Time).then_some(end_s);
    let x = Places::new(chart.x.scale, lines_x.chain(cell_x).chain(end));
    let y = chart.lines.iter().flat_map(|it| it.y.iter().flatten().copied()).chain(cell_y);
    let y = match &chart.map {
        Some(_) => Places::rows(&chart.y.names),
        None => Places::new(chart.y.scale, y),
    };
    let mut context = ChartBuilder::on(&area)
        .caption(&chart.title, ("sans-serif", 18).into_font().color(&INK))
        .margin_left(14)
        .margin_right(18)
        .margin_top(10)
        .x_label_area_size(46)
        .y_label_area_size(74)
        .build_cartesian_2d(x, y)?;
    context
        .configure_mesh()
        .x_desc(&chart.x.title)
        .y_desc(&chart.y.title)
        .label_style(("sans-serif", 13).into_font().color(&INK))
        .bold_line_style(GRID)
        .light_line_style(WHITE)
        .axis_style(GRID)
        .draw()?;
    if let Some(cells) = &chart.cells {
        self::cells(cells, (chart.x.scale, chart.y.scale), (&mut context, &side))?;
    }
    if let Some(map) = &chart.map {
        self::map(map, (&mut context, &side))?;
    }
    bands(chart, &mut context)?;
    for line in chart.lines.iter().filter(|line| !line.hidden) {
        self::line(line, (chart.x.scale, chart.y.scale), &mut context)?;
    }
    legend(chart, &side)
}

/// Bands of time, such as outages, with their captions.
fn bands<'a, DB: DrawingBackend + 'a>(chart: &Chart, context: &mut Context<'a, DB>) -> Drawn<DB> {
    let (bottom, top) = (context.y_range().start, context.y_range().end);
    for (band, row) in chart.bands.iter().zip(0i32..) {
        let colour = match band.what {
            What::Outage => RGBColor(179, 32, 42),
            What::Pause => RGBColor(138, 109, 29),
            What::Lost => RGBColor(91, 112, 131),
        };
        let (from, to) = (place(chart.x.scale, band.from_s), place(chart.x.scale, band.to_s));
        let shape = Rectangle::new([(from, bottom), (to, top)], colour.mix(0.18).filled());
        context.draw_series([shape])?;
        let font = ("sans-serif", 13).into_font().color(&colour);
        let text = EmptyElement::at((from, top))
            + Text::new(band.text.clone(), (4, 4 + 14 * (row % 4)), font);
        context.draw_series([text])?;
    }
    Ok(())
}

/// The legend, next to the lines.
fn legend<DB: DrawingBackend>(chart: &Chart, side: &Area<DB>) -> Drawn<DB> {
    for (y, line) in rows(50).zip(chart.lines.iter().filter(|line| !line.hidden)) {
        let style = style(line);
        let pieces: &[(i32, i32)] = match line.stroke {
            Stroke::Solid => &[(0, 24)],
            Stroke::Dash => &[(0, 7), (11, 18)],
            Stroke::Dot => &[(0, 2), (5, 7), (10, 12), (15, 17)],
        };
        for &(from, to) in pieces {
            side.draw(&PathElement::new(vec![(from, y), (to, y)], style))?;
        }
        let font = ("sans-serif", 13).into_font().color(&INK);
        side.draw(&Text::new(line.name.as_str(), (31, y - 7), font))?;
    }
    Ok(())
}

fn style(line: &Line) -> ShapeStyle {
    let colour = TONES[line.tone % TONES.len()];
    ShapeStyle { color: colour.to_rgba(), filled: true, stroke_width: 2 }
}

/// One line, in segments between its gaps.
fn line<'a, DB: DrawingBackend + 'a>(
    line: &Line,
    (x, y): (Scale, Scale),
    context: &mut Context<'a, DB>,
) -> Drawn<DB> {
    let style = style(line);
    let points: Vec<Option<(f64, f64)>> =
        line.x.iter().zip(&line.y).map(|(&a, b)| b.map(|b| (place(x, a), place(y, b)))).collect();
    let dash = match line.stroke {
        Stroke::Solid => None,
        Stroke::Dash => Some((7, 4)),
        Stroke::Dot => Some((2, 3)),
    };
    for piece in points.split(Option::is_none) {
        let piece: Vec<(f64, f64)> = piece.iter().flatten().copied().collect();
        match dash {
            Some((long, gap)) if piece.len() > 1 => {
                context.draw_series(DashedLineSeries::new(piece, long, gap, style))?;
            }
            _ => {
                let dot = u32::from(piece.len() == 1) * 3;
                context.draw_series(LineSeries::new(piece, style).point_size(dot))?;
            }
        }
    }
    Ok(())
}

fn cells<'a, DB: DrawingBackend + 'a>(
    cells: &Cells,
    (x, y): (Scale, Scale),
    (context, side): (&mut Context<'a, DB>, &Area<DB>),
) -> Drawn<DB> {
    let most = cells.counts.iter().flatten().copied().max().unwrap_or(1).max(2) as f64;
    let mut filled = Vec::new();
    for (row, counts) in cells.counts.iter().enumerate() {
        for (column, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let corner = |step| (place(x, cells.x[column + step]), place(y, cells.y[row + step]));
            let share = (count as f64).ln() / most.ln();
            filled.push(Rectangle::new([corner(0), corner(1)], shade(share).filled()));
        }
    }
    context.draw_series(filled)?;
    captions([format!("{most} requests per cell"), "1 request per cell".to_owned()], side)
}

/// Rates of rows over time.
fn map<'a, DB: DrawingBackend + 'a>(
    map: &Map,
    (context, side): (&mut Context<'a, DB>, &Area<DB>),
) -> Drawn<DB> {
    let most = map.rates.iter().flatten().flatten().copied().fold(1e-9, f64::max);
    let mut filled = Vec::new();
    for (row, rates) in (0u32..).zip(&map.rates) {
        for (edges, rate) in map.edges.windows(2).zip(rates) {
            let Some(rate) = rate else { continue };
            let corners = [(edges[0], f64::from(row)), (edges[1], f64::from(row + 1))];
            filled.push(Rectangle::new(corners, shade(rate / most).filled()));
        }
    }
    context.draw_series(filled)?;
    captions([format!("{}/s", decimal(most, 0)), "0/s".to_owned()], side)
}

/// The meaning of the darkest and the brightest colour.
fn captions<DB: DrawingBackend>(captions: [String; 2], side: &Area<DB>) -> Drawn<DB> {
    for (y, (text, share)) in rows(44).zip(captions.into_iter().zip([1.0, 0.0])) {
        side.draw(&Rectangle::new([(0, y), (24, y + 12)], shade(share).filled()))?;
        let font = ("sans-serif", 13).into_font().color(&INK);
        side.draw(&Text::new(text, (31, y - 1), font))?;
    }
    Ok(())
}

/// The colour of a cell, from few requests (0) to the most (1).
fn shade(share: f64) -> RGBColor {
    let at = share * (SHADES.len() - 1) as f64;
    let below = (at as usize).min(SHADES.len() - 2);
    let mix = |part: usize| {
        let (few, many) = (SHADES[below][part], SHADES[below + 1][part]);
        (few + (many - few) * (at - below as f64)) as u8
    };
    RGBColor(mix(0), mix(1), mix(2))
}
