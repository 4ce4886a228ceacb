//! What a run needs besides its plan, prepared before anything is sent so that failures come
//! early.

use super::ending::Ending;
use super::folder::{Folder, RUNS, now};
use super::live::Live;
use super::signals;
use crate::cli::exit::Trouble;
use crate::cli::flags::output::OutputArgs;
use crate::files;
use crate::journal::Journal;
use crate::plan::Invalid;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The folder of a run, its live outputs, and the request to stop.
pub(in crate::cli) struct Bench {
    pub(super) folder: Folder,
    pub(super) live: Live,
    pub(super) ending: Arc<Ending>,
    /// The journal of the earlier run to audit.
    pub(super) audited: Option<Arc<Journal>>,
}

impl Bench {
    /// The bench for one run of a study, without live outputs.
    pub(in crate::cli) fn new(folder: Folder, ending: &Arc<Ending>) -> Self {
        Self { folder, live: Live::default(), ending: Arc::clone(ending), audited: None }
    }

    /// The bench that the flags ask for.
    ///
    /// # Errors
    /// Fails if one of the live outputs or the folder cannot be set up.
    pub(super) fn ready(output: &OutputArgs) -> Result<Self, Trouble> {
        let live = Live::asked(output)?;
        if let Some((path, _)) = output.file()? {
            files::try_to_write(path)
                .map_err(|error| unwritable(path, &error, "choose a file in an existing folder"))?;
        }
        let folder = Folder::make(output.folder(), &now()).map_err(|error| {
            let place = output.folder().unwrap_or_else(|| RUNS.as_ref());
            unwritable(place, &error, "choose a writable folder")
        })?;
        let live = live.named(output, &folder.name())?;
        live.announce();
        let ending = signals::listen(output.quiet)?;
        Ok(Self { folder, live, ending, audited: None })
    }
}

/// The mistake of an `--output` that cannot be written.
pub(in crate::cli) fn unwritable(place: &Path, error: &io::Error, cure: &str) -> Invalid {
    Invalid::new("--output", format!("cannot write to {}: {error}", place.display()), cure)
}
