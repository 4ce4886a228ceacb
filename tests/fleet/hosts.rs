//! Agents on hosts, over a real ssh to a real sshd on this machine: springload is found there or
//! copied, the counts are exact, and however the run ends, no agent is left.

use crate::load::{BINARY, Ended, Load, Spring, documents, kill, lost, runs, until};
use crate::losses::{UNREPORTED, long, lost_one};
use crate::servers::sshd::Sshd;
use rustix::process::Signal;
use std::path::Path;
use std::time::Duration;

/// The time within which all processes of a finished run must be gone.
const GONE_AFTER: Duration = Duration::from_secs(6);

fn hosts() -> Option<Sshd> {
    Sshd::start(Path::new(BINARY))
}

/// The command lines of all processes, with a zero byte after each word.
fn command_lines() -> Vec<(u32, String)> {
    let all = std::fs::read_dir("/proc").expect("processes").flatten();
    let ids = all.filter_map(|it| it.file_name().to_str()?.parse::<u32>().ok());
    let line = |id: u32| Some((id, std::fs::read(format!("/proc/{id}/cmdline")).ok()?));
    ids.filter_map(line).map(|(id, line)| (id, String::from_utf8_lossy(&line).into())).collect()
}

/// The processes with these words next to each other in their command lines.
fn processes(words: &[&str]) -> Vec<u32> {
    let wanted = words.join("\0") + "\0";
    let has = |(id, line): (u32, String)| line.contains(&wanted).then_some(id);
    command_lines().into_iter().filter_map(has).filter(|id| runs(*id)).collect()
}

/// The agents of a run: those started by ssh, not ssh itself.
fn agents(load: &Load) -> Vec<u32> {
    processes(&["agent", "--run", &load.run()])
}

#[track_caller]
fn none_is_left(load: &Load) {
    let gone = until(GONE_AFTER, || agents(load).is_empty());
    assert!(gone, "agents are left: {:?}", agents(load));
}

/// Starts a run on hosts. The coordinator is ended when the value is dropped.
fn start(sshd: &Sshd, on: &str, flags: &[&str]) -> Load {
    let ssh = sshd.ssh();
    Load::start(0, &[&["--on", on, "--ssh", &ssh], flags].concat(), None)
}

/// A small run without `-q`, and its load with the server.
fn talkative(sshd: &Sshd, on: &str) -> (Ended, Load) {
    let mut load = start(sshd, on, &["--ops", "10"]);
    load.end();
    let ssh = sshd.ssh();
    let words = ["run", &load.server.url, "--docs", "6", "--ops", "12", "-o", "out", "-c", "2"];
    let mut again = Spring::start(&[&words[..], &["--on", on, "--ssh", &ssh]].concat(), None);
    (again.end(), load)
}

#[test]
fn agents_on_two_hosts_share_a_run_exactly() {
    let Some(sshd) = hosts() else { return };
    let mut load = start(&sshd, "one,two:2", &["--ops", "600", "-d", "60s"]);
    let ended = load.end();
    assert_eq!(ended.status(), Some(0), "{}", ended.stderr);
    assert_eq!(documents(&ended.record, "bulk_insert"), 60);
    assert_eq!(documents(&ended.record, "crud"), 600);
    load.agrees(&ended, 0);
    let rows = ended.record["agents"].as_array().expect("agents");
    assert_eq!(rows.len(), 3);
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    assert!(rows.iter().all(|row| row["host"] == host.as_str()), "{rows:?}");
    none_is_left(&load);
}

#[test]
fn springload_is_copied_to_a_host_that_has_none_or_another() {
    let Some(sshd) = hosts() else { return };
    for (host, there) in [("bare", "no springload"), ("older", "springload 0.0.9")] {
        let mut load = start(&sshd, host, &["--ops", "10"]);
        let ended = load.end();
        assert_eq!(ended.status(), Some(0), "{}", ended.stderr);
        let cache = sshd.home(host).join(".cache/springload");
        let files: Vec<_> = std::fs::read_dir(&cache).expect("a cache").flatten().collect();
        assert_eq!(files.len(), 1, "{files:?}");
        let copied = std::fs::read(files[0].path()).expect("a copy");
        assert!(copied == std::fs::read(BINARY).expect("a program"), "it is another");
        // An existing copy is used as it is.
        let made = |place: &std::fs::DirEntry| place.metadata().expect("a file").modified().ok();
        let before = made(&files[0]);
        let mut load = start(&sshd, host, &["--ops", "10"]);
        let ended = load.end();
        assert_eq!(ended.status(), Some(0), "{}", ended.stderr);
        assert_eq!(made(&files[0]), before, "{there} was copied again");
    }
}

#[test]
fn what_is_done_on_hosts_is_reported() {
    let Some(sshd) = hosts() else { return };
    let (ended, _load) = talkative(&sshd, "one:2");
    assert!(ended.stderr.contains("2 agents on one (2)\n"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("copying"), "{}", ended.stderr);
}

#[test]
fn hosts_that_cannot_be_used_are_reported_before_anything_is_measured() {
    let Some(sshd) = hosts() else { return };
    for (host, why) in [
        ("closed", &["connect to host 127.0.0.1 port 1: Connection refused"][..]),
        ("stranger", &["Host key verification failed."]),
        ("keyless", &["Permission denied (publickey)"]),
        ("nowhere.invalid", &["Could not resolve hostname nowhere.invalid"]),
        ("other", &["it is Plan9 mips, not Linux ", "install springload 0.1.0 there"]),
        ("full", &["File too large", "cannot copy springload there"]),
        ("one,closed", &["Connection refused"]),
    ] {
        let mut load = start(&sshd, host, &["--ops", "10"]);
        let ended = load.end();
        let name = host.rsplit(',').next().expect("a host");
        assert_eq!(ended.code, Some(3), "{}", ended.stderr);
        let line = ended.stderr.trim_end();
        assert!(line.starts_with(&format!("error: {name}: ")), "{line}");
        assert_eq!(line.lines().count(), 1, "{line}");
        for why in why {
            assert!(line.contains(why), "{host}: {line}");
        }
        assert_eq!(load.requests(), 0);
        none_is_left(&load);
    }
    let left = std::fs::read_dir(sshd.home("full").join(".cache/springload"));
    assert_eq!(left.expect("a folder").count(), 0, "a part of a copy is left");
}

#[test]
fn a_part_of_a_copy_is_not_taken_for_it() {
    let Some(sshd) = hosts() else { return };
    let ssh = format!("sh -c 'head -c 100000 | {} \"$@\"' sh", sshd.ssh());
    let mut load = Load::start(0, &["--on", "bare", "--ssh", &ssh], None);
    let ended = load.end();
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains("only a part arrived"), "{}", ended.stderr);
    let left = std::fs::read_dir(sshd.home("bare").join(".cache/springload"));
    assert_eq!(left.expect("a folder").count(), 0, "it is left");
}

#[test]
fn ssh_that_is_missing_or_says_nothing_is_not_waited_for() {
    let silent = "sh -c 'exec sleep 100'";
    for (ssh, why) in [
        ("no-such-ssh -4", &["cannot start no-such-ssh", "install OpenSSH's client"][..]),
        (silent, &["error: one: no answer in time (see --ready-timeout)"]),
    ] {
        let mut load =
            Load::start(0, &["--on", "one", "--ssh", ssh, "--ready-timeout", "1s"], None);
        let ended = load.coordinator.end_within(Duration::from_secs(10));
        assert_eq!(ended.code, Some(3), "{}", ended.stderr);
        assert!(why.iter().all(|why| ended.stderr.contains(why)), "{}", ended.stderr);
    }
    let mut load = Load::start(0, &["--on", "one", "--ssh", silent], None);
    std::thread::sleep(Duration::from_secs(3));
    load.coordinator.signal(Signal::INT);
    let ended = load.coordinator.end_within(Duration::from_secs(5));
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
}

#[test]
fn no_password_is_on_a_command_line() {
    let Some(sshd) = hosts() else { return };
    let ssh = sshd.ssh();
    let server = crate::servers::Server::stand_in(springload::embedded::Options {
        admin: Some(("ann".to_owned(), "s3cret".to_owned())),
        ..Default::default()
    });
    let url = server.url.replace("http://", "http://ann@");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("password");
    std::fs::write(&file, "s3cret\n").expect("a file");
    let file = file.display().to_string();
    let words = ["run", &url, "--password-file", &file, "-q", "--docs", "10", "-c", "2"];
    let more = ["-d", "4s", "--on", "one:2", "--ssh", &ssh, "-o", "out", "--run-id", "secretive"];
    let mut spring = Spring::start(&[&words[..], &more].concat(), None);
    let there = || processes(&["agent", "--run", "secretive"]).len() == 2;
    assert!(until(Duration::from_secs(30), there), "{}", spring.stderr());
    assert!(!command_lines().iter().any(|(_, line)| line.contains("s3cret")));
    let ended = spring.end();
    assert_eq!(ended.status(), Some(0), "{}", ended.stderr);
}

#[test]
fn a_killed_agent_on_a_host_is_lost_and_the_others_go_on() {
    let Some(sshd) = hosts() else { return };
    let mut load = start(&sshd, "one,two:2", &long("6s"));
    load.under_way();
    let run = load.run();
    let second = processes(&["agent", "--run", &run, "--index", "1"]);
    kill(second[0], Signal::KILL);
    let ended = load.end();
    lost_one(&ended, "two: ");
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    load.agrees(&ended, UNREPORTED);
    none_is_left(&load);
}

#[test]
fn a_connection_that_breaks_is_reported_in_the_words_of_ssh() {
    let Some(sshd) = hosts() else { return };
    let mut load = start(&sshd, "one,two:2", &long("6s"));
    load.under_way();
    let run = load.run();
    let second = processes(&["agent", "--run", &run, "--index", "1"]);
    // It was started by the server's process for this connection.
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", second[0])).expect("it runs");
    let parent = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse().ok());
    kill(parent.expect("a parent"), Signal::KILL);
    let ended = load.end();
    lost_one(&ended, "two: ended with exit status 255: ");
    // ssh learns of it by reading or, if it is just sending, by writing.
    let words = ["closed by remote host", "client_loop: send disconnect: Broken pipe"];
    let lost = &crate::load::lost(&ended.record)[0].1;
    assert!(words.iter().any(|it| lost.contains(it)), "{lost}");
    none_is_left(&load);
}

#[test]
fn agents_on_hosts_end_with_a_killed_coordinator() {
    let Some(sshd) = hosts() else { return };
    let mut load = start(&sshd, "one,two:2", &long("60s"));
    load.under_way();
    assert_eq!(agents(&load).len(), 3);
    load.coordinator.signal(Signal::KILL);
    load.falls_silent();
    none_is_left(&load);
    let left = || !processes(&["-F", &config(&sshd)]).is_empty();
    assert!(until(GONE_AFTER, || !left()), "ssh is left");
}

/// The settings file in ssh's command line.
fn config(sshd: &Sshd) -> String {
    sshd.ssh().split(' ').nth(2).expect("a file").to_owned()
}

#[test]
fn the_user_stops_a_run_on_hosts() {
    let Some(sshd) = hosts() else { return };
    let mut load = start(&sshd, "one,two:2", &long("60s"));
    load.under_way();
    load.coordinator.signal(Signal::INT);
    let ended = load.coordinator.end_within(Duration::from_secs(10));
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert_eq!(lost(&ended.record), []);
    load.agrees(&ended, 0);
    none_is_left(&load);
}

#[test]
fn an_agent_that_stands_still_on_a_host_is_not_left_there() {
    let Some(sshd) = hosts() else { return };
    let flags = [&long("10s")[..], &["--grace", "1s"]].concat();
    let mut load = start(&sshd, "one,two:2", &flags);
    load.under_way();
    let run = load.run();
    kill(processes(&["agent", "--run", &run, "--index", "1"])[0], Signal::STOP);
    let ended = load.end();
    lost_one(&ended, "nothing heard for 3 s");
    none_is_left(&load);
}

#[test]
fn an_agent_beyond_a_cut_network_ends_by_itself() {
    let Some(sshd) = hosts() else { return };
    let flags = [&long("12s")[..], &["--grace", "1s"]].concat();
    let mut load = start(&sshd, "one,two:2", &flags);
    load.under_way();
    let run = load.run();
    let second = processes(&["agent", "--run", &run, "--index", "1"])[0];
    // ssh freezes, as if nothing came through the network.
    let line = format!("exec env SPRINGLOAD_BROKER= springload agent --run '{run}' --index 1");
    let ssh = processes(&[&line]);
    // The host's shell has become the agent.
    let [here] = ssh[..] else { panic!("{ssh:?}") };
    kill(here, Signal::STOP);
    assert!(until(Duration::from_secs(5), || !runs(second)), "it is left");
    let ended = load.end();
    lost_one(&ended, "nothing heard for 3 s");
    none_is_left(&load);
    assert!(until(GONE_AFTER, || !runs(here)), "ssh is left");
}
