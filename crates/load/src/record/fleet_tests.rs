//! Which warnings, verdicts and results follow from what happened to agents.

use super::*;
use crate::account::Account;
use crate::plan::FleetPlan;
use crate::record::blame::of_verdict;
use crate::record::fixture::{changed, crud, fleet, lose, messages_of, times};
use crate::record::{AgentClient, AgentStarts, Ended, Lost, ResultKind, Verdict};

fn allow(record: &mut RunRecord) {
    let agents = record.agents.len();
    record.plan.fleet = Some(FleetPlan { agents, allow_lost: true });
    record.conclude();
}

const AGENTS: [Code; 4] = [Code::AgentLost, Code::AgentClock, Code::AgentsLate, Code::AgentSlow];

#[test]
fn nothing_is_said_of_agents_that_did_as_they_should() {
    let record = fleet(8);
    assert_eq!(record.result().kind, ResultKind::Passed, "{:?}", record.result());
    assert!(record.warnings.iter().all(|it| !AGENTS.contains(&it.code)), "{:?}", record.warnings);
    assert_eq!(record.stages[2].verdict, Verdict::Closed);
}

#[test]
fn a_lost_agent_degrades_the_run_with_what_is_left_of_it() {
    let mut record = fleet(8);
    lose(&mut record, 3, 7);
    let words = "agent 3 of 8 (host load-1, pid 103) was lost after 10.0 s of mixed: nothing heard \
                 for 3 s; its 707 requests until then are included, later ones are not";
    assert_eq!(messages_of(&record, Code::AgentLost), [words]);
    let result = record.result();
    assert_eq!((result.kind, result.exit_status), (ResultKind::NotTrustworthy, 5));
    assert_eq!(result.words(), format!("not trustworthy: degraded: {words}"));
    // Earlier stages are as good as before.
    let verdicts: Vec<Verdict> = record.stages.iter().map(|stage| stage.verdict).collect();
    let lost = Verdict::AgentsLost { lost: 1, agents: 8 };
    assert_eq!(verdicts, [Verdict::Closed, Verdict::Closed, lost]);
    let again = {
        record.conclude();
        record.result()
    };
    assert_eq!(again, result, "the record can be judged again");
}

#[test]
fn losses_that_are_allowed_are_reported_and_no_more() {
    let mut record = fleet(8);
    allow(&mut record);
    lose(&mut record, 3, 7);
    assert_eq!(messages_of(&record, Code::AgentLost).len(), 1);
    assert_eq!((record.result().exit_status, record.stages[2].verdict), (0, Verdict::Closed));
    // Other faults are still reported.
    crud(&mut record).verdict = Verdict::Empty;
    record.conclude();
    assert_eq!(record.result().words(), "not trustworthy: mixed: nothing was measured");
}

#[test]
fn if_no_agent_is_left_the_run_is_not_trustworthy_whatever_is_allowed() {
    let mut record = fleet(3);
    allow(&mut record);
    (0..3).for_each(|agent| lose(&mut record, agent, 7));
    let message = "all agents were lost".to_owned();
    record.close(Some(Ended { by: EndedBy::Agents, at_s: 12.75, message }), Ok(true));
    let words = "degraded: all 3 agents were lost after 10.0 s of mixed: nothing heard for 3 s; \
                 their 2,121 requests until then are included, later ones are not";
    let result = record.result();
    assert_eq!((result.exit_status, result.reason.as_deref()), (5, Some(words)));
    // Without any agent's reason, the reason is why the run ended.
    record.agents.clear();
    record.conclude();
    assert_eq!(record.result().words(), "not trustworthy: degraded: all agents were lost");
}

#[test]
fn what_comes_before_a_lost_agent_does_so() {
    let lost = |change: fn(&mut RunRecord)| {
        let mut record = fleet(8);
        lose(&mut record, 0, 2);
        change(&mut record);
        record.conclude();
        record.result()
    };
    let result = lost(|it| it.partial = true);
    assert_eq!((result.kind, result.exit_status), (ResultKind::Stopped, 130));
    let result = lost(|it| crud(it).operations.iter_mut().for_each(|it| it.ok = 0));
    assert_eq!(result.exit_status, 3);
    let result = lost(|it| {
        let (busiest_thread, late_p99_us, by) = (1.0, 0.0, Hindrance::Computed(1.0));
        crud(it).verdict = Verdict::ClientBound { busiest_thread, late_p99_us, by };
    });
    assert_eq!(result.exit_status, 5);
    let reason = result.reason.unwrap();
    assert!(reason.starts_with("degraded: agent 0 of 8 ("), "{reason}");
    let words =
        "; mixed: client-bound: springload on agents 1–7 kept its busiest thread busy 100 %";
    assert!(reason.contains(words), "{reason}");
}

fn named(stage: &StageRecord, by: Hindrance) -> String {
    on(stage, &guilty(stage, by))
}

#[test]
fn what_kept_an_agent_waiting_is_its_own() {
    let client = |late_us, waited_thread, paused_thread| AgentClient {
        waited_thread,
        paused_thread,
        late_p99_us: Some(late_us),
        ..AgentClient::default()
    };
    let mut record = fleet(2);
    let stage = crud(&mut record);
    // Another agent was paused, which is not why this one was late.
    stage.agents[0].client = Some(client(40_000.0, 0.19, 0.0));
    stage.agents[1].client = Some(client(1_000.0, 0.0, 0.26));
    (stage.client.waited_thread, stage.client.paused_thread) = (0.19, 0.26);
    let words_of = |stage: &mut StageRecord| {
        let by = Hindrance::Late(40_000.0);
        stage.verdict = Verdict::ClientBound { busiest_thread: 0.1, late_p99_us: 40_000.0, by };
        of_verdict(stage).unwrap().1
    };
    let words = words_of(stage);
    assert!(words.contains("on agent 0 ") && words.contains("CPU: waited 19 % of"), "{words}");
    stage.agents[1].client = Some(client(40_000.0, 0.0, 0.26));
    let words = words_of(stage);
    assert!(words.contains("CPU: waited 19 %, stood still 26 % of"), "{words}");
    stage.agents.clear();
    let words = words_of(stage);
    assert!(words.contains("CPU: waited 19 %, stood still 26 % of"), "{words}");
}

#[test]
fn the_agent_that_lost_most_is_named_by_its_own_figures() {
    let client = |waited_thread, held_s, late_us| AgentClient {
        waited_thread,
        held_s,
        late_p99_us: Some(late_us),
        ..AgentClient::default()
    };
    let mut record = fleet(3);
    let agents = &mut crud(&mut record).agents;
    agents[0].client = Some(client(0.1, 0.2, 90_000.0));
    agents[1].client = Some(client(0.4, 0.5, 2_000.0));
    agents[2].client = Some(client(0.19, 9.0, 1_000.0));
    agents[2].busiest_thread = 0.9;
    let stage = crud(&mut record);
    for (by, agent) in [
        (Hindrance::Late(90_000.0), 0),
        (Hindrance::Waited(0.4), 1),
        (Hindrance::Held(0.3), 2),
        (Hindrance::Computed(0.9), 2),
    ] {
        assert_eq!(named(stage, by), format!(" on agent {agent}"), "{by:?}");
    }
    // Agents that were hindered at least half as much are named, too.
    stage.agents[0].client = Some(client(0.2, 9.0, 1_000.0));
    assert_eq!(named(stage, Hindrance::Waited(0.4)), " on agents 0 and 1");
    stage.agents[2].client = Some(client(0.4, 9.0, 1_000.0));
    assert_eq!(named(stage, Hindrance::Waited(0.4)), " on each agent");
    assert_eq!(disturber(stage), "there was too little CPU on each agent");
    let length_s = [0.5, 2.0, 0.9];
    for (agent, length_s) in stage.agents.iter_mut().zip(length_s) {
        let client = agent.client.get_or_insert_default();
        client.pauses = vec![crate::measure::Span { from_s: 1.0, length_s }];
    }
    assert_eq!(paused(stage), " on agent 1");
    // What an agent added is a share of its own requests' times.
    for (agent, client_share) in stage.agents.iter_mut().zip([0.1, 0.04, 0.9]) {
        agent.account = Some(Account { client_share, ..Account::default() });
    }
    stage.agents[0].response = Some(times(&[(50_000_000, 1_000)]));
    assert_eq!(named(stage, Hindrance::Held(0.3)), " on agent 0");
    assert_eq!(disturber(stage), "there was too little CPU on agent 0");
    stage.agents.clear();
    assert_eq!(named(stage, Hindrance::Unknown), "");
    assert_eq!(paused(stage), " itself");
}

#[test]
fn losses_for_one_reason_are_reported_together_and_of_many_reasons_the_first() {
    let mut record = fleet(20);
    for (agent, after_s) in [(2, 5), (3, 5), (4, 6), (9, 5)] {
        lose(&mut record, agent, after_s);
    }
    let words = "agents 2–4 and 9 of 20 were lost between 8.0 and 9.0 s of mixed: nothing heard \
                 for 3 s; their 2,121 requests until then are included, later ones are not";
    assert_eq!(messages_of(&record, Code::AgentLost), [words]);
    for (agent, why) in [(2, "killed"), (3, "broken pipe"), (4, "its clock jumped")] {
        record.agents[agent].lost.as_mut().unwrap().why = why.to_owned();
    }
    record.conclude();
    assert_eq!(messages_of(&record, Code::AgentLost).len(), 4);
    let reason = record.result().reason.unwrap();
    assert!(reason.ends_with("; 1 more were lost") && reason.len() < 600, "{reason}");
}

#[test]
fn a_loss_is_told_by_the_time_of_its_stage_and_of_no_other() {
    let mut record = fleet(3);
    lose(&mut record, 1, 4);
    let at_s = |record: &RunRecord, stage: usize| {
        record.stages[stage].lost_at_s(&record.agents[1]).map(|at_s| (at_s * 10.0).round() as i64)
    };
    assert_eq!([0, 1, 2].map(|stage| at_s(&record, stage)), [None, None, Some(70)]);
    // In older records, only the agent's row shows in which stage it was lost.
    record.agents[1].lost.as_mut().unwrap().stage = None;
    assert_eq!(at_s(&record, 2), Some(70));
    let stage = Some(crud(&mut record).name.clone());
    crud(&mut record).agents.remove(1);
    assert_eq!(at_s(&record, 2), None, "it took no part");
    let before_s = crud(&mut record).began_s - 0.5;
    let lost = record.agents[1].lost.as_mut().unwrap();
    (lost.stage, lost.at_s) = (stage, before_s);
    assert_eq!(at_s(&record, 2), None, "the stage was still being prepared");
}

#[test]
fn an_agent_that_was_lost_before_a_stage_is_missing_in_it() {
    let mut record = fleet(4);
    record.agents[1].lost = Some(Lost {
        at_s: 1.0,
        stage: None,
        why: "nothing heard for 3 s".to_owned(),
        handed_in: false,
    });
    crud(&mut record).agents.remove(1);
    record.conclude();
    assert_eq!(record.stages[2].verdict, Verdict::AgentsLost { lost: 1, agents: 4 });
    let words = "agent 1 of 4 (host load-0, pid 101) was lost after 1.0 s of the run: nothing \
                 heard for 3 s; none of its results are included";
    assert_eq!(messages_of(&record, Code::AgentLost), [words]);
    let planned = crud(&mut record).load.begun + 100;
    crud(&mut record).load.planned = Some(planned);
    record.conclude();
    let words = "3,100 of 3,200 planned requests were begun: agent 1 was lost";
    assert_eq!(messages_of(&record, Code::NotAllBegun), [words]);
}

#[test]
fn clocks_are_reported_once_they_matter() {
    let of = |errors: [f64; 3]| {
        let record = changed(3, |record| {
            for (agent, us) in record.agents.iter_mut().zip(errors) {
                agent.clock_error_us = us;
            }
        });
        messages_of(&record, Code::AgentClock)
    };
    assert!(of([5_000.0; 3]).is_empty());
    let words = of([5_001.0, 80.0, 12_340.0]);
    assert!(
        words[0].starts_with("agents 0 and 2 of 3 have clocks that are known only to ±12.3 ms"),
        "{words:?}"
    );
    let words = of([80.0, 7_000.0, 80.0]);
    assert!(words[0].contains("pid 101) has a clock that is known only to ±7.0 ms"), "{words:?}");
}

#[test]
fn a_start_is_reported_by_rank() {
    let starts = {
        let record = fleet(8);
        record.agent_starts(&record.stages[2]).unwrap()
    };
    assert_eq!(
        starts,
        AgentStarts {
            agents: 8,
            first_us: 250.0,
            p50_us: 300.0,
            p99_us: 700.0,
            last_us: 700.0,
            within_us: 900.0,
            least_p99_us: 500.0,
        }
    );
    // Of 100 agents, one may be late.
    let of = |late: usize, us: f64| {
        let record = changed(100, |record| {
            for agent in &mut crud(record).agents {
                agent.start_us = Some(if agent.index < late { us } else { -30.0 });
            }
        });
        messages_of(&record, Code::AgentsLate)
    };
    // Clocks are known to ±0.1 ms: lateness that this may explain is not reported.
    assert!(of(1, 9_000.0).is_empty() && of(2, 5_170.0).is_empty());
    assert_eq!(
        of(2, 5_171.0),
        ["the agents did not begin together: the last of 100 began 5.2 ms after the first (p99 \
         5.2 ms): agent 1, host load-0; until then there was less load than planned"]
    );
    let none = changed(2, |it| crud(it).agents.iter_mut().for_each(|it| it.start_us = None));
    assert_eq!(none.agent_starts(&none.stages[2]), None);
}

#[test]
fn what_a_lost_agent_handed_in_is_said_to_be_all_there() {
    let mut record = fleet(4);
    lose(&mut record, 1, 5);
    record.agents[1].lost.as_mut().unwrap().handed_in = true;
    record.conclude();
    let message = messages_of(&record, Code::AgentLost).pop().unwrap();
    let words = "all of its 505 requests until then are included, as it has handed them in";
    assert!(message.ends_with(words), "{message}");
}

#[test]
fn an_agent_added_its_share_of_all_its_response_times() {
    let mut agent = fleet(2).stages[2].agents[0].clone();
    agent.account = Some(Account { client_share: 0.2, ..Account::default() });
    // A fifth of 1,000 times 1.5 ms.
    let added_s = agent.added_s().unwrap();
    assert!((added_s - 0.3).abs() < 0.01, "{added_s}");
}
