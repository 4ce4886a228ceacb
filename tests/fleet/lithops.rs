//! Agents that Lithops starts: its localhost backend, RabbitMQ and the program under test.

use std::fs::{File, Permissions, read_to_string};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use springload::embedded::Options;

use crate::servers::Server;
use crate::servers::python::python;
use crate::servers::rabbitmq::RabbitMq;

/// How long a launcher may take; it needs some seconds.
const PATIENCE: Duration = Duration::from_secs(90);
/// How long anything else may take.
const SOON: Duration = Duration::from_secs(30);

/// A running launcher, with its own places for all files of Lithops.
struct Launcher {
    child: Child,
    folder: tempfile::TempDir,
}

/// The results of a launcher.
struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
    record: Value,
}

impl Launcher {
    fn start(python: &Path, broker: &RabbitMq, words: &[&str]) -> Self {
        let mut command = Command::new(python);
        command.args(["-m", "springload.lithops"]).args(words);
        Self::of(command, broker)
    }

    /// A launcher started by a command, in its own folder.
    fn of(mut command: Command, broker: &RabbitMq) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let place = |name: &str| {
            let place = folder.path().join(name);
            std::fs::create_dir(&place).expect("a folder");
            place
        };
        let settings = folder.path().join("lithops.yaml");
        let text = "lithops: {backend: localhost, storage: localhost}\n";
        std::fs::write(&settings, text).expect("a file");
        let output = |name: &str| File::create(folder.path().join(name)).expect("a file");
        let child = command
            .current_dir(&folder)
            .env("HOME", place("home"))
            .env("TMPDIR", place("tmp"))
            .env("LITHOPS_CONFIG_FILE", settings)
            .env("PYTHONPATH", Path::new(env!("CARGO_MANIFEST_DIR")).join("python"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("SPRINGLOAD_BIN", env!("CARGO_BIN_EXE_springload"))
            .env("SPRINGLOAD_BROKER", format!("{}?heartbeat=10", broker.full_url()))
            .stdin(Stdio::null())
            .stdout(output("stdout"))
            .stderr(output("stderr"))
            .spawn()
            .expect("it starts");
        Self { child, folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Waits for something, and shows the output if it does not happen.
    #[track_caller]
    fn until<T>(&self, what: &str, patience: Duration, mut found: impl FnMut() -> Option<T>) -> T {
        for _ in 0..patience.as_millis() / 20 {
            if let Some(found) = found() {
                return found;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("not soon: {what}\n{}\n{}", self.text("stdout"), self.text("stderr"));
    }

    /// Waits for its end, and checks that nothing of it is left.
    #[track_caller]
    fn end(&mut self) -> Ended {
        let mut status = None;
        for _ in 0..PATIENCE.as_millis() / 20 {
            status = self.child.try_wait().expect("it is ours");
            if status.is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let Some(status) = status else {
            panic!("it does not end\n{}\n{}", self.text("stdout"), self.text("stderr"));
        };
        // Lithops' process that deletes its data stays for some seconds.
        let rest = || {
            let found = processes(&self.path("tmp")).into_iter();
            found.filter(|(_, words)| !words.contains("lithops.scripts.cleaner")).count()
        };
        self.until("its processes end", SOON, || (rest() == 0).then_some(()));
        // Lithops' copies of itself, its data on runtimes and its logs are kept for the next time.
        let stored = self.path("tmp").join("lithops-root/storage/lithops.jobs");
        let stored = stored.to_str().expect("UTF-8").replace("root", &user());
        self.until("its data is deleted", SOON, || (files(Path::new(&stored)) == 0).then_some(()));
        let folder = self.folder.path();
        let spread = Command::new("grep").args(["-rl", "s3cret"]).arg(folder).output();
        let spread = String::from_utf8(spread.expect("grep").stdout).expect("UTF-8");
        assert_eq!(spread, "", "the password was written");
        let record = self.text("out/run.json");
        Ended {
            code: status.code(),
            stdout: self.text("stdout"),
            stderr: self.text("stderr"),
            record: serde_json::from_str(&record).unwrap_or_default(),
        }
    }

    /// An agent, and the Python processes around it from the inside out, once they exist.
    fn agent(&self, index: usize) -> [Pid; 3] {
        let word = format!("--index\0{index}\0");
        self.until("an agent starts", SOON, || {
            let found = processes(&self.path("tmp"));
            let (agent, _) = found.into_iter().find(|(_, words)| words.contains(&word))?;
            let host = parent(agent)?;
            Some([agent, host, parent(host)?])
        })
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for (pid, _) in processes(&self.path("tmp")) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

fn user() -> String {
    std::env::var("USER").unwrap_or_else(|_| "root".to_owned())
}

/// The number of files in a folder and its subfolders.
fn files(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| if entry.path().is_dir() { files(&entry.path()) } else { 1 }).sum()
}

/// The processes with this temporary folder, with their command lines.
fn processes(temporary: &Path) -> Vec<(Pid, String)> {
    let wanted = format!("TMPDIR={}", temporary.display());
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    let found = entries.filter_map(|entry| {
        let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
        let text = |name: &str| {
            let bytes = std::fs::read(entry.path().join(name)).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        let ours = text("environ")?.split('\0').any(|variable| variable == wanted);
        let words = text("cmdline")?;
        (ours && !words.is_empty()).then_some((pid, words))
    });
    found.collect()
}

fn parent(pid: Pid) -> Option<Pid> {
    let status = read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    Pid::from_raw(line.trim().parse().ok()?)
}

/// The sum of a count over all operations of all stages.
fn sum(record: &Value, key: &str) -> u64 {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let operations =
        list(&record["stages"]).into_iter().flat_map(|stage| list(&stage["operations"]));
    operations.filter_map(|operation| operation[key].as_u64()).sum()
}

/// The numbers of the lost agents.
fn lost(record: &Value) -> Vec<u64> {
    let agents = record["agents"].as_array().expect("agents").iter();
    agents.filter(|it| !it["lost"].is_null()).filter_map(|it| it["index"].as_u64()).collect()
}

#[test]
fn eight_functions_write_at_one_instant() {
    let (Some(python), Some(broker)) = (python(), RabbitMq::shared()) else { return };
    let server = Server::stand_in(Options::default());
    // The script of the example, with the launcher in its `PATH`.
    let programs = tempfile::tempdir().expect("a folder");
    let program = programs.path().join("springload-lithops");
    let text = format!("#!/bin/sh\nexec '{}' -m springload.lithops \"$@\"\n", python.display());
    std::fs::write(&program, text).expect("a file");
    std::fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("it is ours");
    let path = std::env::var("PATH").expect("a path");
    let example = "examples/burst-lithops/run.sh";
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join(example));
    command
        .args(["8", "2", "250", "-q", "--silence", "10s", "--output"])
        .arg(programs.path().join("out"))
        .env("PATH", format!("{}:{path}", programs.path().display()))
        .env("COUCHDB", &server.url);
    let mut launcher = Launcher::of(command, broker);
    launcher.agent(7);
    for (_, words) in processes(&launcher.path("tmp")) {
        assert!(!words.contains("s3cret"), "{words}");
    }
    let ended = launcher.end();
    // A busy machine makes agents client-bound, which does not matter here.
    assert!(matches!(ended.code, Some(0 | 5)), "{}\n{}", ended.stdout, ended.stderr);
    let out = programs.path().join("out");
    let record = read_to_string(out.join("run.json")).expect("a record");
    let record: Value = serde_json::from_str(&record).expect("JSON");
    assert_eq!(lost(&record), [0; 0]);
    let pids = record["agents"].as_array().expect("agents").iter().map(|it| &it["pid"]);
    let mut pids: Vec<_> = pids.filter_map(Value::as_u64).collect();
    pids.sort_unstable();
    pids.dedup();
    assert_eq!(pids.len(), 8);
    let counted = server.as_stand_in().expect("a stand-in").counters();
    assert_eq!(counted.documents_created, 8);
    let written = counted.documents_created + counted.documents_updated;
    assert_eq!(sum(&record, "ok"), written);
    let table = read_to_string(out.join("csv/couchdb_8writers_2sec_250bytes_sum.csv"));
    let table = table.expect("a table");
    let sums = table.lines().skip(1).filter_map(|row| row.split_once(',')?.1.parse::<u64>().ok());
    assert_eq!(sums.sum::<u64>(), written);
}

#[test]
fn a_killed_host_is_a_lost_agent_and_a_killed_runner_is_not() {
    let (Some(python), Some(broker)) = (python(), RabbitMq::shared()) else { return };
    let server = Server::stand_in(Options::default());
    let words = ["-n", "4", "--", "burst", "-c", "8", "-d", "6s", "--rate", "400", "-q"];
    // Beside a build, an agent that lives may be silent for more than 3 s.
    let words = [&words[..], &["--silence", "10s", "--output", "out", &server.url]].concat();
    let mut launcher = Launcher::start(&python, broker, &words);
    let [[killed, host, _], [left, _, runner]] = [launcher.agent(1), launcher.agent(2)];
    let updated = || server.as_stand_in().expect("a stand-in").counters().documents_updated;
    launcher.until("the burst is under way", PATIENCE, || (updated() > 1000).then_some(()));
    for process in [host, runner] {
        kill_process(process, Signal::KILL).expect("it runs");
    }
    let gone = || rustix::process::test_kill_process(killed).err();
    launcher.until("the agent ends with its host", Duration::from_secs(5), gone);
    assert!(rustix::process::test_kill_process(left).is_ok());
    let ended = launcher.end();
    let says = |text: &str| assert!(ended.stderr.contains(text), "{text}: {}", ended.stderr);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    assert_eq!(lost(&ended.record), [1], "{}", ended.stderr);
    says("agent 1: its Python process was killed by SIGKILL");
    // Three agents to the end, and what the fourth had reported. If they had stopped with it, it
    // would be about 1,000; a busy machine does not manage all 2,000.
    assert!(sum(&ended.record, "ok") > 1_350, "{}", ended.record["stages"][0]["agents"]);
}

#[test]
fn a_coordinator_without_agents_is_stopped() {
    let (Some(python), Some(broker)) = (python(), RabbitMq::shared()) else { return };
    let words = ["-n", "2", "--runtime", "/nowhere/python", "--", "run", "basic", "-q"];
    let ended = Launcher::start(&python, broker, &words).end();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let message = "Lithops did not start the agents: FileNotFoundError: ";
    assert!(ended.stderr.contains(message), "{}", ended.stderr);
}
