//! Flags about the earlier runs that a run is compared with.

use crate::cli::flags::known::choice;
use crate::plan::{self, BaselineBy};
use std::path::PathBuf;

/// `--baseline` and `--max-regression`.
#[derive(Clone, Debug, Default, clap::Args)]
pub(in crate::cli) struct GateArgs {
    /// Earlier runs to judge this one against: a folder of runs, or a run
    ///
    /// Earlier runs to judge this one against: a folder (only its runs that do the same work
    /// count, see --baseline-by), a label, or a run by name or path. See also --max-regression and
    /// --fail-if 'read.p99 > 1.1 * baseline'
    #[arg(long, value_name = "RUN|DIR")]
    pub(in crate::cli) baseline: Option<PathBuf>,
    /// What runs of a baseline have in common with this one
    ///
    /// What the runs of a folder must have in common with this one to be its baseline
    #[arg(long, value_name = "WHAT", default_value = "work", requires = "baseline")]
    #[arg(value_parser = choice(&LIKE))]
    pub(in crate::cli) baseline_by: BaselineBy,
    /// Fail if worse than the baseline by more than this, such as 5%
    ///
    /// Fail with exit status 7 if the throughput, p50, p99 or share of failures of all requests is
    /// worse than the baseline's by more than this, such as 5%, and by more than its runs vary
    #[arg(long, value_name = "PERCENT", value_parser = plan::max_regression)]
    #[arg(requires = "baseline")]
    pub(in crate::cli) max_regression: Option<f64>,
}

/// What the runs must have in common.
const LIKE: [(&str, &str, BaselineBy); 2] = [
    ("work", "The same work, whatever the server's address and port", BaselineBy::Work),
    ("plan", "The whole plan, with the addresses of its servers", BaselineBy::Plan),
];
