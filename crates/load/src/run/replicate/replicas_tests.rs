//! Replication from its request to its end, against a server that replicates: what is reported of
//! it, and what is removed again.

use super::{Replicas, State, job_name};
use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::driver::{
    Existing, Opening, ReplicationPhase, ReplicationState, TargetAsked, TargetError, TargetPlan,
};
use crate::engine::{Stop, StopReason};
use crate::measure::{LinkEnd, ReplicaPlace, Replication, ReplicationLink};
use crate::plan::{Link, PlanSpec, ReplicatePlan, ReplicateSpec, Topology, check};
use crate::record::fixture;
use crate::run::bench::Bench;
use crate::run::couch_tests::{Couch, Told, opening};
use crate::run::fixture_tests::{few, planned};
use crate::run::{RunError, block_on, end_beside, or_undone};
use serde_json::json;
use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::time::Duration;

const MS: Nanos = 1_000_000;

/// A run with replication between databases of these names.
pub(super) fn spec(couch: &Couch, names: &[&str], topology: Topology) -> PlanSpec {
    let address = |name: &&str| format!("{}/{name}", couch.url);
    let replicate = ReplicateSpec {
        others: names[1..].iter().map(address).collect(),
        topology,
        push: false,
        marker_every_ns: 10 * MS,
        start_timeout_ns: 30 * SECOND_NS,
        converge_timeout_ns: 30 * SECOND_NS,
    };
    PlanSpec { replicate: Some(replicate), ..few(10, Some(address(&names[0]))) }
}

/// The same with databases that are there already.
pub(super) fn with_existing(couch: &Couch, names: &[&str]) -> PlanSpec {
    PlanSpec { existing: Existing::Yes, ..spec(couch, names, Topology::FanOut) }
}

/// Opens the databases; `others`: how those are opened that are not the run's target.
fn opened_with(spec: &PlanSpec, others: &Opening) -> Result<Option<Replicas>, RunError> {
    let plan = check(spec).unwrap_or_else(|mistakes| panic!("{mistakes:?}"));
    let stop = Stop::default();
    let (first, facts) = block_on(&stop, plan.target.open(&opening())).unwrap();
    Replicas::open(&plan, others, &first, &facts, &stop)
}

pub(super) fn opened(spec: &PlanSpec) -> Replicas {
    opened_with(spec, &opening()).unwrap().expect("a plan with replication")
}

/// The message if the databases cannot be used.
fn refusal(spec: &PlanSpec) -> String {
    opened_with(spec, &opening()).err().map(|error| error.to_string()).unwrap_or_default()
}

/// Databases of nobody, without a server; `created`: which of them the run has created. The others
/// had documents.
pub(super) fn imagined(topology: Topology, created: &[bool]) -> Replicas {
    let other = TargetPlan::check(&TargetAsked::at("http://127.0.0.1:1/db")).unwrap();
    let plan = ReplicatePlan {
        topology,
        others: vec![other; created.len() - 1],
        push: false,
        marker_every_ns: SECOND_NS,
        start_timeout_ns: SECOND_NS,
        converge_timeout_ns: SECOND_NS,
    };
    let place = |created: &bool| ReplicaPlace { created: *created, ..ReplicaPlace::default() };
    let link = |Link { source, target }| ReplicationLink { source, target, ..<_>::default() };
    let found = Replication {
        places: created.iter().map(place).collect(),
        links: plan.links().into_iter().map(link).collect(),
        ..Replication::default()
    };
    let had_documents = created.iter().map(|created| !created).collect();
    let state = RefCell::new(State { found, had_documents, ..State::default() });
    Replicas { plan, places: Vec::new(), patience_ns: SECOND_NS, state }
}

/// Waits until a database has at least this many documents.
fn wait_for(couch: &Couch, database: &str, documents: usize) {
    while couch.documents(database).is_none_or(|all| all.len() < documents) {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Ends a run with replication between two new databases; `result`: how its stages ended.
fn beside_ended(
    couch: &Couch,
    names: [&str; 2],
    stop: &Arc<Stop>,
    result: Result<(), RunError>,
) -> (Result<(), RunError>, Option<Replication>) {
    let spec = spec(couch, &names, Topology::FanOut);
    let (plan, replicas) = (planned(&spec), Some(opened(&spec)));
    let target = couch.open(names[0]);
    let mut bench = Bench { replicas, ..Bench::new(&plan, &target, stop, [0, 0]) };
    let mut record = fixture::record(&[]);
    let ended = end_beside(result, &mut bench, &mut record);
    (ended, record.replication)
}

#[test]
fn replication_is_ended_however_the_stages_ended_and_the_first_error_is_passed_on() {
    let (couch, stop) = (Couch::start(), Arc::default());
    let (ended, found) = beside_ended(&couch, ["a", "b"], &stop, Ok(()));
    assert!(ended.is_ok() && found.is_some(), "{ended:?}");
    let broken = Err(RunError::System(io::Error::other("no threads")));
    let (ended, found) = beside_ended(&couch, ["c", "d"], &stop, broken);
    assert_eq!(ended.unwrap_err().to_string(), "no threads");
    assert_eq!(found.map(|it| it.links.len()), Some(1), "what was measured is kept");
    assert_eq!([couch.documents("b"), couch.documents("d")], [None, None], "both are removed");
}

#[test]
fn an_end_that_is_not_waited_for_is_an_error_unless_there_is_one_already() {
    // It is asked to remove the database again after 0.2 s, and once more after another second.
    let couch = Couch::start();
    let busy = (503, json!({ "error": "busy", "reason": "busy" }));
    couch.instead("DELETE /b", std::slice::from_ref(&busy));
    couch.instead("DELETE /d", &[busy]);
    let broken = || Err(RunError::System(io::Error::other("no threads")));
    for (names, result, error) in [
        (["a", "b"], Ok(()), "exited immediately; a scratch database may remain"),
        (["c", "d"], broken(), "no threads"),
    ] {
        let stop = Arc::<Stop>::default();
        let (ended, found) = std::thread::scope(|scope| {
            scope.spawn(|| {
                let is_asked = |it: &String| *it == format!("DELETE /{}", names[1]);
                while !couch.seen().iter().any(is_asked) {
                    std::thread::sleep(Duration::from_millis(5));
                }
                stop.raise(StopReason::Aborted);
            });
            beside_ended(&couch, names, &stop, result)
        });
        assert_eq!(ended.unwrap_err().to_string(), error);
        assert_eq!(found, None, "{names:?}");
    }
    // Who has asked for that already is not kept waiting.
    let stop = Arc::<Stop>::default();
    stop.raise(StopReason::Aborted);
    couch.seen();
    let (ended, found) = beside_ended(&couch, ["e", "f"], &stop, Ok(()));
    assert!(ended.is_ok() && found.is_none());
    assert!(!couch.seen().iter().any(|it| it.starts_with("DELETE ")));
}

#[test]
fn a_chain_of_new_databases_is_measured_and_removed_again() {
    let (couch, stop, mut told) = (Couch::start(), Stop::default(), Told::default());
    let names = ["a", "b", "c"];
    let replicas = opened(&spec(&couch, &names, Topology::Chain));
    couch.put("a", "one", "1-x");
    couch.put("a", "two", "1-x");
    replicas.begin(&stop, &mut told).unwrap();
    let jobs = couch.jobs();
    assert_eq!(jobs.len(), 2);
    assert!(jobs.iter().all(|name| name.starts_with("springload_")), "{jobs:?}");
    wait_for(&couch, "a", 5);
    let settled = replicas.settle(&stop, &mut told);
    let found = replicas.finish(&stop).unwrap();

    let place = |name: &str| ReplicaPlace {
        server: couch.url.clone(),
        database: name.to_owned(),
        version: "couchdb 3.5.0".to_owned(),
        created: true,
    };
    assert_eq!(found.places, names.map(place));
    assert!(found.running_s.is_some());
    let ends: Vec<_> = found.links.iter().map(|it| (it.source, it.target)).collect();
    assert_eq!(ends, [(0, 1), (1, 2)]);
    for (link, before) in found.links.iter().zip(&settled.links) {
        assert_eq!((link.end, before.end), (LinkEnd::Converged, LinkEnd::Converged));
        assert!(link.filled_s > link.running_s && link.running_s.is_some(), "{link:?}");
        assert_eq!((link.filled_documents, link.markers.unseen), (2, 0));
        assert!(link.comparison.as_ref().is_some_and(|it| it.documents > 2 && it.wrong() == 0));
        assert_eq!((link.state.as_deref(), link.reason.as_deref()), (Some("running"), None));
        assert_eq!((link.documents_written, link.write_failures), (Some(7), Some(1)));
    }
    let markers = &found.links[0].markers;
    assert!(markers.written >= 3, "{markers:?}");
    let chain = found.end_to_end.unwrap();
    assert_eq!((chain.source, chain.target), (0, 2));
    assert_eq!((chain.markers.written, chain.markers.unseen), (markers.written, 0));

    assert_eq!(told.news[0], "waiting until all replications are running");
    assert!(told.news[1].starts_with("all are running after "), "{:?}", told.news);
    assert_eq!(told.news[2..], ["waiting until the targets have everything"]);
    assert_eq!((found.left, found.markers_left), (Vec::new(), 0));
    assert!(couch.jobs().is_empty());
    let left: Vec<_> = names.iter().filter(|name| couch.documents(name).is_some()).collect();
    assert_eq!(left, [&"a"], "the run's own target is removed later");
    let seen = couch.seen();
    let asked = |start: &str| seen.iter().any(|it| it.starts_with(start));
    assert!(asked("PUT /a/springload") && asked("PUT /b/springload"));
    assert!(!asked("PUT /c/"), "the last one is no source");
    assert!(!asked("POST /a/_bulk_docs"), "the markers go with their database");
}

#[test]
fn a_chain_whose_middle_refuses_everything_is_not_waited_for() {
    let (couch, stop, mut told) = (Couch::start(), Stop::default(), Told::default());
    let mut spec = spec(&couch, &["a", "b", "c"], Topology::Chain);
    spec.replicate.as_mut().unwrap().converge_timeout_ns = 60 * SECOND_NS;
    let replicas = opened(&spec);
    let forbidden = json!({ "error": "forbidden", "reason": "no" });
    couch.instead("PUT /b/springload*", &[(403, forbidden)]);
    let info = json!({ "doc_write_failures": 1_000_000, "through_seq": 1_000_000 });
    couch.says("b", &[json!({ "state": "running", "info": info })]);
    couch.lag("b", u32::MAX);
    replicas.begin(&stop, &mut told).unwrap();
    wait_for(&couch, "a", 3);
    let clock = Clock::system();
    let began = clock.now();
    let links = replicas.settle(&stop, &mut told).links;
    // Writing the last marker is tried for 30 s while somebody looks for it.
    assert!(clock.now() - began < 20 * SECOND_NS);
    let ends: Vec<_> = links.iter().map(|it| it.end).collect();
    assert_eq!(ends, [LinkEnd::Behind, LinkEnd::Converged]);
    let reason = "the target refused 1,000,000 writes, and nothing more will come";
    assert_eq!(links[0].reason.as_deref(), Some(reason));
    assert!(links[0].markers.written >= 3 && links[1].markers.written == 0);
    replicas.finish(&stop).unwrap();
}

#[test]
fn all_new_databases_are_removed_again_if_the_run_cannot_begin() {
    let (couch, stop) = (Couch::start(), Stop::default());
    let replicas = opened(&spec(&couch, &["a", "b"], Topology::FanOut));
    let first = replicas.places[0].clone();
    assert!(couch.documents("a").is_some() && couch.documents("b").is_some());
    let failed: Result<(), _> = Err(RunError::System(io::Error::other("no threads")));
    assert!(or_undone(failed, &first, Some(&replicas), &stop).is_err());
    assert!(couch.documents("a").is_none() && couch.documents("b").is_none());
}

#[test]
fn databases_that_were_there_stay_without_markers() {
    let (couch, stop, mut told) = (Couch::start(), Stop::default(), Told::default());
    couch.put("a", "old", "1-x");
    couch.put("b", "other", "1-x");
    let replicas = opened(&with_existing(&couch, &["a", "b"]));
    replicas.begin(&stop, &mut told).unwrap();
    wait_for(&couch, "a", 4);
    let settled = replicas.settle(&stop, &mut told);
    assert_eq!(settled.links[0].end, LinkEnd::Converged);
    assert_eq!(settled.links[0].filled_documents, 2);
    // The removal of the markers, too, reaches the target a moment later.
    let found = replicas.finish(&stop).unwrap();
    assert_eq!((found.left, found.markers_left), (Vec::new(), 0));
    assert_eq!(couch.documents("a").unwrap(), ["old"]);
    assert_eq!(couch.documents("b").unwrap(), ["old", "other"]);
    assert!(couch.jobs().is_empty());
    assert_eq!(told.news[0], "waiting until the replication is running");
    assert!(told.news[1].starts_with("it is running after "), "{:?}", told.news);
}

/// Only a target that had documents itself may show what its source does not.
#[test]
fn what_others_delete_at_an_existing_target_is_wrong_if_that_was_empty() {
    for (was_empty, end, wrong) in [(true, LinkEnd::Behind, 1), (false, LinkEnd::Converged, 0)] {
        let (couch, stop, mut told) = (Couch::start(), Stop::default(), Told::default());
        let _ = ["a", "b"].map(|name| couch.open(name));
        if !was_empty {
            couch.put("b", "own", "1-x");
        }
        couch.instead("POST /b/_revs_diff", &[(200, json!({}))]);
        let mut spec = with_existing(&couch, &["a", "b"]);
        spec.replicate.as_mut().unwrap().converge_timeout_ns = SECOND_NS;
        let replicas = opened(&spec);
        couch.put("a", "one", "1-x");
        replicas.begin(&stop, &mut told).unwrap();
        couch.delete("b", "one", "2-x");
        let link = replicas.settle(&stop, &mut told).links.remove(0);
        let compared = link.comparison.unwrap();
        let numbers = (compared.missing, compared.different, compared.overruled);
        assert_eq!((link.end, numbers), (end, (0, wrong, 1 - wrong)), "{was_empty}");
        replicas.finish(&stop).unwrap();
    }
}

#[test]
fn markers_that_cannot_be_removed_are_counted() {
    let (couch, stop, mut told) = (Couch::start(), Stop::default(), Told::default());
    couch.put("a", "old", "1-x");
    couch.put("b", "other", "1-x");
    let replicas = opened(&with_existing(&couch, &["a", "b"]));
    replicas.begin(&stop, &mut told).unwrap();
    wait_for(&couch, "a", 4);
    replicas.settle(&stop, &mut told);
    couch.instead("POST /a/_bulk_docs", &[(500, json!({}))]);
    let found = replicas.finish(&stop).unwrap();
    assert!(found.links[0].markers.written >= 3);
    assert_eq!(found.markers_left, found.links[0].markers.written);
}

/// A database that gets nothing from the one where a marker is removed keeps its own.
#[test]
fn a_marker_is_gone_only_if_it_is_gone_everywhere() {
    let (couch, stop) = (Couch::start(), Stop::default());
    couch.put("a", "m", "1-m");
    couch.put("b", "m", "1-m");
    let replicas = opened(&with_existing(&couch, &["a", "b"]));
    let removing = async {
        let marker = vec![("m".to_owned(), None)];
        let limit = Duration::from_secs(9);
        let removing = tokio::time::timeout(limit, replicas.remove_from(1, marker));
        removing.await.expect("there is nothing to wait for")
    };
    assert_eq!(block_on(&stop, removing).unwrap(), 0);
    assert_eq!(couch.documents("a").unwrap(), ["m"]);
    assert!(couch.documents("b").unwrap().is_empty());
}

#[test]
fn documents_get_as_far_as_the_links_lead() {
    for (topology, reached) in [
        (Topology::Chain, [[true, true, true], [false, true, true], [false, false, true]]),
        (Topology::FanOut, [[true, true, true], [false, true, false], [false, false, true]]),
        (Topology::FanIn, [[true, false, true], [false, true, true], [false, false, true]]),
        (Topology::Mesh, [[true; 3]; 3]),
    ] {
        let replicas = imagined(topology, &[true; 3]);
        let found = [0, 1, 2].map(|from| [0, 1, 2].map(|to| replicas.reaches(from, to)));
        assert_eq!(found, reached, "{topology:?}");
    }
}

#[test]
fn a_run_that_ends_early_still_tells_of_its_markers_and_cleans_up() {
    let (couch, stop, mut told) = (Couch::start(), Stop::default(), Told::default());
    let replicas = opened(&spec(&couch, &["a", "b"], Topology::FanOut));
    replicas.begin(&stop, &mut told).unwrap();
    wait_for(&couch, "a", 3);
    let found = replicas.finish(&stop).unwrap();
    let link = &found.links[0];
    assert!(link.markers.written > 0, "{link:?}");
    assert_eq!((link.end, link.state.as_deref()), (LinkEnd::Unknown, Some("running")));
    assert!(couch.jobs().is_empty() && couch.documents("b").is_none());
}

/// The first marker is written at once, and one more after the load, however rare they are.
#[test]
fn markers_are_as_rare_as_planned() {
    let (couch, stop, mut told) = (Couch::start(), Stop::default(), Told::default());
    let mut spec = spec(&couch, &["a", "b"], Topology::FanOut);
    spec.replicate.as_mut().unwrap().marker_every_ns = 3_600 * SECOND_NS;
    let replicas = opened(&spec);
    replicas.begin(&stop, &mut told).unwrap();
    wait_for(&couch, "a", 1);
    std::thread::sleep(Duration::from_millis(50));
    let found = replicas.settle(&stop, &mut told);
    assert_eq!(found.links[0].markers.written, 2);
    replicas.finish(&stop).unwrap();
}

#[test]
fn a_user_who_asks_to_stop_does_not_wait_for_the_targets() {
    let (couch, stop, mut told) = (Couch::start(), Stop::default(), Told::default());
    let replicas = opened(&spec(&couch, &["a", "b"], Topology::FanOut));
    replicas.begin(&stop, &mut told).unwrap();
    couch.lag("b", u32::MAX);
    stop.raise(StopReason::Interrupted);
    let found = replicas.settle(&stop, &mut told);
    assert_eq!((found.links[0].end, &found.links[0].comparison), (LinkEnd::Unknown, &None));
    replicas.finish(&stop).unwrap();
}

#[test]
fn what_cannot_be_removed_is_named_with_a_cure() {
    let (couch, stop, mut told) = (Couch::start(), Stop::default(), Told::default());
    let replicas = opened(&spec(&couch, &["a", "b"], Topology::FanOut));
    replicas.begin(&stop, &mut told).unwrap();
    couch.instead("DELETE /_replicator/*", &[(500, json!({}))]);
    couch.instead("DELETE /b", &[(500, json!({}))]);
    let left = replicas.finish(&stop).unwrap().left;
    let names = [
        format!("the replication {} on {}: ", couch.jobs()[0], couch.url),
        format!("the database {}/b: ", couch.url),
    ];
    assert_eq!(left.len(), 2, "{left:?}");
    for (sentence, name) in left.iter().zip(names) {
        assert!(sentence.starts_with(&name), "{sentence}, not {name}");
        assert!(sentence.contains(" answers 500 to DELETE /"), "{sentence}");
        assert!(sentence.ends_with("; remove it later with springload clean"), "{sentence}");
    }
}

#[test]
fn databases_that_were_created_in_vain_are_removed() {
    let couch = Couch::start();
    couch.put("c", "x", "1-x");
    let message = refusal(&spec(&couch, &["a", "b", "c"], Topology::FanOut));
    assert!(message.contains("database \"c\" exists already"), "{message}");
    assert!(couch.documents("b").is_none() && couch.documents("c").is_some());
    assert!(couch.documents("a").is_some(), "it is removed with the run");

    let couch = Couch::start();
    couch.instead("GET /_replicator", &[(404, json!({}))]);
    let message = refusal(&spec(&couch, &["a", "b"], Topology::FanOut));
    assert!(message.contains(" has no database _replicator, "), "{message}");
    assert!(couch.documents("a").is_some() && couch.documents("b").is_none());
}

#[test]
fn only_the_first_database_needs_the_filter_of_its_followers() {
    let couch = Couch::start();
    couch.instead("GET /b/_changes*", &[(404, json!({}))]);
    let filter = Some("app/mine".to_owned());
    let filtered = Opening { filter, ..opening() };
    let spec = spec(&couch, &["a", "b"], Topology::FanOut);
    assert!(opened_with(&spec, &filtered).unwrap().is_some());
    assert!(couch.documents("b").is_some());
}

#[test]
fn without_a_plan_for_it_there_is_no_replication() {
    let couch = Couch::start();
    let alone = PlanSpec { replicate: None, ..spec(&couch, &["a", "b"], Topology::FanOut) };
    assert!(opened_with(&alone, &opening()).unwrap().is_none());
    assert!(couch.documents("b").is_none());
}

/// What nothing more arrived from is lost only if its server still thinks that all is well.
#[test]
fn the_last_state_of_a_replication_decides_whether_anything_may_still_come() {
    for (end, phase, wanted) in [
        (LinkEnd::Lost, Some(ReplicationPhase::Running), LinkEnd::Lost),
        (LinkEnd::Lost, Some(ReplicationPhase::Failing), LinkEnd::Behind),
        (LinkEnd::Converged, Some(ReplicationPhase::Failing), LinkEnd::Converged),
        (LinkEnd::Gone, Some(ReplicationPhase::Failed), LinkEnd::Gone),
        // Its server is down.
        (LinkEnd::Lost, None, LinkEnd::Behind),
        (LinkEnd::Converged, None, LinkEnd::Converged),
    ] {
        let replicas = imagined(Topology::FanOut, &[true; 2]);
        replicas.state.borrow_mut().found.links[0].end = end;
        let state = |phase| ReplicationState { phase, ..ReplicationState::default() };
        let asked = phase.map(state).ok_or_else(|| TargetError("it is down".to_owned()));
        let reason = asked.as_ref().err().map(ToString::to_string);
        replicas.note_state(0, asked);
        let noted = replicas.state.borrow();
        let link = &noted.found.links[0];
        assert_eq!((link.end, &link.reason), (wanted, &reason), "{end:?}, {phase:?}");
        let failed = [Some(ReplicationPhase::Failing), Some(ReplicationPhase::Failed)];
        assert_eq!(link.failed, failed.contains(&phase), "{end:?}, {phase:?}");
    }
}

#[test]
fn no_two_replications_of_a_run_have_the_same_name() {
    let first = job_name(&[]);
    let second = job_name(std::slice::from_ref(&first));
    assert!(first.starts_with("springload_") && first != second, "{first}, {second}");
}
