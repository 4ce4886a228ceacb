//! What the record and the account of a stage say about its time: which losses count, and to whom
//! they are charged.

use super::{MS, at_rate, close, frame, lane, reads, record, shard, stage};
use crate::account::{Facts, Reading, RequestShares, Sureness};
use crate::clock::{Nanos, SECOND_NS};
use crate::driver::Card;
use crate::engine::{Arrivals, Pace, Schedule, Segment, ShardResult};
use crate::measure::{
    Answers, Backlog, Histogram, NodeLog, Outage, OutageLog, Pulse, Series, Silences, Spans,
    ThreadLoss, Timing, Totals,
};
use crate::op::{ByKind, Failure};
use crate::record::Verdict;
use crate::run::collect::{Collected, Frame};
use crate::run::window::peak_per_s;
use std::cell::RefCell;

/// When the stages of these tests begin.
const START: Nanos = 3 * SECOND_NS;

const CLOSED: Pace = Pace::Closed { think_ns: 0 };

/// The log of a connection whose operations failed in these times, in milliseconds from the start.
fn failing(times_ms: &[(u64, u64)], failure: Failure) -> OutageLog {
    let (pulse, log, mut spell) = (Pulse::new(1), RefCell::default(), None);
    for &(from_ms, to_ms) in times_ms {
        let (from, to) = (START + from_ms * MS, START + to_ms * MS);
        OutageLog::succeeded(&log, &pulse, 0, &mut spell, from - MS, from);
        log.borrow_mut().failed(&pulse, &mut spell, from, to, failure);
        OutageLog::succeeded(&log, &pulse, 0, &mut spell, to, to + MS);
    }
    log.into_inner()
}

/// An operation succeeds every 100 ms, so that 200 ms of failures are chance, and 400 ms are not.
#[test]
fn each_loss_of_time_is_charged_to_whoever_caused_it() {
    let plan = stage(CLOSED, None, None);
    for (failure, server_s, network_s) in
        [(Failure::Reset, 0.4, 0.0), (Failure::Unreachable, 0.0, 0.4)]
    {
        let mut loss = ThreadLoss::default();
        loss.holding.add(START + 6 * SECOND_NS, START + 7 * SECOND_NS);
        let mut failed = shard(100, 10 * SECOND_NS, loss);
        failed.watched.outage = failing(&[(2_000, 2_200), (8_000, 8_400)], failure);
        let mut collected = Collected::new(reads(100, 0), Series::default());
        collected.add(failed);
        let record = record(collected, &plan);
        close(record.outage.total_s, 0.4);
        assert_eq!(record.outage.spans.len(), 1, "{:?}", record.outage);
        close(record.outage.spans[0].from_s, 8.0);
        let time = record.account.expect("an account").time;
        close(time.server_s, server_s);
        close(time.network_s, network_s);
        close(time.client_s, 1.0);
        close(time.nobody_s, 8.6);
        assert!(matches!(record.verdict, Verdict::Degraded { .. }), "{:?}", record.verdict);
    }
}

#[test]
fn an_outage_is_not_divided_by_times_in_which_the_client_was_late() {
    let plan = stage(CLOSED, None, None);
    let outage = |failing_ms: &[(u64, u64)], held_ms: &[(u64, u64)]| {
        let mut loss = ThreadLoss::default();
        for (from_ms, to_ms) in held_ms {
            loss.holding.add(START + from_ms * MS, START + to_ms * MS);
        }
        let mut failed = shard(100, 10 * SECOND_NS, loss);
        failed.watched.outage = failing(failing_ms, Failure::Reset);
        let mut collected = Collected::new(reads(100, 0), Series::default());
        collected.add(failed);
        let record = record(collected, &plan);
        let Verdict::Degraded { outage_s, .. } = record.verdict else {
            panic!("{:?}", record.verdict)
        };
        // The same loss is equally long, wherever it is reported.
        close(outage_s, record.outage.total_s);
        close(record.account.expect("an account").time.server_s, record.outage.total_s);
        record.outage
    };
    let ms = |seconds: f64| (seconds * 1e3).round() as u64;
    let spans = |it: &Outage| -> Vec<_> {
        it.spans.iter().map(|span| (ms(span.from_s), ms(span.length_s))).collect()
    };
    let moments = outage(&[(2_000, 2_600)], &[(2_200, 2_203), (2_400, 2_409)]);
    assert_eq!((spans(&moments), ms(moments.total_s)), (vec![(2_000, 600)], 588));
    // As in the outage of a server that was killed, on a machine without a processor to spare.
    let pauses = outage(&[(2_000, 3_591)], &[(2_016, 2_029), (2_668, 2_698), (2_725, 2_756)]);
    assert_eq!((spans(&pauses), ms(pauses.total_s)), (vec![(2_000, 1_591)], 1_517));
    // Whether the server would have served anything in most of the time is not known.
    let pause = outage(&[(2_000, 2_600)], &[(2_200, 2_550)]);
    assert_eq!((spans(&pause), ms(pause.total_s)), (vec![(2_000, 200), (2_550, 50)], 250));
    // At its edge, such a pause is no part of an outage, and what lies in one is none.
    let edge = outage(&[(2_000, 2_600), (4_000, 4_500)], &[(1_900, 2_050), (3_900, 4_600)]);
    assert_eq!((spans(&edge), ms(edge.total_s)), (vec![(2_050, 550)], 550));
    // Something was served in a pause of one of several threads.
    let served = outage(&[(2_000, 2_400), (2_450, 2_850)], &[(2_395, 2_455)]);
    assert_eq!((spans(&served), ms(served.total_s)), (vec![(2_000, 395), (2_455, 395)], 790));
    // Nor by moments in which something was served, by a straggler.
    let stragglers = outage(&[(2_000, 2_400), (2_403, 2_803)], &[]);
    assert_eq!((spans(&stragglers), ms(stragglers.total_s)), (vec![(2_000, 803)], 800));
    // Something was served in between.
    let two = outage(&[(2_000, 2_400), (2_450, 2_850)], &[]);
    assert_eq!((spans(&two), ms(two.total_s)), (vec![(2_000, 400), (2_450, 400)], 800));
}

/// A server that did not answer from the first second of a stage to the fourth.
fn silent() -> Silences {
    let answers = Answers::new(START);
    answers.add(&Timing::between(START + SECOND_NS - MS, START + SECOND_NS));
    answers.add(&Timing::between(START + SECOND_NS, START + 4 * SECOND_NS));
    answers.finish(&Spans::default())
}

/// In an open loop, the response times of what fell due meanwhile include the silence.
#[test]
fn a_silence_is_lost_time_only_in_a_closed_loop() {
    for (pace, server_s) in [(CLOSED, 3.0), (at_rate(200.0, 5), 0.0)] {
        let plan = stage(pace, None, Some(5 * SECOND_NS));
        let mut asked = shard(1_000, 5 * SECOND_NS, ThreadLoss::default());
        asked.watched.silences = silent();
        let mut collected = Collected::new(reads(1_000, 0), Series::default());
        collected.add(asked);
        let mut service = Histogram::default();
        service.record_many(MS, 1_000);
        let time = collected.account(Facts::default(), &service, &frame(&plan)).time;
        close(time.server_s, server_s);
        close(time.nobody_s, 5.0 - server_s);
        let record = record(collected, &plan);
        assert_eq!(record.silences.len(), 1, "listed in both: {:?}", record.silences);
        close(record.account.expect("an account").time.server_s, server_s);
    }
}

/// A shard that computed all the time, and what is known of its requests besides.
fn computing() -> (Collected, Facts) {
    let (watched_ns, cpu_ns) = (SECOND_NS, SECOND_NS);
    let loss = ThreadLoss { watched_ns, cpu_ns, unsent: 1, ..ThreadLoss::default() };
    let mut collected = Collected::new(reads(100, 0), Series::default());
    collected.add(shard(100, SECOND_NS, loss));
    (collected, Facts { served: 80, ..Facts::default() })
}

#[test]
fn the_account_of_a_process_is_about_its_own_load_and_threads() {
    let (collected, known) = computing();
    let plan = stage(at_rate(100.0, 1), None, Some(SECOND_NS));
    let account = collected.account(known, &Histogram::default(), &frame(&plan));
    let RequestShares { due, served, client, server, nobody, .. } = account.requests;
    // Of 105 that were due, 3 were dropped and 2 not sent, one of these because of a pause.
    assert_eq!((due, served, client, server, nobody), (105, 80, 1, 4, 20));
    assert_eq!(account.trust.throughput, Sureness::Unknown, "its thread had no time to spare");
}

#[test]
fn without_a_server_a_client_at_its_limit_is_what_is_measured() {
    let plan = stage(CLOSED, None, Some(SECOND_NS));
    for (server, sure) in [(true, Sureness::Unknown), (false, Sureness::Sound)] {
        let framed = || {
            let own = frame(&plan);
            Frame { card: Card { server, ..own.card }, ..own }
        };
        let (collected, known) = computing();
        let account = collected.account(known, &Histogram::default(), &framed());
        assert_eq!(account.trust.throughput, sure);
        let record = collected.record(framed());
        assert_eq!(record.account.expect("an account").trust.throughput, sure);
        assert_eq!(record.verdict == Verdict::Closed, !server, "{:?}", record.verdict);
    }
}

/// How long answers waited to be read, if the kernel timed so many of those of a process, of a
/// thousand in all, and so many others are of one that was lost.
fn reading(noted: u64, lost: u64) -> Reading {
    let plan = stage(CLOSED, None, Some(SECOND_NS));
    let (watched_ns, paused_ns) = (SECOND_NS, 900 * MS);
    let mut loss = ThreadLoss { watched_ns, paused_ns, ..ThreadLoss::default() };
    for us in [0, 0, 100, 500] {
        loss.unread.record(us * 1_000);
    }
    let mut timed = lane(0, None, false);
    timed.times.noted_answers = noted;
    let mut collected = Collected::new(reads(1_000, 0), Series::default());
    let own = shard(1_000 - lost, SECOND_NS, loss);
    collected.add(ShardResult { lanes: vec![Box::new(timed)], ..own });
    collected.add_lost(&ByKind::default(), lost, lost);
    record(collected, &plan).account.expect("an account").reading_us
}

#[test]
fn answers_that_the_kernel_timed_did_not_wait_to_be_read() {
    let (none, half) = (reading(0, 0), reading(500, 0));
    assert!(none.mean > 100.0, "{none:?}");
    close(half.mean, none.mean / 2.0);
    close(half.p99, none.p99);
    assert_eq!(reading(1_000, 0), Reading::default(), "all of them were timed");
}

#[test]
fn answers_of_a_lost_process_say_nothing_about_those_of_others() {
    assert_eq!(reading(600, 400), Reading::default(), "all that are left were timed");
    let (half, none) = (reading(300, 400), reading(0, 400));
    close(half.mean, reading(500, 0).mean);
    close(none.mean, reading(0, 0).mean);
    close(none.p99, reading(0, 0).p99);
}

#[test]
fn each_node_has_what_all_processes_know_about_it() {
    let plan = stage(CLOSED, None, Some(SECOND_NS));
    let node = |connections| NodeLog { connections, ..NodeLog::default() };
    let process = |nodes| {
        let shard = shard(10, SECOND_NS, ThreadLoss::default());
        Collected::of_process(vec![ShardResult { nodes, ..shard }])
    };
    let mut collected = Collected::new(reads(20, 0), Series::default());
    collected.add_process(process(vec![node(2), node(1)]));
    // This one has sent nothing to the second node.
    collected.add_process(process(vec![node(3)]));
    let nodes = ["http://a", "http://b"].map(str::to_owned).to_vec();
    let record = collected.record(Frame { nodes, ..frame(&plan) });
    let nodes: Vec<_> = record.nodes.iter().map(|it| (it.url.as_str(), it.connections)).collect();
    assert_eq!(nodes, [("http://a", 5), ("http://b", 1)]);
}

#[test]
fn a_stage_that_took_no_time_has_no_rates() {
    let mut collected = Collected::new(Totals::default(), Series::default());
    collected.add(shard(10, 0, ThreadLoss::default()));
    let load = record(collected, &stage(CLOSED, None, None)).load;
    assert_eq!(load.offered, 15);
    close(load.offered_per_s, 0.0);
    close(load.served_per_s, 0.0);
}

#[test]
fn a_backlog_may_grow_by_chance_where_arrivals_are_random() {
    // In each second, one more is waiting than in the one before.
    let mut backlog = Backlog::new(START, 16 * SECOND_NS);
    for second in 0..16 {
        let from = START + second * SECOND_NS;
        (0..second).for_each(|_| backlog.add(from, from + SECOND_NS));
    }
    for (arrivals, per_s) in [(Arrivals::Constant, 1.0), (Arrivals::Poisson, 0.0)] {
        let plan = stage(open(&[(16, 100.0, 100.0)], arrivals), None, Some(16 * SECOND_NS));
        let mut late = shard(1_600, 16 * SECOND_NS, ThreadLoss::default());
        late.watched.backlog = Some(backlog.clone());
        let mut collected = Collected::new(reads(1_600, 0), Series::default());
        collected.add(late);
        close(record(collected, &plan).load.backlog_growth_per_s, per_s);
    }
}

/// Segments in seconds, with the rates at their beginning and end.
fn open(segments: &[(u64, f64, f64)], arrivals: Arrivals) -> Pace {
    let segments = segments
        .iter()
        .map(|&(seconds, from, to)| Segment { length_ns: seconds * SECOND_NS, from, to })
        .collect();
    let schedule = Schedule { segments, arrivals, seed: 1 };
    Pace::Open { schedule, max_in_flight: 1_000, slack_ns: 0 }
}

/// The connections that a load needs are those for its highest rate.
#[test]
fn the_highest_rate_is_that_of_the_busiest_eighth() {
    let peak = |pace, measured_s| peak_per_s(&stage(pace, None, None), measured_s);
    let burst = [(4, 10.0, 10.0), (2, 50.0, 50.0), (10, 20.0, 20.0)];
    close(peak(open(&burst, Arrivals::Constant), 16.0), 50.0);
    close(peak(open(&[(8, 0.0, 80.0)], Arrivals::Constant), 8.0), 75.0);
    close(peak(CLOSED, 8.0), 0.0);
}
