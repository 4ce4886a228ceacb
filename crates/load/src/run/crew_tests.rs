//! Agents and their coordinator in one process, against the stand-in: clocks that differ, agents
//! that fall silent, and bytes that are not messages.

use super::super::{Observer, Progress, RunError, RunRecord, run_with, serve};
use crate::clock::{Clock, SECOND_NS};
use crate::engine::{Stop, StopReason};
use crate::fleet::{
    Agent, Arrived, Channel, Facts, Fleet, Full, Identity, Outbox, To, WAITING, Waits,
};
use crate::mistake::Flagged;
use crate::plan::{FleetPlan, Plan, PlanRecord, PlanSpec, check};
use crate::workload::{DocumentsAsked, Mix, MixedDemand};
use springload_embedded::{Options, StandIn, bind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

/// The wires between a coordinator and its agents. A wire that is cut carries nothing.
struct Wires {
    agents: Vec<SyncSender<Arrived>>,
    cut: Arc<Vec<AtomicBool>>,
}

impl Outbox for Wires {
    fn send(&mut self, to: To, message: Vec<u8>) -> Result<(), Full> {
        for (index, agent) in self.agents.iter().enumerate() {
            let meant = to == To::All || to == To::Agent(index);
            if meant && !self.cut[index].load(Ordering::Relaxed) {
                let _ = agent.try_send(Arrived::Message(message.clone()));
            }
        }
        Ok(())
    }
}

/// What happens to a message from the agent of this number; `None`: it gets lost.
type Alter = fn(usize, Vec<u8>) -> Option<Vec<u8>>;

/// An agent's end.
struct Wire {
    alter: Alter,
    coordinator: SyncSender<Arrived>,
    index: usize,
    cut: Arc<Vec<AtomicBool>>,
}

impl Outbox for Wire {
    fn send(&mut self, _: To, message: Vec<u8>) -> Result<(), Full> {
        let cut = self.cut[self.index].load(Ordering::Relaxed);
        let message = (self.alter)(self.index, message).filter(|_| !cut);
        let sent = message.map_or(Ok(()), |it| self.coordinator.send(Arrived::Message(it)));
        sent.map_err(|_| Full::Channel)
    }
}

/// A coordinator's channel, and running agents whose clocks are ahead by `ahead_ns`.
fn fleet(ahead_ns: &[i64]) -> (Fleet, Arc<Vec<AtomicBool>>, SyncSender<Arrived>) {
    fleet_of(ahead_ns.len(), ahead_ns, |_, message| Some(message))
}

/// The same for a run that expects this many agents and alters their messages.
fn fleet_of(
    expected: usize,
    ahead_ns: &[i64],
    alter: Alter,
) -> (Fleet, Arc<Vec<AtomicBool>>, SyncSender<Arrived>) {
    let (to_coordinator, inbox) = sync_channel(WAITING);
    let cut: Arc<Vec<_>> = Arc::new(ahead_ns.iter().map(|_| AtomicBool::new(false)).collect());
    let mut agents = Vec::new();
    for (index, &clock_ahead_ns) in ahead_ns.iter().enumerate() {
        let (to_agent, orders) = sync_channel(WAITING);
        agents.push(to_agent);
        let outbox = Wire { alter, coordinator: to_coordinator.clone(), index, cut: cut.clone() };
        let channel = Channel { outbox: Box::new(outbox), inbox: orders, lossy: true };
        let facts = Facts { version: env!("CARGO_PKG_VERSION").to_owned(), ..Facts::default() };
        let patience_ns = 60 * SECOND_NS;
        let run = "test".to_owned();
        let who = Identity { run, index, facts, patience_ns, bound: true, clock_ahead_ns };
        std::thread::spawn(move || serve(&Agent::join(channel, who).unwrap()));
    }
    let outbox = Wires { agents, cut: cut.clone() };
    let channel = Channel { outbox: Box::new(outbox), inbox, lossy: true };
    // Agents that do not return are not worth a long wait.
    let waits = Waits { grace_ns: 4 * SECOND_NS, ..Waits::default() };
    (Fleet::new(channel, "test", expected, waits).unwrap(), cut, to_coordinator)
}

/// A closed loop of reads and updates on `connections`, after a fill.
fn plan(connections: u64, agents: usize, operations: Option<u64>, seconds: u64) -> Plan {
    plan_of(connections, agents, operations, seconds, false)
}

/// The same; `audit`: with an audit at the end.
fn plan_of(
    connections: u64,
    agents: usize,
    operations: Option<u64>,
    seconds: u64,
    audit: bool,
) -> Plan {
    let asked = DocumentsAsked {
        documents: Flagged::new("--docs", 400),
        batch: Flagged::new("--batch", 10),
        within_ns: None,
        operations: Flagged::new("--ops", operations),
        warmup_ns: 0,
    };
    let mix = Mix::crud([1, 5, 2, 0]);
    let order = crate::workload::CrudOrder::Uniform;
    let work = MixedDemand {
        asked,
        mix: Flagged::new("--mix", mix),
        own: crate::workload::OwnMix::new(),
        more_documents: "",
        order,
    };
    let spec = PlanSpec::new("test", Flagged::new("-c", connections), Arc::new(work));
    let duration_ns = operations.is_none().then_some(seconds * SECOND_NS);
    let plan = check(&PlanSpec { duration_ns, timeout_ns: SECOND_NS, audit, ..spec }).unwrap();
    plan.shared(FleetPlan { agents, allow_lost: false }, true).unwrap()
}

/// Does something at each progress report of the measured stage, given the seconds so far.
struct Watching<F>(F, bool, Vec<String>);

impl<F: FnMut(f64)> Observer for Watching<F> {
    fn stage_begins(&mut self, stage: &str) {
        self.1 = stage == "crud";
    }
    fn progress(&mut self, progress: &Progress) {
        if self.1 {
            self.0(progress.elapsed_s);
        }
    }
    fn news(&mut self, sentence: &str) {
        self.2.push(sentence.to_owned());
    }
    fn keep(&mut self, record: &RunRecord) {
        let lost = record.agents.iter().filter(|it| it.lost.is_some()).count();
        assert!(record.stages.is_empty() || self.2.len() >= lost, "{:?}", self.2);
    }
}

struct Bed {
    server: StandIn,
    fleet: Fleet,
    cut: Arc<Vec<AtomicBool>>,
    to_coordinator: SyncSender<Arrived>,
}

impl Bed {
    fn new(ahead_ns: &[i64]) -> Self {
        Self::with(fleet(ahead_ns))
    }

    fn with(
        (mut fleet, cut, to_coordinator): (Fleet, Arc<Vec<AtomicBool>>, SyncSender<Arrived>),
    ) -> Self {
        let server = StandIn::start(bind("127.0.0.1:0").unwrap(), Options::default()).unwrap();
        fleet.gather(Duration::from_secs(20), &Stop::default(), &mut |_| {}).unwrap();
        Self { server, fleet, cut, to_coordinator }
    }

    fn run(
        &mut self,
        plan: &Plan,
        stop: &Arc<Stop>,
        doing: impl FnMut(f64),
    ) -> Result<RunRecord, RunError> {
        let address = Some(self.server.url());
        run_with(
            plan,
            address,
            stop,
            &mut Watching(doing, false, Vec::new()),
            Some(&mut self.fleet),
        )
    }
}

#[test]
fn agents_do_what_one_process_does_and_start_together_whatever_their_clocks_say() {
    let skew = |ms: i64| ms * 1_000_000;
    let mut bed = Bed::new(&[skew(1_600), skew(-1_600), 0, skew(86_400_000)]);
    let plan = plan(10, 4, Some(801), 0);
    let record = bed.run(&plan, &Arc::default(), |_| {}).unwrap();
    let whole = |name: &str| record.stages.iter().find(|stage| stage.name == name).unwrap();
    let crud = whole("crud");
    let count = |kind: &str| {
        let operation = crud.operations.iter().find(|it| it.kind.name() == kind).unwrap();
        assert_eq!((operation.issued, operation.failures.len()), (operation.ok, 0), "{kind}");
        operation.ok
    };
    // Distributed as by a single process: 1/8 of 801 creates, 5/8 reads, 2/8 updates, exactly.
    assert_eq!([count("create"), count("read"), count("update")], [100, 501, 200]);
    assert_eq!(crud.load.begun, 801);
    assert_eq!(whole("bulk_insert").operations[0].ok, 400);
    assert_eq!(crud.connections.ended_s.len(), 10);
    let rows: Vec<_> = record.agents.iter().map(|it| (it.index, it.connections)).collect();
    assert_eq!(rows, [(0, 3), (1, 3), (2, 2), (3, 2)]);
    for (agent, ahead) in record.agents.iter().zip([1.6e6, -1.6e6, 0.0, 86.4e9]) {
        assert!((agent.clock_offset_us - ahead).abs() <= agent.clock_error_us + 1.0, "{agent:?}");
        assert!(agent.clock_error_us < 50_000.0, "{agent:?}");
    }
    for stage in &record.stages {
        assert_eq!(stage.agents.iter().map(|it| it.ok).sum::<u64>(), {
            stage.requests().map(|it| it.ok).sum::<u64>()
        });
        // How late depends on the machine, but it is far less than the difference of the clocks.
        let late = stage.agents.iter().map(|it| it.start_us.unwrap()).fold(0.0, f64::max);
        assert!(late < 1.0e6, "{late} µs");
    }
    assert!(record.server.deleted && record.ended.is_none());
}

#[test]
fn an_agent_that_falls_silent_is_lost_and_the_others_go_on() {
    let mut bed = Bed::new(&[0; 3]);
    let plan = plan(6, 3, None, 5);
    let cut = bed.cut.clone();
    let record = bed.run(&plan, &Arc::default(), |at_s| {
        if at_s > 1.5 {
            cut[1].store(true, Ordering::Relaxed);
        }
    });
    let record = record.unwrap();
    let lost = record.agents[1].lost.as_ref().expect("it is lost");
    assert_eq!((lost.stage.as_deref(), lost.why.as_str()), (Some("crud"), "nothing heard for 3 s"));
    assert!(record.agents[0].lost.is_none() && record.agents[2].lost.is_none());
    let crud = record.stages.last().unwrap();
    let row = &crud.agents[1];
    assert!(row.lost && row.ok > 0 && row.series.len() <= 3, "{row:?}");
    assert!(crud.agents[0].ok > row.ok && crud.agents[0].series.len() >= 5);
    // What it reported is in the sums, and nothing else.
    let all: u64 = crud.requests().map(|it| it.requests).sum();
    assert_eq!(all, crud.agents.iter().map(|it| it.requests).sum::<u64>());
    assert_eq!(crud.load.offered, crud.load.begun + crud.load.dropped + crud.load.unsent);
    assert_eq!(crud.load.begun, all);
    assert!(record.ended.is_none() && record.server.deleted);
}

#[test]
fn a_run_without_agents_ends_with_what_was_measured() {
    let mut bed = Bed::new(&[0; 2]);
    let plan = plan(4, 2, None, 60);
    let (cut, coordinator) = (bed.cut.clone(), bed.to_coordinator.clone());
    let record = bed.run(&plan, &Arc::default(), |at_s| {
        if at_s > 1.5 {
            cut.iter().for_each(|it| it.store(true, Ordering::Relaxed));
            let _ = coordinator.try_send(Arrived::Closed("the broker is gone".to_owned()));
        }
    });
    let record = record.unwrap();
    let whys = record.agents.iter().map(|it| it.lost.as_ref().unwrap().why.as_str());
    assert_eq!(whys.collect::<Vec<_>>(), ["the broker is gone"; 2]);
    let crud = record.stages.last().unwrap();
    assert!(crud.agents.iter().all(|it| it.lost && it.ok > 0), "{:?}", crud.agents);
    assert!(crud.requests().map(|it| it.ok).sum::<u64>() > 0);
}

#[test]
fn an_agent_that_alone_gets_no_answers_is_lost() {
    let mut bed = Bed::with(fleet_of(3, &[0; 3], |index, message| {
        let text = String::from_utf8(message).unwrap();
        // It reports this at the end of the fill.
        let gone = index == 1 && text.contains(r#""ended":{"stage":0"#);
        let (stopped, why) = (r#""stopped":null"#, r#""stopped":"unreachable""#);
        Some(if gone { text.replace(stopped, why) } else { text }.into_bytes())
    }));
    let record = bed.run(&plan(6, 3, None, 2), &Arc::default(), |_| {}).unwrap();
    let lost = record.agents[1].lost.as_ref().expect("it is lost");
    let why = "the server no longer answered it";
    assert_eq!((lost.stage.as_deref(), lost.why.as_str()), (Some("bulk_insert"), why));
    assert!(lost.at_s > 0.0 && lost.at_s < record.stages[1].began_s + 0.5, "{lost:?}");
    // Everything it measured is included, and the others go on.
    let fill = &record.stages[0];
    assert!(fill.agents[1].lost && fill.agents[1].ok > 0, "{:?}", fill.agents);
    assert_eq!(fill.operations[0].ok, 400);
    let rest: Vec<_> = record.stages[1].agents.iter().map(|it| it.index).collect();
    assert_eq!(rest, [0, 2]);
    assert!(record.ended.is_none());
    assert_eq!(record.result().exit_status, 5);
    // The next run of the same agents, such as another cell of a sweep, does not wait for it.
    let now = || Clock::system().now();
    let (began, plan) = (now(), plan(6, 3, None, 2));
    let again = bed.run(&plan, &Arc::default(), |_| {}).unwrap();
    assert!(now() - began < 2 * SECOND_NS);
    let words = again.ended.expect("it ended early").message;
    assert!(words.contains(&format!("agent 1 was lost before the run began: {why}")), "{words}");
    assert!(again.agents[1].lost.is_some());
}

#[test]
fn an_agent_that_never_ends_a_stage_is_given_up() {
    let mut bed = Bed::with(fleet_of(2, &[0; 2], |index, message| {
        let text = String::from_utf8(message).unwrap();
        let end = index == 1 && text.contains(r#""ended":{"stage":1"#);
        (!end).then(|| text.into_bytes())
    }));
    let record = bed.run(&plan(4, 2, None, 1), &Arc::default(), |_| {}).unwrap();
    let lost = record.agents[1].lost.as_ref().expect("it is lost");
    assert_eq!(lost.why, "it did not end the stage crud");
    let crud = &record.stages[1];
    assert!(crud.agents[1].lost && !crud.agents[0].lost && crud.agents[0].ok > 0);
}

#[test]
fn an_agent_that_does_not_know_when_a_stage_starts_is_given_up() {
    let mut bed = Bed::with(fleet_of(2, &[0; 2], |index, message| {
        let text = String::from_utf8(message).unwrap();
        let stuck = ["started", "snapshot", "ended"];
        let stuck = index == 1 && stuck.iter().any(|it| text.contains(&format!("{{\"{it}\":")));
        // It keeps sending signs of life.
        let alive = r#"{"run":"test","agent":1,"sender":0,"body":"alive"}"#;
        Some(if stuck { with_sender_of(&text, alive) } else { text.into_bytes() })
    }));
    let began = Clock::system().now();
    let record = bed.run(&plan(4, 2, Some(40), 0), &Arc::default(), |_| {}).unwrap();
    let lost = record.agents[1].lost.as_ref().expect("it is lost");
    assert_eq!(lost.why, "it did not begin the stage bulk_insert, though it was ready");
    let took_ns = Clock::system().now() - began;
    assert!(took_ns < 10 * SECOND_NS, "{took_ns}");
    assert!(!record.stages[1].agents[0].lost && record.stages[1].agents[0].ok > 0);
}

#[test]
fn an_agent_that_begins_a_stage_and_does_nothing_is_given_up() {
    let mut bed = Bed::with(fleet_of(2, &[0; 2], |index, message| {
        let text = String::from_utf8(message).unwrap();
        let stuck = ["snapshot", "ended"].iter().any(|it| text.contains(&format!("{{\"{it}\":")));
        let alive = r#"{"run":"test","agent":1,"sender":0,"body":"alive"}"#;
        Some(if index == 1 && stuck { with_sender_of(&text, alive) } else { text.into_bytes() })
    }));
    let plan = PlanRecord { give_up_ns: Some(SECOND_NS), ..(*plan(4, 2, Some(40), 0)).clone() };
    let plan = plan.checked_again().unwrap();
    let record = bed.run(&plan, &Arc::default(), |_| {}).unwrap();
    let lost = record.agents[1].lost.as_ref().expect("it is lost");
    assert_eq!(lost.why, "it did not end the stage bulk_insert");
}

/// What an audit found to be right and wrong, and the reason it is incomplete.
fn found(record: &RunRecord) -> (u64, usize, Option<&str>) {
    let stage = record.stages.last().unwrap();
    let verify = stage.operations.iter().find(|it| it.kind.name() == "verify");
    let (ok, wrong) = verify.map_or((0, 0), |it| (it.ok, it.failures.len()));
    (ok, wrong, record.journal_broken.as_deref())
}

/// The beginning of the message that ends the second stage.
const END: &str = r#""ended":{"stage":1"#;

/// Whether a message is from agent 1 and contains `what`.
fn is_of(index: usize, message: &[u8], what: &str) -> bool {
    index == 1 && String::from_utf8_lossy(message).contains(what)
}

/// Changes the end of a stage: its notes could not be written.
fn full(message: &[u8]) -> Vec<u8> {
    let mut end: serde_json::Value = serde_json::from_slice(message).unwrap();
    end["body"]["ended"]["noted"] = serde_json::json!({ "Err": "full" });
    end.to_string().into_bytes()
}

/// Notes that are lost on the way or at the agent, or whose end is never announced.
#[test]
fn what_an_agent_wrote_is_judged_only_if_all_of_its_notes_are_there() {
    let alter: [(Alter, &str); 3] = [
        (
            |index, it| (!is_of(index, &it, r#""notes":{"stage":1"#)).then_some(it),
            "agent 1: it was lost before its notes of crud came",
        ),
        (|index, it| Some(if is_of(index, &it, END) { full(&it) } else { it }), "agent 1: full"),
        (
            |index, it| (!is_of(index, &it, END)).then_some(it),
            "agent 1: it was lost before its notes of crud came",
        ),
    ];
    let plan = plan_of(4, 2, Some(400), 0, true);
    let plan = PlanRecord { give_up_ns: Some(SECOND_NS), ..(*plan).clone() };
    let plan = plan.checked_again().unwrap();
    let mut bed = Bed::new(&[0; 2]);
    let record = bed.run(&plan, &Arc::default(), |_| {}).unwrap();
    assert_eq!((found(&record), record.extra_documents), ((450, 0, None), Some(0)));
    for (alter, why) in alter {
        let mut bed = Bed::with(fleet_of(2, &[0; 2], alter));
        let record = bed.run(&plan, &Arc::default(), |_| {}).unwrap();
        let (right, wrong, reason) = found(&record);
        assert_eq!((right, wrong, record.extra_documents), (225, 0, None), "{why}");
        assert!(reason.is_some_and(|it| it.starts_with(why)), "{reason:?}");
        assert_eq!(record.result().exit_status, 5);
    }
}

/// Its notes take longer to arrive than the coordinator would wait, but they keep coming.
#[test]
fn an_agent_that_hands_over_its_notes_is_waited_for() {
    static SAID: AtomicUsize = AtomicUsize::new(0);
    let mut bed = Bed::with(fleet_of(2, &[0; 2], |index, message| {
        let text = String::from_utf8_lossy(&message).into_owned();
        let notes = r#"{"run":"test","agent":1,"sender":0,"number":NUMBER,"body":
            {"notes":{"stage":1,"before":0,"piece":""}}}"#;
        let number = text.split(r#""number":"#).nth(1).unwrap().split(',').next().unwrap();
        let number: usize = number.parse().unwrap();
        match SAID.load(Ordering::Relaxed) {
            0 if is_of(index, &message, END) => SAID.store(1, Ordering::Relaxed),
            said @ 1..4 if is_of(index, &message, r#""alive""#) => {
                SAID.store(said + 1, Ordering::Relaxed);
                // In place of the end, and after it.
                let number = (number + said - 1).to_string();
                return Some(with_sender_of(&text, &notes.replace("NUMBER", &number)));
            }
            _ => return Some(message),
        }
        None
    }));
    let record = bed.run(&plan_of(4, 2, None, 1, true), &Arc::default(), |_| {}).unwrap();
    let lost = record.agents[1].lost.as_ref().expect("in the end it is lost");
    assert_eq!(lost.why, "it did not end the stage crud");
    // One second of load, three of notes, two of patience; without notes it would be one, one and
    // two.
    let after_s = lost.at_s - record.stages[1].began_s;
    assert!(after_s > 5.0, "{after_s}");
}

/// Another message of the process that sent `text`.
fn with_sender_of(text: &str, message: &str) -> Vec<u8> {
    let sender = text.split(r#""sender":"#).nth(1).unwrap().split(',').next().unwrap();
    message.replace(r#""sender":0"#, &format!(r#""sender":{sender}"#)).into_bytes()
}

#[test]
fn what_is_no_message_or_of_another_run_changes_nothing() {
    let mut bed = Bed::new(&[0; 2]);
    let strange = [
        String::new(),
        "{}".to_owned(),
        "\u{0}".repeat(9),
        r#"{"run":"other","agent":0,"sender":1,"body":{"failed":{"why":"x"}}}"#.to_owned(),
        r#"{"run":"test","agent":0,"sender":1,"body":{"failed":{"why":"x"}}}"#.to_owned(),
        r#"{"run":"test","agent":77,"sender":1,"body":"alive"}"#.to_owned(),
        r#"{"run":"test","agent":null,"sender":1,"body":"alive"}"#.to_owned(),
        r#"{"run":"test","agent":1,"sender":1,"body":{"ready":{"stage":9}}}"#.to_owned(),
    ];
    let coordinator = bed.to_coordinator.clone();
    let record = bed.run(&plan(4, 2, None, 2), &Arc::default(), |_| {
        for text in &strange {
            let _ = coordinator.try_send(Arrived::Message(text.clone().into_bytes()));
        }
    });
    let record = record.unwrap();
    assert!(record.agents.iter().all(|it| it.lost.is_none()), "{:?}", record.agents);
    assert!(record.ended.is_none());
}

#[test]
fn who_stops_a_run_stops_its_agents() {
    let mut bed = Bed::new(&[0; 2]);
    let stop = Arc::new(Stop::default());
    let asked = stop.clone();
    let record = bed.run(&plan(4, 2, None, 600), &stop, |at_s| {
        if at_s > 1.0 {
            asked.raise(StopReason::Interrupted);
        }
    });
    let record = record.unwrap();
    assert!(record.partial && record.stages[1].elapsed_s < 60.0);
    assert!(record.agents.iter().all(|it| it.lost.is_none()));
    assert!(record.stages[1].agents.iter().all(|it| it.ok > 0 && !it.lost));
    // The agents are ready for the next plan.
    let again = bed.run(&plan(4, 2, Some(80), 0), &Arc::default(), |_| {}).unwrap();
    assert!(again.ended.is_none() && again.stages[1].load.begun == 80);
}

#[test]
fn agents_that_do_not_come_are_named_and_the_others_dismissed() {
    let (mut fleet, ..) = fleet_of(3, &[0], |_, message| Some(message));
    let why = fleet.gather(Duration::from_millis(300), &Stop::default(), &mut |_| {});
    assert_eq!(why.unwrap_err(), "agents 1 and 2 of 3 did not join within 0.3 s");
}

#[test]
fn an_agent_of_another_version_is_refused() {
    let (to_coordinator, inbox) = sync_channel(WAITING);
    let outbox = Wires { agents: Vec::new(), cut: Arc::default() };
    let channel = Channel { outbox: Box::new(outbox), inbox, lossy: true };
    let mut fleet = Fleet::new(channel, "test", 1, Waits::default()).unwrap();
    let facts = r#"{"host":"h","pid":7,"version":"0.0.1","cores":2}"#;
    let hello = format!(r#"{{"run":"test","agent":0,"sender":5,"body":{{"hello":{facts}}}}}"#);
    to_coordinator.send(Arrived::Message(hello.into_bytes())).unwrap();
    let why = fleet.gather(Duration::from_secs(9), &Stop::default(), &mut |_| {}).unwrap_err();
    assert!(why.starts_with("agent 0 is springload 0.0.1, not "), "{why}");
}

#[path = "crew_delivery_tests.rs"]
mod delivery;
#[path = "crew_played_tests.rs"]
mod played;
