//! A warning as it is stored: its subject and its message.

use serde::{Deserialize, Serialize};

/// The beginning of messages about how much data is wrong.
pub(super) const DATA_WRONG: &str = "data wrong: ";

/// The subject of a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// Not all of the plan was measured.
    Partial,
    /// springload was built without optimization.
    DebugBuild,
    /// The server is the stand-in.
    StandIn,
    /// Client and server share a machine.
    SameMachine,
    /// The client was the limit.
    ClientBound,
    /// The client slightly affected the numbers.
    Disturbed,
    /// Many operations failed because of the server, or nothing succeeded for a while.
    Degraded,
    /// Nothing succeeded for a while.
    Outage,
    /// springload itself paused for a while.
    ClientPaused,
    /// Data read differs from what was written.
    DataWrong,
    /// Some acknowledged writes could not be checked.
    AuditIncomplete,
    /// A drill did not break or mend what it should have.
    DrillInvalid,
    /// Nothing changed while something should have been broken.
    NothingBroken,
    /// A large share of the server's work was for other clients.
    OthersRequests,
    /// After a drill, the copies of the database differed, or some could not be read.
    CopiesDiffer,
    /// The server did not keep up.
    NotSustained,
    /// There were too few connections.
    BoundByConnections,
    /// Operations failed.
    Failures,
    /// Requests of a fill timed out.
    FillTimedOut,
    /// Operations had no response when the run ended.
    Unfinished,
    /// Fewer operations were started than planned.
    NotAllBegun,
    /// The documents ran out before the time was up.
    RanDry,
    /// Writes were accepted, but are not yet stored as they should be.
    Accepted,
    /// The server added a warning to its responses.
    ServerWarned,
    /// Index responses lacked the latest writes.
    Outdated,
    /// Responses came from a cache on the way to the server.
    FromCache,
    /// The server asked the client to wait.
    RetryAfter,
    /// Requests were resent because the server had closed the connection.
    Resent,
    /// Requests that may have been carried out got no response.
    Unanswered,
    /// The server sent data that was not requested.
    Unsolicited,
    /// A database that springload created could not be removed.
    NotRemoved,
    /// The databases have more shards than a node keeps open.
    OpenShards,
    /// The baseline has a different plan, server or machine.
    BaselineDiffers,
    /// The baseline is a single run.
    BaselineOneRun,
    /// The server's certificate was not checked.
    Insecure,
    /// The server checks a password in every request.
    BasicAuth,
    /// Much of the time was spent on the way to the process that hosts the database's client.
    Outside,
    /// The requested compaction was refused, or did not visibly finish.
    Compaction,
    /// Acknowledged probes never became visible.
    NotVisible,
    /// A replication failed, or its target did not catch up in time, or refused documents.
    NotReplicated,
    /// Probes could not be written or looked for.
    ProbesFailed,
    /// Some followers could not read the changes to the end.
    ChangesUnread,
    /// The delays of changes may be overstated.
    FollowersLate,
    /// An agent was lost.
    AgentLost,
    /// An agent's clock is not known well enough.
    AgentClock,
    /// The agents did not start together.
    AgentsLate,
    /// An agent was much slower than the others.
    AgentSlow,
    /// An agent's requests took much longer than those of the others.
    AgentOutlier,
}

/// A warning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Warning {
    /// Its subject.
    pub code: Code,
    /// The stage concerned; `None` if it concerns the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// The warning, in one sentence.
    pub message: String,
}
