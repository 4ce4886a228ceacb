//! The metrics of databases themselves: their own counts match those of the run.

use crate::binary::measure;
use crate::servers::cassandra::cassandra;
use crate::servers::ferretdb::ferretdb;
use crate::servers::hbase::with_one_region_server;
use crate::servers::resp::{PASSWORD, redis_with_password};
use serde_json::Value;

/// The servers' own figures for a run of 200 reads per second, and the rate of reads that it
/// achieved.
struct Observed(Value, f64);

impl Observed {
    #[track_caller]
    fn of(address: &str) -> Self {
        let words = ["run", address, "--docs", "100", "-d", "7s", "-r", "200", "-c", "4"];
        let run = measure([&words[..], &["--mix", "read=1", "--noise", "warn"]].concat()).passed();
        let per_s = run.operation("crud", "read")["throughput_per_s"].as_f64();
        Self(run.record["observed"].clone(), per_s.expect("a rate"))
    }

    /// The first server's values of one metric over time.
    #[track_caller]
    fn values(&self, name: &str) -> Vec<f64> {
        let tables = self.0["sources"][0]["tables"].as_array().expect("tables");
        let columns = tables.iter().flat_map(|table| table["columns"].as_array().expect("columns"));
        let column = columns.into_iter().find(|it| it["name"] == name);
        let values = column.unwrap_or_else(|| panic!("no {name}: {}", self.0))["values"].clone();
        values.as_array().expect("values").iter().filter_map(Value::as_f64).collect()
    }

    /// Asserts that a rate matches the run's, plus a few polls.
    #[track_caller]
    fn counts_the_run(&self, name: &str) {
        let most = self.values(name).into_iter().fold(0.0, f64::max);
        // A server on a busy machine may be too slow for the full rate.
        let least = 0.75 * self.1;
        assert!((least..1_000.0).contains(&most), "{name}: {} reads/s: {}", self.1, self.0);
    }
}

#[test]
fn redis_counts_commands() {
    let Some(redis) = redis_with_password() else { return };
    let observed = Observed::of(&format!("redis://:{PASSWORD}@127.0.0.1:{}", redis.port(0)));
    observed.counts_the_run("commands_per_s");
    observed.counts_the_run("hits_per_s");
    assert!(observed.values("memory_bytes").iter().all(|bytes| *bytes > 1e5), "{}", observed.0);
}

#[test]
fn cassandra_counts_requests_and_says_how_it_is_set() {
    let Some(cassandra) = cassandra() else { return };
    let observed = Observed::of(&format!("cassandra://127.0.0.1:{}", cassandra.port(0)));
    observed.counts_the_run("requests_per_s");
    let settings = &observed.0["settings"];
    assert!(settings["table.compaction"].as_str().is_some_and(|it| it.contains("Strategy")));
    assert!(settings["concurrent_reads"].is_string(), "{settings}");
}

#[test]
fn ferretdb_counts_commands() {
    let Some(ferretdb) = ferretdb() else { return };
    let observed = Observed::of(&format!("mongodb://127.0.0.1:{}", ferretdb.port(0)));
    observed.counts_the_run("finds_per_s");
}

#[test]
fn hbase_counts_what_the_regions_of_the_table_have_served() {
    let Some(hbase) = with_one_region_server() else { return };
    let observed = Observed::of(&format!("hbase://127.0.0.1:{}", hbase.port(0)));
    observed.counts_the_run("reads_per_s");
    assert!(observed.values("regions").iter().all(|it| *it >= 1.0), "{}", observed.0);
}
