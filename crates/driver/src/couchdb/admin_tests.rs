//! How an administrator logs in, and what users see if a server refuses.

use super::scripted_tests::{Answer, MISSING, Rule, TIMEOUT_NS, answers, open, scripted};
use super::{Admin, Credentials, TargetAsked};
use crate::login::{CHECK_LOG_IN, GIVE_PASSWORD, LOG_IN};
use crate::net::{Endpoint, TlsOptions};
use crate::{Auth, Existing};
use std::sync::Arc;

const GRANTED: Answer = ("200 OK\r\nSet-Cookie: AuthSession=new; Path=/", r#"{"ok":true}"#);
const OK: Answer = ("200 OK", r#"{"ok":true}"#);
const REFUSED: Answer = ("401 Unauthorized", r#"{"error":"unauthorized","reason":"No."}"#);
const FORBIDDEN: Answer = ("403 Forbidden", r#"{"error":"forbidden","reason":"No."}"#);

fn admin(url: &str, credentials: Credentials) -> Admin {
    let endpoint = Endpoint::resolve(&url.parse().unwrap(), &TlsOptions::default()).unwrap();
    Admin::new(&Arc::new(endpoint), credentials, TIMEOUT_NS)
}

fn cookie(password: &str) -> Credentials {
    let (name, password) = ("ann".to_owned(), password.to_owned());
    Credentials::Cookie { name, password, cookie: String::new() }
}

#[tokio::test]
async fn a_log_in_that_works_is_used_and_one_that_does_not_is_reported() {
    let sent = r#"POST /_session {"name":"ann","password":"secret"}"#;
    for (answer, wanted, then) in [
        (GRANTED, "", "GET /db [Cookie: AuthSession=new]"),
        // Without sessions the password is sent with each request.
        (MISSING, "", "GET /db [Authorization: Basic YW5uOnNlY3JldA==]"),
        (("405 Method Not Allowed", "{}"), "", "GET /db [Authorization: Basic YW5uOnNlY3JldA==]"),
        (("501 Not Implemented", "{}"), "", "GET /db [Authorization: Basic YW5uOnNlY3JldA==]"),
        (REFUSED, "to log in \"ann\": wrong name or password; check user", "GET /db"),
        (FORBIDDEN, "to log in \"ann\": locked out after too many wrong", "GET /db"),
        (OK, "answers 200 to POST /_session: no session cookie; try --auth basic", "GET /db"),
        (("500 Oops", r#"{"error":"x"}"#), "answers 500 to POST /_session: x; see the", "GET /db"),
    ] {
        let answers = answers([answer]);
        let server = scripted(vec![("POST /_session", answers)]);
        let mut admin = admin(&server.url, cookie("secret"));
        let message = admin.log_in().await.map_or_else(|it| it.to_string(), |()| String::new());
        assert_eq!(message.is_empty(), wanted.is_empty(), "{message}");
        assert!(message.contains(wanted), "{message}, not {wanted}");
        admin.request("GET", "/db", None).await.unwrap();
        assert_eq!(server.seen(), [sent, then], "{answer:?}");
    }
    let server = scripted(Vec::new());
    let basic = Credentials::Basic { name: "ann".to_owned(), password: "secret".to_owned() };
    admin(&server.url, basic).log_in().await.unwrap();
    assert!(server.seen().is_empty(), "it goes with each request");
}

#[tokio::test]
async fn what_to_do_about_a_refusal_depends_on_how_the_user_asked() {
    let basic = |password: &str| Credentials::Basic {
        name: "ann".to_owned(),
        password: password.to_owned(),
    };
    let proxy = Credentials::proxy("ann", "_admin", "secret".to_owned(), false);
    for (credentials, lines, wanted) in [
        (Credentials::None, "", LOG_IN),
        (Credentials::None, "authorization: Bearer x\r\n", "check the header Authorization"),
        (basic("secret"), "", CHECK_LOG_IN),
        (basic(""), "", GIVE_PASSWORD),
        (cookie("secret"), "", CHECK_LOG_IN),
        (cookie(""), "", GIVE_PASSWORD),
        (proxy, "", "check user, roles and secret"),
    ] {
        for answer in [REFUSED, FORBIDDEN] {
            let answers = answers([answer]);
            let server = scripted(vec![("GET /db", answers)]);
            let admin = admin(&server.url, credentials.clone());
            let lines = format!("{}{lines}", admin.lines());
            let mut admin = admin.with_lines(&lines);
            let message = admin.expect(&[200], "GET", "/db", None).await.unwrap_err().to_string();
            assert!(
                message.contains("GET /db") && message.contains(wanted),
                "{message}, not {wanted}"
            );
            assert!(
                message.contains("No;") || message.contains("(No)"),
                "what the server says: {message}"
            );
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_none_is_reported_with_what_to_check() {
    let not_http = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", not_http.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in not_http.incoming() {
            use std::io::Write as _;
            let _ = stream.unwrap().write_all(b"220 mail.example ESMTP\r\n");
        }
    });
    let closing = scripted(vec![("GET /db", &[("", "")])]);
    for (url, wanted) in [
        (&*url, "what answers is not an HTTP/1.1 server; check the port: is CouchDB running"),
        (&*closing.url, "the connection was closed without an answer; is CouchDB running there?"),
        ("http://127.0.0.1:1", "refuse"),
    ] {
        let answer = admin(url, Credentials::None).request("GET", "/db", None).await;
        let message = answer.unwrap_err().to_string();
        assert!(
            message.starts_with("cannot reach 127.0.0.1:") && message.contains(wanted),
            "{message}"
        );
    }
    // Nothing comes within the timeout.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap()).parse().unwrap();
    let endpoint = Arc::new(Endpoint::resolve(&url, &TlsOptions::default()).unwrap());
    let mut admin = Admin::new(&endpoint, Credentials::None, 20_000_000);
    let message = admin.request("GET", "/db", None).await.unwrap_err().to_string();
    assert!(message.contains("no answer within the timeout"), "{message}");
}

#[tokio::test]
async fn requests_have_the_headers_of_the_plan_and_share_a_connection_if_they_may() {
    let server = scripted(vec![("*", &[GRANTED, OK])]);
    let admin = admin(&server.url, cookie("secret")).kept_open();
    let mut admin = admin.with_more_lines("X-Test: 1\r\n");
    assert!(admin.lines().starts_with("Host: ") && admin.lines().ends_with("\r\nX-Test: 1\r\n"));
    admin.request("PUT", "/a", Some(b"{}")).await.unwrap();
    // An answer may bring a new cookie at any time.
    admin.request("HEAD", "/b", None).await.unwrap();
    let mut again = admin.again();
    again.request("GET", "/c", None).await.unwrap();
    let session = "[Cookie: AuthSession=new]";
    let wanted = [
        "PUT /a [X-Test: 1] {}".to_owned(),
        format!("HEAD /b [X-Test: 1] {session}"),
        format!("GET /c [X-Test: 1] {session}"),
    ];
    assert_eq!(server.seen(), wanted);
    assert_eq!(server.connections(), 2, "the other one has its own");
    again.request("GET", "/d", None).await.unwrap();
    assert_eq!(server.connections(), 3, "one for each request");
}

/// On a connection that the server has closed, what may have been done already is not done again.
#[tokio::test]
async fn only_questions_are_asked_again_on_a_new_connection() {
    for (method, again) in [("GET", true), ("PUT", false), ("POST", false)] {
        let server = scripted(vec![("*", &[OK, ("", ""), OK])]);
        let mut admin = admin(&server.url, Credentials::None).kept_open();
        admin.request(method, "/a", None).await.unwrap();
        let second = admin.request(method, "/a", None).await;
        assert_eq!(second.is_ok(), again, "{method}: {second:?}");
        assert_eq!(server.seen().len(), if again { 3 } else { 2 }, "{method}");
    }
}

#[tokio::test]
async fn a_plan_says_how_each_node_is_logged_in_to() {
    const WELCOME: Rule = ("GET /", &[("200 OK", r#"{"couchdb":"Welcome"}"#)]);
    for (auth, wanted) in [
        (Auth::Cookie, "POST /_session {\"name\":\"ann\",\"password\":\"se/cret\"}"),
        (Auth::Basic, "GET / [Authorization: Basic YW5uOnNlL2NyZXQ=]"),
        (Auth::Proxy, "GET /"),
    ] {
        let server = scripted(vec![("POST /_session", &[GRANTED]), WELCOME, ("GET /db", &[OK])]);
        let address = server.url.replace("//", "//ann:se%2Fcret@") + "/db";
        let asked = TargetAsked {
            auth,
            existing: Existing::Yes,
            headers: vec!["X-Test: 7".to_owned()],
            ..TargetAsked::at(&address)
        };
        let (_, facts) = open(&asked).await.unwrap();
        assert_eq!(facts.url, server.url, "without user and password");
        let seen = server.seen();
        assert_eq!(seen[0].replace(" [X-Test: 7]", ""), wanted);
        assert!(seen.iter().all(|it| it.contains(" [X-Test: 7]")), "{seen:?}");
    }
}
