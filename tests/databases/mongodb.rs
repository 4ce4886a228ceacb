//! `FerretDB` in place of MongoDB, with MongoDB's own client on the other side.

use crate::servers::ferretdb::ferretdb;

#[test]
fn its_own_client_reads() {
    let Some(ferretdb) = ferretdb() else { return };
    assert_eq!(ferretdb.check_collection("ycsb", "none"), "0 rows, 0 values\n");
}
