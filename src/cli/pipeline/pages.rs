//! Serves pages during a run: a small server on its own thread, which yields to the load threads.
//! It does not depend on what the pages contain.

use crate::cli::flags::listen::is_public;
use crate::driver::strike_secrets;
use crate::embedded::bind;
use crate::plan::Invalid;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HOST, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

/// How long the head of a request may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Connections are closed after this time, even if a client reads a page byte by byte.
const LONGEST: Duration = Duration::from_secs(60);

/// More than any readers need.
const MOST_CONNECTIONS: usize = 64;

pub(super) type PageAnswer = Response<Full<Bytes>>;

pub(super) trait Pages: Clone + Send + Sync + 'static {
    /// The flag that asks for it, ...
    const FLAG: &'static str;
    /// ... what that is for the pages' readers, ...
    const WHAT: &'static str;
    /// ... the flag that lets other machines connect, ...
    const PUBLIC: &'static str;
    /// ... and an example of an address for the first one.
    const EXAMPLE: &'static str;
    /// Whether a connection serves more than one request.
    const KEEP_ALIVE: bool = true;

    fn respond(&self, request: Request<Incoming>) -> impl Future<Output = PageAnswer> + Send;
}

#[derive(Clone, Debug)]
pub(super) struct PageServer {
    pub(super) address: SocketAddr,
    /// Places for connections.
    free: Arc<Semaphore>,
}

impl PageServer {
    /// Serves `pages` at the address in the flag until the process exits; to other machines only if
    /// `public`.
    ///
    /// # Errors
    /// Fails if the address cannot be used.
    pub(super) fn asked<P: Pages>(wanted: &str, public: bool, pages: P) -> Result<Self, Invalid> {
        let place = with_host(wanted);
        if is_public(&place) && !public {
            let what = P::WHAT;
            let problem = format!(
                "whoever can reach {place} could read {what}: nobody is asked for a password"
            );
            let cure = format!("give {} to allow it, or a PORT of this machine alone", P::PUBLIC);
            return Err(Invalid::new(P::FLAG, problem, cure));
        }
        Self::open(wanted, pages)
    }

    /// The same, for any machine that can reach the address.
    pub(super) fn open<P: Pages>(wanted: &str, pages: P) -> Result<Self, Invalid> {
        let place = with_host(wanted);
        Self::start(&place, pages).map_err(|error| {
            let problem = format!("cannot listen on {:?}: {error}", strike_secrets(&place));
            let cure = format!("give a free [HOST:]PORT such as {}", P::EXAMPLE);
            Invalid::new(P::FLAG, problem, cure)
        })
    }

    fn start<P: Pages>(place: &str, pages: P) -> io::Result<Self> {
        let listener = bind(place)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let free = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let places = free.clone();
        let name = P::FLAG.trim_start_matches('-').to_owned();
        std::thread::Builder::new().name(name).spawn(move || {
            give_way();
            runtime.block_on(accept(listener, places, pages));
        })?;
        Ok(Self { address, free })
    }

    /// Whether there are no connections.
    pub(super) fn is_idle(&self) -> bool {
        self.free.available_permits() == MOST_CONNECTIONS
    }
}

/// Lets the load threads go first if there are too few processors. On Linux each thread has its own
/// priority.
pub(super) fn give_way() {
    #[cfg(target_os = "linux")]
    {
        let thread = rustix::thread::gettid();
        let _ = rustix::process::setpriority_process(Some(thread), 10);
    }
}

/// `9464` and `:9464` listen on the loopback address only; name a host to let other machines
/// connect.
fn with_host(wanted: &str) -> String {
    let port = wanted.strip_prefix(':').unwrap_or(wanted);
    if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) {
        format!("127.0.0.1:{port}")
    } else {
        wanted.to_owned()
    }
}

pub(super) fn answer(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> PageAnswer {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// A plain text response.
pub(super) fn words(status: StatusCode, text: &'static str) -> PageAnswer {
    answer(status, "text/plain; charset=utf-8", text)
}

/// The response to a request that is not read-only; `None` if it is.
pub(super) fn only_read(method: &Method) -> Option<PageAnswer> {
    if matches!(*method, Method::GET | Method::HEAD) {
        return None;
    }
    let mut refusal = words(StatusCode::METHOD_NOT_ALLOWED, "use GET\n");
    refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
    Some(refusal)
}

/// Whether a request is addressed to this machine. A foreign page could make a browser send one
/// under a name of its own that resolves to this machine; where only this machine may read, such a
/// request is refused.
pub(super) fn is_for_this_machine(request: &Request<Incoming>) -> bool {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    host.is_none_or(is_local)
}

/// The response to a request that is not addressed to this machine.
pub(super) fn not_meant() -> PageAnswer {
    words(StatusCode::FORBIDDEN, "ask for it by its numeric address\n")
}

/// Whether the value of a `Host` header is a numeric address or this machine's own name.
fn is_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok()
}

async fn accept<P: Pages>(listener: TcpListener, free: Arc<Semaphore>, pages: P) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let mut readers = VecDeque::<PageReader>::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Probably out of file descriptors: wait for some to be freed.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        readers.retain(|reader| !reader.task.is_finished());
        if free.available_permits() == 0 {
            make_room(&mut readers);
        }
        let Ok(permit) = free.clone().acquire_owned().await else { return };
        let asked = Arc::<AtomicBool>::default();
        let served = serve(stream, pages.clone(), asked.clone());
        let task = tokio::spawn(async move {
            served.await;
            drop(permit);
        });
        readers.push_back(PageReader { asked, task: task.abort_handle() });
        // Connections with a pending request are served before the next one is accepted.
        tokio::task::yield_now().await;
    }
}

/// A connection.
struct PageReader {
    /// Whether a request is being answered.
    asked: Arc<AtomicBool>,
    task: AbortHandle,
}

/// Closes the oldest idle connection or, if none is idle, the oldest.
fn make_room(readers: &mut VecDeque<PageReader>) {
    let idle = readers.iter().position(|reader| !reader.asked.load(Ordering::Relaxed));
    if let Some(reader) = readers.remove(idle.unwrap_or(0)) {
        reader.task.abort();
    }
}

async fn serve<P: Pages>(stream: tokio::net::TcpStream, pages: P, asked: Arc<AtomicBool>) {
    let service = service_fn(|request: Request<Incoming>| {
        asked.store(true, Ordering::Relaxed);
        let (response, asked) = (pages.respond(request), &asked);
        async move {
            let response = response.await;
            // If another request can follow, the wait for it counts as idle.
            asked.store(!P::KEEP_ALIVE, Ordering::Relaxed);
            Ok::<_, Infallible>(response)
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    http.keep_alive(P::KEEP_ALIVE);
    // A reader that disconnects is not an error, and may come back.
    let served = http.serve_connection(TokioIo::new(stream), service);
    let _ = tokio::time::timeout(LONGEST, served).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_leads_here_is_not_this_machines() {
        for host in
            ["127.0.0.1", "127.0.0.1:8080", "[::1]:8080", "[::1]", "localhost:1", "LocalHost"]
        {
            assert!(is_local(host), "{host}");
        }
        for host in ["evil.example:8080", "127.0.0.1.evil.example", "localhost.example", ""] {
            assert!(!is_local(host), "{host}");
        }
    }

    #[tokio::test]
    async fn who_asks_for_nothing_makes_room_before_who_waits_for_an_answer() {
        let reader = |asks| {
            let task = tokio::spawn(std::future::pending::<()>()).abort_handle();
            PageReader { asked: Arc::new(AtomicBool::new(asks)), task }
        };
        let mut readers =
            VecDeque::from([reader(true), reader(false), reader(true), reader(false)]);
        let mut asking = Vec::new();
        while !readers.is_empty() {
            make_room(&mut readers);
            asking.push(readers.iter().filter(|it| it.asked.load(Ordering::Relaxed)).count());
        }
        assert_eq!(asking, [2, 2, 1, 0]);
        make_room(&mut readers);
    }

    #[test]
    fn a_port_alone_is_this_machines() {
        for (wanted, place) in [
            ("9464", "127.0.0.1:9464"),
            (":0", "127.0.0.1:0"),
            ("0.0.0.0:1", "0.0.0.0:1"),
            ("[::1]:1", "[::1]:1"),
            ("localhost", "localhost"),
            ("", ""),
            (":", ":"),
        ] {
            assert_eq!(with_host(wanted), place);
        }
    }
}
