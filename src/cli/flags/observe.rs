//! Flags about what is observed of the servers.

use crate::plan::ObservePlan;

/// What is observed of the servers beside the load.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(in crate::cli) struct ObserveArgs {
    /// Do not ask the server about itself during the run
    ///
    /// Do not ask the server about itself during the run. By default, springload asks each node of
    /// a CouchDB every second or two for its own counters, its queues and its tasks, and shows them
    /// beside its own measurements; that takes the server less than a hundredth of a processor
    #[arg(long)]
    no_observe: bool,
}

impl ObserveArgs {
    /// What the flags ask for.
    pub(in crate::cli) const fn plan(self) -> ObservePlan {
        ObservePlan { servers: !self.no_observe }
    }
}
