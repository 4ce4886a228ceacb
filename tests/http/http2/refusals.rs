//! Servers that do not speak HTTP/2, and features that HTTP/2 lacks.

use serde_json::json;

use super::server::Node;
use crate::springload::springload;

const CURE: &str = "leave --http2 out";

/// The result of trying a first HTTP/2 request on a URL.
fn tried(url: &str) -> crate::springload::Finished {
    let insecure = url.starts_with("https:").then_some("-k");
    springload(["http", "--http2", "-n", "1", url].into_iter().chain(insecure))
}

#[test]
fn a_server_of_http_1_1_alone_is_refused_in_words() {
    let Some(node) = Node::start(&json!({ "mode": "http1" })) else { return };
    tried(&node.url).refused(3, &["the server does not speak HTTP/2", CURE]);
}

#[test]
fn a_server_that_does_not_agree_on_http_2_with_tls_is_refused_in_words() {
    for mode in ["tls_http1", "tls_bare"] {
        let folder = tempfile::tempdir().expect("a folder");
        let Some(node) = Node::secure(mode, folder.path()) else { return };
        tried(&node.url).refused(3, &["the server does not speak HTTP/2", CURE]);
        // No HTTP/2 was sent to a server that has not agreed to it.
        assert_eq!(node.count("requests"), 0, "{mode}");
    }
}

#[test]
fn http_where_https_is_spoken_is_reported_as_with_http_1_1() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(node) = Node::secure("tls", folder.path()) else { return };
    let plain = node.url.replace("https", "http");
    tried(&plain).refused(3, &["the server speaks TLS", &format!("write {}", node.url)]);
}

#[test]
fn a_server_that_hangs_up_is_told_from_one_that_is_not_there() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let server = std::thread::spawn(move || {
        // The second connection checks for TLS.
        for _ in 0..2 {
            drop(listener.accept());
        }
    });
    tried(&url).refused(3, &["closed the connection when it was spoken to in HTTP/2", CURE]);
    server.join().expect("done");
    tried(&url).refused(3, &["connection refused"]);
}

#[test]
fn what_http_2_does_not_have_is_refused_before_anything_is_sent() {
    let of = |words: &[&str]| {
        let words = [&["http", "-n", "1", "http://127.0.0.1:9"], words].concat();
        springload(words)
    };
    of(&["--streams", "2"]).refused(2, &["--http2"]);
    let header = "Connection: close";
    of(&["--http2", "-H", header]).refused(2, &["HTTP/2 has no header Connection", "leave it out"]);
    of(&["--http2", "-H", "TE: gzip"]).refused(2, &["HTTP/2 has no header TE"]);
    // What no request may set is refused once.
    let framed = of(&["--http2", "-H", "Transfer-Encoding: chunked"]);
    let framed = framed.refused(2, &["Transfer-Encoding depends on the body"]);
    assert_eq!(framed.stderr.matches("Transfer-Encoding").count(), 1, "{}", framed.stderr);
    of(&["--http2", "--streams", "2", "--close"]).refused(2, &["--streams", "--close"]);
    of(&["--http2", "--streams", "0"]).refused(2, &["--streams"]);
    // Both flags are accepted, so the only error is that nothing listens there.
    of(&["--http2", "-H", "TE: trailers", "--close"]).refused(3, &["connection refused"]);
}
