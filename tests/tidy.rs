//! The house rules as tests: imports, sizes, banned calls, documents. They only read the tree.
//!
//! A rule is a function from a file (or a document) to complaints; each has a test that it can
//! complain. The rules do not depend on what the code does.

#[path = "tidy/circles.rs"]
mod circles;
#[path = "tidy/names.rs"]
mod names;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// One tracked text file, with the views of it that the rules need. All views have the same lines.
struct File {
    path: String,
    text: String,
    /// Comments and literals blanked; only for Rust.
    code: String,
    /// `code` with everything under `#[cfg(test)]` blanked.
    shipped: String,
    /// Lines under `#[cfg(test)]`.
    test_lines: usize,
}

impl File {
    fn new(path: &str, text: &str) -> Self {
        let code = if is_rust(path) { blank_literals(text) } else { String::new() };
        let (shipped, test_lines) = blank_tests(&code);
        Self { path: path.to_owned(), text: text.to_owned(), code, shipped, test_lines }
    }

    /// A complaint about the line that holds byte `offset` of any view.
    fn complain(&self, view: &str, offset: usize, cure: &str) -> String {
        let line = view[..offset].matches('\n').count() + 1;
        format!("{}:{line}: {cure}", self.path)
    }

    fn in_src(&self) -> bool {
        is_rust(&self.path) && home_of(&self.path).is_some()
    }

    /// A file that only tests compile: `tests.rs` or `..._tests.rs` inside a room.
    fn only_tests(&self) -> bool {
        self.path.ends_with("tests.rs") || self.path.contains("/tests/")
    }
}

fn is_rust(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|ext| ext == "rs")
}

/// Every tracked or not yet tracked, not ignored, text file of the repository.
fn tree() -> Vec<File> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let listed = Command::new("git")
        .args(["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others"])
        .arg("--exclude-standard")
        .current_dir(root)
        .output()
        .expect("tidy asks git for the list of files: install git");
    assert!(listed.status.success(), "git ls-files: {}", String::from_utf8_lossy(&listed.stderr));
    let names = String::from_utf8(listed.stdout).expect("file names are UTF-8");
    let read = |name: &str| Some(File::new(name, &std::fs::read_to_string(root.join(name)).ok()?));
    names.split('\0').filter(|name| !name.is_empty()).filter_map(read).collect()
}

fn architecture() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("ARCHITECTURE.md");
    std::fs::read_to_string(path).expect("ARCHITECTURE.md is readable")
}

/// Runs a rule on the files that `select` accepts.
fn check(select: impl Fn(&File) -> bool, rule: impl Fn(&File) -> Vec<String>) {
    clean(&tree().iter().filter(|file| select(file)).flat_map(rule).collect::<Vec<_>>());
}

fn clean(complaints: &[String]) {
    assert!(complaints.is_empty(), "{} to mend:\n{}", complaints.len(), complaints.join("\n"));
}

// --- views -----------------------------------------------------------------------------------

/// Replaces comments, strings and characters with spaces, so that only code is left.
fn blank_literals(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    while at < chars.len() {
        let end = literal_end(&chars, at).min(chars.len());
        if end > at {
            out.extend(chars[at..end].iter().map(|&c| if c == '\n' { c } else { ' ' }));
            at = end;
        } else {
            out.push(chars[at]);
            at += 1;
        }
    }
    out
}

/// The end of the comment or literal that starts at `at`; `at` itself if none does.
fn literal_end(s: &[char], at: usize) -> usize {
    let find = |from: usize, c: char| {
        s.iter().skip(from).position(|&x| x == c).map_or(s.len(), |found| from + found)
    };
    match (s[at], s.get(at + 1)) {
        ('/', Some('/')) => find(at, '\n'),
        ('/', Some('*')) => block_comment_end(s, at),
        ('"', _) => {
            let mut end = at + 1;
            while end < s.len() && s[end] != '"' {
                end += if s[end] == '\\' { 2 } else { 1 };
            }
            end + 1
        }
        ('r', Some('"' | '#')) => raw_string_end(s, at),
        ('\'', Some('\\')) => find(at + 3, '\'') + 1,
        ('\'', Some(_)) if s.get(at + 2) == Some(&'\'') => at + 3,
        _ => at,
    }
}

fn block_comment_end(s: &[char], at: usize) -> usize {
    let (mut depth, mut end) = (1, at + 2);
    while end < s.len() && depth > 0 {
        match (s[end], s.get(end + 1)) {
            ('/', Some('*')) => (depth, end) = (depth + 1, end + 2),
            ('*', Some('/')) => (depth, end) = (depth - 1, end + 2),
            _ => end += 1,
        }
    }
    end
}

fn raw_string_end(s: &[char], at: usize) -> usize {
    let hashes = s[at + 1..].iter().take_while(|&&c| c == '#').count();
    let mut end = at + 1 + hashes;
    if s.get(end) != Some(&'"') {
        return at;
    }
    let closes = |end: usize| s[end..].iter().take(hashes).filter(|&&c| c == '#').count() == hashes;
    loop {
        end += 1;
        match s.get(end) {
            None => return end,
            Some('"') if closes(end + 1) => return end + 1 + hashes,
            Some(_) => {}
        }
    }
}

/// Blanks each braced item under `#[cfg(test)]`; also returns the number of its lines.
fn blank_tests(code: &str) -> (String, usize) {
    let (mut out, mut from, mut lines) = (code.to_owned(), 0, 0);
    while let Some(at) = out[from..].find("#[cfg(test)]").map(|found| from + found) {
        from = at + 1;
        let Some(open) = out[at..].find(['{', ';']).map(|found| at + found) else { break };
        if out.as_bytes()[open] == b';' {
            continue;
        }
        let close = closing(&out, open);
        let blank: String =
            out[at..close].chars().map(|c| if c == '\n' { c } else { ' ' }).collect();
        lines += blank.matches('\n').count() + 1;
        out.replace_range(at..close, &blank);
    }
    (out, lines)
}

/// The byte after the brace that closes the one at `open`.
fn closing(code: &str, open: usize) -> usize {
    let mut depth = 0;
    for (offset, c) in code[open..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return open + offset + c.len_utf8();
        }
    }
    code.len()
}

#[test]
fn views_blank_what_is_not_code() {
    let file =
        File::new("src/a.rs", "a(\"// x\\\"\", 'y', b'\\'', r#\"\"z\"\"#); // b\n/* /* c */ */d");
    assert_eq!(file.code.split_whitespace().collect::<String>(), "a(,,b,);d");
    let file = File::new("src/a.rs", "one\n#[cfg(test)]\nmod tests {\n f({})\n}\nlast");
    assert_eq!(file.shipped.split_whitespace().collect::<Vec<_>>(), ["one", "last"]);
    assert_eq!(file.test_lines, 4);
    let file = File::new("src/a.rs", "#[cfg(test)]\nmod tests;\nfn kept() {}");
    assert!(file.shipped.contains("kept"));
}

// --- imports ---------------------------------------------------------------------------------

type Table = BTreeMap<String, Vec<String>>;

/// The lines of the Markdown section with the heading `## title`.
fn section<'a>(document: &'a str, title: &str) -> impl Iterator<Item = &'a str> {
    let head = format!("## {title}");
    document
        .lines()
        .skip_while(move |line| **line != head)
        .skip(1)
        .take_while(|l| !l.starts_with("## "))
}

/// First and last cell of each row, without the head of the table.
fn rows<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<(String, String)> {
    let cells = |line: &str| {
        let mut cells = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned());
        let first = cells.next()?;
        Some((first, cells.next_back()?))
    };
    lines.filter(|line| line.starts_with('|')).skip(2).filter_map(cells).collect()
}

/// The allowed imports of each room, from ARCHITECTURE.md.
fn import_table(document: &str) -> Table {
    let rows = rows(section(document, "Layout"));
    let all: Vec<String> = rows.iter().map(|(room, _)| room.clone()).collect();
    let allowed = |list: &str| match list {
        "nothing" => Vec::new(),
        "everything" => all.clone(),
        list => list.split(", ").map(str::to_owned).collect(),
    };
    rows.iter().map(|(room, list)| (room.clone(), allowed(list))).collect()
}

/// The crates that are a single room.
const ONE_ROOM: [&str; 4] = ["workload", "driver", "engine", "embedded"];

/// The crate of a file of the program, empty for the top one, and the path inside its `src/`.
fn home_of(path: &str) -> Option<(&str, &str)> {
    if let Some(inside) = path.strip_prefix("src/") {
        return Some(("", inside));
    }
    path.strip_prefix("crates/")?.split_once("/src/")
}

/// The code of each crate that ships: its files, by the crate's name.
fn shipped(files: &[File]) -> BTreeMap<&str, Vec<&File>> {
    let mut crates = BTreeMap::<_, Vec<_>>::new();
    for file in files.iter().filter(|file| file.in_src() && !file.only_tests()) {
        let home = home_of(&file.path).map_or("", |(home, _)| home);
        crates.entry(if home.is_empty() { "springload" } else { home }).or_default().push(file);
    }
    crates
}

/// Asserts that each crate has as many `what` as it may have: these numbers only go down.
fn no_more(what: &str, found: &BTreeMap<String, Vec<String>>, most: &[(&str, usize)], cure: &str) {
    let crates: Vec<_> = found.keys().map(String::as_str).collect();
    assert_eq!(crates, most.iter().map(|it| it.0).collect::<Vec<_>>(), "the crates, in order");
    for &(name, most) in most {
        let (lines, count) = (found[name].join("\n"), found[name].len());
        assert!(count <= most, "{name}: {count} {what}, over {most}: {cure}\n{lines}");
        assert_eq!(count, most, "{name}: there are fewer {what} now: lower its number");
    }
}

fn room_of(path: &str) -> &str {
    let (home, inside) = home_of(path).unwrap_or(("", path));
    if ONE_ROOM.contains(&home) {
        return home;
    }
    inside.split('/').next().unwrap_or(inside).trim_end_matches(".rs")
}

/// The number of `super::` that lead from the file to the crate's root.
fn depth_of(path: &str) -> usize {
    let inside = home_of(path).map_or(path, |(_, inside)| inside);
    let folders = inside.matches('/').count() + 1;
    if path.ends_with("/mod.rs") { folders - 1 } else { folders }
}

/// The offsets and first names of all paths from the crate's root, groups included.
fn root_names(path: &str, code: &str) -> Vec<(usize, String)> {
    let mut names = Vec::new();
    let starts = code.match_indices("crate::").map(|(at, word)| (at, at + word.len()));
    let climb = "super::".repeat(depth_of(path));
    let climbs = code.match_indices(&climb).map(|(at, word)| (at, at + word.len()));
    for (at, after) in starts.chain(climbs.filter(|_| !climb.is_empty())) {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = &code[after..];
        if rest.starts_with('{') {
            let group = &rest[1..closing(rest, 0) - 1];
            names.extend(top_level(group).map(|part| (at, first_name(part))));
        } else {
            names.push((at, first_name(rest)));
        }
    }
    names
}

/// The parts of a use group, split at the commas that are not inside an inner group.
fn top_level(group: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    group.split(move |c| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    })
}

fn first_name(path: &str) -> String {
    path.trim_start().chars().take_while(|&c| c.is_alphanumeric() || c == '_').collect()
}

/// The offsets and names of the rooms that a file imports, and of what else it takes from the root.
fn imported(file: &File) -> Vec<(usize, String)> {
    if !ONE_ROOM.contains(&room_of(&file.path)) {
        return root_names(&file.path, &file.shipped);
    }
    // The root of such a crate imports all names that its modules may use.
    if !file.path.ends_with("/src/lib.rs") {
        return Vec::new();
    }
    // With as many columns as before, so that offsets stay.
    let code = file.shipped.replace("springload_core::", "          crate::");
    root_names(&file.path, &code.replace("springload_", "    crate::"))
}

fn imports(file: &File, table: &Table) -> Vec<String> {
    let room = room_of(&file.path);
    let Some(allowed) = table.get(room) else {
        return vec![format!("{}:1: add room `{room}` to the import table", file.path)];
    };
    let wrong = |name: &String| table.contains_key(name) && name != room && !allowed.contains(name);
    let complain = |(at, name): (usize, String)| {
        let cure = format!("`{room}` may not import `{name}`: move the code, or mend the table");
        file.complain(&file.shipped, at, &cure)
    };
    imported(file).into_iter().filter(|(_, name)| wrong(name)).map(complain).collect()
}

/// The imports that the table allows and no file needs. A room that may import everything is free
/// to leave some out.
fn idle_grants<'a>(files: impl Iterator<Item = &'a File>, table: &Table) -> Vec<String> {
    let mut used = BTreeSet::new();
    for file in files {
        let names = imported(file).into_iter().map(|(_, name)| name);
        used.extend(names.map(|name| (room_of(&file.path).to_owned(), name)));
    }
    let rooms = table.iter().filter(|(_, allowed)| allowed.len() < table.len());
    let grants = rooms.flat_map(|(room, allowed)| allowed.iter().map(move |name| (room, name)));
    let idle = grants.filter(|&(room, name)| !used.contains(&(room.clone(), name.clone())));
    let say = |(room, name)| {
        format!("ARCHITECTURE.md:1: `{room}` does not import `{name}`: take it out of the table")
    };
    idle.map(say).collect()
}

#[test]
fn rooms_import_only_what_the_table_allows() {
    let table = import_table(&architecture());
    for (room, allowed) in &table {
        let unknown: Vec<_> = allowed.iter().filter(|name| !table.contains_key(*name)).collect();
        assert!(unknown.is_empty(), "ARCHITECTURE.md: `{room}` may import unknown {unknown:?}");
    }
    check(|file| file.in_src() && !file.only_tests(), |file| imports(file, &table));
}

#[test]
fn rooms_import_all_that_the_table_allows() {
    let files = tree();
    let shipped = files.iter().filter(|file| file.in_src() && !file.only_tests());
    clean(&idle_grants(shipped, &import_table(&architecture())));
}

#[test]
fn a_wrong_import_is_found_in_every_form() {
    let doc = "## Layout\n| r | m |\n|---|---|\n| a | nothing |\n| b | a |\n\
         | c | everything |\n";
    let table = import_table(doc);
    let found = |path: &str, code: &str| imports(&File::new(path, code), &table).len();
    assert_eq!(found("src/a.rs", "use crate::b::X;"), 1);
    assert_eq!(found("src/a/x.rs", "fn f() {\n crate::c::g() }"), 1);
    assert_eq!(found("src/a/x.rs", "use crate::{a::{y, b}, b::c,\n c};"), 2);
    assert_eq!(found("src/a/x.rs", "use super::super::b;"), 1);
    assert_eq!(found("src/a/mod.rs", "use super::b;"), 1);
    assert_eq!(found("src/b/x.rs", "use super::c; use crate::a; use crate::b::c;"), 0);
    assert_eq!(found("src/c/x.rs", "use crate::{a, b};"), 0);
    assert_eq!(found("src/a.rs", "// crate::b\n#[cfg(test)] mod t { use crate::b; }"), 0);
    assert_eq!(found("src/new.rs", ""), 1);
    assert_eq!(found("crates/core/src/a/x.rs", "use crate::b::X; use super::super::c;"), 2);
    assert_eq!(found("crates/core/src/b/mod.rs", "use super::a; use super::c;"), 1);
    let table = import_table(&doc.replace("| b |", "| driver |"));
    let found = |path: &str, code: &str| imports(&File::new(path, code), &table).len();
    assert_eq!(found("crates/driver/src/lib.rs", "use springload_core::{a, c};"), 1);
    assert_eq!(found("crates/driver/src/x.rs", "use crate::c::OfItsOwn;"), 0);
    let alias = "use springload_driver as itself;\n\nuse springload_c as c;";
    let complaints = imports(&File::new("crates/driver/src/lib.rs", alias), &table);
    assert_eq!(complaints.len(), 1, "{complaints:?}");
    assert!(complaints[0].starts_with("crates/driver/src/lib.rs:3: "), "{complaints:?}");
}

#[test]
fn an_unused_grant_is_found() {
    let doc = "## Layout\n| r | m |\n|---|---|\n| a | nothing |\n| b | a |\n\
         | driver | a, b |\n| c | everything |\n";
    let table = import_table(doc);
    let found = |files: &[(&str, &str)]| {
        let files: Vec<_> = files.iter().map(|(path, code)| File::new(path, code)).collect();
        idle_grants(files.iter(), &table)
    };
    let b = ("src/b/x.rs", "use crate::a::X;");
    let driver = ("crates/driver/src/lib.rs", "use springload_core::{a};\nuse springload_b as b;");
    assert_eq!(found(&[b, driver]), [""; 0]);
    let say = |room, name| {
        format!("ARCHITECTURE.md:1: `{room}` does not import `{name}`: take it out of the table")
    };
    let idle = ("src/b.rs", "// crate::a\n#[cfg(test)] mod t { use crate::a; }");
    assert_eq!(found(&[idle, driver]), [say("b", "a")]);
    let own = ("crates/driver/src/x.rs", "use crate::b::OfItsOwn;");
    let half = ("crates/driver/src/lib.rs", "use springload_core::a;");
    assert_eq!(found(&[b, half, own]), [say("driver", "b")]);
}

/// Complains of other springload crates that are referred to by their own names: the table uses the
/// names that `lib.rs` gives them.
fn names_crates(file: &File) -> Vec<String> {
    let words = ["core", "workload", "driver", "load", "report", "embedded"];
    let words = words.map(|name| format!("springload_{name}::"));
    ban(file, &file.shipped, &words.each_ref().map(String::as_str), "name it as `lib.rs` does")
}

#[test]
fn other_crates_are_named_as_the_root_names_them() {
    let root = |file: &File| file.path.ends_with("src/lib.rs");
    let select = |file: &File| file.in_src() && !file.only_tests() && !root(file);
    check(select, names_crates);
    let file = File::new("src/a.rs", "use springload_core::op::Op; use my_springload_core::X;");
    assert_eq!(names_crates(&file).len(), 1);
}

/// The rooms of `cli` from the top down; files next to them are below all of these.
const CLI_ROOMS: [&str; 5] = ["dialect", "verb", "pipeline", "flags", "help"];

/// Complains of names from above a file of `cli`.
fn climbs(file: &File) -> Vec<String> {
    let rank = |name: &str| CLI_ROOMS.iter().position(|room| *room == name);
    let inside = file.path.strip_prefix("src/cli/").unwrap_or_default();
    let own = inside.split_once('/').map_or(CLI_ROOMS.len(), |(room, _)| {
        rank(room).unwrap_or_else(|| panic!("{}: add its room to CLI_ROOMS", file.path))
    });
    let named = file.shipped.match_indices("crate::cli::").map(|(at, path)| at + path.len());
    let climbs = named.filter_map(|at| {
        let name = first_name(&file.shipped[at..]);
        let up = name.is_empty() || rank(&name).is_some_and(|rank| rank < own);
        let cure = format!("`{name}` of `cli` stands above this: move the code down");
        up.then(|| file.complain(&file.shipped, at, &cure))
    });
    climbs.collect()
}

#[test]
fn imports_in_cli_run_downwards() {
    let below = |file: &File| file.path.starts_with("src/cli/") && file.path != "src/cli/mod.rs";
    check(|file| below(file) && !file.only_tests(), climbs);
}

#[test]
fn an_import_upwards_is_found() {
    let found = |path: &str, code: &str| climbs(&File::new(path, code)).len();
    assert_eq!(found("src/cli/pipeline/a.rs", "use crate::cli::verb::run::Run;"), 1);
    assert_eq!(found("src/cli/verb/a.rs", "fn f() { crate::cli::dialect::x() }"), 1);
    assert_eq!(found("src/cli/exit.rs", "use crate::cli::flags::output;"), 1);
    assert_eq!(found("src/cli/verb/a.rs", "use crate::cli::{dialect, exit};"), 1);
    assert_eq!(found("src/cli/dialect/a.rs", "use crate::cli::verb::x; use crate::cli::exit;"), 0);
    assert_eq!(found("src/cli/verb/a.rs", "use crate::cli::verb::b; use crate::run;"), 0);
}

// --- drivers ---------------------------------------------------------------------------------

/// The file with the list of drivers.
const DRIVERS: &str = "crates/driver/src/lib.rs";
/// The rooms that must not even mention a driver's name in quotes.
const IGNORANT: [&str; 5] = ["engine", "measure", "run", "record", "report"];

/// A driver as in the list, `module: Variant(Plan) = "name",`.
#[derive(Debug, PartialEq)]
struct Driver<'a> {
    module: &'a str,
    variant: &'a str,
    name: &'a str,
}

fn drivers(list: &str) -> Vec<Driver<'_>> {
    let read = |line| -> Option<Driver<'_>> {
        let (module, rest) = str::trim(line).split_once(": ")?;
        let (variant, rest) = rest.split_once('(')?;
        Some(Driver { module, variant, name: rest.split('"').nth(1)? })
    };
    let lines = list.lines().skip_while(|line| !line.contains("drivers! {")).skip(1);
    lines.take_while(|line| !line.starts_with('}')).filter_map(read).collect()
}

/// The offset of each path that begins with `root::` followed by one of `names`.
fn paths_to(code: &str, root: &str, names: &[&str]) -> Vec<usize> {
    let root = format!("{root}::");
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    let roots = code.match_indices(&root).filter(|(at, _)| !code[..*at].ends_with(inside));
    let meant = |part: &str| names.contains(&first_name(part).as_str());
    let leads = |at: &usize| {
        let rest = &code[at + root.len()..];
        if rest.starts_with('{') {
            top_level(&rest[1..closing(rest, 0) - 1]).any(meant)
        } else {
            meant(rest)
        }
    };
    roots.map(|(at, _)| at).filter(leads).collect()
}

/// Complains of each driver that a file names.
fn names_drivers(file: &File, drivers: &[Driver<'_>]) -> Vec<String> {
    let cure = "only `driver` names a driver: ask for what is needed of any of them";
    let modules: Vec<_> = drivers.iter().map(|it| it.module).collect();
    let variants: Vec<_> = drivers.iter().map(|it| it.variant).collect();
    let paths = [("driver", &modules), ("TargetPlan", &variants), ("Driver", &variants)];
    let found = paths.iter().flat_map(|(root, names)| paths_to(&file.shipped, root, names));
    let mut out: Vec<_> = found.map(|at| file.complain(&file.shipped, at, cure)).collect();
    if IGNORANT.contains(&room_of(&file.path)) {
        let quoted: Vec<_> = drivers.iter().map(|it| format!("\"{}\"", it.name)).collect();
        let lines = file.text.lines().zip(file.shipped.lines()).enumerate();
        let named = lines.filter(|(_, (text, code))| {
            !code.trim().is_empty() && quoted.iter().any(|name| text.contains(name))
        });
        out.extend(named.map(|(number, _)| format!("{}:{}: {cure}", file.path, number + 1)));
    }
    out
}

/// The files that may name a driver, from ARCHITECTURE.md.
fn driver_exceptions(document: &str) -> Vec<String> {
    let table = rows(section(document, "Who names a driver"));
    table.into_iter().map(|(path, _)| path.trim_matches('`').to_owned()).collect()
}

#[test]
fn no_room_but_driver_names_a_driver() {
    let (files, exceptions) = (tree(), driver_exceptions(&architecture()));
    let list = files.iter().find(|file| file.path == DRIVERS).expect("the list of drivers");
    let drivers = drivers(&list.text);
    assert!(drivers.len() > 2, "{DRIVERS}: {drivers:?}");
    let others = files
        .iter()
        .filter(|file| file.in_src() && !file.only_tests() && room_of(&file.path) != "driver");
    let (free, bound): (Vec<_>, _) = others.partition(|file| exceptions.contains(&file.path));
    clean(&bound.into_iter().flat_map(|file| names_drivers(file, &drivers)).collect::<Vec<_>>());
    let needed = |path: &&String| {
        free.iter().any(|it| it.path == **path && !names_drivers(it, &drivers).is_empty())
    };
    let idle: Vec<_> = exceptions.iter().filter(|path| !needed(path)).collect();
    assert!(idle.is_empty(), "ARCHITECTURE.md: {idle:?} need no exception: take them out");
}

#[test]
fn a_driver_that_is_named_is_found_in_every_form() {
    let list = "list::drivers! {\n    /// Words.\n    big_db: BigDb(BigPlan) = \"big\",\n    \
                x: X(P) = \"x\",\n}\nfoo: Bar(Baz) = \"no\",";
    let drivers = drivers(list);
    let big = Driver { module: "big_db", variant: "BigDb", name: "big" };
    assert_eq!(drivers, [big, Driver { module: "x", variant: "X", name: "x" }]);
    let found = |path: &str, code: &str| names_drivers(&File::new(path, code), &drivers).len();
    assert_eq!(found("src/cli/a.rs", "use crate::driver::big_db::Big;"), 1);
    assert_eq!(found("src/cli/a.rs", "use crate::{driver::{Card, big_db::{Big}}, x};"), 1);
    assert_eq!(found("src/cli/a.rs", "use super::super::driver::x;"), 1);
    assert_eq!(found("src/cli/a.rs", "match plan { TargetPlan::BigDb(it) => 1 }"), 1);
    assert_eq!(found("src/cli/a.rs", "f(driver::Driver::X(t), driver::TargetPlan::X)"), 2);
    assert_eq!(found("src/run/a.rs", "if name == \"big\" {}"), 1);
    assert_eq!(found("src/cli/a.rs", "if name == \"big\" {}"), 0);
    assert_eq!(found("src/run/a.rs", "// \"big\" driver::x\nf(\"bigger\") // it"), 0);
    assert_eq!(found("src/run/a.rs", "use crate::driver::{Card, fetch}; my_driver::x()"), 0);
    assert_eq!(found("src/run/a.rs", "MyDriver::X; TargetPlan::check(); driver::xs()"), 0);
    assert_eq!(found("src/run/a.rs", "#[cfg(test)]\nmod t {\n use crate::driver::x;\n}"), 0);
    let document = "## Who names a driver\n\nNone, but:\n\n| file | why |\n|---|---|\n\
                    | `src/a.rs` | so |\n\n## Next\n| b | c |\n|---|---|\n| d | e |\n";
    assert_eq!(driver_exceptions(document), ["src/a.rs"]);
}

// --- rooms and documents ---------------------------------------------------------------------

/// Compares the rooms of all crates with the layout.
fn rooms(paths: &[&str], document: &str) -> Vec<String> {
    let there: BTreeSet<&str> = paths.iter().map(|path| room_of(path)).collect();
    let layout = import_table(document);
    let layout: BTreeSet<&str> = layout.keys().map(String::as_str).collect();
    let say = |name: &&str, what| format!("ARCHITECTURE.md:1: room `{name}` {what}");
    let new = there.difference(&layout).map(|it| say(it, "is not in the layout: describe it"));
    let gone = layout.difference(&there).map(|it| say(it, "is not there: take it out"));
    new.chain(gone).collect()
}

#[test]
fn the_architecture_names_exactly_the_rooms() {
    let files = tree();
    let paths: Vec<&str> =
        files.iter().filter(|file| file.in_src()).map(|file| file.path.as_str()).collect();
    clean(&rooms(&paths, &architecture()));
}

#[test]
fn a_room_out_of_step_is_found() {
    let doc = "## Layout\n| r | m |\n|---|---|\n| a | nothing |\n| b | a |\n";
    let found = |paths: &[&str]| rooms(paths, doc).len();
    assert_eq!(found(&["src/a/mod.rs", "src/b.rs"]), 0);
    assert_eq!(found(&["src/a.rs", "src/b.rs", "src/c.rs"]), 1, "c is undescribed");
    assert_eq!(found(&["src/a.rs"]), 1, "b is gone");
}

/// Keep a Changelog: one title, `[Unreleased]` first, dated versions, known kinds of change.
fn changelog(file: &File) -> Vec<String> {
    let kinds = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];
    let (mut out, mut releases) = (Vec::new(), 0);
    for (number, line) in file.text.lines().enumerate() {
        let cure = if let Some(kind) = line.strip_prefix("### ") {
            (!kinds.contains(&kind))
                .then_some("use Added, Changed, Deprecated, Removed, Fixed, Security")
        } else if let Some(release) = line.strip_prefix("## ") {
            releases += 1;
            let good = if releases == 1 { release == "[Unreleased]" } else { is_dated(release) };
            (!good).then_some("write `[Unreleased]` first, then `[1.2.3] - 2026-01-31`")
        } else if number == 0 {
            (line != "# Changelog").then_some("start with `# Changelog`")
        } else {
            let entry = line.is_empty() || line.starts_with("- ") || line.starts_with("  ");
            (releases > 0 && !entry).then_some("write entries as `- …`, continued by two spaces")
        };
        out.extend(cure.map(|cure| format!("{}:{}: {cure}", file.path, number + 1)));
    }
    if releases == 0 {
        out.push(format!("{}:1: add `## [Unreleased]`", file.path));
    }
    out
}

/// `[1.2.3] - 2026-01-31`.
fn is_dated(release: &str) -> bool {
    let shape = |text: &str| {
        text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect::<String>()
    };
    release.strip_prefix('[').and_then(|rest| rest.split_once("] - ")).is_some_and(
        |(version, date)| {
            let parts: Vec<_> = version.split('.').collect();
            let numbers = parts.iter().all(|part| part.parse::<u32>().is_ok());
            parts.len() == 3 && numbers && shape(date) == "0000-00-00"
        },
    )
}

#[test]
fn the_changelog_keeps_its_form() {
    check(|file| file.path == "CHANGELOG.md", changelog);
}

#[test]
fn a_bad_changelog_is_found() {
    let found = |text: &str| changelog(&File::new("CHANGELOG.md", text)).len();
    let good = "# Changelog\n\nAll.\n\n## [Unreleased]\n\n\
         ### Added\n\n- a\n  b\n\n## [1.0.0] - 2026-01-31\n";
    assert_eq!(found(good), 0);
    assert_eq!(found(&good.replace("Added", "News")), 1);
    assert_eq!(found(&good.replace("[1.0.0] - ", "")), 1);
    assert_eq!(found(&good.replace("- a", "a")), 1);
    assert_eq!(found("# Changes\n"), 2);
}

// --- sizes and heads -------------------------------------------------------------------------

const LINES_MAX: usize = 500;
const COLUMNS_MAX: usize = 100;

fn length(file: &File) -> Vec<String> {
    let lines = file.text.lines().count() - file.test_lines;
    let cure = format!("{}:{lines}: over {LINES_MAX} lines without tests: split it", file.path);
    if lines > LINES_MAX { vec![cure] } else { Vec::new() }
}

/// Lines of code and prose. Tables, quoted blocks and addresses cannot be wrapped, and the text of
/// a literal is often sent as it is.
fn width(file: &File) -> Vec<String> {
    let (mut out, mut fenced) = (Vec::new(), false);
    for (number, line) in file.text.lines().enumerate() {
        fenced ^= !is_rust(&file.path) && line.trim_start().starts_with("```");
        let literal = is_rust(&file.path) && line.contains('"');
        let free = fenced || literal || line.starts_with('|') || line.contains("://");
        if !free && line.chars().count() > COLUMNS_MAX {
            out.push(format!("{}:{}: over {COLUMNS_MAX} columns: wrap it", file.path, number + 1));
        }
    }
    out
}

fn head(file: &File) -> Vec<String> {
    let cure = format!("{}:1: start with `//!`: what it knows and what it does not", file.path);
    if file.text.starts_with("//!") { Vec::new() } else { vec![cure] }
}

/// Arguments that are tuples. The remaining ones group a single value; this number only goes down.
const TUPLES_MAX: usize = 16;

/// The functions with an argument that is a tuple: rustfmt leaves only `: (` before its type.
fn tuple_arguments(file: &File) -> Vec<String> {
    let code = &file.shipped;
    let cure = "a tuple for an argument: use separate arguments, or a struct where they travel";
    let takes = |&(at, _): &(usize, &str)| {
        let ends = [" {\n", " {}", ";\n"].iter().filter_map(|end| code[at..].find(end));
        let head = &code[at..ends.min().map_or(code.len(), |end| at + end)];
        [": (", ": &(", ": &mut ("]
            .iter()
            .flat_map(|lead| head.split(lead).skip(1))
            .any(|types| types.split(')').next().is_some_and(|types| types.contains(',')))
    };
    let functions = code.match_indices("fn ").filter(takes);
    functions.map(|(at, _)| file.complain(code, at, cure)).collect()
}

#[test]
fn no_function_takes_another_tuple() {
    let select = |file: &&File| file.in_src() && !file.only_tests();
    let found: Vec<_> = tree().iter().filter(select).flat_map(tuple_arguments).collect();
    assert!(found.len() <= TUPLES_MAX, "over {TUPLES_MAX}:\n{}", found.join("\n"));
    assert_eq!(found.len(), TUPLES_MAX, "there are fewer now: lower TUPLES_MAX to that");
    let file = "fn a((x, y): (u8, u8)) -> (u8, u8) {\n}\nfn b(x: [u8; 2], f: fn(u8, u8)) {}\n\
        fn c<T>(\n    S { x, y }: S,\n    z: &mut (T, u8),\n) -> u8;\nfn d() -> (u8, u8) {}\n";
    assert_eq!(tuple_arguments(&File::new("src/a.rs", file)).len(), 2);
}

#[test]
fn files_are_short() {
    check(File::in_src, length);
}

#[test]
fn lines_are_short() {
    check(
        |file| is_rust(&file.path) || Path::new(&file.path).extension().is_some_and(|e| e == "md"),
        width,
    );
}

#[test]
fn every_module_says_what_it_is() {
    check(|file| is_rust(&file.path), head);
}

#[test]
fn long_files_long_lines_and_missing_heads_are_found() {
    let long = "x;\n".repeat(LINES_MAX);
    let tests = format!("{long}#[cfg(test)]\nmod tests {{\n{long}}}\n");
    assert_eq!(length(&File::new("src/a.rs", &tests)).len(), 0);
    assert_eq!(length(&File::new("src/a.rs", &format!("{long}y;\n"))).len(), 1);
    let wide = "é".repeat(COLUMNS_MAX);
    assert_eq!(width(&File::new("a.md", &wide)).len(), 0);
    assert_eq!(width(&File::new("a.md", &format!("{wide}é\n| {wide}\n```\n{wide}é"))).len(), 1);
    assert_eq!(head(&File::new("src/a.rs", "fn a() {}")).len(), 1);
}

// --- banned words ----------------------------------------------------------------------------

/// Complains of each place in a view where one of the words occurs as a whole word.
fn ban(file: &File, view: &str, words: &[&str], cure: &str) -> Vec<String> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let alone = |at: usize, word: &str| !word.starts_with(part) || !view[..at].ends_with(part);
    let found = words.iter().flat_map(|word| {
        let places = view.match_indices(word).filter(move |(at, _)| alone(*at, word));
        places.map(move |(at, _)| file.complain(view, at, &format!("`{word}`: {cure}")))
    });
    found.collect()
}

/// Clippy's lints refuse the macros in what it compiles, which is neither `fuzz/` nor
/// `tests/mutants/`; ignored tests with a reason it lets pass.
fn stubs(file: &File) -> Vec<String> {
    let words = ["todo!", "unimplemented!", "dbg!", "#[ignore"];
    ban(file, &file.code, &words, "finish it or take it out")
}

/// Clippy lets re-exports and preludes pass.
fn globs(file: &File) -> Vec<String> {
    ban(file, &file.shipped, &["::*", "{*"], "name what is imported")
}

/// The names that must not be used for states, from ARCHITECTURE.md.
fn wrong_names(document: &str) -> Vec<String> {
    let rows = rows(section(document, "Names of states"));
    rows.iter().flat_map(|(_, never)| never.split(", ").map(str::to_owned)).collect()
}

fn misnames(file: &File, names: &[String]) -> Vec<String> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    ban(file, &file.text, &names, "ARCHITECTURE.md, *Names of states*, has its name")
}

#[test]
fn states_have_one_name() {
    let names = wrong_names(&architecture());
    assert!(names.len() >= 12, "{names:?}");
    let in_scope = |file: &File| file.in_src() || file.path.starts_with("docs/");
    check(|file| in_scope(file) || file.path == "README.md", |file| misnames(file, &names));
    let file = File::new("docs/a.md", "The result not valid,\nand a downtime of 3 s.");
    assert_eq!(misnames(&file, &names).len(), 2);
}

#[test]
fn there_are_no_stubs_and_no_ignored_tests() {
    check(|file| is_rust(&file.path), stubs);
}

#[test]
fn nothing_is_imported_by_glob() {
    check(|file| file.in_src() && !file.only_tests(), globs);
}

#[test]
fn banned_words_are_found() {
    let file = File::new(
        "src/a/b.rs",
        "pub use x::*; // todo!\nfn f() { todo!(); my_todo!() }\n#[ignore = \"why\"]\n\
         fn g() { h(\"dbg!\") }\n#[cfg(test)]\nmod tests { use super::*; }",
    );
    let cure = "finish it or take it out";
    let found = ["src/a/b.rs:2: `todo!`", "src/a/b.rs:3: `#[ignore`"];
    assert_eq!(stubs(&file), found.map(|it| format!("{it}: {cure}")));
    assert_eq!(globs(&file), ["src/a/b.rs:1: `::*`: name what is imported"]);
}

// --- workloads -------------------------------------------------------------------------------

/// Stored names of stages that are not used for anything else.
const STAGES: [&str; 4] = ["\"crud\"", "\"warm_up\"", "\"replicated\"", "\"burst_"];

/// The modules of workloads and the types of their settings, from the list in
/// `crates/workload/src/lib.rs`.
fn workloads(list: &str) -> Vec<(String, String)> {
    let lines = list.lines().skip_while(|line| !line.starts_with("workloads! {"));
    let line = |line: &str| {
        let (module, settings) =
            line.split_once("=> ")?.1.trim_end_matches(',').split_once("::")?;
        Some((module.to_owned(), settings.to_owned()))
    };
    lines.take_while(|line| !line.starts_with('}')).filter_map(line).collect()
}

/// Only a workload's own file knows its stored settings. Code that asks for a workload may name the
/// request: dialects and claims. All others go through the list.
fn names_workloads(file: &File, list: &[(String, String)]) -> Vec<String> {
    let stored = list.iter().map(|(_, settings)| settings.as_str());
    let words: Vec<&str> = stored.chain(["WorkloadPlan::"]).collect();
    let mut out = ban(file, &file.shipped, &words, "ask it through `StageWork`");
    // The measurements of YCSB's dialect are configured by the properties of its workloads.
    let asks = matches!(room_of(&file.path), "cli" | "selftest")
        || file.path == "crates/load/src/plan/ycsb_measurement.rs";
    if !asks {
        let modules: Vec<_> = list.iter().map(|(it, _)| format!("workload::{it}")).collect();
        let modules: Vec<&str> = modules.iter().map(String::as_str).collect();
        out.extend(ban(file, &file.shipped, &modules, "only what asks for a workload names it"));
    }
    let mut in_test = false;
    let views = file.code.lines().zip(file.shipped.lines());
    for (number, (line, (code, shipped))) in file.text.lines().zip(views).enumerate() {
        if !code.trim().is_empty() {
            in_test = shipped.trim().is_empty();
        }
        let comment = line.trim_start().starts_with("//");
        let named = STAGES.iter().find(|name| line.contains(**name));
        if let Some(name) = named.filter(|_| !in_test && !comment) {
            let number = number + 1;
            out.push(format!("{}:{number}: `{name}`: ask for its `Purpose`", file.path));
        }
    }
    out
}

fn workload_list() -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/workload/src/lib.rs");
    workloads(&std::fs::read_to_string(path).expect("the list of workloads is readable"))
}

#[test]
fn only_the_list_and_its_own_file_name_a_workload() {
    let list = workload_list();
    assert!(list.len() >= 5, "{list:?}");
    let select =
        |file: &File| file.in_src() && room_of(&file.path) != "workload" && !file.only_tests();
    check(select, |file| names_workloads(file, &list));
}

#[test]
fn named_workloads_are_found() {
    let list = workloads("workloads! {\n    \"crud\" => mixed::MixedPlan,\n}\n\"x\" => a::B,\n");
    assert_eq!(list, [("mixed".to_owned(), "MixedPlan".to_owned())]);
    let text = "use crate::workload::mixed::Asked;\n// \"crud\"\nfn f() { MixedPlan; }\n\
                fn g() { WorkloadPlan::Any; if name == \"crud\" {} }\n\
                #[cfg(test)]\nmod tests {\n fn h() { \"crud\" }\n}\n";
    let found = |path: &str| names_workloads(&File::new(path, text), &list);
    assert_eq!(found("src/run/a.rs").len(), 4, "{:?}", found("src/run/a.rs"));
    assert_eq!(found("src/cli/a.rs").len(), 3, "{:?}", found("src/cli/a.rs"));
}

// --- what only one machine has ---------------------------------------------------------------

/// Absolute paths on a developer's machine. Spelled in halves, so that this file passes.
fn machine_paths(file: &File) -> Vec<String> {
    let homes =
        [("/ho", "me/"), ("/Us", "ers/"), ("/ro", "ot/"), ("/wo", "rk/"), ("/worksp", "ace/")];
    let mut words: Vec<String> = homes.iter().map(|(a, b)| format!("{a}{b}")).collect();
    words.push(format!("{}/", env!("CARGO_MANIFEST_DIR")));
    let inside = |c: char| c.is_alphanumeric() || "._-~}".contains(c);
    let text = &file.text;
    let found = words.iter().flat_map(|word| {
        let places = text.match_indices(word).filter(|(at, _)| !text[..*at].ends_with(inside));
        places
            .map(move |(at, _)| file.complain(text, at, &format!("`{word}`: use a relative path")))
    });
    found.collect()
}

/// Addresses of registries: each machine configures its own.
fn registries(file: &File) -> Vec<String> {
    let hosts = [
        ("registry.np", "mjs.org"),
        ("registry.yarn", "pkg.com"),
        ("index.cra", "tes.io"),
        ("static.cra", "tes.io"),
        ("files.python", "hosted.org"),
        ("pypi.o", "rg/simple"),
        ("proxy.gol", "ang.org"),
    ];
    let words: Vec<String> = hosts.iter().map(|(a, b)| format!("{a}{b}")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    ban(file, &file.text, &words, "leave the registry to the machine's configuration")
}

fn resolved(file: &File) -> Vec<String> {
    let cure = "run `npm install --omit-lockfile-registry-resolved`";
    ban(file, &file.text, &["\"resolved\": \"http"], cure)
}

#[test]
fn no_file_holds_paths_of_a_machine() {
    check(|_| true, machine_paths);
}

#[test]
fn no_file_holds_a_registry() {
    check(|file| file.path != "Cargo.lock", registries);
}

#[test]
fn npm_lock_files_hold_no_addresses() {
    check(|file| file.path.ends_with("package-lock.json"), resolved);
}

#[test]
fn paths_and_registries_are_found() {
    let found = |text: &str| {
        let file = File::new("a.txt", text);
        (machine_paths(&file).len(), registries(&file).len(), resolved(&file).len())
    };
    assert_eq!(found(&format!("cd {}{}ann/x", "/ho", "me/")), (1, 0, 0));
    assert_eq!(
        found(&format!("http://h{}{}ann, target{}{}", "/ho", "me/", "/wo", "rk/")),
        (0, 0, 0)
    );
    assert_eq!(found(&format!("https://registry.np{}/x", "mjs.org")), (0, 1, 0));
    assert_eq!(found(&format!("\"resolved\"{}", ": \"https://h/x\"")), (0, 0, 1));
}

// --- packages --------------------------------------------------------------------------------

/// The mistakes in the list of files of a Cargo package.
fn packaged(package: &str, files: &str) -> Vec<String> {
    let lacks = |name: &&str| !files.lines().any(|file| file == *name);
    let missing = ["Cargo.lock", "LICENSE-APACHE", "LICENSE-MIT"].into_iter().filter(lacks);
    let missing = missing.map(|name| format!("{package}: its package lacks {name}"));
    let of_tests = |file: &&str| {
        let file = File::new(file, "");
        file.only_tests()
            || ["tests/", "/snapshots/", "proptest-"].iter().any(|it| file.path.contains(it))
    };
    let junk = files.lines().filter(of_tests);
    missing.chain(junk.map(|file| format!("{package}: no user needs {file}: exclude it"))).collect()
}

#[test]
fn packages_have_what_users_need() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = std::fs::read_dir(root.join("crates")).expect("a folder").flatten();
    let names = crates.map(|it| format!("springload-{}", it.file_name().to_string_lossy()));
    let complaints = names.chain(["springload".to_owned()]).flat_map(|name| {
        let listed = Command::new(env!("CARGO"))
            .args(["package", "--list", "--allow-dirty", "--offline", "--package", &name])
            .current_dir(root)
            .output()
            .expect("cargo starts");
        let said = String::from_utf8_lossy(&listed.stderr);
        assert!(listed.status.success(), "{name}: {said}");
        packaged(&name, &String::from_utf8_lossy(&listed.stdout))
    });
    clean(&complaints.collect::<Vec<_>>());
}

#[test]
fn a_package_with_tests_or_without_licenses_is_found() {
    let good =
        "Cargo.lock\nLICENSE-APACHE\nLICENSE-MIT\nsrc/generate/latest.rs\nsrc/verb/selftest.rs\n";
    assert!(packaged("a", good).is_empty());
    let junk = ["src/a/tests.rs", "src/a/tests/b.rs", "src/a_tests.rs", "src/snapshots/a.snap"];
    for file in junk.into_iter().chain(["tests/a.rs", "proptest-regressions/a.txt"]) {
        assert_eq!(packaged("a", &format!("{good}{file}\n")).len(), 1, "{file}");
    }
    assert_eq!(packaged("a", "Cargo.lock\nLICENSE-MIT\n").len(), 1);
}
