//! The agents of a stage as the source of its measurements: what of their messages counts, and when
//! one of them is given up.

use super::super::plan;
use super::{MS, Played, end, read, silent};
use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::engine::{Arrivals, Pace, Schedule, Segment, Stop, StopReason};
use crate::fleet::{Event, Fleet, Inquiries, Waits};
use crate::plan::{Plan, PlanRecord, StagePlan};
use crate::run::bench::Bench;
use crate::run::crew::{Crew, LOOK, PATIENCE_NS, Shares, UNANSWERED};
use crate::run::share::Share;
use crate::run::source::Source;
use crate::run::stage::tests::nobody;
use std::sync::Arc;

/// When the stages of these tests begin.
const MOMENT: Nanos = 1_000 * SECOND_NS;

fn at_rate(per_s: f64) -> Pace {
    let segments = vec![Segment { length_ns: 100 * SECOND_NS, from: per_s, to: per_s }];
    let schedule = Schedule { segments, arrivals: Arrivals::Constant, seed: 1 };
    Pace::Open { schedule, max_in_flight: 1_000, slack_ns: 0 }
}

/// A plan for two agents, in which the server may be away for a second.
fn impatient() -> Plan {
    let plan = plan(4, 2, Some(40), 0);
    PlanRecord { give_up_ns: Some(SECOND_NS), ..(*plan).clone() }.checked_again().unwrap()
}

#[test]
fn an_agent_is_stuck_if_it_does_nothing_for_longer_than_any_server_would_explain() {
    let (plan, target, stop) = (impatient(), nobody(), Arc::default());
    let bench = Bench::new(&plan, &target, &stop, [0; 2]);
    let mut played = Played::new(2, Waits::default(), silent());
    let mut crew = Crew::new(&mut played.fleet, 0);
    let shares = Shares::new(&mut crew, &bench, 1, MOMENT).unwrap();
    let since = MOMENT + 10 * SECOND_NS;
    let stuck = |pace: Pace, waited_ns: Nanos| {
        let stage = StagePlan { pace, ..plan.stages[1].clone() };
        shares.is_stuck(&stage, since, since + waited_ns)
    };
    // The server may be away for a second, and an operation may take another one.
    let patience_ns = 2 * SECOND_NS + PATIENCE_NS;
    let pause_ns = 2 * SECOND_NS;
    for pace in [Pace::Closed { think_ns: pause_ns }, Pace::Thinking { most_ns: pause_ns, seed: 1 }]
    {
        assert!(!stuck(pace.clone(), patience_ns + pause_ns), "{pace:?}");
        assert!(stuck(pace.clone(), patience_ns + pause_ns + 1), "{pace:?}");
    }
    // In an open loop, half of what falls due is each agent's.
    assert!(!stuck(at_rate(16.0), patience_ns), "32 were due, but the server may be away");
    assert!(stuck(at_rate(16.0), patience_ns + SECOND_NS));
    assert!(!stuck(at_rate(4.0), 10 * SECOND_NS), "20 were due, and that may be chance");
    assert!(stuck(at_rate(4.0), 10 * SECOND_NS + 500 * MS), "21 were due");
}

/// Why each of two agents is given up at this time after the beginning of a stage of 7 s with
/// timeouts of a second.
fn given_up(
    after_ns: impl Fn(&Fleet) -> Nanos,
    known: impl Fn(&mut [Share]),
) -> [Option<String>; 2] {
    let (plan, target, stop) = (plan(4, 2, None, 7), nobody(), Arc::default());
    let bench = Bench::new(&plan, &target, &stop, [0; 2]);
    let mut played = Played::new(2, Waits::default(), silent());
    let now = MOMENT + after_ns(&played.fleet);
    let mut crew = Crew::new(&mut played.fleet, 0);
    let mut shares = Shares::new(&mut crew, &bench, 1, MOMENT).unwrap();
    known(&mut shares.parts);
    shares.lose_stuck(now);
    [0, 1].map(|agent: usize| crew.lost[agent].as_ref().map(|lost| lost.why.clone()))
}

#[test]
fn an_agent_is_given_up_if_it_has_not_begun_by_the_time_it_must_have_heard() {
    let heard = |fleet: &Fleet| fleet.silence_ns() + fleet.round_trip_ns();
    let one = |parts: &mut [Share]| parts[0].started = true;
    assert_eq!(given_up(|fleet| heard(fleet) - 1, one), [None, None]);
    let why = "it did not begin the stage crud, though it was ready".to_owned();
    assert_eq!(given_up(heard, one), [None, Some(why)]);
}

#[test]
fn an_agent_is_given_up_if_it_does_not_end_a_stage_of_a_given_length() {
    let late_ns = 8 * SECOND_NS + PATIENCE_NS;
    let one = |parts: &mut [Share]| {
        for share in parts.iter_mut() {
            share.started = true;
        }
        parts[0].ended = Some((MOMENT, Box::new(end(1, None))));
    };
    assert_eq!(given_up(|_| late_ns - 1, one), [None, None]);
    let why = || Some("it did not end the stage crud".to_owned());
    assert_eq!(given_up(|_| late_ns, one), [None, why()]);
    let delivers = |parts: &mut [Share]| {
        one(parts);
        parts[1].delivered = MOMENT + 9 * SECOND_NS;
    };
    assert_eq!(given_up(|_| late_ns, delivers), [None, None], "its notes are still arriving");
    assert_eq!(given_up(|_| late_ns + SECOND_NS, delivers), [None, why()]);
    let asks = |parts: &mut [Share]| {
        one(parts);
        parts[1].inquire(asking(2, 9 * SECOND_NS), SECOND_NS);
        // Its last report before that of its end.
        parts[1].inquire(Inquiries::default(), SECOND_NS);
    };
    let asked_ns = 10 * SECOND_NS + PATIENCE_NS;
    assert_eq!(given_up(|_| asked_ns - 1, asks), [None, None], "the server may answer until then");
    assert_eq!(given_up(|_| asked_ns, asks), [None, why()]);
}

/// This many writes, about which an agent asks until so long after the beginning.
fn asking(writes: u64, until_ns: Nanos) -> Inquiries {
    Inquiries { writes, until: MOMENT + until_ns, stopped: false }
}

#[test]
fn an_agent_that_asks_what_became_of_its_last_writes_is_not_stuck() {
    let (plan, target, stop) = (impatient(), nobody(), Arc::default());
    let bench = Bench::new(&plan, &target, &stop, [0; 2]);
    let mut played = Played::new(2, Waits::default(), silent());
    let mut crew = Crew::new(&mut played.fleet, 0);
    let mut shares = Shares::new(&mut crew, &bench, 1, MOMENT).unwrap();
    shares.parts.iter_mut().for_each(|share| share.started = true);
    shares.take(Event::Snapshot(0, 1, Vec::new(), asking(2, 9 * SECOND_NS)));
    // The server may be away for a second, and an operation may take another one.
    shares.lose_stuck(MOMENT + 2 * SECOND_NS + PATIENCE_NS + 1);
    let lost = |shares: &Shares<'_, '_, '_>| [0, 1].map(|it: usize| shares.crew.lost[it].is_some());
    assert_eq!(lost(&shares), [false, true]);
    // Its last question may take a second, too.
    shares.lose_stuck(MOMENT + 12 * SECOND_NS + PATIENCE_NS);
    assert_eq!(lost(&shares), [false, true]);
    shares.lose_stuck(MOMENT + 12 * SECOND_NS + PATIENCE_NS + 1);
    assert_eq!(lost(&shares), [true, true]);
}

#[test]
fn what_agents_ask_about_is_that_of_all_who_still_work() {
    let (plan, target, stop) = (plan(6, 3, None, 7), nobody(), Arc::default());
    let bench = Bench::new(&plan, &target, &stop, [0; 2]);
    let mut played = Played::new(3, Waits::default(), silent());
    let mut crew = Crew::new(&mut played.fleet, 0);
    let mut shares = Shares::new(&mut crew, &bench, 1, MOMENT).unwrap();
    let stopped = |inquiries: Inquiries| Inquiries { stopped: true, ..inquiries };
    let report = |shares: &mut Shares<'_, '_, '_>, agent, stage, inquiries| {
        shares.take(Event::Snapshot(agent, stage, Vec::new(), inquiries));
    };
    report(&mut shares, 0, 0, asking(9, SECOND_NS));
    assert_eq!(shares.inquiries(), Inquiries::default(), "that was about another stage");
    report(&mut shares, 0, 1, stopped(asking(2, 9 * SECOND_NS)));
    report(&mut shares, 1, 1, asking(3, 8 * SECOND_NS));
    report(&mut shares, 2, 1, stopped(asking(4, 7 * SECOND_NS)));
    assert_eq!(shares.inquiries(), asking(9, 9 * SECOND_NS));
    report(&mut shares, 0, 1, stopped(Inquiries::default()));
    assert_eq!(shares.inquiries(), asking(7, 8 * SECOND_NS));
    shares.take(Event::Ended(1, Box::new(end(1, None))));
    assert_eq!(shares.inquiries(), stopped(asking(4, 7 * SECOND_NS)));
    shares.crew.fleet.give_up(2, "it was killed");
    assert_eq!(shares.inquiries().writes, 0);
}

#[test]
fn only_messages_about_this_stage_count() {
    let (plan, target, stop) = (plan(4, 2, Some(40), 0), nobody(), Arc::default());
    let bench = Bench::new(&plan, &target, &stop, [0; 2]);
    let mut played = Played::new(2, Waits::default(), silent());
    let mut crew = Crew::new(&mut played.fleet, 0);
    let mut shares = Shares::new(&mut crew, &bench, 1, MOMENT).unwrap();
    assert!(!shares.has_more());
    for (stage, counts) in [(0, false), (1, true)] {
        shares.take(Event::Started(0, stage));
        shares.take(Event::Snapshot(0, stage, vec![read(MOMENT)], Inquiries::default()));
        shares.take(Event::Notes(0, stage, 0, Vec::new()));
        shares.take(Event::Ended(0, Box::new(end(stage, None))));
        assert_eq!(shares.has_more(), counts);
        let requests: Vec<_> = shares.agents().iter().map(|it| (it.index, it.requests)).collect();
        assert_eq!(requests, [(0, u64::from(counts)), (1, 0)]);
        let share = &shares.parts[0];
        let known = [share.started, share.delivered > 0, share.ended.is_some()];
        assert_eq!(known, [counts; 3]);
    }
    // Agents report once a second.
    assert_eq!(shares.settles_ns(), 2 * SECOND_NS);
    assert_eq!(shares.news(), None);
    shares.crew.lose(1, "killed".to_owned(), None, MOMENT);
    let news = shares.news();
    assert_eq!(news.as_deref(), Some("agent 1 was lost, the others go on: killed"));
    assert_eq!(shares.agents().iter().map(|it| it.lost).collect::<Vec<_>>(), [false, true]);
    shares.crew.lose(0, "killed".to_owned(), None, MOMENT);
    assert_eq!(shares.news().as_deref(), Some("agent 0 was lost, and none is left: killed"));
}

#[test]
fn a_second_is_complete_when_all_agents_have_reported_it_or_should_have() {
    let (plan, target, stop) = (plan(4, 2, Some(40), 0), nobody(), Arc::default());
    let bench = Bench::new(&plan, &target, &stop, [0; 2]);
    let mut played = Played::new(2, Waits::default(), silent());
    let mut crew = Crew::new(&mut played.fleet, 0);
    let mut shares = Shares::new(&mut crew, &bench, 1, MOMENT).unwrap();
    let report = |shares: &mut Shares<'_, '_, '_>, agent, second| {
        let mut interval = read(MOMENT);
        interval.second = second;
        shares.take(Event::Snapshot(agent, 1, vec![interval], Inquiries::default()));
    };
    let elapsed_ns = 5 * SECOND_NS + 300 * MS;
    report(&mut shares, 0, 4);
    assert_eq!(shares.complete_s(elapsed_ns), 3, "what has arrived is not merged yet");
    shares.waiting.clear();
    assert_eq!(shares.complete_s(elapsed_ns), 3, "the other one has not reported anything");
    report(&mut shares, 1, 3);
    shares.waiting.clear();
    assert_eq!(shares.complete_s(elapsed_ns), 4);
    report(&mut shares, 1, 4);
    shares.waiting.clear();
    assert_eq!(shares.complete_s(elapsed_ns), 5);
    assert_eq!(shares.complete_s(elapsed_ns + 3 * SECOND_NS), 6, "nobody waits for long");
    shares.take(Event::Ended(0, Box::new(end(1, None))));
    assert_eq!(shares.complete_s(elapsed_ns), 5);
    shares.take(Event::Ended(1, Box::new(end(1, None))));
    assert_eq!(shares.complete_s(elapsed_ns), u32::MAX, "there will be no more");
}

#[test]
fn what_lost_agents_have_measured_is_waited_for_and_the_user_is_told_once() {
    let (plan, target, stop) = (plan(4, 2, Some(40), 0), nobody(), Arc::<Stop>::default());
    let bench = Bench::new(&plan, &target, &stop, [0; 2]);
    let waits = Waits { silence_ns: SECOND_NS / 2, grace_ns: 60 * SECOND_NS };
    let mut played = Played::new(2, waits, silent());
    let mut crew = Crew::new(&mut played.fleet, 0);
    let moment = Clock::system().now();
    let mut shares = Shares::new(&mut crew, &bench, 1, moment).unwrap();
    assert!(!shares.awaits(), "nobody is lost");
    // From now on, who says nothing is missed.
    shares.crew.fleet.start(1, moment);
    while !shares.crew.fleet.present().is_empty() {
        if let Some(event) = shares.crew.fleet.next(LOOK) {
            shares.take(event);
        }
    }
    shares.crew.news.clear();
    assert!(shares.awaits());
    let news = shares.news();
    let waiting = "waiting for what agents 0 and 1 measured before the loss";
    assert_eq!(news.as_deref(), Some(waiting));
    assert!(shares.awaits());
    assert_eq!(shares.news(), None, "it was said before");
    shares.take(Event::Ended(0, Box::new(end(1, None))));
    shares.waits = false;
    assert!(shares.awaits());
    let news = shares.news();
    assert_eq!(news.as_deref(), Some("waiting for what agent 1 measured before the loss"));
    stop.raise(StopReason::Interrupted);
    assert!(!shares.awaits(), "who stops a run does not wait for that");
}

#[test]
fn a_run_stops_if_the_server_answers_no_agent_and_goes_on_if_it_answers_some() {
    // Whether an agent has reported its end, and the reason it stopped.
    let (gone, well) = ((true, Some(StopReason::Unreachable)), (true, None));
    let working = (false, None);
    let cases = [
        ([gone, gone, working], Some(StopReason::Unreachable), [false; 3]),
        ([gone, well, working], None, [true, false, false]),
        ([well, well, gone], None, [false, false, true]),
        ([well, well, well], None, [false; 3]),
    ];
    let (plan, target) = (plan(6, 3, Some(60), 0), nobody());
    for (ends, reason, lost) in cases {
        let stop = Arc::<Stop>::default();
        let bench = Bench::new(&plan, &target, &stop, [0; 2]);
        let mut played = Played::new(3, Waits::default(), silent());
        let mut crew = Crew::new(&mut played.fleet, 0);
        let mut parts = Vec::new();
        for (index, (ended, stopped)) in ends.into_iter().enumerate() {
            let mut share = Share::new(index, 3, true, MOMENT);
            share.ended = ended.then(|| (MOMENT, Box::new(end(1, stopped))));
            parts.push(share);
        }
        crew.lose_unanswered(&mut parts, &bench, &plan.stages[1]);
        assert_eq!(stop.reason(), reason);
        let whys = crew.lost.iter().map(|it| it.as_ref().map(|lost| lost.why.as_str()));
        let expected = lost.map(|is_lost| is_lost.then_some(UNANSWERED));
        assert_eq!(whys.collect::<Vec<_>>(), expected);
        assert_eq!(parts.iter().map(|share| share.row.lost).collect::<Vec<_>>(), lost);
        let left: Vec<_> = (0..3).filter(|&agent| !lost[agent]).collect();
        assert_eq!(crew.fleet.present(), left);
    }
}

/// One that fell silent may come back and hand in that the server no longer answered it.
#[test]
fn an_agent_is_lost_once_and_what_lost_ones_say_counts_only_if_no_other_is_left() {
    let (gone, well) = (Some(StopReason::Unreachable), None);
    let cases = [
        ([gone, well, well], [true, false, false], None),
        ([gone, gone, gone], [true; 3], Some(StopReason::Unreachable)),
        ([gone, well, gone], [true; 3], None),
        ([well, gone, gone], [true, false, false], Some(StopReason::Unreachable)),
    ];
    let (plan, target) = (plan(6, 3, Some(60), 0), nobody());
    for (ends, before, reason) in cases {
        let stop = Arc::<Stop>::default();
        let bench = Bench::new(&plan, &target, &stop, [0; 2]);
        let mut played = Played::new(3, Waits::default(), silent());
        let mut crew = Crew::new(&mut played.fleet, 0);
        let mut parts = Vec::new();
        for (index, stopped) in ends.into_iter().enumerate() {
            let mut share = Share::new(index, 3, true, MOMENT);
            share.ended = Some((MOMENT, Box::new(end(1, stopped))));
            parts.push(share);
            if before[index] {
                crew.lose(index, "silent".to_owned(), None, MOMENT);
            }
        }
        crew.lose_unanswered(&mut parts, &bench, &plan.stages[1]);
        assert_eq!(stop.reason(), reason, "{ends:?}");
        let lost: Vec<_> = crew.lost.iter().map(Option::is_some).collect();
        assert_eq!(lost, before, "{ends:?}");
        assert!(crew.lost.iter().flatten().all(|lost| lost.why == "silent"));
        let count = lost.iter().filter(|is_lost| **is_lost).count();
        assert_eq!(crew.news.len(), count, "each once: {:?}", crew.news);
    }
}
