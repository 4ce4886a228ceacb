//! Bytes that a server should not send.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use crate::springload::{Finished, measure, number};

const SETTINGS: u8 = 4;
const HEADERS: u8 = 1;
const DATA: u8 = 0;
const RST_STREAM: u8 = 3;
const PUSH_PROMISE: u8 = 5;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("short").to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// The status 200 from the static table, and a length whose name comes from there.
fn head(length: Option<&str>) -> Vec<u8> {
    let mut block = vec![0x88];
    if let Some(length) = length {
        block.extend_from_slice(&[0x0f, 13, u8::try_from(length.len()).expect("short")]);
        block.extend_from_slice(length.as_bytes());
    }
    block
}

/// Sends the response to a stream; returns `false` to end the connection.
type Says = Arc<dyn Fn(u32, &mut TcpStream) -> bool + Send + Sync>;

/// A server that answers each request with given bytes, and ignores everything else.
fn server(says: impl Fn(u32, &mut TcpStream) -> bool + Send + Sync + 'static) -> String {
    let (says, listener): (Says, _) = (Arc::new(says), TcpListener::bind("127.0.0.1:0"));
    let listener = listener.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    // It ends with the test's process.
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let says = says.clone();
            std::thread::spawn(move || serve(stream, &says));
        }
    });
    url
}

fn serve(mut stream: TcpStream, says: &Says) -> Option<()> {
    let mut preface = [0; 24];
    stream.read_exact(&mut preface).ok()?;
    stream.write_all(&frame(SETTINGS, 0, 0, &[])).ok()?;
    loop {
        let mut header = [0; 9];
        stream.read_exact(&mut header).ok()?;
        let length = u32::from_be_bytes([0, header[0], header[1], header[2]]);
        let mut payload = vec![0; length as usize];
        stream.read_exact(&mut payload).ok()?;
        let id = u32::from_be_bytes([header[5], header[6], header[7], header[8]]);
        if header[3] == HEADERS && !says(id, &mut stream) {
            return None;
        }
    }
}

fn asked(url: &str) -> Finished {
    let words = ["http", "--http2", "-c", "1", "--threads", "1", "-n", "2", "--no-retry"];
    measure([&words[..], &["--timeout", "20s", url]].concat())
}

/// The result of a response in these frames: the headers, and a body.
fn answer(length: Option<&'static str>, body: &'static [u8]) -> Finished {
    let url = server(move |id, stream| {
        let frames =
            [frame(HEADERS, END_HEADERS, id, &head(length)), frame(DATA, END_STREAM, id, body)];
        stream.write_all(&frames.concat()).is_ok()
    });
    asked(&url)
}

#[test]
fn a_body_is_as_long_as_its_length_says() {
    for length in [None, Some("5")] {
        assert_eq!(number(&answer(length, b"12345").operation("urls", "request")["ok"]), 2);
    }
    for length in ["4", "6", "x"] {
        let run = answer(Some(length), b"12345");
        assert_eq!(run.operation("urls", "request")["failures"]["protocol"], 2, "{length}");
        let words = "springload refused the answer (PROTOCOL_ERROR): its body is not as long";
        assert!(run.full_report().contains(words), "{}", run.full_report());
    }
}

/// With `NO_ERROR`, a server says that it needs no more of the request; the answer has to be
/// complete then (RFC 9113, 8.1).
#[test]
fn a_stream_that_is_reset_without_an_error_has_its_answer_only_if_that_is_complete() {
    for (length, flags, ok) in
        [(Some("5"), END_STREAM, 2), (Some("12"), 0, 0), (Some("5"), 0, 0), (None, 0, 0)]
    {
        let url = server(move |id, stream| {
            let frames = [
                frame(HEADERS, END_HEADERS, id, &head(length)),
                frame(DATA, flags, id, b"12345"),
                frame(RST_STREAM, 0, id, &[0; 4]),
            ];
            stream.write_all(&frames.concat()).is_ok()
        });
        let run = asked(&url);
        let request = run.operation("urls", "request");
        assert_eq!(number(&request["ok"]), ok, "{length:?} {flags}: {request}");
        if ok == 0 {
            assert_eq!(request["failures"], serde_json::json!({ "reset": 2 }), "{length:?}");
            let report = run.full_report();
            assert!(report.contains("the server reset the stream (NO_ERROR)"), "{report}");
        }
    }
}

/// Headers that begin and never end, in more frames than memory could hold.
#[test]
fn endless_headers_are_not_waited_for() {
    let url = server(|id, stream| {
        let piece = [&[0x00, 1, b'a', 0x7e][..], &[b'h'; 126]].concat().repeat(100);
        let mut next = frame(HEADERS, 0, id, &head(None));
        let mut sent = 0_u64;
        while stream.write_all(&next).is_ok() {
            next = frame(CONTINUATION, 0, id, &piece);
            sent += next.len() as u64;
            assert!(sent < 1 << 30, "it reads without end");
        }
        false
    });
    let run = asked(&url);
    let report = run.full_report();
    assert_eq!(run.operation("urls", "request")["failures"]["protocol"], 2, "{report}");
    let words = "springload closed the connection (ENHANCE_YOUR_CALM): the headers";
    assert!(report.contains(words), "{report}");
}

#[test]
fn headers_may_be_as_long_as_with_http_1_1() {
    for (pieces, ok) in [(50_usize, 2), (700, 0)] {
        let url = server(move |id, stream| {
            let piece = [&[0x00, 1, b'a', 0x7e][..], &[b'h'; 126]].concat();
            let block = [head(None), piece.repeat(pieces)].concat();
            let mut parts = block.chunks(16_384).peekable();
            let (mut kind, mut flags) = (HEADERS, END_STREAM);
            while let Some(part) = parts.next() {
                flags |= if parts.peek().is_none() { END_HEADERS } else { 0 };
                if stream.write_all(&frame(kind, flags, id, part)).is_err() {
                    return false;
                }
                (kind, flags) = (CONTINUATION, 0);
            }
            true
        });
        let run = asked(&url);
        assert_eq!(number(&run.operation("urls", "request")["ok"]), ok, "{}", run.full_report());
    }
}

#[test]
fn what_nobody_asked_for_ends_the_connection() {
    // A response on a stream that was never opened, a promise that the client has declined, and
    // more empty frames than make sense.
    type Frames = fn(u32) -> Vec<u8>;
    let calm = "springload closed the connection (ENHANCE_YOUR_CALM): the server sent too many";
    let frame_words = "springload closed the connection (PROTOCOL_ERROR): the server sent a frame";
    let cases: [(Frames, &str); 3] = [
        (|id| frame(HEADERS, END_HEADERS | END_STREAM, id + 100, &head(None)), frame_words),
        (
            |id| {
                let promised = [&(id + 1).to_be_bytes()[..], &[0x82, 0x84, 0x86]].concat();
                frame(PUSH_PROMISE, END_HEADERS, id, &promised)
            },
            frame_words,
        ),
        (
            |id| {
                let begun = frame(HEADERS, END_HEADERS, id, &head(None));
                [begun, frame(DATA, 0, id, &[]).repeat(2_000)].concat()
            },
            calm,
        ),
    ];
    for (frames, words) in cases {
        let run = asked(&server(move |id, stream| stream.write_all(&frames(id)).is_ok()));
        let report = run.full_report();
        assert_eq!(run.operation("urls", "request")["failures"]["protocol"], 2, "{report}");
        assert!(report.contains(words), "{report}");
    }
}
