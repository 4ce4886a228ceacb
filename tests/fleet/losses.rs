//! Agents and coordinators that are killed, stopped, interrupted, or out of disk space: the others
//! stop, measured data is saved, and losses are reported. Agents here are children of their
//! coordinator, connected by pipes.

use crate::load::{Ended, Load, documents, kill, lost, runs, until};
use rustix::process::Signal;
use std::time::Duration;

/// The most requests of one agent of three since its last report.
pub(crate) const UNREPORTED: u64 = 250;

/// The flags of a run of this length, with at most 300 requests per second over all agents.
pub(crate) const fn long(time: &str) -> [&str; 4] {
    ["--think", "20ms", "-d", time]
}

/// Asserts that the run lost agent 1 of 3, for this reason.
#[track_caller]
pub(crate) fn lost_one(ended: &Ended, why: &str) {
    assert_eq!(lost_any(ended, why), 1);
}

/// Asserts that the run lost one agent of 3, for this reason. Returns its number.
#[track_caller]
pub(crate) fn lost_any(ended: &Ended, why: &str) -> usize {
    let lost = lost(&ended.record);
    assert_eq!(lost.len(), 1, "{lost:?}");
    let (index, reason) = &lost[0];
    assert!(reason.contains(why), "{lost:?}");
    let result = &ended.record["result"];
    assert!(ended.stdout.contains(&format!("agent {index}")), "{result}: {}", ended.stdout);
    let index = *index as usize;
    // The others continued to the end.
    let stage = ended.record["stages"].as_array().and_then(|it| it.last()).expect("a stage");
    let rows = stage["agents"].as_array().expect("agents");
    let of = |key: &str| rows.iter().map(|row| row[key].as_u64().unwrap_or(0)).collect::<Vec<_>>();
    let (requests, is_lost) = (of("requests"), rows.iter().map(|row| row["lost"] == true));
    assert_eq!(is_lost.collect::<Vec<_>>(), [0, 1, 2].map(|it| it == index));
    assert!(requests[index] > 0, "what it reported is kept: {requests:?}");
    let fewer = requests.iter().filter(|it| **it <= requests[index]).count();
    assert_eq!(fewer, 1, "{requests:?}");
    index
}

#[test]
fn a_killed_agent_is_lost_and_the_others_go_on() {
    for allowed in [false, true] {
        let allow: &[&str] = if allowed { &["--allow-lost"] } else { &[] };
        let mut load = Load::start(3, &[&long("6s")[..], allow].concat(), None);
        load.under_way();
        kill(load.coordinator.children()[1], Signal::KILL);
        let ended = load.end();
        lost_one(&ended, "killed by signal 9");
        let status = if allowed { ended.status() } else { ended.code };
        assert_eq!(status, Some(if allowed { 0 } else { 5 }), "{}", ended.stderr);
        load.agrees(&ended, UNREPORTED);
    }
}

#[test]
fn agents_of_a_killed_coordinator_stop() {
    let mut load = Load::start(3, &long("60s"), None);
    load.under_way();
    let agents = load.coordinator.children();
    assert_eq!(agents.len(), 3);
    let stages = |load: &Load| load.coordinator.record()["stages"].as_array().map_or(0, Vec::len);
    assert!(until(Duration::from_secs(30), || stages(&load) == 2), "it is not saved");
    load.coordinator.signal(Signal::KILL);
    load.falls_silent();
    let gone = until(Duration::from_secs(1), || !agents.iter().any(|&id| runs(id)));
    assert!(gone, "agents are left");
    // The finished stage is saved, and all but the last seconds of the other one.
    let ended = load.end();
    assert_eq!((ended.code, &ended.record["partial"]), (None, &true.into()));
    assert_eq!(documents(&ended.record, "bulk_insert"), 60);
    let stage = &ended.record["stages"][1];
    assert_eq!(stage["verdict"]["kind"], "unfinished");
    let saved = documents(&ended.record, "crud");
    assert!(saved > 0 && saved <= load.mixed(), "{saved} of {}", load.mixed());
    let of_agents = stage["agents"].as_array().expect("agents").iter();
    let of_agents: u64 = of_agents.filter_map(|agent| agent["ok"].as_u64()).sum();
    assert_eq!(of_agents, saved);
}

/// Stopped for less than the time after which it is lost, in an open and in a closed loop.
#[test]
fn an_agent_that_stood_still_for_a_while_is_accused_and_no_other() {
    for (guilty, flags) in [(1, &["--rate", "300", "-d", "6s"][..]), (0, &["-d", "6s"][..])] {
        let mut load = Load::start(3, flags, None);
        load.under_way();
        let stopped = load.coordinator.children()[guilty];
        kill(stopped, Signal::STOP);
        std::thread::sleep(Duration::from_millis(1_500));
        kill(stopped, Signal::CONT);
        let ended = load.end();
        assert!(lost(&ended.record).is_empty(), "{}", ended.stderr);
        let stage = ended.record["stages"].as_array().and_then(|it| it.last()).expect("a stage");
        let agents = stage["agents"].as_array().expect("agents");
        let of = |path: &str| -> Vec<f64> {
            let figure =
                |it: &serde_json::Value| it.pointer(path).and_then(serde_json::Value::as_f64);
            agents.iter().map(|agent| figure(agent).unwrap_or(0.0)).collect()
        };
        for path in ["/account/time/client_s", "/response/max_us"] {
            let found = of(path);
            let most = found.iter().copied().fold(0.0, f64::max);
            let slowest = found.iter().position(|it| it.total_cmp(&most).is_eq());
            assert_eq!(slowest, Some(guilty), "{path}: {found:?}");
        }
        let stood_s = of("/account/time/client_s")[guilty];
        assert!((1.3..3.0).contains(&stood_s), "{stood_s}");
        // Each request is in the times of exactly one agent.
        let timed: f64 = of("/response/samples").iter().sum();
        let served = stage["account"]["requests"]["served"].as_f64();
        assert_eq!(Some(timed), served);
        let warnings = ended.record["warnings"].as_array().expect("warnings");
        let messages = warnings.iter().filter_map(|it| it["message"].as_str());
        let messages: Vec<&str> = messages.filter(|it| it.contains("agent")).collect();
        let own = format!("springload on agent {guilty} was paused for ");
        assert!(messages.iter().any(|it| it.contains(&own)), "{messages:?}");
        // On a busy machine the others may also lack processors, which is reported for each; but
        // they were not paused, and nothing else is reported for one of them alone.
        let waited = |it: &str| it.contains("CPU: waited") && !it.contains("stood still");
        let busy = |it: &str| it.contains("too little CPU on agent") || waited(it);
        for message in messages.iter().filter(|it| !busy(it)) {
            let all = [format!("agent {guilty}"), "each agent".to_owned(), "agents".to_owned()];
            assert!(all.iter().any(|it| message.contains(it)), "{message}");
        }
    }
}

#[test]
fn an_agent_that_stands_still_is_lost() {
    let flags = [&long("10s")[..], &["--grace", "1s"]].concat();
    let mut load = Load::start(3, &flags, None);
    load.under_way();
    let stopped = load.coordinator.children()[1];
    kill(stopped, Signal::STOP);
    let ended = load.end();
    lost_one(&ended, "nothing heard for 3 s");
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    load.agrees(&ended, UNREPORTED);
    assert!(until(Duration::from_secs(2), || !runs(stopped)), "it is left behind");
}

#[test]
fn an_agent_that_goes_on_too_late_hands_in_what_it_measured() {
    let mut load = Load::start(3, &long("6s"), None);
    load.under_way();
    let stopped = load.coordinator.children()[1];
    kill(stopped, Signal::STOP);
    // Meanwhile the stage ends.
    std::thread::sleep(Duration::from_secs(6));
    kill(stopped, Signal::CONT);
    let ended = load.end();
    lost_one(&ended, "nothing heard for 3 s");
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    assert!(ended.stderr.contains("as it has handed them in"), "{}", ended.stderr);
    assert_eq!(ended.record["agents"][1]["lost"]["handed_in"], true);
    load.agrees(&ended, 0);
    assert!(until(Duration::from_secs(2), || !runs(stopped)), "it is left behind");
}

#[test]
fn the_user_stops_a_run_of_agents() {
    let mut load = Load::start(3, &long("60s"), None);
    load.under_way();
    let agents = load.coordinator.children();
    load.coordinator.signal(Signal::INT);
    let ended = load.coordinator.end_within(Duration::from_secs(10));
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert_eq!(ended.record["partial"], true);
    assert_eq!(lost(&ended.record), []);
    // Operations under way are waited for, and counted.
    load.agrees(&ended, 0);
    assert!(!agents.into_iter().any(runs), "agents are left");
}

#[test]
fn a_user_in_a_hurry_leaves_no_agents_behind() {
    let mut load = Load::start(3, &long("60s"), None);
    load.under_way();
    let agents = load.coordinator.children();
    // Two signals that arrive before the first is handled count as one.
    until(Duration::from_secs(20), || {
        load.coordinator.is_over() || {
            load.coordinator.signal(Signal::INT);
            false
        }
    });
    let ended = load.coordinator.end();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    load.falls_silent();
    assert!(!agents.into_iter().any(runs), "agents are left");
    assert_eq!(documents(&ended.record, "bulk_insert"), 60);
}

#[test]
fn a_full_disk_is_reported_and_leaves_no_agents_behind() {
    // Files are limited to 8 blocks; without the trap, the coordinator would be killed.
    let full = Some("trap '' XFSZ && ulimit -f 8");
    let mut load = Load::start_after(full, 3, &long("2s"), None);
    let ended = load.end();
    // The status of a busy machine takes precedence.
    assert!(matches!(ended.code, Some(1 | 5)), "{}", ended.stderr);
    assert!(ended.stderr.contains("cannot write out/run.json: "), "{}", ended.stderr);
    load.falls_silent();
}
