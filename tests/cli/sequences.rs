//! Sequences of operations: what each step takes from the responses before it, what happens to a
//! sequence whose step fails, and which sequences are refused.

use std::collections::BTreeMap;

use crate::proxy::{Exchange, Proxy};
use crate::servers::Server;
use crate::springload::{Finished, Run, failures, measure, number, springload};
use serde_json::Value;
use springload::embedded::Options;

/// Stores a document, reads it with the saved values, and removes it.
const STEPS: [&str; 8] = [
    "--op",
    r#"post={"request":"PUT {{uuid}} {\"text\":\"{{text 20}}\"}","expect":{"status":201},
        "save":{"id":"id","rev":"rev","tag":"header ETag"}}"#,
    "--op",
    r#"fetch={"get":"{{saved id}}?rev={{saved rev}}","save":{"text":"text"}}"#,
    "--op",
    "drop=request DELETE {{saved id}}?rev={{saved rev}}&text={{saved text}}&tag={{saved tag}}",
    "--op",
    "note=steps post fetch drop",
];

fn parsed(body: &[u8]) -> Value {
    serde_json::from_slice(body).expect("JSON")
}

/// The exchanges of each connection with documents of sequences, in order.
fn by_connection(exchanges: Vec<Exchange>) -> Vec<Vec<Exchange>> {
    let mut all: BTreeMap<usize, Vec<Exchange>> = BTreeMap::new();
    for exchange in exchanges {
        let segment = exchange.path.rsplit('/').next().unwrap_or_default();
        if segment.split('?').next().is_some_and(|id| id.len() == 32) {
            all.entry(exchange.connection).or_default().push(exchange);
        }
    }
    all.into_values().collect()
}

#[test]
fn each_step_takes_what_the_ones_before_it_were_answered() {
    let server = Server::stand_in(Options::default());
    let proxy = Proxy::to(&server.url);
    let target = format!("{}/taken", proxy.url);
    let words = ["run", &target, "--docs", "40", "-c", "2", "-n", "90", "--warmup", "0s"];
    let mix = ["--mix", "read=2,note=1", "--fail-if", "fetch.err > 0"];
    let run = measure([&words[..], &STEPS, &mix].concat());
    assert!(matches!(run.code, 0 | 5), "{}", run.stderr);
    // Each sequence counts as one of the 90 operations, and each of its steps under its own name.
    for (name, done) in [("read", 60), ("note", 30), ("post", 30), ("fetch", 30), ("drop", 30)] {
        let operation = run.operation("crud", name);
        assert_eq!((number(&operation["ok"]), failures(&operation)), (done, 0), "{operation}");
    }
    assert_eq!(number(&run.operation("crud", "note")["http_requests"]), 90);
    assert_eq!(number(&run.stage("crud")["load"]["begun"]), 90);
    let mut sequences = 0;
    for exchanges in by_connection(proxy.exchanges()) {
        let (steps, rest) = exchanges.as_chunks::<3>();
        assert_eq!(rest, []);
        for [post, fetch, drop] in steps {
            sequences += 1;
            let (stored, found) = (parsed(&post.answer), parsed(&fetch.answer));
            let [id, rev] = ["id", "rev"].map(|name| stored[name].as_str().expect("text"));
            let methods = [post, fetch, drop].map(|it| it.method.as_str());
            assert_eq!(methods, ["PUT", "GET", "DELETE"]);
            assert!(fetch.path.ends_with(&format!("/{id}?rev={rev}")), "{}", fetch.path);
            assert_eq!(found["_rev"], rev);
            assert!(drop.path.contains(&format!("/{id}?rev={rev}&text=")), "{}", drop.path);
            assert!(drop.path.ends_with(&format!("&tag=%22{rev}%22")), "{}", drop.path);
        }
    }
    assert_eq!(sequences, 30);
}

/// The time of a whole sequence is at least the sum of its steps.
#[test]
fn a_sequence_is_due_and_timed_as_one() {
    let server = Server::stand_in(Options::default());
    let words = ["run", &server.url, "--docs", "40", "-c", "4", "-r", "60", "-d", "2s"];
    let words = [&words[..], &["--mix", "note=1", "--warmup", "0s", "--agents", "2"]].concat();
    let run = measure([&words[..], &STEPS].concat());
    assert!(matches!(run.code, 0 | 5), "{}", run.stderr);
    let (load, note) = (&run.stage("crud")["load"], run.operation("crud", "note"));
    let done = number(&note["ok"]);
    assert!(done > 10 && number(&load["begun"]) == done, "{load}");
    // On a busy machine some end after the two seconds; and one per connection may have some of its
    // steps after them.
    let served = load["served_per_s"].as_f64().expect("a rate") * 2.0;
    let in_time = (done - note["drained"].as_u64().unwrap_or(0)) as f64;
    assert!((served - in_time).abs() < 8.0, "{load}");
    let mean = |name: &str| {
        let service = &run.operation("crud", name)["service"];
        service["mean_us"].as_f64().expect("a time")
    };
    let steps: f64 = ["post", "fetch", "drop"].map(mean).iter().sum();
    assert!(mean("note") >= steps * 0.99, "{} < {steps}", mean("note"));
    let text = run.report("text").stdout;
    assert!(text.contains("note") && text.contains("fetch"), "{text}");
}

/// A sequence prepared when the warm-up ends is not counted.
#[test]
fn a_warm_up_leaves_no_sequence_behind() {
    let server = Server::stand_in(Options::default());
    let words = ["run", &server.url, "--docs", "40", "-c", "4", "-n", "60", "--warmup", "300ms"];
    let run = measure([&words[..], &STEPS, &["--mix", "note=1"]].concat());
    assert!(matches!(run.code, 0 | 5), "{}", run.stderr);
    for name in ["note", "post", "fetch", "drop"] {
        assert_eq!(counts(&run, name), (60, 0), "{name}");
    }
}

/// Counts of the operations of a run that succeeded and failed.
fn counts(run: &Finished, name: &str) -> (u64, u64) {
    let stage = run.stage("crud");
    let mut all = stage["operations"].as_array().expect("a list").iter();
    let operation = all.find(|it| it["kind"] == name);
    operation.map_or((0, 0), |it| (number(&it["ok"]), failures(it)))
}

#[test]
fn a_sequence_ends_with_the_step_that_fails() {
    let server = Server::stand_in(Options::default());
    let run = |op: &'static str, steps: &'static str| {
        let words = ["run", &server.url, "--docs", "20", "-c", "2", "-n", "40", "--warmup", "0s"];
        let more = ["--op", op, "--op", steps, "--mix", "read=1,half=1"];
        measure([&words[..], &STEPS, &more].concat())
    };
    // The response has no such member: steps that need the missing value are not carried out.
    let none = r#"bad={"get":"{{saved id}}","save":{"x":"no.such"}}"#;
    let done = run(none, "half=steps post bad fetch");
    assert_eq!(counts(&done, "post"), (20, 0));
    assert_eq!(counts(&done, "bad"), (0, 20));
    assert_eq!(counts(&done, "fetch"), (0, 0));
    assert_eq!(counts(&done, "half"), (0, 20));
    assert_eq!(counts(&done, "read"), (20, 0));
    assert!(done.full_report().contains("nothing to save at no.such"), "{}", done.stdout);
    let half = done.operation("crud", "half");
    assert_eq!(number(&half["http_requests"]), 40, "{half}");
    assert_eq!(half["failures"]["unexpected"], 20);
    // The same as for any other failure, in the first step or the last.
    let done = run("bad=get absent", "half=steps bad post");
    assert_eq!(["bad", "half", "post"].map(|it| counts(&done, it)), [(0, 20), (0, 20), (0, 0)]);
    let done = run("bad=get absent", "half=steps post bad");
    assert_eq!(["bad", "half", "post"].map(|it| counts(&done, it)), [(0, 20), (0, 20), (20, 0)]);
    assert_eq!(done.operation("crud", "half")["failures"]["not_found"], 20);
}

#[test]
fn what_cannot_go_on_is_refused() {
    let refused = |ops: &[&str], mix: &str, says: &[&str]| {
        let ops = ops.iter().flat_map(|op| ["--op", op]);
        let words = ["run", "--docs", "20", "-n", "20", "--mix", mix].into_iter().chain(ops);
        springload(words).refused(2, says);
    };
    let (a, b) = (r#"a={"get":"{{key}}","save":{"x":"_id"}}"#, "b=get {{saved x}}");
    refused(&[a, b], "b=1", &["--op b: {{saved x}} is what an earlier step", "steps first b"]);
    refused(&[a, b, "c=steps b a"], "c=1", &["--op c: b takes {{saved x}}, which no step before"]);
    refused(&[a, b, "c=steps a"], "c=1", &["--op c: steps: a sequence has 2 to 100"]);
    refused(&[a, b, "c=steps a d"], "c=1", &["--op c: \"d\" is not an operation", "some of a, b"]);
    refused(&[a, b, "c=steps a b", "d=steps a c"], "d=1", &["--op d: c is a sequence itself"]);
    let c = r#"c={"steps":["a","b"],"expect":{"rows":1}}"#;
    refused(&[a, b, c], "c=1", &["expect and save belong to its operations"]);
    let made = ["put=request PUT {{new}} {}", "taken=get {{made put}}", "c=steps put taken"];
    refused(&made, "c=1", &["--op c: taken may have nothing to ask for"]);
    refused(&[a, b, "c=steps a b"], "c=1,e=1", &["\"e\" is not an operation"]);
    // A threshold on a step applies to an operation; one on an unknown name is refused.
    let words = ["run", "--docs=20", "-n=20", "--mix=c=1", "--op", a, "--op", b];
    let words = [&words[..], &["--op", "c=steps a b", "--fail-if", "d.p99 > 1s"]].concat();
    springload(words).refused(2, &["give all, bulk_insert, a, b, c"]);
    let line = Run::bare(&["run", "line", "--docs=9", "--mix=c=1", "--op=c=steps a a"]);
    let line = line.args(&["--op", r#"a={"line":"GET {{key}}","save":{"x":"id"}}"#]);
    line.finish().refused(2, &["--op a: ", "cannot save values from answers"]);
}
