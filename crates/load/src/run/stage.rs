//! One stage: collects the measurements of all threads, of this process or of agents, second by
//! second, and makes its record.

use super::bench::Bench;
use super::collect::{Collected, Frame};
use super::compacting::Compacting;
use super::drill::Drilling;
use super::follow::Followers;
use super::last_writes::LastWrites;
use super::live::LiveStage;
use super::load::Load;
use super::sizes::Sizes;
use super::source::Source;
use super::unfinished::Saving;
use super::visible::Visible;
use super::{Observer, Progress, RunError};
use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::driver::CompactionPlan;
use crate::engine::{ShardWork, Start, StopReason, Workloads};
use crate::fleet::Fleet;
use crate::measure::{Interval, Second, Seconds, Series, SeriesLog, SlotSums, Totals};
use crate::plan::{MeasurementPlan, Purpose, StagePlan};
use crate::record::StageRecord;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

const PROGRESS_EVERY: Duration = Duration::from_millis(100);

struct Threads<'a> {
    intervals: Receiver<Interval>,
    start: Arc<Start>,
    /// Agents that have nothing to do, but report that they are alive.
    fleet: Option<&'a mut Fleet>,
    /// What a drill did.
    news: Option<Receiver<String>>,
}

impl Source for Threads<'_> {
    fn next(&mut self, patience: Duration) -> Result<Interval, RecvTimeoutError> {
        if let Some(fleet) = &mut self.fleet {
            for _ in 0..fleet.members().len() {
                // The run no longer needs them; the next one will find out which are lost.
                fleet.next(Duration::ZERO);
            }
        }
        self.intervals.recv_timeout(patience)
    }

    fn moment(&self) -> Option<Nanos> {
        self.start.moment()
    }

    fn news(&mut self) -> Option<String> {
        self.news.as_ref()?.try_recv().ok()
    }
}

/// The measurements of a stage, second by second and in total.
#[derive(Default)]
pub(super) struct Measured {
    pub(super) totals: Totals,
    pub(super) series: Series,
    pub(super) slots: Option<SlotSums>,
}

impl Bench<'_> {
    /// Runs the threads of a stage in this process, and returns what they leave behind. The agents
    /// of `fleet` take no part in it, but their messages are read.
    pub(super) fn run(
        &self,
        stage: &StagePlan,
        work: Vec<ShardWork>,
        observer: &mut dyn Observer,
        fleet: Option<&mut Fleet>,
    ) -> Result<(StageRecord, Vec<Workloads>), RunError> {
        let start = Arc::new(Start::new(self.own_shards(stage)));
        let followers = self.follows(stage);
        let followers =
            followers.map(|plan| Followers::begin(self.target.clone(), plan)).transpose()?;
        let (load, intervals) = Load::begin(self, stage, work, &start)?;
        let sizes = self.window(stage).map(|_| Sizes::ask(self.target.clone(), start.clone()));
        let sizes = sizes.transpose()?;
        let probes = self.probes(stage);
        let probes = probes.map(|plan| Visible::probe(self.target.clone(), plan, start.clone()));
        let probes = probes.transpose()?;
        let compacting = self.compacting(stage, &start)?;
        let (drilling, news) = Drilling::begin(self, stage, &start)?.unzip();
        let mut threads = Threads { intervals, start, fleet, news };
        let measured = self.collect(stage, &mut threads, observer, followers.as_ref())?;
        let ended = load.join()?;
        let drill = drilling.map(Drilling::finish);
        // What was done at the very end.
        tell(&mut threads, observer);
        let visibility = probes.map(Visible::finish);
        let following = followers.map(Followers::finish);
        let compaction = compacting.and_then(Compacting::finish);
        let growth = self.window(stage);
        let growth = growth.map(|window| (window, sizes.map(Sizes::finish).unwrap_or_default()));
        let frame = Frame {
            began: [self.began, threads.moment().unwrap_or(self.began)],
            hiccups: ended.hiccups,
            slots: measured.slots.as_ref().map(SlotSums::finish).unwrap_or_default(),
            growth,
            visibility,
            following,
            drill,
            compaction,
            ..Frame::of(stage, self.plan)
        };
        let mut collected = Collected::new(measured.totals, measured.series);
        for shard in ended.shards {
            collected.add(shard);
        }
        Ok((collected.record(frame), ended.workloads))
    }

    /// Requests a compaction as the main stage begins, if the plan asks for it.
    pub(super) fn compacting(
        &self,
        stage: &StagePlan,
        start: &Arc<Start>,
    ) -> Result<Option<Compacting>, RunError> {
        let main = self.plan.stages.iter().find(|it| it.purpose() == Purpose::Main);
        let forced = self.plan.target.compaction() == CompactionPlan::Force;
        if !forced || !main.is_some_and(|main| std::ptr::eq(main, stage)) {
            return Ok(None);
        }
        let (target, stop) = (self.target.clone(), self.stop.clone());
        Ok(Some(Compacting::begin(target, start.clone(), stop)?))
    }

    /// The progress of a stage in which nothing has ended yet.
    fn not_begun(&self, stage: &StagePlan) -> Progress {
        let fill = stage.work.traits().fill;
        let within_ns = fill.and_then(|fill| fill.within_ns);
        Progress {
            planned: stage.work.documents(self.plan.connections),
            is_most: within_ns.is_some(),
            length_s: within_ns.or(stage.length_ns).map(|ns| ns as f64 / SECOND_NS as f64),
            audits: stage.work.traits().audits,
            unit: match stage.purpose() {
                Purpose::Databases => "databases",
                _ => self.plan.target.card().nouns.short,
            },
            ..Progress::default()
        }
    }

    /// The offset that turns times on the run's clock into nanoseconds since 1970.
    const fn epoch_ns(&self) -> Nanos {
        self.began_wall.saturating_sub(self.began)
    }

    /// Merges the measurements of `source` until it ends, and reports progress.
    pub(super) fn collect(
        &self,
        stage: &StagePlan,
        source: &mut dyn Source,
        observer: &mut dyn Observer,
        followers: Option<&Followers>,
    ) -> Result<Measured, RunError> {
        let slots_ms = self.plan.ycsb.as_ref().and_then(MeasurementPlan::slots_ms);
        let slots = slots_ms.map(|ms| SlotSums::new(ms.into()));
        let mut measured = Measured { slots, ..Measured::default() };
        let mut seconds = SeriesLog::default().with_nodes(self.plan.drill_of(stage).is_some());
        let mut progress = self.not_begun(stage);
        let (mut described, mut until) = (true, 0);
        let mut saving = observer.saves().then(Saving::default);
        let mut live = observer.watches().then(|| LiveStage::new(stage, self.plan.connections));
        let mut telling = Telling::new(stage, self.epoch_ns(), observer);
        let mut last_writes = LastWrites::default();
        loop {
            match source.next(PROGRESS_EVERY) {
                Ok(mut interval) => {
                    if let Some(followers) = followers {
                        followers.acknowledge(std::mem::take(&mut interval.acks));
                    }
                    measured.totals.add(&interval);
                    seconds.add(&interval);
                    telling.add(&interval);
                    if let (Some(slots), Some(start)) = (&mut measured.slots, source.moment()) {
                        slots.add(&interval.raw, start);
                    } else if !interval.raw.is_empty() {
                        observer.raw(&interval.raw, self.epoch_ns());
                    }
                    described = false;
                }
                Err(RecvTimeoutError::Timeout) => {
                    if self.stop.reason() == Some(StopReason::Aborted) {
                        return Err(RunError::Aborted);
                    }
                    let now = Clock::system().now();
                    let elapsed = source.moment().map_or(0, |start| now.saturating_sub(start));
                    progress.elapsed_s = elapsed as f64 / SECOND_NS as f64;
                    let complete = source.complete_s(elapsed);
                    if !std::mem::replace(&mut described, true) || complete != until {
                        until = complete;
                        progress.describe(&measured.totals, &seconds, until);
                    }
                    tell(source, observer);
                    observer.progress(&progress);
                    last_writes.tell(self, source, &progress, now, observer);
                    telling.tell(elapsed, source, observer);
                    let totals = &measured.totals;
                    let look = live.as_mut().and_then(|it| it.look(elapsed, totals, source));
                    if let Some(running) = look {
                        observer.running(running);
                    }
                    let is_due = |it: &&mut Saving| it.is_due(elapsed) && !source.has_more();
                    let due = saving.as_mut().filter(is_due);
                    if let (Some(saving), Some(start)) = (due, source.moment()) {
                        let agents = source.agents();
                        let record = self.unfinished(stage, totals, &seconds, start, agents);
                        if let Some(record) = record {
                            observer.unfinished(&record);
                        }
                        saving.took(elapsed, Clock::system().now().saturating_sub(start));
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    tell(source, observer);
                    telling.finish(source, observer);
                    let (series, trouble) = seconds.finish();
                    if let Some(error) = trouble {
                        observer
                            .news(&format!("{}: some seconds are missing: {error}", stage.name));
                    }
                    return Ok(Measured { series, ..measured });
                }
            }
        }
    }
}

/// Reports the seconds of a running stage, if the observer wants them.
struct Telling {
    stage: String,
    epoch_ns: Nanos,
    seconds: Option<Seconds>,
}

impl Telling {
    fn new(stage: &StagePlan, epoch_ns: Nanos, observer: &dyn Observer) -> Self {
        let seconds = observer.takes_seconds().then(Seconds::default);
        Self { stage: stage.name.clone(), epoch_ns, seconds }
    }

    fn add(&mut self, interval: &Interval) {
        if let Some(seconds) = &mut self.seconds {
            seconds.add(interval);
        }
    }

    /// Reports the seconds that are complete at this time.
    fn tell(&mut self, elapsed_ns: Nanos, source: &dyn Source, observer: &mut dyn Observer) {
        let complete_ns = elapsed_ns.saturating_sub(source.settles_ns());
        let complete = (complete_ns / SECOND_NS) as u32;
        let due = self.seconds.as_mut().map(|it| it.before(complete));
        self.pass_on(&due.unwrap_or_default(), source, observer);
    }

    /// Reports all remaining seconds.
    fn finish(&mut self, source: &dyn Source, observer: &mut dyn Observer) {
        let left = self.seconds.as_mut().map(Seconds::rest);
        self.pass_on(&left.unwrap_or_default(), source, observer);
    }

    fn pass_on(&self, seconds: &[Second], source: &dyn Source, observer: &mut dyn Observer) {
        let start = self.epoch_ns + source.moment().unwrap_or_default();
        for it in seconds {
            let began_ns = start + Nanos::from(it.row.second) * SECOND_NS;
            observer.second(&self.stage, began_ns, it);
        }
    }
}

/// Passes the messages of `source` to the user.
fn tell(source: &mut dyn Source, observer: &mut dyn Observer) {
    while let Some(sentence) = source.news() {
        observer.news(&sentence);
    }
}

#[cfg(test)]
#[path = "stage_tests.rs"]
pub(super) mod tests;
