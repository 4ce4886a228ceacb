//! What must hold for every driver on a real server: a healthy server passes, and for one that
//! lies, is killed or freezes, an audit agrees exactly with the server's own client.
//!
//! Each property that was confirmed prints a line `CONFORMS driver: property`; `tests/run.sh` shows
//! these as a table.

use std::io::Write as _;

use crate::binary::{Finished, Running, measure, number};
use crate::servers::database::{Database, Lease};
use crate::servers::write_certificates;
use crate::spoiling::{Half, Relay, Reply, Speech, Spoils, listener};
use crate::springload::shell;
use serde_json::{Value, json};

/// Notes that a driver has a property, on stderr, bypassing the capture of test output.
pub(crate) fn conforms(driver: &str, property: &str) {
    let line = format!("CONFORMS {driver}: {property}\n");
    // If this fails, only the table lacks it.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// The documents that a run begins with.
const DOCUMENTS: u64 = 200;

/// A database, and how to inspect and change it behind springload's back, with its own client.
pub(crate) struct Subject {
    /// Its name in the table.
    pub(crate) name: &'static str,
    /// Its word for documents.
    pub(crate) many: &'static str,
    pub(crate) server: fn() -> Option<Lease>,
    /// Its address.
    pub(crate) address: fn(&Database) -> String,
    /// The address of the database that a run has made.
    pub(crate) made: fn(address: &str, made: &str) -> String,
    /// The number of documents in a run's database.
    pub(crate) count: fn(&Database, made: &str) -> u64,
    /// Sets a document's name to `lie`, and creates the document if it is not there.
    pub(crate) set: fn(&Database, made: &str, id: &str),
    /// The audit's class for a document whose name was changed in this way.
    pub(crate) changed: &'static str,
    pub(crate) remove: fn(&Database, made: &str, id: &str),
    /// Whether what a run has begun to create would survive a kill now.
    pub(crate) keeps: fn(&Database, made: &str) -> bool,
    /// Removes everything that a run has made.
    pub(crate) clean: fn(&Database, made: &str),
}

impl Subject {
    fn conforms(&self, property: &str) {
        conforms(self.name, property);
    }

    /// `--verify`, `--audit` and a later `springload audit` from another folder pass on a healthy
    /// server, and find every lie of another.
    #[track_caller]
    pub(crate) fn keeps_its_word(&self) {
        let Some(server) = (self.server)() else { return };
        let address = (self.address)(&server);
        let docs = DOCUMENTS.to_string();
        let words = ["run", &address, "--docs", &docs, "--keep", "--verify", "--audit"];
        let mix = ["--ops", "400", "-c", "4", "--mix", "read=75,update=20,delete=5"];
        let run = measure([&words[..], &mix].concat()).passed();
        let ok = |kind: &str| number(&run.operation("crud", kind)["ok"]);
        assert_eq!(ok("verify"), ok("read"), "{}", self.name);
        let deleted = run.sum("delete", "ok");
        assert!(deleted > 0 && run.sum("update", "ok") > 0, "{}", run.stdout);
        let made = run.database();
        assert_eq!((self.count)(&server, made), DOCUMENTS - deleted, "{}", self.name);
        all_there(&run);
        assert!(run.stdout.contains(&format!("{docs} {} in ", self.many)), "{}", run.stdout);
        self.conforms("healthy");
        let output = run.output();
        let audit = || measure(["audit", output.to_str().expect("UTF-8")]);
        all_there(&audit().passed());
        self.conforms("audited later");
        let (there, gone) = ids(&server, &(self.made)(&address, made));
        assert_eq!(gone.len() as u64, deleted, "{gone:?}");
        (self.set)(&server, made, &there[0]);
        (self.remove)(&server, made, &there[1]);
        (self.set)(&server, made, &gone[0]);
        let audit = audit();
        assert_eq!(audit.code, 6, "{}{}", audit.stdout, audit.stderr);
        let verify = audit.operation("audit", "verify");
        let findings = verify["findings"].as_array().expect("findings").iter();
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let mut found: Vec<_> = findings.map(|it| (text(&it["class"]), text(&it["id"]))).collect();
        found.sort();
        let mut expected = [
            ("lost".to_owned(), there[1].clone()),
            ("resurrected".to_owned(), gone[0].clone()),
            (self.changed.to_owned(), there[0].clone()),
        ];
        expected.sort();
        assert_eq!(found, expected, "{}", self.name);
        assert_eq!(number(&verify["ok"]), DOCUMENTS - 3, "{verify}");
        for lie in ["body changed", "row lost", "delete undone"] {
            self.conforms(lie);
        }
        (self.clean)(&server, made);
    }

    /// Killed with `kill -9` under load and started again, it has exactly the documents that the
    /// audit reports: all except those reported as lost.
    #[track_caller]
    pub(crate) fn is_killed(&self) {
        let Some(mut server) = (self.server)() else { return };
        let mut run = self.begin(&server);
        server.kill();
        while !run.ended() {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        let run = run.finish();
        server.start_again();
        let present = (self.count)(&server, run.database());
        let audit = self.audited(&run);
        let verify = audit.operation("audit", "verify");
        let lost = verify["failures"]["lost"].as_u64().unwrap_or(0);
        // A busy server may leave requests of the fill unanswered in time.
        let acknowledged = run.sum("bulk_insert", "ok") + run.sum("create", "ok");
        // Documents beyond those that were acknowledged and not lost: inserts and creates without a
        // response. The audit reports, together with updates, how many were carried out.
        let others = (present + lost).checked_sub(acknowledged);
        let carried_out = ["carried_out", "failed_carried_out"].map(|it| verify[it].as_u64());
        let carried_out: u64 = carried_out.into_iter().flatten().sum();
        // Writes that the run itself found to be stored are not checked again.
        let found = [("bulk_insert", "bulk_insert"), ("crud", "create")];
        let found = found.map(|(stage, kind)| run.operation(stage, kind)["carried_out"].as_u64());
        let carried_out = carried_out + found.into_iter().flatten().sum::<u64>();
        let updates = unsure(&run, "update");
        assert!(
            others.is_some_and(|it| it <= carried_out && carried_out <= it + updates),
            "{}: {present} are there; {acknowledged} acknowledged; {verify}; {}",
            self.name,
            run.stdout
        );
        assert!(run.sum("create", "ok") > 0, "nothing was written");
        let wrong = verify["failures"].as_object().is_some_and(|classes| !classes.is_empty());
        assert_eq!(audit.code == 6, wrong, "{}", audit.stderr);
        self.conforms("killed");
        (self.clean)(&server, run.database());
    }

    /// A server that freezes for longer than the timeout loses nothing, and no loss is reported.
    #[track_caller]
    pub(crate) fn is_frozen(&self) {
        let Some(server) = (self.server)() else { return };
        let run = self.begin(&server);
        server.freeze();
        std::thread::sleep(std::time::Duration::from_millis(1_500));
        server.thaw();
        let run = run.finish();
        let waited: u64 = ["create", "read", "update"]
            .iter()
            .map(|kind| run.operation("crud", kind)["failures"].clone())
            // A client library may have its own limit.
            .flat_map(|failures| ["timeout", "unanswered"].map(|class| failures[class].as_u64()))
            .flatten()
            .sum();
        assert!(waited > 0, "{}: {}", self.name, run.stdout);
        let audit = self.audited(&run);
        assert!(matches!(audit.code, 0 | 5), "{}: {}", self.name, audit.stderr);
        let present = (self.count)(&server, run.database());
        let acknowledged = run.sum("bulk_insert", "ok") + run.sum("create", "ok");
        let unsure = unsure(&run, "bulk_insert") + unsure(&run, "create");
        assert!((acknowledged..=acknowledged + unsure).contains(&present), "{present}");
        self.conforms("frozen");
        (self.clean)(&server, run.database());
    }

    /// Writes that are reported as failed, or have no response, may be stored or not: an audit
    /// finds out which, in the right number, and reports no errors. `speech` takes the server's
    /// port and that of a relay in front of it; `place` is the index of the server's port for
    /// writes.
    #[track_caller]
    pub(crate) fn fails_writes<S: Speech>(&self, speech: fn([u16; 2]) -> S, place: usize) {
        let Some(server) = (self.server)() else { return };
        for half in [Half::Answer, Half::Request] {
            for reply in [Reply::Failed, Reply::Nothing] {
                let relayed =
                    self.relayed(&server, speech, place, Spoils { half, reply, writes: 20 });
                self.fails_rows(&server, &relayed, half, reply);
            }
            let spoils = Spoils { half, reply: Reply::Failed, writes: 100 };
            let relayed = self.relayed(&server, speech, place, spoils);
            self.fails_single_writes(&server, &relayed, half);
        }
        self.conforms("failed rows");
    }

    /// Its address behind a relay.
    fn relayed<S: Speech>(
        &self,
        server: &Lease,
        speech: fn([u16; 2]) -> S,
        place: usize,
        spoils: Spoils,
    ) -> Relayed<S> {
        let (port, own) = listener();
        let node = server.port(place);
        let relay = Relay::start(own, node, speech([node, port]), spoils);
        let address = (self.address)(server);
        if place == 0 {
            return (address.replace(&format!(":{node}"), &format!(":{port}")), relay);
        }
        // The first address must lead to the other relay.
        let (first, own) = listener();
        Relay::start(own, server.port(0), speech([node, port]), spoils);
        (address.replace(&format!(":{}", server.port(0)), &format!(":{first}")), relay)
    }

    /// Bulk inserts, some of which are spoiled.
    fn fails_rows<S: Speech>(
        &self,
        server: &Lease,
        (address, relay): &Relayed<S>,
        half: Half,
        reply: Reply,
    ) {
        let words = ["run", address, "--workload", "bulk-insert", "--docs", "400", "-c", "2"];
        let more = ["--batch", "20", "--give-up", "30s", "--keep", "--audit"];
        let timeout = if reply == Reply::Nothing { "2s" } else { "30s" };
        let run = measure([&words[..], &more, &["--timeout", timeout]].concat());
        let about = format!("{} {half:?} {reply:?}: {}", self.name, run.stderr);
        let fill = run.operation("bulk_insert", "bulk_insert");
        let class = if reply == Reply::Failed { "server_error" } else { "unanswered" };
        let (ok, failed) = (number(&fill["ok"]), fill["failures"][class].as_u64().unwrap_or(0));
        assert_eq!(fill["failures"], json!({ class: failed }), "{about}");
        assert_eq!((ok + failed, relay.spoiled()), (400, 4), "{about}");
        let there = (self.count)(server, run.database());
        let (done, not) = settled(&run, reply);
        // Those that the run itself found to be stored are not looked for again.
        let done = done + fill["carried_out"].as_u64().unwrap_or(0);
        assert_eq!((done + not, ok + done), (failed, there), "{about}");
        match half {
            Half::Answer => assert!(done > 0 && (not == 0 || reply == Reply::Nothing), "{about}"),
            Half::Request => assert!(not > 0 && (done == 0 || reply == Reply::Nothing), "{about}"),
        }
        (self.clean)(server, run.database());
    }

    /// Inserts and updates of single documents, some of which are spoiled.
    fn fails_single_writes<S: Speech>(
        &self,
        server: &Lease,
        (address, relay): &Relayed<S>,
        half: Half,
    ) {
        let words = ["run", address, "--docs", "40", "--batch", "20", "-c", "2", "--ops", "200"];
        let run =
            measure([&words[..], &["--mix", "create=1,update=1", "--keep", "--audit"]].concat());
        let about = format!("{} {half:?}: {}", self.name, run.stderr);
        let failures = |kind| run.operation("crud", kind)["failures"].clone();
        for kind in ["create", "update"] {
            let failed = failures(kind)["server_error"].as_u64().unwrap_or(0);
            assert!(failed > 0, "{about}");
            assert_eq!(failures(kind), json!({ "server_error": failed }), "{about}");
        }
        assert_eq!(relay.spoiled(), 20, "{about}");
        let (done, not) = settled(&run, Reply::Failed);
        let others = if half == Half::Answer { not } else { done };
        assert!(done + not > 0 && others == 0, "{done} {not} {about}");
        let there = (self.count)(server, run.database());
        let acknowledged = run.sum("bulk_insert", "ok") + run.sum("create", "ok");
        let lost = number(&failures("create")["server_error"]);
        let fill = run.operation("bulk_insert", "bulk_insert");
        let lost = lost + fill["failures"]["server_error"].as_u64().unwrap_or(0);
        let stored = if half == Half::Answer { lost } else { 0 };
        assert_eq!(there, acknowledged + stored, "{about}");
        (self.clean)(server, run.database());
    }

    /// Starts a run that writes, and returns once it has written something after the fill.
    fn begin(&self, server: &Lease) -> Running {
        let docs = DOCUMENTS.to_string();
        let address = (self.address)(server);
        let words = ["run", &address, "--docs", &docs, "-d", "5s", "-r", "200", "-c", "8"];
        let more = ["--timeout", "500ms", "--give-up", "3s", "--warmup", "0s", "--keep", "--audit"];
        let mix = ["--mix", "create=2,read=1,update=2"];
        // On a busy machine, a server that answers nothing in time may end a run.
        for _ in 0..10 {
            let mut run = Running::start([&words[..], &more, &mix].concat());
            let journal = run.output().join("journal");
            let filled = |run: &Running| {
                let record = std::fs::read(run.output().join("run.json")).unwrap_or_default();
                let record: Value = serde_json::from_slice(&record).unwrap_or_default();
                let stages = record["stages"].as_array().is_some_and(|stages| !stages.is_empty());
                let made = record["server"]["database"].as_str().filter(|_| stages);
                made.map(str::to_owned)
            };
            let (mut of_the_fill, mut made) = (None, None);
            while !run.ended() {
                let files = std::fs::read_dir(&journal).into_iter().flatten().flatten();
                let bytes = files.filter_map(|file| Some(file.metadata().ok()?.len())).sum::<u64>();
                // Some twenty writes: on a slow server, the run might be over before there are
                // more.
                if made.is_none() {
                    made = filled(&run);
                    of_the_fill = made.is_some().then_some(bytes);
                }
                let goes_on = of_the_fill.is_some_and(|it| bytes > it + 2_000);
                if made.as_ref().is_some_and(|made| goes_on && (self.keeps)(server, made)) {
                    return run;
                }
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        }
        panic!("{}: nothing is written", self.name);
    }

    /// The result of a later audit of all documents. A server that was just started may be too slow
    /// for some of them at first.
    #[track_caller]
    fn audited(&self, run: &Finished) -> Finished {
        let output = run.output();
        for _ in 0..10 {
            let audit = measure(["audit", output.to_str().expect("UTF-8")]);
            assert!(matches!(audit.code, 0 | 5 | 6), "{}: {}", self.name, audit.stderr);
            let failures = &audit.operation("audit", "verify")["failures"];
            if !["connect", "reset", "timeout"].iter().any(|class| failures[class].is_u64()) {
                return audit;
            }
        }
        panic!("{}: no audit is complete", self.name);
    }
}

/// TLS with a server whose authority is `ca.pem` in its folder: trusted, unknown, a different one,
/// accepted unchecked, and without TLS. `plain` is the address without TLS.
#[track_caller]
pub(crate) fn checks_certificates(driver: &str, server: &Database, tls: &str, plain: &str) {
    let run = |address: &str, more: &[&str]| {
        let words = ["run", address, "--docs", "20", "--ops", "40", "-c", "2", "--timeout", "5s"];
        measure([&words[..], more].concat())
    };
    let file = server.folder().join("ca.pem");
    let right = ["--tls-ca", file.to_str().expect("UTF-8")];
    run(tls, &right).passed();
    let others = tempfile::tempdir().expect("a folder");
    write_certificates(others.path());
    let other = others.path().join("ca.pem");
    let wrong = ["--tls-ca", other.to_str().expect("UTF-8")];
    for (address, flags) in [(tls, &wrong[..]), (tls, &[]), (plain, &[])] {
        let refused = run(address, flags);
        assert_eq!(refused.code, 3, "{driver}: {}", refused.stderr);
        let raw = ["InvalidCertificate", "OtherError", "UnknownIssuer", "BadSignature"];
        assert!(!raw.iter().any(|it| refused.stderr.contains(it)), "{}", refused.stderr);
        assert_eq!(refused.stderr.trim_end().lines().count(), 1, "{}", refused.stderr);
        let certificate = refused.stderr.contains("certificate is not trusted");
        assert_eq!(certificate, address == tls, "{driver}: {}", refused.stderr);
    }
    let any = run(tls, &["-k"]).passed();
    assert!(any.report("text").stdout.contains("certificate"), "{}", any.stdout);
    let none = others.path().join("none.pem");
    run(tls, &["--tls-ca", none.to_str().expect("UTF-8")]).refused(2, &["--tls-ca: ", "none.pem"]);
    conforms(driver, "TLS");
}

/// An address, and the relay behind it.
type Relayed<S> = (String, Relay<S>);

/// Asserts that an audit reports no errors; returns how many writes of unknown outcome it found to
/// be carried out, and how many not.
#[track_caller]
fn settled(run: &Finished, reply: Reply) -> (u64, u64) {
    let verify = run.operation("audit", "verify");
    assert_eq!(verify["failures"], json!({}), "{verify}");
    assert_eq!(verify["ok"], verify["issued"], "{verify}");
    assert_ne!(run.code, 6, "{}", run.stderr);
    let prefix = if reply == Reply::Failed { "failed_" } else { "" };
    let of = |key: &str| verify[format!("{prefix}{key}")].as_u64().unwrap_or(0);
    (of("carried_out"), of("not_carried_out"))
}

/// The documents that are there, and those that are not, according to springload's shell.
fn ids(server: &Lease, made: &str) -> (Vec<String>, Vec<String>) {
    let ids: Vec<_> = (0..DOCUMENTS).map(|id| id.to_string()).collect();
    let script: Vec<_> = ids.iter().map(|id| format!("read {id}\n")).collect();
    let output = shell(server, &format!("shell {made}"), &script.concat());
    let codes: Vec<_> = output.lines().filter(|line| line.starts_with("Return code: ")).collect();
    assert_eq!(codes.len(), ids.len(), "{made}: {output}");
    let each = ids.into_iter().zip(codes);
    let (gone, there): (Vec<_>, Vec<_>) = each.partition(|(_, code)| code.ends_with("NOT_FOUND"));
    let names = |found: Vec<(String, &str)>| found.into_iter().map(|(id, _)| id).collect();
    (names(there), names(gone))
}

/// The number of writes of this kind that may or may not have been carried out.
pub(crate) fn unsure(run: &Finished, kind: &str) -> u64 {
    let stage = if kind == "bulk_insert" { kind } else { "crud" };
    let failures = run.operation(stage, kind)["failures"].clone();
    ["unanswered", "timeout", "reset", "server_error"]
        .iter()
        .filter_map(|class| failures[class].as_u64())
        .sum()
}

/// Asserts that an audit found everything as acknowledged.
#[track_caller]
fn all_there(run: &Finished) {
    let verify = run.operation("audit", "verify");
    assert_eq!((number(&verify["ok"]), &verify["failures"]), (DOCUMENTS, &serde_json::json!({})));
}
