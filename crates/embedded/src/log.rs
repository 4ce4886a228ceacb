//! The log of a server: when each request arrived and when it was answered, by the server's clock.
//!
//! Connections only pass on two numbers; a separate thread writes them a few times per second.

use std::io::{self, BufWriter, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::Duration;

use crate::clock::Nanos;

const HEAD: &[u8] = b"arrived_us,answered_us\n";

/// The time between two rounds of writing.
const BETWEEN: Duration = Duration::from_millis(50);

/// When a request arrived, and when it was answered, if it was: in nanoseconds after the first.
type LogEntry = (Nanos, Option<Nanos>);

/// A log that is being written. Ends when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Log(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    entries: Sender<LogEntry>,
    /// Whether no more entries will be added.
    ended: Arc<AtomicBool>,
    /// The writing thread, until its result has been taken.
    writer: Mutex<Option<JoinHandle<io::Result<()>>>>,
}

impl Log {
    /// Writes a log to `file`.
    ///
    /// # Errors
    /// Returns an error if its first line cannot be written.
    pub fn start(file: impl Write + Send + 'static) -> io::Result<Self> {
        let mut file = BufWriter::with_capacity(1 << 16, file);
        file.write_all(HEAD)?;
        file.flush()?;
        let (entries, coming) = channel();
        let ended = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&ended);
        let write = move || write(file, &coming, &until);
        let writer = Mutex::new(Some(Builder::new().name("log".into()).spawn(write)?));
        Ok(Self(Arc::new(Inner { entries, ended, writer })))
    }

    /// Queues an entry, to be written soon.
    pub(super) fn enter(&self, arrived: Nanos, answered: Option<Nanos>) {
        // Fails if the log can no longer be written, which `finish` reports.
        let _ = self.0.entries.send((arrived, answered));
    }

    /// Whether the log can no longer be written; `finish` says why.
    pub fn has_failed(&self) -> bool {
        let writer = self.0.writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Writes whatever is left. Nothing may be entered after that.
    ///
    /// # Errors
    /// Returns an error if not everything could be written. Reported only once.
    pub fn finish(&self) -> io::Result<()> {
        self.0.finish()
    }
}

impl Inner {
    fn finish(&self) -> io::Result<()> {
        // The channel itself orders the entries.
        self.ended.store(true, Ordering::Release);
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        match writer.map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(written)) => written,
            Some(Err(_)) => Err(io::Error::other("the thread that writes has panicked")),
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Callers that want to know the result have called `finish`.
        let _ = self.finish();
    }
}

fn write(mut file: impl Write, coming: &Receiver<LogEntry>, ended: &AtomicBool) -> io::Result<()> {
    loop {
        // Read before the last round, so that this round is complete.
        let last = ended.load(Ordering::Acquire);
        for (arrived, answered) in coming.try_iter() {
            write!(file, "{},", arrived / 1000)?;
            match answered {
                Some(answered) => writeln!(file, "{}", answered / 1000)?,
                None => writeln!(file)?,
            }
        }
        file.flush()?;
        if last {
            return Ok(());
        }
        sleep(BETWEEN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with this much room left, in bytes.
    struct Disk(Arc<Mutex<Vec<u8>>>, usize);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut kept = self.0.lock().unwrap();
            if kept.len() + bytes.len() > self.1 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            kept.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn all_that_was_entered_is_written() {
        let kept = Arc::default();
        let log = Log::start(Disk(Arc::clone(&kept), usize::MAX)).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope
                    .spawn(|| (0..1000).for_each(|at| log.enter(at * 1000, Some(at * 1000 + 999))));
            }
        });
        log.enter(7_999, None);
        log.finish().unwrap();
        let text = String::from_utf8(kept.lock().unwrap().clone()).unwrap();
        let mut lines: Vec<_> = text.lines().collect();
        assert_eq!((lines.remove(0), lines.pop()), ("arrived_us,answered_us", Some("7,")));
        lines.sort_unstable();
        lines.dedup();
        assert!(lines.len() == 1000 && lines.contains(&"999,999"), "{}", lines.len());
        assert!(!log.has_failed());
        // The error was already reported.
        log.finish().unwrap();
    }

    #[test]
    fn a_full_disk_is_reported_at_the_start_or_later() {
        let full = |room| Log::start(Disk(Arc::default(), room));
        assert_eq!(full(10).unwrap_err().kind(), io::ErrorKind::StorageFull);
        let log = full(HEAD.len() + 3).unwrap();
        assert!(!log.has_failed());
        log.enter(1000, Some(2000));
        for _ in 0..1000 {
            if log.has_failed() {
                break;
            }
            sleep(Duration::from_millis(10));
        }
        assert!(log.has_failed());
        log.enter(1000, Some(2000));
        assert_eq!(log.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
