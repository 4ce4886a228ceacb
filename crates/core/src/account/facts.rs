//! What was observed in a stage, before any blame is assigned.

use super::{Reading, RequestShares, TimeShares, sum_ns, within_s};
use crate::clock::Nanos;
use crate::measure::{Histogram, OperationSummary, Spans};
use crate::op::Failure;

/// The facts about a stage from which its account is drawn up.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// There is no server: springload itself is measured, so being the limit is no fault.
    pub without_server: bool,
    /// From the common start to the last answer, in seconds.
    pub elapsed_s: f64,
    /// The time over which rates are computed, in seconds.
    pub measured_s: f64,
    /// When the stage began, on the clock of the run.
    pub start: Nanos,
    /// When nothing succeeded because of the server, or the server did not answer at all.
    pub away: Spans,
    /// When nothing succeeded because the server could not be reached.
    pub cut_off: Spans,
    /// When the client held up operations.
    pub holding: Spans,
    /// Response times of all requests that succeeded.
    pub response: Histogram,
    /// Response times without the time for which the client held the requests up.
    pub without_client: Histogram,
    /// Requests that succeeded at least in part.
    pub served: u64,
    /// Requests that failed as a whole, by class.
    pub failed: Vec<(Failure, u64)>,
    /// Documents for which an operation was begun, and how many of them failed because of the
    /// server, including data that was not asked for.
    pub documents: (u64, u64),
    /// What became of the operations that were due.
    pub load: LoadFacts,
    /// The load threads.
    pub threads: ThreadFacts,
}

/// What became of the operations that were due in a stage.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadFacts {
    /// Whether operations were due at given times.
    pub open: bool,
    /// Requests that were due: begun, dropped, or still waiting at the end.
    pub offered: u64,
    /// Requests dropped because too many were waiting or in flight.
    pub dropped: u64,
    /// Requests still waiting at the end.
    pub unsent: u64,
    /// How many of these fell due in a pause of the client that lasted until the end.
    pub unsent_by_client: u64,
    /// Requests due per second.
    pub offered_per_s: f64,
    /// Requests completed per second.
    pub served_per_s: f64,
    /// Growth of the backlog per second, beyond chance.
    pub growth_per_s: f64,
    /// The number of connections and about how many were needed, if the connections and not the
    /// server were the limit.
    pub bound: Option<(u64, u64)>,
}

/// What the load threads used and lost. A share is a fraction of the time, 0 to 1, for the thread
/// with the highest one.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadFacts {
    /// Time spent computing.
    pub busiest: f64,
    /// Time spent computing, or ready to compute without a processor.
    pub occupied: f64,
    /// Time spent ready to compute without a processor.
    pub waited: f64,
    /// How late the client began operations through its own fault, in microseconds: the 99th
    /// percentile.
    pub late_p99_us: f64,
    /// How many requests were held up, and by how much the client began requests late, in
    /// nanoseconds summed over all of them.
    pub held: (u64, Nanos),
    /// How long answers waited to be read because no processor was free.
    pub reading_us: Reading,
}

/// A silence of the server that is this many times longer than a usual answer is more than
/// slowness.
const USUAL_TIMES: u64 = 5;
/// With fewer connections than this, a single slow answer already is a silence.
const FEW_CONNECTIONS: usize = 3;

/// How long a server must be silent for it to stand out, in nanoseconds, given its usual service
/// times: a server that is merely slow answers much sooner.
pub fn silence_ns(service: &Histogram, connections: usize) -> Nanos {
    let usual = if connections < FEW_CONNECTIONS { 95.0 } else { 50.0 };
    service.percentile(usual).saturating_mul(USUAL_TIMES)
}

impl Facts {
    /// Adds the response times and counts of these requests.
    #[must_use]
    pub fn of_requests<'a>(mut self, requests: impl Iterator<Item = &'a OperationSummary>) -> Self {
        for operation in requests {
            let response = &operation.response.histogram;
            let without = operation.response_without_client.as_ref();
            self.response.merge(response);
            self.without_client.merge(without.map_or(response, |it| &it.histogram));
            self.served += response.len();
            let failed = operation.failed_times.iter();
            self.failed.extend(failed.map(|(class, times)| (*class, times.response.len())));
            let by_server = operation.failures.iter().filter(|(class, _)| class.unserved());
            self.documents.0 += operation.issued;
            self.documents.1 +=
                by_server.map(|(_, count)| count).sum::<u64>() + operation.wire.unsolicited;
        }
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.documents.0 == 0 || self.elapsed_s <= 0.0
    }

    /// The share of the operations that failed because of the server, 0 to 1.
    pub(super) fn failed_share(&self) -> f64 {
        self.documents.1 as f64 / self.documents.0.max(1) as f64
    }

    /// How long the server was away, in seconds, less the time for which the client held things up.
    pub(super) fn away_s(&self) -> f64 {
        self.away.without(&self.holding).total_ns() as f64 / 1e9
    }

    pub(super) fn time(&self) -> TimeShares {
        let mut stage = Spans::default();
        stage.add(self.start, self.start + (self.elapsed_s.max(0.0) * 1e9) as Nanos);
        let client_s = within_s(&self.holding, &stage);
        let cut_off = self.cut_off.without(&self.holding);
        let network_s = within_s(&cut_off, &stage);
        let server_s = within_s(&self.away.without(&self.holding).without(&cut_off), &stage);
        let nobody_s = (self.elapsed_s - client_s - server_s - network_s).max(0.0);
        TimeShares { client_s, server_s, network_s, nobody_s }
    }

    pub(super) fn requests(&self) -> RequestShares {
        let failed = |of: fn(Failure) -> bool| -> u64 {
            self.failed.iter().filter(|(class, _)| of(*class)).map(|(_, count)| count).sum()
        };
        let load = &self.load;
        let by_server = failed(Failure::by_server);
        let unsent = load.unsent.saturating_sub(load.unsent_by_client);
        // The number of connections is the client's choice.
        let left = load.dropped + unsent;
        let (by_client, left) = if load.bound.is_some() { (left, 0) } else { (0, left) };
        let client = load.unsent_by_client + failed(Failure::by_client) + by_client;
        let network = failed(Failure::by_network);
        let server = by_server + left;
        let known = self.served + client + server + network;
        let nobody = load.offered.saturating_sub(known);
        let due = known + nobody;
        let late = self.threads.held.0;
        RequestShares { due, served: self.served, late, client, server, network, nobody }
    }

    /// The client's share of all response times: late starts, and answers that lay unread.
    pub(super) fn client_share(&self) -> f64 {
        let (late, all) = (self.threads.held.1 as f64, sum_ns(&self.response));
        let reading_ns = self.threads.reading_us.mean * 1e3;
        let client = late + reading_ns * self.response.len() as f64;
        if all > 0.0 { (client / all).min(1.0) } else { 0.0 }
    }
}
