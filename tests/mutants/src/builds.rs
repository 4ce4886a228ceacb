//! Builds the woven copy, and leaves out the changes that do not compile until it does.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::weave::Woven;

/// A program of unit tests, and the folder that it runs in.
#[derive(Clone, Debug)]
pub struct Program {
    pub path: PathBuf,
    pub folder: PathBuf,
}

#[derive(Default)]
pub struct Built {
    pub succeeded: bool,
    pub programs: Vec<Program>,
    pub errors: Vec<Diagnostic>,
}

#[derive(Deserialize)]
struct Line {
    reason: String,
    message: Option<Diagnostic>,
    executable: Option<PathBuf>,
    manifest_path: Option<PathBuf>,
    profile: Option<Profile>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Diagnostic {
    level: String,
    spans: Vec<Place>,
    pub rendered: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct Place {
    file_name: String,
    byte_start: usize,
    byte_end: usize,
    is_primary: bool,
    /// The macro call it came from.
    expansion: Option<Box<Expansion>>,
}

#[derive(Clone, Debug, Deserialize)]
struct Expansion {
    span: Place,
}

/// Builds the unit tests of all crates.
pub fn build(tree: &Path, target: &Path) -> std::io::Result<Built> {
    let flags = ["test", "--no-run", "--lib", "--workspace", "--all-features", "--no-fail-fast"];
    let output = Command::new("cargo")
        .args(flags)
        .args(["--quiet", "--message-format=json"])
        .current_dir(tree)
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_INCREMENTAL", "1")
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .stderr(Stdio::inherit())
        .output()?;
    let mut built = Built { succeeded: output.status.success(), ..Built::default() };
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(line) = serde_json::from_str::<Line>(line) else { continue };
        if let (Some(path), Some(manifest)) = (line.executable, line.manifest_path)
            && line.profile.is_some_and(|profile| profile.test)
        {
            let folder = manifest.parent().unwrap_or(tree).to_owned();
            built.programs.push(Program { path, folder });
        }
        if let Some(error) = line.message
            && line.reason == "compiler-message"
            && error.level == "error"
        {
            built.errors.push(error);
        }
    }
    Ok(built)
}

/// The changes that cause errors. In a file with some errors inside the text of a change, the other
/// errors are left for the next build, because they may only follow from these.
pub fn blamed(errors: &[Diagnostic], files: &BTreeMap<String, Woven>) -> BTreeSet<usize> {
    let (mut sure, mut around) = (BTreeSet::new(), BTreeMap::new());
    let mut settled = BTreeSet::new();
    for error in errors {
        let mut spans: Vec<&Place> = error.spans.iter().collect();
        spans.sort_by_key(|place| !place.is_primary);
        let outwards = |place| {
            std::iter::successors(Some(place), |at: &&Place| Some(&at.expansion.as_ref()?.span))
        };
        let places: Vec<&Place> = spans.into_iter().flat_map(outwards).collect();
        let first = |find: fn(&Woven, &Place) -> Vec<usize>| {
            places.iter().find_map(|place| {
                let found = find(files.get(&place.file_name)?, place);
                (!found.is_empty()).then_some((place.file_name.clone(), found))
            })
        };
        if let Some((file, numbers)) = first(switched) {
            settled.insert(file);
            sure.extend(numbers);
        } else if let Some((file, numbers)) = first(wrapped) {
            around.entry(file).or_insert_with(BTreeSet::new).extend(numbers);
        }
    }
    around.retain(|file, _| !settled.contains(file));
    sure.extend(around.into_values().flatten());
    sure
}

/// The change whose own text contains a place.
fn switched(woven: &Woven, place: &Place) -> Vec<usize> {
    let inside = |(range, _): &&(Range<usize>, usize)| range.contains(&place.byte_start);
    let found = woven.switches.iter().filter(inside).min_by_key(|(range, _)| range.len());
    found.map(|(_, number)| *number).into_iter().collect()
}

/// The changes for which the text around a place was rewritten.
fn wrapped(woven: &Woven, place: &Place) -> Vec<usize> {
    let inside = |(range, _): &&(Range<usize>, Vec<usize>)| {
        range.start <= place.byte_start && place.byte_end <= range.end
    };
    let found = woven.wraps.iter().filter(inside).min_by_key(|(range, _)| range.len());
    found.map(|(_, numbers)| numbers.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_traced_to_the_innermost_change() {
        let switches = vec![(0..4, 1), (20..30, 2)];
        let wraps = vec![(10..40, vec![2, 3]), (12..18, vec![4])];
        let woven = Woven { switches, wraps, ..Woven::default() };
        let error = |start| Diagnostic {
            level: "error".into(),
            rendered: None,
            spans: vec![Place {
                file_name: "a.rs".into(),
                byte_start: start,
                byte_end: start + 1,
                is_primary: true,
                expansion: None,
            }],
        };
        let files = BTreeMap::from([("a.rs".to_owned(), woven)]);
        let blamed = |starts: &[usize]| {
            let errors: Vec<Diagnostic> = starts.iter().map(|at| error(*at)).collect();
            Vec::from_iter(super::blamed(&errors, &files))
        };
        assert_eq!(blamed(&[2]), [1]);
        assert_eq!(blamed(&[13]), [4]);
        assert_eq!(blamed(&[35]), [2, 3]);
        assert_eq!(blamed(&[13, 25]), [2], "what is around waits");
        assert_eq!(blamed(&[50]), [0; 0]);
        // The expansion of a macro is in another file; the call is in a woven one.
        let mut error = error(35);
        let call = Expansion { span: error.spans[0].clone() };
        let within = Place { file_name: "macros.rs".into(), ..error.spans[0].clone() };
        error.spans = vec![Place { expansion: Some(Box::new(call)), ..within }];
        assert_eq!(Vec::from_iter(super::blamed(&[error], &files)), [2, 3]);
    }
}
