//! Single documents and their revisions.

use serde_json::json;

use crate::client::Scratch;
use crate::servers::Server;

pub(crate) fn a_put_document_reads_back(server: &Server) {
    let scratch = Scratch::new(server);
    let put = scratch.put("a", &json!({"x": [1, {"y": null}]})).expect(201);
    let rev = put.rev();
    assert_eq!(put.json(), json!({"ok": true, "id": "a", "rev": rev}));
    assert!(rev.starts_with("1-") && rev.len() == 34, "{rev}");
    let get = scratch.get("a").expect(200);
    assert_eq!(get.json(), json!({"_id": "a", "_rev": rev, "x": [1, {"y": null}]}));
}

pub(crate) fn a_put_answers_etag_and_location(server: &Server) {
    let scratch = Scratch::new(server);
    let put = scratch.put("a", &json!({})).expect(201);
    assert_eq!(put.header("etag"), format!("\"{}\"", put.rev()));
    assert!(put.header("location").ends_with(&scratch.at("a")), "{put:?}");
}

pub(crate) fn a_get_answers_the_revision_as_etag(server: &Server) {
    let scratch = Scratch::new(server);
    let rev = scratch.put("a", &json!({})).expect(201).rev();
    assert_eq!(scratch.get("a").header("etag"), format!("\"{rev}\""));
}

pub(crate) fn a_known_revision_is_not_sent_again(server: &Server) {
    let scratch = Scratch::new(server);
    let rev = scratch.put("a", &json!({})).expect(201).rev();
    let known = format!("\"{rev}\"");
    let answer = scratch.client.send("GET", &scratch.at("a"), &[("if-none-match", &known)], None);
    assert_eq!(answer.expect(304).text, "");
}

pub(crate) fn a_head_has_no_body(server: &Server) {
    let scratch = Scratch::new(server);
    scratch.put("a", &json!({})).expect(201);
    let head = scratch.client.call("HEAD", &scratch.at("a")).expect(200);
    assert_eq!(head.text, "");
    assert_ne!(head.header("etag"), "");
    scratch.client.call("HEAD", &scratch.at("b")).expect(404);
}

pub(crate) fn a_stale_revision_conflicts(server: &Server) {
    let scratch = Scratch::new(server);
    let first = scratch.put("a", &json!({"x": 1})).expect(201).rev();
    scratch.put("a", &json!({"x": 2})).expect_error(409, "conflict");
    scratch.put("a", &json!({"_rev": first, "x": 2})).expect(201);
    scratch.put("a", &json!({"_rev": first, "x": 3})).expect_error(409, "conflict");
}

pub(crate) fn a_conflict_has_couchdbs_reason(server: &Server) {
    let scratch = Scratch::new(server);
    scratch.put("a", &json!({})).expect(201);
    let answer = scratch.put("a", &json!({})).expect(409);
    assert_eq!(answer.json()["reason"], "Document update conflict.");
}

pub(crate) fn an_update_grows_the_generation(server: &Server) {
    let scratch = Scratch::new(server);
    let first = scratch.put("a", &json!({"x": 1})).expect(201).rev();
    let second = scratch.put("a", &json!({"_rev": first, "x": 1})).expect(201).rev();
    assert!(second.starts_with("2-"), "{second}");
    assert_eq!(scratch.get("a").json()["_rev"], second);
}

pub(crate) fn a_revision_may_come_by_query(server: &Server) {
    let scratch = Scratch::new(server);
    let first = scratch.put("a", &json!({})).expect(201).rev();
    let second = scratch.put(&format!("a?rev={first}"), &json!({})).expect(201).rev();
    assert!(second.starts_with("2-"), "{second}");
}

pub(crate) fn a_revision_may_come_by_header(server: &Server) {
    let scratch = Scratch::new(server);
    let first = scratch.put("a", &json!({})).expect(201).rev();
    let headers = [("content-type", "application/json"), ("if-match", first.as_str())];
    let put = scratch.client.send("PUT", &scratch.at("a"), &headers, Some(b"{}")).expect(201);
    assert!(put.rev().starts_with("2-"), "{put:?}");
    let match_first = [("if-match", first.as_str())];
    scratch.client.send("DELETE", &scratch.at("a"), &match_first, None).expect(409);
}

pub(crate) fn a_delete_leaves_a_tombstone(server: &Server) {
    let scratch = Scratch::new(server);
    let rev = scratch.put("a", &json!({})).expect(201).rev();
    let delete = scratch.delete(&format!("a?rev={rev}")).expect(200);
    assert!(delete.rev().starts_with("2-"), "{delete:?}");
    let tombstone = scratch.get(&format!("a?rev={}", delete.rev())).expect(200).json();
    assert_eq!(tombstone, json!({"_id": "a", "_rev": delete.rev(), "_deleted": true}));
}

pub(crate) fn a_deleted_document_says_so(server: &Server) {
    let scratch = Scratch::new(server);
    let rev = scratch.put("a", &json!({})).expect(201).rev();
    scratch.delete(&format!("a?rev={rev}")).expect(200);
    let answer = scratch.get("a").expect_error(404, "not_found");
    assert_eq!(answer.json()["reason"], "deleted");
}

pub(crate) fn a_tombstone_can_be_written_over(server: &Server) {
    let scratch = Scratch::new(server);
    let rev = scratch.put("a", &json!({"x": 1})).expect(201).rev();
    scratch.delete(&format!("a?rev={rev}")).expect(200);
    let again = scratch.put("a", &json!({"x": 2})).expect(201).rev();
    assert!(again.starts_with("3-"), "{again}");
    assert_eq!(scratch.get("a").expect(200).json()["x"], 2);
}

pub(crate) fn a_document_may_be_deleted_by_put(server: &Server) {
    let scratch = Scratch::new(server);
    let rev = scratch.put("a", &json!({})).expect(201).rev();
    scratch.put("a", &json!({"_rev": rev, "_deleted": true})).expect(200);
    scratch.get("a").expect(404);
}

pub(crate) fn a_delete_needs_the_revision(server: &Server) {
    let scratch = Scratch::new(server);
    scratch.put("a", &json!({})).expect(201);
    scratch.delete("a").expect_error(409, "conflict");
}

pub(crate) fn a_delete_of_a_stale_revision_conflicts(server: &Server) {
    let scratch = Scratch::new(server);
    let first = scratch.put("a", &json!({"x": 1})).expect(201).rev();
    scratch.put("a", &json!({"_rev": first, "x": 2})).expect(201);
    scratch.delete(&format!("a?rev={first}")).expect_error(409, "conflict");
}

pub(crate) fn a_missing_document_says_so(server: &Server) {
    let scratch = Scratch::new(server);
    let answer = scratch.get("a").expect_error(404, "not_found");
    assert_eq!(answer.json()["reason"], "missing");
    scratch.delete("a?rev=1-967a00dff5e02add41819138abb3284d").expect_error(404, "not_found");
}

pub(crate) fn the_current_revision_can_be_asked_for(server: &Server) {
    let scratch = Scratch::new(server);
    let rev = scratch.put("a", &json!({"x": 1})).expect(201).rev();
    assert_eq!(scratch.get(&format!("a?rev={rev}")).expect(200).json()["x"], 1);
    scratch.get("a?rev=7-967a00dff5e02add41819138abb3284d").expect_error(404, "not_found");
}

pub(crate) fn equal_first_revisions_are_equal(server: &Server) {
    let scratch = Scratch::new(server);
    let first = scratch.put("a", &json!({"x": 1})).expect(201).rev();
    assert_eq!(scratch.put("b", &json!({"x": 1})).expect(201).rev(), first);
    assert_ne!(scratch.put("c", &json!({"x": 2})).expect(201).rev(), first);
}

pub(crate) fn a_posted_document_gets_an_id(server: &Server) {
    let scratch = Scratch::new(server);
    let answer = scratch.client.json("POST", &scratch.path, &json!({"x": 1})).expect(201);
    let id = answer.json()["id"].as_str().unwrap().to_owned();
    assert!(id.len() >= 32, "{id}");
    assert!(answer.header("location").ends_with(&scratch.at(&id)), "{answer:?}");
    assert_eq!(scratch.get(&id).expect(200).json()["x"], 1);
}

pub(crate) fn a_posted_document_may_bring_its_id(server: &Server) {
    let scratch = Scratch::new(server);
    scratch.client.json("POST", &scratch.path, &json!({"_id": "a", "x": 1})).expect(201);
    assert_eq!(scratch.get("a").expect(200).json()["x"], 1);
    let again = scratch.client.json("POST", &scratch.path, &json!({"_id": "a", "x": 2}));
    again.expect_error(409, "conflict");
}

pub(crate) fn an_id_may_be_percent_encoded(server: &Server) {
    let scratch = Scratch::new(server);
    let put = scratch.put("a%2Fb%20%C3%BC%3F", &json!({})).expect(201);
    assert_eq!(put.json()["id"], "a/b ü?");
    assert_eq!(scratch.get("a%2Fb%20%C3%BC%3F").expect(200).json()["_id"], "a/b ü?");
}

pub(crate) fn a_design_document_is_a_document(server: &Server) {
    let scratch = Scratch::new(server);
    scratch.put("_design/a", &json!({"language": "javascript"})).expect(201);
    assert_eq!(scratch.get("_design/a").expect(200).json()["_id"], "_design/a");
}

pub(crate) fn invalid_json_is_refused(server: &Server) {
    let scratch = Scratch::new(server);
    scratch.client.raw("PUT", &scratch.at("a"), b"{\"x\":").expect_error(400, "bad_request");
    scratch.get("a").expect(404);
}

pub(crate) fn a_document_must_be_an_object(server: &Server) {
    let scratch = Scratch::new(server);
    scratch.put("a", &json!([1])).expect_error(400, "bad_request");
}

pub(crate) fn an_unknown_special_member_is_refused(server: &Server) {
    let scratch = Scratch::new(server);
    scratch.put("a", &json!({"_foo": 1})).expect_error(400, "doc_validation");
}

pub(crate) fn a_reserved_id_is_refused(server: &Server) {
    let scratch = Scratch::new(server);
    scratch.put("_foo", &json!({})).expect(400);
}

pub(crate) fn batch_ok_answers_without_a_revision(server: &Server) {
    let scratch = Scratch::new(server);
    let answer = scratch.put("a?batch=ok", &json!({"x": 1})).expect(202);
    assert_eq!(answer.json(), json!({"ok": true, "id": "a"}));
    assert_eq!(answer.header("location"), "");
}

pub(crate) fn too_large_a_document_is_refused(server: &Server) {
    let scratch = Scratch::new(server);
    // In bulk, so that the response does not race against the rest of the body.
    let large = json!({"docs": [{"_id": "a", "x": "x".repeat(9_000_000)}, {"_id": "b"}]});
    let answer = scratch.post("_bulk_docs", &large).expect(413);
    assert_eq!(answer.header("connection").to_ascii_lowercase(), "close");
    scratch.get("b").expect(404);
}

pub(crate) fn unicode_and_numbers_survive(server: &Server) {
    let scratch = Scratch::new(server);
    let sent = json!({"ü": "\u{1F980}\n\"\\", "n": [0, -1, 1.5, 1e100, 9_007_199_254_740_991_u64]});
    scratch.put("a", &sent).expect(201);
    let mut got = scratch.get("a").expect(200).json();
    let members = got.as_object_mut().unwrap();
    members.remove("_id");
    members.remove("_rev");
    assert_eq!(got, sent);
}
