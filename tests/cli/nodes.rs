//! Several nodes of one cluster: where connections are, and where they move when a node is gone.

use crate::servers::Server;
use crate::springload::{Finished, binary, failures, measure, number, springload};
use serde_json::Value;
use springload::embedded::{Fault, Faults, Lie, NodeState, Occurrence, Options, StandIn, bind};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

/// Three nodes of one stand-in. If the system has several loopback addresses, the cluster has one
/// to itself, so that the port of a node that is down is not taken.
pub(crate) fn cluster(options: Options) -> StandIn {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    let host = NEXT.fetch_add(1, Ordering::Relaxed);
    let host =
        if cfg!(target_os = "linux") { format!("127.0.7.{host}") } else { "127.0.0.1".into() };
    let listeners = (0..3).map(|_| bind(&format!("{host}:0")).expect("a free port")).collect();
    StandIn::start_nodes(listeners, options).expect("the stand-in starts")
}

pub(crate) fn run(cluster: &StandIn, more: &[&str]) -> Finished {
    let urls = cluster.urls();
    let urls = urls.iter().map(String::as_str);
    measure(std::iter::once("run").chain(urls).chain(more.iter().copied()))
}

/// Waits until `done` requests were answered and the run is under way, or until the run is over.
fn after(cluster: &StandIn, done: u64, over: &AtomicBool) {
    while cluster.counters().requests < done && !over.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Runs a load of `ops` operations, and calls `work` as soon as it is under way.
fn during(cluster: &StandIn, more: &[&str], work: impl FnOnce(&AtomicBool) + Send) -> Finished {
    let over = AtomicBool::new(false);
    scope(|scope| {
        let (over, cluster) = (&over, &cluster);
        scope.spawn(move || {
            after(cluster, 200, over);
            work(over);
        });
        let run = run(cluster, more);
        over.store(true, Ordering::Relaxed);
        run
    })
}

fn nodes<'a>(run: &'a Finished, stage: &str) -> &'a Vec<Value> {
    run.stage(stage)["nodes"].as_array().expect("nodes")
}

/// The recorded outages of a node: from, to, connections moved and returned.
fn gone(node: &Value) -> Vec<(f64, Option<f64>, u64, u64)> {
    let spans = node["unreachable"].as_array().into_iter().flatten();
    let span = |it: &Value| {
        let from_s = it["from_s"].as_f64().expect("a time");
        (from_s, it["to_s"].as_f64(), number(&it["moved"]), number(&it["returned"]))
    };
    spans.map(span).collect()
}

/// The nodes' counts add up to those of all requests.
#[track_caller]
fn adds_up(run: &Finished, stage: &str) {
    let requests = run.stage(stage)["operations"].as_array().expect("operations").clone();
    let requests = requests.iter().filter(|it| it["kind"] != "verify");
    let sums = requests.fold([0; 4], |sum, it| {
        let counts =
            [number(&it["requests"]), number(&it["ok"]), failures(it), number(&it["accepted"])];
        [0, 1, 2, 3].map(|at| sum[at] + counts[at])
    });
    let of_nodes = nodes(run, stage).iter().fold([0; 4], |sum, it| {
        let counts =
            [number(&it["requests"]), number(&it["ok"]), failures(it), number(&it["accepted"])];
        [0, 1, 2, 3].map(|at| sum[at] + counts[at])
    });
    assert_eq!(of_nodes, sums, "{stage}");
}

#[test]
fn connections_are_dealt_to_nodes_in_turn_and_each_is_on_record() {
    let cluster = cluster(Options::default());
    let run = run(&cluster, &["--docs", "300", "--ops", "1k", "-c", "7", "-t", "2"]).passed();
    for stage in ["bulk_insert", "crud"] {
        let counts: Vec<_> =
            nodes(&run, stage).iter().map(|it| number(&it["connections"])).collect();
        assert_eq!(counts, [3, 2, 2]);
        adds_up(&run, stage);
        for (node, url) in nodes(&run, stage).iter().zip(cluster.urls()) {
            assert_eq!(node["url"], url.as_str());
            assert!(number(&node["requests"]) > 0, "{node}");
            assert_eq!(node["response"]["samples"], node["requests"]);
            assert_eq!((gone(node), &node["away_s"]), (vec![], &Value::Null));
        }
    }
    let report = run.full_report();
    assert!(report.contains("node connections ok/s failed p50 p99 max"), "{report}");
    for url in cluster.urls() {
        assert!(report.contains(url.trim_start_matches("http://")), "{report}");
    }
    // The recorded command repeats the run.
    let command = run.record["plan"]["command"].as_str().expect("a command");
    assert!(cluster.urls().iter().all(|url| command.contains(url)), "{command}");
    assert_eq!(cluster.counters().databases_deleted, 1);
}

#[test]
fn a_node_that_is_dead_from_the_start_has_its_connections_elsewhere() {
    for (dead, pin) in [(0, false), (1, false), (2, true)] {
        let cluster = cluster(Options::default());
        cluster.set_node(dead, NodeState::Down);
        let mut words = vec!["--docs", "300", "--ops", "600", "-c", "6", "--timeout", "2s"];
        words.extend(pin.then_some("--pin"));
        let run = run(&cluster, &words);
        adds_up(&run, "bulk_insert");
        let stage = if pin { "bulk_insert" } else { "crud" };
        let node = &nodes(&run, stage)[dead].clone();
        assert_eq!((number(&node["ok"]), number(&node["connections"])), (0, 2));
        if pin {
            assert!(failures(node) > 0, "{node}");
            assert_eq!(gone(node), [(0.0, None, 0, 0)], "{node}");
            continue;
        }
        let run = run.passed();
        assert_eq!(gone(node), [(0.0, None, 2, 0)], "{node}");
        assert!(node["away_s"].as_f64().expect("a time") > 0.0);
        assert_eq!(failures(&run.operation("crud", "read")), 0, "{}", run.stderr);
        let report = run.full_report();
        assert!(report.contains("was gone until the end: 2 connections moved"), "{report}");
        // Both others got one of them, which is an even share.
        let served = nodes(&run, "crud").iter().filter(|it| number(&it["ok"]) > 100).count();
        assert_eq!(served, 2, "{report}");
    }
}

#[test]
fn connections_of_a_killed_node_move_and_come_back_and_nothing_is_lost() {
    let cluster = cluster(Options::default());
    let words = ["--docs", "300", "-d", "5s", "-c", "6", "--verify", "--audit"];
    let run = during(&cluster, &words, |_| {
        std::thread::sleep(Duration::from_millis(500));
        cluster.set_node(1, NodeState::Down);
        std::thread::sleep(Duration::from_millis(900));
        cluster.set_node(1, NodeState::Up);
    });
    assert!(matches!(run.code, 0 | 5), "{}", run.stderr);
    adds_up(&run, "crud");
    let node = &nodes(&run, "crud")[1];
    let [(from_s, Some(to_s), 2, 2)] = gone(node)[..] else { panic!("{node}") };
    assert!(to_s - from_s > 0.5, "{node}");
    // Only requests in flight may have failed.
    let failed: u64 = nodes(&run, "crud").iter().map(failures).sum();
    assert!(failed <= 2, "{node}");
    for other in [0, 2] {
        assert_eq!(gone(&nodes(&run, "crud")[other]), []);
    }
    // Moving causes no false alarms.
    for stage in ["crud", "audit"] {
        assert_eq!(failures(&run.operation(stage, "verify")), 0, "{stage}");
    }
    assert!(
        run.full_report().contains("2 connections moved, 2 came back"),
        "{}",
        run.full_report()
    );
}

#[test]
fn a_node_that_stands_still_has_only_its_own_connections_wait() {
    let cluster = cluster(Options::default());
    let words = ["--docs", "300", "-d", "4s", "-c", "6", "--timeout", "500ms", "--verify"];
    let run = during(&cluster, &words, |over| {
        cluster.set_node(2, NodeState::Still);
        // Its listener does not respond either, although the system accepts connections for it.
        while !over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(10));
        }
        cluster.set_node(2, NodeState::Up);
    });
    adds_up(&run, "crud");
    let all = nodes(&run, "crud");
    let [(_, None, 2, 0)] = gone(&all[2])[..] else { panic!("{}", all[2]) };
    // Each connection had one request in flight.
    assert_eq!(failures(&all[2]), 2, "{}", all[2]);
    assert_eq!([failures(&all[0]), failures(&all[1])], [0, 0]);
    assert_eq!(failures(&run.operation("crud", "verify")), 0);
}

/// A run in which one node freezes for `still`.
fn still_for(still: Duration, more: &[&str]) -> Finished {
    let cluster = cluster(Options::default());
    let words = [&["--docs=300", "-c=6", "-t=2"], more].concat();
    during(&cluster, &words, |_| {
        sleep(Duration::from_millis(500));
        cluster.set_node(1, NodeState::Still);
        sleep(still);
        cluster.set_node(1, NodeState::Up);
    })
}

/// The recorded silences of a node: start and length.
fn silences(node: &Value) -> Vec<(f64, f64)> {
    let spans = node["silences"].as_array().into_iter().flatten();
    spans.map(|it| (seconds(&it["from_s"]), seconds(&it["length_s"]))).collect()
}

/// The longest silence of a node. Those of a healthy one are short: on a busy machine, its threads
/// may wait that long for a processor.
fn longest_silence_s(node: &Value) -> f64 {
    silences(node).into_iter().map(|it| it.1).fold(0.0, f64::max)
}

fn seconds(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no time"))
}

#[test]
fn updates_that_were_lost_are_no_reason_to_call_healthy_nodes_gone() {
    let words = ["-d=6s", "--mix=update=1", "--timeout=1s"];
    let run = still_for(Duration::from_secs(3), &words);
    adds_up(&run, "crud");
    let all = nodes(&run, "crud");
    for healthy in [0, 2] {
        assert_eq!(gone(&all[healthy]), [], "{}", all[healthy]);
        assert!(longest_silence_s(&all[healthy]) < 1.0, "{}", all[healthy]);
        assert_eq!(failures(&all[healthy]), 0, "{}", all[healthy]);
    }
    let node = &all[1];
    let [(from_s, Some(to_s), 2, 2)] = gone(node)[..] else { panic!("{node}") };
    assert!((0.8..3.2).contains(&(to_s - from_s)), "known after the timeout: {node}");
    let [(still_s, length_s)] = silences(node)[..] else { panic!("{node}") };
    assert!((2.7..4.5).contains(&length_s) && still_s < from_s, "{node}");
}

#[test]
fn a_node_that_stood_still_is_reported_though_nothing_failed() {
    let run = still_for(Duration::from_millis(1_500), &["-d=4s", "--mix=read=1"]);
    adds_up(&run, "crud");
    let all = nodes(&run, "crud");
    for healthy in [0, 2] {
        assert!(longest_silence_s(&all[healthy]) < 1.0, "{}", all[healthy]);
    }
    let node = &all[1];
    assert_eq!((failures(node), gone(node)), (0, vec![]), "{node}");
    let [(_, length_s)] = silences(node)[..] else { panic!("{node}") };
    assert!((1.4..2.5).contains(&length_s), "{node}");
    let report = run.full_report();
    let host = all[1]["url"].as_str().expect("an address").trim_start_matches("http://");
    let line = format!("no answer from node {host} on any of its connections for {length_s:.1} s");
    assert!(report.contains(&line), "no {line:?} in {report}");
    assert!(run.report("html").stdout.contains(&line), "nor on the page");
}

#[test]
fn when_all_nodes_are_dead_the_run_does_not_begin_or_ends() {
    let cluster = cluster(Options::default());
    (0..3).for_each(|node| cluster.set_node(node, NodeState::Down));
    let dead = run(&cluster, &["--docs", "10", "--ops", "10", "-c", "3"]);
    dead.refused(3, &["none of the other nodes answers", "connection refused"]);
    (0..3).for_each(|node| cluster.set_node(node, NodeState::Up));
    let words = ["--docs=300", "-d=60s", "-c=3", "--timeout=1s", "--give-up=1s"];
    let run = during(&cluster, &words, |_| {
        (0..3).for_each(|node| cluster.set_node(node, NodeState::Down));
    });
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("no longer answers"), "{}", run.stderr);
}

#[test]
fn each_agent_moves_its_own_connections() {
    let cluster = cluster(Options::default());
    cluster.set_node(1, NodeState::Down);
    let words = ["--docs", "300", "--ops", "600", "-c", "6", "-t", "1", "--agents", "2"];
    let run = run(&cluster, &words).passed();
    adds_up(&run, "crud");
    let node = &nodes(&run, "crud")[1];
    let [(from_s, None, 2, 0)] = gone(node)[..] else { panic!("{node}") };
    assert!(from_s < 0.001, "on the clock of the stage: {node}");
    assert_eq!(number(&node["connections"]), 2);
}

#[test]
fn credentials_given_once_hold_for_all_nodes() {
    let admin = Some(("ann".to_owned(), "secret".to_owned()));
    let cluster = cluster(Options { admin, ..Options::default() });
    let with = |user: &str, url: &String| url.replacen("http://", &format!("http://{user}@"), 1);
    let urls = cluster.urls();
    let more = ["--docs", "100", "--ops", "100", "-c", "3"];
    let first = with("ann:secret", &urls[0]);
    let words = |urls: [&str; 3]| measure([&["run"], &urls[..], &more].concat());
    for last in [urls[2].clone(), with("ann", &urls[2]), with("ann:secret", &urls[2])] {
        let run = words([&first, &urls[1], &last]).passed();
        let plan = run.record["plan"].to_string();
        assert!(!plan.contains("secret"), "{plan}");
        assert_eq!(run.record["plan"]["target"]["nodes"][1]["user"], "ann");
        adds_up(&run, "crud");
    }
    let wrong = words([&first, &urls[1], &with("ann:other", &urls[2])]);
    assert_eq!(wrong.code, 3, "{}", wrong.stderr);
    assert!(!wrong.stderr.contains("secret") && !wrong.stderr.contains("other"));
}

#[test]
fn what_are_no_nodes_of_one_cluster_are_refused() {
    let [one, two] = [(); 2].map(|()| Server::stand_in(Options::default()));
    let run = |targets: &[&str], more: &[&str]| {
        measure([&["run"], targets, &["--ops", "10", "--docs", "10", "-c", "2"], more].concat())
    };
    let (a, b) = (format!("{}/a", one.url), format!("{}/b", two.url));
    run(&[&a, &b], &[]).refused(2, &["TARGET", "\"a\" and \"b\"", "with the same database"]);
    run(&[&one.url, &b], &[]).refused(2, &["the first address has none"]);
    run(&[&one.url, &one.url], &[]).refused(2, &["given twice"]);
    run(&[&one.url, "line://127.0.0.1:7"], &[]).refused(2, &["not all of the same kind"]);
    run(&["basic", &one.url], &[]).refused(2, &["several addresses", "give one address"]);
    run(&[&one.url], &["--pin"]).refused(2, &["--pin", "only one address"]);
    run(&["basic"], &["--pin"]).refused(2, &["--pin", "with the driver basic; leave it out"]);
    // Each server has its own documents.
    let refused = run(&[&one.url, &two.url], &[]).refused(3, &["not nodes of one cluster"]);
    assert!(refused.stderr.contains(&two.url));
    for server in [&one, &two] {
        let counters = server.as_stand_in().expect("it is one").counters();
        assert_eq!(counters.databases_created, counters.databases_deleted);
    }
}

#[test]
fn a_plan_file_and_a_stored_plan_name_all_nodes() {
    let cluster = cluster(Options::default());
    let folder = tempfile::tempdir().expect("a folder");
    let plan = folder.path().join("plan.toml");
    let text = format!(
        "target = {:?}\ndocs = 100\nops = 100\nconnections = 3\npin = true",
        cluster.urls()
    );
    std::fs::write(&plan, text).expect("written");
    let plan = plan.to_str().expect("UTF-8");
    let run = measure(vec!["run", plan]).passed();
    assert_eq!(nodes(&run, "crud").len(), 3);
    assert_eq!(run.record["plan"]["target"]["pin"], true);
    let stored = run.output().join("run.json");
    let again = measure(["run", stored.to_str().expect("UTF-8")]).passed();
    assert_eq!(nodes(&again, "crud").len(), 3);
}

#[test]
fn bursts_and_sweeps_use_all_nodes() {
    let cluster = cluster(Options::default());
    let urls = cluster.urls();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let burst = measure([&["burst"], &urls[..], &["-c", "6", "-d", "300ms"]].concat());
    assert!(nodes(&burst, "burst_write").iter().all(|node| number(&node["requests"]) > 0));
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("sweep");
    let output = output.to_str().expect("UTF-8");
    let more = ["-L", "batch=10,20", "--docs", "200", "--ops", "0", "-c", "3", "-q", "-o", output];
    let swept = springload([&["sweep"], &urls[..], &more].concat());
    assert!(matches!(swept.code, 0 | 5), "{}", swept.stderr);
    let text = std::fs::read_to_string(folder.path().join("sweep/cells/000/run.json"));
    let cell: Value = serde_json::from_str(&text.expect("a cell")).expect("JSON");
    assert_eq!(cell["stages"][0]["nodes"].as_array().expect("nodes").len(), 3);
}

#[test]
fn writes_without_a_quorum_are_counted_by_node_and_second() {
    let cluster = cluster(Options::default());
    for node in [1, 2] {
        cluster.set_node(node, NodeState::Down);
    }
    let run = run(&cluster, &["--docs", "300", "--ops", "600", "-c", "6"]).passed();
    for stage in ["bulk_insert", "crud"] {
        adds_up(&run, stage);
        let operations = run.stage(stage)["operations"].as_array().expect("operations");
        for operation in operations {
            let kind = operation["kind"].as_str().expect("a kind");
            let writes = kind != "read";
            let accepted = if writes { &operation["ok"] } else { &Value::from(0) };
            assert_eq!(&operation["accepted"], accepted, "{kind}");
            let rows = run.stage(stage)["series"].as_array().expect("rows").iter();
            let by_second: u64 =
                rows.map(|row| row["kinds"][kind]["accepted"].as_u64().unwrap_or(0)).sum();
            assert_eq!(by_second, number(accepted), "{kind}");
        }
        assert!(number(&nodes(&run, stage)[0]["accepted"]) > 0);
    }
    let report = run.full_report();
    let warned = "300 of 300 bulk_insert operations were answered 202: not yet on a quorum";
    assert!(report.contains(warned), "{report}");
    // With a majority, there is no warning.
    cluster.set_node(1, NodeState::Up);
    let urls = cluster.urls();
    let more = ["--docs", "100", "--ops", "100", "-c", "2"];
    let again = measure(["run", &urls[0], &urls[2]].into_iter().chain(more)).passed();
    assert_eq!(again.sum("create", "accepted") + again.sum("bulk_insert", "accepted"), 0);
}

/// A cluster whose nodes lag: a write that one of them acknowledged can only be read later, from
/// any node.
#[test]
fn what_a_cluster_has_not_passed_on_is_missing_and_no_longer_later() {
    let fault = Fault::Lie(Lie::LateWrite);
    let named = vec![Occurrence { fault, fraction: 0.2, from_ns: 0, until_ns: None }];
    let faults = Faults { named, seed: 7, ..Faults::default() };
    let cluster = cluster(Options { faults, ..Options::default() });
    let database = format!("{}/lag", cluster.urls()[0]);
    ureq::put(&database).send_empty().expect("a database");
    let urls: Vec<String> = cluster.urls().iter().map(|url| format!("{url}/lag")).collect();
    let words = ["--workload", "bulk-insert", "--docs", "600", "--batch", "20", "-c", "3"];
    let words = [&words[..], &["--use-existing", "--audit"]].concat();
    let words = urls.iter().map(String::as_str).chain(words);
    let run = measure(std::iter::once("run").chain(words));
    assert_eq!(run.code, 6, "{}", run.stderr);
    let verify = run.operation("audit", "verify");
    let wrong = verify["failures"].as_object().expect("failures");
    assert_eq!(wrong.keys().collect::<Vec<_>>(), ["lost"], "{verify}");
    // Each node was asked for some documents, including ones that another node had acknowledged.
    assert!(nodes(&run, "audit").iter().all(|node| number(&node["ok"]) > 0));
    for place in 0..120 {
        let other = format!("{database}/other{place}");
        ureq::put(other).send("{}").expect("it is written");
    }
    let out = run.output();
    let out = out.to_str().expect("UTF-8");
    let of_all = [&["audit", out][..], &urls.iter().map(String::as_str).collect::<Vec<_>>()];
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("audits");
    let to = ["-o", place.to_str().expect("UTF-8")];
    let audited = |exit: &[i32]| {
        let _ = std::fs::remove_dir_all(&place);
        let words = [&of_all.concat()[..], &to].concat();
        let output = binary().args(words).output().expect("it runs");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code().is_some_and(|code| exit.contains(&code)), "{stderr}");
        let read = |node| {
            let text = std::fs::read_to_string(place.join(format!("node{node}/run.json"))).ok()?;
            let record: Value = serde_json::from_str(&text).expect("JSON");
            let stage = record["stages"].as_array()?.last()?.clone();
            let operations = stage["operations"].as_array()?.clone();
            let verify = operations.into_iter().find(|it| it["kind"] == "verify")?;
            Some((number(&verify["ok"]), failures(&verify)))
        };
        [1, 2, 3].map(read)
    };
    assert_eq!(audited(&[0]), [Some((600, 0)); 3]);
    // One is gone: that is reported for this node, and the others are audited.
    cluster.set_node(1, NodeState::Down);
    assert_eq!(audited(&[3]), [Some((600, 0)), None, Some((600, 0))]);
}
