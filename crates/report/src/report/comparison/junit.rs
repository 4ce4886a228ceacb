//! A comparison as test cases: one for each gated figure, and one for whether the runs can be
//! trusted.

use super::{change, interval, machine, notes, verdict};
use crate::compare::Comparison;
use crate::record::Standing;
use crate::report::junit::{Case, End, suite};

/// The gated figures as `JUnit` test cases: a figure that is worse is a failure; one that cannot be
/// judged is not, but is noted below the cases. There is a failure or an error exactly if the exit
/// status is not 0.
pub fn comparison_junit(it: &Comparison) -> String {
    let case = |of: &crate::compare::Compared| Case {
        name: format!("{} {} is not worse", of.kind, of.metric),
        ended: match of.verdict {
            Standing::Worse => End::Failure(format!("{} ({})", change(of), interval(of))),
            _ => End::Passed,
        },
    };
    let doubt = (!it.trustworthy()).then(|| it.notes.join("; "));
    let trust = Case {
        name: "the runs are trustworthy".to_owned(),
        ended: doubt.map_or(End::Passed, End::Error),
    };
    let cases: Vec<Case> = it.gated().map(case).chain([trust]).collect();
    let began = it.b.first().or(it.a.first()).map_or("", |run| &run.started_at);
    let figures = it.comparisons.iter().map(|of| {
        format!("{} {}: {} ({}), {}", of.kind, of.metric, change(of), interval(of), verdict(of))
    });
    let said: Vec<String> = machine(it).into_iter().chain(notes(it)).chain(figures).collect();
    suite("springload compare", began, 0.0, &cases, &said)
}
