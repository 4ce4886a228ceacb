//! Runs a load test from a program of one's own, and decides by its record:
//!
//! ```text
//! cargo run --release --example threshold -- http://user:password@localhost:5984
//! ```
//!
//! Without an address it measures the stand-in.

#![allow(clippy::print_stdout, reason = "a program of its own")]

use springload::{LoadTest, OpKind, RunRecord};
use std::error::Error;
use std::process::ExitCode;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let record = measure(std::env::args().nth(1).as_deref())?;
    let reads = record.stages.iter().flat_map(|stage| &stage.operations);
    let reads = reads.filter(|it| it.kind == OpKind::Read);
    for it in reads {
        match (it.response.p50_us, it.response.p99_us) {
            (Some(p50), Some(p99)) => println!("reads: p50 {p50:.0} µs, p99 {p99:.0} µs"),
            _ => println!("reads: too few to tell"),
        }
    }
    println!("{}", record.result().words());
    Ok(ExitCode::from(record.result().exit_status))
}

/// Measures `target`, or the stand-in.
///
/// # Errors
/// If the flags are wrong, or the target cannot be used.
pub fn measure(target: Option<&str>) -> Result<RunRecord, Box<dyn Error>> {
    let flags = ["--docs=1000", "--rate=500", "--duration=3s", "--fail-if=err > 0.1%"];
    let test = LoadTest::from_flags(target.into_iter().chain(flags))?;
    Ok(test.run()?)
}
