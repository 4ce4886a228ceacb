//! All kinds of saved studies, and how to recognize them by file or folder.

use super::ab::kept::AbRecord;
use super::kept::{Kept as _, Kind};
use crate::search::MaxRecord;
use crate::sweep::SweepRecord;
use std::path::{Path, PathBuf};

const KINDS: [&Kind; 3] = [SweepRecord::KIND, MaxRecord::KIND, AbRecord::KIND];

/// The kind of a file with this name.
pub(super) fn of_file(file: &Path) -> Option<&'static Kind> {
    KINDS.into_iter().find(|kind| file.file_name().is_some_and(|name| name == kind.file))
}

/// The kind of study in a folder, with its file.
pub(super) fn in_folder(folder: &Path) -> Option<(&'static Kind, PathBuf)> {
    let files = KINDS.into_iter().map(|kind| (kind, folder.join(kind.file)));
    files.into_iter().find(|(_, file)| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::remembered::OWN;

    #[test]
    fn every_kind_is_remembered() {
        let files: Vec<&str> = KINDS.iter().map(|kind| kind.file).chain(["run.json"]).collect();
        assert!(files.iter().all(|file| OWN.contains(file)) && OWN.len() == files.len());
    }
}
