//! `springload audit` in several places, such as the nodes of a cluster: each on its own.

use crate::servers::Server;
use crate::springload::{measure, springload};
use serde_json::Value;
use springload::embedded::Options;
use std::path::Path;

/// The failures in the audit that is saved in a folder.
fn wrong(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("run.json")).expect("a record");
    let record: Value = serde_json::from_str(&text).expect("JSON");
    let operations = record["stages"][0]["operations"].as_array().expect("operations");
    let verify = operations.iter().find(|it| it["kind"] == "verify").expect("a comparison");
    verify["failures"].clone()
}

#[test]
fn each_place_is_looked_through_by_itself() {
    let [whole, empty] = [(); 2].map(|()| Server::stand_in(Options::default()));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [out, audits] = ["out", "audits"].map(|name| folder.path().join(name));
    let [run, into] = [&out, &audits].map(|path| path.to_str().expect("UTF-8"));
    let url = format!("{}/places", whole.url);
    let words = ["run", &url, "--docs", "300", "--ops", "300", "--audit", "--keep", "-o", run];
    let ran = springload(words);
    assert!(matches!(ran.code, 0 | 5), "{}", ran.stderr);
    let other = format!("{}/places", empty.url);
    ureq::put(&other).send_empty().expect("a database");
    // The second has none of the documents; the third is not a server.
    let places = ["audit", run, &url, &other, "-o", into];
    let audited = springload(places);
    assert_eq!(audited.code, 6, "{}", audited.stderr);
    assert_eq!(wrong(&audits.join("node1")), serde_json::json!({}));
    assert!(wrong(&audits.join("node2"))["lost"].as_u64() > Some(100));
    let second = folder.path().join("again");
    let again = second.to_str().expect("UTF-8");
    let dead = "http://127.0.0.1:9/places";
    let audited = springload(["audit", run, dead, &url, "-o", again]);
    assert_eq!(audited.code, 3, "{}", audited.stderr);
    assert!(audited.stderr.contains("cannot reach 127.0.0.1:9"), "{}", audited.stderr);
    assert_eq!(wrong(&second.join("node2")), serde_json::json!({}), "the other was looked in");
    let file = measure(["audit", run]).passed();
    assert!(file.record["extra_documents"].is_u64());
    let refused = springload(["audit", run, &url, &other, "-o", "both.html"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("each of several places has its own report; give a folder"));
}
