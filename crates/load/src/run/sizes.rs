//! Asks a server for the size of the database during a fill, on a separate thread and connection.

use crate::clock::{Clock, SECOND_NS};
use crate::driver::{Driver, Size};
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

/// A thread that asks until it is stopped.
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
        let thread = std::thread::Builder::new().name("sizes".to_owned()).spawn(move || {
            let size = async || target.size().await;
            runtime.block_on(points(size, Clock::system(), &start, &shared))
        })?;
        Ok(Self { over, thread })
    }

    /// Asks one last time; returns all sizes.
    pub(super) fn finish(self) -> Vec<SizePoint> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

/// The sizes that `size` returns, as it is asked again and again until that is `over`.
async fn points(
    mut size: impl AsyncFnMut() -> Option<Size>,
    clock: Clock,
    start: &Start,
    over: &AtomicBool,
) -> Vec<SizePoint> {
    let (mut points, mut pause) = (Vec::new(), FIRST_PAUSE);
    loop {
        let mut waited = Duration::ZERO;
        while waited < pause && !over.load(Ordering::Relaxed) {
            tokio::time::sleep(STEP).await;
            waited += STEP;
        }
        let last = over.load(Ordering::Relaxed);
        if let Some(began) = start.moment()
            && let Some(size) = size().await
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Nanos;

    const MS: u64 = 1_000_000;

    /// When a server was asked in a fill that was over after `over_ms`, in milliseconds, and its
    /// sizes; it does not tell the first `silent` of them.
    async fn asked(start: &Start, over_ms: u64, silent: u64) -> (Vec<Nanos>, Vec<SizePoint>) {
        let (clock, over) = (Clock::virtual_time(), AtomicBool::new(false));
        let began = clock.now();
        let mut asked_ms = Vec::new();
        let size = async || {
            asked_ms.push((clock.now() - began) / MS);
            let asked = asked_ms.len() as u64;
            assert!(asked < 100, "it is left alone between two questions");
            (asked > silent).then(|| Size { documents: Some(asked), ..Size::default() })
        };
        let end = async {
            tokio::time::sleep(Duration::from_millis(over_ms)).await;
            over.store(true, Ordering::Relaxed);
        };
        let (points, ()) = tokio::join!(points(size, clock, start, &over), end);
        (asked_ms, points)
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_is_asked_less_and_less_often_and_at_the_end() {
        // The clock of these tests begins at one second, and so does the fill.
        let start = Start::made(SECOND_NS);
        let (asked_ms, points) = asked(&start, 690, 1).await;
        // 200 ms, 220 ms and 242 ms, in steps of 20 ms.
        assert_eq!(asked_ms, [200, 420, 680, 700]);
        let sizes = points.iter().map(|it| ((it.at_s * 1e3).round() as u64, it.documents));
        assert_eq!(
            sizes.collect::<Vec<_>>(),
            [(420, Some(2)), (680, Some(3)), (700, Some(4))],
            "when it answered"
        );
        let (asked_ms, _) = asked(&start, 300_000, 0).await;
        let longest = asked_ms.windows(2).map(|two| two[1] - two[0]).max();
        assert_eq!(longest, Some(10_000));
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_asked_before_the_fill_has_begun() {
        let (asked_ms, points) = asked(&Start::new(1), 1_000, 0).await;
        assert_eq!((asked_ms, points), (Vec::new(), Vec::new()));
    }
}
