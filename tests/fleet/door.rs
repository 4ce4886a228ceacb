//! Agents that connect on their own, over TCP with or without TLS: those with the token are let in,
//! and other clients do not keep the coordinator from its work.

use crate::load::{Ended, Load, Spring, documents, until};
use crate::losses::{UNREPORTED, long, lost_any};
use crate::servers::process::free_ports;
use crate::servers::write_certificates;
use rustix::process::Signal;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use tempfile::TempDir;

const TOKEN: &str = "0123456789abcdef";
const OTHER: &str = "0123456789abcdeg";

/// A listening coordinator, and what agents need to reach it.
struct Door {
    load: Load,
    port: u16,
    secure: bool,
    folder: TempDir,
}

impl Door {
    /// Waits for this many agents.
    fn open(agents: usize, secure: bool, flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        write_certificates(folder.path());
        for (name, token) in [("token", TOKEN), ("other", OTHER)] {
            std::fs::write(folder.path().join(name), format!("{token}\n")).expect("a file");
        }
        let file = |name: &str| folder.path().join(name).display().to_string();
        let port = free_ports(1).expect("a port")[0];
        let address = format!("127.0.0.1:{port}");
        let (token, certificate, key) = (file("token"), file("server.pem"), file("key.pem"));
        let mut words = vec!["--listen", &address, "--join-token-file", &token];
        if secure {
            words.extend(["--listen-cert", &certificate, "--listen-key", &key]);
        }
        words.extend(flags);
        let load = Load::start(agents, &words, None);
        Self { load, port, secure, folder }
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn agent_with(&self, token: &str, more: &[&str]) -> Spring {
        let scheme = if self.secure { "tls" } else { "tcp" };
        let url = format!("{scheme}://127.0.0.1:{}", self.port);
        let token = self.file(token);
        let words =
            ["agent", "--join", &url, "--join-token-file", &token, "--ready-timeout", "20s"];
        Spring::start(&[&words[..], more].concat(), None)
    }

    /// An agent with the right address, token and authority.
    fn agent(&self) -> Spring {
        let authority = self.file("ca.pem");
        let more = ["--tls-ca", &authority];
        self.agent_with("token", if self.secure { &more } else { &[] })
    }

    /// Starts the missing agents, and waits for the end of the run.
    #[track_caller]
    fn go_on(&mut self, agents: usize) -> Ended {
        let mut all: Vec<_> = (0..agents).map(|_| self.agent()).collect();
        let ended = self.load.end();
        for agent in &mut all {
            let ended = agent.end_within(Duration::from_secs(5));
            assert_eq!((ended.code, &ended.stderr[..]), (Some(0), ""));
        }
        ended
    }

    /// A connection by any client, once the coordinator listens.
    fn connect(&self) -> TcpStream {
        let mut found = None;
        until(Duration::from_secs(30), || {
            found = TcpStream::connect(("127.0.0.1", self.port)).ok();
            found.is_some()
        });
        found.expect("it listens")
    }
}

/// Asserts that an agent is refused with exit status 3, and the reason.
#[track_caller]
fn refused(mut agent: Spring, why: &str) {
    let ended = agent.end_within(Duration::from_secs(10));
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(ended.stderr.starts_with("error: "), "{}", ended.stderr);
    assert!(ended.stderr.contains(why), "{}", ended.stderr);
}

#[test]
fn agents_that_know_the_token_share_a_run_exactly() {
    for secure in [true, false] {
        let mut door = Door::open(3, secure, &["--ops", "600", "-d", "60s"]);
        let ended = door.go_on(3);
        assert_eq!(ended.status(), Some(0), "{}", ended.stderr);
        assert_eq!(documents(&ended.record, "bulk_insert"), 60);
        assert_eq!(documents(&ended.record, "crud"), 600);
        assert_eq!(ended.record["agents"].as_array().map(Vec::len), Some(3));
        door.load.agrees(&ended, 0);
    }
}

#[test]
fn agents_without_the_token_or_the_authority_stay_out_and_the_others_run() {
    let mut door = Door::open(2, true, &["--ops", "60"]);
    let authority = door.file("ca.pem");
    let first = door.agent_with("other", &["--tls-ca", &authority]);
    refused(first, "its token is not the coordinator's; give both the same SPRINGLOAD_JOIN_TOKEN");
    let stranger = tempfile::tempdir().expect("a folder");
    write_certificates(stranger.path());
    let strange = stranger.path().join("ca.pem").display().to_string();
    let stranger = door.agent_with("token", &["--tls-ca", &strange]);
    refused(stranger, "cannot be trusted: its certificate is not trusted (self-signed");
    door.secure = false;
    refused(door.agent(), "is no coordinator of springload");
    door.secure = true;
    let ended = door.go_on(2);
    assert_eq!(ended.status(), Some(0), "{}", ended.stderr);
    let mut door = Door::open(1, false, &["--ops", "60"]);
    door.secure = true;
    refused(door.agent(), ": it does not speak TLS; give the coordinator --listen-cert");
    door.secure = false;
    assert_eq!(door.go_on(1).status(), Some(0));
}

/// The peak memory of a process, in KiB.
fn peak_kib(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn whoever_is_no_agent_neither_stops_nor_fills_the_coordinator() {
    for secure in [false, true] {
        let mut door = Door::open(1, secure, &["--ops", "60"]);
        let silent = door.connect();
        let id = door.load.coordinator.id();
        let before = peak_kib(id);
        for bytes in [
            &b"\xff\xff\xff\xff"[..],
            &[b'x'; 10_000],
            b"{}\n",
            b"null\n",
            b"GET / HTTP/1.1\r\n\r\n",
            b"\x16\x03\x01\xff\xff",
            b"",
        ] {
            let mut other = door.connect();
            // It may be closed before everything is sent.
            let _ = other.write_all(bytes);
        }
        if !secure {
            // A client that tries TLS finds that there is none.
            let mut other = door.connect();
            other.write_all(b"\x16\x03\x01\xff\xff").expect("it listens");
            other.set_read_timeout(Some(Duration::from_secs(5))).expect("a timeout");
            let mut reply = String::new();
            other.read_to_string(&mut reply).expect("a reply");
            assert!(reply.contains("refused"), "{reply}");
        }
        // Endless input.
        let mut endless = door.connect();
        let _ = endless.write_all(b"{");
        let end = until(Duration::from_secs(10), || endless.write_all(&[0; 1 << 13]).is_err());
        assert!(end, "it reads on and on");
        // More than are allowed: the oldest are closed.
        let many: Vec<_> = (0..1000).map(|_| door.connect()).collect();
        let grown = peak_kib(id) - before;
        assert!(grown < 16 * 1024, "{grown} KiB more");
        let ended = door.go_on(1);
        assert_eq!(ended.status(), Some(0), "{}", ended.stderr);
        drop((silent, many));
    }
}

#[test]
fn an_agent_of_another_version_is_told_so() {
    let mut door = Door::open(1, false, &["--ops", "60"]);
    let mut other = door.connect();
    let knock = format!("{{\"springload\":\"0.0.9\",\"token\":\"{TOKEN}\"}}\n");
    other.write_all(knock.as_bytes()).expect("it listens");
    let mut reply = String::new();
    other.read_to_string(&mut reply).expect("a reply");
    assert!(reply.contains("it is springload 0.0.9, not 0.1.0"), "{reply}");
    assert_eq!(door.go_on(1).status(), Some(0));
}

#[test]
fn whoever_says_nothing_is_not_waited_for() {
    let door = Door::open(1, false, &["--ops", "60"]);
    let mut silent = door.connect();
    silent.set_read_timeout(Some(Duration::from_secs(15))).expect("a timeout");
    assert_eq!(silent.read(&mut [0; 9]).expect("it is closed"), 0);
}

#[test]
fn who_is_not_let_in_is_reported_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = crate::servers::Server::stand_in(springload::embedded::Options::default());
    let port = free_ports(1).expect("a port")[0];
    let address = format!("127.0.0.1:{port}");
    let run = ["run", &server.url, "--docs", "6", "--ops", "12", "-c", "2", "-o", "out"];
    let more = ["--agents", "1", "--listen", &address, "--run-id", "r1"];
    // The token is in the environment.
    let with = |token: &str, words: &[&str]| {
        let token = format!("SPRINGLOAD_JOIN_TOKEN={token}");
        Spring::start_by("env", &[&[&token, crate::load::BINARY][..], words].concat(), None)
    };
    let mut coordinator = with(TOKEN, &[&run[..], &more].concat());
    let url = format!("tcp://{address}");
    for _ in 0..30 {
        refused(with(OTHER, &["agent", "--join", &url]), "its token is not the coordinator's");
    }
    let mut agent = with(TOKEN, &["agent", "--join", &url]);
    let ended = coordinator.end();
    assert_eq!(ended.status(), Some(0), "{}", ended.stderr);
    assert_eq!(agent.end().code, Some(0));
    let times = |words: &str| ended.stderr.matches(words).count();
    assert_eq!(times(" was not let in: its token is not the coordinator's"), 20);
    assert_eq!(times("more were not let in"), 1, "{}", ended.stderr);
    assert_eq!(times(&format!("springload agent --join {url}\n")), 1, "{}", ended.stderr);
    assert_eq!(times("all 1 agents have joined"), 1, "{}", ended.stderr);
    assert!(!ended.stderr.contains(TOKEN) && !ended.stderr.contains(OTHER), "{}", ended.stderr);
    drop(folder);
}

#[test]
fn a_killed_agent_that_came_by_itself_is_lost_and_the_others_go_on() {
    let mut door = Door::open(3, true, &long("6s"));
    let mut agents = [door.agent(), door.agent(), door.agent()];
    door.load.under_way();
    agents[1].signal(Signal::KILL);
    let killed = agents[1].id();
    let ended = door.load.end();
    // They are numbered in the order of arrival.
    let lost = lost_any(&ended, "its connection");
    assert_eq!(ended.record["agents"][lost]["pid"], killed);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    door.load.agrees(&ended, UNREPORTED);
    for agent in [0, 2] {
        let ended = agents[agent].end_within(Duration::from_secs(5));
        assert_eq!((ended.code, &ended.stderr[..]), (Some(0), ""));
    }
}

#[test]
fn agents_of_a_killed_coordinator_that_listened_stop() {
    let mut door = Door::open(2, true, &long("60s"));
    let agents = [door.agent(), door.agent()];
    door.load.under_way();
    door.load.coordinator.signal(Signal::KILL);
    door.load.falls_silent();
    for mut agent in agents {
        let ended = agent.end_within(Duration::from_secs(5));
        assert_eq!(ended.code, Some(3), "{}", ended.stderr);
        assert!(ended.stderr.contains("the coordinator is gone"), "{}", ended.stderr);
    }
}

#[test]
fn an_agent_waits_for_its_coordinator_and_no_longer() {
    let port = free_ports(1).expect("a port")[0];
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("token");
    std::fs::write(&file, TOKEN).expect("a file");
    let (url, file) = (format!("tcp://127.0.0.1:{port}"), file.display().to_string());
    let words = ["agent", "--join", &url, "--join-token-file", &file, "--ready-timeout", "1s"];
    refused(Spring::start(&words, None), "within 1 s: Connection refused");
}

#[test]
fn what_would_show_a_token_is_refused() {
    let run = ["run", "http://127.0.0.1:1", "--agents", "2"];
    let with = |token: Option<&str>, words: &[&str]| {
        let token = token.map(|it| format!("SPRINGLOAD_JOIN_TOKEN={it}"));
        let unset = ["-u", "SPRINGLOAD_JOIN_TOKEN"];
        let before: Vec<&str> = token.as_deref().map_or(unset.to_vec(), |it| vec![it]);
        let all = [&before[..], &[crate::load::BINARY], words].concat();
        Spring::start_by("env", &all, None).end()
    };
    let listen = |address: &'static str| [&run[..], &["--listen", address]].concat();
    for (token, words, why) in [
        (Some(TOKEN), listen("0.0.0.0:7"), "--listen: without TLS, everybody could read"),
        (Some(TOKEN), listen("7"), "--listen: not an address to listen at"),
        (None, listen("127.0.0.1:7"), "SPRINGLOAD_JOIN_TOKEN: there is no token"),
        (Some("short"), listen("127.0.0.1:7"), "SPRINGLOAD_JOIN_TOKEN: a token of 5 bytes"),
        (Some(TOKEN), vec!["agent", "--join", "tcp://10.0.0.1:7"], "--join: without TLS"),
        (Some(TOKEN), vec!["agent", "--join", "http://127.0.0.1:7"], "--join: not the address"),
        (Some(TOKEN), vec!["agent", "--join", "tls://127.0.0.1"], "--join: not the address"),
        (Some(TOKEN), vec!["run", "--listen", "127.0.0.1:7"], "--listen: there are no agents"),
        (Some(TOKEN), vec!["run", "--on", "a", "--agents", "1"], "cannot be combined"),
        (Some(TOKEN), vec!["run", "--on", "a", "--broker", "amqp://h"], "cannot be combined"),
        (Some(TOKEN), vec!["run", "--on", "a:b"], "--on: \"a:b\" has no number of agents"),
        (Some(TOKEN), vec!["run", "--on", "a", "--ssh", ""], "--ssh: there is no program"),
    ] {
        let ended = with(token, &words);
        assert_eq!(ended.code, Some(2), "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(why), "{words:?}: {}", ended.stderr);
    }
}
