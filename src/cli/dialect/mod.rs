//! The command lines of other programs, each turned into a plan.

super::verbs! {
    cushion: Cushion,
    bulk_perf: BulkPerf,
    bm_couchdb: BmCouchdb,
    siege: Siege,
    ycsb: Ycsb,
}
