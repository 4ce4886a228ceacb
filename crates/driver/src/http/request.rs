//! How a request is encoded: all of its head except the target and the parts that vary.

use crate::http1::{self, Watcher};
use crate::net::Endpoint;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use url::Url;

/// Headers that reveal nothing about the user and are sent to any server.
const HARMLESS: [&str; 4] = ["Accept", "Accept-Encoding", "Accept-Language", "User-Agent"];

/// One server of the list.
#[derive(Clone)]
pub struct Server {
    /// Its address; what follows the host is ignored.
    pub url: Url,
    /// Its endpoint.
    pub endpoint: Arc<Endpoint>,
    /// User and password, sent with every request to it (Basic, RFC 7617).
    pub user: Option<(String, String)>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("url", &self.url.as_str()).finish_non_exhaustive()
    }
}

/// One entry of the list.
#[derive(Clone, Debug)]
pub struct Request {
    /// `GET`, `POST` and so on.
    pub method: String,
    /// The index of its server.
    pub server: usize,
    /// The type of its body, if it is to be sent.
    pub content_type: Option<String>,
}

/// Which requests are resent if their kept-alive connection turns out to have been closed without
/// an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Retry {
    /// Idempotent ones (RFC 9110, 9.2.2).
    #[default]
    Idempotent,
    /// All requests. The server may carry out a POST twice.
    All,
    /// None.
    None,
}

/// How requests are sent.
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Settings {
    /// Names and values of headers for every request. They replace the request's own.
    pub headers: Vec<(String, String)>,
    /// Whether to follow redirects.
    pub follow: bool,
    /// Whether to keep connections for the next request.
    pub keep_alive: bool,
    /// Whether to keep cookies, unless `headers` has one.
    pub cookies: bool,
    /// The largest answer that is read, in bytes.
    pub max_answer: u64,
    /// Which requests may be resent.
    pub retry: Retry,
    /// Whether a redirected HEAD becomes a GET.
    pub head_becomes_get: bool,
    /// Receives each finished exchange.
    pub watcher: Option<Watcher>,
}

impl Retry {
    /// Whether this is the default.
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Settings {
    /// Whether there is a header of that name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name))
    }

    /// Appends a header, unless `headers` has one of that name.
    fn write(&self, name: &str, value: &str, out: &mut Vec<u8>) {
        if !self.has(name) {
            write(name, value, out);
        }
    }

    /// Appends all of a head after the target, except cookies and the body's length. A server that
    /// is not `listed`, to which a redirect led, is not sent headers that may be meant for another
    /// one.
    pub(super) fn write_head(
        &self,
        server: &Server,
        content_type: Option<&str>,
        listed: bool,
        out: &mut Vec<u8>,
    ) {
        out.extend_from_slice(b" HTTP/1.1\r\n");
        self.write("Host", server.endpoint.host(), out);
        if let Some((user, password)) = &server.user {
            let text = BASE64_STANDARD.encode(format!("{user}:{password}"));
            self.write("Authorization", &format!("Basic {text}"), out);
        }
        self.write("Accept", "*/*", out);
        self.write("Accept-Encoding", "gzip, deflate", out);
        self.write("User-Agent", concat!("springload/", env!("CARGO_PKG_VERSION")), out);
        for (name, value) in &self.headers {
            if listed || HARMLESS.iter().any(|it| name.eq_ignore_ascii_case(it)) {
                write(name, value, out);
            }
        }
        if let Some(content_type) = content_type {
            self.write("Content-Type", content_type, out);
        }
        self.write("Connection", if self.keep_alive { "keep-alive" } else { "close" }, out);
    }
}

fn write(name: &str, value: &str, out: &mut Vec<u8>) {
    for part in [name, ": ", value, "\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}

/// Whether repeating the request has the same effect as sending it once (RFC 9110, 9.2.2).
fn is_idempotent(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE" | "PUT" | "DELETE")
}

/// An entry, ready to be sent.
#[derive(Clone, Debug)]
pub(super) struct Spelled {
    pub(super) request: Request,
    /// The result of [`Settings::write_head`].
    pub(super) head: Vec<u8>,
    is_head: bool,
    changes: bool,
    resend: bool,
}

impl Spelled {
    pub(super) fn new(request: Request, servers: &[Server], settings: &Settings) -> Self {
        let mut head = Vec::new();
        let content_type = request.content_type.as_deref();
        settings.write_head(&servers[request.server], content_type, true, &mut head);
        Self::with_head(request, head, settings)
    }

    /// The same with an existing head.
    pub(super) fn with_head(request: Request, head: Vec<u8>, settings: &Settings) -> Self {
        let changes = !is_idempotent(&request.method);
        let resend = match settings.retry {
            Retry::Idempotent => !changes,
            Retry::All => true,
            Retry::None => false,
        };
        Self { is_head: request.method == "HEAD", changes, resend, request, head }
    }

    /// Turns `bytes` into a request that a connection can send.
    pub(super) const fn http1<'a>(&self, bytes: &'a [u8]) -> http1::Request<'a> {
        let Self { is_head, changes, resend, .. } = *self;
        http1::Request { bytes, is_head, changes, resend }
    }

    /// Appends the head up to its empty line.
    pub(super) fn write_head(
        &self,
        target: &[u8],
        cookies: &str,
        body_bytes: usize,
        out: &mut Vec<u8>,
    ) {
        let method = self.request.method.as_bytes();
        out.extend_from_slice(method);
        out.push(b' ');
        out.extend_from_slice(target);
        out.extend_from_slice(&self.head);
        if !cookies.is_empty() {
            write("Cookie", cookies, out);
        }
        // Methods for which a body is expected state that there is none (RFC 9110, 8.6).
        if body_bytes > 0 || matches!(method, b"POST" | b"PUT" | b"PATCH") {
            write("Content-Length", itoa::Buffer::new().format(body_bytes), out);
        }
        out.extend_from_slice(b"\r\n");
    }
}
