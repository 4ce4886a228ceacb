//! Breaks something in the middle of a stage and mends it again, on its own thread; afterwards asks
//! each node for what was acknowledged.
//!
//! Whatever it started to break is mended, however the stage ends: by itself, at the user's
//! request, or with an error.

use super::bench::Bench;
use super::collect::{Collected, Frame};
use super::lanes::Connections;
use super::said::Said;
use super::{Observer, RunError, block_on, pause};
use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::driver::{Detour, Driver, Opening, SentBeside, TargetError};
use crate::engine::{Start, Stop, StopReason};
use crate::measure::{Series, Totals};
use crate::net::{Cutter, Relay, addresses};
use crate::plan::{Breaks, DrillPlan, Plan, StagePlan, TargetPlan, strike_command};
use crate::record::{DrillRecord, DrillStep, RunRecord, StageRecord};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use url::Url;

/// How often to check whether it is time to act, or a command has ended.
const STEP: Duration = Duration::from_millis(10);
/// How much of the end of a command's output is kept, in bytes.
const MOST_OUTPUT: u64 = 2_000;
/// The pause between two attempts to restore a node, or to reach it.
const AGAIN: Duration = Duration::from_millis(500);

/// A thread that breaks and mends. Dropping it mends at once, and waits until that is done.
pub(super) struct Drilling {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<DrillRecord>>,
}

impl Drilling {
    /// Begins after `start`. The receiver gets messages for the user.
    pub(super) fn begin(
        bench: &Bench<'_>,
        stage: &StagePlan,
        start: &Arc<Start>,
    ) -> io::Result<Option<(Self, Receiver<String>)>> {
        let Some(plan) = bench.plan.drill_of(stage) else { return Ok(None) };
        let over = Arc::new(AtomicBool::new(false));
        let (news, receiver) = channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let work = DrillWork {
            plan: plan.clone(),
            target: bench.plan.target.clone(),
            max_answer: bench.plan.max_answer,
            beside: bench.beside.clone(),
            cutter: bench.relay.as_ref().map(Relay::cutter),
            start: start.clone(),
            over: over.clone(),
            stop: bench.stop.clone(),
            news,
            runtime,
        };
        let builder = std::thread::Builder::new().name("drill".to_owned());
        let thread = Some(builder.spawn(move || work.carry_out())?);
        Ok(Some((Self { over, thread }, receiver)))
    }

    /// Mends what is still broken, and returns what was done.
    pub(super) fn finish(mut self) -> DrillRecord {
        self.end()
    }

    fn end(&mut self) -> DrillRecord {
        self.over.store(true, Ordering::Relaxed);
        let done = self.thread.take().and_then(|thread| thread.join().ok());
        done.unwrap_or_default()
    }
}

impl Drop for Drilling {
    fn drop(&mut self) {
        self.end();
    }
}

struct DrillWork {
    plan: DrillPlan,
    target: TargetPlan,
    max_answer: u64,
    /// Counts its requests.
    beside: SentBeside,
    /// Cuts the path to a node, if that is what the drill breaks.
    cutter: Option<Cutter>,
    start: Arc<Start>,
    over: Arc<AtomicBool>,
    stop: Arc<Stop>,
    news: Sender<String>,
    runtime: tokio::runtime::Runtime,
}

/// One of the two steps of a drill.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Act {
    Break,
    Mend,
}

impl Act {
    const fn flag(self) -> &'static str {
        match self {
            Self::Break => "--stop",
            Self::Mend => "--start",
        }
    }
}

impl DrillWork {
    fn carry_out(self) -> DrillRecord {
        while self.start.moment().is_none() && !self.is_over() {
            std::thread::sleep(STEP);
        }
        let Some(began) = self.start.moment() else { return DrillRecord::default() };
        let times = self.plan.times;
        if !self.until(began + times.before_ns) {
            return DrillRecord::default();
        }
        let mut mode = Mode::Unknown;
        let stop = self.step(Act::Break, began, &mut mode);
        self.until(began + times.before_ns + times.broken_ns);
        let start = self.step(Act::Mend, began, &mut mode);
        DrillRecord { stop: Some(stop), start: Some(start) }
    }

    /// Whether the stage has ended, or is about to.
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed) || self.stop.reason().is_some()
    }

    /// Waits until `moment`. Returns whether the stage is still running.
    fn until(&self, moment: Nanos) -> bool {
        let clock = Clock::system();
        while clock.now() < moment {
            if self.is_over() {
                return false;
            }
            std::thread::sleep(STEP);
        }
        !self.is_over()
    }

    fn step(&self, act: Act, began: Nanos, mode: &mut Mode) -> DrillStep {
        let since = |at: Nanos| at.saturating_sub(began) as f64 / SECOND_NS as f64;
        let clock = Clock::system();
        let from_s = since(clock.now());
        let (command, done) = match &self.plan.breaks {
            Breaks::Commands { stop, start } => {
                let command = if act == Act::Break { stop } else { start };
                (strike_command(command), self.command(act, command))
            }
            Breaks::Maintenance { node, url } => {
                let into = if act == Act::Break { "into" } else { "out of" };
                (format!("put {url} {into} maintenance mode"), self.maintain(act, *node, mode))
            }
            Breaks::Partition { url, .. } => (partition_words(act, url), self.partition(act)),
        };
        let to_s = since(clock.now());
        let what = if act == Act::Break { "broken" } else { "mended" };
        let (problem, output) = match done {
            Ok(()) => (None, None),
            Err(Undone { problem, output }) => (Some(problem), output),
        };
        let message = problem.as_ref().map_or_else(
            || format!("{what} after {from_s:.1} s, which took {:.1} s: {command}", to_s - from_s),
            |problem| {
                let said = output.as_ref().map_or_else(String::new, |it| format!(": {it}"));
                format!("{problem}{said}")
            },
        );
        // After the stage has ended, no receiver is left.
        let _ = self.news.send(message);
        DrillStep { command, from_s, to_s, problem, output }
    }

    /// Runs a command and waits for it, but not forever.
    fn command(&self, act: Act, command: &str) -> Result<(), Undone> {
        let flag = act.flag();
        let undone = |problem: String| Undone { problem, output: None };
        let said = Said::new()
            .map_err(|error| undone(format!("{flag}: there is no room for its output: {error}")))?;
        let mut shell = Command::new("sh");
        // In a process group of its own: Ctrl-C is for springload, and what the command starts
        // keeps running.
        shell.args(["-c", command]).stdin(Stdio::null()).process_group(0);
        let child = said.of(&mut shell).and_then(Command::spawn);
        let mut child =
            child.map_err(|error| undone(format!("{flag}: cannot start a shell: {error}")))?;
        let failed = |problem: String| Undone { problem, output: said.end(MOST_OUTPUT) };
        let (clock, limit_ns) = (Clock::system(), self.plan.times.limit_ns);
        let until = clock.now().saturating_add(limit_ns);
        loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(failed(format!("{flag} ended with {status}"))),
                Err(error) => return Err(failed(format!("{flag}: {error}"))),
                Ok(None) => {}
            }
            // A user who asked twice to stop does not wait for a command that breaks something.
            let aborted = act == Act::Break && self.stop.reason() == Some(StopReason::Aborted);
            if clock.now() >= until || aborted {
                let seconds = limit_ns as f64 / SECOND_NS as f64;
                let problem = format!("{flag} had not ended after {seconds} s");
                return Err(failed(match act {
                    Act::Break => {
                        kill(&mut child);
                        format!("{problem} and was killed")
                    }
                    // The process may be the server itself.
                    Act::Mend => format!("{problem}; it was left running"),
                }));
            }
            std::thread::sleep(STEP);
        }
    }

    /// Cuts the load off from a node, or lets it through again.
    fn partition(&self, act: Act) -> Result<(), Undone> {
        let Some(cutter) = &self.cutter else {
            let problem = "--partition: there is no relay".to_owned();
            return Err(Undone { problem, output: None });
        };
        match act {
            Act::Break => cutter.cut(),
            Act::Mend => cutter.join(),
        }
        Ok(())
    }

    /// Puts a node into maintenance mode or, retrying if necessary, back into its previous mode.
    fn maintain(&self, act: Act, node: usize, mode: &mut Mode) -> Result<(), Undone> {
        let timeout_ns = self.plan.times.limit_ns;
        let (max_answer, beside) = (self.max_answer, self.beside.clone());
        let opening = Opening { timeout_ns, max_answer, beside, ..Opening::default() };
        let set = |to: Option<&str>| {
            self.runtime.block_on(self.target.maintain(&opening, node, to)).map_err(|error| {
                Undone { problem: format!("--maintenance: {error}"), output: None }
            })
        };
        if act == Act::Break {
            let before = self.runtime.block_on(self.target.maintained(&opening, node));
            let problem = match before {
                Ok(Some(before)) if before != "false" => {
                    format!("--maintenance: the node is in the mode {before:?} already")
                }
                Ok(before) => {
                    *mode = Mode::Was(before);
                    return set(Some("true"));
                }
                Err(error) => format!("--maintenance: {error}"),
            };
            return Err(Undone { problem, output: None });
        }
        // What was never broken needs no mending.
        let Mode::Was(before) = mode else { return Ok(()) };
        let clock = Clock::system();
        let until = clock.now().saturating_add(timeout_ns);
        loop {
            let done = set(before.as_deref());
            if done.is_ok() || clock.now() >= until {
                return done;
            }
            std::thread::sleep(AGAIN);
        }
    }
}

fn partition_words(act: Act, url: &str) -> String {
    match act {
        Act::Break => format!("cut the load off from {url}"),
        Act::Mend => format!("let the load through to {url} again"),
    }
}

/// The relay through which the load reaches one of the nodes, if a drill will cut that node off.
pub(super) fn relay(plan: &Plan) -> Result<Option<(Relay, Detour)>, RunError> {
    let Some(Breaks::Partition { node, url }) = plan.drill.as_ref().map(|it| &it.breaks) else {
        return Ok(None);
    };
    let wrong = |error: &dyn std::fmt::Display| TargetError(error.to_string());
    let parsed = Url::parse(url).map_err(|error| wrong(&error))?;
    let servers = addresses(&parsed).map_err(|error| wrong(&error))?;
    let relay = Relay::begin(servers)?;
    let detour = Detour { node: *node, relay: relay.address() };
    Ok(Some((relay, detour)))
}

/// Fails if a drill will put a node into maintenance mode and the user cannot even read its mode.
pub(super) async fn check_mode(plan: &Plan, opening: &Opening) -> Result<(), TargetError> {
    let Some(Breaks::Maintenance { node, .. }) = plan.drill.as_ref().map(|it| &it.breaks) else {
        return Ok(());
    };
    let mode = plan.target.maintained(opening, *node).await;
    mode.map(drop).map_err(|error| TargetError(format!("--maintenance: {error}")))
}

/// The maintenance mode of a node before the drill.
enum Mode {
    Unknown,
    /// `None`: the mode was not set.
    Was(Option<String>),
}

/// The reason a step was not done, and the output so far.
struct Undone {
    problem: String,
    output: Option<String>,
}

/// Kills a command with every process that it started in its group.
fn kill(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.wait();
}

/// Audits what was acknowledged through one node alone. If the node cannot be reached, waits for it
/// as long as a server may be silent.
pub(super) fn audit_through(
    bench: &Bench<'_>,
    stage: &StagePlan,
    connections: &mut Connections,
    record: &RunRecord,
    observer: &mut dyn Observer,
) -> Result<StageRecord, RunError> {
    let node = stage.work.traits().node.unwrap_or_default();
    let found = match bench.plan.target.through(node, &record.server.database) {
        None => Err("there is no such node".to_owned()),
        Some(plan) => opened(bench, &plan)?,
    };
    let target = match found {
        Ok(target) => target,
        Err(why) => {
            let url = bench.plan.target.nodes().get(node).cloned().unwrap_or_default();
            let frame = Frame {
                began: [bench.began, Clock::system().now()],
                nodes: Vec::new(),
                ..Frame::of(stage, bench.plan)
            };
            let empty = Collected::new(Totals::default(), Series::default()).record(frame);
            let unasked = Some(format!("nothing could be asked of {url}: {why}"));
            return Ok(StageRecord { unasked, ..empty });
        }
    };
    let began = [bench.began, bench.began_wall];
    let alone = Bench {
        pinned: bench.pinned,
        part: bench.part,
        journal: bench.journal.clone(),
        ..Bench::new(bench.plan, &target, bench.stop, began)
    };
    let audited =
        connections.run_stage(&alone, stage, |work| alone.run(stage, work, observer, None))?;
    Ok(StageRecord { nodes: Vec::new(), ..audited })
}

/// The node once it can be used, or the reason it cannot.
fn opened(bench: &Bench<'_>, plan: &TargetPlan) -> Result<Result<Driver, String>, RunError> {
    let (timeout_ns, max_answer) = (bench.plan.timeout_ns, bench.plan.max_answer);
    let beside = bench.beside.clone();
    let opening = Opening { timeout_ns, max_answer, beside, ..Opening::default() };
    let clock = Clock::system();
    let until = clock.now().saturating_add(bench.plan.patience_ns());
    let opening = async {
        loop {
            match plan.open(&opening).await {
                Ok((target, _)) => return Ok(Ok(target)),
                Err(TargetError(why)) if clock.now() >= until || bench.stop.reason().is_some() => {
                    return Ok(Err(why));
                }
                Err(_) => tokio::time::sleep(AGAIN).await,
            }
        }
    };
    block_on(bench.stop, opening)
}

/// Waits for servers to settle before the first audit of a drill.
pub(super) fn settle(bench: &Bench<'_>, stage: &StagePlan, observer: &mut dyn Observer) {
    let Some(drill) = &bench.plan.drill else { return };
    let audits = |it: &&StagePlan| it.work.traits().audits;
    let first = bench.plan.stages.iter().find(audits);
    let settle_ns = drill.times.settle_ns;
    if settle_ns > 0 && first.is_some_and(|it| std::ptr::eq(it, stage)) {
        let seconds = settle_ns as f64 / SECOND_NS as f64;
        observer.news(&format!("waiting {seconds} s for the servers to settle before the audit"));
        pause(bench.stop, Clock::system().now() + settle_ns);
    }
}

#[cfg(test)]
#[path = "drill_tests.rs"]
mod tests;
