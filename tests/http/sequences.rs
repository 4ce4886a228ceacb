//! Sequences in a list of requests: what each step takes from the responses before it, what happens
//! to a sequence whose step fails, and lists of values.

use std::collections::BTreeMap;
use std::fs;

use crate::server::{Seen, Server};
use crate::springload::{Finished, Run, failures, measure, number};

/// A list with a sequence of three requests, and a single request.
fn list(server: &Server, folder: &std::path::Path) -> String {
    let list = folder.join("shop.txt");
    let text = format!(
        "URL = {}/shop
        order {{
            log-in: $(URL)/login POST user={{{{user}}}}
                save token = said.0.it
            cart: $(URL)/orders POST {{\"by\":{{{{user}}}},\"n\":{{{{int 3 3}}}}}}
                header Authorization: Bearer {{{{saved token}}}}
                save id = said.0.it
                save tag = header ETag
            pay: $(URL)/orders/{{{{saved id}}}}?by={{{{user}}}} PUT {{}}
                header Authorization: Bearer {{{{saved token}}}}
                header If-Match: {{{{saved tag}}}}
        }}
        home: {}/home
        ",
        server.url, server.url
    );
    fs::write(&list, text).expect("a list");
    list.display().to_string()
}

fn counts(run: &Finished) -> BTreeMap<&'static str, (u64, u64)> {
    let each = ["order", "log-in", "cart", "pay", "home"].map(|name| {
        let operation = run.operation("urls", name);
        // A request that was never made has no row.
        let done = !operation.is_null();
        (name, if done { (number(&operation["ok"]), failures(&operation)) } else { (0, 0) })
    });
    each.into()
}

#[test]
fn each_step_sends_what_the_ones_before_it_were_answered() {
    let (server, folder) = (Server::start(), tempfile::tempdir().expect("a folder"));
    let list = list(&server, folder.path());
    let words = ["http", "-f", &list, "-n", "60", "-c", "3", "--data", "user=ann lee,b\"o\"b"];
    let run = measure([&words[..], &["--fail-if", "order.err > 0"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    // The server only accepts a payment with the tag and the token of its order.
    let all = ["order", "log-in", "cart", "pay", "home"].map(|name| (name, (30, 0)));
    assert_eq!(counts(&run), all.into());
    assert_eq!(number(&run.stage("urls")["load"]["begun"]), 60);
    assert_eq!(number(&run.operation("urls", "order")["http_requests"]), 90);
    let seen = server.seen();
    let paths = |part: &str| seen.iter().filter(|it| it.path.contains(part)).collect::<Vec<_>>();
    assert_eq!((paths("/login").len(), paths("/shop/").len(), paths("/home").len()), (30, 90, 30));
    let mut paid: Vec<&str> = paths("?by=")
        .iter()
        .map(|it| it.path["/shop/orders/".len()..].split_once('?').unwrap().0)
        .collect();
    paid.sort_unstable_by_key(|id| id.parse::<u64>().expect("a number"));
    assert_eq!(paid, (0..30).map(|id| id.to_string()).collect::<Vec<_>>());
    // Each value is encoded for its place: a form, JSON, a header, an address.
    for (part, places) in [
        ("/login", ["user=ann%20lee", "user=b%22o%22b"]),
        ("/orders", [r#"{"by":"ann lee","n":3}"#, r#"{"by":"b\"o\"b","n":3}"#]),
    ] {
        let posted = paths(part).into_iter().filter(|it| it.method == "POST");
        let bodies: Vec<&str> = posted.map(|it| it.body.as_str()).collect();
        assert!(bodies.iter().all(|body| places.contains(body)), "{bodies:?}");
        assert!(places.iter().all(|place| bodies.contains(place)), "{bodies:?}");
    }
    let by = |it: &&Seen| it.path.ends_with("?by=ann%20lee") || it.path.ends_with("?by=b%22o%22b");
    assert!(paths("?by=").iter().all(by));
    // Responses with saved values may be compressed like all others.
    let encoding = |part: &str| paths(part)[0].header("accept-encoding").to_owned();
    assert_eq!([encoding("/login"), encoding("/home")], ["gzip, deflate"; 2]);
    let text = run.report("text").stdout;
    assert!(text.contains("order") && text.contains("log-in") && text.contains("pay"), "{text}");
}

#[test]
fn a_step_that_fails_ends_the_sequence_which_counts_once() {
    for (users, saved, expected) in [
        // The login is refused: no order is begun.
        ("nobody", "said.0.it", [("order", (0, 10)), ("log-in", (0, 10)), ("cart", (0, 0))]),
        // The response lacks a value that the next step needs.
        ("ann", "said.7.it", [("order", (0, 10)), ("log-in", (0, 10)), ("cart", (0, 0))]),
    ] {
        let (server, folder) = (Server::start(), tempfile::tempdir().expect("a folder"));
        let path = list(&server, folder.path());
        let text = fs::read_to_string(&path).expect("a list");
        fs::write(&path, text.replace("token = said.0.it", &format!("token = {saved}")))
            .expect("a list");
        let data = format!("user={users}");
        let run = measure(["http", "-f", &path, "-n", "20", "-c", "1", "--data", &data]);
        let counts = counts(&run);
        for (name, count) in expected {
            assert_eq!(counts[name], count, "{users}, {saved}: {counts:?}");
        }
        assert_eq!((counts["pay"], counts["home"]), ((0, 0), (10, 0)), "{counts:?}");
        let asked = server.whats().iter().filter(|it| it.contains("/shop/orders")).count();
        assert_eq!(asked, 0, "{saved}");
        if users == "ann" {
            let text = run.report("text").stdout;
            assert!(text.contains("nothing to save at said.7.it: {\"said\""), "{text}");
        }
    }
}

#[test]
fn at_a_rate_a_sequence_is_due_as_one_and_a_list_used_once_ends_the_run() {
    let (server, folder) = (Server::start(), tempfile::tempdir().expect("a folder"));
    let path = list(&server, folder.path());
    let text = fs::read_to_string(&path).expect("a list");
    fs::write(&path, text.split("home:").next().unwrap_or_default()).expect("a list");
    let users = folder.path().join("users.csv");
    let rows: Vec<_> = (0..25).map(|n| format!("\"user {n}\"")).collect();
    fs::write(&users, format!("name\n{}\n", rows.join("\n"))).expect("a file");
    let data =
        format!(r#"user={{"csv": "{}", "column": "name", "order": "once"}}"#, users.display());
    let words = ["http", "-f", &path, "-d", "10s", "-r", "100", "-c", "2", "--data", &data];
    let run = measure(words);
    let (begun, sequences) = (&run.stage("urls")["load"], run.operation("urls", "order"));
    assert_eq!((number(&begun["begun"]), number(&sequences["ok"])), (25, 25), "{sequences}");
    // All steps of a sequence use the same row, and no row is used twice.
    let seen = server.seen();
    let of = |what: &str| {
        let part = |it: &Seen| (it.what().contains(what)).then(|| it.clone());
        seen.iter().filter_map(part).collect::<Vec<_>>()
    };
    let mut first: Vec<String> = of("/login").iter().map(|it| it.body.clone()).collect();
    first.sort_unstable();
    let mut wanted: Vec<String> = (0..25).map(|n| format!("user=user%20{n}")).collect();
    wanted.sort_unstable();
    assert_eq!(first, wanted);
    for paid in of("PUT ") {
        let (path, by) = paid.path.split_once("?by=").expect("a user");
        let bearer = format!("Bearer token of {by}");
        assert_eq!(paid.header("authorization").replace("%20", " "), bearer.replace("%20", " "));
        assert!(path.starts_with("/shop/orders/"), "{path}");
    }
}

#[test]
fn a_stored_plan_has_its_sequences_and_says_which_headers_are_not_stored() {
    let (server, folder) = (Server::start(), tempfile::tempdir().expect("a folder"));
    let path = list(&server, folder.path());
    let words = ["http", "-f", &path, "-n", "4", "-c", "1", "--data", "user=ann"];
    let plan = folder.path().join("plan.json");
    let again = || Run::bare(&["run", plan.to_str().expect("UTF-8"), "-q"]).finish();
    let planned = Run::bare(&[&words[..], &["--dry-run"]].concat()).finish();
    assert!(!planned.stdout.contains("Bearer"), "{}", planned.stdout);
    fs::write(&plan, &planned.stdout).expect("a plan");
    again().refused(2, &["http.requests.1", "\"Authorization: ***\": the value is not stored"]);
    let text =
        planned.stdout.replace("Authorization: ***", "Authorization: Bearer {{saved token}}");
    fs::write(&plan, text.replace("If-Match: ***", "If-Match: {{saved tag}}")).expect("a plan");
    let run = again();
    assert!(matches!(run.code, 0 | 4 | 5), "{}", run.stderr);
    let whats = server.whats();
    let sequence =
        ["POST /shop/login", "POST /shop/orders", "PUT /shop/orders/0?by=ann", "GET /home"];
    assert_eq!(whats[..4], sequence);
    assert_eq!(whats.len(), 8, "{whats:?}");
    // A step without the one before it.
    let text = planned.stdout.replacen("\"sequence\": \"order\"", "\"sequence\": \"other\"", 1);
    fs::write(&plan, text).expect("a plan");
    again().refused(2, &["http.requests.1", "goes on with a sequence that has not begun"]);
}
