//! Drills of one node without commands: it is cut off from the load, or put into maintenance mode.

use crate::drill::{SHORT, seconds, steps, urls};
use crate::nodes::cluster;
use crate::relay::{Deed, Relay};
use crate::servers::Server;
use crate::springload::{Finished, Run, failures, number, springload};
use serde_json::{Value, json};
use springload::embedded::Options;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// CouchDB's setting for the mode of a node.
const MODE: &str = "/_node/_local/_config/couchdb/maintenance_mode";

/// A short drill with different values for some flags.
fn short<'a>(other: &[(&str, &'a str)]) -> Vec<&'a str> {
    let mut words: Vec<&str> = SHORT.to_vec();
    for (flag, value) in other {
        let place = SHORT.iter().position(|word| word == flag).expect("a flag of it");
        words[place + 1] = value;
    }
    words
}

/// Waits until nothing has reached the server for a while, because it is cut off from the load.
fn until_cut(server: &Server) {
    let requests = || server.as_stand_in().expect("a stand-in").counters().requests;
    let mut before = (requests(), 0);
    while before.0 < 100 || before.1 < 15 {
        std::thread::sleep(Duration::from_millis(100));
        let now = requests();
        before = if now == before.0 { (now, before.1 + 1) } else { (now, 0) };
    }
}

/// The failures at each node.
fn failed(run: &Finished) -> Vec<u64> {
    let nodes = run.stage("crud")["nodes"].as_array().expect("nodes");
    nodes.iter().map(failures).collect()
}

#[test]
fn whoever_is_cut_off_from_a_node_goes_to_the_others_and_comes_back() {
    let cluster = cluster(Options::default());
    let urls = urls(&cluster);
    let words: Vec<&str> = ["drill"].into_iter().chain(urls.iter().map(String::as_str)).collect();
    let more = ["--broken", "6s", "--partition", "2"];
    let length = short(&[("--after", "8s"), ("-c", "6")]);
    let run = Run::of(&words).args(&length).args(&more).finish();
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let stage = run.stage("crud");
    let [broken, mended] = steps(&run);
    assert_eq!(broken["command"], format!("cut the load off from {}", urls[1]));
    assert_eq!(mended["command"], format!("let the load through to {} again", urls[1]));
    // Connections were not closed: requests in flight waited for their timeout.
    let failed = failed(&run);
    assert!(failed[1] > 0 && failed[0] == 0 && failed[2] == 0, "{failed:?}");
    let kinds = stage["operations"].as_array().expect("operations").iter();
    let classes = kinds.filter_map(|it| it["failures"].as_object()).flatten();
    let classes: Vec<&String> = classes.map(|(class, _)| class).collect();
    let of_silence = ["timeout", "unanswered"];
    assert!(classes.iter().all(|it| of_silence.contains(&it.as_str())), "{classes:?}");
    let away = stage["nodes"][1]["unreachable"].as_array().expect("when it was gone");
    let (from_s, to_s) = (seconds(&away[0]["from_s"]), seconds(&away[0]["to_s"]));
    let (cut_s, joined_s) = (seconds(&broken["from_s"]), seconds(&mended["from_s"]));
    assert!(from_s >= cut_s && to_s >= joined_s && away.len() == 1, "{away:?}");
    assert_eq!(away[0]["moved"], away[0]["returned"]);
    // The audit is not cut off from the node.
    for stage in ["audit_1", "audit_2", "audit_3"] {
        assert_eq!(run.operation(stage, "verify")["failures"], json!({}), "{stage}");
    }
    let text = run.report("text").stdout;
    assert!(text.contains("broken at ") && text.contains(": cut the load off from "), "{text}");
    // The figures of all nodes in a phase add up to those of the phase.
    let rows = stage["series"].as_array().expect("seconds");
    let of_nodes = |place: usize| -> u64 {
        rows.iter()
            .filter_map(|row| row["nodes"].get(place))
            .map(|it| number(&it["requests"]))
            .sum()
    };
    let requests =
        stage["nodes"].as_array().expect("nodes").iter().map(|it| number(&it["requests"]));
    assert_eq!([0, 1, 2].map(of_nodes).to_vec(), requests.collect::<Vec<_>>());
    for words in ["node ", " before ", " broken ", " healed "] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
}

/// A single server, and an outage shorter than the timeout: the load waits, and nothing fails.
#[test]
fn what_waited_out_the_partition_is_answered_after_it() {
    let server = Server::stand_in(Options::default());
    let words = ["drill", &server.url, "--partition", "1", "--broken", "3s", "--no-audit"];
    let run = Run::of(&words).args(&short(&[("--timeout", "30s")])).finish();
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let operations = run.stage("crud")["operations"].as_array().expect("operations").clone();
    assert!(operations.iter().all(|it| failures(it) == 0), "{operations:?}");
    let longest = run.stage("crud")["silences"].as_array().expect("silences").iter();
    let longest = longest.map(|it| seconds(&it["length_s"])).fold(0.0, f64::max);
    assert!((2.5..10.0).contains(&longest), "{longest}");
    assert!(run.stdout.contains("none failed while broken, 3."), "{}", run.stdout);
}

#[test]
fn whoever_leaves_while_cut_off_is_gone_at_once() {
    let server = Server::stand_in(Options::default());
    let words = ["drill", &server.url, "--partition", "1", "--broken", "10m", "--no-audit"];
    let run = Run::of(&words).args(&short(&[("--timeout", "1m")])).args(&["--no-observe"]).start();
    until_cut(&server);
    run.interrupt();
    let run = run.finish();
    assert_eq!(run.code, 130, "{}", run.stderr);
    let [_, mended] = steps(&run);
    assert_eq!(mended["problem"], Value::Null);
}

#[test]
fn a_node_that_cannot_be_cut_off_is_refused_in_words() {
    for (words, message) in [
        (&["h:1", "--partition", "2"][..], "--partition: \"2\" is none of the targets; give 1"),
        (&["h:1", "i:2", "--partition", "x"], "is none of the targets; give 1 to 2, or one of h:1"),
        (
            &["h:1", "--partition", "1", "--stop", "a", "--start", "b"],
            "--partition: there is a command as well; break one thing at a time",
        ),
        (
            &["h:1", "--partition", "1", "--maintenance", "1"],
            "--partition: there is --maintenance as well; break one thing at a time",
        ),
        (&["redis://h:1", "--partition", "1"], "--partition: springload has no relay for"),
        (&["h:1", "--partition", "1", "--agents", "2"], "--agents: a drill is carried out by one"),
    ] {
        springload(["drill"].iter().chain(words)).refused(2, &[message]);
    }
}

/// The requests about a server's maintenance mode.
#[derive(Default)]
struct Asked {
    mode: Option<String>,
    log: Vec<String>,
}

/// A stand-in behind a relay that adds CouchDB's maintenance mode: in it, no document is served.
fn with_maintenance(server: &Server, mode: Option<&str>) -> (Relay, Arc<Mutex<Asked>>) {
    let asked = Asked { mode: mode.map(str::to_owned), ..Asked::default() };
    let asked = Arc::new(Mutex::new(asked));
    let of_relay = asked.clone();
    let relay = Relay::before(server, move |request| {
        let mut asked = of_relay.lock().expect("not poisoned");
        let method = request.head.split(' ').next().unwrap_or_default().to_owned();
        if request.is(&format!("{method} {MODE} ")) {
            let before = asked.mode.clone();
            match &*method {
                "PUT" => asked.mode = serde_json::from_slice(&request.body).ok(),
                "DELETE" => asked.mode = None,
                _ => {}
            }
            let body = String::from_utf8_lossy(&request.body).into_owned();
            asked.log.push(format!("{method} {body}").trim_end().to_owned());
            return match before {
                Some(before) => Deed::Answer(200, json!(before)),
                None if method == "PUT" => Deed::Answer(200, json!("")),
                None => Deed::Answer(
                    404,
                    json!({"error": "not_found", "reason": "unknown_config_value"}),
                ),
            };
        }
        if asked.mode.as_deref() == Some("true") && !request.is("GET / ") {
            let reason = "No DB shards could be opened.";
            return Deed::Answer(500, json!({"error": "internal_server_error", "reason": reason}));
        }
        Deed::Pass
    });
    (relay, asked)
}

fn log(asked: &Mutex<Asked>) -> Vec<String> {
    asked.lock().expect("not poisoned").log.clone()
}

#[test]
fn a_node_is_put_into_maintenance_mode_and_then_as_it_was() {
    let server = Server::stand_in(Options::default());
    for before in [None, Some("false")] {
        let (relay, asked) = with_maintenance(&server, before);
        let words = ["drill", &relay.url, "--maintenance", "1", "--broken", "3s", "--no-observe"];
        let run = Run::of(&words).args(&SHORT).finish();
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
        let back = before.map_or("DELETE".to_owned(), |mode| format!("PUT \"{mode}\""));
        assert_eq!(log(&asked), ["GET", "GET", "PUT \"true\"", &back]);
        assert_eq!(asked.lock().expect("not poisoned").mode.as_deref(), before);
        let kinds = run.stage("crud")["operations"].as_array().expect("operations").iter();
        let failed: u64 = kinds.map(failures).sum();
        assert!(failed > 0 && run.stdout.contains(" failed while broken"), "{}", run.stdout);
        let [broken, mended] = steps(&run);
        assert!(broken["command"].as_str().is_some_and(|it| it.ends_with("into maintenance mode")));
        assert_eq!((&broken["problem"], &mended["problem"]), (&Value::Null, &Value::Null));
    }
}

#[test]
fn a_node_that_is_in_maintenance_already_is_left_in_it() {
    let server = Server::stand_in(Options::default());
    let (relay, asked) = with_maintenance(&server, Some("nolb"));
    let words = ["drill", &relay.url, "--maintenance", "1", "--broken", "1s", "--no-observe"];
    let run = Run::of(&words).args(&SHORT).finish();
    assert_eq!(run.code, 5, "{}{}", run.stdout, run.stderr);
    let message = "--maintenance: the node is in the mode \"nolb\" already";
    assert!(run.stderr.contains(message), "{}", run.stderr);
    assert_eq!(log(&asked), ["GET", "GET"], "before the load and in its middle");
}

#[test]
fn whoever_leaves_in_maintenance_leaves_the_node_as_it_was() {
    let server = Server::stand_in(Options::default());
    let (relay, asked) = with_maintenance(&server, None);
    let words = ["drill", &relay.url, "--maintenance", "1", "--broken", "10m", "--no-observe"];
    let run = Run::of(&words).args(&SHORT).start();
    while log(&asked).len() < 3 {
        std::thread::sleep(Duration::from_millis(20));
    }
    run.interrupt();
    let run = run.finish();
    assert_eq!(run.code, 130, "{}", run.stderr);
    assert_eq!(log(&asked), ["GET", "GET", "PUT \"true\"", "DELETE"]);
}

/// The stand-in itself has no such setting: the drill is refused before anything is stored.
#[test]
fn a_server_without_maintenance_mode_is_refused_before_the_load() {
    let server = Server::stand_in(Options::default());
    let words = ["drill", &server.url, "--maintenance", "1", "--broken", "1s", "--no-audit"];
    let run = Run::of(&words).args(&SHORT).finish();
    assert_eq!(run.code, 3, "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.starts_with("error: --maintenance: "), "{}", run.stderr);
    assert!(run.stdout.is_empty(), "{}", run.stdout);
}

/// A stand-in behind a relay that adds a cluster of two nodes, `a` and `b`. Of two documents, `b`
/// has the second from poll number `from` on, or refuses to list any.
fn with_copies(server: &Server, from: Option<usize>) -> Relay {
    let looks = AtomicUsize::new(0);
    Relay::before(server, move |request| {
        let path = request.head.split(' ').nth(1).unwrap_or_default();
        if path.ends_with("/_shards") {
            return Deed::Answer(200, json!({"shards": {"0-f": ["a@h", "b@h"]}}));
        }
        let Some(rest) = path.strip_prefix("/_node/").filter(|it| it.contains("/_changes")) else {
            return Deed::Pass;
        };
        assert!(rest.contains("@h/shards%2F0%2Df%2Fspringload%5F"), "{rest}");
        let row = |seq: u64, id: &str| {
            let revision = "1-967a00dff5e02add41819138abb3284d";
            json!({"seq": seq, "id": id, "changes": [{"rev": revision}]})
        };
        let mut rows = vec![row(1, "x")];
        if rest.starts_with("a@h") {
            rows.push(row(2, "y"));
        } else {
            let look = looks.fetch_add(1, Ordering::Relaxed);
            match from {
                None => return Deed::Answer(403, json!({"reason": "You are not a server admin."})),
                Some(from) if look >= from => rows.push(row(2, "y")),
                Some(_) => {}
            }
        }
        Deed::Answer(200, json!({"results": rows, "last_seq": rows.len()}))
    })
}

#[test]
fn the_copies_on_each_node_are_compared_until_they_are_alike() {
    let server = Server::stand_in(Options::default());
    let drill = |relay: &Relay, more: &[&str]| {
        let words = ["drill", &relay.url, "--stop", "true", "--start", "true", "--broken", "1s"];
        Run::of(&words).args(&SHORT).args(&["--no-observe"]).args(more).finish()
    };
    let run = drill(&with_copies(&server, Some(2)), &[]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let copies = &run.record["copies"];
    let node = |name: &str| json!({"node": name, "documents": 2});
    assert_eq!(copies["nodes"], json!([node("a@h"), node("b@h")]));
    assert!((1.5..20.0).contains(&seconds(&copies["looked_s"])), "{copies}");
    let text = run.report("text").stdout;
    assert!(text.contains("single copies: all alike after "), "{text}");
    assert!(run.report("html").stdout.contains("copies on"));

    // Copies that this user may not read are reported, and not waited for.
    let run = drill(&with_copies(&server, None), &[]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let sentence =
        "the copies on b@h could not be compared: status 403 (You are not a server admin)";
    assert!(run.full_report().contains(sentence), "{}", run.full_report());

    // Without an audit, or with nothing to compare.
    let run = drill(&with_copies(&server, Some(0)), &["--no-audit"]);
    assert_eq!(run.record["copies"], Value::Null);
    let words = ["drill", &server.url, "--stop", "true", "--start", "true", "--broken", "1s"];
    let run = Run::of(&words).args(&SHORT).finish();
    assert_eq!(run.record["copies"], Value::Null);
}
