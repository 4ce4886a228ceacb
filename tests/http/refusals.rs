//! Mistakes that are refused before anything is sent, with one line each and without a connection.

use crate::server::Server;
use crate::springload::springload;

#[test]
fn a_bad_line_is_named_and_nobody_connects() {
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("urls.txt");
    let name = file.to_str().expect("a name");
    let base = &server.url;
    for (text, words) in [
        (format!("{base}/a\n\n{base}/b FETCH\n"), vec![format!("{name}:3: "), "FETCH".into()]),
        (
            format!("# body\n{base}/a POST < gone.json\n"),
            vec![format!("{name}:2: "), "gone.json".into()],
        ),
        ("$(HOST_THAT_IS_NOT)/a\n".to_owned(), vec![format!("{name}:1: "), "HOST_THAT".into()]),
        ("# none\n".to_owned(), vec![format!("{name}: "), "no URL".into()]),
    ] {
        std::fs::write(&file, text).expect("a file");
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        for verb in [&["siege", "-r1", "-f"][..], &["http", "-n1", "-f"]] {
            springload([verb, &[name]].concat()).refused(2, &words);
        }
    }
    assert_eq!(server.connections(), 0);
}

#[test]
fn flags_that_make_no_sense_are_named() {
    let server = Server::start();
    let url = format!("{}/x", server.url);
    for (arguments, word) in [
        (&["siege"][..], "URL: there are no requests"),
        (&["siege", "-f", "/no/such/file"], "--file: cannot read /no/such/file"),
        (&["siege", "-R", "/no/such/rc", &url], "--rc: cannot read"),
        (&["siege", "-c0", "-r1", &url], "--concurrent: 0 is out of range"),
        (&["siege", "-r0", &url], "--reps: there is nothing to do"),
        (&["siege", "-t0S", &url], "--time: "),
        (&["siege", "-t5X", &url], "is not a time"),
        (&["siege", "-r1", "-H", "no header", &url], "--header: "),
        (&["siege", "-r1", "-H", "Content-Length: 3", &url], "--header: Content-Length"),
        (&["siege", "-r1", "-l/no/such/folder/x", &url], "--log: cannot write"),
        (&["http", "-n0", &url], "--ops: there is nothing to do"),
        (&["http", "--rate", "0", &url], "--rate: "),
        (&["http", "http://h/{{sec}}"], "{{seq}}"),
    ] {
        springload(arguments).refused(2, &[word]);
    }
    assert_eq!(server.connections(), 0);
}

#[test]
fn a_name_without_address_fails_before_the_first_request() {
    let server = Server::start();
    let urls = [format!("{}/x", server.url), "http://no-such-host.invalid/".to_owned()];
    springload(["http", "-n1", "-q", &urls[0], &urls[1]]).refused(3, &["no-such-host.invalid"]);
    assert_eq!(server.connections(), 0);
}

#[cfg(not(feature = "http2"))]
#[test]
fn http_2_is_refused_by_a_springload_that_was_built_without_it() {
    let words = ["--http2: this springload was built without it", "--features http2"];
    springload(["http", "--http2", "http://127.0.0.1:9"]).refused(2, &words);
}
