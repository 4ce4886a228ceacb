//! Replication beside the load: opens the other databases, has their servers replicate, measures
//! how that goes, and removes all of it again.

mod beside;
mod compare;
#[cfg(test)]
mod foreign_tests;
mod link;
mod notices;
mod quiet;
#[cfg(test)]
mod refused_tests;
#[cfg(test)]
mod replicas_tests;
mod start;

use super::{Observer, RunError, block_on};
use crate::clock::{Nanos, SECOND_NS};
use crate::driver::{
    Driver, Opening, Replicated, ReplicationPhase, ReplicationState, Replicator, ServerFacts,
    TargetError, scratch_name,
};
use crate::engine::Stop;
use crate::measure::{EndToEnd, LinkEnd, ReplicaPlace, Replication, ReplicationLink};
use crate::plan::{Link, Plan, ReplicatePlan};
use beside::{Beside, FoundReplication};
use compare::generation;
use std::cell::RefCell;
use std::time::Duration;

/// How long each request of the clean-up may take, in nanoseconds.
const TIDY_NS: Nanos = 10 * SECOND_NS;

/// The databases of a run with replication, and what runs between them.
pub(super) struct Replicas {
    plan: ReplicatePlan,
    /// The run's target, followed by the others.
    places: Vec<Driver>,
    /// How long a server may be silent, in nanoseconds.
    patience_ns: Nanos,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    found: Replication,
    /// Which databases had anything before the run: documents or deletions, but for what comes with
    /// the plan.
    had_documents: Vec<bool>,
    /// The names of the requested replications, in the order of the links.
    jobs: Vec<String>,
    /// The thread beside the load, while it runs.
    beside: Option<Beside>,
    /// The markers in each place: identifiers and, if known, revisions.
    markers: Vec<Vec<(String, Option<String>)>>,
}

impl Replicas {
    /// Opens the other databases of `plan`; `None`: it has none. `first` is the run's target, with
    /// these `facts`.
    ///
    /// # Errors
    /// Returns an error if one of them cannot be used; those that were created are removed again.
    pub(super) fn open(
        plan: &Plan,
        opening: &Opening,
        first: &Driver,
        facts: &ServerFacts,
        stop: &Stop,
    ) -> Result<Option<Self>, RunError> {
        let Some(replication) = &plan.replication else { return Ok(None) };
        let mut places = vec![first.clone()];
        let mut found = Replication { places: vec![place(facts)], ..Replication::default() };
        // What the load's database must have, the others need not.
        let opening = Opening { operations: Vec::new(), filter: None, ..opening.clone() };
        for other in &replication.others {
            match block_on(stop, other.open(&opening)) {
                Ok((target, facts)) => {
                    places.push(target);
                    found.places.push(place(&facts));
                }
                Err(error) => {
                    undo(&places[1..], stop);
                    return Err(error);
                }
            }
        }
        let link = |Link { source, target }| ReplicationLink { source, target, ..<_>::default() };
        found.links = replication.links().into_iter().map(link).collect();
        let markers = vec![Vec::new(); places.len()];
        let replicas = Self {
            plan: replication.clone(),
            places,
            patience_ns: plan.patience_ns(),
            state: RefCell::new(State { found, markers, ..State::default() }),
        };
        if let Err(error) = block_on(stop, replicas.ready()) {
            undo(&replicas.places[1..], stop);
            return Err(error);
        }
        Ok(Some(replicas))
    }

    /// Checks that the servers that must replicate are able to, and notes which databases have
    /// something before the run.
    async fn ready(&self) -> Result<(), TargetError> {
        for link in self.plan.links() {
            self.connect(self.runner(link))?.ready().await?;
        }
        // The first has them by now, and each may have them from an earlier run.
        let brought = self.connect(0)?.brought();
        for place in 0..self.places.len() {
            let is_new = self.state.borrow().found.places[place].created;
            let had_documents = !is_new && has_any(&mut *self.connect(place)?, &brought).await?;
            self.state.borrow_mut().had_documents.push(had_documents);
        }
        Ok(())
    }

    /// The place whose server carries out a replication.
    const fn runner(&self, link: Link) -> usize {
        if self.plan.push { link.source } else { link.target }
    }

    fn connect(&self, place: usize) -> Result<Box<dyn Replicator>, TargetError> {
        let none = || TargetError("this database does not replicate; give CouchDB".to_owned());
        self.places[place].replicator().ok_or_else(none)
    }

    /// The name of a place in messages.
    fn name(&self, place: usize) -> String {
        let found = &self.state.borrow().found;
        let ReplicaPlace { server, database, .. } = &found.places[place];
        format!("{server}/{database}")
    }

    /// Starts the replications: returns once all of them run and the targets have what is stored so
    /// far, or when the user asks to stop. Markers are written from then on.
    ///
    /// # Errors
    /// Returns an error if a replication does not start, or something is still missing when the
    /// time is up.
    pub(super) fn begin(&self, stop: &Stop, observer: &mut dyn Observer) -> Result<(), RunError> {
        let count = self.plan.links().len();
        let what = if count == 1 { "the replication is" } else { "all replications are" };
        observer.news(&format!("waiting until {what} running"));
        block_on(stop, self.start(stop))?;
        if stop.reason().is_some() {
            return Ok(());
        }
        let running_s = self.state.borrow().found.running_s.unwrap_or_default();
        let running = if count == 1 { "it is running" } else { "all are running" };
        observer.news(&format!(
            "{running} after {running_s:.1} s; waiting until the targets have what is stored"
        ));
        block_on(stop, self.fill(stop))?;
        if stop.reason().is_none() {
            let beside = Beside::begin(self)?;
            self.state.borrow_mut().beside = Some(beside);
        }
        Ok(())
    }

    /// After the load: waits until all targets have caught up, or the time is up, and returns what
    /// was found.
    pub(super) fn settle(&self, stop: &Stop, observer: &mut dyn Observer) -> Replication {
        let beside = self.state.borrow_mut().beside.take();
        if let Some(beside) = beside {
            observer.news("waiting until the targets have everything");
            self.take(beside.settle(stop));
        }
        self.state.borrow().found.clone()
    }

    /// Stores what was found beside the load.
    fn take(&self, found: FoundReplication) {
        let mut state = self.state.borrow_mut();
        for (link, found) in state.found.links.iter_mut().zip(found.links) {
            link.markers = found.markers;
            (link.end, link.converged_s) = (found.end, found.converged_s);
            link.comparison = found.comparison;
            link.reason = found.reason;
        }
        if let (Some(link), Some(markers)) = (self.plan.end_to_end(), found.end_to_end) {
            let Link { source, target } = link;
            state.found.end_to_end = Some(EndToEnd { source, target, markers });
        }
        state.markers = found.markers;
    }

    /// Ends the replications and removes what was created for them. Returns what was found.
    ///
    /// # Errors
    /// Returns an error if the user asked twice to stop.
    pub(super) fn finish(&self, stop: &Stop) -> Result<Replication, RunError> {
        let beside = self.state.borrow_mut().beside.take();
        if let Some(beside) = beside {
            self.take(beside.abandon());
        }
        block_on(stop, async {
            self.tidy().await;
            Ok(())
        })?;
        Ok(self.state.borrow().found.clone())
    }

    /// Asks for the last states, ends the replications, and removes markers and databases.
    async fn tidy(&self) {
        let jobs = self.state.borrow().jobs.clone();
        let links = self.plan.links();
        for (number, (name, link)) in jobs.iter().zip(&links).enumerate() {
            let asked = self.last_state(name, *link);
            let asked = tokio::time::timeout(Duration::from_nanos(TIDY_NS), asked).await;
            let asked = asked.unwrap_or_else(|_| Err(TargetError("no answer".to_owned())));
            self.note_state(number, asked);
        }
        if links.len() == jobs.len() {
            self.remove_markers().await;
        }
        for (name, link) in jobs.iter().zip(&links) {
            let ended = async { self.connect(self.runner(*link))?.stop(name).await };
            if let Some(why) = limited(ended).await {
                let server = self.server(self.runner(*link));
                self.state.borrow_mut().found.left.push(format!(
                    "the replication {name} on {server}: {why}; remove it later with springload \
                     clean"
                ));
            }
        }
        for place in 1..self.places.len() {
            let removed = async { self.places[place].tear_down().await.map(|_| ()) };
            if let Some(why) = limited(removed).await {
                let name = self.name(place);
                let left =
                    format!("the database {name}: {why}; remove it later with springload clean");
                self.state.borrow_mut().found.left.push(left);
            }
        }
    }

    fn server(&self, place: usize) -> String {
        self.state.borrow().found.places[place].server.clone()
    }

    async fn last_state(&self, name: &str, link: Link) -> Result<ReplicationState, TargetError> {
        self.connect(self.runner(link))?.state(name).await
    }

    /// Notes the last state of a replication that a server reported.
    fn note_state(&self, number: usize, asked: Result<ReplicationState, TargetError>) {
        let mut state = self.state.borrow_mut();
        let link = &mut state.found.links[number];
        match asked {
            Ok(answer) => {
                // A replication that has failed, or is about to retry, may still deliver what is
                // missing.
                if link.end == LinkEnd::Lost && answer.phase != ReplicationPhase::Running {
                    link.end = LinkEnd::Behind;
                }
                link.failed =
                    matches!(answer.phase, ReplicationPhase::Failing | ReplicationPhase::Failed);
                link.state = Some(answer.name);
                link.reason = answer.reason.or(link.reason.take());
                (link.documents_written, link.write_failures) =
                    (answer.written, answer.write_failures);
            }
            Err(error) => {
                // Nobody says that it is running.
                if link.end == LinkEnd::Lost {
                    link.end = LinkEnd::Behind;
                }
                link.reason.get_or_insert_with(|| error.to_string());
            }
        }
    }

    /// Removes the markers from databases that stay. They are removed at their sources; the removal
    /// is replicated.
    async fn remove_markers(&self) {
        let places = self.state.borrow().found.places.clone();
        let markers = std::mem::take(&mut self.state.borrow_mut().markers);
        // A marker from a source that is removed may be in a target that stays.
        let one_stays = places.iter().any(|place| !place.created);
        let mut left = 0;
        for (place, markers) in markers.into_iter().enumerate() {
            if markers.is_empty() || !one_stays {
                continue;
            }
            let count = markers.len() as u64;
            let removed = tokio::time::timeout(
                Duration::from_nanos(TIDY_NS),
                self.remove_from(place, markers),
            );
            left += count.saturating_sub(removed.await.ok().and_then(Result::ok).unwrap_or(0));
        }
        self.state.borrow_mut().found.markers_left = left;
    }

    /// Removes markers at their source, and waits until the removal reaches the targets. Returns
    /// how many are gone everywhere.
    async fn remove_from(
        &self,
        place: usize,
        markers: Vec<(String, Option<String>)>,
    ) -> Result<u64, TargetError> {
        let ids: Vec<String> = markers.into_iter().map(|(id, _)| id).collect();
        let mut source = self.connect(place)?;
        let there = source.find(&ids).await?;
        let there: Vec<_> = there.into_iter().flatten().filter(|it| !it.deleted).collect();
        let pairs: Vec<_> = there.into_iter().map(|it| (it.id, it.rev)).collect();
        source.remove(&pairs).await?;
        let mut gone = ids.len() as u64;
        for target in 0..self.places.len() {
            let mut at = self.connect(target)?;
            let left = loop {
                let found = at.find(&ids).await?;
                let left = found.into_iter().flatten().filter(|it| !it.deleted).count() as u64;
                if left == 0 || !self.reaches(place, target) {
                    break left;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            };
            gone = gone.min(ids.len() as u64 - left);
        }
        Ok(gone)
    }

    /// Whether documents of one place get to the other.
    fn reaches(&self, from: usize, to: usize) -> bool {
        let links = self.plan.links();
        let mut reached = vec![from];
        let mut at = 0;
        while let Some(&place) = reached.get(at) {
            for link in links.iter().filter(|link| link.source == place) {
                if !reached.contains(&link.target) {
                    reached.push(link.target);
                }
            }
            at += 1;
        }
        reached.contains(&to)
    }
}

/// Whether a database has documents, or deletions of some, other than those `brought` by the plan.
async fn has_any(database: &mut dyn Replicator, brought: &[String]) -> Result<bool, TargetError> {
    let is_brought = |it: &Replicated| {
        let writes = brought.iter().filter(|id| **id == it.id).count() as u64;
        // One with more revisions than that was written by others, too.
        !it.deleted && (1..=writes).contains(&generation(it))
    };
    let mut ids = brought.to_vec();
    ids.sort_unstable();
    ids.dedup();
    let found = if ids.is_empty() { Vec::new() } else { database.find(&ids).await? };
    let own = found.into_iter().flatten().filter(&is_brought).count() as u64;
    // PouchDB Server counts no deletions, but lists them.
    Ok(database.count().await?.all() > own
        || !database.changed("").await?.documents.iter().all(is_brought))
}

/// Returns the reason something failed, or that it took too long.
async fn limited(work: impl Future<Output = Result<(), TargetError>>) -> Option<String> {
    match tokio::time::timeout(Duration::from_nanos(TIDY_NS), work).await {
        Ok(done) => done.err().map(|error| error.to_string()),
        Err(_) => Some("no answer within 10 s".to_owned()),
    }
}

/// The record of a database.
fn place(facts: &ServerFacts) -> ReplicaPlace {
    let version = [&facts.name[..], &facts.version].join(" ").trim().to_owned();
    let (server, database) = (facts.url.clone(), facts.database.clone());
    ReplicaPlace { server, database, version, created: facts.created }
}

/// Removes databases that were created a moment ago and are empty.
fn undo(places: &[Driver], stop: &Stop) {
    for place in places {
        let _ = block_on(stop, place.tear_down());
    }
}

/// A name that no replication of this process has had yet.
fn job_name(jobs: &[String]) -> String {
    loop {
        let name = scratch_name();
        if !jobs.contains(&name) {
            return name;
        }
    }
}
