//! springload: an honest benchmark and load tester for CouchDB and other document databases.
//!
//! ```text
//! argv ─ cli ─► PlanSpec ─ plan::check ─► Plan ─► run ─► RunRecord ─► report
//!                                                  │
//!        engine: shards ► tickets ► drive ► workload ► driver ► wire ► database
//!                                     └► probe ► recorder ► measure
//! ```
//!
//! For use in other programs there are a load test as a value, its record, and its reports:
//!
//! ```
//! let test = springload::LoadTest::from_flags(["--docs=100", "--ops=1000"])?;
//! let record = test.run()?;
//! println!("{}", record.result().words());
//! let report = springload::render("text", &[record])?;
//! # assert!(!report.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The modules of the program itself, which ARCHITECTURE.md describes, are not part of the public
//! API: they are public only with the feature `internals`, for the tests, and may change in any
//! version.

#![cfg_attr(
    not(feature = "internals"),
    allow(unused_imports, reason = "rooms offer their tests more than other rooms use")
)]

/// Modules that are public with the feature `internals`.
macro_rules! rooms {
    ($($what:tt)+) => {
        #[cfg(feature = "internals")]
        #[doc(hidden)]
        pub $($what)+;
        #[cfg(not(feature = "internals"))]
        $($what)+;
    };
}

rooms! { mod cli }
rooms! { mod selftest }
rooms! { use springload_core::{
    account, clock, cores, files, generate, http1, journal, measure, mistake, net, observed, op,
    properties, redact, schema, statistics, values,
} }
rooms! { use springload_driver as driver }
rooms! { use springload_engine as engine }
rooms! { use springload_load::{fleet, plan, record, run} }
rooms! { use springload_report::{compare, report, search, sizing, sweep, trend} }
rooms! { use springload_embedded as embedded }
rooms! { use springload_workload as workload }
mod library;

pub use library::{LoadTest, Refused, RenderError, Stopper, formats, read_record, render};
pub use measure::{FailedTimes, Histogram, Latency, OperationSummary, Outage, Series, SeriesRow};
pub use op::{Failure, OpKind};
pub use plan::{Plan, PlanRecord, StagePlan, Threshold};
pub use record::{
    ClientRecord, Environment, Judgment, LoadRecord, ResultKind, RunRecord, RunResult,
    ServerRecord, StageRecord, Verdict, Warning,
};
pub use report::{RunFileError, Unfit};
pub use run::{KindProgress, Progress, RunError};

/// The program `springload`: parses the command line, carries it out, and returns the exit status.
pub fn main(arguments: impl IntoIterator<Item = std::ffi::OsString>) -> std::process::ExitCode {
    cli::main(arguments).into()
}
