//! `--metrics`: an endpoint for scrapers during a run. Serves what the run merges once a second
//! anyway, on its own thread; the load threads are not involved.

use crate::cli::flags::listen::is_public;
use crate::cli::flags::output::MetricsArgs;
use crate::driver::strike_secrets;
use crate::embedded::bind;
use crate::plan::Invalid;
use crate::record::{RunRecord, Running};
use crate::redact::strike;
use crate::report::{Exposition, expose};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderMap};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Timeout of reading a request.
const PATIENCE: Duration = Duration::from_secs(10);

/// Connections are closed after this time, even if a client reads a page byte by byte.
const LONGEST: Duration = Duration::from_secs(60);

/// More than any scrapers need.
const MOST_CONNECTIONS: usize = 64;

/// What is served: the record so far, and the running stage.
#[derive(Debug, Default)]
struct Told {
    record: Option<RunRecord>,
    running: Option<Running>,
}

/// The endpoint of one run.
#[derive(Clone, Debug)]
pub(super) struct Metrics {
    state: Arc<Mutex<Told>>,
    address: SocketAddr,
}

impl Metrics {
    /// The endpoint, if one is asked for.
    pub(super) fn asked(asked: &MetricsArgs) -> Option<Result<Self, Invalid>> {
        let place = with_host(asked.address.as_deref()?);
        if is_public(&place) && !asked.public {
            let problem = format!("other machines could read them at {place} without a password");
            let cure = "give --metrics-public to allow it, or only a PORT";
            return Some(Err(Invalid::new("--metrics", problem, cure)));
        }
        Some(Self::serve(&place))
    }

    /// Listens where the flag says and serves until the process exits. Before the run begins the
    /// page is empty.
    pub(super) fn serve(wanted: &str) -> Result<Self, Invalid> {
        let place = with_host(wanted);
        Self::start(&place).map_err(|error| {
            let problem = format!("cannot listen on {:?}: {error}", strike_secrets(&place));
            Invalid::new("--metrics", problem, "give a free [HOST:]PORT such as 127.0.0.1:9464")
        })
    }

    fn start(place: &str) -> io::Result<Self> {
        let listener = bind(place)?;
        listener.set_nonblocking(true)?;
        let metrics = Self { state: Arc::default(), address: listener.local_addr()? };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let served = metrics.clone();
        std::thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(move || runtime.block_on(accept(listener, served)))?;
        Ok(metrics)
    }

    /// The URL of the page.
    pub(super) fn url(&self) -> String {
        format!("http://{}/metrics", self.address)
    }

    /// Takes the record so far; a stage in it is no longer running.
    pub(super) fn keep(&self, record: &RunRecord) {
        let mut record = record.clone();
        // Only the totals are served.
        record.stages.iter_mut().for_each(|stage| stage.series = crate::measure::Series::default());
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        (state.record, state.running) = (Some(record), None);
    }

    /// Takes the measurements of the running stage so far.
    pub(super) fn running(&self, running: Running) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).running = Some(running);
    }

    /// The page in the format that the client accepts.
    fn page(&self, headers: &HeaderMap) -> Response<Full<Bytes>> {
        let accepts = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("");
        let dialect = if accepts.contains("application/openmetrics-text") {
            Exposition::OpenMetrics
        } else {
            Exposition::Prometheus
        };
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let text = match &state.record {
            Some(record) => expose(record, state.running.as_ref(), dialect),
            None if dialect == Exposition::OpenMetrics => "# EOF\n".to_owned(),
            None => String::new(),
        };
        drop(state);
        answer(StatusCode::OK, dialect.content_type(), strike(&text).into_owned())
    }

    fn respond(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let text = "text/plain; charset=utf-8";
        if request.uri().path() != "/metrics" {
            return answer(StatusCode::NOT_FOUND, text, "the page is /metrics\n".to_owned());
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut refusal = answer(StatusCode::METHOD_NOT_ALLOWED, text, "use GET\n".to_owned());
            refusal.headers_mut().insert(ALLOW, hyper::header::HeaderValue::from_static("GET"));
            return refusal;
        }
        self.page(request.headers())
    }
}

/// `9464` and `:9464` listen on the loopback address only: name a host to let others in.
fn with_host(wanted: &str) -> String {
    let port = wanted.strip_prefix(':').unwrap_or(wanted);
    if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) {
        format!("127.0.0.1:{port}")
    } else {
        wanted.to_owned()
    }
}

fn answer(status: StatusCode, content_type: &'static str, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let content_type = hyper::header::HeaderValue::from_static(content_type);
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

async fn accept(listener: TcpListener, metrics: Metrics) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let free = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok(permit) = free.clone().acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Probably out of file descriptors: wait for some to be freed.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let metrics = metrics.clone();
        tokio::spawn(async move {
            let service = service_fn(|request: Request<Incoming>| {
                let response = metrics.respond(&request);
                async move { Ok::<_, Infallible>(response) }
            });
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
            // A scraper that hangs up is not an error, nor one that comes again.
            let served = http.serve_connection(TokioIo::new(stream), service);
            let _ = tokio::time::timeout(LONGEST, served).await;
            drop(permit);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_bad_address_is_one_line_with_flag_and_cure() {
        let taken = Metrics::serve("0").expect("a free port");
        let port = taken.address.port().to_string();
        for wanted in ["", "nonsense", "127.0.0.1", "127.0.0.1:99999", "99999", port.as_str()] {
            let line = Metrics::serve(wanted).expect_err(wanted).to_string();
            assert!(line.starts_with("--metrics: cannot listen on"), "{line}");
            assert!(line.contains("; give a free [HOST:]PORT") && !line.contains('\n'), "{line}");
        }
    }
}
