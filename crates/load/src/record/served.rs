//! Compares the requests of a run with those that the server counted: others may have sent some, or
//! a response was lost.

use super::{Code, RunRecord, StageRecord, Warning};
use crate::driver::CompactionPlan;
use crate::measure::Served;
use crate::observed::Source;
use std::collections::BTreeMap;

/// Others' requests are not mentioned up to this number, or this share of all: logging in again
/// takes some, and so does checking whether a node is back.
const FEW: (u64, f64) = (20, 0.005);

/// From this share of others' requests on, a warning is given.
const MUCH: f64 = 0.05;

/// Asking for the document counts of more databases than this takes enough requests to matter.
const MANY: u32 = 1_000;

/// What the server's own count of requests shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Requests that the server counted, except those that asked for the count.
    pub served: Served,
    /// Requests that the run sent.
    pub sent: u64,
    /// The same by method and status, if known for all of them.
    pub by: Option<Served>,
    /// Of these, those without a response: the server may not have counted them.
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

    /// The others' share of all requests, 0 to 1, if there are enough to matter.
    pub fn others_share(&self) -> Option<f64> {
        Some(self.of_others()? as f64 / self.served.requests() as f64)
    }

    /// The run's own requests of whose response no status is known: the server may have sent one
    /// that came too late, of any status.
    pub fn without_status(&self) -> u64 {
        let Some(by) = &self.by else { return 0 };
        self.sent.max(by.requests()).saturating_sub(by.statuses.values().sum())
    }

    /// The others' requests by method and by response status, most frequent first; empty if not
    /// known. Of a status, only as many as cannot be the run's own: if some of those are without a
    /// status, that is a lower bound.
    pub fn others_by(&self) -> [Vec<(String, u64)>; 2] {
        let Some(sent) = &self.by else { return Default::default() };
        let mut statuses = more(&self.served.statuses, &sent.statuses);
        let late = self.without_status();
        for count in statuses.values_mut() {
            *count = count.saturating_sub(late);
        }
        statuses.retain(|_, count| *count > 0);
        let methods = more(&self.served.methods, &sent.methods);
        // More responses than requests: some are not the others'.
        if statuses.values().sum::<u64>() > methods.values().sum::<u64>() {
            statuses.clear();
        }
        [methods, statuses].map(|counts| {
            let mut all: Vec<_> = counts.into_iter().collect();
            all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            all
        })
    }

    /// Requests with a response that the server did not count, if there are any.
    pub fn not_counted(&self) -> Option<u64> {
        let missing = match &self.by {
            Some(sent) => more(&sent.methods, &self.served.methods).values().sum(),
            None => self.sent.saturating_sub(self.served.requests()),
        };
        Some(missing.saturating_sub(self.unanswered)).filter(|less| *less > 0)
    }
}

impl RunRecord {
    /// Enters the others' requests in the accounts, and adds a warning if there were many.
    pub(super) fn account_for_others(&mut self) {
        let share = self.counted().and_then(|counted| counted.others_share());
        for stage in &mut self.stages {
            if let Some(account) = &mut stage.account {
                account.others_share = share;
            }
        }
        if share.is_some_and(|share| share >= MUCH) {
            let message = "others used the server meanwhile: without them it may be faster, and \
                           nobody is to blame for that";
            let message = message.to_owned();
            self.warnings.push(Warning { code: Code::OthersRequests, stage: None, message });
        }
    }
}

/// By how much each of these counts exceeds the other's.
fn more(these: &BTreeMap<String, u64>, others: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let each = these.iter().map(|(name, count)| {
        let other = others.get(name).copied().unwrap_or(0);
        (name.clone(), count.saturating_sub(other))
    });
    each.filter(|(_, count)| *count > 0).collect()
}

impl RunRecord {
    /// What the server's own count of requests shows. `None`: it was not requested; the server or a
    /// node was restarted or did not respond at the end; or the run sent requests that it does not
    /// count itself, such as those for metrics or for a compaction.
    pub fn counted(&self) -> Option<Counted> {
        let observed = self.observed.as_ref()?;
        let target = &self.plan.target;
        let compaction = target.compaction() != CompactionPlan::Auto;
        let many = target.databases().is_some_and(|it| it.spread.count > MANY);
        let beside = self.plan.fill.growth || self.plan.probe.is_some() || compaction || many;
        // Servers that replicate send each other requests.
        let others = self.plan.follow.is_some() || self.plan.replication.is_some();
        if beside || others || self.partial {
            return None;
        }
        let asked = observed.sources.iter().filter(|it| !it.machine);
        let (exporters, servers): (Vec<&Source>, Vec<&Source>) =
            asked.partition(|it| it.url.is_some());
        // A server that is its own exporter also counts the requests for its metrics.
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
        // For a lost agent, only the number of its requests is known.
        let all = by.requests() + resent >= sent;
        Some(Counted { served, sent, by: Some(by).filter(|_| all), unanswered })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observed::Observed;
    use crate::op::Failure;
    use crate::record::fixture;

    /// A run, and requests that a server served meanwhile; `others` of them were not the run's.
    fn beside(others: u64) -> RunRecord {
        let mut record = fixture::record(&[]);
        let of = |count: u64| Served {
            methods: [("GET".to_owned(), count)].into(),
            statuses: [("200".to_owned(), count)].into(),
        };
        let mut sent = 0;
        for stage in &mut record.stages {
            for operation in &mut stage.operations {
                operation.wire.requests = Some(operation.requests);
                operation.failures.clear();
            }
            let of_stage = stage.requests().map(|it| it.requests).sum();
            stage.sent = of(of_stage);
            stage.account = Some(crate::account::Account::default());
            sent += of_stage;
        }
        let name = "h:1".to_owned();
        let source = Source { name, served: Some(of(sent + others)), ..Source::default() };
        record.observed = Some(Observed { sources: vec![source], ..Observed::default() });
        record.refresh_warnings();
        record
    }

    fn reported(record: &RunRecord) -> (Option<f64>, bool) {
        let accounts = record.stages.iter().filter_map(|it| it.account.as_ref());
        let shares: Vec<Option<f64>> = accounts.map(|it| it.others_share).collect();
        assert!(shares.iter().all(|it| *it == shares[0]), "{shares:?}");
        (shares[0], record.warnings.iter().any(|it| it.code == Code::OthersRequests))
    }

    #[test]
    fn a_large_load_of_others_is_nobodys_fault_and_reported() {
        let own = beside(0).counted().unwrap().sent;
        let guilty = beside(own / 3);
        let (share, warned) = reported(&guilty);
        assert!((share.unwrap() - 0.25).abs() < 0.01 && warned, "{share:?}");
        // It changes no verdict.
        let verdicts = |it: &RunRecord| it.stages.iter().map(|it| it.verdict).collect::<Vec<_>>();
        assert_eq!(verdicts(&guilty), verdicts(&beside(0)));
        // Enough to mention, but not for a warning.
        let (share, warned) = reported(&beside(own * 2 / 98));
        assert!((share.unwrap() - 0.02).abs() < 0.001 && !warned, "{share:?}");
        // About what logging in takes: 0.2 %.
        assert_eq!(reported(&beside(own * 2 / 998)), (None, false));
        assert_eq!(reported(&beside(0)), (None, false));
    }

    #[test]
    fn others_are_mentioned_only_beyond_a_few_requests_and_a_small_share() {
        let of = |count: u64| Served {
            methods: [("GET".to_owned(), count), ("PUT".to_owned(), 5)].into(),
            statuses: [("200".to_owned(), count), ("201".to_owned(), 5)].into(),
        };
        let counted = |served, sent| {
            let (served, by) = (of(served), of(sent));
            Counted { served, sent: by.requests(), by: Some(by), unanswered: 0 }
        };
        assert_eq!(counted(120, 100).of_others(), None, "twenty");
        assert_eq!(counted(121, 100).of_others(), Some(21));
        assert_eq!(counted(9_995, 9_945).of_others(), None, "0.5 %");
        assert_eq!(counted(9_995, 9_944).of_others(), Some(51));
        let by = [vec![("GET".to_owned(), 21)], vec![("200".to_owned(), 21)]];
        assert_eq!(counted(121, 100).others_by(), by, "and not those with the same count");
        assert_eq!(counted(100, 121).not_counted(), Some(21));
    }

    #[test]
    fn late_answers_of_the_run_are_not_told_as_those_of_others() {
        let served = |methods: &[(&str, u64)], statuses: &[(&str, u64)]| {
            let of = |all: &[(&str, u64)]| -> BTreeMap<String, u64> {
                all.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
            };
            Served { methods: of(methods), statuses: of(statuses) }
        };
        let told = |sent: Served, statuses: &[(&str, u64)]| {
            let served = served(&[("GET", 607), ("PUT", 562)], statuses);
            let counted = Counted { served, sent: 1_062, by: Some(sent), unanswered: 71 };
            assert_eq!(counted.of_others(), Some(107));
            let [methods, statuses] = counted.others_by();
            assert_eq!(methods, [("GET".to_owned(), 107)]);
            statuses
        };
        let methods = [("GET", 500), ("PUT", 562)];
        let ok = |count| vec![("200".to_owned(), count)];
        // Without a status are 37 reads, 33 writes and what was not found.
        let sent = || served(&methods, &[("200", 463), ("201", 528)]);
        let all = [("200", 607), ("201", 561), ("404", 1)];
        assert_eq!(told(sent(), &all), ok(73), "144 without 71");
        // Each has its status: all can be told.
        let sent = || served(&methods, &[("200", 500), ("201", 562)]);
        assert_eq!(told(sent(), &[("200", 607), ("201", 562)]), ok(107));
        // More responses than requests.
        assert!(told(sent(), &[("200", 607), ("201", 563)]).is_empty());
    }

    #[test]
    fn a_count_that_includes_what_the_run_sent_beside_the_load_says_nothing() {
        let counted = |change: &dyn Fn(&mut RunRecord)| {
            let mut record = beside(0);
            change(&mut record);
            record.counted().is_some()
        };
        assert!(counted(&|_| ()));
        assert!(!counted(&|it| it.plan.fill.growth = true));
        assert!(!counted(&|it| it.partial = true));
        let probe = |it: &mut RunRecord| {
            let plan = serde_json::json!({ "visible": ["get"], "every_ns": 1 });
            it.plan.probe = Some(serde_json::from_value(plan).expect("a probe"));
        };
        assert!(!counted(&probe));
        let drill = |it: &mut RunRecord| {
            let plan = serde_json::json!({
                "breaks": "maintenance", "node": 0, "url": "http://h:1", "before_ns": 1,
                "broken_ns": 1, "after_ns": 1, "settle_ns": 0, "limit_ns": 1,
            });
            it.plan.drill = Some(serde_json::from_value(plan).expect("a drill"));
        };
        assert!(counted(&drill), "its own requests were taken away");
        let follow = |it: &mut RunRecord| {
            let plan = serde_json::json!({ "followers": 1 });
            it.plan.follow = Some(serde_json::from_value(plan).expect("followers"));
        };
        assert!(!counted(&follow));
        let target = |member: &str, value: serde_json::Value| {
            let mut target = serde_json::json!({
                "auth": "cookie", "database": { "kind": "scratch", "keep": false },
            });
            target[member] = value;
            counted(&|it| {
                it.plan.target = serde_json::from_value(target.clone()).expect("a target");
            })
        };
        assert!(!target("compaction", serde_json::json!("force")));
        for (count, is_known) in [(1_000, true), (1_001, false)] {
            let spread = serde_json::json!({ "count": count, "documents": 1, "batch": 1 });
            assert_eq!(target("databases", spread), is_known, "{count} databases");
        }
    }

    #[test]
    fn only_servers_count_that_are_not_asked_for_their_metrics_as_well() {
        let counted = |change: &dyn Fn(&mut Vec<Source>)| {
            let mut record = beside(0);
            change(&mut record.observed.as_mut().expect("sources").sources);
            record.counted().is_some()
        };
        let exporter = |url: &str| Source { url: Some(url.to_owned()), ..Source::default() };
        assert!(!counted(&|all| *all = Vec::new()));
        assert!(counted(&|all| all.push(exporter("http://other:9100/metrics"))));
        assert!(!counted(&|all| all.push(exporter("http://h:1/metrics"))));
        assert!(!counted(&|all| all[0].served = None), "restarted");
        assert!(!counted(&|all| all[0].machine = true));
    }

    #[test]
    fn methods_are_known_unless_more_requests_are_missing_than_were_resent() {
        let mut record = beside(0);
        let sent = record.counted().expect("a count").sent;
        let operation = &mut record.stages[2].operations[0];
        operation.unfinished = 3;
        operation.failures = [(Failure::Timeout, 4), (Failure::Conflict, 90)].into();
        assert_eq!(record.counted().expect("a count").unanswered, 7);
        // Five are missing by method; those that were resent are counted once.
        for (resent, is_known) in [(6, true), (5, true), (4, false)] {
            for operation in record.stages.iter_mut().flat_map(|it| &mut it.operations) {
                operation.wire.resent = 0;
            }
            let stage = &mut record.stages[2];
            (stage.operations[0].wire.resent, stage.operations[1].wire.resent) = (1, resent - 1);
            let of_stage: u64 = stage.requests().map(|it| it.requests).sum();
            stage.sent.methods = [("GET".to_owned(), of_stage - 5)].into();
            let counted = record.counted().expect("a count");
            assert_eq!((counted.by.is_some(), counted.sent), (is_known, sent), "{resent}");
        }
        // A kind that sent nothing has no count.
        let operation = &mut record.stages[0].operations[0];
        (operation.requests, operation.wire.requests) = (0, None);
        assert!(record.counted().is_some());
        record.stages[0].operations[0].requests = 1;
        assert_eq!(record.counted(), None);
    }
}
