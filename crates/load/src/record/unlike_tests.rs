//! Which agents are unlike the others, and why.

use super::*;
use crate::account::{Account, Range};
use crate::driver::{TargetAsked, TargetPlan};
use crate::generate::{Stream, mix, unit};
use crate::record::fixture::{changed, crud, lose, messages_of, times};

const MS: u64 = 1_000_000;

/// Gives an agent these response times in milliseconds, each with its number of requests; this
/// share of them was added by the agent itself.
fn takes(record: &mut RunRecord, agent: usize, of: &[(u64, u64)], client_share: f64) {
    let of: Vec<_> = of.iter().map(|&(ms, count)| (ms * MS, count)).collect();
    let agent = &mut crud(record).agents[agent];
    let response = times(&of);
    let high = response.p99_us.unwrap_or(0.0);
    let p99_us = Some(Range { low: high * (1.0 - client_share), high });
    agent.account = Some(Account { client_share, p99_us, ..Account::default() });
    agent.response = Some(response);
}

#[test]
fn a_straggler_is_found_by_what_its_connections_do() {
    let of = |change: fn(&mut RunRecord)| messages_of(&changed(5, change), Code::AgentSlow);
    let does = |record: &mut RunRecord, ok| crud(record).agents[2].ok = ok;
    assert!(of(|it| crud(it).agents[2].ok = 500).is_empty());
    let words = of(|it| crud(it).agents[2].ok = 499);
    let expected = "agent 2 of 5 (host load-1, pid 102) did 50 documents per second per \
                    connection, less than half the median of 100";
    assert!(words[0].starts_with(expected), "{words:?}");
    // In the words of the database.
    let words = of(|it| {
        crud(it).agents[2].ok = 499;
        it.plan.target = TargetPlan::check(&TargetAsked::at("redis://127.0.0.1:1")).unwrap();
    });
    assert!(words[0].contains(" did 50 keys per second per connection, "), "{words:?}");
    // With twice the connections it should do twice as much.
    let words = of(|it| it.agents[2].connections = 3);
    assert!(words[0].contains(" did 33 documents"), "{words:?}");
    // The same number in more time.
    let words = of(|it| {
        for agent in [0, 1, 3, 4] {
            crud(it).agents[agent].series.truncate(4);
        }
    });
    assert!(
        words[0].contains(
            "did 100 documents per second per connection, less than half the \
                               median of 250"
        ),
        "{words:?}"
    );
    // In an open loop each agent does what it is given, and a lost agent has its own warning.
    for quiet in [
        |it: &mut RunRecord| crud(it).load.open = true,
        |it: &mut RunRecord| crud(it).elapsed_s = 0.9,
        |it: &mut RunRecord| lose(it, 2, 1),
        |it: &mut RunRecord| crud(it).agents.iter_mut().for_each(|it| it.ok = 99),
    ] {
        let record = changed(5, |record| {
            does(record, 10);
            quiet(record);
        });
        assert!(messages_of(&record, Code::AgentSlow).is_empty(), "{:?}", record.warnings);
    }
}

#[test]
fn an_agent_with_long_times_is_found_by_percentiles_and_by_its_own_account() {
    let of = |change: fn(&mut RunRecord)| messages_of(&changed(5, change), Code::AgentOutlier);
    // The others: a median of 1 ms and a 99th percentile of 6 ms.
    assert!(of(|_| {}).is_empty());
    assert!(of(|it| takes(it, 2, &[(2, 850), (6, 150)], 0.0)).is_empty());
    assert!(of(|it| takes(it, 2, &[(1, 900), (17, 100)], 0.0)).is_empty());
    let words = of(|it| takes(it, 2, &[(3, 850), (6, 150)], 0.0));
    let expected = "agent 2 of 5 (host load-1, pid 102) had response times with a median of 3.0 ms, \
                    beside 1.0 ms of the others: its path to the server, not its machine, is \
                    slower, so the percentiles of all agents mix unlike clients";
    assert_eq!(words, [expected]);
    let words = of(|it| {
        takes(it, 2, &[(1, 900), (60, 100)], 0.9);
        takes(it, 4, &[(1, 900), (30, 100)], 0.5);
    });
    let expected = "agents 2 and 4 of 5 had response times with a 99th percentile of up to 60.0 ms, \
                    beside 6.0 ms of the others: their own machine held requests up (up to 90 % of \
                    their times)";
    assert!(words[0].starts_with(expected), "{words:?}");
    let words = of(|it| {
        takes(it, 2, &[(1, 900), (60, 100)], 0.9);
        takes(it, 4, &[(1, 900), (30, 100)], 0.0);
    });
    assert!(words[0].contains("others have a slower path"), "{words:?}");
    let words = of(|it| {
        takes(it, 2, &[(30, 1_000)], 0.0);
        crud(it).agents[2].account = None;
    });
    assert!(words[0].contains(": the machine or its path to the server is slower"), "{words:?}");
}

#[test]
fn of_two_agents_the_slower_one_is_named_and_never_both() {
    let record = changed(2, |it| takes(it, 1, &[(30, 1_000)], 0.0));
    let words = messages_of(&record, Code::AgentOutlier);
    assert!(words[0].starts_with("agent 1 of 2 ("), "{words:?}");
    assert_eq!(words.len(), 1);
}

#[test]
fn who_is_slow_already_was_lost_or_did_too_little_is_no_outlier() {
    for quiet in [
        |it: &mut RunRecord| crud(it).agents[2].ok = 100,
        |it: &mut RunRecord| lose(it, 2, 9),
        |it: &mut RunRecord| takes(it, 2, &[(30, 19)], 0.0),
        |it: &mut RunRecord| crud(it).agents[2].response = None,
    ] {
        let record = changed(5, |it| {
            takes(it, 2, &[(30, 1_000)], 0.0);
            quiet(it);
        });
        assert!(messages_of(&record, Code::AgentOutlier).is_empty(), "{:?}", record.warnings);
    }
}

/// Agents of a healthy run: their times differ by chance alone, however long the tail.
#[test]
fn chance_makes_no_outliers() {
    let mut random = Stream::new(mix(29, 0, 0), 0);
    for shape in [1.0_f64, 1.6, 2.5] {
        let record = changed(200, |record| {
            for agent in &mut crud(record).agents {
                let mut response = crate::measure::Histogram::coarse();
                for _ in 0..1_000 {
                    // Weibull: with the shape 2.5, 1 in 100 takes 110 times the median.
                    let us = 1_000.0 * (-(1.0 - unit(random.draw())).ln()).powf(shape);
                    response.record((us * 1_000.0) as u64);
                }
                agent.response = Some(Latency::new(response));
            }
        });
        assert!(messages_of(&record, Code::AgentOutlier).is_empty(), "{:?}", record.warnings);
    }
}
