//! How points and queries of time series are formatted: as documents, their identifiers, and the
//! lines that YCSB's `BasicTSDB` prints.

use super::super::values::java_hash;
use super::config::{SeriesConfig, ValueKind};
use super::cursor::Point;
use super::names;
use crate::generate::{Stream, below, unit};
use crate::op::{Fields, Pen};
use serde_json::{Map, Value as Json};
use std::io::Write as _;

/// Floats are below this.
const MOST: f64 = 100_000.0;
/// Ends a range of identifiers: no letter sorts after it in CouchDB's collations.
const LAST: &str = "\u{fff0}";

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Whole(i64),
    Decimal(f64),
}

#[derive(Debug, Default)]
pub(super) struct Query {
    /// The index of the key.
    pub(super) key: usize,
    /// The index of each tag's value; `None` for a grouped tag.
    pub(super) tags: Vec<Option<usize>>,
    /// The point in time, or the first one.
    pub(super) from: i64,
    /// The last one.
    pub(super) to: Option<i64>,
}

impl Query {
    /// Whether it covers more than one point.
    pub(super) fn is_range(&self) -> bool {
        self.to.is_some() || self.tags.contains(&None)
    }

    /// The number of points it covers.
    pub(super) fn points(&self, config: &SeriesConfig) -> u32 {
        let times = self.to.map_or(1, |to| (to - self.from) / config.step() + 1);
        let grouped = self.tags.iter().zip(&config.tags).filter(|(tag, _)| tag.is_none());
        let series: u64 = grouped.map(|(_, &count)| count).product();
        u32::try_from(series.saturating_mul(times.cast_unsigned())).unwrap_or(u32::MAX)
    }
}

/// A member of a point's document.
#[derive(Clone, Copy, Debug)]
enum Slot {
    Tag(usize),
    Time,
    Value,
}

/// All names, and how they are combined.
#[derive(Debug)]
pub(super) struct Spelling {
    table: String,
    pub(super) keys: Vec<String>,
    tag_keys: Vec<String>,
    tag_values: Vec<String>,
    /// The members of a point, sorted by name.
    slots: Vec<(String, Slot)>,
}

impl Spelling {
    pub(super) fn new(table: &str, config: &SeriesConfig, stream: &mut Stream) -> Self {
        let [key, tag_key, tag_value] = config.lengths;
        let values = config.tags.iter().copied().max().unwrap_or(1);
        let mut keys = names::first(config.keys, key);
        let tag_keys = names::first(config.tags.len() as u64, tag_key);
        let mut tag_values = names::first(values, tag_value);
        if config.random_series {
            super::shuffle(&mut keys, stream);
            super::shuffle(&mut tag_values, stream);
        }
        let tags = tag_keys.iter().enumerate().map(|(i, name)| (name.clone(), Slot::Tag(i)));
        let others = [(&config.timestamp_key, Slot::Time), (&config.value_key, Slot::Value)];
        let others = others.map(|(name, slot)| (name.clone(), slot));
        let mut slots: Vec<_> = tags.chain(others).collect();
        slots.sort_by(|a, b| a.0.cmp(&b.0));
        Self { table: table.to_owned(), keys, tag_keys, tag_values, slots }
    }

    pub(super) fn value(&self, config: &SeriesConfig, point: &Point, draw: &mut Stream) -> Value {
        if config.integrity {
            let tags = point.tags.iter().enumerate();
            let tags = tags.map(|(i, &tag)| (&self.tag_keys[i][..], &self.tag_values[tag][..]));
            return Value::Whole(expected(tags, point.at));
        }
        let whole = match config.values {
            ValueKind::Integers => true,
            ValueKind::Floats => false,
            ValueKind::Mixed => below(draw.draw(), 2) == 1,
        };
        if whole {
            let low = draw.draw() as u32;
            Value::Whole(i64::from(low.cast_signed()))
        } else {
            Value::Decimal(unit(draw.draw()) * MOST)
        }
    }

    /// Appends the identifier of a point: key, tags and time, so that a series sorts by time.
    pub(super) fn id(
        &self,
        key: usize,
        tags: impl Iterator<Item = usize>,
        at: i64,
        out: &mut Vec<u8>,
    ) {
        self.prefix(key, tags, out);
        // With a fixed number of digits, so that they sort in order.
        let _ = write!(out, "{at:019}");
    }

    /// Appends the identifier up to and including the colon after the last of these tags.
    fn prefix(&self, key: usize, tags: impl Iterator<Item = usize>, out: &mut Vec<u8>) {
        out.extend_from_slice(self.keys[key].as_bytes());
        out.push(b':');
        for (tag_key, tag) in self.tag_keys.iter().zip(tags) {
            for part in [tag_key, "=", &self.tag_values[tag], ":"] {
                out.extend_from_slice(part.as_bytes());
            }
        }
    }

    /// Writes the name of the point that a query reads or begins with and, for a range, that of its
    /// last point.
    pub(super) fn range<P: Pen>(&self, query: &Query, pen: &mut P) {
        let known = || query.tags.iter().map_while(|tag| *tag);
        if known().count() < query.tags.len() {
            self.prefix(query.key, known(), pen.name());
            let last = pen.name();
            self.prefix(query.key, known(), last);
            last.extend_from_slice(LAST.as_bytes());
            return;
        }
        self.id(query.key, known(), query.from, pen.name());
        if let Some(to) = query.to {
            self.id(query.key, known(), to, pen.name());
        }
    }

    /// Appends the line of a write.
    pub(super) fn show_point(&self, verb: &str, point: &Point, value: Value, out: &mut Vec<u8>) {
        let _ = write!(out, "{verb} {} {} [ ", self.table, self.keys[point.key]);
        for (name, slot) in &self.slots {
            let _ = write!(out, "{name}=");
            match *slot {
                Slot::Tag(i) => out.extend_from_slice(self.tag_values[point.tags[i]].as_bytes()),
                Slot::Time => number(Value::Whole(point.at), out),
                Slot::Value => number(value, out),
            }
            out.push(b' ');
        }
        out.push(b']');
    }

    /// Appends the line of a read or, if a number of records is given, of a scan.
    pub(super) fn show_query(
        &self,
        config: &SeriesConfig,
        query: &Query,
        limit: Option<u32>,
        out: &mut Vec<u8>,
    ) {
        let verb = if limit.is_some() { "SCAN" } else { "READ" };
        let _ = write!(out, "{verb} {} {}", self.table, self.keys[query.key]);
        if let Some(limit) = limit {
            let _ = write!(out, " {limit}");
        }
        let pair = &config.pair_delimiter;
        out.extend_from_slice(b" [ ");
        for part in self.parts(config, query) {
            let _ = write!(out, "{part} ");
        }
        if let Some(group) = &config.group_by {
            let _ = write!(out, "{}{pair}{} ", group.key, group.function);
        }
        if let Some(down) = &config.downsampling {
            // Reads and scans differ in YCSB.
            let between = if limit.is_some() { pair } else { "" };
            let (key, function) = (&down.key, &down.function);
            let _ = write!(out, "{key}{pair}{function}{between}{} ", down.interval);
        }
        out.push(b']');
    }

    /// Appends the line of a delete.
    pub(super) fn show_delete(&self, config: &SeriesConfig, query: &Query, out: &mut Vec<u8>) {
        let _ = write!(out, "DELETE {} {}", self.table, self.keys[query.key]);
        for part in self.parts(config, query) {
            let _ = write!(out, "{}{part}", config.delete_delimiter);
        }
    }

    /// The tags and the time of a query, as formatted by YCSB.
    fn parts<'a>(
        &'a self,
        config: &'a SeriesConfig,
        query: &'a Query,
    ) -> impl Iterator<Item = String> + 'a {
        let pair = &config.pair_delimiter;
        let tags = self.tag_keys.iter().zip(&query.tags).map(move |(key, tag)| match tag {
            Some(tag) => format!("{key}{pair}{}", self.tag_values[*tag]),
            None => key.clone(),
        });
        let to = query.to.map(|to| format!("{}{to}", config.span_delimiter));
        let key = &config.timestamp_key;
        tags.chain([format!("{key}{pair}{}{}", query.from, to.unwrap_or_default())])
    }
}

/// The stored fields of a point: its tags, its time and its value.
pub(super) struct PointFields<'a> {
    pub(super) spelling: &'a Spelling,
    pub(super) config: &'a SeriesConfig,
    pub(super) point: &'a Point,
    /// The stream that the value is drawn from.
    pub(super) draw: &'a mut Stream,
}

impl Fields for PointFields<'_> {
    fn write(self, first: &[u8], out: &mut Vec<u8>) {
        let Self { spelling, config, point, draw } = self;
        let value = spelling.value(config, point, draw);
        let string = |text: &str, out: &mut Vec<u8>| {
            // Writing to memory cannot fail.
            let _ = serde_json::to_writer(out, text);
        };
        out.push(b'{');
        out.extend_from_slice(first);
        for (name, slot) in &spelling.slots {
            if out.last() != Some(&b'{') {
                out.push(b',');
            }
            string(name, out);
            out.push(b':');
            match *slot {
                Slot::Tag(i) => string(&spelling.tag_values[point.tags[i]], out),
                Slot::Time => number(Value::Whole(point.at), out),
                Slot::Value => number(value, out),
            }
        }
        out.push(b'}');
    }
}

/// Whether a stored point has the value that is computed from the rest of it.
pub(super) fn holds(config: &SeriesConfig, body: &[u8]) -> bool {
    let Ok(members) = serde_json::from_slice::<Map<String, Json>>(body) else { return false };
    let whole = |name: &str| members.get(name).and_then(Json::as_i64);
    let (Some(at), Some(value)) = (whole(&config.timestamp_key), whole(&config.value_key)) else {
        return false;
    };
    let other = |name: &str| {
        name.starts_with('_') || name == config.timestamp_key || name == config.value_key
    };
    let mut tags: Vec<_> = members
        .iter()
        .filter(|(name, _)| !other(name))
        .map(|(name, tag)| (name.as_str(), tag.as_str().unwrap_or_default()))
        .collect();
    tags.sort_unstable();
    expected(tags.into_iter(), at) == value
}

/// The result of YCSB's `TimeSeriesWorkload.validationFunction` for tags, sorted by key, and time.
fn expected<'a>(tags: impl Iterator<Item = (&'a str, &'a str)>, at: i64) -> i64 {
    let text: String = tags.flat_map(|(key, value)| [key, value]).collect();
    i64::from(java_hash(&text)) ^ at
}

fn number(value: Value, out: &mut Vec<u8>) {
    // Both are also valid JSON: with `?`, decimals keep their point.
    let _ = match value {
        Value::Whole(value) => write!(out, "{value}"),
        Value::Decimal(value) => write!(out, "{value:?}"),
    };
}
