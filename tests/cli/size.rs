//! `springload size`: the answer and its arithmetic from saved searches, and what it refuses.

use crate::springload::{Finished, Run, springload};
use serde_json::{Value, json};

/// Searches by name.
type Searches = Vec<(String, Value)>;

/// Searches called `max-1` and so on, after the number of their nodes.
fn searches(found: &[(u64, &[f64])]) -> Searches {
    found.iter().map(|(nodes, rates)| (format!("max-{nodes}"), search(*nodes, rates))).collect()
}

fn search(nodes: u64, found: &[f64]) -> Value {
    json!({
        "schema_version": 1,
        "target": "http://node1:5984",
        "nodes": nodes,
        "step_command": "springload run http://node1:5984 --docs=1000",
        "slo": ["p99 < 20ms"],
        "searched": "rate",
        "seed": 1,
        "ended": "found",
        "sustained_per_s": found[found.len() / 2],
        "low": found[0],
        "high": found[found.len() - 1],
        "found_per_s": found,
        "steps": [],
    })
}

/// Sizes by these searches, all of them unless `words` name some.
fn size(searches: &Searches, words: &[&str]) -> Finished {
    let mut run = Run::bare(&["size"]).args(words);
    for (name, max) in searches {
        let folder = run.folder().join(name);
        std::fs::create_dir(&folder).expect("a folder");
        std::fs::write(folder.join("max.json"), max.to_string()).expect("a file");
        if !words.contains(&"--from") {
            run = run.args(&["--from", name]);
        }
    }
    run.finish()
}

#[test]
fn the_answer_is_in_every_format() {
    let all = searches(&[
        (1, &[3_822.0, 3_900.0, 3_939.0]),
        (3, &[10_584.0, 10_800.0, 10_908.0]),
        (5, &[16_170.0, 16_500.0, 16_665.0]),
        (9, &[24_990.0, 25_500.0, 25_755.0]),
    ]);
    let text = size(&all, &["--rate", "20k"]);
    assert_eq!(text.code, 0, "{}", text.stderr);
    assert!(text.stdout.starts_with("✓ 8 nodes for 20,000/s: 7 still carry"), "{}", text.stdout);
    let json = size(&all, &["--rate", "20k", "--format", "json"]);
    let it: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!((&it["needed"], &it["verdict"]), (&8.into(), &"enough".into()), "{it:#}");
    assert_eq!(it["measured"].as_array().map(Vec::len), Some(4));
    for format in ["html", "svg", "png", "json", "text"] {
        let run = size(&all, &["--rate", "20k", "--format", format, "-o", "out"]);
        assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{format}: {}", run.stderr);
        let bytes = std::fs::read(run.output()).expect("a file");
        assert!(bytes.len() > 500, "{format}");
        if format == "html" {
            let page = String::from_utf8(bytes).expect("UTF-8");
            assert!(page.contains("Throughput by number of nodes"), "{page}");
            assert!(page.contains("8 nodes for 20,000/s"));
        }
    }
}

#[test]
fn what_is_said_of_a_search_counts_more_than_what_it_says() {
    let all = searches(&[(3, &[10_800.0]), (9, &[25_500.0])]);
    let other = size(&all, &["--rate", "20k", "--from", "6=max-3", "--spare", "2"]);
    assert!(other.stdout.contains("14 nodes for 20,000/s: 12 still"), "{}", other.stdout);
    let words = ["--rate", "20k", "--from", "8=max-9/max.json", "--of", "shards"];
    let shards = size(&all, &words);
    assert!(shards.stdout.starts_with("✓ 7 shards for 20,000/s\n"), "{}", shards.stdout);
}

#[test]
fn no_answer_is_an_answer_too() {
    let odd = [(1, &[1_000.0][..]), (2, &[1_100.0]), (3, &[3_000.0]), (6, &[3_100.0])];
    let run = size(&searches(&odd), &["--rate", "2k"]);
    assert_eq!(run.code, 5, "{}", run.stdout);
    assert!(run.stdout.starts_with("✗ no answer"), "{}", run.stdout);
    let peak = [(1, &[1_000.0][..]), (2, &[1_700.0]), (4, &[2_100.0]), (8, &[1_700.0])];
    let run = size(&searches(&peak), &["--rate", "5k"]);
    assert_eq!(run.code, 4, "{}", run.stdout);
    assert!(run.stdout.contains("more of them carry less"), "{}", run.stdout);
}

#[test]
fn searches_that_do_not_go_together_are_refused_or_reported() {
    let with = |key: &str, value: Value| {
        let mut both = searches(&[(1, &[1_000.0]), (3, &[2_500.0])]);
        both[1].1[key] = value;
        size(&both, &["--rate", "5k"])
    };
    with("slo", json!(["p99 < 50ms"])).refused(2, &["--from", "kept to", "the same --slo"]);
    with("ended", "stopped".into()).refused(2, &["--from", "found no rate"]);
    with("schema_version", 9.into())
        .refused(2, &["written by a newer springload; update springload"]);
    with("found_per_s", json!([-1.0])).refused(2, &["negative"]);
    with("nodes", 0.into()).refused(2, &["no nodes"]);
    let run = with("step_command", "springload run http://node1:5984 --docs=5".into());
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("! the searches differ: --docs=1000 in max-1"), "{}", run.stdout);
    // Text from a foreign file does not reach the terminal raw.
    let run = with("step_command", "x y --\u{1b}[31m".into());
    assert!(!run.stdout.is_empty() && !run.stdout.contains('\u{1b}'), "{:?}", run.stdout);
    let run = with("slo", json!(["p99 < \u{1b}[31m"]));
    assert!(run.code == 2 && !run.stderr.contains('\u{1b}'), "{:?}", run.stderr);
}

#[test]
fn mistakes_are_named_with_their_cure() {
    let one = |words: &[&str], parts: &[&str]| {
        size(&searches(&[(1, &[1_000.0])]), &[words, &["--from", "max-1"]].concat())
            .refused(2, parts)
    };
    one(&["--rate", "0"], &["--rate", "0 needs no nodes"]);
    one(&["--rate", "5k", "--from", "0=max-1"], &["a number of nodes"]);
    one(&["--rate", "90M"], &["--rate", "ask for less"]);
    one(&["--rate", "5k", "--spare", "1M"], &["--spare"]);
    one(&["--rate", "5k", "--slo", "p99 < 1ms"], &["--slo", "kept to", "springload max --slo"]);
    one(&["--rate", "5k", "-o", "a.csv"], &["a sizing has no format csv"]);
    one(&["--rate", "5k", "--from", "nowhere"], &["--from", "nowhere is not a search"]);
    let run = springload(["size", "--rate", "5k"]);
    assert!(run.code == 2 && run.stderr.contains("--from"), "{}", run.stderr);
}
