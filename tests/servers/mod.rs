//! Servers for tests, each started on a free port of this machine and ended with its value.
//!
//! `package.json` beside this file names the ones from npm; `make test-servers` installs them.

#![allow(dead_code, reason = "each test binary uses its own part of the harness")]

use std::io::{self, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use springload::embedded::{Options, StandIn, bind};

/// Names a CouchDB to test against; may hold `user:password@`.
const URL_VARIABLE: &str = "SPRINGLOAD_COUCHDB_URL";

/// Set to 1, a server that is not installed is a failure and not a skip.
const REQUIRE_VARIABLE: &str = "SPRINGLOAD_REQUIRE_SERVERS";

/// How often a starting server is asked whether it is up, and how long between.
const ASKED: u32 = 1500;
const BETWEEN: Duration = Duration::from_millis(20);

/// A server under test.
pub(crate) struct Server {
    /// What it is called in messages.
    pub(crate) name: &'static str,
    /// Its URL without credentials and without a slash at its end.
    pub(crate) url: String,
    /// User and password, when it needs them.
    pub(crate) credentials: Option<(String, String)>,
    running: Running,
}

enum Running {
    StandIn(StandIn),
    Process(Process),
    Elsewhere,
}

/// A process which is killed, by its id, with its value; so is its directory.
struct Process {
    child: Child,
    _directory: tempfile::TempDir,
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// The stand-in, in this process.
    pub(crate) fn stand_in(options: Options) -> Self {
        let credentials = options.admin.clone();
        let listener = bind("127.0.0.1:0").expect("a free port");
        let stand_in = StandIn::start(listener, options).expect("the stand-in starts");
        let url = stand_in.url();
        Self { name: "stand-in", url, credentials, running: Running::StandIn(stand_in) }
    }

    /// pouchdb-server in memory; `None`, and a word about it, when it is not installed.
    pub(crate) fn pouchdb() -> Option<Self> {
        let script = installed("pouchdb-server")?;
        // Between finding a free port and using it somebody else may take it: try again.
        let started = (0..3).find_map(|_| start_pouchdb(&script).ok());
        Some(started.expect("pouchdb-server starts"))
    }

    /// The server which the environment names, if it does.
    pub(crate) fn named() -> Option<Self> {
        let text = std::env::var(URL_VARIABLE).ok()?;
        let mut url = url::Url::parse(&text).expect("SPRINGLOAD_COUCHDB_URL is a URL");
        let decode = |text: &str| {
            percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
        };
        let password = decode(url.password().unwrap_or(""));
        let user = decode(url.username());
        let credentials = (!user.is_empty()).then_some((user, password));
        url.set_password(None).expect("an http URL");
        url.set_username("").expect("an http URL");
        let url = url.as_str().trim_end_matches('/').to_owned();
        Some(Self { name: "named server", url, credentials, running: Running::Elsewhere })
    }

    /// The stand-in behind it, when it is one.
    pub(crate) fn as_stand_in(&self) -> Option<&StandIn> {
        match &self.running {
            Running::StandIn(stand_in) => Some(stand_in),
            Running::Process(_) | Running::Elsewhere => None,
        }
    }
}

/// The program of an npm package beside this file.
fn installed(name: &str) -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers");
    let script = here.join("node_modules").join(name).join("bin").join(name);
    if script.exists() {
        return Some(script);
    }
    absent(name, "run make test-servers");
    None
}

/// Fails for want of a program that must be there, and else says that something is not tested.
pub(crate) fn absent(name: &str, cure: &str) {
    let required = std::env::var(REQUIRE_VARIABLE).is_ok_and(|value| value == "1");
    assert!(!required, "{name} is not installed: {cure}");
    skipped(name, cure);
}

/// Says that something is not tested here, in the form which tests/run.sh counts.
pub(crate) fn skipped(name: &str, reason: &str) {
    // Past the capture of test output: a skip must be seen.
    let _ = writeln!(io::stderr(), "SKIPPED {name}: {reason}");
}

fn start_pouchdb(script: &Path) -> io::Result<Server> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let directory = tempfile::tempdir()?;
    let child = Command::new("node")
        .arg(script)
        .args(["--host", "127.0.0.1", "--port", &port.to_string()])
        .args(["--in-memory", "--no-stdout-logs", "--dir"])
        .arg(directory.path())
        .arg("--config")
        .arg(directory.path().join("config.json"))
        .current_dir(directory.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let mut process = Process { child, _directory: directory };
    let url = format!("http://127.0.0.1:{port}");
    for _ in 0..ASKED {
        if let Some(status) = process.child.try_wait()? {
            return Err(io::Error::other(format!("pouchdb-server ended: {status}")));
        }
        if ureq::get(&url).call().is_ok() {
            let running = Running::Process(process);
            return Ok(Server { name: "pouchdb-server", url, credentials: None, running });
        }
        std::thread::sleep(BETWEEN);
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "pouchdb-server does not answer"))
}
