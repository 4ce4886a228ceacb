//! Channels over a real RabbitMQ: what arrives, who is refused, and how losses are noticed.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use springload::clock::{Clock, Nanos};
use springload::fleet::{Arrived, Broker, Channel, To};

use crate::servers::rabbitmq::{PASSWORD, RabbitMq};

/// The limit for anything that is not timed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// The limit for noticing the loss of a broker: 4 to 5 s for that, and 2 s to leave.
const NOTICED: Duration = Duration::from_secs(8);

/// A run ID that no other test has.
pub(crate) fn run() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn now() -> Nanos {
    Clock::system().now()
}

pub(crate) fn since(begun: Nanos) -> Duration {
    Duration::from_nanos(now() - begun)
}

pub(crate) fn at(url: &str) -> Broker {
    Broker::parse("SPRINGLOAD_BROKER", url).expect("an address")
}

#[track_caller]
pub(crate) fn next(channel: &Channel) -> Arrived {
    channel.inbox.recv_timeout(PATIENCE).expect("something arrives")
}

#[track_caller]
pub(crate) fn next_text(channel: &Channel) -> String {
    match next(channel) {
        Arrived::Message(bytes) => String::from_utf8(bytes).expect("text"),
        other => panic!("no message: {other:?}"),
    }
}

#[track_caller]
pub(crate) fn why_closed(channel: &Channel) -> String {
    loop {
        match next(channel) {
            Arrived::Closed(why) => return why,
            Arrived::Message(_) | Arrived::AgentGone(..) | Arrived::Cut(..) => {}
        }
    }
}

/// The reason one end cannot reach the other at the moment.
#[track_caller]
pub(crate) fn why_cut(channel: &Channel) -> String {
    loop {
        match next(channel) {
            Arrived::Cut(To::All, why) => return why,
            Arrived::Message(_) | Arrived::Cut(To::Agent(_), _) => {}
            other => panic!("not cut: {other:?}"),
        }
    }
}

/// The next message, after anything else that arrives before it.
#[track_caller]
fn text_at_last(channel: &Channel) -> String {
    loop {
        match next(channel) {
            Arrived::Message(bytes) => return String::from_utf8(bytes).expect("text"),
            Arrived::Cut(..) => {}
            other => panic!("no message: {other:?}"),
        }
    }
}

#[track_caller]
pub(crate) fn send(channel: &mut Channel, to: To, text: &str) {
    let begun = now();
    while channel.outbox.send(to, text.as_bytes().to_vec()).is_err() {
        assert!(since(begun) < PATIENCE, "it is not taken");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The reason there is no channel: one line without a password.
#[track_caller]
pub(crate) fn refusal(refused: Result<Channel, String>) -> String {
    let message = refused.expect_err("it is refused");
    assert!(
        !message.contains('\n') && !message.contains(PASSWORD) && message.len() < 400,
        "{message}"
    );
    message
}

/// A coordinator and its agents.
pub(crate) fn fleet(broker: &Broker, agents: usize) -> (Channel, Vec<Channel>, String) {
    let run = run();
    let coordinator = broker.open(&run).expect("a coordinator");
    let join = |agent| broker.join(&run, agent, PATIENCE).expect("an agent");
    (coordinator, (0..agents).map(join).collect(), run)
}

#[test]
fn messages_go_both_ways_in_their_order() {
    let Some(server) = RabbitMq::shared() else { return };
    for url in [server.full_url(), server.tls_url()] {
        let (mut coordinator, mut agents, _) = fleet(&at(&url), 3);
        for number in 0..200 {
            send(&mut coordinator, To::All, &format!("all {number}"));
            send(&mut coordinator, To::Agent(1), &format!("one {number}"));
            send(&mut agents[2], To::All, &format!("up {number}"));
        }
        for number in 0..200 {
            for (index, agent) in agents.iter().enumerate() {
                assert_eq!(next_text(agent), format!("all {number}"));
                if index == 1 {
                    assert_eq!(next_text(agent), format!("one {number}"));
                }
            }
            assert_eq!(next_text(&coordinator), format!("up {number}"));
        }
        let large = "x".repeat(3 << 20);
        send(&mut agents[0], To::All, &large);
        send(&mut coordinator, To::Agent(0), &large);
        assert!(next_text(&coordinator) == large && next_text(&agents[0]) == large);
    }
}

#[test]
fn runs_do_not_hear_of_each_other() {
    let Some(server) = RabbitMq::shared() else { return };
    let broker = at(&server.full_url());
    let (mut first, mut agents, _) = fleet(&broker, 1);
    let (mut second, others, _) = fleet(&broker, 1);
    send(&mut first, To::All, "first");
    send(&mut second, To::All, "second");
    send(&mut agents[0], To::All, "up");
    assert_eq!((next_text(&agents[0]), next_text(&others[0])), ("first".into(), "second".into()));
    assert_eq!(next_text(&first), "up");
    assert!(second.inbox.try_recv().is_err());
}

#[test]
fn nobody_takes_a_place_that_is_taken() {
    let Some(server) = RabbitMq::shared() else { return };
    let broker = at(&server.full_url());
    let (mut coordinator, mut agents, run) = fleet(&broker, 1);
    let message = refusal(broker.join(&run, 0, PATIENCE));
    assert!(message.contains("has an agent 0 already") && message.contains("--index"), "{message}");
    let message = refusal(broker.open(&run));
    assert!(
        message.contains("has a coordinator already") && message.contains("--run-id"),
        "{message}"
    );
    // The existing members notice nothing.
    send(&mut coordinator, To::All, "down");
    send(&mut agents[0], To::All, "up");
    assert_eq!((next_text(&agents[0]), next_text(&coordinator)), ("down".into(), "up".into()));
    let message = refusal(broker.open(&"x".repeat(129)));
    assert!(message.contains("129 bytes"), "{message}");
}

#[test]
fn an_agent_waits_for_its_coordinator_but_not_for_ever() {
    let Some(server) = RabbitMq::shared() else { return };
    let broker = at(&server.full_url());
    let message = refusal(broker.join(&run(), 0, Duration::from_millis(600)));
    assert!(message.contains("no coordinator") && message.contains("--run-id"), "{message}");

    let run = run();
    let early = {
        let (broker, run) = (broker.clone(), run.clone());
        std::thread::spawn(move || broker.join(&run, 0, PATIENCE).expect("an agent"))
    };
    std::thread::sleep(Duration::from_secs(1));
    assert!(!early.is_finished());
    let mut coordinator = broker.open(&run).expect("a coordinator");
    let mut agent = early.join().expect("it joins");
    send(&mut agent, To::All, "ready");
    assert_eq!(next_text(&coordinator), "ready");
    send(&mut coordinator, To::All, "go");
    assert_eq!(next_text(&agent), "go");
}

#[test]
fn who_leaves_is_missed_and_what_was_sent_before_arrives() {
    let Some(server) = RabbitMq::shared() else { return };
    let (mut coordinator, mut agents, _) = fleet(&at(&server.full_url()), 2);
    let mut first = agents.remove(0);
    for number in 0..30 {
        send(&mut first, To::All, &number.to_string());
    }
    drop(first);
    for number in 0..30 {
        assert_eq!(next_text(&coordinator), number.to_string());
    }
    let Arrived::AgentGone(0, why) = next(&coordinator) else { panic!("agent 0 is missed") };
    assert!(why.contains("left"), "{why}");

    send(&mut coordinator, To::All, "stop");
    drop(coordinator);
    assert_eq!(next_text(&agents[0]), "stop");
    let why = why_closed(&agents[0]);
    assert!(why.contains("coordinator") && why.contains("left"), "{why}");
    assert!(agents[0].inbox.recv_timeout(PATIENCE).is_err(), "nothing comes after that");
    assert_eq!(agents[0].outbox.send(To::All, vec![1]), Ok(()), "nobody is waited for");
}

#[test]
fn who_loses_its_connection_comes_back() {
    let Some(server) = RabbitMq::shared() else { return };
    let broker = at(&server.full_url());
    let (mut coordinator, mut agents, run) = fleet(&broker, 2);
    for agent in &mut agents {
        send(agent, To::All, "ready");
        assert_eq!(next_text(&coordinator), "ready");
    }
    server.cut(&format!("springload.{run}.agent.1"));
    let why = why_cut(&agents[1]);
    assert!(why.contains("is lost") && why.contains("cut"), "{why}");
    send(&mut agents[1], To::All, "back");
    assert_eq!(text_at_last(&coordinator), "back");
    send(&mut coordinator, To::All, "all there");
    assert_eq!(
        (next_text(&agents[0]), next_text(&agents[1])),
        ("all there".into(), "all there".into())
    );

    server.cut(&format!("springload.{run}.up"));
    let why = why_cut(&coordinator);
    assert!(why.contains("is lost") && why.contains("cut"), "{why}");
    send(&mut coordinator, To::All, "back");
    for agent in &mut agents {
        assert_eq!(text_at_last(agent), "back");
        send(agent, To::All, "ready again");
        assert_eq!(text_at_last(&coordinator), "ready again");
    }
    let begun = now();
    drop((coordinator, agents));
    assert!(since(begun) < NOTICED);
}

#[test]
fn a_broker_that_is_killed_or_stopped_is_missed_at_both_ends() {
    for signal in ["KILL", "STOP"] {
        let Some(mut server) = RabbitMq::own() else { return };
        let (coordinator, agents, _) = fleet(&at(&server.full_url()), 2);
        let begun = now();
        let signalled =
            Command::new("kill").args([format!("-{signal}"), server.pid().to_string()]).status();
        assert!(signalled.expect("kill runs").success());
        for channel in agents.iter().chain([&coordinator]) {
            let why = why_cut(channel);
            assert!(why.contains("is lost"), "{why}");
            let after = since(begun);
            assert!(after < NOTICED, "{signal} noticed after {after:?}");
        }
        let begun = now();
        drop((coordinator, agents));
        assert!(since(begun) < NOTICED, "nothing waits for a broker that is lost");
        server.kill();
    }
}
