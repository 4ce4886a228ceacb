//! Tests addresses and plans, and peers that are not Cassandra.

use super::consistency::Consistency;
use super::*;
use crate::{DatabasePlan, DriverPlan as _, Existing, LogIn, Opening, Planned as _, TargetAsked};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};

fn asked(address: &str, existing: Existing) -> TargetAsked {
    TargetAsked { existing, ..TargetAsked::at(address) }
}

fn plan(address: &str) -> Result<CassandraPlan, String> {
    CassandraPlan::check(&asked(address, Existing::No)).map_err(|mistake| mistake.to_string())
}

#[test]
fn addresses_name_servers_a_keyspace_and_a_table() {
    let scratch = plan("cassandra://h").unwrap();
    assert_eq!(
        (scratch.server.as_str(), scratch.hosts()),
        ("cassandra://h", vec!["h:9042".into()])
    );
    assert_eq!(scratch.database, DatabasePlan::Scratch { keep: false });
    assert_eq!(scratch.read_consistency, Consistency::Quorum);
    let named = plan("cassandra://a:1,[::1],b/Bench?consistency=one&replication=3&pool=2").unwrap();
    assert_eq!(named.hosts(), ["a:1", "[::1]:9042", "b:9042"]);
    assert_eq!((named.parent.as_str(), named.named_database()), ("bench", Some("usertable")));
    assert_eq!((named.replication.get(), named.pool.get()), (3, 2));
    assert_eq!(
        (named.read_consistency, named.write_consistency),
        (Consistency::One, Consistency::One)
    );
    let full = plan("cassandra://ann:p%40w@h/k/things?write_consistency=EACH_QUORUM").unwrap();
    assert_eq!((full.login.user.as_deref(), full.login.password()), (Some("ann"), "p@w"));
    assert_eq!(
        (full.named_database(), full.write_consistency),
        (Some("things"), Consistency::EachQuorum)
    );
    let place = named.place_of("bench.usertable").unwrap();
    assert_eq!(place, "/bench/usertable?read_consistency=ONE");
    let table =
        TargetAsked { database: Some("T".into()), ..asked("cassandra://h", Existing::Maybe) };
    let ycsb = CassandraPlan::check(&table).unwrap();
    assert_eq!((ycsb.parent.as_str(), ycsb.named_database()), ("ycsb", Some("t")));
}

#[test]
fn wrong_addresses_are_refused_without_their_password() {
    for (address, message) in [
        ("cassandra://", "no host"),
        ("cassandra://u:pw@h:x", "no host, or an invalid port"),
        ("cassandra://u:pw@h,", "no host, or an invalid port"),
        ("cassandra://u@h", "a user without a password"),
        ("cassandra://u:pw@h/a/b/c", "not a valid keyspace or table name"),
        ("cassandra://u:pw@h/a-b", "not a valid keyspace or table name"),
        ("cassandra://u:pw@h?consistency=some", "not a consistency level"),
        ("cassandra://u:pw@h?replication=0", "not a number from 1 to 1000"),
        ("cassandra://u:pw@h?batch=counter", "neither unlogged nor logged"),
        ("cassandra://u:pw@h?x=1", "unknown parameter x"),
    ] {
        let found = plan(address).unwrap_err();
        assert!(found.starts_with("TARGET: ") && found.contains(message), "{found}");
        assert!(!found.contains("pw"), "{found}");
    }
    let existing = CassandraPlan::check(&asked("cassandra://h", Existing::Yes)).unwrap_err();
    assert!(existing.to_string().contains("--use-existing but no database"), "{existing}");
}

#[test]
fn a_plan_is_stored_without_its_password() {
    let plan = plan("cassandra://ann:secret@h/k?consistency=local_one").unwrap();
    let stored = serde_json::to_string(&plan).unwrap();
    assert!(stored.contains("ann") && !stored.contains("secret"), "{stored}");
    assert!(stored.contains("\"LOCAL_ONE\""), "{stored}");
    let again: CassandraPlan = serde_json::from_str(&stored).unwrap();
    assert_eq!(again, CassandraPlan { login: LogIn { password: None, ..plan.login }, ..plan });
}

/// A peer that answers this to anything, and closes the connection if the answer ends with `!`.
fn liar(answer: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                while matches!(stream.read(&mut [0; 4096]), Ok(1..)) {
                    let _ = stream.write_all(answer.strip_suffix(b"!").unwrap_or(answer));
                    if answer.ends_with(b"!") {
                        break;
                    }
                }
            });
        }
    });
    address
}

#[tokio::test]
async fn peers_that_cannot_be_used_are_refused_before_a_run() {
    // No server has this port; one that was just freed may be taken by another test.
    let closed = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
    for (address, message) in [
        (closed, "cannot reach cassandra://HOST: "),
        (liar(b"HTTP/1.1 400 Bad Request\r\n\r\n!"), "the server at cassandra://HOST does not"),
        (liar(b"!"), "the server at cassandra://HOST does not speak CQL's binary protocol ("),
        (liar(b""), "the server at cassandra://HOST does not speak CQL's binary protocol ("),
    ] {
        let plan = plan(&format!("cassandra://{address}")).unwrap();
        let opening = Opening { timeout_ns: 1_000_000_000, ..Opening::default() };
        let found = plan.open(&opening).await.unwrap_err().to_string();
        assert!(found.starts_with(&message.replace("HOST", &address.to_string())), "{found}");
        assert_eq!(found.lines().count(), 1, "{found}");
    }
}
