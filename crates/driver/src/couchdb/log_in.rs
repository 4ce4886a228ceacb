//! Session cookies: logging in again when one has expired.

use super::head::request;
use super::pen::CouchPen;
use super::session::CouchSession;
use crate::http1::{Answer, Request, failure_of};
use crate::measure::Probe;
use crate::op::{Failure, Op};
use std::sync::atomic::Ordering;

impl CouchSession {
    /// Uses the cookie that an answer sets. A request whose cookie had expired is resent with a new
    /// one, on the same connection.
    pub(super) async fn renew(
        &mut self,
        op: &Op,
        pen: &mut CouchPen,
        mut answer: Answer,
        probe: &mut Probe,
    ) -> Result<Answer, Failure> {
        if let Some(cookie) = self.connection.set_cookie()
            && self.credentials.renew(cookie)
        {
            self.make_common();
        }
        // At most twice: a cookie that another session received may have expired, too.
        for _ in 0..2 {
            if answer.status != 401 || !self.log_in().await? {
                break;
            }
            pen.payload.strip_head();
            let asked = if op.kind.is_own() {
                self.add_head(op, pen);
                self.own_request(op, pen)
            } else {
                self.encode(op, pen);
                request(op, pen)
            };
            answer = self.connection.exchange(asked, probe).await?;
        }
        Ok(answer)
    }

    /// Requests a new cookie. `false` without cookie credentials. Only one session requests it at a
    /// time while the others wait for its result; after a refusal no session tries again, because
    /// the server counts refusals.
    ///
    /// # Errors
    /// [`Failure::Authentication`] only if the name and password are refused: after any other
    /// failure the next operation may succeed.
    pub(super) async fn log_in(&mut self) -> Result<bool, Failure> {
        let Some(request) = self.credentials.log_in_request(&self.lines) else { return Ok(false) };
        let renewal = self.renewal.clone();
        let ended = renewal.ended.load(Ordering::Relaxed);
        let mut shared = renewal.state.lock().await;
        if !shared.refused() && self.credentials.adopt(&shared.cookie) {
            self.make_common();
            return Ok(true);
        }
        let waited = ended != renewal.ended.load(Ordering::Relaxed);
        if let Some(failure) = shared.failure.filter(|_| waited || shared.refused()) {
            return Err(failure);
        }
        let now = self.clock.now();
        let mut probe = Probe::new(self.clock, now, now);
        let request = Request::reading(&request);
        let answer = self.connection.exchange(request, &mut probe).await;
        let renewed = answer.and_then(|answer| self.logged_in(answer.status));
        shared.failure = renewed.err();
        if renewed.is_ok() {
            self.make_common();
            self.credentials.cookie().clone_into(&mut shared.cookie);
        }
        renewal.ended.fetch_add(1, Ordering::Relaxed);
        renewed.map(|()| true)
    }

    /// Uses the cookie in the answer to a log-in.
    fn logged_in(&mut self, status: u16) -> Result<(), Failure> {
        match status {
            200 => {
                let cookie = self.connection.set_cookie();
                let renewed = cookie.is_some_and(|cookie| self.credentials.renew(cookie));
                if renewed { Ok(()) } else { Err(Failure::Protocol) }
            }
            401 | 403 => Err(Failure::Authentication),
            status => Err(failure_of(status)),
        }
    }
}
