//! YCSB's Java bindings, hosted by the real Java side. Skipped by name if Java is missing.

mod bridge;
#[path = "../servers/mod.rs"]
mod servers;
#[path = "../cli/springload.rs"]
#[allow(dead_code, reason = "each test binary uses its own part of the harness")]
mod springload;

use servers::ycsb::class_path;
use springload::{Finished, Running, failures, measure, measure_after, number};
use std::path::Path;
use std::time::Duration;

/// No process runs long enough for the second compiler to pay off.
const JVM: &str = "-Xmx256m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData";

/// The address of the binding `Odd` with these settings.
fn odd(class_path: &str, settings: &str) -> String {
    format!("ycsb-java:Odd?cp={class_path}&jvm-args={}{settings}", JVM.replace(' ', "%20"))
}

/// How often to check for something that must happen, and the pause between two checks.
const LOOKS: u32 = 600;
const BETWEEN: Duration = Duration::from_millis(50);

/// Runs a phase of a YCSB workload with a binding of this class and these properties.
fn ycsb(phase: &str, class: &str, class_path: &str, properties: &[&str]) -> Finished {
    let binding = format!("java:{class}");
    let mut words = vec!["ycsb", phase, &binding, "-cp", class_path, "-jvm-args", JVM];
    words.extend(["-P", "workloads/workloada", "-p", "recordcount=300", "-threads", "3"]);
    words.extend(properties.iter().flat_map(|property| ["-p", *property]));
    measure(words)
}

/// The counts that `BasicDB` printed at its end.
fn counts(log: &Path) -> Vec<(String, u64)> {
    let text = std::fs::read_to_string(log).expect("a log");
    let line = |line: &str| {
        let (name, count) = line.strip_prefix('[')?.split_once("], Uniques, ")?;
        Some((name.to_owned(), count.parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

#[test]
fn basic_db_counts_what_is_on_record() {
    let Some(class_path) = class_path() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    // In sequence, so that each record occurs once: `BasicDB` counts distinct operations.
    let sequence = "requestdistribution=sequential";
    for (phase, own, name, kind) in [
        ("load", &["batchsize=1"][..], "INSERTS", "create"),
        ("load", &["batchsize=50"], "INSERTS", "bulk_insert"),
        ("run", &["readproportion=1", "updateproportion=0", sequence], "READS", "read"),
        ("run", &["readproportion=0", "updateproportion=1", sequence], "UPDATES", "update"),
    ] {
        let log = folder.path().join(format!("{kind}.log"));
        let logged = format!("springload.log={}", log.display());
        let mut properties = vec!["basicdb.verbose=false", "basicdb.count=true", &logged];
        properties.extend(["operationcount=300"].iter().chain(own));
        let run = ycsb(phase, "site.ycsb.BasicDB", &class_path, &properties).passed();
        let stage = run.operation(phase, kind);
        assert_eq!(number(&stage["ok"]), 300);
        for (counted, count) in counts(&log) {
            assert_eq!(count, if counted == name { 300 } else { 0 }, "{counted} of {kind}");
        }
        assert_eq!(counts(&log).len(), 5, "printed once, when the last is closed");
        // The way to the binding counts for the response time only.
        assert!(number(&stage["outside_ns"]) > 0);
        let mean = |times: &str| stage[times]["mean_us"].as_f64().expect("a time");
        assert!(mean("service") < mean("response"));
        assert!(
            run.stage(phase)["connections"]["spread"]
                .as_object()
                .is_some_and(serde_json::Map::is_empty)
        );
    }
}

#[test]
fn what_is_written_is_read_and_scanned() {
    let Some(class_path) = class_path() else { return };
    let address = odd(&class_path, "");
    for (workload, kinds) in [
        ("ycsb-a", &["read", "update"][..]),
        ("ycsb-e", &["scan", "create"]),
        ("ycsb-f", &["read"]),
    ] {
        let run = measure([
            "run",
            &address,
            "--workload",
            workload,
            "--docs",
            "200",
            "-n",
            "400",
            "-c",
            "4",
        ]);
        let run = run.passed();
        for kind in kinds {
            assert!(run.sum(kind, "ok") > 0, "{workload}: {kind}");
        }
        assert_eq!(
            run.stages()
                .filter_map(|it| it["operations"].as_array())
                .flatten()
                .map(failures)
                .sum::<u64>(),
            0
        );
        if workload == "ycsb-e" {
            assert!(run.sum("scan", "rows") > run.sum("scan", "ok"));
        }
    }
    let run = measure(["run", &address, "--docs", "200", "-n", "1000", "-c", "4"]).passed();
    for kind in ["create", "read", "update", "delete"] {
        assert!(run.sum(kind, "ok") > 100, "{kind}");
    }
}

#[test]
fn data_are_compared_with_what_was_written() {
    let Some(class_path) = class_path() else { return };
    // A process begins without records: the run reads those that it inserted itself.
    let properties = [
        "dataintegrity=true",
        "readproportion=0.5",
        "updateproportion=0",
        "insertproportion=0.5",
        "requestdistribution=latest",
        "springload.latest=ycsb",
        "operationcount=600",
        "maxerrorrate=1",
    ];
    let right = ycsb("run", "Odd", &class_path, &properties);
    let verified = right.operation("run", "verify");
    assert!(number(&verified["ok"]) > 0 && failures(&verified) == 0, "{verified}");
    let spoilt = [&properties[..], &["odd.read=spoil"]].concat();
    let wrong = ycsb("run", "Odd", &class_path, &spoilt);
    let verified = wrong.operation("run", "verify");
    assert!(number(&verified["ok"]) == 0 && failures(&verified) > 0, "{verified}");
    assert_eq!(wrong.code, 6, "{}", wrong.stderr);
}

#[test]
fn what_a_binding_does_oddly_is_reported() {
    let Some(class_path) = class_path() else { return };
    let address = |deed: &str| odd(&class_path, &format!("&odd.update={deed}"));
    let run = |deed| {
        let address = address(deed);
        measure(["run", &address, "--docs", "50", "-n", "60", "-c", "2", "--mix", "update=1"])
    };
    for (deed, reason) in [
        ("throw", "java.lang.IllegalStateException: not today"),
        ("null", "the binding returned no status"),
        ("own", "LATER: come again"),
    ] {
        let run = run(deed);
        assert_eq!(run.code, 3, "no update succeeds");
        let update = run.operation("crud", "update");
        assert!(number(&update["issued"]) > 0, "{deed}");
        assert_eq!(update["failures"]["server_error"], update["issued"], "{deed}");
        assert_eq!(update["reasons"]["server_error"]["reason"], reason);
    }
    let slow = run("sleep").passed().operation("crud", "update");
    assert!(slow["service"]["min_us"].as_f64().expect("a time") >= 5_000.0);
}

#[test]
fn what_is_only_batched_is_not_plainly_ok() {
    let Some(class_path) = class_path() else { return };
    let properties = [
        "odd.update=batched",
        "readproportion=0",
        "updateproportion=0.5",
        "insertproportion=0.5",
        "operationcount=400",
        "requestdistribution=latest",
    ];
    let run = ycsb("run", "Odd", &class_path, &properties);
    let update = run.operation("run", "update");
    let (ok, accepted) = (number(&update["ok"]), number(&update["accepted"]));
    assert!(ok > 0 && ok == accepted, "{update}");
    let report = run.stdout.lines().filter(|line| line.starts_with("[UPDATE], Return="));
    let codes: Vec<_> = report.collect();
    assert!(codes.contains(&&*format!("[UPDATE], Return=BATCHED_OK, {ok}")), "{codes:?}");
    assert!(!codes.iter().any(|line| line.contains("Return=OK")), "{codes:?}");
    let warnings = run.record["warnings"].as_array().expect("warnings");
    let warning = warnings.iter().find(|it| it["code"] == "accepted").expect("a warning");
    assert!(warning["message"].as_str().is_some_and(|it| it.contains("BATCHED_OK")), "{warning}");
}

#[test]
fn a_binding_that_cannot_be_used_is_reported_in_one_line() {
    let Some(class_path) = class_path() else { return };
    let refused = |address: &str, words: &[&str]| {
        measure(["run", address, "--docs", "10", "-n", "10", "-c", "2"]).refused(3, words);
    };
    refused(&format!("ycsb-java:a.B?cp={class_path}"), &["no class a.B", "cp"]);
    refused(
        &format!("ycsb-java:java.lang.String?cp={class_path}"),
        &["String", "is not a binding of YCSB"],
    );
    refused("ycsb-java:site.ycsb.BasicDB?cp=/nowhere", &["YCSB is not in the class path"]);
    refused(&odd(&class_path, "&odd.init=fail"), &["init of the binding Odd failed", "odd init"]);
    refused(
        &odd(&class_path, "&odd.init=exit"),
        &["init of the binding Odd failed", "exit status: 7"],
    );
    refused(&odd(&class_path, "%20-XX:-NoSuchFlag"), &["the Java process ended", "NoSuchFlag"]);
}

#[test]
fn without_java_the_run_says_what_is_missing() {
    for (script, words) in [
        ("export PATH=/nowhere JAVA_HOME=", ["cannot start java", "install a JDK"]),
        ("export JAVA_HOME=/nowhere", ["cannot start /nowhere/bin/java", "JAVA_HOME"]),
    ] {
        measure_after(script, ["run", "ycsb-java:a.B", "--docs", "10", "-n", "10"])
            .refused(3, &words);
    }
}

#[test]
fn a_process_that_dies_ends_the_run() {
    let Some(class_path) = class_path() else { return };
    let address = odd(&class_path, "&odd.update=halt");
    let run = measure([
        "run",
        &address,
        "--docs",
        "50",
        "-c",
        "2",
        "-d",
        "60s",
        "--timeout=2s",
        "--give-up=2s",
        "--mix",
        "update=1",
    ]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    let update = run.operation("crud", "update");
    assert!(number(&update["failures"]["connect"]) > 0, "{update}");
    let reason = update["reasons"]["connect"]["reason"].as_str().expect("a reason");
    assert!(reason.contains("exit status: 3") && reason.contains("OutOfMemoryError"), "{reason}");
    let left = run.record["server"]["left"].as_str().expect("a reason");
    assert!(left.contains("before the run did"), "{left}");
}

#[test]
fn a_cleanup_that_fails_is_no_success() {
    let Some(class_path) = class_path() else { return };
    let address = odd(&class_path, "&odd.cleanup=fail");
    let small = ["--docs", "50", "-n", "60", "-c", "2", "--noise", "warn"];
    let run = measure([&["run", &*address][..], &small].concat());
    assert_eq!(run.code, 3, "{}", run.stderr);
    let left = run.record["server"]["left"].as_str().expect("a reason");
    assert!(left.starts_with("DB.cleanup failed on "), "{left}");
    assert!(left.ends_with("odd cleanup"), "{left}");
}

#[test]
fn secrets_are_not_on_record() {
    let Some(class_path) = class_path() else { return };
    let address = odd(&class_path, "&odd.password=geheim&odd.url=x://ann:geheim@h/d");
    let run = measure(["run", &address, "--docs", "50", "-n", "60", "-c", "2"]).passed();
    let properties = &run.record["plan"]["target"]["binding_properties"];
    assert_eq!(properties["odd.password"], "***");
    assert_eq!(properties["odd.url"], "x://ann:***@h/d");
    assert!(!run.record.to_string().contains("geheim"));
}

/// The processes with this text in their command line.
fn processes_with(text: &str) -> usize {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(text)).count()
}

/// Whether the file exists, or appears within a while.
fn is_there(file: &Path) -> bool {
    let there = file.exists();
    if !there {
        std::thread::sleep(BETWEEN);
    }
    there
}

/// Waits until there are this many processes with this text.
fn until(text: &str, count: usize) {
    for _ in 0..LOOKS {
        if processes_with(text) == count {
            return;
        }
        std::thread::sleep(BETWEEN);
    }
    panic!("not {count} processes with {text}");
}

#[cfg(target_os = "linux")]
#[test]
fn no_process_outlives_springload() {
    let Some(class_path) = class_path() else { return };
    let mark = format!("-Dspringload.mark={}", std::process::id());
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let log_text = || std::fs::read_to_string(&log).unwrap_or_default();
    let address = odd(&class_path, &format!("%20{mark}&log={}", log.display()));
    let arguments = ["run", &address, "--docs", "50", "-d", "100s", "-c", "2"];
    // Once it writes its record, the binding is in use. The mark is in its own command line.
    let start = || {
        let running = Running::start(arguments);
        let record = running.output().join("run.json");
        assert!((0..LOOKS).any(|_| is_there(&record)), "no record");
        until(&mark, 2);
        running
    };
    let closed = || log_text().matches("all are closed").count();
    let running = start();
    running.interrupt();
    let stopped = running.finish();
    assert_eq!(stopped.code, 130, "{}", stopped.stderr);
    until(&mark, 0);
    assert_eq!(closed(), 1, "{}", log_text());
    let running = start();
    running.signal(rustix::process::Signal::KILL);
    until(&mark, 0);
    assert_eq!(closed(), 2, "{}", log_text());
    assert!(!log_text().contains("twice"), "{}", log_text());
    drop(running);
}
