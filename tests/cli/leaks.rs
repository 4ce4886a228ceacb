//! A password in an invalid or mistyped address is never shown.

use crate::pty::Pty;
use crate::servers::Server;
use crate::springload::{BINARY, Finished, Run, measure};
use springload::embedded::Options;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

const SECRET: &str = "hidd3nword";

/// Addresses as people mistype them, each with the password in place of `PW`. Nothing listens on
/// port 1.
const ADDRESSES: [&str; 50] = [
    "http:/user:PW@127.0.0.1:1",
    "http//user:PW@127.0.0.1:1",
    "http:user:PW@127.0.0.1:1",
    "http:///user:PW@127.0.0.1:1",
    "http;//user:PW@127.0.0.1:1",
    "http:://user:PW@127.0.0.1:1",
    "http:\\\\user:PW@127.0.0.1:1",
    "http:// user:PW@127.0.0.1:1",
    "h ttp://user:PW@127.0.0.1:1",
    "htp://user:PW@127.0.0.1:1",
    "ftp://user:PW@127.0.0.1:1",
    "HTTP://user:PW@",
    "://user:PW@127.0.0.1:1",
    "//user:PW@127.0.0.1:1",
    "/user:PW@127.0.0.1:1",
    " http://user:PW@127.0.0.1:1",
    "\"http://user:PW@127.0.0.1:1\"",
    "user:PW@127.0.0.1:1",
    "user:PW@127.0 .0.1:1",
    "user:PW@ho st:5984",
    "http://user:PW@127.0.0.1:99999",
    "http://user:PW@127.0.0.1:abc",
    "http://user:PW@ 127.0.0.1:1",
    "http://user:p PW@127.0.0.1:1",
    "http://user:PW w@127.0.0.1:1",
    "http://user:PW%zz@127.0.0.1:1",
    "http://user:PW%40127.0.0.1:1",
    "http://user:PW/x@127.0.0.1:1",
    "http://user:x?PW@127.0.0.1:1",
    "http://user:x#PW@127.0.0.1:1",
    "http://user:x@PW@127.0.0.1:1",
    "http://user\\:PW@127.0.0.1:1",
    "http://:PW@127.0.0.1:1",
    "http://user:PW@[::1",
    "http://user:PW@[::zz]:1",
    "mongodb:/user:PW@127.0.0.1:1",
    "mongodb://user:PW@127.0.0.1:99999",
    "redis://:PW@127.0.0.1:99999",
    "http://127.0.0.1:1/?password=PW",
    "couchdb://user:PW@127.0.0.1:1/db?x=1",
    "http://us/er:PW@127.0.0.1:1",
    "us/er:PW@127.0.0.1:1",
    "http://us/er:PW%40127.0.0.1:1/db",
    "http%3A%2F%2Fuser%3APW%40127.0.0.1:1",
    "http://user%3APW@127.0.0.1:1",
    "http://127.0.0.1:1@user:PW",
    "http://user:PW@127.0.0.1:1@127.0.0.1:1",
    "user:PW@",
    "https:user:PW@127.0.0.1:1 http://user:PW@127.0.0.1:1",
    "\thttp://user:PW\n@127.0.0.1:1",
];

/// The verbs that parse addresses with their own code.
const READERS: [&str; 4] = ["http", "siege", "ycsb", "cushion"];

/// All files below a folder, except those created by a test.
fn files(folder: &Path) -> Vec<PathBuf> {
    let own = ["urls.txt", "plan.toml", "netrc"];
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path());
    let all = entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] });
    all.filter(|path| !own.iter().any(|name| path.ends_with(name))).collect()
}

/// The places where the secret is printed or saved.
fn leaks(about: &str, ended: &Finished) -> Vec<String> {
    let mut texts = vec![ended.stdout.clone(), ended.stderr.clone()];
    for path in files(ended.output().parent().expect("a folder")) {
        texts.push(path.display().to_string());
        texts.push(String::from_utf8_lossy(&fs::read(path).expect("a file")).into_owned());
    }
    texts.retain(|text| text.contains(SECRET));
    texts.into_iter().map(|text| format!("{about}: {text}")).collect()
}

/// A run with a journal that can be audited.
fn audited(server: &Server) -> Finished {
    let target = format!("{}/kept", server.url);
    let words = ["run", &target, "--keep", "--audit", "--docs", "4", "--ops", "2", "-c", "1"];
    measure(words).passed()
}

#[test]
fn the_password_of_a_malformed_address_is_not_shown() {
    let server = Server::stand_in(Options::default());
    let audited = audited(&server);
    let record = audited.output().display().to_string();
    let all: Vec<String> = ADDRESSES.iter().map(|it| it.replace("PW", SECRET)).collect();
    let found: Vec<String> = std::thread::scope(|threads| {
        let (all, record) = (&all, &record);
        let quarters = [0, 1, 2, 3].map(|quarter| {
            let work = move || {
                let places = (quarter..all.len()).step_by(4);
                places.flat_map(|at| leaks_of(&all[at], at, record)).collect::<Vec<_>>()
            };
            threads.spawn(work)
        });
        quarters.into_iter().flat_map(|it| it.join().expect("no panic")).collect()
    });
    assert!(found.is_empty(), "{} leaks:\n{}", found.len(), found.join("\n"));
}

/// The leaks of verbs with the address `at` this place in the list; `record` is that of a run with
/// an audit. Verbs that parse addresses themselves get every address, the others, which share that
/// code, every seventh.
fn leaks_of(address: &str, at: usize, record: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut nowhere = |about: &str, ended: &Finished| found.extend(leaks(about, ended));
    let property = format!("couchdb.url={address}");
    let named = format!("--database_address={address}");
    let small = ["--docs", "2", "--ops", "2", "-c", "1"];
    let verbs: [&[&str]; 22] = [
        &[&["run", address][..], &small].concat(),
        &["run", address, "--dry-run"],
        &[&["run", address][..], &small, &["--agents", "1"]].concat(),
        &[&["run", "--broker", address][..], &small, &["--agents", "1"]].concat(),
        &["run", "--schema", address],
        &["http", address, "-c", "1", "-n", "1"],
        &["burst", address, "-c", "1", "-d", "1s"],
        &["bm-couchdb", address, "-n", "1", "-t", "1"],
        &["bulk-perf", "1", "1", "1", address],
        &["siege", "-c1", "-r1", address],
        &["siege", "--get", address],
        &["ycsb", "run", "couchdb", "-p", "operationcount=5", "-p", &property],
        &["shell", address],
        &["sweep", address, "-L", "connections=1,2", "--docs", "2", "--ops", "0"],
        &["audit", record, address, "-c", "1"],
        &["clean", address, "--yes"],
        &["serve", "--listen", address],
        &["agent", "--run", "r", "--index", "0", "--broker", address],
        &[
            "cushion",
            &named,
            "--database_name=d",
            "--num_documents_per_bulk_insert=1",
            "--num_bulk_insert_operations=1",
            concat!(
                "--json_document_schema_filename=",
                env!("CARGO_MANIFEST_DIR"),
                "/examples/schemas/blog-entry.json"
            ),
        ],
        &["run", "--docs", "2", "--metrics", address],
        // A word where none is expected.
        &["cushion", address],
        &["show", address],
    ];
    for (place, words) in verbs.into_iter().enumerate() {
        if READERS.contains(&words[0]) || (at + place).is_multiple_of(7) {
            nowhere(&format!("{words:?}"), &Run::bare(words).finish());
        }
    }
    if !at.is_multiple_of(7) {
        return found;
    }
    for words in [&[&["run"][..], &small].concat()[..], &["clean", "--yes"], &["shell"]] {
        let run = Run::bare(words).envs([("SPRINGLOAD_URL", address)]);
        nowhere(&format!("{words:?} {address}"), &run.finish());
    }
    let agents = Run::bare(&[&["run"][..], &small, &["--agents", "1"]].concat());
    nowhere(address, &agents.envs([("SPRINGLOAD_BROKER", address)]).finish());
    let run = Run::bare(&["siege", "-c1", "-r1", "-f", "urls.txt"]);
    fs::write(run.folder().join("urls.txt"), address).expect("a file");
    nowhere(address, &run.finish());
    let run = Run::bare(&["run", "plan.toml"]);
    fs::write(run.folder().join("plan.toml"), format!("target = {address:?}\ndocs = 2\n"))
        .expect("a file");
    nowhere(address, &run.finish());
    found
}

/// The page at `url`.
fn page(url: &str) -> String {
    let (host, path) =
        url.strip_prefix("http://").and_then(|it| it.split_once('/')).expect("a URL");
    let mut stream = std::net::TcpStream::connect(host).expect("it listens");
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
        .expect("it reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it answers");
    text
}

#[test]
fn neither_the_live_view_nor_the_metrics_show_a_password() {
    let admin = Some(("ann".to_owned(), SECRET.to_owned()));
    let server = Server::stand_in(Options { admin, ..Options::default() });
    let host = server.url.trim_start_matches("http://");
    // The correct form, without its scheme, and with a needlessly encoded character.
    for address in ["http://ann:PW@HOST", "ann:PW@HOST", "HTTP://a%6En:PW@HOST/"] {
        let address = address.replace("PW", SECRET).replace("HOST", host);
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = std::process::Command::new(BINARY);
        command.env("SPRINGLOAD_URL", &address).env("SPRINGLOAD_STATE", "").args(["run", "-d"]);
        command.args(["10m", "-c", "2", "--docs", "20", "--metrics", "0", "--agents", "1"]);
        let mut pty = Pty::start(command.current_dir(folder.path()));
        pty.wait_for("metrics: http://");
        pty.wait_for("p99 ms");
        let shown = pty.shown();
        let url = shown.split("metrics: ").nth(1).and_then(|it| it.split_whitespace().next());
        let metrics = page(url.expect("a URL"));
        assert!(metrics.contains("springload_"), "{metrics}");
        pty.press("q");
        assert_eq!(pty.finish().code(), Some(130), "{}", pty.shown());
        assert!(!metrics.contains(SECRET) && !pty.shown().contains(SECRET), "{metrics}");
        let saved = files(folder.path());
        assert!(saved.iter().any(|file| file.ends_with("run.json")), "{saved:?}");
        for file in saved {
            let text = fs::read(&file).expect("a file");
            let content = String::from_utf8_lossy(&text);
            assert!(!content.contains(SECRET), "{}", file.display());
        }
    }
}
