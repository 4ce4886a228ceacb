//! A Java process that runs the Java side: its start, its output, and its end. Knows nothing about
//! the traffic on its connections.

use super::frame::{put, put_count};
use super::plan::YcsbJavaPlan;
use crate::TargetError;
use crate::clock::wall_ns;
use std::collections::VecDeque;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The source of the Java side.
const SOURCE: &str = include_str!("../../bridge/SpringloadBridge.java");
/// The package of YCSB's classes, and its name up to release 0.16.
const PACKAGES: [&str; 2] = ["site.ycsb.", "com.yahoo.ycsb."];
/// How often to check whether a process is ending, and how many times.
const LOOK: Duration = Duration::from_millis(10);
const LOOKS: u32 = 200;
/// How many bytes at the end of its stderr are kept.
const KEPT: usize = 16 * 1024;
/// The longest line read from its stdout, in bytes.
const LINE: u64 = 16 * 1024;

/// A process. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Process {
    child: Mutex<Child>,
    /// Closing this ends the process.
    stdin: Arc<Mutex<Option<ChildStdin>>>,
    stderr: Option<Stderr>,
}

#[derive(Debug)]
enum Stderr {
    /// The last part of it, and the thread that reads it.
    Kept(Arc<Mutex<VecDeque<u8>>>, JoinHandle<()>),
    /// A file, and its length before. The process writes to it directly, even if springload is
    /// gone.
    Log(File, u64),
}

/// Locks a mutex even if a thread panicked while holding it.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Process {
    /// Starts Java. Also returns a receiver of the lines that it writes to stdout.
    ///
    /// # Errors
    /// Fails if it cannot be started.
    pub(super) fn start(
        plan: &YcsbJavaPlan,
    ) -> Result<(Self, UnboundedReceiver<String>), TargetError> {
        let log = plan.log.as_deref().map(|path| {
            Log::open(path)
                .map_err(|error| TargetError(format!("cannot write the log {path}: {error}")))
        });
        let log = log.transpose()?;
        let source = Source::write(&plan.class)
            .map_err(|error| TargetError(format!("cannot write a temporary file: {error}")))?;
        let java = java();
        let mut command = Command::new(&java);
        if let Some(path) = &plan.class_path {
            command.arg("-cp").arg(path);
        }
        command.args(plan.jvm_args.as_deref().unwrap_or_default().split_whitespace());
        // A separate process group: Ctrl-C is meant for springload, which ends the process when it
        // is ready.
        command.arg(source.file()).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let log = log.map(|Log { file, before, written }| {
            command.stderr(written);
            Stderr::Log(file, before)
        });
        if log.is_none() {
            command.stderr(Stdio::piped());
        }
        let mut child = command.spawn().map_err(|error| {
            TargetError(format!(
                "cannot start {}: {error}; install a JDK of version 11 or later, and put its java \
                 in PATH or set JAVA_HOME",
                java.display()
            ))
        })?;
        let stdin = Arc::new(Mutex::new(child.stdin.take()));
        let (tell, lines) = unbounded_channel();
        let stderr = log.or_else(|| child.stderr.take().map(Stderr::keep));
        let stdout = child.stdout.take();
        let config = config(plan);
        std::thread::spawn({
            let stdin = stdin.clone();
            move || {
                if let Some(to) = lock(&stdin).as_mut() {
                    // If the process is gone, its stderr says why.
                    let _ = to.write_all(&config).and_then(|()| to.flush());
                }
                if let Some(stdout) = stdout {
                    listen(stdout, &source, &tell);
                }
            }
        });
        Ok((Self { child: Mutex::new(child), stdin, stderr }, lines))
    }

    pub(super) fn close(&self) {
        drop(lock(&self.stdin).take());
    }

    pub(super) async fn wait(&self) {
        while matches!(lock(&self.child).try_wait(), Ok(None)) {
            tokio::time::sleep(LOOK).await;
        }
    }

    pub(super) fn kill(&self) {
        let mut child = lock(&self.child);
        let _ = child.kill().and_then(|()| child.wait());
    }

    /// How it ended, if it has.
    pub(super) fn ended(&self) -> Option<String> {
        let status = lock(&self.child).try_wait().ok().flatten()?;
        let last = last_words(&self.written());
        Some(format!("the Java process ended ({status}){last}"))
    }

    /// The same for a process that seems to be ending, once all of its output has arrived.
    pub(super) async fn end_of(&self) -> Option<String> {
        for _ in 0..LOOKS {
            if self.ended().is_some() && self.stderr.as_ref().is_none_or(Stderr::is_whole) {
                break;
            }
            tokio::time::sleep(LOOK).await;
        }
        self.ended()
    }

    /// The reason why it closed its stdout without reporting its port.
    pub(super) async fn not_started(&self) -> String {
        let ended = self.end_of().await;
        let written = self.written();
        let missing = |package: &str| {
            written.contains(&format!("package {} does not exist", package.trim_end_matches('.')))
        };
        if PACKAGES.into_iter().any(missing) {
            return "YCSB is not in the class path: add its core jar and the jars beside it to cp"
                .to_owned();
        }
        let problem = ended.unwrap_or_else(|| "the Java process does not answer".to_owned());
        format!("{problem}; a JDK of version 11 or later is needed")
    }

    /// The end of its stderr.
    fn written(&self) -> String {
        let end = self.stderr.as_ref().map(Stderr::end).unwrap_or_default();
        String::from_utf8_lossy(&end).into_owned()
    }
}

impl Stderr {
    /// Keeps the last part of whatever arrives.
    fn keep(from: ChildStderr) -> Self {
        let kept = Arc::<Mutex<VecDeque<u8>>>::default();
        let reader = std::thread::spawn({
            let kept = kept.clone();
            move || keep(from, &kept)
        });
        Self::Kept(kept, reader)
    }

    /// Whether nothing more will arrive, provided that the process has ended.
    fn is_whole(&self) -> bool {
        match self {
            Self::Kept(_, reader) => reader.is_finished(),
            Self::Log(..) => true,
        }
    }

    fn end(&self) -> Vec<u8> {
        match self {
            Self::Kept(kept, _) => lock(kept).iter().copied().collect(),
            Self::Log(file, before) => {
                let length = file.metadata().map_or(0, |it| it.len());
                let from = length.saturating_sub(KEPT as u64).max(*before);
                let mut end = vec![0; length.saturating_sub(from) as usize];
                let read = file.read_exact_at(&mut end, from);
                if read.is_ok() { end } else { Vec::new() }
            }
        }
    }
}

/// A file that the process appends to.
struct Log {
    file: File,
    /// Its length before.
    before: u64,
    /// The same file, for the process.
    written: File,
}

impl Log {
    fn open(path: &str) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).create(true).append(true).open(path)?;
        let (before, written) = (file.metadata()?.len(), file.try_clone()?);
        Ok(Self { file, before, written })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.close();
        for _ in 0..LOOKS {
            if !matches!(lock(&self.child).try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(LOOK);
        }
        self.kill();
    }
}

fn java() -> PathBuf {
    let home = std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty());
    home.map_or_else(|| PathBuf::from("java"), |home| Path::new(&home).join("bin/java"))
}

/// The first input of the process: the class, the table and the properties.
fn config(plan: &YcsbJavaPlan) -> Vec<u8> {
    let mut frame = vec![0; 4];
    put(plan.class.as_bytes(), &mut frame);
    put(plan.table.as_bytes(), &mut frame);
    put_count(plan.properties.len(), &mut frame);
    for (name, value) in &plan.properties {
        put(name.as_bytes(), &mut frame);
        put(value.as_bytes(), &mut frame);
    }
    let length = u32::try_from(frame.len() - 4).unwrap_or(u32::MAX);
    frame[..4].copy_from_slice(&length.to_be_bytes());
    frame
}

/// Passes on the lines of its stdout. Once the first has arrived, the source is no longer needed.
fn listen(stdout: impl Read, source: &Source, tell: &UnboundedSender<String>) {
    let mut from = BufReader::new(stdout);
    let mut line = Vec::new();
    while matches!(from.by_ref().take(LINE).read_until(b'\n', &mut line), Ok(1..)) {
        source.remove();
        // Sending fails once the run is over, which is fine.
        let _ = tell.send(String::from_utf8_lossy(&line).trim_end().to_owned());
        line.clear();
    }
}

/// Reads `from` to its end and keeps the last part.
fn keep(mut from: impl Read, kept: &Mutex<VecDeque<u8>>) {
    let mut part = [0; 4 * 1024];
    while let Ok(count @ 1..) = from.read(&mut part) {
        let mut kept = lock(kept);
        kept.extend(&part[..count]);
        let more = kept.len().saturating_sub(KEPT);
        kept.drain(..more);
    }
}

/// The most telling line of a stderr, after a colon; nothing if there is none.
fn last_words(stderr: &str) -> String {
    let lines: Vec<_> = stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    // Lines that begin like this only report that Java ends; an earlier line says why.
    let ends = |line: &str| line.starts_with("Error: ");
    let thrown = |line: &str| (line.contains("Exception") || line.contains("Error")) && !ends(line);
    let telling = (lines.iter().find(|line| line.contains(" error: ")))
        .or_else(|| lines.iter().rev().find(|line| thrown(line)))
        .or_else(|| lines.first().filter(|_| lines.iter().any(|line| ends(line))))
        .or(lines.last());
    telling.map_or_else(String::new, |line| {
        format!(": {}", line.chars().take(300).collect::<String>())
    })
}

/// The Java side in its own folder, which only this user can read, until it is removed.
#[derive(Debug)]
struct Source(PathBuf);

impl Source {
    fn write(class: &str) -> io::Result<Self> {
        let name = format!("springload-{}-{}", std::process::id(), wall_ns());
        let folder = std::env::temp_dir().join(name);
        // Fails if the folder exists: it might belong to another user.
        DirBuilder::new().mode(0o700).create(&folder)?;
        let source = Self(folder);
        let [now, before] = PACKAGES;
        let text = if class.starts_with(before) {
            SOURCE.replace(&format!("import {now}"), &format!("import {before}"))
        } else {
            SOURCE.to_owned()
        };
        std::fs::write(source.file(), text)?;
        Ok(source)
    }

    fn file(&self) -> PathBuf {
        self.0.join("SpringloadBridge.java")
    }

    fn remove(&self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_tells_most_is_shown() {
        for (stderr, words) in [
            ("", ""),
            ("a\n\nb\n", ": b"),
            ("Unrecognized option: -x\nError: Could not\nError: A\n", ": Unrecognized option: -x"),
            ("a.B: x Exception: y\n\tat c\n\tat d\n", ": a.B: x Exception: y"),
            (
                "S.java:1: error: one\nS.java:2: error: two\n2 errors\nerror: E",
                ": S.java:1: error: one",
            ),
        ] {
            assert_eq!(last_words(stderr), words);
        }
    }

    #[test]
    fn only_the_end_of_stderr_is_kept() {
        let kept = Mutex::default();
        keep(&vec![b'a'; 3 * KEPT][..], &kept);
        keep(&b"end"[..], &kept);
        let kept = lock(&kept).iter().copied().collect::<Vec<_>>();
        assert!(kept.len() == KEPT && kept.ends_with(b"aend"));
    }

    #[test]
    fn the_end_of_a_log_is_what_was_written_since() {
        let folder = Source::write("a.B").unwrap();
        let path = folder.0.join("log").display().to_string();
        std::fs::write(&path, "earlier\n").unwrap();
        let Log { file, before, mut written } = Log::open(&path).unwrap();
        let stderr = Stderr::Log(file, before);
        assert_eq!(stderr.end(), b"");
        written.write_all(b"now\n").unwrap();
        assert_eq!(stderr.end(), b"now\n");
        written.write_all(&vec![b'x'; 2 * KEPT]).unwrap();
        assert_eq!(stderr.end(), vec![b'x'; KEPT]);
        assert!(std::fs::read_to_string(&path).unwrap().starts_with("earlier\nnow\n"));
    }

    #[test]
    fn the_source_is_for_this_user_and_goes_away() {
        use std::os::unix::fs::MetadataExt as _;
        let source = Source::write("com.yahoo.ycsb.BasicDB").unwrap();
        let text = std::fs::read_to_string(source.file()).unwrap();
        assert!(text.contains("import com.yahoo.ycsb.*;") && !text.contains("site.ycsb"));
        assert_eq!(std::fs::metadata(&source.0).unwrap().mode() & 0o777, 0o700);
        let folder = source.0.clone();
        drop(source);
        assert!(!folder.exists());
        let source = Source::write("site.ycsb.BasicDB").unwrap();
        assert_eq!(std::fs::read_to_string(source.file()).unwrap(), SOURCE);
    }
}
