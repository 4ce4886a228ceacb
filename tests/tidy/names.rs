//! Names that several files of a crate give to types of their own, so that readers take one for the
//! other. What only tests compile does not count.

use super::{File, first_name, no_more, shipped, tree};
use std::collections::{BTreeMap, BTreeSet};

/// How many names of each crate several types may share. These numbers only go down.
const SHARED_MAX: [(&str, usize); 8] = [
    ("core", 3),
    ("driver", 2),
    ("embedded", 0),
    ("engine", 0),
    ("load", 0),
    ("report", 0),
    ("springload", 0),
    ("workload", 0),
];

/// The type that a line begins to define. An alias that keeps the name of what it stands for does
/// not, nor does one in a trait or its implementation.
fn defined(line: &str) -> Option<String> {
    let item = line.trim_start();
    let item = if item.starts_with("pub(") { item.split_once(") ")?.1 } else { item };
    let (keyword, rest) = item.strip_prefix("pub ").unwrap_or(item).split_once(' ')?;
    let name = first_name(rest);
    let stands_for_itself = || {
        let meant = rest.split_once(" = ").map_or("", |(_, meant)| meant);
        let path = meant.split(['<', ';']).next().unwrap_or_default();
        path.ends_with(&format!("::{name}"))
    };
    let is_own = match keyword {
        "struct" | "enum" | "union" | "trait" => true,
        "type" => !line.starts_with(' ') && !stands_for_itself(),
        _ => false,
    };
    (is_own && name.starts_with(char::is_uppercase)).then_some(name)
}

/// The names that types of several files share, with these files, by the names of the crates.
fn shared(files: &[File]) -> BTreeMap<String, Vec<String>> {
    let line = |(name, paths): (String, BTreeSet<String>)| {
        let paths: Vec<_> = paths.into_iter().collect();
        (paths.len() > 1).then(|| format!("{name}: {}", paths.join(", ")))
    };
    let lines = |(home, files): (&str, Vec<&File>)| {
        let mut names = BTreeMap::<String, BTreeSet<String>>::new();
        for file in files {
            for name in file.shipped.lines().filter_map(defined) {
                names.entry(name).or_default().insert(file.path.clone());
            }
        }
        (home.to_owned(), names.into_iter().filter_map(line).collect())
    };
    shipped(files).into_iter().map(lines).collect()
}

#[test]
fn no_more_types_share_a_name() {
    let cure = "say in the name of one what it is";
    no_more("shared names", &shared(&tree()), &SHARED_MAX, cure);
}

#[test]
fn types_with_one_name_are_found_and_others_are_not() {
    let found = |one: &str, other: &str| {
        let file = |name: &str, text: &str| File::new(&format!("crates/x/src/{name}.rs"), text);
        shared(&[file("a", one), file("b", other)])["x"].clone()
    };
    for other in [
        "struct Row<'a> {\n}",
        "pub(in crate::a) enum Row {\n}",
        "pub(super) type Row = Vec<u8>;",
        "fn f() {\n    struct Row;\n}",
        "pub trait Row: Copy {}",
    ] {
        let line = "Row: crates/x/src/a.rs, crates/x/src/b.rs";
        assert_eq!(found("pub struct Row(u8);", other), [line], "{other}");
    }
    for innocent in [
        "struct Rows;\nenum E {\n    Row,\n}",
        "type Row = super::a::Row<u8>;",
        "use super::a::Row;\nimpl Row {\n    type Row = u8;\n}",
        "// struct Row;",
        "#[cfg(test)]\nmod tests {\n    struct Row;\n}",
    ] {
        assert_eq!(found("pub struct Row(u8);", innocent), [""; 0], "{innocent}");
    }
    assert_eq!(found("fn f() {\n    struct Row;\n}\nstruct Row;", ""), [""; 0]);
}
