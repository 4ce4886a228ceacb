//! Many load machines: a coordinator and its agents, here as processes on this machine.
//!
//! `cargo test --all-features --test fleet broker` runs the tests of one file.

#[cfg(all(feature = "broker", target_os = "linux"))]
mod adversary;
#[cfg(target_os = "linux")]
mod audit;
#[cfg(all(feature = "broker", target_os = "linux"))]
mod broken;
#[cfg(feature = "broker")]
mod broker;
#[cfg(feature = "broker")]
mod broker_bounds;
#[cfg(feature = "broker")]
mod broker_refused;
#[cfg(feature = "broker")]
mod broker_runs;
#[cfg(target_os = "linux")]
mod door;
#[cfg(all(feature = "broker", target_os = "linux"))]
mod fake_broker;
#[cfg(target_os = "linux")]
mod hosts;
#[cfg(all(feature = "broker", target_os = "linux"))]
mod lithops;
#[cfg(target_os = "linux")]
mod load;
#[cfg(target_os = "linux")]
mod losses;
#[cfg(all(feature = "broker", target_os = "linux"))]
mod many;
#[cfg(all(feature = "broker", target_os = "linux"))]
mod relay;
mod scaling;
#[path = "../servers/mod.rs"]
mod servers;
mod simulated;
#[cfg(target_os = "linux")]
mod verbs;
