//! A relay between springload and a server that records every request and response.
//!
//! It parses HTTP itself, so that its counts are independent of client and server. With a
//! certificate it speaks TLS to the client and plain HTTP to the server.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

/// One request and its response.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Exchange {
    /// The number of its connection, in the order of acceptance.
    pub(crate) connection: usize,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) body: Vec<u8>,
    pub(crate) status: u16,
    /// The body of the response, without its framing.
    pub(crate) answer: Vec<u8>,
}

/// Sees every request before it is passed on, and may hold it back.
pub(crate) type Hook = Box<dyn Fn(&str, &str) + Send + Sync>;

/// The bytes to send in response to a request, instead of passing it on. `None` leaves it to the
/// server, and an empty response closes the connection.
pub(crate) type Answers = Box<dyn Fn(&Message) -> Option<Vec<u8>> + Send + Sync>;

/// The relay. It ends with the test's process.
pub(crate) struct Proxy {
    pub(crate) url: String,
    log: Arc<Mutex<Vec<Exchange>>>,
}

trait Wire: Read + Write + Send {}
impl<T: Read + Write + Send> Wire for T {}

impl Proxy {
    /// A relay to the server at `url`.
    pub(crate) fn to(url: &str) -> Self {
        Self::start(url, None, Box::new(|_| None))
    }

    /// A relay that calls `hook` with method and path of each request.
    pub(crate) fn with_hook(url: &str, hook: Hook) -> Self {
        let answers = move |request: &Message| {
            let (method, path) = request.words();
            hook(&method, &path);
            None
        };
        Self::start(url, None, Box::new(answers))
    }

    /// A relay that answers some requests itself.
    pub(crate) fn with_answers(url: &str, answers: Answers) -> Self {
        Self::start(url, None, answers)
    }

    /// A relay that speaks TLS to its clients.
    pub(crate) fn with_tls(url: &str, tls: ServerConfig) -> Self {
        Self::start(url, Some(Arc::new(tls)), Box::new(|_| None))
    }

    /// A relay that speaks TLS to its clients, and answers some requests itself.
    pub(crate) fn with_both(url: &str, tls: ServerConfig, answers: Answers) -> Self {
        Self::start(url, Some(Arc::new(tls)), answers)
    }

    fn start(url: &str, tls: Option<Arc<ServerConfig>>, answers: Answers) -> Self {
        let server = url.strip_prefix("http://").expect("an http URL").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let scheme = if tls.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{}", listener.local_addr().expect("an address"));
        let log = Arc::new(Mutex::new(Vec::new()));
        let (entries, answers) = (Arc::clone(&log), Arc::new(answers));
        thread::spawn(move || {
            for (connection, client) in listener.incoming().enumerate() {
                let Ok(client) = client else { return };
                let (server, tls) = (server.clone(), tls.clone());
                let (entries, answers) = (Arc::clone(&entries), Arc::clone(&answers));
                thread::spawn(move || {
                    // A peer that disconnects ends the relay of this connection.
                    let _ = wrap(client, tls).and_then(|client| {
                        relay(client, &server, &answers, |exchange| {
                            entries
                                .lock()
                                .expect("no panic")
                                .push(Exchange { connection, ..exchange });
                        })
                    });
                });
            }
        });
        Self { url, log }
    }

    /// All exchanges so far, in the order in which they ended.
    pub(crate) fn exchanges(&self) -> Vec<Exchange> {
        self.log.lock().expect("no panic").clone()
    }
}

fn wrap(client: TcpStream, tls: Option<Arc<ServerConfig>>) -> io::Result<Box<dyn Wire>> {
    client.set_nodelay(true)?;
    Ok(match tls {
        None => Box::new(client),
        Some(tls) => {
            let connection = ServerConnection::new(tls).map_err(io::Error::other)?;
            Box::new(StreamOwned::new(connection, client))
        }
    })
}

fn relay(
    client: Box<dyn Wire>,
    server: &str,
    answers: &Answers,
    record: impl Fn(Exchange),
) -> io::Result<()> {
    let mut client = BufReader::new(client);
    let mut server = BufReader::new(TcpStream::connect(server)?);
    server.get_ref().set_nodelay(true)?;
    loop {
        let request = Message::read(&mut client, false)?;
        let (method, path) = request.words();
        let answer = if let Some(answer) = answers(&request) {
            Message::read(&mut &*answer, true)?
        } else {
            server.get_mut().write_all(&request.raw)?;
            Message::read(&mut server, true)?
        };
        let status = answer.first.split(' ').nth(1).and_then(|text| text.parse().ok());
        // Before the client can see the response, so that all exchanges are recorded when the
        // client ends.
        record(Exchange {
            connection: 0,
            method,
            path,
            body: request.body,
            status: status.ok_or_else(|| io::Error::other("no status"))?,
            answer: answer.body,
        });
        client.get_mut().write_all(&answer.raw)?;
        client.get_mut().flush()?;
    }
}

/// A request or a response: its raw bytes and its parts.
pub(crate) struct Message {
    pub(crate) raw: Vec<u8>,
    pub(crate) first: String,
    body: Vec<u8>,
}

impl Message {
    /// Method and path of a request.
    pub(crate) fn words(&self) -> (String, String) {
        let mut words = self.first.split(' ').map(str::to_owned);
        (words.next().unwrap_or_default(), words.next().unwrap_or_default())
    }

    pub(crate) fn read(from: &mut impl BufRead, is_answer: bool) -> io::Result<Self> {
        let mut raw = Vec::new();
        let first = line(from, &mut raw)?;
        let (mut length, mut chunked) = (0, false);
        loop {
            let header = line(from, &mut raw)?.to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            let (name, value) = header.split_once(':').ok_or(io::ErrorKind::InvalidData)?;
            match (name, value.trim()) {
                ("content-length", value) => length = value.parse().map_err(io::Error::other)?,
                ("transfer-encoding", "chunked") => chunked = true,
                _ => {}
            }
        }
        assert!(is_answer || !chunked, "springload sends lengths");
        let mut body = Vec::new();
        if chunked {
            loop {
                let size = line(from, &mut raw)?;
                let size = usize::from_str_radix(&size, 16).map_err(io::Error::other)?;
                take(from, size, &mut raw, &mut body)?;
                line(from, &mut raw)?;
                if size == 0 {
                    break;
                }
            }
        } else {
            take(from, length, &mut raw, &mut body)?;
        }
        Ok(Self { raw, first, body })
    }
}

/// Reads one line; appends it to `raw` and returns it without its line ending.
fn line(from: &mut impl BufRead, raw: &mut Vec<u8>) -> io::Result<String> {
    let start = raw.len();
    if from.read_until(b'\n', raw)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let text = String::from_utf8_lossy(&raw[start..]);
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

fn take(
    from: &mut impl BufRead,
    length: usize,
    raw: &mut Vec<u8>,
    body: &mut Vec<u8>,
) -> io::Result<()> {
    let start = body.len();
    body.resize(start + length, 0);
    from.read_exact(&mut body[start..])?;
    raw.extend_from_slice(&body[start..]);
    Ok(())
}
