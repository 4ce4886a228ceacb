//! Many load machines: a coordinator and its agents, and the messages between them.
//!
//! The coordinator splits the plan and merges what agents measured; an agent generates load. Their
//! messages are carried by a [`Channel`]: pipes to processes here or, through ssh, on other
//! machines; TCP; or a broker.

mod agent;
#[cfg(feature = "broker")]
mod amqp;
mod broker;
mod channel;
mod clocks;
mod coordinator;
mod delivered;
mod door;
mod guard;
mod listen;
mod message;
mod offset;
mod orders;
pub mod pipe;
mod sent;
mod silence;
mod ssh;
mod waits;
mod wire;

pub use agent::{Agent, Identity, Order};
pub use broker::Broker;
pub use channel::{Arrived, Channel, Full, LARGEST, Outbox, To, WAITING};
pub use coordinator::{Event, Fleet, Member};
pub use door::{Joined, Place, Token};
pub use guard::{FRAME_MAX, Guard, Weight};
pub use listen::Door;
pub use message::{Assignment, Facts, Inquiries, Opened, StageEnd};
pub use offset::{Offset, PINGS};
pub use ssh::{Hosts, Ssh};
pub use waits::Waits;

use crate::clock::{Nanos, SECOND_NS, wall_ns};
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

/// How often coordinator and agents show that they are present.
const TICK: Duration = Duration::from_secs(1);
/// An agent or a coordinator that is silent for this long, in nanoseconds, is lost, unless
/// `--silence` says otherwise.
const SILENCE_NS: Nanos = 3 * SECOND_NS;
/// How long to wait for what a lost agent has measured, in nanoseconds, unless `--grace` says
/// otherwise: longer than a small RabbitMQ takes to restart.
const GRACE_NS: Nanos = 15 * SECOND_NS;
/// The shortest silence that can be requested: two ticks.
pub const SHORTEST_SILENCE_NS: Nanos = 2 * SECOND_NS;

/// A number that no other process has.
fn nonce() -> u64 {
    // The keys of a hasher come from the operating system's random number generator.
    RandomState::new().hash_one((std::process::id(), wall_ns()))
}

/// A unique name for a run.
pub fn run_id() -> String {
    format!("{:08x}", nonce() as u32)
}
