//! Visibility probes: stores documents beside the load, and looks for each in several ways until it
//! is seen, on its own thread and connections.

use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::driver::{Driver, Prober, Stored, Target, WithTarget, scratch_name};
use crate::engine::Start;
use crate::measure::{Sightings, Visibility, VisibleBy};
use crate::op::Way;
use crate::plan::ProbePlan;
use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::MissedTickBehavior;

/// The pause after the first look for a document that was not found, in nanoseconds ...
const FIRST_PAUSE_NS: Nanos = 1_000_000;
/// ... and after the others, as a share of the time since it was stored, which determines the
/// precision of times.
const PAUSE_SHARE: u64 = 10;
/// How long a document is looked for.
const PATIENCE_NS: Nanos = 10 * SECOND_NS;
/// How long to keep looking for it after the end of the stage.
const LAST_LOOKS_NS: Nanos = SECOND_NS;
/// How often to check whether the stage has begun or ended.
const STEP: Duration = Duration::from_millis(10);

/// A thread that probes until it is stopped.
pub(super) struct Visible {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Visibility>,
}

impl Visible {
    /// Begins after `start`.
    pub(super) fn probe(target: Driver, plan: ProbePlan, start: Arc<Start>) -> io::Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let probes = Probes { plan, start, over: over.clone(), runtime };
        let builder = std::thread::Builder::new().name("probes".to_owned());
        Ok(Self { over, thread: builder.spawn(move || target.apply(probes))? })
    }

    /// Waits until the last probe was seen or given up, and returns the results.
    pub(super) fn finish(self) -> Visibility {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

struct Probes {
    plan: ProbePlan,
    start: Arc<Start>,
    over: Arc<AtomicBool>,
    runtime: Runtime,
}

impl WithTarget for Probes {
    type Output = Visibility;

    fn with<T: Target>(self, target: &T) -> Visibility {
        LocalSet::new().block_on(&self.runtime, self.carry_out(target))
    }
}

/// A document, and when its write was acknowledged.
type AcknowledgedDocument = (Rc<Stored>, Nanos);

/// Takes documents that are to be looked for.
struct Eye {
    sender: Sender<AcknowledgedDocument>,
    /// Whether it is ready, and not looking for another one.
    idle: Rc<Cell<bool>>,
}

impl Probes {
    async fn carry_out<T: Target>(&self, target: &T) -> Visibility {
        while self.start.moment().is_none() && !self.over.load(Ordering::Relaxed) {
            tokio::time::sleep(STEP).await;
        }
        let mark = format!("{}_probe", scratch_name());
        let (mut eyes, mut lookouts) = (Vec::new(), Vec::new());
        for &way in &self.plan.visible {
            for prober in target.probers(&mark) {
                let (sender, source) = channel(1);
                let idle = Rc::new(Cell::new(false));
                let (over, found) = (self.over.clone(), Sightings::new(way, prober.node()));
                let lookout = DocumentLookout { way, prober, idle: idle.clone(), over, found };
                lookouts.push(spawn_local(lookout.look(source)));
                eyes.push(Eye { sender, idle });
            }
        }
        let mut found = Visibility::default();
        let mut kept = Vec::new();
        let mut writers = target.probers(&mark);
        if !writers.is_empty() {
            self.write(&mut writers, &eyes, &mut found, &mut kept).await;
        }
        drop(eyes);
        for lookout in lookouts {
            found.by.extend(lookout.await);
        }
        // The first one is a node that responds, if any does.
        if let Some(writer) = target.probers(&mark).first_mut() {
            let ways = &self.plan.visible;
            let cleared = clear(writer, ways, &mut found, &mut kept);
            // Documents not removed by then are counted.
            let _ = tokio::time::timeout(Duration::from_nanos(PATIENCE_NS), cleared).await;
        }
        found.left = kept.len() as u64;
        found
    }

    /// Stores documents until the stage is over, and removes those that are no longer looked for.
    async fn write(
        &self,
        writers: &mut [impl Prober],
        eyes: &[Eye],
        found: &mut Visibility,
        kept: &mut Vec<Rc<Stored>>,
    ) {
        let nodes = writers.len() as u64;
        let clock = Clock::system();
        let mut due = tokio::time::interval(Duration::from_nanos(self.plan.every_ns));
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for n in 0u64.. {
            let writer = &mut writers[(n % nodes) as usize];
            tokio::select! {
                _ = due.tick() => {}
                () = ended(&self.over, 0) => return,
            }
            // Waits for a write in progress, so that the document can be removed.
            let stored = tokio::select! {
                stored = writer.store(n) => stored,
                () = ended(&self.over, LAST_LOOKS_NS) => {
                    found.write_failures += 1;
                    return;
                }
            };
            let acknowledged = clock.now();
            match stored.map(Rc::new) {
                Ok(stored) => {
                    found.written += 1;
                    for eye in eyes.iter().filter(|eye| eye.idle.replace(false)) {
                        // The eye is idle, so there is room; if it is gone, the stage is over.
                        let _ = eye.sender.try_send((stored.clone(), acknowledged));
                    }
                    kept.push(stored);
                }
                Err(error) => {
                    found.write_failures += 1;
                    found.reason.get_or_insert_with(|| error.to_string());
                }
            }
            let done = kept.iter().position(|stored| Rc::strong_count(stored) == 1);
            if let Some(stored) = done.map(|place| kept.swap_remove(place))
                && let Err(error) = writer.remove(&stored).await
            {
                found.reason.get_or_insert_with(|| error.to_string());
                kept.push(stored);
            }
        }
    }
}

/// Removes everything that was created for probes.
async fn clear(
    writer: &mut impl Prober,
    ways: &[Way],
    found: &mut Visibility,
    kept: &mut Vec<Rc<Stored>>,
) {
    for way in ways {
        if let Err(error) = writer.clear(*way).await {
            found.reason.get_or_insert_with(|| error.to_string());
        }
    }
    for stored in std::mem::take(kept) {
        if let Err(error) = writer.remove(&stored).await {
            found.reason.get_or_insert_with(|| error.to_string());
            kept.push(stored);
        }
    }
}

/// Waits until the stage is over, and for this long after it.
async fn ended(over: &AtomicBool, after_ns: Nanos) {
    while !over.load(Ordering::Relaxed) {
        tokio::time::sleep(STEP).await;
    }
    tokio::time::sleep(Duration::from_nanos(after_ns)).await;
}

/// Looks for documents in one way.
struct DocumentLookout<P> {
    way: Way,
    prober: P,
    idle: Rc<Cell<bool>>,
    over: Arc<AtomicBool>,
    found: Sightings,
}

impl<P: Prober> DocumentLookout<P> {
    /// Looks for each document from `source`.
    async fn look(mut self, mut source: Receiver<AcknowledgedDocument>) -> VisibleBy {
        self.prepare().await;
        self.idle.set(true);
        while let Some((stored, acknowledged)) = source.recv().await {
            let over = self.over.clone();
            tokio::select! {
                () = self.watch(&stored, acknowledged) => {}
                () = ended(&over, LAST_LOOKS_NS) => {}
            }
            drop(stored);
            self.idle.set(true);
        }
        self.found.finish()
    }

    /// Creates an index, and waits for it.
    async fn prepare(&mut self) {
        loop {
            let prepared = tokio::select! {
                prepared = self.prober.prepare(self.way) => prepared,
                () = ended(&self.over, 0) => {
                    return self.found.unusable("it was not ready before the end");
                }
            };
            let Err(error) = prepared else { return self.found.usable() };
            self.found.unusable(&error.to_string());
            tokio::time::sleep(Duration::from_nanos(LAST_LOOKS_NS)).await;
        }
    }

    /// Looks for a document until it is seen or given up.
    async fn watch(&mut self, stored: &Stored, acknowledged: Nanos) {
        let clock = Clock::system();
        self.found.begin();
        loop {
            let seen = self.prober.sees(self.way, stored).await;
            let after_ns = clock.now().saturating_sub(acknowledged);
            match seen {
                Ok(true) => return self.found.seen(after_ns),
                Ok(false) => self.found.missed(),
                Err(error) => self.found.failed(&error.to_string()),
            }
            let over = self.over.load(Ordering::Relaxed);
            if after_ns >= if over { LAST_LOOKS_NS } else { PATIENCE_NS } {
                return;
            }
            let pause_ns = (after_ns / PAUSE_SHARE).max(FIRST_PAUSE_NS);
            tokio::time::sleep(Duration::from_nanos(pause_ns)).await;
        }
    }
}

#[cfg(test)]
#[path = "visible_tests.rs"]
mod tests;
