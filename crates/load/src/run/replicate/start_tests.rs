//! How replications begin: what is waited for, for how long, and what is said if it does not come.

use super::super::compare::MayShow;
use super::super::replicas_tests::{imagined, opened, spec, with_existing};
use super::{Replicas, count_all, pause_after};
use crate::clock::{Nanos, SECOND_NS};
use crate::driver::{DocumentCount, Replicator};
use crate::engine::{Stop, StopReason};
use crate::plan::{Link, PlanSpec, ReplicateSpec, Topology};
use crate::run::block_on;
use crate::run::couch_tests::{Couch, Told};
use serde_json::json;
use std::time::Duration;

const MS: Nanos = 1_000_000;

const fn link(source: usize, target: usize) -> Link {
    Link { source, target }
}

/// A run from one new database to another, or to several.
fn fan_out(couch: &Couch, names: &[&str], change: impl FnOnce(&mut ReplicateSpec)) -> PlanSpec {
    let mut spec = spec(couch, names, Topology::FanOut);
    change(spec.replicate.as_mut().unwrap());
    spec
}

/// Why it does not begin.
fn refusal(replicas: &Replicas) -> String {
    let begun = replicas.begin(&Stop::default(), &mut Told::default());
    begun.err().map(|error| error.to_string()).unwrap_or_default()
}

/// How many documents each target had once it had everything.
fn filled(replicas: &Replicas) -> Vec<u64> {
    let stop = Stop::default();
    block_on(&stop, async {
        replicas.start(&stop).await?;
        replicas.fill(&stop).await
    })
    .unwrap();
    let found = &replicas.state.borrow().found;
    assert!(found.links.iter().all(|it| it.filled_s > it.running_s && it.running_s.is_some()));
    found.links.iter().map(|it| it.filled_documents).collect()
}

#[test]
fn checks_are_a_tenth_of_the_time_apart_within_limits() {
    for (after_ns, pause_ms) in [
        (0, 20),
        (SECOND_NS / 5, 20),
        (SECOND_NS, 100),
        (5 * SECOND_NS, 500),
        (60 * SECOND_NS, 1_000),
    ] {
        assert_eq!(pause_after(after_ns), Duration::from_millis(pause_ms), "{after_ns}");
    }
}

#[test]
fn only_a_link_of_a_chain_waits_for_the_one_before() {
    for (topology, first, then, wanted) in [
        (Topology::Chain, link(0, 1), link(1, 2), true),
        (Topology::Chain, link(1, 2), link(0, 1), false),
        (Topology::Chain, link(0, 1), link(0, 1), false),
        (Topology::Mesh, link(0, 1), link(1, 2), false),
        (Topology::FanOut, link(0, 1), link(0, 2), false),
    ] {
        let replicas = imagined(topology, &[true; 3]);
        assert_eq!(replicas.is_before(first, then), wanted, "{topology:?} {first:?} {then:?}");
    }
}

/// Counts prove that everything has arrived only where nothing else can have come in.
#[test]
fn counts_are_compared_where_they_prove_something() {
    for (topology, created, link, counted, is_countable) in [
        (Topology::FanOut, [true, true, true], link(0, 2), vec![0], true),
        // Others may write to a source that was there before.
        (Topology::FanOut, [false, true, true], link(0, 2), vec![0], false),
        (Topology::FanOut, [true, false, true], link(0, 2), vec![0], true),
        (Topology::FanOut, [true, true, false], link(0, 2), vec![0], false),
        (Topology::Chain, [true, true, true], link(1, 2), vec![1], true),
        (Topology::Chain, [false, true, true], link(1, 2), vec![1], false),
        (Topology::Chain, [true, true, false], link(0, 1), vec![0], true),
        (Topology::FanIn, [true, true, true], link(1, 2), vec![0, 1], true),
        (Topology::FanIn, [true, false, true], link(0, 2), vec![0, 1], false),
        (Topology::FanIn, [true, true, false], link(0, 2), vec![0, 1], false),
    ] {
        let replicas = imagined(topology, &created);
        assert_eq!(replicas.counted(link), counted, "{topology:?}");
        assert_eq!(replicas.is_countable(link), is_countable, "{topology:?}, {created:?}");
    }
}

/// What a new target shows comes from its source, unless there are others, or it is a mesh.
#[test]
fn what_was_there_before_matters_only_where_it_can_get_to() {
    use MayShow::{Newer, Preferred, Same};
    for (topology, created, link, wanted) in [
        (Topology::FanOut, [true, true, true], link(0, 2), Same),
        (Topology::FanOut, [false, true, true], link(0, 2), Same),
        (Topology::FanOut, [false, false, true], link(0, 2), Same),
        (Topology::FanOut, [true, true, false], link(0, 2), Preferred),
        (Topology::Chain, [true, true, true], link(1, 2), Same),
        (Topology::Chain, [false, false, true], link(1, 2), Same),
        (Topology::Chain, [true, false, true], link(0, 1), Preferred),
        (Topology::FanIn, [true, true, true], link(1, 2), Same),
        (Topology::FanIn, [false, true, true], link(1, 2), Preferred),
        (Topology::FanIn, [true, true, false], link(1, 2), Preferred),
        (Topology::Mesh, [true, true, true], link(0, 1), Newer),
        (Topology::Mesh, [false, true, true], link(1, 2), Preferred),
        (Topology::Mesh, [true, true, false], link(0, 2), Preferred),
    ] {
        let may_show = imagined(topology, &created).may_show(link);
        assert_eq!(may_show, wanted, "{topology:?}, {created:?}, {link:?}");
    }
}

/// One without anything is like a new one. PouchDB Server does not count deletions.
#[test]
fn an_existing_target_shows_others_only_if_it_had_something() {
    use MayShow::{Preferred, Same};
    for (documents, deleted, is_counted, wanted) in [
        (0, 0, true, Same),
        (0, 0, false, Same),
        (1, 0, true, Preferred),
        (0, 1, true, Preferred),
        (0, 1, false, Preferred),
    ] {
        let couch = Couch::start();
        let _ = ["a", "b"].map(|name| couch.open(name));
        // What the source has does not matter.
        couch.put("a", "own", "1-x");
        (0..documents).for_each(|number| couch.put("b", &format!("there_{number}"), "1-x"));
        (0..deleted).for_each(|number| couch.delete("b", &format!("gone_{number}"), "2-x"));
        if !is_counted {
            couch.instead("GET /b", &[(200, json!({ "doc_count": documents }))]);
        }
        let replicas = opened(&with_existing(&couch, &["a", "b"]));
        let what = format!("{documents} and {deleted}, counted: {is_counted}");
        assert_eq!(replicas.may_show(link(0, 1)), wanted, "{what}");
    }
}

/// Design documents of the plan may be there from an earlier run, or from a moment ago.
#[test]
fn what_comes_with_the_plan_is_nothing_that_a_database_had_before() {
    use MayShow::{Preferred, Same};
    let app = json!({ "_id": "_design/app" });
    let index = |name: &str| json!({ "index": { "fields": [name] }, "ddoc": "app", "name": name });
    let indexes = json!([index("a"), index("b")]);
    for (designs, id, rev, wanted) in [
        (json!([app]), "_design/app", "1-x", Same),
        (json!([]), "_design/app", "1-x", Preferred),
        (json!([app]), "_design/other", "1-x", Preferred),
        (json!([app]), "app", "1-x", Preferred),
        // Others have written it as well.
        (json!([app]), "_design/app", "2-x", Preferred),
        // Two indexes in it are two writes.
        (indexes.clone(), "_design/app", "2-x", Same),
        (indexes, "_design/app", "3-x", Preferred),
    ] {
        for more in [false, true] {
            let couch = Couch::start();
            let _ = ["a", "b"].map(|name| couch.open(name));
            couch.put("b", id, rev);
            if more {
                couch.delete("b", "gone", "2-x");
            }
            let mut spec = with_existing(&couch, &["a", "b"]);
            spec.options.insert("ddocs".to_owned(), designs.clone());
            let wanted = if more { Preferred } else { wanted };
            let found = opened(&spec).may_show(link(0, 1));
            assert_eq!(found, wanted, "{designs}: {id}, {rev}, more: {more}");
        }
    }
}

#[test]
fn documents_of_several_databases_are_added_up() {
    let couch = Couch::start();
    for (database, id) in [("a", "1"), ("a", "2"), ("b", "3"), ("b", "4"), ("b", "5")] {
        couch.put(database, id, "1-x");
    }
    for (database, id) in [("a", "6"), ("b", "7"), ("b", "8")] {
        couch.delete(database, id, "2-x");
    }
    let places = ["a", "b"].map(|name| couch.open(name));
    let counting = async {
        let all = places.iter().filter_map(|place| place.replicator());
        let mut all: Vec<Box<dyn Replicator>> = all.collect();
        count_all(&mut all).await
    };
    let sum = block_on(&Stop::default(), counting).unwrap();
    assert_eq!(sum, DocumentCount { documents: 5, deleted: 3 });
}

#[test]
fn a_replication_may_take_a_moment_to_run() {
    let couch = Couch::start();
    let running = json!({ "state": "running" });
    couch.says("b", &[json!({ "state": "initializing" }), json!({ "state": "pending" }), running]);
    let replicas = opened(&fan_out(&couch, &["a", "b"], |_| {}));
    couch.put("a", "one", "1-x");
    assert_eq!(filled(&replicas), [1]);
    let asked = couch.seen().into_iter().filter(|it| it.starts_with("GET /_scheduler/")).count();
    assert_eq!(asked, 3);
    let running_s = replicas.state.borrow().found.running_s;
    assert!(running_s >= Some(0.04) && running_s < Some(60.0), "{running_s:?}");
}

#[test]
fn a_replication_that_its_server_refuses_ends_the_run_at_once() {
    let couch = Couch::start();
    let info = json!({ "error": "unauthorized: no such user." });
    couch.says("b", &[json!({ "state": "failed", "info": info })]);
    let message = refusal(&opened(&fan_out(&couch, &["a", "b"], |_| {})));
    let url = &couch.url;
    let wanted = format!(
        "the replication from {url}/a to {url}/b does not begin: its server calls it \"failed\": \
         unauthorized: no such user; check that "
    );
    assert!(message.starts_with(&wanted), "{message}");
}

#[test]
fn a_replication_that_never_runs_is_not_waited_for_longer_than_planned() {
    let couch = Couch::start();
    couch.says("b", &[json!({ "state": "initializing" })]);
    let hasty = fan_out(&couch, &["a", "b"], |it| it.start_timeout_ns = 50 * MS);
    let message = refusal(&opened(&hasty));
    let url = &couch.url;
    let wanted = format!(
        "the replication from {url}/a to {url}/b is not running after 0.05 s: its server calls it \
         \"initializing\"; give a longer --start-timeout, "
    );
    assert!(message.starts_with(&wanted), "{message}");
}

#[test]
fn a_user_who_asks_to_stop_does_not_wait_for_a_replication_to_begin() {
    let (couch, stop, mut told) = (Couch::start(), Stop::default(), Told::default());
    couch.says("b", &[json!({ "state": "initializing" })]);
    couch.lag("b", u32::MAX);
    let replicas = opened(&fan_out(&couch, &["a", "b"], |_| {}));
    stop.raise(StopReason::Interrupted);
    replicas.begin(&stop, &mut told).unwrap();
    assert_eq!(told.news, ["waiting until the replication is running"]);
    // Nor for what is stored to arrive.
    couch.put("a", "one", "1-x");
    block_on(&stop, replicas.fill(&stop)).unwrap();
    assert_eq!(replicas.state.borrow().found.links[0].filled_s, None);
}

/// Empty targets have as many documents as empty sources.
#[test]
fn the_end_of_a_chain_is_filled_after_its_middle() {
    let couch = Couch::start();
    let replicas = opened(&spec(&couch, &["a", "b", "c"], Topology::Chain));
    for id in ["1", "2", "3"] {
        couch.put("a", id, "1-x");
    }
    couch.lag("b", 1);
    assert_eq!(filled(&replicas), [3, 3]);
}

/// Of two databases that are still empty, neither has what the other has from the first.
#[test]
fn each_target_of_a_mesh_is_waited_for_until_it_has_what_the_first_has() {
    let couch = Couch::start();
    let replicas = opened(&spec(&couch, &["a", "b", "c"], Topology::Mesh));
    for id in ["1", "2", "3"] {
        couch.put("a", id, "1-x");
    }
    couch.lag("b", 9);
    couch.lag("c", 9);
    assert_eq!(filled(&replicas), [3; 6]);
}

#[test]
fn documents_of_its_own_do_not_make_a_target_full() {
    let couch = Couch::start();
    for (source, target) in [("1", "4"), ("2", "5"), ("3", "6")] {
        couch.put("a", source, "1-x");
        couch.put("b", target, "1-x");
    }
    couch.lag("b", 2);
    let replicas = opened(&with_existing(&couch, &["a", "b"]));
    assert_eq!(filled(&replicas), [6]);
}

#[test]
fn a_target_that_is_not_filled_in_time_is_reported_with_its_servers_words() {
    let couch = Couch::start();
    let info = json!({ "error": "db_not_found: b" });
    let crashing = json!({ "state": "crashing", "info": info });
    couch.says("b", &[json!({ "state": "running" }), crashing]);
    couch.lag("b", u32::MAX);
    let hasty = fan_out(&couch, &["a", "b", "c"], |it| it.converge_timeout_ns = 50 * MS);
    let replicas = opened(&hasty);
    couch.put("a", "1", "1-x");
    couch.put("a", "2", "1-x");
    // What reaches the other target in time does not matter here.
    couch.instead("GET /c", &[(200, json!({ "doc_count": 2, "doc_del_count": 0 }))]);
    let url = &couch.url;
    let wanted = format!(
        "the replication from {url}/a to {url}/b has not copied what was stored before the load \
         within 0.05 s: 2 of 2 documents are missing; its server calls it \"crashing\": \
         db_not_found: b; give a longer --converge-timeout, or fewer --docs"
    );
    assert_eq!(refusal(&replicas), wanted);
}

/// Waiting longer does not help then.
#[test]
fn a_target_that_refuses_documents_is_reported_with_their_number() {
    let refused = |words: &str| {
        format!(
            "the target refused {words}: look at its validate_doc_update functions, and at its \
             limits, such as max_document_size"
        )
    };
    for (count, cure) in [
        (json!(1_061), refused("1,061 writes")),
        (json!(1), refused("1 write")),
        (json!(0), "give a longer --converge-timeout, or fewer --docs".to_owned()),
        (json!(null), "give a longer --converge-timeout, or fewer --docs".to_owned()),
    ] {
        let couch = Couch::start();
        couch.says("b", &[json!({ "state": "running", "info": { "doc_write_failures": count } })]);
        couch.lag("b", u32::MAX);
        let hasty = fan_out(&couch, &["a", "b"], |it| it.converge_timeout_ns = 50 * MS);
        let replicas = opened(&hasty);
        couch.put("a", "1", "1-x");
        let message = refusal(&replicas);
        let end = format!("1 of 1 documents are missing; its server calls it \"running\"; {cure}");
        assert!(message.ends_with(&end), "{message}");
    }
}

/// What a target lacks then will never come.
#[test]
fn a_target_that_has_refused_what_it_lacks_is_not_waited_for() {
    // What was refused, how far the replication has got of two changes, and its state.
    for (refused, through, state, is_over) in [
        (json!(2), json!(2), "running", true),
        (json!(3), json!("2"), "running", true),
        // It is slow, ...
        (json!(2), json!(1), "running", false),
        (json!(2), json!(null), "running", false),
        // ... or tried again, ...
        (json!(2), json!(2), "crashing", false),
        // ... or lacks more than was refused.
        (json!(1), json!(2), "running", false),
        (json!(0), json!(2), "running", false),
    ] {
        let couch = Couch::start();
        let info = json!({ "doc_write_failures": refused, "through_seq": through });
        let said = json!({ "state": state, "info": info });
        couch.says("b", &[json!({ "state": "running" }), said.clone()]);
        couch.lag("b", u32::MAX);
        let asked = fan_out(&couch, &["a", "b"], |it| {
            it.converge_timeout_ns = if is_over { 60 * SECOND_NS } else { 600 * MS };
        });
        let replicas = opened(&asked);
        couch.put("a", "1", "1-x");
        couch.put("a", "2", "1-x");
        let message = refusal(&replicas);
        let wanted = if is_over {
            "has nothing left to copy of what was stored before the load"
        } else {
            "has not copied what was stored before the load within 0.6 s"
        };
        let wanted = format!(" {wanted}: 2 of 2 documents are missing; its server calls it ");
        assert!(message.contains(&wanted), "{said}: {message}");
        assert!(!is_over || message.contains("; the target refused "), "{message}");
    }
}

/// CouchDB counts what was refused when the same two databases were replicated before.
#[test]
fn what_was_refused_before_the_run_ends_no_wait() {
    for (names, is_over) in [(["a", ""], true), (["a", "b"], false)] {
        let couch = Couch::start();
        couch.put("a", "1", "1-x");
        couch.put("b", "own", "1-x");
        let mut asked = with_existing(&couch, &names);
        let replicate = asked.replicate.as_mut().unwrap();
        replicate.converge_timeout_ns = if is_over { 60 * SECOND_NS } else { 600 * MS };
        let replicas = opened(&asked);
        let target = replicas.state.borrow().found.places[1].database.clone();
        let info = json!({ "doc_write_failures": 1, "through_seq": 9 });
        couch.says(&target, &[json!({ "state": "running", "info": info })]);
        couch.lag(&target, u32::MAX);
        let message = refusal(&replicas);
        let wanted =
            if is_over { " has nothing left to copy of what " } else { " within 0.6 s: 1 of 1 " };
        assert!(message.contains(wanted), "{names:?}: {message}");
    }
}

/// What one of several sources has not brought may come from another.
#[test]
fn what_a_target_has_refused_is_known_only_if_it_has_one_source() {
    for (topology, is_told) in [
        (Topology::FanOut, true),
        (Topology::Chain, true),
        (Topology::FanIn, false),
        (Topology::Mesh, false),
    ] {
        let replicas = imagined(topology, &[true; 3]);
        let links = replicas.plan.links();
        assert!(replicas.told(links[0]).is_none(), "it was not asked for yet");
        let jobs = (0..links.len()).map(|number| format!("job_{number}"));
        replicas.state.borrow_mut().jobs = jobs.collect();
        let told = replicas.told(links[1]);
        let found = told.map(|it| (it.place, it.job));
        let wanted = (links[1].target, "job_1".to_owned());
        assert_eq!(found, Some(wanted).filter(|_| is_told), "{topology:?}");
    }
}

/// How many documents a target has says nothing if some of them are its own.
#[test]
fn what_a_target_with_documents_of_its_own_lacks_is_found_by_comparing() {
    let couch = Couch::start();
    for (source, target) in [("1", "4"), ("2", "5"), ("3", "6")] {
        couch.put("a", source, "1-x");
        couch.put("b", target, "1-x");
    }
    couch.put("b", "3", "1-x");
    couch.lag("b", u32::MAX);
    let mut hasty = with_existing(&couch, &["a", "b"]);
    hasty.replicate.as_mut().unwrap().converge_timeout_ns = 50 * MS;
    let message = refusal(&opened(&hasty));
    assert!(message.contains(" within 0.05 s: 2 of 3 documents are missing; its "), "{message}");
}

/// From a database that was there before to a new one. Returns the name of the latter, too.
fn from_existing(couch: &Couch) -> (Replicas, String) {
    let mut spec = with_existing(couch, &["a", ""]);
    spec.replicate.as_mut().unwrap().converge_timeout_ns = 2 * SECOND_NS;
    let replicas = opened(&spec);
    let target = replicas.state.borrow().found.places[1].database.clone();
    (replicas, target)
}

/// A source to which others write has more documents each time it is counted.
#[test]
fn a_source_to_which_others_write_is_waited_for_as_it_was_at_first() {
    for comes in [true, false] {
        let couch = Couch::start();
        couch.put("a", "1", "1-x");
        couch.put("a", "2", "1-x");
        let (replicas, target) = from_existing(&couch);
        couch.lag(&target, if comes { 2 } else { u32::MAX });
        let count = |documents: u64| (200, json!({ "doc_count": documents, "doc_del_count": 0 }));
        couch.instead("GET /a", &(2..1_000).map(count).collect::<Vec<_>>());
        if comes {
            assert_eq!(filled(&replicas), [2]);
        } else {
            let message = refusal(&replicas);
            assert!(message.contains(" within 2 s: 2 of 2 documents are missing; "), "{message}");
        }
    }
}

/// Each comparison would find others that have not arrived yet.
#[test]
fn what_others_write_to_the_source_during_the_comparison_need_not_arrive() {
    let couch = Couch::start();
    couch.put("a", "1", "1-x");
    couch.put("b", "own", "1-x");
    couch.lag("b", 2);
    let mut spec = with_existing(&couch, &["a", "b"]);
    spec.replicate.as_mut().unwrap().converge_timeout_ns = 2 * SECOND_NS;
    let replicas = opened(&spec);
    let changes = |ids: &[&str]| {
        let row = |id: &&str| json!({ "id": id, "changes": [{ "rev": "1-x" }] });
        let rows: Vec<_> = ids.iter().map(row).collect();
        (200, json!({ "results": rows, "last_seq": "1" }))
    };
    let all = "GET /a/_changes?limit=1000&since=";
    couch.instead(&format!("{all}0"), &[changes(&["1"]), changes(&["1", "2"])]);
    couch.instead(&format!("{all}1"), &[changes(&[])]);
    assert_eq!(filled(&replicas), [2]);
}
