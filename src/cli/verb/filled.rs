//! The same number of documents for all runs of a study. If `--docs auto` bounds the time of the
//! fill, the first run determines the number, so that runs differ only in the setting compared.

use crate::plan::PlanRecord;
use crate::record::RunRecord;
use std::path::Path;

/// Whether the time of its fill is bounded.
pub(super) fn is_bounded(plan: &PlanRecord) -> bool {
    plan.stages.iter().any(|it| it.work.traits().fill.is_some_and(|it| it.within_ns.is_some()))
}

/// The words for the runs after `first`, with the number of documents that it stored; `None` if it
/// stored none.
pub(super) fn as_filled(words: &[String], first: &RunRecord) -> Option<Vec<String>> {
    let documents = first.filled();
    let others = words.iter().filter(|word| *word != "--docs=auto").cloned();
    (documents > 0).then(|| others.chain([format!("--docs={documents}")]).collect())
}

/// The note for the user about this number.
pub(super) fn note(first: &RunRecord) -> String {
    let documents = first.filled();
    let many = first.nouns().many;
    format!("the other runs store {documents} {many}, too: as many as the first (--docs auto)")
}

/// Warns that the first run cannot be read, so that the number it stored is unknown.
pub(super) fn tell_unknown(file: &Path, why: &str) {
    eprintln!(
        "warning: {}: {why}; the other runs store as many documents as there is time for, and not \
        as many as the first, so that they may differ from it",
        file.display()
    );
}
