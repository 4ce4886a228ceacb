//! An agent's side: listens to the coordinator while its threads load the database. If it no longer
//! hears from the coordinator, it stops them, and hands in what they measured if the coordinator
//! returns soon.

use super::channel::{Arrived, Channel};
use super::message::{Assignment, Down, Envelope, Facts, Inquiries, Opened, StageEnd, Up};
use super::sent::Sent;
use super::{GRACE_NS, SILENCE_NS, TICK, nonce};
use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::engine::{Start, Stop, StopReason};
use crate::measure::Interval;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often an agent checks whether it should keep running.
const LOOK: Duration = Duration::from_millis(100);

/// An agent's identity.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The run it belongs to.
    pub run: String,
    /// Its number.
    pub index: usize,
    /// What it reports about itself.
    pub facts: Facts,
    /// How long it waits for a coordinator, in nanoseconds.
    pub patience_ns: Nanos,
    /// Whether it ends with the process that started it.
    pub bound: bool,
    /// How far its clock is ahead of the machine's, in nanoseconds: other than 0 only to test
    /// clocks that differ.
    pub clock_ahead_ns: i64,
}

/// What an agent must do.
#[derive(Debug)]
pub enum Order {
    /// Carry out a plan.
    Assign(Box<Assignment>),
    /// Connect for a stage.
    Prepare(usize),
    /// The run is over. Another plan may follow.
    Over,
    /// Exit, with the reason if something went wrong.
    Quit(Option<String>),
    /// Exit: the coordinator is lost, for this reason.
    Lost(String),
}

/// An agent's end of the channel.
#[derive(Debug)]
pub struct Agent {
    shared: Arc<Shared>,
    orders: Receiver<Order>,
}

struct Shared {
    who: Identity,
    session: u64,
    clock: Clock,
    sent: Mutex<Sent>,
    /// How long sent messages are kept for resending.
    kept_ns: AtomicU64,
    now: Mutex<Now>,
}

#[derive(Default)]
struct Now {
    stop: Option<Arc<Stop>>,
    stage: Option<(usize, Arc<Start>)>,
    /// When the stage starts, on this machine's clock and on the coordinator's.
    moments: Option<(Nanos, Nanos)>,
    /// The reason it leaves the stage, if it does.
    left: Option<String>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("who", &self.who).finish_non_exhaustive()
    }
}

impl Agent {
    /// Joins the run over `channel`, and listens on its own thread.
    ///
    /// # Errors
    /// Returns an error if the thread cannot be started.
    pub fn join(channel_: Channel, who: Identity) -> std::io::Result<Self> {
        let Channel { outbox, inbox, lossy } = channel_;
        let shared = Arc::new(Shared {
            who,
            session: nonce(),
            clock: Clock::system(),
            sent: Mutex::new(Sent::new(outbox, lossy)),
            kept_ns: AtomicU64::new(SILENCE_NS + GRACE_NS),
            now: Mutex::default(),
        });
        let (to_agent, orders) = channel();
        let ear = Ear {
            shared: shared.clone(),
            to_agent,
            coordinator: None,
            heard: shared.clock.now(),
            silence_ns: SILENCE_NS,
            grace_ns: GRACE_NS,
            started: None,
            cut: None,
            lost: None,
            parent: rustix::process::getppid(),
        };
        std::thread::Builder::new().name("ear".to_owned()).spawn(move || ear.listen(&inbox))?;
        Ok(Self { shared, orders })
    }

    /// Its number.
    pub fn index(&self) -> usize {
        self.shared.who.index
    }

    /// The next order.
    pub fn order(&self) -> Order {
        self.orders.recv().unwrap_or_else(|_| Order::Lost("its own thread is gone".to_owned()))
    }

    /// From now on, raises `stop` when the coordinator orders it, or is no longer heard from.
    pub fn heed(&self, stop: Arc<Stop>) {
        self.shared.now().stop = Some(stop);
    }

    /// Reports that the target is open, or the reason it is not.
    pub fn opened(&self, result: Result<Opened, String>) {
        self.shared.insist(&match result {
            Ok(opened) => Up::Opened(opened),
            Err(why) => Up::Refused { why },
        });
    }

    /// A stage begins: `start` opens when the coordinator orders it.
    pub fn begin(&self, stage: usize, start: Arc<Start>) {
        let mut now = self.shared.now();
        if now.stop.as_ref().is_some_and(|stop| stop.reason().is_some()) {
            // Whatever stopped the stage had no start to open.
            start.open(self.shared.clock.now());
        }
        (now.stage, now.moments) = (Some((stage, start)), None);
    }

    /// Reports that all connections are open, or late.
    pub fn ready(&self, stage: usize) {
        self.shared.insist(&Up::Ready { stage });
    }

    /// Sends what was measured, and what the server is asked about on this machine's clock, if that
    /// is possible without waiting. Returns whether it was sent.
    pub fn snapshot(
        &self,
        stage: usize,
        intervals: Vec<Interval>,
        mut inquiries: Inquiries,
    ) -> bool {
        let intervals = self.converted(intervals);
        if let Some((own, coordinators)) = self.shared.now().moments {
            inquiries.convert(own, coordinators);
        }
        self.shared.say(&Up::Snapshot { stage, intervals, inquiries })
    }

    /// Sends the last measurements, and the end of a stage.
    pub fn end(&self, intervals: Vec<Interval>, mut end: StageEnd) {
        let intervals = self.converted(intervals);
        if let Some((own, coordinators)) = self.shared.now().moments {
            for shard in &mut end.shards {
                shard.convert(own, coordinators);
            }
        }
        let inquiries = Inquiries::default();
        self.shared.insist(&Up::Snapshot { stage: end.stage, intervals, inquiries });
        // Later messages are not about this stage.
        {
            let mut now = self.shared.now();
            (now.stage, end.left) = (None, now.left.clone());
        }
        self.shared.insist(&Up::Ended(Box::new(end)));
    }

    /// Sends a part of what was noted in a stage; `before` is the number of bytes that precede it.
    pub fn note(&self, stage: usize, before: u64, piece: &[u8]) {
        self.shared.insist(&Up::Notes { stage, before, piece: BASE64_STANDARD.encode(piece) });
    }

    /// The stage goes on without this agent, which remains available.
    pub fn abandon(&self) {
        self.shared.now().stage = None;
    }

    /// Converts the times of intervals to the coordinator's clock.
    fn converted(&self, mut intervals: Vec<Interval>) -> Vec<Interval> {
        if let Some((own, coordinators)) = self.shared.now().moments {
            for interval in &mut intervals {
                interval.convert(own, coordinators);
            }
        }
        intervals
    }

    /// Reports that it cannot go on, and the reason.
    pub fn failed(&self, why: String) {
        self.shared.insist(&Up::Failed { why });
    }
}

impl Shared {
    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn encode<'a>(&self, number: u64, body: &'a Up) -> Vec<u8> {
        let (run, agent) = (self.who.run.clone(), Some(self.who.index));
        Envelope::<&'a Up> { run, agent, sender: self.session, number, body }.encode()
    }

    fn sent(&self) -> MutexGuard<'_, Sent> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message if that is possible without waiting. Returns whether it was sent.
    fn say(&self, body: &Up) -> bool {
        let mut sent = self.sent();
        let last = sent.last();
        if !body.counts() {
            return sent.say(self.encode(last, body));
        }
        let now = self.clock.now();
        let since = now.saturating_sub(self.kept_ns.load(Ordering::Relaxed));
        sent.count(self.encode(last + 1, body), now, since)
    }

    /// Sends a message as soon as possible, unless no receiver is left.
    fn insist(&self, body: &Up) {
        let gone = || {
            let stop = self.now().stop.clone();
            stop.is_some_and(|stop| stop.reason() == Some(StopReason::Aborted))
        };
        while !self.say(body) && !gone() {
            std::thread::sleep(LOOK / 10);
        }
    }

    /// Resends the messages after number `after`.
    fn resend(&self, after: u64) {
        let forgotten = self.sent().resend(after);
        if let Some(number) = forgotten {
            let message = self.encode(number, &Up::Forgotten);
            self.sent().say(message);
        }
    }

    /// This machine's clock as it is reported to the coordinator.
    fn reported_clock(&self) -> Nanos {
        self.clock.now().wrapping_add_signed(self.who.clock_ahead_ns)
    }
}

/// Listens to the coordinator.
struct Ear {
    shared: Arc<Shared>,
    to_agent: Sender<Order>,
    /// The coordinator's process, once a message has come from it.
    coordinator: Option<u64>,
    heard: Nanos,
    /// For how long it may be silent.
    silence_ns: Nanos,
    /// How long after that to wait for it, to hand in what was measured.
    grace_ns: Nanos,
    /// The stage whose start has been received but not yet acknowledged.
    started: Option<usize>,
    /// The reason nothing can be received, if known.
    cut: Option<String>,
    /// When this agent was lost, and why.
    lost: Option<Loss>,
    parent: Option<rustix::process::Pid>,
}

struct Loss {
    at: Nanos,
    why: String,
    /// Whether the coordinator still has to be informed.
    unreported: bool,
}

impl Ear {
    fn listen(mut self, inbox: &Receiver<Arrived>) {
        let clock = self.shared.clock;
        let (mut said, mut looked) = (0, clock.now());
        let why = loop {
            let now = clock.now();
            if now.saturating_sub(said) >= TICK.as_nanos() as Nanos {
                said = now;
                self.say_hello();
            }
            self.started = self.started.filter(|&stage| !self.shared.say(&Up::Started { stage }));
            self.tell_loss();
            let arrived = inbox.recv_timeout(LOOK);
            // This must come before any order is carried out: the run may have gone on without this
            // agent long ago, and the run's end must not look like the end of this agent's own
            // work.
            let stood = clock.now().saturating_sub(looked);
            looked += stood;
            if stood > self.silence_ns && self.coordinator.is_some() {
                self.lose(format!("this process stood still for {} s", stood / SECOND_NS));
            }
            match arrived {
                Ok(Arrived::Message(bytes)) => {
                    if self.hear(&bytes) {
                        return;
                    }
                }
                Ok(Arrived::Cut(_, why)) if self.coordinator.is_none() => break why,
                Ok(Arrived::Cut(_, why)) => self.cut = Some(why),
                Ok(Arrived::Closed(why) | Arrived::AgentGone(_, why)) => break why,
                Err(RecvTimeoutError::Disconnected) => break "its channel is closed".to_owned(),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now = clock.now();
            if let Some(why) = self.alone(now) {
                break why;
            }
            let silence = now.saturating_sub(self.heard);
            if self.coordinator.is_some() && silence > self.silence_ns {
                let silent =
                    || format!("nothing heard from the coordinator for {} s", silence / SECOND_NS);
                self.lose(self.cut.clone().unwrap_or_else(silent));
            }
        };
        let why = self.lost.take().map_or(why, |lost| lost.why);
        self.end(Order::Lost(why));
    }

    /// The run goes on without this agent, for this reason. It starts nothing more, and hands in
    /// what it has measured.
    fn lose(&mut self, why: String) {
        if self.lost.is_some() {
            return;
        }
        let mut now = self.shared.now();
        now.left = Some(why.clone());
        // The message at the end of a stage reports the loss, too.
        let unreported = now.stage.is_none();
        drop(now);
        self.lost = Some(Loss { at: self.shared.clock.now(), why, unreported });
        self.stop(StopReason::Interrupted);
    }

    /// Reports a loss between stages to the coordinator.
    fn tell_loss(&mut self) {
        if let Some(lost) = self.lost.as_mut().filter(|lost| lost.unreported) {
            lost.unreported = !self.shared.say(&Up::Failed { why: lost.why.clone() });
        }
    }

    /// Stops the work, and passes on the last order.
    fn end(&self, last: Order) {
        self.stop(StopReason::Aborted);
        // Fails only if the agent has left already.
        self.to_agent.send(last).ok();
    }

    /// Reports that this agent is present; while a stage runs, its snapshots show that.
    fn say_hello(&self) {
        if self.coordinator.is_none() {
            self.shared.say(&Up::Hello(self.shared.who.facts.clone()));
        } else if self.shared.now().stage.is_none() {
            self.shared.say(&Up::Alive);
        }
    }

    /// The reason no coordinator is left to work for, if there is one.
    fn alone(&self, now: Nanos) -> Option<String> {
        let silence = now.saturating_sub(self.heard);
        if self.shared.who.bound && rustix::process::getppid() != self.parent {
            Some("the process that started it is gone".to_owned())
        } else if let Some(lost) = &self.lost {
            (now.saturating_sub(lost.at) > self.grace_ns).then(|| lost.why.clone())
        } else if self.coordinator.is_none() && silence > self.shared.who.patience_ns {
            Some(format!("no coordinator within {} s", silence / SECOND_NS))
        } else {
            None
        }
    }

    /// Handles a message. Returns whether it was the last one. Ignores anything that is not a
    /// message, or is addressed to others.
    fn hear(&mut self, bytes: &[u8]) -> bool {
        let shared = &self.shared;
        let Ok(Envelope { run, agent, sender, body, .. }) = Envelope::<Down>::decode(bytes) else {
            return false;
        };
        let own = agent.is_none_or(|agent| agent == shared.who.index);
        if run != shared.who.run || !own || self.coordinator.is_some_and(|it| it != sender) {
            return false;
        }
        // Ticks go to every agent; only a message to this one shows that the coordinator knows it.
        if !matches!(body, Down::Tick) {
            self.coordinator = Some(sender);
        }
        if self.coordinator.is_some() {
            (self.heard, self.cut) = (shared.clock.now(), None);
        }
        let order = match body {
            Down::Tick => return false,
            Down::Welcome { silence_ns, grace_ns } => {
                (self.silence_ns, self.grace_ns) = (silence_ns, grace_ns);
                shared.kept_ns.store(silence_ns.saturating_add(grace_ns), Ordering::Relaxed);
                return false;
            }
            Down::Ping { id } => {
                shared.say(&Up::Pong { id, at_ns: shared.reported_clock() });
                return false;
            }
            Down::Resend { after } => {
                shared.resend(after);
                return false;
            }
            Down::Leave { why } => {
                self.lose(why);
                return false;
            }
            Down::Quit { .. } | Down::Over if self.lost.is_some() => {
                // The coordinator has everything it could hand in, or does not wait for it.
                let why = self.lost.take().map(|lost| lost.why).unwrap_or_default();
                self.end(Order::Lost(why));
                return true;
            }
            // The coordinator no longer waits for it.
            _ if self.lost.is_some() => return false,
            Down::Start { stage, agents_ns, coordinators_ns } => {
                // Without a time, this agent does not take part.
                let Some(&own_ns) = agents_ns.get(&shared.who.index) else { return false };
                let moment = own_ns.wrapping_add_signed(-shared.who.clock_ahead_ns);
                let mut now = shared.now();
                if let Some((_, start)) = now.stage.clone().filter(|(it, _)| *it == stage) {
                    now.moments = Some((moment, coordinators_ns));
                    start.open(moment);
                    self.started = Some(stage);
                }
                return false;
            }
            Down::Stop { reason } => {
                self.stop(reason);
                return false;
            }
            Down::Assign(assignment) => Order::Assign(assignment),
            Down::Prepare { stage } => Order::Prepare(stage),
            Down::Over => {
                if shared.now().stage.is_some() {
                    // Its measurements are no longer wanted.
                    self.stop(StopReason::Aborted);
                }
                Order::Over
            }
            Down::Quit { why } => {
                self.end(Order::Quit(why));
                return true;
            }
        };
        self.to_agent.send(order).is_err()
    }

    /// Starts no more operations. Threads that wait for their start do not begin.
    fn stop(&self, reason: StopReason) {
        let now = self.shared.now();
        if let Some(stop) = &now.stop {
            stop.raise(reason);
        }
        if let Some((_, start)) = &now.stage {
            start.open(self.shared.clock.now());
        }
    }
}

#[cfg(test)]
#[path = "agent_tests.rs"]
mod tests;
