//! `_changes`.

use std::thread;

use serde_json::{Value, json};

use crate::client::Scratch;
use crate::servers::Server;

fn ids(answer: &Value) -> Vec<&str> {
    answer["results"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect()
}

/// A sequence as used in a query: servers have strings or numbers.
fn since(seq: &Value) -> String {
    seq.as_str().map_or_else(|| seq.to_string(), str::to_owned)
}

pub(crate) fn changes_list_each_document_once(server: &Server) {
    let scratch = Scratch::new(server);
    let rev = scratch.put("a", &json!({})).expect(201).rev();
    scratch.put("b", &json!({})).expect(201);
    let rev = scratch.put("a", &json!({"_rev": rev})).expect(201).rev();
    let answer = scratch.get("_changes").expect(200).json();
    let mut ids = ids(&answer);
    ids.sort_unstable();
    assert_eq!(ids, ["a", "b"]);
    let row = answer["results"].as_array().unwrap().iter().find(|row| row["id"] == "a").unwrap();
    assert_eq!(row["changes"], json!([{"rev": rev}]));
    assert!(!row["seq"].is_null() && !answer["last_seq"].is_null(), "{answer}");
}

pub(crate) fn changes_since_now_are_none(server: &Server) {
    let scratch = Scratch::new(server);
    scratch.put("a", &json!({})).expect(201);
    let answer = scratch.get("_changes?since=now").expect(200).json();
    assert_eq!(ids(&answer), [""; 0]);
}

pub(crate) fn changes_of_some_documents_are_listed(server: &Server) {
    let scratch = Scratch::new(server);
    scratch.put("a", &json!({})).expect(201);
    let seq = scratch.get("_changes?since=now&limit=1").expect(200).json()["last_seq"].clone();
    for id in ["b", "c"] {
        scratch.put(id, &json!({})).expect(201);
    }
    let path = format!("_changes?filter=_doc_ids&since={}", since(&seq));
    let listed = |wanted: &[&str]| {
        let answer = scratch.post(&path, &json!({ "doc_ids": wanted })).expect(200).json();
        ids(&answer).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(listed(&["c", "never"]), ["c"]);
    assert_eq!(listed(&["a"]), [""; 0], "it was written before");
}

pub(crate) fn changes_go_on_where_they_ended(server: &Server) {
    let scratch = Scratch::new(server);
    for id in ["a", "b", "c"] {
        scratch.put(id, &json!({})).expect(201);
    }
    let first = scratch.get("_changes?limit=2").expect(200).json();
    assert_eq!(ids(&first).len(), 2);
    let rest = scratch.get(&format!("_changes?since={}", since(&first["last_seq"]))).expect(200);
    let rest = rest.json();
    let mut all = [ids(&first), ids(&rest)].concat();
    all.sort_unstable();
    assert_eq!(all, ["a", "b", "c"]);
}

pub(crate) fn changes_tell_tombstones(server: &Server) {
    let scratch = Scratch::new(server);
    let rev = scratch.put("a", &json!({})).expect(201).rev();
    scratch.delete(&format!("a?rev={rev}")).expect(200);
    let answer = scratch.get("_changes").expect(200).json();
    assert_eq!((ids(&answer), &answer["results"][0]["deleted"]), (vec!["a"], &json!(true)));
}

pub(crate) fn changes_include_documents(server: &Server) {
    let scratch = Scratch::new(server);
    let rev = scratch.put("a", &json!({"x": 1})).expect(201).rev();
    let answer = scratch.get("_changes?include_docs=true").expect(200).json();
    assert_eq!(answer["results"][0]["doc"], json!({"_id": "a", "_rev": rev, "x": 1}));
}

pub(crate) fn longpoll_waits_for_an_update(server: &Server) {
    let scratch = Scratch::new(server);
    let now = scratch.get("_changes").expect(200).json()["last_seq"].clone();
    let path = format!("_changes?feed=longpoll&timeout=30000&since={}", since(&now));
    thread::scope(|scope| {
        let poll = scope.spawn(|| scratch.get(&path).expect(200).json());
        scratch.put("a", &json!({})).expect(201);
        assert_eq!(ids(&poll.join().unwrap()), ["a"]);
    });
}

pub(crate) fn longpoll_ends_at_its_timeout(server: &Server) {
    let scratch = Scratch::new(server);
    let answer = scratch.get("_changes?feed=longpoll&since=now&timeout=50").expect(200).json();
    assert_eq!(ids(&answer), [""; 0]);
    assert!(!answer["last_seq"].is_null());
}

pub(crate) fn a_limit_of_none_lists_nothing(server: &Server) {
    let scratch = Scratch::new(server);
    scratch.put("a", &json!({})).expect(201);
    let answer = scratch.get("_changes?limit=0").expect(200).json();
    assert_eq!(ids(&answer), [""; 0]);
}

pub(crate) fn continuous_ends_at_its_limit(server: &Server) {
    let scratch = Scratch::new(server);
    for id in ["a", "b", "c"] {
        scratch.put(id, &json!({})).expect(201);
    }
    let answer = scratch.get("_changes?feed=continuous&limit=2&timeout=1000").expect(200);
    let lines: Vec<Value> =
        answer.text.trim_end().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3, "{answer:?}");
    assert!(lines[0]["id"].is_string() && !lines[2]["last_seq"].is_null(), "{answer:?}");
}
