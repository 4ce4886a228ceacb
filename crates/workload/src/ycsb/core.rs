//! One connection's part of YCSB's core workload: which operation goes to which record.
//!
//! The operations of a connection follow from the seed, its number and the number of connections.
//! They are independent of other connections, so neither answers nor threads change them. The
//! exception is YCSB's own form of `latest`, where all connections share the record count.

use super::choose::{Action, Actions, Chooser};
use super::config::{CoreConfig, ReadFields, RequestSpec, RetrySpec};
use super::lengths::Lengths;
use super::newest::Newest;
use super::record::{Record, Records};
use crate::generate::{Stream, mix, unit};
use crate::op::{Answered, Failure, Op, OpKind, Part, Pen, Reply};
use crate::{Check, Next, Workload};
use std::ops::Range;
use std::sync::Arc;

/// Separates the draws of the two phases.
const LOAD: u64 = 0x6c6f_6164;
const RUN: u64 = 0x7275_6e00;
/// Texts are drawn separately, so that operations are the same whether texts are generated or not.
const TEXT: u64 = 0x7465_7874;

/// The state that all connections of a core workload share.
#[derive(Debug)]
pub struct Core {
    config: CoreConfig,
    records: Records,
    scans: Lengths,
    actions: Option<Actions>,
    chooser: Chooser,
    /// Used for YCSB's form of `latest`.
    newest: Option<Newest>,
    /// The offset added to the numbers of new records.
    shift: u64,
    seed: u64,
}

impl Core {
    /// The workload for a configuration, for process number `agent` of those that run it.
    pub fn new(config: &CoreConfig, seed: u64, agent: u64) -> Self {
        Self {
            shift: config.insert_shift(agent),
            records: Records::new(config),
            scans: Lengths::new(&config.scan_length),
            actions: Actions::new(&config.proportions),
            // Adding up a zipfian distribution is slow, so it is done once.
            chooser: Chooser::new(config, 0, 1),
            newest: matches!(config.requests, RequestSpec::Latest { as_ycsb: true })
                .then(|| Newest::new(config.records)),
            config: config.clone(),
            seed,
        }
    }

    fn lane(self: &Arc<Self>, k: u64, of: u64, phase: u64, work: Work) -> CoreLane {
        CoreLane {
            core: self.clone(),
            connection: k,
            connections: of,
            stream: Stream::new(mix(self.seed, phase, k), 0),
            text: Stream::new(mix(self.seed, phase ^ TEXT, k), 0),
            work,
            asked: 0..0,
            key: Vec::new(),
        }
    }

    /// Connection `k` of `connections` in the load phase, with `batch` records in a request.
    pub fn load(self: &Arc<Self>, k: u64, connections: u64, batch: u32) -> CoreLane {
        let loading = Loading { batch: u64::from(batch.max(1)), next: k, ..Loading::default() };
        self.lane(k, connections, LOAD, Work::Load(loading))
    }

    /// Connection `k` of `connections` in the run phase, with this many operations to do; `None`
    /// for no limit.
    pub fn run(self: &Arc<Self>, k: u64, connections: u64, operations: Option<u64>) -> CoreLane {
        let chooser = match self.config.requests {
            RequestSpec::Sequential => Chooser::new(&self.config, k, connections),
            _ => self.chooser.clone(),
        };
        let left = operations.unwrap_or(u64::MAX);
        let running = Running { left, inserted: 0, chooser, update: None };
        self.lane(k, connections, RUN, Work::Run(Box::new(running)))
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
    /// The fields requested last, if they are to be verified.
    asked: Range<usize>,
    /// The key of the last record.
    key: Vec<u8>,
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
    /// How often the previous batch was retried.
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
    /// The record to update now that it has been read.
    update: Option<u64>,
}

impl CoreLane {
    /// The same connection, with another number of operations to do.
    #[must_use]
    pub fn with_operations(mut self, operations: Option<u64>) -> Self {
        if let Work::Run(running) = &mut self.work {
            running.left = operations.unwrap_or(u64::MAX);
            running.update = None;
        }
        self
    }

    fn next_load<P: Pen>(&mut self, pen: &mut P) -> Option<Op> {
        let Work::Load(loading) = &mut self.work else { return None };
        let (core, batch) = (&self.core, loading.batch);
        let (start, count) = (core.config.insert_start, core.config.insert_count);
        let first = loading.next.checked_mul(batch).filter(|&first| first < count)?;
        if loading.over {
            return None;
        }
        loading.next += self.connections;
        let numbers = start + first..start + (first + batch).min(count);
        let documents = (numbers.end - numbers.start) as u32;
        for number in numbers.clone() {
            core.name(number, &mut self.key, pen);
            core.insert(&self.key, &mut self.text, pen);
        }
        let kind = if batch == 1 { OpKind::Create } else { OpKind::BulkInsert };
        Some(Op { documents, ..Op::single(kind, numbers.start, None) })
    }

    fn next_run<P: Pen>(&mut self, pen: &mut P) -> Option<Op> {
        let Work::Run(running) = &mut self.work else { return None };
        let (core, k, of) = (&self.core, self.connection, self.connections);
        if let Some(number) = running.update.take() {
            core.name(number, &mut self.key, pen);
            core.update(&self.key, &mut self.stream, &mut self.text, pen);
            return Some(Op { part: Part::Last, ..Op::single(OpKind::Update, number, None) });
        }
        running.left = running.left.checked_sub(1)?;
        let action = core.actions.as_ref()?.draw(&mut self.stream);
        if action == Action::Insert {
            let number = match &core.newest {
                None => inserted(core, running.inserted, k, of),
                Some(newest) => newest.take() + core.shift,
            };
            running.inserted += 1;
            core.name(number, &mut self.key, pen);
            core.insert(&self.key, &mut self.text, pen);
            return Some(Op::single(OpKind::Create, number, None));
        }
        // An estimate of the number of stored records, assuming that all connections have inserted
        // equally many.
        let stored = match &core.newest {
            None => core.config.records + running.inserted * of,
            Some(newest) => newest.stored(),
        };
        let place = running.chooser.draw(stored, &mut self.stream);
        let number = match place.checked_sub(core.config.records) {
            None => place,
            Some(_) if core.newest.is_some() => place + core.shift,
            Some(place) => inserted(core, place / of, k, of),
        };
        core.name(number, &mut self.key, pen);
        match action {
            Action::Update => {
                core.update(&self.key, &mut self.stream, &mut self.text, pen);
                Some(Op::single(OpKind::Update, number, None))
            }
            Action::Delete => {
                pen.line(|line| core.show("DELETE", &self.key, line));
                Some(Op::single(OpKind::Delete, number, None))
            }
            Action::Scan => {
                let limit = core.scans.draw(&mut self.stream) as u32;
                let which = read_fields(core, &mut self.stream);
                core.scan(&self.key, limit, which, pen);
                Some(Op { limit, ..Op::single(OpKind::Scan, number, None) })
            }
            Action::Read | Action::ReadModifyWrite | Action::Insert => {
                self.asked = read_fields(core, &mut self.stream);
                core.read(&self.key, self.asked.clone(), pen);
                let op = Op::single(OpKind::Read, number, None);
                if action == Action::ReadModifyWrite {
                    running.update = Some(number);
                    return Some(Op { part: Part::First, ..op });
                }
                Some(op)
            }
        }
    }
}

/// Writes the operations once they have been drawn.
impl Core {
    /// Writes the name of the record with this number, and keeps its key.
    #[inline]
    fn name<P: Pen>(&self, number: u64, key: &mut Vec<u8>, pen: &mut P) {
        key.clear();
        self.records.key(number, key);
        pen.name().extend_from_slice(key);
    }

    #[inline]
    fn insert<P: Pen>(&self, key: &[u8], text: &mut Stream, pen: &mut P) {
        let which = self.records.all();
        pen.document(None, Record { records: &self.records, key, which, stream: &mut *text });
        pen.line(|line| self.show_write("INSERT", key, self.records.all(), text, line));
    }

    #[inline]
    fn update<P: Pen>(&self, key: &[u8], stream: &mut Stream, text: &mut Stream, pen: &mut P) {
        let which = some(self, self.records.spec().write_all, stream);
        let (records, fields) = (&self.records, which.clone());
        pen.changes(Record { records, key, which, stream: &mut *text });
        pen.line(|line| self.show_write("UPDATE", key, fields, text, line));
    }

    #[inline]
    fn read<P: Pen>(&self, key: &[u8], which: Range<usize>, pen: &mut P) {
        self.want(which.clone(), pen);
        if self.records.spec().integrity {
            pen.look();
        }
        pen.line(|line| {
            self.show("READ", key, line);
            self.show_names(which, ReadFields::All, line);
        });
    }

    fn scan<P: Pen>(&self, key: &[u8], limit: u32, which: Range<usize>, pen: &mut P) {
        self.want(which.clone(), pen);
        pen.line(|line| {
            self.show("SCAN", key, line);
            line.push(b' ');
            line.extend_from_slice(itoa::Buffer::new().format(limit).as_bytes());
            self.show_names(which, ReadFields::AllByName, line);
        });
    }

    /// Requests these fields, unless they are all fields.
    #[inline]
    fn want<P: Pen>(&self, which: Range<usize>, pen: &mut P) {
        if self.records.spec().read != ReadFields::All {
            self.records.names(which).for_each(|name| pen.want(name));
        }
    }

    /// Begins the line that YCSB's `BasicDB` prints for an operation.
    #[cold]
    fn show(&self, verb: &str, key: &[u8], line: &mut Vec<u8>) {
        for part in [verb, " ", &self.config.table, " "] {
            line.extend_from_slice(part.as_bytes());
        }
        line.extend_from_slice(key);
    }

    /// Appends the line of a write, with the text of each field.
    #[cold]
    fn show_write(
        &self,
        verb: &str,
        key: &[u8],
        which: Range<usize>,
        text: &mut Stream,
        line: &mut Vec<u8>,
    ) {
        self.show(verb, key, line);
        line.extend_from_slice(b" [ ");
        self.records.shown(key, which, text, line);
        line.push(b']');
    }

    /// Appends the names of fields, or `<all fields>` where YCSB prints that.
    fn show_names(&self, which: Range<usize>, all: ReadFields, line: &mut Vec<u8>) {
        line.extend_from_slice(b" [ ");
        let read = self.records.spec().read;
        if read == ReadFields::All || read == all {
            line.extend_from_slice(b"<all fields>");
        } else {
            self.records.shown_names(which, line);
        }
        line.push(b']');
    }
}

impl Loading {
    /// Called after a batch: if it failed, repeats it or ends the connection.
    fn ended(&mut self, failed: bool, retry: &RetrySpec, of: u64, stream: &mut Stream) {
        if failed && self.retries < retry.limit {
            self.retries += 1;
            self.next -= of;
            // YCSB's range of pauses: 0.8 to 1.2 times the interval.
            let pause_s = retry.interval_s * 0.4f64.mul_add(unit(stream.draw()), 0.8);
            self.pause_ns = (pause_s * 1e9) as u64;
            return;
        }
        self.retries = 0;
        self.over |= failed && !retry.keep_going;
    }
}

/// The number of the record that connection `k` of `of` inserts after `before` others.
fn inserted(core: &Core, before: u64, k: u64, of: u64) -> u64 {
    core.config.records + core.config.insert_shift(0) + k + before * of
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

impl Workload for CoreLane {
    #[inline]
    fn next<P: Pen>(&mut self, pen: &mut P) -> Next {
        match &mut self.work {
            Work::Run(_) => self.next_run(pen).into(),
            Work::Load(loading) if loading.pause_ns > 0 => {
                Next::Wait(std::mem::take(&mut loading.pause_ns))
            }
            Work::Load(_) => self.next_load(pen).into(),
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
                // Rows that are already stored would conflict on a second attempt.
                let once = RetrySpec { limit: 0, ..self.core.config.retry };
                let retry = if result.is_err() { &self.core.config.retry } else { &once };
                loading.ended(failed, retry, self.connections, &mut self.stream);
                Check::Unchecked
            }
            Work::Run(_) => {
                if let Some(newest) =
                    self.core.newest.as_ref().filter(|_| op.kind == OpKind::Create)
                {
                    newest.ended(op.key - self.core.shift);
                }
                let looks = self.core.records.spec().integrity && op.kind == OpKind::Read;
                if looks && result == Err(Failure::WrongDocument) {
                    return Check::Checked(Err(Failure::WrongDocument));
                }
                let (Some(document), true) = (answered.document, looks && result.is_ok()) else {
                    return Check::Unchecked;
                };
                let holds = self.core.records.holds(&self.key, self.asked.clone(), document);
                Check::Checked(if holds { Ok(()) } else { Err(Failure::UnexpectedState) })
            }
        }
    }
}

#[cfg(test)]
#[path = "core_tests.rs"]
mod tests;
