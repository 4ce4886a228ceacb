//! What people used to other tools type: each error message names the flag to give instead.

use crate::springload::{measure, springload};
use std::collections::BTreeMap;

/// The tool, the words typed, the verb of the suggestion, and the flag in it.
const HABITS: &[(&str, &[&str], &str, &str)] = &[
    ("k6", &["run", "--rps", "500"], "run", "--rate"),
    ("hey", &["http", "http://127.0.0.1:1/", "--qps", "50"], "http", "--rate"),
    ("wrk2", &["http", "http://127.0.0.1:1/", "-R", "2000"], "http", "--rate"),
    ("vegeta", &["http", "-rate=50", "http://127.0.0.1:1/"], "http", "--rate"),
    ("vegeta", &["http", "-duration", "30s", "http://127.0.0.1:1/"], "http", "--duration"),
    ("vegeta", &["http", "-targets=urls.txt"], "http", "--file"),
    ("vegeta", &["http", "-workers", "8"], "http", "--connections"),
    ("k6", &["run", "--vus", "10"], "run", "--connections"),
    ("locust", &["run", "--users", "10"], "run", "--connections"),
    ("locust", &["run", "--run-time", "1m"], "run", "--duration"),
    ("locust", &["run", "--spawn-rate", "5"], "run", "--stages"),
    ("siege", &["run", "--concurrent", "10"], "run", "--connections"),
    ("ab", &["run", "--concurrency", "10"], "run", "--connections"),
    ("memtier", &["burst", "--clients", "10"], "burst", "--connections"),
    ("ab", &["run", "--requests", "1000"], "run", "--ops"),
    ("ab", &["http", "http://127.0.0.1:1/", "--requests=1000"], "http", "--ops"),
    ("memtier", &["burst", "--requests", "1000"], "burst", "--duration"),
    ("k6", &["run", "--iterations", "100"], "run", "--ops"),
    ("autocannon", &["http", "http://127.0.0.1:1/", "--amount", "9"], "http", "--ops"),
    ("oha", &["http", "http://127.0.0.1:1/", "-z", "30s"], "http", "--duration"),
    ("ab", &["run", "-t", "30s"], "run", "--duration"),
    ("ab", &["http", "http://127.0.0.1:1/", "-t30s"], "http", "--duration"),
    ("hey", &["http", "http://127.0.0.1:1/", "-m", "POST"], "http", "--request"),
    ("hey", &["http", "http://127.0.0.1:1/", "-d", "{\"a\":1}"], "http", "--body"),
    ("hey", &["http", "http://127.0.0.1:1/", "-D", "file"], "http", "--body"),
    ("curl", &["http", "http://127.0.0.1:1/", "--data", "{\"a\":1}"], "http", "--body"),
    ("curl", &["run", "--data", "{\"a\":1}"], "run", "--schema"),
    ("memtier", &["burst", "--data-size", "100"], "burst", "--size"),
    ("memtier", &["run", "--data-size", "100"], "run", "--schema"),
    ("memtier", &["run", "--ratio", "1:10"], "run", "--mix"),
    ("memtier", &["run", "--key-maximum", "1000"], "run", "--docs"),
    ("memtier", &["run", "--test-time", "30"], "run", "--duration"),
    ("YCSB", &["run", "-threads", "8"], "run", "--threads"),
    ("YCSB", &["run", "-target", "8"], "run", "--rate"),
    ("YCSB", &["run", "--recordcount", "8"], "run", "--docs"),
    ("YCSB", &["run", "--operationcount", "8"], "run", "--ops"),
    ("cassandra-stress", &["run", "-rate", "threads=50"], "run", "--rate"),
    ("wrk", &["http", "http://127.0.0.1:1/", "--latency"], "http", "--verbose"),
    ("hyperfine", &["run", "--vary", "batch=1,2"], "sweep", "--list"),
    ("hyperfine", &["sweep", "--parameter-list", "batch=1,2"], "sweep", "--list"),
    ("hyperfine", &["max", "--rps", "100"], "max", "--to"),
    ("k6", &["max", "--thresholds", "p99 < 5ms"], "max", "--slo"),
    ("k6", &["run", "--thresholds", "p99 < 5ms"], "run", "--fail-if"),
    ("hey", &["http", "http://127.0.0.1:1/", "--disable-keepalive"], "http", "--close"),
    ("k6", &["run", "--insecure-skip-tls-verify"], "run", "--insecure"),
    ("oha", &["run", "--cacert", "ca.pem"], "run", "--tls-ca"),
    ("wrk", &["burst", "-t", "30s"], "burst", "-d"),
    ("vegeta", &["http", "-header", "A: b", "-n", "1", "http://127.0.0.1:1/"], "http", "--header"),
    ("vegeta", &["http", "-header=A: b", "http://127.0.0.1:1/"], "http", "--header"),
    ("curl", &["run", "-user:hush", "http://127.0.0.1:1/"], "run", "--user"),
    ("curl", &["http", "-Header:x", "http://127.0.0.1:1/"], "http", "--header"),
    ("hey", &["http", "-h2", "http://127.0.0.1:1/"], "http", "--http2"),
    ("vegeta", &["http", "-output=results.bin", "http://127.0.0.1:1/"], "http", "--output"),
    ("vegeta", &["http", "-format=json", "http://127.0.0.1:1/"], "http", "--format"),
    ("hey", &["http", "-disable-compression", "http://127.0.0.1:1/"], "http", "--header"),
    ("hey", &["http", "-n", "100", "-q", "10", "http://127.0.0.1:1/"], "http", "--rate"),
    ("locust", &["run", "-users", "10"], "run", "--connections"),
    ("oha", &["http", "--query-per-second", "10"], "http", "--rate"),
    ("many", &["run", "--rps-limit", "10"], "run", "--rate"),
    ("ab", &["http", "-p", "body.json", "http://127.0.0.1:1/"], "http", "--body"),
    ("ab", &["http", "-A", "ann:b", "http://127.0.0.1:1/"], "http", "--user"),
];

/// The words typed, and what is said of them.
const HINTS: &[(&[&str], &str)] = &[
    (&["run", "-hosts", "a"], "give the address as the first argument: springload run ADDRESS"),
    (&["list", "-hosts"], "give -h for help, or a flag of springload list --help"),
    (&["http", "-http2=false", "http://127.0.0.1:1/"], "two dashes; leave it out"),
    (&["run", "-user:hush", "http://127.0.0.1:1/"], "error: -user: a flag of more than one letter"),
    (&["run", "-kvn10", "http://127.0.0.1:1/"], "--insecure: the target does not use TLS, so no"),
    (&["http", "-kvn10", "http://127.0.0.1:1/"], "--insecure: no URL uses TLS, so no certificate"),
    (&["http", "10"], "URL: \"10\" is a number, not an address"),
    (&["http", "0x7f000001"], "URL: \"0x7f000001\" is a number, not an address"),
    (&["http", "-v", "4", "http://127.0.0.1:1/"], "-v takes no number; leave out the number"),
    (&["run", "http://127.0.0.1:1", "-u", "10", "-d", "30s"], "give -c 10 for the number of"),
    (&["run", "-p", "operationcount=1000"], "springload ycsb run BINDING -p NAME=VALUE"),
    (&["http", "-p", "8080", "h"], "give the address as the first argument"),
    (&["run", "-p", "body.json"], "give the address as the first argument"),
    (&["http://ann:hush@127.0.0.1:1/"], "springload http URL, or springload run URL"),
    (&["localhost:5984"], "springload http URL, or springload run URL"),
    (&["load"], "; give springload ycsb load"),
    (&["attack"], "; give springload http"),
    (&["ls"], "; give springload list"),
    (&["version"], "; give springload --version"),
    (&["get"], "; give one of the verbs"),
    (&["test"], "; give one of the verbs"),
    (&["run", "--http2"], "leave it out, or use springload http, which has it"),
    (&["http", "--docs", "5"], "leave it out, or use springload run, which has it"),
    (&["run", "--version"], "; give springload --version"),
    (&["run", "--hide-histogram"], "no flag --hide-histogram; leave it out (see"),
    (&["run", "--fastest"], "no flag --fastest; leave it out (see"),
    (&["http", "--connect-to", "a"], "no flag --connect-to; leave it out (see"),
    (&["run", "--pipeline", "4"], "redis://HOST?pipeline=N"),
    (&["run", "script.js"], "script.js looks like a k6 script, which springload cannot run"),
];

#[test]
fn what_has_no_flag_here_has_a_hint() {
    let mut wrong = Vec::new();
    for (words, hint) in HINTS {
        let refused = measure(words.iter().copied());
        let said = refused.stderr.contains(hint) && refused.stderr.lines().count() == 1;
        if refused.code != 2 || !said || refused.stderr.contains("hush") {
            wrong.push(format!("{words:?}: {}: {}", refused.code, refused.stderr));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join(""));
}

#[test]
fn each_refusal_names_the_right_flag_which_that_verb_has() {
    let (mut wrong, mut helps) = (Vec::new(), BTreeMap::new());
    for (tool, words, verb, flag) in HABITS {
        let refused = measure(words.iter().copied());
        assert_eq!(refused.code, 2, "{tool}: {words:?}: {}", refused.stderr);
        assert!(refused.stdout.is_empty(), "{words:?}");
        let cured = refused.stderr.lines().any(|line| {
            let (_, cure) = line.split_once("; ").unwrap_or_default();
            let cure = cure.split(" (see ").next().unwrap_or_default();
            cure.split([' ', ',']).any(|word| word == *flag)
        });
        if !cured {
            wrong.push(format!("{tool}: {words:?}: {flag}: {}", refused.stderr));
        }
        let help = helps.entry(verb).or_insert_with(|| springload([verb, "--help"]).stdout);
        let has = |line: &str| line.split([' ', ',']).any(|word| word == *flag);
        assert!(help.lines().any(has), "{verb} has no {flag}");
        if *verb != words[0] {
            assert!(refused.stderr.contains(&format!("springload {verb}")), "{}", refused.stderr);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join(""));
}

#[test]
fn what_is_right_already_is_not_taken_for_a_habit() {
    // `-uannounce` names a user, `-nx` is an invalid number, and `-c 5m` is not a time in another
    // tool.
    let run = measure(["run", "http://127.0.0.1:1", "-uannounce:x", "--docs", "1"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    measure(["run", "-nx"]).refused(2, &["--ops: \"x\" is not a count"]);
    let run = measure(["run", "http://127.0.0.1:1", "-u", "10:x", "--docs", "1"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    let dry = measure(["run", "-t2", "-d30s", "-c50", "-k", "https://127.0.0.1:1", "--dry-run"]);
    assert_eq!(dry.code, 0, "{}", dry.stderr);
    let dry = measure(["http", "-kvn10", "https://127.0.0.1:1", "--dry-run"]);
    assert_eq!(dry.code, 0, "{}", dry.stderr);
    assert_eq!(springload(["list", "-help"]).code, 0);
    let dry = measure(["run", "-t", "2", "-d", "30s", "-r", "5", "--data", "a=1,2", "--dry-run"]);
    assert_eq!(dry.code, 0, "{}", dry.stderr);
}

#[test]
fn show_is_another_name_for_report() {
    let [show, report] = ["show", "report"].map(|verb| measure([verb, "none-of-that-name"]));
    assert_eq!((show.code, &show.stderr), (2, &report.stderr));
    let help = springload(["show", "-h"]).stdout;
    assert!(help.contains("springload report"), "{help}");
    measure(["show", "--csv"]).refused(2, &["has no flag --csv; give --format FORMAT"]);
}
