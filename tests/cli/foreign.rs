//! A server that sends strings harmful to a terminal or a log: none of them gets there.

use crate::proxy::{Message, Proxy};
use crate::pty::Pty;
use crate::servers::Server;
use crate::springload::{Finished, Run, binary, springload};
use springload::op::steers;
use std::fs;

/// Sets a terminal's title, clears it, and reverses the direction of writing; first as JSON, then
/// as in a response head.
const EVIL: &str = "\\u001b]0;pwned\\u0007\\u009b2J\\r\\nforged\\u202eline\\u0000";
const HEAD: &str = "pwned\u{9b}2J\u{202e}";

/// A relay that poses as CouchDB in front of the stand-in, with a hostile name, version and
/// reasons.
fn hostile() -> (Server, Proxy) {
    let server = Server::stand_in(springload::embedded::Options::default());
    let answers = |request: &Message| {
        let (method, path) = request.words();
        let welcome = format!(
            "{{\"couchdb\": \"Welcome\", \"version\": \"3{EVIL}\", \"vendor\": \"{EVIL}\"}}"
        );
        let refused = format!("{{\"error\": \"e{EVIL}\", \"reason\": \"r{EVIL}\"}}");
        let (status, body) = match (&method[..], &path[..]) {
            ("GET", "/") => ("200 OK".to_owned(), welcome),
            ("PUT", path) if path.matches('/').count() > 1 => (format!("400 {HEAD}"), refused),
            _ => return None,
        };
        let length = body.len();
        let head = format!("Server: x{HEAD}\r\nContent-Type: application/json");
        let answer =
            format!("HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {length}\r\n\r\n{body}");
        Some(answer.into_bytes())
    };
    let proxy = Proxy::with_answers(&server.url, Box::new(answers));
    (server, proxy)
}

#[track_caller]
fn plain(about: &str, text: &str) {
    let wrong = text.lines().find(|line| line.replace('\t', "").contains(steers));
    assert_eq!(wrong, None, "{about}");
    assert!(!text.lines().any(|line| line.starts_with("forged")), "{about}: {text}");
}

#[track_caller]
fn plain_both(about: &str, run: &Finished) {
    plain(about, &run.stdout);
    plain(about, &run.stderr);
}

#[test]
fn what_a_server_calls_itself_and_why_it_refuses_is_shown_as_plain_text() {
    let (_server, proxy) = hostile();
    let words =
        ["run", &proxy.url, "--mix", "create=100", "--docs", "20", "--ops", "20", "-c", "1"];
    let run = Run::of(&words).finish();
    assert!(run.stdout.contains("pwned"), "{}{}", run.stdout, run.stderr);
    plain_both("run", &run);
    let out = run.output().display().to_string();
    let formats =
        "text csv hlog openmetrics cushion siege siege-json junit svg ycsb ycsb-json json";
    for format in formats.split(' ') {
        let shown = springload(["report", &out, "--verbose", "--format", format]);
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        plain_both(format, &shown);
    }
    let folder = run.output().parent().expect("a folder").display().to_string();
    for words in [&["list", &folder][..], &["list", &folder, "--json"], &["show", &out]] {
        let shown = springload(words);
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        plain_both(&words.join(" "), &shown);
    }
}

#[test]
fn other_verbs_are_as_careful() {
    let (_server, proxy) = hostile();
    let url = format!("{}/a/b PUT x", proxy.url);
    for words in [
        &["http", "-X", "PUT", "-n", "2", "-c", "1", &format!("{}/a/b", proxy.url)][..],
        &["siege", "-c1", "-r2", &url],
        &["burst", &proxy.url, "-c", "1", "-d", "200ms"],
        &["bm-couchdb", &proxy.url],
    ] {
        let run = Run::bare(words).finish();
        assert!(!run.stderr.is_empty() || !run.stdout.is_empty(), "{words:?}");
        plain_both(&format!("{words:?}"), &run);
    }
}

#[test]
fn siege_shows_an_answer_on_a_terminal_as_plain_text() {
    let (_server, proxy) = hostile();
    let url = format!("{}/a/b PUT x", proxy.url);
    for flag in ["--get", "--print"] {
        let mut pty = Pty::start(binary().args(["siege", flag, &url]));
        let _ = pty.finish();
        let shown = pty.shown();
        assert!(shown.contains("pwned"), "{shown:?}");
        assert!(!shown.contains("\u{1b}]0;") && !shown.contains("\u{9b}2J"), "{shown:?}");
    }
}

#[test]
fn a_message_about_a_file_is_plain_text() {
    let run = Run::bare(&["run", "plan.toml"]);
    fs::write(run.folder().join("plan.toml"), "x = \"\u{9b}2J\u{202e}\"\n\u{1b}]0;y\u{7} = 1\n")
        .expect("a file");
    let ended = run.finish();
    assert_eq!(ended.code, 2);
    plain_both("plan.toml", &ended);
    let run = Run::bare(&["siege", "-f", "urls.txt"]);
    fs::write(run.folder().join("urls.txt"), "http://h/ \u{1b}]0;y\u{7}\u{9b} x\n")
        .expect("a file");
    plain_both("urls.txt", &run.finish());
    let run = Run::bare(&["ycsb", "run", "couchdb", "-P", "p"]);
    fs::write(run.folder().join("p"), "operationcount=\u{1b}]0;y\u{7}\u{9b}\n").expect("a file");
    plain_both("p", &run.finish());
    plain_both("address", &Run::bare(&["run", "http://h\u{1b}]0;y\u{7}\u{9b}:1"]).finish());
    plain_both("flag", &Run::bare(&["run", "--\u{1b}]0;y\u{7}\u{9b}"]).finish());
    plain_both("value", &Run::bare(&["run", "--docs", "\u{1b}]0;y\u{7}\u{9b}"]).finish());
}
