//! Selects the record and the kind of each operation.

use super::config::{CoreConfig, Proportions, RequestSpec};
use crate::generate::{
    Exponential, Hotspot, Latest, Scrambled, Sequential, Stream, Uniform, Weighted,
};
use serde::{Deserialize, Serialize};

/// YCSB's kinds of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Reads some or all fields of a record.
    Read,
    /// Writes new text to some or all fields of a record.
    Update,
    /// Inserts a new record.
    Insert,
    /// Reads some records, starting at a key.
    Scan,
    /// Reads and updates the same record.
    ReadModifyWrite,
    /// Removes a record, which YCSB cannot do.
    Delete,
}

/// Draws actions by their proportions.
#[derive(Clone, Copy, Debug)]
pub struct Actions(Weighted<6>);

impl Actions {
    /// `None` if every proportion is 0.
    pub fn new(proportions: &Proportions) -> Option<Self> {
        proportions.weighted().map(Self)
    }

    /// Draws one action.
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> Action {
        const ALL: [Action; 6] = [
            Action::Read,
            Action::Update,
            Action::Insert,
            Action::Scan,
            Action::ReadModifyWrite,
            Action::Delete,
        ];
        ALL[self.0.draw(stream)]
    }
}

/// Draws numbers of stored records. Cheap to clone; one for each connection.
#[derive(Clone, Debug)]
pub struct Chooser(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Uniform(Uniform),
    Zipfian(Scrambled),
    Latest(Box<Latest>),
    Hotspot(Hotspot),
    Sequential(Sequential),
    Exponential(Exponential),
}

impl Chooser {
    /// The chooser for a configuration. In sequential order, it is number `connection` of the
    /// `connections` choosers that share the sequence.
    pub fn new(config: &CoreConfig, connection: u64, connections: u64) -> Self {
        let (start, count) = (config.insert_start, config.insert_count);
        Self(match config.requests {
            RequestSpec::Uniform => Kind::Uniform(Uniform::new(start, count)),
            RequestSpec::Zipfian => {
                // Records that will be inserted are included from the start, so that the same ones
                // stay hot: twice as many as expected, plus one, as in YCSB.
                let inserts = config.proportions.insert * config.operations as f64 * 2.0;
                Kind::Zipfian(Scrambled::new(start, count + inserts as u64 + 1))
            }
            RequestSpec::Latest { as_ycsb } => {
                let newest = config.records.saturating_sub(1);
                Kind::Latest(Box::new(if as_ycsb {
                    Latest::as_ycsb(newest)
                } else {
                    Latest::new(newest)
                }))
            }
            RequestSpec::Hotspot { data, operations } => {
                Kind::Hotspot(Hotspot::new(start, count, data, operations))
            }
            RequestSpec::Sequential => {
                Kind::Sequential(Sequential::new((start, count), (connection, connections)))
            }
            RequestSpec::Exponential { percentile, fraction } => {
                let range = config.records as f64 * fraction;
                Kind::Exponential(Exponential::new(percentile, range))
            }
        })
    }

    /// Draws the numbers of a fixed number of keys, `count`. Distributions that follow inserts are
    /// replaced by uniform ones.
    pub fn of_keys(requests: &RequestSpec, count: u64, connection: u64, connections: u64) -> Self {
        Self(match *requests {
            RequestSpec::Zipfian => Kind::Zipfian(Scrambled::new(0, count)),
            RequestSpec::Hotspot { data, operations } => {
                Kind::Hotspot(Hotspot::new(0, count, data, operations))
            }
            RequestSpec::Sequential => {
                Kind::Sequential(Sequential::new((0, count), (connection, connections)))
            }
            RequestSpec::Uniform | RequestSpec::Latest { .. } | RequestSpec::Exponential { .. } => {
                Kind::Uniform(Uniform::new(0, count))
            }
        })
    }

    /// Draws a number below `stored`, which must be above 0 and never decrease. If the record drawn
    /// is not stored, it draws again, as in YCSB.
    #[inline]
    pub fn draw(&mut self, stored: u64, stream: &mut Stream) -> u64 {
        loop {
            let number = match &mut self.0 {
                Kind::Uniform(uniform) => uniform.draw(stream),
                Kind::Zipfian(zipfian) => zipfian.draw(stream),
                Kind::Latest(latest) => latest.draw(stored - 1, stream),
                Kind::Hotspot(hotspot) => hotspot.draw(stream),
                Kind::Sequential(sequential) => sequential.draw(),
                // A distance beyond the first record wraps around to a very large number.
                Kind::Exponential(exponential) => {
                    (stored - 1).wrapping_sub(exponential.draw(stream))
                }
            };
            if number < stored {
                return number;
            }
        }
    }
}

#[cfg(test)]
#[path = "choose_tests.rs"]
mod tests;
