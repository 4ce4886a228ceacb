//! Drills: what is broken during a run and repaired again, and what the run reports about it.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use springload::embedded::{NodeState, Options, StandIn};

use crate::nodes::cluster;
use crate::servers::Server;
use crate::servers::process::{Process, free_ports};
use crate::springload::{BINARY, Finished, Run, measure, number, springload};

/// A short drill whose verdict does not depend on how busy this machine is.
pub(crate) const SHORT: [&str; 16] = [
    "--docs",
    "60",
    "-c",
    "4",
    "--think",
    "20ms",
    "--before",
    "5s",
    "--after",
    "6s",
    "--settle",
    "0s",
    "--noise",
    "warn",
    "--timeout",
    "2s",
];
/// The time it stays broken, in tests where that does not matter.
const FOR: [&str; 2] = ["--broken", "2s"];

/// A stand-in in its own process, and its address.
fn served() -> (Process, String) {
    let port = free_ports(1).expect("a free port")[0];
    let listen = format!("127.0.0.1:{port}");
    let spell = move |_: &Path| {
        let mut command = Command::new(BINARY);
        command.args(["serve", "--listen", &listen]);
        command
    };
    let server = Process::start(Box::new(spell)).expect("the stand-in starts");
    let url = format!("http://127.0.0.1:{port}");
    for _ in 0..600 {
        if ureq::get(&url).call().is_ok() {
            return (server, url);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{url} does not answer");
}

pub(crate) fn steps(run: &Finished) -> [Value; 2] {
    let drill = &run.stage("crud")["drill"];
    ["stop", "start"].map(|step| drill[step].clone())
}

pub(crate) fn seconds(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no time"))
}

/// Waits for a file that a command writes; `false` if it does not appear within a minute.
fn appears(path: &Path) -> bool {
    (0..6_000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        path.exists()
    })
}

/// A drill whose two commands make this process call `break_it` and `mend`.
fn obeyed(
    words: &[&str],
    more: &[&str],
    break_it: impl FnOnce() + Send,
    mend: impl FnOnce() + Send,
) -> Finished {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let command = |asked: &str, done: &str| {
        let (asked, done) = (path(asked), path(done));
        format!("touch {}; while [ ! -e {} ]; do sleep 0.05; done", asked.display(), done.display())
    };
    let (stop, start) = (command("stop", "stopped"), command("start", "started"));
    let drill = ["drill"].into_iter().chain(words.iter().copied()).collect::<Vec<_>>();
    let run = Run::of(&drill).args(&SHORT).args(&FOR).args(more);
    let run = run.args(&["--stop", &stop, "--start", &start]).start();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let done = |name: &str| std::fs::write(path(name), "").expect("a file");
            if appears(&path("stop")) {
                break_it();
                done("stopped");
            }
            if appears(&path("start")) {
                mend();
                done("started");
            }
        });
        run.finish()
    })
}

#[test]
fn a_frozen_server_fails_in_the_broken_phase_and_comes_back() {
    let (server, url) = served();
    let (stop, start) =
        (format!("kill -STOP {}", server.pid()), format!("kill -CONT {}", server.pid()));
    let run = Run::of(&["drill", &url]).args(&SHORT).args(&["--broken", "6s"]);
    let run = run.args(&["--stop", &stop, "--start", &start]).finish();
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let stage = run.stage("crud");
    assert_eq!(stage["verdict"]["kind"], "drilled");
    let [stopped, started] = steps(&run);
    assert_eq!((&stopped["command"], &started["command"]), (&stop.into(), &start.into()));
    let (from_s, to_s) = (seconds(&stopped["from_s"]), seconds(&started["to_s"]));
    assert!((5.0..9.0).contains(&from_s) && to_s - from_s >= 6.0, "{stopped} {started}");
    // Only requests in flight when it stopped have failed.
    let rows = stage["series"].as_array().expect("seconds");
    let failed = |row: &&Value| {
        let kinds = row["kinds"].as_object().expect("kinds").values();
        kinds.filter_map(|it| it["failures"].as_object()).flatten().count() > 0
    };
    let failed: Vec<f64> = rows.iter().filter(failed).map(|row| seconds(&row["second"])).collect();
    assert!(!failed.is_empty(), "{rows:?}");
    assert!(failed.iter().all(|it| *it >= from_s.floor() && *it <= to_s + 2.0), "{failed:?}");
    let verified = run.operation("audit", "verify");
    assert!(number(&verified["ok"]) > 60 && verified["failures"] == serde_json::json!({}));
    let text = run.report("text").stdout;
    for words in ["first failure within ", "first success within ", "broken at ", "audit through"] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    assert!(
        text.contains(" failed while broken, ") && text.contains(" s without answer"),
        "{text}"
    );
    let page = run.report("html").stdout;
    assert!(page.contains("<h2>Drill</h2>") && page.contains("\"what\":\"broken\""));
}

#[test]
fn commands_that_do_nothing_break_nothing() {
    let server = Server::stand_in(Options::default());
    let run = Run::of(&["drill", &server.url, "--no-audit"]).args(&SHORT).args(&FOR);
    let run = run.args(&["--stop", "true", "--start", "true"]).finish();
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    assert!(run.stages().all(|it| it["name"] != "audit"));
    assert!(run.stdout.contains("none failed while broken · "), "{}", run.stdout);
    assert!(!run.full_report().contains("not this run's"), "{}", run.full_report());
}

#[test]
fn requests_of_others_are_found_in_a_drill_as_well() {
    let server = Server::stand_in(Options::default());
    let run = Run::of(&["drill", &server.url, "--no-audit"]).args(&SHORT).args(&FOR);
    let run = run.args(&["--stop", "true", "--start", "true"]).start();
    let requests = || server.as_stand_in().expect("a stand-in").counters().requests;
    while requests() < 100 {
        std::thread::sleep(Duration::from_millis(20));
    }
    let others = ["run", &server.url, "--docs", "40", "--mix", "read=1", "-c", "2", "-n", "900"];
    measure([&others[..], &["--no-observe"]].concat());
    let report = run.finish().full_report();
    assert!(report.contains("% of this server's requests were not this run's"), "{report}");
}

#[test]
fn a_command_that_fails_is_reported_without_its_secrets_and_mended() {
    let server = Server::stand_in(Options::default());
    let folder = tempfile::tempdir().expect("a folder");
    let mended = folder.path().join("mended");
    let start = format!("touch {}", mended.display());
    let stop = "echo curl -u a:s3cret http://ann:s3cret@h; exit 3";
    let run = Run::of(&["drill", &server.url]).args(&SHORT).args(&FOR);
    let run = run.args(&["--stop", stop, "--start", &start]).finish();
    assert_eq!(run.code, 5, "{}", run.stderr);
    assert!(mended.exists());
    let message = "the drill is not valid: --stop ended with exit status: 3";
    assert!(run.stderr.contains(message), "{}", run.stderr);
    let [stopped, started] = steps(&run);
    assert_eq!(stopped["output"], "curl -u *** http://ann:***@h");
    assert_eq!(started["problem"], Value::Null);
    let shown = format!("{}{}{}", run.stdout, run.stderr, run.record);
    assert!(!shown.contains("s3cret"), "{}", run.record["plan"]);

    let run = Run::of(&["drill", &server.url]).args(&SHORT).args(&FOR);
    let run = run.args(&["--stop", "true", "--start", "exit 4"]).finish();
    let message = "the drill is not valid: --start ended with exit status: 4";
    assert!(run.code == 5 && run.stderr.contains(message), "{}", run.stderr);
}

#[test]
fn a_command_that_hangs_is_not_waited_for() {
    let server = Server::stand_in(Options::default());
    let folder = tempfile::tempdir().expect("a folder");
    let pids = ["stop", "start"].map(|name| folder.path().join(name));
    let hang = |at: usize| format!("echo $$ > {}; exec sleep 1000", pids[at].display());
    let run =
        Run::of(&["drill", &server.url]).args(&SHORT).args(&FOR).args(&["--command-timeout", "1s"]);
    let run = run.args(&["--stop", &hang(0), "--start", &hang(1)]).finish();
    let pid = |at: usize| std::fs::read_to_string(&pids[at]).expect("a process").trim().to_owned();
    // A waiting shell is indistinguishable from a server that was started.
    let left = Command::new("kill").arg(pid(1)).status().expect("kill");
    assert!(left.success());
    let gone = Command::new("kill").args(["-0", &pid(0)]).output().expect("kill");
    assert!(!gone.status.success(), "it was killed");
    assert_eq!(run.code, 5, "{}", run.stderr);
    let [stopped, started] = steps(&run);
    assert_eq!(stopped["problem"], "--stop had not ended after 1 s and was killed");
    assert_eq!(started["problem"], "--start had not ended after 1 s; it was left running");
}

/// Stopped by the user while something is broken, once or twice.
#[test]
fn whoever_leaves_in_the_broken_phase_leaves_nothing_broken() {
    for times in [1, 2] {
        let server = Server::stand_in(Options::default());
        let folder = tempfile::tempdir().expect("a folder");
        let [broken, mended] = ["broken", "mended"].map(|name| folder.path().join(name));
        let stop = format!("touch {}", broken.display());
        let start = format!("sleep 1; touch {}", mended.display());
        let run = Run::of(&["drill", &server.url]).args(&SHORT).args(&["--broken", "10m"]);
        let run = run.args(&["--stop", &stop, "--start", &start]).start();
        assert!(appears(&broken));
        run.interrupt();
        if times == 2 {
            std::thread::sleep(Duration::from_millis(300));
            run.interrupt();
        }
        let run = run.finish();
        assert!(mended.exists(), "{}", run.stderr);
        if times == 1 {
            assert_eq!(run.code, 130, "{}", run.stderr);
            let [_, started] = steps(&run);
            assert_eq!(started["problem"], Value::Null);
        }
    }
}

#[test]
fn a_server_that_forgets_while_it_is_broken_is_found_out() {
    let server = Server::stand_in(Options::default());
    let database = format!("{}/forgets", server.url);
    let ask = |method: &str| {
        let request = ureq::http::Request::builder().method(method).uri(&database);
        ureq::run(request.body(()).expect("a request")).expect("an answer");
    };
    let forget = || {
        ask("DELETE");
        ask("PUT");
    };
    let run = obeyed(&[&database], &["--keep"], forget, || ());
    assert_eq!(run.code, 6, "{}{}", run.stdout, run.stderr);
    let verified = run.operation("audit", "verify");
    assert!(number(&verified["failures"]["lost"]) >= 30, "{verified}");
    assert!(run.stderr.contains("data wrong: "), "{}", run.stderr);
}

/// The URLs of a cluster as words.
pub(crate) fn urls(cluster: &StandIn) -> Vec<String> {
    cluster.urls().clone()
}

#[test]
fn each_node_is_asked_for_all_that_was_acknowledged() {
    let cluster = cluster(Options::default());
    let urls = urls(&cluster);
    let words: Vec<&str> = urls.iter().map(String::as_str).collect();
    let set = |state| {
        let cluster = &cluster;
        move || cluster.set_node(2, state)
    };
    let run = obeyed(&words, &[], set(NodeState::Down), set(NodeState::Up));
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let counts = ["audit_1", "audit_2", "audit_3"].map(|stage| {
        let verified = run.operation(stage, "verify");
        assert_eq!(verified["failures"], serde_json::json!({}), "{stage}");
        number(&verified["ok"])
    });
    assert!(counts[0] > 60 && counts.iter().all(|it| *it == counts[0]), "{counts:?}");
    let node = &run.stage("crud")["nodes"][2];
    let gone = node["unreachable"].as_array().expect("when it was gone");
    assert!(!gone.is_empty(), "{node}");

    // It never comes back: the others are audited, and the result is not called good.
    let more = ["--give-up", "2s"];
    let run = obeyed(&words, &more, set(NodeState::Down), || ());
    assert_eq!(run.code, 5, "{}{}", run.stdout, run.stderr);
    let why = run.stage("audit_3")["unasked"].as_str().expect("a reason").to_owned();
    assert!(why.starts_with("nothing could be asked of http://"), "{why}");
    assert!(run.stderr.contains("audit incomplete: nothing could be asked of"), "{}", run.stderr);
    assert!(number(&run.operation("audit_2", "verify")["ok"]) > 60);
}

#[test]
fn what_a_drill_cannot_do_is_refused_in_words() {
    let commands = ["--stop", "true", "--start", "true"];
    for (words, message) in [
        (&["--stop", "true"][..], "--stop: nothing would mend what it has broken; give --start"),
        (&["--start", "true"], "--start: there is nothing to mend; give --stop, too"),
        (&[], "--stop: it is not said what to break; give --stop COMMAND and --start COMMAND"),
        (&["--stop", " ", "--start", "a"], "--stop: is empty; give a shell command"),
        (
            &["--stop", "a", "--maintenance", "1"],
            "--maintenance: there is a command as well; break one thing at a time",
        ),
        (&["--maintenance", "2"], "--maintenance: \"2\" is none of the targets; give 1 to 1"),
        (&["--maintenance", "h:2"], "\"h:2\" is none of the targets; give 1 to 1, or one of h:1"),
    ] {
        springload(["drill", "h:1"].iter().chain(words)).refused(2, &[message]);
    }
    let with = |words: &[&str]| springload(["drill", "h:1"].iter().chain(&commands).chain(words));
    for (words, message) in [
        (&["--before", "4s"][..], "--before: 4 s is too short; give 5s or more"),
        (&["--broken", "0s"], "--broken: 0 s is too short; give 1s or more"),
        (&["--after", "5s"], "--after: 5 s is too short; give 6s or more"),
        (&["--after", "48h"], "--after: is more than a day; give a time such as 30s"),
        (&["--command-timeout", "0s"], "--command-timeout: 0 s is too short"),
        (&["-d", "1m"], "--duration: the phases of a drill decide that; give --before, --broken"),
        (&["-n", "100"], "--ops: the phases of a drill decide that; leave it out"),
        (&["--agents", "2"], "--agents: a drill is carried out by one process; leave it out"),
        (
            &["--workload", "bulk-insert"],
            "--workload: this workload has no part that goes on for a given time",
        ),
    ] {
        with(words).refused(2, &[message]);
    }
    springload(["drill"].iter().chain(&commands)).refused(2, &["springload serve"]);
    let redis = ["drill", "redis://h:1", "--maintenance", "1"];
    springload(redis).refused(2, &["has no maintenance mode; give --stop and --start"]);
    let two = springload(["drill", "h:1"].iter().chain(&commands).chain(&["--stages", "5s:10"]));
    assert_eq!(two.code, 2);
    assert!(two.stderr.contains("--stages: the phases of a drill decide that"), "{}", two.stderr);
}

#[test]
fn a_drill_is_not_run_from_its_record() {
    let server = Server::stand_in(Options::default());
    let words = ["drill", &server.url, "--stop", "true", "--start", "true", "--dry-run"];
    let plan = springload(words);
    assert_eq!(plan.code, 0, "{}", plan.stderr);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("plan.json");
    std::fs::write(&file, &plan.stdout).expect("a file");
    let again = springload(["run", file.to_str().expect("UTF-8")]);
    again.refused(2, &["drill: commands that break a server are not taken from a file"]);
}
