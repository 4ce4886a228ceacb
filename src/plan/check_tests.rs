//! Every mistake has its flag and its cure; what is legal becomes a plan.

use super::*;
use crate::plan::{Auth, FillPlan, SchemaSource};
use crate::schema::Ids;
use crate::workload::Mix;

fn spec() -> PlanSpec {
    PlanSpec {
        command: "springload run".to_owned(),
        target: None,
        target_flag: "TARGET",
        database: None,
        use_existing: false,
        keep: false,
        auth: Auth::Cookie,
        tls_ca: None,
        connections: 4,
        threads: None,
        seed: 1,
        ids: Ids::Sequential,
        timeout_ns: SECOND_NS,
        max_answer: crate::plan::MAX_ANSWER,
        schemas: Vec::new(),
        documents: 100,
        batch: 10,
        operations: Some(100),
        duration_ns: None,
        warmup_ns: 0,
        mix: Mix { create: 2, read: 3, update: 2, delete: 1 },
        order: CrudOrder::Uniform,
        load: LoadSpec::Closed { think_ns: 0 },
        fill: FillPlan::default(),
        burst: None,
        ycsb: None,
        thresholds: Vec::new(),
    }
}

/// The flags of all mistakes in a specification.
fn mistakes(change: impl FnOnce(&mut PlanSpec)) -> Vec<String> {
    let mut spec = spec();
    change(&mut spec);
    let lines = check(&spec).err().unwrap_or_default();
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
    let read_only = Mix { create: 0, read: 1, update: 0, delete: 0 };
    let delete_only = Mix { create: 0, read: 0, update: 0, delete: 1 };
    assert_eq!(mistakes(|s| s.connections = 0), ["--connections"]);
    assert_eq!(mistakes(|s| s.batch = 0), ["--batch"]);
    assert_eq!(mistakes(|s| s.timeout_ns = 0), ["--timeout"]);
    assert_eq!(mistakes(|s| s.max_answer = 0), ["--max-answer"]);
    assert_eq!(mistakes(|s| (s.documents, s.mix) = (0, read_only)), ["--docs"]);
    assert_eq!(mistakes(|s| (s.documents, s.mix) = (3, read_only)), ["--docs"]);
    assert_eq!(mistakes(|s| (s.operations, s.mix) = (Some(101), delete_only)), ["--mix"]);
    assert_eq!(mistakes(|s| (s.documents, s.operations) = (0, Some(0))), ["--ops"]);
    let several = mistakes(|s| (s.connections, s.batch, s.timeout_ns) = (0, 0, 0));
    assert_eq!(several, ["--connections", "--batch", "--timeout"]);
}

#[test]
fn thresholds_are_read_and_need_something_to_judge() {
    let with = |texts: &[&str]| {
        mistakes(|s| s.thresholds = texts.iter().map(|&text| text.to_owned()).collect())
    };
    assert_eq!(with(&["read.p99 > 20ms", "err > 1%"]), Vec::<String>::new());
    assert_eq!(with(&["read.p98 > 20ms", "err"]), ["--fail-if", "--fail-if"]);
    let judged = |change: fn(&mut PlanSpec)| {
        mistakes(|s| {
            s.thresholds = vec!["delete.p99 > 20ms".to_owned(), "bulk_insert.err > 0".to_owned()];
            change(s);
        })
    };
    assert_eq!(judged(|_| ()), Vec::<String>::new());
    assert_eq!(judged(|s| s.operations = Some(0)), ["--fail-if"]);
    assert_eq!(judged(|s| (s.documents, s.mix.delete) = (0, 0)), ["--fail-if", "--fail-if"]);
}

#[test]
fn every_legal_shape_is_a_plan() {
    let read_only = Mix { create: 0, read: 1, update: 0, delete: 0 };
    let stages = |change: fn(&mut PlanSpec)| {
        let mut spec = spec();
        change(&mut spec);
        let plan = check(&spec).expect("legal");
        plan.stages.into_iter().map(|stage| stage.name).collect::<Vec<_>>()
    };
    assert_eq!(stages(|_| ()), ["bulk_insert", "crud"]);
    assert_eq!(stages(|s| s.operations = Some(0)), ["bulk_insert"]);
    assert_eq!(stages(|s| s.documents = 0), ["crud"]);
    assert_eq!(stages(|s| s.warmup_ns = 1), ["bulk_insert", "warm_up", "crud"]);
    let mut spec = spec();
    spec.mix = read_only;
    assert!(check(&spec).is_ok());
}

#[test]
fn targets_are_taken_apart_and_passwords_kept_out() {
    let plan = |target: &str| {
        let mut spec = spec();
        spec.target = Some(target.to_owned());
        check(&spec)
    };
    let target = plan("http://ann:p%40ss@[::1]:5984/a%2Fb").unwrap().target;
    let TargetPlan::CouchDb(target) = target else { panic!("{target:?}") };
    assert_eq!(target.server.as_deref(), Some("http://[::1]:5984"));
    assert_eq!((target.user.as_deref(), target.password.as_deref()), (Some("ann"), Some("p@ss")));
    assert_eq!(
        target.database,
        crate::driver::couchdb::DatabasePlan::New { name: "a/b".to_owned(), keep: false }
    );
    assert!(!serde_json::to_string(&target).unwrap().contains("p@ss"));
    for wrong in
        ["ftp://h/db", "http://", "h:5984", "http://h/a/b", "http://h:99999/", "http://h/?x"]
    {
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
        mistakes(|s| s.schemas = vec![("--schema", source, 1)])
    };
    assert_eq!(with("{\"a\":1}"), Vec::<String>::new());
    for wrong in ["", "{", "[]", "{}", "{\"_id\":\"x\"}", "<object>", "\u{feff}"] {
        assert_eq!(with(wrong), ["--schema"], "{wrong:?}");
    }
    let missing = SchemaSource::File("no/such/file".into());
    assert_eq!(mistakes(|s| s.schemas = vec![("--schema", missing, 1)]), ["--schema"]);
}
