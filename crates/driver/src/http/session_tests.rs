//! Tests which operations are a single request, against a server that gives prepared answers.

use super::super::{Http, LogInText, RequestPlan, Requests, Server, Settings};
use super::*;
use crate::clock::{Clock, SECOND_NS};
use crate::net::{Endpoint, TlsOptions};
use crate::op::{OpKind, Pen as _};
use crate::{Shard as _, Target as _};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;

/// A user who follows redirects, with a server that gives these answers: status and headers.
async fn user(answers: &'static [&'static str], logs_in: bool) -> HttpSession {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url: url::Url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        for answer in answers {
            assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
            let answer = format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    let endpoint = Arc::new(Endpoint::resolve(&url, &TlsOptions::default()).unwrap());
    let request = Request { method: "GET".to_owned(), ..Request::default() };
    let text = LogInText { target: b"/in".to_vec(), body: Vec::new() };
    let log_in = if logs_in { vec![(request.clone(), text)] } else { Vec::new() };
    let servers = vec![Server { url, endpoint, user: None }];
    let settings =
        Settings { follow: true, keep_alive: true, max_answer: 99, ..Settings::default() };
    let mut requests = Requests::default();
    requests.push(RequestPlan::default());
    let tls = TlsOptions::default();
    let http = Http::new(servers, requests, vec![request], log_in, settings, tls);
    http.shard(ShardContext::new(Clock::system(), SECOND_NS)).await.unwrap().session()
}

/// Whether operations are treated as a single request before each of `count`, and after the last.
async fn taken_for_one(mut session: HttpSession, count: usize) -> Vec<bool> {
    let (clock, op) = (Clock::system(), Op::single(OpKind::Read, 0, None));
    let mut taken = Vec::new();
    session.ready().await;
    for _ in 0..count {
        taken.push(session.is_one_request(&op));
        let mut pen = session.pen();
        pen.name().extend_from_slice(b"/x");
        let now = clock.now();
        let mut probe = Probe::new(clock, now, now);
        assert!(session.execute(&op, &mut pen, &mut probe).await.result.is_ok());
    }
    taken.push(session.is_one_request(&op));
    taken
}

#[tokio::test]
async fn from_the_first_redirect_on_an_operation_may_be_several_requests() {
    let session = user(&["200 OK", "302 Found\r\nLocation: /y", "200 OK", "200 OK"], false).await;
    assert_eq!(taken_for_one(session, 3).await, [true, true, false, false]);
}

#[tokio::test]
async fn neither_a_redirected_log_in_nor_what_is_not_modified_makes_it_several() {
    let session = user(&["303 See Other\r\nLocation: /y", "200 OK", "304 No"], true).await;
    assert_eq!(taken_for_one(session, 1).await, [true, true]);
}

/// There may be tens of thousands of users.
#[tokio::test]
async fn a_user_who_waits_for_an_answer_takes_little_memory() {
    let (mut session, clock) = (user(&[], false).await, Clock::system());
    assert!(size_of_val(&session) <= 208, "{} bytes", size_of_val(&session));
    let (op, mut pen) = (Op::single(OpKind::Read, 0, None), session.pen());
    let mut probe = Probe::new(clock, 0, 0);
    let waiting = size_of_val(&session.execute(&op, &mut pen, &mut probe));
    assert!(waiting <= 376, "{waiting} bytes");
}
