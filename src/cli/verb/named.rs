//! Saved runs by name, as `show` and `report` take them.

use super::kept::Kind;
use super::kinds;
use super::saved::{Saved, everywhere, nearest as nearest_saved};
use crate::cli::look;
use crate::cli::pipeline::folder::{RUNS, with_its_run};
use crate::driver::strike_secrets;
use crate::files;
use crate::plan::Invalid;
use crate::record::RunRecord;
use crate::report::{RunFileError, read_json, shown};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The most names that are suggested.
const MOST_MEANT: usize = 3;
const SEE: &str = "see springload list";

/// Reads the record that `name` stands for: a path, a run's name or a unique prefix of it, a label,
/// `latest` or `latest~N`.
///
/// # Errors
/// Fails if there is no such record. The message is one line, with the cure.
pub(super) fn read(name: &Path) -> Result<RunRecord, Invalid> {
    read_with_file(name).map(|(record, file)| with_its_run(record, &file))
}

/// The same, with the path of the record's file.
///
/// # Errors
/// Fails as [`read`] does.
pub(super) fn read_with_file(name: &Path) -> Result<(RunRecord, PathBuf), Invalid> {
    let path = find(name, everywhere)?;
    let file = if path.is_dir() { path.join("run.json") } else { path };
    // The user may have meant a target.
    let shown = strike_secrets(&file.display().to_string());
    let several = kinds::of_file(&file).or_else(|| {
        let none = !file.exists();
        file.parent().filter(|_| none).and_then(kinds::in_folder).map(|(kind, _)| kind)
    });
    if let Some(kind) = several {
        let folder = file.parent().unwrap_or(&file).display().to_string();
        let folder = strike_secrets(&folder);
        return Err(mistake(
            format!("{folder} is a {}, not a run", kind.name),
            "name one of its runs",
        ));
    }
    let text = files::read_text(&file, files::RECORD).map_err(|error| {
        mistake(format!("cannot read {shown}: {error}"), "give a run.json or its folder")
    })?;
    let record = read_json(&text).map_err(|error| match error {
        RunFileError::Absent { problem, cure } => {
            mistake(format!("{shown} cannot be read here: {problem}"), cure)
        }
        RunFileError::Newer(version) => {
            let newer = "is newer than this springload reads";
            mistake(format!("{shown}: schema_version {version} {newer}"), "update springload")
        }
        error => mistake(format!("{shown} is {error}"), "give a complete run.json"),
    })?;
    Ok((record, file))
}

/// The sweep, search or comparison that `name` stands for, with its file: `name` is that file or
/// its folder, by path or by name.
pub(super) fn several(name: &Path) -> Option<(&'static Kind, PathBuf)> {
    let path = find(name, everywhere).ok()?;
    match kinds::of_file(&path) {
        Some(kind) => path.is_file().then_some((kind, path)),
        None => kinds::in_folder(&path),
    }
}

/// The names for a shell to complete, newest run first, each with a short description.
pub(super) fn names() -> Vec<(String, String)> {
    let all = everywhere();
    let readable = || all.iter().filter(|it| it.is_readable());
    let latest = nearest_saved(&all, Saved::is_readable).into_iter().next();
    let latest = latest.map(|it| ("latest".to_owned(), it.id.clone()));
    let called = |it: &Saved| it.label().map_or_else(String::new, str::to_owned);
    let ids = readable().map(|it| (it.id.clone(), called(it)));
    let labels = readable().filter_map(|it| Some((it.label()?.to_owned(), it.id.clone())));
    let mut names: Vec<(String, String)> = Vec::new();
    for (name, word) in latest.into_iter().chain(ids).chain(labels) {
        // Names that a terminal would interpret as commands are left out.
        let plain = !name.chars().any(char::is_control);
        if plain && !names.iter().any(|it| it.0 == name) {
            names.push((name, word));
        }
    }
    names
}

fn mistake(problem: impl Into<String>, cure: impl Into<String>) -> Invalid {
    Invalid::new("RUN", problem, cure)
}

/// Finds the run with that name among `all` saved ones. An existing path takes precedence.
fn find(name: &Path, all: impl FnOnce() -> Vec<Saved>) -> Result<PathBuf, Invalid> {
    let text = name.to_string_lossy();
    if name.exists() || text.is_empty() {
        return Ok(name.to_owned());
    }
    let saved = all();
    let chosen = |it: &Saved| {
        tell_elsewhere(&text, it);
        it.file.clone()
    };
    if let Some(back) = steps_back(&text) {
        let near = nearest_saved(&saved, Saved::is_readable);
        return near.get(back).map(|it| chosen(it)).ok_or_else(|| {
            if near.is_empty() {
                return nowhere(&text, &std::env::current_dir().unwrap_or_default());
            }
            let place = if near.iter().all(|it| it.here) { "" } else { " elsewhere, none here" };
            let there = match near.len() {
                1 => format!("there is one saved run{place}"),
                count => format!("there are {count} saved runs{place}"),
            };
            mistake(format!("{} does not exist: {there}", strike_secrets(&text)), SEE)
        });
    }
    let exact = saved.iter().find(|it| it.id == text);
    if let Some(found) = exact {
        return Ok(found.file.clone());
    }
    let labeled = nearest_saved(&saved, |it| it.is_readable() && it.label() == Some(&*text));
    if let Some(found) = labeled.first() {
        return Ok(chosen(found));
    }
    let called = nearest_saved(&saved, |it| last_part(it) == text);
    let begins = |it: &Saved| {
        (it.id.starts_with(&*text) && !in_folder(it)) || last_part(it).starts_with(&*text)
    };
    let alike = if called.is_empty() { nearest_saved(&saved, begins) } else { called };
    match alike[..] {
        [one] => Ok(chosen(one)),
        [] => absent(name, &text, &saved),
        [first, second, ..] => {
            let (first, second) = (&first.id, &second.id);
            let (count, such) = (alike.len(), format!("such as {first:?} and {second:?}"));
            let text = strike_secrets(&text);
            let problem = format!("{count} runs begin with {text:?}, {such}");
            Err(mistake(problem, "give more of the name"))
        }
    }
}

/// The mistake if no run is saved in `folder`, the current one, nor remembered.
fn nowhere(name: &str, folder: &Path) -> Invalid {
    let place = folder.join(RUNS);
    let problem = format!("{name} does not exist: no runs are saved in {}", place.display());
    let cure = next_above(folder).map_or_else(
        || "go to the folder where the run was started, or give the path of the run".to_owned(),
        |above| format!("go to {}, which has some, or give the path of the run", above.display()),
    );
    mistake(problem, cure)
}

/// The next folder above `folder` that has runs.
fn next_above(folder: &Path) -> Option<&Path> {
    // In a folder that all users write to, such as /tmp, the runs may be anybody's.
    let is_own = |it: &Path| it.metadata().is_ok_and(|it| it.permissions().mode() & 0o002 == 0);
    folder.ancestors().skip(1).find(|it| it.join(RUNS).is_dir() && is_own(it))
}

/// The line if there are no runs to list in `folder`, the current one, nor remembered.
pub(super) fn none_in(folder: &Path) -> String {
    let place = folder.join(RUNS);
    match next_above(folder) {
        Some(above) => {
            format!("no runs in {}; go to {}, which has some", place.display(), above.display())
        }
        None => none_yet(&place),
    }
}

/// The same for a folder that was named.
pub(super) fn none_yet(place: &Path) -> String {
    format!("no runs in {} yet; springload run makes the first", place.display())
}

/// Announces that the match is in another folder, perhaps of another project; once per folder.
fn tell_elsewhere(name: &str, saved: &Saved) {
    static ANNOUNCED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    let mut announced = ANNOUNCED.lock().unwrap_or_else(PoisonError::into_inner);
    if saved.here || announced.contains(&saved.file) {
        return;
    }
    announced.push(saved.file.clone());
    let folder = saved.file.parent().unwrap_or(&saved.file).display();
    let line = format!("note: {name} is not of this folder, which has none: it is {folder}");
    eprintln!("{}", shown(&line, look::ascii()));
}

/// Whether it is an older record in the folder of another run: `NAME/run-1.json`.
fn in_folder(saved: &Saved) -> bool {
    is_json(&saved.id) && saved.id.contains('/')
}

fn is_json(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|ending| ending == "json")
}

/// The name of a run's own folder, wherever it is.
fn last_part(saved: &Saved) -> &str {
    if in_folder(saved) { &saved.id } else { saved.id.rsplit('/').next().unwrap_or_default() }
}

/// The result if no run has that name: a mistake, or a path to try.
fn absent(name: &Path, text: &str, saved: &[Saved]) -> Result<PathBuf, Invalid> {
    let meant = nearest(text, saved);
    // Reading the path will report what is wrong.
    if meant.is_empty() && (text.contains(std::path::MAIN_SEPARATOR) || is_json(text)) {
        return Ok(name.to_owned());
    }
    let cure = if meant.is_empty() {
        SEE.to_owned()
    } else {
        format!("did you mean {}?", meant.join(" or "))
    };
    let text = strike_secrets(text);
    Err(mistake(format!("no run is called {text:?}, and no name begins with it"), cure))
}

/// The names closest to `text`, if they are close.
fn nearest(text: &str, saved: &[Saved]) -> Vec<String> {
    let readable = saved.iter().filter(|it| it.is_readable());
    let names = readable.flat_map(|it| [Some(last_part(it)), it.label()]).flatten();
    let most = (text.chars().count() / 3).clamp(1, 4);
    let mut close: Vec<(usize, &str)> = names
        .chain(["latest"])
        .map(|name| (strsim::damerau_levenshtein(text, name), name))
        .filter(|(slips, _)| *slips <= most)
        .collect();
    close.sort_by_key(|(slips, _)| *slips);
    close.dedup_by(|one, other| one.1 == other.1);
    let shown = |name: &str| if plain(name) { name.to_owned() } else { format!("{name:?}") };
    close.into_iter().take(MOST_MEANT).map(|(_, name)| shown(name)).collect()
}

/// Whether a name needs no quotes.
fn plain(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.~".contains(c))
}

/// `latest` is 0, `latest~N` is N.
fn steps_back(name: &str) -> Option<usize> {
    match name.strip_prefix("latest")? {
        "" => Some(0),
        rest => rest.strip_prefix('~')?.parse().ok(),
    }
}

#[cfg(test)]
#[path = "named_tests.rs"]
mod tests;
