//! The example `siege-blog`: the two experiments with siege on CouchDB from that blog.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use springload::embedded::Options;

use crate::servers::Server;
use crate::springload::BINARY;

fn http(method: &str, url: &str) -> Value {
    let agent = ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(30)));
    let agent = agent.build().new_agent();
    let request =
        ureq::http::Request::builder().method(method).uri(url).body(()).expect("a request");
    let text = agent.run(request).expect("an answer").into_body().read_to_string();
    serde_json::from_str(&text.expect("text")).expect("JSON")
}

/// Creates a database and runs both files on it. Nothing fails, and the server stores everything.
fn experiment(server: &Server) {
    let folder = tempfile::tempdir().expect("a folder");
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/siege-blog");
    let database = format!("{}/mydb", server.url);
    http("PUT", &database);
    let count = || http("GET", &database)["doc_count"].as_u64().expect("a count");
    for (file, users, documents) in [("single.siege", "100", 1), ("bulk.siege", "30", 100)] {
        let before = count();
        let mut command = assert_cmd::Command::new(BINARY);
        command.current_dir(&here).env("COUCHDB", &server.url).timeout(Duration::from_secs(120));
        let verb = ["siege", "-c", users, "-r", "2", "-d", "0.1", "-q", "-f", file, "-o"];
        let output = command.args(verb).arg(folder.path()).output().expect("it runs");
        let text = String::from_utf8(output.stdout).expect("text");
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 5)), "{text}{}", String::from_utf8_lossy(&output.stderr));
        let requests = 2 * users.parse::<u64>().expect("a number");
        let hits =
            format!("Transactions:\t\t{requests:12} hits\nAvailability:\t\t      100.00 %\n");
        assert!(text.contains(&hits), "{text}");
        assert!(text.contains(&format!("\n  201{requests:12}\n")), "{text}");
        assert!(text.contains("think time, mean planned"), "{text}");
        assert_eq!(count() - before, requests * documents, "on {}", server.name);
    }
}

#[test]
fn both_files_work_on_the_stand_in() {
    experiment(&Server::stand_in(Options::default()));
}

#[test]
fn both_files_work_on_pouchdb_server() {
    if let Some(server) = Server::pouchdb() {
        experiment(&server);
    }
}
