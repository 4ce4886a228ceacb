//! The agents of a run: gives each its orders, and merges what all of them measured into one stage.

use super::bench::Bench;
use super::collect::{Collected, Frame};
use super::compacting::Compacting;
use super::follow::Followers;
use super::lanes::Connections;
use super::share::Share;
use super::sizes::Sizes;
use super::source::Source;
use super::visible::Visible;
use super::{Observer, RunError, each_stage};
use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::driver::Opening;
use crate::engine::{Pace, Start, StopReason};
use crate::fleet::{Event, Fleet, Inquiries};
use crate::measure::{Interval, SlotSums};
use crate::plan::{Plan, StagePlan};
use crate::record::{
    AgentRecord, AgentStage, Lost, RunRecord, StageRecord, agent_numbers as numbers,
};
use crate::schema::Documents;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// How long in advance a start is announced ...
const LEAD_NS: Nanos = 3 * SECOND_NS / 10;
/// ... plus this much per agent, and this many times the longest round trip.
const LEAD_EACH_NS: Nanos = 200_000;
const LEAD_TRIPS: Nanos = 3;
/// How long agents may take to open the target or to connect, in addition to the timeout of an
/// operation.
pub(super) const PATIENCE_NS: Nanos = if cfg!(test) { 2 * SECOND_NS } else { 30 * SECOND_NS };
/// How long after a second's end all agents have reported it: they report once a second.
const SNAPSHOTS_SETTLE_NS: Nanos = 2 * SECOND_NS;
/// How many operations must be due on an agent that does none before it counts as stuck: with
/// random arrivals, the chance that none of them has really come is e^-20, or 1 in 500 million.
const DUE: f64 = 20.0;
/// The reason an agent is lost if it alone gets no responses.
const UNANSWERED: &str = "the server no longer answered it";
/// How often to check whether the user has stopped the run.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// How long in advance a start is announced to this many agents.
const fn lead_ns(agents: usize, round_trip_ns: Nanos) -> Nanos {
    LEAD_NS + LEAD_EACH_NS * agents as Nanos + LEAD_TRIPS * round_trip_ns
}

/// The agents of one run.
pub(super) struct Crew<'a> {
    pub(super) fleet: &'a mut Fleet,
    began: Nanos,
    /// The agents lost in this run, by number.
    pub(super) lost: Vec<Option<Lost>>,
    /// Messages that the user has not seen yet.
    news: VecDeque<String>,
}

impl<'a> Crew<'a> {
    pub(super) fn new(fleet: &'a mut Fleet, began: Nanos) -> Self {
        // Lost in an earlier run, such as that of another cell of a sweep.
        let earlier =
            |why: &String| Lost { at_s: 0.0, stage: None, why: why.clone(), handed_in: false };
        let lost = fleet.members().iter().map(|it| it.lost.as_ref().map(earlier)).collect();
        Self { fleet, began, lost, news: VecDeque::new() }
    }

    /// Has the agents carry out the plan, in the scratch database and on the stand-in of `opening`,
    /// both of which already exist.
    pub(super) fn run(
        mut self,
        bench: &Bench<'_>,
        documents: &Arc<Documents>,
        opening: &Opening,
        record: &mut RunRecord,
        observer: &mut dyn Observer,
    ) -> Result<(), RunError> {
        let opened = self.assign(bench, opening);
        record.agents = self.records(bench.plan);
        let result = opened.and_then(|opened| {
            record.server.same_machine |= opened.same_machine;
            record.environment.calibration = Some(opened.calibration);
            each_stage(bench, record, observer, |number, record, observer| {
                let stage = &bench.plan.stages[number];
                if stage.work.traits().audits {
                    // An audit checks what all agents noted: it is done by this process, with or
                    // without agents.
                    let mut connections = Connections::new(bench, documents.clone())?;
                    let fleet = Some(&mut *self.fleet);
                    return connections
                        .run_stage(bench, stage, |work| bench.run(stage, work, observer, fleet));
                }
                let stage = self.run_stage(bench, number, observer);
                record.agents = self.records(bench.plan);
                stage
            })
        });
        if bench.stop.reason() == Some(StopReason::Aborted) {
            self.fleet.quit(Some("the run was aborted".to_owned()));
        } else {
            self.fleet.over();
        }
        result
    }

    /// The records of the agents as they are now.
    fn records(&self, plan: &Plan) -> Vec<AgentRecord> {
        let agents = self.fleet.members().len();
        let record = |(index, member): (usize, &crate::fleet::Member)| AgentRecord {
            index,
            host: member.facts.host.clone(),
            pid: member.facts.pid,
            version: member.facts.version.clone(),
            cores: member.facts.cores,
            threads: plan.threads,
            connections: (index..plan.connections).step_by(agents).count(),
            clock_offset_us: member.offset.unwrap_or_default().ahead_ns as f64 / 1e3,
            clock_error_us: member.offset.unwrap_or_default().error_ns as f64 / 1e3,
            lost: self.lost[index].clone(),
        };
        self.fleet.members().iter().enumerate().map(record).collect()
    }

    /// Runs one stage on all remaining agents.
    fn run_stage(
        &mut self,
        bench: &Bench<'_>,
        number: usize,
        observer: &mut dyn Observer,
    ) -> Result<StageRecord, RunError> {
        let stage = &bench.plan.stages[number];
        self.prepare(bench, number)?;
        let followers = bench.follows(stage);
        let followers =
            followers.map(|plan| Followers::begin(bench.target.clone(), plan)).transpose()?;
        self.fleet.measure_clocks();
        let lead_ns = lead_ns(self.fleet.members().len(), self.fleet.round_trip_ns());
        let moment = Clock::system().now() + lead_ns;
        let mut shares = Shares::new(self, bench, number, moment)?;
        shares.crew.fleet.start(number, moment);
        let start = Arc::new(Start::made(moment));
        let sizes = bench.window(stage).map(|_| Sizes::ask(bench.target.clone(), start.clone()));
        let sizes = sizes.transpose()?;
        let compacting = bench.compacting(stage, &start)?;
        let probes = bench.probes(stage);
        let probes = probes.map(|plan| Visible::probe(bench.target.clone(), plan, start));
        let probes = probes.transpose()?;
        let measured = bench.collect(stage, &mut shares, observer, followers.as_ref())?;
        let Shares { parts, .. } = shares;
        let mut collected = Collected::new(measured.totals, measured.series);
        let mut rows = Vec::new();
        let mut parts: Vec<_> = parts.into_iter().filter(|share| share.expected).collect();
        self.lose_unanswered(&mut parts, bench, stage);
        self.news.drain(..).for_each(|sentence| observer.news(&sentence));
        let mut frame = Frame { began: [bench.began, moment], ..Frame::of(stage, bench.plan) };
        for mut share in parts {
            if let (Err(why), Some(journal)) = (share.deliver(&stage.name), &bench.journal) {
                journal.break_off(&format!("agent {}: {why}", share.row.index));
            }
            if share.stopped() == Some(StopReason::Authentication) {
                bench.stop.raise(StopReason::Authentication);
            }
            if let (Some(lost), true) = (&mut self.lost[share.row.index], share.ended.is_some()) {
                share.row.lost = true;
                lost.handed_in = lost.stage.as_ref() == Some(&stage.name);
            }
            rows.push(share.finish(&mut collected, &mut frame));
        }
        let growth = bench.window(stage);
        let growth = growth.map(|window| (window, sizes.map(Sizes::finish).unwrap_or_default()));
        let frame = Frame {
            slots: measured.slots.as_ref().map(SlotSums::finish).unwrap_or_default(),
            growth,
            visibility: probes.map(Visible::finish),
            following: followers.map(Followers::finish),
            compaction: compacting.and_then(Compacting::finish),
            ..frame
        };
        let mut record = collected.record(frame);
        record.agents = rows;
        Ok(record)
    }

    /// Stops the run if the server no longer responds to any agent. If it still responds to some,
    /// the others are lost; everything they measured is kept.
    fn lose_unanswered(&mut self, parts: &mut [Share], bench: &Bench<'_>, stage: &StagePlan) {
        let is_left = |share: &Share| self.lost[share.row.index].is_none();
        let mut ended: Vec<&Share> = parts.iter().filter(|share| share.ended.is_some()).collect();
        // Those that are lost are asked only if nobody else can say whether the server responds.
        if ended.iter().any(|share| is_left(share)) {
            ended.retain(|share| is_left(share));
        }
        let unanswered: Vec<_> = ended.iter().filter_map(|share| share.unanswered()).collect();
        if unanswered.len() == ended.len() {
            for (_, reason) in unanswered {
                bench.stop.raise(reason);
            }
            return;
        }
        for share in parts {
            let unanswered = share.unanswered().filter(|_| self.lost[share.row.index].is_none());
            if let Some((at, _)) = unanswered {
                share.row.lost = true;
                self.fleet.give_up(share.row.index, UNANSWERED);
                self.lose(share.row.index, UNANSWERED.to_owned(), Some(stage), at);
            }
        }
    }

    /// Waits until all agents are ready for a stage.
    fn prepare(&mut self, bench: &Bench<'_>, number: usize) -> Result<(), RunError> {
        let stage = &bench.plan.stages[number];
        self.fleet.prepare(number);
        let gathering = stage.work.traits().gathering.map_or(0, |it| it.patience_ns);
        let patience_ns = gathering + bench.plan.timeout_ns + PATIENCE_NS;
        let until = Clock::system().now() + patience_ns;
        let mut ready = vec![false; self.fleet.members().len()];
        loop {
            let late = self.fleet.present().into_iter().find(|&agent| !ready[agent]);
            let Some(late) = late else { break };
            match self.fleet.next(LOOK) {
                Some(Event::Ready(agent, stage)) if stage == number => ready[agent] = true,
                Some(Event::Lost(agent, why)) => {
                    self.lose(agent, why, Some(stage), Clock::system().now());
                }
                _ if bench.stop.reason() == Some(StopReason::Aborted) => {
                    return Err(RunError::Aborted);
                }
                // The stage ends as soon as it has started.
                _ if bench.stop.reason().is_some() => break,
                _ if Clock::system().now() >= until => {
                    let why = format!("agent {late} was not ready in time");
                    return Err(RunError::Agents(why));
                }
                _ => {}
            }
        }
        self.look_for_the_last()
    }

    /// Returns an error if no agent is left.
    fn look_for_the_last(&mut self) -> Result<(), RunError> {
        if !self.fleet.present().is_empty() {
            return Ok(());
        }
        let why = self.lost.iter().flatten().last().map_or("", |lost| &lost.why);
        Err(RunError::AllLost(format!("all agents were lost: {why}")))
    }

    /// Notes that an agent is lost, with the reason and the time, unless it was lost before.
    pub(super) fn lose(&mut self, agent: usize, why: String, stage: Option<&StagePlan>, at: Nanos) {
        if self.lost[agent].is_some() {
            return;
        }
        let at_s = at.saturating_sub(self.began) as f64 / SECOND_NS as f64;
        let stage = stage.map(|stage| stage.name.clone());
        let others = self.lost.iter().enumerate().filter(|(other, _)| *other != agent);
        let goes_on = others.map(|(_, lost)| lost).any(Option::is_none);
        let others = if goes_on { "the others go on" } else { "and none is left" };
        self.news.push_back(format!("agent {agent} was lost, {others}: {why}"));
        self.lost[agent] = Some(Lost { at_s, stage, why, handed_in: false });
    }
}

/// The agents of a stage as the source of its measurements.
struct Shares<'a, 'b, 'c> {
    crew: &'a mut Crew<'b>,
    bench: &'a Bench<'c>,
    number: usize,
    moment: Nanos,
    parts: Vec<Share>,
    waiting: VecDeque<Interval>,
    /// The last stop reason announced to the agents, if any.
    announced: Option<StopReason>,
    /// When `next` last reported that nothing had arrived.
    paused: Nanos,
    /// Whether all agents but the lost ones have ended.
    waits: bool,
}

impl<'a, 'b, 'c> Shares<'a, 'b, 'c> {
    /// Called before the stage begins at `moment`: from then on, what agents note is missing until
    /// it has arrived.
    fn new(
        crew: &'a mut Crew<'b>,
        bench: &'a Bench<'c>,
        number: usize,
        moment: Nanos,
    ) -> Result<Self, RunError> {
        let present = crew.fleet.present();
        let agents = crew.fleet.members().len();
        let share = |index| Share::new(index, agents, present.contains(&index), moment);
        let mut parts: Vec<_> = (0..agents).map(share).collect();
        if let Some((journal, stage)) = bench.noted(&bench.plan.stages[number]) {
            for &agent in &present {
                parts[agent].notes = Some(journal.expect(stage, agent)?);
            }
        }
        let (waiting, announced) = (VecDeque::new(), None);
        let (paused, waits) = (moment, false);
        Ok(Self { crew, bench, number, moment, parts, waiting, announced, paused, waits })
    }

    /// The agents that have not ended the stage.
    fn working(&self) -> impl Iterator<Item = &Share> {
        let present = self.crew.fleet.present().into_iter().map(move |agent| &self.parts[agent]);
        present.filter(|share| share.ended.is_none())
    }

    fn at_work(&self) -> bool {
        self.working().next().is_some()
    }

    /// Whether a lost agent may still hand in what it measured; a user who stops the run does not
    /// wait for that.
    fn awaits(&mut self) -> bool {
        let awaited = |share: &&Share| {
            share.expected && share.ended.is_none() && self.crew.fleet.awaits(share.row.index)
        };
        let awaited: Vec<_> = self.parts.iter().filter(awaited).map(|it| it.row.index).collect();
        if awaited.is_empty() || self.bench.stop.reason().is_some() {
            return false;
        }
        if !std::mem::replace(&mut self.waits, true) {
            let (s, numbers) = (if awaited.len() == 1 { "" } else { "s" }, numbers(&awaited));
            let news = format!("waiting for what agent{s} {numbers} measured before the loss");
            self.crew.news.push_back(news);
        }
        true
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Started(agent, stage) if stage == self.number => {
                self.parts[agent].started = true;
            }
            Event::Snapshot(agent, stage, intervals, inquiries) if stage == self.number => {
                let share = &mut self.parts[agent];
                share.inquire(inquiries, self.bench.plan.timeout_ns);
                if intervals.iter().any(|it| it.iter().next().is_some()) {
                    share.progressed = Clock::system().now();
                }
                for interval in &intervals {
                    share.count(interval);
                }
                self.waiting.extend(intervals);
            }
            Event::Notes(agent, stage, before, piece) if stage == self.number => {
                let share = &mut self.parts[agent];
                share.delivered = Clock::system().now();
                share.progressed = share.delivered;
                if let Some(notes) = &mut share.notes {
                    notes.add(before, &piece);
                }
            }
            Event::Ended(agent, end) if end.stage == self.number => {
                let now = Clock::system().now();
                self.parts[agent].ended = Some((now, end));
                let lost = self.crew.fleet.members()[agent].lost.clone();
                if let (Some(why), None) = (lost, &self.crew.lost[agent]) {
                    let stage = &self.bench.plan.stages[self.number];
                    self.crew.lose(agent, why, Some(stage), now);
                }
            }
            Event::Lost(agent, why) => {
                let stage = &self.bench.plan.stages[self.number];
                self.crew.lose(agent, why, Some(stage), Clock::system().now());
            }
            _ => {}
        }
    }

    /// Gives up agents that have not started the stage, or that go on long after it should have
    /// ended.
    fn lose_stuck(&mut self, now: Nanos) {
        let (plan, fleet) = (self.bench.plan, &self.crew.fleet);
        let stage = &plan.stages[self.number];
        let begun_by = self.moment + fleet.silence_ns() + fleet.round_trip_ns();
        // A run that is stopped does not wait until all agents are ready.
        let is_due = now >= begun_by && self.bench.stop.reason().is_none();
        for agent in fleet.present() {
            let share = &self.parts[agent];
            let late = match stage.length_ns {
                _ if share.ended.is_some() => false,
                Some(length_ns) => {
                    let until = self.moment + length_ns + plan.timeout_ns;
                    let until = until.max(share.delivered).max(share.asks_until);
                    now >= until.saturating_add(PATIENCE_NS)
                }
                None => self.is_stuck(stage, share.progressed.max(share.asks_until), now),
            };
            let why = if late {
                format!("it did not end the stage {}", stage.name)
            } else if is_due && !share.started && share.ended.is_none() {
                format!("it did not begin the stage {}, though it was ready", stage.name)
            } else {
                continue;
            };
            self.crew.fleet.give_up(agent, &why);
            self.crew.lose(agent, why, Some(stage), now);
        }
    }

    /// Whether an agent that has done nothing since `since` should have, even allowing for the
    /// longest time that the server may be away.
    fn is_stuck(&self, stage: &StagePlan, since: Nanos, now: Nanos) -> bool {
        let plan = self.bench.plan;
        let waited_ns = now.saturating_sub(since);
        let patience_ns = plan.patience_ns().saturating_add(plan.timeout_ns + PATIENCE_NS);
        match &stage.pace {
            Pace::Closed { think_ns: pause_ns } | Pace::Thinking { most_ns: pause_ns, .. } => {
                waited_ns > patience_ns.saturating_add(*pause_ns)
            }
            Pace::Open { schedule, .. } => {
                let due = |at: Nanos| schedule.due_by(at.saturating_sub(self.moment));
                let each = (due(now) - due(since)) / self.parts.len() as f64;
                waited_ns > patience_ns && each > DUE
            }
        }
    }
}

impl Source for Shares<'_, '_, '_> {
    fn next(&mut self, patience: Duration) -> Result<Interval, RecvTimeoutError> {
        let now = Clock::system().now();
        if now.saturating_sub(self.paused) >= patience.as_nanos() as Nanos {
            // However much arrives, the caller must get to its other work as well.
            self.paused = now;
            return Err(RecvTimeoutError::Timeout);
        }
        if let Some(interval) = self.waiting.pop_front() {
            return Ok(interval);
        }
        self.lose_stuck(now);
        if !self.at_work() && !self.awaits() {
            return Err(RecvTimeoutError::Disconnected);
        }
        let wanted = self.bench.stop.reason();
        if wanted.is_some() && wanted != self.announced {
            self.announced = wanted;
            self.crew.fleet.stop(wanted.unwrap_or(StopReason::Interrupted));
        }
        if let Some(event) = self.crew.fleet.next(patience) {
            self.take(event);
        }
        self.waiting.pop_front().ok_or(RecvTimeoutError::Timeout)
    }

    fn news(&mut self) -> Option<String> {
        self.crew.news.pop_front()
    }

    fn settles_ns(&self) -> Nanos {
        SNAPSHOTS_SETTLE_NS
    }

    fn complete_s(&self, elapsed_ns: Nanos) -> u32 {
        let settled = (elapsed_ns.saturating_sub(SNAPSHOTS_SETTLE_NS) / SECOND_NS) as u32;
        if self.has_more() {
            return settled;
        }
        let reported = self.working().map(|share| share.row.reported_s() as u32).min();
        reported.map_or(u32::MAX, |reported| reported.max(settled))
    }

    fn has_more(&self) -> bool {
        !self.waiting.is_empty()
    }

    fn inquiries(&self) -> Inquiries {
        Inquiries::together(self.working().map(|share| share.inquiries))
    }

    fn agents(&self) -> Vec<AgentStage> {
        let expected = self.parts.iter().filter(|share| share.expected);
        expected.map(|share| share.so_far(&self.crew.lost)).collect()
    }

    fn moment(&self) -> Option<Nanos> {
        (Clock::system().now() >= self.moment).then_some(self.moment)
    }
}

#[cfg(test)]
#[path = "crew_tests.rs"]
mod tests;
