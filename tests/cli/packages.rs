//! The scripts that make what a release consists of.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use crate::springload::BINARY;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn script(name: &str) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(root.join(".github").join(name));
    command.current_dir(root);
    command
}

#[track_caller]
fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The formula of a release with these archives.
fn formula(folder: &Path, targets: &[&str]) -> Output {
    let line = |(n, target): (usize, &&str)| {
        format!("{}  springload-{VERSION}-{target}.tar.gz\n", n.to_string().repeat(64))
    };
    let sums: String = targets.iter().enumerate().map(line).collect();
    fs::write(folder.join("SHA256SUMS"), sums).expect("a file");
    let mut command = script("formula.sh");
    command.args(["https://host/owner/springload", VERSION]).arg(folder.join("SHA256SUMS"));
    command.output().expect("it runs")
}

const TARGETS: [&str; 5] = [
    "aarch64-apple-darwin",
    "aarch64-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "x86_64-unknown-linux-gnu",
    "x86_64-unknown-linux-musl",
];

#[test]
fn an_archive_has_everything_and_the_formula_installs_from_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fs::write(at("NOTICES.txt"), "notices").expect("a file");
    // The program itself takes long to compress.
    fs::write(at("program"), format!("#!/bin/sh\nexec '{BINARY}' \"$@\"\n")).expect("a file");
    fs::set_permissions(at("program"), fs::Permissions::from_mode(0o755)).expect("it is ours");
    let mut pack = script("pack.sh");
    pack.arg(at("program")).arg("springload-x").arg(folder.path()).env("FILES", folder.path());
    printed(&pack.output().expect("it runs"));
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(at("springload-x.tar.gz")).arg("-C").arg(folder.path());
    printed(&tar.output().expect("tar is there"));
    let packed = at("springload-x");
    let program = Command::new(packed.join("springload")).arg("--version").output();
    assert_eq!(printed(&program.expect("it runs")), format!("springload {VERSION}\n"));
    for name in ["LICENSE-MIT", "LICENSE-APACHE", "NOTICES.txt", "README.md", "CHANGELOG.md"] {
        assert!(packed.join(name).is_file(), "{name}");
    }
    for page in ["springload.1.gz", "springload-run.1.gz"] {
        assert!(packed.join("man1").join(page).is_file(), "{page}");
    }
    let text = printed(&formula(folder.path(), &TARGETS));
    let completions = text.lines().filter_map(|line| line.split('"').nth(1));
    let completions: Vec<_> = completions.filter(|it| it.starts_with("completions/")).collect();
    assert_eq!(completions.len(), 3, "{text}");
    for name in completions {
        let script = fs::read_to_string(packed.join(name)).expect("a completion");
        assert!(script.contains("springload"), "{name}");
    }
}

/// The features that are asked for in a text, once for each time.
fn features(text: &str) -> Vec<BTreeSet<&str>> {
    let lists = text.split("--features ").skip(1);
    let lists = lists.map(|rest| rest.split_whitespace().next().unwrap_or_default());
    let lists = lists.map(|list| list.split(',').collect::<BTreeSet<_>>());
    // Other programs are installed as well.
    lists.filter(|list| list.contains("databases")).collect()
}

#[test]
fn what_is_built_from_source_can_do_all_that_a_release_can() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = |name: &str| fs::read_to_string(root.join(name)).expect("a file");
    let release = text(".github/workflows/release.yml");
    let [released] = &features(&release)[..] else { panic!("{release}") };
    for name in [".github/action/install.sh", "Dockerfile"] {
        let text = text(name);
        let built = features(&text);
        assert_eq!(built.len(), text.matches("--locked").count(), "{name}: one has none");
        assert!(built.iter().all(|it| it == released), "{name}: {built:?} {released:?}");
    }
    // Wheels and packages have Java's bindings of YCSB as well.
    let all = released | &BTreeSet::from(["ycsb-java"]);
    assert_eq!(features(&text("Makefile")), std::slice::from_ref(&all));
    let project = text("pyproject.toml");
    let line = project.lines().find_map(|line| line.strip_prefix("features = ["));
    let wheel = line.expect("a list").split('"').filter(|it| it.contains(char::is_alphabetic));
    assert_eq!(wheel.collect::<BTreeSet<_>>(), all);
    assert_eq!(features("cargo build --locked\ncargo install --features cli x"), []);
}

#[test]
fn the_guide_names_the_drivers_that_are_always_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = |name: &str| fs::read_to_string(root.join(name)).expect("a file");
    let drivers = text("crates/driver/src/lib.rs");
    let (_, drivers) = drivers.split_once("drivers! {\n").expect("the list");
    let (drivers, _) = drivers.split_once("\n}").expect("its end");
    let guide = text("docs/install.md");
    let row = guide.lines().find(|line| line.contains("| `cargo install --path .` |"));
    let row = row.expect("the row").to_lowercase();
    let (named, lacking) = row.split_once("every driver but").expect("what is not there");
    for line in drivers.lines() {
        let (name, own) = line.trim().split_once(": ").expect("a driver");
        let has_feature = own.contains(" if ");
        let word = if name == "ycsb_java" { "java" } else { name };
        // `basic` is no database.
        assert!(name == "basic" || named.contains(word) != has_feature, "{name}: {row}");
        assert_eq!(lacking.contains(word), has_feature, "{name}: {row}");
    }
}

#[test]
fn any_user_of_the_image_can_save_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("Dockerfile")).expect("a file");
    let made = text.lines().find(|line| line.contains("mkdir -p /image")).expect("the folders");
    let open = text.lines().find_map(|line| line.trim().strip_prefix("&& chmod 1777 "));
    let open: BTreeSet<_> = open.expect("a mode").trim_end_matches(" \\").split(' ').collect();
    assert_eq!(open, BTreeSet::from(["/image/runs", "/image/tmp"]));
    assert!(open.iter().all(|folder| made.contains(folder)), "{made}");
}

/// Each archive of a formula: for which system and processor, its address and its sum.
fn archives(formula: &str) -> Vec<[String; 4]> {
    let (mut archives, mut place) = (Vec::new(), [""; 3]);
    for line in formula.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        match words[..] {
            [system @ ("on_macos" | "on_linux"), "do"] => place[0] = system,
            [processor @ ("on_arm" | "on_intel"), "do"] => place[1] = processor,
            ["url", address] => place[2] = address.trim_matches('"'),
            ["sha256", sum] => {
                let [system, processor, address] = place;
                let sum = sum.trim_matches('"');
                archives.push([system, processor, address, sum].map(str::to_owned));
            }
            _ => {}
        }
    }
    archives
}

#[test]
fn a_formula_names_each_archive_with_its_sum() {
    let folder = tempfile::tempdir().expect("a folder");
    let found = archives(&printed(&formula(folder.path(), &TARGETS)));
    let wanted = [(0, "on_macos", "on_arm"), (2, "on_macos", "on_intel")];
    let wanted = wanted.into_iter().chain([(1, "on_linux", "on_arm"), (3, "on_linux", "on_intel")]);
    let wanted = wanted.map(|(n, system, processor)| {
        let releases = "https://host/owner/springload/releases/download";
        let address = format!("{releases}/v{VERSION}/springload-{VERSION}-{}.tar.gz", TARGETS[n]);
        [system.to_owned(), processor.to_owned(), address, n.to_string().repeat(64)]
    });
    assert_eq!(found, wanted.collect::<Vec<_>>());
    let lacking = formula(folder.path(), &TARGETS[1..]);
    assert!(!lacking.status.success());
    let message = String::from_utf8_lossy(&lacking.stderr);
    assert!(message.contains("aarch64-apple-darwin.tar.gz"), "{message}");
}
