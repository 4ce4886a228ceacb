//! The server of `server.js`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::servers::process::Process;
use crate::servers::{absent, write_certificates};
use crate::springload::number;

/// How long it may take to start.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server on free ports, until dropped.
pub(super) struct Node {
    pub(super) process: Process,
    pub(super) url: String,
    control_url: String,
}

impl Node {
    /// HTTP/2 without TLS; `None`, with a message, if Node.js is not installed.
    pub(super) fn h2c() -> Option<Self> {
        Self::start(&json!({ "mode": "h2c" }))
    }

    /// The same with other settings.
    pub(super) fn with(settings: &Value) -> Option<Self> {
        Self::start(&json!({ "mode": "h2c", "settings": settings }))
    }

    /// A server whose certificate is written to this folder.
    pub(super) fn secure(mode: &str, folder: &Path) -> Option<Self> {
        write_certificates(folder);
        let [key, cert] = ["key.pem", "server.pem"].map(|name| folder.join(name));
        Self::start(&json!({ "mode": mode, "key": key, "cert": cert }))
    }

    pub(super) fn start(given: &Value) -> Option<Self> {
        if Command::new("node").arg("--version").output().is_err() {
            absent("node", "install Node.js");
            return None;
        }
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/http/http2/server.js");
        let secure = given["mode"].as_str().expect("a mode").starts_with("tls");
        let given = given.to_string();
        let process = Process::start(Box::new(move |_| {
            let mut command = Command::new("node");
            command.arg(&script).arg(&given);
            command
        }));
        let mut process = process.expect("node starts");
        process.until(PATIENCE, |it| it.output().contains("UP ")).expect("a server");
        let output = process.output();
        let words: Vec<_> = output.split_whitespace().collect();
        let [_, port, control] = words[..] else { panic!("{output}") };
        let scheme = if secure { "https" } else { "http" };
        let control_url = format!("http://127.0.0.1:{control}");
        Some(Self { process, url: format!("{scheme}://127.0.0.1:{port}"), control_url })
    }

    /// The requests that it has received so far.
    pub(super) fn seen(&self) -> Value {
        self.asked("/")
    }

    /// The same; with `/ping` it first sends pings to all its clients.
    pub(super) fn asked(&self, path: &str) -> Value {
        let mut answer =
            ureq::get(format!("{}{path}", self.control_url)).call().expect("an answer");
        let text = answer.body_mut().read_to_string().expect("text");
        serde_json::from_str(&text).expect("JSON")
    }

    /// One of its counters.
    pub(super) fn count(&self, name: &str) -> u64 {
        number(&self.seen()[name])
    }
}
