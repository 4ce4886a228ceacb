//! Ctrl-C once: stop, drain, report. Twice: leave at once.

use crate::engine::{Stop, StopReason};
use std::io;
use std::sync::Arc;

/// Listens on a thread of its own for as long as the process lives.
pub(super) fn listen(stop: Arc<Stop>, quiet: bool) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        runtime.block_on(async {
            for reason in [StopReason::Interrupted, StopReason::Aborted] {
                if asked().await.is_err() {
                    return;
                }
                if !quiet && reason == StopReason::Interrupted {
                    eprintln!("\nstopping: waiting for answers; Ctrl-C again leaves at once");
                }
                stop.raise(reason);
            }
        });
    })?;
    Ok(())
}

/// Waits for Ctrl-C or, where there is such a signal, for the wish to terminate.
#[cfg(unix)]
async fn asked() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        result = tokio::signal::ctrl_c() => result,
        _ = terminate.recv() => Ok(()),
    }
}

#[cfg(not(unix))]
async fn asked() -> io::Result<()> {
    tokio::signal::ctrl_c().await
}
