//! YCSB's core workload, one connection's part of it: what is asked of which record.
//!
//! What a connection does follows from the seed, its number and how many connections there are.
//! It knows nothing of the others, and so neither answers nor threads change what is asked; but for
//! YCSB's own way of `latest`, where all share the count of records.

use super::choose::{Action, Actions, Chooser};
use super::config::{CoreConfig, ReadFields, RequestSpec, RetrySpec};
use super::lengths::Lengths;
use super::newest::Newest;
use super::record::Records;
use crate::generate::{Stream, mix, unit};
use crate::op::{Answered, Draft, Failure, Op, OpKind, Part, Reply};
use crate::workload::{Check, Workload};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// What the draws of the two phases start from, so that they differ.
const LOAD: u64 = 0x6c6f_6164;
const RUN: u64 = 0x7275_6e00;
/// Texts are drawn apart, so that what is asked is the same whether they are made or not.
const TEXT: u64 = 0x7465_7874;

/// What is made of an operation beside its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bodies {
    /// Documents, in JSON.
    #[default]
    Json,
    /// Nothing: nobody would read it.
    Nothing,
    /// The line that YCSB's `BasicDB` prints.
    Shown,
}

/// What all connections of a core workload share.
#[derive(Debug)]
pub struct Core {
    config: CoreConfig,
    records: Records,
    scans: Lengths,
    actions: Option<Actions>,
    chooser: Chooser,
    /// Where `latest` is done as YCSB does it.
    newest: Option<Newest>,
    seed: u64,
    bodies: Bodies,
}

impl Core {
    /// The workload that `config` describes.
    pub fn new(config: &CoreConfig, seed: u64, bodies: Bodies) -> Self {
        Self {
            records: Records::new(config),
            scans: Lengths::new(&config.scan_length),
            actions: Actions::new(&config.proportions),
            // To sum up a zipfian distribution takes a while: done once.
            chooser: Chooser::new(config, (0, 1)),
            newest: matches!(config.requests, RequestSpec::Latest { as_ycsb: true })
                .then(|| Newest::new(config.records)),
            config: config.clone(),
            seed,
            bodies,
        }
    }

    fn lane(self: &Arc<Self>, (k, of): (u64, u64), phase: u64, work: Work) -> CoreLane {
        CoreLane {
            core: self.clone(),
            connection: k,
            connections: of,
            stream: Stream::new(mix(self.seed, phase, k), 0),
            text: Stream::new(mix(self.seed, phase ^ TEXT, k), 0),
            work,
            asked: 0..0,
            name: Vec::new(),
        }
    }

    /// Connection `k` of `connections` in the load phase, with `batch` records in a request.
    pub fn load(self: &Arc<Self>, (k, connections): (u64, u64), batch: u32) -> CoreLane {
        let loading = Loading { batch: u64::from(batch.max(1)), next: k, ..Loading::default() };
        self.lane((k, connections), LOAD, Work::Load(loading))
    }

    /// Connection `k` of `connections` in the run phase, with this many operations to do; `None`:
    /// without end.
    pub fn run(
        self: &Arc<Self>,
        (k, connections): (u64, u64),
        operations: Option<u64>,
    ) -> CoreLane {
        let chooser = match self.config.requests {
            RequestSpec::Sequential => Chooser::new(&self.config, (k, connections)),
            _ => self.chooser.clone(),
        };
        let left = operations.unwrap_or(u64::MAX);
        let running = Running { left, inserted: 0, chooser, update: None };
        self.lane((k, connections), RUN, Work::Run(Box::new(running)))
    }
}

/// One connection's part of a core workload.
#[derive(Debug)]
pub struct CoreLane {
    core: Arc<Core>,
    connection: u64,
    connections: u64,
    stream: Stream,
    text: Stream,
    work: Work,
    /// The fields that were asked for last, where they are to be verified.
    asked: Range<usize>,
    /// The name that was asked for last, likewise.
    name: Vec<u8>,
}

#[derive(Debug)]
enum Work {
    Load(Loading),
    Run(Box<Running>),
}

#[derive(Debug, Default)]
struct Loading {
    batch: u64,
    /// The number of this connection's next batch.
    next: u64,
    /// How often the batch before it was tried again.
    retries: u64,
    pause_ns: u64,
    over: bool,
}

#[derive(Debug)]
struct Running {
    left: u64,
    /// How many records this connection has inserted.
    inserted: u64,
    chooser: Chooser,
    /// The record that is to be updated, having been read.
    update: Option<u64>,
}

impl CoreLane {
    /// The same connection with another number of operations to do.
    #[must_use]
    pub fn with_operations(mut self, operations: Option<u64>) -> Self {
        if let Work::Run(running) = &mut self.work {
            running.left = operations.unwrap_or(u64::MAX);
            running.update = None;
        }
        self
    }

    fn next_load(&mut self, draft: &mut Draft) -> Option<Op> {
        let Work::Load(loading) = &mut self.work else { return None };
        let (core, batch) = (&self.core, loading.batch);
        let (start, count) = (core.config.insert_start, core.config.insert_count);
        let first = loading.next.checked_mul(batch).filter(|&first| first < count)?;
        if loading.over {
            return None;
        }
        loading.next += self.connections;
        let numbers = start + first..start + (first + batch).min(count);
        if batch == 1 {
            core.records.key(numbers.start, &mut draft.name);
            write(core, Shape::Insert(core.records.all()), &mut self.text, draft);
            return Some(Op::single(OpKind::Create, numbers.start, None));
        }
        for number in numbers.clone() {
            let named = draft.name.len();
            core.records.key(number, &mut draft.name);
            if core.bodies == Bodies::Json {
                if number > numbers.start {
                    draft.body.push(b',');
                }
                let (key, all) = (&draft.name[named..], core.records.all());
                core.records.document((key, true), all, &mut self.text, &mut draft.body);
            }
            draft.name.push(0);
        }
        let documents = (numbers.end - numbers.start) as u32;
        Some(Op { documents, ..Op::single(OpKind::BulkInsert, numbers.start, None) })
    }

    fn next_run(&mut self, draft: &mut Draft) -> Option<Op> {
        let Work::Run(running) = &mut self.work else { return None };
        let (core, of) = (&self.core, (self.connection, self.connections));
        if let Some(number) = running.update.take() {
            core.records.key(number, &mut draft.name);
            let which = some(core, core.records.spec().write_all, &mut self.stream);
            write(core, Shape::Update(which), &mut self.text, draft);
            return Some(Op { part: Part::Last, ..Op::single(OpKind::Update, number, None) });
        }
        running.left = running.left.checked_sub(1)?;
        let action = core.actions.as_ref()?.draw(&mut self.stream);
        if action == Action::Insert {
            let number = match &core.newest {
                None => inserted(core, running.inserted, of),
                Some(newest) => newest.take() + core.config.insert_shift(),
            };
            running.inserted += 1;
            core.records.key(number, &mut draft.name);
            write(core, Shape::Insert(core.records.all()), &mut self.text, draft);
            return Some(Op::single(OpKind::Create, number, None));
        }
        // What is stored, as far as this connection knows: as if all had inserted as many.
        let stored = match &core.newest {
            None => core.config.records + running.inserted * self.connections,
            Some(newest) => newest.stored(),
        };
        let place = running.chooser.draw(stored, &mut self.stream);
        let number = match place.checked_sub(core.config.records) {
            None => place,
            Some(_) if core.newest.is_some() => place + core.config.insert_shift(),
            Some(place) => inserted(core, place / self.connections, of),
        };
        core.records.key(number, &mut draft.name);
        let (kind, shape) = match action {
            Action::Update => {
                let which = some(core, core.records.spec().write_all, &mut self.stream);
                (OpKind::Update, Shape::Update(which))
            }
            Action::Delete => (OpKind::Delete, Shape::Delete),
            Action::Scan => {
                let limit = core.scans.draw(&mut self.stream) as u32;
                let which = read_fields(core, &mut self.stream);
                write(core, Shape::Scan(limit, which), &mut self.text, draft);
                return Some(Op { limit, ..Op::single(OpKind::Scan, number, None) });
            }
            Action::Read | Action::ReadModifyWrite | Action::Insert => {
                let which = read_fields(core, &mut self.stream);
                if core.records.spec().integrity {
                    self.asked = which.clone();
                    self.name.clone_from(&draft.name);
                }
                (OpKind::Read, Shape::Read(which))
            }
        };
        write(core, shape, &mut self.text, draft);
        let op = Op::single(kind, number, None);
        if action == Action::ReadModifyWrite {
            running.update = Some(number);
            return Some(Op { part: Part::First, ..op });
        }
        Some(op)
    }
}

impl Loading {
    /// Takes the last batch back, or ends, if it has failed.
    fn ended(&mut self, failed: bool, retry: &RetrySpec, of: u64, stream: &mut Stream) {
        if failed && self.retries < retry.limit {
            self.retries += 1;
            self.next -= of;
            // YCSB's spread of pauses: 0.8 to 1.2 of the interval.
            let pause_s = retry.interval_s * 0.4f64.mul_add(unit(stream.draw()), 0.8);
            self.pause_ns = (pause_s * 1e9) as u64;
            return;
        }
        self.retries = 0;
        self.over |= failed && !retry.keep_going;
    }
}

/// Number of the record that connection `k` of `of` inserts after `before` others of its own.
fn inserted(core: &Core, before: u64, (k, of): (u64, u64)) -> u64 {
    core.config.records + core.config.insert_shift() + k + before * of
}

/// All fields, or one at random.
fn some(core: &Core, all: bool, stream: &mut Stream) -> Range<usize> {
    if all {
        return core.records.all();
    }
    let one = crate::generate::below(stream.draw(), core.records.all().end as u64) as usize;
    one..one + 1
}

fn read_fields(core: &Core, stream: &mut Stream) -> Range<usize> {
    some(core, core.records.spec().read != ReadFields::One, stream)
}

/// What an operation does with which fields.
enum Shape {
    Insert(Range<usize>),
    Update(Range<usize>),
    Read(Range<usize>),
    Scan(u32, Range<usize>),
    Delete,
}

/// Writes what goes with an operation whose name is written.
#[inline]
fn write(core: &Core, shape: Shape, stream: &mut Stream, draft: &mut Draft) {
    match (core.bodies, shape) {
        (Bodies::Json, Shape::Insert(which) | Shape::Update(which)) => {
            core.records.document((&draft.name, false), which, stream, &mut draft.body);
        }
        (Bodies::Shown, shape) => show(core, shape, stream, draft),
        _ => {}
    }
}

/// Writes the line that `BasicDB` prints.
#[cold]
fn show(core: &Core, shape: Shape, stream: &mut Stream, Draft { name, body }: &mut Draft) {
    let verb = match shape {
        Shape::Insert(_) => "INSERT",
        Shape::Update(_) => "UPDATE",
        Shape::Read(_) => "READ",
        Shape::Scan(..) => "SCAN",
        Shape::Delete => "DELETE",
    };
    for part in [verb, " ", &core.config.table, " "] {
        body.extend_from_slice(part.as_bytes());
    }
    body.extend_from_slice(name);
    match shape {
        Shape::Delete => return,
        Shape::Insert(which) | Shape::Update(which) => {
            body.extend_from_slice(b" [ ");
            core.records.shown(name, which, stream, body);
        }
        Shape::Read(which) => show_names(core, (which, ReadFields::All), body),
        Shape::Scan(limit, which) => {
            body.push(b' ');
            body.extend_from_slice(itoa::Buffer::new().format(limit).as_bytes());
            show_names(core, (which, ReadFields::AllByName), body);
        }
    }
    body.push(b']');
}

/// Writes the names of fields; for those that ask for all of them in this way, a word instead.
fn show_names(core: &Core, (which, all): (Range<usize>, ReadFields), body: &mut Vec<u8>) {
    body.extend_from_slice(b" [ ");
    let read = core.records.spec().read;
    if read == ReadFields::All || read == all {
        body.extend_from_slice(b"<all fields>");
    } else {
        core.records.shown_names(which, body);
    }
}

impl Workload for CoreLane {
    #[inline]
    fn next(&mut self, draft: &mut Draft) -> Option<Op> {
        match self.work {
            Work::Run(_) => self.next_run(draft),
            Work::Load(_) => self.next_load(draft),
        }
    }

    #[inline]
    fn observe(
        &mut self,
        op: &Op,
        result: Result<Reply, Failure>,
        answered: &Answered<'_>,
    ) -> Check {
        match &mut self.work {
            Work::Load(loading) => {
                let failed = result.is_err() || answered.rows.iter().any(Result::is_err);
                // Rows that were stored would be in the way of a second try.
                let once = RetrySpec { limit: 0, ..self.core.config.retry };
                let retry = if result.is_err() { &self.core.config.retry } else { &once };
                loading.ended(failed, retry, self.connections, &mut self.stream);
                Check::Unchecked
            }
            Work::Run(_) => {
                if let Some(newest) =
                    self.core.newest.as_ref().filter(|_| op.kind == OpKind::Create)
                {
                    newest.ended(op.key - self.core.config.insert_shift());
                }
                let spec = self.core.records.spec();
                let verified = spec.integrity && self.core.bodies == Bodies::Json;
                if !verified || op.kind != OpKind::Read || result.is_err() {
                    return Check::Unchecked;
                }
                let holds = self.core.records.holds(&self.name, self.asked.clone(), answered.body);
                Check::Checked(if holds { Ok(()) } else { Err(Failure::UnexpectedState) })
            }
        }
    }

    #[inline]
    fn pause_ns(&mut self) -> u64 {
        match &mut self.work {
            Work::Load(loading) => std::mem::take(&mut loading.pause_ns),
            Work::Run(_) => 0,
        }
    }
}

#[cfg(test)]
#[path = "core_tests.rs"]
mod tests;
