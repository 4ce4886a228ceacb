//! Servers are killed, stopped and restarted during runs. The audit must then agree with a full
//! read of the database by another client.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use crate::ledger::Ledger;
use crate::springload::{Finished, Run, Running, number};
use crate::victims::Victim;

/// The number of kills in the test for that.
const ROUNDS: &str = "SPRINGLOAD_CHAOS_ROUNDS";

/// What happens to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blow {
    /// It is killed and started again.
    Kill,
    /// It freezes for longer than the timeout, and then continues.
    Freeze,
}

/// A run that is long enough for a blow in the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    Fill,
    Mixed,
}

impl Load {
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Fill => &["--workload", "bulk-insert", "--docs", "700", "--batch", "2"],
            Self::Mixed => {
                &["--docs", "200", "--batch", "25", "--ops", "400", "--think", "20ms", "--verify"]
            }
        }
    }

    /// The stage in which it is struck, and the size of the journal by then, in bytes.
    fn middle(self) -> (&'static str, u64) {
        match self {
            Self::Fill => ("0000", 8_000),
            Self::Mixed => ("0001", 4_000),
        }
    }
}

/// Waits until the journal of one stage has this many bytes in total.
fn until(run: &mut Running, (stage, bytes): (&str, u64)) {
    let journal = run.output().join("journal");
    for _ in 0..3_000 {
        let files = std::fs::read_dir(&journal).into_iter().flatten().flatten();
        let files = files.filter(|file| file.file_name().to_string_lossy().starts_with(stage));
        if files.map(|file| file.metadata().map_or(0, |it| it.len())).sum::<u64>() >= bytes {
            return;
        }
        assert!(!run.ended(), "{}", run.stderr());
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{} stays small", journal.display());
}

/// A run during which the server is struck.
fn struck(victim: &mut Victim, database: &str, load: Load, blow: Blow) -> Finished {
    let target = victim.target(database);
    let words = ["run", &target, "-c", "4", "--audit", "--keep", "--warmup", "0s"];
    let patient = ["--timeout", "1s", "--wait-for-server", "60s"];
    let mut run = Run::of(&words).args(load.words()).args(&patient).start();
    until(&mut run, load.middle());
    let down = Duration::from_millis(if blow == Blow::Freeze { 1_500 } else { 100 });
    match blow {
        Blow::Kill => victim.kill(),
        Blow::Freeze => assert!(victim.freeze(true)),
    }
    std::thread::sleep(down);
    match blow {
        Blow::Kill => victim.start_again(),
        Blow::Freeze => assert!(victim.freeze(false)),
    }
    run.finish()
}

/// The results of the audit by class; `ok` counts correct documents.
fn audited(run: &Finished) -> BTreeMap<String, u64> {
    let verify = run.operation("audit", "verify");
    let failures = verify["failures"].as_object().expect("failures").iter();
    let ok = ("ok".to_owned(), number(&verify["ok"]));
    let all = failures.map(|(class, count)| (class.clone(), number(count))).chain([ok]);
    all.filter(|(_, count)| *count > 0).collect()
}

/// Asserts that the audit is right, and that the blow had an effect. Returns the audit's results.
fn agrees(victim: &Victim, database: &str, run: &Finished) -> BTreeMap<String, u64> {
    let found = audited(run);
    let ledger = Ledger::of(&run.output());
    let truth = ledger.compare(&victim.documents(database));
    let name = victim.name;
    assert_eq!(found, truth, "{name}: {}", run.stderr);
    let wrong = truth.keys().any(|class| class != "ok");
    assert_eq!(run.code == 6, wrong, "{name}: {}", run.stderr);
    // The failures show that the server was away.
    let operations = run.stages().flat_map(|it| it["operations"].as_array().expect("a list"));
    let mut failures = operations.flat_map(|it| it["failures"].as_object().expect("failures"));
    let away = ["unanswered", "reset", "timeout", "connect"];
    assert!(failures.any(|(class, _)| away.contains(&&class[..])), "{name}: {}", run.stderr);
    // If this fails, only the figures are missing.
    let _ = writeln!(io::stderr(), "{name}: exit status {}, audit {found:?}", run.code);
    found
}

fn remove(victim: &Victim, database: &str) {
    victim.ask("DELETE", database);
}

/// Kills and freezes a server that stores its documents on disk.
fn survives(victim: &mut Victim, cases: &[(Load, Blow)]) {
    for (number, (load, blow)) in cases.iter().enumerate() {
        let database = format!("springload-chaos-{}-{number}", std::process::id());
        let run = struck(victim, &database, *load, *blow);
        agrees(victim, &database, &run);
        // Later, with the documents that are there then.
        let folder = run.output();
        let again = Run::of(&["audit", path(&folder), &victim.target(&database)]).finish();
        assert_eq!(audited(&again), audited(&run), "{}", again.stderr);
        remove(victim, &database);
    }
}

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

const KILLS: [(Load, Blow); 2] = [(Load::Fill, Blow::Kill), (Load::Mixed, Blow::Kill)];
const FREEZES: [(Load, Blow); 2] = [(Load::Fill, Blow::Freeze), (Load::Mixed, Blow::Freeze)];

#[test]
fn pouchdb_server_is_killed_and_the_audit_is_right() {
    let rounds = std::env::var(ROUNDS).map_or(1, |text| text.parse().expect("a number"));
    for _ in 0..rounds {
        let Some(mut victim) = Victim::pouchdb() else { return };
        survives(&mut victim, &KILLS);
    }
}

#[test]
fn pouchdb_server_stands_still_and_the_audit_is_right() {
    let Some(mut victim) = Victim::pouchdb() else { return };
    survives(&mut victim, &FREEZES);
}

#[test]
fn the_named_server_is_killed_and_the_audit_is_right() {
    let Some(mut victim) = Victim::named() else { return };
    survives(&mut victim, &KILLS);
}

#[test]
fn the_stand_in_stands_still_and_the_audit_is_right() {
    survives(&mut Victim::stand_in(), &FREEZES);
}

#[test]
fn a_server_that_comes_back_empty_has_lost_all_that_it_acknowledged() {
    for load in [Load::Fill, Load::Mixed] {
        let mut victim = Victim::stand_in();
        let run = struck(&mut victim, "gone", load, Blow::Kill);
        let found = agrees(&victim, "gone", &run);
        let kept = Ledger::of(&run.output()).kept();
        assert!(kept > 100, "{kept}");
        assert_eq!(found["lost"], kept, "{}", run.stderr);
    }
}
