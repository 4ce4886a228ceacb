//! A server that answers by a script and keeps what it was asked, for tests of what is sent to it.

use super::{CouchDb, CouchPlan, CouchSession, Credentials};
use crate::clock::Clock;
use crate::measure::Probe;
use crate::net::{Endpoint, ShardContext, TlsOptions};
use crate::op::Op;
use crate::{
    DriverPlan as _, Opening, Outcome, ServerFacts, Session as _, TargetAsked, TargetError,
};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The answers to a request, or to those that begin so, with `*` at the end; the last one again and
/// again. Each is a status, possibly followed by headers, and a body; without a status, the
/// connection is closed, and with [`NEVER`] nothing comes.
pub(super) type Rule = (&'static str, &'static [Answer]);
pub(super) type Answer = (&'static str, &'static str);

/// Answers that are not constants.
pub(super) fn answers(all: impl Into<Vec<Answer>>) -> &'static [Answer] {
    all.into().leak()
}

pub(super) const NEVER: &str = "never";

/// The headers that are kept of a request, besides its method, its path and its body.
const KEPT: [&str; 5] =
    ["Authorization: ", "Cookie: ", "If-None-Match: ", "X-Couch-Persist: ", "X-Test: "];

/// The end of a cookie that is not kept.
const KNOWN: &str = "=old";

/// A server with its address, and the requests that it received.
#[derive(Clone)]
pub(super) struct Scripted {
    pub(super) url: String,
    seen: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
}

/// Answers by these rules, the first that fits; otherwise 404.
pub(super) fn scripted(rules: Vec<Rule>) -> Scripted {
    let mut counts = vec![0; rules.len()];
    answering(move |asked| {
        let Some(place) = rules.iter().position(|(rule, _)| fits(rule, asked)) else {
            return MISSING;
        };
        let answers = rules[place].1;
        counts[place] += 1;
        answers[(counts[place] - 1).min(answers.len() - 1)]
    })
}

fn fits(rule: &str, asked: &str) -> bool {
    match rule.strip_suffix('*') {
        Some(start) => asked.starts_with(start),
        None => asked.strip_prefix(rule).is_some_and(|it| it.is_empty() || it.starts_with(' ')),
    }
}

pub(super) const MISSING: Answer =
    ("404 Object Not Found", r#"{"error":"not_found","reason":"missing"}"#);

fn answering(answer: impl FnMut(&str) -> Answer + Send + 'static) -> Scripted {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = Scripted { url, seen: Arc::default(), connections: Arc::default() };
    let Scripted { seen, connections, .. } = server.clone();
    let answer = Arc::new(Mutex::new(answer));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, seen) = (BufReader::new(stream.unwrap()), seen.clone());
            let answer = answer.clone();
            connections.fetch_add(1, Ordering::Relaxed);
            std::thread::spawn(move || {
                while let Some(request) = read(&mut stream) {
                    seen.lock().unwrap().push(request.clone());
                    let (status, body) = (*answer.lock().unwrap())(&request);
                    if status == NEVER {
                        continue;
                    }
                    let length = body.len();
                    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n");
                    let whole = if request.starts_with("HEAD ") { head } else { head + body };
                    if status.is_empty() || stream.get_mut().write_all(whole.as_bytes()).is_err() {
                        break;
                    }
                }
            });
        }
    });
    server
}

/// A request: its first line without the version, some headers in brackets, and its body.
pub(super) fn read(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let (mut request, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if !matches!(stream.read_line(&mut line), Ok(1..)) {
            return None;
        }
        let line = line.trim_end();
        if request.is_empty() {
            line.trim_end_matches(" HTTP/1.1").clone_into(&mut request);
        } else if let Some(value) = line.strip_prefix("Content-Length: ") {
            length = value.parse().unwrap();
        } else if KEPT.iter().any(|name| line.starts_with(name)) && !line.ends_with(KNOWN) {
            request = format!("{request} [{line}]");
        } else if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    let space = if length > 0 { " " } else { "" };
    Some(request + space + &String::from_utf8(body).unwrap())
}

impl Scripted {
    /// What was asked since the last call.
    pub(super) fn seen(&self) -> Vec<String> {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// A plan for a database of that name on it.
    pub(super) fn plan(&self, database: &str) -> TargetAsked {
        TargetAsked::at(&format!("{}/{database}", self.url))
    }

    /// The database `db` on it, which is removed at the end.
    pub(super) fn database(&self) -> CouchDb {
        self.database_for(Credentials::None)
    }

    pub(super) fn database_for(&self, credentials: Credentials) -> CouchDb {
        let endpoint = Endpoint::resolve(&self.url.parse().unwrap(), &TlsOptions::default());
        let target = CouchDb::new(Arc::new(endpoint.unwrap()), credentials, "db");
        target.at(&self.url).with_administration(TIMEOUT_NS, true)
    }
}

pub(super) const TIMEOUT_NS: u64 = 10_000_000_000;

/// How a target is opened in tests.
pub(super) fn opening() -> Opening {
    Opening { timeout_ns: TIMEOUT_NS, max_answer: 1_000_000, ..Opening::default() }
}

/// Checks a plan and opens its target.
pub(super) async fn open(asked: &TargetAsked) -> Result<(CouchDb, ServerFacts), TargetError> {
    CouchPlan::check(asked).unwrap().open(&opening()).await
}

pub(super) fn session_of(target: &CouchDb) -> CouchSession {
    let context = ShardContext::new(Clock::system(), TIMEOUT_NS);
    CouchSession::new(target, &context, None)
}

/// Executes `op` with this name and body.
pub(super) async fn carry_out(
    session: &mut CouchSession,
    op: Op,
    (name, body): (&str, &str),
) -> Outcome {
    let mut pen = session.pen();
    pen.begin(name.as_bytes());
    pen.payload.body_mut().extend_from_slice(body.as_bytes());
    session.ready().await;
    session.prepare(&op, &mut pen);
    let now = session.clock.now();
    let mut probe = Probe::new(session.clock, now, now);
    session.execute(&op, &mut pen, &mut probe).await
}
