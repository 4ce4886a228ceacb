//! Cassandra, with Cassandra's own client on the other side.

use crate::servers::cassandra::{cassandra, with_password};

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

#[test]
fn it_asks_for_a_password() {
    let Some(cassandra) = with_password() else { return };
    // Its own client, as it is here, gives none.
    let refused = std::panic::catch_unwind(|| cassandra.cql(KEYSPACE)).expect_err("no password");
    let words = refused.downcast_ref::<String>().expect("a text");
    assert!(words.contains("expecting SASL_RESPONSE"), "{words}");
}
