//! Finds out whether a setting has an effect beyond the noise between runs of the same settings.

use super::record::{CellRecord, SweepRecord};
use crate::statistics::{ALARMS, mean, squares, t_quantile};
use std::collections::BTreeMap;

/// The names of the settings whose values differ in rate by no more than chance explains; empty if
/// nothing was measured twice.
///
/// Rates are compared by their logarithms, as noise is a share of the rate. Its variance is pooled
/// over all settings that were measured more than once; every two values of a setting, with all
/// others the same, are compared by Student's t (NIST/SEMATECH e-Handbook, 7.3.1), and the level is
/// divided by the number of comparisons (Bonferroni, 7.4.7.3). Runs that are not trustworthy are
/// left out.
pub fn without_effect(sweep: &SweepRecord) -> Vec<String> {
    let cells = cells(sweep);
    let Some(noise) = Noise::of(&cells) else { return Vec::new() };
    let axes = sweep.definition.axes.iter().enumerate();
    let still = axes.filter(|(place, _)| noise.explains(&pairs(&cells, *place)));
    still.map(|(_, axis)| axis.name.clone()).collect()
}

/// The values of all settings, and the logarithms of the rates measured with them.
type Cells = BTreeMap<Vec<String>, Vec<f64>>;

fn cells(sweep: &SweepRecord) -> Cells {
    let mut cells = Cells::new();
    for CellRecord { settings, result, .. } in &sweep.cells {
        let Some(result) = result.as_ref().filter(|it| it.trustworthy && it.per_s > 0.0) else {
            continue;
        };
        let values = settings.iter().map(|setting| setting.value.clone()).collect();
        cells.entry(values).or_default().push(result.per_s.ln());
    }
    cells
}

/// All pairs of cells that differ only in one setting.
fn pairs(cells: &Cells, place: usize) -> Vec<(&[f64], &[f64])> {
    let mut pairs = Vec::new();
    for (at, (one, rates)) in cells.iter().enumerate() {
        for (other, others) in cells.iter().skip(at + 1) {
            let same =
                |(index, _): &(usize, &String)| *index == place || one[*index] == other[*index];
            if one.iter().enumerate().all(|it| same(&it)) {
                pairs.push((rates.as_slice(), others.as_slice()));
            }
        }
    }
    pairs
}

/// The variance between runs of the same settings, and its degrees of freedom.
struct Noise {
    variance: f64,
    freedom: usize,
}

impl Noise {
    fn of(cells: &Cells) -> Option<Self> {
        let freedom = cells.values().map(|rates| rates.len() - 1).sum();
        let sum: f64 = cells.values().map(|rates| squares(rates)).sum();
        (freedom > 0).then(|| Self { variance: sum / freedom as f64, freedom })
    }

    /// Whether no pair differs by more than this explains; false if there are no pairs.
    fn explains(&self, pairs: &[(&[f64], &[f64])]) -> bool {
        let most = t_quantile(ALARMS / pairs.len().max(1) as f64, self.freedom as f64);
        let near = |(one, other): &(&[f64], &[f64])| {
            let runs = 1.0 / one.len() as f64 + 1.0 / other.len() as f64;
            (mean(one) - mean(other)).abs() <= most * (self.variance * runs).sqrt()
        };
        !pairs.is_empty() && pairs.iter().all(near)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::{Axis, CellResult, Definition, matrix};

    /// A sweep over two settings with these rates for `batch`; `auth` changes nothing.
    fn sweep(rates: [f64; 2], noise: f64, repeat: u64) -> SweepRecord {
        let axis = |name: &str, values: [&str; 2]| Axis {
            name: name.to_owned(),
            values: values.map(str::to_owned).to_vec(),
        };
        let axes = vec![axis("batch", ["10", "100"]), axis("auth", ["basic", "cookie"])];
        let mut cells = Vec::new();
        for round in 1..=repeat {
            for (at, settings) in matrix(&axes).into_iter().enumerate() {
                let rate = rates[usize::from(settings[0].value == "100")];
                // Uniform noise without a pattern.
                let off = ((round * 7 + at as u64 * 3) % 5) as f64 / 2.0 - 1.0;
                let per_s = rate * (1.0 + noise * off);
                let result = CellResult { per_s, trustworthy: true, ..CellResult::default() };
                let run = String::new();
                cells.push(CellRecord { settings, round, run, result: Some(result) });
            }
        }
        let definition = Definition {
            label: None,
            target: None,
            nodes: Vec::new(),
            common: Vec::new(),
            axes,
            repeat,
            seed: 1,
            by_size: false,
            preset: None,
        };
        SweepRecord { schema_version: 1, definition, cells }
    }

    #[test]
    fn a_setting_that_changes_nothing_is_told_from_one_that_does() {
        assert_eq!(without_effect(&sweep([100.0, 200.0], 0.02, 3)), ["auth"]);
        assert_eq!(without_effect(&sweep([100.0, 101.0], 0.02, 3)), ["batch", "auth"]);
        // Nothing was measured twice, so there is no noise to compare with.
        assert!(without_effect(&sweep([100.0, 101.0], 0.02, 1)).is_empty());
    }

    #[test]
    fn runs_that_are_not_trustworthy_do_not_count() {
        let mut sweep = sweep([100.0, 200.0], 0.02, 3);
        for cell in sweep.cells.iter_mut().filter(|cell| cell.settings[0].value == "100") {
            cell.result.as_mut().unwrap().trustworthy = false;
        }
        assert_eq!(without_effect(&sweep), ["auth"], "batch has one value left");
    }
}
