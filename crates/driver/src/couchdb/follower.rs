//! Follows the changes of a database: `_changes` in each of CouchDB's feeds.

use super::feed::{Lines, MOST_TEXT, read_page};
use super::{Admin, CouchDb, encode_segment};
use crate::clock::{Clock, Nanos};
use crate::http1::Feed;
use crate::measure::Change;
use crate::{FeedKind, FollowPlan, Follower, TargetError};
use serde_json::{Value, json};
use std::io;
use std::time::Duration;

/// Changes per page when all remaining changes are requested.
const PAGE: usize = 10_000;
/// The server sends an empty line this many times within the timeout of a request.
const BEATS: u64 = 3;

/// A separate connection to one database.
#[derive(Debug)]
pub struct CouchFollower {
    admin: Admin,
    /// `/name/_changes`, percent-encoded.
    path: String,
    feed: FeedKind,
    /// The parameters of the filter, each after `&`.
    filter: String,
    selector: Option<Value>,
    timeout_ns: Nanos,
    node: Option<String>,
    /// The position from which no change has been received yet, as JSON.
    since: String,
}

impl CouchFollower {
    /// As many followers as the plan wants, spread over the nodes.
    pub(super) fn all(target: &CouchDb, plan: &FollowPlan) -> Vec<Self> {
        let several = target.nodes.len() > 1;
        let (filter, selector) = asked(plan.filter.as_deref());
        let nodes = target.admins().count();
        let follower = |n: usize| {
            let admin = target.admins().nth(n % nodes)?;
            Some(Self {
                node: several.then(|| admin.endpoint().host().to_owned()),
                admin: admin.kept_open(),
                path: format!("{}/_changes", target.database_path()),
                feed: plan.feed,
                filter: filter.clone(),
                selector: selector.clone(),
                timeout_ns: target.timeout_ns,
                since: String::new(),
            })
        };
        (0..plan.followers as usize).filter_map(follower).collect()
    }

    /// The path of a request with these parameters, from the last change received on.
    fn path(&self, parameters: &str) -> String {
        // CouchDB takes a string without quotes.
        let since = encode_segment(self.since.trim_matches('"'));
        format!("{}?{parameters}&since={since}{}", self.path, self.filter)
    }

    fn method(&self) -> &'static str {
        if self.selector.is_some() { "POST" } else { "GET" }
    }

    /// The body of every request, if there is one.
    fn body(&self) -> Option<String> {
        Some(json!({ "selector": self.selector.as_ref()? }).to_string())
    }

    /// Requests a page of changes.
    async fn page(
        &mut self,
        parameters: &str,
        mut each: impl FnMut(Change),
    ) -> Result<usize, TargetError> {
        let (path, body, method) = (self.path(parameters), self.body(), self.method());
        let body = body.as_deref().map(str::as_bytes);
        let mut reply = self.admin.request(method, &path, body).await?;
        if reply.0 == 401 {
            self.admin.log_in().await?;
            reply = self.admin.request(method, &path, body).await?;
        }
        self.admin.expect_reply(reply, &[200], method, &path)?;
        let (changes, since) = read_page(self.admin.body(), None, &mut each)?;
        self.since = since;
        Ok(changes)
    }

    /// Opens the feed, after a new log-in if the last one has expired.
    async fn open(&mut self) -> Result<Feed, TargetError> {
        let beat_ms = (self.timeout_ns / BEATS / 1_000_000).max(1);
        let path = self.path(&format!("feed={}&heartbeat={beat_ms}", self.feed.name()));
        let (method, body) = (self.method(), self.body());
        let body = body.as_deref().map(str::as_bytes);
        for is_first in [true, false] {
            let request = self.admin.written(method, &path, body);
            let opening = Feed::open(self.admin.endpoint(), &request);
            let feed = self.within(opening).await?;
            match feed.status() {
                200 => return Ok(feed),
                401 if is_first => self.admin.log_in().await?,
                // The body says why.
                _ => break,
            }
        }
        self.page("limit=1", |_| {}).await?;
        Err(TargetError("the feed of changes cannot be opened".to_owned()))
    }

    /// Waits for `work`, but no longer than the timeout of a request.
    async fn within<T>(&self, work: impl Future<Output = io::Result<T>>) -> Result<T, TargetError> {
        let limit = Duration::from_nanos(self.timeout_ns);
        match tokio::time::timeout(limit, work).await {
            Ok(done) => done.map_err(|error| TargetError(error.to_string())),
            Err(_) => Err(TargetError("no heartbeat came within the timeout".to_owned())),
        }
    }

    /// Reads a line-based feed to its end.
    async fn lines(&mut self, each: &mut impl FnMut(Change)) -> Result<(), TargetError> {
        let mut feed = self.open().await?;
        let (mut lines, clock) = (Lines::default(), Clock::system());
        loop {
            let more = self.within(feed.more(|piece| lines.add(piece))).await?;
            let read = lines.read(clock.now(), each);
            if let Some(since) = lines.take_since() {
                self.since = since;
            }
            read?;
            if !more {
                return Ok(());
            }
        }
    }

    /// Reads the answer to one long poll.
    async fn poll(&mut self, each: &mut impl FnMut(Change)) -> Result<(), TargetError> {
        let mut feed = self.open().await?;
        let mut text = Vec::new();
        while self.within(feed.more(|piece| text.extend_from_slice(piece))).await? {
            if text.len() > MOST_TEXT {
                return Err(TargetError("the answer to a long poll does not end".to_owned()));
            }
        }
        let at = Clock::system().now();
        (_, self.since) = read_page(&text, Some(at), each)?;
        Ok(())
    }
}

/// Checks that the server accepts a filter.
pub(super) async fn find_filter(
    admin: &mut Admin,
    path: &str,
    filter: &str,
) -> Result<(), TargetError> {
    let (parameters, selector) = asked(Some(filter));
    let path = format!("{path}/_changes?limit=1&since=now{parameters}");
    let body = selector.map(|selector| json!({ "selector": selector }).to_string());
    let method = if body.is_some() { "POST" } else { "GET" };
    let reply = admin.request(method, &path, body.as_deref().map(str::as_bytes)).await?;
    if reply.0 == 404 && body.is_none() {
        return Err(TargetError(format!(
            "the database has no filter {filter}; bring it along with --ddocs, or give a database \
             that has it with --use-existing"
        )));
    }
    admin.expect_reply(reply, &[200], method, &path)?;
    Ok(())
}

/// The parameters of a filter, and its selector.
fn asked(filter: Option<&str>) -> (String, Option<Value>) {
    let Some(filter) = filter else { return (String::new(), None) };
    if filter.starts_with('{') {
        return ("&filter=_selector".to_owned(), serde_json::from_str(filter).ok());
    }
    let (name, parameters) = filter.split_once('?').unwrap_or((filter, ""));
    let and = if parameters.is_empty() { "" } else { "&" };
    (format!("&filter={name}{and}{parameters}"), None)
}

impl Follower for CouchFollower {
    fn node(&self) -> Option<String> {
        self.node.clone()
    }

    async fn begin(&mut self) -> Result<(), TargetError> {
        "now".clone_into(&mut self.since);
        self.page("limit=1", |_| {}).await.map(|_| ())
    }

    async fn follow(&mut self, mut each: impl FnMut(Change)) -> Result<(), TargetError> {
        if self.feed == FeedKind::Longpoll {
            self.poll(&mut each).await
        } else {
            self.lines(&mut each).await
        }
    }

    async fn rest(&mut self, mut each: impl FnMut(Change)) -> Result<(), TargetError> {
        let page = format!("limit={PAGE}");
        while self.page(&page, &mut each).await? == PAGE {}
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_a_name_with_parameters_or_a_selector() {
        assert_eq!(asked(None), (String::new(), None));
        assert_eq!(asked(Some("app/mine")).0, "&filter=app/mine");
        assert_eq!(asked(Some("app/mine?user=7&x=1")).0, "&filter=app/mine&user=7&x=1");
        let (parameters, selector) = asked(Some("{\"a\":1}"));
        assert_eq!(parameters, "&filter=_selector");
        assert_eq!(selector, Some(json!({ "a": 1 })));
    }
}
