//! Whole runs with agents connected through a real RabbitMQ.

use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use springload::embedded::Options;

use crate::broker::{now, run, since};
use crate::load::until;
use crate::servers::Server;
use crate::servers::process::free_ports;
use crate::servers::rabbitmq::{PASSWORD, RabbitMq, USER};

const BINARY: &str = env!("CARGO_BIN_EXE_springload");
/// No run here takes that long; a hang becomes a failure of the test.
const PATIENCE: Duration = Duration::from_secs(120);

/// springload with these arguments, and with this environment only.
fn springload(arguments: &[&str], environment: &[(&str, &str)]) -> Child {
    let mut command = Command::new(BINARY);
    command.args(arguments).envs(environment.iter().copied());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("it starts")
}

/// Child processes that do not outlive a failing test.
struct Children(Vec<Child>);

impl Drop for Children {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Children {
    /// Waits until all have ended, and calls `meanwhile` repeatedly.
    fn end(&mut self, mut meanwhile: impl FnMut()) -> Vec<Output> {
        let begun = now();
        let ended = |child: &mut Child| child.try_wait().expect("a child").is_some();
        while !self.0.iter_mut().all(ended) {
            assert!(since(begun) < PATIENCE, "they do not end");
            meanwhile();
            std::thread::sleep(Duration::from_millis(100));
        }
        let output = |child: Child| child.wait_with_output().expect("an output");
        self.0.drain(..).map(output).collect()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Whether a text contains a password of the broker, in any spelling.
fn shows_a_password(text: &str) -> bool {
    [PASSWORD, "s3cret", "S3CRET"].iter().any(|secret| text.contains(secret))
}

/// The command lines of a run's processes, as any user can list them. Other tests of this program
/// run at the same time, and one of them is refused because of a password on its command line.
fn processes_of(run: &str) -> Vec<String> {
    let listed = Command::new("ps").args(["-e", "-ww", "-o", "args"]).output();
    let listed = text(&listed.expect("ps runs").stdout);
    let of_run = |line: &&str| line.contains(BINARY) && line.split(' ').any(|word| word == run);
    listed.lines().filter(of_run).map(str::to_owned).collect()
}

/// The words for a coordinator of one agent with little load.
fn coordinator_of_one(run: &str, target: &str, out: &str) -> Vec<String> {
    let words = ["run", target, "-c", "2", "--docs", "20", "--ops", "20", "--agents", "1", "-q"];
    let more = ["--run-id", run, "--output", out];
    words.into_iter().chain(more).map(str::to_owned).collect()
}

#[test]
fn an_agent_lives_on_when_its_shell_ends_unless_it_is_to_die_with_it() {
    let Some(broker) = RabbitMq::shared() else { return };
    let (run, url) = (run(), broker.full_url());
    let folder = tempfile::tempdir().expect("a folder");
    // The shell ends at once; each agent writes its process ID, then becomes springload.
    let agent = |index: usize, more: &str| {
        let pid = folder.path().join(format!("pid-{index}"));
        let script = format!(
            "(echo $$ >/dev/null; exec sh -c 'echo $$ >\"{0}\"; exec \"{BINARY}\" agent --run {run} \
             --index {index} {more}') >/dev/null 2>&1 & while [ ! -s \"{0}\" ]; do :; done; sleep 1",
            pid.display()
        );
        let shell =
            Command::new("sh").args(["-c", &script]).env("SPRINGLOAD_BROKER", &url).status();
        assert!(shell.expect("a shell").success());
        let text = std::fs::read_to_string(&pid).expect("a process id");
        rustix::process::Pid::from_raw(text.trim().parse().expect("a number")).expect("not 0")
    };
    let gone = |process| rustix::process::test_kill_process(process).is_err();
    let (lives, dies) = (agent(0, ""), agent(1, "--die-with-parent"));
    let begun = now();
    while !gone(dies) {
        assert!(since(begun) < Duration::from_secs(10), "it does not end with its shell");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!gone(lives), "it was started by a shell that has ended");
    let server = Server::stand_in(Options::default());
    let out = folder.path().join("out");
    let words = coordinator_of_one(&run, &server.url, out.to_str().expect("a path"));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut children = Children(vec![springload(&words, &[("SPRINGLOAD_BROKER", &url)])]);
    let ended = children.end(|| {}).remove(0);
    assert!([Some(0), Some(5)].contains(&ended.status.code()), "{}", text(&ended.stderr));
    let record = std::fs::read_to_string(out.join("run.json")).expect("a record");
    let record: Value = serde_json::from_str(&record).expect("JSON");
    assert_eq!(record["agents"][0]["lost"], Value::Null);
}

#[test]
fn an_agent_with_a_number_that_the_run_does_not_have_is_told_so_at_once() {
    let Some(broker) = RabbitMq::shared() else { return };
    let (run, url) = (run(), broker.full_url());
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let words = coordinator_of_one(&run, "basic", out.to_str().expect("a path"));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let environment = [("SPRINGLOAD_BROKER", &*url)];
    let _coordinator = Children(vec![springload(&words, &environment)]);
    let agent = ["agent", "--run", &run, "--index", "1"];
    let ended = Children(vec![springload(&agent, &environment)]).end(|| {}).remove(0);
    assert_eq!(ended.status.code(), Some(1));
    let message = format!("agent 1: the run {run} has 1 agent, numbered from 0");
    assert!(text(&ended.stderr).contains(&message), "{}", text(&ended.stderr));
}

#[test]
fn twenty_agents_do_what_was_asked_and_nobody_sees_the_password() {
    let Some(broker) = RabbitMq::shared() else { return };
    let server = Server::stand_in(Options::default());
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let run = run();
    let url = broker.full_url();
    let coordinator = [
        "run",
        &server.url,
        "-c",
        "40",
        "--docs",
        "4000",
        "--batch",
        "50",
        "--ops",
        "4000",
        "--agents",
        "20",
        "--run-id",
        &run,
        "--output",
        out.to_str().expect("a path"),
    ];
    let mut children = Children(vec![springload(&coordinator, &[("SPRINGLOAD_BROKER", &url)])]);
    let tls = broker.tls_url();
    let user = [("SPRINGLOAD_BROKER_USER", USER), ("SPRINGLOAD_BROKER_PASSWORD", PASSWORD)];
    for index in 0..20 {
        if index == 19 {
            // Nothing ends before the last agent is there, so all the others are listed, once each
            // has begun to be springload.
            let all =
                until(Duration::from_secs(10), || processes_of(&run).len() == children.0.len());
            assert!(all, "{:#?}", processes_of(&run));
        }
        let (number, address) = (index.to_string(), broker.url());
        let agent = ["agent", "--run", &run, "--index", &number];
        children.0.push(match index % 4 {
            0 => springload(&agent, &[("SPRINGLOAD_BROKER", &url)]),
            1 => springload(&agent, &[("SPRINGLOAD_BROKER", &tls)]),
            2 => {
                let password = ("SPRINGLOAD_BROKER_PASSWORD", PASSWORD);
                springload(&[&agent[..], &["--broker", &address]].concat(), &[password])
            }
            _ => {
                let address = address.replace("ann%40load@", "");
                springload(&[&agent[..], &["--broker", &address]].concat(), &user)
            }
        });
    }
    let ended = children.end(|| {
        assert!(!processes_of(&run).iter().any(|line| shows_a_password(line)));
    });
    for (place, output) in ended.iter().enumerate() {
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        // A debug build on a busy machine may be the limit of the run.
        let code = output.status.code();
        assert!(code == Some(0) || (place == 0 && code == Some(5)), "{place}: {code:?} {stderr}");
        assert!(!shows_a_password(&stdout) && !shows_a_password(&stderr), "{place}");
    }
    let record = std::fs::read_to_string(out.join("run.json")).expect("a record");
    assert!(!shows_a_password(&record));
    let page = std::fs::read_to_string(out.join("report.html")).expect("a page");
    assert!(!shows_a_password(&page));
    let record: Value = serde_json::from_str(&record).expect("JSON");
    same_as_the_server_counted(&record, &server);
    starts_are_close_or_reported(&record);
}

/// The totals, and the sums over agents, match the stand-in's counts.
fn same_as_the_server_counted(record: &Value, server: &Server) {
    let count = |value: &Value| value.as_u64().expect("a count");
    let stages = record["stages"].as_array().expect("stages");
    let operations = || stages.iter().flat_map(|it| it["operations"].as_array().expect("a list"));
    let sum = |kind: &str| -> u64 {
        operations().filter(|it| it["kind"] == kind).map(|it| count(&it["ok"])).sum()
    };
    let counters = server.as_stand_in().expect("a stand-in").counters();
    assert_eq!(sum("bulk_insert"), 4_000);
    assert_eq!(counters.documents_bulk, 4_000);
    let single = ["create", "read", "update", "delete"].map(sum);
    assert_eq!(single.iter().sum::<u64>(), 4_000);
    let [created, read] = [counters.documents_created, counters.documents_read];
    assert_eq!(single, [created, read, counters.documents_updated, counters.documents_deleted]);
    assert_eq!(record["agents"].as_array().map(Vec::len), Some(20));
    for stage in stages {
        let agents = stage["agents"].as_array().expect("agents");
        let all: u64 = agents.iter().map(|it| count(&it["ok"])).sum();
        assert_eq!((agents.len(), all), (20, 4_000), "{}", stage["name"]);
    }
}

/// All agents send their first request at about the same time. How close depends on the machine,
/// but a busy one must not hide it: differences of 5 ms are reported.
fn starts_are_close_or_reported(record: &Value) {
    let warnings = record["warnings"].as_array().expect("warnings");
    for stage in record["stages"].as_array().expect("stages") {
        let agents = stage["agents"].as_array().expect("agents");
        let starts: Vec<_> = agents.iter().map(|it| it["start_us"].as_f64()).collect();
        let starts: Vec<f64> = starts.into_iter().flatten().collect();
        assert_eq!(starts.len(), 20);
        let [first, last] = [f64::min, f64::max].map(|of| starts.iter().copied().reduce(of));
        let spread_us = last.expect("starts") - first.expect("starts");
        let of_stage = |it: &&Value| it["code"] == "agents_late" && it["stage"] == stage["name"];
        let warned = warnings.iter().any(|it| of_stage(&it));
        // Without what clock errors could explain.
        let errors = record["agents"].as_array().expect("agents").iter();
        let errors = errors.filter_map(|agent| agent["clock_error_us"].as_f64());
        let known_us = spread_us - 2.0 * errors.fold(0.0, f64::max);
        assert_eq!(warned, known_us > 5_000.0, "{}: {spread_us} µs apart", stage["name"]);
    }
}

/// Exit status and stderr of a command that fails before anything is sent.
#[track_caller]
fn fails(arguments: &[&str], environment: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut children = Children(vec![springload(arguments, environment)]);
    let output = children.end(|| ()).remove(0);
    let stderr = text(&output.stderr);
    assert!(!shows_a_password(&stderr), "{stderr}");
    (output.status.code(), stderr)
}

#[test]
fn a_broker_that_cannot_be_used_is_reported_before_anything_is_sent() {
    let Some(broker) = RabbitMq::shared() else { return };
    let verbs: [&[&str]; 2] =
        [&["run", "--agents", "2", "--run-id", "r"], &["agent", "--run", "r", "--index", "0"]];
    let nobody = format!("amqp://127.0.0.1:{}", free_ports(1).expect("a port")[0]);
    for verb in verbs {
        let with = |flags: &[&str], environment: &[(&str, &str)]| {
            fails(&[verb, flags].concat(), environment)
        };
        let (code, message) = with(&["--broker", &broker.full_url()], &[]);
        assert_eq!(code, Some(2), "{message}");
        assert!(
            message.contains("--broker") && message.contains("SPRINGLOAD_BROKER_PASSWORD"),
            "{message}"
        );
        let (code, message) = with(&[], &[("SPRINGLOAD_BROKER", "http://ann:s3cret@h")]);
        assert_eq!(code, Some(2), "{message}");
        assert!(
            message.contains("SPRINGLOAD_BROKER: ") && message.contains("give amqp://"),
            "{message}"
        );
        let (code, message) = with(&["--broker", &nobody], &[]);
        assert_eq!(code, Some(3), "{message}");
        assert!(message.contains("cannot reach the broker"), "{message}");
        let wrong = [("SPRINGLOAD_BROKER_PASSWORD", "S3CRET")];
        let (code, message) = with(&["--broker", &broker.url()], &wrong);
        assert_eq!(code, Some(3), "{message}");
        assert!(message.contains("refuses the user ann@load"), "{message}");
    }
}

#[test]
fn a_second_agent_of_the_same_number_is_refused_and_the_run_goes_on() {
    let Some(broker) = RabbitMq::shared() else { return };
    let server = Server::stand_in(Options::default());
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let run = run();
    let environment = [("SPRINGLOAD_BROKER", &broker.full_url()[..])];
    let coordinator = [
        "run",
        &server.url,
        "-c",
        "2",
        "--docs",
        "200",
        "--ops",
        "200",
        "--agents",
        "2",
        "--run-id",
        &run,
        "--output",
        out.to_str().expect("a path"),
    ];
    let agent = ["agent", "--run", &run, "--index"];
    let start = |words: &[&str]| springload(words, &environment);
    let number = |index: &'static str| start(&[&agent[..], &[index]].concat());
    let mut children = Children(vec![start(&coordinator), number("0")]);
    let mut twins = Children(vec![number("1"), number("1")]);
    let mut codes: Vec<_> = twins.end(|| ()).iter().map(|it| it.status.code()).collect();
    codes.sort_unstable();
    assert_eq!(codes, [Some(0), Some(3)]);
    for output in children.end(|| ()) {
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 5)), "{code:?}: {}", text(&output.stderr));
    }
    assert_eq!(server.as_stand_in().expect("a stand-in").counters().documents_bulk, 200);
}
