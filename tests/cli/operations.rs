//! Custom operations: what is sent and counted, on a server with views and Mango, and what is
//! refused.

use serde_json::{Value, json};

use crate::proxy::{Exchange, Proxy};
use crate::servers::Server;
use crate::springload::{measure, number};
use springload::embedded::Options;

/// A database with a view of all documents by their identifiers, and nothing else.
fn prepared(server: &Server) -> String {
    let url = format!("{}/own_{}", server.url, std::process::id());
    let put = |url: &str, body: &Value| {
        let sent = ureq::put(url).header("content-type", "application/json").send(body.to_string());
        assert_eq!(sent.expect("an answer").status(), 201, "{url}");
    };
    put(&url, &json!({}));
    let map = "function (doc) { emit(doc._id, null); }";
    put(&format!("{url}/_design/app"), &json!({ "views": { "by_id": { "map": map } } }));
    url
}

/// The number of requests with `part` in their path.
fn of(exchanges: &[Exchange], part: &str) -> u64 {
    exchanges.iter().filter(|it| it.path.contains(part)).count() as u64
}

#[test]
fn what_is_counted_is_what_was_sent_and_found() {
    let Some(server) = Server::pouchdb() else { return };
    let database = prepared(&server);
    let proxy = Proxy::to(&server.url);
    let target = database.replace(&server.url, &proxy.url);
    let run = measure([
        "run",
        &target,
        "--use-existing",
        "--docs",
        "50",
        "-c",
        "2",
        "-n",
        "60",
        "--mix",
        "one=1,asked=1,feed=1,never=1",
        "--op",
        r#"one={"view":"app/by_id","params":{"key":"{{key}}"},"expect":{"rows":1}}"#,
        "--op",
        r#"asked={"find":{"selector":{"_id":"{{key}}"}},"expect":{"rows":1,"status":200}}"#,
        "--op",
        "feed=request GET _changes?limit={{some}}",
        "--data",
        "some=1,2,3",
        "--op",
        r#"never={"all_docs":"limit=2","expect":{"rows":"3..9"}}"#,
        "--fail-if",
        "one.err > 0",
    ]);
    assert!(matches!(run.code, 0 | 1 | 5), "{}", run.stderr);
    let exchanges = proxy.exchanges();
    let mut all = 0;
    for (name, part) in
        [("one", "by_id?key="), ("asked", "/_find"), ("feed", "/_changes?"), ("never", "_all_docs")]
    {
        let operation = run.operation("crud", name);
        assert_eq!(number(&operation["requests"]), of(&exchanges, part), "{name}: {operation}");
        all += number(&operation["requests"]);
    }
    assert_eq!(all, 60);
    let operation = |name: &str| run.operation("crud", name);
    for name in ["one", "asked"] {
        let operation = operation(name);
        assert_eq!(operation["ok"], operation["requests"], "{operation}");
        assert_eq!(operation["rows"], operation["requests"], "a document each: {operation}");
    }
    // A request that was sent again with one of three limits returns as many changes.
    let limits: u64 = exchanges
        .iter()
        .filter_map(|it| it.path.split("_changes?limit=").nth(1)?.parse::<u64>().ok())
        .sum();
    assert_eq!(number(&operation("feed")["rows"]), limits);
    let never = operation("never");
    assert_eq!((number(&never["ok"]), &never["failures"]["unexpected"]), (0, &never["requests"]));
}

/// Documents in rows come from one copy, which may lag behind.
#[test]
fn only_documents_on_which_copies_agree_are_compared() {
    let Some(server) = Server::pouchdb() else { return };
    let database = prepared(&server);
    let words = ["run", &database, "--use-existing", "--docs", "50", "-c", "2", "-n", "100"];
    let own = [
        "--op",
        r#"seen={"view":"app/by_id","params":{"key":"{{key}}","include_docs":true}}"#,
        "--op",
        r#"asked={"find":{"selector":{"_id":"{{key}}"}}}"#,
        "--op",
        "one=get {{key}}",
        "--op",
        "any=get {{key}}?r=1",
        "--mix",
        "update=1,seen=1,asked=1,one=1,any=1",
        "--verify",
    ];
    let run = measure([&words[..], &own].concat());
    assert!(matches!(run.code, 0 | 4 | 5), "{}", run.stderr);
    let ok = |name: &str| number(&run.operation("crud", name)["ok"]);
    assert_eq!(ok("verify"), ok("one"), "{}", run.stderr);
    assert!(ok("seen").min(ok("asked")).min(ok("any")) >= 20, "{}", run.stderr);
}

/// The number of rows in a response, counted independently.
fn rows(exchange: &Exchange) -> u64 {
    let answer: Value = serde_json::from_slice(&exchange.answer).unwrap_or_default();
    answer["rows"].as_array().map_or(0, |rows| rows.len() as u64)
}

/// The flags for 40 requests of five documents each, on a server with 40.
const LISTED: [&str; 12] = [
    "--docs",
    "40",
    "-c",
    "2",
    "-n",
    "40",
    "--op",
    "list=all_docs limit=5",
    "--mix",
    "list=1",
    "--fail-if",
    "err > 100%",
];

#[test]
fn an_answer_that_is_cut_short_is_no_success() {
    let server = Server::stand_in(Options::default());
    let whole = Proxy::to(&server.url);
    let run = measure([&["run", &whole.url][..], &LISTED].concat());
    let all = run.operation("crud", "list");
    assert_eq!((number(&all["ok"]), number(&all["rows"])), (40, 200), "{}", run.stderr);
    let listed = whole.exchanges().into_iter().filter(|it| it.path.contains("_all_docs?"));
    assert_eq!(listed.map(|it| rows(&it)).sum::<u64>(), 200);
    // One response ends before its length; the other is complete only by its length.
    let half = "{\"total_rows\":40,\"rows\":[{\"id\":\"1\"},";
    for length in [500, half.len()] {
        let cut = Proxy::with_answers(
            &server.url,
            Box::new(move |request| {
                let asked = request.words().1.contains("_all_docs?");
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
                asked.then(|| format!("{head}{half}").into_bytes())
            }),
        );
        let run = measure([&["run", &cut.url][..], &LISTED, &["--timeout", "2s"]].concat());
        let all = run.operation("crud", "list");
        assert_eq!((number(&all["ok"]), &all["rows"]), (0, &Value::Null), "{length}: {all}");
    }
}

/// Documents made by one request are found by others: the upload comes first, and a resolved
/// conflict is not resolved again.
#[test]
fn what_an_operation_makes_others_find() {
    let Some(server) = Server::pouchdb() else { return };
    let proxy = Proxy::to(&server.url);
    let run = measure([
        "run",
        &proxy.url,
        "--docs",
        "20",
        "-c",
        "2",
        "-n",
        "90",
        "--mix",
        "download=2,part=1,upload=1,look=1,mend=1,clash=2,noted=1",
        "--op",
        "upload=attachment put 3k image/png",
        "--op",
        "download=attachment get upload",
        "--op",
        r#"part={"get":"{{made upload}}","expect":{"member":{"_attachments.data.length":3000}}}"#,
        "--op",
        "clash=conflict make 3",
        "--op",
        r#"look={"conflict":"read clash","expect":{"rows":"1..3"}}"#,
        "--op",
        r#"mend={"conflict":"resolve clash 3","expect":{"rows":2}}"#,
        "--op",
        "noted=local put 50",
    ]);
    assert!(matches!(run.code, 0 | 1 | 5), "{}", run.stderr);
    let exchanges = proxy.exchanges();
    let sent = |method: &str, part: &str| {
        let is_it = |it: &&Exchange| it.method == method && it.path.contains(part);
        exchanges.iter().filter(is_it).count() as u64
    };
    let operation = |name: &str| run.operation("crud", name);
    for (name, requests) in [
        ("upload", sent("PUT", "/data")),
        ("download", sent("GET", "/data")),
        ("look", sent("GET", "?conflicts=true")),
        ("noted", sent("PUT", "/_local/")),
    ] {
        assert_eq!(number(&operation(name)["requests"]), requests, "{name}");
    }
    let mut all = 0;
    for name in ["upload", "download", "part", "clash", "look", "mend", "noted"] {
        let operation = operation(name);
        all += number(&operation["requests"]);
        assert_eq!(operation["ok"], operation["requests"], "{name}: {operation}");
    }
    assert_eq!(all, 90);
    let body = |it: &&Exchange| it.method == "GET" && it.path.contains("/data");
    assert!(exchanges.iter().filter(body).all(|it| it.answer.len() == 3_000), "not random bytes");
}

#[test]
fn each_value_of_a_file_is_used_once() {
    let server = Server::stand_in(Options::default());
    let proxy = Proxy::to(&server.url);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ids.csv");
    let rows: Vec<_> = (0..30).map(|row| format!("{row},\"a, {row}\"\n")).collect();
    std::fs::write(&file, format!("n,id\n{}", rows.concat())).unwrap();
    let list = |column: &str| {
        let list = json!({ "csv": file, "column": column, "order": "once" });
        format!("id={list}")
    };
    let flags = ["--docs", "9", "-c", "3", "-n", "60", "--mix", "read=1,x=1", "--op"];
    let run = |column: &str| {
        let op = ["x=all_docs limit=1&startkey={{id}}", "--data", &list(column)];
        measure([&["run", &proxy.url][..], &flags, &op].concat())
    };
    let done = run("id");
    assert_eq!(number(&done.operation("crud", "x")["requests"]), 30, "{}", done.stderr);
    let exchanges = proxy.exchanges();
    let mut keys: Vec<_> =
        exchanges.iter().filter_map(|it| it.path.split("&startkey=").nth(1)).collect();
    keys.sort_unstable();
    let count = keys.len();
    keys.dedup();
    assert_eq!((count, keys.len()), (30, 30), "each once");
    assert!(keys.contains(&"%22a%2C%2017%22"), "{keys:?}");
    let none = run("name");
    assert!(none.stderr.contains("no column \"name\"") && none.code == 2, "{}", none.stderr);
}

#[test]
fn a_line_may_be_any() {
    let run = measure([
        "run",
        "line",
        "--docs",
        "20",
        "-c",
        "2",
        "-n",
        "80",
        "--mix",
        "get=1,two=1,bad=1,read=1",
        "--op",
        "get=line GET {{key}}",
        "--op",
        r#"two={"line":"GET {{key}}","expect":{"rows":2}}"#,
        "--op",
        "bad=line NONSENSE",
        "--fail-if",
        "err > 90%",
    ]);
    let operation = |name: &str| run.operation("crud", name);
    assert_eq!(operation("get")["ok"], 20, "{}", run.stderr);
    assert_eq!(operation("two")["failures"], json!({ "unexpected": 20 }));
    assert_eq!(operation("bad")["failures"], json!({ "rejected": 20 }));
}

#[test]
fn agents_share_them() {
    let server = Server::stand_in(Options::default());
    let proxy = Proxy::to(&server.url);
    let run = measure([&["run", &proxy.url, "--agents", "2"][..], &LISTED].concat());
    let all = run.operation("crud", "list");
    let sent = of(&proxy.exchanges(), "_all_docs?limit=5");
    assert_eq!((number(&all["ok"]), sent, number(&all["rows"])), (40, 40, 200), "{}", run.stderr);
}

#[test]
fn what_cannot_be_done_is_refused_before_the_load() {
    let server = Server::stand_in(Options::default());
    let refused = |target: &str, op: &str, words: &[&str]| {
        let run = measure(["run", target, "--docs", "5", "-n", "5", "--mix", "x=1", "--op", op]);
        assert!(run.code != 0 && run.stages().next().is_none(), "{op}: {}", run.stderr);
        for word in words {
            assert!(run.stderr.contains(word), "{op}: no {word:?} in {}", run.stderr);
        }
    };
    refused(&server.url, "x=veiw app/by_id", &["veiw", "view"]);
    refused(&server.url, "x=all_docs startkey={{kee}}", &["kee", "key"]);
    refused(&server.url, "x=all_docs startkey={{doc.nothing}}", &["nothing", "no member"]);
    refused(&server.url, "all=all_docs limit=5", &["all means something else already"]);
    refused(&server.url, "x=find {\"selector\":", &["--op x", "JSON"]);
    refused(&server.url, "x=find {\"limit\":5}", &["selector"]);
    refused(&server.url, "y=all_docs limit=5", &["\"x\" is not an operation"]);
    refused("basic", "x=all_docs limit=5", &["CouchDB", "view"]);
    let Some(server) = Server::pouchdb() else { return };
    let words = ["--use-existing", "--docs", "5", "-n", "5", "--mix", "x=1", "--op"];
    let run = measure([&["run", &prepared(&server)][..], &words, &["x=view app/none"]].concat());
    assert!(run.code != 0 && run.stages().next().is_none(), "{}", run.stderr);
    assert!(
        run.stderr.contains("\"none\" in _design/app") && run.stderr.contains("by_id"),
        "{}",
        run.stderr
    );
}
