//! What YCSB's `BasicDB` prints to stdout.

use crate::cli::print::print;
use crate::driver::{Echo, Shown};
use crate::properties::Properties;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

/// `BasicDB`'s names of the operations that it counts, by the start of their lines.
const COUNTED: [(&[u8], &str); 5] = [
    (b"READ ", "READS"),
    (b"SCAN ", "SCANS"),
    (b"UPDATE ", "UPDATES"),
    (b"INSERT ", "INSERTS"),
    (b"DELETE ", "DELETES"),
];

/// The number of distinct operations.
#[derive(Debug, Default)]
pub(super) struct Uniques([Mutex<HashSet<u64>>; COUNTED.len()]);

impl Uniques {
    /// Counts the operation of this line. Scans of different lengths count as the same.
    fn add(&self, line: &[u8]) {
        let Some(kind) = COUNTED.iter().position(|(verb, _)| line.starts_with(verb)) else {
            return;
        };
        let mut rest = &line[COUNTED[kind].0.len()..];
        let mut hasher = DefaultHasher::new();
        if COUNTED[kind].1 == "SCANS"
            && let Some(fields) = rest.windows(3).position(|part| part == b" [ ")
        {
            let asked = &rest[..fields];
            let key = asked.iter().rposition(|&byte| byte == b' ').unwrap_or(fields);
            rest[..key].hash(&mut hasher);
            rest = &rest[fields..];
        }
        rest.hash(&mut hasher);
        let mut set = self.0[kind].lock().unwrap_or_else(PoisonError::into_inner);
        set.insert(hasher.finish());
    }

    /// Prints the counts as `BasicDB` does at the end.
    pub(super) fn print(&self) {
        let mut text = String::new();
        for ((_, name), set) in COUNTED.iter().zip(&self.0) {
            let count = set.lock().unwrap_or_else(PoisonError::into_inner).len();
            let _ = writeln!(text, "[{name}], Uniques, {count}");
        }
        print(text.as_bytes());
    }
}

/// Receives the operations, if they are printed or counted.
pub(super) fn echo(shown: Shown, uniques: Option<Arc<Uniques>>) -> Option<Echo> {
    if !shown.printed && uniques.is_none() {
        return None;
    }
    Some(Arc::new(move |line| {
        if shown.printed {
            operation(line);
        }
        if let Some(uniques) = &uniques {
            uniques.add(line);
        }
    }))
}

/// One operation, on its own line.
fn operation(line: &[u8]) {
    let mut out = std::io::stdout().lock();
    // A reader that goes away is not an error.
    let _ = out.write_all(line).and_then(|()| out.write_all(b"\n"));
}

/// All properties, as printed at the start.
pub(super) fn properties(properties: &Properties) {
    let mut text = String::from("***************** properties *****************\n");
    for (name, value) in properties.iter() {
        let _ = writeln!(text, "\"{name}\"=\"{value}\"");
    }
    text.push_str("**********************************************\n");
    print(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_only_in_the_length_of_a_scan_is_one() {
        let uniques = Uniques::default();
        for line in [
            "READ t user1 [ <all fields>]",
            "READ t user1 [ <all fields>]",
            "READ t user1 [ field1 ]",
            "SCAN t user1 5 [ <all fields>]",
            "SCAN t user1 50 [ <all fields>]",
            "SCAN t user15 0 [ <all fields>]",
            "INSERT t user1 [ field0=a ]",
            "INSERT t user1 [ field0=b ]",
            "DELETE t user1",
            "DELETE t user1",
        ] {
            uniques.add(line.as_bytes());
        }
        let counts: Vec<_> = uniques.0.iter().map(|set| set.lock().unwrap().len()).collect();
        assert_eq!(counts, [2, 2, 0, 2, 1]);
    }
}
