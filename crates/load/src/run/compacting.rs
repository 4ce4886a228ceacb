//! Requests a compaction from the server as a stage begins, and waits until it has finished, on a
//! separate thread and connection.

use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::driver::Driver;
use crate::engine::{Start, Stop};
use crate::measure::Compaction;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the server is asked whether it is compacting.
const STEP: Duration = Duration::from_millis(if cfg!(test) { 20 } else { 200 });
/// How long a compaction may take to start, and to go on from one shard to the next.
const LULL_NS: Nanos = if cfg!(test) { SECOND_NS / 10 } else { SECOND_NS };
/// How long to keep asking a server that does not respond, after the end of the stage.
const PATIENCE_NS: Nanos = 30 * SECOND_NS;

/// A thread that requests a compaction and watches it.
pub(super) struct Compacting {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Option<Compaction>>,
}

impl Compacting {
    /// Requests the compaction at `start`; `stop` ends the wait for its end.
    pub(super) fn begin(target: Driver, start: Arc<Start>, stop: Arc<Stop>) -> io::Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let shared = over.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let work = CompactionWork { target, start, stop, over: shared };
        let thread = std::thread::Builder::new()
            .name("compaction".to_owned())
            .spawn(move || runtime.block_on(work.carry_out()))?;
        Ok(Self { over, thread })
    }

    /// Called when the stage is over: waits for the end of the compaction.
    pub(super) fn finish(self) -> Option<Compaction> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

struct CompactionWork {
    target: Driver,
    start: Arc<Start>,
    stop: Arc<Stop>,
    /// Whether the stage is over.
    over: Arc<AtomicBool>,
}

impl CompactionWork {
    /// Returns `None` if the stage never began.
    async fn carry_out(self) -> Option<Compaction> {
        let clock = Clock::system();
        let start = loop {
            if let Some(moment) = self.start.moment().filter(|moment| *moment <= clock.now()) {
                break moment;
            }
            if self.over.load(Ordering::Relaxed) {
                return None;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        let before_bytes = self.target.size().await.and_then(|size| size.file_bytes);
        let began = clock.now();
        let seconds = |ns: Nanos| ns as f64 / SECOND_NS as f64;
        let began_s = seconds(began.saturating_sub(start));
        let asked = Compaction { began_s, before_bytes, ..Compaction::default() };
        if let Err(error) = self.target.begin_compaction().await {
            let length_s = seconds(clock.now() - began);
            return Some(Compaction { length_s, refused: Some(error.to_string()), ..asked });
        }
        let (ended, at) = self.wait(clock).await;
        let after_bytes = self.target.size().await.and_then(|size| size.file_bytes);
        let length_s = seconds(at.saturating_sub(began));
        Some(Compaction { length_s, after_bytes, ended, ..asked })
    }

    /// Waits until the server no longer compacts. Returns whether it has finished, and when it did
    /// or was given up.
    async fn wait(&self, clock: Clock) -> (bool, Nanos) {
        // Since when it has not been compacting, and since when it has not responded.
        let (mut idle, mut silent) = (None, None);
        loop {
            let now = clock.now();
            match self.target.is_compacting().await {
                Some(true) => (idle, silent) = (None, None),
                Some(false) => {
                    let since = *idle.get_or_insert(now);
                    silent = None;
                    if now - since >= LULL_NS {
                        return (true, since);
                    }
                }
                None => {
                    let since = *silent.get_or_insert(now);
                    let over = self.over.load(Ordering::Relaxed);
                    if over && now - since >= PATIENCE_NS {
                        return (false, now);
                    }
                }
            }
            if self.stop.reason().is_some() {
                return (false, now);
            }
            tokio::time::sleep(STEP).await;
        }
    }
}

#[cfg(test)]
#[path = "compacting_tests.rs"]
mod tests;
