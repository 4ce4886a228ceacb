//! A temporary journal, for runs that keep it no longer than they need it.

use crate::driver::scratch_name;
use crate::journal::Journal;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A journal that is removed when this is dropped.
pub(super) struct Scratch(Arc<Journal>);

impl Scratch {
    pub(super) fn new() -> io::Result<Self> {
        Self::among(&std::env::temp_dir())
    }

    fn among(temporary: &Path) -> io::Result<Self> {
        let folder = temporary.join(scratch_name());
        // No other process uses the folder.
        let created = fs::create_dir(&folder).and_then(|()| Journal::create(&folder));
        created.map(|journal| Self(Arc::new(journal))).map_err(|error| {
            let problem = format!("cannot note writes among temporary files: {error}");
            let place = temporary.display();
            let cure = format!("set TMPDIR to a writable folder in place of {place}");
            io::Error::new(error.kind(), format!("{problem}; {cure}"))
        })
    }

    pub(super) fn journal(&self) -> Arc<Journal> {
        self.0.clone()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // No other process knows the journal. If it cannot be removed, that does no harm.
        let _ = self.0.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::Scratch;
    use std::path::Path;

    #[test]
    fn a_temporary_journal_does_not_outlive_its_run() {
        let scratch = Scratch::new().unwrap();
        let journal = scratch.journal();
        drop(journal.writer(0, 0));
        assert!(journal.exists());
        drop(scratch);
        assert!(!journal.exists());
    }

    #[test]
    fn who_has_no_place_for_temporary_files_is_told_what_to_do() {
        let error = Scratch::among(Path::new("/nowhere")).err().map(|error| error.to_string());
        let error = error.unwrap_or_default();
        let problem = "cannot note writes among temporary files: No such file or directory ";
        assert!(error.starts_with(problem), "{error}");
        let cure = "; set TMPDIR to a writable folder in place of /nowhere";
        assert!(error.ends_with(cure), "{error}");
    }
}
