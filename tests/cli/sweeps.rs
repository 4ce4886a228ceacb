//! Sweeps: every combination is measured once, whatever happens in between; also fills that outlive
//! their server.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use springload::embedded::Options;

use crate::outage::relay;
use crate::servers::Server;
use crate::springload::{BINARY, Finished, measure, number, springload};

const AXES: [&str; 10] = [
    "sweep",
    "-L",
    "batch=20..80x2",
    "-L",
    "connections=1,2",
    "--repeat=2",
    "--docs=2k",
    "--ops=0",
    "--seed=3",
    "-q",
];

fn manifest(folder: &Path) -> Option<Value> {
    let text = std::fs::read_to_string(folder.join("sweep.json")).ok()?;
    Some(serde_json::from_str(&text).expect("sweep.json is always whole"))
}

fn cells(manifest: &Value) -> &Vec<Value> {
    manifest["cells"].as_array().expect("cells")
}

/// The settings and the round of each cell, in order.
fn asked(manifest: &Value) -> Vec<String> {
    let text = |cell: &Value| format!("{} {}", cell["settings"], cell["round"]);
    cells(manifest).iter().map(text).collect()
}

fn done(manifest: &Value) -> Vec<usize> {
    let cells = cells(manifest).iter().enumerate();
    cells.filter(|(_, cell)| !cell["result"].is_null()).map(|(place, _)| place).collect()
}

/// In a debug build on a busy machine, the client may be the limit.
#[track_caller]
fn ended_well(run: &Finished) {
    assert!([0, 5].contains(&run.code), "{}: {}", run.code, run.stderr);
}

#[test]
fn a_sweep_killed_in_the_middle_goes_on_with_the_same_cells() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let mut arguments: Vec<&str> = AXES.to_vec();
    let output = format!("--output={}", out.display());
    arguments.push(&output);
    let mut child = Command::new(BINARY)
        .args(&arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it runs");
    let mut killed = None;
    for _ in 0..12_000 {
        if let Some(kept) = manifest(&out)
            && done(&kept).len() >= 2
        {
            child.kill().expect("it runs");
            killed = Some(());
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    child.wait().expect("a child");
    killed.expect("two cells within a minute");
    let before = manifest(&out).expect("a manifest");
    let kept = done(&before);
    assert!(kept.len() < 12, "killed too late to show anything");
    let started = |manifest: &Value, place: usize| {
        let run = cells(manifest)[place]["run"].as_str().expect("a path");
        let text = std::fs::read_to_string(out.join(run)).expect("a record");
        let record: Value = serde_json::from_str(&text).expect("JSON");
        record["started_at"].as_str().expect("a time").to_owned()
    };
    let moments: Vec<_> = kept.iter().map(|&place| started(&before, place)).collect();
    let other = ["sweep", "-L", "batch=5,6,7", "--ops=0", "-q", output.as_str()];
    let refused = springload(other);
    assert!(refused.code == 2 && refused.stderr.contains("contains another sweep"));
    let resume = format!("--resume={}", out.display());
    ended_well(&springload(["sweep", resume.as_str(), "-q"]));
    let after = manifest(&out).expect("a manifest");
    assert_eq!(asked(&before), asked(&after));
    assert_eq!(done(&after).len(), 12);
    let again: Vec<_> = kept.iter().map(|&place| started(&after, place)).collect();
    assert_eq!(moments, again, "a finished cell was measured again");
    let drawn = springload(["sweep", resume.as_str(), "-q", "--format=svg"]);
    let charts = ["Throughput by batch", "Throughput by connections", "connections=2"];
    assert!(charts.iter().all(|text| drawn.stdout.contains(text)), "{}", drawn.stdout);
    assert_eq!(manifest(&out).expect("a manifest"), after, "drawing measured something");
    let mut settings = asked(&after);
    assert!(settings.windows(2).any(|pair| pair[0] > pair[1]), "not shuffled: {settings:?}");
    settings.sort();
    settings.dedup();
    assert_eq!(settings.len(), 12);
    assert!(cells(&after).iter().all(|cell| number(&cell["result"]["ok"]) == 2_000));
}

#[test]
fn the_page_has_the_command_that_goes_on_with_the_same_sweep() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let output = format!("--output={}", out.display());
    let sweep = ["sweep", "--preset=batch", "--scale=0.001", "-L", "batch=10,20", "--repeat=2"];
    ended_well(&springload([&sweep[..], &["-q", "--format=html", &output]].concat()));
    let page = std::fs::read_to_string(out.join("report.html")).expect("a page");
    let (_, command) = page.split_once("<pre><code>springload ").expect("a command");
    let (command, _) = command.split_once("</code>").expect("its end");
    let before = std::fs::read(out.join("sweep.json")).expect("a sweep");
    let words: Vec<&str> = command.split(' ').chain(["-q", "--format=html", &output]).collect();
    let again = springload(&words);
    assert_eq!((again.code, &again.stdout), (0, &page), "{command}: {}", again.stderr);
    assert_eq!(std::fs::read(out.join("sweep.json")).expect("a sweep"), before, "measured again");
    let place = out.to_str().expect("UTF-8");
    let later = springload(["report", place, "--format", "html"]);
    assert_eq!((later.code, &later.stdout), (0, &page), "{}", later.stderr);
    for (arguments, says) in [
        (&["report", place, place][..], "give it alone"),
        (&["report", place, "--format", "hlog"], "give one of text, csv, json, html, svg, png"),
    ] {
        let refused = springload(arguments);
        assert!(refused.code == 2 && refused.stderr.contains(says), "{}", refused.stderr);
    }
}

#[test]
fn an_unknown_setting_lists_those_there_are() {
    let run = springload(["sweep", "-L", "batches=1,2"]);
    run.refused(2, &["no such setting: \"batches\"", "connections", "batch", "docs", "timeout"]);
    let run = springload(["sweep", "-L", "batch=0,5"]);
    run.refused(2, &["--batch: 0 is out of range"]);
    let run = springload(["sweep", "-L", "docs=1,2", "--docs=5"]);
    run.refused(2, &["docs is varied, and also given as --docs"]);
    let run = springload(["sweep", "http://127.0.0.1:1/mine", "-L", "docs=1,2"]);
    run.refused(2, &["TARGET", "each run creates its own"]);
}

/// The three sweeps of 2008, as small as possible.
fn shapes_of_2008(server: &Server) {
    for (preset, scale, cells_of, axis) in [
        ("threads", "0.02", 5, "connections"),
        ("batch", "0.02", 4, "batch"),
        ("size", "0.001", 1, "batch"),
    ] {
        let scale = format!("--scale={scale}");
        let run = measure(["sweep", &server.url, "--preset", preset, &scale]);
        ended_well(&run);
        let kept = manifest(&run.output()).expect("a manifest");
        assert_eq!(done(&kept).len(), cells_of, "{preset} on {}", server.name);
        for cell in cells(&kept) {
            assert_eq!(cell["settings"][0]["name"], axis);
            let result = &cell["result"];
            let points = result["curve"]["points"].as_array().expect("a curve");
            let last = points.last().expect("a point");
            let documents = if preset == "size" { 4_000 } else { 2_000 };
            assert_eq!(number(&result["ok"]), documents);
            assert_eq!(number(&last["documents"]), documents, "{preset} on {}", server.name);
            assert!(points.iter().all(|point| point["per_s"].as_f64() > Some(0.0)));
        }
        assert!(run.stdout.contains("rate by size"), "{}", run.stdout);
    }
}

#[test]
fn the_sweeps_of_2008_on_the_stand_in_and_on_pouchdb_server() {
    shapes_of_2008(&Server::stand_in(Options::default()));
    if let Some(server) = Server::pouchdb() {
        shapes_of_2008(&server);
    }
}

#[test]
fn bulk_perf_writes_the_series_of_the_original() {
    let server = Server::stand_in(Options::default());
    let run = measure(["bulk-perf", "100", "2050", "2", &server.url]);
    ended_well(&run);
    // 2,050 documents fill 20 requests; W = max(2 × 100, 2050 / 1000) = 200.
    let file = run.output().join("bulk-perf-100-2050-2.dat");
    let series = std::fs::read_to_string(&file).expect("a series");
    let x: Vec<&str> = series.lines().filter_map(|line| line.split(' ').next()).collect();
    let wanted: Vec<String> = (1..=10).map(|n| (n * 200).to_string()).collect();
    assert_eq!(x, wanted);
    assert!(series.lines().all(|line| line.split(' ').nth(1).unwrap().parse::<f64>().is_ok()));
    let plot = std::fs::read(run.output().join("bulk-perf-100-2050-2.png"));
    assert!(plot.is_ok_and(|it| it.starts_with(b"\x89PNG")));
    let legend = std::fs::read_to_string(run.output().join("bulk-perf-100-2050-2.dat.meta"));
    assert_eq!(legend.expect("a legend"), "Bulk size: 100, num threads: 2\n");
}

#[test]
fn bulk_perf_makes_documents_of_the_originals_shape() {
    let server = Server::stand_in(Options::default());
    let target = format!("{}/shape", server.url);
    ended_well(&measure(["bulk-perf", "50", "400", "1", &target, "--keep"]));
    let mut answer =
        ureq::get(format!("{target}/_all_docs?include_docs=true")).call().expect("rows");
    let text = answer.body_mut().read_to_string().expect("a body");
    let rows: Value = serde_json::from_str(&text).expect("JSON");
    let rows = rows["rows"].as_array().expect("rows");
    let all = |name: &str| -> Vec<&Value> { rows.iter().map(|row| &row["doc"][name]).collect() };
    assert_eq!(rows.len(), 400);
    for name in ["name", "tstamp"] {
        let numbers: Vec<i64> = all(name).iter().map(|it| it.as_i64().expect("a number")).collect();
        assert!(numbers.iter().all(|&it| it >= 0), "{name}");
        assert!(numbers.iter().any(|&it| it > i64::MAX / 2), "{name}");
    }
    let colors = "reg green blue yellow pink orange gray black white";
    let types = "machine chemicals human building animal";
    for (name, words) in [("color", colors), ("type", types)] {
        let mut words: Vec<&str> = words.split(' ').collect();
        words.sort_unstable();
        let mut drawn: Vec<&str> = all(name).iter().map(|it| it.as_str().expect("text")).collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn, words);
    }
}

#[test]
fn a_fill_outlives_its_server_and_every_document_is_in_once() {
    let mut servers = vec![Server::stand_in(Options::default())];
    servers.extend(Server::pouchdb());
    for server in servers {
        let relay = relay(&server.url, 15, Duration::from_millis(1_500));
        let target = format!("{relay}/outage");
        let run = measure(["bulk-perf", "50", "3000", "4", &target, "--keep"]);
        // More than a tenth of the requests may have had no response: degraded, and reported so.
        ended_well(&run);
        assert_eq!(run.sum("bulk_insert", "ok"), 3_000, "{}", server.name);
        let operation = run.operation("bulk_insert", "bulk_insert");
        let failures = operation["failures"].as_object().expect("failures");
        assert!(failures.contains_key("connect"), "{failures:?}");
        assert!(!failures.contains_key("conflict"), "{failures:?}");
        let mut answer = ureq::get(format!("{}/outage", server.url)).call().expect("an answer");
        let text = answer.body_mut().read_to_string().expect("a body");
        let info: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(info["doc_count"], 3_000, "{}", server.name);
        if let Some(stand_in) = server.as_stand_in() {
            let counted = stand_in.counters();
            assert_eq!(counted.documents_bulk, 3_000);
            assert!(counted.conflicts > 0, "no answer was lost: the test shows too little");
        }
        let file = run.output().join("bulk-perf-50-3000-4.dat");
        let series = std::fs::read_to_string(&file).expect("a series");
        assert!(series.contains("# gap: no answer from"), "{series}");
        let last = series.lines().last().expect("a line");
        assert!(last.starts_with("3000 "), "{series}");
    }
}

#[test]
fn a_server_that_stays_away_ends_the_run() {
    let server = Server::stand_in(Options::default());
    let relay = relay(&server.url, 3, Duration::from_secs(3_600));
    let run = measure(["bulk-perf", "10", "3000", "2", &relay, "--wait-for-server", "1s"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("the server no longer answers"), "{}", run.stderr);
}
