//! Any server that speaks HTTP/1.1: requests from a list, redirects, cookies, a login.
//!
//! The driver knows the headers of each entry; path and body come from the workload.

mod binding;
mod carrier;
mod cookies;
mod list;
mod pen;
mod plan;
mod redirects;
mod request;
mod request_plan;
mod session;

pub use crate::http1::CONNECTION_HEADERS;
pub use list::{Listed, LongList, Requests};
pub use pen::HttpPen;
pub use plan::{Http2Plan, HttpPlan, HttpTarget};
pub use request::{Request, Retry, Server, Settings};
pub use request_plan::{BodyPlan, RequestPlan, RequestText, mask, masked, strike_secret};
pub use session::HttpSession;

use super::groups::Groups;
use super::{Shard, Target};
use crate::net::ShardContext;
use crate::net::{Endpoint, TlsOptions, Trouble, reach};
use crate::op::Failure;
use carrier::Seats;
use request::PreparedRequest;
use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use url::Url;

/// The most servers that redirects may lead to: for each server in the list, and for the whole
/// list. Each user keeps a connection to every one.
const MOST_FOUND: (usize, usize) = (4, 16);

/// The servers and requests of a list.
#[derive(Clone, Debug)]
pub struct Http(Arc<Common>);

/// State shared by all sessions.
#[derive(Debug)]
struct Common {
    servers: Vec<Arc<Server>>,
    /// What requests have besides their paths.
    kinds: Vec<PreparedRequest>,
    requests: Requests,
    log_in: Vec<(PreparedRequest, LogInText)>,
    settings: Settings,
    tls: TlsOptions,
    /// The number of the next session.
    sessions: AtomicUsize,
    /// Servers that were found only through redirects.
    found: Mutex<Vec<Arc<Server>>>,
    /// Whether an operation has been redirected, so that others may be.
    redirected: AtomicBool,
}

/// A request that a user makes before any other.
#[derive(Clone, Debug, Default)]
pub struct LogInText {
    /// Path and query.
    pub target: Vec<u8>,
    /// The body.
    pub body: Vec<u8>,
}

impl Http {
    /// The target of `requests`, whose `kinds`, in the same order, refer to `servers` by index.
    /// Each session first makes one of the requests `log_in`, which are taken in turn.
    fn new(
        servers: Vec<Server>,
        requests: Requests,
        kinds: Vec<Request>,
        log_in: Vec<(Request, LogInText)>,
        settings: Settings,
        tls: TlsOptions,
    ) -> Self {
        let prepare = |request: Request| PreparedRequest::new(request, &servers, &settings);
        let kinds = kinds.into_iter().map(prepare).collect();
        let log_in = log_in.into_iter().map(|(request, text)| (prepare(request), text)).collect();
        Self(Arc::new(Common {
            kinds,
            requests,
            log_in,
            servers: servers.into_iter().map(Arc::new).collect(),
            settings,
            tls,
            sessions: AtomicUsize::new(0),
            redirected: AtomicBool::new(false),
            found: Mutex::default(),
        }))
    }

    /// Connects to the servers of the list, one after the other, until one accepts. With HTTP/2,
    /// each of them has to speak it.
    ///
    /// # Errors
    /// Fails if no server can be used: returns the first of them, and its problem.
    async fn reach(&self, timeout_ns: u64) -> Result<(), (String, Trouble)> {
        let mut first = None;
        for server in &self.0.servers {
            #[cfg(feature = "http2")]
            if let Some(streams) = self.0.settings.streams {
                let reached = crate::http2::reach(&server.endpoint, streams, timeout_ns).await;
                reached.map_err(|trouble| (server.endpoint.host().to_owned(), trouble))?;
                continue;
            }
            match reach(&server.endpoint, timeout_ns).await {
                Ok(()) => return Ok(()),
                Err(trouble) => {
                    first = first.or(Some((server.endpoint.host().to_owned(), trouble)));
                }
            }
        }
        first.map_or(Ok(()), Err)
    }

    /// Whether all listed servers are on this machine.
    pub fn is_loopback(&self) -> bool {
        self.0.servers.iter().all(|server| server.endpoint.is_loopback())
    }
}

impl Common {
    /// The request in this place of the list, and its path if that is not part of its text.
    fn request(&self, place: usize) -> (&PreparedRequest, &str) {
        // The workload goes through a list of the same length.
        let (kind, path) = self.requests.parts(place).unwrap_or_default();
        (&self.kinds[kind], path)
    }

    /// The server with number `index`; those found through redirects follow those of the list.
    fn server(&self, index: usize) -> Arc<Server> {
        self.servers.get(index).cloned().unwrap_or_else(|| {
            let found = self.found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            found[index - self.servers.len()].clone()
        })
    }

    /// Whether a server is in the list; if not, a redirect led to it.
    const fn is_listed(&self, index: usize) -> bool {
        index < self.servers.len()
    }

    /// The number of the server for `url`, which may not be in the list. Number `current` is
    /// preferred, since a server may be listed with several users.
    ///
    /// # Errors
    /// Fails if it has no address, or redirects have led to too many servers.
    async fn server_of(&self, url: &Url, current: usize) -> Result<usize, Failure> {
        let of = |server: &Arc<Server>| server.url.origin() == url.origin();
        if of(&self.server(current)) {
            return Ok(current);
        }
        if let Some(index) = self.servers.iter().position(of) {
            return Ok(index);
        }
        let known = || {
            let found = self.found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if let Some(index) = found.iter().position(of) {
                return Ok(Some(self.servers.len() + index));
            }
            let (each, all) = MOST_FOUND;
            let room = found.len() < self.servers.len() * each + all;
            if room { Ok(None) } else { Err(Failure::Protocol) }
        };
        if let Some(index) = known()? {
            return Ok(index);
        }
        // Name lookups block, so they run where blocking is allowed, rarely more than once for all
        // sessions. The client certificate is only shown to servers in the list.
        let (asked, tls) = (url.clone(), self.tls.for_strangers());
        let resolved = tokio::task::spawn_blocking(move || Endpoint::resolve(&asked, &tls)).await;
        let endpoint = resolved.ok().and_then(Result::ok).ok_or(Failure::Connect)?;
        let endpoint = Arc::new(self.settings.reached(endpoint));
        // Another session may have been faster.
        if let Some(index) = known()? {
            return Ok(index);
        }
        let server = Server { url: url.clone(), endpoint, user: None };
        let mut found = self.found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        found.push(Arc::new(server));
        Ok(self.servers.len() + found.len() - 1)
    }
}

impl Target for Http {
    const DOCUMENTS: bool = false;
    const LISTED: bool = true;

    type Shard = HttpShard;

    async fn shard(&self, context: Rc<ShardContext>) -> io::Result<HttpShard> {
        Ok(HttpShard { shared: self.0.clone(), context, groups: RefCell::default() })
    }

    /// Its request changes nothing, whatever the requests of the list do.
    async fn answers(&self, timeout_ns: u64) -> Option<Result<(), Failure>> {
        let asked = |server: &Arc<Server>| {
            let host = server.endpoint.host();
            let request = format!("OPTIONS * HTTP/1.1\r\nHost: {host}\r\n\r\n");
            (server.endpoint.clone(), request.into_bytes())
        };
        let asked: Vec<_> = self.0.servers.iter().map(asked).collect();
        #[cfg(feature = "http2")]
        if self.0.settings.streams.is_some() {
            return Some(crate::http2::answers(&asked, timeout_ns).await);
        }
        Some(crate::http1::answers(&asked, timeout_ns).await)
    }
}

/// The servers of a list as one shard sees them.
#[derive(Debug)]
pub struct HttpShard {
    shared: Arc<Common>,
    context: Rc<ShardContext>,
    /// Which users share connections.
    groups: RefCell<Groups<Seats>>,
}

impl HttpShard {
    fn with(&self, seats: Rc<Seats>) -> HttpSession {
        let number = self.shared.sessions.fetch_add(1, Ordering::Relaxed);
        HttpSession::new(self.shared.clone(), self.context.clone(), seats, number)
    }
}

impl Shard for HttpShard {
    type Session = HttpSession;

    fn session(&self) -> HttpSession {
        self.with(Seats::new(self.shared.settings.streams))
    }

    /// As many users share a connection as it has streams.
    fn session_of(&self, connection: usize) -> HttpSession {
        let streams = self.shared.settings.streams.unwrap_or(1);
        if streams < 2 {
            return self.session();
        }
        let make = || Seats::new(Some(streams));
        self.with(self.groups.borrow_mut().of(connection, streams, make))
    }
}
