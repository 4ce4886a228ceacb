//! Flags about whether the database keeps its word.

use crate::op::Way;
use crate::plan::{self, PlanSpec, ProbePlan};

/// The flags of verbs that write documents.
#[derive(Clone, Debug, clap::Args)]
pub(in crate::cli) struct WriteArgs {
    /// Check every acknowledged write at the end
    ///
    /// Keep a journal of acknowledged writes in the run's folder, and look for all of them at the
    /// end. Missing or altered documents are counted under `verify`, and the exit status is 6.
    /// `springload audit` can do this later. With --agents, each sends its journal after a stage.
    #[arg(long)]
    audit: bool,
    /// Measure how long acknowledged writes take to become visible
    ///
    /// Measure how long acknowledged writes take to become visible: alongside the load, springload
    /// writes documents and looks for each until it appears: by its identifier, in the list of all
    /// documents, in the changes, in a query and in a view. It removes them and their index
    /// afterwards. `visible=get,all_docs,changes,find,view` is all five; list the ones you want
    #[arg(long, value_name = "visible", value_parser = plan::probe)]
    probe: Option<Probes>,
    /// Time between probes
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = plan::duration_ns)]
    #[arg(requires = "probe")]
    probe_every: u64,
}

/// Ways to look for documents. An alias, so that it counts as one value.
type Probes = Vec<Way>;

impl WriteArgs {
    /// The same request, with these checks.
    pub(in crate::cli) fn complete(&self, spec: PlanSpec) -> PlanSpec {
        let every_ns = self.probe_every;
        let probe = self.probe.clone().map(|visible| ProbePlan { visible, every_ns });
        PlanSpec { audit: self.audit, probe, ..spec }
    }
}

/// The flags of verbs that also read what they have written.
#[derive(Clone, Debug, clap::Args)]
pub(in crate::cli) struct CheckArgs {
    #[command(flatten)]
    writes: WriteArgs,
    /// Compare every document read with what was written
    ///
    /// Compare every document read with what was written: its content, its revision, and whether it
    /// is there at all. Differences are counted under `verify`, and the exit status is 6.
    #[arg(long)]
    pub(in crate::cli) verify: bool,
}

impl CheckArgs {
    /// The same request, with these checks.
    pub(in crate::cli) fn complete(&self, spec: PlanSpec) -> PlanSpec {
        PlanSpec { verify: self.verify, ..self.writes.complete(spec) }
    }
}
