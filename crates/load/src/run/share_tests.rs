//! What an agent did in a stage, from its seconds and its end: its requests, its own losses, and
//! whether its notes are complete.

use super::*;
use crate::clock::{SECOND_NS, Scheduled};
use crate::engine::{LaneResult, LoadCounts, Watched};
use crate::journal::Journal;
use crate::measure::{ConnectionTimes, FailedTimes, FillLog, Hiccups, Served};
use crate::op::OpKind;

const MS: Nanos = 1_000_000;

fn times(of_ms: &[u64]) -> Histogram {
    let mut times = Histogram::default();
    for ms in of_ms {
        times.record(ms * MS);
    }
    times
}

/// Four reads that succeeded, the last of which the client held up, and three that failed.
fn reads() -> KindInterval {
    let held = HeldTimes { measured: times(&[40]), without: times(&[4]) };
    let mut part = KindInterval {
        requests: 7,
        ok: 4,
        service: times(&[1, 2, 3, 4]),
        response: times(&[1, 2, 3, 40]),
        held: Some(Box::new(held)),
        ..KindInterval::default()
    };
    for (class, of_ms) in [(Failure::ServerError, &[5, 6][..]), (Failure::Conflict, &[7][..])] {
        part.failures[class.index()] = of_ms.len() as u64;
        let failed = FailedTimes { service: times(of_ms), response: times(of_ms) };
        part.failed_times.insert(class, failed);
    }
    part.wire.unsolicited = 3;
    part
}

/// A second with these reads, an insert of ten documents, and a check, which is no request.
fn second(number: u32) -> Interval {
    let mut interval = Interval::new(number);
    *interval.kind_mut(OpKind::Read) = reads();
    let insert = interval.kind_mut(OpKind::BulkInsert);
    (insert.requests, insert.ok) = (1, 10);
    (insert.service, insert.response) = (times(&[54]), times(&[54]));
    let verify = interval.kind_mut(OpKind::Verify);
    (verify.requests, verify.ok) = (5, 5);
    interval
}

fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() <= expected.abs() * 1e-9, "{value}, not {expected}");
}

/// Whether a time is this one, as far as two digits tell.
fn near(ns: Nanos, ms: u64) -> bool {
    (ns as f64 / (ms * MS) as f64 - 1.0).abs() < 0.02
}

#[test]
fn what_an_agent_did_is_added_up_second_by_second() {
    let mut share = Share::new(3, 4, true, SECOND_NS);
    share.count(&second(0));
    share.count(&second(1));
    let row = share.so_far(&[]);
    assert_eq!((row.index, row.requests, row.ok, row.failed), (3, 16, 28, 6));
    let seconds = row.series.iter().map(|it| (it.second, it.requests, it.ok, it.failed, it.timed));
    assert_eq!(seconds.collect::<Vec<_>>(), [(0, 8, 14, 3, 5), (1, 8, 14, 3, 5)]);
    for second in &row.series {
        // (1 + 2 + 3 + 40 + 54) / 5, to three digits.
        assert!((second.response_mean_us / 20_000.0 - 1.0).abs() < 2e-3, "{second:?}");
        assert!((second.response_max_us / 54_000.0 - 1.0).abs() < 2e-3, "{second:?}");
    }
    let issued = [OpKind::Read, OpKind::BulkInsert, OpKind::Verify];
    assert_eq!(issued.map(|kind| share.issued.get(kind).copied()), [Some(14), Some(20), Some(10)]);
    close(tenths(1_234_567.0), 1_234.6);
}

#[test]
fn an_agent_is_lost_or_not_and_has_response_times_only_of_what_succeeded() {
    let mut share = Share::new(1, 2, true, SECOND_NS);
    assert_eq!(share.so_far(&[]).response, None);
    share.count(&second(0));
    let response = share.so_far(&[]).response.expect("five requests succeeded");
    assert_eq!(response.samples, 5);
    assert!(near(response.histogram.max(), 54));
    let lost = || Some(Lost::default());
    for (all, is_lost) in [(vec![], false), (vec![None, lost()], true), (vec![lost(), None], false)]
    {
        assert_eq!(share.so_far(&all).lost, is_lost, "{all:?}");
    }
}

#[test]
fn the_facts_for_an_agents_account_are_those_of_its_requests() {
    let mut share = Share::new(0, 1, true, SECOND_NS);
    share.count(&second(0));
    share.count(&second(1));
    let facts = share.requests.facts();
    assert_eq!((facts.served, facts.response.len(), facts.without_client.len()), (10, 10, 10));
    let failed: BTreeMap<_, _> = facts.failed.into_iter().collect();
    assert_eq!(failed, BTreeMap::from([(Failure::ServerError, 4), (Failure::Conflict, 2)]));
    // 7 reads and 10 inserts a second; two server errors, and three answers nobody asked for.
    assert_eq!(facts.documents, (34, 10));
    // What the client held up took 4 ms without it.
    assert!(near(facts.response.percentile(80.0), 40));
    assert!(near(facts.without_client.percentile(80.0), 4));
}

/// A thread whose connections began this late, that computed for a while and held up a request.
fn shard(late_ns: [Option<Nanos>; 2], cpu_ms: u64, loss: ThreadLoss) -> ShardResult<()> {
    let lane = |(connection, first_late_ns)| {
        Box::new(LaneResult {
            connection,
            workload: (),
            times: ConnectionTimes::default(),
            first_sent_ns: first_late_ns,
            first_late_ns,
            late: false,
            unopened: false,
        })
    };
    ShardResult {
        lanes: late_ns.into_iter().enumerate().map(lane).collect(),
        issued: ByKind::default(),
        load: LoadCounts::default(),
        watched: Watched { loss, ..Watched::default() },
        fill: FillLog::default(),
        elapsed_ns: SECOND_NS,
        cpu_ns: cpu_ms * MS,
        nodes: Vec::new(),
        sent: Served::default(),
    }
}

/// A second of a thread, in milliseconds: computing, waiting for a processor, paused.
fn loss([cpu_ms, waited_ms, paused_ms]: [u64; 3], held: u64, held_ms: u64) -> ThreadLoss {
    let mut loss = ThreadLoss {
        watched_ns: SECOND_NS,
        cpu_ns: cpu_ms * MS,
        scheduled: Scheduled { waited_ns: Some(waited_ms * MS), ..Scheduled::default() },
        paused_ns: paused_ms * MS,
        held,
        held_ns: held_ms * MS,
        ..ThreadLoss::default()
    };
    loss.pauses.add(3 * SECOND_NS, 3 * SECOND_NS + paused_ms * MS);
    loss
}

fn ended(shards: Vec<ShardResult<()>>, stopped: Option<StopReason>) -> Box<StageEnd> {
    let hiccups = Hiccups::default();
    Box::new(StageEnd { stage: 1, shards, hiccups, stopped, noted: None, left: None })
}

#[test]
fn what_an_agent_lost_is_that_of_its_worst_thread_and_the_sum_of_delays() {
    let mut late = loss([600, 10, 20], 2, 1_500);
    late.late.record_many(8 * MS, 50);
    let waited = loss([300, 500, 50], 3, 750);
    let shards = vec![
        shard([Some(2_500), None], 1_500, late),
        shard([Some(4_000), Some(1_700)], 750, waited),
    ];
    let mut row = AgentStage::default();
    describe(&mut row, &ended(shards, None), 2 * SECOND_NS);
    close(row.start_us.expect("it sent something"), 1.7);
    close(row.cpu_s, 2.25);
    close(row.busiest_thread, 0.6);
    let client = row.client.take().expect("it told");
    close(client.waited_thread, 0.5);
    close(client.paused_thread, 0.05);
    let late_us = client.late_p99_us.expect("an open loop");
    assert!((late_us / 8_000.0 - 1.0).abs() < 2e-3, "{late_us}");
    assert_eq!(client.held, 5);
    close(client.held_s, 2.25);
    let [pause] = client.pauses[..] else { panic!("{:?}", client.pauses) };
    close(pause.from_s, 1.0);
    close(pause.length_s, 0.05);
    // In a closed loop nothing is late.
    let closed = vec![shard([None, None], 0, loss([0; 3], 0, 0))];
    describe(&mut row, &ended(closed, None), 0);
    assert_eq!((row.start_us, row.client.expect("it told").late_p99_us), (None, None));
}

#[test]
fn an_agent_that_gave_up_says_when_and_why() {
    let mut share = Share::new(0, 1, true, SECOND_NS);
    assert_eq!((share.unanswered(), share.stopped()), (None, None));
    let unreachable = Some(StopReason::Unreachable);
    for (stopped, unanswered) in [
        (None, None),
        (Some(StopReason::Interrupted), None),
        (unreachable, unreachable.map(|reason| (7, reason))),
    ] {
        share.ended = Some((7, ended(Vec::new(), stopped)));
        assert_eq!((share.unanswered(), share.stopped()), (unanswered, stopped));
    }
}

/// Four bytes of notes have arrived; the agent says how many it has sent, if it says anything.
#[test]
fn notes_count_as_delivered_only_if_all_of_them_came() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::create(folder.path()).unwrap();
    let full = || Err("full".to_owned());
    let cases = [
        (None, Err("it was lost before its notes of crud came")),
        (Some(None), Err("it has noted nothing")),
        (Some(Some(full())), Err("full")),
        (Some(Some(Ok(9))), Err("4 of 9 bytes of its notes came")),
        (Some(Some(Ok(4))), Ok(())),
    ];
    for (agent, (end, result)) in cases.into_iter().enumerate() {
        let mut share = Share::new(agent, 5, true, SECOND_NS);
        let mut notes = journal.expect(1, agent).unwrap();
        notes.add(0, b"four");
        share.notes = Some(notes);
        share.ended = end.map(|noted| {
            let end = *ended(Vec::new(), None);
            (7, Box::new(StageEnd { noted, ..end }))
        });
        assert_eq!(share.deliver("crud"), result.map_err(str::to_owned));
    }
    assert_eq!(Share::new(0, 1, true, 0).deliver("crud"), Ok(()), "it was to note nothing");
}
