//! HBase, with HBase's own client on the other side.

use crate::servers::hbase::{with_one_region_server, with_two_region_servers};

#[test]
fn its_own_client_writes_reads_splits_and_moves() {
    let Some(hbase) = with_two_region_servers() else { return };
    hbase.hbase_client(&["create", "usertable", "cf", "user5"]);
    assert_eq!(hbase.hbase_client(&["load", "usertable", "cf", "0", "100"]), "100 rows\n");
    hbase.hbase_client(&["split", "usertable", "user7"]);
    hbase.hbase_client(&["move", "usertable"]);
    assert_eq!(hbase.hbase_client(&["regions", "usertable"]).lines().count(), 3);
    assert_eq!(hbase.hbase_client(&["check", "usertable", "cf"]), "100 rows, 1000 values\n");
}

#[test]
fn it_keeps_its_data_when_killed() {
    let Some(mut hbase) = with_one_region_server() else { return };
    hbase.hbase_client(&["create", "kept", "cf"]);
    hbase.hbase_client(&["load", "kept", "cf", "0", "100"]);
    hbase.kill();
    hbase.start_again();
    assert_eq!(hbase.hbase_client(&["check", "kept", "cf"]), "100 rows, 1000 values\n");
}
