//! What a run survives: output that cannot be written, signals, another run in the same folder, and
//! files that are not regular.

use crate::servers::Server;
use crate::springload::{BINARY, Finished, Run, Running, binary, measure, springload};
use rustix::process::Signal;
use springload::embedded::Options;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Far longer than the tests, which stop it.
const LONG: [&str; 6] = ["--docs", "40", "-c", "2", "-d", "10m"];

/// Runs it with this stdout; returns the exit status and stderr.
fn onto(stdout: Stdio, words: &[&str]) -> (i32, String) {
    let output = binary().args(words).stdout(stdout).stdin(Stdio::null()).output().expect("runs");
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    (output.status.code().expect("an exit status"), stderr)
}

fn full() -> Stdio {
    File::options().write(true).open("/dev/full").expect("a full disk").into()
}

/// A pipe whose reader has gone away.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

#[test]
fn what_cannot_be_printed_is_an_error_and_a_reader_that_leaves_is_none() {
    let run = measure(["run", "--docs", "20", "--ops", "20", "-c", "2"]);
    let folder = run.output().display().to_string();
    let har = run.output().join("a.har").display().to_string();
    let request = r#"{"method": "GET", "url": "http://a/x", "headers": []}"#;
    let entries = format!(r#"[{{"request": {request}, "response": {{"status": 200}}}}]"#);
    fs::write(&har, format!(r#"{{"log": {{"entries": {entries}}}}}"#)).expect("it is written");
    for words in [
        &["--help"][..],
        &["help", "run"],
        &["run", "-h"],
        &["--version"],
        &["completions", "bash"],
        &["man"],
        &["schema", "--docs", "20000"],
        &["run", "--dry-run"],
        &["init"],
        &["siege", "-C"],
        &["report", &folder],
        &["report", &folder, "--format", "html"],
        &["show", &folder, "--format", "json"],
        &["list", &folder],
        &["trend", &folder],
        &["import", &har],
    ] {
        let (code, stderr) = onto(full(), words);
        assert_eq!((code, stderr.matches("No space left").count()), (1, 1), "{words:?}: {stderr}");
        assert_eq!(onto(closed(), words), (0, String::new()), "{words:?}");
    }
}

#[test]
fn a_run_whose_output_is_lost_goes_on_to_its_end() {
    let server = Server::stand_in(Options::default());
    let folder = tempfile::tempdir().expect("a folder");
    for (at, stdout, stderr, wanted) in
        [(0, closed(), closed(), 0), (1, full(), full(), 1), (2, Stdio::null(), full(), 0)]
    {
        let out = folder.path().join(at.to_string());
        let mut command = binary();
        command.args(["run", &server.url, "--docs", "20", "--ops", "20", "-c", "2", "-o"]);
        let ended = command.arg(&out).stdout(stdout).stderr(stderr).status().expect("it runs");
        // 5: on a busy machine the numbers are not trustworthy, which takes precedence.
        assert!([Some(wanted), Some(5)].contains(&ended.code()), "{at}: {ended}");
        let record = fs::read_to_string(out.join("run.json")).expect("a record");
        assert!(record.contains("\"partial\": false") && out.join("report.html").exists());
    }
    let counted = server.as_stand_in().unwrap().counters();
    assert_eq!((counted.databases_created, counted.databases_deleted), (3, 3));
}

/// Starts a run, sends it these signals at once while it measures, and waits for its end.
fn signalled(server: &Server, signals: &[Signal]) -> Finished {
    let run = Running::start([&["run", &server.url][..], &LONG].concat());
    while !run.has_begun() {
        std::thread::sleep(Duration::from_millis(20));
    }
    for signal in signals {
        run.signal(*signal);
    }
    run.finish()
}

#[test]
fn signals_that_come_together_are_one_request_to_stop() {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or("0");
    let ignored = u64::from_str_radix(ignored.trim(), 16).expect("a mask");
    assert_eq!(ignored & 1, 0, "started under nohup, it would not end: use setsid");
    let server = Server::stand_in(Options::default());
    for signals in [
        &[Signal::HUP][..],
        &[Signal::TERM],
        &[Signal::TERM, Signal::TERM],
        &[Signal::TERM, Signal::CONT],
        &[Signal::TERM, Signal::HUP, Signal::INT],
    ] {
        let run = signalled(&server, signals);
        assert_eq!(run.code, 130, "{signals:?}: {}", run.stderr);
        assert_eq!(run.record["partial"], true);
        assert!(run.output().join("report.html").exists(), "{signals:?}");
        let counted = server.as_stand_in().unwrap().counters();
        assert_eq!(counted.databases_created, counted.databases_deleted, "{signals:?}");
    }
}

#[test]
fn nohup_has_its_effect() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "trap '' HUP; \"$0\" run --docs 20 -c 2 -d 3s -q -o out & sleep 1.5; \
        kill -HUP $!; wait $!";
    let ended = Command::new("sh")
        .args(["-c", script, BINARY])
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .status();
    assert_ne!(ended.expect("it runs").code(), Some(130));
    let record = fs::read_to_string(folder.path().join("out/run.json")).expect("a record");
    assert!(record.contains("\"partial\": false"));
}

#[test]
fn a_folder_that_another_run_writes_to_is_refused() {
    let first = Running::start([&["run"][..], &LONG].concat());
    while !first.has_begun() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let out = first.output().display().to_string();
    let again = ["run", "--docs", "5", "--ops", "5", "-q", "-o", &out];
    springload(again).refused(2, &["--output: ", "another run is writing to it"]);
    // However a run ends, its folder is unlocked.
    first.signal(Signal::KILL);
    assert!((0..100).any(|_| springload(again).code != 2), "still locked");
}

#[test]
fn a_link_that_somebody_planted_is_not_followed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (out, victim) = (folder.path().join("out"), folder.path().join("victim"));
    fs::create_dir(&out).expect("a folder");
    fs::write(&victim, "precious").expect("a file");
    for name in [".run.json.new", ".report.html.new"] {
        std::os::unix::fs::symlink(&victim, out.join(name)).expect("a link");
    }
    let out = out.to_str().expect("UTF-8");
    springload(["run", "--docs", "5", "--ops", "5", "-c", "1", "-q", "-o", out]);
    assert_eq!(fs::read_to_string(victim).expect("a file"), "precious");
    assert!(Path::new(out).join("run.json").exists());
}

#[test]
fn a_device_and_a_pipe_that_says_nothing_are_no_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe").display().to_string();
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let body = format!("@{pipe}");
    let verbs: [&[&str]; 14] = [
        &["audit"],
        &["run", "http://127.0.0.1:1", "--bearer-file"],
        &["run", "https://127.0.0.1:1", "-k", "--tls-key", "/dev/null", "--tls-cert"],
        &["sweep", "-L", "connections=1,2", "--schema"],
        &["ycsb", "run", "couchdb", "-p", "measurementtype=x", "-P"],
        &["report"],
        &["show"],
        &["run", "--docs", "1", "--dry-run", "--schema"],
        &["http", "-f"],
        &["siege", "-f"],
        &["siege", "-C", "-R"],
        &["ycsb", "run", "couchdb", "-P"],
        &["schema"],
        &["run", "https://127.0.0.1:1", "--tls-ca"],
    ];
    std::thread::scope(|scope| {
        let body = &body;
        let pipe = &pipe[..];
        scope.spawn(move || {
            springload(["http", "-X", "POST", "http://127.0.0.1:1", "--body", body])
                .refused(2, &["nothing was written to it"]);
        });
        for words in verbs {
            for (file, problem) in [("/dev/zero", "larger than"), (pipe, "nothing was written")] {
                scope.spawn(move || {
                    let ended = springload([words, &[file]].concat());
                    assert!(matches!(ended.code, 2 | 3), "{words:?} {file}: {}", ended.stderr);
                    assert!(ended.stderr.contains(problem), "{words:?} {file}: {}", ended.stderr);
                });
            }
        }
    });
}

#[test]
fn what_a_command_writes_to_a_pipe_is_read() {
    let script =
        "exec \"$0\" run --docs 5 --ops 5 --dry-run --schema <(sleep 0.3; echo '{\"a\": 1}')";
    let ended = Command::new("bash").args(["-c", script, BINARY]).output().expect("it runs");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

#[test]
fn variables_that_double_are_bounded() {
    let doubled = (1..=34).map(|n| format!("A{n} = $(A{})$(A{})\n", n - 1, n - 1));
    let lines = "A0 = 0123456789\n".to_owned() + &doubled.collect::<String>();
    let run = Run::bare(&["siege", "-f", "urls.txt"]);
    fs::write(run.folder().join("urls.txt"), lines + "http://127.0.0.1:1/$(A34)\n").expect("it");
    let ended = run.finish();
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("with its variables filled in"), "{}", ended.stderr);
    // No single line is long, but together they are.
    let text = format!("A = {}\n{}", "x".repeat(1_000), "B = $(A)$(A)\n".repeat(40_000));
    for words in [&["siege", "-f", "urls.txt"][..], &["siege", "-C", "-R", "urls.txt"]] {
        let run = Run::bare(words);
        fs::write(run.folder().join("urls.txt"), &text).expect("it");
        let ended = run.finish();
        assert_eq!(ended.code, 2, "{}", ended.stderr);
        assert!(ended.stderr.contains("the variables add more than"), "{}", ended.stderr);
    }
}

#[test]
fn a_limit_on_the_size_of_files_is_reported() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let line = "ulimit -f 8; exec \"$0\" run --docs 20 --ops 20 -c 1 -q -o out";
    let output = Command::new("sh")
        .args(["-c", line, BINARY])
        .env("SPRINGLOAD_STATE", "")
        .env("TMPDIR", folder.path())
        .current_dir(folder.path())
        .output()
        .expect("a shell");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    // A signal would leave no exit status; the status of a busy machine takes precedence.
    assert!(matches!(output.status.code(), Some(1 | 5)), "{stderr}");
    assert!(stderr.contains("error: cannot write out/run.json: File too large"), "{stderr}");
    assert!(!folder.path().join("out/run.json").exists(), "half a record");
}

#[test]
fn a_report_for_a_pipe_that_nobody_reads_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let pipe = folder.path().join("pipe.html");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let ask = |words: &[&str]| {
        let mut command = assert_cmd::Command::from_std(binary());
        command.args(words).current_dir(folder.path()).timeout(Duration::from_secs(300));
        let output = command.output().expect("an end");
        let stderr = String::from_utf8(output.stderr).expect("UTF-8");
        (output.status.code(), stderr)
    };
    let run = ["run", "--docs", "5", "--ops", "5", "-c", "1", "-q", "--noise", "warn"];
    let (code, stderr) = ask(&[&run[..], &["-o", "pipe.html"]].concat());
    let refused = "cannot write pipe.html: nobody reads from it";
    assert!(code == Some(1) && stderr.contains(refused), "{code:?}: {stderr}");
    let (code, stderr) = ask(&["report", "latest", "-o", "pipe.html"]);
    assert!(code == Some(2) && stderr.contains(refused), "{code:?}: {stderr}");
    let (code, stderr) = ask(&["trend", "springload-runs", "-o", "pipe.html"]);
    assert!(code == Some(2) && stderr.contains(refused), "{code:?}: {stderr}");
    // A device takes everything.
    let (code, stderr) = ask(&["report", "latest", "--format", "html", "-o", "/dev/null"]);
    assert!(code == Some(0), "{code:?}: {stderr}");
}

#[test]
fn a_pipe_in_place_of_a_record_is_reported_at_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let runs = folder.path().join("springload-runs/pipe");
    fs::create_dir_all(&runs).expect("a folder");
    let pipe = runs.join("run.json");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    let ask = |words: &[&str]| {
        let mut command = assert_cmd::Command::new(BINARY);
        command.env("SPRINGLOAD_STATE", "").args(words).current_dir(folder.path());
        // Nothing is ever written to the pipe: waiting for that would take ten seconds.
        let output = command.timeout(Duration::from_secs(8)).output().expect("an end");
        let printed = output.stdout.iter().chain(&output.stderr).copied().collect();
        (output.status.code(), String::from_utf8(printed).expect("UTF-8"))
    };
    let (code, printed) = ask(&["list", "--json"]);
    assert!(code == Some(0) && printed.contains("not a regular file"), "{printed}");
    let (code, printed) = ask(&["compare", "springload-runs", "springload-runs"]);
    assert!(code == Some(2) && printed.contains("is not a regular file, left out"), "{printed}");
    let (code, printed) = ask(&["report", "latest"]);
    assert!(code == Some(2) && printed.contains("no runs are saved in"), "{printed}");
}
