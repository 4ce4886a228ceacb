//! Requests before and after the stages: log in, look up, create, remove, fetch.

use super::credentials::Credentials;
use crate::SentBeside;
use crate::clock::Clock;
use crate::http1::{Connection, Request};
use crate::login::{CHECK_LOG_IN, GIVE_PASSWORD, LOG_IN};
use crate::measure::Probe;
use crate::net::{Endpoint, ShardContext, Trouble, mixed_up};
use crate::op::Failure;
use serde_json::Value;
use std::rc::Rc;
use std::sync::Arc;

/// Why the server cannot be used. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// There was no answer.
    #[error("cannot reach {server}: {}; {}", trouble.problem, trouble.cure)]
    Unreachable {
        /// The server's address.
        server: String,
        /// What went wrong, and what to do.
        trouble: Trouble,
    },
    /// 401 or 403.
    #[error("{server} refuses {action}: {reason}; {cure}")]
    Refused {
        /// What the user can do about it.
        cure: &'static str,
        /// The server's address.
        server: String,
        /// The request.
        action: String,
        /// The server's reason.
        reason: String,
    },
    /// 401 or 403, without credentials.
    #[error("{server} requires a log-in: it refuses {action} ({reason}); {LOG_IN}")]
    LoggedOut {
        /// The server's address.
        server: String,
        /// The request.
        action: String,
        /// The server's reason.
        reason: String,
    },
    /// Any other unexpected answer.
    #[error("{server} answers {status} to {action}: {reason}; see the server's log")]
    Unexpected {
        /// The server's address.
        server: String,
        /// The request.
        action: String,
        /// The HTTP status.
        status: u16,
        /// The server's reason.
        reason: String,
    },
}

/// Administration of a server. It opens a new connection for each request, unless it is kept open:
/// the next request may run in a different runtime, and no connection outlives its runtime.
#[derive(Debug)]
pub struct Admin {
    connection: Connection,
    endpoint: Arc<Endpoint>,
    deadlines: Rc<ShardContext>,
    server: String,
    /// Header lines of every request.
    lines: String,
    credentials: Credentials,
    kept_open: bool,
    timeout_ns: u64,
    /// Counts its requests.
    beside: SentBeside,
}

/// A status and a JSON body; `Null` if the body is not JSON.
type Reply = (u16, Value);

impl Admin {
    /// Does not connect yet.
    pub fn new(endpoint: &Arc<Endpoint>, credentials: Credentials, timeout_ns: u64) -> Self {
        let deadlines = ShardContext::new(Clock::system(), timeout_ns);
        Self {
            connection: Connection::new(endpoint.clone(), &deadlines),
            endpoint: endpoint.clone(),
            deadlines,
            server: endpoint.host().to_owned(),
            lines: format!("Host: {}\r\n", endpoint.host()),
            credentials,
            kept_open: false,
            timeout_ns,
            beside: SentBeside::default(),
        }
    }

    /// Another administration of the same server with the same log-in, on connections of its own.
    pub(super) fn again(&self) -> Self {
        let again = Self::new(&self.endpoint, self.credentials.clone(), self.timeout_ns);
        again.with_lines(&self.lines).counted_in(&self.beside)
    }

    /// The same, with its requests counted there.
    pub(super) fn counted_in(self, beside: &SentBeside) -> Self {
        Self { beside: beside.clone(), ..self }
    }

    /// The same for requests in a single runtime, which share a connection.
    pub(super) fn kept_open(self) -> Self {
        Self { kept_open: true, ..self }
    }

    /// The same, but with these header lines in each request instead of just the host's.
    pub fn with_lines(self, lines: &str) -> Self {
        Self { lines: lines.to_owned(), ..self }
    }

    /// The header lines of each request, besides those of the credentials.
    pub(super) fn lines(&self) -> &str {
        &self.lines
    }

    pub(super) fn with_more_lines(self, lines: &str) -> Self {
        Self { lines: format!("{}{lines}", self.lines), ..self }
    }

    /// The server.
    pub const fn endpoint(&self) -> &Arc<Endpoint> {
        &self.endpoint
    }

    /// The credentials, with the cookie from [`Admin::log_in`].
    pub const fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// Uses a cookie that was received elsewhere. `false` if there is no newer one.
    pub(super) fn adopt(&mut self, cookie: &str) -> bool {
        self.credentials.adopt(cookie)
    }

    /// Sends one request. `path` must already be percent-encoded.
    ///
    /// # Errors
    /// Fails if there is no answer.
    pub async fn request(
        &mut self,
        method: &str,
        path: &str,
        body: Option<&[u8]>,
    ) -> Result<Reply, AdminError> {
        let bytes = self.written(method, path, body);
        let status = self.send(&bytes, method).await?;
        Ok((status, serde_json::from_slice(self.connection.body()).unwrap_or(Value::Null)))
    }

    /// The bytes of a request.
    pub(super) fn written(&self, method: &str, path: &str, body: Option<&[u8]>) -> Vec<u8> {
        let mut bytes =
            format!("{method} {path} HTTP/1.1\r\n{}Accept: application/json\r\n", self.lines)
                .into_bytes();
        self.credentials.write_header(&mut bytes);
        if let Some(body) = body {
            let length = format!("Content-Length: {}\r\n", body.len());
            bytes.extend_from_slice(b"Content-Type: application/json\r\n");
            bytes.extend_from_slice(length.as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(body.unwrap_or_default());
        bytes
    }

    /// The body of the last answer.
    pub(super) fn body(&self) -> &[u8] {
        self.connection.body()
    }

    async fn send(&mut self, bytes: &[u8], method: &str) -> Result<u16, AdminError> {
        if !self.kept_open {
            self.connection.close();
        }
        let clock = self.deadlines.clock();
        let mut probe = Probe::new(clock, clock.now(), clock.now());
        // On a new connection nothing is resent; on one that was kept open, only requests that
        // change nothing.
        let resend = matches!(method, "GET" | "HEAD");
        let request = Request { is_head: method == "HEAD", resend, ..Request::reading(bytes) };
        let exchange = self.connection.exchange(request, &mut probe);
        let answer = tokio::select! {
            answer = exchange => answer,
            () = self.deadlines.clone().sweep() => Err(Failure::Timeout),
        };
        let failure = match answer {
            Ok(answer) => {
                self.beside.count(&self.server, method, answer.status);
                // The server sends a new cookie before the old one expires.
                if let Some(cookie) = self.connection.set_cookie() {
                    self.credentials.renew(cookie);
                }
                return Ok(answer.status);
            }
            Err(failure) => failure,
        };
        let trouble = match mixed_up(&self.endpoint).await {
            Some(trouble) => trouble,
            None => self.trouble(failure),
        };
        Err(AdminError::Unreachable { server: self.server.clone(), trouble })
    }

    /// Explains a failure to get an answer.
    fn trouble(&self, failure: Failure) -> Trouble {
        let why = self.connection.trouble();
        match failure {
            Failure::Timeout => Trouble::timed_out(),
            failure if failure.unconnected() => why.cloned().unwrap_or_else(Trouble::timed_out),
            Failure::Protocol => {
                let cure = "check the port: is CouchDB running there?";
                Trouble::new("what answers is not an HTTP/1.1 server", cure)
            }
            _ => {
                let cure = "is CouchDB running there?";
                Trouble::new("the connection was closed without an answer", cure)
            }
        }
    }

    /// An error about TLS if `error` comes from plain text sent to a server that understands only
    /// TLS; otherwise `error` itself, whose likely cause is a server that is not CouchDB.
    pub async fn unless_tls(&self, error: AdminError) -> AdminError {
        let server = self.server.clone();
        match error {
            AdminError::Unexpected { .. } => match mixed_up(&self.endpoint).await {
                Some(trouble) => AdminError::Unreachable { server, trouble },
                None => error,
            },
            error => error,
        }
    }

    /// Sends one request and requires one of `statuses`.
    ///
    /// # Errors
    /// Fails if there is no answer, or one with another status.
    pub async fn expect(
        &mut self,
        statuses: &[u16],
        method: &str,
        path: &str,
        body: Option<&[u8]>,
    ) -> Result<Reply, AdminError> {
        let reply = self.request(method, path, body).await?;
        self.expect_reply(reply, statuses, method, path)
    }

    /// Passes on a reply with one of `statuses`.
    ///
    /// # Errors
    /// Fails if it has another status.
    pub fn expect_reply(
        &self,
        (status, value): Reply,
        statuses: &[u16],
        method: &str,
        path: &str,
    ) -> Result<Reply, AdminError> {
        if statuses.contains(&status) {
            return Ok((status, value));
        }
        let (server, action) = (self.server.clone(), format!("{method} {path}"));
        let text = |name| value.get(name).and_then(Value::as_str);
        let reason = text("reason").or(text("error")).unwrap_or("no reason given");
        let reason = reason.trim_end_matches('.').to_owned();
        Err(match status {
            401 | 403 => match self.cure() {
                Some(cure) => AdminError::Refused { cure, server, action, reason },
                None => AdminError::LoggedOut { server, action, reason },
            },
            _ => AdminError::Unexpected { server, action, status, reason },
        })
    }

    /// What to do about credentials that were refused; `None` if there are none.
    fn cure(&self) -> Option<&'static str> {
        match &self.credentials {
            // The user's own header.
            Credentials::None if self.lines.to_ascii_lowercase().contains("\nauthorization:") => {
                Some("check the header Authorization")
            }
            Credentials::None => None,
            Credentials::Proxy { .. } => Some(
                "check user, roles and secret, and that the server has \
                 proxy_authentication_handler and, with a secret, proxy_use_secret = true",
            ),
            Credentials::Basic { password, .. } | Credentials::Cookie { password, .. } => {
                Some(if password.is_empty() { GIVE_PASSWORD } else { CHECK_LOG_IN })
            }
        }
    }

    /// Gets a session cookie, if the credentials use one. Falls back to Basic if the server has no
    /// `_session`. Tries only once: CouchDB locks a user out after five failed attempts.
    ///
    /// # Errors
    /// Fails if the credentials are refused or there is no answer.
    pub async fn log_in(&mut self) -> Result<(), AdminError> {
        let Some(request) = self.credentials.log_in_request(&self.lines) else { return Ok(()) };
        let status = self.send(&request, "POST").await?;
        let renewed = status == 200
            && self.connection.set_cookie().is_some_and(|cookie| self.credentials.renew(cookie));
        let Credentials::Cookie { name, password, .. } = &self.credentials else { return Ok(()) };
        match status {
            _ if renewed => Ok(()),
            401 | 403 => Err(AdminError::Refused {
                cure: self.cure().unwrap_or(LOG_IN),
                server: self.server.clone(),
                action: format!("to log in {name:?}"),
                reason: if status == 403 {
                    "locked out after too many wrong passwords; wait five minutes".to_owned()
                } else {
                    "wrong name or password".to_owned()
                },
            }),
            // The server does not support sessions.
            404 | 405 | 501 => {
                let (name, password) = (name.clone(), password.clone());
                self.credentials = Credentials::Basic { name, password };
                Ok(())
            }
            200 => Err(AdminError::Unexpected {
                server: self.server.clone(),
                action: "POST /_session".to_owned(),
                status,
                reason: "no session cookie; try --auth basic".to_owned(),
            }),
            status => {
                let said = serde_json::from_slice(self.connection.body()).unwrap_or(Value::Null);
                self.expect_reply((status, said), &[200], "POST", "/_session").map(|_| ())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Admin, Credentials, Endpoint};
    use crate::net::TlsOptions;
    use std::io::{Read, Write};
    use std::sync::Arc;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn each_request_is_sent_once_whatever_runs_it() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let (seen, requests) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, seen) = (stream.unwrap(), seen.clone());
                std::thread::spawn(move || {
                    let mut request = [0; 1_024];
                    while let Ok(1..) = stream.read(&mut request) {
                        seen.send(()).unwrap();
                        // Long enough for the client to look and find nothing.
                        std::thread::sleep(Duration::from_millis(50));
                        let _ =
                            stream.write_all(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
                    }
                });
            }
        });
        let endpoint = Endpoint::resolve(&url, &TlsOptions::default()).unwrap();
        let mut admin = Admin::new(&Arc::new(endpoint), Credentials::None, 10_000_000_000);
        for _ in 0..2 {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let (status, _) = runtime.block_on(admin.request("PUT", "/db", None)).unwrap();
            assert_eq!(status, 201);
        }
        assert_eq!(requests.try_iter().count(), 2);
    }
}
