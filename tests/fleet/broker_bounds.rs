//! Queues stay bounded if the coordinator is slow or the broker accepts nothing more.

use std::time::Duration;

use lapin::options::BasicPublishOptions;
use lapin::{BasicProperties, Connection, ConnectionProperties};
use springload::fleet::{Arrived, LARGEST, To, WAITING};

use crate::broker::{at, fleet, next, next_text, now, send, since, why_closed, why_cut};
use crate::servers::rabbitmq::RabbitMq;

/// Bytes of a message: many fit into every queue, and the bounds are reached soon.
const SIZE: usize = 256 << 10;
/// A sender that is refused for this long is blocked.
const STUCK: Duration = Duration::from_secs(2);

/// Message number `number`.
fn numbered(number: usize) -> Vec<u8> {
    let mut message = format!("{number} ").into_bytes();
    message.resize(SIZE, b'x');
    message
}

fn number_of(arrived: &Arrived) -> usize {
    let Arrived::Message(bytes) = arrived else { panic!("no message: {arrived:?}") };
    assert_eq!(bytes.len(), SIZE);
    let end = bytes.iter().position(|byte| *byte == b' ').expect("a space");
    std::str::from_utf8(&bytes[..end]).expect("text").parse().expect("a number")
}

#[test]
fn a_slow_coordinator_holds_up_agents_and_loses_nothing() {
    let Some(server) = RabbitMq::shared() else { return };
    let (coordinator, mut agents, _) = fleet(&at(&server.full_url()), 1);
    // The inbox, the broker's prefetch, its queue, the outbox, and one in transit each way.
    let most = WAITING + 256 + 2 * LARGEST / SIZE + WAITING + 2;
    let (mut taken, mut last) = (0, now());
    while since(last) < STUCK && taken <= most {
        if agents[0].outbox.send(To::All, numbered(taken)).is_ok() {
            (taken, last) = (taken + 1, now());
        } else {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    assert!((most / 2..=most).contains(&taken), "{taken} messages were taken, {most} are bearable");
    for number in 0..taken {
        assert_eq!(number_of(&next(&coordinator)), number);
    }
    assert!(agents[0].outbox.send(To::All, numbered(taken)).is_ok());
    assert_eq!(number_of(&next(&coordinator)), taken);
}

#[test]
fn an_agent_that_reads_nothing_holds_up_nobody() {
    let Some(server) = RabbitMq::shared() else { return };
    let (mut coordinator, agents, _) = fleet(&at(&server.full_url()), 2);
    // More than the silent agent's queue can hold.
    let count = WAITING + 32 + 2 * LARGEST / SIZE + 100;
    let (mut sent, mut read, mut last) = (0, 0, now());
    while read < count {
        let due = sent < count && sent < read + WAITING;
        if due && coordinator.outbox.send(To::All, numbered(sent)).is_ok() {
            (sent, last) = (sent + 1, now());
        } else if let Ok(arrived) = agents[0].inbox.recv_timeout(Duration::from_millis(2)) {
            assert_eq!(number_of(&arrived), read);
            (read, last) = (read + 1, now());
        }
        assert!(since(last) < 5 * STUCK, "{sent} messages were sent, {read} read");
    }
}

#[test]
fn a_broker_without_limits_or_heartbeats() {
    let Some(server) = RabbitMq::with("frame_max = 0\nheartbeat = 0\nchannel_max = 0") else {
        return;
    };
    for url in [server.full_url(), format!("{}?heartbeat=30", server.full_url())] {
        let (mut coordinator, mut agents, _) = fleet(&at(&url), 1);
        let large = vec![b'x'; 3 << 20];
        assert_eq!(agents[0].outbox.send(To::All, large.clone()), Ok(()));
        assert_eq!(coordinator.outbox.send(To::All, large.clone()), Ok(()));
        assert_eq!(next(&coordinator), Arrived::Message(large.clone()));
        assert_eq!(next(&agents[0]), Arrived::Message(large));
    }
}

#[test]
fn a_broker_that_takes_nothing_fills_outboxes_and_they_empty_again() {
    let Some(server) = RabbitMq::own() else { return };
    let (mut coordinator, mut agents, _) = fleet(&at(&server.full_url()), 1);
    send(&mut coordinator, To::All, "before");
    assert_eq!(next_text(&agents[0]), "before");
    // The memory alarm, which blocks publishers.
    server.control(&["set_vm_memory_high_watermark", "absolute", "1"]);
    let begun = now();
    let (mut down, mut up) = (0, 0);
    // Longer than heartbeats would allow.
    while since(begun) < Duration::from_secs(8) {
        down +=
            usize::from(coordinator.outbox.send(To::All, format!("down {down}").into()).is_ok());
        up += usize::from(agents[0].outbox.send(To::All, format!("up {up}").into()).is_ok());
        std::thread::sleep(Duration::from_millis(5));
    }
    // Messages that wait, and those in transit when the alarm is first noticed.
    assert!(down < 3 * WAITING && up < 3 * WAITING, "{down} and {up} messages were taken");
    server.control(&["set_vm_memory_high_watermark", "0.4"]);
    for number in 0..down {
        assert_eq!(next_text(&agents[0]), format!("down {number}"));
    }
    for number in 0..up {
        assert_eq!(next_text(&coordinator), format!("up {number}"));
    }
}

#[test]
fn a_message_that_is_too_large_closes_its_channel() {
    let Some(server) = RabbitMq::shared() else { return };
    let (coordinator, mut agents, run) = fleet(&at(&server.full_url()), 2);
    assert_eq!(agents[0].outbox.send(To::All, vec![0; LARGEST + 1]), Ok(()));
    let why = why_closed(&agents[0]);
    assert!(why.contains(&format!("{} bytes", LARGEST + 1)), "{why}");
    let Arrived::Cut(To::Agent(0), _) = next(&coordinator) else { panic!("only agent 0 is gone") };
    // The largest message is accepted.
    assert_eq!(agents[1].outbox.send(To::All, vec![0; LARGEST]), Ok(()));
    assert_eq!(next(&coordinator), Arrived::Message(vec![0; LARGEST]));

    // A larger one from another client.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let (url, properties) = (server.full_url(), ConnectionProperties::default());
        let connection = Connection::connect(&url, properties).await.expect("a connection");
        let channel = connection.create_channel().await.expect("a channel");
        let (queue, bytes) = (format!("springload.{run}.up"), vec![0; LARGEST + 1]);
        let (options, properties) = (BasicPublishOptions::default(), BasicProperties::default());
        let sent = channel.basic_publish("".into(), queue.into(), options, &bytes, properties);
        sent.await.expect("it is sent");
    });
    let why = why_closed(&coordinator);
    assert!(why.contains(&format!("{} bytes", LARGEST + 1)), "{why}");
    let why = why_cut(&agents[1]);
    assert!(why.contains("coordinator"), "{why}");
}
