//! The coordinator's view of its agents: who is there, what they say, who is lost.
//!
//! Decides nothing about a run: it reports [`Event`]s to those who do.

use super::channel::{Arrived, Channel, Outbox, To, WAITING};
use super::message::{Down, Envelope, Facts, Opened, StageEnd, Up};
use super::offset::{Offset, PINGS};
use super::{TICK, nonce};
use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::engine::Stop;
use crate::measure::Interval;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often to check whether all agents have come.
const LOOK: Duration = Duration::from_millis(100);
/// How long agents are given to leave.
const LEAVING_NS: Nanos = 4 * SECOND_NS;
/// How long an answer to a ping is awaited before the next one.
const PING_NS: Nanos = SECOND_NS;
/// How far ahead an agent's seconds may be of the coordinator's.
const AHEAD_NS: Nanos = 60 * SECOND_NS;
/// How many agents are pinged at once: fewer than messages that may wait for their reader.
const PINGED: usize = WAITING / 2;

/// The agents of a run, or of several runs in turn.
pub struct Fleet {
    pub(super) run: String,
    pub(super) session: u64,
    pub(super) outbox: Arc<Mutex<Box<dyn Outbox>>>,
    inbox: Receiver<Arrived>,
    /// The thread that ticks, until the sender is dropped.
    ticks: Option<(Sender<()>, JoinHandle<()>)>,
    pub(super) members: Vec<Member>,
    /// Whoever was not heard for this long is lost.
    pub(super) silence_ns: Nanos,
    pub(super) clock: Clock,
    /// When there was nobody yet.
    began: Nanos,
    /// When messages were last looked for.
    looked: Nanos,
    /// When this process last came back from a long standstill, and how long that lasted.
    stood_still: Option<(Nanos, Nanos)>,
    pinged: u64,
    /// Events that came while the answer to a ping was awaited.
    kept: VecDeque<Event>,
    /// Why the channel is closed, if it is.
    pub(super) closed: Option<String>,
}

/// What is known about one agent.
#[derive(Clone, Debug, Default)]
pub struct Member {
    /// Its process, once it is there.
    session: Option<u64>,
    /// What it says about itself.
    pub facts: Facts,
    /// How far its clock is ahead, once that is known.
    pub offset: Option<Offset>,
    /// Why it is lost, if it is.
    pub lost: Option<String>,
    heard: Nanos,
}

/// What happened.
#[derive(Debug)]
pub enum Event {
    /// An agent is there.
    Hello,
    /// An agent reported its clock, in answer to a ping.
    Pong {
        /// Which ping.
        id: u64,
        /// Its clock.
        at_ns: Nanos,
    },
    /// An agent has opened the target.
    Opened(usize, Opened),
    /// An agent cannot carry out the plan, and why.
    Refused(usize, String),
    /// An agent is ready for a stage.
    Ready(usize, usize),
    /// An agent knows when a stage starts.
    Started(usize, usize),
    /// What an agent measured in a stage.
    Snapshot(usize, usize, Vec<Interval>),
    /// A part of what an agent noted in a stage, after so many bytes.
    Notes(usize, usize, u64, Vec<u8>),
    /// An agent has done its part of a stage.
    Ended(usize, Box<StageEnd>),
    /// An agent is lost, and why.
    Lost(usize, String),
}

/// Pings of a group of agents.
#[derive(Default)]
struct Pings {
    /// Those without an answer, by their numbers: to whom, and when.
    asked: BTreeMap<u64, (usize, Nanos)>,
    /// What the best answer says, by agent.
    best: BTreeMap<usize, Offset>,
}

impl Pings {
    /// An answer with the agent's clock, received at `received` on this one.
    fn answered(&mut self, id: u64, at_ns: Nanos, received: Nanos) {
        let Some((agent, asked)) = self.asked.remove(&id) else { return };
        let offset = Offset::of(asked, at_ns, received);
        self.best.entry(agent).and_modify(|it| *it = it.better(offset)).or_insert(offset);
    }
}

impl std::fmt::Debug for Fleet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fleet").field("run", &self.run).finish_non_exhaustive()
    }
}

impl Fleet {
    /// `agents` agents of `run`, who are reached through `channel_`, and lost when nothing is heard
    /// of them for `silence_ns` nanoseconds.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn new(
        channel_: Channel,
        run: &str,
        agents: usize,
        silence_ns: Nanos,
    ) -> std::io::Result<Self> {
        let clock = Clock::system();
        let Channel { outbox, inbox } = channel_;
        let (outbox, session) = (Arc::new(Mutex::new(outbox)), nonce());
        let (ticking, over) = channel::<()>();
        let tick = Envelope { run: run.to_owned(), agent: None, sender: session, body: Down::Tick };
        let (tick, ticks_to) = (tick.encode(), outbox.clone());
        let thread = std::thread::Builder::new().name("ticks".to_owned()).spawn(move || {
            while over.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                let mut outbox = ticks_to.lock().unwrap_or_else(PoisonError::into_inner);
                // Where there is no room, the next one will do.
                outbox.send(To::All, tick.clone()).ok();
            }
        })?;
        Ok(Self {
            run: run.to_owned(),
            session,
            outbox,
            inbox,
            ticks: Some((ticking, thread)),
            members: vec![Member::default(); agents],
            silence_ns,
            clock,
            began: clock.now(),
            looked: clock.now(),
            stood_still: None,
            pinged: 0,
            kept: VecDeque::new(),
            closed: None,
        })
    }

    /// The agents, by number.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The numbers of the agents that are there.
    pub fn present(&self) -> Vec<usize> {
        let is = |member: &Member| member.session.is_some() && member.lost.is_none();
        (0..self.members.len()).filter(|&agent| is(&self.members[agent])).collect()
    }

    /// The numbers of the agents that have not come.
    pub fn missing(&self) -> Vec<usize> {
        (0..self.members.len()).filter(|&agent| self.members[agent].session.is_none()).collect()
    }

    /// The next event; waits for it up to `patience`.
    pub fn next(&mut self, patience: Duration) -> Option<Event> {
        self.kept.pop_front().or_else(|| self.listen(patience))
    }

    fn listen(&mut self, patience: Duration) -> Option<Event> {
        if self.closed.is_some() {
            return self.lose_next().or_else(|| {
                std::thread::sleep(patience);
                None
            });
        }
        let now = self.clock.now();
        if now.saturating_sub(self.looked) > SECOND_NS {
            // Nobody listened: silence during that time says nothing about agents.
            if now.saturating_sub(self.looked) >= self.silence_ns {
                self.stood_still = Some((now, now - self.looked));
            }
            self.members.iter_mut().for_each(|member| member.heard = now);
        }
        let waiting = self.inbox.try_recv();
        self.looked = self.clock.now();
        if waiting.is_err()
            && let Some(lost) = self.silent()
        {
            // Everything that has come was heard.
            return Some(lost);
        }
        let arrived = waiting.or_else(|_| self.inbox.recv_timeout(patience));
        self.looked = self.clock.now();
        match arrived {
            Ok(Arrived::Message(bytes)) => self.heard(&bytes),
            Ok(Arrived::AgentGone(agent, why)) => self.lose(agent, why),
            Ok(Arrived::Closed(why)) => {
                self.closed = Some(why);
                self.lose_next()
            }
            Err(RecvTimeoutError::Disconnected) => {
                self.closed = Some("its channel is closed".to_owned());
                self.lose_next()
            }
            Err(RecvTimeoutError::Timeout) => None,
        }
    }

    /// Reads a message. Anything that is not one, or is from others, is ignored.
    fn heard(&mut self, bytes: &[u8]) -> Option<Event> {
        let Envelope { run, agent, sender, body } = Envelope::<Up>::decode(bytes).ok()?;
        let agent = agent.filter(|_| run == self.run)?;
        let agents = self.members.len();
        if agent >= agents {
            let s = if agents == 1 { "" } else { "s" };
            let why = format!("the run {run} has {agents} agent{s}, numbered from 0");
            self.offer(agent, Down::Quit { why: Some(why) });
            return None;
        }
        let now = self.clock.now();
        let member = &mut self.members[agent];
        if let (Up::Hello(facts), None) = (&body, member.session) {
            (member.session, member.facts) = (Some(sender), facts.clone());
        }
        if member.session != Some(sender) {
            return None;
        }
        if member.lost.is_some() {
            let why = "the coordinator considers this agent lost".to_owned();
            self.offer(agent, Down::Quit { why: Some(why) });
            return None;
        }
        member.heard = now;
        match body {
            Up::Hello(_) => {
                self.offer(agent, Down::Welcome { silence_ns: self.silence_ns });
                Some(Event::Hello)
            }
            Up::Pong { id, at_ns } => Some(Event::Pong { id, at_ns }),
            Up::Alive => None,
            Up::Opened(opened) => Some(Event::Opened(agent, opened)),
            Up::Refused { why } => Some(Event::Refused(agent, why)),
            Up::Ready { stage } => Some(Event::Ready(agent, stage)),
            Up::Started { stage } => Some(Event::Started(agent, stage)),
            Up::Snapshot { stage, intervals } => {
                let most = (now.saturating_sub(self.began) + AHEAD_NS) / SECOND_NS;
                if intervals.iter().any(|it| Nanos::from(it.second) > most) {
                    self.offer(agent, Down::Quit { why: None });
                    return self
                        .lose(agent, "it reports a second that has not come yet".to_owned());
                }
                Some(Event::Snapshot(agent, stage, intervals))
            }
            Up::Notes { stage, before, piece } => {
                // What cannot be read is missed.
                let piece = BASE64_STANDARD.decode(piece).ok()?;
                Some(Event::Notes(agent, stage, before, piece))
            }
            Up::Ended(end) => Some(Event::Ended(agent, end)),
            Up::Failed { why } => {
                self.offer(agent, Down::Quit { why: None });
                self.lose(agent, why)
            }
        }
    }

    /// Nothing is waiting to be heard: finds an agent that has been silent for too long.
    fn silent(&mut self) -> Option<Event> {
        let since = self.looked.saturating_sub(self.silence_ns);
        let silent = |member: &Member| {
            member.session.is_some() && member.lost.is_none() && member.heard < since
        };
        let agent = self.members.iter().position(silent)?;
        self.lose(agent, format!("nothing heard for {} s", self.silence_s()))
    }

    /// How long an agent may be silent, in seconds.
    pub(super) fn silence_s(&self) -> f64 {
        self.silence_ns as f64 / SECOND_NS as f64
    }

    /// The channel is closed: loses the next agent because of that.
    fn lose_next(&mut self) -> Option<Event> {
        let why = self.closed.clone()?;
        let next = self.members.iter().position(|member| member.lost.is_none())?;
        self.lose(next, why)
    }

    fn lose(&mut self, agent: usize, why: String) -> Option<Event> {
        let member = self.members.get_mut(agent).filter(|member| member.lost.is_none())?;
        // Agents leave a coordinator that says nothing for so long, which is heard a while later.
        let just = |at: &Nanos| self.clock.now().saturating_sub(*at) < 2 * self.silence_ns;
        let why = match self.stood_still.filter(|(at, _)| just(at)) {
            Some((_, ns)) => {
                let seconds = ns as f64 / SECOND_NS as f64;
                format!("the coordinator itself stood still for {seconds:.1} s ({why})")
            }
            None => why,
        };
        member.lost = Some(why.clone());
        Some(Event::Lost(agent, why))
    }

    /// Counts an agent as lost although it is still heard, and dismisses it.
    pub fn give_up(&mut self, agent: usize, why: &str) {
        self.offer(agent, Down::Quit { why: Some(why.to_owned()) });
        self.lose(agent, why.to_owned());
    }

    /// Waits for all agents, up to `patience`, and measures their clocks. `told` is called with how
    /// many are there whenever that changes.
    ///
    /// # Errors
    /// Which agents are missing, or why one cannot be used; the others are dismissed.
    pub fn gather(
        &mut self,
        patience: Duration,
        stop: &Stop,
        told: &mut dyn FnMut(usize),
    ) -> Result<(), String> {
        let until = self.clock.now() + patience.as_nanos() as Nanos;
        let (mut lost, mut there) = (None, 0);
        while !self.missing().is_empty() && lost.is_none() {
            if self.clock.now() >= until || stop.reason().is_some() {
                let all = self.members.len();
                let missing = self.missing();
                let (s, numbers) = (if missing.len() == 1 { "" } else { "s" }, numbers(&missing));
                let waited_s = patience.as_secs_f64();
                let why = format!("agent{s} {numbers} of {all} did not join within {waited_s} s");
                return Err(self.dismiss(why));
            }
            if let Some(Event::Lost(agent, why)) = self.next(LOOK) {
                lost = Some(format!("agent {agent} was lost: {why}"));
            }
            if there != self.present().len() {
                there = self.present().len();
                told(there);
            }
        }
        let own = env!("CARGO_PKG_VERSION");
        let other = self.members.iter().position(|it| !it.facts.version.eq(own));
        let version = other.filter(|_| lost.is_none()).map(|agent| {
            let theirs = &self.members[agent].facts.version;
            format!(
                "agent {agent} is springload {theirs}, not {own}: install the same version \
                everywhere"
            )
        });
        if let Some(why) = lost.or(version) {
            return Err(self.dismiss(why));
        }
        self.measure_clocks();
        Ok(())
    }

    fn dismiss(&mut self, why: String) -> String {
        self.quit(Some(why.clone()));
        why
    }

    /// Asks the agents that are there for their clocks, a group at a time. An agent that has never
    /// answered is lost: it could not be told when to start.
    pub fn measure_clocks(&mut self) {
        for group in self.present().chunks(PINGED) {
            let mut pings = Pings::default();
            for _ in 0..PINGS {
                for &agent in group {
                    self.pinged += 1;
                    pings.asked.insert(self.pinged, (agent, self.clock.now()));
                    self.order(To::Agent(agent), Down::Ping { id: self.pinged });
                }
                self.hear_pongs(&mut pings, PING_NS, |pings| pings.asked.is_empty());
            }
            let known: Vec<_> = self.members.iter().map(|it| it.offset.is_some()).collect();
            let enough = |pings: &Pings| {
                pings.asked.values().all(|(it, _)| known[*it] || pings.best.contains_key(it))
            };
            self.hear_pongs(&mut pings, self.silence_ns, enough);
            for (agent, offset) in pings.best {
                self.members[agent].offset = Some(offset);
            }
        }
        for agent in self.present() {
            if self.members[agent].offset.is_none() {
                let for_s = self.silence_s();
                let why = format!("its clock is not known: no ping was answered for {for_s} s");
                self.lose_later(agent, why);
            }
        }
    }

    /// Waits for answers to pings until there are `enough`, or `patience_ns` is over. A late answer
    /// counts, too: its error is as large as it is late.
    fn hear_pongs(
        &mut self,
        pings: &mut Pings,
        patience_ns: Nanos,
        enough: impl Fn(&Pings) -> bool,
    ) {
        let until = self.clock.now() + patience_ns;
        loop {
            pings.asked.retain(|_, (agent, _)| self.members[*agent].lost.is_none());
            let left = until.saturating_sub(self.clock.now());
            if left == 0 || enough(pings) {
                return;
            }
            match self.listen(Duration::from_nanos(left)) {
                Some(Event::Pong { id, at_ns }) => pings.answered(id, at_ns, self.looked),
                Some(other) => self.kept.push_back(other),
                None => {}
            }
        }
    }

    /// The longest round trip of those by which the clocks are known, in nanoseconds.
    pub fn round_trip_ns(&self) -> Nanos {
        let known = self.members.iter().filter(|it| it.lost.is_none()).filter_map(|it| it.offset);
        known.map(|it| 2 * it.error_ns).max().unwrap_or_default()
    }

    /// How long an agent may take to acknowledge an order, besides the way there and back.
    pub const fn silence_ns(&self) -> Nanos {
        self.silence_ns
    }

    /// Loses an agent; the event is the next one.
    pub(super) fn lose_later(&mut self, agent: usize, why: String) {
        let event = self.lose(agent, why);
        self.kept.extend(event);
    }
}

impl Drop for Fleet {
    /// Dismisses the agents, and gives those that are child processes time to leave.
    fn drop(&mut self) {
        self.quit(None);
        // Until they have left: an agent that finds its coordinator gone would count that as a
        // loss.
        let until = self.clock.now() + LEAVING_NS;
        while !self.present().is_empty() && self.clock.now() < until {
            self.next(LOOK / 10);
        }
        // The outbox is then dropped along with this, on this thread, once it has sent what it has.
        if let Some((over, thread)) = self.ticks.take() {
            drop(over);
            let _ = thread.join();
        }
    }
}

/// Numbers in words, such as `1, 2 and 5`.
fn numbers(numbers: &[usize]) -> String {
    let text: Vec<_> = numbers.iter().take(10).map(ToString::to_string).collect();
    match (text.as_slice(), numbers.len()) {
        (_, more) if more > text.len() => format!("{} and {} more", text.join(", "), more - 10),
        ([some @ .., last], _) if !some.is_empty() => format!("{} and {last}", some.join(", ")),
        _ => text.concat(),
    }
}

#[cfg(test)]
#[path = "coordinator_tests.rs"]
mod tests;
