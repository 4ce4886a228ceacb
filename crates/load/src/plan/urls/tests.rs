//! The meaning of each line of a list, and the messages for invalid ones.

use super::spell::FORM;
use super::*;
use crate::op::OpKind;
use crate::values::{DataPlan, Pieces, Values};
use proptest::prelude::*;
use std::fs;
use url::Url;

fn reader() -> UrlReader {
    UrlReader::default()
}

fn one(line: &str) -> RequestPlan {
    let mut reader = reader();
    let mut requests = reader.text("urls.txt", line);
    assert!(reader.mistakes.is_empty(), "{:?}", reader.mistakes);
    assert_eq!(requests.len(), 1, "{line:?}");
    requests.remove(0)
}

/// A piece of what a request sends, with `value` in its holes.
fn joined(pieces: &Pieces, request: &RequestPlan, value: &str) -> Vec<u8> {
    let (mut out, mut values) = (Vec::new(), Values::default());
    for _ in &request.text.holes.0 {
        values.push(|out| {
            out.extend_from_slice(value.as_bytes());
            value.parse::<u64>().is_err()
        });
    }
    pieces.join(&values, &mut Vec::new(), &mut out);
    out
}

fn target(request: &RequestPlan) -> String {
    String::from_utf8(joined(&request.text.target, request, "7")).unwrap()
}

fn body(request: &RequestPlan) -> String {
    String::from_utf8(joined(&request.text.body, request, "7")).unwrap()
}

fn mistakes(text: &str) -> Vec<String> {
    let mut reader = reader();
    reader.text("urls.txt", text);
    reader.mistakes.iter().map(ToString::to_string).collect()
}

#[test]
fn a_url_alone_is_a_get() {
    for (line, server, target) in [
        ("http://localhost/a/b?c=d", "http://localhost", "/a/b?c=d"),
        ("localhost:5984", "http://localhost:5984", "/"),
        ("https://h.example?x=1#part", "https://h.example", "/?x=1"),
        ("HTTP://h.example/a b", "", ""),
        ("h.example/go?to=http://other/", "http://h.example", "/go?to=http://other/"),
        ("http://[::1]:80/ü|{x}", "http://[::1]", "/%C3%BC%7C%7Bx%7D"),
        ("\"http://h.example/x\"", "http://h.example", "/x"),
        ("http://h.example/100%25", "http://h.example", "/100%25"),
    ] {
        if server.is_empty() {
            let found = mistakes(line);
            assert!(found[0].starts_with("urls.txt:1: \"b\" is not a method; "), "{found:?}");
            continue;
        }
        let request = one(line);
        assert_eq!((request.method.as_str(), request.server.as_str()), ("GET", server), "{line}");
        assert_eq!(super::tests::target(&request), target);
        assert_eq!((request.body, request.content_type, request.user), (None, None, None));
    }
}

#[test]
fn a_request_may_have_a_name() {
    for (line, name, path) in [
        ("log-in: http://h/login POST a: b", Some("log-in"), "/login"),
        ("home:  h.example/", Some("home"), "/"),
        ("h.example:80/x POST a: b", None, "/x"),
        ("localhost:5984/db POST {\"a\": 1}", None, "/db"),
    ] {
        let request = one(line);
        assert_eq!((request.name.map(OpKind::name), &request.path[..]), (name, path), "{line}");
    }
    let again: RequestPlan =
        serde_json::from_value(serde_json::to_value(one("home: h/")).unwrap()).unwrap();
    assert_eq!(again.name.map(OpKind::name), Some("home"));
    for (line, says) in [
        ("Home: http://h/", "\"Home\" is not the name of an operation"),
        ("read: http://h/", "read means something else already"),
        ("all: http://h/", "all means something else already"),
    ] {
        assert!(mistakes(line)[0].contains(says), "{:?}", mistakes(line));
    }
}

#[test]
fn steps_follow_each_other_and_take_what_those_before_have_saved() {
    let text = "http://h/a\norder {\n  post: http://h/b POST {\"n\":{{seq}}}\n  save id = id\n  \
                save tag = header ETag\n http://h/c/{{saved id}}\n  header If-Match: {{saved \
                tag}}\n}\npair {\nhttp://h/d\nhttp://h/e\n}\n";
    let mut reader = reader();
    let requests = reader.text("f", text);
    assert!(reader.mistakes.is_empty(), "{:?}", reader.mistakes);
    let summary = |it: &RequestPlan| (it.path.clone(), it.sequence.map(OpKind::name), it.follows);
    assert_eq!(
        requests.iter().map(summary).collect::<Vec<_>>(),
        [
            ("/a".to_owned(), None, false),
            ("/b".to_owned(), Some("order"), false),
            ("/c/{{saved id}}".to_owned(), Some("order"), true),
            ("/d".to_owned(), Some("pair"), false),
            ("/e".to_owned(), Some("pair"), true),
        ]
    );
    let places: Vec<_> = requests[1].save.iter().map(|(name, it)| format!("{name}={it}")).collect();
    assert_eq!(places, ["id=id", "tag=header ETag"]);
    let header = joined(&requests[2].text.headers, &requests[2], "x\r\ny: z");
    assert_eq!(header, b"If-Match: xy: z\r\n", "a value cannot begin another header");
    assert_eq!(joined(&requests[2].text.target, &requests[2], "a/b c"), b"/c/a%2Fb%20c");
    let stored = serde_json::to_string(&requests).unwrap();
    assert!(stored.contains("\"If-Match: ***\""), "{stored}");
}

#[test]
fn what_is_wrong_with_a_sequence_is_reported_with_its_line() {
    for (text, line, says) in [
        ("a {\nh/x\nh/y\n", 1, "the sequence a has no end; close it with a line }"),
        ("a {\nh/x\nb {\nh/y\n}", 3, "the sequence a has not ended"),
        ("h/x\n}", 2, "no sequence has begun"),
        ("a {\nh/x\n}", 3, "a has 1 requests; a sequence has 2 to 100"),
        ("all {\nh/x\n}", 1, "all means something else already"),
        ("A {\nh/x\n}", 1, "\"A\" is not the name of an operation"),
        ("save id = id", 1, "there is no request above it"),
        ("h/x\nsave id = id", 2, "nothing takes what is saved here; make it a step"),
        ("c {\nh/x\nsave id\nh/y\n}", 3, "it saves nothing; write it like save id = "),
        ("c {\nh/x\nsave a b = id\nh/y\n}", 3, "it saves nothing"),
        ("c {\nh/x\nsave a = 1\nsave a = 2\nh/y\n}", 4, "a is saved twice"),
        ("h/{{saved id}}", 1, "no step before saves {{saved id}}; write save id = PLACE below"),
        ("c {\nh/x\nh/{{saved id}}\nsave id = id\n}", 3, "no step before saves {{saved id}}"),
        ("c {\nh/x\nsave id = id\nh/y\n}\nh/{{saved id}}", 6, "no step before saves"),
        ("c {\nh/x\nsave b = id\nh/y\n}\nd {\nh/x\nh/{{saved b}}\n}", 8, "no step before"),
        ("h/x\nheader Content-Length: 3", 2, "Content-Length depends on the body"),
        ("h/x\nheader none", 2, "not a header; give it as 'Name: value'"),
        ("h/x\nheader X: {{saved id}}", 2, "no step before saves {{saved id}}"),
        ("h/{{key}}", 1, "{{key}} is of documents that a run has stored; give one of {{seq}}"),
        ("h/{{new}}", 1, "{{new}} is of documents that a run has stored"),
        ("h/{{int 5 1}}", 1, "the first number is the lower one"),
        ("h/{{sequence}}", 1, "no value is called {{sequence}}; give one of {{seq}}"),
    ] {
        let found = mistakes(text);
        let at = format!("urls.txt:{line}: ");
        assert!(found[0].starts_with(&at) && found[0].contains(says), "{text:?}: {found:?}");
    }
}

#[test]
fn a_value_is_written_as_its_place_in_the_body_asks() {
    let list = DataPlan::parse("Köln,a \"b\"").unwrap();
    let data = Data::from([("city".to_owned(), list)]);
    let mut reader = UrlReader { data, ..UrlReader::default() };
    let lines = "http://h/ POST {\"a\":{{city}},\"b\":\"in {{city}}\"}\n\
                 http://h/ POST city={{city}}&n={{int 1 5}}\nhttp://h/ PUT -T text/plain; {{city}}";
    let requests = reader.text("f", lines);
    assert!(reader.mistakes.is_empty(), "{:?}", reader.mistakes);
    let sent = |place: usize| {
        let request: &RequestPlan = &requests[place];
        String::from_utf8(joined(&request.text.body, request, "a \"b\"")).unwrap()
    };
    assert_eq!(sent(0), r#"{"a":"a \"b\"","b":"in a \"b\""}"#);
    assert_eq!(sent(1), "city=a%20%22b%22&n=a%20%22b%22");
    assert_eq!(sent(2), "a \"b\"");
    let mut literal = UrlReader { literal: true, ..UrlReader::default() };
    let requests = literal.text("f", "http://h/{{seq}} POST {\"a\":{{city}}}");
    assert_eq!(
        (&target(&requests[0])[..], &body(&requests[0])[..]),
        ("/%7B%7Bseq%7D%7D", "{\"a\":{{city}}}")
    );
    assert!(requests[0].literal);
}

#[test]
fn user_and_password_are_taken_out_of_the_address() {
    let request = one("http://me%40home:p%3Aw@h.example/x");
    assert_eq!(request.user, Some(("me@home".to_owned(), "p:w".to_owned())));
    let stored = serde_json::to_string(&request).unwrap();
    assert!(!stored.contains("p:w") && !stored.contains("home"), "{stored}");
}

#[test]
fn inline_bodies_are_sent_as_they_stand_and_their_type_is_guessed() {
    for (line, body, content_type) in [
        ("http://h/ POST a=b&c=\"d e\"", "a=b&c=\"d e\"", Some(FORM)),
        ("http://h/ PUT   {\"a\": [1]}", "{\"a\": [1]}", Some("application/json")),
        ("http://h/ POST {\"n\":{{seq}}}", "{\"n\":7}", Some("application/json")),
        ("http://h/ POST {broken", "{broken", Some(FORM)),
        ("http://h/ PATCH -T text/x; hello", "hello", Some("text/x")),
        ("http://h/ POST -T text/x", "", Some("text/x")),
        ("http://h/ DELETE", "", None),
    ] {
        let request = one(line);
        assert_eq!(
            (super::tests::body(&request).as_str(), request.content_type.as_deref()),
            (body, content_type)
        );
    }
    let mut reader = UrlReader { content_type: Some("a/b".to_owned()), ..UrlReader::default() };
    let requests = reader.text("f", "http://h/ POST {}\nhttp://h/ POST -T c/d; {}\nhttp://h/");
    let types: Vec<_> = requests.iter().map(|it| it.content_type.as_deref()).collect();
    assert_eq!(types, [Some("a/b"), Some("c/d"), None]);
}

#[test]
fn bodies_come_from_files_whole_and_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    // Old versions of siege cut at 63,488 bytes and trim white space around text.
    let long = format!("[\n{}\n]\n", "1,".repeat(100_000) + "1");
    fs::write(path("d.json"), &long).unwrap();
    fs::write(path("with space.dat"), b"x\xff\n").unwrap();
    fs::write(path("s.json"), "{\"name\": \"\"}").unwrap();
    let request = one(&format!("http://h/ POST<{}", path("d.json")));
    let source = request.body.as_ref().map(|it| it.source.clone());
    assert_eq!((body(&request), source), (long, Some(path("d.json"))));
    assert_eq!(request.content_type.as_deref(), Some("application/json"));
    let request = one(&format!("http://h/ POST < \"{}\"", path("with space.dat")));
    let out = joined(&request.text.body, &request, "");
    assert_eq!((&out[..], request.content_type.as_deref()), (&b"x\xff\n"[..], Some(FORM)));
    let mut reader = reader();
    let requests = reader.text("f", &format!("http://h/ POST < schema:{}", path("s.json")));
    assert_eq!((requests[0].body.as_ref().unwrap().schema, reader.schemas.len()), (Some(0), 1));
}

#[test]
fn variables_come_from_the_file_or_the_environment() {
    let text = "# comment\n\nHOST = h.example:81\nROOT=http://$(HOST)/db\n\
                ${ROOT}/a POST price=\\$5&x=$y\n$(ROOT)/$(PATH)\n";
    let mut reader = reader();
    let requests = reader.text("f", text);
    assert!(reader.mistakes.is_empty(), "{:?}", reader.mistakes);
    assert_eq!(requests[0].server, "http://h.example:81");
    assert_eq!(body(&requests[0]), "price=$5&x=$y");
    let name = std::env::var("PATH").unwrap();
    assert_eq!(target(&requests[1]), format!("/db/{name}"));
}

#[test]
fn every_bad_line_is_named_with_its_cure() {
    let text = "http://h/\nhttp://h/ FETCH\nhttp:///x\nftp://h/x\n$(NOWHERE_TO_BE_FOUND)/\n\
                http://h/{{sequence}}\nhttp://h/ GET x\nhttp://h/ POST < /no/such.json\n\
                http://h/ POST <\n\"http://h/\nhttp://h-{{seq}}/\n${HALF\n";
    let found = mistakes(text);
    let lines = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
    assert_eq!(found.len(), lines.len(), "{found:#?}");
    for (mistake, line) in found.iter().zip(lines) {
        assert!(mistake.starts_with(&format!("urls.txt:{line}: ")), "{mistake}");
        assert!(mistake.contains("; ") && !mistake.contains('\n'), "{mistake}");
    }
    assert!(found[6].contains("/no/such.json"), "{}", found[6]);
    assert_eq!(mistakes("# nothing\n").len(), 1);
}

#[test]
fn a_password_is_never_part_of_a_message() {
    let found = mistakes("http://me:secret@:x/\n");
    assert!(!found[0].contains("secret"), "{}", found[0]);
}

proptest! {
    #[test]
    fn what_is_written_is_what_is_read(
        host in "[a-z]{1,8}", port in 1u16.., path in "(/[a-z0-9._~-]{0,6}){0,4}",
        method in prop::sample::select(&METHODS[2..]), body in "[!-#%-;=-z~][ -#%-z~]{0,30}",
        gap in " {1,3}",
    ) {
        prop_assume!(!body.starts_with("-T"));
        let line = format!("http://{host}:{port}{path}{gap}{method}{gap}{body}");
        let request = one(&line);
        prop_assert_eq!(&request.method, method);
        let server = Url::parse(&request.server).unwrap();
        prop_assert_eq!(server.port_or_known_default(), Some(port));
        let target = if path.is_empty() { "/" } else { path.as_str() };
        prop_assert_eq!(super::tests::target(&request), target);
        prop_assert_eq!(super::tests::body(&request), body.trim_end());
    }

    #[test]
    fn no_line_makes_it_panic_and_each_is_a_request_a_variable_or_a_mistake(
        line in "[ -~ü]{0,60}",
    ) {
        let mut reader = reader();
        let requests = reader.text("f", &line);
        let line = line.trim();
        let silent = line.is_empty() || line.starts_with('#') || assignment(line).is_some();
        prop_assert!(requests.len() + reader.mistakes.len() == 1 || silent, "{line:?}");
        for request in requests {
            let target = target(&request);
            prop_assert!(target.starts_with('/') && target.bytes().all(|b| b.is_ascii_graphic()));
        }
    }
}
