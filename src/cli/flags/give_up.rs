//! The flag for how long a server may be silent.

use crate::plan;

/// How long a server may be silent before the run is ended.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(in crate::cli) struct GiveUpArgs {
    /// Give up if the server answers nothing for this long [default: 30s]
    ///
    /// Give up if no connection gets an answer from the server for this long, and a new one gets
    /// none either [default: 30s, or --timeout if that is longer]
    #[arg(long, value_name = "TIME", value_parser = plan::duration_ns)]
    pub(in crate::cli) give_up: Option<u64>,
}
