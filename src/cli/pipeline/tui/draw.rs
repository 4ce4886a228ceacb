//! Drawing the live view: a pure function from the model to a frame of any size.

use super::model::{Model, Second};
use crate::measure::earned;
use crate::op::Failure;
use crate::report::{grouped, millis, shown};
use ratatui_core::layout::{Alignment, Constraint, Layout, Rect};
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::symbols::bar::NINE_LEVELS;
use ratatui_core::terminal::Frame;
use ratatui_core::text::{Line, Span, Text};

/// The width at which everything fits.
const WIDE: u16 = 72;
/// Columns for the name and value to the left of a curve.
const NAME_COLUMNS: u16 = 18;
/// Columns for the scale to the right of a curve.
const SCALE_COLUMNS: u16 = 14;
const CURVE_LINES_MAX: u16 = 6;
const ERROR_LINES: u16 = 3;

#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    /// Whether to use colors; bold and dim are used in any case.
    pub(super) color: bool,
    /// Whether to avoid characters beyond ASCII.
    pub(super) ascii: bool,
}

impl Look {
    fn fg(self, color: Color) -> Style {
        if self.color { Style::new().fg(color) } else { Style::new() }
    }
}

const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const DIM: Style = Style::new().add_modifier(Modifier::DIM);

pub(super) fn draw(frame: &mut Frame<'_>, model: &Model, look: Look) {
    let area = frame.area();
    let kinds = 1 + model.progress.kinds.len() as u16;
    let gap = u16::from(area.height >= 14 + kinds);
    // Title, place, gauge, table, errors, keys, and the gaps between them.
    let rest = 3 + kinds + ERROR_LINES + 1 + 3 * gap;
    let curve = (area.height.saturating_sub(rest) / 3).clamp(1, CURVE_LINES_MAX);
    // A tall curve has its own gap.
    let above = if curve > 2 { 0 } else { gap };
    let [title, place, gauge, _, curves, _, table, _, errors, _, keys] =
        area.layout(&Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Length(above),
            Constraint::Length(3 * curve),
            Constraint::Length(gap),
            Constraint::Length(kinds),
            Constraint::Length(gap),
            Constraint::Max(ERROR_LINES),
            Constraint::Fill(1),
            Constraint::Length(1),
        ]));
    let head = Line::from(vec![
        Span::styled("springload", BOLD),
        Span::raw(format!(" · {}", model.head.join(" · "))),
    ]);
    frame.render_widget(head, title);
    draw_place(frame, place, gauge, model, look);
    draw_curves(frame, curves, model, look);
    draw_kinds(frame, table, model, look);
    draw_errors(frame, errors, model, look);
    draw_keys(frame, keys, model);
    if look.ascii {
        for cell in &mut frame.buffer_mut().content {
            let symbol = shown(cell.symbol(), true);
            // A cell has one column.
            cell.set_symbol(symbol.get(..1).unwrap_or(" "));
        }
    }
}

/// Which stage this is, how far along it is, and how long it will take.
fn draw_place(frame: &mut Frame<'_>, place: Rect, gauge: Rect, model: &Model, look: Look) {
    let mut time = seconds(model.progress.elapsed_s);
    if let Some(length) = model.progress.length_s {
        time = format!("{time} of {}", seconds(length));
    }
    let state = if model.stopping {
        Span::styled(" · stopping: waiting for answers", look.fg(Color::Yellow).patch(BOLD))
    } else {
        Span::raw(match model.left_s() {
            Some(left) => format!(" · {} left", seconds(left.ceil())),
            None if model.is_waiting() => " · waiting for answers".to_owned(),
            None => String::new(),
        })
    };
    frame.render_widget(
        Line::from(vec![Span::styled(model.place(), BOLD), Span::raw(format!(" · {time}")), state]),
        place,
    );
    if let Some(share) = model.share() {
        let label = format!("{:>3.0} % ", (share * 100.0).floor());
        let columns = usize::from(gauge.width).saturating_sub(label.len());
        let done = (columns as f64 * share) as usize;
        let line = vec![
            Span::raw(label),
            Span::styled("━".repeat(done), look.fg(Color::Green)),
            Span::styled("─".repeat(columns - done), DIM),
        ];
        frame.render_widget(Line::from(line), gauge);
    }
}

/// Seconds as `7 s`, `1:07` or `1:02:03`.
fn seconds(seconds: f64) -> String {
    let whole = seconds.max(0.0) as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m}:{s:02}"),
        (h, m, s) => format!("{h}:{m:02}:{s:02}"),
    }
}

/// A value now, and over the last seconds.
struct Curve {
    name: String,
    now: String,
    points: Vec<Option<u64>>,
    /// Formats a value.
    text: fn(u64) -> String,
    color: Color,
}

/// Rate and percentiles over the last seconds.
fn draw_curves(frame: &mut Frame<'_>, area: Rect, model: &Model, look: Look) {
    let progress = &model.progress;
    let (samples, fresh) = (progress.timed_per_s, model.fresh());
    let points = |value: fn(&Second) -> u64| -> Vec<Option<u64>> {
        model.seconds.iter().map(|it| it.as_ref().map(value)).collect()
    };
    let times = |name: &str, ns, percentile, points, color| {
        let now = if fresh { time(ns, earned(samples, percentile)) } else { "-".to_owned() };
        Curve { name: name.to_owned(), now, points, text: |ns| time(ns, true), color }
    };
    let rate = Curve {
        name: format!("ok {}/s", progress.unit),
        now: grouped(if fresh { progress.rate_per_s } else { 0 }),
        points: points(|it| it.ok),
        text: grouped,
        color: Color::Green,
    };
    let p50 = times("p50 ms", progress.p50_ns, 50.0, points(|it| it.p50_ns), Color::Cyan);
    let p99 = times("p99 ms", progress.p99_ns, 99.0, points(|it| it.p99_ns), Color::Yellow);
    let rows: [Rect; 3] = area.layout(&Layout::vertical([Constraint::Fill(1); 3]));
    for (row, curve) in rows.into_iter().zip([rate, p50, p99]) {
        // If there is room, leave a line between two curves.
        let gap = u16::from(row.height > 2);
        let row = Rect { y: row.y + gap, height: row.height - gap, ..row };
        draw_curve(frame, row, &curve, look);
    }
}

/// One curve, a column per second; only the latest seconds if there are too many.
fn draw_curve(frame: &mut Frame<'_>, area: Rect, curve: &Curve, look: Look) {
    let scale = if area.width >= WIDE { SCALE_COLUMNS } else { 0 };
    let [left, middle, right] = area.layout(&Layout::horizontal([
        Constraint::Length(NAME_COLUMNS),
        Constraint::Fill(1),
        Constraint::Length(scale),
    ]));
    let pad = usize::from(NAME_COLUMNS) - 1 - curve.name.len();
    let now = Span::styled(format!("{:>pad$}", curve.now), BOLD);
    frame.render_widget(Line::from(vec![Span::raw(&*curve.name), now]), bottom(left));
    let shown = &curve.points[curve.points.len().saturating_sub(usize::from(middle.width))..];
    let most = shown.iter().flatten().copied().max().unwrap_or(0);
    draw_bars(frame, middle, shown, most.max(1), look.fg(curve.color));
    if !shown.is_empty() {
        let top = Line::styled(format!("max {}", (curve.text)(most)), DIM);
        let first = Rect { height: right.height.min(1), ..right };
        frame.render_widget(top.alignment(Alignment::Right), first);
    }
}

/// A bar in each column; none for a second without a value.
fn draw_bars(frame: &mut Frame<'_>, area: Rect, values: &[Option<u64>], most: u64, style: Style) {
    let symbols = [
        NINE_LEVELS.empty,
        NINE_LEVELS.one_eighth,
        NINE_LEVELS.one_quarter,
        NINE_LEVELS.three_eighths,
        NINE_LEVELS.half,
        NINE_LEVELS.five_eighths,
        NINE_LEVELS.three_quarters,
        NINE_LEVELS.seven_eighths,
        NINE_LEVELS.full,
    ];
    for (column, value) in area.columns().zip(values) {
        let lines = u128::from(area.height);
        let mut eighths = u128::from(value.unwrap_or(0)) * lines * 8 / u128::from(most);
        for cell in column.rows().rev() {
            let symbol = symbols[eighths.min(8) as usize];
            frame.buffer_mut()[cell.as_position()].set_symbol(symbol).set_style(style);
            eighths = eighths.saturating_sub(8);
        }
    }
}

/// The last line of an area.
const fn bottom(area: Rect) -> Rect {
    let height = if area.height == 0 { 0 } else { 1 };
    Rect { y: area.y + area.height - height, height, ..area }
}

/// A response time in milliseconds; one that a report would leave out is marked with `~`.
fn time(ns: u64, earned: bool) -> String {
    let mark = if earned { "" } else { "~" };
    format!("{mark}{}", millis(ns as f64 / 1e3))
}

/// The kinds of operations: the last second, then the whole stage.
fn draw_kinds(frame: &mut Frame<'_>, area: Rect, model: &Model, look: Look) {
    let wide = area.width >= WIDE;
    let right = |text: String| Line::from(text).alignment(Alignment::Right);
    let unit = model.progress.unit;
    let counts = [format!("ok {unit}"), format!("failed {unit}")];
    let head: &[&str] = if wide {
        &["", "requests/s", "p50 ms", "p99 ms", &counts[0], &counts[1]]
    } else {
        &["", "req/s", "p99 ms", "failed"]
    };
    let rows = model.progress.kinds.iter().map(|kind| {
        let requests = if model.fresh() { kind.requests_per_s } else { 0 };
        let show = |ns, percentile| {
            let text = time(ns, earned(kind.timed_per_s, percentile));
            right(if requests == 0 || kind.timed_per_s == 0 { "-".to_owned() } else { text })
        };
        let mut failed = right(grouped(kind.failed));
        if kind.failed > 0 {
            failed = failed.style(look.fg(Color::Red).patch(BOLD));
        }
        let mut cells = vec![Line::from(kind.kind.name()), right(grouped(requests))];
        if wide {
            cells.push(show(kind.p50_ns, 50.0));
        }
        cells.push(show(kind.p99_ns, 99.0));
        if wide {
            cells.push(right(grouped(kind.ok)));
        }
        cells.push(failed);
        cells
    });
    let names = model.progress.kinds.iter().map(|kind| kind.kind.name().len() as u16).max();
    let name = names.unwrap_or(0).max(NAME_COLUMNS / 2);
    let width = if wide { 12 } else { 8 };
    let widths = std::iter::once(Constraint::Length(name))
        .chain(vec![Constraint::Length(width); head.len() - 1]);
    let columns = Layout::horizontal(widths).spacing(1);
    let head = head.iter().map(|text| right((*text).to_owned()).style(DIM)).collect();
    for (line, cells) in area.rows().zip(std::iter::once(head).chain(rows)) {
        let places = columns.split(line);
        cells
            .into_iter()
            .zip(places.iter())
            .for_each(|(it, &place)| frame.render_widget(it, place));
    }
}

/// Failures, most frequent first, with their share of all documents.
fn draw_errors(frame: &mut Frame<'_>, area: Rect, model: &Model, look: Look) {
    let progress = &model.progress;
    let all = (progress.ok + progress.failed).max(1) as f64;
    let mut counts: Vec<(Failure, u64)> =
        Failure::ALL.into_iter().map(|it| (it, progress.failures[it.index()])).collect();
    counts.retain(|&(_, count)| count > 0);
    counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let mut lines = vec![Line::styled("no errors", DIM)];
    if !counts.is_empty() {
        let of = |(class, count): (Failure, u64)| {
            let share = match count as f64 / all * 100.0 {
                share if share < 0.01 => "<0.01".to_owned(),
                share => format!("{share:.2}"),
            };
            format!("{} {} ({share} %)", class.name(), grouped(count))
        };
        let list: Vec<_> = counts.into_iter().map(of).collect();
        lines = vec![Span::styled("errors ", look.fg(Color::Red).patch(BOLD)).into()];
        for word in list.join(" · ").split(' ') {
            let more = Span::raw(format!(" {word}"));
            match lines.last_mut() {
                Some(line) if line.width() + more.width() <= area.width.into() => {
                    line.push_span(more);
                }
                _ => lines.push(Line::raw(word.to_owned())),
            }
        }
    }
    frame.render_widget(Text::from(lines), area);
}

fn draw_keys(frame: &mut Frame<'_>, area: Rect, model: &Model) {
    let keys =
        if model.stopping { "q or Ctrl-C: exit at once" } else { "q or Ctrl-C: stop and report" };
    frame.render_widget(Line::styled(keys, DIM), area);
    if area.width >= WIDE {
        let note = "~ fewer than ten samples beyond";
        frame.render_widget(Line::styled(note, DIM).alignment(Alignment::Right), area);
    }
}
