//! YCSB's time series: points of many series, written in order of time, and queries on them.
//!
//! A series is a key with a value for each tag; a point is a time with a number. The operations of
//! a connection follow from the seed, its number and the number of connections.

mod config;
mod cursor;
mod names;
mod spell;

pub use config::{Asker, Downsampling, GroupBy, SeriesConfig, Unit, ValueKind};

use super::choose::{Action, Actions, Chooser};
use super::config::CoreConfig;
use super::lengths::{LengthSpec, Lengths};
use crate::generate::{Stream, below, mix};
use crate::op::{Answered, Failure, Op, OpKind, Pen, Reply};
use crate::{Check, Next, Workload};
use cursor::Cursor;
use spell::{PointFields, Query, Spelling};
use std::sync::Arc;

/// Separate the draws of the two phases, and of names.
const LOAD: u64 = u64::from_be_bytes(*b"ts: load");
const RUN: u64 = u64::from_be_bytes(*b"ts:  run");
const NAMES: u64 = u64::from_be_bytes(*b"ts:names");
/// Values are drawn separately, so that operations are the same whether values are generated or
/// not.
const VALUES: u64 = u64::from_be_bytes(*b"ts:value");

/// The state that all connections of a time series workload share.
#[derive(Debug)]
pub struct Series {
    core: CoreConfig,
    config: SeriesConfig,
    spelling: Spelling,
    actions: Option<Actions>,
    scans: Lengths,
    seed: u64,
}

/// One connection's part of a time series workload.
#[derive(Debug)]
pub struct SeriesLane {
    series: Arc<Series>,
    /// Points in a request of the load phase; `None` in the run phase.
    batch: Option<u64>,
    /// Points to load, or operations to do.
    left: u64,
    cursor: Cursor,
    query: Query,
    chooser: Chooser,
    stream: Stream,
    values: Stream,
}

impl Series {
    /// The workload for these configurations.
    pub fn new(core: &CoreConfig, config: &SeriesConfig, seed: u64) -> Self {
        // The shortest scan is one point: `minscanlength` is a number of records.
        let scans = match core.scan_length {
            LengthSpec::Zipfian { max, .. } => LengthSpec::Zipfian { min: 1, max },
            LengthSpec::Uniform { max, .. } => LengthSpec::Uniform { min: 1, max },
            ref other => other.clone(),
        };
        // Both phases use the same stream; otherwise the second would query points that the first
        // did not write.
        let mut stream = Stream::new(mix(seed, NAMES, 0), 0);
        Self {
            spelling: Spelling::new(&core.table, config, &mut stream),
            actions: Actions::new(&core.proportions),
            scans: Lengths::new(&scans),
            core: core.clone(),
            config: config.clone(),
            seed,
        }
    }

    fn lane(self: &Arc<Self>, k: u64, of: u64, phase: u64, left: u64) -> SeriesLane {
        let mut stream = Stream::new(mix(self.seed, phase, k), 0);
        SeriesLane {
            batch: None,
            left,
            cursor: Cursor::new(&self.config, k, of, &mut stream),
            query: Query::default(),
            chooser: Chooser::of_keys(&self.core.requests, self.config.keys, k, of),
            stream,
            values: Stream::new(mix(self.seed, phase ^ VALUES, k), 0),
            series: self.clone(),
        }
    }

    /// Connection `k` of `of` in the load phase, with this many points to load, `batch`
    /// of them in a request.
    pub fn load(self: &Arc<Self>, k: u64, of: u64, points: u64, batch: u32) -> SeriesLane {
        SeriesLane { batch: Some(u64::from(batch.max(1))), ..self.lane(k, of, LOAD, points) }
    }

    /// Connection `k` of `of` in the run phase, with this many operations to do; `None` for no
    /// limit.
    pub fn run(self: &Arc<Self>, k: u64, of: u64, operations: Option<u64>) -> SeriesLane {
        self.lane(k, of, RUN, operations.unwrap_or(u64::MAX))
    }
}

impl SeriesLane {
    fn next_load<P: Pen>(&mut self, batch: u64, pen: &mut P) -> Option<Op> {
        if batch == 1 {
            self.left = self.left.checked_sub(1)?;
            return Some(self.write(OpKind::Create, pen));
        }
        let documents = batch.min(self.left) as u32;
        for _ in 0..documents {
            self.write(OpKind::Create, pen);
        }
        self.left -= u64::from(documents);
        (documents > 0).then(|| Op { documents, ..Op::single(OpKind::BulkInsert, 0, None) })
    }

    fn next_run<P: Pen>(&mut self, pen: &mut P) -> Option<Op> {
        self.left = self.left.checked_sub(1)?;
        match self.series.actions?.draw(&mut self.stream) {
            // A repeated measurement replaces the old value, as in time series databases.
            Action::Insert => Some(Op { overwrite: true, ..self.write(OpKind::Create, pen) }),
            Action::Update => Some(self.write(OpKind::Update, pen)),
            Action::Read | Action::ReadModifyWrite => {
                let key = self.chooser.draw(self.series.config.keys, &mut self.stream);
                self.ask(key);
                let limit =
                    if self.query.is_range() { self.query.points(&self.series.config) } else { 0 };
                self.spell(OpKind::Read, None, pen);
                if self.series.config.integrity {
                    pen.look();
                }
                Some(Op { limit, ..Op::single(OpKind::Read, key, None) })
            }
            Action::Scan => {
                let key = below(self.stream.draw(), self.series.config.keys);
                let limit = self.series.scans.draw(&mut self.stream) as u32;
                self.ask(key);
                self.spell(OpKind::Scan, Some(limit), pen);
                Some(Op { limit, ..Op::single(OpKind::Scan, key, None) })
            }
            Action::Delete => {
                let key = below(self.stream.draw(), self.series.config.keys);
                self.ask(key);
                self.spell(OpKind::Delete, None, pen);
                Some(Op::single(OpKind::Delete, key, None))
            }
        }
    }

    /// Writes the next point, or an earlier one.
    fn write<P: Pen>(&mut self, kind: OpKind, pen: &mut P) -> Op {
        let (series, spelling) = (&self.series, &self.series.spelling);
        let new = kind == OpKind::Create;
        self.cursor.next(&series.config, new, &mut self.stream);
        let (point, draw) = (&self.cursor.point, &mut self.values);
        spelling.id(point.key, point.tags.iter().copied(), point.at, pen.name());
        let fields = PointFields { spelling, config: &series.config, point, draw: &mut *draw };
        if new {
            pen.document(None, fields);
        } else {
            pen.changes(fields);
        }
        pen.line(|line| {
            let value = spelling.value(&series.config, point, draw);
            spelling.show_point(if new { "INSERT" } else { "UPDATE" }, point, value, line);
        });
        Op::single(kind, point.key as u64, None)
    }

    /// Draws a query for this key.
    fn ask(&mut self, key: u64) {
        let (config, stream) = (&self.series.config, &mut self.stream);
        let query = &mut self.query;
        query.key = key as usize;
        let offset = below(stream.draw(), config.offsets.saturating_sub(1)).cast_signed();
        query.from = config.start + offset * config.step();
        query.tags.clear();
        for (i, &count) in config.tags.iter().enumerate() {
            let grouped = config.group_by.as_ref().is_some_and(|group| group.tags[i]);
            query.tags.push((!grouped).then(|| below(stream.draw(), count) as usize));
        }
        query.to = (config.span > 0).then(|| {
            let most = config.span / config.interval;
            let span = if config.random_span {
                below(stream.draw(), most.cast_unsigned()).cast_signed() * config.interval
            } else {
                config.span
            };
            query.from + span
        });
    }

    /// Writes the last query drawn.
    fn spell<P: Pen>(&self, kind: OpKind, limit: Option<u32>, pen: &mut P) {
        let (series, query) = (&self.series, &self.query);
        series.spelling.range(query, pen);
        pen.line(|line| {
            if kind == OpKind::Delete {
                series.spelling.show_delete(&series.config, query, line);
            } else {
                series.spelling.show_query(&series.config, query, limit, line);
            }
        });
    }
}

impl Workload for SeriesLane {
    fn next<P: Pen>(&mut self, pen: &mut P) -> Next {
        let op = match self.batch {
            Some(batch) => self.next_load(batch, pen),
            None => self.next_run(pen),
        };
        op.into()
    }

    fn observe(
        &mut self,
        op: &Op,
        result: Result<Reply, Failure>,
        answered: &Answered<'_>,
    ) -> Check {
        if self.batch.is_some() {
            // As in YCSB, a failed write ends the connection.
            let failed = result.is_err() || answered.rows.iter().any(Result::is_err);
            if failed && !self.series.core.retry.keep_going {
                self.left = 0;
            }
            return Check::Unchecked;
        }
        let looks = self.series.config.integrity && op.kind == OpKind::Read;
        let (Some(document), true) = (answered.document, looks && result.is_ok()) else {
            return Check::Unchecked;
        };
        let holds = spell::holds(&self.series.config, document);
        Check::Checked(if holds { Ok(()) } else { Err(Failure::UnexpectedState) })
    }
}

/// The Fisher-Yates shuffle, as in Knuth, "The Art of Computer Programming", volume 2, 3.4.2,
/// algorithm P.
fn shuffle<T>(items: &mut [T], stream: &mut Stream) {
    for i in (1..items.len()).rev() {
        items.swap(i, below(stream.draw(), i as u64 + 1) as usize);
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
