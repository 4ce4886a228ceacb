//! Many load machines: a coordinator and its agents, here as processes of this machine.
//!
//! `cargo test --all-features --test fleet broker` runs the tests of one file.

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
#[path = "../servers/mod.rs"]
mod servers;
mod simulated;
