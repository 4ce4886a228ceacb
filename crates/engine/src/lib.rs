//! Generates load on a target: one hot loop, many connections, one thread per shard.
//!
//! Pace, stop, workload, session and recorder are parameters. Knows no database by name.
//!
//! This is a separate crate so that code that is monomorphized for each workload or driver is
//! compiled here, once, and optimized like the hot path.
//!
//! Its modules are for springload's own crates, and may change with any version.

mod beat;
mod check;
mod deal;
mod doubt;
mod drive;
mod growth;
mod heartbeat;
mod lane;
mod nap;
mod notes;
mod pace;
mod pauses;
mod shard;
mod share;
mod start;
mod stop;
mod tickets;
mod turn;
mod usage;
mod watch;

pub use deal::{Deal, ShardWork, Worked, Workloads, carry_out};
pub use lane::{EndedLane, Lane, LaneResult};
pub use pace::{Arrivals, DEFAULT_SLACK_NS, Pace, Schedule, Segment};
pub use shard::{Details, ShardPlan, ShardResult, run_shard};
pub use share::LoadCounts;
pub use start::Start;
pub use stop::{Patience, Stop, StopReason};
pub use tickets::{Ticket, Tickets};
pub use turn::turn_ns;
pub use watch::Watched;

/// Whether the engine was built without optimization.
pub const DEBUG_BUILD: bool = cfg!(debug_assertions);

use springload_core::{clock, cores, generate, journal, measure, net, op, schema};
use springload_driver as driver;
use springload_workload as workload;
