//! A line for each exchange, in siege's form, printed while the run goes on.

use super::output::print;
use crate::target::http::Exchange;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// Prints on a thread of its own what it is told.
pub(super) struct Transcript {
    sender: Option<Sender<Exchange>>,
    printer: JoinHandle<()>,
}

impl Transcript {
    /// Begins to listen.
    ///
    /// # Errors
    /// When the operating system has no thread to give.
    pub(super) fn start() -> io::Result<Self> {
        let (sender, source) = channel();
        let printer = std::thread::Builder::new().name("transcript".to_owned());
        let printer = printer.spawn(move || print_all(&source))?;
        Ok(Self { sender: Some(sender), printer })
    }

    /// Where exchanges are told to. There is one, for whoever asks first.
    pub(super) const fn sender(&mut self) -> Option<Sender<Exchange>> {
        self.sender.take()
    }

    /// Waits until all is printed.
    pub(super) fn finish(mut self) {
        drop(self.sender.take());
        let _ = self.printer.join();
    }
}

fn print_all(source: &Receiver<Exchange>) {
    while let Ok(exchange) = source.recv() {
        print(line(&exchange).as_bytes());
    }
}

/// Siege's verbose line, with milliseconds.
fn line(exchange: &Exchange) -> String {
    let Exchange { status, response_ns, bytes, method, url } = exchange;
    let status = match status {
        Ok(status) => status.to_string(),
        Err(failure) => failure.to_string(),
    };
    let seconds = *response_ns as f64 / 1e9;
    format!("HTTP/1.1 {status} {seconds:8.3} secs: {bytes:7} bytes ==> {method:4} {url}\n")
}
