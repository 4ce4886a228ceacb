//! A browser's recording becomes a list that sends the same requests.

use crate::server::Server;
use crate::springload::{measure, springload};
use serde_json::{Value, json};
use std::path::Path;

fn entry(method: &str, url: &str, body: &Value) -> Value {
    let mut request = json!({ "method": method, "url": url, "headers": [], "cookies": [] });
    if !body.is_null() {
        request["postData"] = body.clone();
    }
    json!({ "request": request, "response": { "status": 200 }, "time": 3.5 })
}

fn text(kind: &str, text: &str) -> Value {
    json!({ "mimeType": kind, "text": text })
}

/// Saves a recording of these entries, and returns its path.
fn recorded(folder: &Path, entries: &[Value]) -> String {
    let file = folder.join("session.har");
    let log = json!({ "log": { "version": "1.2", "creator": {}, "entries": entries } });
    std::fs::write(&file, log.to_string()).expect("a file");
    file.display().to_string()
}

#[test]
fn the_list_sends_what_was_recorded() {
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    let at = |path: &str| format!("{}{path}", server.url);
    let form = "application/x-www-form-urlencoded; charset=UTF-8";
    let fields = json!({ "mimeType": form, "params": [
        { "name": "a b", "value": "ü&{{x}}" }, { "name": "empty" },
    ] });
    let sent = [
        ("GET", "/", Value::Null, ""),
        ("GET", "/a?q=%7B%7Bx%7D%7D&cost=$(PRICE)&ref=$5#part", Value::Null, ""),
        ("GET", "/{{seq}}", Value::Null, ""),
        ("HEAD", "/head", Value::Null, ""),
        ("DELETE", "/gone", Value::Null, ""),
        ("POST", "/bare", Value::Null, ""),
        (
            "POST",
            "/graph",
            text("application/json", "{\n  \"query\": \"{{a}} $(B) \\\\{{\"\r\n}"),
            "{   \"query\": \"\\u007b\\u007ba}} $(B) \\\\\\u007b\\u007b\"  }",
        ),
        ("PUT", "/form", text(form, "a=1&b={{2}}"), "a=1&b=%7B%7B2}}"),
        ("PATCH", "/fields", fields, "a+b=%C3%BC%26%7B%7Bx%7D%7D&empty="),
        ("POST", "/plain", text("text/plain", "-T is no type, and \\$ no escape"), ""),
    ];
    let entries: Vec<Value> =
        sent.iter().map(|(method, path, body, _)| entry(method, &at(path), body)).collect();
    let har = recorded(folder.path(), &entries);
    let list = springload(["import", &har]);
    assert_eq!(list.code, 0, "{}", list.stderr);
    let file = folder.path().join("urls.txt");
    std::fs::write(&file, &list.stdout).expect("a file");
    let count = sent.len().to_string();
    let file = file.to_str().expect("a name");
    measure(["http", "-f", file, "-c", "1", "-n", &count, "--no-cookies"]);
    let seen = server.seen();
    assert_eq!(seen.len(), sent.len(), "{}", list.stdout);
    for (seen, (method, path, body, as_sent)) in seen.iter().zip(&sent) {
        let path = path.split('#').next().expect("a path").replace('{', "%7B").replace('}', "%7D");
        assert_eq!((&*seen.method, seen.path.replace('}', "%7D")), (*method, path));
        let as_recorded = body["text"].as_str().unwrap_or_default();
        assert_eq!(seen.body, if as_sent.is_empty() { as_recorded } else { as_sent });
        // The JSON that a server parses is the same.
        if body["mimeType"] == "application/json" {
            let read = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
            assert_eq!(read(&seen.body), read(as_recorded));
        }
        let kind = body["mimeType"].as_str().unwrap_or_default().replace("; ", ";");
        assert_eq!(seen.header("content-type"), kind, "{path}", path = seen.path);
    }
}

/// Load on third-party servers that a page also uses is never intended.
#[test]
fn other_servers_and_what_nobody_answered_are_left_out_and_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let shop = "https://ann:s3cret@shop.example";
    let many = (0..12).map(|n| entry("GET", &format!("https://ads{n}.example/"), &Value::Null));
    let mut entries: Vec<Value> = many.collect();
    entries.insert(0, entry("GET", &format!("{shop}/"), &Value::Null));
    entries.push(entry("GET", "https://api.example:8443/v1", &Value::Null));
    entries.push(entry("GET", "https://api.example:8443/v2", &Value::Null));
    entries.push(entry("GET", "data:text/plain,hello", &Value::Null));
    entries.push(entry("GET", "wss://shop.example/live", &Value::Null));
    entries.push(entry("POST", &format!("{shop}/up"), &text("text/plain", "two\nlines")));
    entries.push(entry("POST", &format!("{shop}/xml"), &text("text/xml", "<a/>")));
    entries.push(entry("POST", &format!("{shop}/typeless"), &text("", "-T is no type")));
    entries.push(entry("GET", &format!("{shop}/find"), &text("application/json", "{}")));
    entries.push(entry("PROPFIND", &format!("{shop}/dav"), &Value::Null));
    let mut cached = entry("GET", &format!("{shop}/logo.png"), &Value::Null);
    cached["_fromCache"] = json!("disk");
    let mut aborted = entry("GET", &format!("{shop}/slow"), &Value::Null);
    aborted["response"]["status"] = json!(0);
    entries.extend([cached, aborted]);
    for address in ["ws://shop.example/live", "data:text/plain,x", "/relative"] {
        entries.push(entry("GET", address, &Value::Null));
    }
    let har = recorded(folder.path(), &entries);
    let list = springload(["import", &har]).stdout.replace(&har, "session.har");
    assert!(!list.contains("s3cret"), "{list}");
    insta::assert_snapshot!("import_left_out", list);
    let more = springload([
        "import",
        &har,
        "--server",
        "https://shop.example",
        "--server",
        "https://api.example:8443",
    ]);
    assert!(
        more.stdout.ends_with(
            "\nURL = https://shop.example\nURL2 = https://api.example:8443\n\n\
         $(URL)/\n$(URL2)/v1\n$(URL2)/v2\n"
        ),
        "{}",
        more.stdout
    );
    assert!(!more.stdout.contains("s3cret"), "{}", more.stdout);
}

/// Chrome records a file that is sent as fields without the text, and so without the boundary.
#[test]
fn a_body_that_is_not_recorded_is_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let fields = |kind: &str| {
        let fields = json!([{"name": "a", "value": "b c"}]);
        json!({"mimeType": kind, "params": fields})
    };
    let parts = "multipart/form-data; boundary=x";
    let entries = [
        entry("POST", "http://a.example/parts", &fields(parts)),
        entry("POST", "http://a.example/form", &fields("application/x-www-form-urlencoded")),
        entry("POST", "http://a.example/text", &text(parts, "--x--")),
    ];
    let list = springload(["import", &recorded(folder.path(), &entries)]).stdout;
    let why = "POST http://a.example/parts: the text of its body is not in the recording";
    assert!(list.contains("# Left out: 1 request ") && list.contains(why), "{list}");
    let lines: Vec<_> = list.lines().filter(|line| line.starts_with("$(URL)")).collect();
    let [form, text] = lines[..] else { panic!("{list}") };
    assert!(form.starts_with("$(URL)/form POST") && form.ends_with("; a=b+c"), "{form}");
    assert!(text.starts_with("$(URL)/text POST") && text.ends_with("; --x--"), "{text}");
}

/// The list is parsed again: a name must not add a line to it, or control the terminal.
#[test]
fn a_name_is_one_line_of_the_list() {
    let folder = tempfile::tempdir().expect("a folder");
    let har = recorded(folder.path(), &[entry("GET", "http://a.example/", &Value::Null)]);
    let odd = folder.path().join("a\nURL = b\u{1b}[2J\u{202e}.har");
    std::fs::rename(har, &odd).expect("another name");
    let list = springload(["import", odd.to_str().expect("a name")]).stdout;
    let lines: Vec<_> = list.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines, ["", "URL = http://a.example", "", "$(URL)/"], "{list}");
    assert!(!list.contains(['\u{1b}', '\u{202e}']), "{list}");
}

#[test]
fn what_is_no_recording_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("it");
    let name = file.to_str().expect("a name");
    let refused = |text: &[u8]| {
        std::fs::write(&file, text).expect("a file");
        let run = springload(["import", name]);
        assert_eq!((run.code, &*run.stdout), (2, ""), "{}", run.stderr);
        run.stderr
    };
    for text in [&b""[..], b"{", b"[]", b"{\"log\":{}}", b"\xff", b"{\"log\":{\"entries\":[7]}}"] {
        let message = refused(text);
        assert!(
            message.contains("is not a HAR file") && message.contains("Save all as HAR"),
            "{message}"
        );
    }
    let message = refused(b"{\"log\":{\"entries\":[]}}");
    assert!(message.contains("has no request to a server"), "{message}");
    let entries = [
        entry("GET", "http://a.example/", &Value::Null),
        entry("GET", "https://b.example/", &Value::Null),
    ];
    let har = recorded(folder.path(), &entries);
    let run = springload(["import", &har, "--server", "http://nothere"]);
    let words = "has no request to http://nothere; it has some to http://a.example, https://b";
    assert!(run.code == 2 && run.stderr.contains(words), "{}", run.stderr);
    let run = springload(["import", "absent.har"]);
    assert!(run.code == 2 && run.stderr.contains("cannot read absent.har"), "{}", run.stderr);
    let run = springload(["import", name, "--server", "shop.example"]);
    assert!(run.code == 2 && run.stderr.contains("http://host:port"), "{}", run.stderr);
}
