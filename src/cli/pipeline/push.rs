//! `--otlp` and `--remote-write`: metrics of a run are pushed to the systems that store them, every
//! few seconds, by one thread per receiver. A receiver that is gone, slow or refuses them does not
//! affect the run: the messages contain totals, so each makes up for those that were lost.

use super::pages::give_way;
use super::sends::Sends;
use crate::cli::flags::push::{PushArgs, header};
use crate::clock::{Clock, Nanos, SECOND_NS, wall_ns};
use crate::driver::strike_observed;
use crate::http1::{Connection, Request, header_values};
use crate::measure::Probe;
use crate::net::{Endpoint, ShardContext};
use crate::op::Failure;
use crate::plan::{Invalid, TlsOptions};
use crate::record::{RunRecord, Running};
use crate::report::{Pushed, RemoteWrite, otlp, otlp_rejected, shown};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use percent_encoding::percent_decode_str;
use std::io;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use url::Url;

/// How long a receiver may take to answer.
const PATIENCE_NS: Nanos = 5 * SECOND_NS;
/// How long the end of a run waits for the last message to be answered.
const LAST: Duration = Duration::from_secs(6);
/// The longest pause that a receiver may ask for, in seconds.
const MOST_REST_S: u64 = 300;
/// The most bytes of a response that are read; its content is not used.
const MOST_ANSWER: u64 = 1 << 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Otlp,
    RemoteWrite,
}

impl Protocol {
    const fn flag(self) -> &'static str {
        match self {
            Self::Otlp => "--otlp",
            Self::RemoteWrite => "--remote-write",
        }
    }

    /// The default path at receivers, for URLs without one.
    const fn path(self) -> &'static str {
        match self {
            Self::Otlp => "/v1/metrics",
            Self::RemoteWrite => "/api/v1/write",
        }
    }

    const fn headers(self) -> &'static str {
        match self {
            Self::Otlp => "Content-Type: application/x-protobuf\r\n",
            Self::RemoteWrite => {
                "Content-Type: application/x-protobuf\r\nContent-Encoding: snappy\r\n\
                X-Prometheus-Remote-Write-Version: 0.1.0\r\n"
            }
        }
    }
}

/// Pushes the metrics of one run to one receiver.
#[derive(Debug)]
struct Push {
    /// The receiver, without secrets.
    place: String,
    shared: Arc<SharedState>,
    /// Hangs up once the last message is answered.
    ended: Receiver<()>,
}

#[derive(Debug, Default)]
struct SharedState {
    state: Mutex<PushState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct PushState {
    record: Option<Arc<RunRecord>>,
    running: Option<Arc<Running>>,
    over: bool,
    sent: Sent,
}

/// The outcome of the messages.
#[derive(Clone, Debug, Default)]
struct Sent {
    all: u64,
    failed: u64,
    /// The reason the last one failed, if it did; and the latest failure of all.
    last: Option<String>,
    latest: Option<String>,
    warned: bool,
}

/// Begins to push to all receivers that are asked for.
///
/// # Errors
/// Fails if a flag is invalid.
pub(super) fn asked(asked: &PushArgs, run: &str) -> Result<Vec<Box<dyn Sends>>, Invalid> {
    let tls = TlsOptions { authorities: asked.push_ca.clone(), ..TlsOptions::default() };
    let otlp = asked.otlp.iter().map(|url| (Protocol::Otlp, url));
    let remote = asked.remote_write.iter().map(|url| (Protocol::RemoteWrite, url));
    let headers = asked.push_header.iter().map(|line| header(line));
    let headers: Vec<String> = headers.collect::<Result<_, _>>()?;
    let begun = otlp.chain(remote).map(|(protocol, url)| {
        let to = To::of(protocol, url, &headers, &tls)?;
        let push = Push::begin(to, run.to_owned(), asked.push_every).map_err(|error| {
            Invalid::new(protocol.flag(), error.to_string(), "try again with fewer of them")
        })?;
        Ok(Box::new(push) as Box<dyn Sends>)
    });
    begun.collect()
}

impl Push {
    fn begin(to: To, run: String, every_ns: Nanos) -> io::Result<Self> {
        let shared = Arc::<SharedState>::default();
        let (alive, ended) = channel();
        let (place, of_thread) = (to.place.clone(), shared.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::Builder::new().name("push".to_owned()).spawn(move || {
            give_way();
            runtime.block_on(send_all(&to, &run, &of_thread, every_ns));
            drop(alive);
        })?;
        Ok(Self { place, shared, ended })
    }
}

impl Sends for Push {
    fn keep(&self, totals: Arc<RunRecord>) {
        let mut state = self.shared.lock();
        (state.record, state.running) = (Some(totals), None);
    }

    fn running(&self, running: Arc<Running>) {
        self.shared.lock().running = Some(running);
    }

    fn news(&self) -> Option<String> {
        let mut state = self.shared.lock();
        let why = state.sent.latest.clone()?;
        let new = !std::mem::replace(&mut state.sent.warned, true);
        new.then(|| format!("no metrics to {}: {why}; the run goes on", self.place))
    }

    fn end(&self) {
        self.shared.lock().over = true;
        self.shared.changed.notify_all();
    }

    fn finish(&self) {
        let in_time = self.ended.recv_timeout(LAST);
        let in_time = in_time == Err(std::sync::mpsc::RecvTimeoutError::Disconnected);
        let Sent { all, failed, last, latest, .. } = self.shared.lock().sent.clone();
        let last = if in_time { last } else { Some("no answer in time".to_owned()) };
        let place = &self.place;
        if let Some(why) = last {
            let missing = "the totals of the run are not there";
            eprintln!("warning: {failed} of {all} messages to {place} failed; {missing}: {why}");
        } else if let Some(why) = latest {
            let there = "the totals of the run are there";
            eprintln!("warning: {failed} of {all} messages to {place} failed: {why}; {there}");
        }
    }
}

impl SharedState {
    fn lock(&self) -> MutexGuard<'_, PushState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the end of the run, or until the time is up. Returns whether the run is over.
    fn wait(&self, ns: Nanos) -> bool {
        let patience = Duration::from_nanos(ns);
        let waited = self.changed.wait_timeout_while(self.lock(), patience, |it| !it.over);
        waited.unwrap_or_else(PoisonError::into_inner).0.over
    }
}

#[derive(Debug)]
struct To {
    protocol: Protocol,
    endpoint: Arc<Endpoint>,
    /// Without secrets.
    place: String,
    /// The head of a request up to its length.
    head: String,
}

impl To {
    fn of(
        protocol: Protocol,
        text: &str,
        headers: &[String],
        tls: &TlsOptions,
    ) -> Result<Self, Invalid> {
        let flag = protocol.flag();
        let struck = strike_observed(&format!("x={text}"));
        let place = struck.strip_prefix("x=").unwrap_or(&struck).to_owned();
        let wrong = |problem: String| {
            let cure = format!("give a URL such as http://localhost:9090{}", protocol.path());
            Invalid::new(flag, problem, cure)
        };
        let url = Url::parse(text).ok().filter(|it| matches!(it.scheme(), "http" | "https"));
        let Some(url) = url.filter(|url| url.host().is_some()) else {
            return Err(wrong(format!("{place:?} is not a URL of http or https")));
        };
        let endpoint = Endpoint::resolve(&url, tls).map_err(|error| wrong(error.to_string()))?;
        let endpoint = endpoint.with_max_answer(MOST_ANSWER);
        let path = match &url[url::Position::BeforePath..url::Position::AfterQuery] {
            "/" => protocol.path(),
            path => path,
        };
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let login = url.password().map(|password| {
            let (user, password) = (decoded(url.username()), decoded(password));
            crate::redact::learn_login(&user, &password);
            format!("Authorization: Basic {}\r\n", BASE64.encode(format!("{user}:{password}")))
        });
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nUser-Agent: springload/{}\r\n{}{}{}",
            endpoint.host(),
            env!("CARGO_PKG_VERSION"),
            protocol.headers(),
            login.unwrap_or_default(),
            headers.concat(),
        );
        Ok(Self { protocol, endpoint: Arc::new(endpoint), place, head })
    }

    fn request(&self, body: &[u8]) -> Vec<u8> {
        let head = format!("{}Content-Length: {}\r\n\r\n", self.head, body.len());
        [head.as_bytes(), body].concat()
    }
}

/// Sends the metrics of `run` until it is over, and then once more.
async fn send_all(to: &To, run: &str, shared: &SharedState, every_ns: Nanos) {
    let clock = Clock::system();
    let deadlines = ShardContext::new(clock, PATIENCE_NS);
    let mut line = ReceiverConnection {
        connection: Connection::new(to.endpoint.clone(), &deadlines),
        deadlines,
    };
    let (mut rest_until, mut series) = (0, RemoteWrite::default());
    loop {
        let over = shared.wait(every_ns);
        let (record, running) = {
            let state = shared.lock();
            (state.record.clone(), state.running.clone())
        };
        let resting = clock.now() < rest_until && !over;
        if let Some(record) = record.filter(|_| !resting) {
            let running = running.as_deref();
            let pushed = Pushed { run, record: &record, running, at_ns: wall_ns(), over };
            let body = match to.protocol {
                Protocol::Otlp => otlp(&pushed),
                Protocol::RemoteWrite => series.encode(&pushed),
            };
            let answer = line.send(to, &body).await;
            if let Err(NotAccepted { rest_s: Some(rest_s), .. }) = &answer {
                rest_until = clock.now() + rest_s * SECOND_NS;
            }
            let mut state = shared.lock();
            let sent = &mut state.sent;
            sent.all += 1;
            sent.last = answer.err().map(|refused| refused.why);
            sent.failed += u64::from(sent.last.is_some());
            sent.latest = sent.last.clone().or_else(|| sent.latest.take());
        }
        if over {
            return;
        }
    }
}

/// A connection to a receiver.
struct ReceiverConnection {
    connection: Connection,
    deadlines: Rc<ShardContext>,
}

/// The reason a message was not accepted.
struct NotAccepted {
    why: String,
    /// The pause that the receiver asks for, in seconds.
    rest_s: Option<u64>,
}

impl ReceiverConnection {
    async fn send(&mut self, to: &To, body: &[u8]) -> Result<(), NotAccepted> {
        let request = to.request(body);
        let clock = self.deadlines.clock();
        let mut probe = Probe::new(clock, clock.now(), clock.now());
        // The request may be sent twice: totals that were stored already do no harm.
        let exchange = self.connection.exchange(Request::reading(&request), &mut probe);
        let answer = tokio::select! {
            answer = exchange => answer,
            () = self.deadlines.clone().sweep() => Err(Failure::Timeout),
        };
        let status = match answer {
            Ok(answer) => answer.status,
            Err(failure) => {
                // Half a response may be left on it.
                self.connection.close();
                let trouble = self.connection.trouble().map(|it| it.problem.clone());
                let why = match failure {
                    Failure::Timeout => format!("no answer within {} s", PATIENCE_NS / SECOND_NS),
                    _ => trouble.unwrap_or_else(|| failure.name().replace('_', " ")),
                };
                return Err(NotAccepted { why, rest_s: None });
            }
        };
        if (200..300).contains(&status) {
            let rejected = otlp_rejected(self.connection.body());
            let Some((points, why)) = rejected.filter(|_| to.protocol == Protocol::Otlp) else {
                return Ok(());
            };
            let why = format!("{points} points were rejected: {}", shown(&why, false));
            return Err(NotAccepted { why, rest_s: None });
        }
        let said = String::from_utf8_lossy(self.connection.body());
        let said: String = said.lines().next().unwrap_or_default().chars().take(200).collect();
        let why = shown(format!("status {status} {said}").trim_end(), false);
        let after = header_values(self.connection.head(), "retry-after");
        let after = after.first().and_then(|text| std::str::from_utf8(text).ok()?.parse().ok());
        Err(NotAccepted { why, rest_s: after.map(|seconds: u64| seconds.min(MOST_REST_S)) })
    }
}
