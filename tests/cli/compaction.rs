//! Compaction during a run: requested or prevented, and by which user.

use crate::proxy::{Message, Proxy};
use crate::servers::Server;
use crate::springload::{Running, measure, number};
use serde_json::{Value, json};
use springload::embedded::Options;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A stand-in that poses as CouchDB, with these responses about compaction.
struct Fake {
    server: Server,
    proxy: Proxy,
    /// The settings that were made and reverted, in order.
    settings: Arc<Mutex<Vec<String>>>,
}

fn answer(status: &str, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// With `admin`, the user is one; a compaction runs for this many queries of its state.
fn fake(admin: bool, questions: u64) -> Fake {
    let server = Server::stand_in(Options::default());
    let settings = Arc::new(Mutex::new(Vec::new()));
    let (noted, left) = (settings.clone(), AtomicU64::new(0));
    let answers = move |request: &Message| {
        let (method, path) = request.words();
        let is_database = path.starts_with("/springload_") && path.matches('/').count() == 1;
        let no_admin = json!({"error": "unauthorized", "reason": "You are not a server admin."});
        Some(match (&*method, &*path) {
            ("GET", "/") => answer("200 OK", &json!({"couchdb": "Welcome", "version": "3.5.0"})),
            ("GET", "/_session") => {
                let roles: &[&str] = if admin { &["_admin"] } else { &[] };
                answer("200 OK", &json!({"userCtx": {"name": "ann", "roles": roles}}))
            }
            (_, path) if path.contains("/_config") && !admin => {
                answer("401 Unauthorized", &no_admin)
            }
            ("PUT" | "DELETE", path) if path.contains("/smoosh.ignore/") => {
                let head = String::from_utf8_lossy(&request.raw);
                assert!(head.contains("X-Couch-Persist: false"), "{head}");
                let shard = path.rsplit_once('/').map_or("", |(_, shard)| shard);
                noted.lock().expect("it").push(format!("{method} {shard}"));
                answer("200 OK", &json!(""))
            }
            ("GET", path) if path.ends_with("/_config/smoosh.ignore") => {
                answer("200 OK", &json!({}))
            }
            ("GET", path) if path.ends_with("/_security") => answer("200 OK", &json!({})),
            ("GET", path) if path.ends_with("/_shards") => {
                let ranges = json!({"00000000-7fffffff": ["n1@h", "n2@h"]});
                answer("200 OK", &json!({ "shards": ranges }))
            }
            ("POST", path) if path.ends_with("/_compact") => {
                left.store(questions, Ordering::Relaxed);
                answer("202 Accepted", &json!({"ok": true}))
            }
            ("GET", path) if is_database => {
                let left = left
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
                let (name, file) = (&path[1..], if left.is_ok() { 900 } else { 100 });
                let sizes = json!({"file": file, "active": 50});
                let running = left.is_ok();
                answer(
                    "200 OK",
                    &json!({"db_name": name, "instance_start_time": "17", "sizes": sizes,
                            "doc_count": 40, "compact_running": running}),
                )
            }
            _ => return None,
        })
    };
    let proxy = Proxy::with_answers(&server.url, Box::new(answers));
    Fake { server, proxy, settings }
}

fn words<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words = ["run", url, "--docs", "40", "-c", "2", "--no-observe"];
    words.into_iter().chain(more.iter().copied()).collect()
}

#[test]
fn a_forced_compaction_is_waited_for_and_reported() {
    let fake = fake(true, 12);
    let forced = measure(words(&fake.proxy.url, &["-n", "40", "--compaction", "force"])).passed();
    let compaction = &forced.stage("crud")["compaction"];
    assert_eq!(compaction["ended"], true, "{compaction}");
    let length_s = compaction["length_s"].as_f64().expect("seconds");
    assert!(length_s > 1.5, "eleven questions, five in a second: {compaction}");
    assert_eq!(number(&compaction["after_bytes"]), 100);
    assert!(forced.full_report().contains("compaction began, s took, s before after"));
    assert_eq!(forced.record["plan"]["target"]["compaction"], "force");
    let asked = fake.proxy.exchanges();
    let asked = asked.iter().filter(|it| it.path.ends_with("/_compact")).count();
    assert_eq!((asked, forced.record["server"]["deleted"].clone()), (1, true.into()));
}

#[test]
fn a_database_is_kept_from_compaction_until_the_end_whatever_that_is() {
    let set = |name: &str| {
        let shard = format!("shards%2F00000000%2D7fffffff%2F{name}%2E17").replace('_', "%5F");
        let two = |method: &str| vec![format!("{method} {shard}"); 2];
        [two("PUT"), two("DELETE")].concat()
    };
    let whole = fake(true, 0);
    let off = measure(words(&whole.proxy.url, &["-n", "40", "--compaction", "off"])).passed();
    assert_eq!(*whole.settings.lock().expect("it"), set(off.database()));
    // Before the first document.
    let exchanges = whole.proxy.exchanges();
    let first = exchanges.iter().find(|it| it.path.contains("_bulk_docs")).expect("a fill");
    assert!(first.status == 201);

    let cut = fake(true, 0);
    let more = ["-d", "10m", "--compaction", "off"];
    let run = Running::start(words(&cut.proxy.url, &more));
    while !run.has_begun() {
        std::thread::sleep(Duration::from_millis(20));
    }
    run.interrupt();
    let ended = run.finish();
    assert_eq!(*cut.settings.lock().expect("it"), set(ended.database()), "{}", ended.stderr);

    let alone = fake(true, 0);
    measure(words(&alone.proxy.url, &["-n", "40"])).passed();
    assert_eq!(*alone.settings.lock().expect("it"), [""; 0], "nobody asked for it");
}

#[test]
fn who_may_not_is_refused_before_the_load() {
    let user = fake(false, 0);
    for mode in ["off", "force"] {
        let refused = measure(words(&user.proxy.url, &["-n", "40", "--compaction", mode]));
        let flag = format!("--compaction {mode} needs an administrator of the server");
        refused.refused(3, &[&flag, "log in as one with -u"]);
    }
    let made = user.server.as_stand_in().expect("one").counters();
    assert_eq!((made.databases_created, made.databases_deleted), (2, 2), "and removed");
    assert_eq!(made.documents_bulk, 0);
    let stand_in = Server::stand_in(Options::default());
    let asked = measure(words(&stand_in.url, &["-n", "40", "--compaction", "force"]));
    asked.refused(3, &["--compaction: the stand-in compacts nothing"]);
    let embedded = measure(["run", "--compaction", "off"]);
    embedded.refused(2, &["--compaction: the stand-in compacts nothing"]);
    let basic = measure(["run", "basic", "--compaction", "off"]);
    basic.refused(2, &["--compaction: nothing is compacted on request", "basic"]);
    let idle = measure(words(&stand_in.url, &["-n", "0", "--compaction", "force"]));
    idle.refused(2, &["--compaction: force begins with the measured operations"]);
}
