//! Hands charts to plotters.

use super::axis::{Places, place};
use super::{CHART_HEIGHT, LINE_HEIGHT, Sheet};
use crate::report::chart::{Cells, Chart, Line, Scale, Stroke};
use plotters::chart::{ChartBuilder, ChartContext, SeriesLabelPosition};
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{PathElement, Rectangle, Text};
use plotters::prelude::DrawingBackend;
use plotters::series::{DashedLineSeries, LineSeries};
use plotters::style::{BLACK, Color, IntoFont, RGBColor, ShapeStyle, WHITE};

const INK: RGBColor = RGBColor(27, 31, 36);
const GRID: RGBColor = RGBColor(223, 227, 232);
/// The same as those of the page in light.
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
/// Colours of few and of many requests in a cell.
const FEW: (f64, f64, f64) = (219.0, 231.0, 245.0);
const MANY: (f64, f64, f64) = (42.0, 15.0, 74.0);

type Area<DB> = DrawingArea<DB, Shift>;
type Coordinates = Cartesian2d<Places, Places>;
type Context<'a, DB> = ChartContext<'a, DB, Coordinates>;
type Drawn<DB> = Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

/// Draws a whole sheet. The backends write to memory, which does not fail.
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
    for (number, line) in sheet.lines.iter().enumerate() {
        let colour = if line.starts_with(['!', '✗']) { RGBColor(179, 32, 42) } else { INK };
        let font = ("sans-serif", 14).into_font().color(&colour);
        let y = 48 + LINE_HEIGHT as i32 * number as i32;
        head.draw(&Text::new(line.as_str(), (20, y), font))?;
    }
    let mut rest = rest;
    for chart in &sheet.charts {
        let (area, below) = rest.split_vertically(CHART_HEIGHT);
        self::chart(chart, &area)?;
        rest = below;
    }
    root.present()
}

fn chart<DB: DrawingBackend>(chart: &Chart, area: &Area<DB>) -> Drawn<DB> {
    let cells = chart.cells.iter();
    let cell_x = cells.clone().flat_map(|it| it.x.iter().copied());
    let cell_y = cells.flat_map(|it| it.y.iter().copied());
    let x = Places::new(chart.x.scale, chart.lines.iter().flat_map(|it| it.x.clone()).chain(cell_x));
    let y = chart.lines.iter().flat_map(|it| it.y.iter().flatten().copied()).chain(cell_y);
    let y = Places::new(chart.y.scale, y);
    let mut context = ChartBuilder::on(area)
        .caption(&chart.title, ("sans-serif", 18).into_font().color(&INK))
        .margin_left(14)
        .margin_right(24)
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
        self::cells(cells, (chart.x.scale, chart.y.scale), &mut context)?;
    }
    for line in chart.lines.iter().filter(|line| !line.hidden) {
        self::line(line, (chart.x.scale, chart.y.scale), &mut context)?;
    }
    if chart.lines.is_empty() {
        return Ok(());
    }
    context
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.85))
        .border_style(GRID)
        .label_font(("sans-serif", 13).into_font().color(&INK))
        .draw()
}

/// One line, piece by piece between its gaps.
fn line<'a, DB: DrawingBackend + 'a>(
    line: &Line,
    (x, y): (Scale, Scale),
    context: &mut Context<'a, DB>,
) -> Drawn<DB> {
    let colour = TONES[line.tone % TONES.len()];
    let style = ShapeStyle { color: colour.to_rgba(), filled: true, stroke_width: 2 };
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
    // What stands in the legend is a series of its own: the line may be in many pieces, or none.
    let sample = context.draw_series(std::iter::empty::<PathElement<(f64, f64)>>())?;
    sample.label(&line.name).legend(move |(at, y)| {
        let end = if dash.is_none() { at + 20 } else { at + 9 };
        PathElement::new(vec![(at, y), (end, y)], style)
    });
    Ok(())
}

fn cells<'a, DB: DrawingBackend + 'a>(
    cells: &Cells,
    (x, y): (Scale, Scale),
    context: &mut Context<'a, DB>,
) -> Drawn<DB> {
    let most = cells.counts.iter().flatten().copied().max().unwrap_or(1).max(2) as f64;
    let mut filled = Vec::new();
    for (row, counts) in cells.counts.iter().enumerate() {
        for (column, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let corner = |step| {
                (place(x, cells.x[column + step]), place(y, cells.y[row + step]))
            };
            let share = (count as f64).ln() / most.ln();
            let mix = |few: f64, many: f64| (few + (many - few) * share) as u8;
            let colour = RGBColor(mix(FEW.0, MANY.0), mix(FEW.1, MANY.1), mix(FEW.2, MANY.2));
            filled.push(Rectangle::new([corner(0), corner(1)], colour.filled()));
        }
    }
    context.draw_series(filled)?;
    let note = format!("light: 1 request per cell · dark: {most}");
    let font = ("sans-serif", 13).into_font().color(&BLACK);
    let at = context.plotting_area().get_pixel_range();
    let area = context.plotting_area().strip_coord_spec();
    let x = at.0.end - at.0.start - 290;
    area.draw(&Text::new(note, (x, 6), font))
}
