//! The cost of many agents for their coordinator: simulates them over a RabbitMQ, and prints the
//! coordinator's share of a processor and its memory, second by second.
//!
//! ```text
//! SPRINGLOAD_BROKER=amqp://localhost cargo bench --all-features --bench agents -- 200 60 100
//! ```
//!
//! 200 agents for 60 s, with 100 requests of each of four kinds per second. `SPRINGLOAD` names a
//! program to use instead of the one just built.

#![allow(clippy::print_stdout, reason = "a program of its own")]

#[path = "../tests/fleet/simulated.rs"]
mod simulated;

use simulated::{KINDS, Part, flags, play, second, usage};
use springload::clock::Clock;
use springload::fleet::Broker;
use std::process::{Command, Stdio};
use std::time::Duration;

const BINARY: &str = env!("CARGO_BIN_EXE_springload");
/// The length of the first stage, in seconds: it fills the database.
const FILL_S: u32 = 1;

fn main() {
    let numbers: Vec<u32> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    let (agents, seconds, requests) = match numbers[..] {
        [agents, seconds, requests] => (agents as usize, seconds, u64::from(requests)),
        _ => (200, 60, 100),
    };
    let url = std::env::var("SPRINGLOAD_BROKER").expect("SPRINGLOAD_BROKER names a RabbitMQ");
    let broker = Broker::parse("SPRINGLOAD_BROKER", &url).expect("the address of a RabbitMQ");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = format!("bench-{}", std::process::id());
    let bytes = serde_json::to_vec(&second(0, requests)).expect("plain data").len();
    println!("{agents} agents, {seconds} s, {bytes} bytes per snapshot");

    let clock = Clock::system();
    let program = std::env::var("SPRINGLOAD").unwrap_or_else(|_| BINARY.to_owned());
    let mut child = Command::new(program)
        .args(flags(agents, seconds, &run))
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("the coordinator starts");
    let played = play(&broker, agents, &Part { run, seconds: vec![FILL_S, seconds], requests });
    let (begun, mut last) = (clock.now(), usage(child.id()).unwrap_or_default());
    let mut before = begun;
    while child.try_wait().expect("a child").is_none() {
        std::thread::sleep(Duration::from_secs(1));
        let Some(now) = usage(child.id()) else { continue };
        let (at, took_s) = (clock.now(), (clock.now() - before) as f64 / 1e9);
        let share = (now.cpu_s - last.cpu_s) / took_s * 100.0;
        let (at_s, resident) = ((at - begun) / 1_000_000_000, now.resident >> 20);
        println!("{at_s:4} s  {share:5.1} % of a processor  {resident:5} MiB");
        (before, last) = (at, now);
    }
    let code = child.wait().expect("a child").code();
    let mut troubles: Vec<String> =
        played.into_iter().filter_map(|agent| agent.join().ok().flatten()).collect();
    let text = std::fs::read_to_string(folder.path().join("out/run.json")).unwrap_or_default();
    let record: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let list = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    let lost = list(&record["agents"]).iter().filter(|agent| !agent["lost"].is_null()).count();
    let stage = list(&record["stages"]).pop().unwrap_or_default();
    let each = agents as u64 * u64::from(seconds) * requests;
    let sums = list(&stage["operations"]);
    let exact = sums.iter().filter(|sum| sum["requests"].as_u64() == Some(each)).count();
    println!("exit status {code:?}, {:.1} s of CPU", last.cpu_s);
    println!("{} agents in trouble", troubles.len());
    troubles.dedup();
    troubles.iter().take(5).for_each(|why| println!("  {why}"));
    println!("{lost} agents lost; requests of {exact} of {} kinds are exact", KINDS.len());
    println!("run.json: {} bytes", text.len());
}
