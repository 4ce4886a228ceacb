//! A temporary journal, for runs that keep it no longer than they need it.

use crate::driver::scratch_name;
use crate::journal::Journal;
use std::fs;
use std::io;
use std::sync::Arc;

/// A journal that is removed when this is dropped.
pub(super) struct Scratch(Arc<Journal>);

impl Scratch {
    pub(super) fn new() -> io::Result<Self> {
        let folder = std::env::temp_dir().join(scratch_name());
        // No other process uses the folder.
        fs::create_dir(&folder)?;
        Journal::create(&folder).map(|journal| Self(Arc::new(journal)))
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

    #[test]
    fn a_temporary_journal_does_not_outlive_its_run() {
        let scratch = Scratch::new().unwrap();
        let journal = scratch.journal();
        drop(journal.writer(0, 0));
        assert!(journal.exists());
        drop(scratch);
        assert!(!journal.exists());
    }
}
