//! Flags about earlier runs that a run is judged by.

use crate::plan;
use std::path::PathBuf;

/// `--baseline` and `--max-regression`.
#[derive(Clone, Debug, Default, clap::Args)]
pub(in crate::cli) struct GateArgs {
    /// Earlier runs to judge this one against: a folder of runs, or a run
    ///
    /// Earlier runs to judge this one against: a folder (only its runs with the same plan count), a
    /// label, or a run by name or path. See also --max-regression and --fail-if 'read.p99 > 1.1 *
    /// baseline'
    #[arg(long, value_name = "RUN|DIR")]
    pub(in crate::cli) baseline: Option<PathBuf>,
    /// Fail if worse than the baseline by more than this, such as 5%
    ///
    /// Fail with exit status 7 if the throughput, p50, p99 or share of failures of all requests is
    /// worse than the baseline's by more than this, such as 5%, and by more than its runs vary
    #[arg(long, value_name = "PERCENT", value_parser = plan::max_regression)]
    #[arg(requires = "baseline")]
    pub(in crate::cli) max_regression: Option<f64>,
}
