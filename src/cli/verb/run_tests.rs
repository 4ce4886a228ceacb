//! The batch size of a fill for which none is given.

use super::*;

#[test]
fn the_usual_batch_leaves_no_connection_without_a_request() {
    // In requests of 5, 200 documents would be on 40 of 45 connections.
    for (connections, documents, batch) in [
        (45, 200, 4),
        (45, 45, 1),
        (45, 44, 1),
        (3, 1_000, 334),
        (4, 10, 3),
        (50, 100_000, 100),
        (1, 100_000, 1_000),
        (1, 0, 1),
    ] {
        let found = default_batch(connections, documents);
        assert_eq!(found, batch, "{documents} documents, {connections} connections");
    }
    for connections in 1..100 {
        for documents in connections..400_u64 {
            let requests = documents.div_ceil(default_batch(connections, documents));
            assert!(requests >= connections, "{documents} documents, {connections} connections");
        }
    }
}
