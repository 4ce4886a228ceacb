//! What is sent: redirects, cookies, logins, headers, connections, and each request's data.

use crate::server::{Seen, Server};
use crate::springload::{Finished, Running, measure, number, springload};
use std::time::Duration;

/// Runs `springload siege` with these arguments.
fn siege(arguments: &[&str]) -> Finished {
    measure([&["siege"], arguments].concat())
}

/// The number of responses per status.
fn statuses(finished: &Finished) -> Vec<(String, u64)> {
    let operation = finished.operation("urls", "request");
    let statuses = operation["statuses"].as_object().cloned().unwrap_or_default();
    statuses.iter().map(|(status, count)| (status.clone(), number(count))).collect()
}

fn counts(pairs: &[(&str, u64)]) -> Vec<(String, u64)> {
    pairs.iter().map(|(status, count)| ((*status).to_owned(), *count)).collect()
}

#[test]
fn redirects_are_followed_by_the_rules_of_each_status() {
    for (status, method, sent) in [
        ("301", "POST", "GET"),
        ("302", "POST", "GET"),
        ("303", "POST", "GET"),
        ("303", "PUT", "GET"),
        ("302", "PUT", "PUT"),
        ("307", "POST", "POST"),
        ("308", "PUT", "PUT"),
    ] {
        let server = Server::start();
        let url = format!("{}/redirect/{status} {method} {{\"a\":1}}", server.url);
        let finished = siege(&["-c1", "-r2", &url]).passed();
        let first = format!("{method} /redirect/{status}");
        let second = format!("{sent} /landed");
        assert_eq!(server.whats(), [&first, &second, &first, &second].map(String::as_str));
        let landed = &server.seen()[1];
        let kept = sent == method;
        assert_eq!(landed.body, if kept { "{\"a\":1}" } else { "" });
        let content_type = if kept { "application/json" } else { "" };
        assert_eq!(landed.header("content-type"), content_type);
        assert_eq!(statuses(&finished), counts(&[("200", 2), (status, 2)]));
        let operation = finished.operation("urls", "request");
        assert_eq!((number(&operation["ok"]), number(&operation["bytes_received"])), (2, 20));
    }
}

#[test]
fn what_was_created_is_not_fetched() {
    let server = Server::start();
    let url = format!("{}/redirect/201?/landed POST {{}}", server.url);
    let finished = siege(&["-c2", "-r3", &url]).passed();
    assert_eq!(server.whats(), vec!["POST /redirect/201?/landed"; 6]);
    assert_eq!(statuses(&finished), counts(&[("201", 6)]));
    assert!(
        finished.stdout.contains("Transactions:\t\t           6 hits\n"),
        "{}",
        finished.stdout
    );
}

#[test]
fn redirects_stay_where_they_are_if_asked_for_and_do_not_go_round_for_ever() {
    let server = Server::start();
    let url = format!("{}/redirect/302", server.url);
    let finished = siege(&["-c1", "-r2", "--no-follow", &url]).passed();
    assert_eq!(server.whats(), vec!["GET /redirect/302"; 2]);
    assert_eq!(statuses(&finished), counts(&[("302", 2)]));
    let server = Server::start();
    let finished = siege(&["-c1", "-r1", &format!("{}/loop", server.url)]);
    assert_eq!((finished.code, server.seen().len()), (3, 11));
    assert_eq!(finished.operation("urls", "request")["failures"]["protocol"], 1);
    assert!(finished.stderr.contains("more than 10 redirects"), "{}", finished.stderr);
    for place in ["javascript:alert(1)", "http://["] {
        let server = Server::start();
        let finished = siege(&["-c1", "-r1", &format!("{}/redirect/302?{place}", server.url)]);
        assert_eq!((finished.code, server.seen().len()), (3, 1), "{place}");
        let why = "its Location is not an address of HTTP";
        assert!(finished.stderr.contains(why), "{place}: {}", finished.stderr);
    }
}

#[test]
fn another_server_is_followed_to_but_told_no_password() {
    let (first, second) = (Server::start(), Server::start());
    let target = format!("{}/there?x=1", second.url);
    let own = first.url.replace("http://", "http://me:secret@");
    let url = format!("{own}/redirect/302?{target}");
    let finished = siege(&["-c2", "-r3", "-H", "X-Token: hush", &url]).passed();
    assert_eq!(second.whats(), vec!["GET /there?x=1"; 6]);
    assert!(second.seen().iter().all(|seen| seen.all("x-token").is_empty()));
    assert!(first.seen().iter().all(|seen| seen.all("x-token") == ["hush"]));
    assert!(!finished.record.to_string().contains("hush"), "the header is on record");
    assert!(second.seen().iter().all(|seen| seen.all("authorization").is_empty()));
    // "me:secret" in base64.
    let basic = |seen: &Seen| seen.header("authorization") == "Basic bWU6c2VjcmV0";
    assert_eq!(first.seen().iter().filter(|seen| basic(seen)).count(), 6);
    let stored = finished.record.to_string() + &finished.stdout;
    assert!(!stored.contains("secret"), "the password is on record");
}

#[test]
fn method_and_body_of_the_command_line_are_for_urls_without() {
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("doc.json");
    std::fs::write(&file, "{\"b\":2}").expect("a file");
    let from_file = format!("@{}", file.display());
    let url = format!("{}/x", server.url);
    let own = format!("{url} PUT own");
    let one = ["http", "-n1", "-c1"];
    let tries: [(&[&str], &str, &str); 5] = [
        (&["-X", "DELETE", &url], "DELETE /x", ""),
        (&["--body", "{\"a\":1}", &url], "POST /x", "{\"a\":1}"),
        (&["-X", "PATCH", "--body", &from_file, &url], "PATCH /x", "{\"b\":2}"),
        (&["-X", "PATCH", "--body", "other", &own], "PUT /x", "own"),
        (&["--body", "< no file", &url], "POST /x", "< no file"),
    ];
    for (arguments, what, body) in tries {
        measure([&one[..], arguments].concat()).passed();
        let seen = server.seen().pop().expect("a request");
        assert_eq!((seen.what().as_str(), seen.body.as_str()), (what, body));
    }
}

#[test]
fn each_user_has_cookies_of_its_own() {
    let server = Server::start();
    siege(&["-c3", "-r4", &format!("{}/cookie", server.url)]).passed();
    let seen = server.seen();
    let mut sent: Vec<&str> = seen.iter().map(|seen| seen.header("cookie")).collect();
    sent.sort_unstable();
    sent.dedup();
    // One request of each user without a cookie, three with its own; none with the other path's.
    assert_eq!(seen.iter().filter(|seen| seen.header("cookie").is_empty()).count(), 3);
    assert_eq!((sent.len(), seen.len()), (4, 12));
    assert!(sent[1..].iter().all(|cookie| cookie.starts_with("user=u")), "{sent:?}");
    let server = Server::start();
    let url = format!("{}/cookie", server.url);
    measure(["http", "-c2", "-n8", "--no-cookies", &url]).passed();
    assert!(server.seen().iter().all(|seen| seen.all("cookie").is_empty()));
}

#[test]
fn each_user_logs_in_once_and_that_is_not_measured() {
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    let rc = folder.path().join("siege.conf");
    let text = format!(
        "concurrent = 4\nreps = 5\nURL = {}\nlogin-url = $(URL)/cookie POST user=1\n\
         login-url = $(URL)/cookie POST user=2\nurl = $(URL)/private\nverbose = false\n",
        server.url
    );
    std::fs::write(&rc, text).expect("a file");
    let finished = siege(&["-R", rc.to_str().expect("a name")]).passed();
    let bodies = |body: &str| server.seen().iter().filter(|seen| seen.body == body).count();
    assert_eq!((bodies("user=1"), bodies("user=2"), server.seen().len()), (2, 2, 24));
    assert_eq!(statuses(&finished), counts(&[("200", 20)]));
}

#[test]
fn a_login_that_is_refused_ends_the_run() {
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    let rc = folder.path().join("siege.conf");
    std::fs::write(&rc, format!("login-url = {}/status/403\n", server.url)).expect("a file");
    let url = format!("{}/x", server.url);
    let finished = siege(&["-c2", "-r5", "-R", rc.to_str().expect("a name"), &url]);
    assert_eq!(finished.code, 3, "{}", finished.stderr);
    assert!(server.whats().iter().all(|what| what == "GET /status/403"));
}

#[test]
fn headers_are_sent_once_and_a_body_of_json_is_called_so() {
    let server = Server::start();
    let url = format!("{}/x POST {{\"a\":1}}", server.url);
    let more = ["-H", "Accept: text/html", "-H", "X-One: 1", "-A", "me/1.0", "-H", "Cookie: k=v"];
    let finished = siege(&[&["-c1", "-r1"], &more[..], &[&url]].concat()).passed();
    let seen = &server.seen()[0];
    for (name, value) in [
        ("accept", "text/html"),
        ("x-one", "1"),
        ("user-agent", "me/1.0"),
        ("content-type", "application/json"),
        ("content-length", "7"),
        ("connection", "close"),
        ("cookie", "k=v"),
        ("host", server.url.trim_start_matches("http://")),
    ] {
        assert_eq!(seen.all(name), [value], "{name}");
    }
    let record = finished.record.to_string();
    assert!(record.contains("Cookie: ***") && !record.contains("k=v"), "a secret is on record");
    let own = ["-H", "Content-Type: a/b"];
    siege(&[&["-c1", "-r1"], &own[..], &[&url]].concat()).passed();
    assert_eq!(server.seen()[1].all("content-type"), ["a/b"]);
}

#[test]
fn connections_are_kept_or_not_as_asked() {
    for (arguments, connections) in [
        // Before the run, one more connection without a request checks that the server is there.
        (&["siege", "-c3", "-r4"][..], 1 + 12),
        (&["http", "-c3", "-n12"], 1 + 3),
        (&["http", "-c3", "-n12", "--close"], 1 + 12),
    ] {
        let server = Server::start();
        let url = format!("{}/x", server.url);
        measure([arguments, &[&url]].concat()).passed();
        assert_eq!((server.connections(), server.seen().len()), (connections, 12), "{arguments:?}");
    }
}

#[test]
fn what_is_refused_or_broken_has_failed() {
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("urls.txt");
    let line = |status| format!("{}/status/{status}\n", server.url);
    let text: String = [200, 204, 400, 401, 403, 404, 409, 429, 500, 503].map(line).concat();
    std::fs::write(&file, text).expect("a file");
    let name = file.to_str().expect("a name");
    let finished = siege(&["-c1", "-r20", "-j", "-f", name]);
    let operation = finished.operation("urls", "request");
    assert_eq!((number(&operation["ok"]), number(&operation["requests"])), (4, 20));
    assert_eq!(statuses(&finished).iter().map(|(_, count)| count).sum::<u64>(), 20);
    let failures = serde_json::json!({
        "conflict": 2, "not_found": 2, "too_many_requests": 2, "rejected": 6, "server_error": 4,
    });
    assert_eq!(operation["failures"], failures);
    let figures: serde_json::Value = serde_json::from_str(&finished.stdout).expect("JSON");
    assert_eq!(figures["transactions"], 4);
    assert_eq!(figures["failed_transactions"], 16);
    assert_eq!(figures["availability"], 20.0);
    // More than a tenth failed because of the server.
    assert_eq!(finished.code, 5);
}

#[test]
fn answers_of_caches_and_requests_to_wait_are_counted_and_reported() {
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("urls.txt");
    let cached = ["age=17", "x-cache=TCP_HIT", "cache-status=Edge;hit", "cf-cache-status=hit"];
    let fresh = ["age=0", "x-cache=MISS", "x-cache=white", "cache-status=Edge;fwd=miss", "via=hit"];
    let line = |name: &str, headers: &[&str]| -> String {
        let lines = headers.iter().map(|it| format!("{name}: {}/with/200?{it}\n", server.url));
        lines.collect::<Vec<_>>().concat()
    };
    let busy = format!("busy: {}/with/429?retry-after=30\n", server.url);
    let text = [line("cached", &cached), line("fresh", &fresh), busy].concat();
    std::fs::write(&file, text).expect("a file");
    let run = measure(["http", "-f", file.to_str().expect("a name"), "-c", "1", "-n", "20"]);
    let counts = |kind, name: &str| number(&run.operation("urls", kind)[name]);
    assert_eq!((counts("cached", "requests"), counts("cached", "from_cache")), (8, 8));
    assert!(run.operation("urls", "fresh")["from_cache"].is_null());
    assert_eq!((counts("busy", "retry_after"), counts("busy", "requests")), (2, 2));
    let report = run.full_report();
    assert!(report.contains("8 of 8 answers to cached came from a cache on the way"), "{report}");
    assert!(report.contains("2 of 2 answers to busy asked to wait"), "{report}");
    assert!(!report.contains("answers to fresh"), "{report}");
    let csv = run.report("csv").stdout;
    assert!(csv.lines().next().expect("a head").ends_with("from_cache,retry_after"), "{csv}");
}

#[test]
fn compressed_answers_are_decoded_if_asked_for() {
    let server = Server::start();
    let run = |path: &str, more: &[&str]| {
        let url = format!("{}/{path}", server.url);
        measure([&["http", &url, "-c", "1", "-n", "4"], more].concat())
    };
    let login = "shop/login POST user=ann";
    for (path, more, ok) in [
        (login, &["--decode"][..], 4),
        ("hello", &["--decode"], 4),
        ("hello", &["--decode", "-X", "HEAD"], 4),
        ("damaged", &[], 4),
        ("damaged", &["--decode"], 0),
    ] {
        let run = run(path, more);
        assert_eq!(number(&run.operation("urls", "request")["ok"]), ok, "{path} {more:?}");
        let reported = run.stdout.contains("the body cannot be decoded as gzip: ");
        assert_eq!(reported, ok == 0, "{}", run.stdout);
    }
    // The received bytes are those on the wire, before decoding.
    let bytes = |encoding: &str| {
        let run = run(login, &["--decode", "-H", &format!("Accept-Encoding: {encoding}")]);
        number(&run.operation("urls", "request")["bytes_received"])
    };
    assert_ne!(bytes("gzip"), bytes("identity"));
    let stored = run("damaged", &["--decode"]);
    let plan = stored.output().join("run.json");
    let again = measure(["run", &plan.display().to_string()]);
    assert_eq!(number(&again.operation("urls", "request")["ok"]), 0, "{}", again.stdout);
}

#[test]
fn data_of_each_request_is_its_own_and_the_same_for_any_number_of_threads() {
    let run = |threads: &str| {
        let server = Server::start();
        let url =
            format!("{}/{{{{seq}}}}/{{{{uuid}}}} PUT {{{{random.int}}}} {{{{seq}}}}", server.url);
        let arguments = ["http", "-c4", "-n40", "--seed=7", "--threads", threads, &url];
        measure(arguments).passed();
        let mut seen: Vec<_> = server.seen().into_iter().map(|s| (s.path, s.body)).collect();
        seen.sort();
        seen
    };
    let (one, three) = (run("1"), run("3"));
    assert_eq!(one, three);
    let mut numbers: Vec<u64> = one
        .iter()
        .map(|(path, body)| {
            let number = path.split('/').nth(1).expect("a number");
            assert_eq!(body.split(' ').nth(1), Some(number));
            number.parse().expect("a number")
        })
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=40).collect::<Vec<_>>());
    let identifiers: std::collections::BTreeSet<_> =
        one.iter().map(|(path, _)| path.split('/').nth(2)).collect();
    assert_eq!(identifiers.len(), 40);
}

#[test]
fn a_list_is_walked_through_or_picked_from() {
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("urls.txt");
    let text = (0..10).map(|n| format!("{}/{n}", server.url)).collect::<Vec<_>>().join("\n");
    std::fs::write(&file, text).expect("a file");
    let name = file.to_str().expect("a name");
    siege(&["-c1", "-r10", "-f", name]).passed();
    let once = server.whats();
    assert_eq!(once, (0..10).map(|n| format!("GET /{n}")).collect::<Vec<_>>());
    siege(&["-c1", "-r60", "-i", "--seed=42", "-f", name]).passed();
    let random = &server.whats()[10..];
    assert_ne!(random[..10], once);
    assert!(once.iter().all(|what| random.contains(what)), "{random:?}");
}

#[test]
fn documents_are_made_from_schemas() {
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    let schema = folder.path().join("s.json");
    std::fs::write(&schema, "{\"name\": \"\", \"n\": 1}").expect("a file");
    let url = format!("{}/db POST < schema:{}", server.url, schema.display());
    measure(["http", "-c2", "-n6", &url]).passed();
    let mut bodies: Vec<_> = server.seen().into_iter().map(|seen| seen.body).collect();
    for body in &bodies {
        let document: serde_json::Value = serde_json::from_str(body).expect("JSON");
        assert!(document["name"].is_string() && document["n"].is_i64(), "{body}");
    }
    bodies.sort();
    bodies.dedup();
    assert_eq!(bodies.len(), 6);
}

#[test]
fn a_rate_is_kept_and_a_threshold_judged() {
    let server = Server::start();
    let url = format!("{}/x", server.url);
    let limit = ["--fail-if", "request.err > 0%"];
    let finished = measure([&["http", "-r100", "-d1s", "-c4"], &limit[..], &[&url]].concat());
    assert_eq!(server.seen().len(), 100);
    assert_eq!(finished.stage("urls")["load"]["offered"], 100);
    assert!(finished.stdout.contains("✓ request errors ≤ 0 %: met, 0 %"), "{}", finished.stdout);
    assert!(finished.stdout.contains("status 200: 100\n"), "{}", finished.stdout);
}

#[test]
fn each_request_has_a_line_and_the_log_a_line_for_each_run() {
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    let (log, out) = (folder.path().join("x.log"), folder.path().join("out"));
    let (log_flag, out) = (format!("-l{}", log.display()), out.display().to_string());
    let url = format!("{}/x POST a=1", server.url);
    for mark in ["first", "second"] {
        let arguments = ["siege", "-c1", "-r3", "-v", "-m", mark, &log_flag, "-o", &out, &url];
        let finished = springload(arguments);
        assert!(matches!(finished.code, 0 | 5), "{}", finished.stderr);
        let line = format!("5 bytes ==> POST {}/x\n", server.url);
        assert_eq!(finished.stdout.matches(&line).count(), 3, "{}", finished.stdout);
        assert!(finished.stdout.starts_with("HTTP/1.1 200 "), "{}", finished.stdout);
    }
    let log = std::fs::read_to_string(log).expect("a log");
    let lines: Vec<_> = log.lines().collect();
    assert_eq!((lines.len(), lines[1], lines[3]), (5, "**** first ****", "**** second ****"));
    assert!(lines[0].starts_with("      Date & Time,  Trans,  Elap Time,"), "{log}");
    let fields = |line: &str| line.split(',').map(|it| it.trim().to_owned()).collect::<Vec<_>>();
    assert_eq!(fields(lines[0]).len(), 10);
    assert_eq!((&fields(lines[2])[1], &fields(lines[2])[9]), (&"3".to_owned(), &"0".to_owned()));
}

#[test]
fn without_an_end_it_goes_on_until_it_is_lifted_and_reports_in_full() {
    let server = Server::start();
    let url = format!("{}/x", server.url);
    let running = Running::start(["siege", "-c3", &url]);
    for _ in 0..3000 {
        if server.seen().len() >= 30 {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    running.interrupt();
    let finished = running.finish();
    assert_eq!((finished.code, &finished.record["partial"]), (130, &true.into()));
    let hits = format!("Transactions:\t\t{:12} hits\n", server.seen().len());
    assert!(finished.stdout.contains(&hits), "{}", finished.stdout);
}
