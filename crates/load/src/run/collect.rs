//! Makes the record of a stage from the results of its shards.

use super::window::{peak_per_s, window_ns};
use crate::account::{Account, Facts, LoadFacts, Reading, ThreadFacts, silence_ns};
use crate::clock::{Nanos, SECOND_NS};
use crate::driver::Card;
use crate::engine::{Arrivals, EndedLane, LoadCounts, Pace, ShardResult};
use crate::measure::{
    Backlog, Compaction, FillLog, Following, Growth, Hiccups, Histogram, NodeLog, NodeSummary,
    Outage, OutageLog, PhaseTable, PoolLog, Series, SeriesRow, Served, Silences, SizePoint, Slot,
    Spans, ThreadLoss, Totals, Visibility,
};
use crate::op::{ByKind, Class};
use crate::plan::{Plan, StagePlan};
use crate::record::{
    ClientRecord, DrillRecord, Estimates, LoadRecord, PoolRecord, StageRecord, StartRecord, Verdict,
};

/// The maximum number of client pauses listed.
const MOST_LISTED: usize = crate::measure::Span::MOST_LISTED;
/// A closed loop sends nothing to a silent server: one that is silent for this long was away.
const SILENT_NS: Nanos = SECOND_NS;

/// The results of all shards of a stage.
pub(super) struct Collected {
    lanes: Vec<EndedLane<()>>,
    totals: Totals,
    series: Series,
    load: LoadCounts,
    elapsed_ns: Nanos,
    /// Up to when operations fell due, from the start, if an open loop was stopped.
    stopped_ns: Option<Nanos>,
    cpu_ns: Nanos,
    threads: Vec<ThreadLoss>,
    /// One for each process.
    outages: Vec<OutageLog>,
    /// Common to all shards; `None`: there are none yet.
    silences: Option<Silences>,
    backlog: Backlog,
    /// `None`: a closed loop.
    pool: Option<PoolLog>,
    fills: Vec<FillLog>,
    /// One for each node, if there are several.
    nodes: Vec<NodeLog>,
    sent: Served,
    /// Answers of processes that were lost before they reported how many the kernel had timed.
    lost_answers: u64,
}

/// The circumstances of a stage in the run.
pub(super) struct Frame<'a> {
    pub(super) plan: &'a StagePlan,
    pub(super) connections: usize,
    /// When the run and the stage began, on the clock of the run.
    pub(super) began: [Nanos; 2],
    /// How promptly this machine woke threads.
    pub(super) hiccups: Hiccups,
    pub(super) card: Card,
    /// Intervals other than a second, if the plan asks for them.
    pub(super) slots: Vec<Slot>,
    /// The addresses of the nodes, if there are several.
    pub(super) nodes: Vec<String>,
    /// The number of documents between two points of the growth, if requested, and the sizes that
    /// the server reported.
    pub(super) growth: Option<(u64, Vec<SizePoint>)>,
    /// What the probes found, if there were any.
    pub(super) visibility: Option<Visibility>,
    /// What the followers received, if there were any.
    pub(super) following: Option<Following>,
    /// What was broken and mended, if a drill was requested.
    pub(super) drill: Option<DrillRecord>,
    /// The requested compaction, if there was one.
    pub(super) compaction: Option<Compaction>,
}

impl<'a> Frame<'a> {
    /// A stage of `plan` about which nothing else is known.
    pub(super) fn of(stage: &'a StagePlan, plan: &Plan) -> Self {
        Self {
            plan: stage,
            connections: plan.connections,
            began: [0; 2],
            hiccups: Hiccups::default(),
            card: plan.target.card(),
            nodes: plan.target.nodes(),
            slots: Vec::new(),
            growth: None,
            visibility: None,
            following: None,
            drill: None,
            compaction: None,
        }
    }
}

/// Responses to requests that succeeded at least in part.
#[derive(Clone, Copy)]
struct Responses<'a> {
    service: &'a Histogram,
    /// How many of them were timed by the kernel.
    noted: u64,
}

impl Collected {
    /// Starts without any shards; `totals` and `series` are what all of them sent.
    pub(super) fn new(totals: Totals, series: Series) -> Self {
        Self {
            lanes: Vec::new(),
            totals,
            series,
            load: LoadCounts::default(),
            elapsed_ns: 0,
            stopped_ns: None,
            cpu_ns: 0,
            threads: Vec::new(),
            outages: vec![OutageLog::default()],
            silences: None,
            backlog: Backlog::default(),
            pool: None,
            fills: Vec::new(),
            nodes: Vec::new(),
            sent: Served::default(),
            lost_answers: 0,
        }
    }

    /// The results of the shards of one process, without the totals and series that it sent.
    pub(super) fn of_process(shards: Vec<ShardResult<()>>) -> Self {
        let mut process = Self::new(Totals::default(), Series::default());
        for shard in shards {
            process.add(shard);
        }
        process
    }

    pub(super) fn add_process(&mut self, process: Self) {
        let alone = self.threads.is_empty();
        if alone {
            self.outages.clear();
        }
        self.outages.extend(process.outages.iter().cloned());
        self.merge(process);
    }

    /// Adds the counts of a lost process: documents `issued` per kind, requests sent and answers
    /// received.
    pub(super) fn add_lost(&mut self, issued: &ByKind<u64>, requests: u64, answers: u64) {
        self.totals.issued.add(issued);
        self.lost_answers += answers;
        self.load.offered += requests;
        self.load.begun += requests;
    }

    /// When no process had any success.
    fn outage(&self) -> OutageLog {
        let mut outages = self.outages.iter().cloned();
        let first = outages.next().unwrap_or_default();
        outages.fold(first, |mut all, next| {
            all.join(&next);
            all
        })
    }

    pub(super) fn add(&mut self, shard: ShardResult<()>) {
        if let Some(outage) = self.outages.last_mut() {
            outage.merge(&shard.watched.outage);
        }
        let mut part = Self::new(Totals::default(), Series::default());
        part.totals.issued = shard.issued;
        part.fills.push(shard.fill);
        (part.nodes, part.load, part.sent) = (shard.nodes, shard.load, shard.sent);
        (part.elapsed_ns, part.cpu_ns) = (shard.elapsed_ns, shard.cpu_ns);
        (part.silences, part.pool) = (Some(shard.watched.silences), shard.watched.pool);
        part.backlog = shard.watched.backlog.unwrap_or_default();
        part.stopped_ns = shard.watched.stopped_ns;
        part.threads.push(shard.watched.loss);
        part.lanes = shard.lanes;
        self.merge(part);
    }

    /// Adds everything but outages: those of one process and those of several are merged
    /// differently.
    fn merge(&mut self, part: Self) {
        self.totals.issued.add(&part.totals.issued);
        self.fills.extend(part.fills);
        if self.nodes.len() < part.nodes.len() {
            self.nodes.resize_with(part.nodes.len(), NodeLog::default);
        }
        self.nodes.iter_mut().zip(&part.nodes).for_each(|(sum, part)| sum.merge(part));
        self.sent.add(&part.sent);
        self.load.offered += part.load.offered;
        self.load.begun += part.load.begun;
        self.load.dropped += part.load.dropped;
        self.load.unsent += part.load.unsent;
        // A stage was stopped early only if each of its shards was.
        let both = self.stopped_ns.zip(part.stopped_ns).map(|(ours, theirs)| ours.max(theirs));
        self.stopped_ns = if self.threads.is_empty() { part.stopped_ns } else { both };
        self.elapsed_ns = part.elapsed_ns.max(self.elapsed_ns);
        self.cpu_ns += part.cpu_ns;
        if let Some(theirs) = part.silences {
            let common = self.silences.take().map(|ours| ours.common(&theirs));
            self.silences = Some(common.unwrap_or(theirs));
        }
        self.backlog.merge(&part.backlog);
        if let Some(pool) = &part.pool {
            self.pool.get_or_insert_default().merge(pool);
        }
        self.threads.extend(part.threads);
        // Those of the first shard stay where they are: there may be tens of thousands.
        if self.lanes.is_empty() {
            self.lanes = part.lanes;
        } else {
            self.lanes.extend(part.lanes);
        }
        self.lanes.sort_unstable_by_key(|lane| lane.connection);
    }

    /// The account of what one process did; `known` are other facts about its requests, `service`
    /// their service times.
    pub(super) fn account(&self, known: Facts, service: &Histogram, frame: &Frame<'_>) -> Account {
        let elapsed_s = seconds(self.elapsed_ns());
        let LoadCounts { offered, dropped, unsent, .. } = self.load;
        let start = frame.began[1];
        let client = self.client(0, &Histogram::default(), start, &frame.hiccups);
        let load = LoadFacts {
            open: matches!(frame.plan.pace, Pace::Open { .. }),
            offered,
            dropped,
            unsent,
            unsent_by_client: self.threads.iter().map(|thread| thread.unsent).sum(),
            ..LoadFacts::default()
        };
        let known = Facts { elapsed_s, load, threads: client.facts(), ..known };
        let answers = Responses { service, noted: client.noted_answers };
        let facts = self.facts(known, answers, &self.outage(), start, !frame.card.server);
        Account::of(&facts)
    }

    /// The length of the stage; if all processes were lost, the length of what they reported.
    fn elapsed_ns(&self) -> Nanos {
        if self.elapsed_ns > 0 {
            return self.elapsed_ns;
        }
        let seconds = self.series.rows.last().map_or(0, SeriesRow::end);
        Nanos::from(seconds) * SECOND_NS
    }

    /// The time over which rates are computed, in seconds: until the last operation was due.
    fn measured_s(&self, stage: &StagePlan, connections: usize) -> f64 {
        let ends = [window_ns(stage, connections), self.stopped_ns];
        seconds(ends.into_iter().flatten().fold(self.elapsed_ns(), Nanos::min))
    }

    /// The complete record of the stage, including its verdict.
    pub(super) fn record(mut self, frame: Frame<'_>) -> StageRecord {
        let stage = frame.plan;
        let elapsed_s = seconds(self.elapsed_ns());
        let measured_s = self.measured_s(stage, frame.connections);
        let operations = self.totals.summarize(measured_s);
        let requests: u64 =
            operations.iter().filter(|it| it.kind.is_request()).map(|it| it.requests).sum();
        let mut lag = Histogram::default();
        for operation in &operations {
            lag.merge(&operation.lag.histogram);
        }
        let start = frame.began[1];
        let times: Vec<_> = self.lanes.iter().map(|lane| &lane.times).collect();
        let mut record = StageRecord {
            name: stage.name.clone(),
            plan: Some(stage.clone()),
            began_s: seconds(start.saturating_sub(frame.began[0])),
            elapsed_s,
            measured_s,
            load: self.load(stage, measured_s, frame.connections),
            client: self.client(requests, &lag, start, &frame.hiccups),
            verdict: Verdict::Empty,
            account: None,
            outage: Outage::default(),
            silences: self.silences.as_ref().map_or_else(Vec::new, |it| it.finish(start)),
            connections: PhaseTable::new(&times, &self.totals.kinds(), frame.card.phases),
            operations,
            series: std::mem::take(&mut self.series),
            estimates: None,
            slots: frame.slots,
            growth: frame
                .growth
                .map(|(window, sizes)| Growth { sizes, ..Growth::new(&self.fills, window) }),
            visibility: frame.visibility,
            following: frame.following,
            drill: frame.drill,
            unasked: None,
            compaction: frame.compaction,
            agents: Vec::new(),
            nodes: self.nodes(frame.nodes, start, measured_s),
            sent: self.sent.clone(),
            start: stage.work.traits().gathering.map(|_| start_record(&self.lanes)),
        };
        let outage = self.outage();
        let service = record.merged().service.histogram;
        let answers = Responses { service: &service, noted: record.client.noted_answers };
        let known = record.facts();
        let facts = self.facts(known, answers, &outage, start, !frame.card.server);
        record.outage = outage.finish(start, &facts.away, &facts.holding);
        let account = Account::of(&facts);
        record.verdict = Verdict::of(&facts, &account);
        record.account = Some(account);
        if !record.is_preparation() {
            let growth = record.growth.as_ref();
            record.estimates = Estimates::of(&record.series, measured_s, growth);
        }
        record
    }

    /// The facts behind the verdict on a stage: what is `known`, and what the shards report.
    fn facts(
        &self,
        known: Facts,
        answers: Responses<'_>,
        outage: &OutageLog,
        start: Nanos,
        without_server: bool,
    ) -> Facts {
        let mut holding = Spans::default();
        self.threads.iter().for_each(|thread| holding.merge(&thread.holding));
        let service = answers.service;
        let elapsed_ns = (known.elapsed_s * 1e9) as Nanos;
        let mut away = outage.spans(outage.gap_ns(service.len(), elapsed_ns, start + elapsed_ns));
        let cut_off = outage.cut_off(&away);
        if let Some(silences) = self.silences.as_ref().filter(|_| !known.load.open) {
            let least_ns = silence_ns(service, self.lanes.len());
            away.merge(&silences.of_at_least(least_ns.max(SILENT_NS)));
        }
        let lost = || self.thread_facts(known.threads, answers);
        // Without a server, springload's own time is measured.
        let threads = if without_server { known.threads } else { lost() };
        Facts { without_server, start, away, cut_off, holding, threads, ..known }
    }

    /// What threads lost, in addition to `known`.
    fn thread_facts(&self, known: ThreadFacts, answers: Responses<'_>) -> ThreadFacts {
        let Responses { service, noted } = answers;
        let (mut late, mut unread) = (Histogram::default(), Histogram::default());
        let (mut lost_ns, mut watched_ns) = (0, 0);
        for thread in &self.threads {
            late.merge(&thread.late);
            unread.merge(&thread.unread);
            lost_ns += thread.scheduled.waited_ns.unwrap_or(0).max(thread.paused_ns);
            watched_ns += thread.watched_ns;
        }
        // Responses stay unread only while a thread cannot read, and no more of them than are in
        // flight: a server faster than the client answers those, and then has nothing left to
        // answer.
        let most_us = service.mean() / 1e3 * lost_ns as f64 / watched_ns.max(1) as f64;
        // Responses timed by the kernel did not have to wait for being read.
        let served = service.len().saturating_sub(self.lost_answers).max(1) as f64;
        let read = (1.0 - noted as f64 / served).max(0.0);
        let p99_us = unread.percentile(99.0) as f64 / 1e3;
        ThreadFacts {
            held: (
                self.threads.iter().map(|thread| thread.held).sum(),
                (late.mean() * late.len() as f64) as Nanos,
            ),
            reading_us: Reading {
                mean: read * (unread.mean() / 1e3).min(most_us),
                p99: if read > 0.01 { p99_us } else { 0.0 },
            },
            ..known
        }
    }

    fn nodes(&self, urls: Vec<String>, start: Nanos, measured_s: f64) -> Vec<NodeSummary> {
        let (parts, logs) = (self.totals.sum().nodes(), &self.nodes);
        // Some drivers know their nodes only once they have found them.
        let found = || logs.iter().map(|log| log.url.clone()).collect();
        let urls = if urls.is_empty() { found() } else { urls };
        let summary = |(node, url)| {
            let (part, log) = (parts.get(node).cloned(), logs.get(node).cloned());
            let (part, log) = (part.unwrap_or_default(), log.unwrap_or_default());
            NodeSummary::new(url, &part, &log, start, measured_s)
        };
        urls.into_iter().enumerate().map(summary).collect()
    }

    /// What happened to the operations that were due.
    fn load(&self, stage: &StagePlan, measured_s: f64, connections: usize) -> LoadRecord {
        let LoadCounts { offered, begun, dropped, unsent } = self.load;
        let kinds = self.totals.sum().iter();
        // An operation of several requests is due once.
        let served: i64 = kinds
            .map(|(kind, part)| {
                let ended = part.requests - part.drained;
                match kind.class() {
                    Class::Composite => {
                        let more = part.wire.more_requests(part.requests);
                        -(more * ended).checked_div(part.requests).unwrap_or(0).cast_signed()
                    }
                    Class::Check => 0,
                    _ => ended.cast_signed(),
                }
            })
            .sum();
        let per_s = |count: f64| if measured_s > 0.0 { (count / measured_s).max(0.0) } else { 0.0 };
        LoadRecord {
            open: matches!(stage.pace, Pace::Open { .. }),
            planned: stage.work.planned(connections),
            offered,
            begun,
            dropped,
            unsent,
            unsent_by_client: self.threads.iter().map(|thread| thread.unsent).sum(),
            offered_per_s: per_s(offered as f64),
            served_per_s: per_s(served as f64),
            backlog_growth_per_s: self.growth(stage, measured_s),
            pool: self.pool.and_then(|log| PoolRecord::of(&log, peak_per_s(stage, measured_s))),
        }
    }

    /// The growth of the backlog, in operations per second.
    fn growth(&self, stage: &StagePlan, measured_s: f64) -> f64 {
        let Pace::Open { schedule, .. } = &stage.pace else { return 0.0 };
        let due_by = |share: f64| schedule.due_by((measured_s * share * SECOND_NS as f64) as Nanos);
        let over_ns = (measured_s * SECOND_NS as f64).round() as Nanos;
        let rates = Backlog::WINDOWS.map(|(from, to)| due_by(to) - due_by(from));
        let random = schedule.arrivals == Arrivals::Poisson;
        let (grown, in_s) = self.backlog.growth(rates, random, over_ns);
        if in_s > 0.0 { grown / in_s } else { 0.0 }
    }

    fn client(
        &self,
        requests: u64,
        lag: &Histogram,
        start: Nanos,
        hiccups: &Hiccups,
    ) -> ClientRecord {
        let most =
            |share: &dyn Fn(&ThreadLoss) -> f64| self.threads.iter().map(share).fold(0.0, f64::max);
        let sum = |part: fn(&ThreadLoss) -> Option<u64>| -> Option<u64> {
            self.threads.iter().map(part).sum()
        };
        let mut late = Histogram::default();
        let mut pauses = crate::measure::Spans::default();
        for thread in &self.threads {
            late.merge(&thread.late);
            pauses.merge(&thread.pauses);
        }
        let micros = |ns: Nanos| ns as f64 / 1e3;
        let late_us = |p| (!late.is_empty()).then(|| micros(late.percentile(p)));
        let cpu_s = seconds(self.cpu_ns);
        ClientRecord {
            cpu_s,
            cpu_per_request_us: if requests > 0 { cpu_s * 1e6 / requests as f64 } else { 0.0 },
            busiest_thread: most(&ThreadLoss::busy),
            occupied_thread: most(&|thread| thread.busy() + thread.waited().unwrap_or(0.0)),
            waited_thread: most(&|thread| thread.waited().unwrap_or(0.0)),
            waited_s: sum(|thread| thread.scheduled.waited_ns).map(seconds),
            preempted: sum(|thread| thread.scheduled.preempted),
            paused_thread: most(&ThreadLoss::paused),
            pauses: pauses.longest(start, MOST_LISTED),
            hiccup_p99_us: (!hiccups.late.is_empty())
                .then(|| micros(hiccups.late.percentile(99.0))),
            hiccup_max_us: (!hiccups.late.is_empty()).then(|| micros(hiccups.longest_ns())),
            lag_p99_us: lag.earns(99.0).then(|| micros(lag.percentile(99.0))),
            late_p99_us: late_us(99.0),
            late_p99_9_us: late_us(99.9),
            noted_answers: self.lanes.iter().map(|lane| lane.times.noted_answers).sum(),
        }
    }
}

fn seconds(ns: Nanos) -> f64 {
    ns as f64 / SECOND_NS as f64
}

/// When the workers sent their first requests, as exact percentiles.
fn start_record(lanes: &[EndedLane<()>]) -> StartRecord {
    let mut sent: Vec<Nanos> = lanes.iter().filter_map(|lane| lane.first_sent_ns).collect();
    sent.sort_unstable();
    let rank = |share: f64| {
        let place = (share * sent.len() as f64).ceil() as usize;
        sent.get(place.max(1) - 1).map_or(0.0, |&ns| ns as f64 / 1e3)
    };
    StartRecord {
        workers: sent.len() as u64,
        late: lanes.iter().filter(|lane| lane.late).count() as u64,
        first_us: rank(0.0),
        p50_us: rank(0.5),
        p99_us: rank(0.99),
        last_us: rank(1.0),
    }
}

#[cfg(test)]
#[path = "collect_tests.rs"]
mod tests;
