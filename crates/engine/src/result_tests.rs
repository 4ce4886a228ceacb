//! What a shard reports at its end.

use super::fake::Server;
use super::*;

#[test]
fn silences_belong_to_their_nodes_and_no_node_is_left_out() {
    let log = |connections| NodeLog { connections, ..NodeLog::default() };
    // Nothing was sent to the last one.
    let silences = vec![crate::measure::Silences::default(); 2];
    let mut watched = Watched { nodes: silences, ..Watched::default() };
    let found = nodes(vec![log(3), log(2), log(1)], &mut watched);
    let found: Vec<_> = found.iter().map(|it| (it.connections, it.silences.is_some())).collect();
    assert_eq!(found, [(3, true), (2, true), (1, false)]);
}

#[tokio::test(start_paused = true)]
async fn the_time_of_the_processor_is_counted_from_the_start() {
    let spend = |sent: Nanos| {
        let until = thread_cpu_ns() + 5 * MS;
        while thread_cpu_ns() < until {
            std::hint::spin_loop();
        }
        Some(sent)
    };
    // What was used before does not count.
    spend(0);
    let before = thread_cpu_ns();
    let (sink, _source) = channel();
    let plan = ShardPlan { clock: Clock::virtual_time(), ..ShardPlan::alone((0, 1), 1, sink) };
    let lanes = vec![Lane { connection: 0, workload: Reads(1) }];
    let server = Server(spend);
    let load = run_lanes(&plan, &server, lanes, plan.start.place());
    let shard = tokio::task::LocalSet::new().run_until(load).await.expect("it runs");
    let most = thread_cpu_ns() - before;
    assert!((5 * MS..=most).contains(&shard.cpu_ns), "{} of {most} ns", shard.cpu_ns);
}
