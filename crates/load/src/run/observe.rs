//! Observes the servers beside the load, on its own thread and connections: asks each one for its
//! metrics at intervals, and keeps the responses.

use super::host::Host;
use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::driver::{Driver, Monitor, NoReading, Opened, Question, Scrape, TargetError};
use crate::observed::{Observed, ObservedLog};
use crate::plan::{ObservePlan, Plan};
use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::{LocalSet, spawn_local};

/// The things to observe.
pub(super) struct Asks {
    /// The servers of the load.
    servers: bool,
    /// The machine that springload shares with them.
    machine: bool,
    /// Exporters, each of which has responded once.
    exporters: Vec<Scrape>,
}

impl Asks {
    /// What the plan observes; `None`: nothing. A server in this process is not disturbed.
    pub(super) async fn of(plan: &Plan, pinned: bool) -> Result<Option<Self>, TargetError> {
        let ObservePlan { servers, urls, series, tls } = &plan.observe;
        let mut exporters = Vec::new();
        for url in urls {
            exporters.push(Scrape::open(url, series, tls, plan.max_answer).await?);
        }
        let servers = *servers && !pinned;
        let any = servers || !exporters.is_empty();
        Ok(any.then_some(Self { servers, machine: false, exporters }))
    }

    /// Adds the machine, if it is shared with an observed server.
    pub(super) fn with_machine(self, shared: bool) -> Self {
        Self { machine: self.servers && shared, ..self }
    }
}

/// A thread that observes until it is stopped.
pub(super) struct Observing {
    over: watch::Sender<bool>,
    log: Arc<Mutex<ObservedLog>>,
    thread: JoinHandle<()>,
}

impl Observing {
    /// Starts, and returns once every server has responded or timed out. Times count from `began`.
    pub(super) fn begin(asks: Asks, target: &Driver, began: Nanos) -> io::Result<Self> {
        let (over, is_over) = watch::channel(false);
        let log = Arc::new(Mutex::new(ObservedLog::default()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (started, ready) = mpsc::sync_channel(1);
        let shared = SharedLog { log: log.clone(), over: is_over, began };
        let work = ObserveWork { asks, shared, started, runtime };
        let (target, builder) = (target.clone(), std::thread::Builder::new());
        let builder = builder.name("observer".to_owned());
        let thread = builder.spawn(move || work.begin(&*target))?;
        // The thread is gone only if it panicked, and then nothing is observed.
        let _ = ready.recv();
        Ok(Self { over, log, thread })
    }

    /// What has been observed so far, if anything.
    pub(super) fn so_far(&self) -> Option<Observed> {
        let observed = self.log.lock().unwrap_or_else(PoisonError::into_inner).so_far();
        (!observed.is_empty()).then_some(observed)
    }

    /// Asks one last time, and returns everything observed.
    pub(super) fn finish(self) -> Option<Observed> {
        let Self { over, log, thread } = self;
        over.send_replace(true);
        // After a panic, what was observed before it is still there.
        let _ = thread.join();
        let observed = log.lock().unwrap_or_else(PoisonError::into_inner).so_far();
        (!observed.is_empty()).then_some(observed)
    }
}

/// What the lanes of the thread share.
#[derive(Clone)]
struct SharedLog {
    log: Arc<Mutex<ObservedLog>>,
    over: watch::Receiver<bool>,
    began: Nanos,
}

impl SharedLog {
    fn at_s(&self) -> f64 {
        Clock::system().now().saturating_sub(self.began) as f64 / SECOND_NS as f64
    }

    fn note(&self, note: impl FnOnce(&mut ObservedLog)) {
        note(&mut self.log.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

struct ObserveWork {
    asks: Asks,
    shared: SharedLog,
    started: SyncSender<()>,
    runtime: Runtime,
}

impl ObserveWork {
    fn begin(self, target: &dyn Opened) {
        let Self { asks: Asks { servers, machine, exporters }, shared, started, runtime } = self;
        let mut monitors = if servers { target.monitors() } else { Vec::new() };
        // Exporters come last: a response from one of them must not spare a server a question.
        for exporter in exporters {
            monitors.push(Box::new(exporter.monitor()));
        }
        let host = Host::here().filter(|_| machine);
        let machine = host.map(|host| {
            monitors.push(Box::new(host));
            monitors.len() - 1
        });
        let work = async {
            begin_log(&monitors, machine, &shared);
            carry_out(monitors, shared, started).await;
        };
        LocalSet::new().block_on(&runtime, work);
    }
}

/// Enters the sources in the log; `machine` is the number of the machine among them.
fn begin_log(monitors: &[Box<dyn Monitor>], machine: Option<usize>, shared: &SharedLog) {
    shared.note(|log| {
        *log = ObservedLog::new(monitors.iter().map(|it| it.name()));
        for (source, monitor) in monitors.iter().enumerate() {
            monitor.url().into_iter().for_each(|url| log.at(source, url));
        }
        if let Some(source) = machine {
            log.of_machine(source);
        }
    });
}

/// Asks every server in turn until the run is over.
async fn carry_out(monitors: Vec<Box<dyn Monitor>>, shared: SharedLog, started: SyncSender<()>) {
    let answers = Rc::new(RefCell::new(vec![true; monitors.len()]));
    let begun = monitors.into_iter().enumerate().map(|(source, monitor)| {
        let (shared, answers) = (shared.clone(), answers.clone());
        let questions = monitor.questions().into_iter().map(|it| Some((it, 0))).collect();
        let mut lane = MonitorLane { source, monitor, questions, shared, answers };
        spawn_local(async move {
            lane.ask_all().await;
            lane
        })
    });
    let begun: Vec<_> = begun.collect();
    let mut lanes = Vec::new();
    for lane in begun {
        lanes.extend(lane.await);
    }
    if let Some(lane) = lanes.iter_mut().find(|lane| lane.answers()) {
        let settings = lane.monitor.settings().await;
        shared.note(|log| log.set(&settings));
    }
    // The thread waiting for this starts the load.
    let _ = started.send(());
    let asking: Vec<_> = lanes.into_iter().map(|lane| spawn_local(lane.go_on())).collect();
    for lane in asking {
        // A lane that panicked asks no more.
        let _ = lane.await;
    }
}

/// One server, and the questions it is asked.
struct MonitorLane {
    source: usize,
    monitor: Box<dyn Monitor>,
    /// Each question with the time it is due next; `None`: it is not asked again.
    questions: Vec<Option<(Question, Nanos)>>,
    shared: SharedLog,
    /// Which of all servers responded to their last request.
    answers: Rc<RefCell<Vec<bool>>>,
}

impl MonitorLane {
    /// Whether it responds, and has questions left.
    fn answers(&self) -> bool {
        self.answers.borrow()[self.source] && self.questions.iter().any(Option::is_some)
    }

    /// Whether an earlier server answers this question for all of them.
    fn is_spared(&self, question: Question) -> bool {
        question.of_all && self.answers.borrow()[..self.source].iter().any(|answers| *answers)
    }

    /// Asks each question once.
    async fn ask_all(&mut self) {
        for number in 0..self.questions.len() {
            self.ask(number).await;
            // It would delay the run with every other question as well.
            if !self.answers.borrow()[self.source] {
                return;
            }
        }
    }

    /// Asks until the run is over, and then one last time.
    async fn go_on(mut self) {
        let (clock, mut over) = (Clock::system(), self.shared.over.clone());
        while !*over.borrow() {
            let now = clock.now();
            let is_due = |it: &Option<(Question, Nanos)>| it.is_some_and(|(_, due)| due <= now);
            if let Some(number) = self.questions.iter().position(is_due) {
                self.ask(number).await;
                continue;
            }
            let next = self.questions.iter().flatten().map(|(_, due)| due - now).min();
            let pause = async {
                match next {
                    Some(left_ns) => tokio::time::sleep(Duration::from_nanos(left_ns)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = pause => {}
                // An error says that the run is gone.
                _ = over.wait_for(|over| *over) => break,
            }
        }
        self.ask_all().await;
    }

    async fn ask(&mut self, number: usize) {
        let Some((question, _)) = self.questions[number] else { return };
        let began = Clock::system().now();
        self.questions[number] = Some((question, began + question.every_ns));
        if self.is_spared(question) {
            return;
        }
        let answer = self.monitor.ask(number).await;
        let (source, at_s) = (self.source, self.shared.at_s());
        self.answers.borrow_mut()[source] = !matches!(answer, Err(NoReading::Missed(_)));
        match answer {
            Ok(reading) => self.shared.note(|log| log.answered(source, number, at_s, &reading)),
            Err(NoReading::Missed(why)) => {
                let now = Clock::system().now();
                let others = self.questions.iter().enumerate();
                let due = others.filter(|(_, it)| it.is_some_and(|(_, due)| due <= now));
                let due: Vec<usize> = due.map(|(other, _)| other).collect();
                self.shared.note(|log| {
                    log.missed(source, number, at_s, &why);
                    for other in due.into_iter().filter(|other| *other != number) {
                        log.silent(source, other, at_s);
                    }
                });
            }
            Err(NoReading::Refused(why)) => {
                self.questions[number] = None;
                self.shared.note(|log| log.refused(source, &why));
            }
            Err(NoReading::Unknown) => self.questions[number] = None,
        }
    }
}

#[cfg(test)]
#[path = "observe_tests.rs"]
mod tests;
