//! Stored plans: every valid kind is accepted unchanged, and hostile ones are refused.

use crate::mistake::Flagged;
use crate::plan::{
    HttpFlags, HttpLoad, HttpPlan, HttpSpec, Plan, PlanRecord, PlanSpec, UrlSource, check,
    check_http,
};
use crate::workload::burst::{BodySize, BurstDemand, Filling, Role};
use crate::workload::{self, DocumentsAsked, RunAsked, UrlOrder};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;

fn of_run(name: &str) -> Plan {
    let asked = RunAsked {
        own: crate::workload::OwnMix::new(),
        documents: DocumentsAsked {
            documents: Flagged::new("--docs", 2_000),
            batch: Flagged::new("--batch", 10),
            within_ns: None,
            operations: Flagged::new("--ops", Some(50)),
            warmup_ns: 1_000_000_000,
        },
        own_batch: true,
        mix: None,
        ids: crate::schema::Ids::Sequential,
        given: Vec::new(),
    };
    let work = workload::demand(name, &asked).unwrap();
    let spec = PlanSpec::new("springload run", Flagged::new("--connections", 4), work);
    check(&PlanSpec { thresholds: vec!["err > 1%".to_owned()], ..spec }).unwrap()
}

fn of_bursts() -> Plan {
    let work = BurstDemand {
        roles: vec![Role::Read, Role::Write],
        length_ns: Flagged::new("--time", 1_000_000_000),
        size: Flagged::new("--size", BodySize { bytes: 100, wire: true }),
        filling: Filling::Random,
        conditional: true,
        gather_ns: 1,
        rounds: 2,
        every_ns: 5,
    };
    let workers = Flagged::new("--workers", 4);
    check(&PlanSpec::new("springload burst", workers, Arc::new(work))).unwrap()
}

fn of_list() -> Plan {
    let line = |text: &str| UrlSource::Line { place: "URL".to_owned(), text: text.to_owned() };
    check_http(&HttpSpec {
        command: "springload http".to_owned(),
        urls: vec![line("http://h/{{seq}}"), line("http://h:1/ POST {\"a\": \"{{uuid}}\"}")],
        flags: HttpFlags::NATIVE,
        log_in: Vec::new(),
        user: None,
        settings: HttpPlan::default(),
        content_type: None,
        data: Vec::new(),
        literal: false,
        order: UrlOrder::Once,
        tls: crate::net::TlsOptions::default(),
        method: None,
        body: None,
        users: 4,
        threads: Some(2),
        seed: 1,
        timeout_ns: 5,
        give_up_ns: None,
        max_answer: 5,
        once: false,
        operations: Some(50),
        duration_ns: None,
        warmup_ns: 1,
        load: HttpLoad::Thinking(5),
        thresholds: Vec::new(),
    })
    .unwrap()
}

fn all() -> Vec<Value> {
    let runs = ["mixed", "hot", "bulk-insert", "ycsb-a", "ycsb-d", "ycsb-e", "ycsb-f"].map(of_run);
    let plans = runs.into_iter().chain([of_bursts(), of_list()]);
    plans.map(|plan| plan.with_bodies()).collect()
}

fn again(stored: &Value) -> Result<Plan, String> {
    let plan: PlanRecord = serde_json::from_value(stored.clone()).map_err(|it| it.to_string())?;
    let as_text = |mistakes: Vec<crate::mistake::Invalid>| {
        mistakes.iter().map(|it| it.to_string() + "\n").collect::<String>()
    };
    plan.checked_again().map_err(as_text)
}

#[test]
fn what_was_planned_is_taken_as_it_is() {
    for stored in all() {
        let plan = again(&stored).unwrap_or_else(|message| panic!("{message}: {stored}"));
        assert_eq!(plan.with_bodies(), stored);
    }
    let plan = again(&serde_json::to_value(of_bursts()).unwrap()).unwrap();
    assert_eq!(plan, of_bursts());
    let stored = of_list().with_bodies();
    assert_eq!(again(&stored).unwrap(), of_list());
}

#[test]
fn what_makes_no_sense_is_refused_by_its_member() {
    for (place, value, expected) in [
        ("/connections", json!(0), "connections: 0 is out of range"),
        ("/connections", json!(70_000), "connections: 70000 is out of range"),
        ("/threads", json!(5), "threads: 5 is out of range"),
        ("/timeout_ns", json!(0), "timeout_ns"),
        ("/timeout_ns", json!(u64::MAX), "timeout_ns"),
        ("/max_answer", json!(0), "--max-answer: must be above 0"),
        ("/schemas", json!([]), "schemas: there are none"),
        ("/schemas/0/text", json!("{"), "schemas.0"),
        ("/schemas/0/weight", json!(0), "schemas.0: the weight is 0"),
        ("/stages", json!([]), "stages: there are 0"),
        ("/stages/0/batch", json!(0), "stages.0.batch: 0 is out of range"),
        ("/stages/0/documents", json!(u64::MAX), "stages.0.documents"),
        ("/stages/1/mix/read", json!(u64::MAX), "stages.1.mix: the weights"),
        ("/stages/1/length_ns", json!(0), "stages.1.pace: length_ns is 0"),
        ("/stages/2/operations", json!(0), "stages.2.operations: 0 is out of range"),
        (
            "/stages/2/pace",
            json!({"loop": "closed", "think_ns": u64::MAX}),
            "stages.2.pace: a pause",
        ),
        ("/stages/2/name", json!("\u{1b}[2J"), "stages.2.name"),
        ("/target/server", json!("file:///etc"), "target: server is not the address of a server"),
        ("/target/database", json!({"kind": "existing", "name": "_users"}), "target: a database"),
        ("/thresholds", json!(["request.p99 > 1s"]), "thresholds: no stage does"),
        ("/fleet", json!({"agents": 5}), "--agents: 5 agents for 4 connections"),
        ("/fleet", json!({"agents": 0}), "--agents: 0 agents"),
    ] {
        let mut stored = all().remove(0);
        let (parent, name) = place.rsplit_once('/').unwrap();
        stored.pointer_mut(parent).unwrap()[name] = value.clone();
        if let (true, Ok(index)) =
            (stored.pointer(parent).unwrap().is_array(), name.parse::<usize>())
        {
            stored.pointer_mut(parent).unwrap()[index] = value;
        }
        let refused = again(&stored).expect_err(place);
        assert!(refused.contains(expected), "{place}: {refused}");
    }
    let segment = |from: f64, length: u64| {
        json!({"loop": "open", "schedule": {"segments": [{"length_ns": length, "from": from,
            "to": from}], "arrivals": "poisson", "seed": 1}, "max_in_flight": 5})
    };
    for pace in [
        segment(0.0, 5),
        segment(-1.0, 5),
        segment(1e300, 5),
        segment(5.0, 0),
        segment(5.0, u64::MAX),
    ] {
        let mut stored = all().remove(0);
        stored["stages"][2]["pace"] = pace.clone();
        assert!(again(&stored).unwrap_err().contains("stages.2.pace"), "{pace}");
    }
}

#[test]
fn what_is_not_stored_is_missed() {
    let hidden = serde_json::to_value(of_list()).unwrap();
    let message = again(&hidden).unwrap_err();
    assert!(
        message.contains("http.requests.1: the text of its body (inline) is not stored"),
        "{message}"
    );
    let mut struck = of_list().with_bodies();
    struck["http"]["headers"] = json!(["Authorization: ***"]);
    assert!(again(&struck).unwrap_err().contains("http.headers"));
    let mut listed = of_list().with_bodies();
    listed["data"] = json!({"token": {"one-of": ["a", "***"]}});
    assert!(again(&listed).unwrap_err().contains("data.token: the list was stored without its"));
    listed["data"] = json!({"token": {"one-of": ["a", "**"]}});
    assert_eq!(again(&listed).err(), None);
    let mut other = of_list().with_bodies();
    other["http"]["requests"][0]["server"] = json!("gopher://h");
    assert!(again(&other).unwrap_err().contains("http.requests.0: gopher is not supported"));
}

#[test]
fn more_connections_than_can_be_gone_through_are_refused_at_once() {
    let mut stored = serde_json::to_value(of_run("mixed")).unwrap();
    stored["connections"] = json!(u64::MAX);
    assert!(again(&stored).unwrap_err().contains("connections"));
}

fn paths(value: &Value, path: &str, out: &mut Vec<String>) {
    out.push(path.to_owned());
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                paths(value, &format!("{path}/{}", name.replace('/', "~1")), out);
            }
        }
        Value::Array(values) => {
            for (place, value) in values.iter().enumerate() {
                paths(value, &format!("{path}/{place}"), out);
            }
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_plan_makes_the_check_panic(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0usize..16), 1..4),
    ) {
        let hostile = [
            json!(null), json!(0), json!(1), json!(-1), json!(u64::MAX), json!(i64::MIN),
            json!(1e308), json!(-0.5), json!(""), json!("\u{0}"), json!("x"), json!([]),
            json!({}), json!([0, 0]), json!(true), json!(4_294_967_296u64),
        ];
        let plans = all();
        let mut stored = plans[which.index(plans.len())].clone();
        for (place, value) in changes {
            let mut all = Vec::new();
            paths(&stored, "", &mut all);
            let place = &all[place.index(all.len())];
            *stored.pointer_mut(place).unwrap() = hostile[value].clone();
        }
        let _ = again(&stored);
    }
}
