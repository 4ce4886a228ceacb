//! Custom operations on every database that supports them: each is done as often as planned, and
//! finds what it should; errors from the server are reported before the load.

use crate::binary::{Finished, measure, number};

/// How often each operation is done.
pub(crate) const TIMES: u64 = 50;

/// Runs these operations, named and spelled as on the command line; all of them succeed.
#[track_caller]
pub(crate) fn done(address: &str, operations: &[&str]) -> Finished {
    let names: Vec<_> = operations.iter().filter_map(|it| Some(it.split_once('=')?.0)).collect();
    let mix = names.iter().map(|name| format!("{name}=1")).collect::<Vec<_>>().join(",");
    let all = (TIMES * names.len() as u64).to_string();
    let mut words = vec!["run", address, "--docs", "60", "-c", "2", "-n", &all, "--mix", &mix];
    for operation in operations {
        words.extend(["--op", *operation]);
    }
    let run = measure(words).passed();
    for name in names {
        let found = run.operation("crud", name);
        assert_eq!(number(&found["requests"]), TIMES, "{name}: {found}");
        assert_eq!(number(&found["ok"]), TIMES, "{name}: {found}");
    }
    run
}

/// Asserts that an operation is refused before the load, with these words, and leaves nothing
/// behind.
#[track_caller]
pub(crate) fn refused(address: &str, operation: &str, words: &str) {
    let run =
        measure(["run", address, "--docs", "5", "-n", "5", "--mix", "x=1", "--op", operation]);
    assert!(run.code != 0 && run.stages().next().is_none(), "{operation}: {}", run.stderr);
    assert!(run.stderr.contains("--op x: ") && run.stderr.contains(words), "{}", run.stderr);
}
