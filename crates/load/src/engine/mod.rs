//! Generates load on a target: one hot loop, many connections, one thread per shard.
//!
//! Pace, stop, workload, session and recorder are arguments. Knows no database by name.

mod beat;
mod check;
mod doubt;
mod drive;
mod growth;
mod heartbeat;
mod notes;
mod pace;
mod pauses;
mod shard;
mod share;
mod start;
mod stop;
mod tickets;
mod usage;
mod watch;

pub use drive::{Lane, LaneResult};
pub use pace::{Arrivals, DEFAULT_SLACK_NS, Pace, Schedule, Segment};
pub use shard::{Details, ShardPlan, ShardResult, run_shard};
pub use start::Start;
pub use stop::{Patience, Stop, StopReason};
pub use tickets::{LoadCounts, Ticket, Tickets};
pub use watch::Watched;
