//! Runs the binary in its own folder and returns its output and files.
//!
//! Every `run.json` is checked against `docs/run.schema.json`.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// The binary under test.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_springload");

/// No test here takes that long; a hang becomes a failure of the test. A search of `max` may take
/// fifty steps of five seconds, and as long again to start them if the machine is busy.
const TIMEOUT: Duration = Duration::from_secs(900);

static SCHEMA: LazyLock<jsonschema::Validator> = LazyLock::new(|| {
    let text = include_str!("../../docs/run.schema.json");
    let schema = serde_json::from_str(text).expect("docs/run.schema.json is JSON");
    jsonschema::draft202012::new(&schema).expect("docs/run.schema.json is a JSON Schema")
});

/// The results of one invocation.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// `run.json`, or null if none was written.
    pub(crate) record: Value,
    folder: TempDir,
}

/// Whether the client was the limit of a stage, by the rules in `docs/load-shapes.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Starved {
    /// In an open loop this depends on other figures in the record.
    Maybe,
    Surely,
    No,
}

/// Whether the server was silent for a while, and failed nothing: on a busy machine it may have to
/// wait for a processor longer than a healthy server ever does.
fn was_silent(stage: &Value) -> bool {
    let failed = |operation: &Value| {
        let classes = operation["failures"].as_object();
        classes.is_some_and(|it| it.values().any(|count| count != 0))
    };
    let operations = stage["operations"].as_array().expect("operations");
    let away_s = stage["outage"]["total_s"].as_f64().unwrap_or(0.0);
    away_s > 0.0 && !operations.iter().any(failed)
}

impl Starved {
    fn of(stage: &Value) -> Self {
        let of_client = |key: &str| stage["client"][key].as_f64().unwrap_or(0.0);
        let busy = of_client("busiest_thread").max(of_client("occupied_thread"));
        let waited = of_client("waited_thread");
        if stage["load"]["open"] == true {
            let late = of_client("late_p99_us") > 1_000.0;
            let unsure = ["p50_us", "p90_us", "p99_us"].iter().any(|of| {
                let bound = |of_range: &str| stage["account"][of][of_range].as_f64();
                let range = bound("low").zip(bound("high"));
                range.is_some_and(|(low, high)| high - low > 1_000.0 && low < high * 0.8)
            });
            let maybe = late || unsure || busy > 0.80 || waited > 0.20;
            return if maybe { Self::Maybe } else { Self::No };
        }
        let share = stage["account"]["client_share"].as_f64().expect("a share");
        let starved = busy > 0.95 || share > 0.20;
        let long = stage["elapsed_s"].as_f64().expect("a time") >= 0.1;
        if starved && long { Self::Surely } else { Self::No }
    }
}

impl Finished {
    /// The folder that `--output` named.
    pub(crate) fn output(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    /// Asserts that the run passed: exit status 0. The tests share a machine with their servers,
    /// and a debug build is slow, so 5 is right, and required, if the client was the limit. It is
    /// also right if the server stood still. This is decided here by the figures in the record,
    /// never by the program's own verdict.
    #[track_caller]
    pub(crate) fn passed(self) -> Self {
        let figures: Vec<_> = self.measured().map(Starved::of).collect();
        if self.code == 5 {
            let starved = figures.iter().any(|it| *it != Starved::No);
            let silent = self.measured().any(was_silent);
            let reported = starved && self.stderr.contains(": client-bound: ")
                || silent && self.stderr.contains(": degraded: no answer for ");
            assert!(reported, "{figures:?}, stderr: {}", self.stderr);
        } else {
            assert_eq!(self.code, 0, "stderr: {}", self.stderr);
            // Thresholds are checked in any case, and the dialects end successfully on a busy
            // machine.
            let plan = &self.record["plan"];
            let excused = plan["noise"] == "warn" || plan["thresholds"].is_array();
            let starved = figures.contains(&Starved::Surely);
            assert!(excused || !starved, "{}", self.record["stages"]);
        }
        self
    }

    /// The stages that are measured, not only preparation.
    fn measured(&self) -> impl Iterator<Item = &Value> {
        let fills = self.stages().any(|stage| stage["name"] == "crud");
        let prepares = move |name: &Value| {
            let fill = fills && name == "bulk_insert";
            let others =
                ["warm_up", "burst_prepare", "audit", "database_create", "database_delete"];
            fill || others.iter().any(|other| name == other)
        };
        let server = &self.record["plan"]["target"]["driver"] != "basic";
        self.stages().filter(move |stage| server && !prepares(&stage["name"]))
    }

    /// Asserts one line on stderr that begins with `error: ` and contains all of `words`, and no
    /// other output.
    #[track_caller]
    pub(crate) fn refused(self, code: i32, words: &[&str]) -> Self {
        assert_eq!(self.code, code, "stdout: {}, stderr: {}", self.stdout, self.stderr);
        assert_eq!(self.stdout, "");
        assert!(self.stderr.starts_with("error: "), "{:?}", self.stderr);
        assert!(self.stderr.ends_with('\n'), "{:?}", self.stderr);
        assert_eq!(self.stderr.lines().count(), 1, "{}", self.stderr);
        for word in words {
            assert!(self.stderr.contains(word), "no {word:?} in {:?}", self.stderr);
        }
        self
    }

    pub(crate) fn stages(&self) -> impl Iterator<Item = &Value> {
        self.record["stages"].as_array().into_iter().flatten()
    }

    #[track_caller]
    pub(crate) fn stage(&self, name: &str) -> &Value {
        self.stages().find(|stage| stage["name"] == name).unwrap_or_else(|| {
            panic!("no stage {name} on record; stderr: {}", self.stderr);
        })
    }

    /// The operations of one kind in one stage; null if there were none.
    pub(crate) fn operation(&self, stage: &str, kind: &str) -> Value {
        let operations = self.stage(stage)["operations"].as_array().expect("operations");
        operations.iter().find(|o| o["kind"] == kind).cloned().unwrap_or_default()
    }

    /// The sum of `key` over all stages, for one kind.
    pub(crate) fn sum(&self, kind: &str, key: &str) -> u64 {
        let operations = self.stages().flat_map(|s| s["operations"].as_array().expect("a list"));
        operations.filter(|o| o["kind"] == kind).map(|o| number(&o[key])).sum()
    }

    /// The database that the run used.
    pub(crate) fn database(&self) -> &str {
        self.record["server"]["database"].as_str().expect("a database")
    }

    /// The whole text report, without its line breaks.
    pub(crate) fn full_report(&self) -> String {
        let folder = self.output();
        let text = springload(["report".as_ref(), folder.as_os_str(), "--verbose".as_ref()]);
        text.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Renders the record again, in another process.
    pub(crate) fn report(&self, format: &str) -> Self {
        let folder = self.output();
        springload(["report".as_ref(), folder.as_os_str(), "--format".as_ref(), format.as_ref()])
    }
}

/// A count in a record.
#[track_caller]
pub(crate) fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is not a count"))
}

/// The sum of all failure classes of one operation.
pub(crate) fn failures(operation: &Value) -> u64 {
    operation["failures"].as_object().expect("failures").values().map(number).sum()
}

/// Native verbs print one line with `-q`; the whole report must be asked for by name.
fn whole(arguments: &[&str]) -> &'static [&'static str] {
    let native = matches!(arguments.first(), Some(&("run" | "burst" | "http")));
    let own = arguments.iter().any(|it| it.starts_with("--format") || *it == "-T");
    if native && !own { &["--format", "text"] } else { &[] }
}

/// The binary, with only those environment variables that tests set.
pub(crate) fn binary() -> Command {
    let mut command = Command::new(BINARY);
    let own = |name: &str| name.starts_with("SPRINGLOAD_") || name == "NETRC";
    for (name, _) in std::env::vars().filter(|(name, _)| own(name)) {
        command.env_remove(name);
    }
    // Nothing is remembered in the developer's home.
    command.env("SPRINGLOAD_STATE", "");
    // Expected outputs contain characters beyond ASCII.
    command.env("LC_ALL", "C.UTF-8");
    command
}

/// An invocation with an environment, or with something on stdin.
pub(crate) struct Run {
    command: Command,
    stdin: String,
    folder: TempDir,
}

impl Run {
    /// A verb that measures, with `--output` in a fresh folder and no progress.
    pub(crate) fn of(words: &[&str]) -> Self {
        let mut run = Self::bare(words);
        run.command.args(whole(words)).arg("-q").arg("--output").arg(run.folder.path().join("out"));
        run
    }

    /// Any verb, with these words only.
    pub(crate) fn bare(words: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut command = binary();
        command.args(words).current_dir(folder.path());
        Self { command, stdin: String::new(), folder }
    }

    pub(crate) fn args(mut self, words: &[&str]) -> Self {
        self.command.args(words);
        self
    }

    pub(crate) fn envs<'a>(
        mut self,
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        self.command.envs(variables);
        self
    }

    pub(crate) fn stdin(self, text: &str) -> Self {
        Self { stdin: text.to_owned(), ..self }
    }

    /// The folder that it runs in.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Waits for its end.
    pub(crate) fn finish(self) -> Finished {
        let mut command = assert_cmd::Command::from_std(self.command);
        command.write_stdin(self.stdin);
        finish(command, self.folder)
    }

    /// Leaves it running.
    pub(crate) fn start(self) -> Running {
        Running::spawn(self.command, self.folder)
    }
}

/// A verb that measures, with `--output` in a fresh folder and no progress.
pub(crate) fn measure<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Finished {
    Run::of(&arguments.into_iter().collect::<Vec<_>>()).finish()
}

/// Any verb, with these words only.
pub(crate) fn springload<A: AsRef<std::ffi::OsStr>>(
    arguments: impl IntoIterator<Item = A>,
) -> Finished {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = assert_cmd::Command::from_std(binary());
    command.args(arguments);
    finish(command, folder)
}

/// The same in a shell that runs `script` first, for example to set a limit.
pub(crate) fn measure_after<'a>(
    script: &str,
    arguments: impl IntoIterator<Item = &'a str>,
) -> Finished {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("out");
    let mut command = assert_cmd::Command::new("sh");
    command.args(["-c", &format!("{script} && exec \"$@\""), "sh", BINARY]);
    command.args(arguments).arg("-q").arg("--output").arg(out);
    finish(command, folder)
}

fn finish(mut command: assert_cmd::Command, folder: TempDir) -> Finished {
    let output = command.current_dir(folder.path()).timeout(TIMEOUT).output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Finished {
        code: output.status.code().expect("an exit status"),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
        record: read_record(&folder.path().join("out/run.json")),
        folder,
    }
}

/// Reads a record and checks it against its schema; null if there is none.
fn read_record(file: &Path) -> Value {
    let Ok(text) = std::fs::read_to_string(file) else { return Value::Null };
    let record = serde_json::from_str(&text).expect("run.json is JSON");
    let wrong: Vec<_> = SCHEMA
        .iter_errors(&record)
        .map(|error| format!("{}: {error}", error.instance_path))
        .collect();
    assert!(wrong.is_empty(), "run.json departs from its schema:\n{}", wrong.join("\n"));
    record
}

/// A run in progress, which the test can act on.
pub(crate) struct Running {
    child: Option<Child>,
    folder: Option<TempDir>,
}

impl Running {
    /// Starts a verb that measures.
    pub(crate) fn start<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Self {
        Run::of(&arguments.into_iter().collect::<Vec<_>>()).start()
    }

    fn spawn(mut command: Command, folder: TempDir) -> Self {
        let stderr = File::create(folder.path().join("stderr")).expect("a file");
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .expect("it runs");
        Self { child: Some(child), folder: Some(folder) }
    }

    /// Its process ID.
    pub(crate) fn id(&self) -> u32 {
        self.child.as_ref().expect("it runs").id()
    }

    /// Presses Ctrl-C.
    pub(crate) fn interrupt(&self) {
        self.signal(rustix::process::Signal::INT);
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let child = self.child.as_ref().expect("it runs");
        let id = rustix::process::Pid::from_child(child);
        rustix::process::kill_process(id, signal).expect("it runs");
    }

    /// The folder that `--output` names.
    pub(crate) fn output(&self) -> PathBuf {
        self.folder.as_ref().expect("a folder").path().join("out")
    }

    /// Whether its first stage has ended.
    #[allow(dead_code, reason = "not every test program asks")]
    pub(crate) fn has_begun(&self) -> bool {
        self.output().join("run.json").exists()
    }

    /// Its output on stderr so far.
    #[allow(dead_code, reason = "tests/databases watches its runs")]
    pub(crate) fn stderr(&self) -> String {
        let folder = self.folder.as_ref().expect("a folder").path();
        std::fs::read_to_string(folder.join("stderr")).expect("UTF-8")
    }

    /// Whether it has ended by itself.
    #[allow(dead_code, reason = "tests/databases watches its runs")]
    pub(crate) fn ended(&mut self) -> bool {
        self.child.as_mut().expect("a child").try_wait().expect("a child").is_some()
    }

    /// Presses Ctrl-C until it has ended.
    pub(crate) fn interrupt_until_left(mut self) -> Finished {
        let child = self.child.as_mut().expect("it runs");
        let id = rustix::process::Pid::from_child(child);
        while child.try_wait().expect("a child").is_none() {
            let _ = rustix::process::kill_process(id, rustix::process::Signal::INT);
            std::thread::sleep(Duration::from_millis(20));
        }
        self.finish()
    }

    /// Waits for the end.
    pub(crate) fn finish(mut self) -> Finished {
        let child = self.child.take().expect("it runs");
        let folder = self.folder.take().expect("a folder");
        let id = rustix::process::Pid::from_child(&child);
        let (done, timer) = std::sync::mpsc::channel::<()>();
        let watch = std::thread::spawn(move || {
            if timer.recv_timeout(TIMEOUT) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
            }
        });
        let output = child.wait_with_output().expect("it ends");
        drop(done);
        watch.join().expect("the watch ends");
        let stderr = std::fs::read_to_string(folder.path().join("stderr")).expect("UTF-8");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Finished {
            code: output.status.code().expect("it ends by itself"),
            stdout: text(output.stdout),
            stderr,
            record: read_record(&folder.path().join("out/run.json")),
            folder,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
