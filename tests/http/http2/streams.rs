//! How requests are spread over connections without waiting for each other.

use serde_json::json;

use super::server::Node;
use crate::springload::{failures, measure, number};

#[test]
fn as_many_users_share_a_connection_as_are_asked_for_and_both_sides_count_the_same() {
    for (streams, connections) in [("1", 200), ("2", 100), ("100", 2)] {
        let Some(node) = Node::h2c() else { return };
        let before = node.count("connections");
        let words = ["http", "--http2", "--streams", streams, "-c", "200", "-n", "4000"];
        let run = measure([&words[..], &["--threads", "1", &node.url]].concat()).passed();
        let seen = node.seen();
        // One more connection checked that the server speaks HTTP/2.
        assert_eq!(number(&seen["connections"]) - before, connections + 1, "{streams}");
        let request = run.operation("urls", "request");
        assert_eq!((number(&request["ok"]), failures(&request)), (4_000, 0));
        assert_eq!(number(&seen["requests"]), 4_000);
        assert_eq!(request["bytes_received"], 4_000 * 5, "of hello");
        assert_eq!(run.record["plan"]["http"]["http2"]["streams"].to_string(), streams);
        assert_eq!(run.record["server"]["version"], "2");
        assert_eq!(request["statuses"], json!({ "200": 4_000 }));
    }
}

#[test]
fn with_several_threads_each_has_connections_of_its_own() {
    let Some(node) = Node::h2c() else { return };
    let words = ["http", "--http2", "--streams", "10", "-c", "30", "-n", "300", "--threads", "2"];
    measure([&words[..], &[&node.url]].concat()).passed();
    // 15 users on each, and one connection that checked that the server speaks HTTP/2.
    assert_eq!(node.count("connections"), 4 + 1);
}

#[test]
fn a_slow_answer_does_not_hold_up_those_beside_it_on_the_connection() {
    let Some(node) = Node::h2c() else { return };
    let list = tempfile::tempdir().expect("a folder");
    let file = list.path().join("urls.txt");
    let url = &node.url;
    std::fs::write(&file, format!("slow: {url}/slow/600\nquick: {url}/\n")).expect("a list");
    let file = file.display().to_string();
    let words = ["http", "--http2", "--streams", "20", "-c", "20", "--threads", "1", "-f", &file];
    let run = measure([&words[..], &["-r", "50", "-n", "100"]].concat());
    assert_eq!(node.count("connections"), 2);
    let [slow, quick] = ["slow", "quick"].map(|name| run.operation("urls", name));
    assert_eq!(number(&slow["ok"]) + number(&quick["ok"]), 100);
    assert!(number(&slow["ok"]) > 20 && number(&quick["ok"]) > 20);
    let median = |row: &serde_json::Value| row["response"]["p50_us"].as_f64().expect("a time");
    assert!(median(&slow) >= 600e3, "{slow}");
    assert!(median(&quick) < 300e3, "{quick}");
}

#[test]
fn a_limit_of_the_server_on_streams_is_reported_before_anything_is_sent() {
    let Some(node) = Node::with(&json!({ "maxConcurrentStreams": 8 })) else { return };
    let of = |streams: &str| {
        let words = ["http", "--http2", "--streams", streams, "-c", "16", "-n", "160"];
        measure([&words[..], &["--threads", "1", &node.url]].concat())
    };
    let words = ["the server allows 8 streams on a connection, not 9", "give --streams 8 or less"];
    of("9").refused(3, &words);
    assert_eq!(node.count("requests"), 0);
    of("8").passed();
    assert_eq!((node.count("requests"), node.count("most") <= 16), (160, true));
}

/// The server is stopped in the middle: requests that were due then count their wait from that
/// time.
#[test]
fn the_wait_for_a_server_that_stands_still_is_counted_from_when_requests_were_due() {
    let Some(node) = Node::h2c() else { return };
    let words = ["http", "--http2", "--streams", "4", "-c", "4", "--threads", "1", "-r", "100"];
    let running = crate::springload::Running::start(
        [&words[..], &["-d", "3s", "--timeout", "20s", &node.url]].concat(),
    );
    while node.count("requests") < 50 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let pid = rustix::process::Pid::from_raw(node.process.pid().cast_signed()).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).expect("stopped");
    std::thread::sleep(std::time::Duration::from_secs(1));
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).expect("continued");
    let run = running.finish();
    let request = run.operation("urls", "request");
    let begun = number(&run.stage("urls")["load"]["begun"]);
    assert_eq!((number(&request["ok"]), failures(&request)), (begun, 0));
    let of = |name: &str| request["response"][name].as_f64().expect("a time");
    // About 100 were due in the second without responses.
    assert!(of("max_us") >= 900e3, "{request}");
    assert!(of("p90_us") >= 300e3, "{request}");
}

#[test]
fn agents_share_the_users_and_have_connections_of_their_own() {
    let Some(node) = Node::h2c() else { return };
    let words = ["http", "--http2", "--streams", "5", "-c", "20", "-n", "400", "--threads", "1"];
    let run = measure([&words[..], &["--agents", "2", &node.url]].concat()).passed();
    let request = run.operation("urls", "request");
    assert_eq!((number(&request["ok"]), failures(&request)), (400, 0));
    let seen = node.seen();
    assert_eq!(number(&seen["requests"]), 400);
    // 10 users of each agent on two connections, and one per process that checked for HTTP/2.
    assert_eq!(number(&seen["connections"]), 2 * 2 + 3, "{seen}");
}
