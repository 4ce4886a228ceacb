//! Faults by name, as any client sees them, in the stand-in and in the null responder.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use springload::clock::Clock;
use springload::embedded::{Fault, Faults, Lie, Mode, Occurrence, Options, Wire};

use crate::client::{Client, Scratch};
use crate::servers::Server;

/// The state of a connection after a response.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Kept,
    Closed,
    Reset,
}

fn with(mode: Mode, fault: Fault) -> Server {
    let named = vec![Occurrence { fault, fraction: 1.0, from_ns: 0, until_ns: None }];
    let faults = Faults { named, ..Faults::default() };
    Server::stand_in(Options { mode, faults, ..Options::default() })
}

/// The length of the first response in `bytes`, which may be incomplete, and the start of its body.
fn first(bytes: &[u8]) -> Option<(usize, usize)> {
    let text = String::from_utf8_lossy(bytes).to_ascii_lowercase();
    let (head, _) = text.split_once("\r\n\r\n")?;
    let (_, length) = head.split_once("content-length:")?;
    let length: usize = length.split("\r\n").next()?.trim().parse().ok()?;
    Some((head.len() + 4 + length, head.len() + 4))
}

/// The number of complete responses, and the bytes after them.
fn complete(mut bytes: &[u8]) -> (usize, &[u8]) {
    let mut count = 0;
    while let Some((length, _)) = first(bytes).filter(|(length, _)| *length <= bytes.len()) {
        bytes = &bytes[length..];
        count += 1;
    }
    (count, bytes)
}

/// Sends one request, and reads until there are this many responses, or the connection ends.
fn ask(server: &Server, answers: usize) -> (Vec<u8>, End) {
    let address = server.as_stand_in().unwrap().address();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.write_all(b"PUT /db HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let (mut bytes, mut room) = (Vec::new(), [0; 4096]);
    while complete(&bytes).0 < answers {
        match stream.read(&mut room) {
            Ok(0) => return (bytes, End::Closed),
            Ok(count) => bytes.extend_from_slice(&room[..count]),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {
                return (bytes, End::Reset);
            }
            Err(error) => panic!("{error}"),
        }
    }
    // Faults do not apply to this request.
    let counters = b"GET /_springload/counters HTTP/1.1\r\nHost: x\r\n\r\n";
    let kept = stream.write_all(counters).is_ok() && stream.read(&mut room).is_ok_and(|it| it > 0);
    (bytes, if kept { End::Kept } else { End::Closed })
}

fn counters(server: &Server) -> Value {
    Client::new(server).get("/_springload/counters").expect(200).json()
}

#[test]
fn each_fault_of_the_connection_is_what_its_name_says() {
    for mode in [Mode::Couch, Mode::Null] {
        for (name, fault) in Fault::NAMES {
            let Fault::Wire(wire) = fault else { continue };
            let server = with(mode, fault);
            let began = Clock::system().now();
            let two =
                matches!(wire, Wire::IdleClose | Wire::DuplicateAnswer | Wire::UnsolicitedAnswer);
            let (bytes, end) = ask(&server, if two { 2 } else { 1 });
            let (count, rest) = complete(&bytes);
            let (wanted, ends) = match wire {
                Wire::ResetBefore | Wire::ResetAfter | Wire::ResetDuring => (0, End::Reset),
                Wire::TruncateBody | Wire::EarlyClose => (0, End::Closed),
                Wire::IdleClose => (1, End::Closed),
                Wire::SlowBytes => (1, End::Kept),
                Wire::DuplicateAnswer | Wire::UnsolicitedAnswer => (2, End::Kept),
            };
            let text = String::from_utf8_lossy(&bytes);
            assert_eq!((count, end), (wanted, ends), "{mode:?} {name}: {text}");
            let body = first(rest).map(|(_, body)| rest.len() - body);
            match wire {
                Wire::ResetBefore | Wire::ResetAfter => assert_eq!(text, ""),
                Wire::TruncateBody => assert_eq!(body, Some("{\"ok\":true}\n".len() / 2)),
                Wire::EarlyClose => assert_eq!(body, Some(0)),
                Wire::SlowBytes => {
                    let took = Clock::system().now() - began;
                    assert!(took >= (bytes.len() as u64 - 1) * 1_000_000, "{took}");
                }
                _ => assert!(text.starts_with("HTTP/1.1 201"), "{text}"),
            }
            // Only a fault before the request keeps it from being carried out.
            let shown = counters(&server);
            let created = u64::from(wire != Wire::ResetBefore);
            assert_eq!(shown["databases_created"], created, "{name}");
            assert_eq!((&shown["faults"][name], &shown["requests"]), (&json!(1), &json!(1)));
        }
    }
}

#[test]
fn a_refusal_has_its_status_and_changes_nothing() {
    for mode in [Mode::Couch, Mode::Null] {
        for (name, fault) in Fault::NAMES {
            let Fault::Refuse(refused) = fault else { continue };
            let server = with(mode, fault);
            let client = Client::new(&server);
            for _ in 0..2 {
                let answer = client.json("PUT", "/db/a", &json!({"a": 1}));
                answer.expect_error(refused.status, refused.error);
            }
            client.call("HEAD", "/db/a").expect(refused.status);
            let shown = counters(&server);
            assert_eq!((&shown["faults"][name], &shown["requests"]), (&json!(3), &json!(3)));
            assert_eq!(
                (&shown["connections"], &shown["documents_created"]),
                (&json!(2), &json!(0))
            );
        }
    }
}

#[test]
fn a_change_is_listed_twice() {
    let server = with(Mode::Couch, Fault::Lie(Lie::DuplicateChange));
    let scratch = Scratch::new(&server);
    scratch.put("a", &json!({})).expect(201);
    scratch.put("b", &json!({})).expect(201);
    let ids = |path: &str| -> Vec<String> {
        let rows = scratch.get(path).expect(200).json()["results"].clone();
        let rows = rows.as_array().unwrap().iter();
        rows.map(|row| row["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids("_changes"), ["a", "a", "b", "b"]);
    assert_eq!(ids("_changes?limit=1"), ["a", "a"]);
    assert_eq!(counters(&server)["faults"]["duplicate-change"], 3);
}
