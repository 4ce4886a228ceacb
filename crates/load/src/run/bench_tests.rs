//! Which threads, points of growth, probes, followers, notes and patience a stage gets.

use super::super::fixture_tests::{at_once, fill, planned, spec};
use super::*;
use crate::clock::SECOND_NS;
use crate::driver::FeedKind;
use crate::engine::{Arrivals, Pace, Schedule};
use crate::op::Way;
use crate::plan::{DrillSpec, FillPlan, PlanSpec};

/// When runs began, on both clocks.
const BEGAN: [Nanos; 2] = [SECOND_NS; 2];

#[test]
fn threads_are_dealt_in_equal_parts_to_all_agents() {
    let (plan, target, stop) = (planned(&spec(60, Some(6))), at_once(), Arc::default());
    for (max_in_flight, agents, shards, own) in [
        (None, 1, 3, 3),
        (None, 2, 6, 3),
        // A thread without an operation in flight would have nothing to do.
        (Some(2), 1, 2, 2),
        (Some(5), 2, 4, 2),
        // Each agent has at least one thread.
        (Some(1), 2, 2, 1),
    ] {
        let mut stage = plan.stages[1].clone();
        if let Some(max_in_flight) = max_in_flight {
            let schedule = Schedule { segments: Vec::new(), arrivals: Arrivals::Constant, seed: 1 };
            stage.pace = Pace::Open { schedule, max_in_flight, slack_ns: 0 };
        }
        let agent = agents - 1;
        let part = Part { agent, agents };
        let bench = Bench { part, ..Bench::new(&plan, &target, &stop, BEGAN) };
        let deal = bench.deal(&stage);
        let case = (max_in_flight, agents);
        assert_eq!((deal.shards, deal.agent, deal.agents), (shards, agent, agents), "{case:?}");
        assert_eq!(bench.own_shards(&stage), own, "{case:?}");
    }
}

#[test]
fn growth_has_a_point_for_what_is_inserted_at_once_or_for_a_thousandth_of_all() {
    let (target, stop) = (at_once(), Arc::default());
    for (documents, growth, window) in
        [(5_000, true, Some(60)), (200_000, true, Some(200)), (200_000, false, None)]
    {
        let fill = FillPlan { growth, ..FillPlan::default() };
        let plan = planned(&PlanSpec { fill, ..spec(documents, Some(6)) });
        let bench = Bench::new(&plan, &target, &stop, BEGAN);
        assert_eq!(bench.window(&plan.stages[0]), window, "{documents} documents");
        assert_eq!(bench.window(&plan.stages[1]), None, "nothing grows there");
    }
}

#[test]
fn probes_and_followers_run_beside_the_main_stage_or_a_fill_alone() {
    let (target, stop) = (at_once(), Arc::default());
    let probe = Some(ProbePlan { visible: vec![Way::Get], every_ns: SECOND_NS });
    let follow = Some(FollowPlan { followers: 2, feed: FeedKind::Continuous, filter: None });
    let with = |spec: PlanSpec| PlanSpec { probe: probe.clone(), follow: follow.clone(), ..spec };
    let whole = PlanSpec { audit: true, ..spec(60, Some(6)) };
    for (spec, beside) in [(with(whole), &[false, true, false][..]), (with(fill(60)), &[true][..])]
    {
        let plan = planned(&spec);
        let bench = Bench::new(&plan, &target, &stop, BEGAN);
        let probed: Vec<_> = plan.stages.iter().map(|it| bench.probes(it)).collect();
        let followed: Vec<_> = plan.stages.iter().map(|it| bench.follows(it)).collect();
        assert_eq!(probed.iter().map(Option::is_some).collect::<Vec<_>>(), beside);
        assert_eq!(followed.iter().map(Option::is_some).collect::<Vec<_>>(), beside);
        assert!(probed.into_iter().flatten().all(|it| Some(it) == probe));
        assert!(followed.into_iter().flatten().all(|it| Some(it) == follow));
    }
    let plan = planned(&spec(60, Some(6)));
    let bench = Bench::new(&plan, &target, &stop, BEGAN);
    assert_eq!((bench.probes(&plan.stages[1]), bench.follows(&plan.stages[1])), (None, None));
}

#[test]
fn all_writes_are_noted_by_the_number_of_their_stage_and_no_audit_is() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Arc::new(Journal::create(folder.path()).unwrap());
    let plan = planned(&PlanSpec { audit: true, ..spec(60, Some(6)) });
    let (target, stop) = (at_once(), Arc::default());
    let given = Some(journal.clone());
    let bench = Bench { journal: given, ..Bench::new(&plan, &target, &stop, BEGAN) };
    let mut numbers = Vec::new();
    for stage in &plan.stages {
        let noted = bench.noted(stage);
        assert!(noted.as_ref().is_none_or(|(into, _)| Arc::ptr_eq(into, &journal)));
        numbers.push(noted.map(|(_, number)| number));
    }
    assert_eq!(numbers, [Some(0), Some(1), None]);
    let bench = Bench::new(&plan, &target, &stop, BEGAN);
    assert!(bench.noted(&plan.stages[0]).is_none(), "there is no journal");
}

/// While it is broken on purpose, and being broken and mended, a server need not answer.
#[test]
fn a_server_may_be_silent_for_longer_while_it_is_broken_on_purpose() {
    let times = DrillTimes {
        before_ns: 5 * SECOND_NS,
        broken_ns: 3 * SECOND_NS,
        after_ns: 6 * SECOND_NS,
        settle_ns: 0,
        limit_ns: 4 * SECOND_NS,
    };
    let drill = DrillSpec {
        stop: Some("true".to_owned()),
        start: Some("true".to_owned()),
        maintenance: None,
        partition: None,
        times,
        audits: false,
    };
    let plan = planned(&PlanSpec { drill: Some(drill), ..spec(60, None) });
    let (target, stop) = (at_once(), Arc::default());
    let bench = Bench::new(&plan, &target, &stop, BEGAN);
    let patience: Vec<_> = plan.stages.iter().map(|it| bench.patience_ns(it)).collect();
    // A silent server is given up after 30 s by default.
    assert_eq!(patience, [30 * SECOND_NS, (30 + 3 + 2 * 4) * SECOND_NS]);
}
