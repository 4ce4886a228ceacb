//! Ctrl-C once: stop, drain, report. Twice: leave at once. A key of the live view counts as one.

use crate::cli::pipeline::tui;
use crate::engine::{Stop, StopReason};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// How often the user has asked to stop, whichever way.
#[derive(Debug)]
pub(in crate::cli) struct Asked {
    stop: Arc<Stop>,
    times: AtomicU32,
}

impl Asked {
    pub(in crate::cli) const fn new(stop: Arc<Stop>) -> Self {
        Self { stop, times: AtomicU32::new(0) }
    }

    /// The user asks once more.
    pub(in crate::cli) fn again(&self) -> StopReason {
        let first = self.times.fetch_add(1, Ordering::Relaxed) == 0;
        let reason = if first { StopReason::Interrupted } else { StopReason::Aborted };
        self.stop.raise(reason);
        reason
    }

    /// Whether the run is ending, for whatever reason.
    pub(in crate::cli) fn stopping(&self) -> bool {
        self.stop.reason().is_some()
    }
}

/// Listens on a thread of its own for as long as the process lives.
pub(in crate::cli) fn listen(stop: Arc<Stop>, quiet: bool) -> io::Result<Arc<Asked>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let asked = Arc::new(Asked::new(stop));
    let counted = asked.clone();
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        runtime.block_on(async {
            while signalled().await.is_ok() {
                let reason = counted.again();
                // The live view tells it in its own place.
                if !quiet && reason == StopReason::Interrupted && !tui::is_open() {
                    eprintln!("\nstopping: waiting for answers; Ctrl-C again leaves at once");
                }
            }
        });
    })?;
    Ok(asked)
}

/// Waits for Ctrl-C or, where there is such a signal, for the wish to terminate.
#[cfg(unix)]
async fn signalled() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        result = tokio::signal::ctrl_c() => result,
        _ = terminate.recv() => Ok(()),
    }
}

#[cfg(not(unix))]
async fn signalled() -> io::Result<()> {
    tokio::signal::ctrl_c().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_drains_and_twice_leaves() {
        let stop = Arc::new(Stop::default());
        let asked = Asked::new(stop.clone());
        assert!(!asked.stopping());
        for reason in [StopReason::Interrupted, StopReason::Aborted, StopReason::Aborted] {
            assert_eq!(asked.again(), reason);
            assert_eq!(stop.reason(), Some(reason));
        }
        // A run that ends by itself drains as well, until it is asked twice.
        let asked = Asked::new(Arc::new(Stop::default()));
        asked.stop.raise(StopReason::Unreachable);
        assert!(asked.stopping());
        asked.again();
        assert_eq!(asked.stop.reason(), Some(StopReason::Unreachable));
    }
}
