//! Prints one line per exchange, in siege's form, during the run.

use crate::cli::print::print_foreign;
use crate::http1::{Exchange, Watcher};
use std::io;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

/// How much of each exchange to print.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Detail {
    /// The request, and the head of the response.
    pub(super) heads: bool,
    /// One line.
    pub(super) lines: bool,
    /// One line, with the whole URL for a GET, not only its path.
    pub(super) full_url: bool,
}

/// Prints exchanges on its own thread.
pub(super) struct Transcript {
    watcher: Option<Watcher>,
    printer: JoinHandle<()>,
}

impl Transcript {
    /// Starts the thread.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub(super) fn start(show: Detail) -> io::Result<Self> {
        let (sender, source) = channel();
        let printer = std::thread::Builder::new().name("transcript".to_owned());
        let printer = printer.spawn(move || print_all(&source, show))?;
        let watcher = Some(Watcher { sender, whole: show.heads });
        Ok(Self { watcher, printer })
    }

    /// The sender for exchanges. There is only one; later calls return `None`.
    pub(super) const fn watcher(&mut self) -> Option<Watcher> {
        self.watcher.take()
    }

    /// Waits until everything is printed.
    pub(super) fn finish(mut self) {
        drop(self.watcher.take());
        let _ = self.printer.join();
    }
}

fn print_all(source: &Receiver<Exchange>, show: Detail) {
    while let Ok(exchange) = source.recv() {
        let mut text = Vec::new();
        if show.heads {
            text.extend_from_slice(&exchange.request);
            text.push(b'\n');
            text.extend_from_slice(&exchange.head);
        }
        if show.lines {
            text.extend_from_slice(line(&exchange, show.full_url).as_bytes());
        }
        print_foreign(&text);
    }
}

/// Siege's verbose line, with milliseconds.
fn line(exchange: &Exchange, full_url: bool) -> String {
    let Exchange { status, response_ns, bytes, method, origin, target, .. } = exchange;
    let status = match status {
        Ok(status) => status.to_string(),
        Err(failure) => failure.to_string(),
    };
    let seconds = *response_ns as f64 / 1e9;
    // As siege 4.0.7 does; it is not clear why it treats methods differently.
    let is_whole = full_url || !matches!(method.as_str(), "GET" | "HEAD");
    let origin = if is_whole { origin } else { "" };
    format!(
        "HTTP/1.1 {status} {seconds:8.3} secs: {bytes:7} bytes ==> {method:4} {origin}{target}\n"
    )
}
