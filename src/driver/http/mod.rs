//! Any server that speaks HTTP/1.1: requests from a list, redirects, cookies, a login.
//!
//! Knows what each entry of the list is sent with; path and body come from the workload.

mod pen;
mod plan;
mod request;
mod session;

pub use pen::HttpPen;
pub use plan::{BodyPlan, HttpPlan, HttpTarget, RequestPlan, strike_secret};
pub use request::{Request, Retry, Server, Settings};
pub use session::HttpSession;

use super::{Shard, ShardOf, Target};
use crate::net::ShardContext;
use crate::net::{Endpoint, EndpointError, TlsOptions};
use request::Spelled;
use std::io;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use url::Url;

/// The servers and requests of a list.
#[derive(Clone, Debug)]
pub struct Http(Arc<Common>);

/// What all sessions have in common.
#[derive(Debug)]
struct Common {
    servers: Vec<Arc<Server>>,
    requests: Vec<Spelled>,
    log_in: Vec<(Spelled, LogIn)>,
    settings: Settings,
    tls: TlsOptions,
    /// The number of the next session.
    sessions: AtomicUsize,
    /// Servers that only redirects lead to.
    found: Mutex<Vec<Arc<Server>>>,
}

/// What a user requests before it begins.
#[derive(Clone, Debug, Default)]
pub struct LogIn {
    /// Path and query.
    pub target: Vec<u8>,
    /// The body.
    pub body: Vec<u8>,
}

impl Http {
    /// The target that `requests` go to; each names one of `servers` by its place. Each session
    /// makes one of the requests `log_in` before it begins, in turn.
    pub fn new(
        servers: Vec<Server>,
        requests: Vec<Request>,
        log_in: Vec<(Request, LogIn)>,
        settings: Settings,
        tls: TlsOptions,
    ) -> Self {
        let prepare = |request: Request| Spelled::new(request, &servers, &settings);
        let requests = requests.into_iter().map(prepare).collect();
        let log_in = log_in.into_iter().map(|(request, text)| (prepare(request), text)).collect();
        Self(Arc::new(Common {
            requests,
            log_in,
            servers: servers.into_iter().map(Arc::new).collect(),
            settings,
            tls,
            sessions: AtomicUsize::new(0),
            found: Mutex::default(),
        }))
    }

    /// Whether all servers of the list are on this machine.
    pub fn is_loopback(&self) -> bool {
        self.0.servers.iter().all(|server| server.endpoint.is_loopback())
    }
}

impl Common {
    /// The server numbered `index`; those that redirects lead to follow those of the list.
    fn server(&self, index: usize) -> Arc<Server> {
        self.servers.get(index).cloned().unwrap_or_else(|| {
            let found = self.found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            found[index - self.servers.len()].clone()
        })
    }

    /// The number of the server of `url`, which may be one that the list does not name.
    /// The one numbered `current` is preferred: it may be known as several users.
    async fn server_of(&self, url: &Url, current: usize) -> Result<usize, EndpointError> {
        let of = |server: &Arc<Server>| server.url.origin() == url.origin();
        if of(&self.server(current)) {
            return Ok(current);
        }
        if let Some(index) = self.servers.iter().position(of) {
            return Ok(index);
        }
        let known = |found: &Mutex<Vec<Arc<Server>>>| {
            let found = found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            found.iter().position(of)
        };
        if let Some(index) = known(&self.found) {
            return Ok(self.servers.len() + index);
        }
        // A name is looked up where that may block; once for all sessions, or a few times.
        let (asked, tls) = (url.clone(), self.tls.clone());
        let resolved = tokio::task::spawn_blocking(move || Endpoint::resolve(&asked, &tls)).await;
        let endpoint =
            resolved.map_err(|error| EndpointError::Resolve(url.to_string(), error.into()))??;
        let endpoint = Arc::new(endpoint.with_max_answer(self.settings.max_answer));
        let server = Server { url: url.clone(), endpoint, user: None };
        let mut found = self.found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        found.push(Arc::new(server));
        Ok(self.servers.len() + found.len() - 1)
    }
}

impl Target for Http {
    type Shard = ShardOf<Self>;

    async fn shard(&self, context: Rc<ShardContext>) -> io::Result<Self::Shard> {
        Ok(ShardOf { target: self.clone(), context })
    }
}

impl Shard for ShardOf<Http> {
    type Session = HttpSession;

    fn session(&self) -> HttpSession {
        let shared = &self.target.0;
        let number = shared.sessions.fetch_add(1, Ordering::Relaxed);
        HttpSession::new(shared.clone(), self.context.clone(), number)
    }
}
