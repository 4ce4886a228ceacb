//! `springload replicate`: against pouchdb-server, through relays that answer in its place, lose a
//! document, or fail during the load.

use crate::relay::{Deed, Relay};
use crate::servers::Server;
use crate::springload::{Finished, Running, measure, number, springload};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn get(url: &str) -> Value {
    let mut answer = ureq::get(url).call().expect("an answer");
    serde_json::from_str(&answer.body_mut().read_to_string().expect("UTF-8")).expect("JSON")
}

/// Asserts that a run left nothing on the server.
#[track_caller]
fn left_nothing(server: &Server) {
    let databases = get(&format!("{}/_all_dbs", server.url)).to_string();
    assert!(!databases.contains("springload"), "{databases}");
    let jobs = get(&format!("{}/_replicator/_all_docs", server.url)).to_string();
    assert!(!jobs.contains("springload"), "{jobs}");
}

/// A short run between these addresses.
fn words<'a>(targets: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    let load = ["--docs", "24", "--batch", "12", "-c", "2", "-r", "15", "--noise", "warn"];
    let length: &[&str] = if more.contains(&"-d") { &[] } else { &["-d", "2s"] };
    let limits = ["--start-timeout", "60s", "--no-observe"];
    [&["replicate"], targets, &load, length, &limits, more].concat()
}

fn links(run: &Finished) -> &Vec<Value> {
    run.record["replication"]["links"].as_array().expect("links")
}

/// Asserts that a run ended well, apart from a slow server or machine.
#[track_caller]
fn ended_well(run: Finished) -> Finished {
    let slow = run.code == 5 && run.stderr.contains("not sustained");
    if slow { run } else { run.passed() }
}

#[test]
fn targets_get_everything_and_nothing_is_left() {
    let Some((one, two)) = Server::pouchdb().zip(Server::pouchdb()) else { return };
    // The third target is a second database on the first server.
    let targets = [&one.url[..], &two.url, &one.url];
    for topology in ["fan-out", "chain"] {
        let run = ended_well(measure(words(&targets, &["--topology", topology])));
        let ends: Vec<(u64, u64)> =
            links(&run).iter().map(|it| (number(&it["source"]), number(&it["target"]))).collect();
        assert_eq!(ends, if topology == "chain" { [(0, 1), (1, 2)] } else { [(0, 1), (0, 2)] });
        for link in links(&run) {
            assert_eq!(link["end"], "converged", "{link}");
            let markers = &link["markers"];
            assert!(number(&markers["written"]) >= 5, "{markers}");
            assert_eq!(number(&markers["unseen"]), 0, "{markers}");
            assert_eq!(markers["lag"]["samples"], markers["written"]);
            assert!(number(&link["filled_documents"]) >= 24, "{link}");
            let compared = &link["comparison"];
            // The fill, the markers, and the documents that the mix created and deleted.
            assert!(number(&compared["documents"]) > 24 + number(&markers["written"]), "{link}");
            assert_eq!((number(&compared["missing"]), number(&compared["different"])), (0, 0));
            assert!(link["converged_s"].as_f64() >= Some(0.0), "{link}");
        }
        let names: Vec<_> = run.stages().map(|it| it["name"].as_str().unwrap_or("")).collect();
        assert_eq!(names, ["bulk_insert", "crud", "replicated"]);
        let text = run.report("text").stdout;
        assert!(text.contains(&format!("replication {topology} · pulled by the target")), "{text}");
        assert!(text.contains("p50 without"), "{text}");
        assert!(run.report("html").stdout.contains("Longest lag over time"));
        // The chain is also measured from end to end.
        let chain = &run.record["replication"]["end_to_end"];
        assert_eq!(chain.is_null(), topology == "fan-out");
        if topology == "chain" {
            assert_eq!((number(&chain["source"]), number(&chain["target"])), (0, 2));
            let (markers, last) = (&chain["markers"], &links(&run)[1]["markers"]);
            assert_eq!(markers["lag"]["samples"], markers["written"]);
            assert_eq!(number(&markers["unseen"]), 0, "{markers}");
            let longest = |of: &Value| of["lag"]["max_us"].as_f64().expect("a time");
            assert!(longest(markers) > 0.0 && longest(last) > 0.0);
            assert!(text.contains(" → … → "), "{text}");
        }
        let metrics = run.report("openmetrics").stdout;
        let count = |name: &str| metrics.lines().filter(|line| line.starts_with(name)).count();
        let ways = if topology == "chain" { 3 } else { 2 };
        assert_eq!(count("springload_replication_lag_seconds_count{"), ways, "{metrics}");
        let csv = run.report("csv").stdout;
        assert!(csv.lines().any(|line| line.starts_with("replicated,0,replication ")), "{csv}");
        let picture = springload(
            ["report", "--format", "svg", "--chart", "lag"]
                .iter()
                .map(std::ffi::OsStr::new)
                .chain([run.output().as_os_str()]),
        );
        assert!(picture.stdout.contains("Longest lag over time"), "{}", picture.stderr);
        left_nothing(&one);
        left_nothing(&two);
    }
}

#[test]
fn every_topology_brings_all_to_where_it_leads() {
    let Some(server) = Server::pouchdb() else { return };
    let targets = [&server.url[..]; 3];
    for (topology, count) in [("fan-in", 2), ("mesh", 6)] {
        let run = ended_well(measure(words(&targets, &["--topology", topology, "--push"])));
        assert_eq!(links(&run).len(), count);
        assert!(links(&run).iter().all(|link| link["end"] == "converged"), "{:?}", links(&run));
        left_nothing(&server);
    }
}

#[test]
fn a_document_that_is_lost_before_the_load_is_not_waited_for_without_end() {
    let Some((source, target)) = Server::pouchdb().zip(Server::pouchdb()) else { return };
    let lost = Arc::new(Mutex::new(None::<String>));
    let seen = lost.clone();
    // Removes one document from the writes of the replication.
    let relay = Relay::before(&target, move |request| {
        if request.is("POST ") && request.head.contains("/_bulk_docs") {
            let mut body: Value = serde_json::from_slice(&request.body).expect("JSON");
            let docs = body["docs"].as_array_mut().expect("documents");
            let mut lost = seen.lock().expect("no panic");
            let ids = docs.iter().filter_map(|it| it["_id"].as_str().map(str::to_owned));
            let is_own = |id: &String| !id.starts_with("springload:");
            if let (None, Some(id)) = (&*lost, { ids }.find(is_own)) {
                *lost = Some(id);
            }
            docs.retain(|it| it["_id"].as_str() != lost.as_deref());
            request.body = body.to_string().into_bytes();
        }
        Deed::Pass
    });
    let run = measure(words(&[&source.url, &relay.url], &["--converge-timeout", "3s"]));
    let lost = lost.lock().expect("no panic").clone();
    // It is noticed at once: documents stored before the load never arrive.
    assert_eq!(run.code, 3, "{}", run.stderr);
    for word in ["has not copied what was stored before the load", "--converge-timeout"] {
        assert!(run.stderr.contains(word), "{word}: {}", run.stderr);
    }
    assert!(lost.is_some());
    left_nothing(&source);
    left_nothing(&target);
}

#[test]
fn a_document_that_is_lost_on_the_way_is_found_and_named() {
    let Some((source, target)) = Server::pouchdb().zip(Server::pouchdb()) else { return };
    let lost = Arc::new(Mutex::new(None::<String>));
    let (chosen, is_loaded) = (lost.clone(), AtomicBool::new(false));
    // Once there are markers, removes one document of the mix from all writes of the replication.
    let relay = Relay::before(&target, move |request| {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        let is_write = request.is("POST ") && request.head.contains("/_bulk_docs");
        is_loaded.fetch_or(body.contains("springload:"), Ordering::SeqCst);
        if is_write && is_loaded.load(Ordering::SeqCst) {
            let mut body: Value = serde_json::from_str(&body).expect("JSON");
            let docs = body["docs"].as_array_mut().expect("documents");
            let mut lost = chosen.lock().expect("no panic");
            let first = docs.iter().filter_map(|it| it["_id"].as_str().map(str::to_owned));
            let first = { first }.find(|id| !id.starts_with("springload:"));
            *lost = lost.take().or(first);
            docs.retain(|it| it["_id"].as_str() != lost.as_deref());
            request.body = body.to_string().into_bytes();
        }
        Deed::Pass
    });
    let more = ["--mix", "create=1", "--converge-timeout", "30s"];
    let run = measure(words(&[&source.url, &relay.url], &more));
    let link = &links(&run)[0];
    let id = lost.lock().expect("no panic").clone().expect("a document");
    assert_eq!(run.code, 6, "{}\n{link}", run.stderr);
    assert_eq!(link["end"], "lost", "{link}");
    let compared = &link["comparison"];
    assert_eq!((number(&compared["missing"]), number(&compared["different"])), (1, 0), "{link}");
    assert_eq!(compared["examples"], json!([id]));
    assert!(run.stderr.contains(&format!("are missing: {id}")), "{}", run.stderr);
    left_nothing(&source);
    left_nothing(&target);
}

#[test]
fn what_is_deleted_at_the_target_is_found_and_named_in_the_end() {
    let Some((source, target)) = Server::pouchdb().zip(Server::pouchdb()) else { return };
    let (count, path) = (Arc::new(AtomicU64::new(0)), target.url.clone());
    let victim = Arc::new(Mutex::new(None::<(String, String)>));
    let chosen = victim.clone();
    // After a few polls for markers, another client deletes a document of the fill.
    let relay = Relay::before(&target, move |request| {
        let looks = request.is("POST ") && request.head.contains("/_all_docs");
        let markers = String::from_utf8_lossy(&request.body).contains("springload:");
        if looks && markers && count.fetch_add(1, Ordering::SeqCst) == 3 {
            let database = request.head.split('/').nth(1).expect("a database");
            let row = &get(&format!("{path}/{database}/_all_docs?limit=1"))["rows"][0];
            let id = row["id"].as_str().expect("an id").to_owned();
            let rev = row["value"]["rev"].as_str().expect("a revision");
            let url = format!("{path}/{database}/{id}?rev={rev}");
            ureq::delete(&url).call().expect("deleted");
            *chosen.lock().expect("no panic") = Some((database.to_owned(), id));
        }
        Deed::Pass
    });
    let more = ["--mix", "read=1", "--converge-timeout", "30s"];
    let run = measure(words(&[&source.url, &relay.url], &more));
    let (_, id) = victim.lock().expect("no panic").clone().expect("a document");
    let link = &links(&run)[0];
    assert_eq!(run.code, 6, "{}\n{link}", run.stderr);
    assert_eq!(link["end"], "lost", "{link}");
    let compared = &link["comparison"];
    assert_eq!((number(&compared["missing"]), number(&compared["different"])), (0, 1), "{link}");
    assert_eq!(compared["examples"], json!([id]));
    assert!(run.stderr.contains(&format!("differ: {id}")), "{}", run.stderr);
    left_nothing(&source);
    left_nothing(&target);
}

#[test]
fn a_target_that_goes_away_in_the_middle_is_reported_and_the_load_goes_on() {
    let Some((source, target)) = Server::pouchdb().zip(Server::pouchdb()) else { return };
    let count = AtomicU64::new(0);
    let relay = Relay::before(&target, move |request| {
        let looks = request.is("POST ") && request.head.contains("/_all_docs");
        let dies = looks && count.fetch_add(1, Ordering::SeqCst) == 8;
        if dies { Deed::Die } else { Deed::Pass }
    });
    // The source's server replicates, so all traffic to the target passes through the relay.
    let more = ["--push", "--give-up", "3s", "--timeout", "2s"];
    let run = measure(words(&[&source.url, &relay.url], &more));
    assert_eq!(run.code, 3, "{}", run.stderr);
    let link = &links(&run)[0];
    assert_eq!(link["end"], "gone", "{link}");
    assert!(number(&link["markers"]["unseen"]) > 0, "{link}");
    assert!(run.stderr.contains("a server no longer answers"), "{}", run.stderr);
    // The whole load was still measured.
    let replicated = run.stage("replicated");
    assert_eq!(number(&replicated["load"]["offered"]), 30, "{replicated}");
    assert_eq!(run.record["partial"], false);
    // Databases that could not be removed are reported, with a cure.
    let left = run.record["replication"]["left"].to_string();
    assert!(left.contains("the database") && left.contains("springload clean"), "{left}");
    left_nothing(&source);
}

#[test]
fn a_link_of_a_mesh_that_failed_is_named_though_everything_came_by_another_way() {
    let Some((one, two)) = Server::pouchdb().zip(Server::pouchdb()) else { return };
    let (dead, asked) = (Mutex::new(None::<String>), AtomicU64::new(0));
    // The first replication from the third database never begins; its server says so in the end.
    let relay = Relay::before(&two, move |request| {
        let mut dead = dead.lock().expect("no panic");
        let path = request.head.split_whitespace().nth(1).unwrap_or_default();
        if dead.is_none() && request.is("PUT /_replicator/") {
            *dead = path.rsplit('/').next().map(str::to_owned);
            return Deed::Answer(201, json!({ "ok": true, "id": "a", "rev": "1-a" }));
        }
        if !dead.as_ref().is_some_and(|name| path.contains(name)) {
            return Deed::Pass;
        }
        if !request.is("GET /_scheduler/") {
            return Deed::Answer(404, json!({ "error": "not_found", "reason": "missing" }));
        }
        let failed = json!({ "state": "failed", "info": { "error": "you may not write" } });
        let is_first = asked.fetch_add(1, Ordering::SeqCst) == 0;
        Deed::Answer(200, if is_first { json!({ "state": "running" }) } else { failed })
    });
    let targets = [&one.url[..], &one.url, &relay.url];
    let run = ended_well(measure(words(&targets, &["--topology", "mesh", "--push"])));
    for link in links(&run) {
        assert_eq!(link["end"], "converged", "{link}");
        let is_dead = number(&link["source"]) == 2 && number(&link["target"]) == 0;
        assert_eq!(link["failed"] == true, is_dead, "{link}");
    }
    let warned = "has everything, but its server calls the replication failed: you may not write";
    let warnings = run.record["warnings"].to_string();
    assert!(warnings.contains(warned), "{warnings}");
    left_nothing(&one);
    left_nothing(&two);
}

#[test]
fn a_replication_that_fails_at_once_ends_the_run_with_the_servers_reason() {
    let Some((source, target)) = Server::pouchdb().zip(Server::pouchdb()) else { return };
    // PouchDB Server never learns of the replication: it creates the databases of a replication
    // that begins, possibly after they were removed.
    let relay = Relay::before(&target, |request| {
        if request.is("GET /_scheduler/docs/_replicator/") {
            let info = json!({ "error": "unauthorized: Name or password is incorrect." });
            return Deed::Answer(200, json!({ "state": "crashing", "info": info }));
        }
        if request.is("PUT /_replicator/") {
            return Deed::Answer(201, json!({ "ok": true, "id": "a", "rev": "1-a" }));
        }
        if request.is("GET /_replicator/") {
            return Deed::Answer(404, json!({ "error": "not_found", "reason": "missing" }));
        }
        Deed::Pass
    });
    let run = measure(words(&[&source.url, &relay.url], &[]));
    assert_eq!(run.code, 3, "{}", run.stderr);
    for word in ["crashing", "Name or password is incorrect", "check that the servers reach"] {
        assert!(run.stderr.contains(word), "{word}: {}", run.stderr);
    }
    assert!(run.record["replication"]["running_s"].is_null());
    left_nothing(&source);
    left_nothing(&target);
}

#[test]
fn a_replication_that_never_runs_is_not_waited_for_without_end() {
    let Some((source, target)) = Server::pouchdb().zip(Server::pouchdb()) else { return };
    let relay = Relay::before(&target, |request| {
        // PouchDB would run it, and recreate a database that was removed meanwhile.
        if request.is("PUT /_replicator/") {
            return Deed::Answer(201, json!({ "ok": true, "rev": "1-0" }));
        }
        if request.is("GET /_scheduler/docs/_replicator/") {
            return Deed::Answer(200, json!({ "state": "pending", "info": null }));
        }
        Deed::Pass
    });
    let more = ["--start-timeout", "1s"];
    let run = measure(
        words(&[&source.url, &relay.url], &[])
            .into_iter()
            .map(|word| if word == "60s" { more[1] } else { word }),
    );
    assert_eq!(run.code, 3, "{}", run.stderr);
    for word in ["not running after 1 s", "pending", "--start-timeout"] {
        assert!(run.stderr.contains(word), "{word}: {}", run.stderr);
    }
    left_nothing(&source);
    left_nothing(&target);
}

#[test]
fn databases_that_exist_keep_what_they_had_and_lose_the_markers() {
    let Some(server) = Server::pouchdb() else { return };
    let put = |path: &str, body: Value| {
        let url = format!("{}/{path}", server.url);
        ureq::put(&url)
            .header("Content-Type", "application/json")
            .send(body.to_string())
            .expect("201")
    };
    for database in ["from", "to"] {
        ureq::put(format!("{}/{database}", server.url)).send_empty().expect("a database");
        put(&format!("{database}/own_{database}"), json!({ "mine": true }));
    }
    // Both had a document of this name: the one with more revisions wins everywhere.
    put("from/both", json!({ "a": 1 }));
    let answer = put("to/both", json!({ "a": 2 })).body_mut().read_to_string().expect("UTF-8");
    let stored: Value = serde_json::from_str(&answer).expect("JSON");
    put("to/both", json!({ "a": 3, "_rev": stored["rev"] }));
    let (from, to) = (format!("{}/from", server.url), format!("{}/to", server.url));
    let run = ended_well(measure(words(&[&from, &to], &["--use-existing"])));
    let link = &links(&run)[0];
    assert_eq!(link["end"], "converged", "{link}");
    assert_eq!(number(&link["comparison"]["overruled"]), 1, "{link}");
    assert!(run.record["replication"].get("markers_left").is_none(), "{}", run.stderr);
    for (database, foreign) in [(&from, "own_to"), (&to, "own_from")] {
        let rows = get(&format!("{database}/_all_docs")).to_string();
        assert!(!rows.contains("springload:"), "{rows}");
        assert!(rows.contains("both") && rows.contains("own_"), "{rows}");
        assert_eq!(rows.contains(foreign), foreign == "own_from", "{rows}");
    }
    let jobs = get(&format!("{}/_replicator/_all_docs", server.url)).to_string();
    assert!(!jobs.contains("springload"), "{jobs}");
}

#[test]
fn what_a_killed_run_leaves_is_removed_by_clean_and_what_others_replicate_is_not() {
    let Some((source, target)) = Server::pouchdb().zip(Server::pouchdb()) else { return };
    let jobs = format!("{}/_replicator", target.url);
    let foreign = format!("{jobs}/springload_results");
    let ends =
        json!({ "source": format!("{}/a", source.url), "target": format!("{}/b", target.url) });
    let foreign = ureq::put(&foreign).header("Content-Type", "application/json");
    foreign.send(ends.to_string()).expect("201");
    let run = Running::start(words(&[&source.url, &target.url], &["-d", "5s"]));
    let all = format!("{jobs}/_all_docs?startkey=%22springload_1%22&endkey=%22springload_9%22");
    while get(&all)["rows"] == json!([]) {
        std::thread::sleep(Duration::from_millis(20));
    }
    run.signal(Signal::KILL);
    drop(run);
    // First where it runs: PouchDB creates the databases of a running replication.
    for server in [&target, &source] {
        let cleaned = springload(["clean", &server.url, "--older-than", "0s", "--yes"]);
        assert_eq!(cleaned.code, 0, "{}", cleaned.stderr);
        let replicates = cleaned.stderr.contains("1 database and 1 replication");
        assert_eq!(replicates, server.url == target.url, "{}", cleaned.stderr);
        // A replication of PouchDB that is being canceled may create its database once more.
        let databases = || get(&format!("{}/_all_dbs", server.url)).to_string();
        let is_clean = (0..50).any(|_| {
            !databases().contains("springload") || {
                std::thread::sleep(Duration::from_millis(100));
                springload(["clean", &server.url, "--older-than", "0s", "--yes"]);
                false
            }
        });
        assert!(is_clean, "{}", databases());
    }
    assert_eq!(get(&all)["rows"], json!([]));
    assert!(get(&format!("{jobs}/_all_docs")).to_string().contains("springload_results"));
}

#[test]
fn what_it_cannot_replicate_is_refused_in_words() {
    let refused = |words: &[&str], parts: &[&str]| {
        springload([&["replicate"], words].concat()).refused(2, parts);
    };
    refused(&[], &["TARGET: the stand-in does not replicate", "two CouchDB servers"]);
    refused(&["h:1"], &["TARGET: there is only one address", "several times"]);
    refused(&["redis://h:1", "redis://h:2"], &["TARGET:", "does not replicate single databases"]);
    refused(&["h:1", "redis://h:2"], &["TARGET:", "does not replicate single databases"]);
    refused(&["h:1/a", "h:1/a"], &["database \"a\" on http://h:1 is given twice"]);
    refused(
        &["h:1", "h:2", "--agents", "2"],
        &["--agents: replication is measured by one process"],
    );
    refused(&["h:1", "h:2", "--probe", "visible"], &["--probe: markers already show"]);
    let several = "--databases: a replication is of one database; leave it out";
    refused(&["h:1", "h:2", "--databases", "3"], &[several]);
    refused(&["h:1", "h:2", "--ops", "0"], &["--ops: without operations there is no load"]);
    refused(&["h:1", "h:2", "--marker-every", "1ms"], &["--marker-every: is below 10ms"]);
    refused(&["h:1", "h:2", "--topology", "ring"], &["ring", "fan-out, fan-in, chain, mesh"]);
}

#[test]
fn a_server_without_replicator_is_reported_before_anything_is_stored() {
    let (one, two) = (Server::stand_in(<_>::default()), Server::stand_in(<_>::default()));
    let run = springload(words(&[&one.url, &two.url], &[]));
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("_replicator"), "{}", run.stderr);
    for server in [&one, &two] {
        assert_eq!(get(&format!("{}/_all_dbs", server.url)), json!([]));
    }
}

#[test]
fn passwords_are_in_no_record_and_no_page() {
    let (one, two) = ("http://ann:s3cretword@127.0.0.1:9", "http://bob:0therword@127.0.0.1:9/x");
    let run = springload(words(&[one, two], &["--dry-run"]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("\"topology\": \"fan_out\"") && run.stdout.contains("bob"));
    assert!(!run.stdout.contains("s3cretword") && !run.stdout.contains("0therword"));
}
