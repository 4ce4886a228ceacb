//! Drills of a run as a whole: what the audits of its nodes found, and warnings.

use super::drill::DrillStep;
use super::{Code, RunRecord, StageRecord, Warning};
use crate::measure::NodeCopies;
use crate::op::{Failure, OpKind, grouped};
use crate::plan::Purpose;

/// What an audit through one node found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeAudit {
    /// The node's address; empty if there is only one node.
    pub url: String,
    /// Documents that are as acknowledged, also absent ones that should be.
    pub found: u64,
    /// Documents that are missing.
    pub lost: u64,
    /// Documents that differ from what was acknowledged.
    pub wrong: u64,
    /// Documents whose state is not known; `None`: nothing is known at all.
    pub unknown: Option<u64>,
    /// The reason.
    pub problem: Option<String>,
}

impl StageRecord {
    /// Whether an audit ended before it could look for anything: all that it asked failed.
    pub(super) fn saw_nothing(&self) -> bool {
        let looked = self.operations.iter().any(|it| it.kind == OpKind::Verify);
        !looked && self.requests().any(|it| it.failed() > 0)
    }
}

impl RunRecord {
    /// What the audits of a drill found, node by node.
    pub fn audits(&self) -> Vec<NodeAudit> {
        let urls = self.plan.target.nodes();
        let audit = |stage: &StageRecord| {
            let traits = self.plan_of(stage)?.work.traits();
            traits.audits.then_some(())?;
            let url = traits.node.and_then(|node| urls.get(node).cloned());
            let mut found = NodeAudit { url: url.unwrap_or_default(), ..NodeAudit::default() };
            found.problem.clone_from(&stage.unasked);
            let verified = stage.operations.iter().find(|it| it.kind == OpKind::Verify);
            found.unknown = stage.unasked.is_none().then_some(0);
            let Some(verified) = verified else {
                if stage.saw_nothing() {
                    (found.unknown, found.problem) = (None, Some(stage.failures()));
                }
                return Some(found);
            };
            let count = |of: fn(Failure) -> bool| -> u64 {
                let classes = verified.failures.iter().filter(|(class, _)| of(**class));
                classes.map(|(_, count)| count).sum()
            };
            found.found = verified.ok.saturating_sub(verified.never_written);
            found.lost = count(|class| class == Failure::Lost);
            found.wrong = count(|class| class.is_wrong_data() && class != Failure::Lost);
            found.unknown = Some(count(|class| !class.is_wrong_data()));
            Some(found)
        };
        self.stages.iter().filter_map(audit).collect()
    }

    /// Describes what is wrong with the drill itself, in one sentence.
    pub fn invalid_drill(&self) -> Option<(&StageRecord, String)> {
        let stage = self.stages.iter().find(|stage| stage.drill.is_some())?;
        let drill = stage.drill.as_ref()?;
        let problem_of = |step: &Option<DrillStep>| step.as_ref()?.problem.clone();
        let problem = match (&drill.stop, problem_of(&drill.stop), problem_of(&drill.start)) {
            (None, ..) => Some("the stage ended before anything was broken".to_owned()),
            (_, Some(stop), Some(start)) => Some(format!("{stop}; {start}")),
            (_, stop, start) => stop.or(start),
        };
        problem.map(|problem| (stage, format!("the drill is not valid: {problem}")))
    }
}

/// Adds a warning if copies differ after a drill.
pub(super) fn copies_warning(record: &RunRecord, warnings: &mut Vec<Warning>) {
    let Some(copies) = record.copies.as_ref().filter(|copies| !copies.are_alike()) else { return };
    // It is normal for a load user to lack this right; the lines of the drill say so.
    if copies.problem.is_none() && copies.nodes.iter().all(NodeCopies::are_refused) {
        return;
    }
    let unread = copies.nodes.iter().find(|it| it.problem.is_some());
    let message = match (&copies.problem, unread.filter(|_| !copies.differ())) {
        (Some(why), _) => format!("the copies of the database were not compared: {why}"),
        (None, Some(node)) => {
            let why = node.problem.as_deref().unwrap_or_default();
            format!("the copies on {} could not be compared: {why}", node.node)
        }
        (None, None) => {
            let sum = |of: fn(&NodeCopies) -> u64| grouped(copies.nodes.iter().map(of).sum());
            format!(
                "after the drill, the copies of the database were not alike: {} missing, {} older",
                sum(|it| it.missing),
                sum(|it| it.older),
            )
        }
    };
    warnings.push(Warning { code: Code::CopiesDiffer, stage: None, message });
}

/// Adds warnings about a drill, and about nodes that could not be audited.
pub(super) fn warnings(record: &RunRecord, stage: &StageRecord, warnings: &mut Vec<Warning>) {
    let mut add = |code, message| {
        warnings.push(Warning { code, stage: Some(stage.name.clone()), message });
    };
    if let Some(why) = &stage.unasked {
        add(Code::AuditIncomplete, format!("audit incomplete: {why}"));
    }
    if stage.purpose() == Purpose::Audit && stage.saw_nothing() {
        let (why, again) = (stage.failures(), "audit again with springload audit");
        let message = format!("audit incomplete: nothing could be read: {why}; {again}");
        add(Code::AuditIncomplete, message);
    }
    if let Some((_, problem)) = record.invalid_drill().filter(|(it, _)| it.name == stage.name) {
        add(Code::DrillInvalid, problem);
    }
    let Some(drill) = stage.drilled() else { return };
    if !drill.has_changed() {
        let message = "nothing changed while it was broken: did the drill break what it should?";
        add(Code::NothingBroken, message.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Copies, KindInterval};
    use crate::record::{DrillRecord, fixture};

    /// An audit of one node, in which these documents of each class failed and five did not.
    fn audit(node: Option<usize>, failures: &[(Failure, u64)]) -> StageRecord {
        let mut part = KindInterval { requests: 20, ok: 5, ..KindInterval::default() };
        for (class, count) in failures {
            part.failures[class.index()] = *count;
        }
        let read = KindInterval { requests: 7, ok: 7, ..KindInterval::default() };
        let parts = vec![(0, OpKind::Read, read), (0, OpKind::Verify, part)];
        let mut stage = fixture::stage("audit", parts);
        let plan = serde_json::json!({
            "name": "audit", "workload": "audit", "node": node,
            "pace": { "loop": "closed", "think_ns": 0 }, "length_ns": null,
        });
        stage.plan = Some(serde_json::from_value(plan).expect("a stage"));
        stage
    }

    #[test]
    fn each_audit_says_what_it_found_and_at_which_node() {
        let mut record = fixture::record(&[]);
        let target = serde_json::json!({
            "server": "http://a:1", "nodes": [{ "server": "http://b:2" }],
            "auth": "cookie", "database": { "kind": "scratch", "keep": false },
        });
        record.plan.target = serde_json::from_value(target).expect("a target");
        let classes =
            [(Failure::Lost, 2), (Failure::WrongBody, 3), (Failure::Stale, 1), (Failure::Reset, 4)];
        let mut unasked = audit(Some(1), &[]);
        unasked.operations.clear();
        let nothing = unasked.clone();
        unasked.unasked = Some("it is down".to_owned());
        record.stages.extend([audit(Some(1), &classes), audit(None, &[]), unasked, nothing]);
        let url = "http://b:2".to_owned();
        let found = NodeAudit { url, unknown: Some(0), ..NodeAudit::default() };
        let (unknown, problem) = (None, Some("it is down".to_owned()));
        let expected = [
            NodeAudit { found: 5, lost: 2, wrong: 4, unknown: Some(4), ..found.clone() },
            NodeAudit { url: String::new(), found: 5, ..found.clone() },
            NodeAudit { unknown, problem, ..found.clone() },
            found,
        ];
        assert_eq!(record.audits(), expected);
    }

    #[test]
    fn what_was_never_written_is_not_as_acknowledged() {
        let mut record = fixture::record(&[]);
        let mut stage = audit(None, &[]);
        let verified = stage.operations.iter_mut().find(|it| it.kind == OpKind::Verify);
        verified.expect("a comparison").never_written = 2;
        record.stages.push(stage);
        let NodeAudit { found, unknown, .. } = record.audits().remove(0);
        assert_eq!((found, unknown), (3, Some(0)));
    }

    #[test]
    fn an_audit_without_any_answer_is_incomplete() {
        let of = |failed: u64| {
            let mut stage = audit(None, &[]);
            stage.operations.retain(|it| it.kind == OpKind::Read);
            if failed > 0 {
                stage.operations[0].failures.insert(Failure::Connect, failed);
            }
            let mut record = fixture::record(&[]);
            record.stages = vec![stage];
            record.conclude();
            let NodeAudit { unknown, problem, .. } = record.audits().remove(0);
            let warned = fixture::messages_of(&record, Code::AuditIncomplete).pop();
            (unknown, problem.is_some_and(|it| it.contains("7 connect")), warned)
        };
        assert_eq!(of(0), (Some(0), false, None), "there was nothing to look for");
        let (unknown, named, warned) = of(7);
        assert_eq!((unknown, named), (None, true));
        let warned = warned.expect("a warning");
        assert!(
            warned.starts_with("audit incomplete: nothing could be read: 7 connect"),
            "{warned}"
        );
    }

    #[test]
    fn copies_that_differ_or_were_not_read_are_reported_unless_nobody_may_read_them() {
        let node = |missing, older, problem: Option<&str>| {
            let (node, problem) = ("n1".to_owned(), problem.map(str::to_owned));
            NodeCopies { node, missing, older, problem, ..NodeCopies::default() }
        };
        let fine = || node(0, 0, None);
        let found = |nodes: Vec<NodeCopies>, problem: Option<&str>| {
            let mut record = fixture::without_failures(&[]);
            let problem = problem.map(str::to_owned);
            record.copies = Some(Copies { nodes, problem, ..Copies::default() });
            record.conclude();
            fixture::messages_of(&record, Code::CopiesDiffer).pop()
        };
        let unread = |why: &str| format!("the copies on n1 could not be compared: {why}");
        let unlike = "after the drill, the copies of the database were not alike: ";
        assert_eq!(found(vec![fine(), fine()], None), None);
        let differing = || node(3, 1, None);
        let both = format!("{unlike}4 missing, 1 older");
        assert_eq!(found(vec![differing(), node(1, 0, None)], None), Some(both));
        let broken = || node(0, 0, Some("status 500"));
        assert_eq!(found(vec![fine(), broken()], None), Some(unread("status 500")));
        let one = format!("{unlike}3 missing, 1 older");
        assert_eq!(found(vec![broken(), differing()], None), Some(one), "it is certain");
        let forbidden = |status| NodeCopies { status: Some(status), ..node(0, 0, Some("no")) };
        assert_eq!(found([401, 403].map(forbidden).into(), None), None);
        let refused = || forbidden(401);
        assert_eq!(found(vec![refused(), fine()], None), Some(unread("no")));
        let failed = Some("the copies of the database were not compared: late".to_owned());
        assert_eq!(found(vec![refused()], Some("late")), failed);
    }

    #[test]
    fn only_the_drilled_stage_is_said_to_be_not_valid() {
        let mut record = fixture::without_failures(&[]);
        fixture::crud(&mut record).drill = Some(DrillRecord::default());
        record.conclude();
        let stages = record.warnings.iter().filter(|it| it.code == Code::DrillInvalid);
        let stages: Vec<_> = stages.map(|it| it.stage.as_deref()).collect();
        assert_eq!(stages, [Some("crud")]);
    }
}
