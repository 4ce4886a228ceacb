//! The twelve figures compared with those of the real siege, under the same load with a constant
//! response.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::server::Server;
use crate::servers::absent;
use crate::springload::measure;

const USERS: u64 = 5;
const REPS: u64 = 25;

/// The output of siege for a run, as JSON; `None`, with a message, if it is not installed.
fn real_siege(home: &Path, url: &str) -> Option<Value> {
    let siege = |arguments: &[&str]| {
        let mut command = Command::new("timeout");
        command.arg("60").arg("siege").args(arguments).env("HOME", home).stdin(Stdio::null());
        command.output().ok().filter(|output| output.status.success())
    };
    if siege(&["-C"]).is_none() {
        absent("siege", "install the package siege");
        return None;
    }
    let rc = home.join("rc");
    std::fs::write(
        &rc,
        "verbose = false\nconnection = close\nprotocol = HTTP/1.1\nparser = false\n",
    )
    .expect("a file");
    let (users, reps) = (format!("-c{USERS}"), format!("-r{REPS}"));
    let rc = rc.to_str().expect("a name");
    let output = siege(&["-R", rc, "-b", "-j", &users, &reps, url]).expect("siege runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let json = text.find('{').map(|start| &text[start..]).expect("JSON");
    Some(serde_json::from_str(json).expect("siege prints JSON"))
}

fn near(a: f64, b: f64, slack: f64) -> bool {
    (a - b).abs() <= slack + 0.1 * a.abs().max(b.abs())
}

/// Figures that differ too much. Rates and times may differ by a tenth, and by the resolution of
/// siege's clock, 10 ms.
fn differences(siege: &Value, ours: &Value) -> Vec<String> {
    let value = |of: &Value, key: &str| of[key].as_f64().unwrap_or(f64::NAN);
    let exact = [
        ("transactions", 0.0),
        ("availability", 0.0),
        ("data_transferred", 0.005_1),
        ("successful_transactions", 0.0),
        ("failed_transactions", 0.0),
    ];
    let close = [
        ("elapsed_time", 0.01),
        ("response_time", 0.01),
        ("transaction_rate", 0.0),
        ("throughput", 0.01),
        ("concurrency", 0.01),
        ("longest_transaction", 0.02),
        ("shortest_transaction", 0.01),
    ];
    let exact = exact.into_iter().filter(|(key, slack)| {
        let gap = (value(siege, key) - value(ours, key)).abs();
        gap.is_nan() || gap > *slack
    });
    let close =
        close.into_iter().filter(|(key, slack)| !near(value(siege, key), value(ours, key), *slack));
    exact.chain(close).map(|(key, _)| format!("{key}: {} {}", siege[key], ours[key])).collect()
}

#[test]
fn the_figures_are_sieges() {
    let server = Server::start();
    let home = tempfile::tempdir().expect("a folder");
    // The server determines the pace: both tools wait for it almost all of the time.
    let url = format!("{}/slow/50", server.url);
    let (users, reps) = (format!("-c{USERS}"), format!("-r{REPS}"));
    // On a machine that is busy with other things, some of the runs may be disturbed.
    let mut differs = Vec::new();
    for _ in 0..10 {
        let Some(siege) = real_siege(home.path(), &url) else { return };
        let finished = measure(["siege", "-b", "-j", &users, &reps, &url]).passed();
        let ours: Value = serde_json::from_str(&finished.stdout).expect("JSON");
        let keys = |of: &Value| -> Vec<String> {
            of.as_object().expect("an object").keys().cloned().collect()
        };
        assert_eq!(keys(&ours), keys(&siege));
        assert_eq!(ours["transactions"], USERS * REPS);
        differs = differences(&siege, &ours);
        if differs.is_empty() {
            return;
        }
    }
    panic!("siege's and ours: {differs:#?}");
}
