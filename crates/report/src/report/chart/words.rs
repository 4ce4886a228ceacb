//! Describes a chart in words for those who cannot see it: what stands out, and where.

use super::{Chart, ChartAxis, CountGrid, Line, Map, Scale};
use crate::report::number::{decimal, grouped};

/// The most lines to describe; the rest are counted.
const MOST_LINES: usize = 4;
/// The most points to list one by one.
const MOST_POINTS: usize = 8;

/// What a chart shows, in one sentence without its full stop.
pub(super) fn words(chart: &Chart) -> String {
    let over_time = chart.x.scale == Scale::Time && !chart.says_time;
    let title = format!("{}{}", chart.title, if over_time { " over time" } else { "" });
    let description = match (&chart.cells, &chart.map) {
        (Some(cells), _) => of_cells(cells),
        (_, Some(map)) if map.edges.is_empty() => of_pairs(chart, map),
        (_, Some(map)) => of_rows(map),
        _ => of_lines(chart),
    };
    let bands =
        chart.bands.iter().map(|band| format!("; {} at {} s", band.text, short(band.from_s)));
    format!("{title}: {description}{}", bands.take(MOST_LINES).collect::<String>())
}

/// A number with three digits or more.
fn short(value: f64) -> String {
    let places = match value.abs() {
        it if it >= 100.0 || it == 0.0 => 0,
        it if it >= 10.0 => 1,
        it if it >= 1.0 => 2,
        _ => 3,
    };
    let text = decimal(value, places);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A position on an axis, to follow `at`.
fn place(axis: &ChartAxis, value: f64) -> String {
    match axis.scale {
        Scale::Time => format!("{} s", short(value)),
        Scale::Nines => format!("{} %", trimmed(100.0 - 100.0 / value)),
        Scale::Linear | Scale::Log => match axis.names.get(value as usize) {
            Some(name) => format!("{} {name}", axis.title),
            None => format!("{} {}", short(value), axis.title),
        },
    }
}

fn trimmed(value: f64) -> String {
    decimal(value, 4).trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn of_lines(chart: &Chart) -> String {
    let lines: Vec<&Line> = chart.lines.iter().filter(|line| !line.hidden).collect();
    let parts = lines.iter().take(MOST_LINES).filter_map(|line| of_line(chart, line));
    let mut parts: Vec<String> = parts.collect();
    if lines.len() > MOST_LINES {
        parts.push(format!("and {} more lines", lines.len() - MOST_LINES));
    }
    if parts.is_empty() { "no data".to_owned() } else { parts.join("; ") }
}

fn of_line(chart: &Chart, line: &Line) -> Option<String> {
    let points = line.x.iter().zip(&line.y);
    let points: Vec<(f64, f64)> = points.filter_map(|(&x, y)| Some((x, (*y)?))).collect();
    let value = |y: f64| format!("{}{}", short(y), chart.y.unit);
    let at = |(x, y): (f64, f64)| format!("{} at {}", value(y), place(&chart.x, x));
    let name = if chart.legend { format!("{} ", line.name) } else { String::new() };
    let by_value = |one: &&(f64, f64), other: &&(f64, f64)| one.1.total_cmp(&other.1);
    let (low, high) = (points.iter().min_by(by_value)?, points.iter().max_by(by_value)?);
    if chart.x.scale == Scale::Nines {
        let near = |x: f64| points.iter().copied().find(|it| it.0 >= x * 0.999);
        let listed = [2.0, 10.0, 100.0, 1_000.0].into_iter().filter_map(near).map(at);
        return Some(format!("{name}{}", listed.collect::<Vec<_>>().join(", ")));
    }
    let is_mark = points.len() > 1 && points.iter().all(|it| it.0.total_cmp(&low.0).is_eq());
    if is_mark {
        return Some(format!("{name}at {}", place(&chart.x, low.0)));
    }
    let across = points.len() == 2 || chart.x.scale == Scale::Time;
    if across && low.1.total_cmp(&high.1).is_eq() {
        return Some(format!("{name}{} throughout", value(low.1)));
    }
    if chart.x.scale != Scale::Time && points.len() <= MOST_POINTS {
        return Some(format!(
            "{name}{}",
            points.into_iter().map(at).collect::<Vec<_>>().join(", ")
        ));
    }
    let mut values: Vec<f64> = points.iter().map(|point| point.1).collect();
    values.sort_by(f64::total_cmp);
    let median = value(values[values.len() / 2]);
    Some(format!("{name}median {median}, lowest {}, highest {}", at(*low), at(*high)))
}

fn of_cells(cells: &CountGrid) -> String {
    let sums: Vec<u64> = cells.counts.iter().map(|row| row.iter().sum()).collect();
    let most = sums.iter().enumerate().max_by_key(|(_, sum)| **sum);
    let last = sums.iter().rposition(|sum| *sum > 0);
    let (Some((most, &sum)), Some(last)) = (most, last) else { return "no data".to_owned() };
    let slowest = cells.counts[last].iter().rposition(|count| *count > 0).unwrap_or(0);
    let middle = f64::midpoint(cells.x[slowest], cells.x[slowest + 1]);
    format!(
        "most requests, {}, took {} to {} ms; the slowest {} to {} ms, around {} s",
        grouped(sum),
        short(cells.y[most]),
        short(cells.y[most + 1]),
        short(cells.y[last]),
        short(cells.y[last + 1]),
        short(middle),
    )
}

/// The rates of a map, with their rows and columns.
fn rates(map: &Map) -> impl Iterator<Item = (usize, usize, f64)> {
    map.rates.iter().enumerate().flat_map(|(row, rates)| {
        let columns = rates.iter().enumerate();
        columns.filter_map(move |(column, rate)| Some((row, column, (*rate)?)))
    })
}

fn of_pairs(chart: &Chart, map: &Map) -> String {
    let place = |axis: &ChartAxis, at: usize| {
        format!("{} {}", axis.title, axis.names.get(at).map_or("", String::as_str))
    };
    let at = |(row, column, rate): (usize, usize, f64)| {
        let (down, across) = (place(&chart.y, row), place(&chart.x, column));
        format!("{}/s at {down} and {across}", short(rate))
    };
    let by_rate =
        |one: &(usize, usize, f64), other: &(usize, usize, f64)| one.2.total_cmp(&other.2);
    let ends = rates(map).max_by(by_rate).zip(rates(map).min_by(by_rate));
    ends.map_or("no data".to_owned(), |(high, low)| {
        format!("highest {}, lowest {}", at(high), at(low))
    })
}

fn of_rows(map: &Map) -> String {
    let mean = |rates: &Vec<Option<f64>>| {
        let known: Vec<f64> = rates.iter().flatten().copied().collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    let means: Vec<f64> = map.rates.iter().filter_map(mean).collect();
    let low = means.iter().copied().min_by(f64::total_cmp);
    let high = means.iter().copied().max_by(f64::total_cmp);
    let rows = map.rates.len();
    low.zip(high).map_or("no data".to_owned(), |(low, high)| {
        format!("{rows} rows, {}/s to {}/s on average", short(low), short(high))
    })
}
