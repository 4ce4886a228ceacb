//! A small HTTP server, made with hyper, that records every request.

use std::convert::Infallible;
use std::io::Write as _;
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::{BodyExt as _, Collected, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, ETAG, LOCATION, SET_COOKIE};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;

/// One request as received.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Seen {
    /// All values of a header.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        let named = self.headers.iter().filter(|(header, _)| header == name);
        named.map(|(_, value)| value.as_str()).collect()
    }

    /// The value of a header; empty if it is missing.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.all(name).first().copied().unwrap_or_default()
    }

    /// Method and path.
    pub(crate) fn what(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

#[derive(Debug, Default)]
struct State {
    seen: Mutex<Vec<Seen>>,
    connections: AtomicUsize,
    cookies: AtomicUsize,
    orders: AtomicUsize,
    /// The number of requests being answered, and its maximum so far.
    at_once: (AtomicUsize, AtomicUsize),
}

/// A server on a free port, until dropped.
pub(crate) struct Server {
    pub(crate) url: String,
    state: Arc<State>,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.set_nonblocking(true).expect("a socket");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let state = Arc::new(State::default());
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let shared = state.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                tokio::select! {
                    () = serve(listener, shared) => {}
                    _ = stopped => {}
                }
            });
        });
        Self { url, state, stop: Some(stop), thread: Some(thread) }
    }

    /// Every request so far, in order of arrival.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.state.seen.lock().expect("a list").clone()
    }

    /// Method and path of every request so far.
    pub(crate) fn whats(&self) -> Vec<String> {
        self.seen().iter().map(Seen::what).collect()
    }

    /// The number of connections opened so far.
    pub(crate) fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// The largest number of requests that were answered at once.
    pub(crate) fn most_at_once(&self) -> usize {
        self.state.at_once.1.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(listener: TcpListener, state: Arc<State>) {
    let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
    loop {
        let Ok((stream, _)) = listener.accept().await else { return };
        let _ = stream.set_nodelay(true);
        state.connections.fetch_add(1, Ordering::SeqCst);
        let state = state.clone();
        tokio::spawn(async move {
            let service = service_fn(|request| async {
                let (now, most) = &state.at_once;
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                let response = answer(request, state.clone()).await;
                now.fetch_sub(1, Ordering::SeqCst);
                response
            });
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

/// A shop: a login returns a token, which is needed for an order; paying for one also needs its
/// tag.
fn shop(
    path: &[&str],
    body: &str,
    header: &dyn Fn(&str) -> Option<String>,
    state: &State,
) -> (u16, String) {
    let is_known = header("authorization").is_some_and(|it| it.starts_with("Bearer token of "));
    match path {
        ["login"] if body.contains("nobody") => (403, "no".to_owned()),
        ["login"] => (200, format!("token of {}", body.trim_start_matches("user="))),
        _ if !is_known => (401, "who?".to_owned()),
        ["orders"] => (201, state.orders.fetch_add(1, Ordering::SeqCst).to_string()),
        ["orders", id] if header("if-match") == Some(format!("\"tag-{id}\"")) => {
            (200, "paid".to_owned())
        }
        _ => (409, "not this one".to_owned()),
    }
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    out.write_all(text).expect("memory");
    out.finish().expect("memory")
}

async fn answer(
    request: Request<Incoming>,
    state: Arc<State>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_or_else(|_| Bytes::new(), Collected::to_bytes);
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let header = |name: &str| head.headers.get(name).map(|value| text(value.as_bytes()));
    let headers = head.headers.iter();
    let headers = headers.map(|(name, value)| (name.to_string(), text(value.as_bytes())));
    let path = head.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    let method = head.method.to_string();
    let seen = Seen { method, path, headers: headers.collect(), body: text(&body) };
    state.seen.lock().expect("a list").push(seen);

    let parts: Vec<&str> = head.uri.path().split('/').skip(1).collect();
    let mut response = Response::builder();
    let said = text(&body);
    let mut body = Bytes::from_static(b"hello");
    match parts[..] {
        ["status", code] => response = response.status(code.parse::<u16>().expect("a status")),
        ["redirect", code] => {
            response = response.status(code.parse::<u16>().expect("a status"));
            let place = head.uri.query().unwrap_or("/landed");
            response = response.header(LOCATION, place);
        }
        // Adds a header, as in `/with/200?age=5`.
        ["with", code] => {
            let (name, value) = head.uri.query().and_then(|it| it.split_once('=')).expect("one");
            response = response.status(code.parse::<u16>().expect("a status")).header(name, value);
        }
        ["loop"] => response = response.status(302).header(LOCATION, "loop"),
        ["cookie"] => {
            let number = state.cookies.fetch_add(1, Ordering::SeqCst);
            if header("cookie").is_none() {
                response = response.header(SET_COOKIE, format!("user=u{number}; Path=/"));
                response = response.header(SET_COOKIE, "elsewhere=1; Path=/other");
            }
        }
        ["shop", ref rest @ ..] => {
            let (status, answer) = shop(rest, &said, &header, &state);
            response = response.status(status);
            if status == 201 {
                response = response.header(ETAG, format!("\"tag-{answer}\""));
            }
            let number = answer.parse::<usize>().is_ok();
            let answer = if number { answer } else { format!("\"{answer}\"") };
            body = Bytes::from(format!("{{\"said\": [{{\"it\": {answer}}}]}}"));
            if header("accept-encoding").is_some_and(|it| it.contains("gzip")) {
                response = response.header(CONTENT_ENCODING, "gzip");
                body = gzip(&body).into();
            }
        }
        ["private"] if !header("cookie").unwrap_or_default().contains("user=") => {
            response = response.status(401);
        }
        ["damaged"] => {
            response = response.header(CONTENT_ENCODING, "gzip");
            body = Bytes::from(gzip(b"hello").split_off(1));
        }
        // The first response is slow.
        ["stumble", ms] if state.seen.lock().expect("a list").len() == 1 => {
            tokio::time::sleep(Duration::from_millis(ms.parse().expect("a number"))).await;
        }
        ["slow", ms] => {
            tokio::time::sleep(Duration::from_millis(ms.parse().expect("a number"))).await;
            body = Bytes::from(vec![b'x'; 40_000]);
        }
        _ => {}
    }
    Ok(response.body(Full::new(body)).expect("a response"))
}
