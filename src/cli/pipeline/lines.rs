//! `--jsonl`: a line of JSON for each second of a run, as soon as it is over, for other programs. A
//! separate thread writes the lines, so a slow or stopped reader does not hold up the run.

use crate::files;
use crate::measure::Second;
use crate::plan::Invalid;
use crate::report::second_line;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The most lines that wait for their reader: an hour's worth. More are dropped.
const MOST_WAITING: u64 = 3_600;
/// How long the end of a run waits for the reader.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Lines {
    /// The destination, for display.
    place: String,
    run: String,
    /// A line, or the end.
    queue: Sender<Option<String>>,
    written: Arc<Written>,
    /// Hangs up when the last line is written.
    ended: Receiver<()>,
    sent: Cell<u64>,
    warned: Cell<bool>,
}

/// The number of lines written, and the error that ended writing.
#[derive(Debug, Default)]
struct Written {
    lines: AtomicU64,
    trouble: Mutex<Option<io::Error>>,
}

/// Destination of the lines.
enum Destination {
    File(PathBuf, File),
    Stdout,
}

impl Lines {
    /// The lines, if they are asked for; `run` is the name of the run.
    pub(super) fn asked(place: Option<&Path>, run: &str) -> Option<Result<Self, Invalid>> {
        let place = place?;
        Some(Self::open(place, run).map_err(|error| {
            let problem = format!("cannot write to {}: {error}", place.display());
            Invalid::new("--jsonl", problem, "give a file in an existing folder, or - for stdout")
        }))
    }

    fn open(place: &Path, run: &str) -> io::Result<Self> {
        let to = match place.to_str() {
            Some("-") => Destination::Stdout,
            _ => Destination::File(place.to_owned(), files::stream(place)?),
        };
        let shown = match &to {
            Destination::Stdout => "standard output".to_owned(),
            Destination::File(path, _) => path.display().to_string(),
        };
        let (queue, lines) = channel();
        let (alive, ended) = channel();
        let written = Arc::new(Written::default());
        let kept = written.clone();
        std::thread::Builder::new().name("jsonl".to_owned()).spawn(move || {
            write(to, &lines, &kept);
            drop(alive);
        })?;
        let (sent, warned) = (Cell::new(0), Cell::new(false));
        Ok(Self { place: shown, run: run.to_owned(), queue, written, ended, sent, warned })
    }

    /// Sends the line of a second, unless writing has failed.
    pub(super) fn second(&self, stage: &str, began_ns: u64, second: &Second) {
        let waiting = self.sent.get().saturating_sub(self.written.lines.load(Ordering::Relaxed));
        self.sent.set(self.sent.get() + 1);
        if waiting < MOST_WAITING {
            let _ = self.queue.send(Some(second_line(&self.run, stage, began_ns, second)));
        }
    }

    /// News for the user, if there is any; reported once.
    pub(super) fn news(&self) -> Option<String> {
        let trouble = self.trouble()?;
        let new = !self.warned.replace(true);
        new.then(|| format!("no more lines in {}: {trouble}; the run goes on", self.place))
    }

    /// Waits a little for the reader. Returns whether all lines were written or the reader did not
    /// want them; otherwise the user is informed.
    pub(super) fn finish(&self) -> bool {
        let _ = self.queue.send(None);
        let _ = self.ended.recv_timeout(PATIENCE);
        let (sent, written) = (self.sent.get(), self.written.lines.load(Ordering::Relaxed));
        if written >= sent {
            return true;
        }
        let gone =
            matches!(&*self.lock(), Some(error) if error.kind() == io::ErrorKind::BrokenPipe);
        let why = self.trouble().unwrap_or_else(|| "they were not read in time".to_owned());
        eprintln!("warning: {} of {sent} lines are not in {}: {why}", sent - written, self.place);
        gone
    }

    fn trouble(&self) -> Option<String> {
        self.lock().as_ref().map(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => "its reader has gone away".to_owned(),
            _ => error.to_string(),
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<io::Error>> {
        self.written.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes lines until the end, or until one cannot be written.
fn write(mut to: Destination, lines: &Receiver<Option<String>>, written: &Written) {
    let mut whole = 0;
    while let Ok(Some(line)) = lines.recv() {
        let done = match &mut to {
            Destination::Stdout => {
                let mut out = io::stdout().lock();
                out.write_all(line.as_bytes()).and_then(|()| out.flush())
            }
            Destination::File(_, file) => file.write_all(line.as_bytes()),
        };
        if let Err(error) = done {
            if let Destination::File(_, file) = &to
                && file.metadata().is_ok_and(|it| it.is_file())
            {
                // Half a line left by a full disk would look like a broken file.
                let _ = file.set_len(whole);
            }
            *written.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            return;
        }
        whole += line.len() as u64;
        written.lines.fetch_add(1, Ordering::Relaxed);
    }
}
