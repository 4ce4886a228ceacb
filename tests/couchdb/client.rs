//! A small HTTP client that shares no code with springload's own.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use base64::Engine;
use serde_json::Value;

use crate::servers::Server;

/// No request here should ever take that long.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A response, read completely.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) text: String,
    headers: ureq::http::HeaderMap,
}

impl Answer {
    /// The body as JSON; `null` if it is not JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or(Value::Null)
    }

    /// A header; empty if it is missing.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("")
    }

    /// The value of `rev` in the body.
    pub(crate) fn rev(&self) -> String {
        self.json()["rev"].as_str().unwrap_or_else(|| panic!("no rev in {self:?}")).to_owned()
    }

    /// Asserts the status.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    /// Asserts the status and the value of `error`.
    #[track_caller]
    pub(crate) fn expect_error(self, status: u16, error: &str) -> Self {
        assert_eq!((self.status, &self.json()["error"]), (status, &Value::from(error)), "{self:?}");
        self
    }
}

/// Talks to one server.
pub(crate) struct Client {
    agent: ureq::Agent,
    url: String,
    authorization: Option<String>,
}

impl Client {
    pub(crate) fn new(server: &Server) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_global(Some(TIMEOUT))
            .build();
        let authorization =
            server.credentials.as_ref().map(|(user, password)| basic(user, password));
        Self { agent: config.into(), url: server.url.clone(), authorization }
    }

    /// The same with other credentials, or with none.
    pub(crate) fn as_user(server: &Server, credentials: Option<(&str, &str)>) -> Self {
        let authorization = credentials.map(|(user, password)| basic(user, password));
        Self { authorization, ..Self::new(server) }
    }

    /// A request with these headers and this body, if any.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Answer {
        let mut request =
            ureq::http::Request::builder().method(method).uri(format!("{}{path}", self.url));
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let needs_body = matches!(method, "PUT" | "POST");
        let answer = match body {
            None if !needs_body => self.agent.run(request.body(()).expect("a request")),
            _ => self.agent.run(request.body(body.unwrap_or(b"")).expect("a request")),
        };
        let mut answer = answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        Answer {
            status: answer.status().as_u16(),
            headers: answer.headers().clone(),
            text: answer.body_mut().read_to_string().expect("a readable body"),
        }
    }

    /// A request without a body.
    pub(crate) fn call(&self, method: &str, path: &str) -> Answer {
        self.send(method, path, &[], None)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.call("GET", path)
    }

    /// A request with a JSON body.
    pub(crate) fn json(&self, method: &str, path: &str, body: &Value) -> Answer {
        self.raw(method, path, body.to_string().as_bytes())
    }

    /// A request with a body that is declared to be JSON.
    pub(crate) fn raw(&self, method: &str, path: &str, body: &[u8]) -> Answer {
        self.send(method, path, &[("content-type", "application/json")], Some(body))
    }
}

fn basic(user: &str, password: &str) -> String {
    let encoded = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
    format!("Basic {encoded}")
}

/// A separate database for one case, deleted when dropped.
pub(crate) struct Scratch {
    pub(crate) client: Client,
    /// `/name`
    pub(crate) path: String,
}

impl Scratch {
    pub(crate) fn new(server: &Server) -> Self {
        let scratch = Self { client: Client::new(server), path: format!("/{}", unused_name()) };
        scratch.client.call("PUT", &scratch.path).expect(201);
        scratch
    }

    /// The path of something in the database.
    pub(crate) fn at(&self, rest: &str) -> String {
        format!("{}/{rest}", self.path)
    }

    pub(crate) fn get(&self, rest: &str) -> Answer {
        self.client.get(&self.at(rest))
    }

    pub(crate) fn put(&self, rest: &str, body: &Value) -> Answer {
        self.client.json("PUT", &self.at(rest), body)
    }

    pub(crate) fn post(&self, rest: &str, body: &Value) -> Answer {
        self.client.json("POST", &self.at(rest), body)
    }

    pub(crate) fn delete(&self, rest: &str) -> Answer {
        self.client.call("DELETE", &self.at(rest))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A case may have deleted it already, or may be failing: avoid a panic within a panic.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            self.client.call("DELETE", &self.path);
        }));
    }
}

/// A database name that no other case, test or process uses.
pub(crate) fn unused_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let process = std::process::id();
    let time = springload::clock::wall_ns();
    format!("springload-test-{process}-{time}-{number}")
}
