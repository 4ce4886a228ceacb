//! A small Redis for tests, alone or as a node of a cluster. Each connection has its own thread.

use super::slots::slot_of;
use std::collections::BTreeMap;
use std::io::{BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

/// What the server keeps: hashes, and one sorted set.
#[derive(Default)]
pub(super) struct StandInData {
    pub(super) hashes: BTreeMap<String, BTreeMap<String, String>>,
    pub(super) index: BTreeMap<String, BTreeMap<String, i64>>,
    pub(super) strings: BTreeMap<String, String>,
    /// Its mode, in `INFO` and `HELLO`.
    pub(super) mode: &'static str,
    /// The node that has all slots, according to its map; empty for none.
    pub(super) owner: String,
    /// Redirections for keys that begin like this: the word, such as `MOVED`, and the node.
    pub(super) elsewhere: Vec<(&'static str, &'static str, String)>,
    /// The commands that the user may not use.
    pub(super) refused: Vec<&'static str>,
    /// Whether the last command was `ASKING`.
    asked: bool,
    /// Whether it closes each connection at the first command.
    pub(super) away: bool,
    pub(super) seen: Vec<String>,
}

impl StandInData {
    /// The answer to one command; `None` if the connection is closed.
    pub(super) fn answer(&mut self, words: &[String]) -> Option<String> {
        let bulk = |text: &str| format!("${}\r\n{text}\r\n", text.len());
        let list = |items: Vec<String>| format!("*{}\r\n{}", items.len(), items.concat());
        let word = |place: usize| words.get(place).map_or("", String::as_str);
        if self.away {
            return None;
        }
        self.seen.push(words.join(" "));
        if let Some(answer) = self.as_node(words) {
            return Some(answer);
        }
        Some(match word(0) {
            "AUTH" | "SELECT" => "+OK\r\n".to_owned(),
            "SET" => {
                self.strings.insert(word(1).to_owned(), word(2).to_owned());
                "+OK\r\n".to_owned()
            }
            "GET" => self.strings.get(word(1)).map_or("$-1\r\n".to_owned(), |it| bulk(it)),
            "PING" => "+PONG\r\n".to_owned(),
            "INFO" => bulk(&format!("redis_version:9.9\r\nredis_mode:{}\r\n", self.mode)),
            "HSET" if word(1).contains("full") => "-OOM used memory > 'maxmemory'\r\n".to_owned(),
            "HSET" => {
                let hash = self.hashes.entry(word(1).to_owned()).or_default();
                let pairs = words[2..].chunks(2);
                let new = pairs.filter(|it| hash.insert(it[0].clone(), it[1].clone()).is_none());
                format!(":{}\r\n", new.count())
            }
            "HGETALL" => {
                let hash = self.hashes.get(word(1)).cloned().unwrap_or_default();
                list(hash.iter().flat_map(|(name, value)| [bulk(name), bulk(value)]).collect())
            }
            "HMGET" => {
                let hash = self.hashes.get(word(1)).cloned().unwrap_or_default();
                let value = |name| hash.get(name).map_or("$-1\r\n".to_owned(), |it| bulk(it));
                list(words[2..].iter().map(value).collect())
            }
            "DEL" => {
                let gone = words[1..].iter().filter(|key| {
                    self.hashes.remove(*key).is_some() || self.index.remove(*key).is_some()
                });
                format!(":{}\r\n", gone.count())
            }
            "ZADD" => {
                let index = self.index.entry(word(1).to_owned()).or_default();
                for pair in words[2..].chunks(2) {
                    index.insert(pair[1].clone(), pair[0].parse().ok()?);
                }
                format!(":{}\r\n", index.len())
            }
            "ZREM" => {
                format!(":{}\r\n", u8::from(self.index.get_mut(word(1))?.remove(word(2)).is_some()))
            }
            "ZCARD" => format!(":{}\r\n", self.index.get(word(1)).map_or(0, BTreeMap::len)),
            "ZRANGEBYSCORE" => {
                let index = self.index.get(word(1)).cloned().unwrap_or_default();
                let from: i64 = word(2).parse().ok()?;
                let mut keys: Vec<_> = index.into_iter().filter(|it| it.1 >= from).collect();
                keys.sort_by_key(|it| it.1);
                let most = word(6).parse().ok()?;
                list(keys.iter().take(most).map(|it| bulk(&it.0)).collect())
            }
            "SCAN" => {
                let prefix = word(3).trim_end_matches('*');
                let keys = self.hashes.keys().chain(self.index.keys());
                let keys = keys.filter(|key| key.starts_with(prefix)).map(|it| bulk(it));
                list(vec![bulk("0"), list(keys.collect())])
            }
            other => format!("-ERR unknown command '{other}'\r\n"),
        })
    }

    /// The answer to a command about the server or its cluster, or for another node.
    fn as_node(&mut self, words: &[String]) -> Option<String> {
        let word = |place: usize| words.get(place).map_or("", String::as_str);
        if self.refused.contains(&word(0)) {
            return Some("-NOPERM this user has no permissions to run the command\r\n".to_owned());
        }
        let asked = std::mem::replace(&mut self.asked, word(0) == "ASKING");
        let elsewhere = self.elsewhere.iter().find(|it| !asked && word(1).starts_with(it.0));
        if let Some((_, says, node)) = elsewhere {
            return Some(format!("-{says} {} {node}\r\n", slot_of(word(1).as_bytes())));
        }
        Some(match word(0) {
            "ASKING" => "+OK\r\n".to_owned(),
            "HELLO" => {
                let says = format!("+version\r\n+9.9\r\n+mode\r\n+{}\r\n", self.mode);
                format!("%3\r\n+proto\r\n:3\r\n{says}")
            }
            "CLUSTER" if self.mode != "cluster" => {
                "-ERR This instance has cluster support disabled\r\n".to_owned()
            }
            "CLUSTER" if word(1) == "INFO" => "+cluster_state:ok\r\n".to_owned(),
            "CLUSTER" if self.owner.is_empty() => "*0\r\n".to_owned(),
            "CLUSTER" => {
                let (host, port) = self.owner.rsplit_once(':')?;
                let node = format!("*2\r\n+{host}\r\n:{port}\r\n");
                format!("*1\r\n*3\r\n:0\r\n:16383\r\n{node}")
            }
            _ => return None,
        })
    }
}

fn command(from: &mut impl std::io::BufRead) -> Option<Vec<String>> {
    let mut line = String::new();
    let mut number = |from: &mut dyn std::io::BufRead| -> Option<usize> {
        line.clear();
        from.read_line(&mut line).ok()?;
        line.trim_end().get(1..)?.parse().ok()
    };
    (0..number(from)?)
        .map(|_| {
            let mut word = vec![0; number(from)? + 2];
            from.read_exact(&mut word).ok()?;
            word.truncate(word.len() - 2);
            String::from_utf8(word).ok()
        })
        .collect()
}

/// A server that stores what it is sent.
pub(super) fn server() -> (SocketAddr, Arc<Mutex<StandInData>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, kept) = (listener.local_addr().unwrap(), Arc::<Mutex<StandInData>>::default());
    let all = kept.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let kept = all.clone();
            std::thread::spawn(move || {
                let mut stream = BufReader::new(stream);
                while let Some(words) = command(&mut stream) {
                    let Some(answer) = kept.lock().unwrap().answer(&words) else { return };
                    let _ = stream.get_mut().write_all(answer.as_bytes());
                }
            });
        }
    });
    (address, kept)
}
