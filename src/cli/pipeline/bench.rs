//! What a run needs beside its plan. Made ready before anything is sent, so that what can fail
//! early does.

use super::ending::Ending;
use super::folder::{Folder, RUNS, now};
use super::metrics::Metrics;
use super::signals;
use crate::cli::exit::{Exit, refuse};
use crate::cli::flags::output::OutputArgs;
use crate::plan::Invalid;
use std::sync::Arc;

/// The folder that a run fills, the page for scrapers if there is one, and the wish to stop.
pub(in crate::cli) struct Bench {
    pub(super) folder: Folder,
    pub(super) metrics: Option<Metrics>,
    pub(super) ending: Arc<Ending>,
}

impl Bench {
    /// One of several in a row, without a page for scrapers.
    pub(in crate::cli) const fn new(folder: Folder, ending: Arc<Ending>) -> Self {
        Self { folder, metrics: None, ending }
    }

    /// Makes it as the flags say.
    ///
    /// # Errors
    /// When something is in the way: the exit status, once it has been told what.
    pub(super) fn ready(output: &OutputArgs) -> Result<Self, Exit> {
        let metrics = output.metrics.as_deref().map(Metrics::serve).transpose();
        let metrics = metrics.map_err(|mistake| refuse(&[mistake]))?;
        let folder = Folder::make(output.output.as_deref(), &now()).map_err(|error| {
            let place = output.output.as_deref().unwrap_or_else(|| RUNS.as_ref());
            let problem = format!("cannot write in {}: {error}", place.display());
            refuse(&[Invalid::new("--output", problem, "name a writable folder")])
        })?;
        if let Some(metrics) = &metrics {
            eprintln!("metrics: {}", metrics.url());
        }
        let ending = signals::listen(output.quiet)?;
        Ok(Self { folder, metrics, ending })
    }
}
