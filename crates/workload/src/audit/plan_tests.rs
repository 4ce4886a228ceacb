//! What is planned as an audit, of which stage, and what is said about it.

use super::*;
use crate::properties::Properties;
use crate::ycsb::{Class, CoreConfig, YcsbPhase, YcsbStage};
use crate::{BulkInsertPlan, UrlOrder, UrlsPlan};

/// A fill with documents of the run's schemas.
fn fill(documents: u64) -> WorkloadPlan {
    BulkInsertPlan { documents, batch: 1, within_ns: None }.into()
}

/// A phase of YCSB's core workload, which has documents of its own.
fn ycsb(phase: YcsbPhase) -> WorkloadPlan {
    let properties = Properties::parse(b"recordcount=10\nfieldcount=2").unwrap();
    let config = CoreConfig::read(&properties, false, &|_| Err(String::new())).unwrap();
    YcsbStage { phase, batch: 1, operations: None, config, class: Class::Core }.into()
}

/// The members that are wrong in the stored plan of an audit of this workload.
fn mistakes(of: Option<WorkloadPlan>) -> Vec<String> {
    let restored = Restored { connections: 1, stored: 0, ids: &Ids::Sequential, requests: 1 };
    let mut mistakes: Vec<Invalid> = Vec::new();
    AuditPlan { of, ..AuditPlan::default() }.check_again(&restored, &mut mistakes);
    mistakes.iter().map(|it| it.flag().to_owned()).collect()
}

#[test]
fn an_audit_is_of_the_last_stage_with_documents_of_its_own() {
    let (fill, load, run) = (fill(10), ycsb(YcsbPhase::Load), ycsb(YcsbPhase::Run));
    let of = |stages: &[&WorkloadPlan]| AuditDemand::of(stages.iter().copied(), false).step().work;
    let plan = |of: Option<&WorkloadPlan>| {
        WorkloadPlan::from(AuditPlan { of: of.cloned(), ..AuditPlan::default() })
    };
    assert_eq!(of(&[&load, &run, &fill]), plan(Some(&run)));
    assert_eq!(of(&[&fill]), plan(None));
}

#[test]
fn whatever_is_demanded_is_planned() {
    let indexes = vec!["app/by".to_owned()];
    let demand = AuditDemand::of([], true).with_indexes(indexes.clone()).of_earlier(7);
    let [step] = &demand.steps()[..] else { panic!("{:?}", demand.steps()) };
    let plan = AuditPlan { of: None, alone: true, indexes, node: None, created: Some(7) };
    assert_eq!((step.name.as_str(), &step.work), ("audit", &WorkloadPlan::from(plan)));
    let traits = step.work.traits();
    assert_eq!((traits.counts_others, traits.created_before), (true, 7));
}

#[test]
fn an_audit_expects_conflicts_if_the_workload_does() {
    let shares = |of| AuditPlan { of, ..AuditPlan::default() }.traits().shares_documents;
    let all = [None, Some(fill(10)), Some(ycsb(YcsbPhase::Load)), Some(ycsb(YcsbPhase::Run))];
    // Only in YCSB's run phase, any connection may write any document.
    assert_eq!(all.map(shares), [false, false, false, true]);
}

#[test]
fn an_audit_is_described_by_what_it_looks_for_and_never_counted() {
    let plan = AuditPlan { indexes: vec!["app/by".to_owned()], ..AuditPlan::default() };
    let said = plan.describe(&|count| count.to_string());
    assert_eq!(said, ["every acknowledged write", "every row of app/by"]);
    assert_eq!((plan.operations(0, 1), plan.planned(2)), (None, None));
}

#[test]
fn a_stored_audit_is_of_a_workload_that_can_be_audited() {
    assert_eq!(mistakes(None), Vec::<String>::new());
    assert_eq!(mistakes(Some(fill(10))), Vec::<String>::new());
    // The workload's own mistakes are those of the audit.
    assert_eq!(mistakes(Some(fill(0))), ["documents"]);
    let list = UrlsPlan { operations: None, order: UrlOrder::Random, kinds: Vec::new() };
    assert_eq!(mistakes(Some(list.into())), ["of"]);
    assert_eq!(mistakes(Some(AuditPlan::default().into())), ["of"]);
}
