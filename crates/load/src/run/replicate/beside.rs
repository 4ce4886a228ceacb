//! The thread that runs replication checks beside the load: it writes markers to each source, and
//! each link looks for them at its target.

use super::Replicas;
use super::compare::MayShow;
use super::link::{Ends, FoundLink, Limits, MarkerLookout, Queue, SentMarker};
use super::notices::{NOT_OVER, Notices, STEP, abandoned, over};
use super::quiet::{Refusals, RefusalsTold, quiet_ns};
use crate::clock::{Clock, Nanos};
use crate::driver::{Driver, Replicator, scratch_name};
use crate::engine::Stop;
use crate::measure::Markers;
use crate::plan::Link;
use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::task::{JoinHandle, LocalSet, spawn_local};
use tokio::time::MissedTickBehavior;

/// The pause before writing the last marker is retried.
const RETRY: Duration = Duration::from_millis(100);

#[derive(Default)]
pub(super) struct FoundReplication {
    /// In the order of the links.
    pub(super) links: Vec<FoundLink>,
    /// The markers that went along the whole chain, if there is one.
    pub(super) end_to_end: Option<Markers>,
    /// The markers of each place: identifiers and, if known, revisions.
    pub(super) markers: Vec<Vec<(String, Option<String>)>>,
}

/// A handle to the thread.
pub(super) struct Beside {
    notices: Arc<Notices>,
    thread: std::thread::JoinHandle<FoundReplication>,
}

impl Beside {
    pub(super) fn begin(replicas: &Replicas) -> io::Result<Self> {
        let notices = Arc::new(Notices {
            over_at: AtomicU64::new(NOT_OVER),
            abandoned: AtomicBool::new(false),
        });
        let links = replicas.plan.links();
        let job = |link: &Link| LinkJob {
            link: *link,
            counted: replicas
                .counted(*link)
                .into_iter()
                .filter(|_| replicas.is_countable(*link))
                .collect(),
            may_show: replicas.may_show(*link),
            told: replicas.told(*link),
            before: (0..links.len()).filter(|&it| replicas.is_before(links[it], *link)).collect(),
        };
        let work = ReplicationWork {
            places: replicas.places.clone(),
            links: links.iter().map(job).collect(),
            end_to_end: replicas.plan.end_to_end(),
            limits: Limits {
                every_ns: replicas.plan.marker_every_ns,
                converge_ns: replicas.plan.converge_timeout_ns,
                patience_ns: replicas.patience_ns,
                quiet_ns: quiet_ns(replicas.plan.converge_timeout_ns),
            },
            notices: notices.clone(),
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build()?,
        };
        let builder = std::thread::Builder::new().name("replication".to_owned());
        Ok(Self { notices, thread: builder.spawn(move || work.carry_out())? })
    }

    /// Waits until all targets have caught up, or the time is up, or the user asks to stop.
    pub(super) fn settle(self, stop: &Stop) -> FoundReplication {
        self.notices.over_at.store(Clock::system().now(), Ordering::Release);
        while !self.thread.is_finished() {
            if stop.reason().is_some() {
                self.notices.abandoned.store(true, Ordering::Relaxed);
            }
            std::thread::sleep(STEP);
        }
        self.thread.join().unwrap_or_default()
    }

    pub(super) fn abandon(self) -> FoundReplication {
        self.notices.abandoned.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

#[derive(Clone)]
pub(super) struct LinkJob {
    pub(super) link: Link,
    /// The places that together have as many documents as the target should have in the end; empty
    /// if counts prove nothing.
    pub(super) counted: Vec<usize>,
    pub(super) may_show: MayShow,
    pub(super) told: Option<RefusalsTold>,
    /// The links that deliver what this one passes on.
    pub(super) before: Vec<usize>,
}

struct ReplicationWork {
    places: Vec<Driver>,
    links: Vec<LinkJob>,
    end_to_end: Option<Link>,
    limits: Limits,
    notices: Arc<Notices>,
    runtime: Runtime,
}

impl ReplicationWork {
    fn carry_out(self) -> FoundReplication {
        LocalSet::new().block_on(&self.runtime, self.go_on())
    }

    async fn go_on(&self) -> FoundReplication {
        let (clock, mark) = (Clock::system(), scratch_name());
        let began = clock.now();
        let over = Rc::new(RefCell::new(vec![false; self.links.len()]));
        let cut = Rc::new(Cell::new(false));
        let (mut queues, mut lookouts) = (Vec::new(), Vec::new());
        for (number, job) in self.links.iter().enumerate() {
            let connect = |place: usize| self.places[place].replicator();
            let (Some(source), Some(target)) = (connect(job.link.source), connect(job.link.target))
            else {
                over.borrow_mut()[number] = true;
                continue;
            };
            let queue = Rc::new(Queue::default());
            queues.push((job.link.source, queue.clone()));
            let counted = job.counted.iter().filter_map(|&place| connect(place)).collect();
            let refusals = job.told.as_ref().and_then(|told| {
                Some(Refusals { runner: connect(told.place)?, job: told.job.clone() })
            });
            let may_show = job.may_show;
            let upstream = Some(cut.clone()).filter(|_| !job.before.is_empty());
            let ends = Ends { source, target, counted, may_show, refusals, cut: upstream };
            let lookout = MarkerLookout::new(ends, queue, self.notices.clone(), self.limits, began);
            let (over, cut, before) = (over.clone(), cut.clone(), job.before.clone());
            lookouts.push(spawn_local(async move {
                let upstream = over.clone();
                let are_ended = move || before.iter().all(|&it| upstream.borrow()[it]);
                let found = lookout.go_on(are_ended).await;
                cut.set(cut.get() || found.is_refused());
                over.borrow_mut()[number] = true;
                found
            }));
        }
        let end_to_end = self.watch_chain(&mut queues, began, over);
        let mut writers = Vec::new();
        for (place, target) in self.places.iter().enumerate() {
            let queues: Vec<_> =
                queues.iter().filter(|it| it.0 == place).map(|it| it.1.clone()).collect();
            let connection = target.replicator().filter(|_| !queues.is_empty());
            let writer = connection.map(|connection| Writer {
                connection,
                mark: format!("springload:{mark}_{place}"),
                queues,
                notices: self.notices.clone(),
                limits: self.limits,
            });
            writers.push(writer.map(|writer| spawn_local(writer.go_on())));
        }
        let mut found = FoundReplication::default();
        for lookout in lookouts {
            found.links.push(lookout.await.unwrap_or_default());
        }
        if let Some(watching) = end_to_end {
            found.end_to_end = watching.await.ok();
        }
        // A source may go on refusing the last marker, for which nobody looks any more.
        self.notices.abandoned.store(true, Ordering::Relaxed);
        for writer in writers {
            let markers = match writer {
                Some(writer) => writer.await.unwrap_or_default(),
                None => Vec::new(),
            };
            found.markers.push(markers);
        }
        found
    }

    /// Looks for the markers of a chain's first source at its last target, until all links have
    /// ended.
    fn watch_chain(
        &self,
        queues: &mut Vec<(usize, Rc<Queue>)>,
        began: Nanos,
        over: Rc<RefCell<Vec<bool>>>,
    ) -> Option<JoinHandle<Markers>> {
        let Link { source: first, target: last } = self.end_to_end?;
        let connect = |place: usize| self.places[place].replicator();
        let (source, target) = (connect(first)?, connect(last)?);
        let queue = Rc::new(Queue::default());
        queues.push((first, queue.clone()));
        let (counted, may_show) = (Vec::new(), MayShow::default());
        let ends = Ends { source, target, counted, may_show, refusals: None, cut: None };
        let lookout = MarkerLookout::new(ends, queue, self.notices.clone(), self.limits, began);
        let are_ended = move || over.borrow().iter().all(|it| *it);
        Some(spawn_local(lookout.watch(are_ended)))
    }
}

/// Writes the markers of one place.
struct Writer {
    connection: Box<dyn Replicator>,
    /// The prefix of the markers' identifiers. The colon is for partitioned databases.
    mark: String,
    /// The links that look for them.
    queues: Vec<Rc<Queue>>,
    notices: Arc<Notices>,
    limits: Limits,
}

impl Writer {
    /// Writes markers until the load is over, and then one more.
    async fn go_on(mut self) -> Vec<(String, Option<String>)> {
        let mut due = tokio::time::interval(Duration::from_nanos(self.limits.every_ns));
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (clock, mut written) = (Clock::system(), Vec::new());
        for number in 0u64.. {
            tokio::select! {
                _ = due.tick() => {}
                () = over(&self.notices) => {}
            }
            if self.notices.is_abandoned() {
                return written;
            }
            let over_at = self.notices.over_at();
            let id = format!("{}_{number}", self.mark);
            let stored = tokio::select! {
                stored = self.connection.store(&id) => stored,
                () = abandoned(&self.notices) => {
                    written.push((id, None));
                    return written;
                }
            };
            let now = clock.now();
            match stored {
                Ok(rev) => {
                    written.push((id.clone(), Some(rev)));
                    let sent =
                        SentMarker { id, number, acknowledged: now, is_last: over_at.is_some() };
                    self.queues.iter().for_each(|queue| queue.push(sent.clone()));
                    if over_at.is_some() {
                        return written;
                    }
                }
                Err(error) => {
                    written.push((id, None));
                    self.queues.iter().for_each(|queue| queue.fail(&error.to_string()));
                    let patience_ns = self.limits.patience_ns.min(self.limits.converge_ns);
                    if over_at.is_some_and(|at| now.saturating_sub(at) >= patience_ns) {
                        return written;
                    }
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
        written
    }
}

#[cfg(test)]
#[path = "beside_tests.rs"]
pub(super) mod tests;
