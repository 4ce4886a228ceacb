//! Servers for tests, each started on a free port of this machine and ended when dropped.
//!
//! `package.json`, `pom.xml`, `ferretdb/go.mod` and `python/requirements.txt` next to this file
//! list the ones from npm, Maven, Go and PyPI; `make test-servers` installs them. Redis, RabbitMQ
//! and sshd are those installed on the machine.

#![allow(dead_code, reason = "each test binary uses its own part of the harness")]

pub(crate) mod cassandra;
pub(crate) mod console;
pub(crate) mod database;
pub(crate) mod ferretdb;
pub(crate) mod hbase;
pub(crate) mod mongojava;
pub(crate) mod process;
pub(crate) mod python;
pub(crate) mod rabbitmq;
pub(crate) mod resp;
pub(crate) mod resp_cluster;
pub(crate) mod sshd;
pub(crate) mod ycsb;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use process::Process;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use springload::embedded::{Options, StandIn, bind};

/// Names a CouchDB to test against; may include `user:password@`.
const URL_VARIABLE: &str = "SPRINGLOAD_COUCHDB_URL";

/// If set to 1, a server that is not installed is a failure, not a skip.
const REQUIRE_VARIABLE: &str = "SPRINGLOAD_REQUIRE_SERVERS";

/// How long a server may take to start.
const PATIENCE: Duration = Duration::from_secs(120);

/// A server under test.
pub(crate) struct Server {
    /// Its name in messages.
    pub(crate) name: &'static str,
    /// Its URL, without credentials and trailing slash.
    pub(crate) url: String,
    /// User and password, if it needs them.
    pub(crate) credentials: Option<(String, String)>,
    running: Running,
}

enum Running {
    StandIn(StandIn),
    Process(Process),
    Elsewhere,
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

    /// pouchdb-server in memory; `None`, with a message, if it is not installed.
    pub(crate) fn pouchdb() -> Option<Self> {
        let script = installed("pouchdb-server")?;
        // Another process may take a free port before it is used: try again.
        let started = (0..3).find_map(|_| start_pouchdb(&script).ok());
        Some(started.expect("pouchdb-server starts"))
    }

    /// The server named by the environment, if any.
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

    /// The stand-in, if the server is one.
    pub(crate) fn as_stand_in(&self) -> Option<&StandIn> {
        match &self.running {
            Running::StandIn(stand_in) => Some(stand_in),
            Running::Process(_) | Running::Elsewhere => None,
        }
    }
}

/// The program of an npm package next to this file.
pub(crate) fn installed(name: &str) -> Option<PathBuf> {
    let script = here().join("node_modules").join(name).join("bin").join(name);
    if script.exists() {
        return Some(script);
    }
    absent(name, "run make test-servers");
    None
}

/// Reports that something is not tested because a program is missing; fails if it is required.
pub(crate) fn absent(name: &str, cure: &str) {
    let required = std::env::var(REQUIRE_VARIABLE).is_ok_and(|value| value == "1");
    assert!(!required, "{name} is not installed: {cure}");
    skipped(name, cure);
}

/// Reports that something is not tested here, in the form that tests/run.sh counts.
pub(crate) fn skipped(name: &str, reason: &str) {
    // Bypasses the capture of test output, because a skip must be seen. In one write, because
    // another test may be writing too.
    let _ = io::stderr().write_all(format!("SKIPPED {name}: {reason}\n").as_bytes());
}

/// Writes an unknown authority to `ca.pem`, and a certificate that it issued for a server at
/// 127.0.0.1 to `server.pem` and `key.pem`.
pub(crate) fn write_certificates(folder: &Path) {
    let write = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).expect("a file");
    };
    let mut authority = CertificateParams::new(Vec::new()).expect("no names");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(authority, KeyPair::generate().expect("a key"));
    let issuer = issuer.expect("a certificate");
    let key = KeyPair::generate().expect("a key");
    let parameters = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("a name");
    let certificate = parameters.signed_by(&key, &issuer).expect("a certificate");
    write("ca.pem", &issuer.pem());
    write("server.pem", &certificate.pem());
    write("key.pem", &key.serialize_pem());
}

/// The folder of this file.
fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers")
}

/// pouchdb-server with its documents in its process's folder, and its URL; `None`, with a message,
/// if it is not installed.
pub(crate) fn pouchdb_on_disk() -> Option<(Process, String)> {
    let script = installed("pouchdb-server")?;
    let started = (0..3).find_map(|_| pouchdb_process(&script, &[]).ok());
    Some(started.expect("pouchdb-server starts"))
}

fn start_pouchdb(script: &Path) -> io::Result<Server> {
    let (process, url) = pouchdb_process(script, &["--in-memory"])?;
    let running = Running::Process(process);
    Ok(Server { name: "pouchdb-server", url, credentials: None, running })
}

fn pouchdb_process(script: &Path, more: &[&'static str]) -> io::Result<(Process, String)> {
    let (script, more) = (script.to_owned(), more.to_owned());
    let port = process::free_ports(1)?[0];
    let mut process = Process::start(Box::new(move |folder| {
        let mut command = Command::new("node");
        command
            // It does not handle the removal of a replication document, and would exit.
            .arg("--unhandled-rejections=warn")
            .arg(&script)
            .args(["--host", "127.0.0.1", "--port", &port.to_string()])
            .args(&more)
            .args(["--no-stdout-logs", "--dir"])
            .arg(folder)
            .arg("--config")
            .arg(folder.join("config.json"));
        command
    }))?;
    let url = format!("http://127.0.0.1:{port}");
    process.until(PATIENCE, |_| ureq::get(&url).call().is_ok())?;
    Ok((process, url))
}
