//! Every mistake has its flag and its cure; a valid specification becomes a plan.

use super::*;
use crate::driver::Secret;
use crate::plan::SchemaSource;
use crate::schema::Ids;
use crate::workload::mixed::{CrudOrder, MixedDemand};
use crate::workload::{DocumentsAsked, FillDemand, Mix};
use std::sync::Arc;

const MIX: Mix = Mix::crud([2, 3, 2, 1]);
/// A default that tests replace.
const NOTHING: DocumentsAsked = DocumentsAsked {
    documents: Flagged::new("--docs", 0),
    batch: Flagged::new("--batch", 0),
    within_ns: None,
    operations: Flagged::new("--ops", None),
    warmup_ns: 0,
};

/// The parts of a specification that tests change.
struct Asked {
    spec: PlanSpec,
    documents: u64,
    batch: u64,
    operations: Option<u64>,
    warmup_ns: u64,
    mix: Mix,
}

fn asked() -> Asked {
    let connections = Flagged::new("--connections", 4);
    let spec = PlanSpec {
        timeout_ns: SECOND_NS,
        ..PlanSpec::new("springload run", connections, Arc::new(FillDemand(NOTHING)))
    };
    let (documents, batch, operations, warmup_ns) = (100, 10, Some(100), 0);
    Asked { spec, documents, batch, operations, warmup_ns, mix: MIX }
}

impl Asked {
    fn spec(self) -> PlanSpec {
        let work = Arc::new(MixedDemand {
            own: crate::workload::OwnMix::new(),
            asked: DocumentsAsked {
                documents: Flagged::new("--docs", self.documents),
                batch: Flagged::new("--batch", self.batch),
                within_ns: None,
                operations: Flagged::new("--ops", self.operations),
                warmup_ns: self.warmup_ns,
            },
            mix: Flagged::new("--mix", self.mix),
            more_documents: "--docs",
            order: CrudOrder::Uniform,
        });
        PlanSpec { work, ..self.spec }
    }
}

/// The flags of all mistakes in a specification.
fn mistakes(change: impl FnOnce(&mut Asked)) -> Vec<String> {
    let mut asked = asked();
    change(&mut asked);
    let lines = check(&asked.spec()).err().unwrap_or_default();
    lines
        .iter()
        .map(|mistake| {
            let line = mistake.to_string();
            assert!(!line.contains('\n') && line.contains("; "), "no cure in {line:?}");
            line.split(':').next().unwrap_or_default().to_owned()
        })
        .collect()
}

#[test]
fn what_cannot_be_carried_out_is_refused_by_flag() {
    let read_only = Mix::crud([0, 1, 0, 0]);
    let delete_only = Mix::crud([0, 0, 0, 1]);
    assert_eq!(mistakes(|s| s.spec.connections.value = 0), ["--connections"]);
    assert_eq!(mistakes(|s| s.batch = 0), ["--batch"]);
    assert_eq!(mistakes(|s| s.spec.timeout_ns = 0), ["--timeout"]);
    assert_eq!(mistakes(|s| s.spec.max_answer = 0), ["--max-answer"]);
    assert_eq!(mistakes(|s| (s.documents, s.mix) = (0, read_only)), ["--docs"]);
    assert_eq!(mistakes(|s| (s.documents, s.mix) = (3, read_only)), ["--docs"]);
    assert_eq!(mistakes(|s| (s.operations, s.mix) = (Some(101), delete_only)), ["--mix"]);
    assert_eq!(mistakes(|s| (s.documents, s.operations) = (0, Some(0))), ["--ops"]);
    let several = mistakes(|s| (s.spec.connections.value, s.batch, s.spec.timeout_ns) = (0, 0, 0));
    assert_eq!(several, ["--connections", "--batch", "--timeout"]);
}

#[test]
fn thresholds_are_read_and_need_something_to_judge() {
    let with = |texts: &[&str]| {
        mistakes(|s| s.spec.thresholds = texts.iter().map(|&text| text.to_owned()).collect())
    };
    assert_eq!(with(&["read.p99 > 20ms", "err > 1%"]), Vec::<String>::new());
    assert_eq!(with(&["read.p98 > 20ms", "err"]), ["--fail-if", "--fail-if"]);
    let judged = |change: fn(&mut Asked)| {
        mistakes(|s| {
            s.spec.thresholds =
                vec!["delete.p99 > 20ms".to_owned(), "bulk_insert.err > 0".to_owned()];
            change(s);
        })
    };
    assert_eq!(judged(|_| ()), Vec::<String>::new());
    assert_eq!(judged(|s| s.operations = Some(0)), ["--fail-if"]);
    assert_eq!(
        judged(|s| (s.documents, s.mix) = (0, Mix::crud([2, 3, 2, 0]))),
        ["--fail-if", "--fail-if"]
    );
}

#[test]
fn every_legal_shape_is_a_plan() {
    let read_only = Mix::crud([0, 1, 0, 0]);
    let stages = |change: fn(&mut Asked)| {
        let mut asked = asked();
        change(&mut asked);
        let plan = check(&asked.spec()).expect("legal");
        plan.into_record().stages.into_iter().map(|stage| stage.name).collect::<Vec<_>>()
    };
    assert_eq!(stages(|_| ()), ["bulk_insert", "crud"]);
    assert_eq!(stages(|s| s.operations = Some(0)), ["bulk_insert"]);
    assert_eq!(stages(|s| s.documents = 0), ["crud"]);
    assert_eq!(stages(|s| s.warmup_ns = 1), ["bulk_insert", "warm_up", "crud"]);
    let mut asked = asked();
    asked.mix = read_only;
    assert!(check(&asked.spec()).is_ok());
}

#[test]
fn targets_are_taken_apart_and_passwords_kept_out() {
    let plan = |target: &str| {
        let mut asked = asked();
        asked.spec.target = Some(target.to_owned());
        check(&asked.spec())
    };
    let target = plan("http://ann:p%40ss@[::1]:5984/a%2Fb").unwrap().into_record().target;
    let TargetPlan::CouchDb(target) = target else { panic!("{target:?}") };
    assert_eq!(target.server.as_deref(), Some("http://[::1]:5984"));
    assert_eq!(
        (target.login.user.as_deref(), target.login.password.as_ref().map(Secret::reveal)),
        (Some("ann"), Some("p@ss"))
    );
    assert_eq!(
        target.database,
        crate::driver::DatabasePlan::New { name: "a/b".to_owned(), keep: false }
    );
    assert!(!serde_json::to_string(&target).unwrap().contains("p@ss"));
    for wrong in ["ftp://h/db", "http://", "h", "http://h/a/b", "http://h:99999/", "http://h/?x"] {
        let mistakes = plan(wrong).unwrap_err();
        assert!(mistakes[0].to_string().starts_with("TARGET: "), "{wrong}");
    }
    let mistakes = plan("http://u:secret@h/a/b").unwrap_err();
    assert!(!mistakes[0].to_string().contains("secret"));
}

#[test]
fn schemas_are_read_and_checked() {
    let with = |text: &str| {
        let text = text.to_owned();
        let source = SchemaSource::Text { name: "given".to_owned(), text };
        mistakes(|s| s.spec.schemas = vec![("--schema", source, 1)])
    };
    assert_eq!(with("{\"a\":1}"), Vec::<String>::new());
    for wrong in ["", "{", "[]", "{}", "{\"_id\":\"x\"}", "<object>", "\u{feff}"] {
        assert_eq!(with(wrong), ["--schema"], "{wrong:?}");
    }
    let missing = SchemaSource::File("no/such/file".into());
    assert_eq!(mistakes(|s| s.spec.schemas = vec![("--schema", missing, 1)]), ["--schema"]);
}

#[test]
fn time_series_are_refused_where_keys_have_no_order() {
    use crate::properties::Properties;
    use crate::workload::ycsb::series::{Asker, SeriesConfig};
    use crate::workload::ycsb::{Class, YcsbDemand, YcsbPhase};
    let asker = Asker { threads: 1, now_ms: 1_500_000_000_000, queries: false };
    let (config, series) = SeriesConfig::read(&Properties::default(), asker).unwrap();
    let work = Arc::new(YcsbDemand {
        config,
        class: Class::Series(Box::new(series)),
        phases: vec![YcsbPhase::Load],
        batch: Flagged::new("-p batchsize", 1),
        counts: Vec::new(),
        paced_load: true,
        warmup_ns: 0,
    });
    let refused = |target: &str| {
        let spec = PlanSpec { target: Some(target.to_owned()), work: work.clone(), ..asked().spec };
        let lines = check(&spec).err().unwrap_or_default();
        lines.iter().map(ToString::to_string).any(|line| line.contains("ranges of keys"))
    };
    // This crate may be built without the driver.
    if crate::driver::CARDS.iter().any(|card| card.name == "redis") {
        assert!(refused("redis://h"));
    }
    assert!(!refused("basic"));
    assert!(!refused("http://h"));
}

#[test]
fn the_audit_of_an_earlier_run_expects_the_documents_of_that_run() {
    let text = |it: &str| it.to_owned();
    let own = SchemaSource::Text { name: text("own"), text: text(r#"{"a": "b"}"#) };
    let schemas = vec![("--schema", own, 2)];
    let ids = Ids::Random { salt: 3 };
    let earlier = check(&PlanSpec { seed: 7, ids, schemas, ..asked().spec() }).unwrap();
    let earlier = earlier.into_record();
    let (alone, audited) = (check(&asked().spec()).unwrap(), Some(earlier.clone()));
    let audit = check(&PlanSpec { audited, ..asked().spec() }).unwrap();
    assert!(!alone.audit && audit.audit);
    assert_eq!((audit.seed, &audit.ids), (7, &earlier.ids));
    assert_eq!(audit.schemas, earlier.schemas);
    // Everything else is that of the audit itself.
    assert_eq!(audit.stages, alone.stages);
    assert!(alone.seed == 1 && alone.ids != earlier.ids && alone.schemas != earlier.schemas);
}
