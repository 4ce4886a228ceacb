//! Files of a crate that name each other in a circle, so that none can be read without the others.
//!
//! A file names another by a path to something that is defined there, by whatever re-exports it
//! leads. Re-exports themselves do not count, nor does what only tests compile, nor what the file
//! of a folder takes from the files in it: it holds them together.

use super::{File, closing, home_of, no_more, shipped, top_level, tree};
use std::collections::{BTreeMap, BTreeSet};

/// How many files of each crate may be in circles. These numbers only go down.
const CIRCLED_MAX: [(&str, usize); 8] = [
    ("core", 0),
    ("driver", 0),
    ("embedded", 0),
    ("engine", 0),
    ("load", 0),
    ("report", 0),
    ("springload", 0),
    ("workload", 0),
];

/// More steps than any path takes through imports. It ends names that stand for each other.
const STEPS_MAX: usize = 12;

/// The names in a path. Of a module, those from the root of its crate.
type Names = Vec<String>;

/// A file of a crate.
struct Module {
    path: String,
    /// What imported and re-exported names stand for.
    imported: BTreeMap<String, Names>,
    /// The paths in it that count.
    named: Vec<Named>,
}

struct Named {
    names: Names,
    is_import: bool,
}

/// An import, by the name that it has in the file.
struct Import {
    name: String,
    names: Names,
}

/// A module, and the names that follow from there.
struct Route {
    module: Names,
    rest: Names,
}

/// The names in a path as written.
fn names_in(path: &str) -> impl Iterator<Item = String> {
    path.split("::").map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned)
}

/// The module in a file of a crate, by the path inside its `src/`.
fn module_of(inside: &str) -> Names {
    let inside = inside.strip_suffix(".rs").unwrap_or(inside);
    let inside = inside.strip_suffix("/mod").unwrap_or(inside);
    if inside == "lib" { Names::new() } else { inside.split('/').map(str::to_owned).collect() }
}

fn below(module: &[String], name: &str) -> Names {
    let mut names = module.to_vec();
    names.push(name.to_owned());
    names
}

/// Adds what is imported by `tree`, which follows `lead`.
fn read_imports(lead: &[String], tree: &str, imports: &mut Vec<Import>) {
    let mut names = lead.to_vec();
    if let Some(open) = tree.find('{') {
        names.extend(names_in(&tree[..open]));
        let inner = &tree[open + 1..closing(tree, open) - 1];
        let parts = top_level(inner).filter(|part| !part.trim().is_empty());
        parts.for_each(|part| read_imports(&names, part, imports));
        return;
    }
    let (path, alias) = tree.split_once(" as ").unwrap_or((tree, ""));
    names.extend(names_in(path));
    if names.last().is_some_and(|last| last == "self") {
        names.pop();
    }
    let name = Some(alias.trim()).filter(|alias| !alias.is_empty()).map(str::to_owned);
    if let Some(name) = name.or_else(|| names.last().cloned()) {
        imports.push(Import { name, names });
    }
}

/// The paths of several names in code.
fn written(code: &str) -> impl Iterator<Item = Names> {
    let apart = |c: char| !c.is_alphanumeric() && c != '_' && c != ':';
    // What follows a type in `<>` is inside that type.
    let words = code.split(apart).filter(|word| !word.starts_with(':'));
    words.map(|word| names_in(word).collect::<Names>()).filter(|names| names.len() > 1)
}

impl Module {
    fn new(file: &File) -> Self {
        let code = &file.shipped;
        let (mut imported, mut named) = (BTreeMap::new(), Vec::new());
        let mut others = code.clone();
        for (at, word) in code.match_indices("use ") {
            let line = code[..at].rfind('\n').map_or(0, |end| end + 1);
            let before = code[line..at].trim();
            let is_shared = before == "pub" || before.starts_with("pub(") && before.ends_with(')');
            let Some(end) = code[at..].find(';').map(|length| at + length) else { continue };
            if !before.is_empty() && !is_shared {
                continue;
            }
            others.replace_range(at..end, &" ".repeat(end - at));
            if code[..line].trim_end().ends_with("#[cfg(test)]") {
                continue;
            }
            let mut imports = Vec::new();
            read_imports(&[], &code[at + word.len()..end], &mut imports);
            for Import { name, names } in imports {
                imported.insert(name, names.clone());
                named.extend((!is_shared).then_some(Named { names, is_import: true }));
            }
        }
        named.extend(written(&others).map(|names| Named { names, is_import: false }));
        Self { path: file.path.clone(), imported, named }
    }
}

/// The files of a crate, by their modules.
struct Crate {
    modules: BTreeMap<Names, Module>,
}

impl Crate {
    /// Where the path `names` leads to from the module `at`; `None`: to another crate, or to
    /// something that is no module. It follows imports for this many steps.
    fn route(&self, at: &[String], names: &[String], steps: usize) -> Option<Route> {
        let (first, rest) = names.split_first()?;
        let route = |module: &[String], rest: &[String]| {
            Some(Route { module: module.to_vec(), rest: rest.to_vec() })
        };
        match first.as_str() {
            "crate" => route(&[], rest),
            "self" => route(at, rest),
            "super" => {
                let up = names.iter().take_while(|name| name.as_str() == "super").count();
                route(&at[..at.len().checked_sub(up)?], &names[up..])
            }
            _ if self.modules.contains_key(&below(at, first)) => route(at, names),
            _ => {
                let meant = self.modules.get(at)?.imported.get(first)?;
                let steps = steps.checked_sub(1).filter(|_| meant.as_slice() != names)?;
                let mut route = self.route(at, meant, steps)?;
                route.rest.extend_from_slice(rest);
                Some(route)
            }
        }
    }

    /// The module that defines what is at the end of a route; `None`: another crate does.
    fn definer(&self, mut route: Route) -> Option<Names> {
        for _ in 0..STEPS_MAX {
            let Some((first, rest)) = route.rest.split_first() else { break };
            let inner = below(&route.module, first);
            if self.modules.contains_key(&inner) {
                route = Route { module: inner, rest: rest.to_vec() };
                continue;
            }
            let Some(meant) = self.modules.get(&route.module)?.imported.get(first) else { break };
            let mut next = self.route(&route.module, meant, STEPS_MAX)?;
            if next.module == route.module && next.rest.first() == Some(first) {
                break;
            }
            next.rest.extend_from_slice(rest);
            route = next;
        }
        Some(route.module)
    }

    /// The module that a path in the module `at` counts for.
    fn other(&self, at: &[String], named: &Named) -> Option<Names> {
        let route = self.route(at, &named.names, STEPS_MAX)?;
        let whole = [route.module.as_slice(), route.rest.as_slice()].concat();
        // An imported module counts where something in it is named.
        if named.is_import && self.modules.contains_key(&whole) {
            return None;
        }
        let definer = self.definer(route)?;
        (self.modules.contains_key(&definer) && !definer.starts_with(at)).then_some(definer)
    }

    /// The files in circles, each with those of them that it names.
    fn circled(&self) -> Vec<String> {
        let others = |(at, module): (&Names, &Module)| {
            let others: BTreeSet<Names> =
                module.named.iter().filter_map(|named| self.other(at, named)).collect();
            (at.clone(), others)
        };
        let others: BTreeMap<Names, BTreeSet<Names>> = self.modules.iter().map(others).collect();
        let comes_back = |start: &Names| {
            let (mut seen, mut left) = (BTreeSet::new(), vec![start]);
            while let Some(at) = left.pop() {
                left.extend(others[at].iter().filter(|module| seen.insert(*module)));
            }
            seen.contains(start)
        };
        let circled: BTreeSet<&Names> = others.keys().filter(|at| comes_back(at)).collect();
        let path = |module: &Names| self.modules[module].path.as_str();
        let line = |at: &&Names| {
            let named = others[*at].iter().filter(|module| circled.contains(module));
            format!("{} names {}", path(at), named.map(path).collect::<Vec<_>>().join(", "))
        };
        circled.iter().map(line).collect()
    }
}

/// The files in circles by the names of their crates.
fn circles(files: &[File]) -> BTreeMap<String, Vec<String>> {
    let module = |file: &&File| {
        let (_, inside) = home_of(&file.path)?;
        Some((module_of(inside), Module::new(file)))
    };
    let circled = |(name, files): (&str, Vec<&File>)| {
        let of = Crate { modules: files.iter().filter_map(module).collect() };
        (name.to_owned(), of.circled())
    };
    shipped(files).into_iter().map(circled).collect()
}

#[test]
fn no_more_files_name_each_other() {
    let cure = "move what both need to a file below them";
    no_more("files in circles", &circles(&tree()), &CIRCLED_MAX, cure);
}

#[test]
fn files_in_a_circle_are_found_and_others_are_not() {
    let found = |files: &[(&str, &str)]| {
        let file = |(name, text): &(&str, &str)| File::new(&format!("crates/x/src/{name}"), text);
        let root = File::new("crates/x/src/lib.rs", "mod a;\nmod b;\nmod c;\npub use a::A;\n");
        let files: Vec<_> = files.iter().map(file).chain([root]).collect();
        circles(&files)["x"].clone()
    };
    let used = ("b.rs", "pub struct B;\n");
    // However the second file names the first.
    for back in [
        "use super::a::A;",
        "use crate::{\n    a::{self, A},\n    c,\n};",
        "use crate::A as Other;",
        "fn f(a: crate::a::A) {}",
        "use super::a;\nfn f(a: a::A) {}",
        "pub(crate) use super::a;\nfn f() {\n    a::A::new();\n}",
    ] {
        let circled = found(&[("a.rs", "use super::b::B;\npub struct A(B);\n"), ("b.rs", back)]);
        let [a, b] = ["crates/x/src/a.rs", "crates/x/src/b.rs"];
        assert_eq!(circled, [format!("{a} names {b}"), format!("{b} names {a}")], "{back}");
    }
    for innocent in [
        "// crate::a::A",
        "use super::c::C;\nuse other::a::A;",
        "pub use super::a::A;",
        "use super::a;",
        "#[cfg(test)]\nuse super::a::A;",
        "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}",
    ] {
        let files = [("a.rs", "use super::b::B;\npub struct A(B);\n"), ("b.rs", innocent)];
        assert_eq!(found(&files), [""; 0], "{innocent}");
    }
    // A longer way round, and a file that only looks at the circle.
    let long = [
        ("a.rs", "use crate::b::B;"),
        ("b.rs", "use super::c::d::D;"),
        ("c/mod.rs", "mod d;\nuse d::D;\nuse crate::a::A;"),
        ("c/d.rs", "use super::super::a;\nfn f() {\n    a::f();\n}"),
    ];
    assert_eq!(found(&long).len(), 3, "{:?}", found(&long));
    // A folder's file and those in it, which are one thing.
    let folder = [("c/mod.rs", "mod d;\nuse d::D;\npub struct C(D);"), ("c/d.rs", "use super::C;")];
    assert_eq!(found(&[folder[0], folder[1], used]), [""; 0]);
}
