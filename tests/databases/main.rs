//! The binary against real databases, each started by the tests:
//! `cargo test --test databases hbase`.
//!
//! One database is used at a time. Tests of databases that are not installed are skipped by name.

#[allow(dead_code, reason = "the tests of the command line use the rest")]
#[path = "../cli/springload.rs"]
mod binary;
mod cassandra;
mod couchdb;
mod guarded;
mod guide;
mod hbase;
mod mongodb;
mod mongojava;
mod observe;
mod own;
mod resp;
mod resp_cluster;
#[path = "../servers/mod.rs"]
mod servers;
mod speech;
mod spoiling;
mod springload;
mod trust;
mod ycsb;
