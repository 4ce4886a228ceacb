//! `FerretDB` in place of MongoDB, checked with MongoDB's own client.

use crate::own;
use crate::servers::database::{Database, Lease};
use crate::servers::ferretdb::{ferretdb, ferretdb_with_tls};
use crate::speech::Mongo;
use crate::springload::{done, flowing, refused, shell, springload, ycsb};
use crate::trust::{Subject, checks_certificates, conforms};
use crate::ycsb::{Ycsb, all_rows, refused_where_there_is_none};

#[test]
fn its_own_client_reads() {
    let Some(ferretdb) = ferretdb() else { return };
    assert_eq!(ferretdb.check_collection("ycsb", "none"), "0 rows, 0 values\n");
}

#[test]
fn its_own_client_reads_what_was_loaded() {
    let Some(ferretdb) = ferretdb() else { return };
    let url = format!("mongodb://127.0.0.1:{}/loaded", ferretdb.port(0));
    Ycsb::new("mongodb", &[("mongodb.url", &url)]).load();
    assert_eq!(ferretdb.check_collection("loaded", "usertable"), all_rows(None));
}

/// With few documents: this server creates an index that it does not use, so each read scans all of
/// them, and updates wait for each other.
#[test]
fn workloads_of_ycsb() {
    let Some(ferretdb) = ferretdb() else { return };
    let binding =
        format!("mongodb -p mongodb.url=mongodb://127.0.0.1:{}/ycsb?w=1", ferretdb.port(0));
    ycsb(&ferretdb, &format!("{binding} -p table=first"), 300, "abcf");
    assert_eq!(ferretdb.check_collection("ycsb", "first"), "300 rows, 3000 values\n");
    // Both insert the same records, which would conflict the second time.
    ycsb(&ferretdb, &format!("{binding} -p table=second"), 200, "d");
    ycsb(&ferretdb, &format!("{binding} -p table=third"), 200, "e");
}

#[test]
fn the_workload_of_run_and_what_it_leaves() {
    let Some(ferretdb) = ferretdb() else { return };
    let address = format!("mongodb://127.0.0.1:{}", ferretdb.port(0));
    let small = "--docs 100 --ops 200 -c 4";
    let report = done(springload(&ferretdb, &format!("run {address} {small} -v")));
    assert!(flowing(&report).contains("(created and removed by this run)"), "{report}");
    done(springload(&ferretdb, &format!("run {address}/bench {small} --keep")));
    let message = refused(springload(&ferretdb, &format!("run {address}/bench {small}")));
    assert!(message.contains("collection bench.usertable exists already"), "{message}");
    done(springload(&ferretdb, &format!("run {address}/bench {small} --use-existing")));
    let message = refused(springload(&ferretdb, &format!("run {address}/none --use-existing")));
    assert!(message.contains("there is no collection none.usertable"), "{message}");
    conforms("mongodb", "wrong object");
}

pub(crate) const SUBJECT: Subject = Subject {
    name: "mongodb",
    many: "documents",
    server: ferretdb,
    address: |server| format!("mongodb://127.0.0.1:{}", server.port(0)),
    made: |address, collection| format!("{address}/{}", collection.replace('.', "/")),
    count: |server, collection| {
        let count = client(server, "count", collection, &[]);
        count.trim().parse().expect("a number")
    },
    set: |server, collection, id| {
        client(server, "set", collection, &[id, "lie"]);
    },
    changed: "wrong_body",
    remove: |server, collection, id| {
        client(server, "remove", collection, &[id]);
    },
    keeps: |_, _| true,
    clean: |_, _| {},
};

fn client(server: &Database, command: &str, made: &str, more: &[&str]) -> String {
    let (database, collection) = made.split_once('.').expect("a database and a collection");
    server.ferretdb_client(command, database, collection, more)
}

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
fn writes_that_failed_are_looked_for() {
    SUBJECT.fails_writes(|_| Mongo, 0);
}

#[test]
fn indexes_are_created_with_the_collection() {
    let Some(ferretdb) = ferretdb() else { return };
    has_indexes(&ferretdb);
}

/// Collections that a run creates have the indexes in its address; existing ones must have them.
#[track_caller]
pub(crate) fn has_indexes(server: &Lease) {
    let address = format!("mongodb://127.0.0.1:{}/indexed/some", server.port(0));
    let small = "--docs 100 --ops 200 -c 4 --verify --audit";
    let run = |more: &str| springload(server, &format!("run {address}?{more} {small}"));
    done(run("index=name,-age&index=address.city --keep"));
    done(run("index=address.city&index=name,-age --use-existing"));
    let message = refused(run("index=-name,age --use-existing"));
    assert!(
        message.contains("collection indexed.some has no index -name,age; create"),
        "{message}"
    );
    let output = run("transaction=true").output().expect("it runs");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("transaction, which this driver does not have"), "{stderr}");
}

#[test]
fn operations_of_ones_own() {
    let Some(ferretdb) = ferretdb() else { return };
    let address = format!("mongodb://127.0.0.1:{}/own", ferretdb.port(0));
    let run = own::done(
        &address,
        &[
            r#"one={"find":{"_id":"{{key}}"},"expect":{"rows":1}}"#,
            r#"most={"find":{},"params":{"batchSize":7},"expect":{"rows":60}}"#,
            r#"few=aggregate [{"$match":{"_id":{"$in":["{{key}}","{{key#2}}"]}}}]"#,
            r#"seen={"update":{"q":{"_id":"{{key}}"},"u":{"$inc":{"seen":1}}},"expect":{"rows":1}}"#,
            r#"put=command {"insert":"others","documents":[{"_id":"{{new}}"}]}"#,
            r#"never={"find":{"_id":"{{new}}"},"expect":{"rows":0}}"#,
        ],
    );
    assert_eq!(run.operation("crud", "most")["rows"], 60 * own::TIMES);
    let others = format!("{} rows, 0 values\n", own::TIMES);
    assert_eq!(ferretdb.check_collection("own", "others"), others);
    own::refused(&address, r#"x=aggregate [{"$mtch":{}}]"#, "$mtch");
    own::refused(&address, r#"x={"find":{},"params":{"limt":5}}"#, "limt");
}

#[test]
fn by_hand() {
    let Some(ferretdb) = ferretdb() else { return };
    let words = format!("shell mongodb://127.0.0.1:{}/byhand", ferretdb.port(0));
    let script =
        "insert a f=1 g=2\ninsert a f=1\nread a g\nupdate b f=1\nscan a 5\ndelete a\nread a\n";
    let output = shell(&ferretdb, &words, script);
    assert!(output.contains("CONFLICT") && output.matches("NOT_FOUND").count() == 2, "{output}");
    assert_eq!(
        (output.matches("g=2\n").count(), output.matches("f=1\n").count()),
        (2, 1),
        "{output}"
    );
}

#[test]
fn a_password_that_it_cannot_check_is_reported() {
    let Some(ferretdb) = ferretdb() else { return };
    let address = format!("mongodb://ann:guessed@127.0.0.1:{}/ycsb", ferretdb.port(0));
    let message = refused(springload(&ferretdb, &format!("run {address}")));
    assert!(message.contains("credentials") && !message.contains("guessed"), "{message}");
    conforms("mongodb", "wrong password");
}

#[test]
fn certificates_are_checked() {
    let Some(ferretdb) = ferretdb_with_tls() else { return };
    let plain = format!("mongodb://127.0.0.1:{}", ferretdb.port(0));
    checks_certificates("mongodb", &ferretdb, &format!("{plain}/?tls=true"), &plain);
}

#[test]
fn other_peers_are_refused() {
    let message = "there is no usable MongoDB server";
    refused_where_there_is_none("mongodb", message, |port| {
        format!("mongodb://127.0.0.1:{port}/ycsb")
    });
}
