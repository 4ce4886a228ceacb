//! Many load machines: a coordinator and its agents, and the messages between them.
//!
//! The coordinator splits the plan and merges what agents measured; an agent generates load. What
//! carries their messages is behind [`Channel`].

mod broker;
mod channel;

pub use broker::Broker;
pub use channel::{Arrived, Channel, LARGEST, Outbox, To, WAITING};
