//! Mutation tests with a single build: all changes are woven into a copy of the tree, each behind a
//! switch, and tried with the unit tests that reach them. See docs/mutants.md.

mod builds;
mod change;
mod copy;
mod report;
mod trial;
mod weave;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::env;
use std::error::Error;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use builds::Program;
use change::Change;
use report::Row;
use trial::{Fate, Reach};
use weave::Woven;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const ROUNDS: usize = 40;
const CORE: &str = "crates/core/src/";

fn main() -> ExitCode {
    match make() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns whether enough changes are caught.
fn make() -> Result<bool> {
    let root = env::current_dir()?;
    let work = root.join("target/mutants");
    let files = copy::tracked(&root)?;
    let rooms = change::rooms(&fs::read_to_string(root.join(".cargo/mutants.toml"))?);
    let list = list(&root, &work.join("list"), &files, &rooms)?;
    let all = change::read(&list)?;
    for file in change::unseen(&files, &all, &rooms) {
        println!("nothing to change in {file}");
    }
    let asked = env::var("MUTANTS_FILE").unwrap_or_default();
    let changes: Vec<Change> =
        all.into_iter().filter(|c| change::within(&c.file, &asked)).collect();
    println!("{} changes", changes.len());

    let (programs, left_out) = weave_all(&root, &work, &files, &changes)?;
    let tried = Instant::now();
    let reach = Reach::find(&programs, &work.join("traces"))?;
    println!("{} tests traced in {:.0?}", reach.tests(), tried.elapsed());
    for test in &reach.broken {
        println!("left out, fails without a change: {test}");
    }
    let seconds = env::var("MUTANTS_SECONDS").ok().and_then(|text| text.parse().ok());
    let start = Instant::now();
    let until = start + Duration::from_secs(seconds.unwrap_or(3600));
    let numbers: Vec<usize> =
        spread((1..=changes.len()).filter(|number| !left_out.contains_key(number)).collect());
    let fates = reach.try_all(&shard(numbers)?, until);
    let hours = start.elapsed().as_secs_f64() / 3600.0;
    println!("{} tried in {:.0?}: ", fates.len(), start.elapsed());
    println!("{:.0} an hour", fates.len() as f64 / hours);
    tell(&work, &rooms, &changes, &left_out, &fates)
}

/// The list that cargo-mutants makes of a copy in which it finds every room.
fn list(root: &Path, copy: &Path, files: &[String], rooms: &[String]) -> Result<String> {
    for name in files.iter().filter(|name| name.ends_with(".rs") || name.ends_with(".toml")) {
        let mut text = fs::read_to_string(root.join(name))?;
        let roots = rooms.iter().filter_map(|room| change::declared(room));
        text.extend(roots.filter(|(root, _)| root == name).map(|(_, module)| module));
        copy::put(&copy.join(name), text.as_bytes())?;
    }
    copy::put(&copy.join("Cargo.lock"), &fs::read(root.join("Cargo.lock"))?)?;
    let arguments = ["mutants", "--workspace", "--list", "--json"];
    let output = Command::new("cargo").args(arguments).current_dir(copy).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Weaves and builds until everything left compiles. Returns the programs with the unit tests, and
/// the reasons changes were left out.
fn weave_all(
    root: &Path,
    work: &Path,
    files: &[String],
    changes: &[Change],
) -> Result<(Vec<Program>, BTreeMap<usize, &'static str>)> {
    let tree = work.join("tree");
    copy::prune(&tree, files)?;
    let memory = work.join("unviable.txt");
    let mut left_out = recall(root, &memory, changes)?;
    for round in 1..=ROUNDS {
        let start = Instant::now();
        let woven = write(root, &tree, files, changes, &mut left_out)?;
        let built = builds::build(&tree, &work.join("build"))?;
        let took = start.elapsed();
        println!("build {round}: {} errors, {took:.0?}", built.errors.len());
        std::io::stdout().flush()?;
        if built.succeeded {
            return Ok((built.programs, left_out));
        }
        let blamed = builds::blamed(&built.errors, &woven);
        if blamed.is_empty() {
            let errors = built.errors.iter().filter_map(|error| error.rendered.as_deref());
            return Err(format!("no change to blame:\n{}", errors.collect::<String>()).into());
        }
        left_out.extend(blamed.into_iter().map(|number| (number, report::UNVIABLE)));
        remember(root, &memory, changes, &left_out)?;
    }
    Err(format!("it does not compile after {ROUNDS} rounds").into())
}

/// Identifies a change as long as its file does not change.
fn key(root: &Path, change: &Change) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    fs::read(root.join(&change.file))?.hash(&mut hasher);
    Ok(format!("{:x} {}", hasher.finish(), change.name))
}

/// The changes that did not compile the last time their files were built.
fn recall(root: &Path, memory: &Path, changes: &[Change]) -> Result<BTreeMap<usize, &'static str>> {
    let text = fs::read_to_string(memory).unwrap_or_default();
    let known: HashSet<&str> = text.lines().collect();
    let mut left_out = BTreeMap::new();
    for (number, change) in (1..).zip(changes) {
        if known.contains(key(root, change)?.as_str()) {
            left_out.insert(number, report::UNVIABLE);
        }
    }
    Ok(left_out)
}

fn remember(
    root: &Path,
    memory: &Path,
    changes: &[Change],
    left_out: &BTreeMap<usize, &'static str>,
) -> Result<()> {
    let text = fs::read_to_string(memory).unwrap_or_default();
    let mut known: BTreeSet<String> = text.lines().map(str::to_owned).collect();
    for (number, _) in left_out.iter().filter(|(_, why)| **why == report::UNVIABLE) {
        known.insert(key(root, &changes[number - 1])?);
    }
    let lines: Vec<String> = known.into_iter().map(|line| line + "\n").collect();
    Ok(fs::write(memory, lines.concat())?)
}

/// Writes the copy, with all changes woven in except those left out.
fn write(
    root: &Path,
    tree: &Path,
    files: &[String],
    changes: &[Change],
    left_out: &mut BTreeMap<usize, &'static str>,
) -> Result<BTreeMap<String, Woven>> {
    let mut by_file: BTreeMap<&str, Vec<(usize, &Change)>> = BTreeMap::new();
    for (number, change) in (1..).zip(changes) {
        if !left_out.contains_key(&number) {
            by_file.entry(&change.file).or_default().push((number, change));
        }
    }
    let mut woven = BTreeMap::new();
    for name in files {
        let bytes = fs::read(root.join(name))?;
        let path: PathBuf = tree.join(name);
        let Some(changes) = by_file.get(name.as_str()) else {
            let mut bytes = bytes;
            if *name == format!("{CORE}lib.rs") {
                bytes.extend_from_slice(b"\n#[allow(missing_docs)]\npub mod mutant;\n");
            }
            copy::put(&path, &bytes)?;
            continue;
        };
        let home = if name.starts_with(CORE) { "crate" } else { "::springload_core" };
        let text = String::from_utf8(bytes)?;
        let file = weave::weave(&text, changes, &format!("{home}::mutant::is"))?;
        copy::put(&path, file.text.as_bytes())?;
        left_out.extend(file.left_out.iter().copied());
        woven.insert(name.clone(), file);
    }
    let switch = include_bytes!("switch.rs");
    copy::put(&tree.join(CORE).join("mutant.rs"), switch)?;
    Ok(woven)
}

/// Reorders the changes so that neighbors are far apart: any part of the list covers all rooms.
fn spread(mut numbers: Vec<usize>) -> Vec<usize> {
    numbers.sort_by_key(|number| (*number as u32).wrapping_mul(0x9e37_79b1));
    numbers
}

/// The part of the changes that `MUTANTS_SHARD` names, such as `3/40`.
fn shard(numbers: Vec<usize>) -> Result<Vec<usize>> {
    let Ok(asked) = env::var("MUTANTS_SHARD") else { return Ok(numbers) };
    let parts = asked.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
    let (part, of): (usize, usize) = parts.ok_or("MUTANTS_SHARD: not like 3/40")?;
    Ok(numbers.into_iter().skip(part).step_by(of.max(1)).collect())
}

fn tell(
    work: &Path,
    rooms: &[String],
    changes: &[Change],
    left_out: &BTreeMap<usize, &'static str>,
    fates: &BTreeMap<usize, Fate>,
) -> Result<bool> {
    let mut missed = String::new();
    let mut table: BTreeMap<String, Row> = BTreeMap::new();
    let mut total = Row::default();
    for (number, change) in (1..).zip(changes) {
        let room = rooms.iter().find(|room| change.file.starts_with(*room));
        let row = table.entry(room.map_or(String::new(), |room| change::title(room))).or_default();
        row.add(left_out.get(&number).copied(), fates.get(&number).copied());
        total.add(left_out.get(&number).copied(), fates.get(&number).copied());
        match fates.get(&number) {
            Some(Fate::Missed) => missed.push_str(&format!("{}\n", change.name)),
            Some(Fate::NotReached) => missed.push_str(&format!("{} (not reached)\n", change.name)),
            _ => {}
        }
    }
    fs::write(work.join("missed.txt"), missed)?;
    println!("{}", report::table(&table, &total));
    Ok(total.enough())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_the_order_is_spread() {
        let order = spread((1..=1000).collect());
        let first_half = order[..100].iter().filter(|number| **number <= 500).count();
        assert!((35..=65).contains(&first_half), "{first_half}");
    }
}
