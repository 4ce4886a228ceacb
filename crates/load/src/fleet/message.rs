//! The messages between coordinator and agents, as JSON.
//!
//! Each message names the run and the process that sent it, so that messages of another run, or of
//! an agent that was restarted, are recognized and ignored.

use super::channel::LARGEST;
use crate::clock::Nanos;
use crate::engine::{ShardResult, StopReason};
use crate::measure::{Hiccups, Interval, is_default};
use crate::record::Calibration;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// A message with its sender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Envelope<T> {
    pub(super) run: String,
    /// The agent that sent it or receives it; `None`: from the coordinator to all.
    pub(super) agent: Option<usize>,
    /// The process that sent it: a unique number.
    pub(super) sender: u64,
    /// From an agent: how many messages that must not be missing it has sent so far, including this
    /// one.
    #[serde(default)]
    pub(super) number: u64,
    pub(super) body: T,
}

impl<T: Serialize> Envelope<T> {
    pub(super) fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("messages are plain data")
    }
}

impl<T: DeserializeOwned> Envelope<T> {
    /// Decodes a message.
    ///
    /// # Errors
    /// Returns an error if it is not a message.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() > LARGEST {
            return Err(format!("a message of {} bytes", bytes.len()));
        }
        serde_json::from_slice(bytes).map_err(|error| error.to_string())
    }
}

/// The messages of an agent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Up {
    /// It is present.
    Hello(Facts),
    /// The answer to [`Down::Ping`]: the agent's clock.
    Pong { id: u64, at_ns: Nanos },
    /// It is still present: sent once a second while no stage runs.
    Alive,
    /// It has opened the target of the plan.
    Opened(Opened),
    /// It cannot open it, for this reason.
    Refused { why: String },
    /// All of its connections are open, or late.
    Ready { stage: usize },
    /// It knows when the stage starts.
    Started { stage: usize },
    /// What it measured since the last snapshot, and what it asks the server about; sent once a
    /// second while a stage runs.
    Snapshot {
        stage: usize,
        intervals: Vec<Interval>,
        #[serde(default, skip_serializing_if = "is_default")]
        inquiries: Inquiries,
    },
    /// A part of its notes of a stage, in base64, and the number of bytes before it.
    Notes { stage: usize, before: u64, piece: String },
    /// It has done its part of a stage.
    Ended(Box<StageEnd>),
    /// It cannot go on, for this reason.
    Failed { why: String },
    /// It has not kept some of the messages that the coordinator is missing.
    Forgotten,
}

impl Up {
    /// Whether the coordinator requests it again if it is missing.
    pub(super) const fn counts(&self) -> bool {
        !matches!(self, Self::Hello(_) | Self::Pong { .. } | Self::Alive | Self::Forgotten)
    }
}

/// What is known about an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// The name of its machine.
    pub host: String,
    /// Its process.
    pub pid: u32,
    /// Its version of springload.
    pub version: String,
    /// The processors available to it.
    pub cores: usize,
}

/// What an agent found out when it opened the target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// Whether the server runs on its machine.
    pub same_machine: bool,
    /// The limits of its machine.
    pub calibration: Calibration,
}

/// The writes without an answer that an agent asks the server about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inquiries {
    /// How many there are.
    pub writes: u64,
    /// Until when it asks, on the coordinator's clock, if the server answers nothing; 0 if there
    /// are none.
    pub until: Nanos,
    /// Whether it was stopped, and begins no more operations.
    pub stopped: bool,
}

impl Inquiries {
    /// Converts the time to another clock, which shows `to` when this one shows `from`.
    pub(super) fn convert(&mut self, from: Nanos, to: Nanos) {
        if self.writes > 0 {
            self.until = to.saturating_add(self.until).saturating_sub(from);
        }
    }

    /// Those of several agents together, which are stopped if all of them are.
    pub fn together(all: impl Iterator<Item = Self>) -> Self {
        all.fold(Self { stopped: true, ..Self::default() }, |sum, it| Self {
            writes: sum.writes.saturating_add(it.writes),
            until: sum.until.max(it.until),
            stopped: sum.stopped && it.stopped,
        })
    }
}

/// What an agent reports at the end of a stage, besides its snapshots. Times are on the
/// coordinator's clock.
#[derive(Debug, Serialize, Deserialize)]
pub struct StageEnd {
    /// The number of the stage.
    pub stage: usize,
    /// The results of its threads.
    pub shards: Vec<ShardResult<()>>,
    /// How promptly its machine woke threads.
    pub hiccups: Hiccups,
    /// The reason it stopped early, if it did.
    pub stopped: Option<StopReason>,
    /// The number of bytes of notes it has sent, or the reason they are incomplete; `None`: it
    /// takes no notes.
    #[serde(default)]
    pub noted: Option<Result<u64, String>>,
    /// The reason it left the stage and does nothing more, if it did.
    #[serde(default)]
    pub left: Option<String>,
}

/// The messages of the coordinator.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Down {
    /// It is still present: sent once a second.
    Tick,
    /// The answer to [`Up::Hello`], sent again before the first stage starts: the coordinator knows
    /// the agent. Each counts the other as lost after a silence of `silence_ns`. For `grace_ns`
    /// after that, the coordinator waits for what the agent has measured.
    Welcome { silence_ns: Nanos, grace_ns: Nanos },
    /// The messages after the one with this number are missing.
    Resend { after: u64 },
    /// The agent is lost, for this reason: it ends its part of the stage, and hands in what it
    /// measured.
    Leave { why: String },
    /// Requests the agent's clock.
    Ping { id: u64 },
    /// The plan to carry out: the agent opens the target.
    Assign(Box<Assignment>),
    /// The agent connects for a stage.
    Prepare { stage: usize },
    /// The time at which a stage starts: on the clock of each agent that takes part, and on the
    /// coordinator's.
    Start { stage: usize, agents_ns: BTreeMap<usize, Nanos>, coordinators_ns: Nanos },
    /// No more operations are started.
    Stop { reason: StopReason },
    /// The run is over. Another plan may follow.
    Over,
    /// Nothing will follow: the agent exits.
    Quit {
        /// The reason, if something went wrong.
        why: Option<String>,
    },
}

/// A plan, and an agent's part of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Assignment {
    /// The plan with its passwords.
    pub plan: Box<RawValue>,
    /// The number of agents.
    pub agents: usize,
    /// The name of the scratch database, which the coordinator has created.
    pub scratch: Option<String>,
    /// The address of the stand-in, if that is the target.
    pub stand_in: Option<String>,
}
