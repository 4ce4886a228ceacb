//! Runs saved elsewhere than in `springload-runs`: an index of their folders, one JSON line each,
//! in the user's state folder.
//!
//! It is a convenience: no error in it makes a run fail, and broken lines are skipped.

use crate::files;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// The variable that names the state folder; empty: nothing is remembered.
const VARIABLE: &str = "SPRINGLOAD_STATE";
/// The index in the state folder.
const INDEX: &str = "runs.jsonl";
/// The most runs that are remembered; the oldest are forgotten.
const MOST: usize = 500;
/// More than that many runs ever take, in bytes: the rest of a larger file is not read.
const MOST_BYTES: u64 = 8 << 20;
/// How often to try the lock, and the pause between two tries.
const TRIES: u32 = 300;
const PATIENCE: Duration = Duration::from_millis(10);

/// A folder with any of these files was made by springload.
pub(in crate::cli) const OWN: [&str; 4] = ["run.json", "sweep.json", "max.json", "ab.json"];

/// A run, sweep, search or comparison that is remembered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::cli) struct Remembered {
    /// Its folder, as an absolute path.
    pub(in crate::cli) path: PathBuf,
    /// When it began, in UTC, as RFC 3339; empty: unknown.
    #[serde(default)]
    pub(in crate::cli) began: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) label: Option<String>,
}

impl Remembered {
    /// Whether its folder still has it.
    fn is_there(&self) -> bool {
        OWN.iter().any(|name| self.path.join(name).is_file())
    }
}

/// The state folder; `None` if the user disabled it or has no home.
fn place() -> Option<PathBuf> {
    place_by(|name| std::env::var_os(name))
}

/// The same for the values of the variables.
fn place_by(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if let Some(own) = variable(VARIABLE) {
        return Some(PathBuf::from(own)).filter(|own| !own.as_os_str().is_empty());
    }
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let own =
        if cfg!(target_os = "macos") { "Library/Application Support" } else { ".local/state" };
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(own)))?;
    Some(state.join("springload"))
}

/// Everything that is remembered and still there, the latest first.
pub(in crate::cli) fn all() -> Vec<Remembered> {
    let Some(place) = place() else { return Vec::new() };
    let mut all = read(&place.join(INDEX));
    all.retain(Remembered::is_there);
    all.reverse();
    all
}

/// Remembers the run in `folder`, unless that is in `runs`, where it is found anyway.
///
/// # Errors
/// Fails if the index cannot be written. The message is one line, with a workaround.
pub(in crate::cli) fn remember(
    folder: &Path,
    runs: &Path,
    began: &str,
    label: Option<&str>,
) -> Result<(), String> {
    let (Some(place), Ok(path)) = (place(), folder.canonicalize()) else { return Ok(()) };
    let local = runs.canonicalize().is_ok_and(|runs| path.parent() == Some(&runs));
    // Other names cannot be stored as JSON.
    if local || path.to_str().is_none() {
        return Ok(());
    }
    let run = Remembered { path, began: began.to_owned(), label: label.map(str::to_owned) };
    add(&place, run).map_err(|error| {
        let index = place.join(INDEX);
        format!(
            "cannot remember this run for springload list in {}: {error}; set {VARIABLE}= (empty) \
             to remember no runs",
            index.display()
        )
    })
}

/// Adds a run to the index in `place`, and drops those that are gone.
fn add(place: &Path, run: Remembered) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(place)?;
    let _lock = lock(&place.join("runs.lock"))?;
    let index = place.join(INDEX);
    let mut all = read(&index);
    all.retain(|it| it.path != run.path && it.is_there());
    all.push(run);
    let mut text = String::new();
    for run in &all[all.len().saturating_sub(MOST)..] {
        text += &serde_json::to_string(run)?;
        text.push('\n');
    }
    // A reader without the lock sees either the old index or the new one.
    files::replace(&index, text.as_bytes())
}

/// A lock that is released with the file. Its holder may be a stopped process, so the wait for it
/// is bounded.
fn lock(file: &Path) -> io::Result<File> {
    let file =
        OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(file)?;
    for _ in 0..TRIES {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => sleep(PATIENCE),
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::other("another springload has locked it"))
}

/// The runs in an index, the latest last. Lines that cannot be read are skipped.
fn read(index: &Path) -> Vec<Remembered> {
    let mut bytes = Vec::new();
    // A pipe or a device of that name would be read forever.
    if index.is_file()
        && let Ok(file) = File::open(index)
    {
        let _ = file.take(MOST_BYTES).read_to_end(&mut bytes);
    }
    let lines = bytes.split(|byte| *byte == b'\n');
    let runs = lines.filter_map(|line| serde_json::from_slice::<Remembered>(line).ok());
    runs.filter(|run| run.path.is_absolute()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A folder with a run.
    fn saved(folder: &Path, name: &str) -> Remembered {
        let path = folder.join(name);
        fs::create_dir_all(&path).expect("a folder");
        fs::write(path.join("run.json"), "{}").expect("a file");
        Remembered { path, began: "2026-01-01T00:00:00.000Z".to_owned(), label: None }
    }

    fn names(place: &Path) -> Vec<String> {
        let name = |run: Remembered| run.path.file_name().unwrap().to_string_lossy().into_owned();
        read(&place.join(INDEX)).into_iter().map(name).collect()
    }

    #[test]
    fn the_state_folder_follows_the_platform() {
        let of = |set: &[(&str, &str)]| {
            let found = |name: &str| set.iter().find(|it| it.0 == name).map(|it| it.1.into());
            place_by(found).map(|path| path.display().to_string())
        };
        let own = if cfg!(target_os = "macos") {
            "/u/ann/Library/Application Support/springload"
        } else {
            "/u/ann/.local/state/springload"
        };
        let home = ("HOME", "/u/ann");
        assert_eq!(of(&[home]).as_deref(), Some(own));
        let xdg = ("XDG_STATE_HOME", "/state");
        assert_eq!(of(&[home, xdg]).as_deref(), Some("/state/springload"));
        assert_eq!(of(&[home, ("XDG_STATE_HOME", "state")]).as_deref(), Some(own));
        assert_eq!(of(&[home, xdg, (VARIABLE, "/mine")]).as_deref(), Some("/mine"));
        assert_eq!(of(&[home, xdg, (VARIABLE, "")]), None);
        assert_eq!((of(&[]), of(&[("HOME", "")])), (None, None));
    }

    #[test]
    fn damage_is_skipped_and_mended() {
        let folder = tempfile::tempdir().expect("a folder");
        let (at, place) = (folder.path(), folder.path().join("a/state"));
        add(&place, saved(at, "one")).expect("it is added");
        let good = fs::read_to_string(place.join(INDEX)).expect("an index");
        let cut = &good[..good.len() / 2];
        let bad = b"\xff\x00\n[]\n\n{\"path\": \"relative\"}\n{\"path\": 3}\n";
        let damaged = [bad, good.as_bytes(), cut.as_bytes()].concat();
        fs::write(place.join(INDEX), damaged).expect("a file");
        assert_eq!(names(&place), ["one"]);
        add(&place, saved(at, "two")).expect("it is added");
        // A run that is saved again in the same place becomes the last one.
        add(&place, saved(at, "one")).expect("it is added");
        assert_eq!(names(&place), ["two", "one"]);
        assert_eq!(fs::read_to_string(place.join(INDEX)).expect("an index").lines().count(), 2);
        fs::remove_dir_all(at.join("two")).expect("a folder");
        add(&place, saved(at, "three")).expect("it is added");
        assert_eq!(names(&place), ["one", "three"]);
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let folder = tempfile::tempdir().expect("a folder");
        let run = saved(folder.path(), "run");
        let line = |n: usize| {
            let path = folder.path().join(format!("{n}"));
            fs::create_dir(&path).expect("a folder");
            std::os::unix::fs::symlink(run.path.join("run.json"), path.join("run.json")).unwrap();
            let run = Remembered { path, ..run.clone() };
            serde_json::to_string(&run).expect("JSON") + "\n"
        };
        let text: String = (0..MOST + 10).map(line).collect();
        fs::write(folder.path().join(INDEX), text).expect("a file");
        add(folder.path(), run.clone()).expect("it is added");
        let names = names(folder.path());
        assert_eq!((names.len(), &names[0][..], &names[MOST - 1][..]), (MOST, "11", "run"));
    }

    #[test]
    fn all_who_add_at_once_are_remembered() {
        let folder = tempfile::tempdir().expect("a folder");
        let (at, place) = (folder.path(), folder.path().join("state"));
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let place = &place;
                scope.spawn(move || {
                    for n in 0..5 {
                        add(place, saved(at, &format!("{thread}-{n}"))).expect("it is added");
                    }
                });
            }
        });
        assert_eq!(names(&place).len(), 20);
    }

    #[test]
    fn a_lock_that_is_held_for_ever_is_reported() {
        let folder = tempfile::tempdir().expect("a folder");
        let held = lock(&folder.path().join("runs.lock")).expect("a lock");
        let error = add(folder.path(), saved(folder.path(), "run")).expect_err("it is held");
        assert!(error.to_string().contains("has locked it"), "{error}");
        drop(held);
        add(folder.path(), saved(folder.path(), "run")).expect("it is free");
    }
}
