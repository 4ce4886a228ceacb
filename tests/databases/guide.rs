//! YCSB's guide to HBase, as followed by `docs/hbase-guide.md`.

use crate::servers::database::Lease;
use crate::servers::hbase::with_one_region_server;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// An HBase, and springload in a folder with `hbase-site.xml`.
struct Guide {
    hbase: Lease,
    runs: AtomicU32,
}

impl Guide {
    fn begin(table: &str) -> Option<Self> {
        let guide = Self { hbase: with_one_region_server()?, runs: AtomicU32::new(0) };
        guide.hbase.hbase_client(&["drop", table]);
        Some(guide)
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_springload"));
        command.current_dir(self.hbase.folder()).args(words.split(' '));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// A phase of YCSB on this table.
    fn ycsb(&self, phase: &str, table: &str, words: &str) -> Command {
        let site = self.hbase.folder().display();
        let words = format!(
            "ycsb {phase} hbase12 -P workloads/workloada -cp {site} -p table={table} \
             -p columnfamily=cf -p dataintegrity=true {words}"
        );
        let mut command = self.command(&words);
        if phase != "shell" {
            let number = self.runs.fetch_add(1, Ordering::Relaxed);
            command.arg("--output").arg(PathBuf::from(format!("{table}{number}")));
        }
        command
    }

    /// Asserts that HBase's own client finds this many rows with all their values in the table.
    #[track_caller]
    fn finds(&self, table: &str, rows: u32) {
        let found = self.hbase.hbase_client(&["check", table, "cf"]);
        assert_eq!(found, format!("{rows} rows, {} values\n", rows * 10));
    }
}

/// The output of a command. Whether the machine is busy does not matter here.
#[track_caller]
fn done(output: Output) -> (String, String) {
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 5)), "{code:?}\n{stdout}\n{stderr}");
    (stdout, stderr)
}

#[track_caller]
fn run(mut command: Command) -> (String, String) {
    done(command.output().expect("it runs"))
}

#[test]
fn its_six_steps() {
    let Some(guide) = Guide::begin("usertable") else { return };
    let address = format!("hbase://{}/usertable", guide.hbase.hbase_address());
    let create = format!("hbase create-table {address} --cf cf --splits 20");
    let (created, _) = run(guide.command(&create));
    assert_eq!(created, "created table usertable with column family cf and 21 regions\n");
    let regions = guide.hbase.hbase_client(&["regions", "usertable"]);
    assert_eq!(regions.lines().count(), 21, "{regions}");
    for i in 1..=20 {
        let point = format!("user{}", 1000 + i * (9999 - 1000) / 20);
        assert!(regions.contains(&point), "{point}: {regions}");
    }
    let again = guide.command(&create).output().expect("it runs");
    let stderr = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(again.status.code() == Some(3) && stderr.contains("exists already"), "{stderr}");
    run(guide.command(&format!("{create} --if-not-exists")));

    let counts = "-p recordcount=2000 -p operationcount=2000 -thread 50 -s";
    let (report, notes) = run(guide.ycsb("load", "usertable", counts));
    assert!(report.contains("[INSERT], Return=OK, 2000\n"), "{report}");
    assert!(notes.contains("hbase-site.xml: hbase.master.port="), "{notes}");
    guide.finds("usertable", 2000);
    let (report, _) = run(guide.ycsb("run", "usertable", counts));
    assert!(!report.contains("FAILED") && report.contains("[VERIFY], Return=OK"), "{report}");
    guide.finds("usertable", 2000);
}

#[test]
fn four_clients_and_buffered_writes() {
    let Some(guide) = Guide::begin("slices") else { return };
    let address = format!("hbase://{}/slices", guide.hbase.hbase_address());
    run(guide.command(&format!("hbase create-table {address} --split-keys user5")));
    let clients: Vec<_> = [0, 200, 400, 600]
        .into_iter()
        .map(|start| {
            let slice = format!(
                "-p recordcount=800 -p insertstart={start} -p insertcount=200 -threads 2 \
                 -p clientbuffering={}",
                start >= 400
            );
            guide.ycsb("load", "slices", &slice).spawn().expect("it runs")
        })
        .collect();
    for client in clients {
        let (report, _) = done(client.wait_with_output().expect("it ends"));
        assert!(report.contains("[INSERT], Return=OK, 200\n"), "{report}");
    }
    guide.finds("slices", 800);
}

/// The number after `[SECTION], Return=OK, ` in a report; 0 if there is none.
fn ok(report: &str, section: &str) -> u64 {
    let start = format!("[{section}], Return=OK, ");
    let line = report.lines().find_map(|line| line.strip_prefix(&start));
    line.map_or(0, |count| count.parse().expect("a count"))
}

#[test]
fn the_standard_workloads_find_what_hbases_own_client_loaded() {
    const RECORDS: u64 = 600;
    let Some(guide) = Guide::begin("standard") else { return };
    guide.hbase.hbase_client(&["create", "standard", "cf", "user3", "user6"]);
    guide.hbase.hbase_client(&["load", "standard", "cf", "0", &RECORDS.to_string()]);
    // Shares in percent, as in YCSB's files; a read-modify-write is a read and an update.
    for (workload, shares) in [
        ("a", [("READ", 50), ("UPDATE", 50), ("INSERT", 0), ("SCAN", 0)]),
        ("b", [("READ", 95), ("UPDATE", 5), ("INSERT", 0), ("SCAN", 0)]),
        ("c", [("READ", 100), ("UPDATE", 0), ("INSERT", 0), ("SCAN", 0)]),
        ("f", [("READ", 100), ("UPDATE", 50), ("INSERT", 0), ("SCAN", 0)]),
        ("d", [("READ", 95), ("UPDATE", 0), ("INSERT", 5), ("SCAN", 0)]),
        ("e", [("READ", 0), ("UPDATE", 0), ("INSERT", 5), ("SCAN", 95)]),
    ] {
        let words = format!(
            "-P workloads/workload{workload} -p recordcount={RECORDS} \
             -p operationcount={RECORDS} -threads 16 -p seed=1"
        );
        let (report, _) = run(guide.ycsb("run", "standard", &words));
        for (section, percent) in shares {
            let (found, meant) = (ok(&report, section), RECORDS * percent / 100);
            // Four standard deviations of a binomial with p = 1/2.
            assert!(found.abs_diff(meant) <= 49, "{workload} {section}: {found}\n{report}");
        }
        assert_eq!(ok(&report, "VERIFY"), ok(&report, "READ"), "{report}");
        let returns = report.lines().filter(|line| line.contains("Return="));
        let failed: Vec<_> = returns.filter(|line| !line.contains("Return=OK")).collect();
        assert!(failed.is_empty() && !report.contains("FAILED"), "{workload}: {report}");
        if workload == "f" {
            // All values still match their keys and fields.
            guide.finds("standard", RECORDS as u32);
        }
    }
}

#[test]
fn its_shell_and_its_mistakes() {
    let Some(guide) = Guide::begin("byhand") else { return };
    guide.hbase.hbase_client(&["create", "byhand", "cf"]);
    let mut shell = guide.ycsb("shell", "byhand", "-p debug=false");
    let mut shell = shell.stdin(Stdio::piped()).spawn().expect("it runs");
    let script = b"insert user1 field0=hello\nread user1\nscan user 5\ndelete user1\nread user1\n";
    std::io::Write::write_all(&mut shell.stdin.take().expect("a pipe"), script).expect("it reads");
    let output = shell.wait_with_output().expect("it ends");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(stdout.matches("field0=hello\n").count(), 2, "{stdout}");
    assert!(output.status.code() == Some(3) && stdout.contains("NOT_FOUND"), "{stdout}");

    for (table, more, wrong) in [
        ("missing", "", "there is no table \"missing\"; create it first"),
        ("byhand", "-p columnfamily=other", "no column family \"other\"; it has cf"),
        ("byhand", "-p hbase.masters=127.0.0.1:1", "cannot reach HBase at 127.0.0.1:1"),
    ] {
        let words = format!("-p recordcount=10 {more}");
        let output = guide.ycsb("load", table, words.trim()).output().expect("it runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(3) && stderr.contains(wrong), "{stderr}");
    }
}
