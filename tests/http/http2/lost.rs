//! Requests whose stream or connection ends before their response.

use std::fs;
use std::time::Duration;

use serde_json::json;

use super::server::Node;
use crate::springload::{Running, failures, measure, number};

/// One user who makes one request on a separate connection.
fn single(node: &Node, method: &str, path: &str) -> (serde_json::Value, String) {
    let url = format!("{}{path}", node.url);
    let words = ["http", "--http2", "-c", "1", "--threads", "1", "-n", "1", "-X", method, &url];
    let run = measure(words);
    (run.operation("urls", "request")["failures"].clone(), run.full_report())
}

/// None of them is sent again, as a request is whose connection was closed.
#[test]
fn a_stream_that_the_server_resets_is_reported_by_its_reason() {
    let Some(node) = Node::h2c() else { return };
    for (method, path, failure, words) in [
        ("GET", "/reset/2", "reset", "the server reset the stream (INTERNAL_ERROR)"),
        ("POST", "/reset/2", "unanswered", "the server reset the stream (INTERNAL_ERROR)"),
        ("GET", "/midway/2", "reset", "the server reset the stream (INTERNAL_ERROR)"),
        ("POST", "/midway/2", "unanswered", "the server reset the stream (INTERNAL_ERROR)"),
        // Neither of these was carried out, whatever the method.
        ("POST", "/reset/7", "not_ready", "the server refused the stream (REFUSED_STREAM)"),
        ("POST", "/reset/13", "rejected", "the server wants HTTP/1.1 for this"),
    ] {
        let before = node.count("requests");
        let (failures, report) = single(&node, method, path);
        assert_eq!(failures, json!({ failure: 1 }), "{method} {path}");
        assert!(report.contains(words), "{path}: {report}");
        assert_eq!(node.count("requests") - before, 1, "{path} was sent again");
    }
}

/// A server that closes its connections after this many requests reports which ones it has not
/// processed: these are sent again, and no others.
#[test]
fn what_a_server_that_goes_away_has_not_looked_at_is_sent_again_and_nothing_else() {
    for (streams, users) in [("1", "4"), ("10", "10")] {
        let Some(node) = Node::h2c() else { return };
        let url = format!("{}/bye/13", node.url);
        let words = ["http", "--http2", "--streams", streams, "-c", users, "--threads", "1"];
        let run = measure([&words[..], &["-n", "390", "-X", "POST", &url]].concat());
        let request = run.operation("urls", "request");
        assert_eq!((number(&request["ok"]), failures(&request)), (390, 0), "{}", run.full_report());
        let seen = node.seen();
        assert_eq!(number(&seen["answered"]), 390, "none twice");
        assert!(number(&seen["goaways"]) >= 28, "{seen}");
        let more = number(&request["http_requests"]) - 390;
        // Nothing is sent in vain if the client has noticed in time.
        assert_eq!(number(&request["resent"]), more);
        assert!(streams == "1" || more > 0, "{request}");
    }
}

#[test]
fn with_a_connection_all_its_streams_are_lost() {
    let Some(node) = Node::h2c() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let list = folder.path().join("list.txt");
    let url = &node.url;
    let text = format!("get: {url}/slow/5000\npost: {url}/slow/5000 POST x\ndie: {url}/die\n");
    fs::write(&list, text).expect("a list");
    let list = list.display().to_string();
    // In turn: each of three users begins with a different one, on one connection.
    let words = ["http", "--http2", "--streams", "3", "-c", "3", "--threads", "1", "-n", "3"];
    let run = measure([&words[..], &["--no-retry", "-f", &list]].concat());
    for (name, failure) in [("get", "reset"), ("post", "unanswered"), ("die", "reset")] {
        assert_eq!(run.operation("urls", name)["failures"], json!({ failure: 1 }), "{name}");
    }
    assert_eq!(node.count("requests"), 3);
}

#[test]
fn an_idempotent_request_is_sent_again_when_its_kept_connection_was_closed() {
    let Some(node) = Node::h2c() else { return };
    let url = format!("{}/die", node.url);
    for (more, sent) in [(&["-X", "PUT"][..], 2), (&["-X", "POST"], 1), (&["--no-retry"], 1)] {
        let before = node.count("requests");
        let words = ["http", "--http2", "-c", "1", "--threads", "1", "-n", "1", &url];
        let run = measure([&words[..], more].concat());
        assert_eq!(failures(&run.operation("urls", "request")), 1);
        assert_eq!(node.count("requests") - before, sent, "{more:?}");
    }
}

#[test]
fn a_request_that_takes_too_long_is_given_up_alone() {
    let Some(node) = Node::h2c() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let list = folder.path().join("list.txt");
    let url = &node.url;
    fs::write(&list, format!("slow: {url}/slow/60000\n{}", format!("quick: {url}/\n").repeat(9)))
        .expect("a list");
    let list = list.display().to_string();
    let words = ["http", "--http2", "--streams", "20", "-c", "20", "--threads", "1", "-f", &list];
    let words = [&words[..], &["--timeout", "1s"]].concat();
    let running = Running::start(
        [&words[..], &["--random", "--seed", "7", "-r", "40", "-d", "10m"]].concat(),
    );
    // Before the end of the run, when everything left is given up.
    let mut cancelled = 0;
    for _ in 0..6_000 {
        cancelled = node.seen()["resets"]["/slow/60000 8"].as_u64().unwrap_or(0);
        if cancelled >= 5 {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(cancelled >= 5, "{cancelled} CANCEL");
    assert_eq!(node.count("connections"), 2, "the connection stays");
    running.interrupt();
    let run = running.finish();
    let [slow, quick] = ["slow", "quick"].map(|name| run.operation("urls", name));
    let given_up = failures(&slow);
    assert!(given_up >= cancelled, "{slow}");
    assert_eq!(slow["failures"], json!({ "timeout": given_up }));
    assert_eq!((number(&slow["ok"]), failures(&quick)), (0, 0));
    assert!(number(&quick["ok"]) > given_up, "{quick}");
}

/// A silent connection may be alive or dead.
#[test]
fn a_connection_on_which_nothing_comes_for_as_long_as_a_request_may_take_is_replaced() {
    let Some(node) = Node::h2c() else { return };
    let url = format!("{}/slow/60000", node.url);
    let words = ["http", "--http2", "-c", "1", "--threads", "1", "-n", "3", "--timeout", "200ms"];
    let run = measure([&words[..], &[&url]].concat());
    assert_eq!(run.operation("urls", "request")["failures"], json!({ "timeout": 3 }));
    assert_eq!(node.count("connections"), 4);
    assert_eq!(node.seen()["resets"], json!({ "/slow/60000 8": 3 }));
}

#[test]
fn the_server_is_answered_when_it_asks_whether_the_client_is_there() {
    let Some(node) = Node::h2c() else { return };
    let words = ["http", "--http2", "-c", "1", "--threads", "1", "-r", "0.5", "-n", "2", &node.url];
    let running = Running::start(words);
    while node.count("answered") < 1 {
        std::thread::sleep(Duration::from_millis(5));
    }
    // Before the next request is due.
    node.asked("/ping");
    let mut waited_ms = 0;
    while node.count("pings") < 1 {
        assert!(waited_ms < 30_000, "no answer to a PING");
        std::thread::sleep(Duration::from_millis(10));
        waited_ms += 10;
    }
    assert_eq!(node.count("requests"), 1, "it was answered with the next request only");
    let run = running.finish();
    assert_eq!(number(&run.operation("urls", "request")["ok"]), 2);
}

#[test]
fn a_server_that_is_gone_is_told_from_requests_that_it_has_lost() {
    let Some(mut node) = Node::h2c() else { return };
    let words = ["http", "--http2", "--streams", "2", "-c", "4", "--threads", "1", "-r", "50"];
    let running = Running::start([&words[..], &["-n", "200", &node.url]].concat());
    while node.count("requests") < 50 {
        std::thread::sleep(Duration::from_millis(5));
    }
    node.process.kill();
    let run = running.finish();
    let request = run.operation("urls", "request");
    let begun = number(&run.stage("urls")["load"]["begun"]);
    assert_eq!(number(&request["ok"]) + failures(&request), begun);
    let of = |name: &str| request["failures"][name].as_u64().unwrap_or_default();
    assert!(of("connect") > 10, "{request}");
    assert_eq!(failures(&request), of("connect") + of("reset"), "{request}");
    assert!(run.full_report().contains("connection refused"), "{}", run.full_report());
}
