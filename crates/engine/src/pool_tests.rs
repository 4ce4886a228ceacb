//! The use of an open loop's connections, on paused time.

use super::*;
use crate::measure::PoolLog;
use std::sync::atomic::{AtomicU64, Ordering};

/// A server that serves one request after the other, each for this long. Every connection knows
/// when the server will be free.
#[derive(Clone)]
struct OneByOne(Nanos, Arc<AtomicU64>);

struct InLine(FakeSession, OneByOne);

impl Target for OneByOne {
    type Shard = ShardOf<Self>;

    async fn shard(&self, context: Rc<ShardContext>) -> io::Result<Self::Shard> {
        Ok(ShardOf { target: self.clone(), context })
    }
}

impl Shard for ShardOf<OneByOne> {
    type Session = InLine;

    fn session(&self) -> InLine {
        let at_once = ShardOf { target: Server(Some), context: self.context.clone() };
        InLine(at_once.session(), self.target.clone())
    }
}

impl Session for InLine {
    type Pen = Draft;

    fn pen(&self) -> Draft {
        Draft::default()
    }

    async fn ready(&mut self) -> Option<Nanos> {
        None
    }

    async fn execute(&mut self, op: &Op, pen: &mut Draft, probe: &mut Probe) -> Outcome {
        let OneByOne(each_ns, free_at) = &self.1;
        let now = self.0.clock.now();
        let done = free_at.load(Ordering::Relaxed).max(now) + each_ns;
        free_at.store(done, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_nanos(done - now)).await;
        self.0.execute(op, pen, probe).await
    }
}

async fn used<T: Target>(server: T, per_s: f64, connections: usize) -> PoolLog {
    let lane = |connection| Lane { connection, workload: Reads(u64::MAX) };
    let lanes = (0..connections).map(lane).collect();
    let load = (server, rate(per_s, 5, 100_000));
    run_workloads(load, (lanes, u64::MAX), Some(5), Arc::default()).await.pool.expect("a rate")
}

fn ms(held: crate::measure::Held) -> f64 {
    held.mean_s().expect("operations") * 1e3
}

#[tokio::test(start_paused = true)]
async fn on_a_slow_server_all_connections_are_in_use_and_nothing_takes_longer() {
    let slow = Server(|sent| Some(sent + 100 * MS));
    let pool = used(slow, 1_000.0, 50).await;
    assert_eq!(pool.connections, 50);
    // The first 50 take 50 ms to fall due.
    assert!(pool.over_ns.abs_diff(5 * SECOND_NS) <= MS, "{pool:?}");
    assert!(pool.none_free_ns.abs_diff(4_950 * MS) <= 5 * MS, "{pool:?}");
    assert_eq!((pool.few.count, pool.held.count), (25, 2_500));
    assert!(pool.full.count > 2_000, "{pool:?}");
    assert!((ms(pool.few) - 100.0).abs() < 1.0 && (ms(pool.full) - 100.0).abs() < 1.0);
}

#[tokio::test(start_paused = true)]
async fn in_a_server_that_serves_one_by_one_operations_take_longer_the_more_there_are() {
    let pool = used(OneByOne(2 * MS, Arc::default()), 1_000.0, 50).await;
    assert!(pool.none_free_ns > 4_800 * MS, "{pool:?}");
    assert!(ms(pool.few) < 40.0 && ms(pool.full) > 95.0, "{pool:?}");
}

#[tokio::test(start_paused = true)]
async fn where_connections_suffice_one_is_nearly_always_free() {
    let slow = Server(|sent| Some(sent + 100 * MS));
    let pool = used(slow, 100.0, 50).await;
    assert!(pool.none_free_ns < 2 * MS, "{pool:?}");
    assert_eq!((pool.few.count, pool.full.count, pool.held.count), (500, 0, 500));
    assert!((ms(pool.held) - 100.0).abs() < 1.0);
}

/// Runs 5 s at a rate on 50 connections that may grow to `most`. Returns how they were used, and
/// the reads.
async fn grown<T: Target>(
    server: T,
    pace: Pace,
    most: usize,
) -> (PoolLog, crate::measure::OperationSummary) {
    let lane = |connection| Lane { connection, workload: Reads(u64::MAX) };
    let work = ((0..most).map(lane).collect(), u64::MAX);
    let until = (Some(5), Arc::default());
    let run = run_from(50, Clock::virtual_time(), (server, pace), work, until).await;
    (run.pool.expect("a rate"), run.reads())
}

#[tokio::test(start_paused = true)]
async fn connections_are_opened_ahead_of_need_and_no_operation_waits_for_one() {
    let slow = Server(|sent| Some(sent + 100 * MS));
    let (pool, reads) = grown(slow, rate(1_000.0, 5, 100_000), 1_000).await;
    assert_eq!(reads.ok, 5_000);
    assert!(reads.lag.max_us < 1_000.0, "{:?}", reads.lag);
    within(reads.response.p99_us, 100_000.0, 0.02);
    // 100 are in use, and twice as many would be too many.
    assert!((110..170).contains(&pool.connections), "{pool:?}");
    assert_eq!((pool.opened.count, pool.opened.refused), (pool.connections - 50, 0));
    assert!(pool.opened.last_ns < 1_000 * MS, "{pool:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_becomes_slower_is_given_more_connections_in_time() {
    // From 10 to 100 ms in 5 s.
    let rising = Server(|sent| Some(sent + 10 * MS + sent * 18 / 1_000));
    let (pool, reads) = grown(rising, rate(1_000.0, 5, 100_000), 1_000).await;
    within(reads.response.p99_us, 99_000.0, 0.02);
    assert!(reads.lag.max_us < 1_000.0, "{:?}", reads.lag);
    assert!((110..170).contains(&pool.connections), "{pool:?}");
    let (pool, reads) = grown(rising, rate(1_000.0, 5, 100_000), 50).await;
    assert!(reads.response.p99_us.unwrap() > 5e5 && pool.connections == 50, "{pool:?}");
}

#[tokio::test(start_paused = true)]
async fn a_rate_that_rises_finds_its_connections_open() {
    let slow = Server(|sent| Some(sent + 50 * MS));
    let segments = [(2, 100.0), (3, 4_000.0)];
    let segments = segments.map(|(seconds, rate)| Segment {
        length_ns: seconds * SECOND_NS,
        from: rate,
        to: rate,
    });
    let schedule = Schedule { segments: segments.into(), arrivals: Arrivals::Constant, seed: 1 };
    let pace = Pace::Open { schedule, max_in_flight: 100_000, slack_ns: 0 };
    let (pool, reads) = grown(slow, pace, 1_000).await;
    assert!(reads.lag.max_us < 1_000.0, "{:?}", reads.lag);
    assert!(pool.opened.last_ns < 2_500 * MS, "{pool:?}");
}

#[tokio::test(start_paused = true)]
async fn there_is_a_limit_to_what_a_server_that_is_full_is_given() {
    let (pool, _) = grown(OneByOne(2 * MS, Arc::default()), rate(1_000.0, 5, 100_000), 200).await;
    assert_eq!((pool.connections, pool.opened.count), (200, 150));
    assert!(ms(pool.full) > 2.0 * ms(pool.few), "{pool:?}");
}

#[tokio::test(start_paused = true)]
async fn where_connections_suffice_none_is_opened() {
    let (pool, _) = grown(Server(|sent| Some(sent + 10 * MS)), rate(1_000.0, 5, 9_999), 200).await;
    assert_eq!((pool.connections, pool.opened), (50, crate::measure::Opened::default()));
}

fn segment(length_ms: u64, per_s: f64) -> Segment {
    Segment { length_ns: length_ms * MS, from: per_s, to: per_s }
}

#[tokio::test(start_paused = true)]
async fn connections_for_a_shards_part_of_a_rate_that_is_to_come_are_open_before_it() {
    let (sink, _source) = channel();
    let segments = vec![segment(2_000, 200.0), segment(3_000, 8_000.0)];
    let schedule = Schedule { segments, arrivals: Arrivals::Constant, seed: 1 };
    let plan = ShardPlan {
        clock: Clock::virtual_time(),
        pace: Pace::Open { schedule, max_in_flight: 100_000, slack_ns: 0 },
        // It ends before the rate rises: until then, 5 are in use.
        length_ns: Some(2 * SECOND_NS),
        // The other shard does not take part.
        start: Arc::new(Start::new(1)),
        ..ShardPlan::alone((0, 2), 100, sink)
    };
    let lane = |connection| Lane { connection, workload: Reads(u64::MAX) };
    let lanes = (0..1_000).step_by(2).map(lane).collect();
    let slow = Server(|sent| Some(sent + 50 * MS));
    let load = run_lanes(&plan, &slow, lanes, plan.start.place());
    let shard = tokio::task::LocalSet::new().run_until(load).await.expect("it runs");
    assert_eq!((shard.load.offered, shard.load.dropped), (200, 0));
    let pool = shard.watched.pool.expect("a rate");
    // 200 and three times the root of it, or up to a quarter more.
    assert!((230..=310).contains(&pool.connections), "{pool:?}");
}

#[tokio::test(start_paused = true)]
async fn the_need_is_judged_by_what_the_last_five_checks_saw() {
    // Checks are every 105 ms. The ten operations that end from 450 to 499 ms are seen by the one
    // at 945 ms, the first to which the high rate is near, and by no later one.
    let once_slow = Server(|sent| {
        let slow = (400 * MS..450 * MS).contains(&sent);
        Some(if slow { sent + 50 * MS } else { sent })
    });
    let segments = vec![segment(1_900, 200.0), segment(100, 400_000.0)];
    let schedule = Schedule { segments, arrivals: Arrivals::Constant, seed: 1 };
    let pace = Pace::Open { schedule, max_in_flight: 100_000, slack_ns: 0 };
    let lane = |connection| Lane { connection, workload: Reads(u64::MAX) };
    let work = ((0..1_000).map(lane).collect(), u64::MAX);
    let until = (Some(1), Arc::default());
    let run = run_from(50, Clock::virtual_time(), (once_slow, pace), work, until).await;
    let pool = run.pool.expect("a rate");
    assert_eq!((pool.connections, pool.opened.count), (100, 50), "twice as many: {pool:?}");
}

/// A server that takes no more connections after the start.
#[derive(Clone, Copy)]
struct Full(Server);

struct Refused(FakeSession);

impl Target for Full {
    type Shard = ShardOf<Self>;

    async fn shard(&self, context: Rc<ShardContext>) -> io::Result<Self::Shard> {
        Ok(ShardOf { target: *self, context })
    }
}

impl Shard for ShardOf<Full> {
    type Session = Refused;

    fn session(&self) -> Refused {
        Refused(ShardOf { target: self.target.0, context: self.context.clone() }.session())
    }
}

impl Session for Refused {
    type Pen = Draft;

    fn pen(&self) -> Draft {
        Draft::default()
    }

    async fn ready(&mut self) -> Option<Nanos> {
        None
    }

    fn is_open(&self) -> bool {
        false
    }

    async fn execute(&mut self, op: &Op, pen: &mut Draft, probe: &mut Probe) -> Outcome {
        self.0.execute(op, pen, probe).await
    }
}

#[tokio::test(start_paused = true)]
async fn connections_that_cannot_be_opened_are_counted_and_not_used() {
    let full = Full(Server(|sent| Some(sent + 100 * MS)));
    let (pool, _) = grown(full, rate(1_000.0, 5, 100_000), 60).await;
    assert_eq!((pool.connections, pool.opened.count, pool.opened.refused), (50, 0, 10));
}
