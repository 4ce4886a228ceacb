//! The coordinator's view of its agents: who is there, what they say, who is lost.
//!
//! Decides nothing about a run: it reports [`Event`]s to those who do.

use super::channel::{Arrived, Channel, Outbox, To};
use super::message::{Assignment, Down, Envelope, Facts, Opened, StageEnd, Up};
use super::offset::{Offset, PINGS};
use super::{SILENCE_NS, TICK, nonce};
use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::engine::{Stop, StopReason};
use crate::measure::Interval;
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often to check whether all agents have come.
const LOOK: Duration = Duration::from_millis(100);
/// How long agents are given to leave.
const LEAVING_NS: Nanos = 4 * SECOND_NS;
/// How long after a pause of the coordinator the loss of an agent is put down to that pause.
const AFTER_NS: Nanos = 2 * SILENCE_NS;
/// How long an answer to a ping may take.
const PING_NS: Nanos = SECOND_NS;

/// The agents of a run, or of several runs in turn.
pub struct Fleet {
    run: String,
    session: u64,
    outbox: Arc<Mutex<Box<dyn Outbox>>>,
    inbox: Receiver<Arrived>,
    /// The thread that ticks, until the sender is dropped.
    ticks: Option<(Sender<()>, JoinHandle<()>)>,
    members: Vec<Member>,
    clock: Clock,
    /// When messages were last looked for.
    looked: Nanos,
    /// When this process last came back from a long standstill, and how long that lasted.
    stood_still: Option<(Nanos, Nanos)>,
    pinged: u64,
    /// Events that came while the answer to a ping was awaited.
    kept: VecDeque<Event>,
    /// Why the channel is closed, if it is.
    closed: Option<String>,
}

/// What is known about one agent.
#[derive(Clone, Debug, Default)]
pub struct Member {
    /// Its process, once it is there.
    session: Option<u64>,
    /// What it says about itself.
    pub facts: Facts,
    /// How far its clock is ahead.
    pub offset: Offset,
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
    /// What an agent measured in a stage.
    Snapshot(usize, usize, Vec<Interval>),
    /// An agent has done its part of a stage.
    Ended(usize, Box<StageEnd>),
    /// An agent is lost, and why.
    Lost(usize, String),
}

impl std::fmt::Debug for Fleet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fleet").field("run", &self.run).finish_non_exhaustive()
    }
}

impl Fleet {
    /// `agents` agents of `run`, who are reached through `channel`.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn new(channel_: Channel, run: &str, agents: usize) -> std::io::Result<Self> {
        let clock = Clock::system();
        let Channel { outbox, inbox } = channel_;
        let (outbox, session) = (Arc::new(Mutex::new(outbox)), nonce());
        let (ticking, over) = channel::<()>();
        let tick = Envelope { run: run.to_owned(), agent: None, sender: session, body: Down::Tick };
        let (tick, ticks_to) = (tick.encode(), outbox.clone());
        let thread = std::thread::Builder::new().name("ticks".to_owned()).spawn(move || {
            while over.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                let mut outbox = ticks_to.lock().unwrap_or_else(PoisonError::into_inner);
                // An agent that does not read is lost; a full outbox will be emptied.
                let _ = outbox.send(To::All, tick.clone());
            }
        })?;
        Ok(Self {
            run: run.to_owned(),
            session,
            outbox,
            inbox,
            ticks: Some((ticking, thread)),
            members: vec![Member::default(); agents],
            clock,
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
            if now.saturating_sub(self.looked) >= SILENCE_NS {
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
        let agent = agent.filter(|&agent| run == self.run && agent < self.members.len())?;
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
            self.tell(agent, Down::Quit { why: Some(why) });
            return None;
        }
        member.heard = now;
        match body {
            Up::Hello(_) => Some(Event::Hello),
            Up::Pong { id, at_ns } => Some(Event::Pong { id, at_ns }),
            Up::Alive => None,
            Up::Opened(opened) => Some(Event::Opened(agent, opened)),
            Up::Refused { why } => Some(Event::Refused(agent, why)),
            Up::Ready { stage } => Some(Event::Ready(agent, stage)),
            Up::Snapshot { stage, intervals } => Some(Event::Snapshot(agent, stage, intervals)),
            Up::Ended(end) => Some(Event::Ended(agent, end)),
            Up::Failed { why } => {
                self.tell(agent, Down::Quit { why: None });
                self.lose(agent, why)
            }
        }
    }

    /// Nothing is waiting to be heard: finds an agent that has been silent for too long.
    fn silent(&mut self) -> Option<Event> {
        let since = self.looked.saturating_sub(SILENCE_NS);
        let silent = |member: &Member| {
            member.session.is_some() && member.lost.is_none() && member.heard < since
        };
        let agent = self.members.iter().position(silent)?;
        self.lose(agent, format!("nothing heard for {} s", SILENCE_NS / SECOND_NS))
    }

    /// The channel is closed: loses the next agent because of that.
    fn lose_next(&mut self) -> Option<Event> {
        let why = self.closed.clone()?;
        let next = self.members.iter().position(|member| member.lost.is_none())?;
        self.lose(next, why)
    }

    fn lose(&mut self, agent: usize, why: String) -> Option<Event> {
        let member = self.members.get_mut(agent).filter(|member| member.lost.is_none())?;
        // Agents leave a coordinator that says nothing for that long.
        let just = |at: &Nanos| self.clock.now().saturating_sub(*at) < AFTER_NS;
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
        self.tell(agent, Down::Quit { why: Some(why.to_owned()) });
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

    fn dismiss(&self, why: String) -> String {
        self.quit(Some(why.clone()));
        why
    }

    /// Asks each agent that is there for its clock, one after the other.
    pub fn measure_clocks(&mut self) {
        for agent in self.present() {
            let offsets = (0..PINGS).filter_map(|_| self.ping(agent));
            if let Some(best) = offsets.reduce(Offset::better) {
                self.members[agent].offset = best;
            }
        }
    }

    fn ping(&mut self, agent: usize) -> Option<Offset> {
        self.pinged += 1;
        let (id, asked) = (self.pinged, self.clock.now());
        self.tell(agent, Down::Ping { id });
        while self.members[agent].lost.is_none() {
            let left = (asked + PING_NS).checked_sub(self.clock.now())?;
            match self.listen(Duration::from_nanos(left)) {
                Some(Event::Pong { id: answered, at_ns }) if answered == id => {
                    return Some(Offset::of(asked, at_ns, self.looked));
                }
                Some(Event::Pong { .. }) | None => {}
                Some(other) => self.kept.push_back(other),
            }
        }
        None
    }

    /// Gives all agents the plan.
    pub fn assign(&self, assignment: Assignment) {
        self.tell_all(Down::Assign(Box::new(assignment)));
    }

    /// Has all agents connect for a stage.
    pub fn prepare(&self, stage: usize) {
        self.tell_all(Down::Prepare { stage });
    }

    /// Has all agents start a stage at `moment` on this clock.
    pub fn start(&self, stage: usize, moment: Nanos) {
        for agent in self.present() {
            let agents_ns = self.members[agent].offset.there(moment);
            self.tell(agent, Down::Start { stage, agents_ns, coordinators_ns: moment });
        }
    }

    /// Has all agents begin nothing more.
    pub fn stop(&self, reason: StopReason) {
        self.tell_all(Down::Stop { reason });
    }

    /// The run is over.
    pub fn over(&self) {
        self.tell_all(Down::Over);
    }

    /// Nothing will follow; `why`, if something went wrong.
    pub fn quit(&self, why: Option<String>) {
        self.tell_all(Down::Quit { why });
    }

    fn tell(&self, agent: usize, body: Down) {
        self.send(To::Agent(agent), Some(agent), body);
    }

    fn tell_all(&self, body: Down) {
        self.send(To::All, None, body);
    }

    fn send(&self, to: To, agent: Option<usize>, body: Down) {
        let envelope = Envelope { run: self.run.clone(), agent, sender: self.session, body };
        let mut outbox = self.outbox.lock().unwrap_or_else(PoisonError::into_inner);
        // An agent that does not get it stays silent, and is lost.
        let _ = outbox.send(to, envelope.encode());
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
mod tests {
    use super::*;
    use crate::fleet::{Channel, WAITING};
    use std::sync::mpsc::sync_channel;

    struct Nowhere;

    impl Outbox for Nowhere {
        fn send(&mut self, _: To, _: Vec<u8>) -> bool {
            true
        }
    }

    fn said(agent: usize, body: Up) -> Arrived {
        let envelope = Envelope { run: "r".to_owned(), agent: Some(agent), sender: 7, body };
        Arrived::Message(envelope.encode())
    }

    #[test]
    fn an_agent_is_missed_though_the_others_never_pause() {
        let (arrived, inbox) = sync_channel(WAITING);
        let channel_ = Channel { outbox: Box::new(Nowhere), inbox };
        let mut fleet = Fleet::new(channel_, "r", 2).unwrap();
        for agent in 0..2 {
            arrived.send(said(agent, Up::Hello(Facts::default()))).unwrap();
        }
        // More often than the coordinator is patient.
        let talking = std::thread::spawn(move || {
            while arrived.send(said(0, Up::Alive)).is_ok() {
                std::thread::sleep(LOOK / 5);
            }
        });
        let until = fleet.clock.now() + 2 * SILENCE_NS;
        let lost = loop {
            match fleet.next(LOOK) {
                Some(Event::Lost(agent, why)) => break Some((agent, why)),
                _ if fleet.clock.now() > until => break None,
                _ => {}
            }
        };
        assert_eq!(lost, Some((1, "nothing heard for 3 s".to_owned())));
        assert_eq!(fleet.present(), [0]);
        drop(fleet);
        talking.join().unwrap();
    }
}
