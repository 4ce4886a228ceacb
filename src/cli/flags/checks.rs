//! Flags about whether the database keeps its word.

use crate::plan::PlanSpec;

/// The flag of verbs that write documents.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(in crate::cli) struct AuditArgs {
    /// Look for every acknowledged write at the end
    ///
    /// Note every write that the server acknowledges, in the run's folder, and look for all of them
    /// at the end. What is missing, or not as it was written, is counted under `verify`, and the
    /// exit status is 6. `springload audit` does the same later.
    #[arg(long)]
    pub(in crate::cli) audit: bool,
}

/// The flags of verbs that also read what they have written.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(in crate::cli) struct CheckArgs {
    #[command(flatten)]
    audit: AuditArgs,
    /// Compare every document read with what was written
    ///
    /// Compare every document read with what was written: its content, its revision, and that it
    /// is there at all. What differs is counted under `verify`, and the exit status is 6.
    #[arg(long)]
    pub(in crate::cli) verify: bool,
}

impl CheckArgs {
    /// The same request, with these checks.
    pub(in crate::cli) fn complete(self, spec: PlanSpec) -> PlanSpec {
        PlanSpec { verify: self.verify, audit: self.audit.audit, ..spec }
    }
}
