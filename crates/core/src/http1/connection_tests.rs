//! Servers that send too much, too early, or close the connection.

use super::*;
use crate::net::{MAX_ANSWER, TlsOptions};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};

/// A server that handles its connections with `serve`, one after the other, and reports its
/// progress through the channel.
fn server(
    serve: impl Fn(usize, &mut TcpStream, &Sender<()>) + Send + 'static,
) -> (Connection, Receiver<()>) {
    limited(MAX_ANSWER, serve)
}

/// Like [`server`], with a limit on the size of an answer.
fn limited(
    max_answer: u64,
    serve: impl Fn(usize, &mut TcpStream, &Sender<()>) + Send + 'static,
) -> (Connection, Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let (tell, progress) = channel();
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            stream.set_nodelay(true).unwrap();
            serve(number, &mut stream, &tell);
        }
    });
    let endpoint = Endpoint::resolve(&url, &TlsOptions::default()).unwrap();
    let endpoint = endpoint.with_max_answer(max_answer);
    let deadlines = ShardContext::new(Clock::system(), 10_000_000_000);
    (Connection::new(Arc::new(endpoint), &deadlines), progress)
}

/// Reads the head of a request. `false` if the client has closed the connection.
fn request(stream: &mut TcpStream) -> bool {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return false,
        }
    }
    true
}

fn answer(stream: &mut TcpStream, body: &str) {
    let length = body.len();
    // The client may have gone already.
    let _ = stream
        .write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}").as_bytes());
}

/// Answers all requests on a connection with `body`.
fn serve_all(stream: &mut TcpStream, body: &str) {
    while request(stream) {
        answer(stream, body);
    }
}

/// Waits until the server has reported progress, and lets the runtime notice.
async fn wait(progress: &Receiver<()>) {
    progress.recv_timeout(Duration::from_secs(10)).unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
}

/// The body of the answer to a GET.
async fn get(connection: &mut Connection) -> Result<String, Failure> {
    send(connection, Request::reading(GET)).await.map(|(body, _)| body)
}

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";

/// The body of the answer to a request, and whether the request was resent.
async fn send(
    connection: &mut Connection,
    request: Request<'_>,
) -> Result<(String, bool), Failure> {
    let clock = Clock::system();
    let now = clock.now();
    let mut probe = Probe::new(clock, now, now);
    let exchange = connection.exchange(request, &mut probe);
    let answer = tokio::time::timeout(Duration::from_secs(10), exchange).await.expect("an end")?;
    Ok((String::from_utf8_lossy(connection.body()).into_owned(), answer.resent))
}

#[tokio::test]
async fn what_nobody_asked_for_is_no_answer() {
    let timed_out =
        "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    for (stray, hangs_up) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstray", false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstray", true),
        (timed_out, false),
        (timed_out, true),
        ("x", false),
    ] {
        let (has_read, read) = channel();
        let (mut connection, progress) = server(move |number, stream, tell| {
            if number > 0 {
                return serve_all(stream, "second");
            }
            assert!(request(stream));
            answer(stream, "first");
            // Waits until the client has seen the end of its own answer.
            read.recv_timeout(Duration::from_secs(10)).unwrap();
            stream.write_all(stray.as_bytes()).unwrap();
            if hangs_up {
                stream.shutdown(Shutdown::Both).unwrap();
            }
            tell.send(()).unwrap();
            serve_all(stream, "of the first connection");
        });
        assert_eq!(get(&mut connection).await, Ok("first".to_owned()));
        has_read.send(()).unwrap();
        wait(&progress).await;
        assert_eq!(get(&mut connection).await, Ok("second".to_owned()), "{stray:?}");
        assert_eq!(get(&mut connection).await, Ok("second".to_owned()), "{stray:?}");
        assert_eq!(connection.take_noted().unsolicited, 1);
        assert_eq!(connection.sent(), 3);
    }
}

#[tokio::test]
async fn a_server_that_speaks_first_is_not_believed() {
    let (mut connection, progress) = server(|number, stream, tell| {
        answer(stream, "unasked");
        if number == 0 {
            tell.send(()).unwrap();
        }
        serve_all(stream, "asked");
    });
    connection.ready().await;
    wait(&progress).await;
    assert_eq!(get(&mut connection).await, Err(Failure::Protocol));
    assert_eq!(connection.take_noted().unsolicited, 1);
    // Nor is it accepted the next time.
    assert_eq!(get(&mut connection).await, Err(Failure::Protocol));
    assert_eq!((connection.take_noted().unsolicited, connection.sent()), (0, 0));
}

#[tokio::test]
async fn a_server_that_spoke_first_once_is_heard() {
    let (mut connection, progress) = server(|number, stream, tell| {
        if number == 0 {
            answer(stream, "unasked");
            tell.send(()).unwrap();
        }
        serve_all(stream, "asked");
    });
    connection.ready().await;
    wait(&progress).await;
    for _ in 0..3 {
        assert_eq!(get(&mut connection).await, Ok("asked".to_owned()));
    }
    assert_eq!(connection.take_noted().unsolicited, 1);
}

#[tokio::test]
async fn a_connection_that_was_closed_while_idle_is_replaced_before_anything_is_sent() {
    for used in [false, true] {
        let (mut connection, progress) = server(move |number, stream, tell| {
            if number > 0 {
                return serve_all(stream, "second");
            }
            if used {
                assert!(request(stream));
                answer(stream, "first");
            }
            stream.shutdown(Shutdown::Both).unwrap();
            tell.send(()).unwrap();
        });
        connection.ready().await;
        if used {
            assert_eq!(get(&mut connection).await, Ok("first".to_owned()));
        }
        wait(&progress).await;
        assert_eq!(get(&mut connection).await, Ok("second".to_owned()));
        // Sent only once: a resend was not needed.
        assert_eq!(connection.sent(), 1 + u64::from(used));
        assert_eq!(connection.take_noted().unsolicited, 0);
    }
}

#[tokio::test]
async fn answers_without_end_are_read_to_the_limit() {
    let ok = "HTTP/1.1 200 OK\r\n";
    let chunked = "Transfer-Encoding: chunked\r\n\r\n";
    let long = "x".repeat(1_000);
    for (name, start, piece) in [
        ("length", format!("{ok}Content-Length: 4294967296\r\n\r\n"), long.clone()),
        ("until closed", format!("{ok}\r\n"), long.clone()),
        ("chunk", format!("{ok}{chunked}fffffff\r\n"), long.clone()),
        ("chunks", format!("{ok}{chunked}"), format!("3e8\r\n{long}\r\n")),
        ("extensions", format!("{ok}{chunked}"), format!("1;{long}\r\nx\r\n")),
        ("trailers", format!("{ok}{chunked}0\r\n"), format!("X: {long}\r\n")),
        ("interim", String::new(), format!("HTTP/1.1 103 x\r\nLink: {long}\r\n\r\n")),
        ("head", ok.to_owned(), format!("X: {long}\r\n")),
    ] {
        let (mut connection, progress) = limited(1_000_000, move |_, stream, tell| {
            if !request(stream) {
                return;
            }
            // Sends until the client closes the connection, well before 4 GB.
            let mut sent = stream.write_all(start.as_bytes());
            for _ in 0..4_000_000 {
                if sent.is_err() {
                    tell.send(()).unwrap();
                    return;
                }
                sent = stream.write_all(piece.as_bytes());
            }
        });
        assert_eq!(get(&mut connection).await, Err(Failure::Protocol), "{name}");
        assert!(connection.buffer.len() <= 1_000_001 && connection.stream.is_none(), "{name}");
        progress.recv_timeout(Duration::from_secs(10)).expect(name);
    }
}

#[tokio::test]
async fn the_limit_is_that_of_the_whole_answer() {
    for (body, whole) in [(100_000, true), (100_001, false)] {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {body}\r\n\r\n").len() as u64;
        let (mut connection, _progress) = limited(100_000 + head, move |_, stream, _| {
            serve_all(stream, &"x".repeat(body));
        });
        let answer = get(&mut connection).await;
        assert_eq!(
            answer.map(|body| body.len()),
            if whole { Ok(body) } else { Err(Failure::Protocol) }
        );
    }
}

#[tokio::test]
async fn it_tells_since_when_it_is_opened_again() {
    let (mut connection, _progress) = server(|_, stream, _| {
        if request(stream) {
            let _ = stream
                .write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let clock = Clock::system();
    for _ in 0..3 {
        let before = clock.now();
        let since = connection.ready().await.expect("it was closed");
        assert!((before..=clock.now()).contains(&since));
        assert_eq!(connection.ready().await, None, "it is open");
        assert_eq!(get(&mut connection).await, Ok(String::new()));
    }
}

/// The result of a request whose connection is closed after it was sent. The connection had been
/// used before, or merely opened; before the close, `part` of an answer is sent.
async fn lost(
    used: bool,
    part: &'static str,
    request: Request<'_>,
) -> (Result<(String, bool), Failure>, u64) {
    let (mut connection, _progress) = server(move |number, stream, _| {
        if number > 0 {
            return serve_all(stream, "again");
        }
        if used {
            assert!(super::tests::request(stream));
            answer(stream, "first");
        }
        assert!(super::tests::request(stream));
        stream.write_all(part.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Both).unwrap();
    });
    connection.ready().await;
    if used {
        get(&mut connection).await.unwrap();
    }
    let before = connection.sent();
    (send(&mut connection, request).await, connection.sent() - before)
}

#[tokio::test]
async fn only_what_may_be_sent_twice_is() {
    let again = || Ok(("again".to_owned(), true));
    let (reading, changing) = (Request::reading(GET), Request::changing(GET));
    for used in [false, true] {
        assert_eq!(lost(used, "", reading).await, (again(), 2));
        assert_eq!(lost(used, "", changing).await, (Err(Failure::Unanswered), 1));
        let asked_for = Request { resend: true, ..changing };
        assert_eq!(lost(used, "", asked_for).await, (again(), 2));
        let never = Request { resend: false, ..reading };
        assert_eq!(lost(used, "", never).await, (Err(Failure::Reset), 1));
        // Once an answer has begun, nothing is resent.
        let part = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart";
        assert_eq!(lost(used, part, reading).await, (Err(Failure::Reset), 1));
        assert_eq!(lost(used, part, asked_for).await, (Err(Failure::Unanswered), 1));
    }
}

#[tokio::test]
async fn on_a_connection_of_its_own_nothing_is_sent_twice() {
    let (mut connection, _progress) = server(|number, stream, _| {
        assert!(request(stream));
        if number > 0 {
            answer(stream, "again");
        }
    });
    assert_eq!(get(&mut connection).await, Err(Failure::Reset));
    assert_eq!(connection.sent(), 1);
    assert_eq!(get(&mut connection).await, Ok("again".to_owned()));
}
