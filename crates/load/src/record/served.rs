//! The requests of a run beside those that the server has counted: whether others asked as well,
//! or an answer was lost.

use super::{RunRecord, StageRecord};
use crate::driver::CompactionPlan;
use crate::measure::Served;
use crate::observed::Source;
use std::collections::BTreeMap;

/// Others' requests are not mentioned if there are no more than so many, or than this share of all:
/// logging in again takes some, and so does asking whether a node is back.
const FEW: (u64, f64) = (20, 0.005);

/// Asking how many documents more databases than this have takes as many requests as matter.
const MANY: u32 = 1_000;

/// What the server's own count of requests says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Requests that the server counted, without those that asked for the count.
    pub served: Served,
    /// Requests that the run sent.
    pub sent: u64,
    /// The same by method and status, if that is known of all.
    pub by: Option<Served>,
    /// Of these, those that got no answer: the server may not have counted them.
    pub unanswered: u64,
}

impl Counted {
    /// Requests of others, if there are enough to matter.
    pub fn of_others(&self) -> Option<u64> {
        let served = self.served.requests();
        let more = match &self.by {
            Some(sent) => more(&self.served.methods, &sent.methods).values().sum(),
            None => served.saturating_sub(self.sent),
        };
        let (count, share) = FEW;
        (more > count && more as f64 > served as f64 * share).then_some(more)
    }

    /// Those by method and by the status of the answer, the most first; empty if not known.
    pub fn others_by(&self) -> [Vec<(String, u64)>; 2] {
        let Some(sent) = &self.by else { return Default::default() };
        [(&self.served.methods, &sent.methods), (&self.served.statuses, &sent.statuses)].map(
            |(served, sent)| {
                let mut all: Vec<_> = more(served, sent).into_iter().collect();
                all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
                all
            },
        )
    }

    /// Answered requests that the server did not count, if there are any.
    pub fn not_counted(&self) -> Option<u64> {
        let missing = match &self.by {
            Some(sent) => more(&sent.methods, &self.served.methods).values().sum(),
            None => self.sent.saturating_sub(self.served.requests()),
        };
        Some(missing.saturating_sub(self.unanswered)).filter(|less| *less > 0)
    }
}

/// By how much each of these counts is higher than that of the others.
fn more(these: &BTreeMap<String, u64>, others: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let each = these.iter().map(|(name, count)| {
        let other = others.get(name).copied().unwrap_or(0);
        (name.clone(), count.saturating_sub(other))
    });
    each.filter(|(_, count)| *count > 0).collect()
}

impl RunRecord {
    /// What the server's own count of requests says; `None`: it was not asked, it or a node was
    /// started again or gave no answer at the end, or the run sent requests that are not counted,
    /// such as those for its metrics or for a compaction.
    pub fn counted(&self) -> Option<Counted> {
        let observed = self.observed.as_ref()?;
        let target = &self.plan.target;
        let compaction = target.compaction() != CompactionPlan::Auto;
        let many = target.databases().is_some_and(|it| it.spread.count > MANY);
        let beside = self.plan.fill.growth || self.plan.probe.is_some() || compaction || many;
        // Servers that replicate ask each other.
        let others = self.plan.follow.is_some() || self.plan.replication.is_some();
        if beside || others || self.partial {
            return None;
        }
        let asked = observed.sources.iter().filter(|it| !it.machine);
        let (exporters, servers): (Vec<&Source>, Vec<&Source>) =
            asked.partition(|it| it.url.is_some());
        // A server that is its own exporter counts how often it was asked, too.
        let of_server = |url: &String| servers.iter().any(|it| url.contains(&it.name));
        if servers.is_empty() || exporters.iter().flat_map(|it| &it.url).any(of_server) {
            return None;
        }
        let mut served = Served::default();
        for source in servers {
            served.add(source.served.as_ref()?);
        }
        let (mut sent, mut unanswered, mut resent) = (0, 0, 0);
        for operation in self.stages.iter().flat_map(StageRecord::requests) {
            if operation.requests > 0 {
                sent += operation.wire.requests?;
                resent += operation.wire.resent;
            }
            let failed = operation.failures.iter().filter(|(class, _)| !class.refuses());
            unanswered += operation.unfinished + failed.map(|(_, count)| count).sum::<u64>();
        }
        let mut by = Served::default();
        self.stages.iter().for_each(|stage| by.add(&stage.sent));
        // Of an agent that was lost, only the number of its requests is known.
        let all = by.requests() + resent >= sent;
        Some(Counted { served, sent, by: Some(by).filter(|_| all), unanswered })
    }
}
