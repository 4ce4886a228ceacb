//! Determines the point that a connection writes next, in the order of YCSB's threads.

use super::config::SeriesConfig;
use crate::generate::{Stream, below};
use std::ops::Range;

/// A point of a series, without its value.
#[derive(Debug, Default)]
pub(super) struct Point {
    /// The index of the key.
    pub(super) key: usize,
    /// The index of each tag's value.
    pub(super) tags: Vec<usize>,
    pub(super) at: i64,
}

/// One connection's position among its series and in time.
#[derive(Debug)]
pub(super) struct Cursor {
    /// The last point taken.
    pub(super) point: Point,
    keys: Range<usize>,
    key: usize,
    tags: Vec<usize>,
    /// For each tag, the number of series formed by the tags after it.
    weights: Vec<u64>,
    /// Whether every series of the connection has a point for the current point in time.
    rollover: bool,
    now: i64,
    /// The remaining points in time, in reverse, if their order is random.
    shuffled: Vec<u32>,
    /// The number of the next point in time after all of these.
    next: i64,
}

impl Cursor {
    /// Connection `k` of `of`, with its share of the keys; the last connection takes the remainder.
    pub(super) fn new(config: &SeriesConfig, k: u64, of: u64, stream: &mut Stream) -> Self {
        let each = config.keys / of;
        let end = if k + 1 == of { config.keys } else { (k + 1) * each };
        let keys = (k * each) as usize..end as usize;
        // As many points in time as the records require.
        let random = if config.random_timestamps { config.offsets as u32 - 1 } else { 0 };
        let mut shuffled: Vec<u32> = (0..random).collect();
        super::shuffle(&mut shuffled, stream);
        let weights = (1..=config.tags.len()).map(|i| config.tags[i..].iter().product()).collect();
        let mut cursor = Self {
            point: Point::default(),
            key: keys.start,
            keys,
            tags: vec![0; config.tags.len()],
            weights,
            rollover: false,
            now: config.start,
            shuffled,
            next: i64::from(random),
        };
        cursor.advance(config);
        cursor
    }

    /// Takes the next point that exists, to be written for the first time or, unless `new`, again.
    pub(super) fn next(&mut self, config: &SeriesConfig, new: bool, stream: &mut Stream) {
        let steps = if config.sparsity > 0.0 {
            let most = (config.series_of_key() as f64 * config.sparsity) as u64;
            below(stream.draw(), most).max(1)
        } else {
            1
        };
        for left in (0..steps).rev() {
            if self.rollover {
                self.advance(config);
            }
            if left == 0 {
                self.take(config, new, stream);
            }
            self.step(config);
        }
    }

    /// Moves on to the next point in time.
    fn advance(&mut self, config: &SeriesConfig) {
        self.rollover = false;
        let number = self.shuffled.pop().map_or(self.next, i64::from);
        self.next += i64::from(number == self.next);
        self.now = config.start + number * config.step();
    }

    fn take(&mut self, config: &SeriesConfig, new: bool, stream: &mut Stream) {
        self.point.key = self.key;
        self.point.tags.clone_from(&self.tags);
        self.point.at = if new {
            self.now - self.lag(config)
        } else {
            // Any earlier point in time; the first one if there is none.
            let before = (self.now - config.start) / config.interval;
            let before = below(stream.draw(), u64::try_from(before).unwrap_or(0));
            config.start + before.cast_signed() * config.interval
        };
    }

    /// How far the series lags behind the others.
    fn lag(&self, config: &SeriesConfig) -> i64 {
        let of_key = config.series_of_key();
        let tags = self.tags.iter().zip(&self.weights).map(|(&tag, weight)| tag as u64 * weight);
        let number = self.key as u64 * of_key + tags.sum::<u64>();
        if number as f64 / ((config.keys * of_key) as f64) >= config.delayed {
            return 0;
        }
        (number.cast_signed() % config.delayed_intervals) * config.interval
    }

    /// Moves on to the next series. As in YCSB, a tag with one value counts as finished, so that
    /// the key advances with it.
    fn step(&mut self, config: &SeriesConfig) {
        let first = config.tags.iter().position(|&count| count > 1).unwrap_or(0);
        let mut key_goes_on = false;
        for (i, &count) in config.tags.iter().enumerate().rev() {
            if count <= 1 {
                key_goes_on = true;
            } else if self.tags[i] as u64 + 1 < count {
                self.tags[i] += 1;
                break;
            } else {
                self.tags[i] = 0;
                key_goes_on |= i == first;
            }
        }
        if key_goes_on {
            self.key += 1;
            if self.key >= self.keys.end {
                self.key = self.keys.start;
                self.rollover = true;
            }
        }
    }
}
