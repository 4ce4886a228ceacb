//! `_bulk_docs` and `_bulk_get`.

use serde_json::{Value, json};

use crate::client::Scratch;
use crate::servers::Server;

fn rows(answer: &Value) -> &[Value] {
    answer.as_array().unwrap_or_else(|| panic!("no array: {answer}"))
}

pub(crate) fn bulk_docs_answers_a_row_for_each(server: &Server) {
    let scratch = Scratch::new(server);
    let docs: Vec<Value> = (0..50).map(|n| json!({"_id": format!("d{n}"), "n": n})).collect();
    let answer = scratch.post("_bulk_docs", &json!({ "docs": docs })).expect(201).json();
    assert_eq!(rows(&answer).len(), 50);
    for (n, row) in rows(&answer).iter().enumerate() {
        assert_eq!((&row["ok"], &row["id"]), (&json!(true), &json!(format!("d{n}"))));
        assert!(row["rev"].as_str().unwrap().starts_with("1-"), "{row}");
    }
    let got = scratch.get("d49").expect(200).json();
    assert_eq!((&got["n"], &got["_rev"]), (&json!(49), &rows(&answer)[49]["rev"]));
}

pub(crate) fn bulk_docs_without_ids_get_them(server: &Server) {
    let scratch = Scratch::new(server);
    let answer = scratch.post("_bulk_docs", &json!({"docs": [{"x": 1}, {"x": 2}]})).expect(201);
    let answer = answer.json();
    assert_ne!(rows(&answer)[0]["id"], rows(&answer)[1]["id"]);
    let id = rows(&answer)[1]["id"].as_str().unwrap();
    assert_eq!(scratch.get(id).expect(200).json()["x"], 2);
}

pub(crate) fn bulk_docs_reports_conflicts_in_rows(server: &Server) {
    let scratch = Scratch::new(server);
    scratch.put("a", &json!({})).expect(201);
    let docs = json!({"docs": [{"_id": "a", "x": 1}, {"_id": "b"}]});
    let answer = scratch.post("_bulk_docs", &docs).expect(201).json();
    let row = &rows(&answer)[0];
    assert_eq!((&row["id"], &row["error"]), (&json!("a"), &json!("conflict")));
    assert!(row["reason"].is_string() && row["rev"].is_null(), "{row}");
    assert_eq!(rows(&answer)[1]["ok"], true);
}

pub(crate) fn bulk_docs_updates_and_deletes(server: &Server) {
    let scratch = Scratch::new(server);
    let a = scratch.put("a", &json!({"x": 1})).expect(201).rev();
    let b = scratch.put("b", &json!({})).expect(201).rev();
    let docs = json!({"docs": [
        {"_id": "a", "_rev": a, "x": 2},
        {"_id": "b", "_rev": b, "_deleted": true},
    ]});
    let answer = scratch.post("_bulk_docs", &docs).expect(201).json();
    for row in rows(&answer) {
        assert!(row["rev"].as_str().unwrap().starts_with("2-"), "{row}");
    }
    assert_eq!(scratch.get("a").expect(200).json()["x"], 2);
    scratch.get("b").expect(404);
}

pub(crate) fn bulk_docs_without_new_edits_answers_nothing(server: &Server) {
    let scratch = Scratch::new(server);
    let rev = "3-967a00dff5e02add41819138abb3284d";
    let docs = json!({"new_edits": false, "docs": [{"_id": "a", "_rev": rev, "x": 1}]});
    assert_eq!(scratch.post("_bulk_docs", &docs).expect(201).json(), json!([]));
    assert_eq!(scratch.get("a").expect(200).json()["_rev"], rev);
}

pub(crate) fn bulk_docs_needs_docs(server: &Server) {
    let scratch = Scratch::new(server);
    scratch.post("_bulk_docs", &json!({})).expect_error(400, "bad_request");
}

pub(crate) fn bulk_docs_must_be_an_array(server: &Server) {
    let scratch = Scratch::new(server);
    scratch.post("_bulk_docs", &json!({"docs": 7})).expect_error(400, "bad_request");
}

pub(crate) fn bulk_docs_must_be_json(server: &Server) {
    let scratch = Scratch::new(server);
    let answer = scratch.client.raw("POST", &scratch.at("_bulk_docs"), b"{\"docs\":[{]}");
    answer.expect_error(400, "bad_request");
}

pub(crate) fn bulk_get_finds_documents(server: &Server) {
    let scratch = Scratch::new(server);
    let rev = scratch.put("a", &json!({"x": 1})).expect(201).rev();
    let answer = scratch.post("_bulk_get", &json!({"docs": [{"id": "a"}]})).expect(200).json();
    let result = &answer["results"][0];
    assert_eq!(result["id"], "a");
    assert_eq!(result["docs"][0]["ok"], json!({"_id": "a", "_rev": rev, "x": 1}));
}

pub(crate) fn bulk_get_reports_the_missing(server: &Server) {
    let scratch = Scratch::new(server);
    let answer = scratch.post("_bulk_get", &json!({"docs": [{"id": "a"}]})).expect(200).json();
    let error = &answer["results"][0]["docs"][0]["error"];
    assert_eq!((&error["id"], &error["error"]), (&json!("a"), &json!("not_found")), "{answer}");
}
