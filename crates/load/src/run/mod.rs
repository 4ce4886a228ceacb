//! The conductor: runs a plan stage by stage and records the results.
//!
//! The only module that knows plan, engine, workloads and drivers together. It prints nothing:
//! events go to an [`Observer`].

mod bench;
mod calibrate;
mod collect;
mod compacting;
mod copies;
#[cfg(test)]
mod couch_tests;
mod crew;
mod drill;
mod ending;
mod enlist;
mod fields;
#[cfg(test)]
mod fixture_tests;
mod follow;
mod host;
mod http;
mod lanes;
mod last_writes;
mod live;
mod load;
mod observe;
mod progress;
mod replicate;
mod said;
mod scratch;
mod serve;
mod share;
mod sizes;
mod source;
mod stage;
#[cfg(test)]
mod steps_tests;
mod unfinished;
mod visible;
#[cfg(test)]
mod whole_tests;
mod window;

pub use http::{Shown, exchange_once};
pub use progress::{KindProgress, Progress};
pub use said::Said;
pub use serve::{Served, serve};

use crate::clock::{Clock, Nanos, SECOND_NS, wall_ns};
use crate::driver::{
    Acknowledged, CompactionPlan, Driver, Echo, Opening, ServerFacts, TargetError, scratch_name,
};
use crate::engine::{Stop, StopReason};
use crate::fleet::Fleet;
use crate::http1::Watcher;
use crate::journal::Journal;
use crate::measure::{RawRow, Second};
use crate::plan::{Plan, Purpose, SchemaPlan};
use crate::record::{RunRecord, Running, ServerRecord, StageRecord};
use crate::schema::{Documents, SchemaError};
use crate::workload::owed;
use bench::Bench;
use crew::Crew;
use ending::{begun, ended, left_over, not_made, others};
use lanes::Connections;
use observe::{Asks, Observing};
use replicate::Replicas;
use scratch::Scratch;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Receives the events of a run.
pub trait Observer {
    /// The run begins. The record has no stages yet.
    fn run_begins(&mut self, _record: &RunRecord) {}
    /// Receives each exchange of the HTTP driver, if they are to be shown.
    fn exchanges(&mut self) -> Option<Watcher> {
        None
    }
    /// Whether [`Observer::running`] is needed: it costs a copy of all totals.
    fn watches(&self) -> bool {
        false
    }
    /// What the running stage has measured so far, once a second.
    fn running(&mut self, _running: Running) {}
    /// Receives the text of each operation from a driver without a server; called by all load
    /// threads.
    fn echo(&self) -> Option<Echo> {
        None
    }
    /// The stage of this name begins.
    fn stage_begins(&mut self, stage: &str);
    /// The progress of a stage, a few times a second.
    fn progress(&mut self, progress: &Progress);
    /// Something the user should know before the run has ended, in one sentence.
    fn news(&mut self, _sentence: &str) {}
    /// The journal for the writes of a run with an audit. `None`: one among temporary files.
    fn journal(&mut self) -> Option<Arc<Journal>> {
        None
    }
    /// Single requests, if the plan asks for them: those of one thread in one second at a time.
    /// `done` plus `epoch_ns` is in nanoseconds since 1970.
    fn raw(&mut self, _rows: &[RawRow], _epoch_ns: Nanos) {}
    /// Whether [`Observer::second`] is needed: it costs a second merge of all measurements.
    fn takes_seconds(&self) -> bool {
        false
    }
    /// A second of the running stage, which began at `began_ns`, in nanoseconds since 1970. Each
    /// second is reported once, and once more if results for it arrive late.
    fn second(&mut self, _stage: &str, _began_ns: Nanos, _second: &Second) {}
    /// Whether [`Observer::unfinished`] is needed: it costs up to a hundredth of a processor.
    fn saves(&self) -> bool {
        false
    }
    /// A stage takes several seconds: the record including what it has measured so far, to be saved
    /// in case the run is killed.
    fn unfinished(&mut self, _record: &RunRecord) {}
    /// A stage or the whole run has ended: the record so far, to be saved. If that fails, the run
    /// continues anyway.
    fn keep(&mut self, record: &RunRecord);
}

/// The reason a run failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The target cannot be used.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The user asked twice to stop.
    #[error("exited immediately; a scratch database may remain")]
    Aborted,
    /// An agent never came, or cannot carry out the plan.
    #[error("{0}")]
    Agents(String),
    /// All agents were lost in the middle of the run.
    #[error("{0}")]
    AllLost(String),
    /// The schema in the plan is invalid.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The operating system refused something.
    #[error("{0}")]
    System(#[from] io::Error),
}

impl RunError {
    /// Whether the target, rather than springload, is the reason.
    pub const fn is_targets(&self) -> bool {
        !matches!(self, Self::System(_) | Self::Schema(_))
    }
}

/// Runs `plan`; `stand_in` is the address of the stand-in, if the plan uses it.
///
/// # Errors
/// Returns an error if nothing could be started, because the server or database cannot be used or
/// the operating system refuses something; or if the user asked twice to stop. If anything else
/// ends a run, its record says so, and contains everything measured until then.
pub fn run(
    plan: &Plan,
    stand_in: Option<String>,
    stop: &Arc<Stop>,
    observer: &mut dyn Observer,
) -> Result<RunRecord, RunError> {
    run_with(plan, stand_in, stop, observer, None)
}

/// As [`run`], with agents to generate the load: this process opens the database, makes the record
/// and removes what it created.
///
/// # Errors
/// Returns an error as [`run`] does, and if an agent is missing or cannot carry out the plan.
pub fn run_with(
    plan: &Plan,
    stand_in: Option<String>,
    stop: &Arc<Stop>,
    observer: &mut dyn Observer,
    fleet: Option<&mut Fleet>,
) -> Result<RunRecord, RunError> {
    let documents = SchemaPlan::documents(plan.seed, &plan.schemas)?;
    let documents = Arc::new(documents.named(plan.ids.seeded(plan.seed)));
    let (began, began_wall) = (Clock::system().now(), wall_ns());
    let calibration = calibrate::calibrate(&documents, plan.threads)?;
    let pinned = stand_in.is_some();
    let scratch = fleet.is_some().then(scratch_name);
    let (relay, detour) = drill::relay(plan)?.unzip();
    let opening = Opening { scratch, stand_in, detour, ..opening(plan, observer)? };
    block_on(stop, drill::check_mode(plan, &opening))?;
    let asks = block_on(stop, Asks::of(plan, pinned))?;
    // If this fails, there is no database yet that would stay behind.
    let given = observer.journal().filter(|_| plan.audit);
    let own = (plan.audit && given.is_none()).then(Scratch::new).transpose()?;
    let journal = given.or_else(|| own.as_ref().map(Scratch::journal));
    let opening = Opening { acknowledged: acknowledged(plan, journal.as_ref()), ..opening };
    let Databases { target, facts, replicas } = open(plan, &opening, stop)?;
    let mut record = begun(plan, began_wall, ServerRecord::of(facts, pinned));
    record.environment.calibration = Some(calibration);
    observer.run_begins(&record);
    if let Some(warning) = record.server.open_shards.and_then(|it| it.warning()) {
        observer.news(&warning);
    }
    let asks = asks.map(|asks| asks.with_machine(record.server.same_machine));
    let observing = asks.map(|asks| Observing::begin(asks, &target, began)).transpose();
    let observing =
        or_undone(observing.map_err(RunError::System), &target, replicas.as_ref(), stop)?;
    let mut bench = Bench {
        pinned,
        journal,
        observing,
        replicas,
        relay,
        ..Bench::new(plan, &target, stop, [began, began_wall])
    };
    let result = match fleet {
        None => stages(&bench, documents, &mut record, observer),
        Some(fleet) => {
            Crew::new(fleet, began).run(&bench, &documents, &opening, &mut record, observer)
        }
    };
    let result = end_beside(result, &mut bench, &mut record);
    if plan.drill.is_some() && result.is_ok() {
        let patience_ns = copies::PATIENCE_NS;
        record.copies = copies::compare(plan, &record, stop, observer, patience_ns);
    }
    if stop.reason() != Some(StopReason::Aborted) {
        close(&bench, &mut record, result, observer);
    }
    if stop.reason() == Some(StopReason::Aborted) { Err(RunError::Aborted) } else { Ok(record) }
}

/// Removes what the run created, and completes its record; `result`: how its stages ended.
fn close(
    bench: &Bench<'_>,
    record: &mut RunRecord,
    result: Result<(), RunError>,
    observer: &mut dyn Observer,
) {
    let Bench { plan, stop, .. } = *bench;
    let at = bench.stopped.get().unwrap_or_else(|| Clock::system().now());
    let at_s = (at - bench.began) as f64 / SECOND_NS as f64;
    let advice = record.stages.last().and_then(|stage| record.fill_advice(stage));
    let ended = ended(result.err(), stop.reason(), at_s, advice);
    record.extra_documents = record.extra_documents.filter(|_| ended.is_none());
    if let Some(sentence) = left_over(plan, record) {
        observer.news(&sentence);
    }
    let removed = block_on(stop, bench.target.tear_down());
    if let Some(journal) = &bench.journal
        && let Err(error) = journal.close()
    {
        journal.break_off(&error.to_string());
    }
    record.journal_broken = bench.journal.as_ref().and_then(|journal| journal.broken());
    record.close(ended, removed.map_err(|error| error.to_string()));
    observer.keep(record);
}

/// What the driver needs to know about the run.
fn opening(plan: &Plan, observer: &mut dyn Observer) -> Result<Opening, RunError> {
    Ok(Opening {
        operations: plan.operations.clone(),
        filter: plan.filter(),
        seed: plan.seed,
        fields: fields::fields(plan)?,
        timeout_ns: plan.timeout_ns,
        max_answer: plan.max_answer,
        exchanges: observer.exchanges(),
        echo: plan.target.shows().then(|| observer.echo()).flatten(),
        ..Opening::default()
    })
}

/// What is to be looked for, if `plan` is the audit of an earlier run.
fn acknowledged(plan: &Plan, journal: Option<&Arc<Journal>>) -> Option<Acknowledged> {
    let is_audit = plan.stages.iter().all(|stage| stage.work.traits().audits);
    let journal = Arc::clone(journal.filter(|_| is_audit)?);
    let shared = plan.stages.iter().any(|stage| stage.work.traits().shares_documents);
    Some(Arc::new(move || {
        let ledger = owed(&journal, shared).ok()?;
        journal.broken().is_none().then(|| ledger.stored())
    }))
}

/// The databases of a run, open.
struct Databases {
    target: Driver,
    /// About the server of the target.
    facts: ServerFacts,
    /// The others, if there is replication.
    replicas: Option<Replicas>,
}

/// Opens the target of `plan`, and the other databases if there is replication.
fn open(plan: &Plan, opening: &Opening, stop: &Stop) -> Result<Databases, RunError> {
    let (target, facts) = block_on(stop, plan.target.open(opening))?;
    let replicas = Replicas::open(plan, opening, &target, &facts, stop);
    let replicas = or_undone(replicas, &target, None, stop)?;
    Ok(Databases { target, facts, replicas })
}

/// Passes on `result`. If it is an error, removes the databases that were created: that was a
/// moment ago, and they are empty.
fn or_undone<T>(
    result: Result<T, RunError>,
    target: &Driver,
    replicas: Option<&Replicas>,
    stop: &Stop,
) -> Result<T, RunError> {
    result.inspect_err(|_| {
        if let Some(replicas) = replicas {
            let _ = replicas.finish(stop);
        }
        let _ = block_on(stop, target.tear_down());
    })
}

/// Ends what runs beside the stages, unless the user asked twice to stop. `result`: how the stages
/// ended; returns the first error. Whatever keeps something from its end, what was measured is
/// kept.
fn end_beside(
    result: Result<(), RunError>,
    bench: &mut Bench<'_>,
    record: &mut RunRecord,
) -> Result<(), RunError> {
    if bench.stop.reason() == Some(StopReason::Aborted) {
        return result;
    }
    record.observed = bench.observing.take().and_then(Observing::finish);
    if let Some(observed) = &mut record.observed {
        bench.beside.take_from(observed);
    }
    let Some(replicas) = &bench.replicas else { return result };
    let finished = replicas.finish(bench.stop).map(|found| record.replication = Some(found));
    result.and(finished)
}

/// Runs administrative requests on the calling thread, until they are done or the user asks twice
/// to stop.
fn block_on<T>(
    stop: &Stop,
    work: impl Future<Output = Result<T, TargetError>>,
) -> Result<T, RunError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let aborted = async {
            while stop.reason() != Some(StopReason::Aborted) {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::select! {
            result = work => Ok(result?),
            () = aborted => Err(RunError::Aborted),
        }
    })
}

fn stages(
    bench: &Bench<'_>,
    documents: Arc<Documents>,
    record: &mut RunRecord,
    observer: &mut dyn Observer,
) -> Result<(), RunError> {
    let mut connections = Connections::new(bench, documents)?;
    each_stage(bench, record, observer, |number, record, observer| {
        let stage = &bench.plan.stages[number];
        if stage.work.traits().node.is_some() {
            return drill::audit_through(bench, stage, &mut connections, record, observer);
        }
        connections.run_stage(bench, stage, |work| bench.run(stage, work, observer, None))
    })
}

/// Runs each stage of the plan with `run`, until the run must stop.
fn each_stage(
    bench: &Bench<'_>,
    record: &mut RunRecord,
    observer: &mut dyn Observer,
    mut run: impl FnMut(usize, &mut RunRecord, &mut dyn Observer) -> Result<StageRecord, RunError>,
) -> Result<(), RunError> {
    let (mut first, mut given_up, mut held) = (None, None, false);
    for (number, stage) in bench.plan.stages.iter().enumerate() {
        // What was written until then can still be audited.
        if bench.stop.reason().is_some_and(StopReason::gave_up) {
            if !stage.work.traits().audits {
                continue;
            }
            given_up = bench.stop.resume();
            if !is_back(bench, observer)? {
                break;
            }
        }
        let replicas = bench.replicas.as_ref().filter(|_| stage.purpose() == Purpose::Replicated);
        if let Some(replicas) = replicas.filter(|_| bench.stop.reason().is_none()) {
            replicas.begin(bench.stop, observer)?;
        }
        let now = Clock::system().now();
        if let Some(gathering) = stage.work.traits().gathering {
            let moment = first.get_or_insert(now).saturating_add(gathering.not_before_ns);
            pause(bench.stop, moment);
        }
        drill::settle(bench, stage, observer);
        if bench.stop.reason().is_some() {
            break;
        }
        if !held && stage.purpose() != Purpose::Databases {
            // The databases do not exist before that.
            hold_compaction(bench)?;
            held = true;
        }
        observer.stage_begins(&stage.name);
        bench.ended.replace(Some(record.clone()));
        let stage = run(number, record, observer)?;
        if bench.stop.reason().is_some() {
            bench.stopped.set(bench.stopped.get().or_else(|| Some(Clock::system().now())));
        }
        record.add(stage);
        if let Some(left_out) = not_made(bench, record) {
            return Err(left_out);
        }
        record.extra_documents = record.extra_documents.or_else(|| others(bench, record));
        if let Some(replicas) = replicas {
            record.replication = Some(replicas.settle(bench.stop, observer));
        }
        record.observed = bench.observing.as_ref().and_then(Observing::so_far);
        observer.keep(record);
    }
    if let Some(reason) = given_up {
        bench.stop.raise(reason);
    }
    Ok(())
}

/// Keeps the server from compacting what the run uses, if the plan says so.
fn hold_compaction(bench: &Bench<'_>) -> Result<(), RunError> {
    if bench.plan.target.compaction() != CompactionPlan::Off {
        return Ok(());
    }
    block_on(bench.stop, bench.target.hold_compaction())
}

/// Waits for a server that was given up, as long as it may be silent. Returns true if it responds,
/// or if it cannot be asked.
fn is_back(bench: &Bench<'_>, observer: &mut dyn Observer) -> Result<bool, RunError> {
    observer.news("gave up on the server; waiting for it to come back, to audit what was written");
    let (clock, patience_ns) = (Clock::system(), bench.plan.patience_ns());
    let until = clock.now().saturating_add(patience_ns);
    let asking = async {
        loop {
            let left_ns = until.saturating_sub(clock.now());
            let answer = bench.target.answers(left_ns.clamp(SECOND_NS / 10, SECOND_NS)).await;
            if answer.is_none_or(|answer| answer.is_ok()) {
                return Ok(true);
            }
            if clock.now() >= until || bench.stop.reason().is_some() {
                return Ok(false);
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    block_on(bench.stop, asking)
}

/// Waits until `moment`, or until the user asks to stop.
fn pause(stop: &Stop, moment: Nanos) {
    let clock = Clock::system();
    while clock.now() < moment && stop.reason().is_none() {
        let left = (moment - clock.now().min(moment)).min(SECOND_NS / 20);
        std::thread::sleep(Duration::from_nanos(left));
    }
}
