//! `springload ycsb` as a user of YCSB sees it, and YCSB's workloads in `run`.

use serde_json::Value;
use springload::embedded::{Delay, Faults, Options};

use crate::servers::Server;
use crate::springload::{Finished, failures, measure, number, springload};

/// YCSB's keys of records 0 and 1: `Utils.hash`, printed by its own code.
const KEYS: [&str; 2] = ["user6284781860667377211", "user8517097267634966620"];

fn stand_in() -> Server {
    Server::stand_in(Options::default())
}

fn request(server: &Server, verb: &str, path: &str, body: &str) -> Value {
    let builder = ureq::http::Request::builder().method(verb);
    let builder = builder.uri(format!("{}{path}", server.url));
    let request = builder.header("content-type", "application/json").body(body.to_owned());
    let config = ureq::Agent::config_builder().http_status_as_error(false);
    let agent: ureq::Agent =
        config.timeout_global(Some(std::time::Duration::from_secs(10))).build().into();
    let mut answer = agent.run(request.expect("a request")).expect("an answer");
    let text = answer.body_mut().read_to_string().expect("a body");
    serde_json::from_str(&text).expect("JSON")
}

/// Runs a phase on `server`, with more words.
fn ycsb(server: &Server, phase: &str, words: &[&str]) -> Finished {
    let url = format!("couchdb.url={}", server.url);
    measure(["ycsb", phase, "couchdb", "-p", &url].into_iter().chain(words.iter().copied()))
}

/// The number of operations of each kind in the stage `run`; none may have failed.
#[track_caller]
fn done(run: &Finished) -> Vec<(String, u64)> {
    let operations = run.stage("run")["operations"].as_array().expect("a list");
    let count = |operation: &Value| {
        assert_eq!(failures(operation), 0, "{operation}");
        assert_eq!(operation["unfinished"], 0);
        (operation["kind"].as_str().expect("a kind").to_owned(), number(&operation["ok"]))
    };
    operations.iter().map(count).collect()
}

/// Asserts that a kind has its share of all operations, to within 1 %.
#[track_caller]
fn assert_share(done: &[(String, u64)], kind: &str, share: f64, all: u64) {
    let count = done.iter().find(|(name, _)| name == kind).map_or(0, |(_, count)| *count);
    let off = (count as f64 / all as f64 - share).abs();
    assert!(off < 0.01, "{kind}: {count} of {all}, not {share}");
}

/// All standard workloads, one after the other in YCSB's order, on a server.
fn standard_workloads(server: &Server, records: u64, operations: u64) {
    let records_count = format!("recordcount={records}");
    let phase_of = |phase: &str, workload: &str, operations: u64| {
        let file = format!("workloads/workload{workload}");
        let count = format!("operationcount={operations}");
        let counts = ["-p", &records_count, "-p", &count, "-threads", "8", "-p", "seed=42"];
        ycsb(server, phase, &[&["-P", &file], &counts[..]].concat()).passed()
    };
    let phase = |phase: &str, workload: &str| phase_of(phase, workload, operations);
    let loaded = phase("load", "a");
    assert_eq!(number(&loaded.operation("load", "create")["ok"]), records);
    for (workload, shares) in [
        ("a", &[("read", 0.5), ("update", 0.5)][..]),
        ("b", &[("read", 0.95), ("update", 0.05)]),
        ("c", &[("read", 1.0)]),
        ("f", &[("read", 1.0), ("update", 0.5), ("read_modify_write", 0.5)]),
        ("d", &[("read", 0.95), ("create", 0.05)]),
    ] {
        let done = done(&phase("run", workload));
        for (kind, share) in shares {
            assert_share(&done, kind, *share, operations);
        }
        assert_eq!(done.len(), shares.len(), "{done:?}");
    }
    request(server, "DELETE", "/usertable", "");
    phase("load", "e");
    // A scan returns fifty records on average.
    let operations = operations / 4;
    let run = phase_of("run", "e", operations);
    assert_share(&done(&run), "scan", 0.95, operations);
    let scan = run.operation("run", "scan");
    // Each scan found at least one record: the one that it began with.
    assert_eq!(scan["per_row"]["samples"], scan["requests"]);
    let mean = |times: &str| scan[times]["mean_us"].as_f64().expect("a mean");
    assert!(mean("per_row") < mean("service"), "{scan}");
    assert!(scan["rows"].as_u64() > scan["requests"].as_u64());
    let line = format!("[SCAN-LATENCY-PER-RECORD], Operations, {}\n", scan["requests"]);
    assert!(run.stdout.contains(&line), "{}", run.stdout);
    assert_share(&done(&run), "create", 0.05, operations);
    let inserted = number(&run.operation("run", "create")["ok"]);
    let count = request(server, "GET", "/usertable", "");
    assert_eq!(number(&count["doc_count"]), records + inserted);
}

#[test]
fn standard_workloads_on_the_stand_in() {
    // With a fixed seed, the shares are the same each time.
    standard_workloads(&stand_in(), 500, 6000);
}

#[test]
fn standard_workloads_on_pouchdb_server() {
    let Some(server) = Server::pouchdb() else { return };
    let words = ["-P", "workloads/workloada", "-p", "recordcount=50", "-p", "operationcount=60"];
    let words = [&words[..], &["-threads", "4"]].concat();
    ycsb(&server, "load", &words).passed();
    for workload in ["a", "b", "c", "d", "e", "f"] {
        let file = format!("workloads/workload{workload}");
        let run =
            ycsb(&server, "run", &[&words[..], &["-P", &file, "-p", "operationcount=60"]].concat())
                .passed();
        let parts = ["read_modify_write", "update"];
        let all = done(&run)
            .into_iter()
            .filter(|(kind, _)| workload != "f" || !parts.contains(&kind.as_str()));
        assert_eq!(all.map(|(_, count)| count).sum::<u64>(), 60);
        if workload == "d" {
            // The second client would insert the same records again.
            request(&server, "DELETE", "/usertable", "");
            let counts = &words[2..];
            ycsb(&server, "load", &[&["-P", &file], counts].concat()).passed();
        }
    }
}

#[test]
fn the_commands_of_a_guide_work_as_they_stand() {
    let server = stand_in();
    let url = format!("couchdb.url={}", server.url);
    let words = "couchdb -P workloads/workloada -p table=usertable -p columnfamily=cf \
                 -p recordcount=1000 -p operationcount=2000 -thread 50 -s";
    let words: Vec<&str> = words.split_whitespace().collect();
    for phase in ["load", "run"] {
        let run = measure([&["ycsb", phase], &words[..], &["-p", &url]].concat()).passed();
        assert!(run.stderr.contains("note: -thread is read as -threads\n"), "{}", run.stderr);
        assert_eq!(run.stderr.matches("columnfamily").count(), 1, "{}", run.stderr);
        let last = run.stderr.lines().rfind(|line| line.contains(" sec: ")).expect("a status line");
        let count = if phase == "load" { 1000 } else { 2000 };
        assert!(last.contains(&format!(" sec: {count} operations; ")), "{last}");
        assert!(run.stdout.starts_with("[OVERALL], RunTime(ms), "), "{}", run.stdout);
        let inserts = "[INSERT], Operations, 1000\n";
        assert_eq!(run.stdout.contains(inserts), phase == "load", "{}", run.stdout);
        assert_eq!(run.record["plan"]["connections"], 50);
    }
    for key in KEYS {
        let document = request(&server, "GET", &format!("/usertable/{key}"), "");
        let fields = (0..10).map(|i| document[format!("field{i}")].as_str().expect("a text").len());
        assert_eq!(fields.collect::<Vec<_>>(), [100; 10]);
    }
}

#[test]
fn what_is_altered_from_outside_is_found() {
    let server = stand_in();
    let words = ["-P", "workloads/workloadc", "-p", "dataintegrity=true", "-p", "recordcount=2"];
    let words = [&words[..], &["-p", "operationcount=200"]].concat();
    ycsb(&server, "load", &[&words[..], &["-p", "batchsize=2"]].concat()).passed();
    let run = ycsb(&server, "run", &words).passed();
    assert_eq!(done(&run), [("read".to_owned(), 200), ("verify".to_owned(), 200)]);

    let path = format!("/usertable/{}", KEYS[1]);
    let mut document = request(&server, "GET", &path, "");
    document["field7"] = "other".into();
    request(&server, "PUT", &path, &document.to_string());
    let run = ycsb(&server, "run", &words);
    assert_eq!(run.code, 6, "{}", run.stderr);
    let wrong = &run.operation("run", "verify")["failures"]["unexpected_state"];
    assert!((1..200).contains(&number(wrong)), "{wrong}");
    assert!(run.stdout.contains(&format!("[VERIFY], Return=UNEXPECTED_STATE, {wrong}\n")));
}

#[test]
fn failures_fail() {
    let server = stand_in();
    let words = ["-P", "workloads/workloadc", "-p", "recordcount=10", "-p", "operationcount=50"];
    // Nothing was loaded, so no read succeeds.
    let run = ycsb(&server, "run", &words);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert_eq!(run.operation("run", "read")["failures"]["not_found"], 50);

    ycsb(&server, "load", &words).passed();
    let again = ycsb(&server, "load", &words);
    assert_eq!(again.code, 3, "{}", again.stderr);
    assert!(
        again.stderr.contains("error: failed: 10 of 10 records were not loaded: 1 conflict: "),
        "{}",
        again.stderr
    );
    // A connection ends at its first failure, or continues with this property.
    assert_eq!(again.operation("load", "create")["failures"]["conflict"], 1);
    let on = "core_workload_insertion_keep_going_on_error=true";
    let again = ycsb(&server, "load", &[&words[..], &["-p", on]].concat());
    assert_eq!(again.operation("load", "create")["failures"]["conflict"], 10);

    let more = ["-p", "recordcount=12"];
    let run = ycsb(&server, "run", &[&words[..], &more].concat());
    assert_eq!(run.code, 4, "{}", run.stderr);
    let run = ycsb(&server, "run", &[&words[..], &more, &["-p", "maxerrorrate=0.9"]].concat());
    run.passed();
}

#[test]
fn an_insert_is_tried_again_after_a_pause() {
    let server = stand_in();
    let words = ["-P", "workloads/workloada", "-p", "recordcount=1"];
    ycsb(&server, "load", &words).passed();
    let limit = "core_workload_insertion_retry_limit=3";
    let interval = "core_workload_insertion_retry_interval=0.2";
    let run = ycsb(&server, "load", &[&words[..], &["-p", limit, "-p", interval]].concat());
    assert_eq!(run.operation("load", "create")["failures"]["conflict"], 4);
    let elapsed_s = run.stage("load")["elapsed_s"].as_f64().expect("seconds");
    // Three pauses of at least four fifths of the interval.
    assert!(elapsed_s >= 0.48, "{elapsed_s}");
}

#[test]
fn time_ends_what_operations_would_not() {
    let server = stand_in();
    let words = ["-P", "workloads/workloadb", "-p", "recordcount=10", "-p", "operationcount=0"];
    ycsb(&server, "load", &words).passed();
    let run = ycsb(
        &server,
        "run",
        &[&words[..], &["-p", "maxexecutiontime=1", "-target", "100", "-threads", "2"]].concat(),
    )
    .passed();
    assert!(run.stage("run")["elapsed_s"].as_f64().expect("seconds") < 10.0);
    let count: u64 = done(&run).iter().map(|(_, count)| count).sum();
    assert_eq!(count, 100);
    assert_eq!(run.stage("run")["load"]["open"], true);
}

#[test]
fn cached_updates_send_one_request_and_lose_none() {
    let server = stand_in();
    let words = ["-P", "workloads/workloadf", "-p", "recordcount=20", "-threads", "4"];
    let words = [&words[..], &["-p", "operationcount=2000"]].concat();
    ycsb(&server, "load", &words).passed();
    let revisions = |server: &Server| -> u64 {
        let rows = request(server, "GET", "/usertable/_all_docs", "");
        let generation = |row: &Value| {
            let rev = row["value"]["rev"].as_str().expect("a revision").to_owned();
            rev.split_once('-').expect("a dash").0.parse::<u64>().expect("a number")
        };
        rows["rows"].as_array().expect("rows").iter().map(generation).sum()
    };
    let mut before = revisions(&server);
    let received = ["read", "cached"].map(|how| {
        let update = format!("couchdb.update={how}");
        let run = ycsb(&server, "run", &[&words[..], &["-p", &update]].concat()).passed();
        let done = done(&run);
        let updates = done.iter().find(|(kind, _)| kind == "update").expect("updates").1;
        let after = revisions(&server);
        // Each update made one revision.
        assert_eq!(after - before, updates);
        before = after;
        number(&run.operation("run", "update")["bytes_received"]) / updates
    });
    // Updates that also read receive documents of a kilobyte.
    assert!(received[0] > 1000 && received[1] < 600, "{received:?}");
}

#[test]
fn conflicts_tried_again_are_counted_as_the_server_counts_them() {
    // Responses take a while, so that a client that reads meanwhile comes second.
    let faults = Faults { delay: Delay::Constant { ns: 1_000_000 }, ..Faults::default() };
    let server = Server::stand_in(Options { faults, ..Options::default() });
    let words = ["-P", "workloads/workloada", "-p", "recordcount=2", "-threads", "8"];
    ycsb(&server, "load", &words).passed();
    let conflicts = || server.as_stand_in().expect("a stand-in").counters().conflicts;
    let before = conflicts();
    let run = ycsb(&server, "run", &[&words[..], &["-p", "operationcount=400"]].concat()).passed();
    let update = run.operation("run", "update");
    let [updates, retries, sent] =
        ["requests", "conflict_retries", "http_requests"].map(|key| number(&update[key]));
    assert_eq!(retries, conflicts() - before);
    assert!(retries > 20, "{retries}");
    // A read and a write for each update, and for each retry.
    assert_eq!(sent, 2 * (updates + retries));
    let read = run.operation("run", "read");
    assert_eq!(read["http_requests"], read["requests"]);
    for line in [
        format!("[UPDATE], ConflictRetries, {retries}\n"),
        format!("[UPDATE], HttpRequests, {sent}\n"),
    ] {
        assert!(run.stdout.contains(&line), "{line}{}", run.stdout);
    }
    assert!(!run.stdout.contains("[READ], Http"), "{}", run.stdout);
}

/// Loads time series, queries them and appends to them, with all reads verified.
fn time_series(server: &Server) {
    let class = "workload=com.yahoo.ycsb.workloads.TimeSeriesWorkload";
    let counts = ["-p", class, "-p", "recordcount=240", "-p", "operationcount=200"];
    let shape = ["-p", "fieldcount=4", "-p", "fieldlength=5", "-p", "tagcardinality=1,1,2,3"];
    let start = ["-p", "insertstart=1700000000", "-threads", "4"];
    let verified = ["dataintegrity=true", "valuetype=integers", "randomtimeseriesorder=false"];
    let mut words = [&counts[..], &shape, &start].concat();
    // Of the 24 series, the first two are delayed, by zero intervals and by one.
    let lag = ["-p", "delayedseries=0.05"];
    words.extend(verified.iter().flat_map(|property| ["-p", *property]));
    ycsb(server, "load", &[&words[..], &lag, &["-p", "batchsize=7"]].concat()).passed();
    let count = || number(&request(server, "GET", "/usertable", "")["doc_count"]);
    assert_eq!(count(), 240);
    let mix = ["-p", "scanproportion=0.5", "-p", "insertproportion=0.5", "-p", "maxscanlength=4"];
    let few = ["-p", "delayedseries=0", "-p", "updateproportion=0"];
    let run = ycsb(server, "run", &[&words[..], &mix, &few].concat()).passed();
    let done = done(&run);
    let of = |kind: &str| done.iter().find(|(name, _)| name == kind).expect(kind).1;
    assert_eq!(of("read") + of("scan") + of("create"), 200);
    assert_eq!(of("verify"), of("read"));
    // Points that are written again replace the first ones.
    let create = run.operation("run", "create");
    let again = number(&create["conflict_retries"]);
    assert!(again > 10, "{again}");
    assert_eq!(count(), 240 + of("create") - again);
    assert_eq!(number(&create["http_requests"]), of("create") + 2 * again);
    // Ranges: the four points from a time on, fewer at the end.
    let span = ["-p", "dataintegrity=false", "-p", "querytimespan=180", "-p", "delayedseries=0"];
    let reads = ["-p", "updateproportion=0"];
    let run = ycsb(server, "run", &[&words[..], &span, &reads].concat()).passed();
    let rows = number(&run.operation("run", "read")["rows"]);
    assert!((450..=800).contains(&rows), "{rows}");
    let deletes = ["-p", "readproportion=0", "-p", "deleteproportion=1", "-p", "operationcount=8"];
    let more = ["-p", "maxerrorrate=1"];
    let before = count();
    let run = ycsb(server, "run", &[&words[..], &reads, &deletes, &more].concat()).passed();
    assert_eq!(count(), before - number(&run.operation("run", "delete")["ok"]));
}

#[test]
fn time_series_on_the_stand_in() {
    time_series(&stand_in());
}

#[test]
fn time_series_on_pouchdb_server() {
    let Some(server) = Server::pouchdb() else { return };
    time_series(&server);
}

#[test]
fn basic_prints_what_ycsbs_basicdb_prints() {
    let core = "workload=site.ycsb.workloads.CoreWorkload";
    let words =
        ["ycsb", "run", "basic", "-p", core, "-p", "recordcount=2", "-p", "operationcount=40"];
    let more = ["-p", "fieldcount=1", "-p", "fieldlength=2", "-p", "updateproportion=1"];
    let scans = ["-p", "scanproportion=1", "-p", "deleteproportion=1", "-p", "maxscanlength=1"];
    let run = measure([&words[..], &more, &scans].concat()).passed();
    let (properties, rest) = run.stdout.split_once("\n*****").expect("properties, then operations");
    assert!(properties.contains("\"recordcount\"=\"2\"\n"), "{properties}");
    let lines: Vec<&str> = rest.lines().skip(1).take(40).collect();
    for start in ["READ", "UPDATE", "SCAN", "DELETE"] {
        let line = lines.iter().find(|line| line.starts_with(start)).expect(start);
        let (head, tail) = line.split_at(start.len() + " usertable ".len() + KEYS[0].len());
        assert!(head.starts_with(&format!("{start} usertable user")), "{line}");
        match start {
            "READ" => assert_eq!(tail, " [ <all fields>]"),
            "UPDATE" => assert!(tail.starts_with(" [ field0=") && tail.ends_with(" ]"), "{line}"),
            "SCAN" => assert_eq!(tail, " 1 [ <all fields>]"),
            _ => assert_eq!(tail, ""),
        }
    }
}

#[test]
fn basic_takes_its_time_and_counts_what_differs() {
    let words = ["ycsb", "run", "basic", "-P", "workloads/workloadc", "-p", "recordcount=30"];
    let more = ["-p", "operationcount=300", "-p", "basicdb.simulatedelay=20", "-threads", "100"];
    let count = ["-p", "basicdb.count=true"];
    let run = measure([&words[..], &more, &count].concat()).passed();
    let mut lines: Vec<&str> =
        run.stdout.lines().filter(|line| line.starts_with("READ ")).collect();
    lines.sort_unstable();
    lines.dedup();
    let counts = format!("[READS], Uniques, {}\n[SCANS], Uniques, 0\n", lines.len());
    assert!(lines.len() > 5 && run.stdout.contains(&counts), "{counts}");
    // Counted without being printed.
    let quiet = ["-p", "basicdb.verbose=false"];
    let silent = measure([&words[..], &more, &count, &quiet].concat()).passed();
    assert!(silent.stdout.starts_with(&counts), "{}", silent.stdout);
    // Each whole number of milliseconds below 20 is equally likely: 9.5 on average.
    let time =
        |name: &str| silent.operation("run", "read")["service"][name].as_f64().expect("a time");
    // Four standard errors of 300 draws: 4 * 5.77 / 300^0.5 = 1.3. A busy machine only adds to the
    // times, but not to all of them.
    assert!(time("mean_us") > 8_100.0, "{}", time("mean_us"));
    assert!(time("min_us") < 10_000.0, "{}", time("min_us"));
    let fixed = ["-p", "basicdb.randomizedelay=false"];
    let run = measure([&words[..], &more, &quiet, &fixed].concat()).passed();
    let least = run.operation("run", "read")["service"]["min_us"].as_f64().expect("a time");
    assert!(least >= 20_000.0 * 0.999, "{least}");
}

#[test]
fn rows_of_a_time_series_may_be_shorter_than_a_second() {
    let words = ["ycsb", "run", "basic", "-P", "workloads/workloadc", "-p", "operationcount=40"];
    let slow = ["-p", "basicdb.simulatedelay=10", "-p", "basicdb.randomizedelay=false"];
    let rows = ["-p", "measurementtype=timeseries", "-p", "timeseries.granularity=50"];
    let quiet = ["-p", "basicdb.verbose=false"];
    let run = measure([&words[..], &slow, &rows, &quiet].concat()).passed();
    let slots = run.stage("run")["slots"].as_array().expect("slots").clone();
    assert_eq!(slots.iter().map(|slot| number(&slot["requests"])).sum::<u64>(), 40);
    // At most five fit into each step, and one that began in the previous step.
    assert!(slots.len() >= 7, "{slots:?}");
    let means: Vec<(u64, f64)> = run
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("[READ], ")?.split_once(", "))
        .filter_map(|(at, mean)| Some((at.parse().ok()?, mean.parse().ok()?)))
        .collect();
    assert_eq!(means.len(), slots.len(), "{}", run.stdout);
    for ((at_ms, mean_us), slot) in means.into_iter().zip(&slots) {
        assert_eq!((at_ms, at_ms % 50), (number(&slot["at_ms"]), 0));
        assert!(number(&slot["requests"]) <= 6 && mean_us > 9_990.0, "{slot}");
    }
}

#[test]
fn the_same_seed_asks_the_same() {
    let run = |threads: &str, seed: &str| {
        let seed = format!("seed={seed}");
        let words = ["ycsb", "run", "basic", "-P", "workloads/workloadd", "-threads", threads];
        let run = measure([&words[..], &["-p", &seed]].concat()).passed();
        let mut lines: Vec<String> = run.stdout.lines().map(str::to_owned).collect();
        lines.retain(|line| line.starts_with("READ") || line.starts_with("INSERT"));
        assert_eq!(lines.len(), 1000);
        lines.sort();
        lines
    };
    assert_eq!(run("3", "1"), run("3", "1"));
    assert_ne!(run("3", "1"), run("3", "2"));
}

#[test]
fn the_shell_reads_what_was_loaded() {
    let server = stand_in();
    let words = ["-P", "workloads/workloada", "-p", "recordcount=2", "-p", "fieldlength=3"];
    ycsb(&server, "load", &words).passed();
    let url = format!("couchdb.url={}", server.url);
    let mut shell = assert_cmd::Command::new(crate::springload::BINARY);
    let shell = shell.args(["ycsb", "shell", "couchdb", "-p", &url]);
    let shell = shell.timeout(std::time::Duration::from_secs(60));
    let output = shell.write_stdin(format!("read {}\n", KEYS[1])).output().expect("it runs");
    let stdout = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(output.status.success() && stdout.contains("field9="), "{stdout}");
}

#[test]
fn the_shell_waits_no_longer_than_its_timeout() {
    let faults = Faults { drop_fraction: 1.0, ..Faults::default() };
    let server = Server::stand_in(Options { faults, ..Options::default() });
    let url = format!("couchdb.url={}", server.url);
    let mut shell = assert_cmd::Command::new(crate::springload::BINARY);
    let shell = shell.args(["ycsb", "shell", "couchdb", "-p", &url, "--timeout", "200ms"]);
    // Less than the default timeout.
    let output = shell.timeout(std::time::Duration::from_secs(20)).output().expect("it runs");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
}

#[test]
fn a_driver_that_ycsb_has_no_binding_to_is_named_by_its_own_name() {
    let words = |phase: &'static str| ["ycsb", phase, "line", "-P", "workloads/workloada"];
    let few = ["-p", "recordcount=40", "-p", "couchdb.url=http://h:1", "-threads", "2"];
    let run = measure([&words("load")[..], &few].concat()).passed();
    assert_eq!(number(&run.operation("load", "create")["ok"]), 40);
    assert_eq!(run.record["plan"]["target"]["driver"], "line");
    assert!(run.stderr.contains("couchdb.url: ignored, a property of the binding couchdb"));
    let words = [&words("run")[..], &["-p", "line.url=http://h:1"]].concat();
    springload(words)
        .refused(2, &["-p line.url: \"http://h:1\" is not an address of line", "give line://"]);
    let series =
        springload("ycsb run line -P workloads/tsworkloada -p recordcount=2000".split(' '));
    let message =
        "error: -p line.url: a line protocol, the example of a driver cannot read ranges of ";
    assert!(series.code == 2 && series.stderr.contains(message), "{}", series.stderr);
    let table = ["ycsb", "load", "line", "-P", "workloads/workloada", "-table", "t"];
    springload(table).refused(2, &["-p line.url: a database, although this server has none"]);
}

#[test]
fn the_last_of_several_options_counts_however_each_is_written() {
    let server = stand_in();
    for (words, connections, pace) in [
        ("-threads=2 -s -s -jvm-args=-Xmx1g -cp=x -target 5 -target -1", 2, "closed"),
        ("-threads 5 -threads 3 -p target=5 -target 100000", 3, "rate"),
        ("-threads 5 -p threadcount=4 -target=-1", 4, "closed"),
        ("-p threadcount=4 --threads 5 -p target=9 --target -1", 5, "closed"),
    ] {
        let words: Vec<_> = words.split(' ').collect();
        let file = ["-P", "workloads/workloada", "-p", "recordcount=8"];
        let keep_going = ["-p", "core_workload_insertion_keep_going_on_error=true"];
        let run = ycsb(&server, "load", &[&file[..], &keep_going, &words].concat());
        assert_eq!(run.record["plan"]["connections"], connections, "{}", run.stderr);
        let stage = &run.record["plan"]["stages"][0]["pace"];
        assert_eq!(stage.to_string().contains("closed"), pace == "closed", "{stage}");
    }
}

#[test]
fn throughput_counts_what_succeeded() {
    let server = stand_in();
    let keep_going = "core_workload_insertion_keep_going_on_error=true";
    let words = ["-P", "workloads/workloada", "-p", keep_going, "-p", "recordcount=50"];
    let loaded = ycsb(&server, "load", &words).passed();
    let throughput = |run: &Finished| -> f64 {
        let line = run.stdout.lines().find(|line| line.contains("Throughput(ops/sec)"));
        let value = line.and_then(|line| line.rsplit(", ").next()).expect("a throughput");
        value.parse().expect("a number")
    };
    assert!(throughput(&loaded) > 0.0);
    // Every record exists already.
    let again = ycsb(&server, "load", &words);
    assert_eq!((again.code, throughput(&again)), (3, 0.0), "{}", again.stdout);
    assert!(again.stdout.contains("[INSERT], Return=CONFLICT, 50\n"), "{}", again.stdout);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused = |words: &str, parts: &[&str]| {
        springload(words.split(' ')).refused(2, parts);
    };
    refused("ycsb run voldemort -P workloads/workloada", &["voldemort", "one of couchdb, "]);
    for word in ["-foo", "-threds=2", "-th", "-sq"] {
        refused(&format!("ycsb run basic {word}"), &[&format!("{word}: no such option")]);
    }
    refused("ycsb run basic -threads", &["-threads: the value is missing"]);
    let workload = "-p workload: no workload is named";
    refused("ycsb run basic", &[workload]);
    refused("ycsb load couchdb -p recordcount=1", &[workload]);
    let core = "-p workload=site.ycsb.workloads.CoreWorkload";
    refused(&format!("ycsb run basic -P nowhere.properties {core}"), &["-P: nowhere", "No such"]);
    refused(&format!("ycsb run basic {core} -p recordcount"), &["has no ="]);
    refused(&format!("ycsb load basic {core}"), &["-p recordcount"]);
    refused(&format!("ycsb run basic {core} -target -x"), &["-p target"]);
    refused("ycsb load basic -P workloads/workloada -t", &["-t", "contradicts the command"]);
    for property in [
        "workload=x.Y",
        "db=site.ycsb.db.RiakKVClient",
        "threadcount=0",
        "target=x",
        "batchsize=0",
        "maxerrorrate=-1",
        "maxerrorrate=5",
        "maxexecutiontime=inf",
        "couchdb.update=never",
        "couchdb.url=http://127.0.0.1:5984/data",
        "basicdb.simulatedelay=-5",
        "basicdb.randomizedelay=maybe",
        "basicdb.count=2",
        "measurement.trackjvm=true",
        "htrace.sampler.classes=x",
        "readproportion=-1",
        "measurementtype=csv",
    ] {
        let name = property.split_once('=').expect("a value").0;
        let binding = if name.starts_with("couchdb.") { "couchdb" } else { "basic" };
        let words = format!("ycsb run {binding} -P workloads/workloada -p {property}");
        let flag = if name == "db" { "-db" } else { name };
        refused(&words, &[flag]);
    }
}

#[test]
fn workloads_of_ycsb_run_natively_at_any_load() {
    let server = stand_in();
    let words = ["run", &server.url, "--workload", "ycsb-f", "--docs", "300", "-c", "4"];
    let run = measure([&words[..], &["--ops", "400", "--batch", "50"]].concat()).passed();
    assert_eq!(number(&run.operation("load", "bulk_insert")["ok"]), 300);
    assert_share(&done(&run), "read", 1.0, 400);
    let open = ["--rate", "300", "--duration", "1s", "--warmup", "500ms"];
    let run = measure([&words[..], &open].concat()).passed();
    assert_eq!(run.stages().count(), 3);
    // A client that was stopped at the end has not begun everything that was due.
    let load = &run.stage("run")["load"];
    let due = ["begun", "dropped", "unsent"].map(|part| number(&load[part]));
    assert_eq!(due.iter().sum::<u64>(), 300, "{load}");
    springload(["run", "basic", "--workload", "ycsb-a", "--docs", "0"]).refused(2, &["--docs"]);
}
