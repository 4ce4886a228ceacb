//! `springload ycsb run rest`: YCSB's trace replay, checked by the server, and against the
//! operations that YCSB's `BasicDB` received.

use std::collections::BTreeMap;
use std::path::Path;

use crate::server::Server;
use crate::springload::{Finished, measure, number, springload};

const CLASS: &str = "workload=site.ycsb.workloads.RestWorkload";

/// A folder with the four traces.
fn traces() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in [
        ("readtrace.txt", "/a?x=1\n/status/404\n/b\n"),
        ("inserttrace.txt", "/new\n"),
        ("updatetrace.txt", "/old\n/older\n"),
        ("deletetrace.txt", "/gone\n"),
    ] {
        std::fs::write(folder.path().join(name), text).expect("a trace");
    }
    folder
}

/// Properties that name the traces in a folder.
fn named(folder: &Path) -> Vec<String> {
    let property = |kind: &str| {
        let path = folder.join(format!("{kind}trace.txt"));
        ["-p".to_owned(), format!("url.trace.{kind}={}", path.display())]
    };
    ["read", "insert", "update", "delete"].into_iter().flat_map(property).collect()
}

fn replay(binding: &str, folder: &Path, more: &[&str]) -> Finished {
    let (words, named) = (["ycsb", "run", binding, "-p", CLASS], named(folder));
    let named = named.iter().map(String::as_str);
    measure(words.into_iter().chain(named).chain(more.iter().copied()))
}

#[test]
fn what_the_traces_say_goes_over_the_wire() {
    let (server, folder) = (Server::start(), traces());
    let prefix = format!("url.prefix={}/base", server.url);
    let headers = "headers=Accept text/plain X-Own yes";
    let mix =
        ["readproportion=2", "insertproportion=1", "updateproportion=1", "deleteproportion=1"];
    let mut words = vec!["-p", &prefix, "-p", headers, "-p", "operationcount=500", "-threads", "3"];
    words.extend(mix.iter().flat_map(|property| ["-p", property]));
    words.extend(["-p", "fieldlength=9", "-p", "maxerrorrate=1"]);
    let run = replay("rest", folder.path(), &words).passed();
    let mut asked: BTreeMap<String, u64> = BTreeMap::new();
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for seen in server.seen() {
        *asked.entry(seen.what()).or_default() += 1;
        let (kind, length) = match seen.method.as_str() {
            "GET" => ("read", 0),
            "POST" => ("create", 9),
            "PUT" => ("update", 9),
            _ => ("delete", 0),
        };
        *kinds.entry(kind).or_default() += 1;
        assert_eq!(seen.body.len(), length, "{seen:?}");
        assert_eq!((seen.header("accept"), seen.header("x-own")), ("text/plain", "yes"));
        assert_eq!(seen.header("accept-encoding"), "identity");
    }
    let expected = [
        "DELETE /base/gone",
        "GET /base/a?x=1",
        "GET /base/b",
        "GET /base/status/404",
        "POST /base/new",
        "PUT /base/old",
        "PUT /base/older",
    ];
    assert_eq!(asked.keys().collect::<Vec<_>>(), expected);
    assert_eq!(kinds.values().sum::<u64>(), 500);
    for (kind, count) in kinds {
        let operation = run.operation("run", kind);
        assert_eq!(number(&operation["requests"]), count, "{kind}");
        assert_eq!(number(&operation["http_requests"]), count, "{kind}");
    }
    // Under a subpath, the server does not simulate statuses.
    assert!(run.stdout.contains("[DELETE], Return=OK, "), "{}", run.stdout);
}

#[test]
fn statuses_are_return_codes() {
    let (server, folder) = (Server::start(), traces());
    let prefix = format!("url.prefix={}", server.url);
    let words = ["-p", &prefix, "-p", "operationcount=300", "-p", "updateproportion=0"];
    let run = replay("rest", folder.path(), &[&words[..], &["-p", "maxerrorrate=1"]].concat());
    let read = run.passed();
    let missing = read.operation("run", "read")["failures"]["not_found"].clone();
    let seen = server.whats().iter().filter(|what| *what == "GET /status/404").count();
    assert_eq!(number(&missing), seen as u64);
    assert!(read.stdout.contains(&format!("[READ], Return=NOT_FOUND, {seen}\n")));
}

#[test]
fn basic_prints_what_ycsbs_basicdb_prints_of_traces() {
    let folder = traces();
    let mix =
        ["insertproportion=1", "deleteproportion=1", "updateproportion=1", "operationcount=200"];
    let mut words: Vec<&str> = mix.iter().flat_map(|property| ["-p", property]).collect();
    words.extend(["-p", "fieldlength=3"]);
    let run = replay("basic", folder.path(), &words).passed();
    // The lines of `RestWorkload` with `BasicDB`, from YCSB's head on Java 17; texts are random.
    for (start, end) in [
        ("READ null /a?x=1 [ <all fields>]", ""),
        ("INSERT null /new [ data=", " ]"),
        ("UPDATE null /older [ data=", " ]"),
        ("DELETE null /gone", ""),
    ] {
        let line = run.stdout.lines().find(|line| line.starts_with(start)).expect(start);
        let random = line.len() - start.len() - end.len();
        assert!(line.ends_with(end) && (end.is_empty() || random == 3), "{line}");
    }
}

#[test]
fn what_makes_no_sense_of_traces_is_refused() {
    let folder = traces();
    let gone = folder.path().join("updatetrace.txt");
    std::fs::remove_file(&gone).expect("it was there");
    let words = |phase: &str, binding: &str| {
        let words = ["ycsb", phase, binding, "-p", CLASS].map(str::to_owned).to_vec();
        words.into_iter().chain(named(folder.path())).collect::<Vec<_>>()
    };
    let path = gone.display().to_string();
    for phase in ["load", "run"] {
        springload(words(phase, "rest")).refused(2, &["-p url.trace.update: ", &path, "No such"]);
    }
    std::fs::write(&gone, "/x\n").expect("a trace");
    springload(words("run", "couchdb")).refused(2, &["-p workload: RestWorkload requests URLs"]);
    springload(["ycsb", "run", "rest", "-P", "workloads/workloada"]).refused(2, &["BINDING"]);
    springload(["ycsb", "shell", "rest"]).refused(2, &["BINDING: rest has no shell"]);
    // As in YCSB, there is nothing to load.
    let loaded = springload(words("load", "rest"));
    assert!(loaded.code == 0 && loaded.stderr.contains("loads nothing"), "{}", loaded.stderr);
}
