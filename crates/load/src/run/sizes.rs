//! Asks a server for the size of the database during a fill, on a separate thread and connection.

use crate::clock::{Clock, SECOND_NS};
use crate::driver::Driver;
use crate::engine::Start;
use crate::measure::SizePoint;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The pause after the first request; each one is a tenth longer than the one before ...
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// ... up to this limit.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// How often the thread checks whether the fill has ended.
const STEP: Duration = Duration::from_millis(20);

/// A thread that asks until told to stop.
pub(super) struct Sizes {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Vec<SizePoint>>,
}

impl Sizes {
    /// Starts asking after `start`.
    pub(super) fn ask(target: Driver, start: Arc<Start>) -> std::io::Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let shared = over.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let thread = std::thread::Builder::new()
            .name("sizes".to_owned())
            .spawn(move || runtime.block_on(points(&target, &start, &shared)))?;
        Ok(Self { over, thread })
    }

    /// Asks one last time; returns all sizes.
    pub(super) fn finish(self) -> Vec<SizePoint> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

async fn points(target: &Driver, start: &Start, over: &AtomicBool) -> Vec<SizePoint> {
    let (clock, mut points, mut pause) = (Clock::system(), Vec::new(), FIRST_PAUSE);
    loop {
        let mut waited = Duration::ZERO;
        while waited < pause && !over.load(Ordering::Relaxed) {
            tokio::time::sleep(STEP).await;
            waited += STEP;
        }
        let last = over.load(Ordering::Relaxed);
        if let Some(began) = start.moment()
            && let Some(size) = target.size().await
        {
            let at_s = clock.now().saturating_sub(began) as f64 / SECOND_NS as f64;
            points.push(SizePoint { at_s, ..size });
        }
        if last {
            return points;
        }
        pause = (pause * 11 / 10).min(LONGEST_PAUSE);
    }
}
