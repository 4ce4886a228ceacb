//! The lengths of fields and scans.

use crate::generate::{Stream, THETA, Zipfian, below};
use serde::{Deserialize, Serialize};

/// A distribution of lengths, as requested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "distribution", rename_all = "snake_case")]
pub enum LengthSpec {
    /// Always the same.
    Constant {
        /// The length.
        length: u64,
    },
    /// Every length in a range equally often.
    Uniform {
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
    },
    /// Zipf's law: short lengths are more frequent.
    Zipfian {
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
    },
    /// Multiples of a block, with a weight for each.
    Histogram {
        /// The length of a block.
        block: u64,
        /// The weights of one block, two blocks and so on.
        counts: Vec<u64>,
    },
}

impl LengthSpec {
    /// Reads a histogram file: `BlockSize`, tab, length; then lines of bucket, tab, count.
    ///
    /// # Errors
    /// Returns a message that names the first invalid line.
    pub fn histogram(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().enumerate();
        let block = lines
            .next()
            .and_then(|(_, line)| line.strip_prefix("BlockSize\t")?.trim().parse().ok())
            .ok_or("line 1 is not `BlockSize`, a tab and a whole number")?;
        let mut counts = Vec::new();
        for (i, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let mut parts = line.split('\t').map(|part| part.trim().parse::<u64>().ok());
            let (Some(Some(bucket)), Some(Some(count))) = (parts.next(), parts.next()) else {
                return Err(format!("line {} is not two whole numbers separated by a tab", i + 1));
            };
            if bucket != counts.len() as u64 {
                return Err(format!("line {} should have bucket {}", i + 1, counts.len()));
            }
            counts.push(count);
        }
        if counts.iter().sum::<u64>() == 0 {
            return Err("no bucket has a count above 0".to_owned());
        }
        Ok(Self::Histogram { block, counts })
    }

    /// The greatest length.
    pub fn most(&self) -> u64 {
        match self {
            Self::Constant { length } => *length,
            Self::Uniform { min, max } | Self::Zipfian { min, max } => *max.max(min),
            Self::Histogram { block, counts } => block.saturating_mul(counts.len() as u64),
        }
    }

    /// The mean length, if YCSB defines one: it does not for a zipfian distribution.
    pub fn mean(&self) -> Option<f64> {
        Some(match self {
            Self::Constant { length } => *length as f64,
            Self::Uniform { min, max } => (*min as f64).midpoint(*max as f64),
            Self::Zipfian { .. } => return None,
            // As in YCSB: bucket 0 counts as length 0 here, although it draws one block.
            Self::Histogram { block, counts } => {
                let sum: u64 = counts.iter().sum();
                let weighted: u64 = counts.iter().zip(0..).map(|(count, i)| count * i).sum();
                *block as f64 * weighted as f64 / sum as f64
            }
        })
    }
}

/// Draws lengths.
#[derive(Clone, Debug)]
pub enum Lengths {
    /// Always the same.
    Constant(u64),
    /// The smallest, and the number of different lengths.
    Uniform(u64, u64),
    /// The smallest, and the distribution of the difference from it.
    Zipfian(u64, Zipfian),
    /// The length of a block, the counts and their sum.
    Histogram(u64, Box<[u64]>, u64),
}

impl Lengths {
    /// The lengths as requested. If the bounds are in the wrong order, they are swapped.
    pub fn new(spec: &LengthSpec) -> Self {
        match *spec {
            LengthSpec::Constant { length } => Self::Constant(length),
            LengthSpec::Uniform { min, max } => Self::Uniform(min, max.saturating_sub(min) + 1),
            LengthSpec::Zipfian { min, max } => {
                Self::Zipfian(min, Zipfian::new(max.saturating_sub(min) + 1, THETA))
            }
            LengthSpec::Histogram { block, ref counts } => {
                Self::Histogram(block, counts.clone().into(), counts.iter().sum())
            }
        }
    }

    /// Draws one length.
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        match self {
            Self::Constant(length) => *length,
            Self::Uniform(min, count) => min + below(stream.draw(), *count),
            Self::Zipfian(min, zipfian) => min + zipfian.draw(stream),
            Self::Histogram(block, counts, sum) => {
                block * blocks(counts, below(stream.draw(), *sum))
            }
        }
    }
}

/// YCSB's search through the counts: a bucket includes the position where it ends, and the last one
/// is only drawn if its own share is left over.
fn blocks(counts: &[u64], place: u64) -> u64 {
    let last = counts.len() - 1;
    let mut end = 0;
    for (count, number) in counts[..last].iter().zip(1..) {
        end += count;
        if place <= end {
            return number;
        }
    }
    last as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{mix, statistics};

    #[test]
    fn histogram_files() {
        let read = LengthSpec::histogram("BlockSize\t7\n0\t5\n1\t0\n2\t10\r\n\n").unwrap();
        assert_eq!(read, LengthSpec::Histogram { block: 7, counts: vec![5, 0, 10] });
        assert_eq!(read.mean(), Some(7.0 * 20.0 / 15.0));
        for (text, problem) in [
            ("", "line 1 is not"),
            ("BlockSize 7", "line 1 is not"),
            ("BlockSize\t7\n0 5", "line 2 is not"),
            ("BlockSize\t7\n0\t5\n2\t1", "line 3 should have bucket 1"),
            ("BlockSize\t7\n0\t0", "no bucket"),
        ] {
            let error = LengthSpec::histogram(text).unwrap_err();
            assert!(error.starts_with(problem), "{text:?}: {error}");
        }
    }

    #[test]
    fn lengths_stay_in_their_range() {
        let mut stream = Stream::new(mix(1, 0, 0), 0);
        for spec in
            [LengthSpec::Uniform { min: 3, max: 12 }, LengthSpec::Zipfian { min: 3, max: 12 }]
        {
            let lengths = Lengths::new(&spec);
            let mut seen = [0; 10];
            (0..10_000).for_each(|_| seen[lengths.draw(&mut stream) as usize - 3] += 1);
            assert!(seen.iter().all(|&count| count > 100), "{spec:?}: {seen:?}");
            assert_eq!(spec.most(), 12);
        }
        assert_eq!(Lengths::new(&LengthSpec::Constant { length: 9 }).draw(&mut stream), 9);
    }

    #[test]
    fn uniform_lengths_are_even() {
        let lengths = Lengths::new(&LengthSpec::Uniform { min: 1, max: 100 });
        let mut stream = Stream::new(mix(2, 0, 0), 0);
        let p = statistics::chi_square(&[0.01; 100], 200_000, || {
            lengths.draw(&mut stream) as usize - 1
        });
        assert!(p > 0.01, "p = {p}");
    }
}
