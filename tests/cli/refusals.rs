//! Bad input: one line that names the flag and the cure, exit 2, and nothing sent.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::Path;

use crate::springload::{Finished, measure, springload};

/// A port that must not be connected to.
struct Quiet(TcpListener);

impl Quiet {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.set_nonblocking(true).expect("a socket");
        Self(listener)
    }

    fn url(&self) -> String {
        format!("http://{}", self.0.local_addr().expect("an address"))
    }

    /// Asserts that there was no connection. The kernel completes connections by itself, so none
    /// can have been missed.
    #[track_caller]
    fn undisturbed(self) {
        assert_eq!(self.0.accept().map(drop).map_err(|e| e.kind()), Err(ErrorKind::WouldBlock));
    }
}

/// `run URL` with these flags is refused, and nothing is sent.
#[track_caller]
fn run_refuses(flags: &[&str], words: &[&str]) {
    let quiet = Quiet::new();
    let url = quiet.url();
    measure(["run", &url].into_iter().chain(flags.iter().copied())).refused(2, words);
    quiet.undisturbed();
}

const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/schemas/example.json");

/// `cushion` with address, name, a bulk stage and these flags is refused, and nothing is sent.
#[track_caller]
fn cushion_refuses(flags: &[&str], words: &[&str]) {
    let quiet = Quiet::new();
    let address = format!("--database_address={}", quiet.url());
    let fixed = ["cushion", &address, "--database_name=db"];
    measure(fixed.into_iter().chain(flags.iter().copied())).refused(2, words);
    quiet.undisturbed();
}

fn schema_flag() -> String {
    format!("--json_document_schema_filename={SCHEMA}")
}

/// A file with this text, in a folder that lives as long as the first value.
fn file(text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("schema");
    std::fs::write(&path, text).expect("a file");
    let name = path.to_str().expect("UTF-8").to_owned();
    (folder, name)
}

#[test]
fn schemas_that_are_none() {
    for (text, word) in [
        ("{}", "no members"),
        ("", "empty"),
        ("{\"a\": ", "column"),
        ("[1, 2]", "object"),
        ("{\"_id\": \"x\", \"_rev\": \"1-a\"}", "no members"),
        ("<object><entry>", "XML"),
    ] {
        let (_folder, name) = file(text);
        run_refuses(&["--schema", &name], &["--schema: ", "; give a JSON object", word]);
        let flag = format!("--json_document_schema_filename={name}");
        let bulk = ["--num_documents_per_bulk_insert=1", "--num_bulk_insert_operations=1"];
        cushion_refuses(
            &[&flag, bulk[0], bulk[1]],
            &["--json_document_schema_filename: ", "; give a JSON object"],
        );
    }
    run_refuses(&["--schema", "none/such.json"], &["--schema: ", "none/such.json", "; give a"]);
    let none = format!("0:{SCHEMA}");
    run_refuses(&["--schema", &none], &["--schema: ", "; give WEIGHT:FILE"]);
    let (_folder, name) = file("\u{fffd}");
    std::fs::write(Path::new(&name), [0xff, 0xfe, b'<']).expect("a file");
    run_refuses(&["--schema", &name], &["--schema: ", "not UTF-16: save it in UTF-8"]);
    springload(["schema", &name]).refused(2, &["SCHEMA: ", "not UTF-16"]);
    let (_folder, name) = file("{");
    springload(["schema", &name]).refused(2, &["SCHEMA: ", "; give a JSON object"]);
    // Nothing listens on port 1: it is not about the content of a schema.
    let absent = springload(["schema", "http://127.0.0.1:1/db/id"]);
    let absent = absent.refused(2, &["error: SCHEMA: ", "; give the URL of a stored document"]);
    let line = &absent.stderr;
    assert!(!line.contains("--schema") && !line.contains("JSON object"), "{line}");
}

#[test]
fn cushion_wants_exactly_one_schema() {
    let bulk = ["--num_documents_per_bulk_insert=1", "--num_bulk_insert_operations=1"];
    let words = ["--json_document_schema_filename: ", "--xml_document_schema_filename"];
    cushion_refuses(&bulk, &[words[0], words[1], "no schema flag"]);
    let (json, xml) = (schema_flag(), format!("--xml_document_schema_filename={SCHEMA}"));
    cushion_refuses(&[bulk[0], bulk[1], &json, &xml], &[words[0], words[1], "both"]);
}

#[test]
fn cushion_tells_every_value_that_cannot_be_read() {
    let quiet = Quiet::new();
    let address = format!("--database_address={}", quiet.url());
    let values = ["--num_connections=x", "--seed", "1.5", "--read_weight=-2", "--threads=x"];
    let fixed = ["cushion", &address, "--database_name=db"];
    let refused = measure(fixed.into_iter().chain(values));
    assert_eq!((refused.code, refused.stderr.lines().count()), (2, 4), "{}", refused.stderr);
    for (line, flag) in
        refused.stderr.lines().zip(["num_connections", "seed", "read_weight", "threads"])
    {
        assert!(line.starts_with("error: ") && line.contains(&format!("--{flag}")), "{line}");
    }
    let refused = measure(["run", &quiet.url(), "-c", "x", "-dx", "--docs=x", "-c", "2"]);
    assert_eq!((refused.code, refused.stderr.lines().count()), (2, 3), "{}", refused.stderr);
    quiet.undisturbed();
}

#[test]
fn cushion_takes_the_address_of_a_server_alone() {
    let quiet = Quiet::new();
    let schema = schema_flag();
    for (path, shown) in [("/foo", "/foo"), ("/foo/", "/foo/"), ("//a/b", "/a/b")] {
        let address = format!("--database_address={}{path}", quiet.url());
        let fixed = ["cushion", &address, "--database_name=db", &schema];
        let bulk = ["--num_documents_per_bulk_insert=1", "--num_bulk_insert_operations=1"];
        let refused = measure(fixed.into_iter().chain(bulk));
        assert_eq!(refused.code, 2, "{}", refused.stderr);
        let first = refused.stderr.lines().next().unwrap_or_default();
        assert!(
            first.starts_with("error: --database_address: ") && first.contains(shown),
            "{first}"
        );
        assert!(first.contains("--database_name"), "{first}");
    }
    quiet.undisturbed();
}

#[test]
fn numbers_that_are_none_or_out_of_range() {
    for (flags, word) in [
        (&["--docs", "-5"][..], "--docs"),
        (&["--docs=-5"], "--docs"),
        (&["--connections=-1"], "--connections"),
        (&["-c", "0"], "--connections"),
        (&["-c", "70000"], "--connections"),
        (&["--docs", "18446744073709551616"], "--docs"),
        (&["--docs", "99999999999999G"], "--docs"),
        (&["--docs", "11G"], "--docs"),
        (&["--batch", "0"], "--batch"),
        (&["--threads", "0"], "--threads"),
        (&["--ops", "ten"], "--ops"),
        (&["--duration", "5 parsecs"], "--duration"),
        (&["--timeout", "0s"], "--timeout"),
        (&["--rate", "-1"], "--rate"),
        (&["--seed", "-1"], "--seed"),
        (&["--seed", "18446744073709551616"], "--seed"),
        (&["--stages", "30s"], "--stages"),
    ] {
        run_refuses(flags, &[word, "; "]);
    }
    let schema = schema_flag();
    let bulk = ["--num_documents_per_bulk_insert=1", "--num_bulk_insert_operations=1"];
    for (flag, word) in [
        ("--num_connections=-1", "--num_connections"),
        ("--num_connections=0", "--num_connections"),
        ("--num_connections=99999999999999999999", "--num_connections"),
        ("--num_documents_per_bulk_insert=-1", "--num_documents_per_bulk_insert"),
        ("--num_bulk_insert_operations=-1", "--num_bulk_insert_operations"),
        ("--num_crud_operations=x", "--num_crud_operations"),
        ("--create_weight=-2", "--create_weight"),
        ("--seed=2147483648", "--seed"),
    ] {
        cushion_refuses(&[&schema, bulk[0], bulk[1], flag], &[word, "; "]);
    }
    // Each is a valid number, but their product is too large.
    cushion_refuses(
        &[
            &schema,
            "--num_connections=60000",
            "--num_documents_per_bulk_insert=1000000",
            "--num_bulk_insert_operations=18446744073709551615",
        ],
        &["--num_bulk_insert_operations: ", "; "],
    );
    let crud: [&str; 3] = [&schema, "--num_crud_operations=10", "--create_weight=1"];
    let empty = [&crud[..], &["--num_bulk_insert_operations=10"]].concat();
    cushion_refuses(&empty, &["--num_bulk_insert_operations: ", "10 ", "0 documents", "; give --"]);
    let none = ["--num_documents_per_bulk_insert=10", "--dry-run"];
    let fixed = ["cushion", "--database_address=http://127.0.0.1:1", "--database_name=db"];
    let planned = springload([&fixed[..], &crud, &none].concat());
    assert_eq!(planned.code, 0, "no bulk inserts: {}", planned.stderr);
}

#[test]
fn weights_that_cannot_be() {
    run_refuses(&["--mix", "create=0,read=0"], &["--mix", "zero"]);
    run_refuses(&["--mix", "red=1"], &["--mix", "create, read, update, delete"]);
    run_refuses(&["--mix", "read=-1"], &["--mix", "; "]);
    let deletes = ["--docs", "10", "--ops", "100", "--mix", "delete=1", "-c", "2"];
    run_refuses(&deletes, &["--mix: ", "50 docs deleted > 5 docs inserted", "; raise --docs"]);
    run_refuses(&["--docs", "0", "--mix", "read=1"], &["--docs: ", "; insert at least one"]);
    run_refuses(&["--docs", "0", "--ops", "0"], &["--ops: ", "nothing to do", "; "]);
    let schema = schema_flag();
    let crud = "--num_crud_operations=10";
    let bulk = ["--num_documents_per_bulk_insert=10", "--num_bulk_insert_operations=1"];
    cushion_refuses(&[&schema, bulk[0], bulk[1], crud], &["--create_weight: ", "zero", "; "]);
    cushion_refuses(
        &[&schema, bulk[0], bulk[1], crud, "--create_weight=1", "--delete_weight=3"],
        &["--delete_weight: ", "3 exceeds create_weight + read_weight = 1", "; "],
    );
    cushion_refuses(
        &[&schema, bulk[0], bulk[1], crud, "--update_weight=1"],
        &["--update_weight: ", "; "],
    );
    // One document, five reads and five deletes each.
    cushion_refuses(
        &[
            &schema,
            "--num_documents_per_bulk_insert=1",
            "--num_bulk_insert_operations=1",
            crud,
            "--read_weight=1",
            "--delete_weight=1",
        ],
        &["--delete_weight: ", "5 docs deleted > 1 docs inserted", "; raise"],
    );
}

#[test]
fn unknown_words_have_a_suggestion() {
    run_refuses(&["--connectoins", "5"], &["--connectoins", "; did you mean --connections?"]);
    let cushion = "--num_conections=5";
    cushion_refuses(&[cushion], &["--num_conections", "; did you mean --num_connections?"]);
    springload(["rnu"]).refused(2, &["rnu", "; did you mean run?"]);
    springload(["raport"]).refused(2, &["; did you mean report?"]);
    run_refuses(&["--auth", "cokie"], &["--auth", "; did you mean cookie?"]);
    run_refuses(
        &["--format", "nope"],
        &["--format", "text, json, csv, hlog, openmetrics, cushion"],
    );
    run_refuses(&["--keep", "--use-existing"], &["--keep", "--use-existing", "; "]);
    measure(["cushion", "--database_name=db"]).refused(2, &["--database_address", "; "]);
}

#[test]
fn addresses_that_are_none() {
    for url in [
        "ftp://127.0.0.1/db",
        "http://",
        "http://127.0.0.1:99999",
        "http://127.0.0.1/a/b",
        "http://127.0.0.1/?q=0",
        "http://127.0.0.1/?partitioned=maybe",
        "http://127.0.0.1/?shards=8",
        "http://127.0.0.1/?partitioned=true",
        "http://127.0.0.1/#x",
        "nonsense",
    ] {
        let refused = measure(["run", url]).refused(2, &["TARGET: ", "; give http://"]);
        assert!(!refused.output().exists(), "nothing is left behind");
    }
    let secret = measure(["run", "ftp://ann:secret@127.0.0.1/db"]).refused(2, &["TARGET: "]);
    assert!(!secret.stderr.contains("secret"), "{}", secret.stderr);
    let schema = schema_flag();
    measure([
        "cushion",
        "--database_address=ftp://x",
        "--database_name=db",
        &schema,
        "--num_documents_per_bulk_insert=1",
        "--num_bulk_insert_operations=1",
    ])
    .refused(2, &["--database_address: ", "; give http://"]);
    measure(["run", "--use-existing"]).refused(2, &["--use-existing: ", "; give the server"]);
}

#[test]
fn an_output_that_cannot_be_written() {
    let quiet = Quiet::new();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("file");
    std::fs::write(&file, "a file where a folder belongs").expect("a file");
    let out = file.join("below");
    let refused = springload(["run", &quiet.url(), "--output", out.to_str().expect("UTF-8")]);
    refused.refused(2, &["--output: ", "; choose a writable folder"]);
    quiet.undisturbed();
}

#[test]
fn several_mistakes_are_all_reported() {
    let refused: Finished = measure(["run", "-c", "0", "--batch", "0", "--timeout", "0s"]);
    assert_eq!(refused.code, 2);
    let flags: Vec<_> = refused.stderr.lines().map(|l| l.split(' ').nth(1).unwrap()).collect();
    assert_eq!(flags, ["--connections:", "--batch:", "--timeout:"]);
}

#[test]
fn what_shapes_an_open_loop_is_not_ignored_in_a_closed_one() {
    run_refuses(&["--arrivals", "poisson"], &["--rate"]);
    run_refuses(&["--max-in-flight", "10"], &["--rate"]);
    run_refuses(&["--slack", "10us"], &["--rate"]);
    run_refuses(&["--rate", "10", "--slack", "2ms"], &["--slack", "1ms"]);
    run_refuses(&["--stages", "5s:0"], &["--stages", "the rate is 0"]);
}
