//! Runs the unit tests: each one alone, to see which changes it reaches; and then, for each change,
//! those that reach it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::builds::Program;

const LEAST_LIMIT: Duration = Duration::from_secs(10);
/// Tests are run in one process as long as they take no longer than this together.
const TOGETHER: Duration = Duration::from_millis(500);
/// A change that tests of this total duration do not catch counts as missed: the slowest tests
/// reach nearly every change, and would take nearly all of the time.
const ENOUGH: Duration = Duration::from_secs(10);

/// A test, and its duration.
#[derive(Clone, Debug)]
struct Test {
    program: usize,
    name: String,
    took: Duration,
}

/// The tests that pass, and which of them reach each change.
pub struct Reach {
    programs: Vec<Program>,
    tests: Vec<Test>,
    by_change: BTreeMap<usize, Vec<usize>>,
    /// Tests that fail without any change.
    pub broken: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Caught,
    Missed,
    NotReached,
}

#[derive(Debug, PartialEq)]
enum End {
    Passed,
    Failed,
    /// By a signal, or because of its time limit.
    Killed,
}

impl Reach {
    /// Runs every test by itself.
    pub fn find(programs: &[Program], folder: &Path) -> io::Result<Self> {
        let mut tests = Vec::new();
        for (at, program) in programs.iter().enumerate() {
            let mut list = command(program, "");
            let list = list.args(["--list", "--format=terse"]).stdout(Stdio::piped()).output()?;
            let list = String::from_utf8_lossy(&list.stdout).into_owned();
            let names = list.lines().filter_map(|line| line.strip_suffix(": test"));
            tests.extend(names.map(|name| (at, name.to_owned())));
        }
        fs::create_dir_all(folder)?;
        let done = Mutex::new(Vec::new());
        side_by_side(tests.len(), |at| {
            let (program, name) = &tests[at];
            let trace = folder.join(at.to_string());
            let _ = fs::remove_file(&trace);
            let start = Instant::now();
            let limit = Duration::from_secs(120);
            let asked = trace.to_string_lossy();
            let end = run(&programs[*program], &asked, &[name], limit).unwrap_or(End::Failed);
            let test = Test { program: *program, name: name.clone(), took: start.elapsed() };
            let numbers = fs::read_to_string(&trace).unwrap_or_default();
            let _ = fs::remove_file(&trace);
            done.lock().unwrap().push((test, end, numbers));
            true
        });
        let mut done = done.into_inner().unwrap();
        done.sort_by_key(|(test, ..)| test.took);
        let (mut tests, mut broken) = (Vec::new(), Vec::new());
        let mut by_change: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (test, end, numbers) in done {
            if end != End::Passed {
                broken.push(test.name);
                continue;
            }
            for number in numbers.lines().filter_map(|line| line.parse().ok()) {
                by_change.entry(number).or_default().push(tests.len());
            }
            tests.push(test);
        }
        Ok(Self { programs: programs.to_vec(), tests, by_change, broken })
    }

    pub fn tests(&self) -> usize {
        self.tests.len()
    }

    /// Tries the changes, in this order, until time runs out.
    pub fn try_all(&self, changes: &[usize], until: Instant) -> BTreeMap<usize, Fate> {
        let fates = Mutex::new(BTreeMap::new());
        side_by_side(changes.len(), |at| {
            let fate = self.fate(changes[at]);
            fates.lock().unwrap().insert(changes[at], fate);
            Instant::now() < until
        });
        fates.into_inner().unwrap()
    }

    fn fate(&self, change: usize) -> Fate {
        let Some(reaching) = self.by_change.get(&change) else { return Fate::NotReached };
        let groups = self.groups(reaching);
        let caught = enough(&groups).iter().any(|group| self.catches(change, group));
        if caught { Fate::Caught } else { Fate::Missed }
    }

    /// Tests that run in one process, the fastest first.
    fn groups(&self, reaching: &[usize]) -> Vec<Vec<&Test>> {
        let (mut groups, mut open) = (Vec::<Vec<&Test>>::new(), BTreeMap::new());
        for test in reaching.iter().map(|at| &self.tests[*at]) {
            let (group, took) = open.entry(test.program).or_insert((usize::MAX, TOGETHER));
            if *group == usize::MAX || *took + test.took > TOGETHER {
                (*group, *took) = (groups.len(), Duration::ZERO);
                groups.push(Vec::new());
            }
            *took += test.took;
            groups[*group].push(test);
        }
        groups.sort_by_key(|group| took(group));
        groups
    }

    /// A failure must be reproduced: a test that fails by chance catches nothing.
    fn catches(&self, change: usize, group: &[&Test]) -> bool {
        let program = &self.programs[group[0].program];
        let names: Vec<&str> = group.iter().map(|test| test.name.as_str()).collect();
        let limit = LEAST_LIMIT.max(took(group) * 5);
        let asked = change.to_string();
        let mut ends = (0..2).map(|_| run(program, &asked, &names, limit).unwrap_or(End::Passed));
        match ends.next() {
            Some(End::Killed) => true,
            Some(End::Failed) => ends.next() != Some(End::Passed),
            _ => false,
        }
    }
}

/// The first groups, until their total duration is long enough; at least one.
fn enough<'a, 'b>(groups: &'a [Vec<&'b Test>]) -> &'a [Vec<&'b Test>] {
    let mut spent = Duration::ZERO;
    let more = |group: &&Vec<&Test>| {
        spent += took(group);
        spent <= ENOUGH
    };
    let count = groups.iter().take_while(more).count();
    &groups[..count.max(1).min(groups.len())]
}

fn took(group: &[&Test]) -> Duration {
    group.iter().map(|test| test.took).sum()
}

/// Calls `work` with each number below `count`, on all processors, until it returns false.
fn side_by_side(count: usize, work: impl Fn(usize) -> bool + Sync) {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= count || !work(at) {
                        break;
                    }
                }
            });
        }
    });
}

fn command(program: &Program, asked: &str) -> Command {
    let mut command = Command::new(&program.path);
    command
        .current_dir(&program.folder)
        .env("CARGO_MANIFEST_DIR", &program.folder)
        .env("RUST_BACKTRACE", "0")
        .env("SPRINGLOAD_STATE", "")
        .env("SPRINGLOAD_MUTANT", asked)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    command
}

fn run(program: &Program, asked: &str, names: &[&str], limit: Duration) -> io::Result<End> {
    let mut command = command(program, asked);
    let child = command.arg("--exact").args(names).arg("--test-threads=1").spawn()?;
    let status = wait(child, limit)?;
    Ok(match status {
        Some(status) if status.success() => End::Passed,
        Some(status) if status.signal().is_none() => End::Failed,
        _ => End::Killed,
    })
}

/// How a process ended. `None` if it ran out of time: then it and its children are killed.
fn wait(mut child: Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let (start, mut nap) = (Instant::now(), Duration::from_millis(1));
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() > limit {
            let group = format!("-{}", child.id());
            Command::new("kill").args(["-KILL", "--", &group]).status()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(nap);
        nap = (nap * 2).min(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_run_together_as_long_as_they_are_fast() {
        let test =
            |program, ms| Test { program, name: String::new(), took: Duration::from_millis(ms) };
        let tests = vec![test(0, 100), test(1, 150), test(0, 300), test(0, 400)];
        let by_change = BTreeMap::from([(1, vec![0, 1, 2, 3])]);
        let reach = Reach { programs: Vec::new(), tests, by_change, broken: Vec::new() };
        let groups = reach.groups(&[0, 1, 2, 3]);
        let ms = |group: &Vec<&Test>| took(group).as_millis();
        assert_eq!(groups.iter().map(ms).collect::<Vec<_>>(), [150, 400, 400]);
        assert_eq!(reach.fate(2), Fate::NotReached);
        assert_eq!(enough(&groups).len(), 3);
        let slow = [test(0, 10_000), test(0, 1), test(0, 10_001)];
        let groups = |order: [usize; 3]| order.map(|at| vec![&slow[at]]);
        assert_eq!(enough(&groups([0, 1, 2])).len(), 1);
        assert_eq!(enough(&groups([1, 0, 2])).len(), 1);
        assert_eq!(enough(&groups([2, 0, 1])).len(), 1, "one is tried, however slow it is");
    }

    #[test]
    fn a_process_that_hangs_is_killed() {
        let sleep = |time: &str| Command::new("sleep").arg(time).process_group(0).spawn();
        let limit = Duration::from_millis(100);
        assert_eq!(wait(sleep("60").expect("sleep is there"), limit).expect("killed"), None);
        let done = wait(sleep("0").expect("sleep is there"), Duration::from_secs(60));
        assert!(done.expect("waited for").is_some_and(|status| status.success()));
    }
}
