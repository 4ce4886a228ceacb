//! The IDs of documents: runs that share a database do not collide, and the same seed gives the
//! same IDs.

use std::collections::HashSet;

use serde_json::Value;
use springload::embedded::Options;

use crate::proxy::Proxy;
use crate::servers::Server;
use crate::springload::{Finished, measure, springload};

fn stand_in() -> Server {
    Server::stand_in(Options::default())
}

/// Creates an empty database and returns its address.
fn database(server: &Server, name: &str) -> String {
    let url = format!("{}/{name}", server.url);
    ureq::put(&url).send_empty().expect("a database");
    url
}

/// The identifiers of all documents, sorted.
fn ids(url: &str) -> Vec<String> {
    let mut answer = ureq::get(format!("{url}/_all_docs")).call().expect("an answer");
    let text = answer.body_mut().read_to_string().expect("a body");
    let view: Value = serde_json::from_str(&text).expect("JSON");
    let rows = view["rows"].as_array().expect("rows");
    rows.iter().map(|row| row["id"].as_str().expect("a name").to_owned()).collect()
}

/// A small run without failures on an existing database, with more flags.
#[track_caller]
fn small(url: &str, flags: &[&str]) -> Finished {
    let fixed = ["run", url, "--use-existing", "-c", "3", "--docs", "300", "--ops", "200"];
    let run = measure(fixed.into_iter().chain(flags.iter().copied())).passed();
    for stage in run.stages() {
        for operation in stage["operations"].as_array().expect("a list") {
            assert_eq!(operation["failures"], serde_json::json!({}), "{operation}");
        }
    }
    run
}

#[test]
fn runs_in_one_database_do_not_meet() {
    let server = stand_in();
    let url = database(&server, "shared");
    let fill = ["--mix", "create=1,read=1"];
    for (runs, flags) in [
        &fill[..],
        &fill,
        &[&fill[..], &["--id", "random"]].concat(),
        &["--id=uuid"],
        &["--id=uuid"],
    ]
    .into_iter()
    .enumerate()
    {
        small(&url, flags);
        assert!(ids(&url).len() >= (runs + 1) * 300, "{flags:?}");
    }
    for _ in 0..2 {
        let burst = ["burst", &url, "--use-existing", "-c", "4", "-d", "200ms"];
        let run = measure(burst).passed();
        assert_eq!(run.operation("burst_write", "create")["failures"], serde_json::json!({}));
        let ycsb = ["run", &url, "--use-existing", "--workload=ycsb-a", "--docs=50", "--ops=50"];
        let run = measure(ycsb).passed();
        assert_eq!(run.sum("bulk_insert", "ok"), 50);
    }
}

#[test]
fn a_seed_and_a_recorded_setting_repeat_all_names() {
    let server = stand_in();
    let names = |database_name: &str, flags: &[&str]| {
        let url = database(&server, database_name);
        let run = small(&url, flags);
        (run.record["plan"]["ids"].as_str().expect("a setting").to_owned(), ids(&url))
    };
    let (setting, first) = names("a", &[]);
    let (_, again) = names("b", &["--id", &setting]);
    assert_eq!(first, again);
    let (other, _) = names("c", &[]);
    assert_ne!(setting, other);
    assert_eq!(names("d", &["--seed", "7"]), names("e", &["--seed", "7"]));
    let (setting, first) = names("f", &["--id", "uuid"]);
    assert_eq!(names("g", &["--id", &setting]).1, first);
    let (setting, first) = names("h", &["--id", "uuid", "--seed", "7"]);
    assert_eq!(setting, "uuid");
    assert_eq!(names("i", &["--id", "uuid", "--seed", "7"]).1, first);
}

#[test]
fn names_have_the_form_that_is_asked_for() {
    let server = stand_in();
    let hex = |name: &String| name.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    for (id, length) in [("random", 16), ("uuid", 32)] {
        let name = format!("of_{id}");
        let url = format!("{}/{name}", server.url);
        let fixed = ["run", &url, "--keep", "-c", "3", "--docs", "90", "--ops", "100"];
        measure(fixed.into_iter().chain(["--mix", "create=1,read=1,update=1", "--id", id]))
            .passed();
        let names = ids(&url);
        assert_eq!(names.len(), 90 + 34);
        assert!(names.iter().all(|name| name.len() == length && hex(name)), "{names:?}");
    }
    let url = format!("{}/prefixed", server.url);
    let fixed = ["run", &url, "--keep", "-c", "1", "--docs", "3", "--ops", "0"];
    measure(fixed.into_iter().chain(["--id", "prefix:a b/ü-"])).passed();
    assert_eq!(ids(&url), ["a b/ü-0", "a b/ü-1", "a b/ü-2"]);
    for bad in ["nonsense", "prefix:", "prefix:_a", "random:x"] {
        measure(["run", "--id", bad]).refused(2, &["--id", "give "]);
    }
    let burst = ["burst", "--id=uuid", "--wire-size", "-s"];
    measure(burst.into_iter().chain(["106"])).refused(2, &["--size: ", "from 107"]);
    measure(["run", "--workload=ycsb-a", "--id=uuid"]).refused(2, &["--id: ", "; give prefix:"]);
}

#[test]
fn a_sweep_varies_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = format!("--output={}", folder.path().join("out").display());
    let axis = ["-L", "id=sequential,random,uuid,prefix:x"];
    let fixed = ["sweep", "--docs=100", "--ops=0", "-c=1", "-q", "--format=json", &output];
    let run = springload(fixed.into_iter().chain(axis));
    assert!(matches!(run.code, 0 | 5), "{}", run.stderr);
    let sweep: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let ok = |cell: &Value| cell["result"]["ok"] == 100;
    assert!(sweep["cells"].as_array().expect("cells").iter().all(ok), "{sweep}");
}

/// The paths requested by a run with random parts in them, sorted, and its seed.
fn requested(server: &Server, flags: &[&str]) -> (Vec<String>, u64) {
    let proxy = Proxy::to(&server.url);
    let url = format!("{}/_up?{{{{uuid}}}}", proxy.url);
    let fixed = ["http", &url, "-c", "2", "--ops", "20"];
    let run = measure(fixed.into_iter().chain(flags.iter().copied()));
    let mut paths: Vec<String> = proxy.exchanges().into_iter().map(|it| it.path).collect();
    paths.sort();
    (paths, run.record["plan"]["seed"].as_u64().expect("a seed"))
}

#[test]
fn requests_are_unlike_those_of_another_run_unless_its_seed_is_given() {
    let server = stand_in();
    let (first, seed) = requested(&server, &[]);
    let (second, _) = requested(&server, &[]);
    let distinct: HashSet<&String> = first.iter().chain(&second).collect();
    assert_eq!(distinct.len(), 40, "{first:?} {second:?}");
    assert_eq!(requested(&server, &["--seed", &seed.to_string()]), (first, seed));
}

/// The keys that a client of YCSB's workload reads, in order, and its seed.
fn read(server: &Server, url: &str, flags: &[&str]) -> (Vec<String>, u64) {
    let proxy = Proxy::to(&server.url);
    let url = url.replace(&server.url, &proxy.url);
    let couchdb = format!("couchdb.url={url}");
    let fixed = ["ycsb", "run", "couchdb", "-P", "workloads/workloadc", "-p", &couchdb];
    let counts = ["-p", "recordcount=1000", "-p", "operationcount=30", "-threads", "1"];
    let run = measure(fixed.into_iter().chain(counts).chain(flags.iter().copied()));
    let paths = proxy.exchanges().into_iter().map(|it| it.path);
    let keys = paths.filter(|path| path.contains("/usertable/user")).collect();
    (keys, run.record["plan"]["seed"].as_u64().expect("a seed"))
}

#[test]
fn clients_of_one_workload_ask_for_other_keys_unless_a_seed_is_given() {
    let server = stand_in();
    let (first, seed) = read(&server, &server.url, &[]);
    let (second, other) = read(&server, &server.url, &[]);
    assert_eq!((first.len(), second.len()), (30, 30));
    assert!(first != second && seed != other, "{first:?}");
    let again = format!("seed={seed}");
    assert_eq!(read(&server, &server.url, &["-p", &again]), (first, seed));
}
