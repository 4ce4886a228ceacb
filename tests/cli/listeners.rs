//! Listeners are open to this machine only, unless a flag admits others.

use crate::springload::{Run, Running, springload};
use springload::embedded::{Mode, Options, StandIn, bind};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

#[test]
fn an_address_for_others_wants_a_password_or_a_flag() {
    for place in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        springload(["serve", "--listen", place])
            .refused(2, &["--listen: other machines", place, "--admin USER:PASSWORD", "--public"]);
        springload(["serve", "--null", "--listen", place])
            .refused(2, &["--listen: other machines"]);
        let run = ["run", "--docs", "5", "--ops", "5", "--metrics", place];
        springload(run).refused(2, &["--metrics: whoever can reach", place, "--metrics-public"]);
    }
    // The flag is all that is missing.
    let words = ["run", "--docs", "5", "--ops", "5", "-c", "1", "--metrics", "0.0.0.0:0"];
    let run = Run::of(&[&words[..], &["--metrics-public"]].concat()).finish().passed();
    assert!(run.stderr.contains("metrics: http://0.0.0.0:"), "{}", run.stderr);
    // 192.0.2.1 is not an address of this machine: listening is attempted, with a password and
    // without.
    for let_in in [&["--admin", "ann:pw"][..], &["--public"]] {
        let words = [&["serve", "--listen", "192.0.2.1:0"][..], let_in].concat();
        springload(words).refused(2, &["--listen: cannot listen on 192.0.2.1:0"]);
    }
}

/// Requests that never end: an empty one, a head, a body, and one after a whole request.
const SLOW: [&str; 4] = [
    "GET / HT",
    "GET / HTTP/1.1\r\nHost: h\r\nX: ",
    "PUT /db/a HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n{",
    "GET / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nX",
];

fn connected(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
    stream
}

/// Asserts that a server closes a connection on which bytes keep trickling in.
#[track_caller]
fn is_dropped(mut stream: TcpStream, about: &str) {
    stream.set_read_timeout(Some(Duration::from_millis(50))).expect("a time");
    let mut buffer = [0; 4096];
    for _ in 0..1_000 {
        let sent = stream.write_all(b"x");
        match stream.read(&mut buffer) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        if sent.is_err() {
            return;
        }
    }
    panic!("{about}: still open");
}

#[test]
fn who_never_ends_a_request_is_dropped() {
    for mode in [Mode::Couch, Mode::Null] {
        let options = Options { mode, patience: Duration::from_millis(300), ..Options::default() };
        let server = StandIn::start(bind("127.0.0.1:0").expect("a port"), options);
        let server = server.expect("it starts");
        let address = server.address().to_string();
        for text in SLOW {
            let mut stream = connected(&address);
            stream.write_all(text.as_bytes()).expect("it reads");
            is_dropped(stream, &format!("{mode:?} {text:?}"));
        }
    }
}

#[test]
fn connections_beyond_the_most_wait_until_others_end() {
    let options = Options { most_connections: 2, threads: 2, ..Options::default() };
    let server = StandIn::start(bind("127.0.0.1:0").expect("a port"), options).expect("it starts");
    let address = server.address().to_string();
    let ask = |stream: &mut TcpStream| {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n").expect("it reads");
        stream.read(&mut [0; 4096])
    };
    let mut served = [connected(&address), connected(&address)];
    for stream in &mut served {
        assert!(ask(stream).expect("an answer") > 0);
    }
    let mut third = connected(&address);
    third.set_read_timeout(Some(Duration::from_millis(300))).expect("a time");
    assert!(ask(&mut third).is_err(), "it waits");
    assert_eq!(server.counters().connections, 2);
    drop(served);
    third.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
    assert!(third.read(&mut [0; 4096]).expect("an answer") > 0);
}

#[test]
fn the_metrics_are_served_beside_slow_clients() {
    let words = ["run", "-d", "10m", "-c", "1", "--docs", "5", "--metrics", "0"];
    let run = Running::start(words);
    let address = loop {
        let stderr = run.stderr();
        let url = stderr.split("metrics: http://").nth(1).and_then(|it| it.split_once("/metrics"));
        if let Some((address, _)) = url {
            break address.to_owned();
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    // As many as are allowed: the oldest one is closed to make room for another.
    let slow: Vec<_> = (0..64)
        .map(|_| {
            let mut stream = connected(&address);
            stream.write_all(b"GET /metrics HT").expect("it reads");
            stream
        })
        .collect();
    let asked = |host: &str| {
        let mut client = connected(&address);
        let request = format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        client.write_all(request.as_bytes()).expect("it reads");
        let mut page = String::new();
        client.read_to_string(&mut page).expect("an answer");
        page
    };
    // At first there are no metrics.
    let is_served = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        let page = asked(&address);
        assert!(page.starts_with("HTTP/1.1 200"), "{page}");
        page.contains("springload_")
    });
    assert!(is_served, "{}", run.stderr());
    // A name that a foreign page could have for this machine is none of its own.
    let foreign = asked("evil.example");
    assert!(foreign.starts_with("HTTP/1.1 403") && !foreign.contains("springload_"), "{foreign}");
    drop(slow);
    run.interrupt();
    assert_eq!(run.finish().code, 130);
}
