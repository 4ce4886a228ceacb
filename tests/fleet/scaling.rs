//! The arithmetic of docs/scaling.md, computed again.

const DOC: &str = include_str!("../../docs/scaling.md");
const AGENTS: [f64; 3] = [200.0, 1_000.0, 10_000.0];
const MB: f64 = 1e6;
const GB: f64 = 1e9;

/// The size of a snapshot with few and with many requests, in bytes.
const SMALL: f64 = 3_800.0;
const LARGE: f64 = 10_900.0;
/// The coordinator's processor time per snapshot, in seconds.
const TAKES_S: f64 = 0.15e-3;
/// The length of the stage, in seconds.
const LENGTH_S: f64 = 600.0;

/// The formula of a row, as a function of the number of agents.
type Formula = fn(f64) -> f64;

/// The number of rows of all agents in that time.
fn rows(agents: f64) -> f64 {
    agents * LENGTH_S.min((120_000.0 / agents).floor().clamp(12.0, 600.0))
}

/// The value of a cell, in seconds, in bytes or as a number.
fn value(cell: &str) -> f64 {
    let mut words = cell.split_whitespace();
    let number = words.next().expect("a number").replace(',', "");
    let number: f64 = number.parse().unwrap_or_else(|_| panic!("{cell}"));
    number
        * match words.next() {
            None | Some("s") => 1.0,
            Some("ms") => 1e-3,
            Some("MB") => MB,
            Some("GB") => GB,
            Some(other) => panic!("{other} in {cell}"),
        }
}

#[test]
fn the_arithmetic_is_right() {
    let formulas: [(&str, Formula); 12] = [
        ("snapshots, messages per second", |n| n),
        ("their bytes per second, 3.8 kB each", |n| n * SMALL),
        ("the same with 10.9 kB each", |n| n * LARGE),
        ("coordinator, processors, with c = 0.15 ms", |n| n * TAKES_S),
        ("ticks, delivered per second", |n| n),
        ("clocks: 5 pings", |n| 5.0 * (n / 32.0).ceil() * 1e-3),
        ("lead of the start", |n| 0.3 + 0.2e-3 * n + 3e-3),
        ("connecting, 50 within 0.25 s", |n| n / 50.0 * 0.25),
        ("broker, connections with a queue each", |n| n),
        ("broker, memory of these", |n| n * 0.25 * MB),
        ("histograms of agents in memory", |n| n * 2.0 * 17_000.0),
        ("rows of agents in memory", |n| rows(n) * 56.0),
    ];
    let table = |name: &str| {
        let line = DOC.lines().find(|line| line.starts_with(&format!("| {name}")));
        line.unwrap_or_else(|| panic!("no row {name}"))
    };
    let json = |n: f64| rows(n) * 400.0;
    for (name, formula) in formulas.into_iter().chain([("the same in `run.json`", json as Formula)])
    {
        let cells: Vec<&str> = table(name).trim_matches('|').split('|').map(str::trim).collect();
        let [.., small, middle, large] = cells[..] else { panic!("{name}: {cells:?}") };
        for (agents, cell) in AGENTS.into_iter().zip([small, middle, large]) {
            let (found, expected) = (value(cell), formula(agents));
            let near = (found / expected - 1.0).abs() < 0.07;
            assert!(near, "{name}, {agents} agents: {cell}, but it is {expected}");
        }
    }
}
