//! No crate of a lock file has an open advisory of `RustSec`'s, as of the date at the top of
//! advisories.csv. `cargo deny check advisories` says the same as of today, but needs the network.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use semver::{Version, VersionReq};
use toml::de::{DeTable, DeValue};

const LOCK_FILES: [&str; 3] = ["Cargo.lock", "fuzz/Cargo.lock", "tests/mutants/Cargo.lock"];
const COLUMNS: &str = "advisory,kind,crate,patched,unaffected";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn parsed(toml: &str) -> DeValue<'_> {
    DeValue::Table(DeTable::parse(toml).expect("TOML").into_inner())
}

fn text<'t>(table: &'t DeValue<'_>, key: &str) -> Option<&'t str> {
    table.get(key)?.get_ref().as_str()
}

/// The elements of a list; none if there is no such list.
fn list<'t, 'i>(table: &'t DeValue<'i>, key: &str) -> impl Iterator<Item = &'t DeValue<'i>> {
    let list = table.get(key).and_then(|list| list.get_ref().as_array());
    list.into_iter().flat_map(|list| list.iter()).map(toml::Spanned::get_ref)
}

/// One advisory: which versions of a crate it is not about.
struct Advisory {
    id: String,
    kind: String,
    package: String,
    /// Versions that have the fix, then those that never had the fault.
    spared: Vec<VersionReq>,
}

impl Advisory {
    fn new(line: &str) -> Self {
        let cells: Vec<&str> = line.split(',').collect();
        let [id, kind, package, patched, unaffected] = cells[..] else {
            panic!("five columns: {line}")
        };
        let requirement = |text: &str| {
            let text = text.replace('&', ",");
            VersionReq::parse(&text).unwrap_or_else(|error| panic!("{line}: {error}"))
        };
        let ranges = patched.split('|').chain(unaffected.split('|'));
        let spared = ranges.filter(|range| !range.is_empty()).map(requirement).collect();
        Self { id: id.to_owned(), kind: kind.to_owned(), package: package.to_owned(), spared }
    }

    fn concerns(&self, locked: &Locked) -> bool {
        let spares = |range: &VersionReq| range.matches(&locked.version);
        self.package == locked.package && !self.spared.iter().any(spares)
    }
}

/// A crate of a lock file.
struct Locked {
    package: String,
    version: Version,
}

fn locked(lock_file: &str) -> Vec<Locked> {
    let lock = parsed(lock_file);
    let locked = list(&lock, "package").map(|package| Locked {
        package: text(package, "name").expect("a name").to_owned(),
        version: text(package, "version").expect("a version").parse().expect("numbers"),
    });
    locked.collect()
}

/// What the advisories in a table say of a lock file.
fn open(table: &str, lock_file: &str) -> Vec<String> {
    let lines = table.lines().filter(|line| !line.starts_with('#') && *line != COLUMNS);
    let advisories: Vec<Advisory> = lines.map(Advisory::new).collect();
    let mut open = Vec::new();
    for locked in locked(lock_file) {
        for advisory in advisories.iter().filter(|advisory| advisory.concerns(&locked)) {
            let (Advisory { id, kind, .. }, Locked { package, version }) = (advisory, &locked);
            open.push(format!("{package} {version}: {id} ({kind})"));
        }
    }
    open
}

#[test]
fn no_crate_has_an_open_advisory() {
    let path = root().join("tests/advisories.csv");
    if let Some(database) = std::env::var_os("UPDATE_ADVISORIES") {
        fs::write(&path, table(&PathBuf::from(database))).expect("the table written");
    }
    let table = read(&path);
    let date = table.lines().next().expect("a date");
    for lock_file in LOCK_FILES {
        let open = open(&table, &read(&root().join(lock_file)));
        assert!(open.is_empty(), "{lock_file} {date}: {open:#?}\nupdate these crates");
    }
}

#[test]
fn planted_advisories_are_found_and_versions_with_the_fix_spared() {
    let table = "# as of today\nadvisory,kind,crate,patched,unaffected\n\
        R-1,vulnerability,burnt,>=2.1.0|>=1.9.4&<2.0.0,<1.5.0\nR-2,unmaintained,left,,\n";
    let lock = |package: &str, version: &str| {
        format!("[[package]]\nname = \"{package}\"\nversion = \"{version}\"\n")
    };
    for guilty in ["1.5.0", "1.9.3", "2.0.0", "2.0.9"] {
        let found = open(table, &lock("burnt", guilty));
        assert_eq!(found, [format!("burnt {guilty}: R-1 (vulnerability)")]);
    }
    for innocent in ["1.4.9", "1.9.4", "1.9.12", "2.1.0", "3.0.0"] {
        assert!(open(table, &lock("burnt", innocent)).is_empty(), "{innocent}");
    }
    assert_eq!(open(table, &lock("left", "9.0.0")), ["left 9.0.0: R-2 (unmaintained)"]);
    assert!(open(table, &lock("other", "1.5.0")).is_empty());
}

/// The table from a checkout of `RustSec`'s database: identifiers and versions, no texts.
fn table(database: &Path) -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(database).args(arguments).output();
        String::from_utf8(output.expect("git").stdout).expect("text")
    };
    let date = git(&["log", "-1", "--format=%cs"]);
    let files = git(&["ls-tree", "-r", "--name-only", "HEAD", "crates"]);
    let mut rows: Vec<String> =
        files.lines().filter_map(|file| row(&git(&["show", &format!("HEAD:{file}")]))).collect();
    assert!(rows.len() > 1000, "{} has few advisories: {}", database.display(), rows.len());
    rows.sort();
    format!("# as of {}\n{COLUMNS}\n{}\n", date.trim(), rows.join("\n"))
}

/// One advisory's line. None for one that was withdrawn, or is only a notice.
fn row(advisory: &str) -> Option<String> {
    let (_, rest) = advisory.split_once("```toml\n").expect("a header");
    let header = parsed(rest.split("```").next()?);
    let advisory = header.get("advisory")?.get_ref();
    let kind = text(advisory, "informational").unwrap_or("vulnerability");
    if advisory.get("withdrawn").is_some() || kind == "notice" {
        return None;
    }
    let versions = header.get("versions")?.get_ref();
    let ranges = |key: &str| {
        let texts = list(versions, key).filter_map(DeValue::as_str);
        let tight = texts.map(|range| range.replace(' ', "").replace(',', "&"));
        tight.collect::<Vec<_>>().join("|")
    };
    let (patched, unaffected) = (ranges("patched"), ranges("unaffected"));
    let (id, package) = (text(advisory, "id")?, text(advisory, "package")?);
    Some(format!("{id},{kind},{package},{patched},{unaffected}"))
}
