//! Ctrl-C once: stop, drain, report. Twice: exit at once. A key of the live view counts as one, and
//! so do SIGTERM and SIGHUP. `timeout`, shells and service managers may signal a process and its
//! group, or send several signals: all that arrive within a tenth of a second are one request.

use super::ending::Ending;
use super::tui;
use crate::cli::exit::{Exit, Trouble};
use crate::engine::StopReason;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Nobody presses a key twice this fast.
const ONE_REQUEST: Duration = Duration::from_millis(100);

/// Listens on its own thread for as long as the run lasts.
///
/// # Errors
/// Fails if signals cannot be listened to.
pub(in crate::cli) fn listen(quiet: bool) -> Result<Arc<Ending>, Trouble> {
    start(quiet)
        .map_err(|error| Trouble::new(Exit::Failed, format!("cannot listen for Ctrl-C: {error}")))
}

/// Makes a write beyond the file size limit (`ulimit -f`) fail, as on a full disk, instead of
/// killing the process without a message.
pub(in crate::cli) fn outlive_large_files() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    // If there is no runtime, nothing changes; the handler outlives it and the signal.
    if let Ok(runtime) = runtime {
        let _inside = runtime.enter();
        let _ = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()));
    }
}

fn start(quiet: bool) -> io::Result<Arc<Ending>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Before anything else begins, because an earlier signal would kill the process at once.
    let mut signals = {
        let _inside = runtime.enter();
        Signals::listen()?
    };
    let ending = Arc::new(Ending::default());
    // A weak reference: after the run, another one may have begun with its own.
    let asked = Arc::downgrade(&ending);
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        runtime.block_on(async {
            while signals.next().await {
                let Some(asked) = asked.upgrade() else { return };
                let reason = asked.ask();
                // The live view shows this itself.
                if !quiet && reason == StopReason::Interrupted && !tui::is_open() {
                    eprintln!(
                        "\nstopping: waiting for answers; press Ctrl-C again to exit at once"
                    );
                }
                signals.settle().await;
            }
        });
    })?;
    Ok(ending)
}

/// The signals that ask the run to end.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// `None` under `nohup`, which would otherwise have no effect.
    hang_up: Option<Signal>,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        let hang_up = if is_ignored_hang_up() { None } else { Some(signal(SignalKind::hangup())?) };
        let (interrupt, terminate) = (SignalKind::interrupt(), SignalKind::terminate());
        Ok(Self { interrupt: signal(interrupt)?, terminate: signal(terminate)?, hang_up })
    }

    /// Waits for one; false if there will be none.
    async fn next(&mut self) -> bool {
        let hung_up = async {
            match &mut self.hang_up {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            got = self.interrupt.recv() => got,
            got = self.terminate.recv() => got,
            got = hung_up => got,
        }
        .is_some()
    }

    /// Consumes the signals that belong to the request that was just made.
    async fn settle(&mut self) {
        let end = tokio::time::sleep(ONE_REQUEST);
        tokio::pin!(end);
        loop {
            tokio::select! {
                biased;
                more = self.next() => if !more { return },
                () = &mut end => return,
            }
        }
    }
}

/// Whether the parent process wants this one to outlive the terminal.
fn is_ignored_hang_up() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|it| it & 1 == 1)
}
