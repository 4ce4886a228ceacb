//! Pictures of sweeps, trends, searches, sizings and bursts.

use super::burst::BurstSecond;
use super::chart::{burst, by_size, of_max, of_sizing, of_sweep, of_trend};
use super::max::{subject, verdict};
use super::picture::{Head, Picture, draw_charts};
use super::sizing;
use super::trend::{changes, headline};
use crate::plan::Nouns;
use crate::search::MaxRecord;
use crate::sizing::Sizing;
use crate::sweep::{Curve, SweepRecord};
use crate::trend::Trend;

/// A sweep as a picture: throughput by the size of the database, if recorded, and by each numeric
/// setting.
pub fn sweep_picture(sweep: &SweepRecord, picture: Picture) -> Vec<u8> {
    let definition = &sweep.definition;
    let charts = of_sweep(sweep);
    let place = definition.target.as_deref().unwrap_or("embedded stand-ins, one per cell");
    let mut warnings: Vec<String> = Vec::new();
    let results = sweep.cells.iter().filter_map(|cell| cell.result.as_ref());
    for warning in results.flat_map(|result| &result.warnings) {
        let line = format!("! {warning}");
        if !warnings.contains(&line) {
            warnings.push(line);
        }
    }
    let what = definition.label.as_deref().unwrap_or("springload sweep");
    let title = format!("{what} · {place}");
    draw_charts(Head { title, warnings, ..Head::default() }, charts, picture)
}

/// The most changes listed above a picture.
const MOST_CHANGES: usize = 12;

/// A trend as a picture: a chart per quantity, with its levels.
pub fn trend_picture(trend: &Trend, picture: Picture) -> Vec<u8> {
    let left_out = trend.left_out.len();
    let mut warnings = changes(trend);
    let more = warnings.len().saturating_sub(MOST_CHANGES);
    warnings.truncate(MOST_CHANGES);
    warnings.extend((more > 0).then(|| format!("… {more} more changes")));
    warnings.extend((left_out > 0).then(|| format!("! {left_out} left out; the text says why")));
    let title = format!("springload trend · {}", headline(trend));
    draw_charts(Head { title, warnings, ..Head::default() }, of_trend(trend), picture)
}

/// A search for the highest sustained load as a picture: times, rate and errors by load.
pub fn max_picture(max: &MaxRecord, picture: Picture) -> Vec<u8> {
    let (title, verdict) = (subject(max), Some(verdict(max)));
    draw_charts(Head { title, verdict, ..Head::default() }, of_max(max), picture)
}

/// A sizing as a picture: the rate by the number of nodes.
pub fn sizing_picture(it: &Sizing, picture: Picture) -> Vec<u8> {
    let warnings = sizing::notes(it).into_iter().map(|note| format!("! {note}")).collect();
    let (title, verdict) = (sizing::subject(it), Some(sizing::verdict(it)));
    draw_charts(Head { title, verdict, warnings }, of_sizing(it), picture)
}

/// One fill by the size of the database, as couchdb-performance-tests drew it.
pub fn bulk_perf_picture(curve: &Curve, legend: &str, warnings: &[String]) -> Vec<u8> {
    let warnings = warnings.iter().map(|warning| format!("! {warning}")).collect();
    let charts = vec![by_size(&[(legend.to_owned(), curve)], Nouns::DOCUMENTS)];
    let title = "Throughput by size of the database".to_owned();
    draw_charts(Head { title, warnings, ..Head::default() }, charts, Picture::Png)
}

/// One of the two pictures of `couchdb_benchmark`; `title` has its second line, `actions` is
/// `writes` or `reads`.
pub fn burst_picture(
    seconds: &[BurstSecond],
    title: &str,
    actions: &str,
    per_worker: bool,
    warnings: &[String],
) -> Vec<u8> {
    let warnings = warnings.iter().map(|warning| format!("! {warning}")).collect();
    let charts = vec![burst(seconds, title, actions, per_worker)];
    let title = format!("Couchdb {} benchmark", actions.trim_end_matches('s'));
    draw_charts(Head { title, warnings, ..Head::default() }, charts, Picture::Png)
}
