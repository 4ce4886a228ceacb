//! The table of agents: with few, with many, and with lost ones.

use super::*;
use crate::record::Account;
use crate::record::fixture::{fleet, lose, record, times};

fn text(record: &RunRecord) -> String {
    let mut out = String::new();
    section(record, record.stages.last().expect("a stage"), &mut out);
    out
}

#[test]
fn few_agents_have_a_row_each() {
    let mut record = fleet(3);
    record.agents[2].connections = 1_200;
    record.stages[2].agents[0].start_us = Some(-1_234.0);
    let account = Account { client_share: 0.384, ..Account::default() };
    record.stages[2].agents[1].account = Some(account);
    record.stages[2].agents[2].response = None;
    assert_eq!(
        text(&record),
        "
  3 agents began within 1.88 ms: 1.68 ms apart by clocks that are known to ±0.100 ms (p50 \
         1.58, p99 1.68), the first 1.23 ms before the set time
  agent                 connections  start, ms  ok/s  failed  p50, ms  p99, ms  own share  \
         CPU, s  busiest thread
  0 on load-0, pid 100            1      -1.23   100      10     1.00     6.03          -    \
         1.50            15 %
  1 on load-0, pid 101            1      0.350   100      10     1.00     6.03       38 %    \
         1.50            15 %
  2 on load-1, pid 102        1,200      0.450   100      10        -        -          -    \
         1.50            15 %
"
    );
    assert_eq!(crew(&record).as_deref(), Some("3 agents on 2 machines"));
    assert_eq!(crew(&fleet(1)).as_deref(), Some("1 agent on 1 machine"));
}

#[test]
fn a_lost_agent_shows_what_it_reported_and_when_it_was_lost() {
    let mut record = fleet(3);
    lose(&mut record, 1, 4);
    let text = text(&record);
    // By the time of the stage, as in its events.
    let row = "1 on load-0, pid 101            1          -   100       4     1.00     6.03          \
         -       -               -  after 7.0 s";
    assert!(text.contains(row), "{text}");
    assert!(text.contains("busiest thread         lost\n"), "{text}");
    assert!(text.contains("2 of 3 agents began within"), "{text}");
    // Lost before the stage, so it takes no part in it.
    record.stages[2].agents.remove(1);
    record.agents[1].lost.as_mut().expect("it is lost").at_s = 0.5;
    let text = self::text(&record);
    let row = "1 on load-0, pid 101            1          -     -       -        -        -          \
         -       -               -  before";
    assert!(text.contains(row), "{text}");
}

#[test]
fn of_many_agents_those_that_stand_out_are_shown_and_all_that_were_lost() {
    let mut record = fleet(200);
    let agents = &mut record.stages[2].agents;
    for (agent, done) in agents.iter_mut().enumerate() {
        done.ok = 1_000 + agent as u64;
    }
    (agents[77].busiest_thread, agents[88].start_us) = (0.9, Some(99_000.0));
    agents[99].response = Some(times(&[(1_000_000, 900), (20_000_000, 100)]));
    for agent in [10, 11, 150] {
        lose(&mut record, agent, 4);
    }
    let rows = |record: &RunRecord| -> Vec<String> {
        let (_, rows) = parts(record, &record.stages[2]).unwrap();
        let first = |(_, row): &AgentRow| row[0].split(" on ").next().unwrap().to_owned();
        rows.iter().map(first).collect()
    };
    let shown = [
        "agent",
        "0",
        "1",
        "2",
        "10",
        "11",
        "77",
        "88",
        "99",
        "150",
        "197",
        "198",
        "199",
        "least of 197",
        "median of 197",
        "most of 197",
    ];
    assert_eq!(rows(&record), shown);
    let report = text(&record);
    assert!(report.contains("of 200 agents these are the slowest"), "{report}");
    assert!(!report.contains("lost: agents"), "{report}");
    let most = report.lines().find(|line| line.starts_with("  most of 197")).unwrap();
    let cells: Vec<&str> = most.split_whitespace().skip(3).collect();
    assert_eq!(cells, ["1", "99.0", "120", "10", "1.00", "20.1", "-", "1.50", "90", "%"], "{most}");
    // More than there is room for.
    for agent in 100..140 {
        lose(&mut record, agent, 4);
    }
    assert_eq!(rows(&record).len(), 1 + 16 + 9 + 3);
    assert!(text(&record).contains("lost: agents 10, 11, 100–139 and 150"), "{}", text(&record));
}

#[test]
fn a_run_without_agents_says_nothing_of_them() {
    let record = record(&[]);
    assert_eq!((text(&record).as_str(), crew(&record)), ("", None));
    // Nor does a stage that is not measured.
    let mut fleet = fleet(2);
    fleet.stages[2].name = "warm_up".to_owned();
    assert_eq!(text(&fleet), "");
}
