//! Responses have the same effect as with HTTP/1.1.

use std::fs;

use serde_json::{Value, json};

use super::server::Node;
use crate::springload::{Finished, failures, measure, number, springload};

fn one(words: &[&str]) -> (Finished, Value) {
    let run = measure([&["http", "--http2", "-c", "1", "--threads", "1"], words].concat());
    let request = run.operation("urls", "request");
    assert_eq!(number(&request["ok"]) + failures(&request), node_requests(&run), "{}", run.stderr);
    (run, request)
}

fn node_requests(run: &Finished) -> u64 {
    number(&run.stage("urls")["load"]["begun"])
}

#[test]
fn requests_are_spelled_as_http_2_has_them() {
    let Some(node) = Node::h2c() else { return };
    let url = format!("{}/a%20b?q={{{{seq}}}} PUT {{\"n\":1}}", node.url);
    one(&["-n", "2", "-H", "X-One: Two", "--user", "ann:secret", &url]);
    let seen = node.seen();
    let last = &seen["last"];
    assert_eq!(last[":method"], "PUT");
    assert_eq!(last[":path"], "/a%20b?q=2");
    assert_eq!(last[":scheme"], "http");
    assert_eq!(last[":authority"], node.url.replace("http://", ""));
    assert_eq!(last["x-one"], "Two");
    assert_eq!(last["content-length"], "7");
    assert_eq!(last["content-type"], "application/json");
    assert_eq!(last["authorization"], "Basic YW5uOnNlY3JldA==");
    assert!(last["host"].is_null() && last["connection"].is_null(), "{last}");
    one(&["-n", "1", "-H", "Host: other.example", &node.url]);
    assert_eq!(node.seen()["last"][":authority"], "other.example");
}

#[test]
fn statuses_hints_redirects_and_cookies_count_as_ever() {
    let Some(node) = Node::h2c() else { return };
    let url = |path: &str| format!("{}{path}", node.url);
    let (_, request) = one(&["-n", "6", &url("/status/404"), &url("/status/503")]);
    assert_eq!(
        (&request["failures"]["not_found"], &request["failures"]["server_error"]),
        (&json!(3), &json!(3))
    );
    assert_eq!(request["statuses"], json!({ "404": 3, "503": 3 }));
    let (_, request) = one(&["-n", "3", &url("/cached")]);
    assert_eq!((&request["from_cache"], &request["retry_after"]), (&json!(3), &json!(3)));
    let (_, request) = one(&["-n", "2", &url("/redirect")]);
    assert_eq!((number(&request["ok"]), number(&request["http_requests"])), (2, 4));
    assert_eq!(request["statuses"], json!({ "200": 2, "302": 2 }));
    assert_eq!(node.seen()["whats"]["GET /landed"], 2);
    one(&["-n", "2", &url("/cookie")]);
    assert_eq!(node.seen()["last"]["cookie"], "flavour=oat");
    let (_, request) = one(&["-n", "2", "-X", "HEAD", &url("/big/1000")]);
    assert_eq!((number(&request["ok"]), &request["bytes_received"]), (2, &json!(0)));
}

#[test]
fn compressed_answers_are_decoded_if_asked_for_and_damaged_ones_fail() {
    let Some(node) = Node::h2c() else { return };
    let url = |path: &str| format!("{}{path}", node.url);
    let (_, request) = one(&["-n", "2", "--decode", &url("/gzip")]);
    assert_eq!(number(&request["ok"]), 2);
    let (run, request) = one(&["-n", "2", "--decode", &url("/broken")]);
    assert_eq!(request["failures"]["protocol"], 2);
    assert!(run.full_report().contains("cannot be decoded as gzip"), "{}", run.full_report());
    let (_, request) = one(&["-n", "2", &url("/broken")]);
    assert_eq!(number(&request["ok"]), 2, "nobody looks");
}

#[test]
fn a_sequence_sends_what_an_answer_has_said() {
    let (Some(node), folder) = (Node::h2c(), tempfile::tempdir().expect("a folder")) else {
        return;
    };
    let list = folder.path().join("list.txt");
    let text = format!(
        "visit {{\n in: {0}/login POST x=1\n save token = token\n save tag = header ETag\n \
         on: {0}/page\n header Authorization: Bearer {{{{saved token}}}}\n \
         header If-Match: {{{{saved tag}}}}\n}}\n",
        node.url
    );
    fs::write(&list, text).expect("a list");
    let words = ["http", "--http2", "--streams", "5", "-c", "10", "-n", "40", "-f"];
    let run = measure([&words[..], &[&list.display().to_string()]].concat()).passed();
    for name in ["visit", "in", "on"] {
        let row = run.operation("urls", name);
        assert_eq!((number(&row["ok"]), failures(&row)), (40, 0), "{name}");
    }
    let seen = node.seen();
    assert_eq!(seen["last"]["authorization"], "Bearer t-17");
    assert_eq!(seen["last"]["if-match"], "\"e1\"");
    assert_eq!(number(&seen["requests"]), 80);
}

#[test]
fn tls_is_spoken_with_http_2_agreed_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(node) = Node::secure("tls", folder.path()) else { return };
    let authority = folder.path().join("ca.pem").display().to_string();
    let words = ["http", "--http2", "--streams", "4", "-c", "8", "-n", "400", "--threads", "1"];
    let run = measure([&words[..], &["--tls-ca", &authority, &node.url]].concat()).passed();
    assert_eq!(number(&run.operation("urls", "request")["ok"]), 400);
    let seen = node.seen();
    assert_eq!((number(&seen["requests"]), number(&seen["connections"])), (400, 3));
    assert_eq!(seen["last"][":scheme"], "https");
}

#[test]
fn it_is_compared_with_http_1_1_on_the_same_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(node) = Node::secure("tls_both", folder.path()) else { return };
    let authority = folder.path().join("ca.pem").display().to_string();
    let [old, new] = [&[][..], &["--http2"]].map(|version| {
        let words = ["http", "-c", "2", "-n", "400", "--tls-ca", &authority, &node.url];
        measure([&words[..], version].concat()).passed()
    });
    let versions = [&old, &new].map(|run| run.record["server"]["version"].clone());
    assert_eq!(versions, ["1.1", "2"]);
    let records = [&old, &new].map(|run| run.output().display().to_string());
    let words = ["compare", &records[0], &records[1], "--format", "json"];
    let compared: Value = serde_json::from_str(&springload(words).stdout).expect("JSON");
    let differs = compared["differs"].as_array().expect("a list");
    let is_named = |name: &str| differs.iter().any(|it| it.to_string().contains(name));
    assert!(is_named("http2") && is_named("1.1"), "{compared:#}");
}

#[test]
fn large_bodies_pass_both_ways_and_none_is_larger_than_allowed() {
    let Some(node) = Node::h2c() else { return };
    let url = |path: &str| format!("{}{path}", node.url);
    let (_, request) = one(&["-n", "3", &url("/big/40000000")]);
    assert_eq!((number(&request["ok"]), &request["bytes_received"]), (3, &json!(120_000_000)));
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("body.txt");
    fs::write(&file, vec![b'y'; 5_000_000]).expect("a body");
    let body = format!("@{}", file.display());
    let (_, request) = one(&["-n", "3", "--body", &body, &url("/body")]);
    assert_eq!((number(&request["ok"]), &request["bytes_sent"]), (3, &json!(15_000_000)));
    assert_eq!(request["bytes_received"], 3 * "{\"bytes\":5000000}".len());
    for path in ["/endless", "/big/2000000"] {
        let (run, request) = one(&["-n", "2", "--max-answer", "1000000", &url(path)]);
        assert_eq!(request["failures"]["protocol"], 2, "{path}");
        assert!(run.full_report().contains("larger than --max-answer"), "{}", run.full_report());
    }
    let (_, request) = one(&["-n", "2", "--max-answer", "2001000", &url("/big/2000000")]);
    assert_eq!(number(&request["ok"]), 2);
    // A response that arrives before the body has been read ends the sending.
    let (_, request) = one(&["-n", "2", "--body", &body, &url("/early")]);
    assert_eq!(request["failures"]["too_large"], 2, "{request}");
}
