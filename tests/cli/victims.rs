//! Servers that are killed, stopped and restarted during a measurement.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::process::{Pid, Signal, kill_process};

use serde_json::Value;
use ureq::http::Request;

use crate::servers::process::{Process, free_ports};
use crate::servers::{Server, pouchdb_on_disk, skipped};
use crate::springload::BINARY;

/// Commands that start and stop the server named by `SPRINGLOAD_COUCHDB_URL`.
const START: &str = "SPRINGLOAD_COUCHDB_START";
const STOP: &str = "SPRINGLOAD_COUCHDB_STOP";

/// How long a server may take to be back.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that can be killed or frozen.
pub(crate) struct Victim {
    pub(crate) name: &'static str,
    /// Without credentials and trailing slash.
    url: String,
    /// User and password, if it needs them.
    credentials: Option<(String, String)>,
    how: How,
}

enum How {
    Process(Process),
    Commands { start: String, stop: String },
}

impl Victim {
    /// pouchdb-server with `LevelDB` in a folder; `None`, with a message, if it is not installed.
    pub(crate) fn pouchdb() -> Option<Self> {
        let (process, url) = pouchdb_on_disk()?;
        let how = How::Process(process);
        Some(Self { name: "pouchdb-server", url, credentials: None, how })
    }

    /// The stand-in, which has lost its data after it was killed.
    pub(crate) fn stand_in() -> Self {
        let port = free_ports(1).expect("a free port")[0];
        let listen = format!("127.0.0.1:{port}");
        let spell = move |_: &Path| {
            let mut command = Command::new(BINARY);
            // Slow enough to be struck during a run.
            command.args(["serve", "--listen", &listen, "--delay", "5ms"]);
            command
        };
        let process = Process::start(Box::new(spell)).expect("the stand-in starts");
        let url = format!("http://127.0.0.1:{port}");
        let how = How::Process(process);
        let mut victim = Self { name: "stand-in", url, credentials: None, how };
        victim.until_up();
        victim
    }

    /// The server named by the environment, if that also has commands to start and stop it.
    pub(crate) fn named() -> Option<Self> {
        let server = Server::named()?;
        let (Ok(start), Ok(stop)) = (std::env::var(START), std::env::var(STOP)) else {
            skipped("kills of the named server", &format!("set {START} and {STOP}"));
            return None;
        };
        let (url, credentials) = (server.url.clone(), server.credentials.clone());
        let how = How::Commands { start, stop };
        let mut victim = Self { name: server.name, url, credentials, how };
        victim.until_up();
        Some(victim)
    }

    /// The address of a database on it, for springload.
    pub(crate) fn target(&self, database: &str) -> String {
        let mut url = url::Url::parse(&self.url).expect("a URL");
        if let Some((user, password)) = &self.credentials {
            url.set_username(user).expect("an http URL");
            url.set_password(Some(password)).expect("an http URL");
        }
        format!("{}/{database}", url.as_str().trim_end_matches('/'))
    }

    /// Makes a request; `None` if it does not succeed.
    pub(crate) fn ask(&self, method: &str, path: &str) -> Option<Value> {
        let mut request = Request::builder().method(method).uri(format!("{}/{path}", self.url));
        if let Some((user, password)) = &self.credentials {
            let basic = STANDARD.encode(format!("{user}:{password}"));
            request = request.header("authorization", format!("Basic {basic}"));
        }
        let mut answer = ureq::run(request.body(()).expect("a request")).ok()?;
        let body = answer.body_mut().with_config().limit(1 << 30);
        serde_json::from_str(&body.read_to_string().expect("UTF-8")).ok()
    }

    /// The revisions of all documents of a database, by ID, read by a client other than
    /// springload's.
    pub(crate) fn documents(&self, database: &str) -> BTreeMap<String, String> {
        let Some(list) = self.ask("GET", &format!("{database}/_all_docs")) else {
            return BTreeMap::new();
        };
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        let rows = list["rows"].as_array().expect("rows").iter();
        rows.map(|row| (text(&row["id"]), text(&row["value"]["rev"]))).collect()
    }

    /// Ends it without a warning.
    pub(crate) fn kill(&mut self) {
        match &mut self.how {
            How::Process(process) => process.kill(),
            How::Commands { stop, .. } => shell(stop),
        }
    }

    /// Starts it again with its data, and waits until it responds.
    pub(crate) fn start_again(&mut self) {
        match &mut self.how {
            How::Process(process) => process.start_again().expect("it starts again"),
            How::Commands { start, .. } => shell(start),
        }
        self.until_up();
    }

    /// Freezes it, or lets it continue. `false` if there is no way to.
    pub(crate) fn freeze(&self, frozen: bool) -> bool {
        let How::Process(process) = &self.how else { return false };
        let id = i32::try_from(process.pid()).ok().and_then(Pid::from_raw).expect("a process");
        kill_process(id, if frozen { Signal::STOP } else { Signal::CONT }).expect("it runs");
        true
    }

    fn until_up(&mut self) {
        for _ in 0..PATIENCE.as_millis() / 50 {
            if self.ask("GET", "").is_some() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("{} is not up after {PATIENCE:?}", self.name);
    }
}

fn shell(command: &str) {
    let status = Command::new("sh").args(["-c", command]).status().expect("a shell");
    assert!(status.success(), "{command}: {status}");
}
