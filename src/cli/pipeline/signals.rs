//! Ctrl-C once: stop, drain, report. Twice: exit at once. A key of the live view counts as one, and
//! so do SIGTERM and SIGHUP. `timeout`, shells and service managers may signal a process and its
//! group, or with several signals: what comes within a tenth of a second is one request.

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
/// Why it cannot.
pub(in crate::cli) fn listen(quiet: bool) -> Result<Arc<Ending>, Trouble> {
    start(quiet)
        .map_err(|error| Trouble::new(Exit::Failed, format!("cannot listen for Ctrl-C: {error}")))
}

/// Has a write beyond the limit on the size of files (`ulimit -f`) fail, as on a full disk, instead
/// of ending the process without a word.
pub(in crate::cli) fn outlive_large_files() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    // If it cannot be had, everything is as it was; the handler outlives both.
    if let Ok(runtime) = runtime {
        let _inside = runtime.enter();
        let _ = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()));
    }
}

fn start(quiet: bool) -> io::Result<Arc<Ending>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Before anything else begins: a signal that came earlier would end the process at once.
    let mut signals = {
        let _inside = runtime.enter();
        Signals::listen()?
    };
    let ending = Arc::new(Ending::default());
    // After the run there is nobody left to ask: another one may have begun, with its own.
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

/// The signals that ask for the end.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// `None` under `nohup`, which would have no effect otherwise.
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

    /// Takes the signals that belong to the request that was just made.
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

/// Whether whoever started this process wants it to outlive the terminal.
fn is_ignored_hang_up() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|it| it & 1 == 1)
}
