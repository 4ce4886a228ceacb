//! An open loop that is stopped early, on paused time: only what was due by then counts.

use super::*;

/// Runs 20 s at 200/s on this many connections, stopped after 4,001 ms.
async fn stopped_at_4s(server: Server, connections: usize) -> Run {
    let stop = Arc::new(Stop::default());
    let later = stop.clone();
    let raise = async {
        tokio::time::sleep(Duration::from_millis(4_001)).await;
        later.raise(StopReason::Interrupted);
        std::future::pending::<()>().await;
    };
    tokio::select! {
        run = run(server, rate(200.0, 20, 100_000), (connections, u64::MAX), Some(20), stop) => run,
        () = raise => unreachable!(),
    }
}

/// By how many operations the backlog grew per second until the stop.
fn growth_per_s(run: &Run) -> f64 {
    let backlog = run.backlog.as_ref().expect("an open loop has one");
    let until = run.stopped_ns.expect("it was stopped");
    let (grown, in_s) = backlog.growth([200.0; 2], false, until);
    grown / in_s
}

#[tokio::test(start_paused = true)]
async fn what_falls_due_while_answers_are_awaited_is_not_offered() {
    let run = stopped_at_4s(Server(|sent| Some(sent + 500 * MS)), 150).await;
    // One every 5 ms.
    assert!((800..=801).contains(&run.load.offered), "{:?}", run.load);
    assert_eq!((run.load.begun, run.load.unsent), (run.load.offered, 0));
    assert!((4.4..4.6).contains(&run.elapsed_s), "all answers have come: {} s", run.elapsed_s);
    let stopped_ns = run.stopped_ns.expect("it was stopped");
    assert!((3_990 * MS..=4_002 * MS).contains(&stopped_ns), "{stopped_ns} ns");
    assert!(growth_per_s(&run) < 1e-9);
    // What ends after the stop raises no rate, but for the moment until the next beat.
    let reads = run.totals.summarize(4.0).remove(0);
    assert!((175.0..=177.0).contains(&reads.throughput_per_s), "{}/s", reads.throughput_per_s);
}

#[tokio::test(start_paused = true)]
async fn what_was_due_before_the_stop_and_not_sent_counts() {
    // 100/s.
    let run = stopped_at_4s(Server(|sent| Some(sent + 10 * MS)), 1).await;
    assert!((799..=801).contains(&run.load.offered), "{:?}", run.load);
    assert!((398..=402).contains(&run.load.unsent), "{:?}", run.load);
}

#[tokio::test(start_paused = true)]
async fn connections_do_not_hide_a_server_that_fell_behind_before_the_stop() {
    // The nth answer comes after n / 100 s.
    let run = stopped_at_4s(Server(|sent| Some(sent * 2)), 1_000).await;
    assert_eq!((run.load.unsent, run.load.dropped), (0, 0), "{:?}", run.load);
    let per_s = growth_per_s(&run);
    assert!((95.0..105.0).contains(&per_s), "{per_s}/s");
}

#[tokio::test(start_paused = true)]
async fn a_stage_that_ends_as_planned_was_not_stopped() {
    let at_once = Server(Some);
    let run = run(at_once, rate(200.0, 1, 100), (2, u64::MAX), Some(1), Arc::default()).await;
    assert_eq!((run.load.offered, run.stopped_ns), (200, None));
}
