//! Plans in JSON: the output of `--dry-run`, and the plan in `run.json`, run again.

use crate::servers::Server;
use crate::springload::{Run, measure};
use serde_json::{Value, json};
use springload::embedded::Options;
use std::fs;
use std::path::PathBuf;

/// The output of `--dry-run` for these words, in a file.
struct Stored {
    folder: tempfile::TempDir,
    text: String,
}

impl Stored {
    #[track_caller]
    fn of(words: &[&str]) -> Self {
        let planned = Run::bare(&[words, &["--dry-run"]].concat()).finish();
        assert_eq!((planned.code, &planned.stderr[..]), (0, ""), "{words:?}");
        Self::new(planned.stdout)
    }

    fn new(text: String) -> Self {
        let stored = Self { folder: tempfile::tempdir().expect("a temporary folder"), text };
        fs::write(stored.file(), &stored.text).expect("a file");
        stored
    }

    /// The same plan with different values in some places.
    fn with(&self, changes: &[(&str, Value)]) -> Self {
        let mut plan: Value = serde_json::from_str(&self.text).expect("JSON");
        for (path, value) in changes {
            let (parent, name) = path.rsplit_once('/').expect("a path");
            plan.pointer_mut(parent).expect("a place")[name] = value.clone();
        }
        Self::new(plan.to_string())
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("plan.json")
    }

    /// `run` with this plan.
    fn run(&self, words: &[&str]) -> Run {
        let file = self.file();
        Run::bare(&[&["run", file.to_str().expect("UTF-8")], words].concat())
    }
}

#[test]
fn a_plan_is_printed_as_it_was_read() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = |name: &str, text: &str| {
        let file = folder.path().join(name);
        fs::write(&file, text).expect("a file");
        file.to_str().expect("UTF-8").to_owned()
    };
    let schema = file("person.json", "{\"name\": \"x\"}");
    let urls =
        file("urls.txt", "H = 127.0.0.1:1\nhttp://$(H)/a/{{seq}}\nhttp://$(H)/ POST {\"b\": 1}\n");
    let body = file("body.json", "{\"c\": \"{{uuid}}\"}");
    let posted = format!("http://127.0.0.1:1/ POST < {body}");
    let cushion = format!(
        "cushion --num_documents_per_bulk_insert=20 --num_bulk_insert_operations=2 \
         --num_connections=3 --num_crud_operations=40 --database_name=db \
         --database_address=http://127.0.0.1:1 --json_document_schema_filename={schema} \
         --create_weight=2 --read_weight=3 --update_weight=2 --delete_weight=1"
    );
    let core = "-p workload=site.ycsb.workloads.CoreWorkload -p recordcount=100";
    let lines = [
        "run",
        "run http://ann@127.0.0.1:1/db http://bob@127.0.0.1:2 http://127.0.0.1:3",
        "run http://ann@127.0.0.1:1/db --workload hot --rate 50 -d 5s --auth basic",
        &format!("run --stages 10s:50..100 --arrivals poisson --schema {schema}"),
        "run --noise warn",
        "run --agents 2 --allow-lost --fail-if read.p99>20ms --id uuid",
        "run --workload ycsb-e --docs 500",
        &cushion,
        "burst --read --conditional --repeat 2 --wire-size",
        "http --literal http://127.0.0.1:1/{{seq}} -n 5",
        &format!("ycsb load basic {core}"),
        &format!("ycsb run couchdb {core} -p measurementtype=timeseries"),
    ];
    let lines = lines.map(|line| line.split(' ').collect::<Vec<_>>());
    let listed = vec!["http", "-f", &urls, &posted, "-c", "2", "--random"];
    for words in lines.iter().chain([&listed]) {
        let planned = Run::bare(&[&words[..], &["--dry-run"]].concat()).finish();
        assert_eq!(planned.code, 0, "{words:?}: {}", planned.stderr);
        let stored = Stored::new(planned.stdout);
        let password = stored.text.contains("\"ann\"").then_some(("SPRINGLOAD_PASSWORD", "geheim"));
        let again = stored.run(&["--dry-run"]).envs(password).finish();
        assert_eq!((again.code, &again.stderr[..]), (0, ""), "{words:?}");
        assert_eq!(again.stdout, stored.text, "{words:?}");
    }
}

#[test]
fn a_plan_is_run_as_it_is() {
    let server = Server::stand_in(Options {
        admin: Some(("ann".to_owned(), "geheim".to_owned())),
        ..Options::default()
    });
    let target = server.url.replace("://", "://ann:geheim@");
    let words = ["run", &target, "--docs", "30", "--ops", "24", "-c", "3", "--fail-if", "err > 0"];
    let stored = Stored::of(&words);
    assert!(!stored.text.contains("geheim"), "{}", stored.text);
    let environment = [("SPRINGLOAD_PASSWORD", "geheim")];
    let out = stored.folder.path().join("out");
    let out = out.to_str().expect("UTF-8");
    let run = stored.run(&["-q", "-o", out]).envs(environment).finish();
    assert!(matches!(run.code, 0 | 5), "{}", run.stderr);
    let text = fs::read_to_string(format!("{out}/run.json")).expect("a record");
    assert!(!text.contains("geheim"), "{text}");
    let record: Value = serde_json::from_str(&text).expect("JSON");
    let plan: Value = serde_json::from_str(&stored.text).expect("JSON");
    assert_eq!(record["plan"], plan);
    // A record can be used instead of its plan.
    let again = Stored::new(text).run(&["--dry-run"]).envs(environment).finish();
    assert_eq!(again.stdout, stored.text);
    let missing = stored.run(&["--dry-run"]).finish();
    missing.refused(2, &["plan.json: target: its user logs in", "SPRINGLOAD_PASSWORD"]);
    let refused = stored.run(&["--docs", "5", "-c", "2", "--fail-if", "err > 1"]).finish();
    assert_eq!((refused.code, refused.stderr.lines().count()), (2, 3), "{}", refused.stderr);
    for flag in ["--docs", "--connections", "--fail-if"] {
        assert!(
            refused.stderr.contains(&format!("error: {flag}: the plan in ")),
            "{}",
            refused.stderr
        );
    }
}

#[test]
fn a_list_of_requests_is_run_with_its_bodies() {
    let server = Server::stand_in(Options::default());
    let put = format!("{}/db{{{{seq}}}} PUT", server.url);
    let post = format!("{}/_bulk_docs_none POST {{\"a\": 1}}", server.url);
    let stored = Stored::of(&["http", &put, &post, "-c", "1", "-n", "4"]);
    assert!(stored.text.contains("{\\\"a\\\": 1}"), "{}", stored.text);
    let out = stored.folder.path().join("out");
    let run = stored.run(&["-q", "-o", out.to_str().expect("UTF-8")]).finish();
    let text =
        fs::read_to_string(out.join("run.json")).unwrap_or_else(|_| panic!("{}", run.stderr));
    assert_eq!(server.as_stand_in().expect("a stand-in").counters().requests, 4);
    // Records omit bodies, and say so.
    let refused = Stored::new(text).run(&[]).finish();
    refused
        .refused(2, &["http.requests.1: the text of its body (inline) is not stored", "--dry-run"]);
}

#[test]
fn plans_of_others_and_hostile_ones_are_refused() {
    let stored = Stored::of(&["run", "--docs", "50", "--ops", "10"]);
    for (changes, words) in [
        (
            &[("/connections", json!(0))][..],
            ["plan.json: connections: 0 is out of range", "1 to 65536"],
        ),
        (
            &[("/target/password", json!("x"))],
            ["plan.json: target: it has a password", "SPRINGLOAD_PASSWORD"],
        ),
        (
            &[("/pace", json!("warp"))],
            ["plan.json: pace: this springload does not know this member", "make the plan again"],
        ),
        (
            &[("/stages/0/speed", json!(9))],
            ["plan.json: stages.0.speed: this springload does not know", "again"],
        ),
        (&[("/stages/0/workload", json!("warp"))], ["plan.json: not a plan: ", "warp"]),
        (&[("/stages", json!("none"))], ["plan.json: not a plan: ", "string"]),
        (&[("/target", json!(null))], ["plan.json: not a plan", "--dry-run"]),
        (&[("/target/driver", json!("warp"))], ["plan.json: not a plan: ", "warp"]),
    ] {
        stored.with(changes).run(&["--dry-run"]).finish().refused(2, &words);
    }
    // Members with default values may be given explicitly.
    let explicit = [
        ("/fill", json!({"wait_for_server_ns": null, "growth": false})),
        ("/thresholds", json!([])),
    ];
    let again = stored.with(&explicit).run(&["--dry-run"]).finish();
    assert_eq!((again.code, again.stdout), (0, stored.text.clone()), "{}", again.stderr);
    Stored::new("{".to_owned())
        .run(&[])
        .finish()
        .refused(2, &["plan.json: not JSON: ", "--dry-run"]);
    Stored::new("[1]".to_owned())
        .run(&[])
        .finish()
        .refused(2, &["plan.json: not a plan", "--dry-run"]);
    measure(["run", "none.json"]).refused(2, &["PLAN: cannot read none.json", "--dry-run"]);
}
