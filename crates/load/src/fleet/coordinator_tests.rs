//! A coordinator whose agents are played by the test: which are missed, and what happens to orders.

use super::*;
use crate::fleet::Full;
use crate::fleet::{SILENCE_NS, WAITING};
use std::sync::mpsc::sync_channel;

struct Nowhere;

impl Outbox for Nowhere {
    fn send(&mut self, _: To, _: Vec<u8>) -> Result<(), Full> {
        Ok(())
    }
}

fn said(agent: usize, body: Up) -> Arrived {
    numbered(agent, 0, body)
}

fn numbered(agent: usize, number: u64, body: Up) -> Arrived {
    let envelope = Envelope { run: "r".to_owned(), agent: Some(agent), sender: 7, number, body };
    Arrived::Message(envelope.encode())
}

#[test]
fn an_agent_is_missed_though_the_others_never_pause() {
    let (arrived, inbox) = sync_channel(WAITING);
    let channel_ = Channel { outbox: Box::new(Nowhere), inbox, lossy: true };
    let mut fleet = Fleet::new(channel_, "r", 2, Waits::default()).unwrap();
    fleet.gathered();
    for agent in 0..2 {
        arrived.send(said(agent, Up::Hello(Facts::default()))).unwrap();
    }
    // More often than the coordinator's patience requires.
    let talking = std::thread::spawn(move || {
        while arrived.send(said(0, Up::Alive)).is_ok() {
            std::thread::sleep(LOOK / 5);
        }
    });
    let until = fleet.clock.now() + 2 * SILENCE_NS;
    let lost = loop {
        match fleet.next(LOOK) {
            Some(Event::Lost(agent, why)) => break Some((agent, why)),
            _ if fleet.clock.now() > until => break None,
            _ => {}
        }
    };
    assert_eq!(lost, Some((1, "nothing heard for 3 s".to_owned())));
    assert_eq!(fleet.present(), [0]);
    drop(fleet);
    talking.join().unwrap();
}

type Sent = Arc<Mutex<Vec<(To, Vec<u8>)>>>;

/// An outbox with room for this many messages per agent, or for all together, which keeps them.
struct Narrow {
    room: usize,
    each: bool,
    sent: Sent,
}

impl Outbox for Narrow {
    fn send(&mut self, to: To, message: Vec<u8>) -> Result<(), Full> {
        let mut sent = self.sent.lock().unwrap();
        if sent.len() < self.room {
            sent.push((to, message));
            return Ok(());
        }
        Err(if self.each { Full::Agents(vec![1]) } else { Full::Channel })
    }
}

fn narrow(room: usize, each: bool, agents: usize) -> (Fleet, Sent) {
    let (arrived, inbox) = sync_channel(WAITING.max(agents));
    let sent = Arc::default();
    let outbox = Box::new(Narrow { room, each, sent: Arc::clone(&sent) });
    let mut fleet = Fleet::new(
        Channel { outbox, inbox, lossy: true },
        "r",
        agents,
        Waits { silence_ns: SECOND_NS / 2, ..Waits::default() },
    )
    .unwrap();
    fleet.gathering = false;
    // Its inbox stays open.
    std::mem::forget(arrived);
    for member in &mut fleet.members {
        (member.session, member.offset) = (Some(7), Some(Offset::default()));
        member.heard = fleet.clock.now();
    }
    (fleet, sent)
}

fn is_tick(message: &[u8]) -> bool {
    matches!(Envelope::<Down>::decode(message).unwrap().body, Down::Tick)
}

#[test]
fn an_order_waits_for_room() {
    let (mut fleet, sent) = narrow(1, false, 200);
    let emptied = std::thread::spawn({
        let sent = sent.clone();
        move || {
            let mut orders = Vec::new();
            let until = Clock::system().now() + 20 * SECOND_NS;
            while orders.len() < 3 && Clock::system().now() < until {
                std::thread::sleep(LOOK / 10);
                let taken = std::mem::take(&mut *sent.lock().unwrap());
                orders.extend(taken.into_iter().filter(|(_, it)| !is_tick(it)));
            }
            orders
        }
    });
    fleet.prepare(0);
    fleet.start(0, 9);
    fleet.over();
    let orders = emptied.join().unwrap();
    assert_eq!(orders.len(), 3);
    assert!(orders.iter().all(|(to, _)| *to == To::All));
    let start = Envelope::<Down>::decode(&orders[1].1).unwrap().body;
    let Down::Start { agents_ns, .. } = start else { panic!("{start:?}") };
    assert!(agents_ns.into_iter().eq((0..200).map(|agent| (agent, 9))));
    assert_eq!(fleet.present().len(), 200);
}

#[test]
fn who_takes_no_order_is_lost() {
    let (mut fleet, _) = narrow(0, true, 3);
    fleet.prepare(0);
    assert_eq!(fleet.present(), [0, 2]);
    let Some(Event::Lost(1, why)) = fleet.next(LOOK) else { panic!("it is told") };
    assert_eq!(why, "it took no messages for 0.5 s");
    // It is not waited for again.
    let begun = fleet.clock.now();
    fleet.over();
    assert!(fleet.clock.now() - begun < SECOND_NS / 4);
    let (mut fleet, _) = narrow(0, false, 3);
    fleet.prepare(0);
    let Some(Event::Lost(0, why)) = fleet.next(LOOK) else { panic!("it is told") };
    assert_eq!(why, "the channel to the agents took no messages for 0.5 s");
}

#[test]
fn an_agent_that_answers_no_ping_is_lost() {
    let (mut fleet, _) = narrow(usize::MAX, true, 1);
    let heard = fleet.clock.now() + 60 * SECOND_NS;
    fleet.members[0].heard = heard;
    fleet.measure_clocks();
    assert_eq!(fleet.present(), [0], "its clock was known before");
    fleet.members[0].offset = None;
    fleet.measure_clocks();
    let Some(Event::Lost(0, why)) = fleet.next(LOOK) else { panic!("it is told") };
    assert_eq!(why, "its clock is not known: no ping was answered for 0.5 s");
}

#[test]
fn seconds_that_have_not_come_are_not_believed() {
    let (arrived, inbox) = sync_channel(WAITING);
    let mut fleet = Fleet::new(
        Channel { outbox: Box::new(Nowhere), inbox, lossy: true },
        "r",
        1,
        Waits::default(),
    );
    let fleet = fleet.as_mut().unwrap();
    let snapshot = |second| {
        let (intervals, inquiries) = (vec![Interval::new(second)], Inquiries::default());
        Up::Snapshot { stage: 0, intervals, inquiries }
    };
    let bodies = [Up::Hello(Facts::default()), snapshot(60), snapshot(u32::MAX)];
    for (number, body) in (0..).zip(bodies) {
        arrived.send(numbered(0, number, body)).unwrap();
    }
    assert!(matches!(fleet.next(LOOK), Some(Event::Hello)));
    assert!(matches!(fleet.next(LOOK), Some(Event::Snapshot(0, 0, ..))));
    let lost = fleet.next(LOOK);
    assert!(matches!(lost, Some(Event::Lost(0, why)) if why.contains("has not come")));
}

/// A fleet of one agent that is present, the messages sent to it, and the agent's end.
fn one(waits: Waits) -> (Fleet, Sent, std::sync::mpsc::SyncSender<Arrived>) {
    let (arrived, inbox) = sync_channel(WAITING);
    let sent = Sent::default();
    let outbox = Narrow { room: usize::MAX, each: false, sent: sent.clone() };
    let channel_ = Channel { outbox: Box::new(outbox), inbox, lossy: true };
    let mut fleet = Fleet::new(channel_, "r", 1, waits).unwrap();
    fleet.gathered();
    arrived.send(said(0, Up::Hello(Facts::default()))).unwrap();
    assert!(matches!(fleet.next(LOOK), Some(Event::Hello)));
    (fleet, sent, arrived)
}

fn was_sent(sent: &Sent, words: &str) -> bool {
    let sent = sent.lock().unwrap();
    sent.iter().any(|(_, it)| String::from_utf8_lossy(it).contains(words))
}

#[test]
fn what_is_missing_is_asked_for_and_nothing_counts_twice() {
    let (mut fleet, sent, arrived) = one(Waits::default());
    let ready = |number, stage| numbered(0, number, Up::Ready { stage });
    let mut heard = |message| {
        arrived.send(message).unwrap();
        fleet.next(LOOK)
    };
    assert!(matches!(heard(ready(1, 1)), Some(Event::Ready(0, 1))));
    assert!(heard(ready(1, 1)).is_none(), "again");
    assert!(heard(ready(3, 3)).is_none(), "too early");
    assert!(was_sent(&sent, r#""resend":{"after":1}"#));
    assert!(matches!(heard(ready(2, 2)), Some(Event::Ready(0, 2))));
    assert!(matches!(heard(ready(3, 3)), Some(Event::Ready(0, 3))));
    // If something is missing for good, the agent is lost.
    assert!(heard(numbered(0, 9, Up::Forgotten)).is_some_and(|it| matches!(it, Event::Lost(0, _))));
}

#[test]
fn a_lost_agent_may_hand_in_what_it_measured_and_only_for_so_long() {
    for (grace_ns, in_time) in [(60 * SECOND_NS, true), (0, false)] {
        let (mut fleet, sent, arrived) = one(Waits { silence_ns: SECOND_NS / 2, grace_ns });
        let why = loop {
            if let Some(Event::Lost(0, why)) = fleet.next(LOOK) {
                break why;
            }
        };
        assert_eq!((why.as_str(), fleet.awaits(0)), ("nothing heard for 0.5 s", in_time));
        arrived.send(numbered(0, 1, Up::Ready { stage: 1 })).unwrap();
        assert_eq!(fleet.next(LOOK).is_some(), in_time);
        assert_eq!(was_sent(&sent, r#""leave""#), in_time);
        assert_eq!(was_sent(&sent, r#""quit""#), !in_time);
        arrived.send(Arrived::AgentGone(0, "killed".to_owned())).unwrap();
        assert!(fleet.next(LOOK).is_none() && !fleet.awaits(0), "it cannot any more");
    }
}

#[test]
fn until_the_first_stage_whoever_has_come_may_be_silent_for_longer() {
    let (mut fleet, sent, _arrived) = one(Waits { silence_ns: SECOND_NS / 5, ..Waits::default() });
    fleet.gathering = true;
    let silent_for = |fleet: &mut Fleet, most_ns: Nanos| {
        let until = fleet.clock.now() + most_ns;
        while fleet.clock.now() < until {
            if let Some(Event::Lost(0, why)) = fleet.next(LOOK) {
                return Some(why);
            }
        }
        None
    };
    assert_eq!(silent_for(&mut fleet, SECOND_NS), None, "others are still being started");
    fleet.gathered();
    assert!(was_sent(&sent, r#""silence_ns":200000000"#), "it has to know");
    assert_eq!(silent_for(&mut fleet, SECOND_NS).as_deref(), Some("nothing heard for 0.2 s"));
    let (mut fleet, _sent, _arrived) = one(Waits { silence_ns: SECOND_NS / 5, ..Waits::default() });
    fleet.gathering = true;
    let for_good = silent_for(&mut fleet, 20 * SECOND_NS);
    assert_eq!(for_good.as_deref(), Some("nothing heard for 2 s"), "but not for ever");
}

#[test]
fn who_is_cut_off_has_that_as_the_reason_unless_it_is_heard_again() {
    for again in [false, true] {
        let (mut fleet, _sent, arrived) = one(Waits { silence_ns: SECOND_NS / 2, grace_ns: 0 });
        arrived.send(Arrived::Cut(To::All, "the broker is gone".to_owned())).unwrap();
        assert!(fleet.next(LOOK).is_none());
        if again {
            arrived.send(said(0, Up::Alive)).unwrap();
        }
        let why = loop {
            if let Some(Event::Lost(0, why)) = fleet.next(LOOK) {
                break why;
            }
        };
        let reason = if again { "nothing heard for 0.5 s" } else { "the broker is gone" };
        assert_eq!(why, reason);
    }
}
