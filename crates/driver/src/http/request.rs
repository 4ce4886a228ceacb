//! How a request is encoded: all of its head except the target and the parts that vary.

use super::RequestText;
use crate::http1::{self, Watcher, failure_of};
use crate::net::Endpoint;
use crate::op::{Failure, Reply};
use crate::words::SavedFrom;
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
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// `GET`, `POST` and so on.
    pub method: String,
    /// The index of its server.
    pub server: usize,
    /// The type of its body, if it is to be sent.
    pub content_type: Option<String>,
    /// The names of headers that only it has. They replace those of every request.
    pub own: Vec<String>,
    /// What it sends, with holes for values.
    pub text: Arc<RequestText>,
    /// What is saved of its answers, in the order of the names.
    pub save: Vec<SavedFrom>,
}

/// Which requests are resent if the kept-alive connection proves to have been closed without a
/// response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Retry {
    /// Idempotent requests (RFC 9110, 9.2.2).
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
    /// Whether redirects are followed.
    pub follow: bool,
    /// Whether connections are kept for the next request.
    pub keep_alive: bool,
    /// Whether to keep cookies, unless `headers` has one.
    pub cookies: bool,
    /// Whether compressed responses are decoded; those that cannot be decoded count as failed.
    pub decode: bool,
    /// The largest answer that is read, in bytes.
    pub max_answer: u64,
    /// With HTTP/2, how many users share a connection; `None`: HTTP/1.1 is spoken.
    pub streams: Option<usize>,
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
    /// The endpoint of a server, as its connections are made.
    pub(super) fn reached(&self, endpoint: Endpoint) -> Endpoint {
        let endpoint = endpoint.with_max_answer(self.max_answer);
        if self.streams.is_some() { endpoint.with_http2() } else { endpoint }
    }

    /// Whether cookies are kept.
    pub(super) fn keeps_cookies(&self) -> bool {
        self.cookies && !self.has("Cookie")
    }

    /// Whether there is a header of that name.
    fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name))
    }

    /// Appends the rest of a head after the target, except the request's own headers, its cookies
    /// and the length of its body. A server that is not `listed`, to which a redirect led, does not
    /// get headers that may be meant for another server.
    pub(super) fn write_head(
        &self,
        server: &Server,
        request: &Request,
        listed: bool,
        out: &mut Vec<u8>,
    ) {
        let is_own = |name: &str| request.own.iter().any(|own| own.eq_ignore_ascii_case(name));
        let write_once = |name: &str, value: &str, out: &mut Vec<u8>| {
            if !self.has(name) && !is_own(name) {
                write(name, value, out);
            }
        };
        out.extend_from_slice(b" HTTP/1.1\r\n");
        write_once("Host", server.endpoint.host(), out);
        if let Some((user, password)) = &server.user {
            let text = BASE64_STANDARD.encode(format!("{user}:{password}"));
            write_once("Authorization", &format!("Basic {text}"), out);
        }
        write_once("Accept", "*/*", out);
        write_once("Accept-Encoding", "gzip, deflate", out);
        write_once("User-Agent", concat!("springload/", env!("CARGO_PKG_VERSION")), out);
        for (name, value) in self.headers.iter().filter(|(name, _)| !is_own(name)) {
            if listed || HARMLESS.iter().any(|it| name.eq_ignore_ascii_case(it)) {
                write(name, value, out);
            }
        }
        if let Some(content_type) = &request.content_type {
            write_once("Content-Type", content_type, out);
        }
        write_once("Connection", if self.keep_alive { "keep-alive" } else { "close" }, out);
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

/// One request to make: the first, or one after a redirect.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop<'a> {
    pub(super) prepared: &'a PreparedRequest,
    pub(super) target: &'a [u8],
    /// The lines of its own headers.
    pub(super) headers: &'a [u8],
}

/// What a redirect asks for.
#[derive(Debug)]
pub(super) struct Redirect {
    pub(super) prepared: PreparedRequest,
    pub(super) target: Vec<u8>,
    /// Whether the body is sent again.
    pub(super) with_body: bool,
}

/// An entry, ready to be sent.
#[derive(Clone, Debug)]
pub(super) struct PreparedRequest {
    pub(super) request: Request,
    /// The result of [`Settings::write_head`].
    pub(super) head: Vec<u8>,
    is_head: bool,
    changes: bool,
    resend: bool,
}

impl PreparedRequest {
    pub(super) fn new(request: Request, servers: &[Server], settings: &Settings) -> Self {
        let mut head = Vec::new();
        settings.write_head(&servers[request.server], &request, true, &mut head);
        Self::with_head(request, head, settings)
    }

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

    /// Appends the head of a hop up to its empty line.
    pub(super) fn write_head(hop: &Hop<'_>, cookies: &str, body_bytes: usize, out: &mut Vec<u8>) {
        let method = hop.prepared.request.method.as_bytes();
        out.extend_from_slice(method);
        out.push(b' ');
        out.extend_from_slice(hop.target);
        out.extend_from_slice(&hop.prepared.head);
        out.extend_from_slice(hop.headers);
        if !cookies.is_empty() {
            write("Cookie", cookies, out);
        }
        // For methods that usually have a body, requests without one say so (RFC 9110, 8.6).
        if body_bytes > 0 || matches!(method, b"POST" | b"PUT" | b"PATCH") {
            write("Content-Length", itoa::Buffer::new().format(body_bytes), out);
        }
        out.extend_from_slice(b"\r\n");
    }
}

/// The meaning of a status. A refusal is a failure, whatever siege calls it. Even a user who is
/// refused does not end a run: other entries of the list may be allowed.
pub(super) fn judge(status: u16) -> Result<Reply, Failure> {
    match status {
        200..=399 => Ok(Reply::default()),
        status => Err(failure_of(status)),
    }
}
