//! YCSB's workloads on a database, and properties that every run must have.

use std::io::{Read, Write};
use std::net::TcpListener;

use crate::binary::{Finished, Running, failures, measure, number};
use crate::servers::process::free_ports;
use crate::trust::conforms;

/// The number of records loaded, and of operations in each run.
pub(crate) const RECORDS: u64 = 600;

/// YCSB's command line for one binding and one table.
pub(crate) struct Ycsb {
    binding: &'static str,
    records: u64,
    words: Vec<String>,
}

impl Ycsb {
    /// With properties of the binding.
    pub(crate) fn new(binding: &'static str, properties: &[(&str, &str)]) -> Self {
        Self::sized(binding, RECORDS, properties)
    }

    /// With a different number of records and operations.
    pub(crate) fn sized(binding: &'static str, records: u64, properties: &[(&str, &str)]) -> Self {
        let mut words: Vec<String> = ["-threads", "8"].map(str::to_owned).to_vec();
        let number = records.to_string();
        // With a fixed seed, the shares are the same each time.
        let common = [
            ("recordcount", &number[..]),
            ("operationcount", &number),
            ("dataintegrity", "true"),
            ("seed", "42"),
        ];
        for (name, value) in common.iter().chain(properties) {
            words.extend(["-p".to_owned(), format!("{name}={value}")]);
        }
        Self { binding, records, words }
    }

    /// With more words on the command line.
    pub(crate) fn with(mut self, words: &[&str]) -> Self {
        self.words.extend(words.iter().map(|&word| word.to_owned()));
        self
    }

    fn arguments<'a>(&'a self, phase: &'a str, file: &'a str) -> Vec<&'a str> {
        let first = ["ycsb", phase, self.binding, "-P", file];
        first.into_iter().chain(self.words.iter().map(String::as_str)).collect()
    }

    /// Inserts all records; none may fail.
    #[track_caller]
    pub(crate) fn load(&self) -> Finished {
        let loaded = measure(self.arguments("load", "workloads/workloada")).passed();
        assert_eq!(done(&loaded, "load"), [("create".to_owned(), self.records)]);
        loaded
    }

    /// Runs a workload; its operations have their shares, none fails, and reads are right.
    #[track_caller]
    pub(crate) fn run(&self, workload: &str) -> Finished {
        let file = format!("workloads/workload{workload}");
        let run = measure(self.arguments("run", &file)).passed();
        let mut done = done(&run, "run");
        if let Some(at) = done.iter().position(|(kind, _)| kind == "verify") {
            let (_, verified) = done.remove(at);
            let read = done.iter().find(|(kind, _)| kind == "read").expect("reads");
            assert_eq!(verified, read.1, "{workload}");
        } else {
            assert_eq!(workload, "e", "reads are verified");
        }
        let shares = match workload {
            "a" => &[("read", 0.5), ("update", 0.5)][..],
            "b" => &[("read", 0.95), ("update", 0.05)],
            "c" => &[("read", 1.0)],
            "d" => &[("read", 0.95), ("create", 0.05)],
            "e" => &[("scan", 0.95), ("create", 0.05)],
            "f" => &[("read", 1.0), ("update", 0.5), ("read_modify_write", 0.5)],
            _ => panic!("no workload {workload}"),
        };
        assert_eq!(done.len(), shares.len(), "{workload}: {done:?}");
        for (kind, share) in shares {
            let found = done.iter().find(|(name, _)| name == kind);
            let (_, count) = found.unwrap_or_else(|| panic!("{workload}: no {kind}: {done:?}"));
            // Four standard deviations.
            let spread = 4.0 * (share * (1.0 - share) / self.records as f64).sqrt();
            let off = (*count as f64 / self.records as f64 - share).abs();
            assert!(off <= spread, "{workload}: {count} {kind}, not {share}");
        }
        run
    }

    /// Starts a workload that continues until it is interrupted.
    pub(crate) fn endless(&self, workload: &str) -> Running {
        let file = format!("workloads/workload{workload}");
        let mut arguments = self.arguments("run", &file);
        arguments.extend(["-s", "-p", "status.interval=1", "-p", "operationcount=100000000"]);
        // Fast enough to be busy with something at any time.
        arguments.extend(["-target", "500"]);
        Running::start(arguments)
    }
}

/// The number of operations of each kind in a stage; none may have failed.
#[track_caller]
pub(crate) fn done(run: &Finished, stage: &str) -> Vec<(String, u64)> {
    let operations = run.stage(stage)["operations"].as_array().expect("a list");
    let count = |operation: &serde_json::Value| {
        assert_eq!(failures(operation), 0, "{operation}");
        assert_eq!(operation["unfinished"], 0, "{operation}");
        (operation["kind"].as_str().expect("a kind").to_owned(), number(&operation["ok"]))
    };
    operations.iter().map(count).collect()
}

/// Rows and values as the databases' own clients print them, with all records and those inserted by
/// `run`, if any.
pub(crate) fn all_rows(run: Option<&Finished>) -> String {
    let inserted = run.map_or(0, |run| number(&run.operation("run", "create")["ok"]));
    let rows = RECORDS + inserted;
    format!("{rows} rows, {} values\n", 10 * rows)
}

/// Waits until a run's status lines, after the first `seen` of them, show operations that
/// succeeded; returns the number of lines.
#[track_caller]
pub(crate) fn until_it_reads(run: &mut Running, seen: usize) -> usize {
    for _ in 0..1200 {
        let text = run.stderr();
        let lines: Vec<_> = text.lines().filter(|line| line.contains(" sec: ")).collect();
        if lines.iter().skip(seen).any(|line| line.contains("[READ: Count=")) {
            return lines.len();
        }
        assert!(!run.ended(), "{}", run.stderr());
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("no reads within two minutes: {}", run.stderr());
}

/// Asserts that `run` at an address fails with a one-line error containing these words, and exit
/// status 3.
#[track_caller]
pub(crate) fn refused(url: &str, words: &[&str]) {
    let arguments = ["run", url, "--workload", "ycsb-c", "--use-existing", "--timeout", "5s"];
    measure(arguments).refused(3, words);
}

/// Asserts the errors if no database is there, or something else is, with these words: `url` makes
/// an address from a port.
#[track_caller]
pub(crate) fn refused_where_there_is_none(
    driver: &str,
    stranger: &str,
    url: impl Fn(u16) -> String,
) {
    let port = free_ports(1).expect("a free port")[0];
    refused(&url(port), &[&format!("127.0.0.1:{port}"), "refused"]);
    conforms(driver, "no server");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    // A web server that answers everything with 400. It ends with this program.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            std::thread::spawn(move || {
                let _ = stream.read(&mut [0; 1024]);
                let _ = stream.write_all(
                    b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
                );
            });
        }
    });
    refused(&url(port), &[&format!("127.0.0.1:{port}"), stranger]);
    conforms(driver, "other protocol");
}
