//! The binary on a database, and its output.

use crate::servers::database::Lease;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

static RUNS: AtomicU32 = AtomicU32::new(0);

/// springload with these arguments, in the folder of the database.
pub(crate) fn springload(database: &Lease, words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_springload"));
    command.current_dir(database.folder()).args(words.split(' '));
    if !words.contains("shell ") {
        let number = RUNS.fetch_add(1, Ordering::Relaxed);
        command.arg("--output").arg(PathBuf::from(format!("run{number}")));
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The output of a run that succeeded. Whether the machine is busy does not matter here.
#[track_caller]
pub(crate) fn done(mut command: Command) -> String {
    let (code, stdout, stderr) = decoded(command.output().expect("it runs"));
    assert!(matches!(code, Some(0 | 5)), "{code:?}\n{stdout}\n{stderr}");
    stdout
}

/// A report without its line breaks.
pub(crate) fn flowing(report: &str) -> String {
    report.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The one-line error of a run that could not begin.
#[track_caller]
pub(crate) fn refused(mut command: Command) -> String {
    let (code, stdout, stderr) = decoded(command.output().expect("it runs"));
    assert_eq!((code, stderr.lines().count()), (Some(3), 1), "{stdout}\n{stderr}");
    stderr
}

fn decoded(output: Output) -> (Option<i32>, String, String) {
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// The shell's output for a script.
#[track_caller]
pub(crate) fn shell(database: &Lease, words: &str, script: &str) -> String {
    let mut command = springload(database, words);
    let mut shell = command.stdin(Stdio::piped()).spawn().expect("it runs");
    let mut pipe = shell.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut pipe, script.as_bytes()).expect("it reads");
    drop(pipe);
    decoded(shell.wait_with_output().expect("it ends")).1
}

/// Loads records and runs these workloads of YCSB. Each has its share of operations, without
/// failures, and all reads are verified.
#[track_caller]
pub(crate) fn ycsb(database: &Lease, binding: &str, count: u32, workloads: &str) {
    let phase = |phase: &str, workload: char, operations: u32| {
        let words = format!(
            "ycsb {phase} {binding} -P workloads/workload{workload} -p recordcount={count} \
             -p operationcount={operations} -p dataintegrity=true \
             -p fieldlengthdistribution=constant -threads 16"
        );
        let report = done(springload(database, &words));
        let odd = report.lines().filter(|line| line.contains("Return=") && !line.contains("=OK"));
        assert_eq!(odd.count(), 0, "{phase} {workload}: {report}");
        report
    };
    let loaded = phase("load", 'a', count);
    assert_eq!(returned(&loaded, "INSERT"), count, "{loaded}");
    for workload in workloads.chars() {
        // A scan returns at most a hundred records, fifty on average.
        let operations = if workload == 'e' { count / 20 } else { count };
        let report = phase("run", workload, operations);
        let share = |kind| f64::from(returned(&report, kind)) / f64::from(operations);
        let near = |kind, wanted: f64| {
            // Five standard deviations of a binomial.
            let off = 5.0 * (wanted * (1.0 - wanted) / f64::from(operations)).sqrt();
            assert!((share(kind) - wanted).abs() <= off, "{workload} {kind}: {report}");
        };
        match workload {
            'a' => [("READ", 0.5), ("UPDATE", 0.5)].map(|(kind, part)| near(kind, part)),
            'b' => [("READ", 0.95), ("UPDATE", 0.05)].map(|(kind, part)| near(kind, part)),
            'c' => [("READ", 1.0), ("UPDATE", 0.0)].map(|(kind, part)| near(kind, part)),
            'd' => [("READ", 0.95), ("INSERT", 0.05)].map(|(kind, part)| near(kind, part)),
            'e' => [("SCAN", 0.95), ("INSERT", 0.05)].map(|(kind, part)| near(kind, part)),
            _ => [("READ", 1.0), ("UPDATE", 0.5)].map(|(kind, part)| near(kind, part)),
        };
        if workload != 'e' {
            assert_eq!(returned(&report, "VERIFY"), returned(&report, "READ"), "{report}");
        }
    }
}

/// The number of operations of a kind that succeeded.
fn returned(report: &str, kind: &str) -> u32 {
    let start = format!("[{kind}], Return=OK, ");
    let line = report.lines().find_map(|line| line.strip_prefix(&start));
    line.map_or(0, |count| count.parse().expect("a number"))
}
