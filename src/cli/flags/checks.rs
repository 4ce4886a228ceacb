//! Flags about whether the database keeps its word.

use crate::op::Way;
use crate::plan::{self, PlanSpec, ProbePlan};

/// The flags of verbs that write documents.
#[derive(Clone, Debug, clap::Args)]
pub(in crate::cli) struct WriteArgs {
    /// Look for every acknowledged write at the end
    ///
    /// Note every write that the server acknowledges, in the run's folder, and look for all of them
    /// at the end. What is missing, or not as it was written, is counted under `verify`, and the
    /// exit status is 6. `springload audit` does the same later.
    #[arg(long)]
    audit: bool,
    /// Measure how long acknowledged writes take to be visible
    ///
    /// Measure how long acknowledged writes take to be visible: beside the load, documents are
    /// written and looked for until they are seen, by their identifier, in the list of all
    /// documents, in the changes, by a query, and in a view. They and their index are removed
    /// again. `visible=get,all_docs,changes,find,view` has all five; name those that you want
    #[arg(long, value_name = "visible", value_parser = plan::probe)]
    probe: Option<Probes>,
    /// The time from one probe to the next
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
    /// Compare every document read with what was written: its content, its revision, and that it
    /// is there at all. What differs is counted under `verify`, and the exit status is 6.
    #[arg(long)]
    pub(in crate::cli) verify: bool,
}

impl CheckArgs {
    /// The same request, with these checks.
    pub(in crate::cli) fn complete(&self, spec: PlanSpec) -> PlanSpec {
        PlanSpec { verify: self.verify, ..self.writes.complete(spec) }
    }
}
