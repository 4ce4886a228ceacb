//! Compares every document of a source with a target, by its revision.

use crate::driver::{Replicated, Replicator, TargetError};
use crate::measure::Comparison;

/// A comparison, and the documents of the source that are missing or different at the target.
#[derive(Debug, Default)]
pub(super) struct Compared {
    pub(super) found: Comparison,
    pub(super) wrong: Vec<Replicated>,
    /// Whether the target may show another revision, provided it also has this one.
    may_differ: bool,
}

impl Compared {
    /// An empty comparison.
    pub(super) fn by(may_differ: bool) -> Self {
        Self { may_differ, ..Self::default() }
    }

    /// Looks for `documents` of the source at the target.
    pub(super) async fn look(
        &mut self,
        target: &mut dyn Replicator,
        documents: Vec<Replicated>,
    ) -> Result<(), TargetError> {
        let ids: Vec<String> = documents.iter().map(|it| it.id.clone()).collect();
        let found = target.find(&ids).await?;
        let (mut missing, mut others) = (Vec::new(), Vec::new());
        for (document, found) in documents.into_iter().zip(found) {
            match found {
                Some(found) if found == document => {}
                Some(_) => others.push(document),
                None => missing.push(document),
            }
        }
        if self.may_differ && !others.is_empty() {
            let unknown = target.unknown(&others).await?;
            let all = others.len();
            others = unknown.into_iter().filter_map(|place| others.get(place).cloned()).collect();
            self.found.overruled += (all - others.len()) as u64;
        }
        self.found.documents += ids.len() as u64;
        self.found.missing += missing.len() as u64;
        self.found.different += others.len() as u64;
        for document in missing.into_iter().chain(others) {
            if self.found.examples.len() < Comparison::MOST_NAMED {
                self.found.examples.push(document.id.clone());
            }
            self.wrong.push(document);
        }
        Ok(())
    }

    /// Looks once more for the documents that were wrong.
    pub(super) async fn again(&mut self, target: &mut dyn Replicator) -> Result<(), TargetError> {
        let mut next = Self::by(self.may_differ);
        next.look(target, self.wrong.clone()).await?;
        next.found.documents = self.found.documents;
        next.found.overruled += self.found.overruled;
        *self = next;
        Ok(())
    }
}

/// Compares all documents of `source` with those of `target`.
pub(super) async fn compare(
    source: &mut dyn Replicator,
    target: &mut dyn Replicator,
    mut compared: Compared,
) -> Result<Compared, TargetError> {
    let mut after = String::new();
    loop {
        let page = source.changed(&after).await?;
        if page.documents.is_empty() {
            return Ok(compared);
        }
        after = page.next;
        compared.look(target, page.documents).await?;
    }
}
