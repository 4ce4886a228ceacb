//! Many agents over RabbitMQ, simulated by this process: their cost for the coordinator.
//! `benches/agents.rs` simulates a thousand, for a minute.

use crate::load::{Spring, lost, until};
use crate::relay::slowed;
use crate::servers::rabbitmq::RabbitMq;
use crate::simulated::{KINDS, Part, flags, play, usage};
use serde_json::Value;
use springload::clock::Clock;
use springload::fleet::Broker;
use std::time::Duration;

const SECONDS: u32 = 6;
/// Requests of each kind per second, over all agents.
const REQUESTS: u64 = 5_200;
/// The allowed growth of memory from the second second to the last: rows of agents, and noise.
const MOST_GROWTH: u64 = 24 << 20;

/// With one agent more than the number of messages that may wait for their reader.
#[test]
fn more_agents_than_messages_may_wait_all_begin() {
    let Some(server) = RabbitMq::shared() else { return };
    measure_many(&server.full_url(), 65);
}

#[test]
fn more_agents_than_messages_may_wait_all_begin_though_the_broker_is_slow() {
    let Some(server) = RabbitMq::shared() else { return };
    let [port, _] = server.ports();
    let [there, slow] = [port, slowed(port)].map(|port| format!(":{port}/"));
    let record = measure_many(&server.full_url().replace(&there, &slow), 65);
    // The clocks are the same one, so the measured offset is within the stated error.
    for agent in record["agents"].as_array().expect("agents") {
        let [offset, error] =
            ["clock_offset_us", "clock_error_us"].map(|name| agent[name].as_f64().expect("a time"));
        assert!(error > 90_000.0 && offset.abs() <= error, "{agent}");
    }
}

#[test]
fn many_agents_take_less_than_a_processor_and_no_more_memory_by_the_second() {
    let Some(server) = RabbitMq::shared() else { return };
    measure_many(&server.full_url(), 200);
}

/// A run of simulated agents, which loses neither agents nor measurements.
fn measure_many(url: &str, agents: usize) -> Value {
    let requests = REQUESTS / agents as u64;
    let broker = Broker::parse("--broker", url).expect("an address");
    let run = crate::broker::run();
    let words = flags(agents, SECONDS, &run);
    // On a busy machine, hundreds of agents beside other tests may be late by more than 3 s.
    let words = words.iter().map(String::as_str).chain(["--silence", "30s"]);
    let words: Vec<&str> = words.collect();
    let mut coordinator = Spring::start(&words, Some(url));
    let part = Part { run, seconds: vec![1, SECONDS], requests };
    let played = play(&broker, agents, &part);

    // The first stage is saved, so the second has begun.
    let begun = until(Duration::from_secs(150), || !coordinator.record().is_null());
    assert!(begun, "{}", coordinator.stderr());
    std::thread::sleep(Duration::from_millis(1_500));
    let (clock, id) = (Clock::system(), coordinator.id());
    let (from, first) =
        (clock.now(), usage(id).unwrap_or_else(|| panic!("{}", coordinator.stderr())));
    std::thread::sleep(Duration::from_secs(u64::from(SECONDS) - 2));
    let (took_s, last) = (
        (clock.now() - from) as f64 / 1e9,
        usage(id).unwrap_or_else(|| panic!("{}", coordinator.stderr())),
    );
    let share = (last.cpu_s - first.cpu_s) / took_s;
    assert!(share < 1.0, "{share} processors");
    let growth = last.resident.saturating_sub(first.resident);
    assert!(growth < MOST_GROWTH, "{growth} bytes more");

    let ended = coordinator.end();
    let troubles: Vec<_> =
        played.into_iter().filter_map(|agent| agent.join().expect("no panic")).collect();
    let mut why = lost(&ended.record).into_iter().map(|(_, why)| why).collect::<Vec<_>>();
    let missed = why.len();
    why.dedup();
    assert_eq!(missed, 0, "{share:.2} processors, {} troubles, {why:?}", troubles.len());
    assert!(troubles.is_empty(), "{troubles:?}");
    // None of their measurements is lost.
    let stage = &ended.record["stages"][1];
    assert_eq!(stage["agents"].as_array().map_or(0, Vec::len), agents, "{}", ended.stderr);
    let each = agents as u64 * u64::from(SECONDS) * requests;
    for operation in stage["operations"].as_array().expect("operations") {
        assert_eq!(operation["requests"].as_u64(), Some(each), "{operation}");
    }
    assert_eq!(stage["operations"].as_array().map(Vec::len), Some(KINDS.len()));
    ended.record
}
