//! The record of a sweep: its cells, the paths of their records, and their results.

use super::axis::{Axis, Setting, matrix};
use super::gap::{Gap, gaps};
use crate::measure::{Growth, Histogram, Statistic};
use crate::plan::{Nouns, Purpose};
use crate::record::{RunRecord, StageRecord, Verdict};
use serde::{Deserialize, Serialize};
use std::path::{Component, Path};

/// The definition of a sweep: the same definition gives the same cells in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    /// The user's name for the sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The server, without passwords; `None`: the stand-in, a new one for each cell.
    pub target: Option<String>,
    /// The addresses of the other nodes, without passwords.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// The flags of `springload run` that all cells share.
    pub common: Vec<String>,
    /// What is varied.
    pub axes: Vec<Axis>,
    /// How often each combination is measured.
    pub repeat: u64,
    /// The seed of the order.
    pub seed: u64,
    /// Report rates by the size of the database.
    pub by_size: bool,
    /// The name of the preset, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
}

/// One sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepRecord {
    /// Increased when readers of the previous layout would misread it.
    pub schema_version: u32,
    /// The definition.
    pub definition: Definition,
    /// The cells, in the order in which they are measured.
    pub cells: Vec<CellRecord>,
}

/// One cell: an ordinary run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellRecord {
    /// Its settings.
    pub settings: Vec<Setting>,
    /// The round: the number of this measurement of the settings, from 1.
    pub round: u64,
    /// The path of its record, relative to the folder of the sweep.
    pub run: String,
    /// The result; `None`: not measured yet.
    pub result: Option<CellResult>,
}

/// The result of a run in a sweep.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellResult {
    /// The stage that these results are from.
    pub stage: String,
    /// What its rates count, such as `rows`; documents if this is missing.
    #[serde(default, skip_serializing_if = "Nouns::are_documents")]
    pub counted: Nouns,
    /// The name of its verdict; empty in older files.
    #[serde(default)]
    pub verdict: String,
    /// Documents that succeeded, per second.
    pub per_s: f64,
    /// Documents that succeeded.
    pub ok: u64,
    /// Documents that failed.
    pub failed: u64,
    /// The median response time, in microseconds.
    pub p50_us: Option<f64>,
    /// The 99th percentile of response times, in microseconds.
    pub p99_us: Option<f64>,
    /// Whether the numbers can be trusted.
    pub trustworthy: bool,
    /// The run's warnings.
    pub warnings: Vec<String>,
    /// The rate by the size of the database, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curve: Option<Curve>,
}

/// The rate of a fill by the size of the database.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// The points, in chronological order.
    pub points: Vec<CurvePoint>,
    /// When the server was away.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<Gap>,
}

/// One point of a curve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Documents in the database.
    pub documents: u64,
    /// The time, in seconds from the stage's start.
    pub at_s: f64,
    /// Documents per second since the previous point.
    pub per_s: f64,
    /// The size of the database's files, if the server reports it: interpolated between readings.
    pub file_bytes: Option<f64>,
    /// The size of live data in them.
    pub active_bytes: Option<f64>,
    /// Whether it is the last, incomplete window.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// Whether the server was away at any time since the previous point.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gap: bool,
}

impl SweepRecord {
    /// The most cells of a sweep.
    pub const MOST_CELLS: usize = 10_000;

    /// Refuses values that no sweep can have, as in an edited file.
    ///
    /// # Errors
    /// Returns an error that names the impossible value.
    pub fn check(&self) -> Result<(), &'static str> {
        let mut values = self.definition.axes.iter().map(|axis| axis.values.len());
        let all = values.try_fold(1, usize::checked_mul);
        if all.is_none_or(|all| all > Self::MOST_CELLS) || self.cells.len() > Self::MOST_CELLS {
            return Err("it has more than 10,000 cells, which no sweep has");
        }
        let axes = || self.definition.axes.iter().map(|axis| &axis.name);
        if !self.cells.iter().all(|it| it.settings.iter().map(|it| &it.name).eq(axes())) {
            return Err("one of its cells has settings that are not varied");
        }
        let inside = |run: &str| {
            Path::new(run).components().all(|part| matches!(part, Component::Normal(_)))
        };
        if !self.cells.iter().all(|cell| inside(&cell.run)) {
            return Err("one of its runs is not in its folder");
        }
        Ok(())
    }

    /// What the rates of its cells count.
    pub fn counted(&self) -> Nouns {
        let results = self.cells.iter().filter_map(|cell| cell.result.as_ref());
        Nouns::common(results.map(|result| result.counted))
    }

    /// The cells in the order of their settings, not in the order of measurement.
    pub fn in_order(&self) -> Vec<&CellRecord> {
        let matrix = matrix(&self.definition.axes);
        let mut cells: Vec<&CellRecord> = self.cells.iter().collect();
        let place = |cell: &CellRecord| matrix.iter().position(|it| *it == cell.settings);
        cells.sort_by_cached_key(|cell| (place(cell), cell.round));
        cells
    }
}

type CellTime = fn(&CellResult) -> Option<f64>;

impl CellResult {
    /// Its statistics of response times, in microseconds.
    pub const TIMES: [(Statistic, CellTime); 2] =
        [(Statistic::P50, |it| it.p50_us), (Statistic::P99, |it| it.p99_us)];

    /// The result of `record`: of its fill if `by_size`, otherwise of the last measured stage.
    pub fn of(record: &RunRecord, by_size: bool) -> Option<Self> {
        let mut measured = record.measured();
        let fill = |stage: &StageRecord| stage.purpose() == Purpose::Fill;
        let stage = if by_size { measured.find(|stage| fill(stage)) } else { measured.last() }?;
        let (mut ok, mut failed, mut response) = (0, 0, Histogram::default());
        for operation in stage.requests() {
            ok += operation.ok;
            failed += operation.failed();
            response.merge(&operation.response.histogram);
        }
        let micros = |p| response.earns(p).then(|| response.percentile(p) as f64 / 1e3);
        Some(Self {
            stage: stage.name.clone(),
            counted: record.nouns(),
            verdict: stage.verdict.name().to_owned(),
            per_s: stage.merged().throughput_per_s,
            ok,
            failed,
            p50_us: micros(50.0),
            p99_us: micros(99.0),
            trustworthy: stage.verdict.trustworthy() && stage.verdict != Verdict::Empty,
            warnings: record.warnings.iter().map(|warning| warning.message.clone()).collect(),
            curve: stage.growth.as_ref().map(|growth| Curve::new(growth, gaps(stage))),
        })
    }
}

impl Curve {
    /// The curve of a fill that had these gaps.
    pub fn new(growth: &Growth, gaps: Vec<Gap>) -> Self {
        let mut since_s = 0.0;
        let point = |point: &crate::measure::GrowthPoint| {
            let from_s = std::mem::replace(&mut since_s, point.at_s);
            let inside =
                |gap: &Gap| f64::from(gap.from_s) < point.at_s && f64::from(gap.to_s) > from_s;
            CurvePoint {
                documents: point.documents,
                at_s: point.at_s,
                per_s: point.per_s,
                file_bytes: size_at(growth, point.at_s, |size| size.file_bytes),
                active_bytes: size_at(growth, point.at_s, |size| size.active_bytes),
                partial: point.partial,
                gap: gaps.iter().any(inside),
            }
        };
        Self { points: growth.points.iter().map(point).collect(), gaps }
    }

    /// The points to which a line is fitted: complete ones, without a gap.
    pub fn sound(&self) -> impl Iterator<Item = &CurvePoint> {
        self.points.iter().filter(|point| !point.partial && !point.gap)
    }
}

/// The size at a given time, interpolated between the two readings around it.
fn size_at(
    growth: &Growth,
    at_s: f64,
    size: impl Fn(&crate::measure::SizePoint) -> Option<u64>,
) -> Option<f64> {
    let known: Vec<(f64, f64)> =
        growth.sizes.iter().filter_map(|point| Some((point.at_s, size(point)? as f64))).collect();
    let after = known.iter().position(|&(moment, _)| moment >= at_s)?;
    let (next_s, next) = known[after];
    let (last_s, last) = known[after.checked_sub(1)?];
    let share = if next_s > last_s { (at_s - last_s) / (next_s - last_s) } else { 1.0 };
    Some(last + (next - last) * share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{GrowthPoint, SizePoint};
    use crate::record::fixture;

    #[test]
    fn sizes_are_read_between_two_answers_and_gaps_are_marked() {
        let size = |at_s, file_bytes| SizePoint { at_s, file_bytes, ..SizePoint::default() };
        let point = |documents, at_s| GrowthPoint { documents, at_s, ..GrowthPoint::default() };
        let growth = Growth {
            window: 10,
            points: vec![point(10, 0.5), point(20, 1.5), point(30, 3.0), point(40, 9.0)],
            sizes: vec![size(1.0, Some(100)), size(2.0, None), size(5.0, Some(500))],
        };
        let curve = Curve::new(&growth, vec![Gap { from_s: 2, to_s: 3 }]);
        let sizes: Vec<_> = curve.points.iter().map(|it| it.file_bytes).collect();
        assert_eq!(sizes, [None, Some(150.0), Some(300.0), None]);
        assert_eq!(
            curve.points.iter().map(|it| it.gap).collect::<Vec<_>>(),
            [false, false, true, false]
        );
        assert_eq!(curve.sound().count(), 3);
    }

    #[test]
    fn a_headline_is_of_the_last_stage_or_of_the_fill() {
        let record = fixture::record(&[]);
        let last = CellResult::of(&record, false).unwrap();
        assert_eq!((&last.stage[..], last.ok, last.failed), ("crud", 3_065, 35));
        let fill = CellResult::of(&record, true).unwrap();
        assert_eq!((&fill.stage[..], fill.ok, fill.per_s), ("bulk_insert", 2_000, 800.0));
    }
}
