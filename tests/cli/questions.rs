//! The plans of examples/couchdb, each on a server that supports it: every operation succeeds.

use std::path::Path;

use crate::servers::Server;
use crate::springload::{failures, measure, number};
use springload::embedded::Options;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/couchdb");

/// The names of the plans.
fn plans() -> Vec<String> {
    let entries = std::fs::read_dir(FOLDER).expect("the folder").map(|it| it.expect("an entry"));
    let folders = entries.filter(|it| it.path().is_dir());
    folders.map(|it| it.file_name().into_string().expect("UTF-8")).collect()
}

/// The operations of a plan, and the other kinds in its mix.
fn operations(plan: &str) -> Vec<String> {
    let text = std::fs::read_to_string(Path::new(FOLDER).join(plan).join("plan.toml")).unwrap();
    let plan = toml::de::DeTable::parse(&text).expect("TOML");
    let mix = plan.get_ref().get("mix").and_then(|mix| mix.get_ref().as_table());
    mix.expect("a mix").keys().map(|name| name.get_ref().to_string()).collect()
}

#[track_caller]
fn answers(plan: &str, target: &str) {
    let file = format!("{FOLDER}/{plan}/plan.toml");
    // Enough of each, although some are meant to be rare.
    let mut operations = operations(plan);
    // PouchDB's server crashes on a selector, ignores ranges, has no bookmarks, and is slow with
    // large documents.
    let has = |name: &str| !matches!(name, "selector" | "bookmark") && !name.ends_with("_10m");
    operations.retain(|name| has(name));
    let mix: Vec<_> = operations.iter().map(|name| format!("{name}=1")).collect();
    // 25 of each on average: one run in a million has fewer than six of one.
    let (mix, count) = (mix.join(","), (25 * operations.len()).to_string());
    let load = ["--docs", "60", "-d", "1h", "-n", &count, "-c", "2", "--mix", &mix];
    let run = measure([&["run", &file, target][..], &load].concat());
    assert!(matches!(run.code, 0 | 5), "{plan}: {}", run.stderr);
    for name in operations {
        let operation = run.operation("crud", &name);
        assert!(number(&operation["ok"]) > 5, "{plan}: {operation}");
        assert_eq!(failures(&operation), 0, "{plan}: {operation}");
    }
}

#[test]
fn each_question_gets_its_answer() {
    let plans = plans();
    let readme = std::fs::read_to_string(format!("{FOLDER}/README.md")).unwrap();
    for plan in &plans {
        assert!(readme.contains(&format!("[{plan}]({plan}/plan.toml)")), "{plan}");
    }
    assert!(plans.len() >= 10, "{plans:?}");
    let stand_in = Server::stand_in(Options::default());
    answers("bulk-read", &stand_in.url);
    let Some(server) = Server::pouchdb() else { return };
    // It does not support partitions.
    for plan in plans.iter().filter(|plan| !["partitions", "bulk-read"].contains(&plan.as_str())) {
        answers(plan, &server.url);
    }
}
