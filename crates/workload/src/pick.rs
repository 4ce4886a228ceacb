//! Chooses which of the stored documents a request is about.

use crate::generate::{Exponential, Hotspot, Latest, Scrambled, Stream, below};
use crate::values::Skew;

/// The hot share of the documents, and the share of the requests that go to them: YCSB's defaults.
const HOT: (f64, f64) = (0.2, 0.8);
/// This percentage of the requests goes to this newest part of the documents: YCSB's defaults.
const NEWEST: (f64, f64) = (95.0, 0.857_142_857_1);

/// Chooses documents of one connection by a distribution.
#[derive(Debug)]
pub(super) enum Pick {
    Uniform,
    Zipfian(Scrambled),
    Latest(Box<Latest>),
    Hotspot(Hotspot),
    Exponential(Exponential),
    Sequential(u64),
}

impl Pick {
    /// For `stored` documents. Their number may change; popular documents stay popular.
    pub(super) fn new(skew: Skew, stored: u64) -> Self {
        match skew {
            Skew::Uniform => Self::Uniform,
            Skew::Zipfian => Self::Zipfian(Scrambled::new(0, stored)),
            Skew::Latest => Self::Latest(Box::new(Latest::new(stored))),
            Skew::Hotspot => Self::Hotspot(Hotspot::new(0, stored, HOT.0, HOT.1)),
            Skew::Exponential => {
                Self::Exponential(Exponential::new(NEWEST.0, stored as f64 * NEWEST.1))
            }
            Skew::Sequential => Self::Sequential(0),
        }
    }

    /// The index of the next document among the stored ones, in the order in which they were
    /// stored.
    pub(super) fn draw(&mut self, stored: u64, stream: &mut Stream) -> u64 {
        let drawn = match self {
            Self::Uniform => return below(stream.draw(), stored),
            Self::Zipfian(zipfian) => zipfian.draw(stream),
            // `Latest` counts from 1.
            Self::Latest(latest) => latest.draw(stored, stream).saturating_sub(1),
            Self::Hotspot(hotspot) => hotspot.draw(stream),
            Self::Exponential(distance) => stored - 1 - distance.draw(stream) % stored,
            Self::Sequential(next) => {
                *next += 1;
                *next - 1
            }
        };
        drawn % stored
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::mix;

    /// How often each of 100 documents is chosen in 100,000 draws.
    fn drawn(skew: Skew) -> Vec<u64> {
        let (mut pick, mut stream) = (Pick::new(skew, 100), Stream::new(mix(1, 2, 3), 0));
        let mut counts = vec![0; 100];
        (0..100_000).for_each(|_| counts[pick.draw(100, &mut stream) as usize] += 1);
        counts
    }

    #[test]
    fn each_distribution_prefers_what_it_says() {
        // Five standard deviations of a binomial around 1,000: 158.
        assert!(drawn(Skew::Uniform).iter().all(|it| it.abs_diff(1_000) < 158));
        assert!(drawn(Skew::Sequential).iter().all(|it| *it == 1_000));
        let mut zipfian = drawn(Skew::Zipfian);
        assert!(zipfian[0] < zipfian.iter().copied().max().unwrap(), "scattered");
        zipfian.sort_unstable();
        assert!(zipfian[99] > 3 * zipfian[50], "{zipfian:?}");
        let latest = drawn(Skew::Latest);
        assert!(latest[99] > 15_000 && latest[98] > 7_000 && latest[0] < 1_000, "{latest:?}");
        let hot: u64 = drawn(Skew::Hotspot)[..20].iter().sum();
        // Five standard deviations around 80 %: 632.
        assert!(hot.abs_diff(80_000) < 632, "{hot}");
        let newest = drawn(Skew::Exponential);
        assert!(newest[99] > 2 * newest[70] && newest[70] > 2 * newest[30], "{newest:?}");
    }

    #[test]
    fn documents_may_come_and_go() {
        for skew in [Skew::Zipfian, Skew::Latest, Skew::Hotspot, Skew::Exponential] {
            let (mut pick, mut stream) = (Pick::new(skew, 50), Stream::new(mix(4, 5, 6), 0));
            for stored in (1..200).chain((1..200).rev()) {
                assert!(pick.draw(stored, &mut stream) < stored, "{skew:?} of {stored}");
            }
        }
    }
}
