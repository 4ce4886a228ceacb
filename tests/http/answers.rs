//! Unsolicited responses, and missing ones.

use crate::springload::{Finished, failures, measure, number};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;

/// A server on a free port; `serve` handles each of its connections on a separate thread. It ends
/// with the test's process.
fn server(serve: impl Fn(&mut Peer) + Clone + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.expect("a connection");
            stream.set_nodelay(true).expect("a socket");
            let serve = serve.clone();
            std::thread::spawn(move || serve(&mut Peer(BufReader::new(stream))));
        }
    });
    url
}

/// The other end of a connection.
struct Peer(BufReader<TcpStream>);

impl Peer {
    /// Reads a request without a body. `false` if the client has disconnected.
    fn request(&mut self) -> bool {
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            if !matches!(self.0.read_line(&mut line), Ok(1..)) {
                return false;
            }
        }
        true
    }

    fn answer(&mut self) {
        // The client may have disconnected.
        let _ = self.0.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    }
}

#[test]
fn an_answer_that_comes_twice_is_not_taken_for_the_next() {
    let url = server(|peer| {
        while peer.request() {
            std::thread::sleep(Duration::from_millis(20));
            peer.answer();
            std::thread::sleep(Duration::from_millis(5));
            peer.answer();
        }
    });
    // Each of four connections is used five times a second.
    let finished = measure(["http", "-c4", "-r20", "-n40", &format!("{url}/x")]);
    let operation = finished.operation("urls", "request");
    let fastest_us = operation["service"]["min_us"].as_f64().expect("a time");
    assert!(fastest_us >= 20_000.0, "an answer after {fastest_us} µs from a server of 20 ms");
    // Both responses may be read at once: then the request has failed. The last extra response on
    // each connection is never seen.
    let (ok, failed) = (number(&operation["ok"]), failures(&operation));
    let unsolicited = number(&operation["unsolicited"]);
    assert_eq!(
        (ok + failed, operation["failures"]["protocol"].as_u64().unwrap_or(0)),
        (40, failed)
    );
    assert!((30..40).contains(&(unsolicited + failed)), "{operation}");
    assert!(unsolicited > 0, "{operation}");
    assert_eq!(finished.code, 5, "{}", finished.stderr);
    let sentence = format!("{unsolicited} times the server sent data");
    let report = finished.full_report();
    assert!(report.contains(&sentence), "{report}");
}

#[test]
fn an_answer_larger_than_asked_for_has_failed() {
    let url = server(|peer| {
        while peer.request() {
            peer.answer();
        }
    });
    // The responses have 40 bytes.
    for (most, ok) in [("39B", 0), ("40", 4)] {
        let finished = measure(["http", "-c2", "-n4", "--max-answer", most, &url]);
        let operation = finished.operation("urls", "request");
        let failed = operation["failures"]["protocol"].as_u64().unwrap_or(0);
        assert_eq!((number(&operation["ok"]), failed), (ok, 4 - ok));
        assert_eq!(finished.record["plan"]["max_answer"], 39 + u64::from(ok > 0));
    }
}

/// The ways in which a server fails to answer a request that it has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// It closes the connection before any byte of a response.
    Closed,
    /// It resets the connection instead.
    Reset,
    /// It closes the connection in the middle of the head.
    InHead,
    /// It closes the connection in the middle of the body.
    InBody,
    /// It sends nothing.
    Silent,
}

impl Ending {
    const ALL: [Self; 5] = [Self::Closed, Self::Reset, Self::InHead, Self::InBody, Self::Silent];

    /// Ends in this way on `peer`.
    fn play(self, peer: &mut Peer) {
        let stream = peer.0.get_mut();
        let part: &[u8] = match self {
            Self::Closed | Self::Reset | Self::Silent => b"",
            Self::InHead => b"HTTP/1.1 200 OK\r\nContent-Le",
            Self::InBody => b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no",
        };
        stream.write_all(part).expect("a client");
        match self {
            Self::Reset => {
                let socket = socket2::SockRef::from(&*stream);
                socket.set_linger(Some(Duration::ZERO)).expect("a socket");
            }
            // Until the client disconnects.
            Self::Silent => drop(peer.request()),
            _ => {}
        }
    }
}

/// Makes five requests, the third of which ends in this way; returns how often it was sent, and the
/// record of all.
fn third_ends(ending: Ending, method: &str, flag: Option<&str>) -> (u64, Finished) {
    let came = Arc::new(AtomicU64::new(0));
    let requests = Arc::clone(&came);
    let url = server(move |peer| {
        while peer.request() {
            if requests.fetch_add(1, Ordering::SeqCst) == 2 {
                ending.play(peer);
                return;
            }
            peer.answer();
        }
    });
    let target = format!("{url}/x {method}");
    let fixed = ["http", "-c1", "-n5", "--timeout=300ms"];
    let finished = measure([&fixed[..], flag.as_slice(), &[&target]].concat());
    (came.load(Ordering::SeqCst) - 4, finished)
}

#[test]
fn no_post_is_sent_twice_and_nothing_that_was_answered_in_part() {
    for ending in Ending::ALL {
        for (method, flag) in [
            ("POST", None),
            ("PATCH", None),
            ("POST", Some("--retry")),
            ("POST", Some("--no-retry")),
            ("GET", None),
            ("PUT", None),
            ("DELETE", None),
            ("GET", Some("--no-retry")),
            ("DELETE", Some("--no-retry")),
        ] {
            let case = format!("{ending:?} {method} {flag:?}");
            let (sent, finished) = third_ends(ending, method, flag);
            let operation = finished.operation("urls", "request");
            // Only if no byte came back, and the connection is known to be closed.
            let unseen = matches!(ending, Ending::Closed | Ending::Reset);
            let may_repeat = match flag {
                Some("--retry") => true,
                None => matches!(method, "GET" | "PUT" | "DELETE"),
                _ => false,
            };
            let again = unseen && may_repeat;
            let class = match (method, ending) {
                ("POST" | "PATCH", _) => "unanswered",
                (_, Ending::Silent) => "timeout",
                _ => "reset",
            };
            let failures = if again { json!({}) } else { json!({ class: 1 }) };
            assert_eq!(sent, 1 + u64::from(again), "{case}");
            assert_eq!(operation["failures"], failures, "{case}");
            assert_eq!(number(&operation["resent"]), sent - 1, "{case}");
            let sentence = "request unanswered: 1; it is not known whether they were carried out";
            let lost = !again && class == "unanswered";
            assert_eq!(finished.full_report().contains(sentence), lost, "{case}");
        }
    }
}
