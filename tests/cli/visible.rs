//! `--probe visible`: how long acknowledged writes take to become visible, on servers that show
//! them at once, later, or never.

use crate::servers::Server;
use crate::springload::{Finished, measure, number, springload};
use serde_json::Value;
use springload::embedded::{Fault, Faults, Lie, Occurrence, Options, Stall};

/// A server that tells this lie about every document.
fn lying(lie: Lie) -> Server {
    let fault = Fault::Lie(lie);
    let named = vec![Occurrence { fault, fraction: 1.0, from_ns: 0, until_ns: None }];
    let faults = Faults { named, ..Faults::default() };
    Server::stand_in(Options { faults, ..Options::default() })
}

/// The findings for one way of looking, in the stage with probes.
fn by(run: &Finished, way: &str) -> Value {
    let found = run.stages().find_map(|stage| stage.get("visibility")).expect("probes");
    let ways = found["by"].as_array().expect("a list");
    ways.iter().find(|by| by["way"] == way).unwrap_or_else(|| panic!("{found}")).clone()
}

fn codes(run: &Finished) -> Vec<&str> {
    let warnings = run.record["warnings"].as_array().expect("a list");
    warnings.iter().filter_map(|it| it["code"].as_str()).collect()
}

fn get(url: &str) -> Value {
    let mut answer = ureq::get(url).call().expect("an answer");
    serde_json::from_str(&answer.body_mut().read_to_string().expect("UTF-8")).expect("JSON")
}

#[test]
fn what_is_stored_at_once_is_seen_at_once_and_nothing_is_left() {
    let server = Server::stand_in(Options::default());
    let url = format!("{}/mine", server.url);
    ureq::put(&url).send_empty().expect("a database");
    let words = ["run", &url, "--use-existing", "--docs", "200", "-d", "1500ms", "-c", "2"];
    let run = measure([&words[..], &["--mix", "read=1", "--probe", "visible"]].concat()).passed();
    for way in ["get", "all_docs", "changes"] {
        let by = by(&run, way);
        assert!(number(&by["probes"]) >= 2, "{by}");
        assert_eq!((number(&by["stale_first"]), number(&by["unseen"])), (0, 0), "{by}");
        assert_eq!(by["time"]["samples"], by["probes"]);
        assert!(by["time"]["min_us"].as_f64() > Some(0.0), "{by}");
    }
    // The stand-in supports neither.
    for way in ["find", "view"] {
        let by = by(&run, way);
        assert_eq!(number(&by["probes"]), 0);
        assert_eq!(by["reason"], "this server does not support that (501)");
    }
    assert_eq!(codes(&run).iter().filter(|code| **code == "probes_failed").count(), 2);
    // The documents of the run, and no others.
    let rows = get(&format!("{url}/_all_docs"));
    let ids = rows["rows"].as_array().expect("rows").iter().map(|row| row["id"].as_str());
    let probes: Vec<_> = ids.clone().flatten().filter(|id| id.contains("probe")).collect();
    assert_eq!((ids.count(), probes.len()), (200, 0), "{probes:?}");
    let text = run.report("text").stdout;
    assert!(text.contains("visible after, ms"), "{text}");
    assert!(run.report("html").stdout.contains("Visible after an acknowledged write"));
}

#[test]
fn what_is_stored_late_is_stale_at_first() {
    let server = lying(Lie::LateWrite);
    // A write appears after some later ones: at this rate, long after the first look for it.
    let words = ["run", &server.url, "--docs", "0", "-d", "2s", "-c", "4", "-r", "400"];
    let probe = ["--mix", "create=1", "--probe", "visible=get,changes", "--noise", "warn"];
    let run = measure([&words[..], &probe].concat());
    for way in ["get", "changes"] {
        let by = by(&run, way);
        assert!(number(&by["probes"]) >= 2, "{by}");
        assert_eq!(by["stale_first"], by["probes"]);
        // The last one may have had too few writes after it.
        assert!(number(&by["unseen"]) <= 1, "{by}");
        assert!(number(&by["time"]["samples"]) >= 1, "{by}");
    }
}

#[test]
fn what_is_never_stored_is_never_seen() {
    let server = lying(Lie::DropAcknowledged);
    let words = ["run", &server.url, "--docs", "0", "-d", "300ms", "--mix", "create=1"];
    let run = measure([&words[..], &["--probe", "visible=get,all_docs"]].concat());
    for way in ["get", "all_docs"] {
        let by = by(&run, way);
        // One probe looked until the end.
        assert_eq!([&by["probes"], &by["stale_first"], &by["unseen"]].map(number), [1, 1, 1]);
        assert_eq!(number(&by["time"]["samples"]), 0);
    }
    assert!(codes(&run).contains(&"not_visible"));
    // They cannot be removed either, because they are not there.
    assert!(codes(&run).contains(&"not_removed"));
    let text = run.report("text").stdout;
    assert!(text.contains("never seen by get"), "{text}");
}

#[test]
fn an_audit_does_not_take_probes_for_documents_of_others() {
    let server = Server::stand_in(Options::default());
    let words = ["run", &server.url, "--docs", "300", "-d", "1s", "-c", "4", "--audit"];
    let run = measure([&words[..], &["--probe", "visible=get", "--probe-every", "5ms"]].concat())
        .passed();
    assert!(number(&by(&run, "get")["probes"]) > 0);
    assert_eq!(run.record["extra_documents"], 0);
}

#[test]
fn agents_have_one_probe_among_them() {
    let server = Server::stand_in(Options::default());
    let words = ["run", &server.url, "--docs", "200", "-d", "1s", "-c", "4", "--agents", "2"];
    let run = measure([&words[..], &["--probe", "visible=get"]].concat()).passed();
    assert!(number(&by(&run, "get")["probes"]) > 0);
}

#[test]
fn each_node_is_asked() {
    let cluster = crate::nodes::cluster(Options::default());
    let words = ["--docs", "100", "-d", "1500ms", "-c", "3", "--probe", "visible=get,changes"];
    let run = crate::nodes::run(&cluster, &words).passed();
    let found = run.stages().find_map(|stage| stage.get("visibility")).expect("probes");
    let asked: Vec<_> = found["by"].as_array().expect("a list").iter().collect();
    let nodes: std::collections::BTreeSet<_> = asked.iter().map(|by| by["node"].as_str()).collect();
    assert_eq!((asked.len(), nodes.len()), (6, 3), "{found}");
    assert!(asked.iter().all(|by| number(&by["probes"]) >= 2 && by["unseen"] == 0), "{found}");
}

#[test]
fn a_server_that_stops_answering_holds_nobody_up() {
    let stalls = vec![Stall { at_ns: 1_000_000_000, for_ns: 1 << 60, every_ns: None }];
    let faults = Faults { stalls, ..Faults::default() };
    let server = Server::stand_in(Options { faults, ..Options::default() });
    let words = ["run", &server.url, "--docs", "10", "-d", "2s", "--timeout", "2s"];
    let run = measure([&words[..], &["--probe", "visible=get,view"]].concat());
    assert!([3, 5].contains(&run.code), "{}", run.stderr);
    assert!(run.stage("crud")["visibility"]["written"].as_u64() > Some(0), "{}", run.stderr);
}

#[test]
fn probes_that_cannot_be_are_refused() {
    for (flags, problem) in [
        (&["--probe", "visible=mango"][..], "\"mango\" is not one of get, all_docs"),
        (&["--probe", "latency"], "the only kind of probe is visible"),
        (&["--probe", "visible", "--probe-every", "10us"], "below 1ms"),
        (&["--probe", "visible"], "does not support probes"),
    ] {
        let target: &[&str] = if problem.starts_with("does not") { &["basic"] } else { &[] };
        let refused = springload([&["run"], target, flags].concat());
        assert_eq!(refused.code, 2, "{}", refused.stderr);
        assert!(refused.stderr.contains(problem), "{}", refused.stderr);
    }
}
