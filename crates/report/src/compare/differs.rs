//! What differs between the two sides, and within one of them.

use super::{ComparedRun, Differs};
use crate::plan::{flags, in_words};
use serde_json::Value;
use std::collections::BTreeSet;

/// More differences than this are counted, not listed.
const MOST: usize = 8;
/// Flags that do not affect what is measured.
const IDLE: [&str; 11] = [
    "--seed",
    "--label",
    "--output",
    "-o",
    "--format",
    "--quiet",
    "-q",
    "--also",
    "--fail-if",
    "--baseline",
    "--max-regression",
];

pub(super) fn differs(a: &[ComparedRun], b: &[ComparedRun]) -> Vec<Differs> {
    let mut all = plans(a, b);
    let facts =
        |run: &ComparedRun| [run.server.clone(), run.machine.clone(), run.springload.clone()];
    for (place, what) in ["server", "machine", "springload"].into_iter().enumerate() {
        let of = |run: &ComparedRun| facts(run)[place].clone();
        let [a, b] = [a, b].map(|side| side.iter().map(of).collect::<BTreeSet<_>>());
        if a != b {
            let [a, b] = [a, b].map(|it| it.into_iter().collect::<Vec<_>>().join(", "));
            all.push(Differs { what: what.to_owned(), a, b });
        }
    }
    all.extend(settings(a, b));
    all
}

/// Differences between the settings of the servers, if those of both sides are known.
fn settings(a: &[ComparedRun], b: &[ComparedRun]) -> Vec<Differs> {
    let known = |side: &[ComparedRun]| side.iter().all(|run| !run.settings.is_empty());
    if !known(a) || !known(b) {
        return Vec::new();
    }
    let names: BTreeSet<&String> = a.iter().chain(b).flat_map(|it| it.settings.keys()).collect();
    let of = |side: &[ComparedRun], name: &String| {
        let values: BTreeSet<&str> =
            side.iter().filter_map(|run| run.settings.get(name)).map(String::as_str).collect();
        values.into_iter().collect::<Vec<_>>().join(", ")
    };
    let one = |name: &String| {
        let (a, b) = (of(a, name), of(b, name));
        Differs { what: format!("server's {name}"), a, b }
    };
    let mut all: Vec<Differs> = names.into_iter().map(one).filter(|it| it.a != it.b).collect();
    all.truncate(MOST);
    all
}

/// Differences in what was requested: between the command lines or, if there are none, between the
/// plans.
fn plans(a: &[ComparedRun], b: &[ComparedRun]) -> Vec<Differs> {
    let words = |side: &[ComparedRun]| side.iter().flat_map(words).collect::<BTreeSet<_>>();
    let (of_a, of_b) = (words(a), words(b));
    let only = |one: &BTreeSet<String>, other: &BTreeSet<String>| {
        one.difference(other).cloned().collect::<Vec<_>>().join(" ")
    };
    let (a_only, b_only) = (only(&of_a, &of_b), only(&of_b, &of_a));
    let differing = format!("{a_only}{b_only}");
    if leaves_of(a) != leaves_of(b) && !differing.is_empty() {
        return vec![Differs { what: "command".to_owned(), a: a_only, b: b_only }];
    }
    let settings = |side: &[ComparedRun]| -> BTreeSet<(String, String)> {
        side.iter().flat_map(|run| in_words(&run.plan)).collect()
    };
    let (of_a, of_b) = (settings(a), settings(b));
    let names: BTreeSet<&String> = of_a.iter().chain(&of_b).map(|(name, _)| name).collect();
    let value = |of: &BTreeSet<(String, String)>, wanted: &String| {
        let own = of.iter().filter(|(name, _)| name == wanted);
        own.map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(", ")
    };
    let pairs = names.into_iter().map(|name| {
        let (a, b) = (value(&of_a, name), value(&of_b, name));
        Differs { what: name.clone(), a, b }
    });
    let mut all: Vec<Differs> = pairs.filter(|it| it.a != it.b).collect();
    let more = all.len().saturating_sub(MOST);
    if more > 0 {
        all.truncate(MOST);
        let what = format!("and {more} more settings");
        all.push(Differs { what, a: String::new(), b: String::new() });
    }
    all
}

/// What the command line of a run asks for.
fn words(run: &ComparedRun) -> Vec<String> {
    let mut flags = flags(&run.command);
    let idle = |flag: &String| IDLE.iter().any(|name| flag.split([' ', '=']).next() == Some(name));
    flags.retain(|flag| !idle(flag));
    flags
}

/// The values in the plans of a side, each with its path.
fn leaves_of(side: &[ComparedRun]) -> BTreeSet<(String, String)> {
    let mut leaves = BTreeSet::new();
    for (name, value) in side.iter().flat_map(|run| &run.plan) {
        leaves_in(name.clone(), value, &mut leaves);
    }
    leaves
}

fn leaves_in(path: String, value: &Value, leaves: &mut BTreeSet<(String, String)>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                leaves_in(format!("{path}.{name}"), value, leaves);
            }
        }
        Value::Array(items) => {
            for (place, value) in items.iter().enumerate() {
                leaves_in(format!("{path}.{place}"), value, leaves);
            }
        }
        Value::String(text) => _ = leaves.insert((path, text.clone())),
        other => _ = leaves.insert((path, other.to_string())),
    }
}

/// What to know before reading the figures: runs that differ or are not trustworthy.
pub(super) fn doubts(a: &[ComparedRun], b: &[ComparedRun]) -> Vec<String> {
    let mut notes = Vec::new();
    for (name, side) in [("A", a), ("B", b)] {
        let alike = |run: &ComparedRun| {
            let (one, first) = (std::slice::from_ref(run), &side[..1]);
            leaves_of(one) == leaves_of(first) && run.server == side[0].server
        };
        if !side.iter().all(alike) {
            notes.push(format!(
                "the runs of {name} are not alike: settings or servers differ between them"
            ));
        }
        let bad: Vec<&ComparedRun> =
            side.iter().filter(|run| run.result.exit_status != 0).collect();
        if let Some(first) = bad.first() {
            let words = first.result.words();
            notes.push(match (bad.len(), side.len()) {
                (1, 1) => format!("the run of {name}: {words}"),
                (1, all) => format!("one of the {all} runs of {name}: {words}"),
                (bad, all) => format!("{bad} of the {all} runs of {name}, the first: {words}"),
            });
        }
        // If agents may be lost, the result does not mention that part of the load was missing.
        let unmentioned = |run: &&ComparedRun| {
            let (words, lost) = (run.result.words(), run.agents_lost.as_ref());
            lost.is_some_and(|lost| !words.contains(lost))
        };
        if let Some(lost) = side.iter().find(unmentioned).and_then(|run| run.agents_lost.as_ref()) {
            notes.push(format!("a run of {name} had less load than it should have had: {lost}"));
        }
    }
    notes
}
