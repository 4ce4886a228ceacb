//! How long a silent server is waited for: a run gives up when the server stops responding
//! altogether, not when some of its connections die.

use crate::servers::Server;
use crate::springload::{Finished, Run, Running, failures, measure, number};
use crate::victims::Victim;
use serde_json::Value;
use springload::embedded::Options;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{sleep, spawn};
use std::time::Duration;

/// The behavior of connections through a relay.
#[derive(Clone, Copy, Debug)]
enum Fate {
    /// A connection that was idle this long is dead: bytes sent on it are dropped silently, as by a
    /// firewall that has forgotten it.
    Forgotten(Duration),
    /// A connection that was idle this long is closed.
    Closed(Duration),
    /// Every fourth one leads to a backend that hangs, and so does its replacement, because that
    /// backend then has the fewest connections.
    EveryFourthHangs,
    Hangs(bool),
}

/// A relay in front of a server. Returns its address.
fn relay(server: &Server, fate: Fate) -> String {
    let to = server.url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    spawn(move || {
        let owed = Arc::new(AtomicUsize::new(0));
        for (number, client) in listener.incoming().flatten().enumerate() {
            let replaces = |owed: usize| owed.checked_sub(1);
            let replaces = owed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, replaces);
            let fate = match fate {
                Fate::EveryFourthHangs => Fate::Hangs(replaces.is_ok() || number % 4 == 3),
                fate => fate,
            };
            let (to, owed) = (to.clone(), owed.clone());
            spawn(move || {
                relayed(client, &to, fate);
                owed.fetch_add(usize::from(matches!(fate, Fate::Hangs(true))), Ordering::Relaxed);
            });
        }
    });
    url
}

/// Serves one connection until either side closes it.
fn relayed(mut client: TcpStream, to: &str, fate: Fate) {
    let Ok(mut server) = TcpStream::connect(to) else { return };
    let Ok(back) = (server.try_clone()).and_then(|server| Ok((server, client.try_clone()?))) else {
        return;
    };
    spawn(move || {
        let (mut server, mut client) = back;
        let _ = std::io::copy(&mut server, &mut client);
        let _ = client.shutdown(Shutdown::Both);
    });
    let idle = match fate {
        Fate::Closed(idle) | Fate::Forgotten(idle) => Some(idle),
        _ => None,
    };
    client.set_read_timeout(idle).expect("a timeout");
    let mut bytes = vec![0; 65_536];
    while let Ok(count @ 1..) = client.read(&mut bytes) {
        if matches!(fate, Fate::Hangs(true)) || server.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    if !matches!(fate, Fate::Closed(_)) {
        // Receives everything, and sends nothing.
        client.set_read_timeout(None).expect("no timeout");
        while let Ok(1..) = client.read(&mut bytes) {}
    }
    let _ = (client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
}

#[test]
fn a_server_that_closes_idle_connections_is_there() {
    let server = Server::stand_in(Options::default());
    let url = relay(&server, Fate::Closed(Duration::from_millis(100)));
    let load = ["--docs=20", "-c=4", "--think=300ms", "-d=2s", "--timeout=500ms"];
    let run = measure(["run", &url, "--give-up=1s"].into_iter().chain(load));
    assert!(run.record["ended"].is_null(), "{}", run.stderr);
    let read = run.operation("crud", "read");
    // On a busy machine, one may be closed while a request is on its way.
    assert!(number(&read["ok"]) > 4 * failures(&read), "{read}: {}", run.stderr);
}

#[test]
fn connections_that_die_while_idle_are_not_the_end_of_the_server() {
    let server = Server::stand_in(Options::default());
    let url = relay(&server, Fate::Forgotten(Duration::from_millis(100)));
    let load = ["--docs=20", "-c=4", "--think=300ms", "-d=4s", "--timeout=500ms"];
    let load = load.into_iter().chain(["--mix=read=1", "--give-up=1s"]);
    let run = measure(["run", &url].into_iter().chain(load));
    assert!(!run.stderr.contains("no longer answers"), "{}", run.stderr);
    assert!(run.record["ended"].is_null(), "{}", run.stderr);
    let read = run.operation("crud", "read");
    assert!(failures(&read) >= 12, "all of them die, again and again: {read}");
}

#[test]
fn one_hung_backend_of_four_is_not_the_end_of_the_server() {
    let server = Server::stand_in(Options::default());
    let url = relay(&server, Fate::EveryFourthHangs);
    // The connections that are served finish long before those that are not.
    let load = ["--docs=0", "-c=8", "-n=32", "--timeout=500ms", "--mix=create=1"];
    let run = measure(["run", &url, "--give-up=300ms"].into_iter().chain(load));
    assert!(!run.stderr.contains("no longer answers"), "{}", run.stderr);
    assert!(run.record["ended"].is_null(), "{}", run.stderr);
    let created = run.operation("crud", "create");
    assert_eq!(number(&created["ok"]) + failures(&created), 32, "{created}");
    assert!(failures(&created) > 0, "{created}");
}

/// A run on a stand-in that is frozen once it has served for a while, until `thaws` returns.
fn frozen(words: &[&str], thaws: impl FnOnce(&Running)) -> Finished {
    let victim = Victim::stand_in();
    let target = victim.target("patience");
    let run = Run::of(&["run", &target, "-c=4", "--docs=200", "--keep"]).args(words).start();
    let crud = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with("0001");
    let begun = || {
        let files = std::fs::read_dir(run.output().join("journal")).into_iter().flatten();
        files
            .flatten()
            .any(|it| crud(&it.file_name()) && it.metadata().is_ok_and(|it| it.len() > 0))
    };
    while !begun() {
        sleep(Duration::from_millis(10));
    }
    sleep(Duration::from_millis(300));
    assert!(victim.freeze(true));
    thaws(&run);
    assert!(victim.freeze(false));
    run.finish()
}

#[test]
fn a_short_timeout_is_no_reason_to_give_up_soon() {
    let words = ["-d=5s", "--timeout=500ms", "--audit", "--warmup=0s"];
    let run = frozen(&words, |_| sleep(Duration::from_secs(2)));
    assert!(run.record["ended"].is_null(), "{}", run.stderr);
    assert!(number(&run.operation("audit", "verify")["ok"]) >= 200, "{}", run.stderr);
}

#[test]
fn a_run_that_gave_up_is_audited_when_the_server_is_back() {
    let words = ["-d=60s", "--timeout=300ms", "--give-up=4s", "--audit", "--warmup=0s"];
    // It is back as soon as the load was given up; from then on, the run waits for it.
    let gave_up = |run: &Running| {
        let saved = || std::fs::read(run.output().join("run.json")).unwrap_or_default();
        let mixed = || {
            let record: Value = serde_json::from_slice(&saved()).unwrap_or_default();
            record["stages"][1].clone()
        };
        let over = || mixed().is_object() && mixed()["verdict"]["kind"] != "unfinished";
        assert!((0..6_000).any(|_| {
            sleep(Duration::from_millis(10));
            over()
        }));
    };
    let run = frozen(&words, gave_up);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert_eq!(run.record["ended"]["by"], "unreachable", "{}", run.stderr);
    let audited = run.operation("audit", "verify");
    assert!(number(&audited["ok"]) >= 200, "{audited}: {}", run.stderr);
}

#[test]
fn a_server_that_is_silent_longer_than_a_burst_is_given_up_on() {
    let victim = Victim::stand_in();
    let target = victim.target("bursts");
    let words = ["burst", &target, "-c=4", "--repeat=20", "-d=1s", "--timeout=300ms"];
    let run = Run::of(&words).args(&["--give-up=2s"]).start();
    while !run.has_begun() {
        sleep(Duration::from_millis(10));
    }
    assert!(victim.freeze(true));
    let run = run.finish();
    assert!(victim.freeze(false));
    assert_eq!((run.code, &run.record["ended"]["by"]), (3, &"unreachable".into()));
    // It answered in the first one or two. Two seconds later it is checked, which takes as long.
    let bursts = run.stages().count();
    assert!((4..12).contains(&bursts), "{bursts}: {}", run.stderr);
}

/// What a run waits for after its end.
const WAITS: &str = "mixed: waiting for the server to say what became of ";

/// A run on a server that is killed while it only writes. From then on, each connection does
/// nothing but ask what became of its last write.
fn killed_under_writes(run: Run, more: &[&str]) -> Finished {
    let mut victim = Victim::stand_in();
    let target = victim.target("writes");
    let words = [&*target, "--keep", "-c=4", "--docs=200", "--mix=update=1", "--warmup=0s"];
    let run = run.args(&words).args(more).start();
    let updated = |victim: &Victim| {
        let counters = victim.ask("GET", "_springload/counters").expect("counters");
        number(&counters["documents_updated"])
    };
    while updated(&victim) < 100 {
        sleep(Duration::from_millis(10));
    }
    victim.kill();
    run.finish()
}

#[test]
fn a_server_that_dies_under_writes_alone_is_away_until_the_end() {
    let run = killed_under_writes(Run::of(&["run"]), &["-d=4s", "--timeout=3s"]);
    let stage = run.stage("crud");
    assert_eq!(stage["verdict"]["kind"], "degraded", "{}", run.stderr);
    let away_s = stage["outage"]["total_s"].as_f64().expect("a number");
    assert!(away_s > 1.0, "{}", stage["outage"]);
}

#[test]
fn what_a_run_waits_for_after_its_end_is_said_once() {
    let run = killed_under_writes(Run::bare(&["run", "--output=out"]), &["-d=2s", "--timeout=6s"]);
    assert_eq!(run.stderr.matches(WAITS).count(), 1, "{}", run.stderr);
}

#[test]
fn what_agents_wait_for_after_the_end_of_a_run_is_said_once() {
    let run = Run::bare(&["run", "--output=out", "--agents=2"]);
    let run = killed_under_writes(run, &["-d=2s", "--timeout=6s"]);
    assert_eq!(run.stderr.matches(WAITS).count(), 1, "{}", run.stderr);
}
