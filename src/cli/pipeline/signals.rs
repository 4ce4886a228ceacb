//! Ctrl-C once: stop, drain, report. Twice: exit at once. A key of the live view counts as one.

use super::ending::Ending;
use super::tui;
use crate::cli::exit::Exit;
use crate::engine::StopReason;
use std::io;
use std::sync::Arc;

/// Listens on a thread of its own for as long as the process lives.
///
/// # Errors
/// The exit status, after the reason was printed.
pub(in crate::cli) fn listen(quiet: bool) -> Result<Arc<Ending>, Exit> {
    start(quiet).map_err(|error| {
        eprintln!("error: cannot listen for Ctrl-C: {error}");
        Exit::Failed
    })
}

fn start(quiet: bool) -> io::Result<Arc<Ending>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ending = Arc::new(Ending::default());
    let asked = ending.clone();
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        runtime.block_on(async {
            while signalled().await.is_ok() {
                let reason = asked.ask();
                // The live view shows this itself.
                if !quiet && reason == StopReason::Interrupted && !tui::is_open() {
                    eprintln!(
                        "\nstopping: waiting for answers; press Ctrl-C again to exit at once"
                    );
                }
            }
        });
    })?;
    Ok(ending)
}

/// Waits for Ctrl-C or, on Unix, for SIGTERM.
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
