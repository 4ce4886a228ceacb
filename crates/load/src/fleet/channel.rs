//! What carries messages between the coordinator and its agents, whatever is behind it.
//!
//! A transport starts its own threads. It takes messages from an [`Outbox`] without blocking, and
//! puts what arrives into a bounded channel: a slow reader holds up the senders, and no memory
//! grows. It does not know what messages say.

use std::sync::mpsc::Receiver;

/// Messages that may wait for their reader.
pub const WAITING: usize = 64;
/// The largest message, in bytes; a channel that brings a larger one is closed.
pub const LARGEST: usize = 64 << 20;

/// The receivers of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// All agents; from an agent, the coordinator.
    All,
    /// One agent.
    Agent(usize),
}

/// What came through a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrived {
    /// A message.
    Message(Vec<u8>),
    /// The way to all agents or to one of them, or to the coordinator, is cut, and why. It may come
    /// back; messages may be missing then.
    Cut(To, String),
    /// An agent's channel is closed, and why: nothing more will come of it.
    AgentGone(usize, String),
    /// The whole channel is closed, and why: nothing more will come.
    Closed(String),
}

/// Who has no room for a message, because others are still waiting there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Full {
    /// The whole channel.
    Channel,
    /// These agents; all others have it.
    Agents(Vec<usize>),
}

/// Where messages are sent.
pub trait Outbox: Send {
    /// Sends a message if that is possible without waiting. A receiver that is gone takes
    /// everything; that it is gone is in the inbox.
    ///
    /// # Errors
    /// Who did not take it.
    fn send(&mut self, to: To, message: Vec<u8>) -> Result<(), Full>;
}

/// One end of the channel between the coordinator and its agents.
pub struct Channel {
    /// Where messages are sent.
    pub outbox: Box<dyn Outbox>,
    /// What arrives. If it disconnects, the channel is closed.
    pub inbox: Receiver<Arrived>,
    /// Whether messages may be missing though the channel is not closed.
    pub lossy: bool,
}

impl std::fmt::Debug for Channel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Channel").finish_non_exhaustive()
    }
}
