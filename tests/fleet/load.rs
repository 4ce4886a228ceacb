//! A run of several agents in progress, as a test sees it: processes, the server's counters, and
//! the results.

#![allow(dead_code, reason = "each feature has its own tests")]

use crate::servers::Server;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use springload::clock::{Clock, SECOND_NS};
use springload::embedded::Options;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// The binary under test.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_springload");
/// Nothing here takes that long; a hang becomes a failure of the test.
const PATIENCE: Duration = Duration::from_secs(60);
/// The time within which all requests must have stopped.
pub(crate) const SILENT_AFTER: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(20);

/// A process of springload, which is killed when dropped.
pub(crate) struct Spring {
    child: Child,
    folder: TempDir,
}

/// The results of a process.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// `run.json`, or null if there is none.
    pub(crate) record: Value,
}

impl Spring {
    pub(crate) fn start(words: &[&str], broker: Option<&str>) -> Self {
        Self::start_by(BINARY, words, broker)
    }

    /// The same, started through another program such as a shell.
    pub(crate) fn start_by(program: &str, words: &[&str], broker: Option<&str>) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = |name: &str| File::create(folder.path().join(name)).expect("a file");
        let mut command = Command::new(program);
        command.args(words).current_dir(folder.path()).env("TMPDIR", folder.path());
        command.env_remove("SPRINGLOAD_BROKER").env_remove("JOB_COMPLETION_INDEX");
        command.envs(broker.map(|url| ("SPRINGLOAD_BROKER", url)));
        command.stdin(Stdio::null()).stdout(file("stdout")).stderr(file("stderr"));
        Self { child: command.spawn().expect("it runs"), folder }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(self.id(), signal);
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    /// Where it writes by default.
    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    pub(crate) fn stderr(&self) -> String {
        self.read("stderr")
    }

    /// The record saved so far.
    pub(crate) fn record(&self) -> Value {
        serde_json::from_str(&self.read("out/run.json")).unwrap_or_default()
    }

    pub(crate) fn is_over(&mut self) -> bool {
        self.child.try_wait().expect("a child").is_some()
    }

    /// Waits for its end, which must come within `patience`.
    #[track_caller]
    pub(crate) fn end_within(&mut self, patience: Duration) -> Ended {
        let over = until(patience, || self.is_over());
        assert!(over, "it is not over after {patience:?}: {}", self.stderr());
        let code = self.child.wait().expect("it is over").code();
        let text = self.read("out/run.json");
        let record = match &text[..] {
            "" => Value::Null,
            text => serde_json::from_str(text).expect("run.json is JSON"),
        };
        Ended { code, stdout: self.read("stdout"), stderr: self.stderr(), record }
    }

    #[track_caller]
    pub(crate) fn end(&mut self) -> Ended {
        self.end_within(PATIENCE)
    }

    /// The processes that it has started, in the order of their agents' numbers.
    pub(crate) fn children(&self) -> Vec<u32> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.id())).expect("its threads");
        let children = tasks.flat_map(|task| {
            let file = task.expect("a thread").path().join("children");
            let text = std::fs::read_to_string(file).unwrap_or_default();
            text.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<u32>>()
        });
        let mut agents: Vec<(usize, u32)> =
            children.filter_map(|id| Some((index(id)?, id))).collect();
        agents.sort_unstable();
        agents.into_iter().map(|(_, id)| id).collect()
    }
}

impl Ended {
    /// The exit status, but a machine too busy to measure anything is not a failure here.
    pub(crate) fn status(&self) -> Option<i32> {
        let busy = self.stderr.contains(": client-bound: ");
        self.code.map(|code| if code == 5 && busy { 0 } else { code })
    }
}

impl Drop for Spring {
    fn drop(&mut self) {
        // It may have ended, or be stopped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The number of an agent, from its command line.
fn index(id: u32) -> Option<usize> {
    let line = std::fs::read_to_string(format!("/proc/{id}/cmdline")).ok()?;
    let mut words = line.split('\0').skip_while(|word| *word != "--index").skip(1);
    words.next()?.parse().ok()
}

/// Whether a process exists, and is neither dead nor a zombie.
pub(crate) fn runs(id: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| !"ZX".contains(state))
}

pub(crate) fn kill(id: u32, signal: Signal) {
    let id = Pid::from_raw(id.cast_signed()).expect("a process");
    kill_process(id, signal).expect("it runs");
}

/// Waits until `there` is true, at most as long as `patience`. Returns whether it was.
pub(crate) fn until(patience: Duration, mut there: impl FnMut() -> bool) -> bool {
    let clock = Clock::system();
    let end = clock.now() + patience.as_nanos() as u64;
    loop {
        if there() {
            return true;
        }
        if clock.now() >= end {
            return false;
        }
        std::thread::sleep(LOOK);
    }
}

/// A run on the test's own stand-in.
pub(crate) struct Load {
    pub(crate) server: Server,
    pub(crate) coordinator: Spring,
    /// Agents that the test itself has started.
    pub(crate) agents: Vec<Spring>,
}

impl Load {
    /// A run with `agents` agents and with `flags` for its coordinator. With a broker, the agents
    /// with the given numbers are started here; without one, the coordinator starts all of them.
    /// With no agents, `flags` say where they are.
    pub(crate) fn start(agents: usize, flags: &[&str], broker: Option<(&str, &[usize])>) -> Self {
        Self::start_after(None, agents, flags, broker)
    }

    /// The same with a coordinator in a shell that runs `script` first, for example to set a limit.
    pub(crate) fn start_after(
        script: Option<&str>,
        agents: usize,
        flags: &[&str],
        broker: Option<(&str, &[usize])>,
    ) -> Self {
        let server = Server::stand_in(Options::default());
        let number = agents.to_string();
        let run = run_of(&server);
        let mut words =
            vec!["run", &server.url, "-q", "--format", "text", "-o", "out", "--docs", "60"];
        words.extend(["--connections", "6", "--run-id", &run]);
        if agents > 0 {
            words.extend(["--agents", &number]);
        }
        words.extend(flags);
        let url = broker.map(|(url, _)| url);
        let coordinator = match script {
            None => Spring::start(&words, url),
            Some(script) => {
                let script = format!("{script} && exec \"$@\"");
                let all = [&["-c", &script, "sh", BINARY][..], &words].concat();
                Spring::start_by("sh", &all, url)
            }
        };
        let here = broker.map_or(&[][..], |(_, here)| here);
        let agent = |index: &usize| {
            let index = index.to_string();
            Spring::start(&["agent", "--run", &run, "--index", &index], url)
        };
        let agents = here.iter().map(agent).collect();
        Self { server, coordinator, agents }
    }

    /// The name of the run.
    pub(crate) fn run(&self) -> String {
        run_of(&self.server)
    }

    /// The number of requests that the server has answered.
    pub(crate) fn requests(&self) -> u64 {
        self.server.as_stand_in().expect("the stand-in").counters().requests
    }

    /// The number of documents in the second stage that the server has answered.
    pub(crate) fn mixed(&self) -> u64 {
        let of = self.server.as_stand_in().expect("the stand-in").counters();
        of.documents_created + of.documents_read + of.documents_updated + of.documents_deleted
    }

    /// Waits until the second stage is well under way, so that the coordinator has received
    /// reports.
    #[track_caller]
    pub(crate) fn under_way(&mut self) {
        let started = until(PATIENCE, || self.mixed() > 0 || self.coordinator.is_over());
        let over = self.coordinator.is_over();
        assert!(started && !over, "it does not start: {}", self.coordinator.stderr());
        std::thread::sleep(Duration::from_millis(2_500));
    }

    /// Waits for the end of the run.
    #[track_caller]
    pub(crate) fn end(&mut self) -> Ended {
        self.coordinator.end()
    }

    /// Asserts that no requests are sent from 5 seconds from now on.
    #[track_caller]
    pub(crate) fn falls_silent(&self) {
        let clock = Clock::system();
        let begun = clock.now();
        let (mut last, mut changed) = (self.mixed(), begun);
        while clock.now() - begun < (SILENT_AFTER + Duration::from_secs(2)).as_nanos() as u64 {
            std::thread::sleep(LOOK);
            let now = self.mixed();
            if now != last {
                (last, changed) = (now, clock.now());
            }
        }
        let after = Duration::from_nanos(changed - begun);
        assert!(after < SILENT_AFTER, "requests still came {after:?} later");
    }

    /// Asserts that the recorded requests equal those that the server has answered, except for at
    /// most `unreported` of them.
    #[track_caller]
    pub(crate) fn agrees(&self, ended: &Ended, unreported: u64) {
        let saved = documents(&ended.record, "crud");
        let answered = self.mixed();
        let missing = answered.checked_sub(saved);
        let missing = missing.unwrap_or_else(|| panic!("{saved} on record, {answered} answered"));
        assert!(missing <= unreported, "{saved} on record, {answered} answered");
    }
}

fn run_of(server: &Server) -> String {
    format!("t{}", server.url.rsplit(':').next().expect("a port"))
}

/// The documents of a stage that succeeded, or failed because they were deleted in the meantime.
pub(crate) fn documents(record: &Value, stage: &str) -> u64 {
    let stages = record["stages"].as_array().into_iter().flatten();
    let operations = stages
        .filter(|it| it["name"] == stage)
        .flat_map(|it| it["operations"].as_array().expect("operations"));
    operations.map(|it| it["ok"].as_u64().expect("a count")).sum()
}

/// The lost agents in a record, with the reasons.
pub(crate) fn lost(record: &Value) -> Vec<(u64, String)> {
    let agents = record["agents"].as_array().into_iter().flatten();
    let lost = agents.filter(|agent| !agent["lost"].is_null());
    lost.map(|agent| {
        let why = agent["lost"]["why"].as_str().expect("a reason").to_owned();
        (agent["index"].as_u64().expect("a number"), why)
    })
    .collect()
}

/// A second, in nanoseconds.
pub(crate) const fn seconds(count: u64) -> u64 {
    count * SECOND_NS
}
