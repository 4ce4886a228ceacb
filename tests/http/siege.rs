//! The command line of siege 4.0.7: what is requested and what is printed, compared with the real
//! program if it is installed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::server::Server;
use crate::servers::absent;
use crate::springload::{measure, springload};
use tempfile::TempDir;

/// A list of ten URLs, and a configuration file with `more` in it.
fn files(server: &Server, more: &str) -> (TempDir, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let (list, rc) = (folder.path().join("urls.txt"), folder.path().join("rc"));
    let text = (0..10).map(|n| format!("{}/{n}", server.url)).collect::<Vec<_>>().join("\n");
    std::fs::write(&list, text).expect("a file");
    std::fs::write(
        &rc,
        format!("protocol = HTTP/1.1\nparser = false\ncolor = off\ngmethod = HEAD\n{more}"),
    )
    .expect("a file");
    let name = |path: PathBuf| path.to_str().expect("a name").to_owned();
    (folder, name(list), name(rc))
}

fn sorted(mut whats: Vec<String>) -> Vec<String> {
    whats.sort();
    whats
}

#[test]
fn once_is_once_for_each_user() {
    let server = Server::start();
    let (_folder, list, _) = files(&server, "");
    let finished = measure(["siege", "-b", "-c3", "-ronce", "-f", &list]).passed();
    let each: Vec<_> = (0..10).flat_map(|n| vec![format!("GET /{n}"); 3]).collect();
    assert_eq!(sorted(server.whats()), each);
    // Every user begins with the first.
    let first = server.whats()[..3].to_vec();
    assert!(first.contains(&"GET /0".to_owned()), "{first:?}");
    assert!(finished.stdout.contains("Transactions:\t\t          30 hits\n"));
    let random = Server::start();
    let (_folder, list, _) = files(&random, "");
    measure(["siege", "-b", "-c3", "-ronce", "-i", "-f", &list]).passed();
    assert_eq!(random.seen().len(), 30);
    assert_ne!(sorted(random.whats()), each);
}

#[test]
fn lines_have_the_path_and_fullurl_the_whole_url() {
    let server = Server::start();
    let (folder, _, rc) = files(&server, "fullurl = true\n");
    let out = folder.path().join("out").display().to_string();
    let url = format!("{}/redirect/302", server.url);
    let line = |origin: &str| {
        format!(
            "bytes ==> GET  {origin}/redirect/302\nHTTP/1.1 200    0.000 secs:       5 bytes ==> \
             GET  {origin}/landed\n"
        )
    };
    let shown = |more: &[&str]| {
        let arguments = [&["siege", "-c1", "-r1", "-v", "-o", &out], more, &[&url]].concat();
        let stdout = springload(arguments).stdout;
        let at = stdout.find("HTTP/1.1 200 ").expect("a second line") + "HTTP/1.1 200 ".len();
        format!("{}   0.000{}", &stdout[..at], &stdout[at + 8..])
    };
    let short = shown(&[]);
    assert!(short.contains(&line("")), "{short}");
    let long = shown(&["-R", &rc]);
    assert!(long.contains(&line(&server.url)), "{long}");
}

#[test]
fn one_exchange_is_shown_and_followed_with_figures_below() {
    let server = Server::start();
    let url = format!("{}/redirect/302", server.url);
    let shown = springload(["siege", "-g", &url]);
    assert_eq!(
        (shown.code, server.whats()),
        (0, vec!["HEAD /redirect/302".into(), "GET /landed".into()])
    );
    let places: Vec<_> = [
        "HEAD /redirect/302 HTTP/1.1\r\n",
        "HTTP/1.1 302 Found\r\n",
        "location: /landed",
        "GET /landed HTTP/1.1\r\n",
        "HTTP/1.1 200 OK\r\n",
    ]
    .iter()
    .map(|part| shown.stdout.find(part).unwrap_or_else(|| panic!("{part:?}: {}", shown.stdout)))
    .collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(!shown.stdout.contains("hello"), "{}", shown.stdout);
    assert!(shown.stderr.contains("Transactions:\t\t           2 hits\n"), "{}", shown.stderr);
    let shown = springload(["siege", "-p", &url]);
    assert!(shown.stdout.starts_with("GET /redirect/302 HTTP/1.1\r\n"), "{:?}", shown.stdout);
    assert!(shown.stdout.ends_with("\r\n\r\n\nhello\n"), "{:?}", shown.stdout);
    assert_eq!(shown.stdout.matches("hello\n").count(), 2);
    assert!(!shown.stdout.contains("302 Found"), "{:?}", shown.stdout);
    assert_eq!(server.whats()[2..], ["GET /redirect/302", "GET /landed"]);
    assert_eq!(server.seen()[3].header("accept-encoding"), "identity");
    let figures = springload(["siege", "-g", "-j", "--no-follow", &url]).stdout;
    let figures: serde_json::Value = serde_json::from_str(&figures).expect("JSON");
    assert_eq!((&figures["transactions"], server.seen().len()), (&1.into(), 5));
    assert_eq!(springload(["siege", "-g", "-q", &url]).stdout, "");
    let (_folder, list, _) = files(&server, "");
    springload(["siege", "-g", "-f", &list]).refused(2, &["--get: 0 URLs"]);
}

#[test]
fn version_configuration_and_debugging() {
    let server = Server::start();
    let url = format!("{}/x", server.url);
    let version = springload(["siege", "-V", &url]);
    assert_eq!((version.code, version.stdout.lines().count()), (0, 1));
    assert!(version.stdout.contains("siege 4.0.7"), "{}", version.stdout);
    let (folder, list, rc) = files(&server, "concurrent = 7\ndelay = 2.5\nverbose = true\n");
    let arguments = ["siege", "-C", "-R", &rc, "-t", "30S", "-f", &list];
    let configuration = springload(arguments);
    assert_eq!(configuration.code, 0, "{}", configuration.stderr);
    for line in [
        "CURRENT  SIEGE  CONFIGURATION".to_owned(),
        "verbose:                        true".to_owned(),
        "concurrent users:               7".to_owned(),
        "time to run:                    30 seconds".to_owned(),
        "repetitions:                    n/a".to_owned(),
        "delay:                          2.500 sec".to_owned(),
        format!("URLs file:                      {list}"),
        format!("resource file:                  {rc}"),
    ] {
        let found = configuration.stdout.lines().any(|it| it == line);
        assert!(found, "no {line:?} in {}", configuration.stdout);
    }
    let (_folder, _, rc) = files(&server, "logfile = my.log\n");
    for (flags, name) in [
        (&["-R", &rc, "-l"][..], "my.log"),
        (&["-R", &rc, "-lown.log"], "own.log"),
        (&["-l"], "siege.log"),
    ] {
        let shown = springload([&["siege", "-C"][..], flags].concat()).stdout;
        let lines = [format!("{:32}true", "logging:"), format!("{:32}{name}", "log file:")];
        let found = lines.iter().all(|line| shown.lines().any(|it| it == line));
        assert!(found, "no {lines:?} in {shown}");
    }
    assert_eq!(server.connections(), 0);
    let out = folder.path().join("out").display().to_string();
    let url = format!("{}/x POST a=1", server.url);
    let debug = springload(["siege", "-D", "-c1", "-r2", "-o", &out, &url]).stdout;
    assert_eq!(debug.matches("POST /x HTTP/1.1\r\n").count(), 2, "{debug}");
    assert_eq!(debug.matches("\r\n\r\na=1\nHTTP/1.1 200 OK\r\n").count(), 2, "{debug}");
}

/// The output of the real siege on stdout; `None`, with a message, if it is not installed.
fn real(home: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("timeout");
    command.args(["60", "siege"]).args(arguments).env("HOME", home).stdin(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success());
    if output.is_none() {
        absent("siege", "install the package siege");
    }
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The parts of the output that do not differ from run to run: the first line of heads, and verbose
/// lines without the time.
fn stable_lines(stdout: &str) -> Vec<String> {
    let line = |line: &str| {
        let line = line.trim_end().replace("HTTP/1.0", "HTTP/1.1");
        let mut words: Vec<_> = line.split_whitespace().collect();
        match words.iter().position(|&word| word == "secs:") {
            Some(at) => drop(words.remove(at - 1)),
            None if line.contains("HTTP/1.1") => {}
            None => return None,
        }
        Some(words.join(" "))
    };
    sorted(stdout.lines().filter_map(line).collect())
}

#[test]
fn requests_and_lines_are_sieges() {
    for arguments in [
        &["-b", "-c3", "-ronce", "-f", "LIST"][..],
        &["-b", "-c3", "-r2", "-f", "LIST"],
        &["-b", "-c12", "-r2", "-f", "LIST"],
        &["-b", "-v", "-c2", "-r2", "BASE/redirect/302"],
        &["-b", "-v", "-c1", "-r1", "BASE/redirect/303 POST a=1"],
        &["-b", "-v", "-c1", "-r1", "BASE/redirect/201?/there PUT a=1"],
        &["-b", "-v", "-c1", "-r1", "BASE/status/404?x=1"],
        &["-g", "BASE/redirect/302"],
        &["-g", "BASE/x"],
        &["-g", "BASE/x PUT a=1"],
        &["-p", "BASE/redirect/302"],
    ] {
        let (theirs, ours) = (Server::start(), Server::start());
        let run = |server: &Server, siege: &dyn Fn(&Path, &[&str]) -> Option<String>| {
            let (folder, list, rc) = files(server, "connection = close\n");
            let meant = |word: &&str| word.replace("LIST", &list).replace("BASE", &server.url);
            let words: Vec<_> = arguments.iter().map(meant).collect();
            let mut words: Vec<_> = words.iter().map(String::as_str).collect();
            words.extend(["-R", &rc]);
            siege(folder.path(), &words)
        };
        let Some(real) = run(&theirs, &real) else { return };
        let own = run(&ours, &|folder, words| {
            let out = folder.join("out").display().to_string();
            Some(springload([&["siege"], words, &["-o", &out]].concat()).stdout)
        });
        assert_eq!(sorted(ours.whats()), sorted(theirs.whats()), "{arguments:?}");
        let own = own.expect("text").replace(&ours.url, &theirs.url);
        assert_eq!(stable_lines(&own), stable_lines(&real), "{arguments:?}");
    }
}
