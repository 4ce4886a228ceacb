//! Sweeps as text and CSV: a table of the cells, a map if two settings are varied, slopes, and
//! rates by the size of the database.

use super::csv::{key, quoted, separated};
use super::number::{bytes, decimal, grouped, millis};
use super::table::{Columns, align, in_ms};
use crate::plan::{Nouns, stage_title};
use crate::statistics::Fit;
use crate::statistics::median;
use crate::sweep::{Axis, CellRecord, CellResult, Curve, CurvePoint, Setting, SweepRecord};
use std::fmt::Write as _;

/// The most rows of a curve to print.
const MOST_ROWS: usize = 10;
/// Shades from the lowest rate to the highest.
const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];

/// The legend of slopes.
pub(super) const SLOPES: &str = "slope of the rate (least-squares fit), in percent of its mean";

/// All measurements of the same settings.
struct CellGroup<'a> {
    settings: &'a [Setting],
    results: Vec<&'a CellResult>,
}

impl CellGroup<'_> {
    fn rates(&self) -> impl Iterator<Item = f64> {
        self.results.iter().map(|result| result.per_s)
    }

    fn median(&self) -> f64 {
        median(self.rates()).unwrap_or_default()
    }

    fn sum(&self, of: fn(&CellResult) -> u64) -> u64 {
        self.results.iter().map(|it| of(it)).sum()
    }

    /// The longest of a time: percentiles of several runs are not merged.
    fn worst(&self, of: fn(&CellResult) -> Option<f64>) -> String {
        let known = self.results.iter().filter_map(|it| of(it)).reduce(f64::max);
        known.map_or_else(|| "too few".to_owned(), millis)
    }

    fn counted(&self) -> Nouns {
        Nouns::common(self.results.iter().map(|result| result.counted))
    }
}

/// The unit of the rates of `counted`, in its short form.
pub(super) fn rate_unit(counted: Nouns) -> String {
    format!("{}/s", counted.short)
}

/// The report for people.
pub fn sweep_text(sweep: &SweepRecord) -> String {
    let definition = &sweep.definition;
    let done = sweep.cells.iter().filter(|cell| cell.result.is_some()).count();
    let place = definition.target.as_deref().unwrap_or("embedded stand-ins, one per cell");
    let mut out = format!(
        "springload sweep · {place} · {done} of {} cells measured · order by seed {}\n",
        sweep.cells.len(),
        definition.seed,
    );
    let (groups, rate) = (groups(sweep), rate_unit(sweep.counted()));
    if let Some(stage) = groups.iter().flat_map(|group| &group.results).next() {
        let _ = writeln!(out, "rates and times of the {} stage\n", stage_title(&stage.stage));
        out.push_str(&align(&table(&definition.axes, &rate, &groups)));
        if let [rows, columns] = &definition.axes[..] {
            out.push('\n');
            map([rows, columns], &rate, &groups, &mut out);
        }
        let slopes = slopes(sweep);
        if !slopes.is_empty() {
            let _ = writeln!(out, "\n{SLOPES}");
        }
        for line in slopes {
            let _ = writeln!(out, "  {line}");
        }
        if definition.by_size {
            for group in &groups {
                curve(group, &mut out);
            }
        }
        warnings(&groups, &mut out);
    }
    out
}

fn groups(sweep: &SweepRecord) -> Vec<CellGroup<'_>> {
    let matrix = crate::sweep::matrix(&sweep.definition.axes);
    let measured = |settings: &[Setting]| -> Vec<&CellRecord> {
        sweep.cells.iter().filter(|it| it.settings == settings && it.result.is_some()).collect()
    };
    let group = |cells: Vec<_>| {
        let first: &CellRecord = cells.first().copied()?;
        let results = cells.iter().filter_map(|cell: &&CellRecord| cell.result.as_ref());
        Some(CellGroup { settings: &first.settings, results: results.collect() })
    };
    matrix.iter().filter_map(|settings| group(measured(settings))).collect()
}

fn table(axes: &[Axis], rate: &str, groups: &[CellGroup<'_>]) -> Vec<Vec<String>> {
    Columns::<'_, CellGroup<'_>>::new()
        .each(0..axes.len(), |at| axes[at].name.clone(), |it, at| it.settings[at].value.clone())
        .and(rate, |it| decimal(it.median(), 0))
        .and("least", |it| decimal(it.rates().fold(f64::INFINITY, f64::min), 0))
        .and("most", |it| decimal(it.rates().fold(0.0, f64::max), 0))
        .and("runs", |it| it.results.len().to_string())
        .and("ok", |it| grouped(it.sum(|result| result.ok)))
        .and("failed", |it| grouped(it.sum(|result| result.failed)))
        .each(CellResult::TIMES, |(it, _)| in_ms(it), |group, (_, us)| group.worst(us))
        .and("trusted", |it| {
            let trusted = it.results.iter().filter(|result| result.trustworthy).count();
            format!("{trusted} of {}", it.results.len())
        })
        .table(groups)
}

/// One setting down, the other across, with the rate in each cell.
fn map([down, across]: [&Axis; 2], rate: &str, groups: &[CellGroup<'_>], out: &mut String) {
    let most = groups.iter().map(CellGroup::median).fold(0.0, f64::max);
    let mut rows = vec![vec![format!("{rate} · {} ↓ {} →", down.name, across.name)]];
    rows[0].extend(across.values.iter().cloned());
    for value in &down.values {
        let mut row = vec![value.clone()];
        for other in &across.values {
            let found = groups
                .iter()
                .find(|it| it.settings[0].value == *value && it.settings[1].value == *other);
            row.push(found.map_or_else(String::new, |group| {
                let share = if most > 0.0 { group.median() / most } else { 0.0 };
                let shade = SHADES[((share * SHADES.len() as f64) as usize).min(SHADES.len() - 1)];
                format!("{} {shade}", decimal(group.median(), 0))
            }));
        }
        rows.push(row);
    }
    out.push_str(&align(&rows));
}

/// The effect of each numeric axis, and of the size of the database, on the rate. Runs that are
/// not trustworthy are left out.
pub(super) fn slopes(sweep: &SweepRecord) -> Vec<String> {
    let mut lines: Vec<String> = (0..sweep.definition.axes.len())
        .filter_map(|place| {
            let axis = &sweep.definition.axes[place];
            let fit = Fit::of(&by_setting(sweep, place)?)?;
            Some(format!("{fit} per doubling of {} ({})", axis.name, basis(&fit, "runs")))
        })
        .collect();
    if sweep.definition.by_size {
        lines.extend(by_size(&groups(sweep)));
    }
    let results = sweep.cells.iter().filter_map(|cell| cell.result.as_ref());
    let doubtful = results.filter(|result| !result.trustworthy).count();
    if doubtful > 0 {
        let runs = if doubtful == 1 { "run is" } else { "runs are" };
        lines.push(format!("{doubtful} {runs} not trustworthy and left out"));
    }
    lines
}

/// Groups of points that share all other settings.
type GroupedPoints = Vec<(f64, f64)>;

/// The logarithm of a setting and the rate of each run, grouped by all other settings, so that
/// the slope does not depend on them when runs are left out.
fn by_setting(sweep: &SweepRecord, place: usize) -> Option<Vec<GroupedPoints>> {
    let axis = &sweep.definition.axes[place];
    let numbers = axis.numbers()?;
    let mut groups: Vec<(Vec<&Setting>, GroupedPoints)> = Vec::new();
    for cell in &sweep.cells {
        let Some(result) = cell.result.as_ref().filter(|it| it.trustworthy) else { continue };
        let value = axis.values.iter().position(|it| *it == cell.settings[place].value)?;
        if numbers[value] <= 0.0 {
            continue;
        }
        let others = cell.settings.iter().enumerate().filter(|(other, _)| *other != place);
        let others: Vec<_> = others.map(|(_, setting)| setting).collect();
        let point = (numbers[value].log2(), result.per_s);
        match groups.iter_mut().find(|group| group.0 == others) {
            Some((_, points)) => points.push(point),
            None => groups.push((others, vec![point])),
        }
    }
    Some(groups.into_iter().map(|(_, points)| points).collect())
}

/// The effect of the size of the database on the rate.
fn by_size(groups: &[CellGroup<'_>]) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut unknown, mut with_windows): (Vec<(&str, String)>, _) = (Vec::new(), 0);
    for group in groups {
        // The windows of each run form a group.
        let sound = |of: fn(&CurvePoint) -> Option<f64>| -> Vec<GroupedPoints> {
            let trusted = group.results.iter().filter(|result| result.trustworthy);
            let curves = trusted.filter_map(|result| result.curve.as_ref());
            let points =
                |curve: &Curve| curve.sound().filter_map(|it| Some((of(it)?, it.per_s))).collect();
            curves.map(points).filter(|run: &GroupedPoints| !run.is_empty()).collect()
        };
        let name = name(group);
        let per = |unit: &str, runs: &[GroupedPoints]| {
            let fit = Fit::of_runs(runs)?;
            Some(format!("{name}{fit} per {unit} ({})", basis(&fit, "windows")))
        };
        let documents = sound(|it| Some(it.documents as f64 / 1e6));
        with_windows += usize::from(!documents.is_empty());
        lines.extend(per(&format!("million {}", group.counted().many), &documents));
        for (what, points) in [
            ("files", sound(|it| Some(it.file_bytes? / 1e9))),
            ("live data", sound(|it| Some(it.active_bytes? / 1e9))),
        ] {
            if points.is_empty() && !documents.is_empty() {
                unknown.push((what, name.clone()));
            }
            lines.extend(per(&format!("GB of {what}"), &points));
        }
    }
    for what in ["files", "live data"] {
        let names = unknown.iter().filter(|it| it.0 == what).map(|it| it.1.as_str());
        let names: Vec<&str> = names.collect();
        let of_all = !names.is_empty() && names.len() == with_windows;
        let names = if of_all { vec![""] } else { names };
        let line = |name| format!("{name}n/a per GB of {what}: the server does not report it");
        lines.extend(names.into_iter().map(line));
    }
    lines
}

fn basis(fit: &Fit, what: &str) -> String {
    let noise = if fit.may_be_noise() { "; may be noise" } else { "" };
    format!("R² {:.2}, {} {what}{noise}", fit.r_squared, fit.points)
}

/// The settings of a group, as a prefix for a line.
fn name(group: &CellGroup<'_>) -> String {
    let settings: Vec<_> =
        group.settings.iter().map(|it| format!("{}={}", it.name, it.value)).collect();
    if settings.is_empty() { String::new() } else { settings.join(" ") + ": " }
}

/// Writes the first measurement of a group by the size of the database, in a few intervals.
fn curve(group: &CellGroup<'_>, out: &mut String) {
    let Some(curve) = group.results.iter().find_map(|result| result.curve.as_ref()) else { return };
    let _ = writeln!(out, "\n{}rate by size", name(group));
    let (many, rate) = (group.counted().many, rate_unit(group.counted()));
    let mut rows = vec![[many, "files", "live data", &rate, ""].map(str::to_owned).to_vec()];
    let each = curve.points.len().div_ceil(MOST_ROWS).max(1);
    let (mut since_s, mut since) = (0.0, 0);
    for stretch in curve.points.chunks(each) {
        let last = stretch[stretch.len() - 1];
        let size = |size: Option<f64>| size.map_or_else(|| "n/a".to_owned(), |it| bytes(it as u64));
        let length_s = last.at_s - since_s;
        let rate = if length_s > 0.0 {
            last.documents.saturating_sub(since) as f64 / length_s
        } else {
            0.0
        };
        let file = stretch.iter().rev().find_map(|it| it.file_bytes);
        let active = stretch.iter().rev().find_map(|it| it.active_bytes);
        let gap = stretch.iter().any(|point| point.gap);
        rows.push(vec![
            grouped(last.documents),
            size(file),
            size(active),
            decimal(rate, 0),
            if gap { "the server was away".to_owned() } else { String::new() },
        ]);
        (since_s, since) = (last.at_s, last.documents);
    }
    out.push_str(&align(&rows));
}

fn warnings(groups: &[CellGroup<'_>], out: &mut String) {
    let mut distinct: Vec<&String> = Vec::new();
    for warning in groups.iter().flat_map(|it| &it.results).flat_map(|it| &it.warnings) {
        if !distinct.contains(&warning) {
            distinct.push(warning);
        }
    }
    if !distinct.is_empty() {
        out.push_str("\nwarnings of the runs\n");
        for warning in distinct {
            let _ = writeln!(out, "  ! {warning}");
        }
    }
}

/// A run, and a point of its curve if rates by size were requested.
struct CsvRow<'a> {
    cell: &'a CellRecord,
    result: &'a CellResult,
    point: CurvePoint,
}

/// One row per run, or per point of its curve if rates by size were requested.
pub fn sweep_csv(sweep: &SweepRecord) -> String {
    let (axes, by_size) = (&sweep.definition.axes, sweep.definition.by_size);
    let number = |value: Option<f64>| value.map_or_else(String::new, |it| it.to_string());
    let columns = Columns::<'_, CsvRow<'_>>::new()
        .each(
            0..axes.len(),
            |at| quoted(&axes[at].name),
            |it, at| quoted(&it.cell.settings[at].value),
        )
        .and("round", |it| it.cell.round.to_string());
    let columns = if by_size {
        columns
            .and("documents", |it| it.point.documents.to_string())
            .and("at_s", |it| it.point.at_s.to_string())
            .and("docs_per_s", |it| it.point.per_s.to_string())
            .and("file_bytes", move |it| number(it.point.file_bytes))
            .and("active_bytes", move |it| number(it.point.active_bytes))
            .and("gap", |it| it.point.gap.to_string())
    } else {
        columns
            .and("docs_per_s", |it| it.result.per_s.to_string())
            .and("ok", |it| it.result.ok.to_string())
            .and("failed", |it| it.result.failed.to_string())
            .each(
                CellResult::TIMES,
                |(it, _)| format!("{}_us", key(it)),
                move |row, (_, us)| number(us(row.result)),
            )
            .and("trustworthy", |it| it.result.trustworthy.to_string())
    };
    let mut rows = Vec::new();
    for cell in &sweep.cells {
        let Some(result) = &cell.result else { continue };
        let points: Vec<CurvePoint> = if by_size {
            result.curve.iter().flat_map(|curve| curve.points.iter().copied()).collect()
        } else {
            vec![CurvePoint::default()]
        };
        rows.extend(points.into_iter().map(|point| CsvRow { cell, result, point }));
    }
    separated(&columns.table(&rows))
}

/// The series of couchdb-performance-tests: `documents docs/s`, one line per window. Anything the
/// original did not have is in comments: gaps, and a last window that is not full.
pub fn bulk_perf_dat(curve: &Curve) -> String {
    let mut out = String::new();
    let mut written = 0;
    for point in &curve.points {
        while let Some(gap) = curve.gaps.get(written).filter(|it| f64::from(it.from_s) < point.at_s)
        {
            let _ = writeln!(out, "# gap: no answer from {} s to {} s", gap.from_s, gap.to_s);
            written += 1;
        }
        if point.partial {
            out.push_str("# the last window is not full:\n");
        }
        let mark = if point.partial { "# " } else { "" };
        let _ = writeln!(out, "{mark}{} {}", point.documents, point.per_s);
    }
    out
}

#[cfg(test)]
#[path = "sweep_tests.rs"]
pub(super) mod tests;
