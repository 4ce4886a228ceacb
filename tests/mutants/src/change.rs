//! The changes that cargo-mutants lists, and the rooms that `.cargo/mutants.toml` names.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Genre {
    FnValue,
    BinaryOperator,
    UnaryOperator,
    MatchArm,
    MatchArmGuard,
    StructField,
}

/// One change, in cargo-mutants' format.
#[derive(Clone, Debug, Deserialize)]
pub struct Change {
    pub file: String,
    pub genre: Genre,
    /// `file:line:column: what`.
    pub name: String,
    pub replacement: String,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Span {
    pub start: Place,
}

/// Both count from one; columns are characters.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    pub line: usize,
    pub column: usize,
}

/// The folders that `.cargo/mutants.toml` names, each with a `/` at its end.
pub fn rooms(toml: &str) -> Vec<String> {
    let globs = toml.split_once("examine_globs = [").map_or("", |(_, rest)| rest);
    let globs = globs.split(']').next().unwrap_or_default();
    let names = globs.split('"').skip(1).step_by(2);
    names.map(|glob| glob.trim_end_matches('*').to_owned()).collect()
}

/// The title of a room in tables: without `crates/` and `src/`.
pub fn title(room: &str) -> String {
    let room = room.trim_end_matches('/').trim_start_matches("crates/");
    let words = room.split('/').filter(|word| *word != "src");
    words.collect::<Vec<_>>().join("/")
}

/// The line to append to the crate's root so that cargo-mutants finds a room: it does not see
/// modules declared by a macro. Also returns the path of that root.
pub fn declared(room: &str) -> Option<(String, String)> {
    let (home, inside) = room.split_once("src/")?;
    if inside.is_empty() {
        return None;
    }
    let name = title(room).replace(['/', '-'], "_");
    let module = format!("\n#[path = \"{inside}mod.rs\"]\nmod mutants_{name};\n");
    Some((format!("{home}src/lib.rs"), module))
}

/// Whether the path of a file contains one of these, which are separated by commas.
pub fn within(file: &str, asked: &str) -> bool {
    asked.split(',').any(|part| file.contains(part))
}

/// The changes in cargo-mutants' list, each once.
pub fn read(list: &str) -> serde_json::Result<Vec<Change>> {
    let changes: Vec<Change> = serde_json::from_str(list)?;
    let mut seen = BTreeSet::new();
    let new = |change: &Change| seen.insert(change.name.clone());
    let mut changes: Vec<Change> = changes.into_iter().filter(new).collect();
    changes.sort_by(|a, b| (&a.file, a.span.start).cmp(&(&b.file, b.span.start)));
    Ok(changes)
}

/// Files of the rooms that contain functions, but in which cargo-mutants found nothing.
pub fn unseen<'a>(files: &'a [String], changes: &[Change], rooms: &[String]) -> Vec<&'a str> {
    let changed: BTreeSet<&str> = changes.iter().map(|change| change.file.as_str()).collect();
    let examined = |file: &&str| rooms.iter().any(|room| file.starts_with(room));
    let rust = |file: &&str| Path::new(file).extension().is_some_and(|end| end == "rs");
    let tests = |file: &&str| file.ends_with("tests.rs");
    let all = files.iter().map(String::as_str);
    all.filter(examined).filter(rust).filter(|f| !tests(f) && !changed.contains(f)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_are_read_and_titled() {
        let rooms =
            rooms("# x\nexamine_globs = [\n \"crates/core/src/a/**\",\n \"src/b/**\",\n]\n");
        assert_eq!(rooms, ["crates/core/src/a/", "src/b/"]);
        assert_eq!(title(&rooms[0]), "core/a");
        assert_eq!(title("crates/engine/src/"), "engine");
        let (root, module) = declared(&rooms[0]).expect("a folder is a module");
        assert_eq!(root, "crates/core/src/lib.rs");
        assert!(module.contains("\"a/mod.rs\""), "{module}");
        assert_eq!(declared("crates/engine/src/"), None);
    }

    #[test]
    fn files_are_asked_for_by_any_part_of_their_path() {
        let asked = |asked| within("crates/engine/src/drive.rs", asked);
        assert!(asked("") && asked("engine/src") && asked("load/src/run,drive.rs"));
        assert!(!asked("load/src/run") && !asked("load/src/run,journal"));
    }
}
