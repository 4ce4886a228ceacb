//! mongo-java-server in place of MongoDB: a second, independent server of its protocol.

use crate::mongodb::{SUBJECT, has_indexes};
use crate::servers::mongojava::mongojava;
use crate::speech::Mongo;
use crate::springload::{done, refused, springload, ycsb};
use crate::trust::{Subject, conforms};

const OTHER: Subject = Subject {
    name: "mongo-java-server",
    server: mongojava,
    // It writes its file once a second: before that, not even the collection is in it.
    keeps: |server, made| {
        let file = std::fs::read(server.folder().join("store")).unwrap_or_default();
        let collection = made.rsplit('.').next().unwrap_or(made).as_bytes();
        file.windows(collection.len()).any(|it| it == collection)
    },
    ..SUBJECT
};

#[test]
fn it_keeps_its_word_and_is_found_out_if_it_does_not() {
    OTHER.keeps_its_word();
}

#[test]
fn it_is_killed() {
    OTHER.is_killed();
}

#[test]
fn it_stands_still() {
    OTHER.is_frozen();
}

#[test]
fn writes_that_failed_are_looked_for() {
    OTHER.fails_writes(|_| Mongo, 0);
}

#[test]
fn indexes_are_created_with_the_collection() {
    let Some(server) = mongojava() else { return };
    has_indexes(&server);
}

#[test]
fn workloads_of_ycsb() {
    let Some(server) = mongojava() else { return };
    let binding = format!("mongodb -p mongodb.url=mongodb://127.0.0.1:{}/ycsb?w=1", server.port(0));
    ycsb(&server, &format!("{binding} -p table=first"), 300, "abcf");
    assert_eq!(server.check_collection("ycsb", "first"), "300 rows, 3000 values\n");
}

#[test]
fn what_must_exist_and_what_must_not() {
    let Some(server) = mongojava() else { return };
    let address = format!("mongodb://127.0.0.1:{}", server.port(0));
    let small = "--docs 100 --ops 200 -c 4";
    done(springload(&server, &format!("run {address}/bench {small} --keep")));
    let message = refused(springload(&server, &format!("run {address}/bench {small}")));
    assert!(message.contains("collection bench.usertable exists already"), "{message}");
    let message = refused(springload(&server, &format!("run {address}/none --use-existing")));
    assert!(message.contains("there is no collection none.usertable"), "{message}");
    conforms("mongo-java-server", "wrong object");
}
