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
            rps-limit target-rate request-rate arrival-rate overall-rate overallRate \
            ops-per-second requests-per-second queries-per-second query-per-second -target tps",
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
    Habit {
        names: "disable-compression no-compression",
        flags: "--header 'Accept-Encoding: identity'",
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

/// What other tools call the flag for an address, which is an argument here.
const ADDRESS: &str = "url target host hosts server address uri endpoint endpoints node nodes \
    hostname h p port database dbname db-name";

/// What other tools call a verb, and what to do instead.
const VERBS_OF_OTHERS: [(&str, &str); 4] = [
    ("load", "give springload ycsb load, as for YCSB, or springload run --ops 0"),
    ("attack", "give springload http"),
    ("ls", "give springload list"),
    ("version", "give springload --version"),
];

/// What other tools have as a flag, and springload in another place.
const PLACED: [(&str, &str); 3] = [
    ("version", "give springload --version"),
    ("pipeline", "for Redis, add it to the address: redis://HOST?pipeline=N"),
    ("pipelining", "for Redis, add it to the address: redis://HOST?pipeline=N"),
];

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

/// Whether `name` is among `names`, which are separated by spaces.
fn has(names: &str, name: &str) -> bool {
    names.split_ascii_whitespace().any(|it| it == name)
}

/// The arguments that a verb requires before the address, if it takes one. The verbs of other tools
/// have their own flags for it.
fn before_address(all: &[Flags], verb: &str) -> Option<String> {
    let (.., command) = all.iter().find(|it| it.0 == verb && it.1 != Family::Dialect)?;
    let mut before = String::new();
    for argument in command.get_positionals() {
        match argument.get_id().as_str() {
            "target" | "urls" => return Some(before),
            id if argument.is_required_set() => before += &(id.to_uppercase() + " "),
            _ => {}
        }
    }
    None
}

fn cure_among(all: &[Flags], word: &str, verb: &str) -> Option<String> {
    let flag = word.split(['=', ' ']).next().unwrap_or_default();
    let name = flag.trim_start_matches('-');
    let single = format!("-{name}");
    let alone = flag == single && name.len() > 1;
    let by = |name: &str| HABITS.iter().find(|it| has(it.names, name));
    let habit = by(&single).filter(|_| alone);
    if habit.is_none()
        && has(ADDRESS, name)
        && let Some(before) = before_address(all, verb)
    {
        return Some(format!(
            "give the address as the first argument: springload {verb} {before}ADDRESS"
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

/// The part of a word that would be the name of a flag: in `-header=A: b` and `-Header:b` as well.
pub(super) fn name_in(word: &str) -> &str {
    word.split(['=', ':']).next().unwrap_or_default()
}

/// The suggestion for a long flag typed with a single dash, such as `-rate=500`, which is parsed as
/// `-r` with the value `ate=500`, or `-user:x`, which is `-u` with the value `ser:x`.
pub(super) fn one_dash(word: &str, verb: &str) -> Option<String> {
    let word = word.strip_prefix('-').filter(|it| !it.starts_with('-'))?;
    let name = Some(name_in(word)).filter(|it| it.chars().count() > 1)?;
    let single = format!("-{name}");
    let is_known = |names: &str| has(names, name) || has(names, &single);
    // Few words are, and the flags of all verbs take time to define.
    if (is_known(ADDRESS) || HABITS.iter().any(|it| is_known(it.names)))
        && let Some(cure) = cure(&single, verb)
    {
        return Some(cure);
    }
    let own = VERBS.iter().find(|it| it.name == verb)?;
    // Capitals as in the name of a header: `-Header:x` is `-H` with the value `eader:x`.
    let flag = first(&own.grammar(), &format!("--{}", name.to_ascii_lowercase()))?;
    Some(if word.ends_with("=false") { "leave it out".to_owned() } else { format!("give {flag}") })
}

/// The same before the command line is parsed: `-output=file` would be `-o` with the value
/// `utput=file`, and `-header` would be `-h`.
pub(super) fn one_dash_beforehand(word: &str, verb: &str) -> Option<String> {
    let name = name_in(word.strip_prefix('-')?);
    let second = name.as_bytes().get(1).copied()?;
    if name == "help" {
        return None;
    }
    if name.starts_with('h') {
        let help = || format!("give -h for help, or a flag of springload {verb} --help");
        return Some(one_dash(word, verb).unwrap_or_else(help));
    }
    // Anything else may be a letter and its value, such as `-c50` and `-uann`, or two letters.
    if name.len() > 2 && second.is_ascii_alphabetic() { one_dash(word, verb) } else { None }
}

/// The suggestion for a number after a letter that takes no value here: `-q 10` is a rate in hey
/// and oha, `-v 4` a verbosity in ab.
pub(super) fn counted(letter: &str, word: &str, verb: &str) -> Option<String> {
    if !matches!(letter, "-q" | "-v") || !is_number(word) {
        return None;
    }
    let own = VERBS.iter().find(|it| it.name == verb)?;
    let rate = first(&own.grammar(), "--rate N")?;
    Some(if letter == "-q" { format!("give {rate}") } else { "leave out the number".to_owned() })
}

/// Whether a word that should be an address is a number, which resolvers take for an address in
/// another notation: `10` is 0.0.0.10.
pub(super) fn is_number(word: &str) -> bool {
    let host = word.split([':', '/', '?', '#', ' ']).next().unwrap_or_default();
    let hexadecimal = |it: &str| it.starts_with("0x") || it.starts_with("0X");
    let decimal = |it: &str| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit());
    let number = |it: &str| {
        let digits = it.strip_prefix("0x").or_else(|| it.strip_prefix("0X"));
        digits.map_or_else(|| decimal(it), |it| it.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    let parts: Vec<_> = host.split('.').collect();
    parts.iter().all(|it| number(it)) && (parts.len() < 4 || parts.iter().any(|it| hexadecimal(it)))
}

/// The suggestion for a letter that several tools have, recognized by its value: `-p` is a file
/// with a body in ab, a property in YCSB, and a port in others.
pub(super) fn valued(letter: &str, value: &str, verb: &str) -> Option<String> {
    let own = VERBS.iter().find(|it| it.name == verb)?;
    let plain = |it: u8| it.is_ascii_alphanumeric() || b"._-".contains(&it);
    let property =
        value.split_once('=').is_some_and(|(name, _)| !name.is_empty() && name.bytes().all(plain));
    let login = value.contains(':') && !value.contains([' ', '/']);
    match letter {
        "-p" if property => Some(
            "for a property of YCSB, use springload ycsb, as in springload ycsb run BINDING \
             -p NAME=VALUE"
                .to_owned(),
        ),
        "-p" if !is_number(value) => {
            first(&own.grammar(), "--body @FILE").map(|flag| format!("give {flag}"))
        }
        "-A" if login => first(&own.grammar(), "--user").map(|flag| format!("give {flag}")),
        _ => None,
    }
}

/// What to do about a flag that this verb has not: it may be one of another verb, or not be a flag.
pub(super) fn elsewhere(flag: &str, verb: &str) -> Option<String> {
    let name = flag.trim_start_matches('-');
    if let Some((_, cure)) = PLACED.iter().find(|(placed, _)| *placed == name) {
        return Some((*cure).to_owned());
    }
    let is_long = flag.starts_with("--");
    let is_it = |argument: &Arg| {
        let letter = || argument.get_short().is_some_and(|it| name.chars().eq([it]));
        if is_long { argument.get_long() == Some(name) } else { letter() }
    };
    // In verbs that do not measure, a letter rarely means the same as in those that do.
    let measures = |it: Family| it == Family::Measure;
    let own = VERBS.iter().any(|it| it.name == verb && measures(it.family));
    for (family, _) in Family::ALL.iter().filter(|it| is_long || own && measures(it.0)) {
        for other in VERBS.iter().filter(|it| it.family == *family && it.name != verb) {
            if flags_of(&other.grammar()).any(is_it) {
                return Some(format!(
                    "leave it out, or use springload {}, which has it",
                    other.name
                ));
            }
        }
    }
    None
}

/// What to do instead of a word that should be a verb.
pub(super) fn verb(word: &str) -> Option<String> {
    let port = |(_, port): (&str, &str)| {
        let port = port.split('/').next().unwrap_or_default();
        !port.is_empty() && port.bytes().all(|it| it.is_ascii_digit())
    };
    if word.contains("://") || word.rsplit_once(':').is_some_and(port) {
        let cure = "give a verb before the address: springload http URL, or springload run URL";
        return Some(cure.to_owned());
    }
    let other = VERBS_OF_OTHERS.iter().find(|(name, _)| *name == word)?;
    Some(other.1.to_owned())
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
    fn verbs_with_an_address_say_where_it_goes_and_others_do_not() {
        let all = verbs();
        let of = |verb: &str| cure_among(&all, "--hosts", verb);
        for verb in ["run", "burst", "sweep", "http", "shell", "max", "ab", "drill", "replicate"] {
            assert!(of(verb).is_some_and(|it| it.ends_with(&format!(" {verb} ADDRESS"))), "{verb}");
        }
        assert!(of("clean").is_some_and(|it| it.ends_with(" clean ADDRESS")));
        assert!(of("audit").is_some_and(|it| it.ends_with(" audit RUN ADDRESS")));
        for verb in ["list", "report", "k8s", "serve", "siege"] {
            assert_eq!(of(verb), None, "{verb}");
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
        assert_eq!(one_dash("-http2=false", "http").as_deref(), Some("leave it out"));
    }

    #[test]
    fn words_that_a_letter_would_swallow_are_noticed_and_letters_with_values_are_not() {
        let cure = |word: &str, verb: &str| one_dash_beforehand(word, verb).unwrap_or_default();
        for (word, wanted) in [
            ("-header", "give --header"),
            ("-header=A: b", "give --header"),
            ("-host", "give the address"),
            ("-hosts=a", "give the address"),
            ("-h2", "give --http2"),
            ("-http2", "give --http2"),
            ("-hx", "give -h for help"),
            ("-output=results.bin", "give --output"),
            ("-format=json", "give --format"),
            ("-disable-compression", "give --header 'Accept-Encoding: identity'"),
            ("-users", "give --connections"),
            ("-quiet", "give --quiet"),
            ("-user:x", "give --user"),
            ("-header:x", "give --header"),
            ("-Header:x", "give --header"),
            ("-Header", "give --header"),
            ("-output:file", "give --output"),
        ] {
            assert!(cure(word, "http").starts_with(wanted), "{word}: {}", cure(word, "http"));
        }
        for word in [
            "-h",
            "-help",
            "--header",
            "-c50",
            "-d30s",
            "-n1000",
            "-uann",
            "-uann:b",
            "-uannounce",
            "-kv",
            "-opage.html",
            "-XPOST",
            "-HAccept:x",
            "-Haccept: x",
            "-uuser:x",
            "-r",
            "-5",
            "-",
            "",
            "h2",
        ] {
            assert_eq!(cure(word, "http"), "", "{word}");
        }
    }

    #[test]
    fn a_number_is_no_address_and_one_after_q_is_a_rate() {
        for word in ["10", "0x7f000001", "127.1", "1.2.3", "10:80", "10/x", "0x7f.0.0.1"] {
            assert!(is_number(word), "{word}");
        }
        for word in
            ["127.0.0.1", "127.0.0.1:80/x", "localhost", "10.example", "http://10/", "", "-"]
        {
            assert!(!is_number(word), "{word}");
        }
        assert_eq!(counted("-q", "10", "http").as_deref(), Some("give --rate N"));
        assert_eq!(counted("-v", "4", "http").as_deref(), Some("leave out the number"));
        assert_eq!(counted("-q", "127.0.0.1:80", "http"), None);
        assert_eq!(counted("-n", "10", "http"), None);
        // The name of a run may begin with a number.
        assert_eq!(counted("-q", "2026", "audit"), None);
    }

    #[test]
    fn a_flag_of_another_verb_and_a_verb_of_another_tool_are_placed() {
        let of = |flag: &str, verb: &str| elsewhere(flag, verb).unwrap_or_default();
        assert!(of("--http2", "run").contains("springload http, which has it"));
        assert!(of("--docs", "http").contains("springload run, which has it"));
        assert!(of("-X", "run").contains("springload http, which has it"));
        assert_eq!(of("-X", "list"), "");
        assert_eq!(of("--frobnicate", "run"), "");
        for word in ["http://h/", "h:5984", "h:80/x", "load", "attack", "ls", "version"] {
            assert!(verb(word).is_some(), "{word}");
        }
        for word in ["get", "test", "rnu", "a:b"] {
            assert_eq!(verb(word), None, "{word}");
        }
    }
}
