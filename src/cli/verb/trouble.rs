//! Why a verb that speaks to a server by itself, one request after the other, has no answer.

use crate::cli::exit::Exit;
use crate::driver::TargetError;
use crate::plan::Invalid;
use std::io;

/// Timeout of one request, in nanoseconds.
pub(super) const TIMEOUT_NS: u64 = 30_000_000_000;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    /// What was asked makes no sense.
    #[error("{0}")]
    Asked(#[from] Invalid),
    /// The server cannot be used.
    #[error("{0}")]
    Target(#[from] TargetError),
    /// The operating system refuses something.
    #[error("{0}")]
    Failed(#[from] io::Error),
}

impl Trouble {
    /// The exit status of the verb.
    pub(super) const fn exit(&self) -> Exit {
        match self {
            Self::Asked(_) => Exit::Usage,
            Self::Target(_) => Exit::Target,
            Self::Failed(_) => Exit::Failed,
        }
    }
}
