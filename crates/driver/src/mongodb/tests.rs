//! Tests the driver against a small server that speaks enough of the protocol, and misbehaves on
//! demand.

mod indexed;

use super::MongoPlan;
use crate::clock::Clock;
use crate::library::{Library, LibrarySession};
use crate::net::ShardContext;
use crate::observed::Reading;
use crate::op::{Failure, Op, OpKind, Token};
use crate::rehearsal::{carry_out, op};
use crate::{
    DriverPlan as _, Existing, NoReading, Opening, Session as _, Shard as _, Target as _,
    TargetAsked,
};
use ::mongodb::bson::{Bson, Document, doc};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

/// The server's data, and the requests it received.
#[derive(Default)]
struct ServerData {
    documents: BTreeMap<String, Document>,
    /// The commands, without those that the library sends to maintain its connections.
    heard: Vec<String>,
    connections: usize,
    indexes: Vec<Document>,
    /// Whether it acknowledges indexes without creating them.
    forgets: bool,
    /// The command that makes it close the connection, and the one that it never answers.
    closes: &'static str,
    ignores: &'static str,
    status: Document,
}

impl ServerData {
    fn answer(&mut self, command: &Document) -> Document {
        let (name, collection) = command.iter().next().unwrap();
        let list = |name: &str| command.get_array(name).cloned().unwrap_or_default();
        let documents = |name: &str| {
            list(name).iter().filter_map(Bson::as_document).cloned().collect::<Vec<_>>()
        };
        match name.as_str() {
            "hello" | "isMaster" | "ismaster" => doc! {
                "ok": 1, "isWritablePrimary": true, "ismaster": true, "maxWireVersion": 21,
                "minWireVersion": 0, "maxBsonObjectSize": 16_777_216, "helloOk": true,
                "maxMessageSizeBytes": 48_000_000, "maxWriteBatchSize": 100_000,
            },
            "buildInfo" => doc! {"ok": 1, "version": "9.9.9"},
            "serverStatus" => self.status.clone(),
            "listCollections" => {
                // Some servers list all collections, whichever was requested.
                let mut there = vec![doc! {"name": "other"}];
                if !self.documents.is_empty() {
                    there.push(doc! {"name": &command.get_document("filter").unwrap()["name"]});
                }
                doc! {"ok": 1, "cursor": {"id": 0_i64, "ns": "db.$cmd", "firstBatch": there}}
            }
            "insert" => {
                let ordered = command.get_bool("ordered").unwrap_or(true);
                self.insert(documents("documents"), ordered)
            }
            "update" => self.update(&documents("updates")),
            "delete" => {
                let deletes = documents("deletes");
                let gone = deletes.iter().filter(|it| {
                    let id = it.get_document("q").unwrap().get_str("_id").unwrap();
                    self.documents.remove(id).is_some()
                });
                doc! {"ok": 1, "n": whole(gone.count())}
            }
            "find" => {
                let batch = self.find(command);
                let ns = format!("db.{}", collection.as_str().unwrap());
                doc! {"ok": 1, "cursor": {"id": 0_i64, "ns": ns, "firstBatch": batch}}
            }
            "createIndexes" => {
                if list("indexes").iter().any(|it| format!("{it}").contains("refused")) {
                    return doc! {"ok": 0, "code": 67, "errmsg": "it cannot index that"};
                }
                let created = if self.forgets { Vec::new() } else { documents("indexes") };
                self.indexes.extend(created);
                doc! {"ok": 1}
            }
            "listIndexes" => {
                let ns = "db.$cmd.listIndexes";
                doc! {"ok": 1, "cursor": {"id": 0_i64, "ns": ns, "firstBatch": &self.indexes}}
            }
            "collStats" => doc! {
                "ok": 1, "count": whole(self.documents.len()), "storageSize": 4096.0, "size": 7_i64,
            },
            "drop" => {
                self.documents.clear();
                doc! {"ok": 1}
            }
            _ => doc! {"ok": 1},
        }
    }

    fn insert(&mut self, documents: Vec<Document>, ordered: bool) -> Document {
        let mut errors = Vec::new();
        for (place, document) in (0..).zip(documents) {
            if ordered && !errors.is_empty() {
                break;
            }
            let id = document.get_str("_id").unwrap().to_owned();
            match self.documents.entry(id) {
                Entry::Vacant(free) => drop(free.insert(document)),
                Entry::Occupied(_) => {
                    errors.push(doc! {"index": place, "code": 11_000, "errmsg": "E11000"});
                }
            }
        }
        let mut answer = doc! {"ok": 1, "n": 1};
        if !errors.is_empty() {
            answer.insert("writeErrors", errors);
        }
        answer
    }

    fn update(&mut self, updates: &[Document]) -> Document {
        let mut n = 0;
        for update in updates {
            let id = update.get_document("q").unwrap().get_str("_id").unwrap();
            let upsert = update.get_bool("upsert").unwrap_or(false);
            let new = update.get_document("u").unwrap();
            if !upsert && !self.documents.contains_key(id) {
                continue;
            }
            n += 1;
            match new.get_document("$set") {
                Ok(set) => self.documents.entry(id.to_owned()).or_default().extend(set.clone()),
                Err(_) => drop(self.documents.insert(id.to_owned(), new.clone())),
            }
        }
        doc! {"ok": 1, "n": n, "nModified": n}
    }

    fn find(&self, command: &Document) -> Vec<Document> {
        let id = &command.get_document("filter").unwrap()["_id"];
        let (from, to) = match id {
            Bson::Document(range) => {
                (range.get_str("$gte").unwrap(), range.get_str("$lte").unwrap_or("\u{10ffff}"))
            }
            id => (id.as_str().unwrap(), id.as_str().unwrap()),
        };
        let limit = command.get("limit").and_then(Bson::as_i64).unwrap_or(1).unsigned_abs();
        let range = self.documents.range(from.to_owned()..=to.to_owned());
        let fields = command.get_document("projection").ok();
        let picked = |document: &Document| match fields {
            Some(fields) => {
                let kept = document.iter().filter(|it| *it.0 == "_id" || fields.contains_key(it.0));
                kept.map(|(name, value)| (name.clone(), value.clone())).collect()
            }
            None => document.clone(),
        };
        range.take(limit as usize).map(|it| picked(it.1)).collect()
    }
}

fn whole(count: usize) -> i32 {
    count.try_into().unwrap()
}

/// A message of the protocol: its number and the command, with document sequences merged in.
fn message(stream: &mut TcpStream) -> Option<(i32, Document, bool)> {
    let mut head = [0; 16];
    stream.read_exact(&mut head).ok()?;
    let number = |at: usize| i32::from_le_bytes(head[at..at + 4].try_into().unwrap());
    let mut body = vec![0; number(0) as usize - 16];
    stream.read_exact(&mut body).ok()?;
    if number(12) == 2004 {
        // The first message on a connection may have the old format.
        let name = body[4..].iter().position(|&byte| byte == 0)?;
        let command = Document::from_reader(&body[4 + name + 1 + 8..]).ok()?;
        return Some((number(4), command, true));
    }
    let mut rest = &body[4..];
    let mut command = Document::new();
    while let Some((&kind, sections)) = rest.split_first() {
        let size = i32::from_le_bytes(sections[..4].try_into().unwrap()) as usize;
        let (section, after) = sections.split_at(size);
        if kind == 0 {
            command = Document::from_reader(section).ok()?;
        } else {
            let name = section[4..].iter().position(|&byte| byte == 0)?;
            let mut list = &section[4 + name + 1..];
            let mut documents = Vec::new();
            while !list.is_empty() {
                documents.push(Document::from_reader(&mut list).ok()?);
            }
            let name = String::from_utf8(section[4..4 + name].to_vec()).ok()?;
            command.insert(name, documents);
        }
        rest = after;
    }
    Some((number(4), command, false))
}

fn reply(to: i32, answer: &Document, old: bool) -> Vec<u8> {
    let document = answer.to_vec().unwrap();
    let (code, between): (i32, Vec<u8>) =
        if old { (1, [&[0; 16][..], &1_i32.to_le_bytes()].concat()) } else { (2013, vec![0; 5]) };
    let size = 16 + between.len() + document.len();
    let head = [whole(size), 1, to, code].map(i32::to_le_bytes).concat();
    [head, between, document].concat()
}

fn server() -> (SocketAddr, Arc<Mutex<ServerData>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, kept) = (listener.local_addr().unwrap(), Arc::<Mutex<ServerData>>::default());
    let all = kept.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let kept = all.clone();
            std::thread::spawn(move || {
                let mut worked = false;
                while let Some((number, command, old)) = message(&mut stream) {
                    let name = command.keys().next().unwrap().clone();
                    let mut kept = kept.lock().unwrap();
                    if !["hello", "isMaster", "ismaster", "endSessions"].contains(&&*name) {
                        kept.connections += usize::from(!worked);
                        worked = true;
                        kept.heard.push(name.clone());
                    }
                    if kept.closes == name {
                        return;
                    }
                    let answer = kept.answer(&command);
                    if kept.ignores != name {
                        let _ = stream.write_all(&reply(number, &answer, old));
                    }
                }
            });
        }
    });
    (address, kept)
}

fn asked(address: &str, existing: Existing) -> TargetAsked {
    TargetAsked { existing, ..TargetAsked::at(address) }
}

fn opening(as_it_is: bool) -> Opening {
    Opening { timeout_ns: 5_000_000_000, as_it_is, ..Opening::default() }
}

async fn opened(address: SocketAddr, rest: &str) -> Library {
    let asked = asked(&format!("mongodb://{address}/db{rest}"), Existing::Maybe);
    MongoPlan::check(&asked).unwrap().open(&opening(true)).await.unwrap().0
}

async fn sessions(
    target: &Library,
    count: usize,
    timeout_ms: u64,
) -> (Vec<LibrarySession>, Rc<ShardContext>) {
    let context = ShardContext::new(Clock::system(), timeout_ms * 1_000_000);
    let shard = target.shard(context.clone()).await.unwrap();
    ((0..count).map(|_| shard.session()).collect(), context)
}

fn document(session: &LibrarySession) -> String {
    String::from_utf8(session.answered().document.unwrap_or_default().to_vec()).unwrap()
}

#[tokio::test]
async fn a_document_lives_and_dies_with_its_types() {
    let (address, kept) = server();
    let target = opened(address, "").await;
    let (mut all, _context) = sessions(&target, 1, 5_000).await;
    let s = &mut all[0];
    let text = r#"{"a":1,"b":{"c":[true]}}"#;
    let made = carry_out(s, op(OpKind::Create), &[("k", text)], &[]).await;
    assert_eq!((made.result.err(), made.wire.requests, made.bytes.sent), (None, Some(1), 24));
    assert_eq!(kept.lock().unwrap().documents["k"]["b"], doc! {"c": [true]}.into());
    let again = carry_out(s, op(OpKind::Create), &[("k", text)], &[]).await;
    assert_eq!(again.result.err(), Some(Failure::Conflict));
    assert!(s.reason(Failure::Conflict).unwrap().reason.contains("E11000"));
    carry_out(s, op(OpKind::Update), &[("k", r#"{"a":2}"#)], &[]).await;
    carry_out(s, op(OpKind::Read), &[("k", "")], &[]).await;
    assert_eq!(document(s), r#"{"_id":"k","a":2,"b":{"c":[true]}}"#);
    carry_out(s, op(OpKind::Read), &[("k", "")], &["a"]).await;
    assert_eq!(document(s), r#"{"_id":"k","a":2}"#);
    let whole = Op { token: Some(Token::default()), ..op(OpKind::Update) };
    carry_out(s, whole, &[("k", r#"{"d":null}"#)], &[]).await;
    carry_out(s, op(OpKind::Read), &[("k", "")], &[]).await;
    assert_eq!(document(s), r#"{"_id":"k","d":null}"#);
    let size = target.size().await.unwrap();
    assert_eq!(
        (size.documents, size.file_bytes, size.active_bytes),
        (Some(1), Some(4096), Some(7))
    );
    assert_eq!(carry_out(s, op(OpKind::Delete), &[("k", "")], &[]).await.result.err(), None);
    for kind in [OpKind::Delete, OpKind::Read, OpKind::Update] {
        let missing = carry_out(s, op(kind), &[("k", r#"{"a":2}"#)], &[]).await;
        assert_eq!(missing.result.err(), Some(Failure::NotFound), "{kind}");
    }
}

#[tokio::test]
async fn batches_have_outcomes_and_ranges_an_order() {
    let (address, kept) = server();
    let target = opened(address, "").await;
    let (mut all, _context) = sessions(&target, 1, 5_000).await;
    let s = &mut all[0];
    carry_out(s, op(OpKind::Create), &[("b", "{}")], &[]).await;
    let bulk = Op { documents: 3, ..op(OpKind::BulkInsert) };
    let three = [("a", r#"{"x":1}"#), ("b", r#"{"x":2}"#), ("c", r#"{"x":3}"#)];
    assert_eq!(carry_out(s, bulk, &three, &[]).await.result.err(), None);
    let stored = Ok(Token::default());
    assert_eq!(s.answered().rows, [stored, Err(Failure::Conflict), stored]);
    let scan = Op { limit: 2, ..op(OpKind::Scan) };
    let scanned = carry_out(s, scan, &[("b", "")], &["x"]).await;
    assert_eq!((scanned.result.unwrap().rows, scanned.wire.requests), (2, Some(1)));
    assert_eq!(s.scanned().unwrap(), [&br#"{"_id":"b"}"#[..], br#"{"_id":"c","x":3}"#]);
    let range = Op { limit: 9, ..op(OpKind::Read) };
    assert_eq!(carry_out(s, range, &[("a", ""), ("b", "")], &[]).await.result.unwrap().rows, 2);
    // In order, documents after a refusal are not tried.
    let target = opened(address, "?ordered=true").await;
    let (mut all, _context) = sessions(&target, 1, 5_000).await;
    let s = &mut all[0];
    let next = [("d", r#"{"x":1}"#), ("b", r#"{"x":2}"#), ("e", r#"{"x":3}"#)];
    carry_out(s, bulk, &next, &[]).await;
    let outcomes = [stored, Err(Failure::Conflict), Err(Failure::Rejected)];
    assert_eq!(s.answered().rows, outcomes);
    assert!(!kept.lock().unwrap().documents.contains_key("e"));
    // With upserts, existing documents are replaced.
    let target = opened(address, "?upsert=true&binary=true").await;
    let (mut all, _context) = sessions(&target, 1, 5_000).await;
    let s = &mut all[0];
    carry_out(s, bulk, &three, &[]).await;
    assert_eq!(s.answered().rows, [stored; 3]);
    let created = carry_out(s, op(OpKind::Create), &[("a", r#"{"y":"z"}"#)], &[]).await;
    assert_eq!(created.result.err(), None);
    carry_out(s, op(OpKind::Read), &[("a", "")], &[]).await;
    assert_eq!(document(s), r#"{"_id":"a","y":"z"}"#);
    assert!(matches!(kept.lock().unwrap().documents["b"]["x"], Bson::Binary(_)));
}

#[tokio::test]
async fn there_is_a_connection_for_each_session_before_the_first_operation() {
    let (address, kept) = server();
    let target = opened(address, "").await;
    let before = kept.lock().unwrap().connections;
    let (mut all, _alive) = sessions(&target, 5, 5_000).await;
    for session in &mut all {
        assert!(session.ready().await.is_some() && session.ready().await.is_none());
    }
    kept.lock().unwrap().ignores = "insert";
    // All at once, and none is answered: each has its own connection.
    let timeout = std::time::Duration::from_millis(300);
    let at_once = all.iter_mut().map(|s| carry_out(s, op(OpKind::Create), &[("k", "{}")], &[]));
    let mut at_once: Vec<_> = at_once.map(Box::pin).collect();
    let all_of_them = std::future::poll_fn(|cx| {
        for future in &mut at_once {
            assert!(future.as_mut().poll(cx).is_pending());
        }
        std::task::Poll::<()>::Pending
    });
    let _ = tokio::time::timeout(timeout, all_of_them).await;
    let kept = kept.lock().unwrap();
    assert_eq!(kept.heard.iter().filter(|name| *name == "insert").count(), 5, "{:?}", kept.heard);
    assert!(kept.connections >= before + 5);
}

#[tokio::test]
async fn nothing_is_retried_and_a_lost_answer_is_reported_as_such() {
    for (closes, ignores, kind, failure) in [
        ("insert", "", OpKind::Create, Failure::Unanswered),
        ("find", "", OpKind::Read, Failure::Reset),
        ("", "find", OpKind::Read, Failure::Timeout),
        ("", "insert", OpKind::Create, Failure::Unanswered),
    ] {
        let (address, kept) = server();
        let target = opened(address, "").await;
        let (mut all, context) = sessions(&target, 1, 500).await;
        (kept.lock().unwrap().closes, kept.lock().unwrap().ignores) = (closes, ignores);
        let outcome = tokio::select! {
            outcome = carry_out(&mut all[0], op(kind), &[("k", "{}")], &[]) => outcome,
            () = context.sweep() => unreachable!("it never ends"),
        };
        assert_eq!(outcome.result.err(), Some(failure), "{closes}{ignores}");
        let sent = |heard: &[String]| {
            heard.iter().filter(|it| [closes, ignores].contains(&&***it)).count()
        };
        assert_eq!(sent(&kept.lock().unwrap().heard), 1, "sent once");
        (kept.lock().unwrap().closes, kept.lock().unwrap().ignores) = ("", "");
        let next = carry_out(&mut all[0], op(OpKind::Create), &[("k2", "{}")], &[]).await;
        assert_eq!(next.result.err(), None, "{closes}{ignores}");
    }
}

#[tokio::test]
async fn collections_are_made_found_and_dropped_as_asked() {
    let (address, kept) = server();
    let plan = |existing| MongoPlan::check(&asked(&format!("mongodb://{address}/db"), existing));
    let missing = plan(Existing::Yes).unwrap().open(&opening(false)).await.unwrap_err();
    assert!(missing.to_string().starts_with("there is no collection db.usertable"), "{missing}");
    let (target, facts) = plan(Existing::No).unwrap().open(&opening(false)).await.unwrap();
    assert_eq!(
        (facts.created, facts.name.as_str(), facts.version.as_str()),
        (true, "mongodb", "9.9.9")
    );
    assert!(facts.same_machine);
    kept.lock().unwrap().documents.insert("k".to_owned(), doc! {"_id": "k"});
    let there = plan(Existing::No).unwrap().open(&opening(false)).await.unwrap_err();
    assert!(there.to_string().starts_with("collection db.usertable exists already"), "{there}");
    let (found, facts) = plan(Existing::Yes).unwrap().open(&opening(false)).await.unwrap();
    assert_eq!((facts.created, found.tear_down().await), (false, Ok(false)));
    assert_eq!(kept.lock().unwrap().documents.len(), 1);
    assert_eq!(target.tear_down().await, Ok(true));
    assert!(kept.lock().unwrap().documents.is_empty());
}

#[tokio::test]
async fn peers_that_cannot_be_used_are_refused_before_a_run() {
    // No server has this port; one that was just freed may be taken by another test.
    let closed = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let stranger = other.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in other.incoming().map_while(Result::ok) {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        }
    });
    for (address, expected) in [
        (closed, "cannot reach mongodb://HOST: "),
        (stranger, "there is no usable MongoDB server at mongodb://HOST ("),
    ] {
        let plan = MongoPlan::check(&asked(&format!("mongodb://{address}"), Existing::No)).unwrap();
        let opening = Opening { timeout_ns: 1_000_000_000, ..Opening::default() };
        let found = plan.open(&opening).await.unwrap_err().to_string();
        assert!(found.starts_with(&expected.replace("HOST", &address.to_string())), "{found}");
        assert_eq!(found.lines().count(), 1, "{found}");
    }
}

#[tokio::test]
async fn a_server_that_is_asked_about_itself_may_be_silent_or_gone_or_talk_nonsense() {
    let (address, kept) = server();
    let target = opened(address, "").await;
    let status = |inserts: Bson| {
        let command = doc! {"insert": {"total": inserts}};
        doc! {"ok": 1, "uptime": "long", "metrics": {"commands": command}}
    };
    kept.lock().unwrap().status = status(Bson::Int64(7));
    let mut monitor = target.monitors().remove(0);
    let inserts = |reading: Reading| {
        let found = reading.values.iter().find(|(it, _)| it.name == "inserts_per_s");
        found.map(|(_, value)| *value)
    };
    assert_eq!(inserts(monitor.ask(0).await.unwrap()), Some(7.0));
    for (closes, ignores) in [("serverStatus", ""), ("", "serverStatus")] {
        let set = |closes, ignores| {
            let mut kept = kept.lock().unwrap();
            (kept.closes, kept.ignores) = (closes, ignores);
        };
        set(closes, ignores);
        let missed = monitor.ask(0).await.unwrap_err();
        assert!(matches!(missed, NoReading::Missed(_)), "{missed:?}");
        set("", "");
        assert_eq!(inserts(monitor.ask(0).await.unwrap()), Some(7.0), "after {closes}{ignores}");
    }
    for (said, expected) in [
        (Bson::Double(1e300), Some(1e300)),
        (Bson::Int64(-5), Some(-5.0)),
        (Bson::String("7".to_owned()), None),
        (Bson::Null, None),
        (Bson::Array(vec![Bson::Int32(7)]), None),
    ] {
        kept.lock().unwrap().status = status(said);
        let reading = monitor.ask(0).await.unwrap();
        assert_eq!((reading.uptime_s, inserts(reading)), (None, expected));
    }
    kept.lock().unwrap().status = doc! {"ok": 1, "metrics": 5};
    assert!(monitor.ask(0).await.unwrap().values.is_empty());
    kept.lock().unwrap().status = doc! {"ok": 1};
    assert_eq!(monitor.ask(0).await, Err(NoReading::Unknown));
}
