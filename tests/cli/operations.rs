//! Operations of the user's own: what is sent and counted, on a server with views and Mango, and
//! what is refused.

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

/// The requests whose path has this in it.
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
    // A request that was sent again with one of three limits brings as many changes.
    let limits: u64 = exchanges
        .iter()
        .filter_map(|it| it.path.split("_changes?limit=").nth(1)?.parse::<u64>().ok())
        .sum();
    assert_eq!(number(&operation("feed")["rows"]), limits);
    let never = operation("never");
    assert_eq!((number(&never["ok"]), &never["failures"]["unexpected"]), (0, &never["requests"]));
}

/// The rows that an answer has, as anybody would count them.
fn rows(exchange: &Exchange) -> u64 {
    let answer: Value = serde_json::from_slice(&exchange.answer).unwrap_or_default();
    answer["rows"].as_array().map_or(0, |rows| rows.len() as u64)
}

/// The flags of 40 requests for five documents each, on a server with 40.
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
    // One ends before its length, one is whole by its length alone.
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
