//! A server that repeats whatever it receives: no secret that was given to springload is passed on.

use std::fs;
use std::path::Path;
use std::process::Command;

use springload::embedded::Options;

use crate::proxy::{Message, Proxy};
use crate::pty::Pty;
use crate::servers::Server;
use crate::springload::{BINARY, Finished, Run, springload};

/// Long and odd enough to be recognized anywhere, and each used in its own place.
const SECRETS: [&str; 7] = [
    "pl4nted-password",
    "pl4nted-header",
    "pl4nted-token",
    "pl4nted-cookie",
    "pl4nted-query",
    "pl4nted-member",
    "pl4nted-command",
];
/// The parts that they share, and the first one's encodings in Basic authentication.
const MARKS: [&str; 3] = ["pl4nted", "cGw0bnRlZC", "YW5uOnBsNG50ZWQ"];

/// A CouchDB that repeats the request in its reasons and in its name, and sets a cookie.
fn echo() -> (Server, Proxy) {
    let server = Server::stand_in(Options {
        admin: Some(("ann".to_owned(), SECRETS[0].to_owned())),
        ..Options::default()
    });
    let answers = |request: &Message| {
        let (method, path) = request.words();
        let raw = String::from_utf8_lossy(&request.raw);
        let lines: Vec<_> = raw.lines().filter(|it| !it.starts_with("Host:")).collect();
        let echo = serde_json::to_string(&lines.join(" | ")).expect("JSON");
        let name = format!("{{\"couchdb\":{echo},\"version\":{echo},\"vendor\":{echo}}}");
        let refused = format!("{{\"error\":{echo},\"reason\":{echo}}}");
        let (status, body) = match (&method[..], &path[..]) {
            ("GET", "/") => ("200 OK", name),
            ("GET" | "POST", path) if path.starts_with("/echo") => ("500 Echo", refused),
            ("PUT", path) if path.matches('/').count() > 1 => ("400 Echo", refused),
            _ => return None,
        };
        let cookie = format!("Set-Cookie: sid={}; Path=/", SECRETS[3]);
        let length = body.len();
        let head = format!("HTTP/1.1 {status}\r\n{cookie}\r\nContent-Length: {length}");
        Some(format!("{head}\r\n\r\n{body}").into_bytes())
    };
    let proxy = Proxy::with_answers(&server.url, Box::new(answers));
    (server, proxy)
}

#[track_caller]
fn without(place: &str, text: &str) {
    for mark in MARKS {
        let near = text.split(mark).next().filter(|before| before.len() < text.len());
        let near = near.map(|before| before.lines().next_back().unwrap_or_default());
        assert_eq!(near, None, "{place}");
    }
}

/// All text files below a folder.
fn files(folder: &Path) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(files(&path));
        } else if let Ok(bytes) = fs::read(&path) {
            all.push((path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    all
}

/// No file of this run contains a secret, and neither do its reports in any format.
#[track_caller]
fn discreet(words: &[&str], run: &Finished, echoed: bool) {
    without(&format!("stdout of {words:?}"), &run.stdout);
    without(&format!("stderr of {words:?}"), &run.stderr);
    for (file, text) in files(run.output().parent().expect("a folder")) {
        if !file.ends_with("urls.txt") {
            without(&file, &text);
        }
    }
    if run.record.is_null() {
        return;
    }
    let out = run.output().display().to_string();
    let formats = "text json csv hlog openmetrics cushion siege siege-json agents-csv junit html \
                   svg ycsb ycsb-json ycsb-json-array";
    for format in formats.split_whitespace() {
        // Rendered by another process, which does not know the secrets.
        let shown = springload(["report", &out, "--verbose", "--format", format]);
        without(format, &shown.stdout);
        without(format, &shown.stderr);
        if format == "json" && echoed {
            assert!(shown.stdout.contains("***"), "{words:?} echoed nothing: {}", shown.stdout);
        }
    }
}

#[test]
fn a_password_a_header_and_a_token_that_a_database_repeats() {
    let (_server, proxy) = echo();
    let target = proxy.url.replace("://", "://ann@");
    let header = format!("X-Api-Key: {}", SECRETS[1]);
    let small = ["--docs", "20", "--ops", "20", "-c", "1", "--mix", "create=1", "--batch", "5"];
    let words = [&["run", &target, "-H", &header][..], &small].concat();
    for auth in ["cookie", "basic"] {
        let run = Run::of(&words).args(&["--auth", auth, "--verbose", "--no-tui"]);
        let run = run.envs([("SPRINGLOAD_PASSWORD", SECRETS[0])]).finish();
        discreet(&words, &run, true);
        assert!(run.record.is_object(), "{}", run.stderr);
    }
    let words = [&["run", &proxy.url, "-H", &header][..], &small].concat();
    let run = Run::of(&words).envs([("SPRINGLOAD_TOKEN", SECRETS[2])]).finish();
    discreet(&words, &run, false);
    let user = format!("ann:{}", SECRETS[0]);
    for words in [
        &["burst", &proxy.url, "-u", &user, "-c", "2", "-d", "200ms", "-H", &header][..],
        &["run", &proxy.url, "-u", &user, "-H", &header, "--dry-run"],
        &["audit", "none", &proxy.url, "-u", &user],
    ] {
        discreet(words, &Run::bare(words).finish(), false);
    }
}

#[test]
fn what_http_sends_and_receives_is_not_said_again() {
    let (_server, proxy) = echo();
    let url = format!("{}/echo?page=1&api_key={}", proxy.url, SECRETS[4]);
    let body = format!("{{\"name\":\"ann\",\"password\":\"{}\"}}", SECRETS[5]);
    let header = format!("Authorization: Bearer {}", SECRETS[2]);
    let own = format!("X-Own: {}", SECRETS[1]);
    let words = ["http", &url, "-n", "20", "-c", "2", "--body", &body, "-H", &header, "-H", &own];
    let run = Run::of(&words).args(&["--verbose", "--no-tui"]).finish();
    discreet(&words, &run, true);
    // The path is stored without its secret, so the request cannot be sent again.
    let record = run.output().join("run.json").display().to_string();
    let again = Run::bare(&["run", &record]).finish();
    assert_eq!(again.code, 2, "{}", again.stderr);
    assert!(again.stderr.contains("not stored") || again.stderr.contains("without its secret"));

    let line = format!("{url} POST {body}");
    for words in [
        &["siege", "-c1", "-r3", "-H", &header, "-H", &own, &line][..],
        &["siege", "--get", "-H", &header, &line],
        &["siege", "--print", "-H", &header, &line],
        &["siege", "--debug", "-c1", "-r2", "-H", &header, &line],
    ] {
        discreet(words, &Run::bare(words).finish(), false);
    }
    let run = Run::of(&["http", "-f", "urls.txt", "-n", "6", "-c", "1", "-H", &own]);
    let list = format!("{url}\n{line}\n");
    fs::write(run.folder().join("urls.txt"), list).expect("a file");
    discreet(&["http", "-f"], &run.finish(), true);
}

#[test]
fn the_values_of_a_list_with_a_secret_name_are_not_said_again() {
    let (_server, proxy) = echo();
    let url = format!("{}/echo?a={{{{token}}}}&sig={}", proxy.url, SECRETS[4]);
    let lists = [format!("token={},{}", SECRETS[2], SECRETS[5]), "city=Oslo,Rome".to_owned()];
    let words = ["http", &url, "-n", "20", "-c", "2", "--data", &lists[0], "--data", &lists[1]];
    let run = Run::of(&words).args(&["--verbose", "--no-tui"]).finish();
    discreet(&words, &run, true);
    assert_eq!(run.record["plan"]["data"]["city"]["one-of"][0], "Oslo");
    let record = run.output().join("run.json").display().to_string();
    let again = Run::bare(&["run", &record]).finish();
    assert_eq!(again.code, 2, "{}", again.stderr);
    assert!(again.stderr.contains("data.token: the list was stored without"), "{}", again.stderr);
}

/// A database that is named like a secret: the live view shows its name.
#[test]
fn the_live_view_is_as_careful() {
    let (_server, proxy) = echo();
    let folder = tempfile::tempdir().expect("a folder");
    let target = format!("{}/{}", proxy.url.replace("://", "://ann@"), SECRETS[1]);
    let header = format!("X-Api-Key: {}", SECRETS[1]);
    let mut command = Command::new(BINARY);
    command.args(["run", &target, "-H", &header, "-d", "10m", "-c", "1", "--docs", "20"]);
    command.arg("--output").arg(folder.path().join("out")).env("SPRINGLOAD_PASSWORD", SECRETS[0]);
    let mut pty = Pty::start(&mut command);
    pty.wait_for("p99 ms");
    pty.wait_for("***");
    pty.press("q");
    pty.finish();
    without("the live view", &pty.shown());
}

#[test]
fn commands_and_imitators_are_as_careful() {
    let (_server, proxy) = echo();
    let host = proxy.url.trim_start_matches("http://").to_owned();
    let target = format!("http://ann:{}@{host}", SECRETS[0]);
    // The output of the command itself does not matter here, so it prints nothing.
    let say = format!("true --password {}", SECRETS[6]);
    let small = ["--docs", "20", "--ops", "20", "-c", "1", "--pairs", "1"];
    let words = ["ab", &target, "--a", "--batch 5", "--b", "--batch 10", "--before-a", &say];
    let words = [&words[..], &small].concat();
    discreet(&words, &Run::of(&words).finish(), false);
    let address = format!("--database_address={target}");
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/schemas/example.json");
    let schema = format!("--json_document_schema_filename={schema}");
    let bulk = ["--num_documents_per_bulk_insert=5", "--num_bulk_insert_operations=2"];
    let cushion = ["cushion", &address, "--database_name=db", &schema, bulk[0], bulk[1]];
    let password = format!("couchbase.password={}", SECRETS[0]);
    let url = format!("couchdb.url={target}");
    for words in [
        &cushion[..],
        &["bm-couchdb", &target],
        &["ycsb", "load", "couchdb", "-p", "recordcount=5", "-p", &url, "-p", &password],
        &["shell", &target],
        &["sweep", &target, "-L", "batch=5,10", "--docs", "20", "--ops", "0", "-c", "1"],
    ] {
        discreet(words, &Run::bare(words).stdin("insert k a=b\n").finish(), false);
    }
}

#[test]
fn ordinary_words_stay_as_they_are() {
    // A password that is a common word in reports, and one that is too short.
    for password in ["couchdb", "bulk_insert", "admin", "123456"] {
        let server = Server::stand_in(Options {
            admin: Some(("ann".to_owned(), password.to_owned())),
            ..Options::default()
        });
        let target = server.url.replace("://", "://ann@");
        let words = ["run", &target, "--docs", "20", "--ops", "20", "-c", "1", "--batch", "5"];
        let run = Run::of(&words).envs([("SPRINGLOAD_PASSWORD", password)]).finish().passed();
        assert_eq!(run.record["plan"]["target"]["user"], "ann");
        assert_eq!(run.record["stages"][0]["name"], "bulk_insert");
        let out = run.output().display().to_string();
        assert_eq!(springload(["report", &out]).code, 0);
        assert!(!run.stdout.contains("***"), "{}", run.stdout);
    }
}

/// The output of a command before a run of a comparison, and the comparison continued with its
/// secret given again.
#[test]
fn commands_before_runs_are_as_careful_and_their_study_goes_on() {
    let server = Server::stand_in(Options::default());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = folder.path().display().to_string();
    let before = format!("echo --password={}; echo plain words", SECRETS[6]);
    let header = format!("X-Api-Key: {}", SECRETS[1]);
    let words = ["ab", &server.url, "-o", &place, "--pairs", "1", "--docs", "20", "--ops", "20"];
    let more = ["-c", "1", "-H", &header, "--before-a", &before, "--b", "--seed=2"];
    let words = [&words[..], &more].concat();
    let run = springload(&words);
    assert!(run.stderr.contains("plain words"), "{}", run.stderr);
    without("stdout", &run.stdout);
    without("stderr", &run.stderr);
    for (file, text) in files(folder.path()) {
        without(&file, &text);
    }
    // There is nothing left to measure.
    let again = springload(&words);
    assert!(!again.stderr.contains("another comparison"), "{}", again.stderr);
    assert!(!again.stderr.contains("plain words"), "{}", again.stderr);
    assert_eq!(again.code, run.code, "{}", again.stderr);
    // Another secret makes it another comparison.
    let other = before.replace("plain words", "other words");
    let words: Vec<&str> =
        words.iter().map(|word| if *word == before { &*other } else { word }).collect();
    let refused = springload(&words);
    assert!(refused.code == 2 && refused.stderr.contains("another comparison"));
}

#[test]
fn a_sweep_with_a_secret_goes_on_when_it_is_given_again() {
    let server = Server::stand_in(Options::default());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = folder.path().display().to_string();
    let op = format!("page=all_docs limit=1&api_key={}", SECRETS[4]);
    let words = ["sweep", &server.url, "-o", &place, "-L", "think=0ms,1ms", "--docs", "20"];
    let words = [&words[..], &["--ops", "20", "-c", "1", "--mix", "page=1", "--op", &op]].concat();
    let run = springload(&words);
    without("stderr", &run.stderr);
    for (file, text) in files(folder.path()) {
        without(&file, &text);
    }
    assert!(folder.path().join("cells/001/run.json").is_file(), "{}", run.stderr);
    fs::remove_dir_all(folder.path().join("cells/001")).expect("it is there");
    let kept = folder.path().join("sweep.json");
    let text = fs::read_to_string(&kept).expect("a sweep");
    let mut sweep: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    sweep["cells"][1]["result"] = serde_json::Value::Null;
    fs::write(&kept, sweep.to_string()).expect("it is written");
    // A secret that was not stored cannot be sent again, which is reported.
    let resumed = springload(["sweep", "--resume", &place]);
    assert!(resumed.code == 2 && resumed.stderr.contains("not stored"), "{}", resumed.stderr);
    let again = springload(&words);
    assert_eq!(again.stderr.matches("cell ").count(), 1, "{}", again.stderr);
    assert!(folder.path().join("cells/001/run.json").is_file(), "{}", again.stderr);
}
