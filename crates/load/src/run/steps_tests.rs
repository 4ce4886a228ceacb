//! What happens before, between and after the stages of a run, and how drivers hear of it.

use super::collect::{Collected, Frame};
use super::fixture_tests::{Plain, at_once, planned, spec, take_down, with_own};
use super::*;
use crate::http1::Exchange;
use crate::measure::{Series, Totals};
use crate::plan::{ObserveSpec, PlanRecord, PlanSpec};
use serde_json::json;
use springload_embedded::{NodeState, Options, StandIn, bind};
use std::sync::mpsc::{Sender, channel};

const MS: Nanos = 1_000_000;

/// A stage in which nothing was done.
fn nothing(plan: &Plan, number: usize) -> StageRecord {
    let frame = Frame::of(&plan.stages[number], plan);
    Collected::new(Totals::default(), Series::default()).record(frame)
}

/// The numbers of the stages that are run if the server is given up in the first one, and the stop
/// reason at the end.
fn given_up(plan: &Plan, target: &Driver) -> (Vec<usize>, Option<StopReason>, Plain) {
    let (stop, mut observer) = (Arc::new(Stop::default()), Plain::default());
    let bench = Bench::new(plan, target, &stop, [0, 0]);
    let mut record = begun(plan, wall_ns(), ServerRecord::default());
    let mut run = Vec::new();
    each_stage(&bench, &mut record, &mut observer, |number, _, _| {
        if run.is_empty() {
            stop.raise(StopReason::Unreachable);
        }
        run.push(number);
        Ok(nothing(plan, number))
    })
    .unwrap();
    assert!(bench.stopped.get().is_some(), "the record says when");
    (run, stop.reason(), observer)
}

/// What was written until then is audited if the server answers, or cannot be asked.
#[test]
fn a_run_that_gave_up_only_audits() {
    let given = "gave up on the server; waiting for it to come back, to audit what was written";
    let plan = planned(&PlanSpec { audit: true, ..spec(60, Some(6)) });
    let (run, reason, observer) = given_up(&plan, &at_once());
    assert_eq!((run, reason), (vec![0, 2], Some(StopReason::Unreachable)));
    assert_eq!((observer.news, observer.kept), (vec![given.to_owned()], vec![1, 2]));
    assert_eq!(observer.stages, ["bulk_insert", "audit"]);
    let plan = planned(&spec(60, Some(6)));
    let (run, reason, observer) = given_up(&plan, &at_once());
    assert_eq!((run, reason), (vec![0], Some(StopReason::Unreachable)));
    assert!(observer.news.is_empty(), "there is nothing to wait for: {:?}", observer.news);
}

#[test]
fn a_server_that_was_given_up_is_audited_if_it_comes_back_in_time() {
    for (give_up_ns, returns, wanted) in
        [(SECOND_NS, false, vec![0]), (60 * SECOND_NS, true, vec![0, 2])]
    {
        // Only one of several nodes can be stopped and started again.
        let listeners = vec![bind("127.0.0.1:0").unwrap(), bind("127.0.0.1:0").unwrap()];
        let server = StandIn::start_nodes(listeners, Options::default()).unwrap();
        let plan = planned(&PlanSpec {
            target: Some(format!("{}/db", server.url())),
            audit: true,
            give_up_ns: Some(give_up_ns),
            ..spec(60, Some(6))
        });
        let opening = opening(&plan, &mut Plain::default()).unwrap();
        let (target, _) = block_on(&Stop::default(), plan.target.open(&opening)).unwrap();
        take_down(&server, 0);
        let (run, ..) = std::thread::scope(|scope| {
            if returns {
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(300));
                    server.set_node(0, NodeState::Up);
                });
            }
            given_up(&plan, &target)
        });
        assert_eq!(run, wanted, "returns: {returns}");
    }
}

#[test]
fn a_pause_ends_in_time_or_when_the_user_asks_to_stop() {
    let (stop, clock) = (Stop::default(), Clock::system());
    let until = clock.now() + 120 * MS;
    pause(&stop, until);
    assert!(clock.now() >= until);
    let began = clock.now();
    pause(&stop, began);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(100));
            stop.raise(StopReason::Interrupted);
        });
        pause(&stop, began + 600 * SECOND_NS);
    });
    assert!(clock.now() - began < 15 * SECOND_NS, "it looks often enough");
}

#[test]
fn what_is_observed_ends_with_the_stages_unless_the_user_asked_twice() {
    for (reason, ends) in
        [(None, true), (Some(StopReason::Interrupted), true), (Some(StopReason::Aborted), false)]
    {
        let observe = ObserveSpec { servers: true, ..ObserveSpec::NOTHING };
        let plan = planned(&PlanSpec { observe, ..spec(60, Some(6)) });
        let (target, stop) = (at_once(), Arc::new(Stop::default()));
        let asks = block_on(&stop, Asks::of(&plan, false)).unwrap().expect("the servers");
        let asks = asks.with_machine(true);
        let observing = Some(Observing::begin(asks, &target, Clock::system().now()).unwrap());
        let mut bench = Bench { observing, ..Bench::new(&plan, &target, &stop, [0, 0]) };
        let mut record = begun(&plan, wall_ns(), ServerRecord::default());
        if let Some(reason) = reason {
            stop.raise(reason);
        }
        end_beside(Ok(()), &mut bench, &mut record).unwrap();
        assert_eq!(record.observed.is_some(), ends, "{reason:?}");
        assert_eq!(bench.observing.is_none(), ends, "{reason:?}");
        assert!(record.replication.is_none());
        drop(bench.observing.take().and_then(Observing::finish));
    }
}

fn stand_in() -> StandIn {
    StandIn::start(bind("127.0.0.1:0").unwrap(), Options::default()).unwrap()
}

/// A plan whose database was just created on this server.
fn created(server: &StandIn) -> (Plan, Driver) {
    let target = Some(format!("{}/db", server.url()));
    let plan = planned(&PlanSpec { target, ..spec(60, Some(6)) });
    let opening = opening(&plan, &mut Plain::default()).unwrap();
    let (target, _) = block_on(&Stop::default(), plan.target.open(&opening)).unwrap();
    assert_eq!(server.counters().databases_created, 1);
    (plan, target)
}

#[test]
fn a_new_database_is_removed_again_if_the_run_cannot_begin_and_only_then() {
    let (server, stop) = (stand_in(), Stop::default());
    let (_, target) = created(&server);
    assert_eq!(or_undone(Ok(7), &target, None, &stop).unwrap(), 7);
    assert_eq!(server.counters().databases_deleted, 0);
    let failed: Result<(), _> = Err(RunError::System(io::Error::other("no threads")));
    let error = or_undone(failed, &target, None, &stop).unwrap_err();
    assert_eq!(error.to_string(), "no threads");
    assert_eq!(server.counters().databases_deleted, 1);
}

#[test]
fn a_run_that_cannot_go_on_keeps_what_was_measured_and_removes_its_database() {
    let (server, stop) = (stand_in(), Arc::new(Stop::default()));
    let (plan, target) = created(&server);
    let bench = Bench::new(&plan, &target, &stop, [0, 0]);
    let mut record = begun(&plan, wall_ns(), ServerRecord::default());
    let mut observer = Plain::default();
    record.add(nothing(&plan, 0));
    let why = RunError::System(io::Error::other("too many open files"));
    close(&bench, &mut record, Err(why), &mut observer);
    assert_eq!((observer.kept, record.stages.len()), (vec![1], 1));
    let message = record.ended.expect("it ended early").message;
    assert!(message.ends_with(" s: too many open files"), "{message}");
    assert_eq!(server.counters().databases_deleted, 1);
}

/// What follows, such as the last question to a server that is gone, may take seconds.
#[test]
fn a_run_that_is_stopped_in_its_last_stage_ended_with_that_stage() {
    for reason in [None, Some(StopReason::Interrupted), Some(StopReason::Unreachable)] {
        let plan = planned(&spec(60, Some(6)));
        let (target, stop) = (at_once(), Arc::new(Stop::default()));
        let bench = Bench::new(&plan, &target, &stop, [0, 0]);
        let mut record = begun(&plan, wall_ns(), ServerRecord::default());
        let mut observer = Plain::default();
        each_stage(&bench, &mut record, &mut observer, |number, _, _| {
            if let Some(reason) = reason.filter(|_| number == 1) {
                stop.raise(reason);
            }
            Ok(nothing(&plan, number))
        })
        .unwrap();
        let until = Clock::system().now();
        std::thread::sleep(Duration::from_millis(50));
        close(&bench, &mut record, Ok(()), &mut observer);
        let at_s = record.ended.map(|it| it.at_s);
        let in_time = at_s.map(|at_s| at_s <= until as f64 / SECOND_NS as f64);
        assert_eq!(in_time, reason.map(|_| true), "{reason:?}: {at_s:?}, not {until} ns");
    }
}

/// An observer that shows what is sent.
struct Showing(Sender<Exchange>);

impl Observer for Showing {
    fn exchanges(&mut self) -> Option<Watcher> {
        Some(Watcher { sender: self.0.clone(), whole: true })
    }
    fn echo(&self) -> Option<Echo> {
        Some(Arc::new(|_: &[u8]| {}))
    }
    fn stage_begins(&mut self, _: &str) {}
    fn progress(&mut self, _: &Progress) {}
    fn keep(&mut self, _: &RunRecord) {}
}

#[test]
fn a_driver_is_told_what_the_plan_and_the_observer_want() {
    let own = PlanSpec { seed: 7, timeout_ns: 2 * SECOND_NS, max_answer: 9_000, ..with_own() };
    let plan = planned(&own);
    let (sender, _exchanges) = channel();
    let mut showing = Showing(sender);
    let told = opening(&plan, &mut showing).unwrap();
    assert_eq!((told.seed, told.timeout_ns, told.max_answer), (7, 2 * SECOND_NS, 9_000));
    assert!(!told.operations.is_empty() && told.operations == plan.operations);
    assert_eq!(told.fields, fields::fields(&plan).unwrap());
    assert!(!told.fields.is_empty(), "documents have fields");
    assert!(told.exchanges.is_some_and(|it| it.whole));
    assert!(told.echo.is_none(), "CouchDB has no lines to show");
    let told = opening(&plan, &mut Plain::default()).unwrap();
    assert!(told.exchanges.is_none() && told.echo.is_none());
    // Without a server, there are lines to show if the plan says so.
    let options = json!({
        "delay_ms": 0, "randomized": false, "printed": true, "counted": false,
    });
    let target = json!({ "driver": "basic", "basic": options });
    let target = serde_json::from_value(target).unwrap();
    let plan =
        PlanRecord { target, ..planned(&spec(60, Some(6))).into_record() }.checked_again().unwrap();
    assert!(opening(&plan, &mut showing).unwrap().echo.is_some());
    assert!(opening(&plan, &mut Plain::default()).unwrap().echo.is_none());
}

/// Each of these costs time or memory, so nothing is done unless it is asked for.
#[test]
fn an_observer_gets_by_default_what_costs_nothing() {
    let mut plain = Plain::default();
    assert!(!plain.watches() && !plain.takes_seconds() && !plain.saves());
    assert!(plain.exchanges().is_none() && plain.echo().is_none() && plain.journal().is_none());
}

/// A run that is stopped ends after the stage in which it was.
#[test]
fn a_run_that_is_stopped_tells_when() {
    struct Stopping(Arc<Stop>);
    impl Observer for Stopping {
        fn stage_begins(&mut self, stage: &str) {
            if stage == "crud" {
                self.0.raise(StopReason::Interrupted);
            }
        }
        fn progress(&mut self, _: &Progress) {}
        fn keep(&mut self, _: &RunRecord) {}
    }
    let stop = Arc::new(Stop::default());
    let target = Some("basic".to_owned());
    let duration_ns = Some(600 * SECOND_NS);
    let plan = planned(&PlanSpec { target, duration_ns, ..spec(60, None) });
    let began = Clock::system().now();
    let record = run(&plan, None, &stop, &mut Stopping(stop.clone())).unwrap();
    let took_s = (Clock::system().now() - began) as f64 / SECOND_NS as f64;
    let [fill, _] = &record.stages[..] else { panic!("{} stages", record.stages.len()) };
    let filled_s = fill.began_s + fill.elapsed_s;
    let at_s = record.ended.expect("it was stopped").at_s;
    assert!(filled_s > 0.0 && at_s >= filled_s && at_s <= took_s, "{at_s} of {took_s} s");
}
