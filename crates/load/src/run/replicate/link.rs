//! One link beside the load: looks for markers at its target, and finds out after the load when the
//! target has caught up.

use super::compare::{Compared, MayShow, compare};
use super::notices::{Notices, STEP, abandoned};
use super::quiet::{Quiet, Refusals, nothing_more};
use super::start::{count_all, pause_after};
use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::driver::{Replicator, TargetError};
use crate::measure::{Comparison, LinkEnd, MarkerLog, Markers};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// The shortest pause between two looks, in nanoseconds ...
const LEAST_PAUSE_NS: Nanos = SECOND_NS / 1_000;
/// ... the longest ...
const MOST_PAUSE_NS: Nanos = SECOND_NS / 4;
/// ... and otherwise the age of the markers divided by this, which determines the precision of
/// their lag.
const PAUSE_SHARE: u64 = 10;
/// The pause after a look that failed.
const RETRY_NS: Nanos = SECOND_NS / 10;
/// The most markers looked for in one request: this many of the oldest, and as many of the newest.
const AT_ONCE: usize = 500;
/// How long the last comparison may take once the time is up, in nanoseconds.
const LAST_LOOK_NS: Nanos = 60 * SECOND_NS;

#[derive(Default)]
pub(super) struct FoundLink {
    pub(super) markers: Markers,
    pub(super) end: LinkEnd,
    pub(super) converged_s: Option<f64>,
    pub(super) comparison: Option<Comparison>,
    /// The reason an end does not respond, if it does not, or nothing more is waited for.
    pub(super) reason: Option<String>,
}

impl FoundLink {
    /// Whether it has ended because its target refuses documents.
    pub(super) fn is_refused(&self) -> bool {
        self.end == LinkEnd::Behind && self.reason.is_some()
    }
}

/// Time limits.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_field_names, reason = "names end with the unit")]
pub(super) struct Limits {
    pub(super) every_ns: Nanos,
    pub(super) converge_ns: Nanos,
    pub(super) patience_ns: Nanos,
    /// How long nothing more may arrive before what is missing counts as lost.
    pub(super) quiet_ns: Nanos,
}

/// A marker that was acknowledged.
#[derive(Clone, Debug)]
pub(super) struct SentMarker {
    pub(super) id: String,
    /// Its number among the markers of its source.
    pub(super) number: u64,
    pub(super) acknowledged: Nanos,
    /// Whether it was written after the load, as the last one.
    pub(super) is_last: bool,
}

/// The queue from the writer of a source to a link.
#[derive(Debug, Default)]
pub(super) struct Queue {
    inner: RefCell<Queued>,
    notify: Notify,
}

#[derive(Debug, Default)]
pub(super) struct Queued {
    pub(super) sent: Vec<SentMarker>,
    pub(super) failures: u64,
    pub(super) reason: Option<String>,
}

impl Queue {
    /// Reports a marker.
    pub(super) fn push(&self, sent: SentMarker) {
        self.inner.borrow_mut().sent.push(sent);
        self.notify.notify_one();
    }

    /// Reports that a marker was not acknowledged.
    pub(super) fn fail(&self, reason: &str) {
        let mut inner = self.inner.borrow_mut();
        inner.failures += 1;
        inner.reason.get_or_insert_with(|| reason.to_owned());
    }

    pub(super) fn take(&self) -> Queued {
        std::mem::take(&mut self.inner.borrow_mut())
    }
}

pub(super) struct Ends {
    pub(super) source: Box<dyn Replicator>,
    pub(super) target: Box<dyn Replicator>,
    /// The places that together have as many documents as the target should have in the end; empty
    /// if counts prove nothing.
    pub(super) counted: Vec<Box<dyn Replicator>>,
    pub(super) may_show: MayShow,
    /// What tells that the target has refused what it lacks; `None` if nothing does.
    pub(super) refusals: Option<Refusals>,
    /// Whether a link before this one has ended because its target refuses documents; `None` if
    /// none comes before it.
    pub(super) cut: Option<Rc<Cell<bool>>>,
}

/// Looks for the markers of a source at a target.
pub(super) struct MarkerLookout {
    ends: Ends,
    queue: Rc<Queue>,
    notices: Arc<Notices>,
    limits: Limits,
    began: Nanos,
    clock: Clock,
    /// Markers that have not been seen, oldest first.
    outstanding: Vec<SentMarker>,
    newest_seen: Option<u64>,
    is_last_seen: bool,
    log: MarkerLog,
    markers: Markers,
    /// Since when the target has not responded, and how its last request failed.
    silent: Option<(Nanos, String)>,
    /// How many writes the target has refused, if nothing more is waited for because of that.
    refused: Option<u64>,
}

impl MarkerLookout {
    pub(super) fn new(
        ends: Ends,
        queue: Rc<Queue>,
        notices: Arc<Notices>,
        limits: Limits,
        began: Nanos,
    ) -> Self {
        Self {
            ends,
            queue,
            notices,
            limits,
            began,
            clock: Clock::system(),
            outstanding: Vec::new(),
            newest_seen: None,
            is_last_seen: false,
            log: MarkerLog::default(),
            markers: Markers::default(),
            silent: None,
            refused: None,
        }
    }

    /// Looks for markers beside the load, and then until the target has caught up. `are_ended`:
    /// whether the links that deliver what this one passes on have ended.
    pub(super) async fn go_on(mut self, are_ended: impl Fn() -> bool) -> FoundLink {
        let notices = self.notices.clone();
        let settled = tokio::select! {
            settled = self.work(are_ended) => settled,
            () = abandoned(&notices) => Settled::default(),
        };
        self.receive();
        let Settled { end, converged_s, compared } = settled;
        let comparison = compared.map(|it| it.found);
        let silent = self.silent.take().map(|(_, reason)| reason);
        let refused = self.refused.filter(|_| end == LinkEnd::Behind);
        let reason = silent.filter(|_| end == LinkEnd::Gone).or(refused.map(nothing_more));
        FoundLink { markers: self.markers(), end, converged_s, comparison, reason }
    }

    /// Only looks for markers, until no more will come or `are_ended`.
    pub(super) async fn watch(mut self, are_ended: impl Fn() -> bool) -> Markers {
        let notices = self.notices.clone();
        let watching = async {
            loop {
                self.receive();
                let last = are_ended();
                if last {
                    self.look_on().await;
                } else if !self.outstanding.is_empty() {
                    self.look().await;
                }
                if last || self.is_last_seen && self.outstanding.is_empty() {
                    return;
                }
                if self.outstanding.is_empty() {
                    tokio::time::sleep(STEP).await;
                } else {
                    self.pause().await;
                }
            }
        };
        tokio::select! {
            () = watching => {}
            () = abandoned(&notices) => {}
        }
        self.receive();
        self.markers()
    }

    fn markers(self) -> Markers {
        let unseen = self.outstanding.len() as u64;
        let (lag, over_time) = self.log.finish();
        Markers { unseen, lag, over_time, ..self.markers }
    }

    async fn work(&mut self, are_ended: impl Fn() -> bool) -> Settled {
        loop {
            self.receive();
            if let Some(over_at) = self.notices.over_at() {
                let settled = self.settle(over_at, are_ended).await;
                if settled.end == LinkEnd::Converged {
                    // Some may have arrived between the last look and the comparison.
                    self.receive();
                    self.look_on().await;
                }
                return settled;
            }
            if self.outstanding.is_empty() {
                let queue = self.queue.clone();
                tokio::select! {
                    () = queue.notify.notified() => {}
                    () = tokio::time::sleep(STEP) => {}
                }
                continue;
            }
            self.look().await;
            self.pause().await;
        }
    }

    /// Takes what the writer has reported.
    fn receive(&mut self) {
        let Queued { sent, failures, reason } = self.queue.take();
        self.markers.written += sent.len() as u64;
        self.markers.write_failures += failures;
        self.markers.reason = self.markers.reason.take().or(reason);
        self.outstanding.extend(sent);
    }

    /// Looks once for the markers that have not been seen.
    async fn look(&mut self) {
        let count = self.outstanding.len();
        let newest = count.saturating_sub(AT_ONCE).max(AT_ONCE.min(count));
        let asked = self.outstanding[..AT_ONCE.min(count)].iter();
        let ids: Vec<String> =
            asked.chain(&self.outstanding[newest..]).map(|it| it.id.clone()).collect();
        let found = self.ends.target.find(&ids).await;
        let Some(found) = self.answered(found) else { return };
        let now = self.clock.now();
        let seen: Vec<_> = found.into_iter().flatten().map(|it| it.id).collect();
        let (began, log) = (self.began, &mut self.log);
        let (newest_seen, is_last_seen) = (&mut self.newest_seen, &mut self.is_last_seen);
        self.outstanding.retain(|sent| {
            let is_seen = seen.contains(&sent.id);
            if is_seen {
                let at_ns = sent.acknowledged.saturating_sub(began);
                log.seen(at_ns, now.saturating_sub(sent.acknowledged));
                *newest_seen = (*newest_seen).max(Some(sent.number));
                *is_last_seen |= sent.is_last;
            }
            !is_seen
        });
    }

    /// Looks as long as that finds any: those between the oldest and the newest get their turn once
    /// enough of these have been seen.
    async fn look_on(&mut self) {
        let mut before = usize::MAX;
        while (1..before).contains(&self.outstanding.len()) {
            before = self.outstanding.len();
            self.look().await;
        }
    }

    /// Notes whether there was a response.
    fn answered<T>(&mut self, answer: Result<T, TargetError>) -> Option<T> {
        match answer {
            Ok(it) => {
                self.silent = None;
                Some(it)
            }
            Err(error) => {
                let reason = error.to_string();
                self.markers.look_failures += 1;
                self.markers.reason.get_or_insert_with(|| reason.clone());
                let since = self.silent.take().map_or_else(|| self.clock.now(), |it| it.0);
                self.silent = Some((since, reason));
                None
            }
        }
    }

    async fn pause(&self) {
        if let Some(pause_ns) = self.pause_ns(self.clock.now()) {
            tokio::time::sleep(Duration::from_nanos(pause_ns)).await;
        }
    }

    /// How long to wait before the next look, if any marker is awaited. One that was overtaken does
    /// not prolong the wait.
    fn pause_ns(&self, now: Nanos) -> Option<Nanos> {
        let age_ns = |sent: &SentMarker| now.saturating_sub(sent.acknowledged);
        let awaited = self.outstanding.iter().find(|it| Some(it.number) > self.newest_seen);
        match awaited.or(self.outstanding.last()) {
            _ if self.silent.is_some() => Some(RETRY_NS),
            Some(sent) => Some((age_ns(sent) / PAUSE_SHARE).clamp(LEAST_PAUSE_NS, MOST_PAUSE_NS)),
            None => None,
        }
    }

    /// Whether the target has not responded for so long that it counts as gone.
    fn is_gone(&self) -> bool {
        let now = self.clock.now();
        self.silent.as_ref().is_some_and(|it| now.saturating_sub(it.0) >= self.limits.patience_ns)
    }

    /// After the load: waits until the target has caught up, or the time is up.
    async fn settle(&mut self, over_at: Nanos, are_ended: impl Fn() -> bool) -> Settled {
        let until = over_at.saturating_add(self.limits.converge_ns);
        let quiet_ns = self.limits.quiet_ns;
        let (mut quiet, mut unseen) = (Quiet::default(), Quiet::default());
        let mut compared: Option<Compared> = None;
        loop {
            self.receive();
            self.look_on().await;
            let asked_at = self.clock.now();
            let is_cut = self.outstanding.is_empty() && self.is_cut();
            if (self.is_last_seen || is_cut) && are_ended() {
                let before = compared.as_ref().map(|it| it.found.wrong());
                if self.is_worth_comparing(&mut quiet, quiet_ns / 2).await {
                    compared = self.compare(compared).await;
                }
                if compared.as_ref().is_some_and(|it| it.found.wrong() == 0) {
                    // What the first look finds was there when it began.
                    let at = if before.is_some() { self.clock.now() } else { asked_at };
                    let converged_s = Some(seconds(at.saturating_sub(over_at)));
                    return Settled { end: LinkEnd::Converged, converged_s, compared };
                }
                if let Some(it) = &mut compared {
                    let is_stuck = quiet.is_stuck(it.found.wrong(), self.clock.now());
                    if is_stuck && self.is_explained(it).await {
                        return Settled { end: LinkEnd::Behind, converged_s: None, compared };
                    }
                    if self.is_last_seen && quiet.lasted(self.clock.now()) >= quiet_ns {
                        return Settled { end: LinkEnd::Lost, converged_s: None, compared };
                    }
                }
            }
            if self.is_gone() {
                return Settled { end: LinkEnd::Gone, converged_s: None, compared };
            }
            let is_over = are_ended() && self.is_refused(&mut unseen).await;
            if is_over || self.clock.now() >= until {
                return self.last_look(compared).await;
            }
            let step = if self.outstanding.is_empty() {
                pause_after(self.clock.now().saturating_sub(over_at))
            } else {
                STEP
            };
            tokio::time::sleep(step).await;
        }
    }

    /// Whether there may be no last marker: a source that refuses documents of the link before may
    /// also refuse its own markers.
    fn is_cut(&self) -> bool {
        self.ends.cut.as_ref().is_some_and(|it| it.get())
    }

    /// Whether no more markers will come, the last one included: the replication has dealt with all
    /// that its source has, and its target has refused as many writes as it lacks markers.
    async fn is_refused(&mut self, unseen: &mut Quiet) -> bool {
        let missing = self.outstanding.len() as u64;
        let is_stuck = unseen.is_stuck(missing, self.clock.now());
        let is_last_awaited = self.outstanding.iter().any(|it| it.is_last);
        let is_complete = is_last_awaited || !self.is_last_seen && self.is_cut();
        is_stuck && is_complete && self.has_refused(missing).await
    }

    /// Whether what is wrong may all have been refused, and nothing more will come.
    async fn is_explained(&mut self, compared: &mut Compared) -> bool {
        // What the source does not list was not even sent.
        let is_possible = self.ends.refusals.is_some() && compared.unlisted == 0;
        let is_possible = is_possible && self.has_foreign(compared).await == Some(false);
        is_possible && self.has_refused(compared.found.wrong()).await
    }

    /// Whether the target shows what its source never had; `None` if the source does not say.
    async fn has_foreign(&mut self, compared: &mut Compared) -> Option<bool> {
        compared.has_foreign(&mut *self.ends.source).await.ok()
    }

    /// Whether the target has refused as many writes as it lacks, and nothing more will come.
    async fn has_refused(&mut self, missing: u64) -> bool {
        let Some(refusals) = &mut self.ends.refusals else { return false };
        let refused = refusals.final_count(&mut *self.ends.source).await;
        self.refused = Some(refused).filter(|it| *it >= missing);
        self.refused.is_some()
    }

    /// Whether the target has as many documents as it should, or no more are arriving.
    async fn is_worth_comparing(&mut self, quiet: &mut Quiet, enough_ns: Nanos) -> bool {
        if self.ends.counted.is_empty() || quiet.has_wrong {
            return true;
        }
        let has = self.ends.target.count().await;
        let Some(has) = self.answered(has) else { return false };
        let wanted = count_all(&mut self.ends.counted).await;
        let Some(wanted) = self.answered(wanted) else { return false };
        quiet.counts(has, self.clock.now());
        has.covers(wanted) || quiet.lasted(self.clock.now()) >= enough_ns
    }

    /// Compares everything the first time, and afterwards looks again for what was wrong.
    async fn compare(&mut self, before: Option<Compared>) -> Option<Compared> {
        match before {
            Some(mut it) if it.unlisted == 0 => {
                let looked = it.again(&mut *self.ends.source, &mut *self.ends.target).await;
                self.answered(looked);
                Some(it)
            }
            before => {
                let compared = self.compare_all().await;
                self.answered(compared).or(before)
            }
        }
    }

    /// Compares everything that the source lists. What it only counts is missing, unless the target
    /// has as many documents as it should.
    async fn compare_all(&mut self) -> Result<Compared, TargetError> {
        let Ends { source, target, counted, may_show, .. } = &mut self.ends;
        let asked = Compared::by(*may_show);
        let mut compared = compare(&mut **source, &mut **target, asked).await?;
        if !counted.is_empty() {
            let unlisted = source.count().await?.all().saturating_sub(compared.found.documents);
            if unlisted > 0 && target.count().await? != count_all(counted).await? {
                compared.add_unlisted(unlisted);
            }
        }
        Ok(compared)
    }

    /// Determines what is missing when the time is up.
    async fn last_look(&mut self, before: Option<Compared>) -> Settled {
        let limit = Duration::from_nanos(LAST_LOOK_NS);
        let mut compared =
            tokio::time::timeout(limit, self.compare(before)).await.unwrap_or_default();
        let is_foreign = match &mut compared {
            Some(it) if self.refused.is_some() => self.has_foreign(it).await == Some(true),
            _ => false,
        };
        let end = match &compared {
            Some(it) if it.found.wrong() == 0 => LinkEnd::Converged,
            // Nothing more will come, and this was not refused.
            Some(_) if is_foreign => LinkEnd::Lost,
            None if self.silent.is_some() => LinkEnd::Gone,
            _ => LinkEnd::Behind,
        };
        let converged_s = (end == LinkEnd::Converged).then(|| {
            let over_at = self.notices.over_at().unwrap_or_default();
            seconds(self.clock.now().saturating_sub(over_at))
        });
        Settled { end, converged_s, compared }
    }
}

/// The outcome of a link after the load.
#[derive(Default)]
struct Settled {
    end: LinkEnd,
    converged_s: Option<f64>,
    compared: Option<Compared>,
}

fn seconds(ns: Nanos) -> f64 {
    ns as f64 / SECOND_NS as f64
}

#[cfg(test)]
#[path = "link_tests.rs"]
mod tests;
