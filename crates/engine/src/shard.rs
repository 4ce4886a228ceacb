//! One shard: an OS thread with its own runtime and connections. Shards share little except the
//! stop flag and the common start.

use super::beat::beat;
use super::doubt::doubt;
use super::drive::{Prepared, Shared, Suspicion, run_lane};
use super::growth::Growth;
use super::lane::{AnyWorkload, EndedLane, Lane};
use super::pace::Pace;
use super::share::{LoadCounts, Share};
use super::start::{Place, Start};
use super::stop::{Patience, Stop};
use super::tickets::Tickets;
use super::watch::{Watch, Watched};
use crate::clock::{Clock, Nanos, SECOND_NS, Sleeper, thread_cpu_ns};
use crate::driver::{Session, Shard, Target};
use crate::journal::Journal;
use crate::measure::{FillLog, Interval, NodeLog, Pulse, Recorder, Served};
use crate::net::ShardContext;
use crate::op::ByKind;
use crate::workload::Workload;
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;
use tokio::task::JoinHandle;

/// Records of single requests, besides counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Details {
    /// Send each request with its times.
    pub raw: bool,
    /// Send acknowledged writes.
    pub acks: bool,
    /// Keep when documents were last written, for answers of an index that may lack that write.
    pub ages: bool,
}

/// The configuration of a shard.
#[derive(Clone, Debug)]
pub struct ShardPlan {
    /// This shard's number, and how many there are.
    pub shard: (usize, usize),
    /// The clock of the run.
    pub clock: Clock,
    /// The connections of all shards that are open from the start. Later lanes are for connections
    /// that an open loop may open.
    pub connections: usize,
    /// The number of operations of this shard's connections, if it is limited.
    pub operations: Option<u64>,
    /// When operations are due.
    pub pace: Pace,
    /// For how long operations may be begun, in nanoseconds; `None` for as long as there are any.
    pub length_ns: Option<Nanos>,
    /// Do not begin operations that would end after that, judging by the previous one on the same
    /// connection.
    pub within: bool,
    /// For how long operations are begun according to the plan, in nanoseconds: what ends later
    /// does not count in rates. `None` if the plan does not say.
    pub window_ns: Option<Nanos>,
    /// What the shards of this stage share.
    pub pulse: Arc<Pulse>,
    /// How long one operation may take, in nanoseconds.
    pub timeout_ns: Nanos,
    /// How long the server may be silent to all shards.
    pub patience: Arc<Patience>,
    /// How long the start waits for connections, in nanoseconds. Later ones begin as soon as they
    /// can.
    pub gather_ns: Nanos,
    /// Log documents inserted in bulk, in steps of at least this many; `None` to keep no log.
    pub fill_chunk: Option<u64>,
    /// Keep the thread on one processor: the server runs in this process, on other processors.
    pub pinned: bool,
    /// What is kept of single requests.
    pub details: Details,
    /// The journal of writes, and the number of the stage; `None` if there is no journal.
    pub journal: Option<(Arc<Journal>, usize)>,
    /// The stop flag.
    pub stop: Arc<Stop>,
    /// The common start.
    pub start: Arc<Start>,
    /// The receiver of finished seconds.
    pub sink: Sender<Interval>,
}

impl ShardPlan {
    /// A closed loop on a target without a server, in which no timeout is ever reached. It lasts
    /// until its workloads end.
    pub fn alone(shard: (usize, usize), connections: usize, sink: Sender<Interval>) -> Self {
        Self {
            shard,
            clock: Clock::system(),
            connections,
            operations: None,
            pace: Pace::Closed { think_ns: 0 },
            length_ns: None,
            within: false,
            window_ns: None,
            pulse: Arc::new(Pulse::new(shard.1)),
            timeout_ns: SECOND_NS,
            patience: Arc::new(Patience::new(SECOND_NS)),
            gather_ns: SECOND_NS,
            fill_chunk: None,
            pinned: false,
            details: Details::default(),
            journal: None,
            stop: Arc::default(),
            start: Arc::new(Start::new(shard.1)),
            sink,
        }
    }
}

/// The result of a shard, besides the intervals it has sent.
#[derive(Debug, Serialize, Deserialize)]
pub struct ShardResult<W> {
    /// The connections, in the order they were given.
    pub lanes: Vec<EndedLane<W>>,
    /// Documents for which an operation was begun, per kind.
    pub issued: ByKind<u64>,
    /// What became of the operations that were due.
    pub load: LoadCounts,
    /// What was observed about the client, the server and the backlog.
    pub watched: Watched,
    /// The log of documents inserted in bulk.
    pub fill: FillLog,
    /// When the last connection ended, from the common start, in nanoseconds.
    pub elapsed_ns: Nanos,
    /// CPU time of this shard's thread during the stage, in nanoseconds.
    pub cpu_ns: Nanos,
    /// What is known about each node, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeLog>,
    /// Its HTTP requests, if any.
    #[serde(default, skip_serializing_if = "crate::measure::is_default")]
    pub sent: Served,
}

impl<W> ShardResult<W> {
    /// Converts times to another clock, which shows `to` when this one shows `from`.
    pub fn convert(&mut self, from: Nanos, to: Nanos) {
        self.watched.outage.convert(from, to);
        self.watched.silences.convert(from, to);
        self.watched.loss.pauses.convert(from, to);
        self.watched.loss.holding.convert(from, to);
        self.nodes.iter_mut().for_each(|node| node.convert(from, to));
    }

    /// The same result with other workloads.
    fn map<V>(self, mut workload_of: impl FnMut(W) -> V) -> ShardResult<V> {
        let Self { lanes, issued, load, watched, fill, elapsed_ns, cpu_ns, nodes, sent } = self;
        let mapped = |lane: EndedLane<W>| Box::new(lane.map(&mut workload_of));
        let lanes = lanes.into_iter().map(mapped).collect();
        ShardResult { lanes, issued, load, watched, fill, elapsed_ns, cpu_ns, nodes, sent }
    }

    /// Splits it into the measurements, and the workloads by the number of their connection.
    pub fn parted(self) -> (ShardResult<()>, Vec<(usize, W)>) {
        let mut workloads = Vec::with_capacity(self.lanes.len());
        let connections: Vec<_> = self.lanes.iter().map(|lane| lane.connection).collect();
        let mut measured = self.map(|workload| workloads.push(workload));
        // There is nothing to report about connections that were never opened.
        measured.lanes.retain(|lane| !lane.unopened);
        (measured, connections.into_iter().zip(workloads).collect())
    }
}

/// Runs one shard on the calling thread until all its connections are done.
///
/// # Errors
/// Returns an error if the operating system cannot create a runtime or a timer.
pub fn run_shard<T: Target, W: Workload + 'static>(
    plan: &ShardPlan,
    target: &T,
    lanes: Vec<Lane<W>>,
) -> io::Result<ShardResult<Box<W>>> {
    // Even if something fails before the start, the other shards do not wait for this one.
    let place = plan.start.place();
    if plan.pinned {
        crate::cores::pin_from_first(plan.shard.0);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())?;
    runtime.block_on(erased(run_lanes(plan, target, lanes, place)))
}

/// Erases the type of a future, so that the runtime is not compiled again for each driver and
/// workload.
fn erased<'a, O>(future: impl Future<Output = O> + 'a) -> Pin<Box<dyn Future<Output = O> + 'a>> {
    Box::pin(future)
}

/// What the sessions of a shard share.
fn context(plan: &ShardPlan) -> Rc<ShardContext> {
    match plan.pace {
        Pace::Open { .. } => ShardContext::with_timestamps(plan.clock, plan.timeout_ns),
        Pace::Closed { .. } | Pace::Thinking { .. } => {
            ShardContext::new(plan.clock, plan.timeout_ns)
        }
    }
}

/// The part that depends on the type of the workloads.
async fn run_lanes<T: Target, W: Workload + 'static>(
    plan: &ShardPlan,
    target: &T,
    lanes: Vec<Lane<W>>,
    place: Place<'_>,
) -> io::Result<ShardResult<Box<W>>> {
    // Collecting would reuse the memory of the lanes, which is larger.
    let mut any = Vec::with_capacity(lanes.len());
    any.extend(lanes.into_iter().map(|Lane { connection, workload }| {
        let workload: AnyWorkload<SessionOf<T>> = Box::new(workload);
        Lane { connection, workload }
    }));
    let result = erased(run_any(plan, target, any, place)).await?;
    Ok(result.map(|workload| workload.into_any().downcast().expect("the type that it had")))
}

type SessionOf<T> = <<T as Target>::Shard as Shard>::Session;

/// The state shared by the connections of a shard with this many lanes, and others that may be
/// opened.
fn shared(plan: &ShardPlan, start: Nanos, lanes: usize, spare: usize) -> Shared {
    let end = plan.length_ns.map_or(Nanos::MAX, |length| start + length);
    let window_end = plan.window_ns.map_or(Nanos::MAX, |length| start + length);
    let open = matches!(plan.pace, Pace::Open { .. });
    let share = share(plan, lanes, spare);
    Shared {
        clock: plan.clock,
        start,
        tickets: Tickets::new(plan.clock, plan.stop.clone(), &plan.pace, share, (start, end)),
        recorder: RefCell::new(Recorder::new(
            start,
            window_end,
            plan.details.raw,
            plan.sink.clone(),
        )),
        within: plan.length_ns.filter(|_| plan.within).map(|length| start + length),
        acks: plan.details.acks,
        written: plan.details.ages.then(RefCell::default),
        issued: ByKind::new(),
        watch: Watch::new(start, window_end, open, plan.pulse.clone(), plan.shard.0),
        stop: plan.stop.clone(),
        patience: plan.patience.clone(),
        doubt: Suspicion::default(),
        fill: plan.fill_chunk.map(|chunk| RefCell::new(FillLog::new(chunk))),
        journal: plan.journal.as_ref().map(|(it, stage)| it.writer(*stage, plan.shard.0).into()),
    }
}

async fn run_any<T: Target>(
    plan: &ShardPlan,
    target: &T,
    mut lanes: Vec<Lane<AnyWorkload<SessionOf<T>>>>,
    place: Place<'_>,
) -> io::Result<ShardResult<AnyWorkload<SessionOf<T>>>> {
    let context = context(plan);
    let tally = context.tally();
    let sweep = tokio::task::spawn_local(context.clone().sweep());
    let spare = lanes.split_off(lanes.partition_point(|it| it.connection < plan.connections));
    let opened = target.shard(context.clone()).await?;
    let (sessions, firsts) = open(plan, &opened, &mut lanes).await?;
    let start = place.wait(plan.clock);
    let cpu_before = thread_cpu_ns();
    let shared = Rc::new(shared(plan, start, lanes.len(), spare.len()));
    let pacer = tokio::task::spawn_local(pace(shared.clone(), context));
    let ticker = tokio::task::spawn_local(beat(shared.clone(), Sleeper::new(plan.clock)?));
    let asker = tokio::task::spawn_local(erased(doubt(shared.clone(), target.clone())));
    let mut growth =
        Growth::new(&plan.pace, plan.shard.1, &opened, shared.clone(), lanes.len(), spare);
    let tasks: Vec<_> = lanes
        .into_iter()
        .zip(firsts)
        .zip(sessions)
        .enumerate()
        .map(|(seat, ((lane, first), (session, late)))| {
            erased(run_lane(shared.clone(), seat, lane, first, session, late))
        })
        .map(tokio::task::spawn_local)
        .collect();
    let mut done = tokio::select! {
        biased;
        done = ended(tasks) => done?,
        () = growth.run() => Vec::new(),
    };
    done.extend(growth.finish().await?);
    let elapsed_ns = plan.clock.now() - start;
    let cpu_ns = thread_cpu_ns() - cpu_before;
    pacer.abort();
    sweep.abort();
    ticker.abort();
    asker.abort();
    let _ = (ticker.await, asker.await);
    if let Ok(paced) = pacer.await {
        paced?;
    }
    let issued = shared.issued.map(Cell::get);
    let load = shared.tickets.counts();
    let pool = shared.tickets.pool();
    let stopped_ns = shared.tickets.stopped().map(|at| at.saturating_sub(start));
    shared.recorder.borrow_mut().finish();
    shared.watch.look(plan.clock.now());
    shared.watch.left_over(shared.tickets.left_over().into_iter());
    let fill = shared.fill.as_ref().map(RefCell::take).unwrap_or_default();
    let shared = Rc::into_inner(shared).ok_or_else(|| io::Error::other("a task is left"))?;
    let mut watched = Watched { pool, stopped_ns, ..shared.watch.finish(plan.clock) };
    let nodes = nodes(opened.nodes(), &mut watched);
    let (lanes, sent) = (done, tally.sums());
    Ok(ShardResult { lanes, issued, load, watched, fill, elapsed_ns, cpu_ns, nodes, sent })
}

/// This shard's share of a stage, with `open` connections and `spare` more that may be opened
/// later.
const fn share(plan: &ShardPlan, open: usize, spare: usize) -> Share {
    let &ShardPlan { shard, connections: all, operations, .. } = plan;
    Share { shard, own: open + spare, open, all, operations }
}

/// Everything that is known about the nodes.
fn nodes(mut nodes: Vec<NodeLog>, watched: &mut Watched) -> Vec<NodeLog> {
    for (node, silences) in nodes.iter_mut().zip(watched.nodes.drain(..)) {
        node.silences = Some(silences);
    }
    nodes
}

/// The results of connections, once all of them have ended.
async fn ended<W>(tasks: Vec<JoinHandle<EndedLane<W>>>) -> io::Result<Vec<EndedLane<W>>> {
    let mut done = Vec::with_capacity(tasks.len());
    for task in tasks {
        done.push(task.await?);
    }
    Ok(done)
}

async fn pace(shared: Rc<Shared>, context: Rc<ShardContext>) -> io::Result<()> {
    shared.tickets.pace(&context).await
}

/// Sessions, each with whether it is late, and their first operations. They are boxed, so that they
/// stay in place: moving them from task to task would leave gaps in memory that nothing else fills.
type Opened<S> = (Vec<(Box<S>, bool)>, Vec<Box<Prepared<<S as Session>::Pen>>>);

/// Opens the connections of `lanes`; prepares the first operation of each.
async fn open<S: Shard>(
    plan: &ShardPlan,
    shard: &S,
    lanes: &mut [Lane<AnyWorkload<S::Session>>],
) -> io::Result<Opened<S::Session>> {
    let numbers = lanes.iter().map(|lane| lane.connection);
    let sessions = connect(shard, numbers, plan.gather_ns).await?;
    let first = |lane: &mut Lane<AnyWorkload<S::Session>>, session: &S::Session| {
        Box::new(Prepared::new(&mut *lane.workload, session.pen()))
    };
    let both = lanes.iter_mut().zip(&sessions);
    let firsts = both.map(|(lane, (session, _))| first(lane, session)).collect();
    Ok((sessions, firsts))
}

/// How many connections begin to open before the runtime sees which of them are open already, so
/// that the next ones can use the memory that opening took.
const AT_ONCE: usize = 64;

/// Opens all connections before the start, so that no operation includes this. Those that are not
/// open after `gather_ns` are returned unopened, marked as late.
async fn connect<S: Shard>(
    shard: &S,
    numbers: impl ExactSizeIterator<Item = usize>,
    gather_ns: Nanos,
) -> io::Result<Vec<(Box<S::Session>, bool)>> {
    let mut over = std::pin::pin!(tokio::time::sleep(Duration::from_nanos(gather_ns)));
    let (mut connecting, mut sessions) = (VecDeque::new(), Vec::with_capacity(numbers.len()));
    for number in numbers {
        let mut session = Box::new(shard.session_of(number));
        let connected = tokio::task::spawn_local(erased(async move {
            session.ready().await;
            session
        }));
        connecting.push_back((number, connected));
        if connecting.len() % AT_ONCE == 0 {
            tokio::task::yield_now().await;
        }
        while connecting.front().is_some_and(|(_, connected)| connected.is_finished())
            && let Some((_, connected)) = connecting.pop_front()
        {
            sessions.push((connected.await?, false));
        }
    }
    for (number, mut session) in connecting {
        tokio::select! {
            biased;
            session = &mut session => sessions.push((session?, false)),
            () = &mut over => {
                session.abort();
                sessions.push((Box::new(shard.session_of(number)), true));
            }
        }
    }
    Ok(sessions)
}

#[cfg(test)]
#[path = "shard_tests.rs"]
mod tests;
