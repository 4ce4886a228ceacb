//! What other tools call their flags, and the equivalent flags here: people type what they are used
//! to, and the error message names what to type instead.

use super::VERBS;
use super::call::Family;
use clap::{Arg, Command};

/// Names in other tools, and the flags here that do the same.
struct Habit {
    /// The names, without dashes. A name with a leading dash is written with a single dash only, as
    /// in YCSB and vegeta.
    names: &'static str,
    /// The equivalent flags, separated by `|`: the first that a verb has is suggested. One may
    /// include a value.
    flags: &'static str,
}

/// One idea per line. The names are from wrk, wrk2, ab, hey, oha, h2load, bombardier, autocannon,
/// k6, vegeta, locust, siege, memtier, redis-benchmark, cassandra-stress, YCSB, pgbench and
/// sysbench.
#[rustfmt::skip]
const HABITS: &[Habit] = &[
    Habit {
        names: "rps qps R throughput target-throughput throttle rate-limit rate-limiting max-rate \
            target-rate request-rate arrival-rate overall-rate overallRate ops-per-second \
            requests-per-second -target tps",
        flags: "--rate|--target|--to",
    },
    Habit {
        names: "vus users user-count clients client concurrency concurrent parallel parallelism \
            conns connection num-connections workers max-vus max-workers simultaneous w",
        flags: "--connections|--concurrent|--num_connections|--threads",
    },
    Habit {
        names: "requests num-requests total-requests request-count iterations amount count total \
            operations operationcount opcount num-ops events transactions queries number i",
        flags: "--ops|--reps|--num_crud_operations|--duration",
    },
    Habit {
        names: "time run-time runtime test-time timelimit time-limit maxexecutiontime \
            max-execution-time test-duration length seconds z",
        flags: "--duration|--time",
    },
    Habit {
        names: "threads num-threads thread-count thread cpus cores jobs t",
        flags: "--threads|--connections",
    },
    Habit { names: "vary param params parameter-list parameter matrix grid", flags: "--list" },
    Habit {
        names: "data post-data postfile payload data-raw data-binary body body-file data-file \
            post-file D",
        flags: "--body|--schema",
    },
    Habit {
        names: "recordcount records record-count rows num-docs num-documents documents doc-count \
            keys num-keys key-count key-maximum items inserts insertcount",
        flags: "--docs|--num_bulk_insert_operations",
    },
    Habit {
        names: "data-size value-size doc-size document-size object-size payload-size fieldlength \
            size",
        flags: "--size|--schema",
    },
    Habit {
        names: "ratio ratios mix-ratio read-ratio weights proportions readproportion \
            updateproportion read-write-ratio distribution-of-operations",
        flags: "--mix|--read_weight",
    },
    Habit {
        names: "stage ramp ramp-up rampup ramp-up-time spawn-rate hatch-rate ramping",
        flags: "--stages|--from",
    },
    Habit {
        names: "warm-up warmup-time warm-up-time warmup-duration warmup-seconds burn-in",
        flags: "--warmup",
    },
    Habit {
        names: "threshold thresholds slo sla assert fail-on fail-under max-latency",
        flags: "--fail-if|--slo",
    },
    Habit { names: "html", flags: "--output report.html|--format" },
    Habit { names: "csv json j output-format print-format", flags: "--format" },
    Habit {
        names: "out out-file output-file outfile export summary-export json-out-file csv-file \
            result-file results save report name-prefix",
        flags: "--output",
    },
    Habit {
        names: "latency latencies percentiles print-percentiles histogram hdr summary-trend-stats \
            debug http-debug verbosity stats-success-breakdown",
        flags: "--verbose",
    },
    Habit {
        names: "disable-keepalive no-keepalive disable-keep-alive no-keep-alive keepalive \
            keep-alive no-connection-reuse no-vu-connection-reuse",
        flags: "--close",
    },
    Habit {
        names: "disable-redirects no-redirects no-redirect max-redirects redirects redirect",
        flags: "--no-follow",
    },
    Habit { names: "h2 h2c http-version http-2 use-http2", flags: "--http2" },
    Habit {
        names: "max-concurrent-streams concurrent-streams streams-per-connection multiplex",
        flags: "--streams",
    },
    Habit { names: "method verb http-method m", flags: "--request" },
    Habit {
        names: "insecure-skip-tls-verify tls-skip-verify skip-verify no-verify no-check-certificate \
            tls-insecure ssl-no-verify insecure-tls",
        flags: "--insecure",
    },
    Habit { names: "cacert ca ca-cert ca-file cafile root-certs", flags: "--tls-ca" },
    Habit { names: "cert client-cert certificate", flags: "--tls-cert" },
    Habit { names: "key client-key private-key", flags: "--tls-key" },
    Habit {
        names: "basic-auth basic authenticate username login userpass a",
        flags: "--user|--basic-auth",
    },
    Habit { names: "password passwd pass", flags: "--password-file" },
    Habit { names: "token bearer bearer-token jwt", flags: "--bearer-file" },
    Habit { names: "headers header cookie cookies user-agent accept A", flags: "--header" },
    Habit {
        names: "targets urls urls-file url-file input-file targets-file urls-from-file",
        flags: "--file",
    },
    Habit {
        names: "batch-size batchsize bulk-size bulk chunk-size batch",
        flags: "--batch|--num_documents_per_bulk_insert",
    },
    Habit { names: "runs run-count rounds trials repetitions repeats", flags: "--repeat|--pairs" },
    Habit { names: "think-time thinktime sleep wait", flags: "--think|--delay" },
    Habit { names: "tag tags title test-name description run-name name comment", flags: "--label" },
    Habit { names: "random-seed rand-seed randomseed rng-seed", flags: "--seed" },
    Habit { names: "silent no-progress no-summary", flags: "--quiet" },
    Habit { names: "no-progress-bar headless no-ui no-gui no-color", flags: "--no-tui" },
    Habit {
        names: "socket-timeout request-timeout connect-timeout http-timeout max-timeout",
        flags: "--timeout",
    },
    Habit { names: "prometheus metrics-port prometheus-port", flags: "--metrics" },
    Habit { names: "web-ui web-port web-host dashboard open-browser", flags: "--serve-page" },
    Habit { names: "json-lines ndjson json-stream timeline-json", flags: "--jsonl" },
    Habit { names: "remotes remote-hosts slaves worker-hosts agents-list", flags: "--on" },
    Habit { names: "existing reuse no-setup no-create skip-load no-init", flags: "--use-existing" },
    Habit { names: "no-cleanup keep-db no-teardown no-drop keep-database", flags: "--keep" },
    Habit { names: "data-verification verify-data dataintegrity check-data", flags: "--verify" },
    Habit { names: "list-formats formats", flags: "--format" },
];

/// What other tools call the flag for an address, which is an argument here, ...
const ADDRESS: &str = "url target host hosts server address uri endpoint endpoints node nodes \
    hostname h p port database dbname db-name";
/// ... and the verbs that take it as their first argument.
const ADDRESSED: [&str; 10] =
    ["run", "burst", "sweep", "http", "shell", "max", "ab", "drill", "replicate", "audit"];

/// The name, family and flags of a verb.
type Flags = (&'static str, Family, Command);

/// The flags of all verbs.
fn verbs() -> Vec<Flags> {
    VERBS.iter().map(|it| (it.name, it.family, it.grammar())).collect()
}

/// What to type instead of `word`, which another tool would accept, after this verb.
pub(super) fn cure(word: &str, verb: &str) -> Option<String> {
    cure_among(&verbs(), word, verb)
}

fn cure_among(all: &[Flags], word: &str, verb: &str) -> Option<String> {
    let flag = word.split(['=', ' ']).next().unwrap_or_default();
    let name = flag.trim_start_matches('-');
    let single = format!("-{name}");
    let has = |names: &str, name: &str| names.split_ascii_whitespace().any(|it| it == name);
    let alone = flag == single && name.len() > 1;
    let by = |name: &str| HABITS.iter().find(|it| has(it.names, name));
    let habit = by(&single).filter(|_| alone);
    if habit.is_none() && has(ADDRESS, name) && ADDRESSED.contains(&verb) {
        return Some(format!(
            "give the address as the first argument: springload {verb} {}",
            if verb == "audit" { "RUN ADDRESS" } else { "ADDRESS" }
        ));
    }
    let habit = habit.or_else(|| by(name))?;
    let (_, family, own) = all.iter().find(|it| it.0 == verb)?;
    if let Some(flag) = first(own, habit.flags) {
        return Some(format!("give {flag}"));
    }
    let mut others = all.iter().filter(|it| it.1 == Family::Measure);
    let elsewhere = others.find_map(|it| Some((it.0, first(&it.2, habit.flags)?)));
    elsewhere.filter(|_| *family == Family::Measure).map(|(verb, flag)| {
        let word = flag.split(' ').next().unwrap_or_default();
        format!("leave it out, or give {flag} to springload {verb}, which has {word}")
    })
}

/// The suggestion for a long flag typed with a single dash, such as `-rate=500`, which is parsed as
/// `-r` with the value `ate=500`.
pub(super) fn one_dash(word: &str, verb: &str) -> Option<String> {
    let name = word.strip_prefix('-').filter(|it| !it.starts_with('-'))?;
    let name = name.split('=').next().filter(|it| it.chars().count() > 1)?;
    if let Some(cure) = cure(&format!("-{name}"), verb) {
        return Some(cure);
    }
    let own = VERBS.iter().find(|it| it.name == verb)?;
    first(&own.grammar(), &format!("--{name}")).map(|flag| format!("give {flag}"))
}

/// The suggestion for a letter that means something else in other tools, recognized by its value:
/// `-t 30s` is a time in ab, and `-d '{}'` a body in hey.
pub(super) fn meant(flag: &str, value: &str, verb: &str) -> Option<String> {
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &value[digits.len()..];
    let number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_time = number && matches!(unit, "s" | "ms" | "m" | "h" | "sec" | "min");
    let wanted = match flag {
        "--threads" | "--ops" | "--connections" | "--num-connections" if is_time => "--duration",
        "--duration" if value.starts_with(['{', '[', '@']) => "--body|--schema",
        _ => return None,
    };
    let own = VERBS.iter().find(|it| it.name == verb)?;
    let cure = first(&own.grammar(), wanted)?;
    let value = if is_time { value } else { "" };
    Some(match cure.split_once(' ').filter(|_| is_time) {
        Some((flag, _)) => format!("give {flag} {value} to set how long it runs"),
        None => format!("give {cure}"),
    })
}

/// The first of these flags that a command has, as it is typed, with its value.
fn first(command: &Command, flags: &str) -> Option<String> {
    flags.split('|').find_map(|flag| {
        let (name, value) = flag.split_once(' ').map_or((flag, None), |it| (it.0, Some(it.1)));
        let long = name.trim_start_matches('-');
        let found = flags_of(command).find(|it| it.get_long() == Some(long))?;
        Some(match (value, found.get_value_names()) {
            (Some(value), _) => format!("{name} {value}"),
            (None, Some([value, ..])) if found.get_action().takes_values() => {
                format!("{name} {value}")
            }
            _ => name.to_owned(),
        })
    })
}

/// The flags that are not hidden.
fn flags_of(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|it| !it.is_hide_set())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The long flag that a suggestion names, and the verb that it is for.
    fn named<'a>(cure: &'a str, verb: &'a str) -> Option<(&'a str, &'a str)> {
        let flag = cure.split(' ').find(|it| it.starts_with("--"))?;
        let verb = cure
            .split_once("to springload ")
            .map_or(verb, |(_, rest)| rest.split([' ', ',']).next().unwrap_or_default());
        Some((flag.trim_end_matches(',').trim_start_matches('-'), verb))
    }

    #[test]
    fn what_a_habit_leads_to_is_a_flag_of_the_verb_that_is_named() {
        let names = || HABITS.iter().flat_map(|it| it.names.split_ascii_whitespace());
        let (all, mut suggested) = (verbs(), 0);
        for (verb, ..) in &all {
            for name in names() {
                let dashes = if name.starts_with('-') { "" } else { "--" };
                let typed = format!("{dashes}{name}");
                let Some(cure) = cure_among(&all, &typed, verb) else { continue };
                let Some((flag, of)) = named(&cure, verb) else {
                    assert!(cure.starts_with("give the address"), "{cure}");
                    continue;
                };
                let (.., of) = all.iter().find(|it| it.0 == of).expect(of);
                let known = flags_of(of).any(|it| it.get_long() == Some(flag));
                assert!(known, "springload {verb} {typed}: {cure}");
                suggested += 1;
            }
        }
        assert!(suggested > 1_000, "{suggested}");
    }

    #[test]
    fn every_flag_of_the_table_is_one_of_some_verb_and_no_name_stands_twice() {
        let all = verbs();
        let mut seen = BTreeSet::new();
        for habit in HABITS {
            for flag in habit.flags.split('|') {
                assert!(all.iter().any(|it| first(&it.2, flag).is_some()), "{flag}");
            }
            for name in habit.names.split_ascii_whitespace() {
                assert!(seen.insert(name), "{name} stands twice");
            }
        }
        for name in ADDRESS.split_ascii_whitespace() {
            assert!(seen.insert(name), "{name} is an address, too");
        }
    }

    #[test]
    fn what_no_tool_has_is_left_to_the_nearest_name() {
        for (word, verb) in [("--connectoins", "run"), ("--frobnicate", "http"), ("--rps", "list")]
        {
            assert_eq!(cure(word, verb), None, "{word}");
        }
        // A verb may have a flag of that name itself, which is never refused.
        assert_eq!(one_dash("-n", "run"), None);
        assert_eq!(one_dash("--rate", "run"), None);
        assert_eq!(one_dash("-rate=500", "run").as_deref(), Some("give --rate N"));
        assert_eq!(one_dash("-target", "run").as_deref(), Some("give --rate N"));
        assert_eq!(one_dash("-u:x", "run"), None);
    }
}
