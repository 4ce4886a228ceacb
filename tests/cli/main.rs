//! The binary as a user meets it: arguments in, exit status, stdout, stderr, `run.json` and what
//! goes over the wire out. Knows nothing of the rooms inside.

mod action;
mod audit;
mod bursts;
mod capacity;
mod conflicts;
mod counts;
mod cushion;
mod databases;
mod defaults;
mod descriptors;
mod endings;
mod faults;
mod foreign;
mod grammar;
mod happened;
mod hbase;
mod identities;
mod k8s;
mod leaks;
mod lost;
mod outage;
mod passwords;
mod plans;
mod proxy;
mod pty;
mod refusals;
mod robust;
mod saved;
mod secure;
mod seeds;
mod selftest;
#[path = "../servers/mod.rs"]
mod servers;
mod shell;
mod shown;
mod silence;
mod springload;
mod stored;
mod sweeps;
mod terminal;
mod verdicts;
mod workloads;
mod wrong;
mod ycsb;
