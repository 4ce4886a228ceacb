//! Metrics that are pushed during a run: what arrives, and receivers that misbehave.

use crate::springload::{Finished, measure, number, springload};
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

const SHORT: [&str; 7] = ["run", "--docs", "50", "-c", "2", "-d", "1s"];

/// A request: its head, and its body.
type Got = (String, Vec<u8>);

/// A receiver that sends everyone the same response; if it is empty, the connection is closed.
struct Receiver {
    url: String,
    got: Arc<Mutex<Vec<Got>>>,
}

impl Receiver {
    fn start(answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let got = Arc::<Mutex<Vec<Got>>>::default();
        let kept = got.clone();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                while let Some(request) = receive(&mut stream) {
                    kept.lock().expect("unbroken").push(request);
                    if answer.is_empty() || stream.write_all(answer.as_bytes()).is_err() {
                        break;
                    }
                }
            }
        });
        Self { url, got }
    }

    fn got(&self) -> Vec<Got> {
        self.got.lock().expect("unbroken").clone()
    }
}

fn receive(stream: &mut TcpStream) -> Option<Got> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).ok()?;
    let length = head.split("Content-Length: ").nth(1)?.split("\r\n").next()?.parse().ok()?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some((head, body))
}

const TAKEN: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/// A field of a message of Protocol Buffers, as it is on the wire.
#[derive(Clone, Debug, PartialEq)]
enum Field {
    Number(u64),
    Bytes(Vec<u8>),
}

/// The fields of a message, decoded without knowledge of its type.
/// <https://protobuf.dev/programming-guides/encoding/>
fn fields(mut bytes: &[u8]) -> Vec<(u64, Field)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let (first, rest) = bytes.split_first().expect("a byte");
            *bytes = rest;
            value |= u64::from(first & 0x7f) << shift;
            shift += 7;
            if first & 0x80 == 0 {
                return value;
            }
        }
    }
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let length = match key & 7 {
            0 => 0,
            1 => 8,
            2 => varint(&mut bytes) as usize,
            kind => panic!("wire type {kind}"),
        };
        let (taken, rest) = bytes.split_at(length);
        bytes = rest;
        let field = match key & 7 {
            0 => Field::Number(varint(&mut bytes)),
            1 => Field::Number(u64::from_le_bytes(taken.try_into().expect("8 bytes"))),
            _ => Field::Bytes(taken.to_vec()),
        };
        fields.push((key >> 3, field));
    }
    fields
}

/// All messages or strings at this path of field numbers.
fn reached(bytes: &[u8], path: &[u64]) -> Vec<Vec<u8>> {
    let Some((first, rest)) = path.split_first() else { return vec![bytes.to_vec()] };
    let inner = fields(bytes).into_iter().filter(|(number, _)| number == first);
    let inner = inner.filter_map(|(_, field)| match field {
        Field::Bytes(bytes) => Some(reached(&bytes, rest)),
        Field::Number(_) => None,
    });
    inner.flatten().collect()
}

fn text(bytes: &[u8], path: &[u64]) -> String {
    String::from_utf8(reached(bytes, path).concat()).expect("UTF-8")
}

/// The attributes, sorted, and the count of each histogram with this name.
fn histograms(body: &[u8], name: &str) -> Vec<(Vec<String>, u64)> {
    let metrics = reached(body, &[1, 2, 2]);
    let named = metrics.iter().filter(|it| text(it, &[1]) == name);
    let points = named.flat_map(|it| reached(it, &[10, 1]));
    let point = |point: Vec<u8>| {
        let attribute = |it: Vec<u8>| format!("{}={}", text(&it, &[1]), text(&it, &[2, 1]));
        let mut attributes: Vec<_> = reached(&point, &[1]).into_iter().map(attribute).collect();
        attributes.sort();
        let count = fields(&point).into_iter().find(|(number, _)| *number == 4);
        // Fields with the value 0 are omitted.
        let count = match count {
            Some((_, Field::Number(count))) => count,
            _ => 0,
        };
        (attributes, count)
    };
    points.map(point).collect()
}

/// The same counts in the record.
fn recorded(run: &Finished) -> Vec<(Vec<String>, u64)> {
    let of_stage = |stage: &Value| {
        let name = stage["name"].as_str().expect("a name").to_owned();
        let operations = stage["operations"].as_array().expect("operations").clone();
        operations.into_iter().map(move |it| {
            let kind = it["kind"].as_str().expect("a kind");
            let labels = [
                format!("kind={kind}"),
                "plan=after the update".to_owned(),
                "result=ok".to_owned(),
                "run=out".to_owned(),
                format!("stage={name}"),
            ];
            (labels.to_vec(), number(&it["response"]["samples"]))
        })
    };
    run.stages().flat_map(of_stage).collect()
}

#[test]
fn what_is_sent_at_the_end_is_what_the_record_has() {
    let receiver = Receiver::start(TAKEN);
    let push = ["--otlp", &receiver.url, "--push-every", "300ms", "--label", "after the update"];
    let secret = ["--push-header", "Authorization: Bearer kestrel-9912"];
    let run = measure([&SHORT[..], &push, &secret].concat()).passed();
    assert!(!run.stderr.contains("messages"), "{}", run.stderr);
    let got = receiver.got();
    assert!(got.len() >= 3, "{} messages", got.len());
    for (head, _) in &got {
        assert!(head.starts_with("POST /v1/metrics HTTP/1.1\r\n"), "{head}");
        assert!(head.contains("\r\nAuthorization: Bearer kestrel-9912\r\n"), "{head}");
    }
    let mut last = histograms(&got[got.len() - 1].1, "springload_response_seconds");
    let mut wanted = recorded(&run);
    last.sort();
    wanted.sort();
    assert_eq!(last, wanted);
    let command = run.record["plan"]["command"].as_str().expect("a command");
    assert!(!command.contains("kestrel") && command.contains("Authorization: ***"), "{command}");
}

#[test]
fn a_receiver_that_behaves_badly_is_reported_and_the_run_is_as_without_it() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let too_many = "HTTP/1.1 429 Too Many\r\nRetry-After: 9\r\nContent-Length: 4\r\n\r\nslow";
    for (answer, why) in [
        ("HTTP/1.1 400 Bad\r\nContent-Length: 11\r\n\r\nno kestrel!", "status 400 no ***!"),
        ("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", "status 503"),
        (too_many, "status 429 slow"),
        ("", "reset"),
        ("none", "refused"),
    ] {
        let receiver = Receiver::start(answer);
        let url = if answer == "none" { format!("http://{free}") } else { receiver.url.clone() };
        let place = format!("{url}/api?token=kestrel");
        let push = ["--remote-write", &place, "--push-every", "200ms"];
        let run = measure([&SHORT[..], &push].concat()).passed();
        let stderr = run.stderr.to_lowercase();
        assert!(stderr.contains("the totals of the run are not there"), "{stderr}");
        assert!(stderr.contains(&why.to_lowercase()), "{why}: {stderr}");
        assert!(!stderr.contains("kestrel"), "{stderr}");
        assert_eq!(run.record["partial"], false);
        for (head, body) in receiver.got() {
            assert!(head.starts_with("POST /api?token=kestrel HTTP/1.1\r\n"), "{head}");
            assert!(head.contains("\r\nContent-Encoding: snappy\r\n") && !body.is_empty());
        }
        if answer == too_many {
            // The first message, and the last one.
            assert_eq!(receiver.got().len(), 2);
        }
    }
}

#[test]
fn what_cannot_be_sent_is_refused_before_the_run() {
    let run = ["run", "--docs", "5", "--ops", "5"];
    for (flags, words) in [
        (["--otlp", "localhost:4318"], ["--otlp: ", "is not a URL of http or https"]),
        (["--remote-write", "ftp://h/"], ["--remote-write: ", "is not a URL of http or https"]),
        (["--push-header", "hush"], ["--push-header: ", "it has no colon"]),
    ] {
        springload([&run[..], &flags].concat()).refused(2, &words);
    }
}
