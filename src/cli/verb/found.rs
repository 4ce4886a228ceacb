//! Several runs under one name: a folder or a label.

use super::{kinds, named, saved};
use crate::cli::pipeline::folder::RUNS;
use crate::plan::Invalid;
use crate::report::shown;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// Runs that were found, as `(name, file)`.
pub(super) type FoundRuns = Vec<(String, PathBuf)>;

/// How deep folders of runs are searched.
const DEPTH: usize = 5;

/// The runs that a word of the command line, the value of `flag`, stands for: those in a folder,
/// those with a label, or the one with that name.
///
/// # Errors
/// Fails if there are none, or if they cannot be looked for.
pub(super) fn find(name: &Path, flag: &'static str) -> Result<FoundRuns, Invalid> {
    if name.is_dir() {
        let mut found = FoundRuns::new();
        let top = |error: io::Error| {
            let problem = format!("cannot read {}: {error}", name.display());
            Invalid::new(flag, problem, "give a folder with runs")
        };
        walk(name, name, DEPTH, &mut found).map_err(top)?;
        once(&mut found);
        return Ok(found);
    }
    let label = name.to_string_lossy();
    if !name.exists() {
        let all = saved::everywhere();
        let own = saved::nearest(&all, |it| it.is_run() && it.label() == Some(&*label));
        let own: FoundRuns = own.into_iter().map(|it| (it.id.clone(), it.file.clone())).collect();
        if !own.is_empty() {
            return Ok(own);
        }
        if name == Path::new(RUNS) {
            return Ok(FoundRuns::new());
        }
    }
    let (_, file) = named::read_with_file(name).map_err(|mistake| mistake.under(flag))?;
    Ok(vec![(name.display().to_string(), file)])
}

/// Sorts by name and removes duplicates: a link, such as `latest`, does not count as a second run,
/// nor does one that is named beside its folder.
pub(super) fn once(found: &mut FoundRuns) {
    found.sort();
    let mut seen = BTreeSet::new();
    found.retain(|(_, file)| seen.insert(real(file)));
}

/// The path of a file without links.
pub(super) fn real(file: &Path) -> PathBuf {
    file.canonicalize().unwrap_or_else(|_| file.to_owned())
}

/// The records in `folder`, named by their paths relative to `top`.
fn walk(top: &Path, folder: &Path, depth: usize, found: &mut FoundRuns) -> io::Result<()> {
    let called = |file: &Path| {
        let own = if file.ends_with("run.json") { file.parent().unwrap_or(file) } else { file };
        let near = own.strip_prefix(top).ok().filter(|it| !it.as_os_str().is_empty());
        near.unwrap_or(own).display().to_string()
    };
    let records = saved::records(folder);
    let is_run = !records.is_empty();
    for file in records {
        // Opening a pipe would block, and a device could be read forever.
        if file.is_file() {
            found.push((called(&file), file));
        } else {
            let line = format!("warning: {} is not a regular file, left out", file.display());
            eprintln!("{}", shown(&line, false));
        }
    }
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let json = path.extension().is_some_and(|it| it == "json");
        if path.is_dir() {
            if depth > 0 && !name.starts_with('.') {
                // A folder that cannot be read is skipped.
                let _ = walk(top, &path, depth - 1, found);
            }
        } else if json && !is_run && path.is_file() && kinds::of_file(&path).is_none() {
            found.push((called(&path), path));
        }
    }
    Ok(())
}
