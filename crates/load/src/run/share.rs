//! One agent's part of a stage: what it reports second by second and at its end, and its own
//! account.

use super::collect::{Collected, Frame};
use crate::account::Facts;
use crate::clock::Nanos;
use crate::engine::{ShardResult, StopReason};
use crate::fleet::{Inquiries, StageEnd};
use crate::journal::Delivery;
use crate::measure::{HeldTimes, Histogram, Interval, KindInterval, Latency, Spans, ThreadLoss};
use crate::op::{ByKind, Failure};
use crate::record::{AgentClient, AgentSecond, AgentStage, Lost, most_rows};
use std::collections::BTreeMap;

/// The most pauses listed for an agent.
const MOST_PAUSES: usize = 10;

/// One agent's part of a stage, as far as known.
pub(super) struct Share {
    pub(super) row: AgentStage,
    /// Documents of the operations that it reported, per kind.
    issued: ByKind<u64>,
    requests: Requests,
    most_rows: usize,
    /// Whether it was present when the stage began.
    pub(super) expected: bool,
    /// Whether it knows when the stage starts.
    pub(super) started: bool,
    /// When it was last reported to have done something.
    pub(super) progressed: Nanos,
    /// When it reported its end, and what it measured.
    pub(super) ended: Option<(Nanos, Box<StageEnd>)>,
    /// What it noted, if it was to take notes.
    pub(super) notes: Option<Delivery>,
    /// When a part of that last arrived.
    pub(super) delivered: Nanos,
    /// What it last reported to ask the server about.
    pub(super) inquiries: Inquiries,
    /// By when it must have stopped asking about all that it ever reported.
    pub(super) asks_until: Nanos,
}

/// All requests of an agent together, as needed for its account. Times are coarse: there may be a
/// thousand agents.
struct Requests {
    service: Histogram,
    response: Histogram,
    held: Option<Box<HeldTimes>>,
    /// Requests that failed as a whole.
    failed: BTreeMap<Failure, u64>,
    /// Documents of all operations, and those that failed because of the server.
    documents: (u64, u64),
}

impl Requests {
    fn new() -> Self {
        Self {
            service: Histogram::coarse(),
            response: Histogram::coarse(),
            held: None,
            failed: BTreeMap::new(),
            documents: (0, 0),
        }
    }

    /// Adds everything but the times of requests that succeeded.
    fn add(&mut self, part: &KindInterval) {
        if let Some(theirs) = &part.held {
            let coarse =
                || HeldTimes { measured: Histogram::coarse(), without: Histogram::coarse() };
            let held = self.held.get_or_insert_with(|| Box::new(coarse()));
            held.measured.merge(&theirs.measured);
            held.without.merge(&theirs.without);
        }
        for (&class, times) in &part.failed_times {
            *self.failed.entry(class).or_default() += times.response.len();
        }
        let by_server = Failure::ALL.into_iter().filter(|class| class.unserved());
        let by_server: u64 = by_server.map(|class| part.failures[class.index()]).sum();
        self.documents.0 += part.ok + part.failed();
        self.documents.1 += by_server + part.wire.unsolicited;
    }

    /// Response times; `None`: there are none.
    fn latency(&self) -> Option<Latency> {
        (!self.response.is_empty()).then(|| Latency::new(self.response.clone()))
    }

    fn facts(&self) -> Facts {
        let mut without_client = self.response.clone();
        if let Some(held) = &self.held {
            without_client = without_client.without(&held.measured);
            without_client.merge(&held.without);
        }
        Facts {
            response: self.response.clone(),
            without_client,
            served: self.response.len(),
            failed: self.failed.iter().map(|(&class, &count)| (class, count)).collect(),
            documents: self.documents,
            ..Facts::default()
        }
    }
}

impl Share {
    /// One of `agents` agents that has not done anything yet in a stage that begins at `moment`.
    pub(super) fn new(index: usize, agents: usize, expected: bool, moment: Nanos) -> Self {
        Self {
            row: AgentStage { index, ..AgentStage::default() },
            issued: ByKind::new(),
            requests: Requests::new(),
            most_rows: most_rows(agents),
            expected,
            started: false,
            progressed: moment,
            ended: None,
            notes: None,
            delivered: 0,
            inquiries: Inquiries::default(),
            asks_until: 0,
        }
    }

    /// Notes what it asks the server about. A question takes at most `timeout_ns`, and the last one
    /// may be sent at the very end.
    pub(super) fn inquire(&mut self, inquiries: Inquiries, timeout_ns: Nanos) {
        if inquiries.writes > 0 {
            self.asks_until = self.asks_until.max(inquiries.until.saturating_add(timeout_ns));
        }
        self.inquiries = inquiries;
    }

    /// When it gave up because the server no longer responded to it, and the reason, if it did.
    pub(super) fn unanswered(&self) -> Option<(Nanos, StopReason)> {
        let (at, end) = self.ended.as_ref()?;
        Some((*at, end.stopped.filter(|reason| reason.gave_up())?))
    }

    /// The reason it ended early, if it did.
    pub(super) fn stopped(&self) -> Option<StopReason> {
        self.ended.as_ref().and_then(|(_, end)| end.stopped)
    }

    /// Succeeds if everything it noted in the stage called `stage` has arrived; otherwise returns
    /// the reason.
    pub(super) fn deliver(&mut self, stage: &str) -> Result<(), String> {
        let Some(notes) = self.notes.take() else { return Ok(()) };
        let noted = self.ended.as_mut().map(|(_, end)| end.noted.take());
        let noted = noted.ok_or_else(|| format!("it was lost before its notes of {stage} came"))?;
        let bytes = noted.ok_or("it has noted nothing")??;
        notes.complete(bytes).map_err(|error| error.to_string())
    }

    /// Adds what it measured in a second.
    pub(super) fn count(&mut self, interval: &Interval) {
        let mut row = AgentSecond { second: interval.second, ..AgentSecond::default() };
        // Merging exact histograms with coarse ones takes much longer than merging exact ones.
        let (mut service, mut response) = (Histogram::default(), Histogram::default());
        for (kind, part) in interval.iter() {
            *self.issued.of(kind) += part.ok + part.failed();
            if !kind.is_request() {
                continue;
            }
            self.requests.add(part);
            row.requests += part.requests;
            row.ok += part.ok;
            row.failed += part.failed();
            service.merge(&part.service);
            response.merge(&part.response);
        }
        self.requests.service.merge(&service);
        self.requests.response.merge(&response);
        row.timed = response.len();
        row.response_mean_us = tenths(response.mean());
        row.response_max_us = tenths(response.max() as f64);
        self.row.add(row, self.most_rows);
    }

    /// What it has reported so far; `lost` tells which agents are lost.
    pub(super) fn so_far(&self, lost: &[Option<Lost>]) -> AgentStage {
        let lost = lost.get(self.row.index).is_some_and(Option::is_some);
        AgentStage { lost, response: self.requests.latency(), ..self.row.clone() }
    }

    /// Adds everything it did to `collected`, and how promptly its machine woke threads to `frame`.
    /// Returns its row of the record.
    pub(super) fn finish(self, collected: &mut Collected, frame: &mut Frame<'_>) -> AgentStage {
        let Self { mut row, issued, requests, ended, .. } = self;
        row.response = requests.latency();
        let Some((_, end)) = ended else {
            row.lost = true;
            collected.add_lost(&issued, row.requests, requests.service.len());
            return row;
        };
        frame.hiccups.late.merge(&end.hiccups.late);
        describe(&mut row, &end, frame.began[1]);
        let process = Collected::of_process(end.shards);
        row.account = Some(process.account(requests.facts(), &requests.service, frame));
        collected.add_process(process);
        row
    }
}

/// Converts nanoseconds to microseconds with one decimal.
fn tenths(ns: f64) -> f64 {
    (ns / 100.0).round() / 10.0
}

/// Adds what an agent reported at the end of a stage.
fn describe(row: &mut AgentStage, end: &StageEnd, moment: Nanos) {
    let lanes = end.shards.iter().flat_map(|shard| &shard.lanes);
    let first = lanes.filter_map(|lane| lane.first_late_ns).min();
    row.start_us = first.map(|ns| ns as f64 / 1e3);
    row.cpu_s = end.shards.iter().map(|shard| shard.cpu_ns).sum::<Nanos>() as f64 / 1e9;
    let busy = end.shards.iter().map(|shard| shard.watched.loss.busy());
    row.busiest_thread = busy.fold(0.0, f64::max);
    row.client = Some(client(&end.shards, moment));
}

/// What the threads of an agent lost of their time in a stage that began at `moment`.
fn client(shards: &[ShardResult<()>], moment: Nanos) -> AgentClient {
    let threads = || shards.iter().map(|shard| &shard.watched.loss);
    let most = |share: fn(&ThreadLoss) -> f64| threads().map(share).fold(0.0, f64::max);
    let (mut late, mut pauses) = (Histogram::default(), Spans::default());
    for thread in threads() {
        late.merge(&thread.late);
        pauses.merge(&thread.pauses);
    }
    AgentClient {
        waited_thread: most(|thread| thread.waited().unwrap_or(0.0)),
        paused_thread: most(ThreadLoss::paused),
        late_p99_us: (!late.is_empty()).then(|| late.percentile(99.0) as f64 / 1e3),
        held: threads().map(|thread| thread.held).sum(),
        held_s: threads().map(|thread| thread.held_ns).sum::<Nanos>() as f64 / 1e9,
        pauses: pauses.longest(moment, MOST_PAUSES),
    }
}

#[cfg(test)]
#[path = "share_tests.rs"]
mod tests;
