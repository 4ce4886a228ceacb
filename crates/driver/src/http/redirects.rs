//! Redirects: what they ask for, and the requests that they lead to.

use super::request::{Hop, PreparedRequest, Redirect, Request, judge};
use super::session::{HttpSession, LogInStep};
use crate::Outcome;
use crate::http1::{Payload, header_values};
use crate::measure::Probe;
use crate::op::Failure;
use std::sync::atomic::Ordering;

/// The most redirects in a row; one more is a failure.
const MOST_REDIRECTS: usize = 10;

impl HttpSession {
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

    /// Follows the redirect in the last answer, and any further ones.
    pub(super) async fn follow(
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
}
