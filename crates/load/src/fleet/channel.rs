//! Carries messages between the coordinator and its agents, over any transport.
//!
//! A transport starts its own threads. It takes messages from an [`Outbox`] without blocking, and
//! puts what arrives into a bounded channel: a slow reader holds up the senders, and memory does
//! not grow. It does not know the contents of messages.

use std::sync::mpsc::Receiver;

/// How many messages may wait for their reader.
pub const WAITING: usize = 64;
/// The largest message, in bytes; a channel that delivers a larger one is closed.
pub const LARGEST: usize = 64 << 20;

/// The receivers of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// All agents; from an agent, the coordinator.
    All,
    /// One agent.
    Agent(usize),
}

/// What arrived through a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrived {
    /// A message.
    Message(Vec<u8>),
    /// The way to all agents or to one of them, or to the coordinator, is cut, for this reason. It
    /// may return; messages may be missing then.
    Cut(To, String),
    /// An agent's channel is closed, for this reason: nothing more will arrive from it.
    AgentGone(usize, String),
    /// The whole channel is closed, for this reason: nothing more will arrive.
    Closed(String),
}

/// The receivers without room for a message, because others are still waiting there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Full {
    /// The whole channel.
    Channel,
    /// These agents; all others have got it.
    Agents(Vec<usize>),
}

/// Sends messages.
pub trait Outbox: Send {
    /// Sends a message if that is possible without waiting. Sending to a receiver that is gone
    /// succeeds; the inbox reports that it is gone.
    ///
    /// # Errors
    /// Returns the receivers that did not take it.
    fn send(&mut self, to: To, message: Vec<u8>) -> Result<(), Full>;
}

/// One end of the channel between the coordinator and its agents.
pub struct Channel {
    /// Sends messages.
    pub outbox: Box<dyn Outbox>,
    /// What arrives. If it disconnects, the channel is closed.
    pub inbox: Receiver<Arrived>,
    /// Whether messages may be missing although the channel is not closed.
    pub lossy: bool,
}

impl std::fmt::Debug for Channel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Channel").finish_non_exhaustive()
    }
}
