//! The flag that says how long a server may be silent.

use crate::plan;

/// How long a server may be silent before the run is ended.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(in crate::cli) struct GiveUpArgs {
    /// Give up when the server has answered nothing for this long [default: 30s]
    ///
    /// Give up when the server has answered nothing for this long, on any connection, and does not
    /// answer on a new one either [default: 30s, or --timeout if that is longer]
    #[arg(long, value_name = "TIME", value_parser = plan::duration_ns)]
    pub(in crate::cli) give_up: Option<u64>,
}
