//! One user: its connections, its cookies, and how it makes requests.

use super::carrier::{Carrier, Seats};
use super::cookies::Cookies;
use super::pen::HttpPen;
use super::request::{Hop, PreparedRequest, Redirect, Request, judge};
use super::{Common, LogInText};
use crate::clock::Nanos;
use crate::http1::{Answer, Exchange, Noted, Payload, decoded, header_values};
use crate::measure::{Probe, Wire};
use crate::net::ShardContext;
use crate::op::{Answered, Failure, Op, Reason, Saved};
use crate::words::{SavedFrom, save};
use crate::{Outcome, Session};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The most redirects in a row; one more is a failure.
const MOST_REDIRECTS: usize = 10;

/// A user of an HTTP server, or of several: one connection to each.
pub struct HttpSession {
    shared: Arc<Common>,
    context: Rc<ShardContext>,
    /// By the server's number; opened on first use.
    connections: Vec<Option<Carrier>>,
    /// The connections that it shares with other users.
    seats: Rc<Seats>,
    /// The number of the server that answered last.
    last: usize,
    jar: Option<Cookies>,
    statuses: Vec<u16>,
    /// Requests sent for the current operation.
    sent: u64,
    /// What its connections have seen besides answers during the operation.
    noted: Noted,
    /// The request used to follow redirects.
    inner: Option<Payload>,
    log_in: LogInStep,
    number: usize,
    /// What was saved of the last answer.
    saved: Vec<Saved>,
    /// The decoded body of the last answer, if it was encoded.
    plain: Option<Vec<u8>>,
    /// What was missing or wrong in the last answer.
    unmet: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LogInStep {
    Wanted,
    Done,
    Refused(Failure),
}

impl fmt::Debug for HttpSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSession").field("number", &self.number).finish_non_exhaustive()
    }
}

impl HttpSession {
    pub(super) fn new(
        shared: Arc<Common>,
        context: Rc<ShardContext>,
        seats: Rc<Seats>,
        number: usize,
    ) -> Self {
        let wanted = !shared.log_in.is_empty();
        let settings = &shared.settings;
        let keeps_cookies = settings.cookies && !settings.has("Cookie");
        Self {
            context,
            connections: Vec::new(),
            seats,
            last: 0,
            jar: keeps_cookies.then(Cookies::default),
            statuses: Vec::new(),
            sent: 0,
            noted: Noted::default(),
            inner: None,
            log_in: if wanted { LogInStep::Wanted } else { LogInStep::Done },
            number,
            saved: Vec::new(),
            plain: None,
            unmet: None,
            shared,
        }
    }

    /// Status line and headers of the last answer, as received.
    fn answer_head(&self) -> &[u8] {
        self.connections.get(self.last).and_then(Option::as_ref).map_or(&[], Carrier::head)
    }

    fn answer_body(&self) -> &[u8] {
        self.plain.as_deref().unwrap_or_else(|| self.coded_body())
    }

    /// The body as received.
    fn coded_body(&self) -> &[u8] {
        self.connections.get(self.last).and_then(Option::as_ref).map_or(&[], Carrier::body)
    }

    fn connection(&mut self, server: usize) -> &mut Carrier {
        if self.connections.len() <= server {
            // There is rarely more than one.
            self.connections.reserve_exact(server + 1 - self.connections.len());
            self.connections.resize_with(server + 1, || None);
        }
        let Self { shared, context, seats, .. } = self;
        let endpoint = || shared.server(server).endpoint.clone();
        self.connections[server]
            .get_or_insert_with(|| Carrier::new(server, &endpoint(), seats, context))
    }

    /// Sends one request, whose body is in `payload`, and reads its answer.
    async fn exchange(
        &mut self,
        hop: &Hop<'_>,
        payload: &mut Payload,
        probe: &mut Probe,
    ) -> Result<Answer, Failure> {
        let server = hop.prepared.request.server;
        let cookies = self.cookies(hop);
        let body_bytes = payload.body().len();
        payload.mark_body();
        self.context.buffers().with_head(|head| {
            PreparedRequest::write_head(hop, &cookies, body_bytes, head);
            payload.prepend(head);
        });
        self.last = server;
        let watched = self.shared.settings.watcher.is_some();
        let began = if watched { self.context.clock().now() } else { 0 };
        let keep_alive = self.shared.settings.keep_alive;
        let connection = self.connection(server);
        let before = connection.sent();
        let request = hop.prepared.http1(payload.bytes());
        let answer = connection.exchange(request, probe).await;
        let sent = connection.sent() - before;
        let noted = connection.take_noted();
        if watched {
            self.tell(hop, payload.bytes(), began, answer);
        }
        if !keep_alive {
            self.connection(server).close();
        }
        self.sent += sent;
        self.noted += noted;
        let answer = answer?;
        let sets_cookie = self.jar.is_some() && self.connection(server).sets_cookie();
        if sets_cookie {
            self.keep_cookies(server, hop.target);
        }
        self.statuses.push(answer.status);
        Ok(answer)
    }

    /// The value of `Cookie`; empty if there are no cookies.
    fn cookies(&self, hop: &Hop<'_>) -> String {
        let Request { server, ref own, .. } = hop.prepared.request;
        let its_own = || own.iter().any(|name| name.eq_ignore_ascii_case("Cookie"));
        let Some(jar) = self.jar.as_ref().filter(|jar| !jar.is_empty() && !its_own()) else {
            return String::new();
        };
        let target = String::from_utf8_lossy(hop.target);
        let url = self.shared.server(server).url.join(&target);
        url.map_or_else(|_| String::new(), |url| jar.of(&url, self.shared.is_listed(server)))
    }

    fn keep_cookies(&mut self, server: usize, target: &[u8]) {
        let target = String::from_utf8_lossy(target);
        let url = self.shared.server(server).url.join(&target);
        let (Some(connection), Some(jar), Ok(url)) =
            (self.connections[server].as_ref(), self.jar.as_mut(), url)
        else {
            return;
        };
        let listed = self.shared.is_listed(server);
        for value in header_values(connection.head(), "set-cookie") {
            jar.keep(&String::from_utf8_lossy(value), &url, listed);
        }
    }

    /// What a redirect asks for, if the last answer is one. Follows the Fetch standard,
    /// "HTTP-redirect fetch": a POST that is answered with 301 or 302, and everything but HEAD
    /// after 303, becomes a GET. A 201 or 202 with a `Location` is not a redirect.
    async fn redirect(&mut self, hop: &Hop<'_>, status: u16) -> Result<Option<Redirect>, Failure> {
        if !self.shared.settings.follow || !matches!(status, 301 | 302 | 303 | 307 | 308) {
            return Ok(None);
        }
        let head = self.answer_head();
        let Some(location) = header_values(head, "location").first().copied() else {
            return Ok(None);
        };
        let request = &hop.prepared.request;
        let base =
            self.shared.server(request.server).url.join(&String::from_utf8_lossy(hop.target));
        let url = base.and_then(|base| base.join(&String::from_utf8_lossy(location)));
        let Some(url) = url.ok().filter(|url| matches!(url.scheme(), "http" | "https")) else {
            self.unmet = Some("its Location is not an address of HTTP".to_owned());
            return Err(Failure::Protocol);
        };
        let server = self.shared.server_of(&url, request.server).await?;
        let get = match status {
            _ if request.method == "HEAD" => self.shared.settings.head_becomes_get,
            301 | 302 => request.method == "POST",
            303 => request.method != "GET",
            _ => false,
        };
        let mut head = Vec::new();
        let at = self.shared.server(server);
        let listed = self.shared.is_listed(server);
        let request = Request {
            method: if get { "GET".to_owned() } else { request.method.clone() },
            server,
            content_type: request.content_type.clone().filter(|_| !get),
            own: if listed { request.own.clone() } else { Vec::new() },
            ..request.clone()
        };
        self.shared.settings.write_head(&at, &request, listed, &mut head);
        let query = url.query().map_or_else(String::new, |query| format!("?{query}"));
        let target = format!("{}{query}", url.path()).into_bytes();
        let prepared = PreparedRequest::with_head(request, head, &self.shared.settings);
        Ok(Some(Redirect { prepared, target, with_body: !get }))
    }

    /// Makes the request of `hop`, and those that its redirects lead to.
    async fn carry_out(
        &mut self,
        hop: Hop<'_>,
        payload: &mut Payload,
        probe: &mut Probe,
    ) -> Outcome {
        let bytes_sent = payload.body().len() as u64;
        let outcome = |answer: Result<Answer, Failure>| {
            let mut outcome = Outcome::of(answer.and_then(|answer| judge(answer.status)));
            outcome.bytes.sent = bytes_sent;
            if let Ok(answer) = answer {
                outcome.bytes.received = answer.body_bytes;
                outcome.wire.resent = u64::from(answer.resent);
            }
            outcome
        };
        let answer = self.exchange(&hop, payload, probe).await;
        match answer {
            Ok(Answer { status: 300..=399, .. }) if self.shared.settings.follow => {
                // Rare: kept out of the future of all other operations.
                Box::pin(self.follow(hop, payload, outcome(answer), probe)).await
            }
            answer => outcome(answer),
        }
    }

    /// Follows the redirect in the last answer, and any further ones.
    async fn follow(
        &mut self,
        first: Hop<'_>,
        payload: &mut Payload,
        mut sum: Outcome,
        probe: &mut Probe,
    ) -> Outcome {
        let body_at = payload.bytes().len() - sum.bytes.sent as usize;
        let (mut prepared, mut target) = (first.prepared.clone(), first.target.to_vec());
        let mut inner = self.inner.take().unwrap_or_default();
        let mut with_body = true;
        for redirects in 0.. {
            let hop = Hop { prepared: &prepared, target: &target, headers: first.headers };
            let status = self.statuses.last().copied().unwrap_or_default();
            let next = match self.redirect(&hop, status).await {
                Ok(Some(_)) if redirects == MOST_REDIRECTS => {
                    self.unmet = Some(format!("more than {MOST_REDIRECTS} redirects"));
                    Err(Failure::Protocol)
                }
                next => next,
            };
            match next {
                Ok(None) => break,
                Err(failure) => {
                    sum.result = Err(failure);
                    break;
                }
                // Login data is only for servers in the list.
                Ok(Some(Redirect { prepared, with_body: true, .. }))
                    if self.log_in == LogInStep::Wanted
                        && with_body
                        && payload.bytes().len() > body_at
                        && !self.shared.is_listed(prepared.request.server) =>
                {
                    let why = "the log-in is redirected to a server that is not in the list";
                    (sum.result, self.unmet) = (Err(Failure::Protocol), Some(why.to_owned()));
                    break;
                }
                Ok(Some(next)) => {
                    with_body &= next.with_body;
                    (prepared, target) = (next.prepared, next.target);
                    // The redirect of a log-in does not predict others.
                    if self.log_in != LogInStep::Wanted {
                        self.shared.redirected.store(true, Ordering::Relaxed);
                    }
                }
            }
            inner.clear();
            if with_body {
                let body = &payload.bytes()[body_at..];
                inner.body_mut().extend_from_slice(body);
                sum.bytes.sent += body.len() as u64;
            }
            let listed = self.shared.is_listed(prepared.request.server);
            let headers = if listed { first.headers } else { &[] };
            let hop = Hop { prepared: &prepared, target: &target, headers };
            match self.exchange(&hop, &mut inner, probe).await {
                Ok(answer) => {
                    sum.result = judge(answer.status);
                    sum.bytes.received += answer.body_bytes;
                    sum.wire.resent |= u64::from(answer.resent);
                }
                Err(failure) => {
                    sum.result = Err(failure);
                    break;
                }
            }
        }
        self.inner = Some(inner);
        sum
    }

    /// Decodes the body of the last answer; if that fails, so does the request.
    fn decode(&mut self, outcome: &mut Outcome) {
        let most = self.shared.server(self.last).endpoint.max_answer;
        match decoded(self.answer_head(), self.coded_body(), most) {
            Ok(plain) => self.plain = plain,
            Err(words) => {
                self.unmet = Some(words);
                outcome.result = Err(Failure::Protocol);
            }
        }
    }

    /// Saves the values at these places of the last answer; if one is missing, the request has
    /// failed.
    fn save(&mut self, places: &[SavedFrom], outcome: &mut Outcome) {
        match save(places, self.answer_head(), self.answer_body()) {
            Ok(saved) => self.saved = saved,
            Err(missing) => {
                self.unmet = Some(missing);
                outcome.result = Err(Failure::Unexpected);
            }
        }
    }

    /// Makes the login request of this user.
    async fn log_in(&mut self) -> LogInStep {
        let shared = self.shared.clone();
        let (prepared, LogInText { target, body }) =
            &shared.log_in[self.number % shared.log_in.len()];
        let mut payload = Payload::default();
        payload.body_mut().extend_from_slice(body);
        let clock = self.context.clock();
        let now = clock.now();
        let mut probe = Probe::new(clock, now, now);
        let hop = Hop { prepared, target, headers: &[] };
        let outcome = self.carry_out(hop, &mut payload, &mut probe).await;
        match outcome.result {
            Ok(_) => LogInStep::Done,
            // The log-in was not refused, just not completed: the next request tries again.
            Err(Failure::Reset | Failure::Timeout | Failure::Unanswered) => LogInStep::Wanted,
            Err(failure) if failure.unconnected() => LogInStep::Wanted,
            Err(_) => LogInStep::Refused(Failure::Authentication),
        }
    }

    #[cold]
    fn tell(&self, hop: &Hop<'_>, request: &[u8], began: Nanos, answer: Result<Answer, Failure>) {
        let Some(watcher) = &self.shared.settings.watcher else { return };
        if let Some(jar) = &self.jar {
            jar.learn();
        }
        let Request { method, server, .. } = &hop.prepared.request;
        let answered = |bytes: &[u8]| if answer.is_ok() { bytes.to_vec() } else { Vec::new() };
        let whole = |bytes: &dyn Fn() -> Vec<u8>| if watcher.whole { bytes() } else { Vec::new() };
        let exchange = Exchange {
            status: answer.map(|answer| answer.status),
            response_ns: self.context.clock().now().saturating_sub(began),
            bytes: answer.map_or(0, |answer| answer.body_bytes),
            method: method.clone(),
            origin: self.shared.server(*server).url.origin().ascii_serialization(),
            target: String::from_utf8_lossy(hop.target).into_owned(),
            request: whole(&|| request.to_vec()),
            head: whole(&|| answered(self.answer_head())),
            body: whole(&|| answered(self.coded_body())),
        };
        // The receiver may be gone already.
        let _ = watcher.sender.send(exchange);
    }
}

impl Session for HttpSession {
    type Pen = HttpPen;

    fn pen(&self) -> HttpPen {
        HttpPen::default()
    }

    async fn ready(&mut self) -> Option<Nanos> {
        if self.log_in == LogInStep::Wanted {
            self.log_in = Box::pin(self.log_in()).await;
        }
        for connection in self.connections.iter().flatten() {
            connection.rest().await;
        }
        // With several servers, or a new connection for each request, it is unknown where to
        // connect, or too early: the operation itself connects, and its response time includes
        // that.
        if self.shared.settings.keep_alive && self.shared.servers.len() == 1 {
            return self.connection(0).ready().await;
        }
        None
    }

    fn is_open(&self) -> bool {
        let one = self.shared.settings.keep_alive && self.shared.servers.len() == 1;
        !one || self.connections.iter().flatten().any(Carrier::is_open)
    }

    fn prepare(&mut self, _: &Op, pen: &mut HttpPen) {
        let (prepared, path) = self.shared.request(pen.entry);
        pen.join(path, &prepared.request.text);
    }

    fn is_one_request(&self, _: &Op) -> bool {
        // True until the first redirect arrives: that one may be followed with a delay of up to one
        // nap, later ones are followed at once.
        !self.shared.redirected.load(Ordering::Relaxed)
    }

    async fn execute(&mut self, _: &Op, pen: &mut HttpPen, probe: &mut Probe) -> Outcome {
        self.statuses.clear();
        (self.sent, self.noted, self.plain, self.unmet) = (0, Noted::default(), None, None);
        if let LogInStep::Refused(failure) = self.log_in {
            let wire = Wire { requests: Some(0), ..Wire::default() };
            return Outcome { wire, ..Outcome::of(Err(failure)) };
        }
        let shared = self.shared.clone();
        let HttpPen { target, headers, payload, entry, .. } = pen;
        let prepared = shared.request(*entry).0;
        let hop = Hop { prepared, target, headers };
        let mut outcome = self.carry_out(hop, payload, probe).await;
        let saves = !prepared.request.save.is_empty();
        if outcome.result.is_ok() && (saves || shared.settings.decode) {
            self.decode(&mut outcome);
        }
        if outcome.result.is_ok() && saves {
            self.save(&prepared.request.save, &mut outcome);
        }
        if outcome.result == Err(Failure::Protocol) {
            // An answer that does not fit this request may belong to another one.
            self.connection(self.last).distrust();
        }
        outcome.wire += self.noted.into();
        outcome.wire.requests = Some(self.sent);
        outcome
    }

    fn answered(&self) -> Answered<'_> {
        let document = Some(self.answer_body());
        Answered { document, saved: &self.saved, ..Answered::default() }
    }

    fn reason(&self, failure: Failure) -> Option<Reason> {
        let connection = self.connections.get(self.last).and_then(Option::as_ref)?;
        if let Some(jar) = &self.jar {
            jar.learn();
        }
        if let (Failure::Unexpected | Failure::Protocol, Some(words)) = (failure, &self.unmet) {
            return Some(Reason::new(connection.status(), words));
        }
        connection.reason()
    }

    fn statuses(&self) -> &[u16] {
        &self.statuses
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
