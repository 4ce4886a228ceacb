//! Cassandra, checked with its own client.

use crate::binary::{Running, failures, measure, number};
use crate::own;
use crate::servers::cassandra::{CREDENTIALS, cassandra, guarded};
use crate::servers::database::Database;
use crate::servers::process::free_ports;
use crate::speech::Cql;
use crate::springload::{done, flowing, refused, shell, springload};
use crate::trust::{Subject, checks_certificates, conforms};
use crate::ycsb::{Ycsb, all_rows, refused_where_there_is_none};
use serde_json::{Value, json};

const KEYSPACE: &str = "CREATE KEYSPACE IF NOT EXISTS ycsb WITH replication = \
    {'class': 'SimpleStrategy', 'replication_factor': 1}";

#[test]
fn its_own_client_writes_and_reads() {
    let Some(cassandra) = cassandra() else { return };
    cassandra.cql(KEYSPACE);
    cassandra.cql("CREATE TABLE ycsb.own (y_id text PRIMARY KEY, field0 text)");
    cassandra.cql("INSERT INTO ycsb.own (y_id) VALUES ('user1')");
    assert_eq!(cassandra.check_table("ycsb.own"), "1 rows, 0 values\n");
}

/// The command line of YCSB, for a table.
fn ycsb(cassandra: &Database, table: &str) -> Ycsb {
    let port = cassandra.port(0).to_string();
    Ycsb::new("cassandra-cql", &[("hosts", "127.0.0.1"), ("port", &port), ("table", table)])
}

#[test]
fn workloads_and_what_its_own_client_reads_after_them() {
    let Some(cassandra) = cassandra() else { return };
    cassandra.cql("DROP KEYSPACE IF EXISTS ycsb");
    let usertable = ycsb(&cassandra, "usertable");
    usertable.load();
    assert_eq!(cassandra.check_table("ycsb.usertable"), all_rows(None));
    for workload in ["a", "b", "c", "f"] {
        usertable.run(workload);
    }
    let inserting = usertable.run("d");
    assert_eq!(cassandra.check_table("ycsb.usertable"), all_rows(Some(&inserting)));
    let scans = ycsb(&cassandra, "scans");
    scans.load();
    let scanning = scans.run("e");
    let scan = scanning.operation("run", "scan");
    assert!(number(&scan["rows"]) > 10 * number(&scan["ok"]), "{scan}");
    assert_eq!(cassandra.check_table("ycsb.scans"), all_rows(Some(&scanning)));
}

#[test]
fn what_one_client_writes_the_other_reads() {
    let Some(cassandra) = cassandra() else { return };
    cassandra.cql("DROP KEYSPACE IF EXISTS ycsb");
    cassandra.cql(KEYSPACE);
    cassandra.cql("CREATE TABLE ycsb.byhand (y_id text PRIMARY KEY, field0 text, field1 text)");
    cassandra.cql("INSERT INTO ycsb.byhand (y_id, field0) VALUES ('user1', 'theirs')");
    let words = format!("shell cassandra://127.0.0.1:{}/ycsb/byhand", cassandra.port(0));
    let script = "read user1\nupdate user1 field1=ours\nread user1 field1\nscan user1 2\n";
    let output = shell(&cassandra, &words, script);
    assert_eq!(output.matches("field0=theirs\n").count(), 2, "{output}");
    assert_eq!(output.matches("field1=ours\n").count(), 2, "{output}");
}

#[test]
fn the_workload_of_run_and_what_it_leaves() {
    let Some(cassandra) = cassandra() else { return };
    cassandra.cql("DROP KEYSPACE IF EXISTS bench");
    let address = format!("cassandra://127.0.0.1:{}", cassandra.port(0));
    let small = "--docs 500 --ops 2000 -c 8";
    let report = done(springload(&cassandra, &format!("run {address} {small} -v")));
    assert!(flowing(&report).contains("(created and removed by this run)"), "{report}");
    done(springload(&cassandra, &format!("run {address}/bench {small} --keep")));
    // An existing name is not reused, and tables in use are not dropped.
    let message = refused(springload(&cassandra, &format!("run {address}/bench {small}")));
    assert!(message.contains("table bench.usertable exists already"), "{message}");
    done(springload(&cassandra, &format!("run {address}/bench {small} --use-existing")));
    cassandra.cql("DROP TABLE bench.usertable");
    let message = refused(springload(&cassandra, &format!("run {address}/bench --use-existing")));
    assert!(message.contains("there is no table bench.usertable"), "{message}");
    let message = refused(springload(&cassandra, &format!("run {address}/missing --use-existing")));
    assert!(message.contains("there is no keyspace missing"), "{message}");
    conforms("cassandra", "wrong object");
}

const SUBJECT: Subject = Subject {
    name: "cassandra",
    many: "rows",
    server: cassandra,
    address: |server| format!("cassandra://127.0.0.1:{}", server.port(0)),
    made: |address, table| format!("{address}/{}", table.replace('.', "/")),
    count: |server, table| server.count_table(table),
    set: |server, table, id| {
        server.cql(&format!("UPDATE {table} SET name = 'lie' WHERE y_id = '{id}'"));
    },
    changed: "wrong_body",
    remove: |server, table, id| server.cql(&format!("DELETE FROM {table} WHERE y_id = '{id}'")),
    keeps: |_, _| true,
    clean: |server, table| server.cql(&format!("DROP TABLE {table}")),
};

#[test]
fn it_keeps_its_word_and_is_found_out_if_it_does_not() {
    SUBJECT.keeps_its_word();
}

#[test]
fn it_is_killed() {
    SUBJECT.is_killed();
}

#[test]
fn it_stands_still() {
    SUBJECT.is_frozen();
}

#[test]
fn operations_of_ones_own() {
    let Some(cassandra) = cassandra() else { return };
    cassandra.cql(KEYSPACE);
    cassandra.cql("DROP TABLE IF EXISTS ycsb.others");
    cassandra.cql("CREATE TABLE ycsb.others (y_id text PRIMARY KEY, n int)");
    let address = format!("cassandra://127.0.0.1:{}", cassandra.port(0));
    own::done(
        &address,
        &[
            r#"one={"cql":"SELECT name FROM {{table}} WHERE y_id = {{key}}","expect":{"rows":1}}"#,
            "some={\"cql\":\"SELECT y_id FROM {{table}} LIMIT {{int 7 7}}\",\"expect\":{\"rows\":7}}",
            r#"set={"cql":"UPDATE {{table}} SET title = {{text 9}} WHERE y_id = {{key}}",
                "params":{"consistency":"ONE"}}"#,
            "put=cql INSERT INTO ycsb.others (y_id) VALUES ({{new}})",
            r#"got={"cql":"SELECT n FROM ycsb.others WHERE y_id = {{made put}}","expect":{"rows":1}}"#,
        ],
    );
    assert_eq!(cassandra.check_table("ycsb.others"), format!("{} rows, 0 values\n", own::TIMES));
    own::refused(&address, "x=cql SELECT nope FROM {{table}}", "nope");
    own::refused(&address, "x=cql SELEC 1", "no viable alternative");
}

/// A condition that does not hold is a conflict: the number of stored rows equals that of
/// successes.
#[test]
fn conditions_hold_once_for_each_row() {
    let Some(cassandra) = cassandra() else { return };
    cassandra.cql(KEYSPACE);
    cassandra.cql("DROP TABLE IF EXISTS ycsb.claims");
    cassandra.cql("CREATE TABLE ycsb.claims (y_id text PRIMARY KEY, field0 text)");
    let address = format!("cassandra://127.0.0.1:{}", cassandra.port(0));
    let claim = r#"claim={"cql":"INSERT INTO ycsb.claims (y_id) VALUES ({{key}}) IF NOT EXISTS",
        "params":{"consistency":"ONE","serial_consistency":"LOCAL_SERIAL"}}"#;
    let words = ["run", &address, "--docs", "40", "-n", "300", "-c", "4", "--mix", "claim=1"];
    let run = measure([&words[..], &["--op", claim]].concat());
    let claims = run.operation("crud", "claim");
    let (ok, conflicts) = (number(&claims["ok"]), number(&claims["failures"]["conflict"]));
    assert_eq!(ok + conflicts, 300, "{claims}");
    assert_eq!(cassandra.count_table("ycsb.claims"), ok);
    assert!(conflicts > 200, "{claims}");
}

#[test]
fn rows_are_inserted_in_batches() {
    let Some(cassandra) = cassandra() else { return };
    for kind in ["unlogged", "logged"] {
        let address = format!("cassandra://127.0.0.1:{}/b?batch={kind}", cassandra.port(0));
        let words =
            ["run", &address, "--workload", "bulk-insert", "--docs", "300", "--batch", "20"];
        let run = measure([&words[..], &["-c", "3", "--keep", "--audit"]].concat()).passed();
        let fill = run.operation("bulk_insert", "bulk_insert");
        assert_eq!((number(&fill["ok"]), number(&fill["requests"])), (300, 15), "{fill}");
        assert_eq!(number(&run.operation("audit", "verify")["ok"]), 300);
        assert_eq!(cassandra.count_table("b.usertable"), 300);
        cassandra.cql("DROP KEYSPACE b");
    }
}

/// A custom table with clustering keys and several types, and a run's table with numbers.
#[test]
fn tables_of_ones_own() {
    let Some(cassandra) = cassandra() else { return };
    let [tables, documents] = ["tables.cql", "typed.json"].map(|it| cassandra.folder().join(it));
    let text = "-- What the run needs.\n\
        CREATE TYPE {{keyspace}}.place (street text, number int);\n\
        CREATE TABLE {{keyspace}}.readings (sensor text, at timestamp, value double, \
        tags set<text>, homes map<text, frozen<place>>, PRIMARY KEY (sensor, at));\n\
        CREATE TABLE {{table}} (y_id text PRIMARY KEY, name text, balance double, seats bigint, \
        paid boolean);";
    std::fs::write(&tables, text).expect("a file");
    let typed = r#"{"name": "x", "balance": 0.5, "seats": 1, "paid": true}"#;
    std::fs::write(&documents, typed).expect("a file");
    let place = format!("cassandra://127.0.0.1:{}/tables", cassandra.port(0));
    let address = format!("{place}?schema={}", tables.display());
    let put = "put=cql INSERT INTO {{keyspace}}.readings (sensor, at, value, tags, homes) \
        VALUES ({{new}}, {{now}}, 1.5, {{tags}}, {{homes}})";
    let pages = r#"pages={"cql":"SELECT y_id FROM {{table}}","params":{"page_size":7},
        "expect":{"rows":50}}"#;
    let schema = documents.to_str().expect("UTF-8");
    let words = ["run", &address, "--docs", "50", "-n", "200", "-c", "4", "--keep", "--verify"];
    let data = ["--data", r#"tags={"one-of":["[\"b\",\"a\"]"]}"#, "--schema", schema];
    let homes = ["--data", r#"homes={"one-of":["{\"x\":{\"street\":\"s\",\"number\":7}}"]}"#];
    let own = ["--op", put, "--op", pages, "--mix", "read=2,put=1,pages=1"];
    let words = [&words[..], &data, &homes, &own].concat();
    let run = measure(words).passed();
    let ok = |kind: &str| number(&run.operation("crud", kind)["ok"]);
    assert!(ok("put") > 10 && ok("verify") == ok("read"), "{}", run.stdout);
    // Eight pages of 50 rows.
    let pages = run.operation("crud", "pages");
    assert_eq!(number(&pages["http_requests"]), 8 * number(&pages["ok"]), "{pages}");
    assert_eq!(cassandra.count_table("tables.readings"), ok("put"));
    let other = format!("{place}/other?schema={}", tables.display());
    let again = measure(["run", &other, "--docs", "5", "--ops", "0"]);
    again.refused(3, &["keyspace tables exists already", "choose another"]);
    cassandra.cql("DROP KEYSPACE tables");
}

/// The document that is changed during a run.
const CHANGED: &str = "17";

/// Reads during the run are verified as well.
#[test]
fn a_lie_is_found_while_it_runs() {
    let Some(cassandra) = cassandra() else { return };
    cassandra.cql("DROP KEYSPACE IF EXISTS lies");
    let address = format!("cassandra://127.0.0.1:{}/lies", cassandra.port(0));
    done(springload(&cassandra, &format!("run {address} --docs 50 --ops 0 --keep")));
    let words = "--docs 50 -d 2s -c 4 --mix read=1 --id sequential --verify --use-existing";
    let mut run = Running::start(["run", &address].into_iter().chain(words.split(' ')));
    // The fill overwrites changes made before it.
    while !run.ended() {
        cassandra.cql(&format!("UPDATE lies.usertable SET name = 'lie' WHERE y_id = '{CHANGED}'"));
    }
    let run = run.finish();
    assert_eq!(run.code, 6, "{}{}", run.stdout, run.stderr);
    let verify = run.operation("crud", "verify");
    let findings = verify["findings"].as_array().expect("findings");
    assert!(findings.iter().all(|it| it["id"] == CHANGED && it["class"] == "wrong_body"));
    assert!(number(&verify["ok"]) > failures(&verify), "{verify}");
}

#[test]
fn writes_that_failed_are_looked_for() {
    SUBJECT.fails_writes(|_| Cql, 0);
}

/// One node, and a second address with nothing behind it, or with the same node.
#[test]
fn a_node_that_is_left_out_is_on_record() {
    let Some(cassandra) = cassandra() else { return };
    let (port, dead) = (cassandra.port(0), free_ports(1).expect("a port")[0]);
    let run = |other: &str| {
        let address = format!("cassandra://127.0.0.1:{port},{other}");
        let words = ["run", &address, "--docs", "50", "--ops", "200", "-c", "4", "-t", "2"];
        measure(words).passed()
    };
    let there = run(&format!("localhost:{port}"));
    assert!(there.stages().all(|stage| stage["nodes"].is_null()), "{}", there.record);
    assert!(!there.full_report().contains("gone"), "{}", there.full_report());
    let run = run(&format!("127.0.0.1:{dead}"));
    for stage in ["bulk_insert", "crud"] {
        let nodes = run.stage(stage)["nodes"].as_array().expect("nodes").clone();
        let [there, gone] = &nodes[..] else { panic!("{nodes:?}") };
        assert_eq!(there["url"], format!("cassandra://127.0.0.1:{port}"));
        assert_eq!((number(&there["connections"]), &there["unreachable"]), (2, &Value::Null));
        let operations = run.stage(stage)["operations"].as_array().expect("operations").clone();
        let ok = operations.iter().map(|it| number(&it["ok"])).sum::<u64>();
        assert_eq!(number(&there["ok"]), ok, "{stage}: {there}");
        assert_eq!(gone["url"], format!("cassandra://127.0.0.1:{dead}"));
        let whole = json!([{ "from_s": 0.0, "to_s": null, "moved": 0, "returned": 0 }]);
        assert_eq!((number(&gone["requests"]), &gone["unreachable"]), (0, &whole));
    }
    let words = format!("node 127.0.0.1:{dead} was gone until the end");
    assert!(flowing(&run.stdout).contains(&words), "{}", run.stdout);
    assert!(run.report("html").stdout.contains(&words));
}

#[test]
fn a_password_is_sent_and_a_wrong_one_is_reported() {
    let Some(cassandra) = guarded() else { return };
    let port = cassandra.port(0);
    let small = "--docs 50 --ops 100 -c 2 -k";
    done(springload(
        &cassandra,
        &format!("run cassandras://{CREDENTIALS}@127.0.0.1:{port} {small}"),
    ));
    for (login, wanted) in
        [("", "requires a log-in"), ("cassandra:wrong@", "refuses the credentials")]
    {
        let words = format!("run cassandras://{login}127.0.0.1:{port} {small}");
        let message = refused(springload(&cassandra, &words));
        assert!(message.contains(wanted) && !message.contains("wrong"), "{message}");
    }
    conforms("cassandra", "wrong password");
}

#[test]
fn a_certificate_is_checked() {
    let Some(cassandra) = guarded() else { return };
    let place = format!("{CREDENTIALS}@127.0.0.1:{}", cassandra.port(0));
    let (tls, plain) = (format!("cassandras://{place}"), format!("cassandra://{place}"));
    checks_certificates("cassandra", &cassandra, &tls, &plain);
}

#[test]
fn other_peers_are_refused() {
    let message = "does not speak CQL's binary protocol";
    refused_where_there_is_none("cassandra", message, |port| {
        format!("cassandra://127.0.0.1:{port}/ycsb")
    });
}
