//! A relay in front of a server that sees each request and may answer in its place.

use crate::servers::Server;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A request to a relay.
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// Whether its first line begins with `begins`.
    pub(crate) fn is(&self, begins: &str) -> bool {
        self.head.starts_with(begins)
    }
}

/// What a relay does with a request.
pub(crate) enum Deed {
    Pass,
    Answer(u16, Value),
    /// Closes this connection without a response.
    HangUp,
    /// Closes this connection and all later ones without a response.
    Die,
}

/// A relay in front of a server that sees each request and may change it.
pub(crate) struct Relay {
    pub(crate) url: String,
}

impl Relay {
    pub(crate) fn before(
        server: &Server,
        deed: impl Fn(&mut Request) -> Deed + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (behind, deed) = (server.url.replace("http://", ""), Arc::new(deed));
        let is_dead = Arc::new(AtomicBool::new(false));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (behind, deed, is_dead) = (behind.clone(), deed.clone(), is_dead.clone());
                std::thread::spawn(move || serve(stream, &behind, &*deed, &is_dead));
            }
        });
        Self { url }
    }
}

/// One request for each connection.
fn serve(
    mut stream: TcpStream,
    behind: &str,
    deed: &dyn Fn(&mut Request) -> Deed,
    is_dead: &AtomicBool,
) -> Option<()> {
    let mut request = read(&mut stream)?;
    if is_dead.load(Ordering::SeqCst) {
        return None;
    }
    let answer = match deed(&mut request) {
        Deed::Pass => {
            let mut onward = TcpStream::connect(behind).ok()?;
            let lines = request.head.lines().filter(|line| {
                let line = line.to_ascii_lowercase();
                !["connection:", "content-length:", "host:"].iter().any(|it| line.starts_with(it))
            });
            let mut head = lines.collect::<Vec<_>>().join("\r\n").trim_end().to_owned();
            let length = request.body.len();
            let more = format!("Host: {behind}\r\nConnection: close\r\nContent-Length: {length}");
            head = [head, more].join("\r\n") + "\r\n\r\n";
            onward.write_all(head.as_bytes()).ok()?;
            onward.write_all(&request.body).ok()?;
            // Piece by piece: a changes feed may go on for long.
            let mut piece = [0; 16_384];
            while let Ok(count @ 1..) = onward.read(&mut piece) {
                stream.write_all(&piece[..count]).ok()?;
            }
            return Some(());
        }
        Deed::HangUp => return None,
        Deed::Die => {
            is_dead.store(true, Ordering::SeqCst);
            return None;
        }
        Deed::Answer(status, body) => {
            let body = body.to_string();
            let length = body.len();
            format!(
                "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nConnection: close\r\n\
                 Content-Length: {length}\r\n\r\n{body}"
            )
        }
    };
    stream.write_all(answer.as_bytes()).ok()
}

fn read(stream: &mut TcpStream) -> Option<Request> {
    let (mut bytes, mut byte) = (Vec::new(), [0]);
    while !bytes.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        bytes.push(byte[0]);
    }
    let head = String::from_utf8(bytes).ok()?;
    let length = |line: &str| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    };
    let mut body = vec![0; head.lines().find_map(length).unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    Some(Request { head, body })
}
