//! `_changes`: updates since a sequence number, in one answer or as a feed.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::json::{write_number, write_string};
use super::query::Query;
use super::reply::{Refusal, Reply, ReplyBody};
use super::stand_in::Call;
use super::store::{Database, Entry, State, write_document};
use crate::catalogue::Lie;
use crate::counters::count;

/// CouchDB's default `changes_timeout`, in milliseconds.
const TIMEOUT_MS: u64 = 60_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FeedKind {
    Normal,
    Longpoll,
    Continuous,
    Eventsource,
}

impl FeedKind {
    /// Whether each change is written as a line of its own.
    const fn is_lines(self) -> bool {
        matches!(self, Self::Continuous | Self::Eventsource)
    }
}

#[derive(Clone, Debug)]
struct Feed {
    kind: FeedKind,
    since: u64,
    limit: u64,
    include_docs: bool,
    descending: bool,
    heartbeat: Option<Duration>,
    timeout: Duration,
    /// If set, only these documents are reported.
    only: Option<HashSet<String>>,
}

/// The body of a request with the filter `_doc_ids`.
#[derive(serde::Deserialize)]
struct Only {
    doc_ids: HashSet<String>,
}

impl Feed {
    fn parse(query: &Query, body: &[u8], seq: u64) -> Result<Self, Refusal> {
        let only = match query.get("filter") {
            None => None,
            Some("_doc_ids") => {
                let only: Only = serde_json::from_slice(body).map_err(|_| Refusal::NO_DOC_IDS)?;
                Some(only.doc_ids)
            }
            Some(_) => return Err(Refusal::NO_FILTERS),
        };
        let since = match query.get("since").map(|since| since.trim_matches('"')) {
            None | Some("") => 0,
            Some("now") => seq,
            Some(text) => {
                let number = text.split('-').next().unwrap_or("");
                number.parse().map_err(|_| Refusal::MALFORMED_SEQUENCE)?
            }
        };
        let heartbeat = match query.get("heartbeat") {
            Some("true") => Some(TIMEOUT_MS),
            Some("false") => None,
            _ => query.number("heartbeat")?,
        };
        Ok(Self {
            kind: match query.get("feed") {
                None | Some("normal") => FeedKind::Normal,
                Some("longpoll") => FeedKind::Longpoll,
                Some("continuous") => FeedKind::Continuous,
                Some("eventsource") => FeedKind::Eventsource,
                Some(_) => return Err(Refusal::BAD_PARAMETER),
            },
            since,
            limit: query.number("limit")?.unwrap_or(u64::MAX),
            include_docs: query.is("include_docs", "true"),
            descending: query.is("descending", "true"),
            heartbeat: heartbeat.map(|ms| Duration::from_millis(ms.max(1))),
            timeout: Duration::from_millis(query.number("timeout")?.unwrap_or(TIMEOUT_MS)),
            only,
        })
    }

    /// Appends rows and advances `since` and `limit`; returns the number of rows.
    fn rows(&mut self, state: &mut State, out: &mut Vec<u8>) -> u64 {
        let mut rows = 0;
        let mut last = None;
        let mut liar = state.take_liar();
        let only = self.only.as_ref();
        let wanted = |(id, _): &(&str, &Entry)| only.is_none_or(|only| only.contains(*id));
        let mut put = |(id, entry): (&str, &Entry)| {
            last = Some(entry.seq);
            let mut tells = |lie| liar.as_mut().is_some_and(|liar| liar.tells(lie));
            if tells(Lie::SkipChange) {
                return;
            }
            for time in 0..=u64::from(tells(Lie::DuplicateChange)) {
                if rows + time > 0 && !self.kind.is_lines() {
                    out.extend_from_slice(b",\n");
                }
                if self.kind == FeedKind::Eventsource {
                    out.extend_from_slice(b"data: ");
                }
                write_row(id, entry, self.include_docs, out);
                match self.kind {
                    FeedKind::Normal | FeedKind::Longpoll => {}
                    FeedKind::Continuous => out.push(b'\n'),
                    FeedKind::Eventsource => {
                        out.extend_from_slice(b"\nid: \"");
                        write_number(entry.seq, out);
                        out.extend_from_slice(b"-standin\"\n\n");
                    }
                }
            }
            rows += 1;
        };
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        if self.descending {
            state.updates(0).rev().filter(wanted).take(limit).for_each(&mut put);
        } else {
            state.updates(self.since).filter(wanted).take(limit).for_each(&mut put);
        }
        state.give_back(liar);
        self.limit -= rows;
        self.since = last.unwrap_or(self.since);
        rows
    }

    fn write_end(&self, state: &mut State, out: &mut Vec<u8>) {
        out.extend_from_slice(match self.kind {
            // CouchDB ends this kind without any text.
            FeedKind::Eventsource => return,
            FeedKind::Continuous => b"{\"last_seq\":\"",
            FeedKind::Normal | FeedKind::Longpoll => b"\n],\n\"last_seq\":\"",
        });
        write_number(self.since, out);
        out.extend_from_slice(b"-standin\",\"pending\":");
        let pending = if self.descending { 0 } else { state.updates(self.since).count() };
        write_number(pending as u64, out);
        // CouchDB ends every feed with an empty line.
        out.extend_from_slice(b"}\n\n");
    }
}

fn write_row(id: &str, entry: &Entry, include_docs: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"seq\":\"");
    write_number(entry.seq, out);
    out.extend_from_slice(b"-standin\",\"id\":");
    write_string(id, out);
    out.extend_from_slice(b",\"changes\":[{\"rev\":\"");
    entry.rev.write(out);
    out.extend_from_slice(b"\"}]");
    if entry.deleted {
        out.extend_from_slice(b",\"deleted\":true");
    }
    if include_docs {
        out.extend_from_slice(b",\"doc\":");
        write_document(id, entry, out);
    }
    out.push(b'}');
}

pub(crate) fn changes(call: &Call<'_>, database: &Arc<Database>) -> Result<Reply, Refusal> {
    let mut feed = Feed::parse(call.query, call.body, database.lock().seq())?;
    count(&call.shared.tally.changes_requests);
    let mut body = Vec::new();
    if !feed.kind.is_lines() {
        body.extend_from_slice(b"{\"results\":[\n");
    }
    if feed.kind == FeedKind::Normal || !call.reads() || call.method == hyper::Method::HEAD {
        let mut state = database.lock();
        feed.rows(&mut state, &mut body);
        feed.write_end(&mut state, &mut body);
        return Ok(Reply::new(200, ReplyBody::chunked(body)));
    }
    let (sender, receiver) = mpsc::channel(4);
    tokio::spawn(serve(feed, Arc::clone(database), sender, body));
    Ok(Reply::new(200, ReplyBody::Feed(receiver)))
}

/// Sends rows as they arrive until the feed ends or the reader closes the connection.
async fn serve(
    mut feed: Feed,
    database: Arc<Database>,
    sender: mpsc::Sender<Bytes>,
    head: Vec<u8>,
) {
    let mut updates = database.subscribe();
    let mut out = head;
    loop {
        updates.mark_unchanged();
        let retired = {
            let mut state = database.lock();
            let rows = feed.rows(&mut state, &mut out);
            let over = feed.limit == 0 || (feed.kind == FeedKind::Longpoll && rows > 0);
            if over || state.retired() {
                feed.write_end(&mut state, &mut out);
            }
            over || state.retired()
        };
        if !out.is_empty() && sender.send(std::mem::take(&mut out).into()).await.is_err() {
            return;
        }
        if retired {
            return;
        }
        tokio::select! {
            _ = updates.changed() => {}
            () = sender.closed() => return,
            () = tokio::time::sleep(feed.heartbeat.unwrap_or(feed.timeout)) => {
                if feed.heartbeat.is_some() {
                    let beat: &[u8] = match feed.kind {
                        FeedKind::Eventsource => b"event: heartbeat\ndata: \n\n",
                        _ => b"\n",
                    };
                    out.extend_from_slice(beat);
                } else {
                    feed.write_end(&mut database.lock(), &mut out);
                    // If the reader has gone, nothing is lost.
                    let _ = sender.send(out.into()).await;
                    return;
                }
            }
        }
    }
}
