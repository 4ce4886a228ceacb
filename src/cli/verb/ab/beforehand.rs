//! What saved runs show before the first pair: how much runs of side A vary, and so how many pairs
//! are needed.

use super::kept;
use crate::cli::pipeline::folder::RUNS;
use crate::cli::verb::found::{FoundRuns, find, once};
use crate::cli::verb::reading::record;
use crate::plan::{Baseline, Plan, Quantity};
use crate::record::Unit;
use crate::report::beforehand_text;
use crate::trend::{LEAST_TO_VARY, Point, Trend};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// More runs would add nothing new, least of all the oldest.
const MOST_RUNS: usize = 20;
/// At most this many records are read to find them.
const MOST_READ: usize = 200;

/// The number of `pairs` that the runs of `plan` suggest which are saved here and in the
/// comparison's folder. `None`: there are too few.
pub(super) fn summary(
    plan: &Plan,
    folder: Option<&Path>,
    gated: &[Quantity],
    pairs: u64,
) -> Option<String> {
    let wanted: Vec<Quantity> = if gated.is_empty() { &Baseline::GATED } else { gated }
        .iter()
        .copied()
        .filter(|it| Unit::of(it.metric) != Unit::Percent)
        .collect();
    let points: Vec<Point> = candidates(folder)
        .into_iter()
        .take(MOST_READ)
        .filter_map(|file| Point::of(&record(&file).ok()?, "", &wanted).ok())
        .filter(|point| point.is_of(plan))
        .take(MOST_RUNS)
        .collect();
    if points.len() < LEAST_TO_VARY {
        return None;
    }
    let count = points.len();
    let trend = Trend::of(points, Vec::new());
    let variations = trend.groups.first()?.variations();
    (!variations.is_empty()).then(|| beforehand_text(count, pairs, &variations))
}

/// The files of saved runs, newest first.
fn candidates(folder: Option<&Path>) -> Vec<PathBuf> {
    let places = [Some(Path::new(RUNS)), folder].into_iter().flatten();
    let found = places.filter(|it| it.is_dir()).filter_map(|it| find(it, "--output").ok());
    let mut found: FoundRuns = found.flatten().collect();
    // The comparison's folder may be one of the places searched.
    once(&mut found);
    let files = found.into_iter().map(|(_, file)| file).filter(|file| !kept::is_of_b(file));
    let mut files: Vec<(SystemTime, PathBuf)> = files
        .filter_map(|file| Some((file.metadata().and_then(|it| it.modified()).ok()?, file)))
        .collect();
    files.sort_by(|one, other| other.cmp(one));
    files.into_iter().map(|(_, file)| file).collect()
}
