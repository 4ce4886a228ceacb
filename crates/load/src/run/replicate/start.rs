//! Starts replications: requests them from servers, and waits until they run and the targets have
//! what is stored.

use super::compare::{Compared, MayShow, compare};
use super::quiet::{Quiet, Refusals, RefusalsTold};
use super::{Replicas, job_name};
use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::driver::{DocumentCount, ReplicationPhase, ReplicationState, Replicator, TargetError};
use crate::engine::Stop;
use crate::op::grouped;
use crate::plan::{Link, Topology};
use std::time::Duration;

/// The pause between two checks of the states, at first ...
const LEAST_PAUSE_NS: Nanos = SECOND_NS / 50;
/// ... and at most. In between it is a tenth of the time elapsed.
const MOST_PAUSE_NS: Nanos = SECOND_NS;

/// What to do about a replication that does not start.
const CURE: &str = "check that the servers reach each other at the addresses given here, and that \
    the user may read the source and write to the target";

/// The pause before the next check, `after_ns` after the first.
pub(super) fn pause_after(after_ns: Nanos) -> Duration {
    Duration::from_nanos((after_ns / 10).clamp(LEAST_PAUSE_NS, MOST_PAUSE_NS))
}

fn seconds(ns: Nanos) -> f64 {
    ns as f64 / SECOND_NS as f64
}

/// How far a target has got before the load.
enum Filled {
    Complete,
    NotYet,
    /// Nothing more is waited for; in words, what it lacks.
    InVain(String),
}

/// A link whose target does not yet have everything.
struct Filling {
    number: usize,
    link: Link,
    /// The places whose documents the target should have.
    sources: Vec<Box<dyn Replicator>>,
    source: Box<dyn Replicator>,
    target: Box<dyn Replicator>,
    /// Whether everything at the target comes from this source.
    is_alone: bool,
    /// What the sources had at first, ...
    wanted: Option<DocumentCount>,
    /// ... and the first comparison, where counts prove nothing. Others may go on writing.
    compared: Option<Compared>,
    /// How long nothing more has arrived, ...
    quiet: Quiet,
    /// ... and what tells that the target has refused what it lacks.
    refusals: Option<Refusals>,
    is_done: bool,
}

impl Filling {
    /// How many documents the target has refused, if nothing more will come; otherwise 0.
    /// `missing`: how many it lacks.
    async fn refused(&mut self, missing: u64, now: Nanos) -> u64 {
        let is_stuck = self.quiet.is_stuck(missing, now);
        let Some(refusals) = self.refusals.as_mut().filter(|_| is_stuck) else { return 0 };
        refusals.final_count(&mut *self.source).await
    }

    /// Compares everything the first time, and afterwards looks again for what was wrong.
    async fn compare(&mut self, may_show: MayShow) -> Result<&Compared, TargetError> {
        // In a mesh of new databases, it is the first that has everything.
        let source = match &mut self.sources[..] {
            [only] => only,
            _ => &mut self.source,
        };
        let compared = if let Some(mut before) = self.compared.take() {
            before.again(&mut **source, &mut *self.target).await?;
            before
        } else {
            compare(&mut **source, &mut *self.target, Compared::by(may_show)).await?
        };
        Ok(self.compared.insert(compared))
    }
}

impl Replicas {
    /// Requests all replications, and waits until they run.
    pub(super) async fn start(&self, stop: &Stop) -> Result<(), TargetError> {
        let clock = Clock::system();
        let (began, links) = (clock.now(), self.plan.links());
        let mut asked = Vec::new();
        for link in &links {
            let (source, target) =
                (self.connect(link.source)?.end(), self.connect(link.target)?.end());
            let mut runner = self.connect(self.runner(*link))?;
            let name = job_name(&self.state.borrow().jobs);
            // It is removed later even without a response.
            self.state.borrow_mut().jobs.push(name.clone());
            let at = clock.now();
            runner.start(&name, &source, &target).await?;
            asked.push((runner, name, at));
        }
        loop {
            let mut waiting = None;
            for (number, (runner, name, at)) in asked.iter_mut().enumerate() {
                if self.state.borrow().found.links[number].running_s.is_some() {
                    continue;
                }
                let state = runner.state(name).await?;
                match state.phase {
                    ReplicationPhase::Running => {
                        let running_s = seconds(clock.now().saturating_sub(*at));
                        self.state.borrow_mut().found.links[number].running_s = Some(running_s);
                    }
                    ReplicationPhase::Waiting => waiting = Some((number, state)),
                    _ => return Err(self.refused(links[number], &state)),
                }
            }
            let after_ns = clock.now().saturating_sub(began);
            let Some((number, state)) = waiting else {
                self.state.borrow_mut().found.running_s = Some(seconds(after_ns));
                return Ok(());
            };
            if after_ns >= self.plan.start_timeout_ns {
                return Err(self.not_begun(links[number], &state));
            }
            if stop.reason().is_some() {
                return Ok(());
            }
            tokio::time::sleep(pause_after(after_ns)).await;
        }
    }

    /// The name of a replication in messages.
    pub(super) fn link_name(&self, link: Link) -> String {
        format!("the replication from {} to {}", self.name(link.source), self.name(link.target))
    }

    fn refused(&self, link: Link, state: &ReplicationState) -> TargetError {
        let reason = state.reason.as_deref().unwrap_or("no reason given").trim_end_matches('.');
        let (what, name) = (self.link_name(link), &state.name);
        TargetError(format!(
            "{what} does not begin: its server calls it {name:?}: {reason}; {CURE}"
        ))
    }

    fn not_begun(&self, link: Link, state: &ReplicationState) -> TargetError {
        let (what, name) = (self.link_name(link), &state.name);
        let waited_s = seconds(self.plan.start_timeout_ns);
        TargetError(format!(
            "{what} is not running after {waited_s} s: its server calls it {name:?}; give a longer \
             --start-timeout, or look at [replicator] in the server's configuration"
        ))
    }

    /// Waits until each target has what its source has.
    pub(super) async fn fill(&self, stop: &Stop) -> Result<(), TargetError> {
        let clock = Clock::system();
        let began = clock.now();
        let mut pending = Vec::new();
        for (number, link) in self.plan.links().into_iter().enumerate() {
            let mut sources = Vec::new();
            for place in self.filled_from(link) {
                sources.push(self.connect(place)?);
            }
            let (source, target) = (self.connect(link.source)?, self.connect(link.target)?);
            let is_new = self.state.borrow().found.places[link.target].created;
            pending.push(Filling {
                number,
                link,
                is_alone: is_new && sources.len() == 1,
                sources,
                source,
                target,
                wanted: None,
                compared: None,
                quiet: Quiet::default(),
                refusals: self.refusals(link)?,
                is_done: false,
            });
        }
        loop {
            for at in 0..pending.len() {
                let link = pending[at].link;
                if pending.iter().any(|it| !it.is_done && self.is_before(it.link, link)) {
                    continue;
                }
                let filling = &mut pending[at];
                let has = filling.target.count().await?;
                let wanted = count_all(&mut filling.sources).await?;
                let after_ns = clock.now().saturating_sub(began);
                let is_late = after_ns >= self.plan.converge_timeout_ns;
                match self.filled(filling, has, wanted, is_late).await? {
                    Filled::NotYet => continue,
                    Filled::InVain(lacks) => {
                        return Err(self.not_filled(link, &lacks, is_late).await);
                    }
                    Filled::Complete => filling.is_done = true,
                }
                let has = if self.is_countable(link) {
                    has
                } else {
                    // Comparing takes a while, during which more arrives.
                    filling.target.count().await?
                };
                let link = &mut self.state.borrow_mut().found.links[filling.number];
                link.filled_s = Some(link.running_s.unwrap_or_default() + seconds(after_ns));
                link.filled_documents = has.all();
            }
            pending.retain(|it| !it.is_done);
            if pending.is_empty() || stop.reason().is_some() {
                return Ok(());
            }
            tokio::time::sleep(pause_after(clock.now().saturating_sub(began))).await;
        }
    }

    /// How far the target has got. `has` and `wanted` are the counts of the target and of its
    /// sources; `is_late`: whether the time is up.
    async fn filled(
        &self,
        it: &mut Filling,
        has: DocumentCount,
        wanted: DocumentCount,
        is_late: bool,
    ) -> Result<Filled, TargetError> {
        // Comparing is much more work than counting.
        let fewer = if self.is_countable(it.link) {
            if has == wanted {
                return Ok(Filled::Complete);
            }
            // With more than that, it has some that are not from its sources; in a mesh, it may
            // only be ahead of them.
            let is_mesh = self.plan.topology == Topology::Mesh;
            (is_mesh || !has.covers(wanted)).then(|| wanted.all().saturating_sub(has.all()))
        } else {
            let least = it.wanted.get_or_insert(wanted).all().min(wanted.all());
            (it.is_alone && has.all() < least).then(|| least - has.all())
        };
        let now = || Clock::system().now();
        let mut refused = 0;
        if let Some(missing) = fewer {
            refused = it.refused(missing, now()).await;
            if !is_late && refused < missing.max(1) {
                return Ok(Filled::NotYet);
            }
        }
        // In the counts, each document that only the target has makes up for a missing one.
        let Compared { found, wrong, .. } = it.compare(self.may_show(it.link)).await?;
        let (missing, documents) = (wrong.len() as u64, found.documents);
        if missing == 0 {
            return Ok(Filled::Complete);
        }
        if fewer.is_none() {
            refused = it.refused(missing, now()).await;
        }
        if is_late || refused >= missing {
            let words = format!("{missing} of {documents} documents are missing");
            return Ok(Filled::InVain(words));
        }
        Ok(Filled::NotYet)
    }

    /// Whether a link delivers what another one passes on.
    pub(super) fn is_before(&self, first: Link, then: Link) -> bool {
        self.plan.topology == Topology::Chain && first.target == then.source
    }

    /// Where to ask what the target of a link has refused in this run. If there are several
    /// sources, what one of them has not brought may come from another. If both databases were
    /// there before, the server may count what was refused in earlier replications of the same two.
    pub(super) fn told(&self, link: Link) -> Option<RefusalsTold> {
        let number = self.plan.links().iter().position(|it| *it == link)?;
        let state = self.state.borrow();
        let is_new = [link.source, link.target].iter().any(|&it| state.found.places[it].created);
        let is_alone = self.plan.sources_of(link.target).len() == 1;
        let job = state.jobs.get(number).filter(|_| is_new && is_alone)?.clone();
        Some(RefusalsTold { place: self.runner(link), job })
    }

    fn refusals(&self, link: Link) -> Result<Option<Refusals>, TargetError> {
        let Some(RefusalsTold { place, job }) = self.told(link) else { return Ok(None) };
        Ok(Some(Refusals { runner: self.connect(place)?, job }))
    }

    async fn not_filled(&self, link: Link, lacks: &str, is_late: bool) -> TargetError {
        let number = self.plan.links().iter().position(|it| *it == link).unwrap_or_default();
        let job = self.state.borrow().jobs[number].clone();
        let state = self.last_state(&job, link).await;
        let refused = state.as_ref().ok().and_then(|it| it.write_failures).unwrap_or(0);
        let cure = if refused > 0 {
            // It would not accept them later either.
            let (count, s) = (grouped(refused), if refused == 1 { "" } else { "s" });
            format!(
                "the target refused {count} write{s}: look at its validate_doc_update \
                 functions, and at its limits, such as max_document_size"
            )
        } else {
            "give a longer --converge-timeout, or fewer --docs".to_owned()
        };
        let state = match state {
            Ok(state) => match state.reason {
                Some(reason) => format!("its server calls it {:?}: {reason}", state.name),
                None => format!("its server calls it {:?}", state.name),
            },
            Err(error) => error.to_string(),
        };
        let waited_s = seconds(self.plan.converge_timeout_ns);
        let what = if is_late {
            format!("has not copied what was stored before the load within {waited_s} s")
        } else {
            "has nothing left to copy of what was stored before the load".to_owned()
        };
        TargetError(format!("{} {what}: {lacks}; {state}; {cure}", self.link_name(link)))
    }

    /// The places whose documents the target of `link` should have before the load. In a mesh of
    /// new databases, the first has everything that is stored, and the others are empty at first.
    fn filled_from(&self, link: Link) -> Vec<usize> {
        let is_new_mesh = self.plan.topology == Topology::Mesh && self.is_countable(link);
        if is_new_mesh && link.target != 0 { vec![0] } else { self.counted(link) }
    }

    /// The places whose documents together are those of the target of `link`.
    pub(super) fn counted(&self, link: Link) -> Vec<usize> {
        match self.plan.topology {
            Topology::FanIn => self.plan.sources_of(link.target),
            _ => vec![link.source],
        }
    }

    /// Whether equal counts prove that the target of a link has everything: the run has created it
    /// and all databases from which documents reach it, so nobody else writes to them.
    pub(super) fn is_countable(&self, link: Link) -> bool {
        let places = &self.state.borrow().found.places;
        let mut before = (0..places.len()).filter(|&place| self.reaches(place, link.target));
        before.all(|place| places[place].created)
    }

    /// Which revisions the target of a link may show instead of those of its source.
    pub(super) fn may_show(&self, link: Link) -> MayShow {
        let state = self.state.borrow();
        let sources = self.plan.sources_of(link.target);
        let is_mesh = self.plan.topology == Topology::Mesh;
        // Documents of the same name may come from several sides.
        let is_mixed = is_mesh || sources.len() > 1;
        // One that exists and was empty is like a new one.
        let had_documents = |place: usize| state.had_documents[place];
        if had_documents(link.target) || is_mixed && sources.into_iter().any(had_documents) {
            MayShow::Preferred
        } else if is_mesh {
            MayShow::Newer
        } else {
            MayShow::Same
        }
    }
}

/// Counts the documents of several databases together.
pub(super) async fn count_all(
    all: &mut [Box<dyn Replicator>],
) -> Result<DocumentCount, TargetError> {
    let mut sum = DocumentCount::default();
    for each in all {
        let count = each.count().await?;
        sum.documents += count.documents;
        sum.deleted += count.deleted;
    }
    Ok(sum)
}

#[cfg(test)]
#[path = "start_tests.rs"]
mod tests;
