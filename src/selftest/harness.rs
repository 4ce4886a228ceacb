//! Runs against the null responder, and their figures.

use crate::embedded::{Counters, Faults, Mode, Options, StandIn, bind};
use crate::engine::{Arrivals, DEFAULT_SLACK_NS, Segment, Stop};
use crate::measure::{Histogram, OperationSummary};
use crate::plan::{Flagged, LoadSpec, PlanSpec, check};
use crate::record::{RunRecord, StageRecord};
use crate::run::{Observer, Progress, RunError, run};
use crate::workload::mixed::{CrudOrder, MixedDemand};
use crate::workload::{DocumentsAsked, Mix};
use std::io;
use std::sync::Arc;

/// The reason a claim could not be measured.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    #[error("the stand-in: {0}")]
    StandIn(#[from] io::Error),
    /// The run could not be carried out.
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("the plan: {0}")]
    Plan(String),
    /// The operations did not give what a claim is about.
    #[error("{0}")]
    Operations(&'static str),
}

/// The load on the null responder, and its faults.
pub(super) struct Load {
    pub(super) connections: u64,
    /// Operations per second and the gaps; `None`: a closed loop.
    pub(super) rate: Option<(f64, Arrivals)>,
    pub(super) length_ns: u64,
    pub(super) timeout_ns: u64,
    pub(super) faults: Faults,
}

impl Default for Load {
    fn default() -> Self {
        Self {
            connections: 50,
            rate: None,
            length_ns: 0,
            timeout_ns: 30_000_000_000,
            faults: Faults::default(),
        }
    }
}

/// A record, and the server's own figures.
pub(super) struct Seen {
    record: RunRecord,
    pub(super) counters: Counters,
    /// The delays that the server added, in nanoseconds.
    pub(super) served: hdrhistogram::Histogram<u64>,
}

struct SilentObserver;

impl Observer for SilentObserver {
    fn stage_begins(&mut self, _: &str) {}
    fn progress(&mut self, _: &Progress) {}
    fn keep(&mut self, _: &RunRecord) {}
}

impl Load {
    /// Reads one document per connection from a new null responder.
    pub(super) fn run(self) -> Result<Seen, Broken> {
        self.run_until(&Arc::new(Stop::default()))
    }

    /// The same, until `stop` is raised.
    pub(super) fn run_until(self, stop: &Arc<Stop>) -> Result<Seen, Broken> {
        let options =
            Options { mode: Mode::Null, faults: self.faults, pinned: true, ..Options::default() };
        let server = StandIn::start(bind("127.0.0.1:0")?, options)?;
        let load = match self.rate {
            None => LoadSpec::Closed { think_ns: 0 },
            Some((rate, arrivals)) => {
                let segments = vec![Segment { length_ns: self.length_ns, from: rate, to: rate }];
                LoadSpec::Open {
                    segments,
                    arrivals,
                    max_in_flight: None,
                    slack_ns: DEFAULT_SLACK_NS,
                    most_connections: None,
                }
            }
        };
        // Only reads, of one document per connection.
        let work = MixedDemand {
            own: crate::workload::OwnMix::new(),
            asked: DocumentsAsked {
                documents: Flagged::new("--docs", self.connections),
                batch: Flagged::new("--batch", 1),
                within_ns: None,
                operations: Flagged::new("--ops", None),
                warmup_ns: 0,
            },
            mix: Flagged::new("--mix", Mix::crud([0, 1, 0, 0])),
            more_documents: "--docs",
            order: CrudOrder::Uniform,
        };
        let connections = Flagged::new("--connections", self.connections);
        let spec = PlanSpec {
            keep: true,
            threads: Some(1),
            seed: 42,
            timeout_ns: self.timeout_ns,
            duration_ns: Some(self.length_ns),
            load,
            ..PlanSpec::new("springload selftest", connections, Arc::new(work))
        };
        let plan = check(&spec).map_err(|mistakes| {
            Broken::Plan(mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
        })?;
        let url = server.url();
        let record = run(&plan, Some(url), stop, &mut SilentObserver)?;
        // The server logs the time of its last response after sending it: wait for its threads.
        let (counters, served) = (server.counters(), settled(&server));
        server.stop();
        Ok(Seen { record, counters, served })
    }
}

/// The server's log of delays once it has stopped growing; the wait is bounded.
fn settled(server: &StandIn) -> hdrhistogram::Histogram<u64> {
    let mut served = server.served();
    for _ in 0..50 {
        std::thread::sleep(std::time::Duration::from_millis(20));
        let later = server.served();
        if later.len() == served.len() {
            break;
        }
        served = later;
    }
    served
}

impl Seen {
    /// The stage of reads.
    pub(super) fn stage(&self) -> &StageRecord {
        self.record.stages.last().expect("a run that ended has stages")
    }

    pub(super) fn reads(&self) -> &OperationSummary {
        &self.stage().operations[0]
    }

    pub(super) fn response(&self) -> &Histogram {
        &self.reads().response.histogram
    }

    /// Whether every operation is accounted for, on both sides.
    pub(super) fn conserved(&self) -> bool {
        let load = &self.stage().load;
        let all: u64 =
            self.record.stages.iter().flat_map(|s| &s.operations).map(|o| o.requests).sum();
        let operations = self.reads();
        load.offered == load.begun + load.dropped + load.unsent
            && operations.issued == operations.ok + operations.failed() + operations.unfinished
            && load.begun == operations.requests
            && self.counted() == all
    }

    /// Requests for documents, as counted by the server.
    pub(super) fn counted(&self) -> u64 {
        self.counters.documents_read + self.counters.bulk_requests + self.counters.dropped
    }
}
