//! YCSB's time series: points of many series, written in the order of time, and queries of them.
//!
//! A series is a key with a value for each tag; a point of it is a time with a number. What a
//! connection does follows from the seed, its number and how many connections there are.

mod config;
mod cursor;
mod names;
mod spell;

pub use config::{Asker, Downsampling, GroupBy, SeriesConfig, Unit, ValueKind};

use super::choose::{Action, Actions, Chooser};
use super::config::CoreConfig;
use super::core::Bodies;
use super::lengths::{LengthSpec, Lengths};
use crate::generate::{Stream, below, mix};
use crate::op::{Answered, Draft, Failure, Op, OpKind, Reply};
use crate::workload::{Check, Workload};
use cursor::Cursor;
use spell::{Query, Spelling};
use std::sync::Arc;

/// What the draws of the two phases start from, and those of names, so that they differ.
const LOAD: u64 = u64::from_be_bytes(*b"ts: load");
const RUN: u64 = u64::from_be_bytes(*b"ts:  run");
const NAMES: u64 = u64::from_be_bytes(*b"ts:names");
/// Values are drawn apart, so that what is asked is the same whether they are made or not.
const VALUES: u64 = u64::from_be_bytes(*b"ts:value");

/// What all connections of a time series workload share.
#[derive(Debug)]
pub struct Series {
    core: CoreConfig,
    config: SeriesConfig,
    spelling: Spelling,
    actions: Option<Actions>,
    scans: Lengths,
    seed: u64,
    bodies: Bodies,
}

/// One connection's part of a time series workload.
#[derive(Debug)]
pub struct SeriesLane {
    series: Arc<Series>,
    /// Points in a request of the load phase; `None`: it is the run phase.
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
    /// The workload that `core` and `config` describe.
    pub fn new((core, config): (&CoreConfig, &SeriesConfig), seed: u64, bodies: Bodies) -> Self {
        // The shortest scan is of one point: minscanlength is about records.
        let scans = match core.scan_length {
            LengthSpec::Zipfian { max, .. } => LengthSpec::Zipfian { min: 1, max },
            LengthSpec::Uniform { max, .. } => LengthSpec::Uniform { min: 1, max },
            ref other => other.clone(),
        };
        // The same in both phases, or the second would ask for what the first has not written.
        let mut stream = Stream::new(mix(seed, NAMES, 0), 0);
        Self {
            spelling: Spelling::new(&core.table, config, &mut stream),
            actions: Actions::new(&core.proportions),
            scans: Lengths::new(&scans),
            core: core.clone(),
            config: config.clone(),
            seed,
            bodies,
        }
    }

    fn lane(self: &Arc<Self>, (k, of): (u64, u64), phase: u64, left: u64) -> SeriesLane {
        let mut stream = Stream::new(mix(self.seed, phase, k), 0);
        SeriesLane {
            batch: None,
            left,
            cursor: Cursor::new(&self.config, (k, of), &mut stream),
            query: Query::default(),
            chooser: Chooser::of_keys(&self.core.requests, self.config.keys, (k, of)),
            stream,
            values: Stream::new(mix(self.seed, phase ^ VALUES, k), 0),
            series: self.clone(),
        }
    }

    /// Connection `place.0` of `place.1` in the load phase, with so many points to load, of which
    /// `batch` are in a request.
    pub fn load(self: &Arc<Self>, place: (u64, u64), points: u64, batch: u32) -> SeriesLane {
        SeriesLane { batch: Some(u64::from(batch.max(1))), ..self.lane(place, LOAD, points) }
    }

    /// Connection `place.0` of `place.1` in the run phase, with this many operations to do;
    /// `None`: without end.
    pub fn run(self: &Arc<Self>, place: (u64, u64), operations: Option<u64>) -> SeriesLane {
        self.lane(place, RUN, operations.unwrap_or(u64::MAX))
    }
}

impl SeriesLane {
    fn next_load(&mut self, batch: u64, draft: &mut Draft) -> Option<Op> {
        if batch == 1 {
            self.left = self.left.checked_sub(1)?;
            return Some(self.write(OpKind::Create, draft));
        }
        let series = &self.series;
        let documents = batch.min(self.left) as u32;
        for i in 0..documents {
            self.cursor.next(&series.config, true, &mut self.stream);
            let (point, named) = (&self.cursor.point, draft.name.len());
            let tags = point.tags.iter().copied();
            series.spelling.id(point.key, tags, point.at, &mut draft.name);
            if series.bodies == Bodies::Json {
                let value = series.spelling.value(&series.config, point, &mut self.values);
                let comma = if i > 0 { &b","[..] } else { b"" };
                draft.body.extend_from_slice(comma);
                let id = &draft.name[named..];
                series.spelling.document(Some(id), (point, value), &mut draft.body);
            }
            draft.name.push(0);
        }
        self.left -= u64::from(documents);
        (documents > 0).then(|| Op { documents, ..Op::single(OpKind::BulkInsert, 0, None) })
    }

    fn next_run(&mut self, draft: &mut Draft) -> Option<Op> {
        self.left = self.left.checked_sub(1)?;
        match self.series.actions?.draw(&mut self.stream) {
            // What is measured again takes the place of what was there, as in such databases.
            Action::Insert => Some(Op { overwrite: true, ..self.write(OpKind::Create, draft) }),
            Action::Update => Some(self.write(OpKind::Update, draft)),
            Action::Read | Action::ReadModifyWrite => {
                let key = self.chooser.draw(self.series.config.keys, &mut self.stream);
                self.ask(key);
                let limit =
                    if self.query.is_range() { self.query.points(&self.series.config) } else { 0 };
                self.spell(OpKind::Read, None, draft);
                Some(Op { limit, ..Op::single(OpKind::Read, key, None) })
            }
            Action::Scan => {
                let key = below(self.stream.draw(), self.series.config.keys);
                let limit = self.series.scans.draw(&mut self.stream) as u32;
                self.ask(key);
                self.spell(OpKind::Scan, Some(limit), draft);
                Some(Op { limit, ..Op::single(OpKind::Scan, key, None) })
            }
            Action::Delete => {
                let key = below(self.stream.draw(), self.series.config.keys);
                self.ask(key);
                self.spell(OpKind::Delete, None, draft);
                Some(Op::single(OpKind::Delete, key, None))
            }
        }
    }

    /// Writes the next point, or one that was before.
    fn write(&mut self, kind: OpKind, Draft { name, body }: &mut Draft) -> Op {
        let (series, spelling) = (&self.series, &self.series.spelling);
        let new = kind == OpKind::Create;
        self.cursor.next(&series.config, new, &mut self.stream);
        let point = &self.cursor.point;
        spelling.id(point.key, point.tags.iter().copied(), point.at, name);
        let op = Op::single(kind, point.key as u64, None);
        if series.bodies == Bodies::Nothing {
            return op;
        }
        let value = spelling.value(&series.config, point, &mut self.values);
        if series.bodies == Bodies::Json {
            spelling.document(None, (point, value), body);
        } else {
            let verb = if new { "INSERT" } else { "UPDATE" };
            spelling.show_point(verb, (point, value), body);
        }
        op
    }

    /// Draws a query of this key.
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

    /// Writes the query that was drawn last.
    fn spell(&self, kind: OpKind, limit: Option<u32>, draft: &mut Draft) {
        let (series, query) = (&self.series, &self.query);
        series.spelling.range(query, &mut draft.name);
        if series.bodies != Bodies::Shown {
            return;
        }
        if kind == OpKind::Delete {
            series.spelling.show_delete(&series.config, query, &mut draft.body);
        } else {
            series.spelling.show_query(&series.config, query, limit, &mut draft.body);
        }
    }
}

impl Workload for SeriesLane {
    fn next(&mut self, draft: &mut Draft) -> Option<Op> {
        match self.batch {
            Some(batch) => self.next_load(batch, draft),
            None => self.next_run(draft),
        }
    }

    fn observe(
        &mut self,
        op: &Op,
        result: Result<Reply, Failure>,
        answered: &Answered<'_>,
    ) -> Check {
        if self.batch.is_some() {
            // As in YCSB, a connection ends with a point that was not written.
            let failed = result.is_err() || answered.rows.iter().any(Result::is_err);
            if failed && !self.series.core.retry.keep_going {
                self.left = 0;
            }
            return Check::Unchecked;
        }
        let verified = self.series.config.integrity && self.series.bodies == Bodies::Json;
        if !verified || op.kind != OpKind::Read || result.is_err() {
            return Check::Unchecked;
        }
        let holds = spell::holds(&self.series.config, answered.body);
        Check::Checked(if holds { Ok(()) } else { Err(Failure::UnexpectedState) })
    }
}

/// Fisher and Yates's shuffle, as in Knuth, "The Art of Computer Programming", volume 2, 3.4.2,
/// algorithm P.
fn shuffle<T>(items: &mut [T], stream: &mut Stream) {
    for i in (1..items.len()).rev() {
        items.swap(i, below(stream.draw(), i as u64 + 1) as usize);
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
