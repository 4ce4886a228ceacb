//! A small CouchDB for tests, with what the stand-in lacks, such as replications. It has databases
//! in memory, and puts the answers of a test in place of its own.

use super::{Observer, Progress, block_on};
use crate::clock::SECOND_NS;
use crate::driver::{Driver, Existing, Opening, TargetAsked, TargetPlan};
use crate::engine::{Stop, StopReason};
use crate::record::RunRecord;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

/// The status of an answer that never comes: the connection is closed instead.
pub(super) const GONE: u16 = 0;

pub(super) type Answer = (u16, Value);

#[derive(Clone)]
struct Document {
    rev: String,
    deleted: bool,
    seq: u64,
}

/// What the server has and does.
#[derive(Default)]
struct Site {
    databases: BTreeMap<String, BTreeMap<String, Document>>,
    /// The number of the last change.
    seq: u64,
    /// The source and the target of each replication.
    jobs: BTreeMap<String, [String; 2]>,
    /// What is said about replications, by their targets.
    states: BTreeMap<String, Vec<Value>>,
    /// How many requests about a target are answered before anything is copied to it.
    lags: BTreeMap<String, u32>,
    looks: BTreeMap<String, u32>,
    instead: Vec<(String, Vec<Answer>)>,
    seen: Vec<String>,
}

/// The next of several answers; the last one again and again.
fn next<T: Clone>(answers: &mut Vec<T>) -> T {
    if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() }
}

fn missing() -> Answer {
    (404, json!({ "error": "not_found", "reason": "missing" }))
}

impl Site {
    fn answer(&mut self, asked: &str, body: &Value) -> Answer {
        self.seen.push(asked.to_owned());
        let fits = |rule: &str| match rule.strip_suffix('*') {
            Some(start) => asked.starts_with(start),
            None => asked == rule,
        };
        if let Some((_, answers)) = self.instead.iter_mut().find(|(rule, _)| fits(rule)) {
            return next(answers);
        }
        let (method, path) = asked.split_once(' ').unwrap_or_default();
        let (place, query) = path.split_once('?').unwrap_or((path, ""));
        let decode = |part: &str| percent_decode_str(part).decode_utf8_lossy().into_owned();
        let parts: Vec<String> = place.split('/').skip(1).map(decode).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        match parts[..] {
            [""] => (200, json!({ "couchdb": "Welcome", "version": "3.5.0" })),
            ["_replicator"] => (200, json!({})),
            ["_replicator", name] => self.job(method, name, body),
            ["_scheduler", "docs", "_replicator", name] => self.state(name),
            [name] => {
                let answer = self.database(method, name);
                self.arrive(name);
                answer
            }
            [name, rest] if self.databases.contains_key(name) => {
                let answer = self.inside(method, name, rest, &(query, body));
                self.arrive(name);
                answer
            }
            _ => missing(),
        }
    }

    fn job(&mut self, method: &str, name: &str, body: &Value) -> Answer {
        if method == "PUT" {
            let end = |which: &str| {
                let url = body[which].as_str().unwrap_or_default();
                url.rsplit('/').next().unwrap_or_default().to_owned()
            };
            self.jobs.insert(name.to_owned(), [end("source"), end("target")]);
            return (201, json!({ "ok": true }));
        }
        let known = if method == "DELETE" {
            self.jobs.remove(name).is_some()
        } else {
            self.jobs.contains_key(name)
        };
        if known { (200, json!({ "_rev": "1-x" })) } else { missing() }
    }

    fn state(&mut self, name: &str) -> Answer {
        let Some([_, target]) = self.jobs.get(name) else { return missing() };
        let info = json!({ "docs_written": 7, "doc_write_failures": 1 });
        let running = json!({ "state": "running", "info": info });
        (200, self.states.get_mut(target).map_or(running, next))
    }

    fn database(&mut self, method: &str, name: &str) -> Answer {
        match (method, self.databases.get(name)) {
            ("PUT", None) => {
                self.databases.insert(name.to_owned(), BTreeMap::new());
                (201, json!({ "ok": true }))
            }
            ("PUT", Some(_)) => (412, json!({ "error": "file_exists" })),
            (_, None) => missing(),
            ("DELETE", Some(_)) => {
                self.databases.remove(name);
                (200, json!({ "ok": true }))
            }
            (_, Some(all)) => {
                let deleted = all.values().filter(|it| it.deleted).count();
                let there = all.len() - deleted;
                (200, json!({ "doc_count": there, "doc_del_count": deleted }))
            }
        }
    }

    /// Something below a database; `asked`: the query and the body.
    fn inside(&mut self, method: &str, name: &str, rest: &str, asked: &(&str, &Value)) -> Answer {
        let (query, body) = *asked;
        let all = &self.databases[name];
        match (method, rest) {
            ("PUT", id) => {
                self.store(name, id, "1-m", false);
                (201, json!({ "ok": true, "rev": "1-m" }))
            }
            ("POST", "_all_docs") => {
                let row = |id: &Value| match all.get(id.as_str().unwrap_or_default()) {
                    Some(it) => {
                        json!({ "id": id, "value": { "rev": it.rev, "deleted": it.deleted } })
                    }
                    None => json!({ "key": id, "error": "not_found" }),
                };
                let ids = body["keys"].as_array().into_iter().flatten();
                (200, json!({ "rows": ids.map(row).collect::<Vec<_>>() }))
            }
            ("GET", "_all_docs") => (200, json!({ "rows": [] })),
            ("GET", "_changes") => {
                let since = query.rsplit("since=").next().unwrap_or_default();
                let since: u64 = since.parse().unwrap_or_default();
                let mut since_then: Vec<_> = all.iter().filter(|it| it.1.seq > since).collect();
                since_then.sort_by_key(|it| it.1.seq);
                let last = since_then.last().map_or(since, |it| it.1.seq);
                let row = |(id, it): (&String, &Document)| {
                    let changes = json!([{ "rev": it.rev }]);
                    json!({ "id": id, "changes": changes, "deleted": it.deleted })
                };
                let rows: Vec<_> = since_then.into_iter().map(row).collect();
                (200, json!({ "results": rows, "last_seq": last }))
            }
            ("POST", "_bulk_docs") => {
                let ids = body["docs"].as_array().into_iter().flatten();
                let ids: Vec<_> = ids.filter_map(|it| it["_id"].as_str()).collect();
                for id in &ids {
                    self.store(name, id, "2-d", true);
                }
                (201, ids.iter().map(|id| json!({ "ok": true, "id": id })).collect())
            }
            ("POST", "_compact") => (202, json!({ "ok": true })),
            _ => missing(),
        }
    }

    fn store(&mut self, database: &str, id: &str, rev: &str, deleted: bool) {
        self.seq += 1;
        let document = Document { rev: rev.to_owned(), deleted, seq: self.seq };
        let database = self.databases.entry(database.to_owned()).or_default();
        database.insert(id.to_owned(), document);
    }

    /// After a request about a database: copies to it what is replicated to it.
    fn arrive(&mut self, name: &str) {
        let is_its = |job: &&[String; 2]| job[1] == name;
        let sources: Vec<String> =
            self.jobs.values().filter(is_its).map(|job| job[0].clone()).collect();
        if sources.is_empty() {
            return;
        }
        let looks = self.looks.entry(name.to_owned()).or_default();
        *looks += 1;
        if *looks <= self.lags.get(name).copied().unwrap_or_default() {
            return;
        }
        for source in sources {
            for (id, it) in self.databases.get(&source).cloned().unwrap_or_default() {
                let own = self.databases.get(name).and_then(|all| all.get(&id));
                if own.is_none_or(|own| own.rev < it.rev) {
                    self.store(name, &id, &it.rev, it.deleted);
                }
            }
        }
    }
}

/// A request without its headers: its method and path, and its body.
fn read(stream: &mut BufReader<TcpStream>) -> Option<(String, Value)> {
    // A client without an answer asks for TLS, whose first byte this is.
    if stream.fill_buf().ok()?.first() == Some(&0x16) {
        return None;
    }
    let (mut asked, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if !matches!(stream.read_line(&mut line), Ok(1..)) {
            return None;
        }
        let line = line.trim_end();
        if asked.is_empty() {
            line.trim_end_matches(" HTTP/1.1").clone_into(&mut asked);
        } else if let Some(value) = line.strip_prefix("Content-Length: ") {
            length = value.parse().ok()?;
        } else if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some((asked, serde_json::from_slice(&body).unwrap_or_default()))
}

/// A running server.
#[derive(Clone)]
pub(super) struct Couch {
    pub(super) url: String,
    site: Arc<Mutex<Site>>,
}

impl Couch {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let couch = Self { url, site: Arc::default() };
        let server = couch.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (server, stream) = (server.clone(), BufReader::new(stream.unwrap()));
                std::thread::spawn(move || server.serve(stream));
            }
        });
        couch
    }

    fn serve(&self, mut stream: BufReader<TcpStream>) {
        while let Some((asked, body)) = read(&mut stream) {
            let (status, body) = self.site().answer(&asked, &body);
            let body = body.to_string();
            let length = body.len();
            let whole = format!("HTTP/1.1 {status} So\r\nContent-Length: {length}\r\n\r\n{body}");
            if status == GONE || stream.get_mut().write_all(whole.as_bytes()).is_err() {
                return;
            }
        }
    }

    fn site(&self) -> MutexGuard<'_, Site> {
        self.site.lock().unwrap()
    }

    /// Stores a document, in a database that need not exist.
    pub(super) fn put(&self, database: &str, id: &str, rev: &str) {
        self.site().store(database, id, rev, false);
    }

    pub(super) fn delete(&self, database: &str, id: &str, rev: &str) {
        self.site().store(database, id, rev, true);
    }

    /// Answers a request like this, from now on; `*` at the end stands for anything. The last
    /// answer is given again and again.
    pub(super) fn instead(&self, rule: &str, answers: &[Answer]) {
        self.site().instead.insert(0, (rule.to_owned(), answers.to_vec()));
    }

    /// What the server says about the replication to this database, in turn.
    pub(super) fn says(&self, target: &str, states: &[Value]) {
        self.site().states.insert(target.to_owned(), states.to_vec());
    }

    /// Copies nothing to this database until so many requests about it have been answered.
    pub(super) fn lag(&self, target: &str, looks: u32) {
        self.site().lags.insert(target.to_owned(), looks);
    }

    /// What was asked since the last call.
    pub(super) fn seen(&self) -> Vec<String> {
        std::mem::take(&mut self.site().seen)
    }

    /// The documents of a database that are not deleted; `None`: there is no such database.
    pub(super) fn documents(&self, database: &str) -> Option<Vec<String>> {
        let site = self.site();
        let all = site.databases.get(database)?.iter().filter(|(_, it)| !it.deleted);
        Some(all.map(|(id, _)| id.clone()).collect())
    }

    /// The names of its replications.
    pub(super) fn jobs(&self) -> Vec<String> {
        self.site().jobs.keys().cloned().collect()
    }

    /// Opens a database, which may exist.
    pub(super) fn open(&self, database: &str) -> Driver {
        let address = format!("{}/{database}", self.url);
        let asked = TargetAsked { existing: Existing::Maybe, ..TargetAsked::at(&address) };
        let plan = TargetPlan::check(&asked).unwrap();
        block_on(&Stop::default(), plan.open(&opening())).unwrap().0
    }
}

pub(super) fn opening() -> Opening {
    Opening { timeout_ns: 10 * SECOND_NS, max_answer: 1_000_000, ..Opening::default() }
}

/// Keeps the messages for the user, and may then ask to stop.
#[derive(Default)]
pub(super) struct Told {
    pub(super) news: Vec<String>,
    pub(super) stops: Option<Arc<Stop>>,
    /// Whether it asks twice.
    pub(super) twice: bool,
}

impl Observer for Told {
    fn stage_begins(&mut self, _: &str) {}

    fn progress(&mut self, _: &Progress) {}

    fn news(&mut self, sentence: &str) {
        self.news.push(sentence.to_owned());
        if let Some(stop) = &self.stops {
            stop.raise(if self.twice { StopReason::Aborted } else { StopReason::Interrupted });
        }
    }

    fn keep(&mut self, _: &RunRecord) {}
}
