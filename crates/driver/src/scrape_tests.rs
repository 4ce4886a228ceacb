//! How exporters are requested, and how they answer.

use super::*;
use std::io::{Read, Write};

#[test]
fn a_name_and_a_url_are_an_exporter_and_its_password_is_not_stored() {
    let plan = ScrapePlan::of("db.1=https://ann:a%40b@h:1/metrics?format=1#y").unwrap();
    assert_eq!((&*plan.name, &*plan.url), ("db.1", "https://h:1/metrics?format=1"));
    assert_eq!(plan.login.password(), "a@b");
    assert!(plan.is_secure() && plan.problem().is_none());
    let stored = serde_json::to_string(&plan).unwrap();
    assert_eq!(stored, r#"{"name":"db.1","url":"https://h:1/metrics?format=1","user":"ann"}"#);
    for wrong in [
        "http://h",
        "=http://h",
        "a b=http://h",
        "http://h/?a=b",
        "a=h:1",
        "a=ftp://h",
        "a=http://u:***@h",
    ] {
        assert!(ScrapePlan::of(wrong).is_err(), "{wrong}");
    }
    for url in ["http://a:b@h/", "h", "http://h/\r\nX: y"] {
        let plan = ScrapePlan { url: url.to_owned(), ..plan.clone() };
        assert!(plan.problem().is_some(), "{url}");
    }
}

#[test]
fn what_may_be_secret_in_the_query_is_asked_with_but_not_stored() {
    let plan = ScrapePlan::of("a=http://h/metrics?key=s3cret&format=x").unwrap();
    assert_eq!(plan.url, "http://h/metrics?key=***&format=x");
    assert_eq!(plan.asked().unwrap().as_str(), "http://h/metrics?key=s3cret&format=x");
    assert!(plan.problem().is_none() && !plan.lacks_secret());
    let stored = serde_json::to_string(&plan).unwrap();
    assert!(!format!("{stored} {plan:?}").contains("s3cret"), "{stored} {plan:?}");
    // A rerun from the record lacks the secret.
    let again: ScrapePlan = serde_json::from_str(&stored).unwrap();
    assert!(again.problem().is_none() && again.lacks_secret());
    assert_eq!(again.asked().unwrap().as_str(), "http://h/metrics?format=x");
    // A stored flag without its secret is refused: the user can give it again.
    let (problem, _) = ScrapePlan::of("a=http://h/metrics?key=***").unwrap_err();
    assert!(problem.ends_with("was stored without what follows the ?"), "{problem}");
    for wrong in ["http://h?s3cret", "a=h:1?x=s3cret", "a=x://h/?x=s3cret#s3cret"] {
        let (problem, _) = ScrapePlan::of(wrong).unwrap_err();
        assert!(!problem.contains("s3cret"), "{problem}");
    }
    // An edited record is not repeated in the message either.
    let edited = r#"{"name":"a","url":"http://h?x=s3cret","user":null}"#;
    let edited: ScrapePlan = serde_json::from_str(edited).unwrap();
    assert!(edited.problem().is_some_and(|it| !it.contains("s3cret")), "{:?}", edited.problem());
}

/// Opens an exporter whose server answers every request with this. Also returns the request.
fn opened(answer: &'static str, user: &str) -> (Result<Scrape, TargetError>, String) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serving = std::thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        let mut request = [0; 1_024];
        let length = stream.read(&mut request).unwrap();
        stream.write_all(answer.as_bytes()).unwrap();
        String::from_utf8_lossy(&request[..length]).into_owned()
    });
    let plan = ScrapePlan::of(&format!("it=http://{user}{address}/metrics?a=b")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let opened = runtime.block_on(Scrape::open(&plan, &[], &TlsOptions::default(), 1_000));
    (opened, serving.join().unwrap())
}

#[test]
fn an_exporter_that_says_nothing_is_refused_with_words() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\na_b 1\n";
    let (opened, request) = opened(answer, "u:p@");
    assert!(opened.is_ok());
    assert!(request.starts_with("GET /metrics?a=b HTTP/1.1\r\nHost: 127.0.0.1:"), "{request}");
    assert!(request.contains("\r\nAuthorization: Basic dTpw\r\n"), "{request}");
    for (answer, user, words) in [
        ("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", "", "it answers 404; check the path"),
        ("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n", "", "wants a log-in; give user"),
        ("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n", "a:b@", "; check user and password"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>", "", "not a list of metrics"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n",
            "",
            "larger than --max-answer; allow for more",
        ),
    ] {
        let error = self::opened(answer, user).0.unwrap_err().0;
        assert!(error.starts_with("--observe-url it: http://127.0.0.1:"), "{error}");
        assert!(error.contains(words), "{error}");
    }
    // As in a stored plan.
    let refusing = "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n";
    let (opened, request) = self::opened(refusing, "ann@");
    assert!(opened.is_ok() && !request.contains("Authorization"), "{request}");
}
