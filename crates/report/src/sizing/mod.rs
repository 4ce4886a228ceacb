//! How many nodes a rate takes, derived from what clusters of known sizes sustained.
//!
//! Knows neither flags nor files: the verb that sizes reads the searches.

mod record;

pub use record::{Law, LawName, Measured, Sizing, SizingVerdict, Step, Unit};

use crate::generate::{Stream, mix};
use crate::plan::{Nouns, Threshold};
use crate::statistics::Usl;

/// If a law misses the measurements by more than this, it does not apply. The result of a search is
/// itself off by up to 5 %.
const POOR: f64 = 0.10;
/// An answer of more than this many times the largest size measured is a guess.
const FAR: f64 = 2.0;
/// The number of draws from the searches, for the range of the answer.
const DRAWS: u64 = 1_000;

/// The question.
#[derive(Clone, Debug, PartialEq)]
pub struct SizingAsked {
    /// Documents per second.
    pub rate_per_s: f64,
    /// How many may be lost while the rest still carry the rate.
    pub spare: u64,
    /// What the sizes count.
    pub unit: Unit,
    /// The limits that the server must meet, as in the searches.
    pub slo: Vec<Threshold>,
}

/// Works out how many nodes or shards `asked` takes; `measured` has at least one search.
///
/// # Errors
/// Returns an error if no rate was sustained in the measurements.
pub fn size(asked: &SizingAsked, mut measured: Vec<Measured>) -> Result<Sizing, &'static str> {
    measured.sort_by_key(|it| it.size);
    let medians: Vec<_> = measured.iter().map(|it| (it.size as f64, it.sustained_per_s)).collect();
    let law = Usl::fit(&medians).ok_or("no rate was sustained")?;
    for it in &mut measured {
        it.law_per_s = law.rate(it.size as f64);
    }
    let mut sizes: Vec<u64> = measured.iter().map(|it| it.size).collect();
    sizes.dedup();
    let carry = law.least(asked.rate_per_s);
    let poor = measured.iter().any(|it| it.off().abs() > POOR);
    let verdict = match carry {
        _ if poor => SizingVerdict::PoorFit,
        Some(carry) if carries(&law, carry + asked.spare, asked.rate_per_s) => {
            SizingVerdict::Enough
        }
        // Including the spare ones, it may be beyond the peak, where more of them carry less.
        _ => SizingVerdict::TooMuch,
    };
    let carry = carry.filter(|_| verdict == SizingVerdict::Enough);
    let largest = measured.last().map_or(1, |it| it.size);
    let steps = carry.map_or_else(Vec::new, |carry| steps(&law, carry, asked.spare));
    let range = carry.and_then(|_| range(asked, &measured));
    // The size that the answer depends on: the peak if there is none.
    let decides = match verdict {
        SizingVerdict::Enough => carry.map(|carry| (carry + asked.spare) as f64),
        SizingVerdict::TooMuch => law.peak(),
        SizingVerdict::PoorFit => None,
    };
    let name = match sizes.len() {
        1 => LawName::Linear,
        2 => LawName::Amdahl,
        _ => LawName::Universal,
    };
    Ok(Sizing {
        schema_version: record::SCHEMA_VERSION,
        command: String::new(),
        counted: Nouns::default(),
        rate_per_s: asked.rate_per_s,
        slo: asked.slo.clone(),
        unit: asked.unit,
        spare: asked.spare,
        verdict,
        needed: carry.map(|carry| carry + asked.spare),
        low: range.map(|range| range.0),
        high: range.and_then(|range| range.1),
        extrapolated: decides.is_some_and(|it| it > largest as f64 * FAR),
        law: Law {
            name,
            single_per_s: law.single,
            contention: law.contention,
            coherency: law.coherency,
            peak: law.peak(),
            most_per_s: law.peak().map(|peak| most(&law, peak)),
            checked: sizes.len() > name.parts(),
        },
        measured,
        steps,
        notes: Vec::new(),
    })
}

/// Whether `size` carries the rate: beyond the peak it may not.
fn carries(law: &Usl, size: u64, rate: f64) -> bool {
    law.rate(size as f64) >= rate * (1.0 - 1e-9)
}

/// The rate at the better of the two whole sizes around the peak.
fn most(law: &Usl, peak: f64) -> f64 {
    law.rate(peak.floor().max(1.0)).max(law.rate(peak.ceil()))
}

/// The sizes around the answer.
fn steps(law: &Usl, carry: u64, spare: u64) -> Vec<Step> {
    let from = carry.saturating_sub(1).max(1);
    let mut sizes = vec![from, carry, carry + spare];
    sizes.dedup();
    let step = |size| Step { size, per_s: law.rate(size as f64) };
    sizes.into_iter().map(step).collect()
}

/// The range that contains nineteen of twenty answers if only one search of each size had been
/// made: from the lowest to the highest, `None` if some draws have no answer. There is no range if
/// each size has only one search.
fn range(asked: &SizingAsked, measured: &[Measured]) -> Option<(u64, Option<u64>)> {
    if measured.iter().all(|it| it.found_per_s.len() < 2) {
        return None;
    }
    let mut draws = Stream::new(mix(0x512e, measured.len() as u64, 0), 0);
    let mut answers: Vec<u64> = (0..DRAWS)
        .filter_map(|_| {
            let drawn = measured.iter().map(|it| {
                let found = &it.found_per_s;
                let at = draws.draw() as usize % found.len().max(1);
                (it.size as f64, found.get(at).copied().unwrap_or(it.sustained_per_s))
            });
            let law = Usl::fit(&drawn.collect::<Vec<_>>())?;
            let carry = law.least(asked.rate_per_s).map(|carry| carry + asked.spare);
            let enough = carry.filter(|size| carries(&law, *size, asked.rate_per_s));
            Some(enough.unwrap_or(u64::MAX))
        })
        .collect();
    answers.sort_unstable();
    let last = answers.len().checked_sub(1)? as f64;
    let at = |share: f64| answers[(last * share).round() as usize];
    Some((at(0.025), Some(at(0.975)).filter(|size| *size < u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(size: u64, found: &[f64]) -> Measured {
        Measured::new(size, found.to_vec(), format!("max-{size}"))
    }

    fn asked(rate_per_s: f64, spare: u64) -> SizingAsked {
        SizingAsked { rate_per_s, spare, unit: Unit::Nodes, slo: Vec::new() }
    }

    fn exact(law: Usl, sizes: &[u64]) -> Vec<Measured> {
        sizes.iter().map(|size| measured(*size, &[law.rate(*size as f64)])).collect()
    }

    #[test]
    fn one_size_is_taken_as_a_straight_line() {
        let sizing = size(&asked(20_000.0, 1), vec![measured(3, &[9_000.0])]).unwrap();
        // 3,000 each: 7 carry 21,000.
        assert_eq!((sizing.needed, sizing.verdict), (Some(8), SizingVerdict::Enough));
        assert_eq!((sizing.law.name, sizing.law.checked), (LawName::Linear, false));
        assert!(sizing.extrapolated, "8 is more than twice 3");
        let far = |spare| size(&asked(18_000.0, spare), vec![measured(3, &[9_000.0])]).unwrap();
        assert_eq!([far(0).extrapolated, far(1).extrapolated], [false, true], "6 is not, 7 is");
        let sizes: Vec<u64> = sizing.steps.iter().map(|it| it.size).collect();
        assert_eq!(sizes, [6, 7, 8]);
        assert_eq!(
            size(&asked(20_000.0, 0), vec![measured(3, &[9_000.0])]).unwrap().needed,
            Some(7)
        );
        assert_eq!(sizing.low, None, "one search has no range");
    }

    #[test]
    fn the_law_of_several_sizes_is_used_and_its_peak_is_a_limit() {
        let law = Usl { single: 1_000.0, contention: 0.05, coherency: 0.002 };
        let all = exact(law, &[1, 3, 6, 9]);
        let sizing = size(&asked(5_000.0, 1), all.clone()).unwrap();
        let carry = (1..100u32).find(|n| law.rate(f64::from(*n)) >= 5_000.0).unwrap();
        assert_eq!(sizing.needed, Some(u64::from(carry) + 1), "{sizing:?}");
        assert!(sizing.law.checked && !sizing.extrapolated);
        assert!(sizing.measured.iter().all(|it| it.off().abs() < 1e-6));
        let peak = sizing.law.most_per_s.unwrap();
        let over = size(&asked(peak * 1.01, 1), all.clone()).unwrap();
        assert_eq!((over.verdict, over.needed), (SizingVerdict::TooMuch, None));
        // At the peak itself there is nothing to spare.
        let at = size(&asked(peak * 0.9999, 5), all).unwrap();
        assert_eq!((at.verdict, at.needed), (SizingVerdict::TooMuch, None));
    }

    #[test]
    fn what_follows_no_law_is_refused() {
        let zigzag = vec![
            measured(1, &[1_000.0]),
            measured(2, &[1_100.0]),
            measured(3, &[3_000.0]),
            measured(6, &[3_100.0]),
        ];
        let sizing = size(&asked(2_000.0, 1), zigzag).unwrap();
        assert_eq!((sizing.verdict, sizing.needed), (SizingVerdict::PoorFit, None), "{sizing:?}");
        assert!(sizing.steps.is_empty());
        // One that carries far more than the others is as odd as one that carries less.
        for odd in [0.75, 1.25] {
            let rate = |n: u64| n as f64 * if n == 4 { 1_000.0 * odd } else { 1_000.0 };
            let all = (1..=6).map(|n| measured(n, &[rate(n)])).collect();
            let sizing = size(&asked(2_000.0, 1), all).unwrap();
            assert_eq!(sizing.verdict, SizingVerdict::PoorFit, "{odd}: {sizing:?}");
        }
        assert!(size(&asked(1.0, 1), vec![measured(1, &[0.0])]).is_err());
    }

    #[test]
    fn searches_that_vary_give_a_range() {
        let law = Usl { single: 1_000.0, contention: 0.02, coherency: 0.001 };
        let spread = |size: u64| {
            let rate = law.rate(size as f64);
            measured(size, &[rate * 0.96, rate, rate * 1.04])
        };
        let all: Vec<Measured> = [1, 3, 6].map(spread).to_vec();
        let sizing = size(&asked(8_000.0, 1), all).unwrap();
        let (needed, low) = (sizing.needed.unwrap(), sizing.low.unwrap());
        assert!(low < needed && sizing.high.is_none_or(|high| high > needed), "{sizing:?}");
        let sure: Vec<Measured> = exact(law, &[1, 3, 6])
            .into_iter()
            .map(|it| Measured::new(it.size, vec![it.sustained_per_s; 3], it.from))
            .collect();
        let sizing = size(&asked(8_000.0, 1), sure).unwrap();
        assert_eq!((sizing.low, sizing.high), (sizing.needed, sizing.needed));
    }
}
