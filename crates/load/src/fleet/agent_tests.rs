//! An agent whose coordinator is a test: what it does on orders, and without any.

use super::*;
use crate::engine::{LoadCounts, ShardResult, Watched};
use crate::fleet::{Full, Outbox, To};
use crate::measure::{FillLog, Hiccups, RawRow, Served};
use crate::op::{ByKind, OpKind};
use std::sync::mpsc::{SyncSender, sync_channel};

/// Passes on the messages of an agent.
struct Heard(Sender<Vec<u8>>);

impl Outbox for Heard {
    fn send(&mut self, _: To, message: Vec<u8>) -> Result<(), Full> {
        self.0.send(message).map_err(|_| Full::Channel)
    }
}

struct Bed {
    agent: Agent,
    orders: SyncSender<Arrived>,
    heard: Receiver<Vec<u8>>,
}

impl Bed {
    fn new(patience_ns: Nanos) -> Self {
        let (said, heard) = channel();
        let (orders, inbox) = sync_channel(100);
        let channel_ = Channel { outbox: Box::new(Heard(said)), inbox, lossy: true };
        let (run, index, facts) = ("r".to_owned(), 3, Facts::default());
        let who = Identity { run, index, facts, patience_ns, bound: true, clock_ahead_ns: 0 };
        Self { agent: Agent::join(channel_, who).unwrap(), orders, heard }
    }

    fn tell(&self, agent: Option<usize>, sender: u64, body: Down) {
        let envelope = Envelope { run: "r".to_owned(), agent, sender, number: 0, body };
        self.orders.send(Arrived::Message(envelope.encode())).unwrap();
    }

    /// The next message of the agent that `wanted` picks.
    fn next<T>(&self, wanted: impl Fn(Up) -> Option<T>) -> T {
        loop {
            let message = self.heard.recv_timeout(Duration::from_secs(20)).unwrap();
            let envelope = Envelope::<Up>::decode(&message).unwrap();
            assert_eq!((envelope.run.as_str(), envelope.agent), ("r", Some(3)));
            if let Some(found) = wanted(envelope.body) {
                return found;
            }
        }
    }
}

fn shard(outage: (Nanos, Nanos)) -> ShardResult<()> {
    let mut watched = Watched::default();
    watched.loss.pauses.add(outage.0, outage.1);
    ShardResult {
        lanes: Vec::new(),
        issued: ByKind::default(),
        load: LoadCounts::default(),
        watched,
        fill: FillLog::default(),
        elapsed_ns: 0,
        cpu_ns: 0,
        nodes: Vec::new(),
        sent: Served::default(),
    }
}

#[test]
fn what_it_sends_has_times_on_the_coordinators_clock() {
    let bed = Bed::new(60 * SECOND_NS);
    let start = Arc::new(Start::gated(1));
    bed.agent.begin(4, start.clone());
    let (own, theirs) = (9_000 * SECOND_NS, 70 * SECOND_NS);
    let agents_ns = std::collections::BTreeMap::from([(2, 0), (3, own)]);
    let said = |stage| Down::Start { stage, agents_ns: agents_ns.clone(), coordinators_ns: theirs };
    bed.tell(Some(3), 1, said(5));
    bed.tell(Some(3), 1, said(4));
    bed.next(|it| matches!(it, Up::Started { stage: 4 }).then_some(()));
    // Answered in order, so the start has been received.
    bed.tell(Some(3), 1, Down::Ping { id: 8 });
    bed.next(|it| matches!(it, Up::Pong { id: 8, .. }).then_some(()));
    let mut interval = Interval::new(2);
    let (kind, done) = (OpKind::Read, own + 3);
    let row = RawRow { kind, failure: None, done, service_ns: 1, response_ns: 2 };
    interval.raw.push(row);
    let asks = |until| Inquiries { writes: 2, until, stopped: false };
    assert!(bed.agent.snapshot(4, vec![interval.clone()], asks(own + 9)));
    let shards = vec![shard((own + SECOND_NS, own + 2 * SECOND_NS))];
    let (hiccups, stopped) = (Hiccups::default(), Some(StopReason::Interrupted));
    bed.agent.end(
        vec![interval],
        StageEnd { stage: 4, shards, hiccups, stopped, noted: None, left: None },
    );
    for asked in [asks(theirs + 9), Inquiries::default()] {
        let (intervals, inquiries) = bed.next(|it| match it {
            Up::Snapshot { stage: 4, intervals, inquiries } => Some((intervals, inquiries)),
            _ => None,
        });
        assert_eq!(inquiries, asked);
        assert_eq!(intervals[0].raw[0], RawRow { done: theirs + 3, ..row });
        assert_eq!(intervals[0].second, 2);
    }
    let end = bed.next(|it| if let Up::Ended(end) = it { Some(end) } else { None });
    let pause = end.shards[0].watched.loss.pauses.longest(theirs, 1)[0];
    assert!((pause.from_s - 1.0).abs() < 1e-9 && (pause.length_s - 1.0).abs() < 1e-9);
    assert_eq!(end.stopped, Some(StopReason::Interrupted));
}

#[test]
fn it_obeys_the_first_who_speaks_to_it_and_nobody_else() {
    let bed = Bed::new(60 * SECOND_NS);
    bed.tell(Some(2), 7, Down::Over);
    bed.orders.send(Arrived::Message(b"{}".to_vec())).unwrap();
    bed.tell(None, 7, Down::Prepare { stage: 1 });
    bed.tell(None, 8, Down::Prepare { stage: 2 });
    bed.tell(None, 7, Down::Over);
    assert!(matches!(bed.agent.order(), Order::Prepare(1)));
    assert!(matches!(bed.agent.order(), Order::Over));
}

#[test]
fn a_stop_reaches_threads_that_run_and_those_that_wait_for_their_start() {
    let bed = Bed::new(60 * SECOND_NS);
    let (stop, start) = (Arc::new(Stop::default()), Arc::new(Start::gated(1)));
    bed.agent.heed(stop.clone());
    bed.agent.begin(0, start.clone());
    let waits = std::thread::spawn({
        let start = start.clone();
        move || start.place().wait(Clock::system())
    });
    bed.tell(None, 7, Down::Stop { reason: StopReason::Interrupted });
    waits.join().unwrap();
    assert_eq!(stop.reason(), Some(StopReason::Interrupted));
    // A stage that begins after it starts at once.
    let late = Arc::new(Start::gated(1));
    bed.agent.begin(1, late.clone());
    late.place().wait(Clock::system());
}

#[test]
fn an_agent_that_nobody_speaks_to_stops_by_itself() {
    for (patience_ns, spoken, words) in [
        (SECOND_NS / 2, false, "no coordinator within 0 s"),
        (60 * SECOND_NS, true, "nothing heard from the coordinator for 3 s"),
    ] {
        let bed = Bed::new(patience_ns);
        let (stop, start) = (Arc::new(Stop::default()), Arc::new(Start::gated(1)));
        bed.agent.heed(stop.clone());
        bed.agent.begin(0, start.clone());
        if spoken {
            bed.tell(Some(3), 7, Down::Welcome { silence_ns: SILENCE_NS, grace_ns: 0 });
        }
        let Order::Lost(why) = bed.agent.order() else { panic!("another order") };
        assert_eq!(why, words);
        assert_eq!(stop.reason(), Some(StopReason::Aborted));
        start.place().wait(Clock::system());
    }
}

#[test]
fn a_welcome_says_how_long_the_coordinator_may_be_silent() {
    // It has waited for longer than it would for a coordinator to appear, and for half the silence
    // allowed.
    let bed = Bed::new(SECOND_NS / 2);
    bed.next(|it| matches!(it, Up::Hello(_)).then_some(()));
    bed.tell(Some(3), 7, Down::Welcome { silence_ns: 2 * SECOND_NS, grace_ns: 0 });
    bed.tell(None, 7, Down::Tick);
    std::thread::sleep(Duration::from_secs(1));
    bed.tell(None, 7, Down::Over);
    assert!(matches!(bed.agent.order(), Order::Over));
    let Order::Lost(why) = bed.agent.order() else { panic!("another order") };
    assert_eq!(why, "nothing heard from the coordinator for 2 s");
}

#[test]
fn a_lost_agent_stops_at_once_and_hands_in_what_it_measured() {
    let bed = Bed::new(60 * SECOND_NS);
    let (stop, start) = (Arc::new(Stop::default()), Arc::new(Start::gated(1)));
    bed.agent.heed(stop.clone());
    bed.agent.begin(2, start.clone());
    let waits = Down::Welcome { silence_ns: SECOND_NS / 2, grace_ns: 60 * SECOND_NS };
    bed.tell(Some(3), 7, waits);
    start.place().wait(Clock::system());
    assert_eq!(stop.reason(), Some(StopReason::Interrupted));
    let end = || StageEnd {
        stage: 2,
        shards: Vec::new(),
        hiccups: Hiccups::default(),
        stopped: None,
        noted: None,
        left: None,
    };
    bed.agent.end(vec![Interval::new(0)], end());
    let why = "nothing heard from the coordinator for 0 s";
    let left = |it| if let Up::Ended(end) = it { end.left } else { None };
    assert_eq!(bed.next(left), why);
    // It no longer obeys orders, but resends what is missing.
    bed.tell(None, 7, Down::Prepare { stage: 3 });
    bed.tell(Some(3), 7, Down::Resend { after: 0 });
    bed.next(|it| matches!(it, Up::Snapshot { stage: 2, .. }).then_some(()));
    assert_eq!(bed.next(left), why);
    bed.tell(Some(3), 7, Down::Quit { why: None });
    let Order::Lost(reason) = bed.agent.order() else { panic!("another order") };
    assert_eq!((reason.as_str(), stop.reason()), (why, Some(StopReason::Aborted)));
}

#[test]
fn an_agent_that_is_lost_between_stages_says_so() {
    let bed = Bed::new(60 * SECOND_NS);
    bed.tell(Some(3), 7, Down::Leave { why: "it was too late".to_owned() });
    let reason = bed.next(|it| if let Up::Failed { why } = it { Some(why) } else { None });
    assert_eq!(reason, "it was too late");
    bed.tell(None, 7, Down::Over);
    assert!(matches!(bed.agent.order(), Order::Lost(why) if why == reason));
}

#[test]
fn a_closed_channel_ends_it_at_once() {
    let bed = Bed::new(60 * SECOND_NS);
    let stop = Arc::new(Stop::default());
    bed.agent.heed(stop.clone());
    bed.orders.send(Arrived::Closed("the broker is gone".to_owned())).unwrap();
    let Order::Lost(why) = bed.agent.order() else { panic!("another order") };
    assert_eq!((why.as_str(), stop.reason()), ("the broker is gone", Some(StopReason::Aborted)));
}
