//! A small Cassandra for tests, alone or as a node of a cluster. Each connection has its own
//! thread.

use super::answer::HEADER;
use super::reader::Reader;
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// The columns of its table, all of them texts; the first one is the key.
const COLUMNS: [&str; 3] = ["y_id", "name", "title"];

/// Whether it answers.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Mood {
    #[default]
    Well,
    /// It does not answer requests to execute.
    Silent,
    /// It does not answer requests to prepare.
    Dumb,
    /// It closes each connection at the first request.
    Away,
}

/// The data of a node, and its faults.
#[derive(Default)]
pub(super) struct NodeData {
    pub(super) rows: BTreeMap<String, BTreeMap<String, String>>,
    /// The statements that it has prepared, by their identifiers.
    prepared: BTreeMap<u32, String>,
    /// How many requests to execute it has received.
    pub(super) executed: u32,
    /// How many of the next ones are refused because it does not know their statement.
    pub(super) forgets: u32,
    /// The refusal that it sends instead of executing them.
    pub(super) refuses: Option<(u32, &'static str)>,
    pub(super) mood: Mood,
    /// The row that it returns, whichever was requested.
    pub(super) returns: Option<&'static str>,
    /// The number of rows in a page.
    pub(super) page: usize,
    /// Whether it always says that there are more pages.
    pub(super) endless: bool,
    /// How far its clock is ahead, and the timestamps of the writes that it received.
    pub(super) ahead_ms: u64,
    pub(super) stamps: Vec<i64>,
    /// Its token, and the port and the token of each other node.
    pub(super) token: i64,
    pub(super) peers: Vec<(u16, i64)>,
    /// What it reports about its pools: the columns of `thread_pools` except the name.
    pub(super) pool: Option<[&'static str; 3]>,
}

fn short(number: usize) -> [u8; 2] {
    (number as u16).to_be_bytes()
}

fn int(number: usize) -> [u8; 4] {
    (number as u32).to_be_bytes()
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(&short(text.len()));
    out.extend_from_slice(text.as_bytes());
}

/// Describes columns of texts, or of numbers if their name begins with `#`.
fn columns(out: &mut Vec<u8>, names: &[&str]) {
    text(out, "k");
    text(out, "t");
    for name in names {
        text(out, name.trim_start_matches('#'));
        out.extend_from_slice(&short(if name.starts_with('#') { 9 } else { 13 }));
    }
}

/// An answer with rows, and where the next page begins.
fn rows(names: &[&str], rows: &[Vec<Option<String>>], more: Option<usize>) -> (u8, Vec<u8>) {
    let mut out = int(2).to_vec();
    out.extend_from_slice(&int(1 | if more.is_some() { 2 } else { 0 }));
    out.extend_from_slice(&int(names.len()));
    if let Some(more) = more {
        out.extend_from_slice(&int(4));
        out.extend_from_slice(&int(more));
    }
    columns(&mut out, names);
    out.extend_from_slice(&int(rows.len()));
    for value in rows.iter().flatten() {
        match value {
            Some(value) => {
                out.extend_from_slice(&int(value.len()));
                out.extend_from_slice(value.as_bytes());
            }
            None => out.extend_from_slice(&[0xff; 4]),
        }
    }
    (8, out)
}

fn done() -> (u8, Vec<u8>) {
    (8, int(1).to_vec())
}

fn refusal(code: u32, words: &str) -> (u8, Vec<u8>) {
    let mut out = code.to_be_bytes().to_vec();
    text(&mut out, words);
    (0, out)
}

fn unknown() -> (u8, Vec<u8>) {
    refusal(0x2500, "Prepared query with ID not found")
}

/// The quoted names in the part of a statement between two texts.
fn names<'a>(cql: &'a str, from: &str, to: &str) -> Vec<&'a str> {
    let start = cql.find(from).map_or(cql.len(), |at| at + from.len());
    let part = &cql[start..];
    let part = &part[..part.find(to).unwrap_or(part.len())];
    part.split('"').skip(1).step_by(2).collect()
}

/// The columns for which a statement needs values.
fn wanted(cql: &str) -> Vec<&str> {
    match cql.split(' ').next() {
        Some("INSERT") => names(cql, "(", ")"),
        Some("UPDATE") => [names(cql, " SET ", " WHERE "), vec!["y_id"]].concat(),
        _ if cql.ends_with("LIMIT ?") => vec!["y_id", "#limit"],
        _ => vec!["y_id"],
    }
}

/// The columns that a statement returns.
fn found(cql: &str) -> Vec<&str> {
    match cql.strip_prefix("SELECT ") {
        Some(rest) if rest.starts_with('*') => COLUMNS.to_vec(),
        Some(_) => names(cql, "SELECT ", " FROM "),
        None => Vec::new(),
    }
}

fn byte(rest: &mut Reader<'_>) -> Option<u8> {
    let (first, others) = rest.0.split_first()?;
    rest.0 = others;
    Some(*first)
}

fn values(rest: &mut Reader<'_>) -> Vec<Vec<u8>> {
    let count = rest.short().unwrap();
    (0..count).map(|_| rest.value().unwrap().unwrap_or_default().to_vec()).collect()
}

impl NodeData {
    /// How many statements it has prepared.
    pub(super) fn knows(&self) -> usize {
        self.prepared.len()
    }

    /// The kind and the body of the answer to a request; `None` for none.
    fn answer(&mut self, opcode: u8, body: &[u8]) -> Option<(u8, Vec<u8>)> {
        let mut rest = Reader(body);
        Some(match opcode {
            1 => (2, Vec::new()),
            7 => {
                let length = rest.int()? as usize;
                let cql = std::str::from_utf8(&rest.0[..length]).ok()?;
                if self.mood == Mood::Silent && cql.contains("system_views") {
                    return None;
                }
                self.query(cql)
            }
            9 => {
                let length = rest.int()? as usize;
                let cql = std::str::from_utf8(&rest.0[..length]).ok()?;
                if self.mood == Mood::Dumb {
                    return None;
                }
                if cql.contains("nope") {
                    return Some(refusal(0x2200, "Undefined column name nope"));
                }
                self.prepare(cql)
            }
            _ => return self.execute(opcode, rest),
        })
    }

    fn query(&self, cql: &str) -> (u8, Vec<u8>) {
        let one = |text: &str| Some(text.to_owned());
        let tokens = |token: i64| one(&format!("[\"{token}\"]"));
        let id = |token: i64| one(&format!("node {token:020}"));
        if cql.contains("schema_version") {
            let local = cql.contains("local");
            return rows(&["schema_version"], &vec![vec![one("v")]; usize::from(local)], None);
        }
        if cql.contains("toUnixTimestamp") {
            let millis = crate::clock::wall_ns() / 1_000_000 + self.ahead_ms;
            return rows(&["now"], &[vec![one(&millis.to_string())]], None);
        }
        if let Some(pool) = self.pool.filter(|_| cql.contains("thread_pools")) {
            let names = ["name", "completed_tasks", "pending_tasks", "blocked_tasks"];
            let values = pool.map(one);
            let row = [vec![one("ReadStage")], values.to_vec()].concat();
            return rows(&names, &[row], None);
        }
        if cql.contains("release_version") {
            return rows(&["release_version"], &[vec![one("9.9")]], None);
        }
        if cql.contains("system.local") {
            let names = ["data_center", "tokens", "partitioner", "host_id"];
            let partitioner = one("Murmur3Partitioner");
            let row = vec![one("dc"), tokens(self.token), partitioner, id(self.token)];
            return rows(&names, &[row], None);
        }
        if cql.contains("system.peers_v2") {
            let names = ["native_address", "native_port", "data_center", "tokens", "host_id"];
            let row = |(port, token): &(u16, i64)| {
                let port = one(&port.to_string());
                vec![one("127.0.0.1"), port, one("dc"), tokens(*token), id(*token)]
            };
            return rows(&names, &self.peers.iter().map(row).collect::<Vec<_>>(), None);
        }
        if cql.starts_with("SELECT") { rows(&["column_name"], &[], None) } else { done() }
    }

    fn prepare(&mut self, cql: &str) -> (u8, Vec<u8>) {
        // The same identifier on all nodes, as for statements of Cassandra.
        let id = cql.bytes().fold(7_u32, |all, it| all.wrapping_mul(31).wrapping_add(it.into()));
        self.prepared.insert(id, cql.to_owned());
        let (wanted, found) = (wanted(cql), found(cql));
        let mut out = int(4).to_vec();
        out.extend_from_slice(&short(4));
        out.extend_from_slice(&id.to_be_bytes());
        out.extend_from_slice(&[int(1), int(wanted.len())].concat());
        let key = wanted.iter().position(|name| *name == "y_id");
        out.extend_from_slice(&int(usize::from(key.is_some())));
        out.extend(key.map(short).iter().flatten());
        columns(&mut out, &wanted);
        out.extend_from_slice(&[int(1), int(found.len())].concat());
        columns(&mut out, &found);
        (8, out)
    }

    fn execute(&mut self, opcode: u8, mut rest: Reader<'_>) -> Option<(u8, Vec<u8>)> {
        self.executed += 1;
        if self.mood == Mood::Silent {
            return None;
        }
        if let Some((code, words)) = self.refuses {
            return Some(refusal(code, words));
        }
        if self.forgets > 0 {
            self.forgets -= 1;
            return Some(unknown());
        }
        if opcode == 10 {
            let id = u32::from_be_bytes(rest.short_bytes()?.try_into().ok()?);
            let Some(cql) = self.prepared.get(&id).cloned() else { return Some(unknown()) };
            rest.short()?;
            let flags = byte(&mut rest)?;
            let values = if flags & 1 > 0 { values(&mut rest) } else { Vec::new() };
            let page = if flags & 4 > 0 { rest.int()? as usize } else { usize::MAX };
            let after = if flags & 8 > 0 { rest.value()?? } else { &[] };
            let after = after.try_into().map_or(0, u32::from_be_bytes) as usize;
            if flags & 0x20 > 0 {
                self.stamps.push(i64::from_be_bytes(rest.0.try_into().ok()?));
            }
            return Some(self.done(&cql, &values, page.min(self.page.max(1)), after));
        }
        byte(&mut rest)?;
        for _ in 0..rest.short()? {
            byte(&mut rest)?;
            let id = u32::from_be_bytes(rest.short_bytes()?.try_into().ok()?);
            let Some(cql) = self.prepared.get(&id).cloned() else { return Some(unknown()) };
            self.done(&cql, &values(&mut rest), 1, 0);
        }
        Some(done())
    }

    /// Executes a statement.
    fn done(&mut self, cql: &str, values: &[Vec<u8>], page: usize, after: usize) -> (u8, Vec<u8>) {
        let texts: Vec<_> =
            values.iter().map(|it| String::from_utf8_lossy(it).into_owned()).collect();
        let wanted = wanted(cql);
        let at = wanted.iter().position(|name| *name == "y_id").unwrap();
        let key = texts[at].clone();
        let found = found(cql);
        let row = |(key, fields): (&String, &BTreeMap<String, String>)| {
            let value = |name: &&str| match *name {
                "y_id" => Some(key.clone()),
                other => fields.get(other).cloned(),
            };
            found.iter().map(value).collect::<Vec<_>>()
        };
        match cql.split(' ').next() {
            Some("INSERT" | "UPDATE") => {
                let fields = self.rows.entry(key).or_default();
                for (name, text) in wanted.iter().zip(&texts).filter(|(name, _)| **name != "y_id") {
                    fields.insert((*name).to_owned(), text.clone());
                }
                done()
            }
            Some("DELETE") => {
                self.rows.remove(&key);
                done()
            }
            _ if wanted.len() > 1 => {
                let limit = u32::from_be_bytes(values[1].as_slice().try_into().unwrap()) as usize;
                let all: Vec<_> = self.rows.range(key..).take(limit).map(row).collect();
                let here: Vec<_> = all.iter().skip(after).take(page).cloned().collect();
                let end = after + here.len();
                let more = Some(end).filter(|end| *end < all.len() || self.endless);
                rows(&found, &here, more)
            }
            _ => {
                let key = self.returns.map_or(key, str::to_owned);
                let one = self.rows.get_key_value(&key).map(row);
                rows(&found, &one.into_iter().collect::<Vec<_>>(), None)
            }
        }
    }
}

fn serve(mut stream: TcpStream, kept: &Mutex<NodeData>) -> Option<()> {
    loop {
        let mut header = [0; HEADER];
        stream.read_exact(&mut header).ok()?;
        let mut body = vec![0; u32::from_be_bytes(header[5..].try_into().ok()?) as usize];
        stream.read_exact(&mut body).ok()?;
        let mut kept = kept.lock().unwrap();
        if kept.mood == Mood::Away {
            return None;
        }
        let Some((opcode, body)) = kept.answer(header[4], &body) else { continue };
        drop(kept);
        let mut out = vec![0x84, 0, header[2], header[3], opcode];
        out.extend_from_slice(&int(body.len()));
        out.extend_from_slice(&body);
        stream.write_all(&out).ok()?;
    }
}

/// Starts a node; also returns its data.
pub(super) fn node() -> (SocketAddr, Arc<Mutex<NodeData>>) {
    node_at(([127, 0, 0, 1], 0).into())
}

pub(super) fn node_at(address: SocketAddr) -> (SocketAddr, Arc<Mutex<NodeData>>) {
    let listener = TcpListener::bind(address).unwrap();
    let address = listener.local_addr().unwrap();
    let kept = Arc::new(Mutex::new(NodeData { page: 100, ..NodeData::default() }));
    let shared = kept.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let kept = shared.clone();
            std::thread::spawn(move || serve(stream, &kept));
        }
    });
    (address, kept)
}
