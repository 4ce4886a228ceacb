//! Compares every document of a source with a target, by its revision.

use crate::driver::{Replicated, Replicator, TargetError};
use crate::measure::Comparison;
use std::collections::BTreeSet;

/// A comparison, and the documents of the source that are missing or different at the target.
#[derive(Debug, Default)]
pub(super) struct Compared {
    pub(super) found: Comparison,
    /// As the source showed them first.
    pub(super) wrong: Vec<Replicated>,
    /// Documents that the source counts and does not list. They count as missing.
    pub(super) unlisted: u64,
    may_show: MayShow,
    /// What the target shows that may never have been in the source: revisions that are no older,
    /// or deleted while the source has the document.
    strange: Vec<Replicated>,
    /// The documents to name: whether each is different, rather than missing, and its identifier.
    named: BTreeSet<(bool, String)>,
}

/// Which revision a target may show instead of the one that its source shows, provided it has both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum MayShow {
    /// No other one: all that it has comes from this source.
    #[default]
    Same,
    /// A newer one, which the source gets later.
    Newer,
    /// Also one that CouchDB prefers to it, as there were documents before.
    Preferred,
}

impl MayShow {
    fn allows(self, found: &Replicated, wanted: &Replicated) -> bool {
        let is_newer = generation(found) > generation(wanted);
        match self {
            Self::Same => false,
            Self::Newer => is_newer,
            Self::Preferred => is_newer || rank(found) > rank(wanted),
        }
    }
}

/// A document that the target should have.
struct Wanted {
    /// As the source showed it when it was compared for the first time.
    first: Replicated,
    /// As the source shows it now.
    now: Replicated,
}

impl Wanted {
    /// Whether the target may show this revision without having got it from the source. Not every
    /// such one is foreign: the source may have it, too, in conflict.
    fn is_strange(&self, found: &Replicated) -> bool {
        let is_older = generation(found) < generation(&self.now);
        !is_older || found.deleted && !self.now.deleted
    }

    /// Whether the source has changed it since the first comparison.
    fn has_moved(&self) -> bool {
        self.first != self.now
    }
}

impl Compared {
    /// An empty comparison.
    pub(super) fn by(may_show: MayShow) -> Self {
        Self { may_show, ..Self::default() }
    }

    /// Notes that the source has this many documents that it does not list.
    pub(super) const fn add_unlisted(&mut self, documents: u64) {
        self.unlisted += documents;
        self.found.documents += documents;
        self.found.missing += documents;
    }

    /// Looks for `documents` of the source at the target.
    pub(super) async fn look(
        &mut self,
        target: &mut dyn Replicator,
        documents: Vec<Replicated>,
    ) -> Result<(), TargetError> {
        let wanted = |first: Replicated| Wanted { now: first.clone(), first };
        self.judge(target, documents.into_iter().map(wanted).collect()).await
    }

    async fn judge(
        &mut self,
        target: &mut dyn Replicator,
        wanted: Vec<Wanted>,
    ) -> Result<(), TargetError> {
        let ids: Vec<String> = wanted.iter().map(|it| it.first.id.clone()).collect();
        let found = target.find(&ids).await?;
        let (mut missing, mut others, mut perhaps) = (Vec::new(), Vec::new(), Vec::new());
        for (wanted, found) in wanted.into_iter().zip(found) {
            match found {
                None => missing.push(wanted.first),
                Some(found) if found == wanted.now || found == wanted.first => {}
                Some(found) if self.may_be_shown(&found, &wanted) => perhaps.push(wanted.first),
                Some(found) => {
                    // One that had documents before may show these.
                    if self.may_show == MayShow::Same && wanted.is_strange(&found) {
                        self.strange.push(found);
                    }
                    others.push(wanted.first);
                }
            }
        }
        if !perhaps.is_empty() {
            let unknown = target.unknown(&perhaps).await?;
            self.found.overruled += perhaps.len().saturating_sub(unknown.len()) as u64;
            others.extend(unknown.into_iter().filter_map(|place| perhaps.get(place).cloned()));
        }
        self.found.documents += ids.len() as u64;
        self.found.missing += missing.len() as u64;
        self.found.different += others.len() as u64;
        let missing = missing.into_iter().map(|it| (false, it));
        for (is_different, document) in missing.chain(others.into_iter().map(|it| (true, it))) {
            self.named.insert((is_different, document.id.clone()));
            if self.named.len() > Comparison::MOST_NAMED {
                self.named.pop_last();
            }
            self.wrong.push(document);
        }
        self.found.examples = self.named.iter().map(|(_, id)| id.clone()).collect();
        Ok(())
    }

    /// Whether the target shows revisions that its source never had: no refusal explains these.
    /// Names their documents first.
    pub(super) async fn has_foreign(
        &mut self,
        source: &mut dyn Replicator,
    ) -> Result<bool, TargetError> {
        if self.strange.is_empty() {
            return Ok(false);
        }
        let unknown = source.unknown(&self.strange).await?;
        let foreign = unknown.into_iter().filter_map(|place| self.strange.get(place));
        let foreign: BTreeSet<&str> = foreign.map(|it| &it.id[..]).collect();
        let others = self.named.iter().map(|(_, id)| &id[..]).filter(|id| !foreign.contains(id));
        let named = foreign.iter().copied().chain(others).take(Comparison::MOST_NAMED);
        self.found.examples = named.map(str::to_owned).collect();
        Ok(!foreign.is_empty())
    }

    /// Whether a target may show this revision if it also has the one that is wanted.
    fn may_be_shown(&self, found: &Replicated, wanted: &Wanted) -> bool {
        let Wanted { first, now } = wanted;
        // While somebody writes to the source, the target is always a little behind.
        let is_between = wanted.has_moved() && MayShow::Newer.allows(found, first);
        is_between || self.may_show.allows(found, first) || self.may_show.allows(found, now)
    }

    /// Looks once more for the documents that were wrong. The source is asked again, too: a write
    /// may have reached it after the first comparison.
    pub(super) async fn again(
        &mut self,
        source: &mut dyn Replicator,
        target: &mut dyn Replicator,
    ) -> Result<(), TargetError> {
        let ids: Vec<String> = self.wrong.iter().map(|it| it.id.clone()).collect();
        let shown = source.find(&ids).await?;
        // What the source itself no longer has cannot be missing at the target.
        let wanted = self.wrong.iter().cloned().zip(shown);
        let wanted = wanted.filter_map(|(first, now)| Some(Wanted { first, now: now? }));
        let mut next = Self::by(self.may_show);
        next.found.documents = self.found.documents.saturating_sub(ids.len() as u64);
        next.found.overruled = self.found.overruled;
        next.judge(target, wanted.collect()).await?;
        *self = next;
        Ok(())
    }
}

/// How many revisions of a document there have been up to this one.
pub(super) fn generation(document: &Replicated) -> u64 {
    let before_hash = document.rev.split('-').next().unwrap_or_default();
    before_hash.parse().unwrap_or(0)
}

/// Of several conflicting revisions, CouchDB shows the one with the highest rank.
fn rank(document: &Replicated) -> (bool, u64, &str) {
    let hash = document.rev.split_once('-').map_or("", |(_, hash)| hash);
    (!document.deleted, generation(document), hash)
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

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
