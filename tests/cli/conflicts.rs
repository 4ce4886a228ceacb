//! Conflicts provoked from outside are counted one by one, and the run continues.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use springload::embedded::Options;

use crate::proxy::{Exchange, Proxy};
use crate::servers::Server;
use crate::springload::{measure, number};

/// Documents in the database before the single-document operations.
const DOCUMENTS: u64 = 40;
const OPERATIONS: u64 = 400;

/// Holds back requests about single documents until it is opened.
#[derive(Default)]
struct Gate {
    /// The database, once a request has arrived; and whether the gate is open.
    state: Mutex<(Option<String>, bool)>,
    changed: Condvar,
}

impl Gate {
    /// Lets a request pass, now or when the gate opens.
    fn pass(&self, path: &str) {
        let mut parts = path[1..].splitn(2, '/');
        let (database, rest) = (parts.next().unwrap_or_default(), parts.next());
        if rest.is_none_or(|rest| rest.starts_with('_')) || database.starts_with('_') {
            return;
        }
        let mut state = self.state.lock().expect("no panic");
        state.0.get_or_insert_with(|| database.to_owned());
        self.changed.notify_all();
        while !state.1 {
            state = self.changed.wait(state).expect("no panic");
        }
    }

    /// Waits for the first request, and returns its database.
    fn database(&self) -> String {
        let mut state = self.state.lock().expect("no panic");
        loop {
            if let Some(database) = &state.0 {
                return database.clone();
            }
            state = self.changed.wait(state).expect("no panic");
        }
    }

    fn open(&self) {
        self.state.lock().expect("no panic").1 = true;
        self.changed.notify_all();
    }
}

/// Another client, directly connected to the server.
struct Other {
    agent: ureq::Agent,
    url: String,
}

impl Other {
    fn new(url: &str) -> Self {
        // pouchdb-server sometimes never answers a request that arrives while its database is
        // removed.
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(10)))
            .build();
        Self { agent: config.into(), url: url.to_owned() }
    }

    /// Writes a new revision of the document; `false` if there is none, another client was faster,
    /// or there was no response.
    fn update(&self, database: &str, id: u64) -> bool {
        let url = format!("{}/{database}/{id}", self.url);
        let Ok(mut answer) = self.agent.get(&url).call() else { return false };
        if answer.status() != 200 {
            return false;
        }
        let Ok(text) = answer.body_mut().read_to_string() else { return false };
        let mut document: Value = serde_json::from_str(&text).expect("JSON");
        document["from"] = "outside".into();
        let request = self.agent.put(&url).header("content-type", "application/json");
        let Ok(mut answer) = request.send(document.to_string()) else { return false };
        // Read to its end, so that the connection can be used again.
        let _ = answer.body_mut().read_to_string();
        answer.status() == 201
    }
}

/// The number of 409 responses for a kind of operation.
fn conflicts(exchanges: &[Exchange], kind: &str) -> u64 {
    let is_kind = |exchange: &&Exchange| match exchange.method.as_str() {
        "GET" => kind == "read",
        "DELETE" => kind == "delete",
        "PUT" => {
            let body: Value = serde_json::from_slice(&exchange.body).unwrap_or_default();
            kind == if body["_rev"].is_string() { "update" } else { "create" }
        }
        _ => false,
    };
    let refused = exchanges.iter().filter(|exchange| exchange.status == 409).filter(is_kind);
    refused.count() as u64
}

/// Releases the other client when dropped.
struct Over<'a>(&'a Gate, &'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.1.store(true, Ordering::SeqCst);
        self.0.state.lock().expect("no panic").0.get_or_insert_default();
        self.0.open();
    }
}

fn reported_exactly(server: &Server) {
    let gate = Arc::new(Gate::default());
    let hook = {
        let gate = Arc::clone(&gate);
        move |_: &str, path: &str| gate.pass(path)
    };
    let proxy = Proxy::with_hook(&server.url, Box::new(hook));
    let (ended, updated) = (AtomicBool::new(false), AtomicU64::new(0));
    let run = thread::scope(|scope| {
        scope.spawn(|| {
            let (database, other) = (gate.database(), Other::new(&server.url));
            // Each document once, so that conflicts are certain; then on and on.
            for id in 0..DOCUMENTS {
                assert!(other.update(&database, id), "document {id} is not there");
            }
            gate.open();
            for id in (0..DOCUMENTS).map(|id| id * 7 % DOCUMENTS).cycle() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                updated.fetch_add(u64::from(other.update(&database, id)), Ordering::SeqCst);
            }
        });
        // If the run fails, even by a panic, release the other client.
        let _over = Over(&gate, &ended);
        let (documents, operations) = (DOCUMENTS.to_string(), OPERATIONS.to_string());
        measure([
            "run",
            &proxy.url,
            "-c",
            "4",
            "--docs",
            &documents,
            "--batch",
            "10",
            "--ops",
            &operations,
            "--mix",
            "create=1,read=2,update=4,delete=1",
            // More failures than a run tolerates by default.
            "--fail-if",
            "err > 90%",
        ])
    });
    // The counts are exact even if a busy machine kept the server silent for long.
    assert!(matches!(run.code, 0 | 5), "{}", run.stderr);

    let exchanges = proxy.exchanges();
    let mut all = 0;
    for kind in ["create", "read", "update", "delete"] {
        let happened = conflicts(&exchanges, kind);
        let operation = run.operation("crud", kind);
        let reported = operation["failures"]["conflict"].as_u64().unwrap_or(0);
        assert_eq!(reported, happened, "{kind} on {}", server.name);
        // The other client only writes, so nothing else can have gone wrong.
        let classes: Vec<_> = operation["failures"].as_object().unwrap().keys().collect();
        assert!(classes.iter().all(|class| *class == "conflict"), "{kind}: {classes:?}");
        assert_eq!(number(&operation["ok"]) + reported, number(&operation["issued"]));
        all += happened;
    }
    assert!(all > 0, "no conflict on {}", server.name);
    let issued = ["create", "read", "update", "delete"].map(|kind| run.sum(kind, "issued"));
    assert_eq!(issued.iter().sum::<u64>(), OPERATIONS, "the run went on to its end");
    let warned = run.record["warnings"].as_array().unwrap().iter();
    assert!(warned.clone().any(|w| w["code"] == "failures"), "{warned:?}");
    if let Some(stand_in) = server.as_stand_in() {
        // This includes the other client's own conflicts.
        assert!(stand_in.counters().conflicts >= all);
    }
}

#[test]
fn on_the_stand_in() {
    reported_exactly(&Server::stand_in(Options::default()));
}

#[test]
fn on_pouchdb_server() {
    if let Some(server) = Server::pouchdb() {
        reported_exactly(&server);
    }
}
