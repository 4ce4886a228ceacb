//! Databases in processes: one is in use at a time, and passed from test to test of this binary.
//!
//! The tests share a small machine with their server, and some are harmful to it. So a test waits
//! until the previous one is done with its database, and finds its own still running if it was used
//! recently.

use std::io::ErrorKind;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::console::Console;
use super::process::{Process, free_ports};
use super::{absent, here};

/// How long a database may take to start; the slowest needs about 10 s when alone.
const PATIENCE: Duration = Duration::from_secs(120);

/// How many run at a time. Idle ones use hardly any processor time, while a start takes some ten
/// seconds of it.
const MOST: usize = 3;

/// The one in use, or used last, is at the end.
static RUNNING: Mutex<Vec<Database>> = Mutex::new(Vec::new());

/// How a database is started.
pub(crate) struct Recipe {
    /// Identifies it, also in messages; without spaces, because tests/run.sh counts skips.
    pub(crate) name: &'static str,
    /// If it is not installed: how to install it.
    pub(crate) missing: Option<&'static str>,
    pub(crate) ports: usize,
    pub(crate) command: fn(folder: &Path, ports: &[u16]) -> Command,
    pub(crate) up: fn(&Process, ports: &[u16]) -> bool,
}

/// A running database; it runs until several others were asked for, or this process ends.
pub(crate) struct Database {
    name: &'static str,
    process: Process,
    up: fn(&Process, &[u16]) -> bool,
    ports: Vec<u16>,
    /// Its own client, once a test has used it.
    client: Mutex<Option<Console>>,
}

/// A database, for one test at a time.
pub(crate) struct Lease(MutexGuard<'static, Vec<Database>>);

impl Deref for Lease {
    type Target = Database;

    fn deref(&self) -> &Database {
        self.0.last().expect("put there by `lease`")
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut Database {
        self.0.last_mut().expect("put there by `lease`")
    }
}

impl Recipe {
    /// The database, started if it is not running; `None`, with a message, if it is not installed.
    pub(crate) fn lease(self) -> Option<Lease> {
        if let Some(cure) = self.missing {
            absent(self.name, cure);
            return None;
        }
        // The state left by a failed test is fine.
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let known = running.iter().position(|database| database.name == self.name);
        if known.is_none() && running.len() == MOST {
            running.remove(0);
        }
        let database = known.map_or_else(|| self.start(), |place| running.remove(place));
        running.push(database);
        Some(Lease(running))
    }

    fn start(&self) -> Database {
        // Another process may take a free port before it is used: try again.
        let mut failures = Vec::new();
        for _ in 0..3 {
            let ports = free_ports(self.ports).expect("free ports");
            let (command, ports_then) = (self.command, ports.clone());
            let process = Process::start(Box::new(move |folder| command(folder, &ports_then)));
            let mut database = Database {
                name: self.name,
                process: process.expect("it starts"),
                up: self.up,
                ports,
                client: Mutex::new(None),
            };
            match database.until_up() {
                Ok(()) => return database,
                Err(error) if error.kind() == ErrorKind::TimedOut => {
                    panic!("{}: {error}", self.name)
                }
                Err(error) => failures.push(error.to_string()),
            }
        }
        panic!("{} does not start: {}", self.name, failures.join("\n"));
    }
}

impl Database {
    /// One of its ports, in the order of its recipe.
    pub(crate) fn port(&self, index: usize) -> u16 {
        self.ports[index]
    }

    /// Kills it as `kill -9` does.
    pub(crate) fn kill(&mut self) {
        *self.client.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        self.process.kill();
    }

    /// Stops it as SIGSTOP does, until `thaw`.
    pub(crate) fn freeze(&self) {
        self.signal(rustix::process::Signal::STOP);
    }

    /// Lets it continue.
    pub(crate) fn thaw(&self) {
        self.signal(rustix::process::Signal::CONT);
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_raw(self.process.pid().cast_signed()).expect("an id");
        rustix::process::kill_process(id, signal).expect("it runs");
    }

    /// Starts it again after `kill`, with its data and ports.
    pub(crate) fn start_again(&mut self) {
        self.process.start_again().expect("it starts");
        self.until_up().unwrap_or_else(|error| panic!("{} again: {error}", self.name));
    }

    /// Lets its own client run a command, and returns the output. `java` starts the client, which
    /// is then kept.
    #[track_caller]
    pub(crate) fn client(&self, words: &[&str], java: impl FnOnce() -> Command) -> String {
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        let done = client.get_or_insert_with(|| Console::start(java())).run(words);
        if done.is_err() {
            // It may have ended.
            *client = None;
        }
        done.unwrap_or_else(|printed| panic!("{words:?}: {printed}"))
    }

    fn until_up(&mut self) -> std::io::Result<()> {
        let (up, ports) = (self.up, &self.ports);
        self.process.until(PATIENCE, |process| up(process, ports))
    }

    /// Its folder, which clients can also write to.
    pub(crate) fn folder(&self) -> &Path {
        self.process.folder()
    }
}

/// Runs another client of a database, and returns its output.
#[track_caller]
pub(crate) fn output_of(mut command: Command) -> String {
    let output = command.output().expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{stdout}{stderr}", output.status);
    stdout
}

/// The jars of a server that `tests/servers.sh` resolved, with our classes and files for it.
pub(crate) fn classpath(server: &str) -> String {
    let built = here().join("built").join(server);
    let jars = std::fs::read_to_string(built.join("classpath")).expect("tests/servers.sh made it");
    let (classes, files) = (built.join("classes"), here().join(server));
    format!("{}:{}:{}", classes.display(), files.display(), jars.trim())
}

/// `java` with a folder for temporary files, and JDK packages opened to the program.
pub(crate) fn java(folder: &Path, opened: &[&str], classpath: &str) -> Command {
    let mut command = Command::new("java");
    command
        // No process runs long enough for the second compiler to pay off.
        .args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData"])
        // The jars are verified by the lock file.
        .args(["-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"])
        .arg("-Djava.net.preferIPv4Stack=true")
        .arg(format!("-Djava.io.tmpdir={}", folder.display()))
        .args(opened.iter().map(|package| format!("--add-opens={package}=ALL-UNNAMED")))
        .args(["-cp", classpath]);
    command
}

/// How to install a server from Maven, if it is not installed.
pub(crate) fn java_missing(server: &str) -> Option<&'static str> {
    let classes = here().join("built").join(server).join("classes");
    (!classes.exists()).then_some("install Maven and a JDK, and run make test-servers")
}
