//! An answer that is read as it arrives, piece by piece, on a connection of its own.

use super::chunked::Chunked;
use super::head::{self, Framing, MAX_HEAD, Parsed};
use crate::net::{Endpoint, Stream};
use std::future::poll_fn;
use std::io;

/// The most that is read at once.
const PIECE: usize = 64 * 1024;

/// The answer to one request, whose body may never end.
#[derive(Debug)]
pub struct Feed {
    stream: Stream,
    /// What has been received; the first `filled` bytes.
    buffer: Vec<u8>,
    filled: usize,
    status: u16,
    body: BodyRest,
}

#[derive(Debug)]
enum BodyRest {
    Chunked(Chunked),
    /// How many bytes are left.
    Length(usize),
    UntilClose,
    Ended,
}

impl Feed {
    /// Connects, sends a request and reads the head of its answer.
    ///
    /// # Errors
    /// Returns an error if there is no connection, or no HTTP/1.1 answer.
    pub async fn open(endpoint: &Endpoint, request: &[u8]) -> io::Result<Self> {
        let mut stream = Stream::connect(endpoint, 0, false).await?;
        let mut sent = 0;
        while sent < request.len() {
            let more = poll_fn(|context| stream.poll_write(context, &request[sent..])).await?;
            if more == 0 {
                return Err(closed());
            }
            sent += more;
        }
        poll_fn(|context| stream.poll_flush(context)).await?;
        let buffer = vec![0; MAX_HEAD + PIECE];
        let mut feed = Self { stream, buffer, filled: 0, status: 0, body: BodyRest::UntilClose };
        feed.read_head().await?;
        Ok(feed)
    }

    /// The status of the answer.
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// Waits for more of the body, and passes it to `each`. Returns `false` at the end of the body.
    ///
    /// # Errors
    /// Returns an error if the connection is lost before the end, or the data is not a valid body.
    pub async fn more(&mut self, mut each: impl FnMut(&[u8])) -> io::Result<bool> {
        loop {
            if self.decode(&mut each)? {
                return Ok(true);
            }
            if matches!(self.body, BodyRest::Ended) {
                return Ok(false);
            }
            if self.receive().await? == 0 {
                let whole = matches!(self.body, BodyRest::UntilClose);
                self.body = BodyRest::Ended;
                return if whole { Ok(false) } else { Err(closed()) };
            }
        }
    }

    /// Passes on what has been received. Returns whether there was anything.
    fn decode(&mut self, each: &mut impl FnMut(&[u8])) -> io::Result<bool> {
        let received = &mut self.buffer[..self.filled];
        let count = match &mut self.body {
            BodyRest::Ended => return Ok(false),
            BodyRest::Chunked(chunked) => {
                let whole = chunked.decode(received).map_err(wrong)?.is_some();
                let count = chunked.end;
                each(&received[..count]);
                self.filled = chunked.forget(&mut self.buffer, self.filled);
                if whole {
                    self.body = BodyRest::Ended;
                }
                return Ok(count > 0);
            }
            BodyRest::Length(left) => {
                let count = self.filled.min(*left);
                *left -= count;
                if *left == 0 {
                    self.body = BodyRest::Ended;
                }
                count
            }
            BodyRest::UntilClose => self.filled,
        };
        each(&self.buffer[..count]);
        self.filled = 0;
        Ok(count > 0)
    }

    async fn receive(&mut self) -> io::Result<usize> {
        let Self { stream, buffer, filled, .. } = self;
        let room = &mut buffer[*filled..];
        let (count, _) = poll_fn(|context| stream.poll_read(context, room, None)).await?;
        *filled += count;
        Ok(count)
    }

    async fn read_head(&mut self) -> io::Result<()> {
        loop {
            if self.receive().await? == 0 {
                return Err(closed());
            }
            while let Some(Parsed { length, head, framing }) =
                head::parse(&self.buffer[..self.filled]).map_err(wrong)?
            {
                self.buffer.copy_within(length..self.filled, 0);
                self.filled -= length;
                // Interim answers come before the final one.
                if head.status >= 200 {
                    self.status = head.status;
                    self.body = match framing {
                        _ if matches!(head.status, 204 | 304) => BodyRest::Ended,
                        Framing::Length(0) => BodyRest::Ended,
                        Framing::Length(length) => BodyRest::Length(length),
                        Framing::Chunked => BodyRest::Chunked(Chunked::new(0)),
                        Framing::UntilClose => BodyRest::UntilClose,
                    };
                    return Ok(());
                }
            }
        }
    }
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection")
}

fn wrong(malformed: super::Malformed) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, malformed.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::TlsOptions;
    use proptest::prelude::*;
    use std::io::{Read as _, Write as _};

    /// What a client receives of an answer that is sent in these pieces before the connection is
    /// closed: the status, the body and whether it was complete.
    fn received(pieces: Vec<Vec<u8>>) -> io::Result<(u16, Vec<u8>, bool)> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let endpoint = Endpoint::resolve(&url, &TlsOptions::default()).unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_nodelay(true).unwrap();
            let _ = stream.read(&mut [0; 1_024]).unwrap();
            for piece in pieces {
                // The client may have closed the connection.
                let _ = stream.write_all(&piece);
            }
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let all = runtime.block_on(async {
            let mut feed = Feed::open(&endpoint, b"GET / HTTP/1.1\r\n\r\n").await?;
            let mut body = Vec::new();
            loop {
                match feed.more(|piece| body.extend_from_slice(piece)).await {
                    Ok(true) => {}
                    Ok(false) => return Ok((feed.status(), body, true)),
                    Err(_) => return Ok((feed.status(), body, false)),
                }
            }
        });
        server.join().unwrap();
        all
    }

    fn at_once(answer: &str) -> io::Result<(u16, String, bool)> {
        let (status, body, whole) = received(vec![answer.as_bytes().to_vec()])?;
        Ok((status, String::from_utf8(body).unwrap(), whole))
    }

    #[test]
    fn a_body_is_whole_only_if_its_end_has_come() {
        let body = |text: &str| at_once(text).unwrap();
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
        assert_eq!(body(&format!("{chunked}0\r\n\r\n")), (200, "abc".to_owned(), true));
        assert_eq!(body(chunked), (200, "abc".to_owned(), false));
        let length = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: 4\r\n\r\nabc";
        assert_eq!(body(&format!("{length}d")), (404, "abcd".to_owned(), true));
        assert_eq!(body(length), (404, "abc".to_owned(), false));
        assert_eq!(body("HTTP/1.1 200 OK\r\n\r\nabc"), (200, "abc".to_owned(), true));
        assert_eq!(
            body("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
            (200, String::new(), true)
        );
        // Data that arrives together with an invalid chunk is not passed on.
        assert_eq!(body(&format!("{chunked}x\r\n")), (200, String::new(), false));
        assert!(at_once("").is_err() && at_once("HTTP/1.1 200 OK\r\n").is_err());
        assert!(at_once("SSH-2.0\r\n\r\n").is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn a_body_arrives_however_it_is_cut(
            chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..200_000), 0..4),
            cuts in prop::collection::vec(0.0..1.0, 0..6),
        ) {
            let mut answer =
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
            for chunk in &chunks {
                answer.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                answer.extend_from_slice(chunk);
                answer.extend_from_slice(b"\r\n");
            }
            answer.extend_from_slice(b"0\r\n\r\n");
            let mut cuts: Vec<_> =
                cuts.iter().map(|cut: &f64| (cut * answer.len() as f64) as usize).collect();
            cuts.extend([0, answer.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|it| answer[it[0]..it[1]].to_vec()).collect();
            let (status, body, whole) = received(pieces).unwrap();
            prop_assert!(status == 200 && whole && body == chunks.concat());
        }
    }
}
