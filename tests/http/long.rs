//! Lists of more requests than a record can hold: all are sent, the record stays small, and it can
//! be run again as long as the file with the others is unchanged.

use crate::server::Server;
use crate::springload::{Finished, Run, measure, number};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A file with this many URLs.
fn list(folder: &Path, server: &Server, count: usize) -> String {
    let url = |number| format!("{}/page/{number}?q=a%20b\n", server.url);
    let file = folder.join("urls.txt");
    fs::write(&file, (0..count).map(url).collect::<String>()).expect("it is written");
    file.display().to_string()
}

fn again(run: &Finished) -> Finished {
    let record = run.output().join("run.json").display().to_string();
    Run::of(&["run", &record]).finish()
}

fn stored(run: &Finished) -> (usize, Value) {
    let list = &run.record["plan"]["http"];
    (list["requests"].as_array().expect("requests").len(), list["long"].clone())
}

#[test]
fn all_of_a_long_list_is_sent_and_its_beginning_is_stored() {
    let (server, folder) = (Server::start(), tempfile::tempdir().expect("a folder"));
    let file = list(folder.path(), &server, 3_000);
    let run = measure(["http", "-f", &file, "-n", "3000", "-c", "3"]).passed();
    let asked: BTreeSet<String> = server.whats().into_iter().collect();
    let url = |number: usize| format!("GET /page/{number}?q=a%20b");
    assert_eq!(asked, (0..3_000).map(url).collect());
    let (count, long) = stored(&run);
    assert_eq!((count, &long["requests"], &long["file"]), (1_000, &json!(3_000), &json!(file)));
    assert_eq!(long["sha256"].as_str().map(str::len), Some(64));
    let bytes = fs::metadata(run.output().join("run.json")).expect("a record").len();
    assert!(bytes < 1_000_000, "{bytes} bytes");
    // The record is enough as long as the file is unchanged.
    let second = again(&run).passed();
    assert_eq!(server.whats().len(), 6_000);
    assert_eq!(number(&second.operation("urls", "request")["ok"]), 3_000);
    assert_eq!(stored(&second), (count, long));
    let line = format!("{}/another\n", server.url);
    let text = fs::read_to_string(&file).expect("the list") + &line;
    fs::write(&file, text).expect("it is written");
    let words = ["http.requests: only 1000 of 3000 requests are stored", "urls.txt has changed"];
    again(&run).refused(2, &words);
    fs::remove_file(&file).expect("it is there");
    again(&run).refused(2, &["cannot read"]);
    assert_eq!(server.whats().len(), 6_000, "nothing was sent");
}

#[test]
fn a_list_of_a_thousand_is_stored_as_it_is() {
    let (server, folder) = (Server::start(), tempfile::tempdir().expect("a folder"));
    let file = list(folder.path(), &server, 1_000);
    let run = measure(["http", "-f", &file, "-n", "10", "-c", "1"]).passed();
    assert_eq!(stored(&run), (1_000, Value::Null));
    fs::remove_file(&file).expect("it is there");
    assert_eq!(number(&again(&run).passed().operation("urls", "request")["ok"]), 10);
}

#[test]
fn a_plan_has_all_of_a_long_list() {
    let (server, folder) = (Server::start(), tempfile::tempdir().expect("a folder"));
    let file = list(folder.path(), &server, 1_500);
    let words = ["http", "-f", &file, "-n", "1500", "-c", "1"];
    let plan = Run::bare(&[&words[..], &["--dry-run"]].concat()).finish();
    fs::remove_file(&file).expect("it is there");
    let kept = folder.path().join("plan.json");
    fs::write(&kept, &plan.stdout).expect("it is written");
    let run = Run::of(&["run", &kept.display().to_string()]).finish().passed();
    assert_eq!(number(&run.operation("urls", "request")["ok"]), 1_500);
    assert_eq!(server.whats().last().map(String::as_str), Some("GET /page/1499?q=a%20b"));
    // Agents also receive all of it.
    let file = list(folder.path(), &server, 1_500);
    let words = ["http", "-f", &file, "-n", "1500", "-c", "2", "--agents", "2"];
    let run = measure(words).passed();
    assert_eq!(number(&run.operation("urls", "request")["ok"]), 1_500);
    let asked: BTreeSet<String> = server.whats().into_iter().collect();
    assert_eq!(asked.len(), 1_500);
}
