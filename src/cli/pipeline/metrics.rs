//! `--metrics`: a server for scrapers during a run. Serves what the run merges once a second
//! anyway; the load threads are not involved.

use super::pages::{
    PageAnswer, PageServer, Pages, answer, is_for_this_machine, not_meant, only_read, words,
};
use crate::cli::flags::output::MetricsArgs;
use crate::plan::Invalid;
use crate::record::{RunRecord, Running};
use crate::redact::strike;
use crate::report::{Exposition, expose};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, HeaderMap};
use hyper::{Request, StatusCode};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is served: the record so far, and the running stage.
#[derive(Clone, Debug, Default)]
struct Served {
    record: Option<Arc<RunRecord>>,
    running: Option<Arc<Running>>,
}

/// The server of one run.
#[derive(Clone, Debug)]
pub(super) struct Metrics {
    state: Scraped,
    server: PageServer,
}

#[derive(Clone, Debug, Default)]
struct Scraped {
    served: Arc<Mutex<Served>>,
    /// Whether only this machine may connect.
    private: bool,
}

impl Metrics {
    /// The server, if one is asked for. The page is empty until the run begins.
    pub(super) fn asked(asked: &MetricsArgs) -> Option<Result<Self, Invalid>> {
        let state = Scraped { private: !asked.public, ..Scraped::default() };
        let server = PageServer::asked(asked.address.as_deref()?, asked.public, state.clone());
        Some(server.map(|server| Self { state, server }))
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/metrics", self.server.address)
    }

    /// Takes the totals so far; a stage in them is no longer running.
    pub(super) fn keep(&self, totals: Arc<RunRecord>) {
        *self.state.served() = Served { record: Some(totals), running: None };
    }

    /// Takes the measurements of the running stage so far.
    pub(super) fn running(&self, running: Arc<Running>) {
        self.state.served().running = Some(running);
    }
}

impl Scraped {
    fn served(&self) -> MutexGuard<'_, Served> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The page in the format that the client accepts.
    fn page(&self, headers: &HeaderMap) -> PageAnswer {
        let accepts = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("");
        let dialect = if accepts.contains("application/openmetrics-text") {
            Exposition::OpenMetrics
        } else {
            Exposition::Prometheus
        };
        // Rendered outside the lock, because the run needs that.
        let Served { record, running } = self.served().clone();
        let text = match record {
            Some(record) => expose(&record, running.as_deref(), dialect),
            None if dialect == Exposition::OpenMetrics => "# EOF\n".to_owned(),
            None => String::new(),
        };
        answer(StatusCode::OK, dialect.content_type(), strike(&text).into_owned())
    }
}

impl Pages for Scraped {
    const FLAG: &'static str = "--metrics";
    const WHAT: &'static str = "the metrics";
    const PUBLIC: &'static str = "--metrics-public";
    const EXAMPLE: &'static str = "127.0.0.1:9464";

    async fn respond(&self, request: Request<Incoming>) -> PageAnswer {
        if self.private && !is_for_this_machine(&request) {
            return not_meant();
        }
        if request.uri().path() != "/metrics" {
            return words(StatusCode::NOT_FOUND, "the page is /metrics\n");
        }
        only_read(request.method()).unwrap_or_else(|| self.page(request.headers()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_address_is_one_line_with_flag_and_cure() {
        let serve = |wanted: &str| PageServer::open(wanted, Scraped::default());
        let taken = serve("0").expect("a free port");
        let port = taken.address.port().to_string();
        for wanted in ["", "nonsense", "127.0.0.1", "127.0.0.1:99999", "99999", port.as_str()] {
            let line = serve(wanted).expect_err(wanted).to_string();
            assert!(line.starts_with("--metrics: cannot listen on"), "{line}");
            assert!(line.contains("; give a free [HOST:]PORT") && !line.contains('\n'), "{line}");
        }
    }
}
