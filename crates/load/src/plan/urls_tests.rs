//! What each line of a list means, and the messages for invalid ones.

use super::*;
use proptest::prelude::*;
use std::fs;

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

fn filled(pattern: &Pattern) -> String {
    let mut out = Vec::new();
    pattern.write(&Values { seq: 7, random: [0; 16], int: 3 }, &mut out);
    String::from_utf8(out).unwrap()
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
        assert_eq!(filled(&request.target), target);
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
fn user_and_password_are_taken_out_of_the_address() {
    let request = one("http://me%40home:p%3Aw@h.example/x");
    assert_eq!(request.user, Some(("me@home".to_owned(), "p:w".to_owned())));
    let stored = serde_json::to_string(&request).unwrap();
    assert!(!stored.contains("p:w") && !stored.contains("home"), "{stored}");
}

#[test]
fn inline_bodies_are_sent_as_they_stand_and_their_type_is_told_by_what_they_are() {
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
        let text = request.body.as_ref().map(|it| filled(&it.pattern)).unwrap_or_default();
        assert_eq!((text.as_str(), request.content_type.as_deref()), (body, content_type));
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
    // Old sieges cut at 63,488 bytes and trim white space around text.
    let long = format!("[\n{}\n]\n", "1,".repeat(100_000) + "1");
    fs::write(path("d.json"), &long).unwrap();
    fs::write(path("with space.dat"), b"x\xff\n").unwrap();
    fs::write(path("s.json"), "{\"name\": \"\"}").unwrap();
    let request = one(&format!("http://h/ POST<{}", path("d.json")));
    let body = request.body.unwrap();
    assert_eq!((filled(&body.pattern), body.source), (long, path("d.json")));
    assert_eq!(request.content_type.as_deref(), Some("application/json"));
    let request = one(&format!("http://h/ POST < \"{}\"", path("with space.dat")));
    let mut out = Vec::new();
    request.body.unwrap().pattern.write(&Values { seq: 1, random: [0; 16], int: 1 }, &mut out);
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
    assert_eq!(filled(&requests[0].body.as_ref().unwrap().pattern), "price=$5&x=$y");
    let name = std::env::var("PATH").unwrap();
    assert_eq!(filled(&requests[1].target), format!("/db/{name}"));
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
        prop_assert_eq!(request.method, method);
        let server = Url::parse(&request.server).unwrap();
        prop_assert_eq!(server.port_or_known_default(), Some(port));
        let target = if path.is_empty() { "/" } else { path.as_str() };
        prop_assert_eq!(filled(&request.target), target);
        let stored = request.body.map(|it| filled(&it.pattern)).unwrap_or_default();
        prop_assert_eq!(stored, body.trim_end());
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
            let target = filled(&request.target);
            prop_assert!(target.starts_with('/') && target.bytes().all(|b| b.is_ascii_graphic()));
        }
    }
}
