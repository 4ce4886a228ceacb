//! No setting is changed or left out silently: it is applied, refused or reported.

use serde_json::Value;
use springload::embedded::Options;

use crate::proxy::Proxy;
use crate::servers::Server;
use crate::springload::{measure, springload};

fn stand_in() -> Server {
    Server::stand_in(Options::default())
}

/// The number of documents in each bulk request, in ascending order.
fn batches(proxy: &Proxy) -> Vec<usize> {
    let exchanges = proxy.exchanges().into_iter();
    let bulk = exchanges.filter(|it| it.path.ends_with("_bulk_docs"));
    let documents = |body: &[u8]| {
        let body: Value = serde_json::from_slice(body).expect("JSON");
        body["docs"].as_array().expect("documents").len()
    };
    let mut sizes: Vec<usize> = bulk.map(|it| documents(&it.body)).collect();
    sizes.sort_unstable();
    sizes
}

#[test]
fn requests_of_a_fill_have_as_many_documents_as_asked_for() {
    let server = stand_in();
    let proxy = Proxy::to(&server.url);
    measure(["run", &proxy.url, "-c=4", "--docs=203", "--batch=20", "--ops=0"]).passed();
    assert_eq!(batches(&proxy), [&[3][..], &[20; 10]].concat());
    let proxy = Proxy::to(&server.url);
    measure(["bulk-perf", "10", "104", "4", &proxy.url]).passed();
    assert_eq!(batches(&proxy), [10; 10]);
}

#[test]
fn a_batch_that_leaves_connections_idle_is_refused() {
    let words = ["--batch: ", "4 requests of 250", "; give --docs 1001 or more, --batch 249 or"];
    measure(["run", "-c=5", "--docs=1k", "--batch=250"]).refused(2, &words);
    let sweep = ["sweep", "-L", "batch=10,1000", "-c=16", "--docs=4k", "--ops=0"];
    springload(sweep).refused(2, &["--batch: ", "4 requests of 1000"]);
}

#[test]
fn a_sweep_varies_nothing_that_what_it_shows_ignores() {
    for (axis, flags, name) in [
        ("rate=100,200", &["--ops=0"][..], "rate"),
        ("batch=10,20", &["--docs=0", "--ops=100", "--mix=create=1"], "batch"),
        ("batch=10,20", &["--ops=100"], "batch"),
        ("rate=100,200", &["--x=docs", "--ops=100"], "rate"),
        ("threads=1,2,4", &["-c=2", "--ops=0"], "threads"),
        ("docs=1k,1000", &["--ops=0"], "docs"),
    ] {
        let run = springload(["sweep", "-L", axis].iter().chain(flags));
        assert_eq!((run.code, &run.stdout[..]), (2, ""), "{axis} {flags:?}");
        assert!(run.stderr.contains(name), "{axis} {flags:?}: {}", run.stderr);
    }
    let both = ["sweep", "-L", "batch=10,20", "-L", "rate=100,200", "--ops=100", "--dry-run"];
    springload(both).refused(2, &["-L: batch=10 and batch=20", "(mixed)", "with --ops 0"]);
    for axes in [
        ["-L", "batch=10,20", "-L", "connections=1,2", "--ops=0"],
        ["-L", "rate=100,200", "-L", "docs=10k,20k", "--ops=100"],
    ] {
        let run = springload(["sweep", "--dry-run"].iter().chain(&axes));
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
}

#[test]
fn databases_are_made_as_the_target_says() {
    let server = stand_in();
    let made = |path: &str, flags: &[&str]| {
        let proxy = Proxy::to(&server.url);
        let url = format!("{}{path}", proxy.url);
        let fixed = ["run", &url, "-c=2", "--docs=20", "--ops=20"];
        let run = measure(fixed.into_iter().chain(flags.iter().copied())).passed();
        assert_eq!(run.record["server"]["deleted"], true);
        let made = proxy.exchanges().into_iter().find(|it| it.method == "PUT").expect("a PUT");
        (made.path, run.record["plan"]["target"]["making"].clone())
    };
    let (path, making) = made("/?q=8", &[]);
    assert!(path.starts_with("/springload_") && path.ends_with("?q=8"), "{path}");
    assert_eq!(making, serde_json::json!({"q": 8}));
    let (path, _) = made("/named?q=2&n=1&partitioned=true", &["--id", "prefix:p:"]);
    assert_eq!(path, "/named?q=2&n=1&partitioned=true");
    let url = format!("{}/named?q=8", server.url);
    measure(["run", &url, "--use-existing"]).refused(2, &["TARGET: ", "must exist"]);
}

#[test]
fn each_request_asks_for_as_many_copies_as_the_target_says() {
    let server = stand_in();
    let proxy = Proxy::to(&server.url);
    let url = format!("{}/?q=2&r=1&w=3", proxy.url);
    let mix = ["--mix", "create=1,read=1,update=1,delete=1"];
    let words = ["run", &url, "-c=2", "--docs=200", "--ops=120", "--warmup=0s", "--audit"];
    let run = measure([&words[..], &mix].concat()).passed();
    assert_eq!(run.record["plan"]["target"]["quorum"], serde_json::json!({"r": 1, "w": 3}));
    let (mut wrong, mut asked) = (Vec::new(), std::collections::BTreeMap::new());
    for exchange in proxy.exchanges() {
        let (path, query) = exchange.path.split_once('?').unwrap_or((&exchange.path, ""));
        let database = path.trim_matches('/').split('/').count() < 2;
        let expected = match (&exchange.method[..], path.rsplit('/').next().unwrap_or_default()) {
            _ if database => continue,
            ("POST", "_bulk_docs") | ("PUT" | "DELETE", _) => "w=3",
            // Requests of an audit.
            ("POST", "_bulk_get") => "",
            ("GET", "_all_docs") => continue,
            ("GET", name) if !name.starts_with('_') => "r=1",
            _ => continue,
        };
        let has: Vec<&str> =
            query.split('&').filter(|it| it.starts_with("r=") || it.starts_with("w=")).collect();
        if has.join("&") != expected {
            wrong.push(exchange.path.clone());
        }
        *asked.entry(format!("{} {expected}", exchange.method)).or_insert(0) += 1;
    }
    assert_eq!(wrong, <Vec<String>>::new());
    let kinds: Vec<&str> = asked.keys().map(String::as_str).collect();
    assert_eq!(kinds, ["DELETE w=3", "GET r=1", "POST ", "POST w=3", "PUT w=3"]);
    let page = run.report("html").stdout;
    assert!(page.contains("r=1&amp;w=3"), "the page does not say it");
    // Also with an existing database, which was created without the settings.
    let there = format!("{}/there?w=2", server.url);
    let made = springload(["run", &there, "--keep", "--docs=10", "--ops=10", "-q"]);
    assert!(matches!(made.code, 0 | 4 | 5), "{}", made.stderr);
    let there = format!("{}/there?r=2", server.url);
    let again = measure(["run", &there, "--use-existing", "--docs=10", "--ops=10"]);
    assert!(matches!(again.code, 0 | 4 | 5), "{}", again.stderr);
    let wrong = format!("{}/there?r=0", server.url);
    measure(["run", &wrong]).refused(2, &["TARGET: r=0, which is not a number above 0"]);
}

#[test]
fn a_shell_takes_no_query() {
    let shell = ["shell", "http://127.0.0.1:9/db?q=8"];
    springload(shell).refused(2, &["TARGET: ", "a query", "; give http://"]);
}

#[test]
fn flags_that_would_have_no_effect_are_refused() {
    let url = "http://127.0.0.1:9";
    for (flags, name) in [
        (&["--ops=0", "-d=5s"][..], "--duration: "),
        (&["--ops=0", "--rate=5"], "--rate: "),
        (&["--ops=0", "--stages=1s:5"], "--stages: "),
        (&["--ops=0", "--think=1ms"], "--think: "),
        (&["--ops=0", "--warmup=1s"], "--warmup: "),
        (&["--docs=0", "--mix=create=1", "--batch=10"], "--batch: "),
        (&["--docs=0", "--mix=create=1", "--growth"], "--growth: "),
        (&["--workload=ycsb-a", "--growth"], "--growth: "),
        (&["--workload=ycsb-a", "--wait-for-server=1m"], "--wait-for-server: "),
        (&["--stages=10s:5", "--duration=11s"], "--duration: "),
        (&["-c=2", "--threads=3"], "--threads: "),
        (&["--auth=basic"], "--auth: "),
        (&["--tls-ca=some.pem"], "--tls-ca: "),
    ] {
        measure(["run", url].iter().chain(flags).copied()).refused(2, &[name, "; "]);
    }
    for flags in [&["-H=X: y"][..], &["--auth=basic"], &["-k"], &["--tls-ca=some.pem"]] {
        for target in ["basic", "line"] {
            let words = [&["run", target][..], flags].concat();
            measure(words).refused(2, &["with the driver ", target, "leave it out"]);
        }
    }
    measure(["run", "--keep"]).refused(2, &["--keep: ", "stand-in"]);
    let page = format!("{url}/");
    measure(["http", &page, "--stages=1s:5", "-d=2s"]).refused(2, &["--duration: "]);
    measure(["http", &page, "-c=2", "--threads=3"]).refused(2, &["--threads: "]);
}

#[test]
fn why_not_all_was_begun_is_reported() {
    let server = stand_in();
    let fixed = ["run", &server.url, "-c=2", "--docs=20", "--mix=read=1"];
    let run = measure(fixed.into_iter().chain(["--ops=1G", "-d=300ms"])).passed();
    let report = run.full_report();
    assert!(report.contains("requests were begun: the 0.3 s were over"), "{report}");
}
