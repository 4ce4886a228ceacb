//! One user: its connections, its cookies, and how it makes requests.

use super::carrier::{Carrier, Seats};
use super::cookies::Cookies;
use super::pen::HttpPen;
use super::request::{Hop, PreparedRequest, Request, judge};
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

/// A user of an HTTP server, or of several: one connection to each.
pub struct HttpSession {
    pub(super) shared: Arc<Common>,
    context: Rc<ShardContext>,
    /// By the server's number; opened on first use.
    connections: Vec<Option<Carrier>>,
    /// The connections that it shares with other users.
    seats: Rc<Seats>,
    /// The number of the server that answered last.
    last: usize,
    /// The cookies, once there was one.
    jar: Option<Box<Cookies>>,
    pub(super) statuses: Vec<u16>,
    /// Requests sent for the current operation.
    sent: u64,
    /// What its connections have seen besides answers during the operation.
    noted: Noted,
    /// The request used to follow redirects.
    pub(super) inner: Option<Box<Payload>>,
    pub(super) log_in: LogInStep,
    number: usize,
    /// What was saved of the last answer.
    saved: Vec<Saved>,
    /// The decoded body of the last answer, if it was encoded.
    plain: Option<Vec<u8>>,
    /// What was missing or wrong in the last answer.
    pub(super) unmet: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogInStep {
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
        Self {
            context,
            connections: Vec::new(),
            seats,
            last: 0,
            jar: None,
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
    pub(super) fn answer_head(&self) -> &[u8] {
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
    pub(super) fn exchange(
        &mut self,
        hop: &Hop<'_>,
        payload: &mut Payload,
        probe: &mut Probe,
    ) -> impl Future<Output = Result<Answer, Failure>> {
        async move {
            let began = self.write(hop, payload);
            let connection = self.connection(self.last);
            let before = connection.sent();
            let answer = connection.exchange(hop.prepared.http1(payload.bytes()), probe).await;
            let (sent, noted) = (connection.sent() - before, connection.take_noted());
            self.sent += sent;
            self.noted += noted;
            if let Some(began) = began {
                self.tell(hop, payload.bytes(), began, answer);
            }
            self.finish(hop, answer)
        }
    }

    /// Puts the head of a request in front of its body, and chooses its connection. Returns the
    /// time, if exchanges are watched.
    fn write(&mut self, hop: &Hop<'_>, payload: &mut Payload) -> Option<Nanos> {
        let cookies = self.cookies(hop);
        let body_bytes = payload.body().len();
        payload.mark_body();
        self.context.buffers().with_head(|head| {
            PreparedRequest::write_head(hop, &cookies, body_bytes, head);
            payload.prepend(head);
        });
        self.last = hop.prepared.request.server;
        let watched = self.shared.settings.watcher.is_some();
        watched.then(|| self.context.clock().now())
    }

    /// Keeps what is needed of an answer.
    fn finish(
        &mut self,
        hop: &Hop<'_>,
        answer: Result<Answer, Failure>,
    ) -> Result<Answer, Failure> {
        let server = self.last;
        if !self.shared.settings.keep_alive {
            self.connection(server).close();
        }
        let answer = answer?;
        if self.connection(server).sets_cookie() && self.shared.settings.keeps_cookies() {
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
        let (Some(connection), Ok(url)) = (self.connections[server].as_ref(), url) else { return };
        let jar = self.jar.get_or_insert_default();
        let listed = self.shared.is_listed(server);
        for value in header_values(connection.head(), "set-cookie") {
            jar.keep(&String::from_utf8_lossy(value), &url, listed);
        }
    }

    /// Makes the request of `hop`, and those that its redirects lead to.
    fn carry_out(
        &mut self,
        hop: Hop<'_>,
        payload: &mut Payload,
        probe: &mut Probe,
    ) -> impl Future<Output = Outcome> {
        async move {
            let bytes_sent = payload.body().len() as u64;
            let answer = self.exchange(&hop, payload, probe).await;
            let outcome = outcome(answer, bytes_sent);
            match answer {
                Ok(Answer { status: 300..=399, .. }) if self.shared.settings.follow => {
                    // Rare: kept out of the future of all other operations.
                    Box::pin(self.follow(hop, payload, outcome, probe)).await
                }
                _ => outcome,
            }
        }
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

/// What came of one request, whose body had `bytes_sent`.
fn outcome(answer: Result<Answer, Failure>, bytes_sent: u64) -> Outcome {
    let mut outcome = Outcome::of(answer.and_then(|answer| judge(answer.status)));
    outcome.bytes.sent = bytes_sent;
    if let Ok(answer) = answer {
        outcome.bytes.received = answer.body_bytes;
        outcome.wire.resent = u64::from(answer.resent);
    }
    outcome
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

    fn execute(
        &mut self,
        _: &Op,
        pen: &mut HttpPen,
        probe: &mut Probe,
    ) -> impl Future<Output = Outcome> {
        async move {
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
