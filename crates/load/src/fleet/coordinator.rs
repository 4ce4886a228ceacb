//! The coordinator's view of its agents: which are present, what they report, which are lost.
//!
//! Decides nothing about a run: it reports [`Event`]s to its caller.

use super::channel::{Arrived, Channel, Outbox, To};
use super::delivered::{Delivered, Turn};
use super::message::{Down, Envelope, Facts, Inquiries, Opened, StageEnd, Up};
use super::offset::Offset;
use super::{TICK, Waits, nonce};
use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::engine::Stop;
use crate::measure::Interval;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often to check whether all agents are present.
const LOOK: Duration = Duration::from_millis(100);
/// How long agents are given to leave. Those of unit tests are no processes, and end with the test.
const LEAVING_NS: Nanos = if cfg!(test) { SECOND_NS / 5 } else { 4 * SECOND_NS };
/// How far an agent's seconds may be ahead of the coordinator's.
const AHEAD_NS: Nanos = 60 * SECOND_NS;

/// The agents of a run, or of several runs in turn.
pub struct Fleet {
    pub(super) run: String,
    pub(super) session: u64,
    pub(super) outbox: Arc<Mutex<Box<dyn Outbox>>>,
    inbox: Receiver<Arrived>,
    /// The thread that sends ticks, until the sender is dropped.
    ticks: Option<(Sender<()>, JoinHandle<()>)>,
    pub(super) members: Vec<Member>,
    pub(super) waits: Waits,
    pub(super) clock: Clock,
    /// When it began to wait for agents.
    began: Nanos,
    /// When it last checked for messages.
    pub(super) looked: Nanos,
    /// When this process last resumed after standing still for long, and for how long it had.
    stood_still: Option<(Nanos, Nanos)>,
    pub(super) pinged: u64,
    /// Events that arrived while waiting for the answer to a ping.
    pub(super) kept: VecDeque<Event>,
    /// The reason nothing can be received, if known.
    cut: Option<String>,
    /// The reason the channel is closed, if it is.
    pub(super) closed: Option<String>,
    /// Whether agents are still starting, or preparing for the first stage.
    pub(super) gathering: bool,
}

/// What is known about one agent.
#[derive(Clone, Debug, Default)]
pub struct Member {
    /// Its process, once it is present.
    session: Option<u64>,
    /// What it reports about itself.
    pub facts: Facts,
    /// How far its clock is ahead, once known.
    pub offset: Option<Offset>,
    /// The reason it is lost, if it is.
    pub lost: Option<String>,
    pub(super) heard: Nanos,
    /// The reason nothing can be received from it, if known.
    cut: Option<String>,
    delivered: Delivered,
}

/// Something that happened.
#[derive(Debug)]
pub enum Event {
    /// An agent is present.
    Hello,
    /// An agent reported its clock, in answer to a ping.
    Pong {
        /// The number of the ping.
        id: u64,
        /// The agent's clock.
        at_ns: Nanos,
    },
    /// An agent has opened the target.
    Opened(usize, Opened),
    /// An agent cannot carry out the plan, for this reason.
    Refused(usize, String),
    /// An agent is ready for a stage.
    Ready(usize, usize),
    /// An agent knows when a stage starts.
    Started(usize, usize),
    /// What an agent measured in a stage, and what it asks the server about.
    Snapshot(usize, usize, Vec<Interval>, Inquiries),
    /// A part of what an agent noted in a stage, and the number of bytes before it.
    Notes(usize, usize, u64, Vec<u8>),
    /// An agent has done its part of a stage, or has left it, and is lost.
    Ended(usize, Box<StageEnd>),
    /// An agent is lost, for this reason.
    Lost(usize, String),
}

impl std::fmt::Debug for Fleet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fleet").field("run", &self.run).finish_non_exhaustive()
    }
}

impl Fleet {
    /// `agents` agents of `run`, reached through `channel_`; `waits` has the timeouts.
    ///
    /// # Errors
    /// Returns an error if a thread cannot be started.
    pub fn new(channel_: Channel, run: &str, agents: usize, waits: Waits) -> std::io::Result<Self> {
        let clock = Clock::system();
        let Channel { outbox, inbox, .. } = channel_;
        let (outbox, session) = (Arc::new(Mutex::new(outbox)), nonce());
        let (ticking, over) = channel::<()>();
        let (tick, ticks_to) = (envelope(run, session, To::All, Down::Tick), outbox.clone());
        let thread = std::thread::Builder::new().name("ticks".to_owned()).spawn(move || {
            while over.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                let mut outbox = ticks_to.lock().unwrap_or_else(PoisonError::into_inner);
                // If there is no room, the next tick will do.
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
            waits,
            clock,
            began: clock.now(),
            looked: clock.now(),
            stood_still: None,
            pinged: 0,
            kept: VecDeque::new(),
            cut: None,
            closed: None,
            gathering: true,
        })
    }

    /// The agents, by number.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The numbers of the agents that are present.
    pub fn present(&self) -> Vec<usize> {
        let is = |member: &Member| member.session.is_some() && member.lost.is_none();
        (0..self.members.len()).filter(|&agent| is(&self.members[agent])).collect()
    }

    /// The numbers of the agents that have not appeared.
    pub fn missing(&self) -> Vec<usize> {
        (0..self.members.len()).filter(|&agent| self.members[agent].session.is_none()).collect()
    }

    /// The next event; waits for it up to `patience`.
    pub fn next(&mut self, patience: Duration) -> Option<Event> {
        self.kept.pop_front().or_else(|| self.listen(patience))
    }

    pub(super) fn listen(&mut self, patience: Duration) -> Option<Event> {
        if self.closed.is_some() {
            return self.lose_next().or_else(|| {
                std::thread::sleep(patience);
                None
            });
        }
        let now = self.clock.now();
        if now.saturating_sub(self.looked) > SECOND_NS {
            // This process was not listening: silence in that time does not mean that agents are
            // lost.
            if now.saturating_sub(self.looked) >= self.waits.silence_ns {
                self.stood_still = Some((now, now - self.looked));
            }
            self.members.iter_mut().for_each(|member| member.heard = now);
        }
        let waiting = self.inbox.try_recv();
        self.looked = self.clock.now();
        if waiting.is_err()
            && let Some(lost) = self.silent()
        {
            // Everything that has arrived was handled.
            return Some(lost);
        }
        let arrived = waiting.or_else(|_| self.inbox.recv_timeout(patience));
        self.looked = self.clock.now();
        match arrived {
            Ok(Arrived::Message(bytes)) => self.heard(&bytes),
            Ok(Arrived::AgentGone(agent, why)) => {
                self.members.get_mut(agent)?.delivered.expect_nothing();
                self.lose(agent, why)
            }
            Ok(Arrived::Cut(To::All, why)) => {
                self.cut = Some(why);
                None
            }
            Ok(Arrived::Cut(To::Agent(agent), why)) => {
                self.members.get_mut(agent)?.cut = Some(why);
                None
            }
            Ok(Arrived::Closed(why)) => self.close(why),
            Err(RecvTimeoutError::Disconnected) => self.close("its channel is closed".to_owned()),
            Err(RecvTimeoutError::Timeout) => None,
        }
    }

    /// Notes that nothing more will arrive.
    fn close(&mut self, why: String) -> Option<Event> {
        self.closed = Some(why);
        self.members.iter_mut().for_each(|member| member.delivered.expect_nothing());
        self.lose_next()
    }

    /// Decodes a message. Ignores anything that is not one, or comes from others.
    fn heard(&mut self, bytes: &[u8]) -> Option<Event> {
        let Envelope { run, agent, sender, number, body } = Envelope::<Up>::decode(bytes).ok()?;
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
        (member.heard, member.cut, self.cut) = (now, None, None);
        let turn = member.delivered.turn(number, body.counts(), now);
        if let Some(why) = member.lost.clone() {
            let awaited = member.delivered.awaited(now);
            let why = format!("the coordinator considers this agent lost: {why}");
            let last = if awaited { Down::Leave { why } } else { Down::Quit { why: Some(why) } };
            self.offer(agent, last);
            if !awaited {
                return None;
            }
        }
        if let Turn::Ask(after) = turn {
            self.offer(agent, Down::Resend { after });
        }
        if turn != Turn::Take && body.counts() { None } else { self.understood(agent, body, now) }
    }

    /// Handles a message of an agent.
    fn understood(&mut self, agent: usize, body: Up, now: Nanos) -> Option<Event> {
        match body {
            Up::Hello(_) => {
                self.offer(agent, self.welcome());
                Some(Event::Hello)
            }
            Up::Pong { id, at_ns } => Some(Event::Pong { id, at_ns }),
            Up::Alive => None,
            Up::Opened(opened) => Some(Event::Opened(agent, opened)),
            Up::Refused { why } => Some(Event::Refused(agent, why)),
            Up::Ready { stage } => Some(Event::Ready(agent, stage)),
            Up::Started { stage } => Some(Event::Started(agent, stage)),
            Up::Snapshot { stage, intervals, inquiries } => {
                let most = (now.saturating_sub(self.began) + AHEAD_NS) / SECOND_NS;
                if intervals.iter().any(|it| Nanos::from(it.second) > most) {
                    self.offer(agent, Down::Quit { why: None });
                    return self
                        .lose(agent, "it reports a second that has not come yet".to_owned());
                }
                Some(Event::Snapshot(agent, stage, intervals, inquiries))
            }
            Up::Notes { stage, before, piece } => {
                // A piece that cannot be decoded counts as missing.
                let piece = BASE64_STANDARD.decode(piece).ok()?;
                Some(Event::Notes(agent, stage, before, piece))
            }
            Up::Ended(end) => {
                if let Some(why) = end.left.clone() {
                    self.dismiss_one(agent);
                    // Code that handles the end asks for the reason.
                    self.lose(agent, why);
                }
                Some(Event::Ended(agent, end))
            }
            Up::Failed { why } => {
                self.dismiss_one(agent);
                self.lose(agent, why)
            }
            Up::Forgotten => {
                self.dismiss_one(agent);
                self.lose(agent, "some of its messages were lost on the way".to_owned())
            }
        }
    }

    /// Makes an agent exit from which nothing more is expected.
    fn dismiss_one(&mut self, agent: usize) {
        self.members[agent].delivered.expect_nothing();
        self.offer(agent, Down::Quit { why: None });
    }

    /// With no message waiting, finds an agent that has been silent for too long.
    fn silent(&mut self) -> Option<Event> {
        let patience_ns = self.patience_ns();
        let since = self.looked.saturating_sub(patience_ns);
        let silent = |member: &Member| {
            member.session.is_some() && member.lost.is_none() && member.heard < since
        };
        let agent = self.members.iter().position(silent)?;
        let cut = self.members[agent].cut.clone().or_else(|| self.cut.clone());
        let for_s = patience_ns as f64 / SECOND_NS as f64;
        let why = cut.unwrap_or_else(|| format!("nothing heard for {for_s} s"));
        self.members[agent]
            .delivered
            .expect_until(self.clock.now().saturating_add(self.waits.grace_ns));
        self.lose(agent, why)
    }

    /// Whether a lost agent may still hand in what it has measured.
    pub fn awaits(&self, agent: usize) -> bool {
        self.members[agent].delivered.awaited(self.clock.now())
    }

    /// The channel is closed: the next agent is lost because of that.
    fn lose_next(&mut self) -> Option<Event> {
        let why = self.closed.clone()?;
        let next = self.members.iter().position(|member| member.lost.is_none())?;
        self.lose(next, why)
    }

    fn lose(&mut self, agent: usize, why: String) -> Option<Event> {
        let member = self.members.get_mut(agent).filter(|member| member.lost.is_none())?;
        // Agents leave a coordinator that is silent for so long, but word of that takes a while to
        // arrive.
        let just = |at: &Nanos| self.clock.now().saturating_sub(*at) < 2 * self.waits.silence_ns;
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

    /// Counts an agent as lost although it still responds, and dismisses it.
    pub fn give_up(&mut self, agent: usize, why: &str) {
        self.offer(agent, Down::Quit { why: Some(why.to_owned()) });
        self.lose(agent, why.to_owned());
    }

    /// Waits for all agents, up to `patience`, and measures their clocks. `notify` is called with
    /// the number present whenever it changes.
    ///
    /// # Errors
    /// Returns an error if agents are missing or one cannot be used; the others are dismissed.
    pub fn gather(
        &mut self,
        patience: Duration,
        stop: &Stop,
        notify: &mut dyn FnMut(usize),
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
            if let Some(why) = &self.cut {
                lost = Some(why.clone());
            }
            if there != self.present().len() {
                there = self.present().len();
                notify(there);
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

    /// How long an agent may take to acknowledge an order, besides the round trip.
    pub const fn silence_ns(&self) -> Nanos {
        self.waits.silence_ns
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
        // Waits until they have left: an agent that finds its coordinator gone would report a loss.
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

/// Encodes a message of the coordinator with this session.
pub(super) fn envelope(run: &str, sender: u64, to: To, body: Down) -> Vec<u8> {
    let agent = if let To::Agent(agent) = to { Some(agent) } else { None };
    Envelope { run: run.to_owned(), agent, sender, number: 0, body }.encode()
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
