//! The server and its databases.

use serde_json::json;

use crate::client::{Client, Scratch, unused_name};
use crate::servers::Server;

pub(crate) fn welcome_says_couchdb(server: &Server) {
    let answer = Client::new(server).get("/").expect(200);
    assert_eq!(answer.json()["couchdb"], "Welcome");
    assert!(answer.json()["version"].is_string(), "{answer:?}");
}

pub(crate) fn answers_are_declared_as_json(server: &Server) {
    let scratch = Scratch::new(server);
    scratch.put("a", &json!({})).expect(201);
    for answer in [scratch.client.get("/"), scratch.client.get(&scratch.path), scratch.get("a")] {
        assert_eq!(answer.header("content-type"), "application/json");
        assert_eq!(answer.header("cache-control"), "must-revalidate");
    }
}

pub(crate) fn answers_end_with_a_line_feed(server: &Server) {
    let scratch = Scratch::new(server);
    let put = scratch.put("a", &json!({}));
    let answers = [put, scratch.get("a"), scratch.get("b"), scratch.get("_all_docs")];
    for answer in answers {
        assert!(answer.text.ends_with("}\n"), "{answer:?}");
    }
}

pub(crate) fn up_answers(server: &Server) {
    let answer = Client::new(server).get("/_up").expect(200);
    assert_eq!(answer.json()["status"], "ok");
}

pub(crate) fn all_dbs_lists_a_new_database(server: &Server) {
    let scratch = Scratch::new(server);
    let names = scratch.client.get("/_all_dbs").expect(200).json();
    let name = json!(&scratch.path[1..]);
    assert!(names.as_array().unwrap().contains(&name), "{names}");
}

pub(crate) fn dbs_info_tells_of_several_databases(server: &Server) {
    let scratch = Scratch::new(server);
    scratch.put("a", &json!({})).expect(201);
    let (name, missing) = (&scratch.path[1..], unused_name());
    let ask = |body| scratch.client.json("POST", "/_dbs_info", &body);
    let answer = ask(json!({"keys": [name, missing]})).expect(200).json();
    assert_eq!((&answer[0]["key"], &answer[0]["info"]["doc_count"]), (&json!(name), &json!(1)));
    assert_eq!(answer[1], json!({"key": missing, "error": "not_found"}));
    ask(json!({})).expect_error(400, "bad_request");
    let many: Vec<String> = (0..101).map(|number| format!("{missing}{number}")).collect();
    ask(json!({"keys": many})).expect_error(400, "bad_request");
    assert_eq!(ask(json!({"keys": []})).expect(200).json(), json!([]));
}

pub(crate) fn uuids_are_handed_out(server: &Server) {
    let client = Client::new(server);
    assert_eq!(client.get("/_uuids").expect(200).json()["uuids"].as_array().unwrap().len(), 1);
    let answer = client.get("/_uuids?count=3").expect(200).json();
    let uuids = answer["uuids"].as_array().unwrap();
    assert_eq!(uuids.len(), 3);
    assert!(uuids[0] != uuids[1] && uuids[1] != uuids[2]);
}

pub(crate) fn uuids_have_32_digits(server: &Server) {
    let answer = Client::new(server).get("/_uuids").expect(200).json();
    let uuid = answer["uuids"][0].as_str().unwrap();
    assert!(uuid.len() == 32 && uuid.bytes().all(|byte| byte.is_ascii_hexdigit()), "{uuid}");
}

pub(crate) fn too_many_uuids_are_refused(server: &Server) {
    Client::new(server).get("/_uuids?count=2000").expect_error(400, "bad_request");
}

pub(crate) fn a_session_names_its_user(server: &Server) {
    let answer = Client::new(server).get("/_session").expect(200).json();
    assert_eq!(answer["ok"], true);
    let user = server.credentials.as_ref().map(|(user, _)| user.as_str());
    assert_eq!(answer["userCtx"]["name"], json!(user));
}

pub(crate) fn a_database_is_made_once(server: &Server) {
    let client = Client::new(server);
    let path = format!("/{}", unused_name());
    let answer = client.call("PUT", &path).expect(201);
    assert_eq!(answer.json(), json!({"ok": true}));
    assert!(answer.header("location").ends_with(&path), "{answer:?}");
    client.call("PUT", &path).expect_error(412, "file_exists");
    client.call("DELETE", &path).expect(200);
}

pub(crate) fn an_illegal_database_name_is_refused(server: &Server) {
    Client::new(server).call("PUT", "/BAD").expect_error(400, "illegal_database_name");
}

pub(crate) fn a_database_has_info(server: &Server) {
    let scratch = Scratch::new(server);
    let rev = scratch.put("a", &json!({"x": 1})).expect(201).rev();
    scratch.put("b", &json!({})).expect(201);
    scratch.delete(&format!("a?rev={rev}")).expect(200);
    let info = scratch.client.get(&scratch.path).expect(200).json();
    assert_eq!(info["db_name"], scratch.path[1..]);
    assert_eq!(info["doc_count"], 1);
    assert!(!info["update_seq"].is_null());
    scratch.client.call("HEAD", &scratch.path).expect(200);
}

pub(crate) fn a_missing_database_is_not_found(server: &Server) {
    let client = Client::new(server);
    let path = format!("/{}", unused_name());
    client.get(&path).expect_error(404, "not_found");
    client.get(&format!("{path}/a")).expect_error(404, "not_found");
    client.json("PUT", &format!("{path}/a"), &json!({})).expect_error(404, "not_found");
    client.json("POST", &format!("{path}/_bulk_docs"), &json!({"docs": []})).expect(404);
}

pub(crate) fn a_missing_database_is_told_from_a_document(server: &Server) {
    let answer = Client::new(server).get(&format!("/{}/a", unused_name())).expect(404);
    assert_eq!(answer.json()["reason"], "Database does not exist.");
}

pub(crate) fn a_missing_database_is_not_deleted(server: &Server) {
    let path = format!("/{}", unused_name());
    Client::new(server).call("DELETE", &path).expect_error(404, "not_found");
}

pub(crate) fn a_database_is_deleted(server: &Server) {
    let scratch = Scratch::new(server);
    let answer = scratch.client.call("DELETE", &scratch.path).expect(200);
    assert_eq!(answer.json(), json!({"ok": true}));
    scratch.client.get(&scratch.path).expect(404);
}

pub(crate) fn a_database_name_may_hold_a_slash(server: &Server) {
    let client = Client::new(server);
    let path = format!("/{}%2Fa", unused_name());
    client.call("PUT", &path).expect(201);
    let info = client.get(&path).expect(200).json();
    client.call("DELETE", &path).expect(200);
    assert!(info["db_name"].as_str().unwrap().ends_with("/a"), "{info}");
}

pub(crate) fn full_commit_and_compact_are_accepted(server: &Server) {
    let scratch = Scratch::new(server);
    let answer = scratch.post("_ensure_full_commit", &json!({})).expect(201);
    assert_eq!(answer.json()["ok"], true);
    assert_eq!(scratch.post("_compact", &json!({})).expect(202).json(), json!({"ok": true}));
}

pub(crate) fn a_post_needs_a_json_content_type(server: &Server) {
    let scratch = Scratch::new(server);
    let text = [("content-type", "text/plain")];
    let answer = scratch.client.send("POST", &scratch.path, &text, Some(b"{}"));
    answer.expect_error(415, "bad_content_type");
}

pub(crate) fn a_method_without_meaning_is_not_allowed(server: &Server) {
    let scratch = Scratch::new(server);
    let answer = scratch.client.json("PUT", &scratch.at("_all_docs"), &json!({}));
    answer.expect_error(405, "method_not_allowed");
}
