//! The folder of a run: `run.json` and the page rendered from it.

use crate::clock::wall_ns;
use crate::files;
use crate::journal::Journal;
use crate::record::RunRecord;
use crate::report;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use time::OffsetDateTime;
use time::macros::format_description;

/// The default folder for runs, each in its own folder.
pub(in crate::cli) const RUNS: &str = "springload-runs";
/// More runs than anyone saves in one folder.
const MOST_RUNS: u32 = 100_000;

pub(in crate::cli) const JOURNAL: &str = "journal";

pub(in crate::cli) const PAGE: &str = "report.html";

/// The folder of one run. Created before anything is sent, so that a bad path fails early; removed
/// again if nothing was written to it.
#[derive(Debug)]
pub(in crate::cli) struct Folder {
    file: PathBuf,
    /// The folders that did not exist before, innermost first.
    created: Vec<PathBuf>,
    /// Held for as long as the run may write there; the system releases it, however the run ends.
    _lock: Option<File>,
}

impl Drop for Folder {
    fn drop(&mut self) {
        // This fails if a folder is not empty, as it should.
        for folder in &self.created {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
    }
}

impl Folder {
    /// Creates the folder and checks that it is writable. An existing `run.json` is moved aside,
    /// to `run-1.json` and so on.
    pub(in crate::cli) fn make(wanted: Option<&Path>, now: &str) -> io::Result<Self> {
        let mut created = missing(wanted.unwrap_or_else(|| RUNS.as_ref()));
        let folder = if let Some(folder) = wanted {
            fs::create_dir_all(folder)?;
            folder.to_owned()
        } else {
            let folder = default_folder(now)?;
            created.insert(0, folder.clone());
            folder
        };
        let file = folder.join("run.json");
        let locked = files::try_to_write(&file).and_then(|()| lock(&folder));
        let (lock, trouble) = locked.map_or_else(|error| (None, Some(error)), |it| (it, None));
        // On an error, dropping this removes what was created.
        let made = Self { file: file.clone(), created, _lock: lock };
        if let Some(error) = trouble {
            return Err(error);
        }
        if file.exists() {
            let aside =
                (1..MOST_RUNS).map(|n| folder.join(format!("run-{n}.json"))).find(|p| !p.exists());
            fs::rename(&file, aside.unwrap_or_else(|| folder.join("run-0.json")))?;
            // The old page would be mistaken for one of the new record; it can be rendered again.
            let _ = fs::remove_file(folder.join(PAGE));
        }
        Ok(made)
    }

    pub(in crate::cli) fn file(&self) -> &Path {
        &self.file
    }

    /// The folder itself.
    pub(in crate::cli) fn path(&self) -> &Path {
        self.file.parent().unwrap_or(&self.file)
    }

    /// Its last component, which is the name of the run.
    pub(in crate::cli) fn name(&self) -> String {
        let whole = fs::canonicalize(self.path());
        let name = whole.as_deref().unwrap_or_else(|_| self.path()).file_name();
        name.map_or_else(|| self.shown(), |name| name.to_string_lossy().into_owned())
    }

    /// Creates a journal of writes next to the record. An earlier run's journal is moved aside like
    /// its record.
    pub(in crate::cli) fn journal(&self) -> io::Result<Journal> {
        let path = self.file.with_file_name(JOURNAL);
        if path.exists() {
            let names = (1..MOST_RUNS).map(|n| self.file.with_file_name(format!("{JOURNAL}-{n}")));
            let aside = names.into_iter().find(|path| !path.exists());
            fs::rename(&path, aside.ok_or(io::ErrorKind::AlreadyExists)?)?;
        }
        Journal::create(&path)
    }

    /// The path of the folder, for display.
    pub(in crate::cli) fn shown(&self) -> String {
        self.path().display().to_string()
    }

    /// Replaces the record atomically: a reader sees the old one or the new one.
    pub(in crate::cli) fn save(&self, record: &RunRecord) -> io::Result<()> {
        self.write("run.json", "json", record).map(drop)
    }

    /// Writes the page next to the record; returns its path.
    pub(in crate::cli) fn save_page(&self, record: &RunRecord) -> io::Result<PathBuf> {
        self.write(PAGE, "html", record)
    }

    fn write(&self, name: &str, format: &str, record: &RunRecord) -> io::Result<PathBuf> {
        let format = report::format(format).ok_or_else(|| io::Error::other("no such format"))?;
        let file = self.file.with_file_name(name);
        // The folder may have been removed meanwhile.
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        files::replace_by(&file, |out| format.write(record, out))?;
        Ok(file)
    }

    /// Saves the page, and prints where everything is: in the folder or, if the record could not be
    /// saved there because of `unsaved`, among temporary files. Returns whether everything is in
    /// the folder.
    pub(in crate::cli) fn tell(
        &self,
        record: &RunRecord,
        unsaved: Option<&io::Error>,
        quiet: bool,
    ) -> bool {
        let Some(error) = unsaved else {
            if !quiet {
                eprintln!("record: {}", self.file.display());
            }
            let page = self.save_page(record);
            match &page {
                Ok(page) if !quiet => eprintln!("page: {}", page.display()),
                Ok(_) => {}
                Err(error) => eprintln!("error: cannot write {PAGE}: {error}"),
            }
            return page.is_ok();
        };
        eprintln!("error: cannot write {}: {error}", self.file.display());
        let name = format!("springload-{}", std::process::id());
        let saved = new_folder(&std::env::temp_dir(), &name).and_then(|place| {
            let rescue = Self { file: place.join("run.json"), created: Vec::new(), _lock: None };
            rescue.save(record).and_then(|()| rescue.save_page(record)).map(|_| rescue.file.clone())
        });
        match saved {
            Ok(file) => eprintln!("record: {}", file.display()),
            Err(error) => {
                let place = std::env::temp_dir();
                eprintln!("error: cannot write to {} either: {error}", place.display());
            }
        }
        false
    }
}

/// The components of a folder's path that do not exist, innermost first.
fn missing(folder: &Path) -> Vec<PathBuf> {
    let named = folder.ancestors().filter(|it| !it.as_os_str().is_empty());
    named.take_while(|it| !it.exists()).map(Path::to_owned).collect()
}

/// The time, as used in folder names.
pub(in crate::cli) fn now() -> String {
    let form = format_description!("[year][month][day]T[hour][minute][second]Z");
    let now = OffsetDateTime::from_unix_timestamp_nanos(i128::from(wall_ns()));
    now.ok().and_then(|it| it.format(form).ok()).unwrap_or_default()
}

/// `springload-runs/TIME`, with a number if two runs begin in the same second.
fn default_folder(now: &str) -> io::Result<PathBuf> {
    fs::create_dir_all(RUNS)?;
    new_folder(Path::new(RUNS), now)
}

/// Creates a folder called `name` or, if that exists, `name-2` and so on.
fn new_folder(base: &Path, name: &str) -> io::Result<PathBuf> {
    let numbered = (2..MOST_RUNS).map(|n| format!("{name}-{n}"));
    for name in std::iter::once(name.to_owned()).chain(numbered) {
        let path = base.join(name);
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| path),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Locks a folder, if its file system supports that.
///
/// # Errors
/// Fails if another run has locked it.
pub(in crate::cli) fn lock(folder: &Path) -> io::Result<Option<File>> {
    let file = File::open(folder)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            let why = "another run is writing to it";
            Err(io::Error::new(io::ErrorKind::ResourceBusy, why))
        }
        Err(_) => Ok(None),
    }
}

/// The record that was read from `file`, marked as running if springload is still at work in its
/// folder.
pub(in crate::cli) fn with_its_run(record: RunRecord, file: &Path) -> RunRecord {
    let is_held = || {
        let file = fs::canonicalize(file).ok()?;
        let folder = File::open(file.parent()?).ok()?;
        let held = flock(&folder, FlockOperation::NonBlockingLockShared).err()?;
        // Any other file name is a record that was moved aside.
        (held.kind() == io::ErrorKind::WouldBlock && file.ends_with("run.json")).then_some(())
    };
    if !record.has_no_end() || is_held().is_none() {
        return record;
    }
    let written = fs::metadata(file).and_then(|it| it.modified());
    let written = written.ok().and_then(|it| it.duration_since(SystemTime::UNIX_EPOCH).ok());
    record.seen_running(written.map_or_else(wall_ns, |it| it.as_nanos() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_made_and_is_empty_is_removed() {
        let base = tempfile::tempdir().expect("a folder");
        let at = |name: &str| base.path().join(name);
        let make = |name: &str| Folder::make(Some(&at(name)), "").expect("a folder");
        drop(make("a/b/c"));
        assert!(!at("a").exists());
        fs::create_dir_all(at("a/b")).expect("a folder");
        drop(make("a/b"));
        assert!(at("a/b").exists(), "it was there before");
        drop(make("a/b/c"));
        assert!(at("a/b").exists() && !at("a/b/c").exists());
        let used = make("d/e");
        fs::write(used.file(), "{}").expect("a file");
        drop(used);
        assert!(at("d/e/run.json").exists());
        let outer = make("f/one");
        drop(make("f/two"));
        assert!(at("f/one").exists() && !at("f/two").exists(), "another run is at work there");
        drop(outer);
        assert!(!at("f").exists());
    }
}
