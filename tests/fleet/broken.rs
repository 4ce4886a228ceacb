//! The same over RabbitMQ, where agents are separate processes, and may be late or uninvited.

use crate::load::{Load, Spring, documents, lost, until};
use crate::losses::{UNREPORTED, long, lost_one};
use crate::servers::rabbitmq::RabbitMq;
use rustix::process::Signal;
use springload::fleet::{Broker, To};
use std::time::Duration;

/// Waits for the agents of a run that is lost: each must report that and exit with 3.
#[track_caller]
fn agents_give_up(load: &mut Load, why: &str) {
    for agent in &mut load.agents {
        let ended = agent.end_within(Duration::from_secs(5));
        assert_eq!(ended.code, Some(3), "{}", ended.stderr);
        assert!(ended.stderr.starts_with("error: agent "), "{}", ended.stderr);
        assert!(ended.stderr.contains(why), "{}", ended.stderr);
    }
}

/// The same flags as in [`long`], with shorter waits for a lost side.
fn impatient(time: &str) -> [&str; 6] {
    let [think, pause, d, time] = long(time);
    [think, pause, d, time, "--grace", "1s"]
}

#[test]
fn a_broker_that_is_started_again_loses_nothing_that_was_measured() {
    let Some(mut server) = RabbitMq::own() else { return };
    let broker = server.full_url();
    // A broker can take a minute to start on a very busy machine, so wait longer than that.
    let flags = [&long("60s")[..], &["--grace", "200s"]].concat();
    let mut load = Load::start(3, &flags, Some((&broker, &[0, 1, 2])));
    load.under_way();
    server.kill();
    load.falls_silent();
    server.start_again();
    let ended = load.coordinator.end_within(Duration::from_secs(200));
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    assert_eq!(lost(&ended.record).len(), 3);
    for agent in ended.record["agents"].as_array().expect("agents") {
        assert_eq!(agent["lost"]["handed_in"], true, "{agent}");
    }
    load.agrees(&ended, 0);
    agents_give_up(&mut load, "the broker");
}

#[test]
fn a_connection_that_breaks_for_a_moment_loses_nobody() {
    let Some(server) = RabbitMq::shared() else { return };
    let broker = server.full_url();
    let mut load = Load::start(3, &long("8s"), Some((&broker, &[0, 1, 2])));
    load.under_way();
    for queue in ["agent.1", "up"] {
        server.cut(&format!("springload.{}.{queue}", load.run()));
    }
    let ended = load.end();
    assert_eq!(lost(&ended.record), [], "{}", ended.stderr);
    assert_eq!(ended.status(), Some(0), "{}", ended.stderr);
    load.agrees(&ended, 0);
}

#[test]
fn a_killed_agent_is_lost_and_the_others_go_on() {
    let Some(server) = RabbitMq::shared() else { return };
    let broker = server.full_url();
    let mut load = Load::start(3, &impatient("6s"), Some((&broker, &[0, 1, 2])));
    load.under_way();
    load.agents[1].signal(Signal::KILL);
    let ended = load.end();
    lost_one(&ended, "");
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    load.agrees(&ended, UNREPORTED);
    for agent in [0, 2] {
        let ended = load.agents[agent].end_within(Duration::from_secs(5));
        assert_eq!((ended.code, &ended.stderr[..]), (Some(0), ""));
    }
}

#[test]
fn agents_of_a_killed_coordinator_stop() {
    let Some(server) = RabbitMq::shared() else { return };
    let broker = server.full_url();
    let mut load = Load::start(3, &impatient("60s"), Some((&broker, &[0, 1, 2])));
    load.under_way();
    load.coordinator.signal(Signal::KILL);
    load.falls_silent();
    agents_give_up(&mut load, "coordinator");
    let ended = load.end();
    assert_eq!((ended.code, &ended.record["partial"]), (None, &true.into()));
    assert_eq!(documents(&ended.record, "bulk_insert"), 60);
}

#[test]
fn a_killed_broker_ends_the_run_and_what_was_measured_is_saved() {
    let Some(mut server) = RabbitMq::own() else { return };
    let broker = server.full_url();
    let mut load = Load::start(3, &impatient("60s"), Some((&broker, &[0, 1, 2])));
    load.under_way();
    server.kill();
    load.falls_silent();
    agents_give_up(&mut load, "the broker");
    let ended = load.end();
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    assert!(ended.stderr.contains("all 3 agents were lost"), "{}", ended.stderr);
    assert!(ended.stderr.contains("the broker"), "{}", ended.stderr);
    assert_eq!(lost(&ended.record).len(), 3);
    assert!(documents(&ended.record, "crud") > 0);
    let stage = ended.record["stages"].as_array().and_then(|it| it.last()).expect("a stage");
    let took_s = stage["measured_s"].as_f64().expect("a time");
    assert!((1.0..30.0).contains(&took_s), "{took_s}");
    // Until they are sure that it does not come back, the agents continue.
    load.agrees(&ended, 6 * UNREPORTED);
}

#[test]
fn an_agent_that_stood_still_stops_when_it_goes_on() {
    let Some(server) = RabbitMq::shared() else { return };
    let broker = server.full_url();
    let mut load = Load::start(1, &impatient("60s"), Some((&broker, &[0])));
    load.under_way();
    load.agents[0].signal(Signal::STOP);
    let ended = load.coordinator.end_within(Duration::from_secs(10));
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    assert!(ended.stderr.contains("nothing heard for 3 s"), "{}", ended.stderr);
    let before = load.requests();
    load.agents[0].signal(Signal::CONT);
    agents_give_up(&mut load, "");
    // Each of its connections may have sent one request that was due before the agent noticed.
    let more = load.requests() - before;
    assert!(more <= 6, "{more} requests");
}

#[test]
fn an_agent_may_be_silent_for_as_long_as_asked() {
    let Some(server) = RabbitMq::shared() else { return };
    // The broker must not close the connection in the meantime.
    let broker = format!("{}?heartbeat=10", server.full_url());
    let flags = ["--silence", "8s"];
    let flags = [&long("9s")[..], &flags].concat();
    let mut load = Load::start(2, &flags, Some((&broker, &[0, 1])));
    load.under_way();
    load.agents[1].signal(Signal::STOP);
    std::thread::sleep(Duration::from_secs(4));
    load.agents[1].signal(Signal::CONT);
    let ended = load.end();
    assert_eq!(lost(&ended.record), [], "{}", ended.stderr);
    load.agrees(&ended, 0);
    for agent in &mut load.agents {
        assert_eq!(agent.end_within(Duration::from_secs(5)).code, Some(0));
    }
}

#[test]
fn agents_that_do_not_come_are_named_and_the_others_dismissed() {
    let Some(server) = RabbitMq::shared() else { return };
    let broker = server.full_url();
    let flags = ["-d", "60s", "--ready-timeout", "2s"];
    let mut load = Load::start(3, &flags, Some((&broker, &[1])));
    let ended = load.coordinator.end_within(Duration::from_secs(10));
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    let message = "agents 0 and 2 of 3 did not join within 2 s";
    assert!(ended.stderr.contains(message), "{}", ended.stderr);
    let ended = load.agents[0].end_within(Duration::from_secs(5));
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains(message), "{}", ended.stderr);
    assert_eq!(load.requests(), 0);
}

#[test]
fn what_others_say_changes_nothing() {
    let Some(server) = RabbitMq::shared() else { return };
    let broker = server.full_url();
    let mut load = Load::start(2, &long("4s"), Some((&broker, &[0, 1])));
    load.under_way();
    let run = format!("t{}", load.server.url.rsplit(':').next().expect("a port"));
    // An uninvited agent, which poses as itself, as others, and as part of another run.
    let place = Broker::parse("--broker", &broker).expect("an address");
    let mut stranger = place.join(&run, 7, crate::broker::PATIENCE).expect("a channel");
    let snapshot =
        r#"{"snapshot":{"stage":1,"intervals":[{"second":0,"waited_ns":9,"kinds":[]}]}}"#;
    let failed = r#"{"failed":{"why":"made up"}}"#;
    for words in ["", "{", "null", "[1,2]", "\u{0}\u{1}", failed] {
        assert!(stranger.outbox.send(To::All, words.as_bytes().to_vec()).is_ok());
    }
    for (run, agent) in [(&run[..], "7"), (&run, "0"), (&run, "null"), ("other", "0")] {
        for body in [failed, snapshot, r#"{"hello":{}}"#, r#""alive""#] {
            let words = format!(r#"{{"run":"{run}","agent":{agent},"sender":5,"body":{body}}}"#);
            assert!(stranger.outbox.send(To::All, words.into_bytes()).is_ok());
        }
    }
    let ended = load.end();
    assert_eq!(ended.status(), Some(0), "{}", ended.stderr);
    assert_eq!(lost(&ended.record), []);
    load.agrees(&ended, 0);
}

#[test]
fn an_agent_of_another_run_waits_and_leaves() {
    let Some(server) = RabbitMq::shared() else { return };
    let words = ["agent", "--run", "nobodys", "--index", "0", "--ready-timeout", "1s"];
    let mut agent = Spring::start(&words, Some(&server.full_url()));
    assert!(until(Duration::from_secs(20), || agent.is_over()), "it waits for ever");
    let ended = agent.end();
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains("no coordinator"), "{}", ended.stderr);
}
