//! `_all_docs`.

use serde_json::{Value, json};

use crate::client::Scratch;
use crate::servers::Server;

/// A database with `a` to `e`, of which `c` is deleted.
fn letters(server: &Server) -> Scratch {
    let scratch = Scratch::new(server);
    for id in ["d", "b", "a", "c", "e"] {
        scratch.put(id, &json!({"letter": id})).expect(201);
    }
    let rev = scratch.get("c").json()["_rev"].as_str().unwrap().to_owned();
    scratch.delete(&format!("c?rev={rev}")).expect(200);
    scratch
}

fn list(scratch: &Scratch, query: &str) -> (Value, String) {
    let answer = scratch.get(&format!("_all_docs?{query}")).expect(200).json();
    let keys = answer["rows"].as_array().unwrap().iter().map(|row| row["key"].as_str().unwrap());
    let keys = keys.collect::<String>();
    (answer, keys)
}

pub(crate) fn all_docs_lists_in_order(server: &Server) {
    let scratch = letters(server);
    let (answer, keys) = list(&scratch, "");
    assert_eq!((keys.as_str(), &answer["total_rows"]), ("abde", &json!(4)));
    let row = &answer["rows"][0];
    assert_eq!((&row["id"], &row["key"]), (&json!("a"), &json!("a")));
    assert!(row["value"]["rev"].as_str().unwrap().starts_with("1-"), "{row}");
}

pub(crate) fn all_docs_knows_ranges(server: &Server) {
    let scratch = letters(server);
    for (query, keys) in [
        ("startkey=%22b%22", "bde"),
        ("start_key=%22b%22&end_key=%22d%22", "bd"),
        ("endkey=%22c%22", "ab"),
        ("key=%22d%22", "d"),
        ("key=%22x%22", ""),
        ("limit=2", "ab"),
        ("startkey=%22b%22&limit=1", "b"),
        ("skip=1&limit=2", "bd"),
    ] {
        assert_eq!(list(&scratch, query).1, keys, "{query}");
    }
}

pub(crate) fn all_docs_leaves_an_end_out(server: &Server) {
    let scratch = letters(server);
    assert_eq!(list(&scratch, "endkey=%22d%22&inclusive_end=false").1, "ab");
}

pub(crate) fn all_docs_runs_backwards(server: &Server) {
    let scratch = letters(server);
    assert_eq!(list(&scratch, "descending=true").1, "edba");
    assert_eq!(list(&scratch, "descending=true&startkey=%22d%22&limit=2").1, "db");
    assert_eq!(list(&scratch, "descending=true&startkey=%22d%22&endkey=%22b%22").1, "db");
}

pub(crate) fn all_docs_by_keys_shows_gaps(server: &Server) {
    let scratch = letters(server);
    let answer = scratch.post("_all_docs", &json!({"keys": ["d", "x", "a"]})).expect(200).json();
    let rows = answer["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    assert_eq!((&rows[0]["id"], &rows[2]["id"]), (&json!("d"), &json!("a")));
    assert_eq!(rows[1], json!({"key": "x", "error": "not_found"}));
}

pub(crate) fn all_docs_shows_the_deleted_by_key(server: &Server) {
    let scratch = letters(server);
    let keys = json!({"keys": ["c"]});
    let answer = scratch.post("_all_docs?include_docs=true", &keys).expect(200).json();
    let row = &answer["rows"][0];
    assert_eq!((&row["id"], &row["value"]["deleted"]), (&json!("c"), &json!(true)), "{row}");
    assert!(row["doc"].is_null(), "{row}");
}

pub(crate) fn all_docs_includes_documents(server: &Server) {
    let scratch = letters(server);
    let (answer, _) = list(&scratch, "include_docs=true&limit=1");
    let doc = &answer["rows"][0]["doc"];
    assert_eq!((&doc["_id"], &doc["letter"]), (&json!("a"), &json!("a")));
    assert_eq!(doc["_rev"], answer["rows"][0]["value"]["rev"]);
}

pub(crate) fn all_docs_counts_what_it_skips(server: &Server) {
    let scratch = letters(server);
    assert_eq!(list(&scratch, "startkey=%22d%22").0["offset"], 2);
    assert_eq!(list(&scratch, "skip=1").0["offset"], 1);
}

pub(crate) fn all_docs_is_sent_in_chunks(server: &Server) {
    let scratch = letters(server);
    let answer = scratch.get("_all_docs").expect(200);
    assert_eq!(answer.header("transfer-encoding"), "chunked");
    assert!(answer.text.ends_with("]}\n"));
}
