//! A Hadoop configuration file of arbitrary bytes: reading it never panics.
#![no_main]

use libfuzzer_sys::fuzz_target;
use springload::properties::hadoop;

fuzz_target!(|file: &[u8]| {
    let _ = hadoop::parse(file, &["hbase.zookeeper.quorum"]);
});
