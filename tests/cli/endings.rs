//! How runs end, and what `report` shows of their results.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use serde_json::Value;
use springload::embedded::Options;

use crate::proxy::{Message, Proxy};
use crate::servers::Server;
use crate::springload::{Running, failures, measure, number, springload};

const FORMATS: [&str; 5] = ["text", "json", "csv", "cushion", "html"];

#[test]
fn a_report_of_the_record_is_what_the_run_printed() {
    let server = Server::stand_in(Options::default());
    for format in FORMATS {
        let run = measure([
            "run",
            &server.url,
            "-c",
            "3",
            "--docs",
            "300",
            "--ops",
            "400",
            "--format",
            format,
        ])
        .passed();
        for _ in 0..2 {
            let again = run.report(format);
            assert_eq!((again.code, &again.stderr[..]), (0, ""));
            assert_eq!(again.stdout, run.stdout, "{format}");
        }
        let stored = std::fs::read_to_string(run.output().join("run.json")).expect("a record");
        assert_eq!(run.report("json").stdout, stored);
    }
}

#[test]
fn a_second_run_in_the_same_folder_loses_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().to_str().expect("UTF-8");
    for _ in 0..3 {
        let run = springload(["run", "--docs", "5", "--ops", "0", "-c", "1", "-q", "-o", out]);
        assert!(matches!(run.code, 0 | 5), "{}", run.stderr);
    }
    let mut names: Vec<_> = std::fs::read_dir(folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["report.html", "run-1.json", "run-2.json", "run.json"]);
}

#[test]
fn a_broken_record_is_refused_with_the_byte_where_it_breaks() {
    let run = measure(["run", "--docs", "20", "--ops", "20", "-c", "2"]);
    let file = run.output().join("run.json");
    let whole = std::fs::read(&file).expect("a record");
    for length in [whole.len() / 2, whole.len() - 3, 10, 0] {
        std::fs::write(&file, &whole[..length]).expect("a file");
        let words = format!("broken at byte {length} ");
        run.report("text").refused(2, &["RUN: ", &words, "; give a complete run.json"]);
    }
    let mut flipped = whole.clone();
    let at = whole.windows(7).position(|w| w == b"\"plan\":").expect("a plan") + 6;
    flipped[at] = b'!';
    std::fs::write(&file, &flipped).expect("a file");
    run.report("text").refused(2, &[&format!("broken at byte {at} ")]);
    let newer = String::from_utf8(whole).expect("UTF-8");
    let newer = newer.replacen("\"schema_version\": 2", "\"schema_version\": 3", 1);
    std::fs::write(&file, newer).expect("a file");
    let refused = run.report("text");
    let refused = refused.refused(2, &["run.json: schema_version 3 is newer", "update springload"]);
    assert!(!refused.stderr.contains("complete"), "{}", refused.stderr);
    std::fs::write(&file, "5").expect("a file");
    run.report("text").refused(2, &["expected the record of a run"]);
    springload(["report", "no/such"]).refused(2, &["RUN: cannot read no/such", "; give a"]);
    let nope = springload(["report", "x", "--format", "nope"]);
    nope.refused(2, &["--format", "text, json, csv, hlog, openmetrics, cushion"]);
}

/// A relay to `server` that sends on a channel when the `n`th document is requested.
fn tells(server: &Server, n: u64) -> (Proxy, mpsc::Receiver<()>) {
    let (sender, receiver) = mpsc::channel();
    let (sender, seen) = (std::sync::Mutex::new(sender), Arc::new(AtomicU64::new(0)));
    let hook = move |_: &str, path: &str| {
        let single = path.matches('/').count() == 2 && !path.ends_with("_bulk_docs");
        if single && seen.fetch_add(1, Ordering::SeqCst) == n {
            let _ = sender.lock().expect("no panic").send(());
        }
    };
    (Proxy::with_hook(&server.url, Box::new(hook)), receiver)
}

#[test]
fn ctrl_c_drains_and_leaves_a_partial_record() {
    let server = Server::stand_in(Options::default());
    let (proxy, begun) = tells(&server, 50);
    let run = Running::start(["run", &proxy.url, "-c", "4", "--docs", "40", "-d", "10m"]);
    begun.recv_timeout(Duration::from_secs(60)).expect("operations");
    run.interrupt();
    let run = run.finish();
    assert_eq!(run.code, 130, "{}", run.stderr);
    assert_eq!(run.record["partial"], true);
    assert!(run.stdout.starts_with("■ STOPPED  after "), "{}", run.stdout);
    assert!(run.full_report().contains(" s: this is a partial result"));
    assert_eq!(run.report("text").stdout, run.stdout);
    // Drained: everything begun was answered, and the server saw nothing else.
    let counted = server.as_stand_in().unwrap().counters();
    assert_eq!(run.sum("bulk_insert", "ok"), counted.documents_bulk);
    assert_eq!(run.sum("create", "ok"), counted.documents_created);
    assert_eq!(run.sum("read", "ok"), counted.documents_read);
    assert_eq!(run.sum("update", "ok"), counted.documents_updated);
    assert_eq!(run.sum("delete", "ok"), counted.documents_deleted);
    assert!(run.sum("read", "ok") > 0);
    assert_eq!((counted.databases_created, counted.databases_deleted), (1, 1));
}

#[test]
fn a_server_that_dies_ends_the_run_with_its_failures_counted() {
    let server = Server::stand_in(Options::default());
    let (proxy, begun) = tells(&server, 50);
    // Running against the server itself would be enough, but then the test would not know when to
    // kill it.
    let run = Running::start([
        "run",
        &proxy.url,
        "-c",
        "4",
        "--docs",
        "40",
        "-d",
        "2s",
        "--timeout",
        "1s",
    ]);
    begun.recv_timeout(Duration::from_secs(60)).expect("operations");
    let url = server.url.clone();
    drop(server);
    let run = run.finish();
    // The scratch database cannot be removed because the target is gone. Earlier failures take
    // precedence, and their share depends on how far the run got: 4 for a few percent, 5 above 10
    // %.
    assert!([3, 4, 5].contains(&run.code), "{}", run.stderr);
    assert!(run.stderr.starts_with("error: "), "{}", run.stderr);
    let reasons = ["could not be removed", "no longer answers"];
    assert!(reasons.iter().any(|text| run.stderr.contains(text)), "{}", run.stderr);
    assert!(ureq::get(&url).call().is_err(), "it is dead");
    let operations = run.stage("crud")["operations"].as_array().unwrap().clone();
    let failed: u64 = operations.iter().map(failures).sum();
    assert!(failed > 0, "{operations:?}");
    for operation in &operations {
        let (issued, ok) = (number(&operation["issued"]), number(&operation["ok"]));
        assert_eq!(issued, ok + failures(operation) + number(&operation["unfinished"]));
        for class in operation["failures"].as_object().unwrap().keys() {
            assert!(matches!(&class[..], "connect" | "reset" | "unanswered"), "{class}");
        }
    }
    let codes: Vec<_> = warnings(&run.record);
    assert!(codes.iter().any(|code| code == "failures"), "{codes:?}");
    assert_eq!(run.report("text").code, 0, "the record can be read");
}

fn warnings(record: &Value) -> Vec<String> {
    let list = record["warnings"].as_array().expect("a list").iter();
    list.map(|warning| warning["code"].as_str().expect("a code").to_owned()).collect()
}

#[test]
fn a_first_stage_is_kept_when_the_second_is_lost() {
    let server = Server::stand_in(Options::default());
    let (proxy, begun) = tells(&server, 0);
    let run = Running::start(["run", &proxy.url, "-c", "2", "--docs", "40", "-d", "10m"]);
    begun.recv_timeout(Duration::from_secs(60)).expect("operations");
    // Twice: exit at once. Signals of one kind may merge, so repeat them until it has ended.
    let run = run.interrupt_until_left();
    assert_eq!(run.code, 130, "{}", run.stderr);
    assert_eq!(run.record["partial"], true);
    assert_eq!(run.sum("bulk_insert", "ok"), 40);
    assert_eq!(run.report("text").code, 0);
}

#[test]
fn a_dry_run_prints_the_plan_and_does_nothing() {
    let dry = measure(["run", "http://127.0.0.1:9", "--docs", "1k", "-n", "10", "--dry-run"]);
    assert_eq!((dry.code, &dry.stderr[..]), (0, ""));
    let plan: Value = serde_json::from_str(&dry.stdout).expect("JSON");
    assert_eq!(plan["stages"][0]["documents"], 1000);
    assert!(!Path::new(&dry.output()).exists());
}

#[test]
fn a_run_without_documents_left_says_that_it_ended_early() {
    let server = Server::stand_in(Options::default());
    let flags = ["--docs", "200", "-c", "2", "--mix", "delete=1", "-d", "60s"];
    let run = measure(["run", &server.url].into_iter().chain(flags)).passed();
    let codes: Vec<_> = run.record["warnings"]
        .as_array()
        .expect("warnings")
        .iter()
        .map(|warning| warning["code"].as_str().expect("a code").to_owned())
        .collect();
    assert!(codes.iter().any(|code| code == "ran_dry"), "{codes:?}");
    assert_eq!(run.sum("delete", "ok"), 200);
}

/// A relay that refuses to store single documents, as a partitioned database does, and quotes the
/// password that it received.
fn refusing(server: &Server) -> Proxy {
    let answers = |request: &Message| {
        let (method, path) = request.words();
        let body = "{\"error\":\"illegal_docid\",\"reason\":\"doc id must be of form \
            partition:id\\n, pass-word\"}\n";
        let single = method == "PUT" && path.matches('/').count() == 2;
        single.then(|| {
            let length = body.len();
            let head = format!("HTTP/1.1 400 Bad Request\r\nContent-Length: {length}\r\n\r\n");
            format!("{head}{body}").into_bytes()
        })
    };
    Proxy::with_answers(&server.url, Box::new(answers))
}

#[test]
fn the_server_s_own_reason_stands_wherever_failures_do() {
    let admin = Some(("ann".to_owned(), "pass-word".to_owned()));
    let server = Server::stand_in(Options { admin, ..Options::default() });
    let proxy = refusing(&server);
    let url = proxy.url.replace("http://", "http://ann:pass-word@");
    let run =
        measure(["run", &url, "-c", "2", "--docs", "20", "--ops", "200", "--mix", "create=1"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    let said = "illegal_docid: doc id must be of form partition:id , ***";
    let reason = &run.operation("crud", "create")["reasons"]["rejected"];
    assert_eq!(*reason, serde_json::json!({ "status": 400, "reason": said }));
    let words = format!("200 rejected: {said} (status 400)");
    let report = run.full_report();
    assert!(report.contains(&words), "{report}");
    let line = "  ✗ 200 create: rejected (400 illegal_docid: doc id must be of form";
    assert!(run.stdout.contains(line), "{}", run.stdout);
    for format in ["html", "cushion"] {
        let stdout = run.report(format).stdout;
        assert!(stdout.contains(&words), "{format}: {stdout}");
    }
    let line = format!("error: failed: no operation of the mixed stage succeeded: {words}");
    assert!(run.stderr.lines().any(|it| it == line), "{}", run.stderr);
    assert_eq!(run.operation("bulk_insert", "bulk_insert")["reasons"], Value::Null);
    assert!(!run.record.to_string().contains("pass-word"));
}

#[test]
fn what_the_system_says_is_shown_where_nobody_answers() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    drop(listener);
    let run = measure(["http", &url, "-c", "1", "--ops", "3"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    let lines: Vec<_> = run.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(lines.len(), 1, "{}", run.stderr);
    assert!(lines[0].contains("onnection refused"), "{}", run.stderr);
}

/// Everything measured until shortly before `kill -9` is saved, in each format, and marked as
/// incomplete.
#[test]
fn a_killed_run_loses_its_last_seconds_only() {
    let server = Server::stand_in(Options::default());
    let words = ["run", &server.url, "-c", "3", "--docs", "300", "--rate", "400", "-d", "60s"];
    let run = Running::start(words);
    let folder = run.output();
    let record = || -> Value {
        let text = std::fs::read_to_string(folder.join("run.json")).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    };
    let saved = || record()["stages"][1]["series"].as_array().map_or(0, Vec::len);
    while saved() < 3 {
        std::thread::sleep(Duration::from_millis(50));
    }
    run.signal(rustix::process::Signal::KILL);
    let out = folder.display().to_string();
    let text = springload(["report", &out]);
    let reason = "springload was killed, or still runs: the mixed stage is known up to ";
    let joined = text.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined.contains(&format!("result: stopped: {reason}")), "{}", text.stdout);
    assert!(joined.contains("trust: unfinished"), "{}", text.stdout);
    assert!(!joined.contains("client CPU"), "it is not known: {}", text.stdout);
    let stage = &record()["stages"][1];
    assert_eq!(stage["verdict"]["kind"], "unfinished");
    // As many as were due, each in its own second.
    let ok = |it: &Value| -> u64 {
        let kinds = it["kinds"].as_object().expect("kinds").values();
        kinds.map(|kind| number(&kind["ok"])).sum()
    };
    let per_second: Vec<u64> = stage["series"].as_array().expect("rows").iter().map(ok).collect();
    let whole = &per_second[..per_second.len() - 1];
    assert!(whole.iter().all(|ok| ok.abs_diff(400) <= 40), "{per_second:?}");
    let operations = stage["operations"].as_array().expect("operations").iter();
    let sum: u64 = operations.map(|it| number(&it["ok"])).sum();
    assert_eq!(sum, per_second.iter().sum::<u64>());
    for format in ["html", "csv", "openmetrics", "junit", "svg", "hlog"] {
        let run = springload(["report", &out, "--format", format]);
        assert_eq!(run.code, 0, "{format}: {}", run.stderr);
    }
}
