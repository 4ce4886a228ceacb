//! `--serve-page`: the page of a run while it is in progress. It is the same page as at the end,
//! rendered on request from the record, which is saved every few seconds.

use super::pages::{
    PageAnswer, PageServer, Pages, answer, is_for_this_machine, not_meant, only_read, words,
};
use crate::cli::flags::output::PageArgs;
use crate::clock::{Clock, wall_ns};
use crate::plan::Invalid;
use crate::record::RunRecord;
use crate::report::{self, LIVE_PAGE};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CACHE_CONTROL, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use hyper::header::{RETRY_AFTER, X_FRAME_OPTIONS};
use hyper::{Request, StatusCode};
use std::slice;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// How long a browser waits for the next version before it asks again.
const WAIT: Duration = Duration::from_secs(20);
/// A browser that asked within this time is still looking, in nanoseconds.
const LOOKING_NS: u64 = 30_000_000_000;
/// How long the end of a run waits for browsers to fetch the last version, in nanoseconds ...
const LINGER_NS: u64 = 10_000_000_000;
/// ... and how often it checks whether they have.
const CHECK: Duration = Duration::from_millis(20);

const HTML: &str = "text/html; charset=utf-8";
/// Keeps browsers from storing the page, and other sites from embedding it.
const HEADERS: [(HeaderName, &str); 3] = [
    (CACHE_CONTROL, "no-store"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "SAMEORIGIN"),
];

/// The state of the page, as a browser sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PageState {
    /// The version of the page; 0 if there is none yet.
    version: u64,
    /// Whether it is the last one.
    over: bool,
}

#[derive(Debug, Default)]
struct Versions {
    record: Option<Arc<RunRecord>>,
    /// The latest version that was rendered.
    drawn: Option<(u64, Bytes)>,
    /// When a browser last asked whether there is a new version.
    asked_ns: Option<u64>,
    /// How many browsers were informed that a version is the last one, and how many have fetched
    /// it.
    ended: [u64; 2],
}

/// The page of one run, as it is served.
#[derive(Clone, Debug)]
pub(super) struct LivePage {
    shown: Shown,
    server: PageServer,
}

#[derive(Clone, Debug)]
struct Shown {
    versions: Arc<Mutex<Versions>>,
    state: watch::Sender<PageState>,
    /// Whether only this machine may connect.
    private: bool,
}

impl LivePage {
    /// The page, if it is asked for.
    pub(super) fn asked(asked: &PageArgs) -> Option<Result<Self, Invalid>> {
        let place = asked.address.as_deref()?;
        let shown = Shown {
            versions: Arc::default(),
            state: watch::Sender::new(PageState::default()),
            private: !asked.public,
        };
        let server = PageServer::asked(place, asked.public, shown.clone());
        Some(server.map(|server| Self { shown, server }))
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/", self.server.address)
    }

    /// Takes the record so far, of a run in progress.
    pub(super) fn keep(&self, record: &RunRecord) {
        self.show(record.clone().seen_running(wall_ns()));
    }

    fn show(&self, record: RunRecord) {
        self.shown.versions().record = Some(Arc::new(record));
        self.shown.state.send_modify(|state| state.version += 1);
    }

    /// Takes the final record. Waits a little for the browsers that have the page open, because the
    /// process is about to end.
    pub(super) fn end(&self, record: &RunRecord) {
        let clock = Clock::system();
        let end_ns = clock.now() + LINGER_NS;
        let looking = self.shown.versions().asked_ns;
        self.show(record.clone());
        self.shown.state.send_modify(|state| state.over = true);
        if looking.is_none_or(|at| at + LOOKING_NS < clock.now()) {
            return;
        }
        while clock.now() < end_ns {
            let [informed, fetched] = self.shown.versions().ended;
            if informed > 0 && fetched >= informed && self.server.is_idle() {
                return;
            }
            std::thread::sleep(CHECK);
        }
    }
}

impl Shown {
    fn versions(&self) -> std::sync::MutexGuard<'_, Versions> {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is a version after this one.
    async fn state(&self, after: u64) -> PageAnswer {
        self.versions().asked_ns = Some(Clock::system().now());
        let mut changes = self.state.subscribe();
        let newer = changes.wait_for(|it| it.version > after || it.over);
        let newer = tokio::time::timeout(WAIT, newer).await;
        let state = match newer {
            Ok(Ok(state)) => *state,
            Ok(Err(_)) | Err(_) => *self.state.borrow(),
        };
        let mut versions = self.versions();
        versions.asked_ns = Some(Clock::system().now());
        versions.ended[0] += u64::from(state.over);
        drop(versions);
        let PageState { version, over } = state;
        let json = format!("{{\"version\":{version},\"over\":{over}}}\n");
        answer(StatusCode::OK, "application/json", json)
    }

    /// The page as it would be written now. It is rendered outside the lock, because the run needs
    /// that.
    fn page(&self) -> PageAnswer {
        let PageState { version, over } = *self.state.borrow();
        let (record, drawn) = {
            let mut versions = self.versions();
            versions.ended[1] += u64::from(over);
            (versions.record.clone(), versions.drawn.clone())
        };
        let Some(record) = record else {
            let mut early = words(StatusCode::SERVICE_UNAVAILABLE, "the run has not begun\n");
            early.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
            return early;
        };
        if let Some((_, page)) = drawn.filter(|(drawn, _)| *drawn == version) {
            return answer(StatusCode::OK, HTML, page);
        }
        let format = report::format("html");
        let page = format.and_then(|it| it.render(slice::from_ref(&*record), None).ok());
        let page = Bytes::from(page.unwrap_or_default());
        self.versions().drawn = Some((version, page.clone()));
        answer(StatusCode::OK, HTML, page)
    }
}

impl Pages for Shown {
    const FLAG: &'static str = "--serve-page";
    const WHAT: &'static str = "the report";
    const PUBLIC: &'static str = "--serve-page-public";
    const EXAMPLE: &'static str = "127.0.0.1:8080";
    // So that no connection is left once all requests are answered.
    const KEEP_ALIVE: bool = false;

    async fn respond(&self, request: Request<Incoming>) -> PageAnswer {
        let uri = request.uri();
        let after = uri.query().and_then(|query| query.strip_prefix("after="));
        let after = after.and_then(|version| version.parse().ok()).unwrap_or(0);
        let mut response = match (only_read(request.method()), uri.path()) {
            (Some(refusal), _) => refusal,
            _ if self.private && !is_for_this_machine(&request) => not_meant(),
            (None, "/") => answer(StatusCode::OK, HTML, LIVE_PAGE),
            (None, "/report.html") => self.page(),
            (None, "/state") => {
                drop(request);
                self.state(after).await
            }
            (None, _) => words(StatusCode::NOT_FOUND, "the page is /\n"),
        };
        for (name, value) in HEADERS {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }
}
