//! Wrong inputs of all kinds, and the error message for each: one line with the mistake and the
//! cure. Read the snapshot aloud when it changes.

use std::fmt::Write as _;
use std::net::TcpListener;
use std::path::Path;

use springload::embedded::Options;

use crate::proxy::Proxy;
use crate::secure::Authority;
use crate::servers::Server;
use crate::springload::BINARY;

/// Servers and files for wrong command lines, where their names are in braces.
struct World {
    folder: tempfile::TempDir,
    names: Vec<(&'static str, String)>,
}

impl World {
    fn place(&self, text: &str) -> String {
        let fill = |text: String, (name, value): &(&str, String)| text.replace(name, value);
        self.names.iter().fold(text.to_owned(), fill)
    }

    /// Replaces values that differ between machines.
    fn stable(&self, text: &str) -> String {
        let hide = |text: String, (name, value): &(&str, String)| text.replace(value, name);
        let text = self.names.iter().fold(text.to_owned(), hide);
        let scratch = text.find("/springload_").map(|at| at + "/springload_".len());
        let Some((from, to)) = scratch.and_then(|at| Some((at, at + text[at..].find([':', ' '])?)))
        else {
            return text;
        };
        format!("{}N{}", &text[..from], &text[to..])
    }

    /// The command line as written, the exit status and the output.
    fn try_out(&self, words: &[&str]) -> String {
        let words: Vec<_> = words.iter().map(|word| self.place(word)).collect();
        let mut command = assert_cmd::Command::new(BINARY);
        let output = command
            .env("SPRINGLOAD_STATE", "")
            .args(&words)
            .current_dir(self.folder.path())
            .output()
            .expect("it runs");
        let code = output.status.code().expect("an exit status");
        let stderr = String::from_utf8(output.stderr).expect("UTF-8");
        let line = self.stable(&words.join(" "));
        assert!(matches!(code, 2 | 3), "{line}: {code}: {stderr}");
        assert!(output.stdout.is_empty(), "{line}");
        assert!(stderr.starts_with("error: ") && stderr.lines().count() == 1, "{line}: {stderr}");
        assert!(stderr.contains("; ") || stderr.contains('?'), "no cure: {line}: {stderr}");
        assert!(!stderr.contains("secret"), "{line}: {stderr}");
        format!("$ springload {line}\n{}[exit {code}]\n\n", self.stable(&stderr))
    }
}

fn place(url: &str) -> String {
    url.split_once("://").expect("a URL").1.to_owned()
}

/// Messages from the system are those of Linux in English.
fn every(world: &World, all: &[&[&str]]) -> String {
    let mut text = String::new();
    for words in all {
        let _ = write!(text, "{}", world.try_out(words));
    }
    text
}

fn world() -> World {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
    write("broken.json", "{\"a\": ").expect("a file");
    write("file", "").expect("a file");
    write("urls.txt", "http://localhost/a FETCH\n").expect("a file");
    std::fs::create_dir(folder.path().join("folder")).expect("a folder");
    let dir = folder.path().to_str().expect("UTF-8").to_owned();
    World { folder, names: vec![("DIR", dir)] }
}

#[test]
fn words_flags_and_values() {
    let messages = every(
        &world(),
        &[
            &["rnu"],
            &["run", "--connectoins", "5"],
            &["run", "--url", "http://localhost:1"],
            &["http", "--host=localhost"],
            &["run", "-c", "ten"],
            &["run", "--docs", "1.5"],
            &["run", "--docs"],
            &["run", "-c", "0"],
            &["run", "--seed", "-1"],
            &["run", "-d", "5 parsecs"],
            &["run", "--max-answer", "5q"],
            &["run", "--rate", "fast"],
            &["run", "--format", "pdf"],
            &["run", "--workload", "mixd"],
            &["run", "--id", "serial"],
            &["run", "--auth", "cokie"],
            &["run", "--rate", "5", "--arrivals", "poison"],
            &["run", "--arrivals", "poisson"],
            &["run", "--mix", "red=1"],
            &["run", "--keep", "--use-existing", "localhost:1"],
            &["run", "localhost:1/a", "localhost:2/b"],
            &["run", "--agents", "0"],
            &["run", "--broker", "amqp://localhost"],
            &["burst", "-n", "5"],
            &["schema", "-n", "5"],
            &["cushion", "--database_name=db"],
            &["sweep"],
            &["sweep", "-L", "color=1,2"],
            &["sweep", "-L", "batch=1,x", "--ops", "0"],
            &["report"],
            &["report", "DIR", "--chart", "pie"],
            &["selftest", "--only", "T99"],
            &["ycsb", "run", "-P", "workloads/workloada"],
            &["run", "--fail-if", "read.p99"],
            &["run", "--fail-if", "raed.p99 > 20ms"],
            &["run", "--fail-if", "read.p99 > 20"],
        ],
    );
    insta::assert_snapshot!(messages);
}

#[test]
fn addresses_and_files() {
    let messages = every(
        &world(),
        &[
            &["run", "nonsense"],
            &["run", "http://localhost:99999"],
            &["run", "http://ann:secret@"],
            &["run", "http://local host:5984"],
            &["run", "ftp://ann:secret@localhost/"],
            &["run", "http://localhost/a/b"],
            &["run", "-k", "http://localhost:1"],
            &["run", "localhost:1", "-H", "secret"],
            &["run", "localhost:1", "-H", "Content-Length: 5"],
            &["run", "--use-existing"],
            &["http"],
            &["http", "-X", "FETCH", "localhost:1"],
            &["http", "-X", "GET", "--body", "{}", "localhost:1"],
            &["http", "--body", "@none.json", "localhost:1"],
            &["http", "-f", "urls.txt"],
            &["http", "localhost:1/{{sec}}"],
            &["run", "--schema", "none.json"],
            &["run", "--schema", "broken.json"],
            &["run", "--schema", "folder"],
            &["run", "-o", "file/below"],
            &["run", "--tls-ca", "none.pem", "https://localhost:1"],
            &["report", "none"],
            &["report", "none/run.json"],
            &["report", "folder"],
            &["report", "broken.json"],
            &["report", "latest"],
            &["serve", "--listen", "nowhere"],
            &["serve", "--stall", "2s"],
            &["serve", "--admin", "ann"],
        ],
    );
    insta::assert_snapshot!(messages);
}

#[test]
fn servers() {
    let mut world = world();
    let admin = Some(("ann".to_owned(), "secret".to_owned()));
    let server = Server::stand_in(Options { admin, ..Options::default() });
    let plain = Server::stand_in(Options::default());
    let of = |name: &str| Authority::vouching_for(name);
    let (own, other, old) = (of("127.0.0.1"), of("couch.example"), Authority::expired());
    let tls = |authority: &Authority| Proxy::with_tls(&plain.url, authority.server.clone());
    let (tls_own, tls_other, tls_old) = (tls(&own), tls(&other), tls(&old));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let silent = listener.local_addr().expect("an address").to_string();
    let gone = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let dead = gone.local_addr().expect("an address").to_string();
    // The port is not assigned again for a while.
    drop(gone);
    let page = Proxy::with_answers(
        &plain.url,
        Box::new(|_| Some(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi".to_vec())),
    );
    let file = |authority: &Authority| authority.file().to_str().expect("UTF-8").to_owned();
    let mut name = |name, value: String| world.names.push((name, value));
    name("GUARDED", place(&server.url));
    name("PLAIN", place(&plain.url));
    name("TLS", place(&tls_own.url));
    name("RENAMED", place(&tls_other.url));
    name("EXPIRED", place(&tls_old.url));
    name("SILENT", silent);
    name("NOBODY", dead);
    name("PAGE", place(&page.url));
    name("OWN-CA", file(&own));
    name("OTHER-CA", file(&other));
    name("OLD-CA", file(&old));
    name("PORT", place(&plain.url).rsplit(':').next().expect("a port").to_owned());
    let put = |path: &str| ureq::put(format!("{}/{path}", plain.url)).send_empty().map(drop);
    put("taken").expect("a database");
    let messages = every(
        &world,
        &[
            &["run", "NOBODY"],
            &["http", "NOBODY"],
            &["shell", "NOBODY"],
            &["run", "https://NOBODY"],
            &["run", "http://no-such-host.invalid"],
            &["run", "SILENT", "--timeout", "300ms"],
            &["run", "https://PLAIN"],
            &["http", "https://PLAIN/"],
            &["run", "http://TLS"],
            &["run", "https://TLS"],
            &["http", "https://TLS/"],
            &["run", "https://TLS", "--tls-ca", "OTHER-CA"],
            &["run", "https://RENAMED", "--tls-ca", "OTHER-CA"],
            &["run", "https://EXPIRED", "--tls-ca", "OLD-CA"],
            &["run", "PAGE"],
            &["run", "GUARDED"],
            &["run", "ann:wrong@GUARDED"],
            &["run", "ann:wrong@GUARDED", "--auth", "basic"],
            &["run", "PLAIN/none", "--use-existing"],
            &["run", "PLAIN/taken"],
            &["run", "PLAIN/Upper"],
            &["serve", "--listen", "PLAIN"],
            &["run", "--metrics", "PORT"],
        ],
    );
    insta::assert_snapshot!(messages);
    assert!(Path::new(&world.names[0].1).exists());
}
