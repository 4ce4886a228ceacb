//! Redis and Infinispan, checked with Redis' own client.

use std::collections::BTreeMap;
use std::time::Duration;

use springload::workload::ycsb::values::integrity_text;
use springload::workload::ycsb::{KeyNames, KeyOrder};

use crate::binary::{Running, measure, number};
use crate::own;
use crate::servers::database::{Database, Lease};
use crate::servers::resp::{
    PASSWORD, infinispan, infinispan_with_password, infinispan_with_tls, redis, redis_that_loads,
    redis_with_password, redis_with_tls,
};
use crate::speech::Resp;
use crate::springload::{done, flowing, refused, shell, springload, ycsb};
use crate::trust::{Subject, checks_certificates, conforms};
use crate::ycsb::{RECORDS, Ycsb, refused_where_there_is_none};
use serde_json::json;

/// Reads every record with `redis-cli`, and checks its values.
#[track_caller]
fn check(database: &Database) {
    let names = KeyNames { prefix: "user".to_owned(), digits: 1, order: KeyOrder::Hashed };
    let keys: Vec<String> = (0..RECORDS)
        .map(|number| {
            let mut key = Vec::new();
            names.write(number, &mut key);
            String::from_utf8(key).expect("UTF-8")
        })
        .collect();
    let commands: Vec<String> = keys.iter().map(|key| format!("HGETALL {key}\n")).collect();
    let answers = database.redis_script(&commands.concat());
    // Names and values alternate, without spaces: one per line, or as a map on one.
    let words: Vec<&str> = answers.split_whitespace().collect();
    assert_eq!(words.len() as u64, RECORDS * 20);
    for (key, record) in keys.iter().zip(words.chunks(20)) {
        let found: BTreeMap<_, _> = record.chunks(2).map(|pair| (pair[0], pair[1])).collect();
        assert_eq!(found.len(), 10, "{key}");
        for (field, value) in found {
            let mut wanted = Vec::new();
            integrity_text(key, field, 100, &mut wanted);
            assert_eq!(value.as_bytes(), wanted, "{key} {field}");
        }
    }
}

/// A load and workloads a, b, c and f, and a check of the data after them.
#[track_caller]
fn workloads(database: &Database, ycsb: &Ycsb) {
    ycsb.load();
    check(database);
    for workload in ["a", "b", "c", "f"] {
        ycsb.run(workload);
    }
    check(database);
}

#[test]
fn infinispan_answers_the_client_of_redis() {
    let Some(infinispan) = infinispan() else { return };
    assert_eq!(infinispan.redis_cli(&["hset", "user1", "field0", "value"]), "1");
    assert_eq!(infinispan.redis_cli(&["hget", "user1", "field0"]), "value");
}

#[test]
fn redis_answers_its_client() {
    let Some(redis) = redis() else { return };
    assert_eq!(redis.redis_cli(&["ping"]), "PONG");
}

#[test]
fn redis_asks_for_its_password() {
    let Some(redis) = redis_with_password() else { return };
    assert_eq!(redis.redis_cli(&["--no-auth-warning", "-a", PASSWORD, "ping"]), "PONG");
}

#[test]
fn workloads_on_infinispan() {
    let Some(infinispan) = infinispan() else { return };
    let url = format!("infinispan://127.0.0.1:{}", infinispan.port(0));
    workloads(&infinispan, &Ycsb::new("infinispan", &[("infinispan.url", &url)]));
    assert_eq!(infinispan.redis_cli(&["dbsize"]), RECORDS.to_string());
}

#[test]
fn workloads_on_redis() {
    let Some(redis) = redis() else { return };
    let port = redis.port(0).to_string();
    let own = Ycsb::new("redis", &[("redis.host", "127.0.0.1"), ("redis.port", &port)]);
    redis.redis_cli(&["flushall"]);
    workloads(&redis, &own);
    // The keys include the index.
    assert_eq!(redis.redis_cli(&["dbsize"]), (RECORDS + 1).to_string());
    assert_eq!(redis.redis_cli(&["zcard", "_indices"]), RECORDS.to_string());
    redis.redis_cli(&["flushall"]);
    let binding = format!("redis -p redis.host=127.0.0.1 -p redis.port={port}");
    ycsb(&redis, &binding, 5_000, "de");
}

const REDIS: Subject = Subject {
    name: "redis",
    many: "keys",
    server: redis,
    address: |server| format!("redis://127.0.0.1:{}", server.port(0)),
    made: |address, prefix| format!("{address}/0/{prefix}"),
    count: documents,
    set: |server, prefix, id| {
        server.redis_cli(&["hset", &format!("{prefix}:{id}"), "name", "lie"]);
    },
    changed: "wrong_body",
    remove: |server, prefix, id| {
        server.redis_cli(&["del", &format!("{prefix}:{id}")]);
    },
    keeps: |_, _| true,
    clean: |server, _| {
        server.redis_cli(&["flushall"]);
    },
};

const INFINISPAN: Subject = Subject {
    name: "infinispan",
    server: infinispan,
    address: |server| format!("infinispan://127.0.0.1:{}", server.port(0)),
    ..REDIS
};

/// The number of keys of a run that are documents.
fn documents(server: &Database, prefix: &str) -> u64 {
    let keys = server.redis_cli(&["keys", &format!("{prefix}:*")]);
    let ids = keys.lines().filter_map(|key| key.rsplit_once(':'));
    ids.filter(|(_, id)| id.parse::<u64>().is_ok()).count() as u64
}

#[test]
fn redis_keeps_its_word_and_is_found_out_if_it_does_not() {
    REDIS.keeps_its_word();
}

#[test]
fn infinispan_keeps_its_word_and_is_found_out_if_it_does_not() {
    INFINISPAN.keeps_its_word();
}

/// It stores nothing on disk here, nor does the server of the next test.
#[test]
fn redis_is_killed() {
    REDIS.is_killed();
}

#[test]
fn infinispan_is_killed() {
    INFINISPAN.is_killed();
}

#[test]
fn redis_stands_still() {
    REDIS.is_frozen();
}

#[test]
fn infinispan_stands_still() {
    INFINISPAN.is_frozen();
}

#[test]
fn writes_that_redis_failed_are_looked_for() {
    REDIS.fails_writes(|_| Resp, 0);
}

#[test]
fn writes_that_infinispan_failed_are_looked_for() {
    INFINISPAN.fails_writes(|_| Resp, 0);
}

/// How often the server has carried out a command, by its own count.
fn calls(server: &Database, command: &str) -> u64 {
    let stats = server.redis_cli(&["info", "commandstats"]);
    let start = format!("cmdstat_{command}:calls=");
    let line = stats.lines().find_map(|line| line.strip_prefix(&start));
    line.map_or(0, |line| line.split(',').next().unwrap_or_default().parse().expect("a number"))
}

#[test]
fn operations_of_ones_own() {
    for (scheme, server) in [("redis", redis as fn() -> _), ("infinispan", infinispan)] {
        let Some(server): Option<Lease> = server() else { continue };
        server.redis_cli(&["flushall"]);
        let address = format!("{scheme}://127.0.0.1:{}", server.port(0));
        let commands = ["hget", "zadd", "zrange", "set", "get"];
        let before = commands.map(|command| calls(&server, command));
        own::done(
            &address,
            &[
                r#"name={"command":["HGET","{{key}}","name"],"expect":{"rows":1}}"#,
                "score=command ZADD {{prefix}}board {{int 0 1000}} {{key}}",
                r#"top={"command":"ZRANGE {{prefix}}board 0 4","expect":{"rows":"0..5"}}"#,
                "put=command SET {{new}} \"{{text 100}}\"",
                r#"got={"command":"GET {{made put}}","expect":{"rows":1}}"#,
            ],
        );
        if scheme == "redis" {
            for (command, before) in commands.into_iter().zip(before) {
                // ZADD is also used for the index of documents.
                let asked = calls(&server, command) - before;
                assert!(asked == own::TIMES || command == "zadd" && asked > own::TIMES, "{asked}");
            }
            own::refused(&address, "x=command HGETT {{key}}", "unknown command 'HGETT'");
            own::refused(&address, "x=command HGET {{key}}", "wrong number of arguments");
        }
        assert_eq!(server.redis_cli(&["keys", "*"]), "", "{scheme}: all of it is removed");
    }
}

#[test]
fn only_what_a_run_has_written_is_removed() {
    let Some(redis) = redis() else { return };
    redis.redis_cli(&["flushall"]);
    redis.redis_cli(&["hset", "theirs", "field0", "value"]);
    let address = format!("redis://127.0.0.1:{}", redis.port(0));
    let small = "--docs 500 --ops 2000 -c 8";
    let report = done(springload(&redis, &format!("run {address} {small} -v")));
    let text = flowing(&report);
    assert!(text.contains("prefix springload_"), "{report}");
    assert!(text.contains("(created and removed by this run)"), "{report}");
    assert_eq!(redis.redis_cli(&["keys", "*"]), "theirs");
    done(springload(&redis, &format!("run {address} {small} --use-existing")));
    assert_eq!(redis.redis_cli(&["hget", "theirs", "field0"]), "value");
    let output = shell(&redis, &format!("shell {address}"), "read theirs\ninsert ours a=b\n");
    assert!(output.contains("field0=value\n"), "{output}");
    assert_eq!(redis.redis_cli(&["hget", "ours", "a"]), "b");
}

#[test]
fn a_password_is_sent_and_a_wrong_one_is_reported() {
    let Some(redis) = redis_with_password() else { return };
    asks_for_its_password("redis", &redis, "");
}

#[test]
fn infinispan_asks_for_its_password() {
    let Some(infinispan) = infinispan_with_password() else { return };
    asks_for_its_password("infinispan", &infinispan, "ann");
}

fn asks_for_its_password(driver: &str, server: &Lease, user: &str) {
    let small = "--docs 50 --ops 100 -c 2";
    let run = |login: &str| {
        let words = format!("run {driver}://{login}127.0.0.1:{} {small}", server.port(0));
        springload(server, &words)
    };
    done(run(&format!("{user}:{}@", PASSWORD.replace(':', "%3A"))));
    let wrong = format!("{user}:guessed@");
    for (login, wanted) in [("", "requires a log-in"), (&*wrong, "refuses the credentials")] {
        let message = refused(run(login));
        assert!(message.contains(wanted) && !message.contains("guessed"), "{driver}: {message}");
    }
    conforms(driver, "wrong password");
}

#[test]
fn a_server_that_goes_and_comes_back_is_found_again() {
    let Some(mut redis) = redis() else { return };
    let words = format!("run redis://127.0.0.1:{} --docs 100 -d 8s -c 4", redis.port(0));
    let run = springload(&redis, &words).spawn().expect("it runs");
    // The fill is over at once; after that there are seconds of load to lose.
    std::thread::sleep(std::time::Duration::from_secs(3));
    redis.kill();
    std::thread::sleep(std::time::Duration::from_secs(1));
    redis.start_again();
    let output = run.wait_with_output().expect("it ends");
    let stdout = String::from_utf8_lossy(&output.stdout);
    let away = ["nothing succeeded for", "no answer for"].iter().any(|it| stdout.contains(it));
    assert!(output.status.code() == Some(5) && away, "{stdout}");
    // A killed process that still has connections to accept resets them.
    let closed = ["connection refused", "connection reset"].iter().any(|it| stdout.contains(it));
    assert!(closed && !stdout.contains("no longer answers"), "{stdout}");
}

/// For each way of storing records and each protocol, a healthy server passes, and a lying one is
/// found out.
#[test]
fn strings_pipelines_and_resp3() {
    let Some(redis) = redis() else { return };
    redis.redis_cli(&["flushall"]);
    let plain = format!("redis://127.0.0.1:{}", redis.port(0));
    for (parameters, kind) in [
        ("shape=string", "string"),
        ("pipeline=8", "hash"),
        ("shape=string&pipeline=40&resp=3", "string"),
        ("resp=3", "hash"),
    ] {
        let address = format!("{plain}?{parameters}");
        let words = ["run", &address, "--docs", "400", "--ops", "4000", "-c", "40", "--keep"];
        let more = ["--verify", "--audit", "--mix", "create=1,read=4,update=3,delete=1"];
        let run = measure([&words[..], &more].concat()).passed();
        assert!(run.operation("crud", "verify")["failures"] == serde_json::json!({}));
        let expected = 400 + run.sum("create", "ok") - run.sum("delete", "ok");
        assert_eq!(documents(&redis, run.database()), expected, "{parameters}");
        let key = format!("{}:399", run.database());
        redis.redis_cli(&["set", &key, r#"{"name":"lie"}"#]);
        let output = run.output();
        let audit = measure(["audit", output.to_str().expect("UTF-8")]);
        if kind == "string" {
            assert_eq!(audit.code, 6, "{parameters}: {}", audit.stderr);
        } else {
            // It is no longer a hash, and cannot be read as one.
            assert_eq!(audit.code, 5, "{parameters}: {}", audit.stderr);
            assert!(audit.stderr.contains("(1 rejected)"), "{parameters}: {}", audit.stderr);
        }
        redis.redis_cli(&["flushall"]);
    }
    conforms("redis", "strings, pipelines, RESP 3");
}

/// Twenty connections of the run become five to the server, which reports how many it has accepted.
#[test]
fn connections_share_one_to_the_server_as_the_pipeline_says() {
    let Some(redis) = redis() else { return };
    let accepted = || {
        let stats = redis.redis_cli(&["info", "stats"]);
        let line = stats.lines().find_map(|it| it.strip_prefix("total_connections_received:"));
        line.expect("a number").trim().parse::<u64>().expect("a number")
    };
    let run = |pipeline: u32| {
        let address = format!("redis://127.0.0.1:{}?pipeline={pipeline}", redis.port(0));
        let words = ["run", &address, "--workload", "bulk-insert", "--docs", "2000"];
        let before = accepted();
        measure([&words[..], &["--batch", "10", "-c", "20", "--threads", "1"]].concat()).passed();
        accepted() - before
    };
    assert_eq!(run(1) - run(4), 15);
}

/// A user with access to the run's keys only.
#[test]
fn users_have_the_rights_that_the_server_gives_them() {
    let Some(redis) = redis() else { return };
    let rules = ["on", ">p w", "~springload_*", "+@all", "-@dangerous", "+info"];
    redis.redis_cli(&[&["acl", "setuser", "ann"], &rules[..]].concat());
    let small = "--docs 50 --ops 200 -c 2";
    let address = |scheme: &str, password: &str| {
        format!("{scheme}://ann:{password}@127.0.0.1:{}", redis.port(0))
    };
    done(springload(&redis, &format!("run {}?resp=3 {small}", address("redis", "p%20w"))));
    done(springload(&redis, &format!("run {} {small}", address("redis", "p%20w"))));
    let message = refused(springload(&redis, &format!("run {} {small}", address("redis", "no"))));
    assert!(message.contains("refuses the credentials (WRONGPASS"), "{message}");
    let theirs = format!("run {} {small} --use-existing", address("redis", "p%20w"));
    let report = springload(&redis, &theirs).output().expect("it runs");
    let report = String::from_utf8_lossy(&report.stdout).into_owned();
    assert!(report.contains("NOPERM"), "{report}");
    redis.redis_cli(&["acl", "deluser", "ann"]);
    // Redis is recognized whatever its address says, and so is Valkey installed in its place.
    let is_valkey = redis.redis_cli(&["info", "server"]).contains("valkey_version:");
    let name = if is_valkey { "valkey " } else { "redis " };
    let other = format!("run infinispan://127.0.0.1:{} {small}", redis.port(0));
    let report = done(springload(&redis, &other));
    assert!(report.contains(name) && !report.contains("infinispan 7"), "{report}");
}

/// A record that is stored without its entry in the index counts as failed: an audit finds it.
#[test]
fn records_that_the_index_refuses_are_looked_for() {
    let Some(redis) = redis() else { return };
    redis.redis_cli(&["acl", "setuser", "eve", "on", ">p", "~*", "+@all", "-zadd"]);
    let address = format!("redis://eve:p@127.0.0.1:{}", redis.port(0));
    let words = ["run", &address, "--docs", "60", "--batch", "20", "--audit", "--keep"];
    let run = measure([&words[..], &["--workload", "bulk-insert", "-c", "2"]].concat());
    let fill = run.operation("bulk_insert", "bulk_insert");
    assert_eq!(fill["failures"], json!({ "server_error": 60 }), "{}", run.stderr);
    let verify = run.operation("audit", "verify");
    assert_eq!((number(&verify["ok"]), &verify["failures"]), (60, &json!({})), "{verify}");
    assert_eq!(number(&verify["failed_carried_out"]), 60, "{verify}");
    assert_ne!(run.code, 6, "{}", run.stderr);
    conforms("redis", "failed rows");
    redis.redis_cli(&["acl", "deluser", "eve"]);
    redis.redis_cli(&["flushall"]);
}

/// A run waits for a server that is loading its data or is read-only: no document is lost.
#[test]
fn a_server_that_is_not_ready_is_waited_for() {
    let Some(mut redis) = redis_that_loads() else { return };
    let (docs, address) = ("10000", format!("redis://127.0.0.1:{}", redis.port(0)));
    let words = ["--workload", "bulk-insert", "--batch", "20", "-c", "4", "--audit", "--keep"];
    let words = [&["run", &address, "--docs", docs, "--wait-for-server", "60s"], &words[..]];
    let run = Running::start(words.concat());
    let until = |keys: u64| {
        let size = || redis.redis_cli(&["dbsize"]).parse::<u64>().expect("a number");
        (0..1_000).any(|_| {
            std::thread::sleep(Duration::from_millis(5));
            size() > keys
        })
    };
    assert!(until(1_000), "nothing is written");
    redis.redis_cli(&["replicaof", "127.0.0.1", "1"]);
    std::thread::sleep(Duration::from_millis(300));
    redis.redis_cli(&["replicaof", "no", "one"]);
    assert!(until(3_000), "nothing is written any more");
    redis.kill();
    redis.start_again();
    let run = run.finish();
    assert!(matches!(run.code, 0 | 5), "{}", run.stderr);
    let fill = run.operation("bulk_insert", "bulk_insert");
    assert_eq!(fill["ok"].to_string(), docs, "{fill}");
    let classes: Vec<_> = fill["failures"].as_object().expect("failures").keys().collect();
    assert!(classes.iter().any(|it| *it == "not_ready"), "{classes:?}");
    let known = ["connect", "not_ready", "unanswered"];
    assert!(classes.iter().all(|it| known.contains(&it.as_str())), "{classes:?}");
    assert_eq!(run.operation("audit", "verify")["ok"].to_string(), docs);
    // The keys include the index.
    assert_eq!(redis.redis_cli(&["dbsize"]), "10001");
}

#[test]
fn certificates_are_checked() {
    let Some(redis) = redis_with_tls() else { return };
    let address = |scheme: &str| format!("{scheme}://127.0.0.1:{}", redis.port(0));
    checks_certificates("redis", &redis, &address("rediss"), &address("redis"));
}

#[test]
fn certificates_of_infinispan_are_checked() {
    let Some(infinispan) = infinispan_with_tls() else { return };
    let address = |scheme: &str| format!("{scheme}://127.0.0.1:{}", infinispan.port(0));
    let (tls, plain) = (address("infinispans"), address("infinispan"));
    checks_certificates("infinispan", &infinispan, &tls, &plain);
}

#[test]
fn other_peers_are_refused() {
    for scheme in ["redis", "infinispan"] {
        let message = "does not speak Redis's protocol";
        refused_where_there_is_none(scheme, message, |port| format!("{scheme}://127.0.0.1:{port}"));
    }
}
